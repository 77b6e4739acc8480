"""How a drive spreads sequential data over its dies: arithmetic on rates of reads that conflict.

A die serves one read at a time. Many outstanding reads within a window of L bytes keep all dies
busy that the window lies on. Up to one stripe (the consecutive bytes that lie on one die) the rate
is that of one die; beyond, it grows as L / stripe. Two places lie on one die if reading both at the
same time is no faster than reading one; with n dies in rotation this happens at distances of n
stripes. A read across the boundary of two pages of one die takes twice as long.

The ideas are those of Chen, Lee and Zhang (HPCA 2011), who infer stripe, dies and page from pairs
of reads. The windows, the single places and the queue measurement are ours.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fourcorners.analysis.internals.flash import kinds_within
from fourcorners.analysis.internals.flash.boundary_reads import Crossings, crossings
from fourcorners.analysis.internals.flash.queue_end import QueueEnd
from fourcorners.analysis.internals.flash.slow_channel import behind_one_channel
from fourcorners.analysis.internals.flash.soonest_reads import Soonest
from fourcorners.analysis.internals.flash.steady_windows import are_steady, stand_apart
from fourcorners.analysis.internals.flash.strided_reads import Unread
from fourcorners.analysis.internals.thresholds import ALIKE, APART, FALSE_ALARM, TWICE

DIES_MAX, UNITS_MAX = 128, 512
"""The probe tries distances of all numbers of stripes up to the first, and of powers of two up to
the second."""

BANKS_MAX = 4
"""The probe tries up to so many banks of dies."""

_FOUR_THIRDS = 1.45
"""Up to this rate, over one die's, a window may be one and a third stripes, which gain 4/3."""

_EVEN = 1.04
"""Two places on two dies are faster by this factor than a window that lies on one of them by three
quarters: even a queue of two commands, both of which are served, gains 1.33 against 1.23, and a
deep queue 2 against 1.33. It is the middle between that and no difference."""

_TWO_DIES = 1.7
"""From this rate on, over that of one die, two dies work at about their full rate."""

_MORE_THAN_TWICE = 2.25
"""No read of two pages of a die takes so many times as long as one of one page: at most twice, and
an eighth more by chance."""

_ONE_READ = 1.75
"""Up to so many times as long as of one place, a read of two places of a page takes, which
transfers both one after the other: where the transfer of one takes three times the array read. It
takes twice that at most, of 2 KiB at 40 MB/s (ONFI 1.0) after 25 us. From here to twice neither."""

_RATES = ("window", "across", "pair", "beside", "sentinel", "stride", "apart", "edge")
_LATENCIES = ("together", "short", "late", "alone")


@dataclass(frozen=True)
class Seen:
    """What the probe measured.

    Rates are in I/Os per second: ``window`` by its size in bytes, ``across`` by the boundary that
    the reads cross, ``pair`` by the distance of the two places, ``beside`` by the number of
    outstanding reads of the other place, ``sentinel`` by the number of the read between the points.
    ``stride``, ``apart`` and ``edge`` are the rates of :class:`Unread`.

    Mean latencies are in seconds: ``together`` is of a long and a short read that are due at the
    same time, ``short`` of two short reads, ``late`` of two of which the second is due when the
    first is under way, all by their distance in stripes; ``alone`` is of one read by its size in
    bytes. ``soonest`` is of one place (0), and of two by their distance; ``soonest_within`` is of
    windows by their size in bytes."""

    window: Mapping[int, float] = field(default_factory=dict)
    across: Mapping[int, float] = field(default_factory=dict)
    pair: Mapping[int, float] = field(default_factory=dict)
    beside: Mapping[int, float] = field(default_factory=dict)
    together: Mapping[int, float] = field(default_factory=dict)
    short: Mapping[int, float] = field(default_factory=dict)
    late: Mapping[int, float] = field(default_factory=dict)
    alone: Mapping[int, float] = field(default_factory=dict)
    sentinel: Mapping[int, float] = field(default_factory=dict)
    stride: Mapping[int, float] = field(default_factory=dict)
    apart: Mapping[int, float] = field(default_factory=dict)
    edge: Mapping[int, float] = field(default_factory=dict)
    soonest: Mapping[int, Soonest] = field(default_factory=dict)
    soonest_within: Mapping[int, Soonest] = field(default_factory=dict)

    @classmethod
    def of(cls, points: Iterable[tuple[str, int, float, float, Soonest | None]]) -> Seen:
        """Collects points, each given as kind, number, rate, mean latency and the soonest reads. It
        leaves out kinds that it does not know."""
        seen: dict[str, dict[int, float]] = {kind: {} for kind in (*_RATES, *_LATENCIES)}
        soonest: dict[str, dict[int, Soonest]] = {"window": {}, "pair": {}}
        for kind, number, iops, latency_s, some in points:
            if kind in seen:
                seen[kind][number] = latency_s if kind in _LATENCIES else iops
            if some is not None and kind in soonest:
                soonest[kind][number] = some
        smallest = min(seen["window"], default=0)
        if smallest in soonest["window"]:
            soonest["pair"][0] = soonest["window"][smallest]
        return cls(
            **{kind: dict(sorted(some.items())) for kind, some in seen.items()},
            soonest=soonest["pair"],
            soonest_within=soonest["window"],
        )

    @property
    def grid_bytes(self) -> int:
        """The distance of neighbouring places in a window, which is also the smallest window."""
        return min(self.window)

    @property
    def block_bytes(self) -> int:
        """The size of a read."""
        return self.grid_bytes // 2

    @property
    def one_die(self) -> float:
        """The rate of a single place, which is that of one die."""
        return self.window[self.grid_bytes]

    @property
    def stripe_bytes(self) -> int | None:
        """The consecutive bytes that lie on one die; ``None`` where no window is faster than a
        single place, or where the pair that decides between two sizes was not measured."""
        beyond = self._beyond
        if beyond is None:
            return None
        if self._kinds_differ:
            return self._first_apart(beyond)
        gain = self.window[beyond] / self.one_die
        # Twice the window is faster where nothing else limits two stripes to this rate.
        unlimited = self.window.get(2 * beyond, 0.0) > APART * self.window[beyond]
        if gain > _FOUR_THIRDS or (unlimited and self._is_even(beyond)):
            if (third := self._third_page(beyond)) in self.pair and not self._conflicts(third):
                return third
            # Places nearer to each other than those of windows may still be on two dies.
            nearest = self.pair.get(self.block_bytes, 0.0)
            return self.block_bytes if nearest > APART * self.one_die else beyond // 2
        # A window of one to two stripes waits for the die that holds a whole stripe. Chips have
        # one, two, three or four planes.
        if unlimited:
            return beyond * 3 // 4
        # Otherwise places half a window apart decide.
        apart = beyond // 2
        if apart not in self.pair:
            return None
        return beyond * 3 // 4 if self._conflicts(apart) else beyond // 2

    @property
    def _kinds_differ(self) -> bool:
        return kinds_within.differ(self.window, self.one_die)

    @property
    def _beyond(self) -> int | None:
        """The first window that is faster than a single place."""
        if len(self.window) < 2:
            return None
        places = {w: w / self.block_bytes for w in self.window}
        if any(iops > APART * places[w] * self.one_die for w, iops in self.window.items()):
            # Each place is on one die: what gains more than that is kept in memory.
            return None
        beyond = self.first_faster
        # If half of it was left out, a smaller window may be faster already.
        if beyond is None or beyond // 2 not in self.window:
            return None
        steady = are_steady(self.window, beyond, self.one_die, kinds_differ=self._kinds_differ)
        return beyond if steady or stand_apart(self.soonest_within, self.window, beyond) else None

    @property
    def first_faster(self) -> int | None:
        """The smallest window that was measured and is faster than a single place."""
        return next((w for w, iops in self.window.items() if iops > APART * self.one_die), None)

    def _third_page(self, beyond: int) -> int:
        """The stripe of three pages of which the third, if it takes twice as long as the others,
        makes a window of four as slow as one; 0 where places are not that near to each other."""
        return beyond * 3 // 8 if beyond >= 8 * self.grid_bytes else 0

    def _first_apart(self, beyond: int) -> int | None:
        """The stripe by pairs; ``None`` where one of them was not measured."""
        tried = kinds_within.stripes_tried(beyond)
        if any(distance not in self.pair for distance in tried):
            return None
        return next((distance for distance in tried if not self._conflicts(distance)), None)

    def _is_even(self, window: int) -> bool:
        """Whether two dies share a window in halves, although it gains no more than 4/3: a queue
        that is short, or served in its order, lets two dies do less than twice as much as one. Two
        places that do not conflict show what they do then. A window that lies on one die by three
        quarters gains less, as that die is the longer one busy."""
        most = max(self.pair.values(), default=0.0)
        return APART * self.one_die < most < _EVEN * self.window[window]

    @property
    def is_shared(self) -> bool:
        """Whether something that all reads pass, such as a processor, is slower than two dies."""
        return len(self.window) > 1 and max(self.window.values()) < _TWO_DIES * self.one_die

    @property
    def crossings(self) -> Crossings | None:
        """What reads across boundaries show of a drive that serves one read at a time, so that no
        window is faster than a single place; ``None`` for other drives."""
        if max(self.window.values()) > ALIKE * min(self.window.values()):
            return None
        across_s = {boundary: 1 / iops for boundary, iops in self.across.items()}
        return crossings(across_s, 1 / self.one_die)

    @property
    def unread(self) -> Unread | None:
        """The rates of reads of places that were never read before; ``None`` where there are
        none."""
        if not self.stride or not self.sentinel:
            return None
        alone = statistics.median(self.sentinel.values())
        return Unread(self.stride, self.apart, self.edge, alone)

    @property
    def strides_show_a_die(self) -> bool:
        """Whether the rate of one die is that of places that were never read before, at a stride of
        whole turns. Without a turn such places lie on all dies."""
        unread = self.unread
        return self.stripe_bytes is None and unread is not None and unread.turn_bytes is not None

    @property
    def page_bytes(self) -> int | None:
        """The bytes that one array read of a die fetches; ``None`` where the stripe is not known,
        where reads across a boundary were not measured, where other load disturbed them, or where
        some take between one and two array reads. Any multiple of a page is a boundary of pages."""
        stripe = self.stripe_bytes
        if stripe is None or not self.across:
            return None
        longer = {b: self.one_die / iops for b, iops in self.across.items() if b < stripe}
        kind = kinds_within.slowest(self.pair, stripe, self.one_die) if self._kinds_differ else 1.0
        if any(times > _MORE_THAN_TWICE * kind for times in longer.values()):
            return None
        page = next((b for b, times in longer.items() if times >= TWICE), stripe)
        sure = all((times > _ONE_READ) == (b >= page) for b, times in longer.items())
        return page if sure and self.first_boundary_left_out is None else None

    @property
    def first_boundary_left_out(self) -> int | None:
        """The first boundary that was left out and may be one between two pages: it is larger than
        all that cost nothing, and smaller than those that take twice as long, and the stripe."""
        stripe = self.stripe_bytes
        if stripe is None or not self.across:
            return None
        within = {b: self.one_die / iops for b, iops in self.across.items() if b < stripe}
        page = next((b for b, times in within.items() if times >= TWICE), stripe)
        below = max((b for b in within if b < page), default=self.block_bytes // 2)
        return next(iter(_doubled(below, min(page - 1, max(self.across)))), None)

    @property
    def turn(self) -> int | None:
        """The number of stripes after which the first die follows again; ``None`` where no distance
        conflicts, or where distances were not measured in stripes."""
        stripe = self.stripe_bytes
        if stripe is None or stripe not in self.pair:
            return None
        distance = self.first_conflict
        if distance is None or distance == stripe:
            return None  # By the definition of a stripe the next one is on another die.
        # If it was several turns, one of its largest parts would conflict as well.
        parts = [distance // n for n in _primes_of(distance // stripe) if distance // n > stripe]
        return distance // stripe if all(part in self.pair for part in parts) else None

    @property
    def first_conflict(self) -> int | None:
        """The smallest distance of whole stripes that was measured and conflicts."""
        stripe = self.stripe_bytes or math.inf
        return next((d for d in self.pair if d % stripe == 0 and self._conflicts(d)), None)

    @property
    def is_of_parts(self) -> bool:
        """Whether the stripe is a part of what lies on one die, as of planes that read together:
        places a turn apart conflict and those two turns apart do not, so that it is no turn of all
        dies; and reads over two turns are no faster than over one, so that no die was added, while
        reads over more are. A hash of the address leaves such a step out."""
        if (turn := self.turn) is None or (stripe := self.stripe_bytes) is None:
            return False
        if self.conflicts_between_turns:
            return False
        once, twice = turn * stripe, 2 * turn * stripe
        if once not in self.window or twice not in self.window or twice not in self.pair:
            return False
        beyond = max((rate for size, rate in self.window.items() if size > twice), default=0.0)
        no_faster = self.window[twice] < APART * self.window[once]
        return no_faster and not self._conflicts(twice) and beyond > APART * self.window[twice]

    @property
    def keeps_turns(self) -> bool | None:
        """Whether all whole turns conflict and no other distances do, as where stripes go round. A
        hash of the address sends a place to one of as many dies as a turn has by chance, or by each
        bit of its address; ``None`` where so few whole turns were measured that all may conflict by
        chance."""
        stripe, turn = self.stripe_bytes, self.turn
        if stripe is None or turn is None:
            return None
        told = [d for d in self.pair if d % stripe == 0 and d < (self.bank_bytes or math.inf)]
        if any(self._conflicts(d) != (d // stripe % turn == 0) for d in told):
            return False
        # The first of them gave the turn.
        later = sum(d // stripe % turn == 0 for d in told) - 1
        return True if turn**-later <= FALSE_ALARM else None

    @property
    def conflicts_between_turns(self) -> bool:
        """Whether places conflict that are no whole turns apart, as where a hash of the address
        tells the die: neither banks of dies nor planes of a die make them."""
        stripe, turn = self.stripe_bytes, self.turn
        if stripe is None or turn is None:
            return False
        apart = [d // stripe for d in self.pair if d % stripe == 0 and self._conflicts(d)]
        return any(n % turn for n in apart)

    @property
    def bank_bytes(self) -> int | None:
        """The bytes that lie on one bank of dies before another bank follows, a power of two turns;
        ``None`` where no other bank was found within the distances that were tried."""
        stripe, turn = self.stripe_bytes, self.turn
        if stripe is None or turn is None:
            return None
        turns = _doubled(stripe * turn, max(self.pair))
        return next((d for d in turns if d in self.pair and not self._conflicts(d)), None)

    @property
    def units(self) -> int | None:
        """The number of dies over all banks; ``None`` where no distance conflicts, or the number
        of banks cannot be found."""
        turn, bank = self.turn, self.bank_bytes
        if turn is None or bank is None:
            return turn
        if not self._is_bank(bank):
            return None
        banks = next((n for n in self._banks(bank) if self._conflicts(n * bank)), None)
        return None if banks is None else banks * turn

    def die_offset_bytes(self, number: int) -> int:
        """The offset at which a stripe of the die with this number begins. The number after the
        last die is the first die again. It needs :attr:`units`."""
        assert self.stripe_bytes is not None
        assert self.turn is not None
        bank, within = divmod(number, self.turn)
        return (
            bank * (self.bank_bytes or self.turn * self.stripe_bytes) + within * self.stripe_bytes
        )

    def _in_bank(self, bank_bytes: int) -> list[int]:
        """The distances that show whether a bank has this size: first the last turn before its end,
        which must conflict, then all places but the first of the turn after it, which must not."""
        stripe, turn = self.stripe_bytes, self.turn
        assert stripe is not None
        assert turn is not None
        next_turn = [bank_bytes + place * stripe for place in range(1, turn)]
        return [bank_bytes - turn * stripe, *next_turn]

    def _is_bank(self, bank_bytes: int) -> bool:
        """Whether a bank has this size, so that the stripes after it are on none of its dies."""
        last, *following = self._in_bank(bank_bytes)
        return (
            last in self.pair
            and self._conflicts(last)
            and all(d in self.pair and not self._conflicts(d) for d in following)
        )

    def _banks(self, bank_bytes: int) -> list[int]:
        """The numbers of banks whose distance was measured."""
        return [n for n in range(2, BANKS_MAX + 1) if n * bank_bytes in self.pair]

    @property
    def takes_turns(self) -> bool:
        """Whether a window over all dies is as fast as a larger one, apart from what stripes that
        are no power of two make of it: a window of a turn and a third waits for the dies that hold
        two stripes."""
        stripe, units = self.stripe_bytes, self.units
        if stripe is None or units is None:
            return False
        # The smallest window that lies on the dies of all banks.
        least = self.die_offset_bytes(units - 1) + stripe
        all_dies = [
            iops / self._evenness(window) for window, iops in self.window.items() if window >= least
        ]
        faster = [iops >= APART * all_dies[0] for iops in all_dies]
        # A single window is faster or slower by a read that hangs; more dies make all further ones
        # faster, of which the last may be the only one.
        return not faster[-1] and not any(map(all, itertools.pairwise(faster)))

    def _evenness(self, window_bytes: int) -> float:
        """The mean share of the reads of a window that a die serves, over that of the die that
        holds most of it. Banks of dies are taken to share it equally."""
        assert self.stripe_bytes is not None
        assert self.turn is not None
        if self.bank_bytes is not None:
            return 1.0
        stripes = window_bytes / self.stripe_bytes
        turns, rest = divmod(stripes, self.turn)
        return stripes / self.turn / (turns + min(rest, 1.0))

    def _conflicts(self, distance: int) -> bool:
        """Whether two places this far apart are on one die, by their rate or the soonest reads."""
        both = self.soonest.get(distance)
        most = ALIKE if both and both.sooner_than(self.soonest.get(0)) else self._together
        return self.pair[distance] < most * self.one_die or self._as_slow(distance)

    def _as_slow(self, distance: int) -> bool:
        both = self.soonest.get(distance)
        return both is not None and both.as_slow_as(self.soonest.get(0))

    @property
    def is_one_die_again(self) -> bool:
        """Whether places one turn apart are surely on one die: they gain less than two dies behind
        a slow channel may."""
        assert self.stripe_bytes is not None
        assert self.turn is not None
        distance = self.turn * self.stripe_bytes
        return self.pair[distance] <= ALIKE * self.one_die or self._as_slow(distance)

    @property
    def _together(self) -> float:
        """Up to this rate, over one die's, two places are on one die: the middle of the widest gap
        between the rates of pairs, within the bounds of the test of two rates. Reads that take far
        longer than others make rates scatter by more than that test allows for."""
        rates = sorted([self.one_die, *self.pair.values()])
        gaps = [(later / one, math.sqrt(later * one)) for one, later in itertools.pairwise(rates)]
        widest, middle = max(gaps, default=(1.0, self.one_die))
        if widest <= APART:
            return ALIKE
        behind = behind_one_channel([rate / self.one_die for rate in rates])
        return behind or min(max(ALIKE, middle / self.one_die), APART)

    def distances_wanted(self, distance_max: int) -> list[int]:
        """The distances to measure next. First come powers of two stripes until one conflicts, or
        all numbers of stripes where none does. Then come powers of two turns: one that does not
        conflict shows banks of dies, which are then counted. The list is empty when the dies are
        known or nothing is left to try."""
        stripe = self.stripe_bytes
        if stripe is None:
            beyond = self._beyond
            if beyond is None:
                return []
            tried = kinds_within.stripes_tried(beyond) if self._kinds_differ else [beyond // 2]
            return self._missing(tried, distance_max)
        limit = min(UNITS_MAX, distance_max // stripe)
        powers = [2**k * stripe for k in range(limit.bit_length()) if 2**k <= limit]
        if stripe == self.grid_bytes:
            powers = [self.block_bytes, *powers]
        elif third := self._third_page(2 * stripe):
            powers = [third, *powers]
        if missing := self._missing(powers, distance_max):
            return missing
        turn, bank = self.turn, self.bank_bytes
        if turn is None:
            counts = [count * stripe for count in range(3, min(limit, DIES_MAX) + 1)]
            return self._missing(counts, distance_max)
        if bank is None:
            return self._missing(_doubled(stripe * turn, distance_max), distance_max)
        banks = [n * bank for n in range(2, BANKS_MAX + 1)]
        return self._missing([*self._in_bank(bank), *banks], distance_max)

    def _missing(self, distances: list[int], distance_max: int) -> list[int]:
        return [d for d in distances if d not in self.pair and d <= distance_max]

    @property
    def queue(self) -> QueueEnd:
        """What reads that meet a full queue show of it."""
        return QueueEnd(self.beside)

    @property
    def queue_depth(self) -> int | None:
        """The number of commands that the drive accepts at a time; ``None`` where no number of them
        made reads wait."""
        return None if self.is_shared else self.queue.depth


def _primes_of(number: int) -> list[int]:
    """The prime numbers that divide a number."""
    divide = [n for n in range(2, number + 1) if number % n == 0]
    return [n for n in divide if all(n % m for m in divide if m < n)]


def _doubled(number: int, most: int) -> list[int]:
    """Twice the number, four times the number and so on, up to ``most``."""
    return [number * 2**k for k in range(1, (most // number).bit_length())]
