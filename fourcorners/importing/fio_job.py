"""One job of fio's results: what it did, and what its file says about that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fourcorners.importing import fio_options, histograms
from fourcorners.importing.figures import UnusableError, count, number, text
from fourcorners.importing.fio_options import FioOptions
from fourcorners.importing.imported import NOT_TOLD
from fourcorners.recording import NS, Histogram, InMemory, OperationRecording

_UNIFIED = "mixed"
_RESULT_OPERATIONS = ("read", "write", _UNIFIED)


@dataclass(frozen=True)
class Job:
    """One of fio's jobs: a thread, or with group_reporting all threads of one."""

    name: str
    group: int
    target: str
    options: FioOptions
    operations: Mapping[str, OperationRecording]
    cpu_user_s: float | None
    cpu_system_s: float | None
    trouble: str | None
    deepest: int | None
    """I/Os that were outstanding at once at most, up to the next power of two."""
    lasted_s: float
    notes: list[str] = field(default_factory=list)


def read_job(told: Mapping[str, Any], common: Mapping[str, Any]) -> Job:
    """A job of a result, with the options of all jobs; raises :class:`UnusableError`, and
    ``KeyError`` for what is missing."""
    own = told.get("job options")
    options = FioOptions.of({**common, **(own if isinstance(own, dict) else {})})
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
    return Job(
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
    return OperationRecording(
        ios=ios,
        bytes=bytes_,
        errors={},
        elapsed_s=elapsed_s,
        latency_min_s=least * NS,
        latency_mean_s=mean * NS,
        latency_max_s=most * NS,
        arrays=InMemory(_histogram(told, ios, notes)),
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


def _histogram(told: Mapping[str, Any], ios: int, notes: list[str]) -> Histogram:
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
    return Histogram.none()
