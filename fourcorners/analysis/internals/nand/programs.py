"""Findings ``program_time``, its kinds, and ``bits_per_cell``: how long pages are programmed.

A forced write (FUA) of a drive that loses its buffer with the power waits until its page is
programmed. Beside the program it has what a read of flash has beside the array's read, and maybe
the transfer of all pages that are programmed together, and a read of the rest of the mapping unit.
Whether it contains these is not known, so that the intervals contain both answers.

Two other ways bound the same time. The dies cannot program more in parallel than they do one by
one: what all of them take in one turn, over the rate of sequential writes, is at least the program
with its transfer. And reads of a drive that is being written wait for the end of a program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.collection.reads_beside import BESIDE, waits
from fourcorners.analysis.internals.flash import conflicting_reads
from fourcorners.analysis.internals.flash.levels import PLANES_MAX
from fourcorners.analysis.internals.nand.page_kinds import Kinds, page_kinds
from fourcorners.analysis.internals.nand.read_cost import (
    PLAIN,
    READ_ALONE,
    READ_BYTES,
    TEST,
    ReadCost,
    median_s,
    read_cost,
)
from fourcorners.analysis.internals.thresholds import UNSURE
from fourcorners.analysis.internals.view import View, ids, pick, small_reads
from fourcorners.analysis.intervals import middle
from fourcorners.analysis.source import Measured
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import Said, say

FORCED = pick(TEST, "write", kind="forced")
_FLUSHED = pick(TEST, "flush", kind="flushed")
_FLUSHED_WRITES = pick(TEST, "write", kind="flushed")
_FILL = pick("probe-overwrite", "write", stage="fill")

_MEMORY_MAX = 0.5
"""A forced write that takes at most this share of the read of a page waits for no program."""

_TOLERANCE = 0.02
"""The tolerance of a rate, of a histogram and of a link's time."""

_NAMES = ("lower", "upper", "extra")

_NOT_AS_OFTEN = "bits_per_cell.not_as_often"
"""Why there is no mean either: one of the times is of several kinds."""

_ALIKE = 1.5
"""The turn's time shows that forced writes wait for one program if it is at most this many times as
long: the link and the channels may make it longer."""

_WAITED = 0.75
"""Reads show the same if those that wait longest wait for at least this share of a program."""

_WAITS_MIN = 30
"""So many reads must have waited, for a quantile of nine tenths with a few beyond it."""

_ROUND_IS_TURN = 0.05
"""The rounds of the dies are turns if both times agree so closely: the resolution of a round."""

_BY_READ = 1.5
"""Forced writes that differ by up to this many reads may differ by a read of the rest of a unit."""

_PROGRAM_MIN_S = 50e-6
"""No program takes less: those of the quickest NAND that is sold, with one bit per cell and short
lines, take 75 to 100 us (Kioxia's XL-Flash, Samsung's Z-NAND)."""

_OF_PLANES = 0.5
"""The interval includes the transfers of planes that do not show, if it is then at most this share
as wide as the widest that is given; else the finding assumes that there are no such planes."""

_MAP_READS = 2
"""A write that finds the map in memory full of changes waits for two reads and a program: the part
of the map that a change belongs to is read and written anew, and the part that the write needs is
read (Gupta, Kim, Urgaonkar, DFTL, ASPLOS 2009)."""

_REWRITE_S = 5e-3
"""No program takes as long (QLC: 3 ms): the drive does more for a forced write."""


@dataclass(frozen=True)
class Programs:
    """What forced writes show. ``kinds`` has their latencies; of each, the time that is not the
    program lies between the two values of ``beside_s``."""

    kinds: Kinds
    beside_s: tuple[float, float]
    turn_s: float | None
    """What all dies program in one turn, over the rate of writing."""
    waited_s: float | None
    """What the reads waited that waited longest, erasures apart."""
    read_s: float = 0.0
    """A read of a part of the map, which is written anew, at most; zero where no read needs it."""

    @property
    def beside_mean_s(self) -> float:
        """The middle of what is not the program."""
        return sum(self.beside_s) / 2

    @property
    def may_be_in_a_row(self) -> bool:
        """Whether slower writes may wait for one more program each, of parity or of what the drive
        keeps for itself, such as a page of its map, so that they are no other kind of pages."""
        quickest, *slower = self.kinds.seconds
        low, high = self.bounds(quickest, self.kinds.errors_s[0])
        return bool(slower) and all(
            number * low <= later - quickest <= number * (high + _MAP_READS * self.read_s)
            for number, later in enumerate(slower, 1)
        )

    def time_s(self, latency_s: float) -> float:
        """The time of the program in such a write."""
        return latency_s - self.beside_mean_s

    def bounds(self, latency_s: float, error_s: float) -> tuple[float, float]:
        """The least and the greatest time of the program in such a write."""
        error_s = math.hypot(error_s, _TOLERANCE / 2 * latency_s)
        return latency_s - self.beside_s[1] - error_s, latency_s - self.beside_s[0] + error_s


def quick_write_s(view: View) -> float | None:
    """The time of a forced write that is shorter than any program; ``None`` for others."""
    forced_s = median_s(FORCED(view))
    return forced_s if forced_s is not None and forced_s < _PROGRAM_MIN_S else None


def latencies_s(points: list[Measured]) -> Floats:
    """The latencies of all I/Os of these points, with shape (ios,)."""
    parts = [
        np.repeat((low + high) / 2e9, count) for low, high, count in (m.histogram for m in points)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def programs(view: View) -> Programs | Said:
    """What forced writes show, or why they show nothing."""
    cost = view.once(read_cost)
    forced = latencies_s(FORCED(view))
    plain, middle = median_s(PLAIN(view)), median_s(FORCED(view))
    if cost is None or middle is None or plain is None:
        return say("program_time.not_forced")
    if view.value("log_blocks"):
        return say("program_time.log_blocks")
    durable = view.answer("power_loss_protection")
    buffered = durable is not None and durable.detail.get("waits_for_nothing")
    if buffered or middle <= cost.idle_s * _MEMORY_MAX:
        return say("program_time.protected")
    if view.has("slc_cache_bytes"):
        return say("program_time.which_cells")
    if middle > _REWRITE_S:
        return say("program_time.rewritten", forced=middle)
    kinds = page_kinds(forced)
    if kinds is None:
        return say("program_time.many_times")
    # A read of any place may take longer by one of its part of the map.
    longer_s = (median_s(small_reads(view, READ_ALONE)) or cost.idle_s) - cost.idle_s
    map_s = min(longer_s, cost.idle_s)
    found = Programs(kinds, beside_s(view, cost), view.once(turn_s), None, map_s)
    found = replace(found, waited_s=_waited(view, cost, found.time_s(kinds.seconds[-1])))
    if found.may_be_in_a_row:
        return say("program_time.in_a_row", quickest=kinds.seconds[0], slowest=kinds.seconds[-1])
    return bounded(found, view.once(by_rounds))


def beside_s(view: View, cost: ReadCost) -> tuple[float, float]:
    """What a forced write has beside the program, at least and at most."""
    most = cost.over_channel(*cost.small_bytes)[1]
    if cost.die_s is None:
        # The array's part of a read is not known.
        command = (cost.memory_s or 0.0, cost.idle_s)
    else:
        rest_s = cost.idle_s - cost.die_s
        # What corrects errors after a read is no part of a write: one to the buffer has the rest.
        command = (min(rest_s, median_s(PLAIN(view)) or rest_s), rest_s + most)
    unit = view.value("mapping_unit")
    moved = cost.small_bytes
    if unit is None and cost.of_channel and moved[0] == moved[1]:
        # The channel moves whole units, or sectors if it moves no more than what is read.
        unit = moved[0] if moved[0] >= READ_BYTES else None
    row = view.value("stripe_bytes") or conflicting_reads.row_max_bytes(view)
    further = cost.over_channel(0.0, max(row - READ_BYTES, 0.0))[1]
    page = view.value("page_bytes") or row
    # Of a unit, or of a page where the unit is not known, that is written in part the rest is read,
    # for which all of it may pass the channel.
    partly = (unit or page or math.inf) > READ_BYTES
    rest = (cost.die_s or cost.idle_s) + cost.over_channel(0.0, row)[1] if partly else 0.0
    return command[0], command[1] + further + rest


def turn_s(view: View) -> float | None:
    """The time of a turn over all dies; ``None`` if their number is not known, or the rate."""
    turn = view.once(turn_bytes)
    if turn is None:
        return None
    rate = view.value("write_drain_rate")
    if not rate:
        fills = [m for m in _FILL(view) if m.elapsed_s]
        if not fills:
            return None
        rate = max(m.bytes / m.elapsed_s for m in fills if m.elapsed_s)
    return turn / rate


def turn_bytes(view: View) -> int | None:
    """What all units (dies, or planes that work together) take in one turn: a stripe each. It is
    ``None`` where they do not take turns, or their number is not known."""
    seen, count = view.once(conflicting_reads.seen), view.once(conflicting_reads.units)
    if seen is None or count is None:
        return None
    if seen.stripe_bytes is None:
        return None if seen.unread is None else seen.unread.turn_bytes
    return seen.stripe_bytes * count


def _waited(view: View, cost: ReadCost, program_s: float) -> float | None:
    """How long reads waited for programs: nine tenths of those that waited at least a third of one
    and at most three, waited at most so long."""
    beside = view.once(waits)
    if beside is None:
        return None
    waited = beside.seconds - cost.idle_s
    waited = waited[(waited > program_s / 3) & (waited < 3 * program_s)]
    return float(np.quantile(waited, 0.9)) if len(waited) >= _WAITS_MIN else None


def by_rounds(view: View) -> tuple[float, float] | None:
    """Bounds of the mean program, from the rounds in which the dies empty the write buffer;
    ``None`` where these do not show, or are not what all dies take in one turn.

    A round is the program and the transfer of what a die programs together: of all its planes, one
    after the other.
    """
    cost, turn = view.once(read_cost), view.once(turn_s)
    drain, row = view.answer("write_drain_rate"), view.value("stripe_bytes")
    round_s = None if drain is None else drain.detail.get("round_s")
    if cost is None or turn is None or row is None or round_s is None:
        return None
    if not abs(round_s / turn - 1) <= _ROUND_IS_TURN or not cost.of_channel:
        return None
    least, most = cost.over_channel(row, row * (view.value("planes_per_die") or 1))
    return (1 - _TOLERANCE) * turn - most, (1 + _TOLERANCE) * turn - least


def bounded(found: Programs, rounds: tuple[float, float] | None) -> Programs | Said:
    """The same, bounded by the time of a turn; or why forced writes are not taken for programs."""
    least, most = found.beside_s
    mean = found.kinds.mean_s
    shown = {"forced": mean, "turn": found.turn_s or 0.0, "waited": found.waited_s or 0.0}
    turn = None if found.turn_s is None else (1 + _TOLERANCE) * found.turn_s
    if turn is not None and mean - most > turn:
        return say("program_time.more_than_one", **shown)
    slowest = found.kinds.seconds[-1]
    by_turn = turn is not None and turn <= _ALIKE * (mean - least)
    by_waits = found.waited_s is not None and found.waited_s >= _WAITED * (slowest - most)
    if not by_turn and not by_waits:
        return say("program_time.not_shown_twice", **shown)
    if turn is not None:
        least = min(max(least, mean - turn), most)
    # Dies that are at pages of different kinds wait for each other, so that a round takes between
    # the mean and the slowest kind. One that leaves no time beside the program has waits in it,
    # too, and bounds nothing.
    if rounds is not None and slowest - rounds[0] > least:
        most = min(most, slowest - rounds[0])
    return replace(found, beside_s=(least, most))


def _detail(found: Programs) -> dict[str, Any]:
    return {
        "forced_s": list(found.kinds.seconds),
        "shares": list(found.kinds.shares),
        "beside_the_program_s": list(found.beside_s),
        "turn_s": found.turn_s,
        "waited_s": found.waited_s,
        "goodness": {"width": found.kinds.width},
    }


def _evidence(view: View) -> list[str]:
    return [*ids(FORCED(view)), *ids(BESIDE(view))]


def mean(view: View) -> Answer:
    """Finds the mean time of the program of a page."""
    found = view.once(programs)
    if isinstance(found, Said):
        protected = found.code == "program_time.protected" and not view.has("slc_cache_bytes")
        rounds = view.once(by_rounds) if protected else None
        if rounds is None:
            return unknown(found, evidence=_evidence(view))
        return of_round(rounds, view.once(further_planes_s))
    by = view.once(kinds)
    if isinstance(by, Said) and by.code == _NOT_AS_OFTEN:
        return unknown(by, evidence=_evidence(view))
    error = float(np.mean(found.kinds.errors_s))
    return _told(view, found, found.kinds.mean_s, error, say("measured", kinds=found.kinds.count))


def further_planes_s(view: View) -> float:
    """What the pages of further planes take on the channel, where the planes of a die do not show:
    those that read independently look like dies, but are programmed together. All of a die are
    behind one channel, so that they are no more than the units that share one."""
    cost, row = view.once(read_cost), view.value("stripe_bytes")
    if cost is None or row is None or view.value("planes_per_die") is not None:
        return 0.0
    units, channels = view.value("dies") or PLANES_MAX, view.value("channels") or 1
    planes = min(PLANES_MAX, units / channels)
    return cost.over_channel(row, row * planes)[1] - cost.over_channel(row, row)[1]


def of_round(bounds: tuple[float, float], further_s: float) -> Answer:
    """The program in a round, of which the pages of further planes may take so long to pass."""
    value = middle(*bounds)
    bounds = (bounds[0] - further_s, bounds[1])
    if bounds[1] - bounds[0] > UNSURE * sum(bounds):
        if bounds[0] <= 0:
            return unknown(say("program_time.round_of_anything", high=bounds[1]))
        return unknown(say("program_time.round_of_transfers", low=bounds[0], high=bounds[1]))
    answer = known(value, say("program_time.round"), bounds=bounds)
    return answer.checked(Assumption.ONE_PROGRAM, None).checked(Assumption.PLANES_WAIT, None)


def _told(view: View, found: Programs, latency_s: float, error_s: float, said: Said) -> Answer:
    value, bounds = found.time_s(latency_s), found.bounds(latency_s, error_s)
    further_s = view.once(further_planes_s)
    given: Mapping[str, Any] = {"detail": _detail(found), "evidence": _evidence(view)}
    if value <= 0 or bounds[1] - bounds[0] > 2 * UNSURE * value:
        if bounds[0] <= 0:
            return unknown(say("program_time.no_least", forced=latency_s), **given)
        return unknown(say("program_time.unknown_rest", forced=latency_s, low=bounds[0]), **given)
    said = Said(said.code, {**said.parameters, "forced": latency_s, "beside": found.beside_mean_s})
    with_planes = (bounds[0] - further_s, bounds[1])
    covered = with_planes[1] - with_planes[0] <= 2 * _OF_PLANES * UNSURE * value
    answer = known(value, said, bounds=with_planes if covered else bounds, **given)
    answer = answer.checked(Assumption.ONE_PROGRAM, True, given["evidence"])
    return answer.checked(Assumption.PLANES_WAIT, None) if covered else answer


def kinds(view: View) -> Kinds | Said:
    """The kinds of pages, if forced writes and flushes show the same; or why they do not."""
    found = view.once(programs)
    if isinstance(found, Said):
        return found
    if found.kinds.count == 1:
        return say("bits_per_cell.all_alike")
    flushes = latencies_s(_FLUSHED(view))
    if not len(flushes) or float(np.median(flushes)) < found.kinds.seconds[0] / 2:
        flushes = latencies_s(_FLUSHED_WRITES(view))
    by_flush = page_kinds(flushes)
    if by_flush is None or by_flush.count != found.kinds.count:
        return say("bits_per_cell.flushes_differ", kinds=found.kinds.count)
    # Flushes are many, and in the order of the pages; forced writes are few for all dies.
    if not by_flush.equally_often:
        return say(_NOT_AS_OFTEN, kinds=by_flush.count, most=max(by_flush.shares))
    cost = view.once(read_cost)
    assert cost is not None
    apart = found.kinds.seconds[1] - found.kinds.seconds[0]
    unit = view.value("mapping_unit")
    if (unit is None or unit > READ_BYTES) and apart < _BY_READ * cost.idle_s:
        return say("bits_per_cell.maybe_reads", apart=apart)
    return found.kinds


def of_kind(view: View, which: int) -> Answer:
    """Finds the time of the program of the pages of one kind, counted from the quickest."""
    found, by = view.once(programs), view.once(kinds)
    if isinstance(found, Said) or isinstance(by, Said):
        said = found if isinstance(found, Said) else by
        assert isinstance(said, Said)
        return unknown(said, evidence=_evidence(view))
    if which >= by.count:
        return known(
            0.0, say("program_kind.no_such_kind", kinds=by.count), evidence=_evidence(view)
        )
    said = say("program_kind.of_kind", share=by.shares[which])
    return _told(view, found, by.seconds[which], by.errors_s[which], said)


def bits(view: View) -> Answer:
    """Finds how many bits a cell holds: as many as there are kinds of pages."""
    by = view.once(kinds)
    if isinstance(by, Said):
        return unknown(by, evidence=_evidence(view))
    said = say("measured", quickest=by.seconds[0], slowest=by.seconds[-1])
    evidence = _evidence(view)
    return known(by.count, said, evidence=evidence).checked(Assumption.ONE_PROGRAM, True, evidence)
