"""Findings ``collection_stall_length`` and ``collection_stall_spacing`` from random overwriting.

A drive that collects in bursts takes nothing meanwhile, so that all outstanding requests wait for
as long: latencies are either short or about the length of a stall. Those that wait, over the
number of outstanding requests, count the stalls, and the bytes written over that number are the
distance between two (SSDcheck, Kim et al., MICRO 2018, uses it to foretell the next one).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fourcorners.analysis.internals.answer import Answer, about, known, unknown
from fourcorners.analysis.internals.collection.parts import OVERWRITE, TEST
from fourcorners.analysis.internals.collection.spare_area import cliff_of
from fourcorners.analysis.internals.collection.superblock import cycle
from fourcorners.analysis.internals.view import View, ids, pick
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured, RunData
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say

WRITES = pick(TEST, "write")

_LONGER_MIN = 5.0
"""Length of a stall, in usual latencies of the fresh drive, from which it is one."""

_EXPLAINED, _EXPLAINED_NOT = (0.5, 1.5), 0.2
"""What stalls last in all, in times of what writes take longer than before the cliff: within these
they are what slows the drive down, below the last they are not."""

_EXPLAINED_ALONE = 0.88
"""The same from which they are counted rightly, where nothing else shows their distance: else dies
collect at different times, and requests wait for some of them."""

_WAITING_ALONE_MAX = 0.05
"""Share of the requests that meet a stall, up to which the same holds: some may meet two that are
close to each other."""

_LONG_SHARE = 0.35
"""Of the latency that half of all long waiting is in, from which a request met a stall: stalls
differ."""

_WAITING_MAX, _ALL_WAIT = 0.17, 0.65
"""Shares of the requests that meet a stall, up to which and from which on it is one, or all
requests take longer. Between them dies may stand still one by one, behind a large buffer."""

_STALLS_MIN = 2.5
"""Stalls that have a distance: two have, and half of one more is no chance."""

_LONGER_SHARE_MIN = 0.25
"""What writes take longer after the cliff, over what they took before."""

_UNSURE = 0.15
"""Half an interval over the distance, above which it is not told: nearer than
:data:`~fourcorners.analysis.internals.thresholds.UNSURE`, as it is held against what is erased."""

_LENGTHS_DIFFER = 0.1
"""What a stall may last more or less than the mean: some blocks have more to move than others."""


@dataclass(frozen=True)
class Stalls:
    """How long, how far apart, and how many; of a drive that slows down evenly none."""

    length_s: float
    spacing_bytes: float
    margin_bytes: float
    count: float
    explained: float
    """Time in them over the time that writes took longer."""
    waiting: float
    """Share of the requests that met one."""


def find_stalls(view: View) -> Stalls | None:
    """The stalls from the cliff on; ``None`` where there is none, or too little came after it."""
    rows = OVERWRITE(view)
    cliff = view.once(cliff_of)
    if cliff is None or cliff.part < 2:
        return None
    before, after = rows[: cliff.part - 1], rows[cliff.part :]
    usual = float(np.median([m.latency_mean_s or 0.0 for m in before]))
    written = np.array([m.bytes for m in after])
    elapsed_s = sum(m.elapsed_s for m in after)
    usual_s = cliff.fresh_s * float(written.sum()) / before[0].bytes
    if elapsed_s - usual_s < _LONGER_SHARE_MIN * usual_s:
        return None
    waits = np.concatenate([_waits(view.run, m) for m in after])
    waits = waits[waits[:, 0] >= _LONGER_MIN * usual]
    if not len(waits):
        return Stalls(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    waits = waits[np.argsort(waits[:, 0])]
    waited = np.cumsum(waits[:, 0] * waits[:, 1])
    threshold = _LONG_SHARE * float(waits[np.searchsorted(waited, waited[-1] / 2), 0])
    met = np.array([_above(view.run, m, threshold) for m in after])
    depth = float(after[0].queue_depth or 1)
    counts = met[:, 0] / depth
    count = float(counts.sum())
    spacing, margin = _distance(written, counts)
    return Stalls(
        float(met[:, 1].sum() / max(met[:, 0].sum(), 1.0)),
        spacing,
        margin,
        count,
        float(met[:, 1].sum()) / depth / (elapsed_s - usual_s),
        float(met[:, 0].sum()) / sum(m.ios for m in after),
    )


def _distance(written: Floats, counts: Floats) -> tuple[float, float]:
    """Distance of the stalls and how far it may be off, from their number in each part."""
    met = np.flatnonzero(counts >= 0.5)
    count = float(counts.sum())
    if len(met) < 2 or count < _STALLS_MIN:
        return 0.0, 0.0
    first, last = int(met[0]), int(met[-1])
    middles = np.cumsum(written) - written / 2
    # In a part with several stalls the first or last of them is nearer to its edge.
    ends = sum(
        float(written[part] / 2 * (1 - 1 / max(counts[part], 1.0))) for part in (first, last)
    )
    spacing = (float(middles[last] - middles[first]) + ends) / (count - 1)
    within = min(float(written[0]), spacing)
    return spacing, two_sided_t(math.inf) * (0.41 * within / (count - 1) + 0.01 * spacing)


def _above(run: RunData, m: Measured, threshold_s: float) -> tuple[float, float]:
    """How many requests took longer, and how long these took together."""
    waits = _waits(run, m)
    over = waits[waits[:, 0] > threshold_s]
    return float(over[:, 1].sum()), float(over[:, 0] @ over[:, 1])


def _waits(run: RunData, m: Measured) -> Floats:
    """Latencies in seconds, and how many requests took them, shape (buckets, 2)."""
    low, high, count = m.histogram
    waits: Floats = np.stack([(low + high) / 2 * 1e-9, count], axis=1)
    return waits


@dataclass(frozen=True)
class _Told:
    """Stalls that can be told, with the distance and its margin that are surest."""

    stalls: Stalls
    spacing_bytes: float
    margin_bytes: float


def length(view: View) -> Answer:
    """For how long the drive takes nothing."""
    told = view.once(_told)
    if not isinstance(told, _Told):
        return told
    length_s = told.stalls.length_s
    return _known(view, told, length_s, _LENGTHS_DIFFER * length_s)


def spacing(view: View) -> Answer:
    """For how much written it does so once."""
    told = view.once(_told)
    if not isinstance(told, _Told):
        return told
    return _known(view, told, told.spacing_bytes, told.margin_bytes)


def _known(view: View, told: _Told, value: float, margin: float) -> Answer:
    stalls = told.stalls
    said = say("collection_stalls.measured", length=stalls.length_s, spacing=told.spacing_bytes)
    detail = {"stalls": stalls.count, "goodness": {"time_explained": stalls.explained}}
    evidence = ids(OVERWRITE(view))
    return known(value, said, bounds=about(value, margin), detail=detail, evidence=evidence)


def _told(view: View) -> _Told | Answer:
    overwritten = OVERWRITE(view)
    if not overwritten:
        return unknown(say("collection_stalls.not_filled"), evidence=ids(WRITES(view)))
    evidence = ids(overwritten)

    def hidden(name: str, **parameters: object) -> Answer:
        return unknown(say(f"collection_stalls.{name}", **parameters), evidence=evidence)

    stalls = view.once(find_stalls)
    if stalls is None:
        return hidden("not_slower")
    if stalls.waiting >= _ALL_WAIT or stalls.explained <= _EXPLAINED_NOT:
        # No least stall that would show: what waits as long as one does, or how much of the time
        # it takes, decides, not a length.
        goodness = {"time_explained": stalls.explained, "requests_waiting": stalls.waiting}
        return known(
            0.0, say("collection_stalls.none"), detail={"goodness": goodness}, evidence=evidence
        )
    lasts = {"length_s": stalls.length_s}
    if stalls.waiting > _WAITING_MAX or not _EXPLAINED[0] <= stalls.explained <= _EXPLAINED[1]:
        return hidden("some_wait", **lasts)
    spacing, margin = stalls.spacing_bytes, stalls.margin_bytes
    erased = view.once(cycle)
    if erased is not None:
        apart = abs(erased.unit_bytes - spacing)
        if apart <= max(2 * margin, _UNSURE * spacing):
            # Erasures were counted more closely than stalls.
            return _Told(stalls, erased.unit_bytes, erased.margin_bytes)
        if spacing:
            return hidden("unlike_erased", spacing=spacing, erased=erased.unit_bytes)
    if stalls.explained < _EXPLAINED_ALONE or stalls.waiting > _WAITING_ALONE_MAX:
        return hidden("too_often", **lasts)
    if margin > _UNSURE * spacing or not spacing:
        return hidden("too_few", **lasts, stalls=stalls.count)
    return _Told(stalls, spacing, margin)
