"""Findings ``collection_stall_length`` and ``collection_stall_spacing`` from random overwriting.

A drive that collects in bursts takes nothing meanwhile, so that all outstanding requests wait for
as long: latencies are either short or about the length of a stall. Those that wait, over the
number of outstanding requests, count the stalls, and the bytes written over that number are the
distance between two (SSDcheck, Kim et al., MICRO 2018, uses it to foretell the next one).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fourcorners import wording
from fourcorners.analysis.finding import RESOLUTION, Finding
from fourcorners.analysis.internals.collection.spare_area import find_cliff
from fourcorners.analysis.internals.collection.superblock import TEST, parts_of
from fourcorners.analysis.source import Measured, RunData, measured

Floats = npt.NDArray[np.float64]

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

_LONGER_SHARE_MIN = 0.25
"""What writes take longer after the cliff, over what they took before."""

_UNSURE = 0.15
"""Half an interval over the value, above which nothing is said."""

_NAMES = ("collection_stall_length", "collection_stall_spacing")
_TITLES = ("Collection stalls, length", "Collection stalls, distance")


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


def find_stalls(run: RunData) -> Stalls | None:
    """The stalls from the cliff on; ``None`` where there is none, or too little came after it."""
    cliff = find_cliff(parts_of(run, "overwrite")[0])
    rows = [m for m in measured(run, TEST, "write") if m.point.get("stage") == "overwrite"]
    if cliff is None or cliff.part < 2:
        return None
    before, after = rows[: cliff.part - 1], rows[cliff.part :]
    usual = float(np.median([m.number("latency_mean_s") or 0.0 for m in before]))
    written = np.array([float(m.row["bytes"]) for m in after])
    elapsed_s = sum(m.number("elapsed_s") or 0.0 for m in after)
    usual_s = cliff.fresh_s * float(written.sum()) / float(before[0].row["bytes"])
    if elapsed_s - usual_s < _LONGER_SHARE_MIN * usual_s:
        return None
    waits = np.concatenate([_waits(run, m) for m in after])
    waits = waits[waits[:, 0] >= _LONGER_MIN * usual]
    if not len(waits):
        return Stalls(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    waits = waits[np.argsort(waits[:, 0])]
    waited = np.cumsum(waits[:, 0] * waits[:, 1])
    threshold = _LONG_SHARE * float(waits[np.searchsorted(waited, waited[-1] / 2), 0])
    met = np.array([_above(run, m, threshold) for m in after])
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
    return spacing, 1.645 * (0.41 * within / (count - 1) + 0.01 * spacing)


def _above(run: RunData, m: Measured, threshold_s: float) -> tuple[float, float]:
    """How many requests took longer, and how long these took together."""
    waits = _waits(run, m)
    over = waits[waits[:, 0] > threshold_s]
    return float(over[:, 1].sum()), float(over[:, 0] @ over[:, 1])


def _waits(run: RunData, m: Measured) -> Floats:
    """Latencies in seconds, and how many requests took them, shape (buckets, 2)."""
    low, high, count = run.histogram(m.recording, m.operation)
    waits: Floats = np.stack([(low + high) / 2 * 1e-9, count], axis=1)
    return waits


def find(run: RunData, erased: Finding) -> list[Finding]:
    """Both findings, if the probe ran.

    Args:
        run: the run.
        erased: ``superblock_bytes``: a drive stands still for what it erases at a time.
    """
    parts, evidence = parts_of(run, "overwrite")
    if not parts:
        filled = [m.recording for m in measured(run, TEST, "write")]
        reason = "The drive was not filled in the time that there was, or nothing was overwritten."
        return _unidentified(reason, filled) if filled else []
    stalls = find_stalls(run)
    if stalls is None:
        reason = (
            "The drive did not slow down, or not clearly, or too little was written after that: it "
            "was not seen to collect."
        )
        return _unidentified(reason, evidence)
    if stalls.waiting >= _ALL_WAIT or stalls.explained <= _EXPLAINED_NOT:
        text = "The drive slows down without standing still: it collects a little with every write."
        # No least stall that would show: what waits as long as one does, or how much of the time
        # it takes, decides, not a length.
        goodness = {"time_explained": stalls.explained, "requests_waiting": stalls.waiting}
        return [
            Finding(
                name,
                title,
                "measured",
                text,
                value=0.0,
                unit=unit,
                evidence=evidence,
                detail={"goodness": goodness},
            )
            for name, title, unit in zip(_NAMES, _TITLES, ("s", "B"), strict=True)
        ]
    if stalls.waiting > _WAITING_MAX or not _EXPLAINED[0] <= stalls.explained <= _EXPLAINED[1]:
        reason = (
            f"Some writes wait for {wording.duration(stalls.length_s)} and more, which is neither "
            "all that slows the drive down nor too little to matter."
        )
        return _unidentified(reason, evidence)
    return _found(stalls, erased, evidence)


def _found(stalls: Stalls, erased: Finding, evidence: Sequence[str]) -> list[Finding]:
    spacing, margin = stalls.spacing_bytes, stalls.margin_bytes
    at_a_time = erased.value or 0.0
    apart = abs(at_a_time - spacing)
    if at_a_time and erased.interval is not None and apart <= max(2 * margin, _UNSURE * spacing):
        # Erasures were counted more closely than stalls.
        spacing, margin = at_a_time, (erased.interval[1] - erased.interval[0]) / 2
    elif at_a_time and spacing:
        reason = (
            f"Some writes wait long, once for every {wording.size(spacing)}, which does not go "
            f"with the {wording.size(at_a_time)} that are erased at a time."
        )
        return _unidentified(reason, evidence)
    elif stalls.explained < _EXPLAINED_ALONE or stalls.waiting > _WAITING_ALONE_MAX:
        reason = (
            f"Some writes wait for {wording.duration(stalls.length_s)} and more: too often, or not "
            "long enough for what slows the drive down. Parts of it may collect at different times."
        )
        return _unidentified(reason, evidence)
    elif margin > _UNSURE * spacing or not spacing:
        reason = (
            f"The drive stood still {wording.number(stalls.count)} times for "
            f"{wording.duration(stalls.length_s)}: too few to tell how far apart."
        )
        return _unidentified(reason, evidence)
    detail = {
        "interval": RESOLUTION,
        "stalls": stalls.count,
        "goodness": {"time_explained": stalls.explained},
    }
    text = (
        f"While it collects the drive takes nothing for {wording.duration(stalls.length_s)}, once "
        f"for every {wording.size(spacing)} written."
    )
    values = ((stalls.length_s, "s", 0.1 * stalls.length_s), (spacing, "B", margin))
    return [
        Finding(
            name,
            title,
            "measured",
            text,
            value=value,
            unit=unit,
            interval=(value - reach, value + reach),
            evidence=evidence,
            detail=detail,
        )
        for name, title, (value, unit, reach) in zip(_NAMES, _TITLES, values, strict=True)
    ]


def _unidentified(reason: str, evidence: Sequence[str]) -> list[Finding]:
    return [
        Finding(name, title, "not identifiable", reason, evidence=evidence)
        for name, title in zip(_NAMES, _TITLES, strict=True)
    ]
