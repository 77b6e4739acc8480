"""What charts are made of: recordings with their points, the names of series, axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fourcorners import wording
from fourcorners.analysis.source import Measured, every_operation
from fourcorners.manifest import Chart
from fourcorners.recording import Recording
from fourcorners.wording import finite

from .payload import latency_s, point_of
from .run import ReportedRun

OPERATIONS = ("read", "write")

PLURALS = {
    "read": "reads",
    "write": "writes",
    "flush": "flushes",
    "discard": "discards",
    "write-zeroes": "write-zeroes",
    "mixed": "reads and writes together",
}

TITLES = {
    "mbps": "MB/s",
    "iops": "IOPS",
    "latency_min": "shortest latency",
    "latency_mean": "mean latency",
    "latency_max": "longest latency",
    "latency_p50": "latency, median",
    "latency_p90": "latency, 90 %",
    "latency_p99": "latency, 99 %",
    "latency_p999": "latency, 99.9 %",
    "latency_p9999": "latency, 99.99 %",
    "latency_p99999": "latency, 99.999 %",
    "queue_depth": "outstanding I/Os",
    "block_bytes": "block size",
    "position_bytes": "position",
    "access_position_bytes": "position",
    "offset_bytes": "position",
    "distance_bytes": "distance",
    "window_bytes": "window",
    "region_bytes": "region",
    "boundary_bytes": "boundary",
    "beside": "other reads outstanding",
    "read_percent": "share of reads, %",
    "random_percent": "random share, %",
    "round_of_writes": "round",
    "round_of_reads": "round",
    "due_iops": "I/Os due per second",
    "idle_s": "pause, s",
    "written": "GB written",
}


@dataclass(frozen=True)
class Drawn:
    """What a chart shows as one: an operation of a recording, or its reads and writes together."""

    parts: tuple[Measured, ...]

    @property
    def of(self) -> Recording:
        """The recording."""
        return self.parts[0].of

    @property
    def operation(self) -> str:
        """Of reads and writes together ``mixed``."""
        return self.parts[0].operation if len(self.parts) == 1 else "mixed"

    @property
    def point(self) -> dict[str, Any]:
        """The point as JSON carries it."""
        return point_of(self.parts[0])

    def value(self, y: str) -> float | None:
        """A metric in the unit that a chart shows."""
        if y == "mbps":
            return finite(sum(one.bytes_per_second for one in self.parts) / 1e6)
        if y == "iops":
            return finite(sum(one.iops for one in self.parts))
        name = y.removeprefix("latency_")
        values = [latency_s(one, name) for one in self.parts]
        known = [value for value in values if value is not None]
        if name == "mean" and len(known) == len(self.parts) > 1:
            ios = [one.ios for one in self.parts]
            return finite(float(np.average(known, weights=ios))) if sum(ios) else None
        # Of two distributions the slower one's.
        return finite(max(known, default=None))


def rows_of(chart: Chart, test: str, run: ReportedRun, *, by_operation: bool) -> list[Drawn]:
    """Recordings of a chart: reads and writes together, or each operation by itself; flushes only
    where the chart has a series for each operation."""
    ids = chart.ids
    others = "each operation" in chart.series
    kept: dict[tuple[str, str], list[Measured]] = {}
    for one in every_operation(run.recordings):
        if one.test != test or (one.operation not in OPERATIONS and not others):
            continue
        if one.recording.startswith(ids):
            key = (one.recording, one.operation if by_operation else "")
            kept.setdefault(key, []).append(one)
    return [Drawn(tuple(parts)) for parts in kept.values()]


def label_of(row: Drawn, keys: Iterable[str]) -> str:
    """What a row is called by the values that it has for ``keys``."""
    own = {"operation": row.operation, **row.point, "label": row.of.label}
    return label_of_point({**own, "each operation": PLURALS[row.operation]}, keys)


def label_of_point(point: Mapping[str, Any], keys: Iterable[str]) -> str:
    """The values that a point has for ``keys``."""
    known = [(key, point[key]) for key in keys if point.get(key) is not None]
    return ", ".join(named(key, value) for key, value in known)


def named(key: str, value: Any) -> str:
    """A value of a point with the name of its key, where the value does not say it."""
    if key.endswith("_bytes"):
        return wording.size(value)
    if key.endswith("_percent"):
        return f"{value:g} % {key.removesuffix('_percent')}s"
    if isinstance(value, (int, float)):
        return f"{key.replace('_', ' ')} {value:g}"
    return str(value)


def axis(key: str, log: str, which: str) -> dict[str, Any]:
    """An axis of a chart: ``log`` names the axes that are logarithmic, ``which`` is this one."""
    return {"key": key, "title": TITLES.get(key, key.replace("_", " ")), "log": which in log}


def operation_label(row: Drawn, keys: Sequence[str]) -> str:
    """As :func:`label_of`, and the operation where a recording has several."""
    label = label_of(row, keys)
    own = row.operation
    if "each operation" in keys or own == row.point.get("operation"):
        return label
    return ", ".join(part for part in (label, PLURALS[own]) if part)


def is_last_operation(row: Drawn) -> bool:
    """Whether a recording's clock moves on: with its last operation."""
    mine = list(row.of.transfers)
    return not mine or row.operation == mine[-1]
