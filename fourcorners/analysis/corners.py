"""The four corners, random and sequential reads and writes, and whether the data's content counts.

The corners are those of AnandTech's OCZ Vertex 3 review (2011-04); compressible and
incompressible data are its bounds for controllers that compress.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fourcorners.analysis.consistency import full_seconds
from fourcorners.analysis.intervals import batch_means_interval, chance_log_ratio
from fourcorners.analysis.source import Measured, RunData, measured
from fourcorners.finding import Finding, worded
from fourcorners.sentences import Said, say

TEST = "four-corners"
CORNERS = (
    ("random", "read"),
    ("random", "write"),
    ("sequential", "read"),
    ("sequential", "write"),
)

CONTENT_RATIO_NOTED = 1.2
"""Repeated over incompressible rate from which the content matters: the rate of a real
drive on a busy machine differs by a tenth from one minute to the next."""

_HARD = "incompressible"
_EASY = "repeated"


def find(run: RunData) -> list[Finding]:
    """A finding ``corner_PATTERN_OPERATION`` per measured corner, and ``compression``."""
    corners = [
        _corner(run, pattern, operation, points)
        for pattern, operation in CORNERS
        if (points := corner_points(run, pattern, operation))
    ]
    return [*corners, _compression(run)] if corners else []


def corner_points(run: RunData, pattern: str, operation: str) -> list[Measured]:
    """The corner's recordings, the one that stands for it first: shallow queue, then the data
    that no controller can shorten."""
    points = [m for m in measured(run, TEST, operation) if m.point.get("pattern") == pattern]
    return sorted(points, key=lambda m: (m.queue_depth or 0, m.point.get("content") != _HARD))


def _corner(run: RunData, pattern: str, operation: str, points: Sequence[Measured]) -> Finding:
    chosen = points[0]
    latency, others = [], []
    if chosen.latency_mean_s is not None and chosen.latency_max_s is not None:
        times = {"mean": chosen.latency_mean_s, "worst": chosen.latency_max_s}
        latency.append(say("corner.latency", **times))
    if len(points) > 1:
        rates = [
            say("corner.other", rate=m.bytes_per_second, conditions=_conditions(m, beside=chosen))
            for m in points[1:]
        ]
        others.append(say("corner.others", rates=rates))
    title = f"{pattern.capitalize()} {operation}s"
    return worded(
        f"corner_{pattern}_{operation}",
        title,
        "measured",
        say(
            "corner.measured",
            title=title,
            conditions=_conditions(chosen),
            rate=chosen.bytes_per_second,
            iops=chosen.iops,
            latency=latency,
            others=others,
        ),
        value=chosen.bytes_per_second,
        unit="B/s",
        interval=_rate_interval(run, chosen),
        evidence=[m.recording for m in points],
        detail={"variants": [_variant(m) for m in points]},
    )


def _conditions(point: Measured, beside: Measured | None = None) -> list[Said]:
    """What a rate was measured with; only what differs from ``beside``, if given."""
    parts = []
    if point.block_bytes and beside is None:
        parts.append(say("corner.block", bytes=point.block_bytes))
    if point.queue_depth and (beside is None or point.queue_depth != beside.queue_depth):
        parts.append(say("corner.depth", depth=point.queue_depth))
    content = point.point.get("content")
    if content and point.operation == "write":
        parts.append(say("corner.content", content=content))
    return [say("corner.conditions", parts=parts)] if parts else []


def _variant(point: Measured) -> dict[str, Any]:
    return {
        "recording": point.recording,
        "block_bytes": point.block_bytes,
        "queue_depth": point.queue_depth,
        "content": point.point.get("content"),
        "bytes_per_second": point.bytes_per_second,
        "iops": point.iops,
        "latency_mean_s": point.latency_mean_s,
        "latency_p99_s": point.latency_percentile_s(99),
        "latency_max_s": point.latency_max_s,
    }


def _rate_interval(run: RunData, point: Measured) -> tuple[float, float] | None:
    """Batch means of the per-second throughput, where the recording is long enough for them."""
    series = point.seconds
    elapsed_s = point.elapsed_s
    return batch_means_interval(full_seconds(np.asarray(series.bytes, np.float64), elapsed_s))


def _compression(run: RunData) -> Finding:
    """Finding ``compression``: repeated over incompressible throughput of otherwise equal writes.

    A pair counts when its ratio leaves 1 by more than :data:`CONTENT_RATIO_NOTED` and by more than
    chance allows, so that a few slow I/Os on a slow drive are not read as compression.
    """
    pairs = _content_pairs(run)
    if not pairs:
        said = say("content.not_both")
        return worded("compression", "Compression", "not identifiable", said)
    ratios = [easy.bytes_per_second / hard.bytes_per_second for hard, easy in pairs]
    noted = [_is_noted(pair, ratio) for pair, ratio in zip(pairs, ratios, strict=True)]
    strongest = max(range(len(pairs)), key=lambda i: (noted[i], abs(math.log(ratios[i]))))
    agree = _agree(ratios, noted)
    ratio = ratios[strongest]
    hard = pairs[strongest][0]
    depth = hard.queue_depth
    where = say("content.where" if depth is None else "content.where_at",
                pattern=hard.point.get("pattern"), depth=depth)  # fmt: skip
    if not noted[strongest]:
        code = "content.not_seen"
    elif not agree:
        code = "content.not_in_all"
    else:
        code = "content.faster" if ratio > 1 else "content.slower"
    return worded(
        "compression",
        "Compression",
        "measured",
        say(code, ratio=ratio, where=where),
        value=ratio,
        unit="1",
        evidence=[m.recording for pair in pairs for m in pair],
        detail={
            "seen": noted[strongest] and agree and ratio > 1,
            "recording_incompressible": [hard.recording for hard, _ in pairs],
            "recording_repeated": [easy.recording for _, easy in pairs],
            "repeated_over_incompressible": ratios,
            "noted": [one and agree for one in noted],
        },
    )


def _agree(ratios: Sequence[float], noted: Sequence[bool]) -> bool:
    """Whether it may be the content: that matters to all writes in the same way. What one of
    several pairs has alone, or in the other direction, comes from the state of the drive, which the
    writes before it have changed."""
    ways = {ratio > 1 for ratio, one in zip(ratios, noted, strict=True) if one}
    return len(ways) < 2 and (len(ratios) == 1 or sum(noted) > 1)


def _content_pairs(run: RunData) -> list[tuple[Measured, Measured]]:
    """Writes that differ in nothing but their content: incompressible, repeated."""
    by_point: dict[tuple[Any, ...], dict[str, Measured]] = {}
    for m in measured(run, TEST, "write"):
        key = (m.point.get("pattern"), m.block_bytes, m.queue_depth)
        by_point.setdefault(key, {})[str(m.point.get("content"))] = m
    return [
        (contents[_HARD], contents[_EASY])
        for contents in by_point.values()
        if _HARD in contents and _EASY in contents
    ]


def _is_noted(pair: tuple[Measured, Measured], ratio: float) -> bool:
    chance = chance_log_ratio(pair[0].ios, pair[1].ios)
    return abs(math.log(ratio)) > max(math.log(CONTENT_RATIO_NOTED), chance)
