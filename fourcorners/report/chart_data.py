"""What charts are made of: recordings with their points, the names of series, axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fourcorners import wording
from fourcorners.wording import finite

from .payload import joined
from .run import Run

OPERATIONS = ("read", "write")

PLURALS = {
    "read": "reads",
    "write": "writes",
    "flush": "flushes",
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


def rows_of(
    chart: Mapping[str, Any], test: str, run: Run, *, by_operation: bool
) -> list[dict[str, Any]]:
    """Recordings of a chart: reads and writes together, or each operation by itself; flushes only
    where the chart has a series for each operation."""
    ids = str(chart.get("ids") or "")
    flushes = "each operation" in (chart.get("series") or [])
    kept: dict[tuple[str, str], dict[str, Any]] = {}
    for row in joined(run):
        if row["test"] != test or (row["operation"] == "flush" and not flushes):
            continue
        if not str(row["recording"]).startswith(ids):
            continue
        key = (str(row["recording"]), str(row["operation"]) if by_operation else "")
        known = kept.get(key)
        if known is None:
            kept[key] = dict(row)
            continue
        ios, more = known.get("ios") or 0, row.get("ios") or 0
        for name in ("iops", "bytes_per_second", "ios", "errors"):
            known[name] = (known.get(name) or 0) + (row.get(name) or 0)
        first, second = known.get("latency_mean_s"), row.get("latency_mean_s")
        if first is not None and second is not None and ios + more:
            known["latency_mean_s"] = (ios * first + more * second) / (ios + more)
        for name in ("latency_p50_s", "latency_p90_s", "latency_p99_s", "latency_p999_s"):
            # Of two distributions the slower one's.
            known[name] = max(known.get(name) or 0, row.get(name) or 0)
        known["latency_max_s"] = max(known.get("latency_max_s") or 0, row.get("latency_max_s") or 0)
        known["operation"] = "mixed"
    return list(kept.values())


def value_of(row: Mapping[str, Any], y: str) -> float | None:
    """A metric of a row, in the unit that a chart shows."""
    if y == "mbps":
        moved = finite(row.get("bytes_per_second"))
        return None if moved is None else moved / 1e6
    return finite(row.get("iops" if y == "iops" else f"{y}_s"))


def label_of(row: Mapping[str, Any], keys: Iterable[str]) -> str:
    """What a row is called by the values that it has for ``keys``."""
    parts = []
    for key in keys:
        if key == "each operation":
            parts.append(PLURALS[row["operation"]])
            continue
        value = row["label"] if key == "label" else row["point"].get(key, row.get(key))
        if value is not None:
            parts.append(named(key, value))
    return ", ".join(parts)


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


def operation_label(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    """As :func:`label_of`, and the operation where a recording has several."""
    label = label_of(row, keys)
    own = str(row["operation"])
    if "each operation" in keys or own == row["point"].get("operation"):
        return label
    return ", ".join(part for part in (label, PLURALS[own]) if part)


def is_last_operation(row: Mapping[str, Any], run: Run) -> bool:
    """Whether a recording's clock moves on: with its last operation."""
    mine = [
        one["operation"]
        for one in run.recordings
        if one["recording"] == row["recording"] and one["operation"] != "flush"
    ]
    return not mine or row["operation"] == mine[-1]
