"""fio's JSON and JSON+ output, of version 3 and of version 2, which tells microseconds and KiB.

The format is that of fio's documentation, "fio HOWTO", section JSON+ output; the histogram's
buckets are those of its `stat.h` (64 linear steps per power of two).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fourcorners.errors import UserError
from fourcorners.importing import fio_logs
from fourcorners.importing.imported import Imported, ImportedRecording, only_operation
from fourcorners.recording import NS, OperationRecording, Recording
from fourcorners.units import parse_bytes
from fourcorners.wording import chosen_size

_PATTERNS = {
    "read": "sequential",
    "write": "sequential",
    "rw": "sequential",
    "readwrite": "sequential",
    "randread": "random",
    "randwrite": "random",
    "randrw": "random",
}
# Steps of a power of two that fio's histogram tells apart (FIO_IO_U_PLAT_BITS).
_BUCKET_BITS = 6


def parse(text: str, path: Path, logs: Sequence[Path] = ()) -> list[Imported]:
    """The targets of a result file, each with its jobs; raises :class:`UserError`."""
    document = _document(text, path)
    jobs = document["jobs"]
    logs_of = fio_logs.by_job(logs, len(jobs), path)
    common = document.get("global options") or {}
    by_target: dict[str, list[ImportedRecording]] = {}
    notes: dict[str, list[str]] = {}
    taken: dict[str, int] = {}
    for index, job in enumerate(jobs):
        options = {**common, **(job.get("job options") or {})}
        target = str(options.get("filename") or options.get("directory") or "not told")
        try:
            imported, told = _job(job, options, taken, logs_of[index])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UserError(
                f"{path} is not what fio writes: job {index + 1} has no usable {error}"
            ) from error
        if imported.recording.operations:
            by_target.setdefault(target, []).append(imported)
        notes.setdefault(target, []).extend(told)
    if not by_target:
        raise UserError(f"{path} holds no job that read or wrote anything")
    return [
        Imported(
            program="fio",
            version=str(document.get("fio version", "")).removeprefix("fio-"),
            source=path.name,
            target=target,
            is_device=target.startswith("/dev/"),
            created=_time(document.get("timestamp")),
            recordings=recordings,
            notes=list(dict.fromkeys(notes[target])),
        )
        for target, recordings in by_target.items()
    ]


def _document(text: str, path: Path) -> dict[str, Any]:
    try:
        # Warnings of fio may stand before the document.
        document = json.loads(text[text.index("{") :])
    except ValueError as error:
        raise UserError(f"{path} is not whole JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("jobs"), list):
        raise UserError(f"{path} is not fio's JSON: it has no jobs")
    return document


def _time(timestamp: Any) -> str:
    moment = (
        datetime.datetime.fromtimestamp(timestamp, datetime.UTC)
        if isinstance(timestamp, int | float)
        else datetime.datetime.now(datetime.UTC)
    )
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _job(
    job: Mapping[str, Any],
    options: Mapping[str, str],
    taken: dict[str, int],
    logs: Mapping[str, Path],
) -> tuple[ImportedRecording, list[str]]:
    name = str(job["jobname"])
    taken[name] = taken.get(name, 0) + 1
    identity = f"fio/{name}" if taken[name] == 1 else f"fio/{name}/{taken[name]}"
    notes: list[str] = []
    active = [name for name in ("read", "write") if job.get(name, {}).get("total_ios")]
    told = {name: (int(job[name]["total_ios"]), _bytes(job[name])) for name in active}
    series = fio_logs.series(logs, told) if logs else {}
    operations = {name: _operation(job[name], series.get(name), notes) for name in active}
    elapsed_s = max((o.elapsed_s for o in operations.values()), default=0.0)
    threads = int(options.get("numjobs", 1)) if options.get("group_reporting") == "1" else 1
    block = _block_bytes(options)
    point = {
        "operation": only_operation(operations),
        "pattern": _PATTERNS.get(str(options.get("rw", "read")).split(":")[0]),
        "block_bytes": block,
        "queue_depth": int(options.get("iodepth", 1)) * threads,
        "content": None,
    }
    if job.get("error"):
        notes.append(f"job {name} ended with error {job['error']}")
    size = chosen_size(block) if block else "mixed sizes"
    return (
        ImportedRecording(
            id=identity,
            label=f"{name}: {size} {options.get('rw', 'read')}, queue depth {point['queue_depth']}",
            point={key: value for key, value in point.items() if value is not None},
            parameters={str(key): str(value) for key, value in options.items()},
            recording=Recording(
                elapsed_s=elapsed_s,
                mean_queue_depth=None,
                cpu_user_s=float(job.get("usr_cpu", 0)) / 100 * elapsed_s,
                cpu_system_s=float(job.get("sys_cpu", 0)) / 100 * elapsed_s,
                generating_s=None,
                interrupted=False,
                failure=None,
                operations=operations,
            ),
        ),
        notes,
    )


def _block_bytes(options: Mapping[str, str]) -> int | None:
    """The request size, where there is one."""
    text = str(options.get("bs") or options.get("blocksize") or "4k")
    if "," in text or "bssplit" in options or "bsrange" in options:
        return None
    number, suffix = text.rstrip("iIbB"), ""
    if number and number[-1] in "kKmMgG":
        number, suffix = number[:-1], number[-1].upper() + "iB"
    return parse_bytes(f"{number} {suffix or 'B'}")


def _operation(
    told: Mapping[str, Any], series: dict[str, Any] | None, notes: list[str]
) -> OperationRecording:
    told = _in_nanoseconds(told)
    latency = told.get("lat_ns") or told["clat_ns"]
    low, high, count = _histogram(told, notes)
    empty = np.zeros(0, np.int64)
    seconds = series or {
        "second_ios": empty,
        "second_bytes": empty,
        "second_latency_mean_s": empty.astype(float),
        "second_latency_max_s": empty.astype(float),
    }
    if series is None:
        notes.append("no second by second series: fio writes one with --write_lat_log")
    return OperationRecording(
        ios=int(told["total_ios"]),
        bytes=_bytes(told),
        errors={},
        elapsed_s=float(told["runtime"]) / 1e3,
        latency_min_s=latency["min"] * NS,
        latency_mean_s=latency["mean"] * NS,
        latency_max_s=latency["max"] * NS,
        bucket_low_ns=low,
        bucket_high_ns=high,
        bucket_count=count,
        **seconds,
    )


def _is_old(told: Mapping[str, Any]) -> bool:
    """Whether this is of fio 2: latencies in microseconds, amounts in KiB."""
    return "clat" in told


def _bytes(told: Mapping[str, Any]) -> int:
    return int(told["io_bytes"]) * (1024 if _is_old(told) else 1)


def _in_nanoseconds(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same with the latencies of fio 3."""
    if not _is_old(told):
        return told
    latencies = {}
    for name in ("lat", "clat"):
        entry = told.get(name) or {}
        scaled = {key: entry[key] * 1000 for key in ("min", "mean", "max") if key in entry}
        # It lists as many percentiles as it may have; unused ones are "0.00".
        percentiles = {
            percent: value * 1000
            for percent, value in (entry.get("percentile") or {}).items()
            if float(percent) > 0
        }
        latencies[f"{name}_ns"] = {**scaled, "percentile": percentiles} if scaled else {}
    return {**told, **latencies}


def _histogram(told: Mapping[str, Any], notes: list[str]) -> tuple[np.ndarray[Any, Any], ...]:
    """Latency buckets: of the total latency where fio kept them, else of the completion latency."""
    for name in ("lat_ns", "clat_ns"):
        bins = (told.get(name) or {}).get("bins")
        if bins:
            if name == "clat_ns":
                notes.append("latency percentiles are fio's completion latencies (clat)")
            return _buckets({int(key): int(count) for key, count in bins.items()})
    for name in ("lat_ns", "clat_ns"):
        percentiles = (told.get(name) or {}).get("percentile")
        if percentiles:
            notes.append(
                "latencies between fio's percentiles are interpolated: --output-format=json+ has "
                "its histogram"
            )
            return _staircase(percentiles, told[name], int(told["total_ios"]))
    notes.append("no latency percentiles: fio was told not to keep them")
    none = np.zeros(0, np.int64)
    return none, none, none


def _buckets(bins: Mapping[int, int]) -> tuple[np.ndarray[Any, Any], ...]:
    """Bounds of fio's buckets, which it names by their middle."""
    middle = np.array(sorted(bins), np.int64)
    steps = np.maximum(0, np.frexp(np.maximum(middle, 1))[1] - 1 - _BUCKET_BITS)
    width = np.left_shift(np.int64(1), steps.astype(np.int64))
    low = middle - middle % width
    return low, low + width - 1, np.array([bins[int(key)] for key in middle], np.int64)


def _staircase(
    percentiles: Mapping[str, int], latency: Mapping[str, float], ios: int
) -> tuple[np.ndarray[Any, Any], ...]:
    """As many I/Os between two percentiles as their distance says."""
    shares = [0.0, *(float(percent) / 100 for percent in percentiles), 1.0]
    values = [int(latency["min"]), *(int(value) for value in percentiles.values())]
    values = list(np.maximum.accumulate([*values, int(latency["max"])]))
    ranks = np.round(np.array(shares) * ios).astype(np.int64)
    count = np.diff(ranks)
    held = count > 0
    low, high = np.array(values[:-1], np.int64), np.array(values[1:], np.int64)
    return low[held], high[held], count[held]
