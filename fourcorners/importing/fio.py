"""fio's results, of version 3 and of version 2, which tells microseconds and KiB.

The format is that of fio's documentation, "fio HOWTO", section JSON+ output. Jobs of the same name,
group and options are the threads of one workload (``numjobs``): together they have its depth.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fourcorners.errors import UserError
from fourcorners.importing import fio_json, fio_logs, fio_terse, histograms
from fourcorners.importing.figures import UnusableError, count, moment, now, text
from fourcorners.importing.fio_job import Job, read_job
from fourcorners.importing.fio_options import FioOptions
from fourcorners.importing.imported import Imported, ImportedRecording, only_operation
from fourcorners.machine.conditions import Conditions
from fourcorners.recording import BySecond, InMemory, OperationRecording, Recording
from fourcorners.wording import chosen_size

_JSON = re.compile(r"^[ \t]*\{", re.MULTILINE)


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
            jobs.append(read_job(told, result.options))
        except (UnusableError, KeyError) as error:
            missing = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
            raise UserError(f"{path} is not what fio writes: in job {place} {missing}") from error
    created = moment(result.timestamp)
    notes = list(result.notes)
    if result.timestamp is not None and created is None:
        notes.append(f"{path.name} has a time that cannot be: that of the import stands instead")
    workloads = list(_workloads(jobs))
    at_once = _at_once(workloads)
    try:
        series = _series(workloads, logs, path)
        made = [
            _imported(own, _others(own[0], at_once.get(_place(own), ())), seconds)
            for own, seconds in zip(workloads, series, strict=True)
        ]
    except UnusableError as error:
        raise UserError(f"{path} is not what fio writes: {error}") from error
    found: dict[str, list[ImportedRecording]] = {}
    about: dict[str, list[str]] = {}
    for own, (recording, told_of) in zip(workloads, made, strict=True):
        target = own[0].target
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


def _workloads(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """Jobs that are threads of one workload together, in order."""
    found: dict[Any, list[Job]] = {}
    for job in jobs:
        key = (job.target, job.name, job.group, tuple(sorted(job.options.told.items())))
        found.setdefault(key, []).append(job)
    yield from found.values()


def _threads(own: Sequence[Job]) -> int:
    """Threads of a workload; a single entry with ``numjobs`` was put together by fio."""
    return len(own) if len(own) > 1 else own[0].options.threads


def _place(own: Sequence[Job]) -> tuple[str, int] | None:
    """The target and group of a workload: fio waits between groups only. ``None`` of one that
    began later than its group, or did nothing."""
    first = own[0]
    return None if first.options.waits or not first.operations else (first.target, first.group)


def _at_once(workloads: Sequence[Sequence[Job]]) -> dict[tuple[str, int] | None, list[Job]]:
    """First jobs of the workloads that used one target at the same time."""
    found: dict[tuple[str, int] | None, list[Job]] = {}
    for own in workloads:
        if (place := _place(own)) is not None:
            found.setdefault(place, []).append(own[0])
    return found


def _others(own: Job, jobs: Iterable[Job]) -> str:
    """The names of the others, of many the first three."""
    names = [job.name for job in itertools.islice((one for one in jobs if one is not own), 4)]
    return ", ".join([*names[:3], "others"] if len(names) > 3 else names)


def _series(
    workloads: Sequence[list[Job]], logs: Sequence[Path], path: Path
) -> list[dict[str, BySecond]]:
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


def _totals(own: Sequence[Job]) -> dict[str, fio_logs.Told]:
    return {
        name: fio_logs.Told(one.ios, one.bytes, one.latency_mean_s, one.latency_max_s)
        for name, one in _merged(own).items()
        if name != "flush"
    }


def _merged(own: Sequence[Job]) -> dict[str, OperationRecording]:
    """What the threads of a workload did, together."""
    names = dict.fromkeys(name for job in own for name in job.operations)
    return {
        name: _together([job.operations[name] for job in own if name in job.operations])
        for name in names
    }


def _together(parts: Sequence[OperationRecording]) -> OperationRecording:
    if len(parts) == 1:
        return parts[0]
    ios = sum(part.ios for part in parts)
    merged = histograms.merged([part.histogram for part in parts])
    return OperationRecording(
        ios=ios,
        bytes=sum(part.bytes for part in parts),
        errors={},
        elapsed_s=max(part.elapsed_s for part in parts),
        latency_min_s=min(part.latency_min_s or 0.0 for part in parts),
        latency_mean_s=sum((part.latency_mean_s or 0.0) * part.ios for part in parts) / ios,
        latency_max_s=max(part.latency_max_s or 0.0 for part in parts),
        arrays=InMemory(merged, parts[0].seconds),
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
    own: Sequence[Job], operations: Mapping[str, OperationRecording], notes: list[str]
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


def _block_bytes(options: FioOptions, transfers: Sequence[OperationRecording]) -> int | None:
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
    own: Sequence[Job], beside: str, seconds: Mapping[str, BySecond]
) -> tuple[ImportedRecording, list[str]]:
    """The recording of a workload, and what its file does not say."""
    first = own[0]
    notes = [note for job in own for note in job.notes]
    operations = {
        name: replace(one, arrays=InMemory(one.histogram, seconds.get(name) or one.seconds))
        for name, one in _merged(own).items()
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
        apart.append(f"beside {beside}")
        notes.append(
            f"job {first.name} ran at the same time as {beside}: its figures are its share of "
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
        "job": first.name,
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
            recording=Recording(
                elapsed_s=elapsed_s,
                mean_queue_depth=None,
                cpu_user_s=_sum([job.cpu_user_s for job in own]),
                cpu_system_s=_sum([job.cpu_system_s for job in own]),
                generating_s=None,
                interrupted=trouble is not None,
                failure=trouble,
                operations=operations,
                label=f"{first.name}: {told}" if told else first.name,
                point={key: value for key, value in point.items() if value is not None},
                options=first.options.told,
                conditions=None if direct is None else Conditions(direct=direct),
            ),
        ),
        notes,
    )


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
