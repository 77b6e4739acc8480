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

from fourcorners import wording
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.internals.erase_unit import TEST, parts_of
from fourcorners.analysis.internals.spare_area import find_cliff
from fourcorners.analysis.source import Measured, RunData, measured

_LONGER_MIN = 5.0
"""Length of a stall, in usual latencies of the fresh drive, from which it is one."""

_EXPLAINED = (0.5, 1.5)
"""What stalls may last in all, in times of what writes take longer than before the cliff."""

_LONG_SHARE = 0.35
"""Of the usual longest latency of a part, from which a request met a stall: stalls differ."""

_WAITING_MAX = 0.28
"""Share of the requests that may meet a stall. A drive that slows down evenly has no short ones."""

_STALLS_MIN = 6


@dataclass(frozen=True)
class Stalls:
    """How long, how far apart, and how many."""

    length_s: float
    spacing_bytes: float
    count: float
    explained: float
    """Time in them over the time that writes took longer."""


def find_stalls(run: RunData) -> Stalls | None:
    """The stalls after the cliff; ``None`` where the drive slows down evenly, or not at all."""
    cliff = find_cliff(parts_of(run, "overwrite")[0])
    rows = [m for m in measured(run, TEST, "write") if m.point.get("stage") == "overwrite"]
    if cliff is None or cliff.part < 2:
        return None
    before, after = rows[: cliff.part - 1], rows[cliff.part + 1 :]
    usual = float(np.median([m.number("latency_mean_s") or 0.0 for m in before]))
    longest = [m.number("latency_max_s") or 0.0 for m in after]
    stalled = [latency for latency in longest if latency >= _LONGER_MIN * usual]
    if not stalled:
        return None
    threshold = _LONG_SHARE * float(np.median(stalled))
    waited, waited_s = _above(run, after, threshold)
    depth = float(after[0].queue_depth or 1)
    written = sum(float(m.row["bytes"]) for m in after)
    elapsed = sum(m.number("elapsed_s") or 0.0 for m in after)
    longer_s = elapsed - cliff.fresh_s * written / float(before[0].row["bytes"])
    count = waited / depth
    if count == 0 or longer_s <= 0 or waited > _WAITING_MAX * sum(m.ios for m in after):
        return None
    explained = waited_s / depth / longer_s
    if not _EXPLAINED[0] <= explained <= _EXPLAINED[1]:
        return None
    return Stalls(waited_s / waited, written / count, count, explained)


def _above(run: RunData, rows: Sequence[Measured], threshold_s: float) -> tuple[int, float]:
    """How many requests took longer, and how long these took together."""
    number, total_s = 0, 0.0
    for m in rows:
        low, high, count = run.histogram(m.recording, m.operation)
        middle = (low + high) / 2 * 1e-9
        over = middle > threshold_s
        number += int(count[over].sum())
        total_s += float(np.sum(middle[over] * count[over]))
    return number, total_s


def find(run: RunData) -> list[Finding]:
    """Both findings, if the probe overwrote anything."""
    parts, evidence = parts_of(run, "overwrite")
    if not parts:
        return []
    stalls = find_stalls(run)
    titles = ("Collection stalls, length", "Collection stalls, distance")
    if stalls is not None and stalls.count >= _STALLS_MIN:
        share = 0.5 / stalls.count + 0.01
        detail = {"stalls": stalls.count, "goodness": {"time_explained": stalls.explained}}
        text = (
            f"While it collects the drive takes nothing for {wording.duration(stalls.length_s)}, "
            f"once for every {wording.size(stalls.spacing_bytes)} written."
        )
        values = ((stalls.length_s, "s", 0.1), (stalls.spacing_bytes, "B", 1.645 * share))
    elif find_cliff(parts) is None:
        reason = "The drive did not slow down, so it was not seen to collect."
        return [
            Finding(name, title, "not identifiable", reason, evidence=evidence)
            for name, title in zip(_NAMES, titles, strict=True)
        ]
    else:
        detail = {"stalls": 0}
        text = "The drive slows down without standing still: it collects a little with every write."
        values = ((0.0, "s", 0.0), (0.0, "B", 0.0))
    return [
        Finding(
            name,
            title,
            "measured",
            text,
            value=value,
            unit=unit,
            interval=(value * (1 - margin), value * (1 + margin)) if value else None,
            evidence=evidence,
            detail=detail,
        )
        for name, title, (value, unit, margin) in zip(_NAMES, titles, values, strict=True)
    ]


_NAMES = ("collection_stall_length", "collection_stall_spacing")
