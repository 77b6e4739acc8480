"""From runs to what the page draws: plain lists and numbers that JSON can carry.

Nothing is estimated here. Recordings are joined with their points, histograms are read at the
percentiles that a curve shows, series are packed as integers. Whatever is not a finite number
becomes `None`, so that the page needs to know one kind of gap only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fourcorners.analysis.estimate import of_point
from fourcorners.analysis.quantiles import quantile_bounds_s
from fourcorners.analysis.quantity import ALL, IOPS
from fourcorners.analysis.source import Measured, every_operation
from fourcorners.finding import Finding
from fourcorners.recording import OperationRecording
from fourcorners.recording.columns import PERCENTILES
from fourcorners.wording import finite

from .run import ReportedRun

LATENCIES = ("min", "mean", "p50", "p90", "p99", "p999", "p9999", "p99999", "max")
CORNERS = ("random-read", "random-write", "sequential-read", "sequential-write")
_BY_COLUMN = {quantity.column: quantity for quantity in ALL}
STEPS_PER_DECADE = 16  # points of a percentile curve per factor of ten in 1-x


def report_payload(runs: Sequence[ReportedRun]) -> dict[str, Any]:
    """Everything the page's figures need, ready for `json.dumps(..., allow_nan=False)`."""
    names = drive_names(runs)
    corners: list[dict[str, Any]] = []
    queue_depth: list[dict[str, Any]] = []
    transfer_size: list[dict[str, Any]] = []
    consistency: list[dict[str, Any]] = []
    for drive, run in enumerate(runs):
        for row in every_operation(run.recordings):
            entry = {"drive": drive, **_numbers(row), "point": point_of(row)}
            if row.test == "four-corners":
                entry["corner"] = corner_of(row)
                entry["curve"] = curve(row)
                corners.append(entry)
            elif row.test == "queue-depth" and not row.is_again:
                queue_depth.append({**entry, **_intervals(row)})
            elif row.test == "transfer-size":
                transfer_size.append({**entry, **_intervals(row)})
            elif row.test == "consistency":
                consistency.append(consistency_series(drive, run, row))
    corners.sort(key=_corner_order)
    return {
        "drives": names,
        "corners": corners,
        "queueDepth": _lines(queue_depth, "queue_depth"),
        "transferSize": _lines(transfer_size, "block_bytes"),
        "models": [
            {"drive": drive, "operation": operation, **_model(finding)}
            for drive, run in enumerate(runs)
            for operation in ("read", "write")
            for finding in findings(run, f"access_model_{operation}")[:1]
        ],
        "consistency": consistency,
    }


def drive_names(runs: Sequence[ReportedRun]) -> list[str]:
    """One distinct name per run: the drive's, with settings, with the run's id if two share it."""
    targets = [run.manifest.target for run in runs]
    plain = [target.name or target.locator or "unnamed" for target in targets]
    settings = [
        ", ".join(f"{key}={value}" for key, value in target.settings.items()) for target in targets
    ]
    full = [
        f"{name} ({extra})" if extra else name for name, extra in zip(plain, settings, strict=True)
    ]
    return [
        f"{name} [{run.manifest.id}]" if full.count(name) > 1 else name
        for name, run in zip(full, runs, strict=True)
    ]


def point_of(one: Measured) -> dict[str, Any]:
    """The point of a recording as JSON carries it; of reads without what writes carry."""
    point = {key: _clean(value) for key, value in one.point.items()}
    if one.test == "four-corners" and one.operation == "read":
        point.pop("content", None)
    return point


def latency_s(one: OperationRecording, name: str) -> float | None:
    """One of :data:`LATENCIES`, in seconds."""
    match name:
        case "min":
            return one.latency_min_s
        case "mean":
            return one.latency_mean_s
        case "max":
            return one.latency_max_s
    return one.latency_percentile_s(PERCENTILES[f"latency_{name}_s"])


def corner_of(one: Measured) -> str | None:
    """Which of `CORNERS` was measured; None when it belongs to another test."""
    if one.test != "four-corners":
        return None
    return f"{one.point.get('pattern')}-{one.operation}"


def findings(run: ReportedRun, name: str) -> list[Finding]:
    """The run's findings of one name, in order; a trailing `*` matches every ending."""
    if name.endswith("*"):
        return [f for f in run.findings if f.name.startswith(name[:-1])]
    return [f for f in run.findings if f.name == name]


def _numbers(one: Measured) -> dict[str, Any]:
    return {
        "id": one.recording,
        "label": one.of.label,
        "operation": one.operation,
        "bps": rounded(one.bytes_per_second),
        "iops": rounded(one.iops),
        "latency": {key: rounded(latency_s(one, key)) for key in LATENCIES},
        "ios": one.ios,
        "errors": one.error_count,
        "interrupted": one.of.interrupted,
    }


def _corner_order(entry: Mapping[str, Any]) -> tuple[float, str, int]:
    point = entry["point"]
    return (point.get("queue_depth") or 0, str(point.get("content") or ""), entry["drive"])


def curve(one: OperationRecording) -> dict[str, list[Any]]:
    """Latency in nanoseconds against the fraction of I/Os that took longer (1-x)."""
    low, high, count = one.histogram
    total = int(count.sum())
    if total <= 0:
        return {"tail": [], "ns": [], "band": []}
    cumulative = np.cumsum(count)
    steps = math.ceil(math.log10(max(total, 1)) * STEPS_PER_DECADE)
    tail = np.append(10.0 ** (-np.arange(steps) / STEPS_PER_DECADE), 1.0 / total)
    rank = np.clip(np.ceil((1.0 - tail) * total), 1, total)
    bucket = np.minimum(np.searchsorted(cumulative, rank), len(count) - 1)
    middle = (low[bucket] + high[bucket]) // 2
    longest = finite(one.latency_max_s)
    if longest is not None:
        middle[-1] = round(longest * 1e9)
    return {
        "tail": [rounded(t) for t in tail],
        "ns": [int(ns) for ns in middle],
        "band": curve_band(one, [float(t) for t in tail]),
    }


def curve_band(one: OperationRecording, tail: Sequence[float]) -> list[list[Any]]:
    """Bounds of the 90 % interval of a percentile curve: the fraction that took longer, and two
    latencies in nanoseconds; of those points that have one."""
    inside = [t for t in tail if 0 < t < 1]
    bounds = quantile_bounds_s(one.histogram, one.latency_over_time, [1 - t for t in inside])
    if bounds is None:
        return []
    return [
        [rounded(t), round(low * 1e9), round(high * 1e9)]
        for t, low, high in zip(inside, *bounds, strict=True)
        if finite(low) is not None and finite(high) is not None
    ]


def latency_interval(one: Measured, name: str) -> list[float] | None:
    """Bounds of the 90 % interval of ``mean`` or of a percentile such as ``p99``, in seconds; None
    where the recording cannot tell."""
    quantity = _BY_COLUMN.get(f"latency_{name}_s")
    estimate = None if quantity is None else of_point(one, quantity)
    return None if estimate is None else [float(f"{b:.5g}") for b in estimate.interval()]


def consistency_series(drive: int, run: ReportedRun, one: Measured) -> dict[str, Any]:
    """I/Os of every whole second; a last second that the run's end cut short is left out."""
    ios = [int(n) for n in one.second_ios]
    cut = len(ios) > 1 and len(ios) > one.elapsed_s + 1e-6
    return {
        "drive": drive,
        "id": one.recording,
        "operation": one.operation,
        "label": "",
        "cut": cut,
        "ios": ios[:-1] if cut else ios,
        "steady": steady_part(run, one.recording),
    }


def steady_part(run: ReportedRun, recording: str) -> dict[str, Any] | None:
    """From which second a recording was judged steady, and the interval of its rate since, in
    IOPS; None where the analysis knows no interval."""
    for finding in findings(run, "consistency_*"):
        start = finite(finding.detail.get("steady_from_s"))
        low, high = map(finite, finding.interval or (None, None))
        if recording in finding.evidence and None not in (start, low, high):
            return {"from": start, "interval": [rounded(low), rounded(high)]}
    return None


def rate_interval(one: Measured) -> list[float] | None:
    """Bounds of the 90 % interval of a recording's rate, as factors of it; None where the recording
    cannot tell."""
    estimate = of_point(one, IOPS)
    if estimate is None:
        return None
    return [round(bound / estimate.value, 5) for bound in estimate.interval()]


def _intervals(one: Measured) -> dict[str, Any]:
    return {
        "rateInterval": rate_interval(one),
        "latencyInterval": {key: latency_interval(one, key) for key in ("mean", "p99")},
    }


def _lines(entries: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """Entries gathered into one line per drive and operation, in the order of `key`."""
    lines: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for entry in entries:
        if finite(entry["point"].get(key)) is not None:
            lines.setdefault((entry["drive"], entry["operation"]), []).append(entry)
    return [
        {
            "drive": drive,
            "operation": operation,
            "pattern": points[0]["point"].get("pattern"),
            "points": [
                {"x": p["point"][key], "block": p["point"].get("block_bytes"), **_without(p)}
                for p in sorted(points, key=lambda p: float(p["point"][key]))
            ],
        }
        for (drive, operation), points in lines.items()
    ]


def _without(entry: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("id", "bps", "iops", "latency", "ios", "errors", "rateInterval", "latencyInterval")
    return {key: entry[key] for key in keys}


def _model(finding: Finding) -> dict[str, Any]:
    detail = finding.detail
    sizes = [_clean(value) for value in detail.get("block_bytes") or []]
    predicted = detail.get("predicted_bytes_per_second") or []
    misfit = detail.get("relative_misfit") or []
    return {
        "block": sizes,
        "band": _model_band(finding, sizes),
        "predicted": [rounded(value) for value in predicted],
        "misfit": [rounded(value, 4) for value in misfit],
    }


def _model_band(finding: Finding, sizes: Sequence[Any]) -> list[list[float | None]] | None:
    """Throughput that the model predicts with the bounds of the penalty's interval, slowest first,
    in bytes per second; None without an interval."""
    rate = finite(finding.detail.get("sequential_rate_bytes_per_second"))
    bounds = [finite(bound) for bound in finding.interval or ()]
    if rate is None or rate <= 0 or not bounds or None in bounds:
        return None
    low, high = sorted(max(bound or 0.0, 0.0) for bound in bounds)
    return [
        [rounded(size / (penalty + size / rate)) if size else None for penalty in (high, low)]
        for size in sizes
    ]


def _clean(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return finite(value)


def rounded(value: object, digits: int = 6) -> float | None:
    """A finite number to so many digits, which is all that a plot can show; else ``None``."""
    x = finite(value)
    return None if x is None else float(f"{x:.{digits}g}")
