"""How a drive spreads what is written in sequence: arithmetic on the rates of reads that conflict.

A die serves one read at a time. Many reads outstanding within a window of L bytes keep as many dies
busy as the window lies on: up to the stripe (what lies on one die before the next begins) the rate
is that of one die, beyond it grows by L / stripe. Two places are on one die where reads of both
together are no faster than of one: with n dies in turn, at distances of n stripes. A read across
the boundary of two pages of one die takes it twice as long. A command that finds the drive's queue
full waits: reads of a place that has a die to itself slow down when the queue is full of those of
another place.

The ideas are those of Chen, Lee and Zhang (HPCA 2011), who infer stripe, dies and page from pairs
of reads; windows, single places and the reads beside others are ours.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fourcorners.analysis.internals.flash.boundary_reads import Crossings, crossings
from fourcorners.analysis.internals.flash.strided_reads import Unread
from fourcorners.analysis.internals.thresholds import ALIKE, APART, TWICE

DIES_MAX = 128
"""Dies up to which distances are tried."""

DEPTHS = (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536)
"""Reads of the other place that are tried first."""

BANKS_MAX = 4
"""Banks of dies that are tried."""

_FOUR_THIRDS = 1.45
"""Rate over that of one die up to which a window may be one stripe and a third, which gains 4/3."""

_TWO_DIES = 1.7
"""Rate over that of one die from which two of them work at about their full rate."""

_WAITS = 0.97
"""Rate over that of the depth before, below which reads wait for a place in the queue: the first
that has to wait does so for half of another one's time, which is the less the shorter a die's
time is beside that of a command."""

_WAITS_LONG = 0.85
"""The same at the most reads outstanding, where the wait has become long."""

_BETWEEN = 0.35
"""Part of a command by which the end of the queue may lie off a whole number of them."""

_ROUNDS = 3
"""Times that the rate of the other place is corrected for the one read."""

_REFINED = 8
"""Depths tried at a time between two that are known."""


_RATES = ("window", "across", "pair", "beside", "sentinel", "stride", "apart", "edge")
_LATENCIES = ("together", "short", "alone")


@dataclass(frozen=True)
class Seen:
    """Rates in I/Os per second: of windows by their bytes, of single places by the boundary that
    they lie across, of pairs by their distance, of reads beside others by how many these are. And
    mean latencies in seconds: of a long and a short read, and of two short ones, due at the same
    time by their distance in stripes, of one read alone by its bytes. ``sentinel`` has the reads
    between the points by their number; the other rates are those of :class:`Unread`."""

    window: Mapping[int, float] = field(default_factory=dict)
    across: Mapping[int, float] = field(default_factory=dict)
    pair: Mapping[int, float] = field(default_factory=dict)
    beside: Mapping[int, float] = field(default_factory=dict)
    together: Mapping[int, float] = field(default_factory=dict)
    short: Mapping[int, float] = field(default_factory=dict)
    alone: Mapping[int, float] = field(default_factory=dict)
    sentinel: Mapping[int, float] = field(default_factory=dict)
    stride: Mapping[int, float] = field(default_factory=dict)
    apart: Mapping[int, float] = field(default_factory=dict)
    edge: Mapping[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, points: Iterable[tuple[str, int, float, float]]) -> Seen:
        """From kind, number, rate and mean latency of each point; other kinds are left out."""
        seen: dict[str, dict[int, float]] = {kind: {} for kind in (*_RATES, *_LATENCIES)}
        for kind, number, iops, latency_s in points:
            if kind in seen:
                seen[kind][number] = latency_s if kind in _LATENCIES else iops
        return cls(**{kind: dict(sorted(some.items())) for kind, some in seen.items()})

    @property
    def grid_bytes(self) -> int:
        """Distance of two places of a window, and so the smallest window."""
        return min(self.window)

    @property
    def one_die(self) -> float:
        """Rate of a single place."""
        return self.window[self.grid_bytes]

    @property
    def stripe_bytes(self) -> int | None:
        """What lies on one die before the next one begins; ``None`` where no window is faster
        than a single place, or it is not known whether places half of such a window apart are."""
        beyond = self._beyond
        if beyond is None:
            return None
        gain = self.window[beyond] / self.one_die
        if gain > _FOUR_THIRDS:
            return beyond // 2
        # A window of one to two stripes waits for the die that has a whole one. Chips have one,
        # two, three or four planes.
        if self.window.get(2 * beyond, 0.0) > APART * self.window[beyond]:
            return beyond * 3 // 4
        # Where twice as much is no faster, something else limits two stripes to as little: places
        # half a window apart tell.
        apart = self.pair.get(beyond // 2)
        if apart is None:
            return None
        return beyond * 3 // 4 if self._conflicts(apart) else beyond // 2

    @property
    def _beyond(self) -> int | None:
        """The first window that is faster than a single place."""
        if len(self.window) < 2:
            return None
        beyond = next((w for w, iops in self.window.items() if iops > APART * self.one_die), None)
        return beyond if beyond is not None and self._steady(beyond) else None

    @property
    def is_shared(self) -> bool:
        """Whether something that all reads pass, as a processor, is slower than two dies."""
        return len(self.window) > 1 and max(self.window.values()) < _TWO_DIES * self.one_die

    @property
    def crossings(self) -> Crossings | None:
        """What reads across boundaries tell where reads come one at a time, so that no window is
        faster than a single place; ``None`` elsewhere."""
        if max(self.window.values()) > ALIKE * min(self.window.values()):
            return None
        across_s = {boundary: 1 / iops for boundary, iops in self.across.items()}
        return crossings(across_s, 1 / self.one_die)

    @property
    def unread(self) -> Unread | None:
        """What reads of places that were never read tell; ``None`` where there are none."""
        if not self.stride or not self.sentinel:
            return None
        alone = statistics.median(self.sentinel.values())
        return Unread(self.stride, self.apart, self.edge, alone)

    def _steady(self, beyond: int) -> bool:
        """Whether rates within the stripe are the same, and those beyond do not fall."""
        inside = [iops for window, iops in self.window.items() if window < beyond]
        after = [iops for window, iops in self.window.items() if window >= beyond]
        rises = all(ALIKE * later > earlier for earlier, later in itertools.pairwise(after))
        return rises and ALIKE * min(inside) > max(inside)

    @property
    def page_bytes(self) -> int | None:
        """What one read of a die brings; ``None`` without a stripe, or where reads across a
        boundary were not measured."""
        stripe = self.stripe_bytes
        if stripe is None or not self.across:
            return None
        for boundary, iops in self.across.items():
            if boundary < stripe and self.one_die / iops >= TWICE:
                return boundary
        return stripe

    @property
    def turn(self) -> int | None:
        """Stripes after which the first die comes again; ``None`` where no distance conflicts."""
        stripe = self.stripe_bytes
        if stripe is None:
            return None
        distance = next(
            (d for d, iops in self.pair.items() if d % stripe == 0 and self._conflicts(iops)), None
        )
        # The next stripe is on another die by what a stripe is.
        return None if distance is None or distance == stripe else distance // stripe

    @property
    def bank_bytes(self) -> int | None:
        """What lies on the dies of one turn before other dies take their turn, a power of two
        turns; ``None`` where as far as was tried none do."""
        stripe, turn = self.stripe_bytes, self.turn
        if stripe is None or turn is None:
            return None
        turns = _doubled(stripe * turn, max(self.pair))
        return next(
            (d for d in turns if d in self.pair and not self._conflicts(self.pair[d])), None
        )

    @property
    def dies(self) -> int | None:
        """Dies that take stripes in turn, and banks of them that take turns; ``None`` where no
        distance conflicts, or the banks' number does not show."""
        turn, bank = self.turn, self.bank_bytes
        if turn is None or bank is None:
            return turn
        if not self._is_bank(bank):
            return None
        banks = next((n for n in self._banks(bank) if self._conflicts(self.pair[n * bank])), None)
        return None if banks is None else banks * turn

    def die_offset_bytes(self, number: int) -> int:
        """Where a stripe of the die of that number begins; the first die comes again after the
        last. Needs :attr:`dies`."""
        assert self.stripe_bytes is not None
        assert self.turn is not None
        bank, within = divmod(number, self.turn)
        return (
            bank * (self.bank_bytes or self.turn * self.stripe_bytes) + within * self.stripe_bytes
        )

    def _in_bank(self, bank_bytes: int) -> list[int]:
        """Distances that show whether so much is a bank: the last turn before its end, which has to
        conflict, and then all places of its next turn but the first, none of which may."""
        stripe, turn = self.stripe_bytes, self.turn
        assert stripe is not None
        assert turn is not None
        next_turn = [bank_bytes + place * stripe for place in range(1, turn)]
        return [bank_bytes - turn * stripe, *next_turn]

    def _is_bank(self, bank_bytes: int) -> bool:
        """Whether another bank's dies follow: no die of this one is met in the next."""
        last, *following = (self.pair.get(d) for d in self._in_bank(bank_bytes))
        return (
            last is not None
            and self._conflicts(last)
            and all(iops is not None and not self._conflicts(iops) for iops in following)
        )

    def _banks(self, bank_bytes: int) -> list[int]:
        """Numbers of banks whose distance was measured."""
        return [n for n in range(2, BANKS_MAX + 1) if n * bank_bytes in self.pair]

    @property
    def takes_turns(self) -> bool:
        """Whether a window over all dies is as fast as a larger one."""
        stripe, dies = self.stripe_bytes, self.dies
        if stripe is None or dies is None:
            return False
        # The dies of all banks.
        least = self.die_offset_bytes(dies - 1) + stripe
        all_dies = [iops for window, iops in self.window.items() if window >= least]
        return len(all_dies) < 2 or max(all_dies[1:]) < APART * all_dies[0]

    def _conflicts(self, iops: float) -> bool:
        return iops < ALIKE * self.one_die

    def distances_wanted(self, distance_max: int) -> list[int]:
        """Distances to measure next: powers of two stripes until one conflicts; where none does,
        all numbers of stripes; powers of two turns, of which one that does not conflict shows banks
        of dies, which are then counted. Empty when the dies are known, or nothing is left to
        try."""
        stripe = self.stripe_bytes
        if stripe is None:
            return [] if self._beyond is None else self._missing([self._beyond // 2], distance_max)
        limit = min(DIES_MAX, distance_max // stripe)
        powers = [2**k * stripe for k in range(limit.bit_length()) if 2**k <= limit]
        if missing := self._missing(powers, distance_max):
            return missing
        turn, bank = self.turn, self.bank_bytes
        if turn is None:
            return self._missing([count * stripe for count in range(3, limit + 1)], distance_max)
        if bank is None:
            return self._missing(_doubled(stripe * turn, distance_max), distance_max)
        banks = [n * bank for n in range(2, BANKS_MAX + 1)]
        return self._missing([*self._in_bank(bank), *banks], distance_max)

    def _missing(self, distances: list[int], distance_max: int) -> list[int]:
        return [d for d in distances if d not in self.pair and d <= distance_max]

    @property
    def flat_depths(self) -> tuple[int | None, int | None]:
        """The most reads of the other place that leave the one alone, and the fewest that do not;
        ``None`` where there are none."""
        if not self.beside:
            return None, None
        depths, rates = list(self.beside), list(self.beside.values())
        for index in range(1, len(depths)):
            # Against the depth before: reads that run out at the end lower the rate step by step.
            if max(rates[index:]) < _WAITS * rates[index - 1]:
                return depths[index - 1], depths[index]
            if rates[index] > rates[index - 1] / _WAITS and index > 1:
                return None, None
        return depths[-1], None

    def depths_wanted(self) -> list[int]:
        """Depths to measure next; empty when the queue is known."""
        if not self.beside:
            return list(DEPTHS)
        flat, waits = self.flat_depths
        if flat is None or waits is None or waits - flat <= 1:
            return []
        step = max(1, (waits - flat) // _REFINED)
        return list(range(flat + step, waits, step))

    @property
    def queue_depth(self) -> int | None:
        """Commands that the drive accepts at once; ``None`` where more never made reads wait."""
        ends = None if self.is_shared else self.queue_end
        if ends is None or abs(ends - round(ends)) > _BETWEEN:
            return None
        return round(ends)

    @property
    def queue_end(self) -> float | None:
        """Where the queue ends, by the time that a read waits; ``None`` where none does.

        The other place is served at the rate r of its die, a read every 1/r. The one read comes
        round in P as long as the queue has room, and each further read of the other place adds a
        wait of 1/r, from k on. A read is out of the queue for P - 1/r before it is wanted again, by
        so much less it waits: k is (P - 1/r) r above the last depth that leaves it a place.
        """
        flat, waits = self.flat_depths
        if flat is None or waits is None or waits - flat > 1:
            return None
        deepest, slowest = list(self.beside.items())[-1]
        if slowest >= _WAITS_LONG * self.beside[flat] or deepest <= waits:
            return None
        # At the deepest the one read still comes round at times.
        other = slowest * (1 - 1 / (deepest - waits + 1))
        for _ in range(_ROUNDS):
            if self.beside[waits] <= other:
                return None
            alone_s, waiting_s = (1 / (self.beside[depth] - other) for depth in (flat, waits))
            start = waits - (waiting_s - alone_s) * other
            other = slowest / (1 + 1 / (alone_s * other + deepest - start))
        return start + 2 - alone_s * other


def _doubled(number: int, most: int) -> list[int]:
    """Twice that number, four times and so on, up to the most."""
    return [number * 2**k for k in range(1, (most // number).bit_length())]
