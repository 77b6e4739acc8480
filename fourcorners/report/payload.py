"""From runs to what the page draws: plain lists and numbers that JSON can carry.

Nothing is estimated here. Recordings are joined with their points, histograms are read at the
percentiles that a curve shows, series are packed as integers. Whatever is not a finite number
becomes `None`, so that the page needs to know one kind of gap only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fourcorners.analysis.estimate import Estimate, of_run
from fourcorners.analysis.quantiles import quantile_bounds_s
from fourcorners.analysis.quantity import ALL, IOPS, Quantity
from fourcorners.analysis.source import Measured
from fourcorners.wording import finite

from .run import Array, Run

LATENCIES = ("min", "mean", "p50", "p90", "p99", "p999", "p9999", "p99999", "max")
CORNERS = ("random-read", "random-write", "sequential-read", "sequential-write")
_BY_COLUMN = {quantity.column: quantity for quantity in ALL}
STEPS_PER_DECADE = 16  # points of a percentile curve per factor of ten in 1-x


def report_payload(runs: Sequence[Run]) -> dict[str, Any]:
    """Everything the page's figures need, ready for `json.dumps(..., allow_nan=False)`."""
    names = drive_names(runs)
    corners: list[dict[str, Any]] = []
    queue_depth: list[dict[str, Any]] = []
    transfer_size: list[dict[str, Any]] = []
    consistency: list[dict[str, Any]] = []
    for drive, run in enumerate(runs):
        for row in joined(run):
            point = row["point"]
            entry = {"drive": drive, **_numbers(row), "point": point}
            if row["test"] == "four-corners":
                entry["corner"] = corner_of(row)
                entry["curve"] = curve(run, row)
                corners.append(entry)
            elif row["test"] == "queue-depth":
                queue_depth.append({**entry, **_intervals(run, row)})
            elif row["test"] == "transfer-size":
                transfer_size.append({**entry, **_intervals(run, row)})
            elif row["test"] == "consistency":
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


def drive_names(runs: Sequence[Run]) -> list[str]:
    """One distinct name per run: the drive's, with settings, with the run's id if two share it."""
    plain = [
        str(_target(run).get("name") or _target(run).get("locator") or "unnamed") for run in runs
    ]
    settings = [
        ", ".join(f"{key}={value}" for key, value in (_target(run).get("settings") or {}).items())
        for run in runs
    ]
    full = [
        f"{name} ({extra})" if extra else name for name, extra in zip(plain, settings, strict=True)
    ]
    return [
        f"{name} [{run.manifest.get('id', position + 1)}]" if full.count(name) > 1 else name
        for position, (name, run) in enumerate(zip(full, runs, strict=True))
    ]


def joined(run: Run) -> Iterator[dict[str, Any]]:
    """The rows of recordings.parquet, each with its point and label from the manifest."""
    described = {
        recording.get("id"): (test, recording)
        for test in run.manifest.get("tests") or []
        for recording in test.get("recordings") or []
    }
    for row in run.recordings:
        test, recording = described.get(row.get("recording"), ({}, {}))
        point = dict(recording.get("point") or {})
        name = row.get("test") or test.get("name")
        if name == "four-corners" and row.get("operation") == "read":
            point.pop("content", None)  # of what writes carry
        yield {
            **row,
            "test": name,
            "operation": row.get("operation") or point.get("operation"),
            "label": str(recording.get("label") or row.get("recording")),
            "point": {key: _clean(value) for key, value in point.items()},
        }


def corner_of(row: Mapping[str, Any]) -> str | None:
    """Which of `CORNERS` a joined row measured; None when it belongs to another test."""
    if row["test"] != "four-corners":
        return None
    return f"{row['point'].get('pattern')}-{row['operation']}"


def findings(run: Run, name: str) -> list[dict[str, Any]]:
    """The run's findings of one name, in order; a trailing `*` matches every ending."""
    if name.endswith("*"):
        return [f for f in run.findings if str(f.get("name", "")).startswith(name[:-1])]
    return [f for f in run.findings if f.get("name") == name]


def _target(run: Run) -> Mapping[str, Any]:
    return run.manifest.get("target") or {}


def _numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": str(row.get("recording")),
        "label": row["label"],
        "operation": row["operation"],
        "bps": rounded(row.get("bytes_per_second")),
        "iops": rounded(row.get("iops")),
        "latency": {key: rounded(row.get(f"latency_{key}_s")) for key in LATENCIES},
        "ios": _clean(row.get("ios")),
        "errors": _clean(row.get("errors")) or 0,
        "interrupted": bool(row.get("interrupted")),
    }


def _corner_order(entry: Mapping[str, Any]) -> tuple[float, str, int]:
    point = entry["point"]
    return (point.get("queue_depth") or 0, str(point.get("content") or ""), entry["drive"])


def curve(run: Run, row: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Latency in nanoseconds against the fraction of I/Os that took longer (1-x)."""
    low, high, count = _histogram(run, row)
    total = int(count.sum())
    if total <= 0:
        return {"tail": [], "ns": [], "band": []}
    cumulative = np.cumsum(count)
    steps = math.ceil(math.log10(max(total, 1)) * STEPS_PER_DECADE)
    tail = np.append(10.0 ** (-np.arange(steps) / STEPS_PER_DECADE), 1.0 / total)
    rank = np.clip(np.ceil((1.0 - tail) * total), 1, total)
    bucket = np.minimum(np.searchsorted(cumulative, rank), len(count) - 1)
    middle = (low[bucket] + high[bucket]) // 2
    longest = finite(row.get("latency_max_s"))
    if longest is not None:
        middle[-1] = round(longest * 1e9)
    return {
        "tail": [rounded(t) for t in tail],
        "ns": [int(ns) for ns in middle],
        "band": curve_band(run, row, [float(t) for t in tail]),
    }


def curve_band(run: Run, row: Mapping[str, Any], tail: Sequence[float]) -> list[list[Any]]:
    """Bounds of the 90 % interval of a percentile curve: the fraction that took longer, and two
    latencies in nanoseconds; of those points that have one."""
    inside = [t for t in tail if 0 < t < 1]
    over_time = run.latency_over_time(str(row.get("recording")), str(row.get("operation")))
    bounds = quantile_bounds_s(_histogram(run, row), over_time, [1 - t for t in inside])
    if bounds is None:
        return []
    return [
        [rounded(t), round(low * 1e9), round(high * 1e9)]
        for t, low, high in zip(inside, *bounds, strict=True)
        if finite(low) is not None and finite(high) is not None
    ]


def latency_interval(run: Run, row: Mapping[str, Any], name: str) -> list[float] | None:
    """Bounds of the 90 % interval of ``mean`` or of a percentile such as ``p99``, in seconds; None
    where the recording cannot tell."""
    quantity = _BY_COLUMN.get(f"latency_{name}_s")
    estimate = None if quantity is None else _estimate(run, row, quantity)
    return None if estimate is None else [float(f"{b:.5g}") for b in estimate.interval()]


def _estimate(run: Run, row: Mapping[str, Any], quantity: Quantity) -> Estimate | None:
    one = Measured(
        recording=str(row.get("recording")),
        test=str(row.get("test")),
        operation=str(row.get("operation")),
        point=row.get("point") or {},
        row=row,
    )
    try:
        return of_run(run, one, quantity)
    except KeyError:  # neither series nor histogram: imported without
        return None


def _histogram(run: Run, row: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    try:
        low, high, count = run.histogram(str(row.get("recording")), str(row.get("operation")))
    except KeyError:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty, empty
    return np.asarray(low), np.asarray(high), np.asarray(count)


def consistency_series(drive: int, run: Run, row: Mapping[str, Any]) -> dict[str, Any]:
    """I/Os of every whole second; a last second that the run's end cut short is left out."""
    try:
        series = run.series(str(row.get("recording")), str(row.get("operation")))
    except KeyError:
        series = {}
    ios = [int(n) if finite(n) is not None else 0 for n in series.get("ios", ())]
    elapsed = finite(row.get("elapsed_s"))
    cut = elapsed is not None and len(ios) > 1 and len(ios) > elapsed + 1e-6
    return {
        "drive": drive,
        "id": str(row.get("recording")),
        "operation": row["operation"],
        "label": "",
        "cut": cut,
        "ios": ios[:-1] if cut else ios,
        "steady": steady_part(run, str(row.get("recording"))),
    }


def steady_part(run: Run, recording: str) -> dict[str, Any] | None:
    """From which second a recording was judged steady, and the interval of its rate since, in
    IOPS; None where the analysis knows no interval."""
    for finding in findings(run, "consistency_*"):
        bounds = finding.get("interval") or []
        start = finite((finding.get("detail") or {}).get("steady_from_s"))
        low, high = (finite(bound) for bound in bounds) if len(bounds) == 2 else (None, None)
        if recording in (finding.get("evidence") or []) and None not in (start, low, high):
            return {"from": start, "interval": [rounded(low), rounded(high)]}
    return None


def rate_interval(run: Run, row: Mapping[str, Any]) -> list[float] | None:
    """Bounds of the 90 % interval of a recording's rate, as factors of it; None where the recording
    cannot tell."""
    estimate = _estimate(run, row, IOPS)
    if estimate is None:
        return None
    return [round(bound / estimate.value, 5) for bound in estimate.interval()]


def _intervals(run: Run, row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rateInterval": rate_interval(run, row),
        "latencyInterval": {key: latency_interval(run, row, key) for key in ("mean", "p99")},
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


def _model(finding: Mapping[str, Any]) -> dict[str, Any]:
    detail = finding.get("detail") or {}
    sizes = [_clean(value) for value in detail.get("block_bytes") or []]
    predicted = detail.get("predicted_bytes_per_second") or []
    misfit = detail.get("relative_misfit") or []
    return {
        "block": sizes,
        "band": _model_band(finding, sizes),
        "predicted": [rounded(value) for value in predicted],
        "misfit": [rounded(value, 4) for value in misfit],
    }


def _model_band(
    finding: Mapping[str, Any], sizes: Sequence[Any]
) -> list[list[float | None]] | None:
    """Throughput that the model predicts with the bounds of the penalty's interval, slowest first,
    in bytes per second; None without an interval."""
    rate = finite((finding.get("detail") or {}).get("sequential_rate_bytes_per_second"))
    bounds = [finite(bound) for bound in finding.get("interval") or []]
    if rate is None or rate <= 0 or len(bounds) != 2 or None in bounds:
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
