"""fio's logs of a job as its series: what happened in each second.

The format is that of fio's documentation, "fio HOWTO", section Log File Formats: time in ms,
value, direction, size, and more. Without ``log_avg_msec`` a latency log has an entry for each I/O;
averaged, it needs the log of IOPS beside it, and the worst latency of a second is not known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pc

from fourcorners import arrow
from fourcorners.errors import UserError, os_reason
from fourcorners.importing.figures import COUNT_MAX, SECONDS_MAX, content_of
from fourcorners.input_files import check_regular
from fourcorners.recording import NS, BySecond

Rows = npt.NDArray[np.int64]
"""Time in ms, value, direction and size; shape (entries, 4)."""

_NAME = re.compile(r"_(lat|clat|slat|bw|iops|clat_hist)(?:\.(\d{1,9}))?\.log$")
_DIRECTIONS = {0: "read", 1: "write", 2: "trim"}
_KINDS = {"lat": "lat", "clat": "lat", "iops": "iops", "bw": "bw"}
_MEANT = {"lat": "latencies", "iops": "IOPS", "bw": "bandwidths"}
# Of an I/O log fio loses no entry; the job's totals may hold a few I/Os more than its log.
_WHOLE = 0.9
# Its values are those of the job's own latencies, of which a ramp may be a part.
_LIKE = 2.0
_LOG_BYTES_MAX = 256 * 2**20
# Some 70 bytes of memory each.
_ENTRIES_MAX = 12_000_000
JOBS_MAX = 10_000


@dataclass(frozen=True)
class Told:
    """What the result file says of an operation of a job."""

    ios: int
    bytes: int
    latency_mean_s: float | None
    latency_max_s: float | None


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


def series(
    logs: Sequence[Mapping[str, Path]], told: Mapping[str, Told], job: str, limit_s: float
) -> dict[str, BySecond]:
    """What each second of a workload held, by operation.

    Args:
        logs: of each thread by kind, as :func:`by_job` has them.
        told: each operation, as the result file says.
        job: its name, for messages.
        limit_s: how long it may have taken, at most.

    Raises :class:`UserError` for a log that cannot be read, is not enough, or is no log of it.
    """
    threads = [{kind: _rows(path, limit_s, job) for kind, path in own.items()} for own in logs]
    for own, rows in zip(logs, threads, strict=True):
        for kind, path in own.items():
            _expect_direction(rows[kind], told, path, job)
    paths = [path for own in logs for path in own.values()]
    found = {}
    for operation, of_job in told.items():
        chosen = [
            {kind: table for kind, rows in own.items() if len(table := _of(rows, operation))}
            for own in threads
        ]
        chosen = [own for own in chosen if own]
        if chosen:
            found[operation] = _series(chosen, operation, of_job, paths, job)
    return found


def _rows(path: Path, limit_s: float, job: str) -> Rows:
    check_regular(path, "the log")
    try:
        content = content_of(path, _LOG_BYTES_MAX)
    except OSError as error:
        raise UserError(f"cannot read {path}: {os_reason(error)}") from error
    if len(content) > _LOG_BYTES_MAX or content.count(b"\n") > _ENTRIES_MAX:
        raise UserError(
            f"{path} is larger than {_LOG_BYTES_MAX >> 20} MiB or {_ENTRIES_MAX:,} entries: let "
            "fio average it (--log_avg_msec=1000, with --write_iops_log)"
        )
    if not content.endswith(b"\n"):
        content += b"\n"
    if content.isspace():
        return np.zeros((0, 4), np.int64)
    names = ("time", "value", "direction", "size")
    try:
        table = pc.read_csv(
            arrow.source(content),
            pc.ReadOptions(autogenerate_column_names=True),
            convert_options=pc.ConvertOptions(
                include_columns=["f0", "f1", "f2", "f3"],
                column_types={f"f{place}": pa.int64() for place in range(4)},
            ),
        )
    except (pa.ArrowException, KeyError) as error:
        reason = str(error).splitlines()[0].removeprefix("CSV parse error: ")
        raise UserError(f"{path} is not a log of fio: {reason[:200]}") from error
    columns = [column.combine_chunks() for column in table.columns]
    if any(column.null_count for column in columns):
        raise UserError(f"{path} is not a log of fio: a number is missing")
    rows = np.stack([column.to_numpy() for column in columns], axis=1)
    for name, column in zip(names, rows.T, strict=True):
        if column.min() < 0 or column.max() > COUNT_MAX:
            raise UserError(f"{path} is not a log of fio: a {name} in it cannot be")
    if rows[:, 2].max() > max(_DIRECTIONS):
        raise UserError(f"{path} is not a log of fio: its third column is no direction")
    last_s = int(rows[:, 0].max()) / 1e3
    if last_s > limit_s:
        raise UserError(
            f"{path} goes on for {last_s:,.0f} s, far longer than job {job}: it is the log of "
            "another job, or damaged"
        )
    if last_s > SECONDS_MAX:
        raise UserError(
            f"{path} goes on for {last_s:,.0f} s: series are kept of {SECONDS_MAX:,} s at most, "
            "import it without this log"
        )
    return rows


def _of(rows: Rows, operation: str) -> Rows:
    """The rows of an operation; of reads and writes together all but trims."""
    names = ("read", "write") if operation == "mixed" else (operation,)
    return rows[np.isin(rows[:, 2], [d for d, name in _DIRECTIONS.items() if name in names])]


def _expect_direction(rows: Rows, told: Mapping[str, Told], path: Path, job: str) -> None:
    """Raises :class:`UserError` for a log of what the job did not do."""
    if not len(rows) or any(len(_of(rows, operation)) for operation in told):
        return
    held = " and ".join(f"{_DIRECTIONS[int(d)]}s" for d in np.unique(rows[:, 2]))
    raise UserError(
        f"{path} is a log of {held}, and job {job} did none: it is the log of another job"
    )


def _series(
    threads: Sequence[Mapping[str, Rows]],
    operation: str,
    told: Told,
    paths: Sequence[Path],
    job: str,
) -> BySecond:
    named = ", ".join(map(str, paths))
    entries = sum(len(own.get("lat", ())) for own in threads)
    if entries >= _WHOLE * told.ios:
        if entries > told.ios / _WHOLE + 1:
            raise UserError(
                f"{named}: {entries:,} {operation}s, and job {job} did {told.ios:,}: it is the "
                "log of another job"
            )
        rows = np.concatenate([own["lat"] for own in threads if "lat" in own])
        _expect_latencies(rows, told, named, job)
        return _of_ios(rows)
    if all("lat" not in own and "iops" not in own for own in threads):
        kinds = " and ".join(_MEANT[kind] for kind in {kind: 0 for own in threads for kind in own})
        raise UserError(
            f"{named}: {kinds} alone make no series; name the log of latencies "
            "(--write_lat_log) or of IOPS (--write_iops_log) as well"
        )
    if any("iops" not in own for own in threads):
        raise UserError(
            f"{named}: averages (log_avg_msec) of {operation}s, or not all of them; name the "
            f"logs of IOPS as well (--write_iops_log), of every thread of job {job}"
        )
    for own in threads:
        if "lat" in own:
            _expect_latencies(own["lat"], told, named, job)
    found = _summed([_of_averages(own, told.bytes / told.ios) for own in threads])
    held = int(found.ios.sum())
    # What was averaged last may be lost with the end of the job.
    lost = max(int(own["iops"][0, 0]) for own in threads) / 1e3 / len(found.ios)
    if not (_WHOLE - lost) * told.ios <= held <= told.ios / _WHOLE + 1:
        raise UserError(
            f"{named}: {held:,} {operation}s, and job {job} did {told.ios:,}: name the averaged "
            "logs (log_avg_msec) of all its threads, and of no other job"
        )
    return found


def _expect_latencies(rows: Rows, told: Told, named: str, job: str) -> None:
    """Raises :class:`UserError` for values that are not the job's latencies in nanoseconds."""
    if told.latency_mean_s is None or told.latency_max_s is None or not told.latency_mean_s:
        return
    mean_s, most_s = rows[:, 1].mean() * NS, rows[:, 1].max() * NS
    if mean_s > _LIKE * told.latency_mean_s or (
        mean_s < told.latency_mean_s / _LIKE or most_s > _LIKE * told.latency_max_s
    ):
        raise UserError(
            f"{named}: values of {rows[:, 1].mean():,.0f} on average are not the latencies of job "
            f"{job}, {told.latency_mean_s / NS:,.0f} ns: it is another job's, or a log of "
            "bandwidth or IOPS (name it as fio does: NAME_bw.JOB.log)"
        )


def _of_ios(rows: Rows) -> BySecond:
    """Of a latency log with an entry for each I/O."""
    second = rows[:, 0] // 1000
    seconds = int(second.max()) + 1
    ios = np.bincount(second, minlength=seconds)
    total = np.bincount(second, weights=rows[:, 1] * NS, minlength=seconds)
    worst = np.zeros(seconds)
    np.maximum.at(worst, second, rows[:, 1] * NS)
    silent = ios == 0
    return BySecond(
        ios=ios,
        bytes=np.bincount(second, weights=rows[:, 3], minlength=seconds).astype(np.int64),
        latency_mean_s=np.where(silent, np.nan, total / np.maximum(ios, 1)),
        latency_max_s=np.where(silent, np.nan, worst),
    )


def _of_averages(logs: Mapping[str, Rows], io_bytes: float) -> BySecond:
    """Of averages: fio writes one at the end of each stretch of ``log_avg_msec``."""
    seconds = max(1, round(int(logs["iops"][:, 0].max()) / 1000))
    ios = _by_second(logs["iops"], seconds)
    bytes_ = 1024 * _by_second(logs["bw"], seconds) if "bw" in logs else io_bytes * ios
    unknown = np.full(seconds, np.nan)
    latency_s = _by_second(logs["lat"], seconds) * NS if "lat" in logs else unknown
    return BySecond(
        ios=np.round(np.minimum(ios, COUNT_MAX)).astype(np.int64),
        bytes=np.round(np.minimum(bytes_, COUNT_MAX)).astype(np.int64),
        latency_mean_s=latency_s,
        latency_max_s=unknown,
    )


def _by_second(rows: Rows, seconds: int) -> npt.NDArray[np.float64]:
    """Means of the stretches that lie in each second, by their share of it."""
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    ends = np.concatenate(([0], rows[:, 0])).astype(np.float64)
    summed = np.concatenate(([0.0], np.cumsum(rows[:, 1] * np.diff(ends))))
    edges = np.minimum(np.arange(seconds + 1) * 1000.0, ends[-1])
    return np.asarray(np.diff(np.interp(edges, ends, summed)) / np.maximum(np.diff(edges), 1.0))


def _summed(threads: Sequence[BySecond]) -> BySecond:
    """What several threads did in each second together."""
    if len(threads) == 1:
        return threads[0]
    seconds = max(len(own.ios) for own in threads)
    ios, moved, waited = (np.zeros(seconds) for _ in range(3))
    for own in threads:
        mine = slice(len(own.ios))
        ios[mine] += own.ios
        moved[mine] += own.bytes
        waited[mine] += own.ios * own.latency_mean_s
    mean = np.divide(waited, ios, out=np.full(seconds, np.nan), where=ios > 0)
    return BySecond(
        ios=ios.astype(np.int64),
        bytes=moved.astype(np.int64),
        latency_mean_s=mean,
        latency_max_s=np.full(seconds, np.nan),
    )
