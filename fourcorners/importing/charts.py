"""How recordings of other programs are drawn: sweeps as lines, as those of any test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from fourcorners.importing.imported import ImportedRecording
from fourcorners.suites.test import Chart

_SWEPT = {"queue_depth": "queue depth", "block_bytes": "block size"}
"""Keys of a point that a curve may go over, and what a title calls them."""

_TOLD_APART = ("operation", "pattern", "read_percent", "apart")
_POINTS_MIN = 3
"""Points of a curve: two make a straight line of anything."""


def charts_of(recordings: Sequence[ImportedRecording]) -> list[Chart]:
    """Curves of what was swept, and what there is of seconds and percentiles."""
    charts: list[Chart] = []
    for x, words in _SWEPT.items():
        others = [key for key in _SWEPT if key != x]
        curves = _curves(recordings, x, others)
        if max(map(len, curves.values()), default=0) < _POINTS_MIN:
            continue
        again = any(len(values) > len(set(values)) for values in curves.values())
        swept = [*_TOLD_APART, *others, *(["job"] if again else [])]
        keys = tuple(key for key in swept if _differs(recordings, key) or key == "operation")
        y, title = ("mbps", "Throughput") if x == "block_bytes" else ("iops", "IOPS")
        charts += [
            Chart("lines", f"{title} by {words}", y, x, series=keys, log="x"),
            Chart("lines", f"Mean latency by {words}", "latency_mean", x, series=keys, log="xy"),
        ]
    operations = [one for own in recordings for one in own.recording.operations.values()]
    if any(len(one.second_ios) for one in operations):
        charts.append(Chart("seconds", "I/Os per second", series=("label",)))
    if any(len(one.bucket_count) for one in operations):
        flushes = any("flush" in own.recording.operations for own in recordings)
        keys = ("label", "each operation") if flushes else ("label",)
        charts.append(Chart("percentiles", "Latency percentiles", series=keys))
    return charts


def _curves(
    recordings: Sequence[ImportedRecording], x: str, others: Sequence[str]
) -> Mapping[tuple[Any, ...], list[Any]]:
    """Values of ``x`` by all else that tells curves apart."""
    curves = defaultdict(list)
    for own in recordings:
        if (value := own.point.get(x)) is not None:
            key = tuple(own.point.get(name) for name in (*_TOLD_APART, *others))
            curves[key].append(value)
    return curves


def _differs(recordings: Sequence[ImportedRecording], key: str) -> bool:
    return len({own.point.get(key) for own in recordings}) > 1
