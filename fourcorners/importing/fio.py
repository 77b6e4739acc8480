"""fio's results, of version 3 and of version 2, which tells microseconds and KiB.

The format is that of fio's documentation, "fio HOWTO", section JSON+ output. Jobs of the same name,
group and options are the threads of one workload (``numjobs``): together they have its depth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fourcorners.errors import UserError
from fourcorners.importing import fio_json, fio_logs, fio_options, fio_terse, histograms
from fourcorners.importing.figures import UnusableError, count, moment, now, number, text
from fourcorners.importing.fio_options import Options
from fourcorners.importing.imported import NOT_TOLD, Imported, ImportedRecording, only_operation
from fourcorners.recording import NS, OperationRecording, Recording
from fourcorners.wording import chosen_size

_JSON = re.compile(r"^[ \t]*\{", re.MULTILINE)
_UNIFIED = "mixed"
_RESULT_OPERATIONS = ("read", "write", _UNIFIED)


@dataclass(frozen=True)
class _Job:
    """One of fio's jobs: a thread, or with group_reporting all threads of one."""

    name: str
    group: int
    target: str
    options: Options
    operations: Mapping[str, OperationRecording]
    cpu_user_s: float | None
    cpu_system_s: float | None
    trouble: str | None
    deepest: int | None
    """I/Os that were outstanding at once at most, up to the next power of two."""
    lasted_s: float
    notes: list[str] = field(default_factory=list)


def recognises(content: str) -> bool:
    """Whether this may be output of fio that can be taken over."""
    return _JSON.search(content) is not None or fio_terse.recognises(content)


def parse(content: str, path: Path, logs: Sequence[Path] = ()) -> list[Imported]:
    """The targets of a result file, each with its workloads; raises :class:`UserError`."""
    reader = fio_json if _JSON.search(content) else fio_terse
    result = reader.read(content, path)
    jobs = []
    for place, told in enumerate(result.jobs, start=1):
        try:
            jobs.append(_job(told, result.options))
        except (UnusableError, KeyError) as error:
            missing = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
            raise UserError(f"{path} is not what fio writes: in job {place} {missing}") from error
    created = moment(result.timestamp)
    notes = list(result.notes)
    if result.timestamp is not None and created is None:
        notes.append(f"{path.name} has a time that cannot be: that of the import stands instead")
    workloads = list(_workloads(jobs))
    series = _series(workloads, logs, path)
    found: dict[str, list[ImportedRecording]] = {}
    about: dict[str, list[str]] = {}
    for own, seconds in zip(workloads, series, strict=True):
        target = own[0].target
        beside = [other[0] for other in workloads if other is not own and _beside(own, other)]
        recording, told_of = _imported(own, beside, seconds)
        about.setdefault(target, []).extend(told_of)
        if recording.recording.operations:
            found.setdefault(target, []).append(recording)
    if not found:
        said = "; ".join(note for several in about.values() for note in several)
        raise UserError(
            f"{path} holds no job that read or wrote anything{f': {said}' if said else ''}"
        )
    lost = [note for target in about if target not in found for note in about[target]]
    return [
        Imported(
            program="fio",
            version=text(result.version),
            sources=[path.name],
            target=target,
            is_device=target.rpartition(":")[2].startswith("/dev/"),
            created=created or now(),
            recordings=recordings,
            notes=list(dict.fromkeys([*notes, *about[target], *lost])),
        )
        for target, recordings in found.items()
    ]


def _job(told: Mapping[str, Any], common: Mapping[str, Any]) -> _Job:
    own = told.get("job options")
    options = Options.of({**common, **(own if isinstance(own, dict) else {})})
    name = text(told["jobname"])
    target = options.target or NOT_TOLD
    if "hostname" in told:
        target = f"{text(told['hostname'])}:{target}"
    notes: list[str] = []
    roles = {role: part for role in _RESULT_OPERATIONS if isinstance(part := told.get(role), dict)}
    if any(role in roles for role in ("read", "write")):
        roles.pop(_UNIFIED, None)  # unified_rw_reporting=both: the same again
    elif _UNIFIED in roles and (only := options.only_operation):
        roles = {only: roles[_UNIFIED]}
    operations = {}
    for role, part in roles.items():
        if not count(part.get("total_ios", 0), f"{role}'s total_ios"):
            continue
        if not number(part.get("runtime"), f"{role}'s runtime"):
            notes.append(f"job {name} ended within a millisecond: no rate can be told of it")
            continue
        operations[role] = _operation(part, role, notes)
    if _UNIFIED in operations:
        notes.append(
            f"job {name} reports reads and writes together (unified_rw_reporting=mixed): what each "
            "of them did is not known"
        )
    elapsed_s = max((one.elapsed_s for one in operations.values()), default=0.0)
    if operations and (flushes := _flushes(told.get("sync"), elapsed_s, notes)) is not None:
        operations["flush"] = flushes
    trim = told.get("trim")
    if isinstance(trim, dict) and trim.get("total_ios"):
        notes.append(f"job {name} trimmed as well: trims are not taken over")
    cpu = [
        number(told[key], key) / 100 * elapsed_s if key in told else None
        for key in ("usr_cpu", "sys_cpu")
    ]
    return _Job(
        name=name,
        group=count(told.get("groupid", 0), "groupid"),
        target=text(target),
        options=options,
        operations=operations,
        cpu_user_s=cpu[0],
        cpu_system_s=cpu[1],
        trouble=_trouble(told),
        deepest=_deepest(told.get("iodepth_level")),
        lasted_s=max(elapsed_s, number(told.get("elapsed", 0), "elapsed")),
        notes=notes,
    )


def _trouble(told: Mapping[str, Any]) -> str | None:
    """Why the figures of a job are not those of a sound drive."""
    error = count(told.get("error", 0), "error")
    if errors := count(told.get("total_err", 0), "total_err"):
        first = count(told.get("first_error", error), "first_error")
        return f"had {errors:,} I/O errors, the first {fio_options.error_name(first)}"
    return f"ended with error {fio_options.error_name(error)}" if error else None


def _deepest(levels: Any) -> int | None:
    """From fio's shares of I/Os by how many were outstanding (1, 2, 4 and so on)."""
    if not isinstance(levels, dict):
        return None
    held = [
        int(level)
        for level, share in levels.items()
        if level.isascii() and level.isdigit() and number(share, "iodepth_level") > 0
    ]
    return None if levels.get(">=64") or not held else min(max(held), 64)


def _operation(told: Mapping[str, Any], role: str, notes: list[str]) -> OperationRecording:
    old = "clat" in told  # fio 2: latencies in microseconds, amounts in KiB
    ios = count(told["total_ios"], f"{role}'s total_ios")
    return _recorded(
        _in_nanoseconds(told) if old else told,
        role,
        notes,
        ios=ios,
        bytes_=count(told["io_bytes"], f"{role}'s io_bytes") * (1024 if old else 1),
        elapsed_s=number(told["runtime"], f"{role}'s runtime") / 1e3,
    )


def _flushes(told: Any, elapsed_s: float, notes: list[str]) -> OperationRecording | None:
    """The fsync, fdatasync or sync_file_range calls of a job, whose time is in no write's."""
    latency = told.get("lat_ns") if isinstance(told, dict) else None
    if not isinstance(latency, dict):
        return None
    # Versions before 3.36 leave total_ios at zero.
    ios = count(told.get("total_ios", 0), "sync's total_ios") or count(latency.get("N", 0), "N")
    return _recorded(told, "sync", notes, ios=ios, bytes_=0, elapsed_s=elapsed_s) if ios else None


def _recorded(
    told: Mapping[str, Any],
    role: str,
    notes: list[str],
    *,
    ios: int,
    bytes_: int,
    elapsed_s: float,
) -> OperationRecording:
    latency = told.get("lat_ns") or told.get("clat_ns")
    if not isinstance(latency, dict):
        raise KeyError(f"{role}'s lat_ns")
    least, mean, most = (
        number(latency[key], f"{role}'s {key} latency") for key in ("min", "mean", "max")
    )
    if not least <= most:
        raise UnusableError(f"{role}'s least latency is above its greatest")
    low, high, buckets = _histogram(told, ios, notes)
    none = np.zeros(0, np.int64)
    return OperationRecording(
        ios=ios,
        bytes=bytes_,
        errors={},
        elapsed_s=elapsed_s,
        latency_min_s=least * NS,
        latency_mean_s=mean * NS,
        latency_max_s=most * NS,
        bucket_low_ns=low,
        bucket_high_ns=high,
        bucket_count=buckets,
        second_ios=none,
        second_bytes=none,
        second_latency_mean_s=none.astype(float),
        second_latency_max_s=none.astype(float),
    )


def _in_nanoseconds(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same with the latencies of fio 3."""
    latencies = {}
    for name in ("lat", "clat"):
        entry = told.get(name)
        if not isinstance(entry, dict) or not entry:
            continue
        scaled: dict[str, Any] = {
            key: number(entry[key], f"{name}'s {key}") * 1e3
            for key in ("min", "mean", "max")
            if key in entry
        }
        percentiles = entry.get("percentile")
        # It lists as many percentiles as it may have; unused ones are "0.00".
        scaled["percentile"] = {
            percent: number(value, "a latency percentile") * 1e3
            for percent, value in (percentiles if isinstance(percentiles, dict) else {}).items()
            if number(percent, "a percentile") > 0
        }
        latencies[f"{name}_ns"] = scaled
    return {**told, **latencies}


def _histogram(told: Mapping[str, Any], ios: int, notes: list[str]) -> histograms.Buckets:
    """Latency buckets: of the total latency where fio kept them, else of the completion latency."""
    latencies = {
        name: entry for name in ("lat_ns", "clat_ns") if isinstance(entry := told.get(name), dict)
    }
    for name, entry in latencies.items():
        if isinstance(bins := entry.get("bins"), dict) and bins:
            if name == "clat_ns":
                notes.append("latency percentiles are fio's completion latencies (clat)")
            return histograms.of_bins(bins)
    for entry in latencies.values():
        if isinstance(percentiles := entry.get("percentile"), dict) and percentiles:
            notes.append(
                "latencies between fio's percentiles are interpolated: --output-format=json+ has "
                "its histogram"
            )
            least, most = (number(entry[key], f"the {key} latency") for key in ("min", "max"))
            return histograms.of_percentiles(percentiles, least, most, ios)
    notes.append("no latency percentiles: fio was told not to keep them")
    return histograms.nothing()


def _workloads(jobs: Sequence[_Job]) -> Iterator[list[_Job]]:
    """Jobs that are threads of one workload together, in order."""
    found: dict[Any, list[_Job]] = {}
    for job in jobs:
        key = (job.target, job.name, job.group, tuple(sorted(job.options.told.items())))
        found.setdefault(key, []).append(job)
    yield from found.values()


def _threads(own: Sequence[_Job]) -> int:
    """Threads of a workload; a single entry with ``numjobs`` was put together by fio."""
    return len(own) if len(own) > 1 else own[0].options.threads


def _beside(own: Sequence[_Job], other: Sequence[_Job]) -> bool:
    """Whether two workloads used one target at the same time: fio waits between groups only."""
    one, two = own[0], other[0]
    return (
        (one.target, one.group) == (two.target, two.group)
        and bool(two.operations)
        and not (one.options.waits or two.options.waits)
    )


def _series(
    workloads: Sequence[list[_Job]], logs: Sequence[Path], path: Path
) -> list[dict[str, fio_logs.Series]]:
    """The series of each workload from the logs of its threads, which fio numbers through."""
    if not logs:
        return [{} for _ in workloads]
    threads = [_threads(own) for own in workloads]
    if sum(threads) > fio_logs.JOBS_MAX:
        raise UserError(f"{path} has more than {fio_logs.JOBS_MAX:,} jobs: import it without logs")
    logs_of = fio_logs.by_job(logs, sum(threads), path)
    found = []
    for own, number_of in zip(workloads, threads, strict=True):
        told = _totals(own)
        mine, logs_of = logs_of[:number_of], logs_of[number_of:]
        limit_s = 2 * max(job.lasted_s for job in own) + 60
        found.append(fio_logs.series(mine, told, own[0].name, limit_s))
    return found


def _totals(own: Sequence[_Job]) -> dict[str, fio_logs.Told]:
    return {
        name: fio_logs.Told(one.ios, one.bytes, one.latency_mean_s, one.latency_max_s)
        for name, one in _merged(own).items()
        if name != "flush"
    }


def _merged(own: Sequence[_Job]) -> dict[str, OperationRecording]:
    """What the threads of a workload did, together."""
    names = dict.fromkeys(name for job in own for name in job.operations)
    return {
        name: _together([job.operations[name] for job in own if name in job.operations])
        for name in names
    }


def _together(parts: Sequence[OperationRecording]) -> OperationRecording:
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    ios = sum(part.ios for part in parts)
    low, high, buckets = histograms.merged(
        [(part.bucket_low_ns, part.bucket_high_ns, part.bucket_count) for part in parts]
    )
    return OperationRecording(
        ios=ios,
        bytes=sum(part.bytes for part in parts),
        errors={},
        elapsed_s=max(part.elapsed_s for part in parts),
        latency_min_s=min(part.latency_min_s or 0.0 for part in parts),
        latency_mean_s=sum((part.latency_mean_s or 0.0) * part.ios for part in parts) / ios,
        latency_max_s=max(part.latency_max_s or 0.0 for part in parts),
        bucket_low_ns=low,
        bucket_high_ns=high,
        bucket_count=buckets,
        second_ios=first.second_ios,
        second_bytes=first.second_bytes,
        second_latency_mean_s=first.second_latency_mean_s,
        second_latency_max_s=first.second_latency_max_s,
    )


@dataclass(frozen=True)
class _Access:
    """What a workload asked for, so far as it can be believed."""

    operation: str
    pattern: str | None
    block_bytes: int | None
    queue_depth: int | None
    read_percent: float | None


def _access(
    own: Sequence[_Job], operations: Mapping[str, OperationRecording], notes: list[str]
) -> _Access:
    name, options = own[0].name, own[0].options
    threads = _threads(own)
    transfers = {role: one for role, one in operations.items() if role != "flush"}
    operation = only_operation(operations) if operations else "mixed"
    block = _block_bytes(options, list(transfers.values()))
    other = options.only_operation is not None and set(transfers) - {options.only_operation}
    if other or (options.block_bytes is not None and transfers and block is None):
        notes.append(
            f"job {name} did what its options do not say: several jobs were reported together "
            "(group_reporting), so pattern and queue depth are not known"
        )
        return _Access(operation, None, block, None, None)
    depth = options.depth
    if depth is not None and depth > 1 and all(job.deepest == 1 for job in own):
        engine = options.told.get("ioengine", "fio's default, psync")
        notes.append(
            f"job {name} asked for queue depth {depth} and never had more than one I/O "
            f"outstanding (ioengine {engine}): its queue depth is 1 a thread"
        )
        depth = 1
    if threads > 1:
        notes.append(
            f"job {name} ran in {threads} threads: they are one workload, whose queue depth is "
            "theirs together"
        )
    percent = options.read_percent if operation == "mixed" else None
    total = None if depth is None else count(depth * threads, "the queue depth")
    return _Access(operation, options.pattern, block, total, percent)


def _block_bytes(options: Options, transfers: Sequence[OperationRecording]) -> int | None:
    """The request size: as asked for, where the bytes bear it out, else as the bytes have it."""
    asked = options.block_bytes
    if asked is None:
        if options.told or not transfers:
            return None  # several sizes
        # Rates of terse output are rounded: a power of two that is as near as that is meant.
        asked = 2 ** max(round(np.log2(max(transfers[0].bytes / transfers[0].ios, 1.0))), 0)
    near = all(
        # The last I/Os of a file may be short, and one that failed is counted without its bytes.
        one.ios - max(0.02 * one.ios, 2) <= one.bytes / asked <= 1.02 * one.ios
        for one in transfers
    )
    sizes = {one.bytes / one.ios for one in transfers}
    exact = options.told and len(sizes) == 1 and min(sizes).is_integer()
    return asked if near else int(min(sizes)) if exact else None


def _imported(
    own: Sequence[_Job], beside: Sequence[_Job], seconds: Mapping[str, fio_logs.Series]
) -> tuple[ImportedRecording, list[str]]:
    """The recording of a workload, and what its file does not say."""
    first = own[0]
    notes = [note for job in own for note in job.notes]
    operations = {
        name: fio_logs.with_series(one, seconds.get(name)) for name, one in _merged(own).items()
    }
    if operations and not seconds:
        notes.append("no second by second series: fio writes one with --write_lat_log")
    access = _access(own, operations, notes)
    trouble = next((job.trouble for job in own if job.trouble), None)
    if trouble:
        notes.append(f"job {first.name} {trouble}: its figures are in no spec sheet")
    apart = [*first.options.limits, *first.options.syncs]
    if "flush" in operations and not first.options.syncs:
        apart.append("flushes")
    if beside:
        names = ", ".join(dict.fromkeys(job.name for job in beside))
        apart.append(f"beside {names}")
        notes.append(
            f"job {first.name} ran at the same time as {names}: its figures are its share of "
            f"{first.target}"
        )
    if first.options.limits:
        notes.append(
            f"job {first.name} was held back by {', '.join(first.options.limits)}: its rate is "
            "what it asked for"
        )
    size = chosen_size(access.block_bytes) if access.block_bytes else ""
    depth = access.queue_depth
    direction = first.options.direction
    if operations and {*operations} - {"flush"} != {first.options.only_operation}:
        direction = direction if first.options.only_operation is None else "reads and writes"
    words = [
        " ".join(
            part for part in (size or ("mixed sizes" if direction else ""), direction) if part
        ),
        f"queue depth {depth}" if depth else "",
        *first.options.syncs,
    ]
    told = ", ".join(word for word in words if word)
    point = {
        "operation": access.operation,
        "pattern": access.pattern,
        "block_bytes": access.block_bytes,
        "queue_depth": None if first.options.limits else depth,
        "read_percent": access.read_percent,
        "flush_every_writes": first.options.flush_every_writes,
        "apart": ", ".join(apart) or None,
    }
    parts = [direction, size.replace(" ", ""), f"qd{depth}" if depth else ""]
    # A flush or forced write waits for the medium, whatever the page cache does.
    direct = None if first.options.syncs else first.options.direct
    elapsed_s = max((one.elapsed_s for one in operations.values()), default=0.0)
    return (
        ImportedRecording(
            name=first.name,
            access="-".join(part for part in parts if part),
            label=f"{first.name}: {told}" if told else first.name,
            point={key: value for key, value in point.items() if value is not None},
            parameters=first.options.told,
            recording=Recording(
                elapsed_s=elapsed_s,
                mean_queue_depth=None,
                cpu_user_s=_sum([job.cpu_user_s for job in own]),
                cpu_system_s=_sum([job.cpu_system_s for job in own]),
                generating_s=None,
                interrupted=trouble is not None,
                failure=trouble,
                operations=operations,
            ),
            trouble=trouble,
            conditions={} if direct is None else {"direct": direct},
        ),
        notes,
    )


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
