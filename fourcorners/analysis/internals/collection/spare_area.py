"""Findings about spare area from overwriting a full drive at random, in parts of equal size.

``op_by_cliff``: a full drive takes new data at its full pace until the spare area is written; then
each write has to wait for others to be moved. ``op_by_amplification``: how much slower it becomes,
and how that changes while the drive goes through its blocks, whatever was written before
(:mod:`.amplification`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.caches import write_buffer
from fourcorners.analysis.internals.caches.burst_curve import completion_curve
from fourcorners.analysis.internals.collection.parts import FILL, OVERWRITE, Part, parts
from fourcorners.analysis.internals.collection.relocation_cost import cost_of_moving
from fourcorners.analysis.internals.collection.superblock import cycle
from fourcorners.analysis.internals.collection.write_amplification import (
    WRITTEN_MAX,
    Prior,
    likely_share,
)
from fourcorners.analysis.internals.thresholds import UNSURE, disagree
from fourcorners.analysis.internals.view import View
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say

_RISE_MIN = 0.6
"""Mean rise of the time of the next parts, in times of the first ones, from which it is a cliff.
Erasing empty blocks costs less."""

_FIRST_SHARE = 0.2
"""The same, of the largest such mean: what comes before may have been blocks that held little."""

_PARTS_AHEAD, _PARTS_BACK = 8, 6
"""Next parts whose mean says that a cliff is behind, and earlier ones that may have shown it: one
batch of the probe, and less."""

_ONSET_SHARE = 0.3
"""Share of the largest rise nearby that the first part of the cliff has."""

_SEEN_SHARE = 0.1
"""The same of a slower part before it, which other parts are followed by that are not."""

_FRESH_PARTS = 4
"""First parts, whose median is what a part takes before the cliff."""

_VARIES_MIN = 0.3
"""Range of the middle 80 % of the parts before the cliff, over their median, from which there is
none to be seen."""

_USUAL_QUANTILE, _USUAL_FACTOR, _RISE_SEEN = 0.9, 1.5, 0.02
"""What parts before the cliff vary by, and how far beyond it the first of the cliff lies."""

_PART_UNCERTAIN, _BURST_UNCERTAIN = 0.3, 0.45
"""Parts by which the cliff may be off: of a drive that takes the new pace at once, and of one that
first stands still anywhere in one."""

_UNITS_UNCERTAIN, _UNKNOWN_UNIT = 0.5, 0.012
"""Erase units by which the cliff may be off, since the block into which is collected is empty at
first; where the unit is not known, share of what it took to the cliff."""

_ONSET_UNCERTAIN = 0.003
"""The same for drives whose pace falls little by little."""

_BUFFER_UNCERTAIN, _UNKNOWN_BUFFER_BYTES = 0.1, 12 * 2**20
"""Share of the write buffer by which the cliff may be off: it need not have been full before; where
its size is not known, bytes."""

_FIRST_BYTES = ((128 * 1024, 512 * 1024), (128 * 1024, 1024 * 1024), (256 * 1024, 512 * 1024))
"""Parts of the fill whose rate may be that of a write buffer: of several, as a histogram is coarse
there."""

_SAME_PACE = (0.9, 1.1)
"""Rate of the first bytes, over that of the end of the fill, between which no write buffer took
them faster than flash does: something else limits. It may be too small to show."""

_LATE_SHARE = 0.9
"""Of the fill, after which its pace is the flash's."""

_PACE = (0.985, 1.015)
"""Rate of random writes, over that of the end of the fill, between which both are the flash's: a
command costs time wherever else the limit is, and large requests need fewer."""

_COST_SPREAD, _COST_SPREAD_APART = 0.05, 0.3
"""Standard deviation of the logarithm of what moving a unit takes in times of writing one, as reads
beside writes show it (:mod:`.moving_cost`); and where some writes wait long but the drive does not
stand still: dies collect at different times, and wait for each other for nobody knows how long."""

_COST_IN_BURSTS = 1.02
"""Factor to it: in bursts dies wait for each other."""

_COST_CACHED, _CACHED_SPREAD = 0.9, 0.13
"""The same where it may have an SLC cache: what goes through it is written twice, and data that is
moved once."""

_DRIFT, _DRIFT_IN_BURSTS = 0.02, 0.03
"""Standard deviation by which that cost may be off at either end of what was seen."""

_ERASE = 0.03
"""Time of an erasure, over that of writing what it erases, where it was not seen."""

_ERASE_MAX = 0.2
"""Most that it may be: a wait that is longer is not for an erasure alone."""

_MISFIT_MAX = 5.0
"""Chi squared of the model over its degrees of freedom, beyond which it is not this drive's."""

_MODEL_SCATTER = 0.02
"""Relative standard deviation of what is moved in a stretch about the model."""

_UNIT_SCATTER, _BURST_SCATTER = 0.12, 0.22
"""The same for what is erased at a time, over what is written in a stretch: as many blocks begin in
it more or less, and a burst comes whole."""

_STRETCHES = 12
"""Into which what follows the cliff is divided: several blocks are collected in each."""

_UNITS_PASSED = 2.0
"""Erase units after the cliff, from which the pace is that of collection: the block into which is
collected is still empty before."""


@dataclass(frozen=True)
class Cliff:
    """Where a drive begins to collect."""

    part: int
    """The part in which it does."""
    written_bytes: float
    margin_bytes: float
    fresh_s: float
    """What a part took before."""
    in_bursts: bool
    """Whether the drive stands still at times, and writes at its full pace between."""


def find_cliff(parts: Sequence[Part]) -> Cliff | None:
    """The cliff, if enough parts are known after it.

    A drive that collects between the writes takes the new pace at once: within its part the cliff
    lies where the part's time divides between the pace before and after. One that collects in
    bursts stands still first.
    """
    times = np.array([elapsed for _, elapsed in parts])
    if len(times) < _FRESH_PARTS + _PARTS_AHEAD:
        return None
    fresh = float(np.median(times[:_FRESH_PARTS]))
    rise = times / fresh - 1
    ahead = np.convolve(rise, np.ones(_PARTS_AHEAD) / _PARTS_AHEAD, mode="valid")
    risen = np.flatnonzero(ahead >= max(_RISE_MIN, _FIRST_SHARE * float(ahead.max())))
    if not len(risen):
        return None
    near = rise[risen[0] : risen[0] + _PARTS_AHEAD]
    part = int(risen[0]) + int(np.argmax(near >= _ONSET_SHARE * near.max()))
    part = _first_slower(rise, part, float(near.max()))
    if part + 2 >= len(parts) or _varies(times[:part]):
        return None
    count = float(parts[part][0])
    before = float(sum(part[0] for part in parts[:part]))
    in_bursts = bool(rise[part + 1] < 0.5 * rise[part])
    if in_bursts:
        return Cliff(part, before + count / 2, _BURST_UNCERTAIN * count, fresh, True)
    share = min(float(rise[part]) / float(rise[part + 1]), 1.0)
    written = float(sum(part[0] for part in parts[:part])) + count * (1 - share)
    return Cliff(part, written, _PART_UNCERTAIN * count, fresh, False)


def _first_slower(rise: Floats, part: int, most: float) -> int:
    """The first slower part of a cliff that is seen in ``part``: the block into which is collected
    is still empty then, so that little has to be collected to go on for some parts."""
    while part > 1:
        near = max(part - _PARTS_BACK, 1)
        earlier = np.abs(rise[:near])
        seen = max(_USUAL_FACTOR * float(earlier.max()), _SEEN_SHARE * most)
        slower = np.flatnonzero(rise[near:part] > seen)
        if not len(slower):
            break
        part = near + int(slower[0])
    # The pace may fall over some parts.
    usual = float(np.quantile(np.abs(rise[: max(part - 2, 1)]), _USUAL_QUANTILE))
    while part > 1 and rise[part - 1] > _USUAL_FACTOR * usual + _RISE_SEEN:
        part -= 1
    return part


def _varies(times: Floats) -> bool:
    """Whether parts took different times without a cliff: other load, or a target that is none of
    flash alone."""
    low, middle, high = np.quantile(times, (0.1, 0.5, 0.9)) if len(times) else (1.0, 1.0, 1.0)
    return bool(high - low > _VARIES_MIN * middle)


def cliff_of(view: View) -> Cliff | None:
    """Where the drive of a run begins to collect."""
    return find_cliff(parts(OVERWRITE(view)))


def _hidden(view: View) -> Answer | None:
    """Why spare area cannot show, whatever was measured."""
    if view.has("log_blocks"):
        return unknown(say("over_provisioning.logged"))
    if write_buffer.writes_through(view):
        return unknown(say("over_provisioning.padded"))
    return None


def _user_bytes(view: View) -> float:
    return float(FILL(view)[0].bytes)


def _no_cliff(view: View) -> Answer:
    done, user = parts(OVERWRITE(view)), _user_bytes(view)
    if not done:
        return unknown(say("over_provisioning.not_filled"))
    if _varies(np.array([elapsed for _, elapsed in done[: max(len(done) // 4, _FRESH_PARTS)]])):
        return unknown(say("over_provisioning.varied"))
    share = sum(count for count, _ in done) / user
    return unknown(say("over_provisioning.not_slower", share=share))


def by_cliff(view: View) -> Answer:
    """By the bytes that are written to the cliff."""
    cliff = view.once(cliff_of)
    if hidden := view.once(_hidden):
        return hidden
    if cliff is None:
        return view.once(_no_cliff)
    user = _user_bytes(view)
    unit = view.value("superblock_bytes")
    buffer_bytes = view.value("write_buffer_bytes") or 0.0
    written = max(cliff.written_bytes - buffer_bytes, 0.0)
    share = written / user
    begun = _UNKNOWN_UNIT * written if unit is None else _UNITS_UNCERTAIN * unit
    buffered = _BUFFER_UNCERTAIN * buffer_bytes or _UNKNOWN_BUFFER_BYTES
    margin = math.hypot(cliff.margin_bytes, begun, buffered, _ONSET_UNCERTAIN * written) / user
    if margin > UNSURE * share:
        return unknown(say("op_by_cliff.few_units"))
    interval = (max(share - margin, 0.0), share + margin)
    detail = {"written_bytes": written, "goodness": {"part": cliff.part}}
    return known(share, say("measured"), interval=interval, detail=detail)


def by_amplification(view: View) -> Answer:
    """By how much slower the drive becomes."""
    cliff = view.once(cliff_of)
    if hidden := view.once(_hidden):
        return hidden
    if cliff is None:
        return view.once(_no_cliff)
    done, user = parts(OVERWRITE(view)), _user_bytes(view)
    fill = completion_curve(view.run, FILL(view)[0])
    fresh = float(done[0][0]) / cliff.fresh_s
    late = fill.rate(_LATE_SHARE * user, user)
    first_rate = max(fill.rate(*bytes) for bytes in _FIRST_BYTES)
    same = _PACE[0] <= fresh / late <= _PACE[1]
    if not same or _SAME_PACE[0] <= first_rate / late <= _SAME_PACE[1]:
        return unknown(say("not_flash"))
    slc_cache_bytes, stall_s = (
        view.value(name) for name in ("slc_cache_bytes", "collection_stall_length")
    )
    if slc_cache_bytes:
        return unknown(say("slc_cache"))
    cost = cost_of_moving(view, write_buffer.round_s(view))
    if cost is None:
        return unknown(say("no_rounds"))
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
    # Where some writes wait long but the drive does not stand still.
    spread = _COST_SPREAD_APART if stall_s is None else _COST_SPREAD
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
    return known(likely.share, say("measured"), interval=interval, detail=detail)


def combined(view: View) -> Answer:
    """By the cliff, which counts bytes; the other way has to agree."""
    by_bytes, by_pace = view.answer("op_by_cliff"), view.answer("op_by_amplification")
    assert by_bytes is not None
    if by_bytes.value is None or by_bytes.interval is None:
        return by_bytes
    value, interval = by_bytes.value, by_bytes.interval
    other = None if by_pace is None else by_pace.value
    detail: dict[str, object] = {"by_cliff": value, "by_amplification": other}
    if by_pace is None or other is None or by_pace.interval is None:
        return known(value, say("measured"), interval=interval, detail=detail)
    detail["goodness"] = {"disagreement": abs(other / value - 1)}
    if disagree(value, interval, other, by_pace.interval):
        return unknown(say("disagree"), detail=detail)
    return known(value, say("beside_the_pace"), interval=interval, detail=detail)
