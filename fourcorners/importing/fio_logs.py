"""fio's logs of a job as its series: what happened in each second.

The format is that of fio's documentation, "fio HOWTO", section Log File Formats: time in ms,
value, direction, size, and more. Without ``log_avg_msec`` a latency log has an entry for each I/O;
averaged, it needs the log of IOPS beside it, and the worst latency of a second is not known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fourcorners.errors import UserError, os_reason
from fourcorners.recording import NS

Series = dict[str, npt.NDArray[Any]]

_NAME = re.compile(r"_(lat|clat|slat|bw|iops|clat_hist)(?:\.(\d+))?\.log$")
_DIRECTIONS = {0: "read", 1: "write"}
_KINDS = {"lat": "lat", "clat": "lat", "iops": "iops", "bw": "bw"}
# Of an I/O log fio loses no entry; the job's totals may hold a few I/Os more than its log.
_WHOLE = 0.9


def by_job(paths: Sequence[Path], jobs: int, result: Path) -> list[dict[str, Path]]:
    """The logs of each job, by kind (``lat``, ``iops``, ``bw``), by the names that fio gives them:
    NAME_KIND.JOB.log. One that is named otherwise is the latency log of the next job.

    Raises :class:`UserError` for logs that no job can have.
    """
    found: list[dict[str, Path]] = [{} for _ in range(jobs)]
    others = 0
    for path in paths:
        match = _NAME.search(path.name)
        kind, number = (match[1], match[2]) if match else ("lat", None)
        if kind not in _KINDS:
            raise UserError(f"{path}: no series can be made of it; use the lat, iops and bw logs")
        kind = _KINDS[kind]
        if number is None:
            others += 1
        place = others if number is None else int(number)
        if not 1 <= place <= jobs:
            raise UserError(f"{path} is the log of job {place}, and {result} has {jobs} jobs")
        if kind in found[place - 1]:
            raise UserError(f"{path}: job {place} has two logs of the same kind")
        found[place - 1][kind] = path
    return found


def series(logs: Mapping[str, Path], told: Mapping[str, tuple[int, int]]) -> dict[str, Series]:
    """Series of a job, by operation.

    Args:
        logs: by kind, as :func:`by_job` has them.
        told: I/Os and bytes of each operation, as the result file says.

    Raises :class:`UserError` for a log that cannot be read or is not enough.
    """
    rows = {kind: _rows(path) for kind, path in logs.items()}
    found = {}
    for direction, operation in _DIRECTIONS.items():
        own = {kind: table[table[:, 2] == direction] for kind, table in rows.items()}
        own = {kind: table for kind, table in own.items() if len(table)}
        if not own or operation not in told:
            continue
        ios, bytes_ = told[operation]
        latencies = own.get("lat")
        if latencies is not None and len(latencies) >= _WHOLE * ios:
            found[operation] = _of_ios(latencies)
        elif "iops" in own:
            found[operation] = _of_averages(own, bytes_ / ios)
        else:
            raise UserError(
                f"{next(iter(logs.values()))} has averages (log_avg_msec) of {operation}s: name "
                "the log of IOPS as well (--write_iops_log)"
            )
    return found


def _rows(path: Path) -> npt.NDArray[np.int64]:
    """Time in ms, value, direction and size; shape (entries, 4)."""
    try:
        lines = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
        if not lines:
            return np.zeros((0, 4), np.int64)
        table = np.loadtxt(lines, delimiter=",", usecols=(0, 1, 2, 3), dtype=np.int64, ndmin=2)
    except OSError as error:
        raise UserError(f"cannot read {path}: {os_reason(error)}") from error
    except ValueError as error:
        raise UserError(f"{path} is not a log of fio: {error}") from error
    return table


def _of_ios(rows: npt.NDArray[np.int64]) -> Series:
    """Of a latency log with an entry for each I/O."""
    second = rows[:, 0] // 1000
    seconds = int(second.max()) + 1
    ios = np.bincount(second, minlength=seconds)
    total = np.bincount(second, weights=rows[:, 1] * NS, minlength=seconds)
    worst = np.zeros(seconds)
    np.maximum.at(worst, second, rows[:, 1] * NS)
    silent = ios == 0
    return {
        "second_ios": ios,
        "second_bytes": np.bincount(second, weights=rows[:, 3], minlength=seconds).astype(np.int64),
        "second_latency_mean_s": np.where(silent, np.nan, total / np.maximum(ios, 1)),
        "second_latency_max_s": np.where(silent, np.nan, worst),
    }


def _of_averages(logs: Mapping[str, npt.NDArray[np.int64]], io_bytes: float) -> Series:
    """Of averages: fio writes one at the end of each stretch of ``log_avg_msec``."""
    seconds = max(1, round(int(logs["iops"][:, 0].max()) / 1000))
    ios = _by_second(logs["iops"], seconds)
    bytes_ = 1024 * _by_second(logs["bw"], seconds) if "bw" in logs else io_bytes * ios
    unknown = np.full(seconds, np.nan)
    latency_s = _by_second(logs["lat"], seconds) * NS if "lat" in logs else unknown
    return {
        "second_ios": np.round(ios).astype(np.int64),
        "second_bytes": np.round(bytes_).astype(np.int64),
        "second_latency_mean_s": latency_s,
        "second_latency_max_s": unknown,
    }


def _by_second(rows: npt.NDArray[np.int64], seconds: int) -> npt.NDArray[np.float64]:
    """Means of the stretches that lie in each second, by their share of it."""
    ends = np.concatenate(([0], rows[:, 0])).astype(np.float64)
    summed = np.concatenate(([0.0], np.cumsum(rows[:, 1] * np.diff(ends))))
    edges = np.minimum(np.arange(seconds + 1) * 1000.0, ends[-1])
    return np.asarray(np.diff(np.interp(edges, ends, summed)) / np.maximum(np.diff(edges), 1.0))
