"""How recordings of other programs are drawn: sweeps as lines, as those of any test."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence

from fourcorners.manifest import Chart
from fourcorners.recording import Recording

_SWEPT = {"queue_depth": "queue depth", "block_bytes": "block size"}
"""Keys of a point that a curve may go over, and what a title calls them."""

_TOLD_APART = ("operation", "pattern", "read_percent", "apart")
_POINTS_MIN = 3
"""Points of a curve: two make a straight line of anything."""


def charts_of(recordings: Sequence[Recording]) -> list[Chart]:
    """Curves of what was swept, and what there is of seconds and percentiles; of recordings with
    their names in the run."""
    charts: list[Chart] = []
    for x, words in _SWEPT.items():
        others = [key for key in _SWEPT if key != x]
        curves = [curve for curve in _curves(recordings, x, others) if len(curve) >= _POINTS_MIN]
        if not curves:
            continue
        drawn = [one for curve in curves for one in curve]
        points = [[own.point[x] for own in curve] for curve in curves]
        again = any(len(values) > len(set(values)) for values in points)
        keys = ("operation", *_differing(drawn, [*others, *(["job"] if again else [])]))
        y, title = ("mbps", "Throughput") if x == "block_bytes" else ("iops", "IOPS")
        # Single points of other workloads are left out where their names allow it.
        # Not by path: the access at a name's end is part of it.
        ids = os.path.commonprefix([own.id for own in drawn])  # noqa: RUF071
        charts += [
            Chart("lines", f"{title} by {words}", y, x, series=keys, log="x", ids=ids),
            Chart(
                "lines",
                f"Mean latency by {words}",
                "latency_mean",
                x,
                series=keys,
                log="xy",
                ids=ids,
            ),
        ]
    operations = [one for own in recordings for one in own.operations.values()]
    keys = _telling_apart(recordings)
    if any(len(one.second_ios) for one in operations):
        charts.append(Chart("seconds", "I/Os per second", series=("label",)))
    if any(len(one.histogram.count) for one in operations):
        charts.append(Chart("percentiles", "Latency percentiles", series=keys))
    return charts


def _telling_apart(recordings: Sequence[Recording]) -> tuple[str, ...]:
    """The shortest keys of a point by which a legend can name each recording; else the label."""
    keys: tuple[str, ...] = ("label",)
    for wanted in (["job", *_SWEPT], [*_SWEPT]):
        differing = _differing(recordings, wanted)
        names = {
            tuple(own.point.get(key) for key in ("operation", *differing)) for own in recordings
        }
        if len(names) == len(recordings) > 1:
            keys = differing
    several = any(len(own.operations) > 1 for own in recordings)
    return (*keys, "each operation") if several else ("operation", *keys)


def _curves(
    recordings: Sequence[Recording], x: str, others: Sequence[str]
) -> list[list[Recording]]:
    """Recordings that differ in ``x`` only, so far as a point tells."""
    curves = defaultdict(list)
    for own in recordings:
        if own.point.get(x) is not None:
            curves[tuple(own.point.get(key) for key in (*_TOLD_APART, *others))].append(own)
    return list(curves.values())


def _differing(recordings: Sequence[Recording], keys: Sequence[str]) -> tuple[str, ...]:
    """The keys of a point in which the recordings differ."""
    points = [own.point for own in recordings]
    return tuple(key for key in keys if len({point.get(key) for point in points}) > 1)
