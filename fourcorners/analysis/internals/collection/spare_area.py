"""Findings about spare area from overwriting a full drive at random, in parts of equal size.

``op_by_cliff`` counts bytes: a full drive accepts new data at its full pace until the spare area is
written; from then on each write has to wait until other data has been moved.
``op_by_amplification`` uses how much slower the drive becomes, and how the slowdown changes while
the drive collects its blocks. It needs no count of the bytes before the cliff
(:mod:`.write_amplification`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.caches import write_buffer
from fourcorners.analysis.internals.caches.burst_curve import completion_curve
from fourcorners.analysis.internals.collection.before_cliff import earliest_plane, held_bytes
from fourcorners.analysis.internals.collection.cliff import (
    FRESH_PARTS,
    PACED,
    PARTS_AHEAD,
    RISE_MIN,
    cliff_of,
    one_rate,
    varies,
)
from fourcorners.analysis.internals.collection.parts import (
    FASTER_MIN,
    FILL,
    OVERWRITE,
    faster_at_random,
    filled_bytes,
    parts,
)
from fourcorners.analysis.internals.collection.relocation_cost import cost_of_moving
from fourcorners.analysis.internals.collection.reserve import freed_bytes
from fourcorners.analysis.internals.collection.superblock import cycle
from fourcorners.analysis.internals.collection.write_amplification import (
    WRITTEN_MAX,
    Prior,
    likely_share,
)
from fourcorners.analysis.internals.link.command_queue import RANDOM
from fourcorners.analysis.internals.link.generation import fastest
from fourcorners.analysis.internals.thresholds import UNSURE, disagree
from fourcorners.analysis.internals.view import View, ids
from fourcorners.sentences import say

_UNITS_UNCERTAIN, _UNKNOWN_UNIT = 0.5, 0.012
"""The uncertainty of the cliff in erase units, since the destination block of collection is empty
at first; where the unit is not known, a share of the bytes written before the cliff."""

_ONSET_UNCERTAIN = 0.003
"""The uncertainty for drives whose pace falls gradually, as a share of the same bytes."""

_BUFFER_UNCERTAIN, _UNKNOWN_BUFFER_BYTES = 0.1, 12 * 2**20
"""The uncertainty of the cliff as a share of the write buffer, which need not have been full; where
writes wait for the flash, the bytes that are under way."""

_FIRST_BYTES = ((128 * 1024, 512 * 1024), (128 * 1024, 1024 * 1024), (256 * 1024, 512 * 1024))
"""The parts of the fill whose rate may be a write buffer's: several, as a histogram is coarse."""

_SAME_PACE = (0.9, 1.1)
"""If the rate of the first bytes, over that at the end of the fill, lies between these, no write
buffer that shows took them faster than flash does, and something else may limit the rate."""

_LATE_SHARE = 0.9
"""After this share of the fill its pace is that of the flash."""

_PACE = (0.985, 1.015)
"""If the rate of random writes, over that at the end of the fill, lies between these, flash limits
both. With any other limit the time per command counts, and large requests need fewer commands."""

_COST_SPREAD, _COST_SPREAD_APART = 0.05, 0.3
"""The standard deviation of the logarithm of the cost of moving a unit, in times of writing one, as
:mod:`.relocation_cost` finds it. The second is for drives on which some writes wait long although
the drive does not stall: dies collect at different times and wait for each other, and how long is
unknown."""

_COST_IN_BURSTS = 1.02
"""The factor to the cost for collection in bursts, in which dies wait for each other."""

_COST_CACHED, _CACHED_SPREAD = 0.9, 0.13
"""The factor and the spread where the drive may have an SLC cache: what goes through the cache is
written twice, and moved data once."""

_DRIFT, _DRIFT_IN_BURSTS = 0.02, 0.03
"""The standard deviation of the cost's logarithm at either end of the measured stretches, without
and with bursts."""

_ERASE = 0.03
"""The time of an erasure that was not measured, over the time of writing what it erases."""
_ERASE_MAX = 0.2
"""The largest such share: a longer wait is not for an erasure alone."""

_MISFIT_MAX = 5.0
"""Beyond this chi squared over its degrees of freedom, the model does not describe the drive."""

_MODEL_SCATTER = 0.02
"""The relative standard deviation about the model of the data moved in a stretch."""

_UNIT_SCATTER, _BURST_SCATTER = 0.12, 0.22
"""The same standard deviation from the erase unit, per erase unit over the bytes written in a
stretch: a stretch contains some blocks more or fewer. The second is for bursts, which come
whole."""

_STRETCHES = 12
"""The data written after the cliff is divided into so many stretches; several blocks are collected
in each."""

_SAME_PAGES, _BELOW_LINK = 0.9, 0.77
"""If small writes are at least the first share as fast as the large ones at the end of the fill, in
bytes, they fill their pages alike. The fill must be slower than the second share of the link's
rate, or the link may be what limits both."""

_ALONE = FASTER_MIN / 2
"""Without a buffer, small writes that fill a page each take twice the room of large ones, and reach
at most this share of their rate, since they may use more of the dies."""

_UNITS_PASSED = 2.0
"""So many erase units after the cliff the destination block of collection is no longer empty."""


def _hidden(view: View) -> Answer | None:
    """The reason why no measurement can show the spare area of this drive, if there is one."""
    if view.has("log_blocks"):
        return unknown(say("over_provisioning.logged"))
    if write_buffer.writes_through(view) and not view.once(_fills_pages):
        return unknown(say("over_provisioning.padded"))
    if view.once(cliff_of) is None:
        return None
    if times := view.once(faster_at_random):
        return unknown(say("over_provisioning.cached", times=times))
    last = [m.iops for m in OVERWRITE(view)[-PARTS_AHEAD:]]
    alike = [m for m in RANDOM(view) if abs(m.iops / np.median(last) - 1) <= PACED]
    if len(alike) > 1 and max(last) - min(last) <= PACED * max(last):
        said = say("over_provisioning.credits", iops=float(np.median(last)))
        return unknown(said, evidence=ids([*OVERWRITE(view), *alike]))
    if one_rate(parts(OVERWRITE(view)), view.once(cliff_of)):
        return unknown(say("over_provisioning.one_rate"), evidence=ids(OVERWRITE(view)))
    block = OVERWRITE(view)[0].block_bytes
    unit = max(view.value(name) or 0.0 for name in ("mapping_unit", "trim_granularity"))
    # A buffer gathers writes of one unit, and writes at random are of many.
    if block is not None and unit > block and not view.once(_fills_pages):
        return unknown(say("over_provisioning.part_of_unit", unit=unit, block=block))
    return None


def _fills_pages(view: View) -> bool | None:
    """Whether random writes take the room of large ones, by their pace; ``None`` if unknown."""
    pace, least = view.once(_pace), _ALONE if write_buffer.writes_through(view) else _SAME_PAGES
    return None if pace is None else pace >= least


def _pace(view: View) -> float | None:
    """The rate of the random writes before the cliff over that of the fill, in bytes; ``None``
    where something other than flash may limit both. A link carries at least what reads reach."""
    cliff, link = view.once(cliff_of), view.value("link_ceiling") or fastest(view)
    if cliff is None or link is None:
        return None
    fill, part = FILL(view)[0], parts(OVERWRITE(view))[0][0]
    late = completion_curve(view.run, fill).rate(_LATE_SHARE * fill.bytes, fill.bytes)
    return None if late > _BELOW_LINK * link else part / cliff.fresh_s / late


def _no_cliff(view: View) -> Answer:
    done, user = parts(OVERWRITE(view)), filled_bytes(view)
    if not done:
        return unknown(say("over_provisioning.not_filled"))
    times, early = np.array([elapsed for _, elapsed in done]), max(len(done) // 4, FRESH_PARTS)
    if varies(times[:early]):
        return unknown(say("over_provisioning.varied"))
    if (slower := float(np.median(times[-early:]) / np.median(times[:early]))) >= 1 + RISE_MIN:
        return unknown(say("over_provisioning.no_onset", slower=slower))
    share = sum(count for count, _ in done) / user
    return unknown(say("over_provisioning.not_slower", share=share))


def by_cliff(view: View) -> Answer:
    """Finds the spare area from the bytes written before the cliff."""
    cliff = view.once(cliff_of)
    if hidden := view.once(_hidden):
        return hidden
    if cliff is None:
        return view.once(_no_cliff)
    user = filled_bytes(view)
    unit = view.value("superblock_bytes")
    least, held, most = held_bytes(view)
    written = max(cliff.written_bytes - held, 0.0)
    share = written / user
    begun = _UNKNOWN_UNIT * written if unit is None else _UNITS_UNCERTAIN * unit
    through = write_buffer.writes_through(view)
    buffered = _UNKNOWN_BUFFER_BYTES if through else _BUFFER_UNCERTAIN * held
    margin = math.hypot(cliff.margin_bytes, begun, buffered, _ONSET_UNCERTAIN * written) / user
    # More of the bytes may have been in the buffer, or fewer; a soft onset hides where collection
    # begins. These are bounds, which no chance makes smaller.
    low = share - margin - (most - held + cliff.onset_bytes + cliff.doubtful_bytes) / user
    high = share + margin + (held - least + cliff.onset_bytes) / user
    high += earliest_plane(view, written) * share
    # A page may be filled in part, and an array write parity with each write, if they are slower.
    pace = None if through or view.value("mapping_unit") else view.once(_pace)
    room = 1.0 if pace is None or pace >= _SAME_PAGES else 1 / pace
    high *= room
    if high - low > 2 * UNSURE * share:
        if room - 1 > 2 * UNSURE:
            return unknown(say("op_by_cliff.more_room", room=room))
        if most - least > margin * user:
            return unknown(say("op_by_cliff.in_buffer", most=most, written=cliff.written_bytes))
        return unknown(say("op_by_cliff.few_units"))
    goodness = {"part": cliff.part}
    detail = {"written_bytes": written, "onset_bytes": cliff.onset_bytes, "goodness": goodness}
    said, interval = say("soft" if cliff.onset_bytes else "measured"), (max(low, 0.0), high)
    return _tested(view, known(share, said, interval=interval, detail=detail))


def _tested(view: View, answer: Answer) -> Answer:
    """The answer; a buffer gathers whole pages of units that are no larger than a write, and so do
    writes that fill their pages."""
    if not write_buffer.writes_through(view) and view.value("mapping_unit"):
        return answer.checked(Assumption.WRITES_FILL_PAGES, None)
    evidence = [m.recording for m in (*FILL(view)[:1], *OVERWRITE(view)[:1])]
    if (fills := view.once(_fills_pages)) or write_buffer.writes_through(view):
        return answer.checked(Assumption.WRITES_FILL_PAGES, fills, evidence)
    return answer


def by_amplification(view: View) -> Answer:
    """Finds the spare area from how much slower the drive becomes."""
    cliff = view.once(cliff_of)
    if hidden := view.once(_hidden):
        return hidden
    if cliff is None:
        return view.once(_no_cliff)
    done, user = parts(OVERWRITE(view)), filled_bytes(view)
    fill = completion_curve(view.run, FILL(view)[0])
    fresh = float(done[0][0]) / cliff.fresh_s
    total = float(fill.count_bytes[-1])
    late = fill.rate(_LATE_SHARE * total, total)
    first_rate = max(fill.rate(*b) for b in _FIRST_BYTES)
    if not _PACE[0] <= fresh / late <= _PACE[1]:
        return unknown(say("other_pace", times=fresh / late))
    if _SAME_PACE[0] <= first_rate / late <= _SAME_PACE[1]:
        return unknown(say("through" if write_buffer.writes_through(view) else "not_flash"))
    slc_cache_bytes, stall_s = (
        view.value(name) for name in ("slc_cache_bytes", "collection_stall_length")
    )
    if slc_cache_bytes:
        return unknown(say("slc_cache"))
    cost = cost_of_moving(view, *write_buffer.rounds_s(view))
    if not isinstance(cost, float):
        return unknown(cost)
    erased_bytes, erasure = view.value("superblock_bytes"), view.once(cycle)
    unit = (erased_bytes or 0.0) / user
    written = np.append(0.0, np.cumsum([float(count) for count, _ in done])) / user
    elapsed_s = np.append(0.0, np.cumsum([elapsed for _, elapsed in done]))
    since = written - cliff.written_bytes / user
    first = max(float(since[cliff.part + 2]), _UNITS_PASSED * unit)
    last = min(float(since[-1]), WRITTEN_MAX)
    if last <= first:
        return unknown(say("little_written"))
    edges = np.linspace(first, last, _STRETCHES + 1)
    longer = np.diff(np.interp(edges, since, elapsed_s * fresh / user)) / np.diff(edges) - 1
    in_bursts = stall_s != 0
    scatter = (_BURST_SCATTER if in_bursts else _UNIT_SCATTER) * unit / (edges[1] - edges[0])
    # The wider spread is for some writes that wait long although the drive does not stall, and for
    # planes that are full at different times, since addresses tell the plane.
    apart = stall_s is None or view.has("placement_by_address")
    spread = _COST_SPREAD_APART if apart else _COST_SPREAD
    drift = _DRIFT
    if slc_cache_bytes is None:
        cost, spread = cost * _COST_CACHED, math.hypot(spread, _CACHED_SPREAD)
    if in_bursts:
        cost, drift = cost * _COST_IN_BURSTS, _DRIFT_IN_BURSTS
    prior = Prior(cost, spread, drift, _ERASE)
    if erasure is not None and erased_bytes:
        erase = min(erasure.wait_s * fresh / erased_bytes, _ERASE_MAX)
        prior = replace(prior, erase=erase)
    likely = likely_share(
        edges,
        longer,
        scatter=math.hypot(_MODEL_SCATTER, scatter),
        ahead=unit / 2 if in_bursts else 0.0,
        prior=prior,
    )
    if likely.misfit > _MISFIT_MAX:
        return unknown(say("other_course"))
    if likely.high - likely.low > 2 * UNSURE * likely.share:
        return unknown(say("cost_or_amount"))
    detail = {
        "amplification": likely.amplification,
        "cost_of_moving": likely.cost,
        "goodness": {"chi_squared_per_stretch": likely.misfit, "stretches": _STRETCHES},
    }
    interval = (likely.low, likely.high)
    detail |= {"share": likely.share, "share_interval": interval}
    answer = known(likely.share, say("measured"), interval=interval, detail=detail)
    # The buffer is faster than the flash, and its rounds are those of the dies.
    answer = answer.checked(Assumption.FLASH_LIMITS, True, ids(FILL(view)))
    answer = counted(answer, view.answer("op_by_cliff"), ids(OVERWRITE(view)))
    return answer if stall_s is None else answer.checked(Assumption.DIES_TOGETHER, True)


def counted(answer: Answer, by_bytes: Answer | None, evidence: Sequence[str]) -> Answer:
    """The spare area by amplification, tested by that which the bytes before the cliff show.

    Of the policies of collection the estimate weighs several, and the course of the rate tests
    their kind; but what it costs to move a unit it takes from reads and programs of one plane.
    Planes that collect by themselves, while the host's writes go to all of a die, have the course
    and another cost. Only a count of bytes shows that.
    """
    value, interval = answer.value, answer.interval
    if value is None or interval is None or by_bytes is None:
        return answer
    if by_bytes.value is None or by_bytes.interval is None:
        return answer
    agrees = not disagree(value, interval, by_bytes.value, by_bytes.interval)
    if agrees and not interval[0] <= by_bytes.value <= interval[1]:
        # Chance has it so in one of ten. Else the drive has another cost, and either may hold.
        low = min(interval[0], by_bytes.interval[0])
        high = max(interval[1], by_bytes.interval[1])
        if high - low > 2 * UNSURE * value:
            return unknown(say("op_by_amplification.cost_or_amount"), detail=answer.detail)
        answer = replace(answer, interval=(low, high))
    return answer.checked(Assumption.GREEDY_COURSE, agrees, evidence)


def combined(view: View) -> Answer:
    """Finds the spare area by the cliff, which counts bytes, if the other way agrees."""
    by_bytes, by_pace = view.answer("op_by_cliff"), view.answer("op_by_amplification")
    assert by_bytes is not None
    if by_bytes.value is None or by_bytes.interval is None:
        return by_bytes
    value, interval = by_bytes.value, by_bytes.interval
    cliff = view.once(cliff_of)
    assert cliff is not None
    freed = freed_bytes(parts(OVERWRITE(view)), cliff.part) if cliff.in_bursts else 0.0
    if freed > UNSURE * cliff.written_bytes:
        said = say("reserve", freed=freed, written=cliff.written_bytes)
        return unknown(said, detail=by_bytes.detail)
    # A value that the cliff contradicts is not given, but it makes the cliff doubtful as well.
    other = None if by_pace is None else by_pace.detail.get("share")
    detail: dict[str, object] = {"by_cliff": value, "by_amplification": other}
    if by_pace is None or other is None:
        answer = known(value, say("measured"), interval=interval, detail=detail)
        return replace(answer, checks=by_bytes.checks)
    detail["goodness"] = {"disagreement": abs(other / value - 1)}
    if disagree(value, interval, other, by_pace.detail["share_interval"]):
        return unknown(say("disagree"), detail=detail)
    # The rate after the cliff, which counts no bytes before it, tests the place of the cliff.
    answer = known(value, say("beside_the_pace"), interval=interval, detail=detail)
    answer = replace(answer, checks=by_bytes.checks)
    return answer.checked(
        Assumption.FULL_PACE_UNTIL_COLLECTION, True, by_pace.evidence or ids(OVERWRITE(view))
    )
