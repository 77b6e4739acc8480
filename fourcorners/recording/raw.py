"""Takes over what the compiled core measured."""

import json
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fourcorners.jobs import JobOperation, JobRecording
from fourcorners.recording.arrays import (
    IO_COLUMNS,
    NS,
    BySecond,
    Histogram,
    InMemory,
    Integers,
    IoLog,
    LatencyDistribution,
    LatencyOverTime,
)
from fourcorners.recording.recording import Offered, OperationRecording, Recording
from fourcorners.replayed import Replayed, ReplayedMinute

if TYPE_CHECKING:
    from fourcorners._core import RawIoLog, RawJob, RawLatencies, RawOperation, RawRecording


def from_raw(raw: "RawRecording", *, simulated: bool) -> Recording:
    """A recording of the core's, whose counts and nanoseconds become signed."""
    elapsed_s = raw.elapsed_ns * NS
    log = None if raw.log is None else _log(raw.log)
    return Recording(
        elapsed_s=elapsed_s,
        mean_queue_depth=raw.outstanding_integral_ns / raw.elapsed_ns if raw.elapsed_ns else 0.0,
        cpu_user_s=None if simulated else raw.cpu_user_ns * NS,
        cpu_system_s=None if simulated else raw.cpu_system_ns * NS,
        generating_s=None if simulated else raw.generating_ns * NS,
        interrupted=raw.interrupted,
        failure=raw.failure,
        operations={
            name: _operation(operation, elapsed_s)
            for name, operation in raw.operations.items()
            if operation.ios or operation.errors
        },
        offered=Offered(raw.offered_ios / (raw.offered_ns * NS), raw.unissued_ios)
        if raw.offered_ns
        else None,
        replayed=_replayed(raw),
        jobs=tuple(map(_job, raw.jobs)),
        energy_j=raw.energy_j,
        flash_programmed_bytes=raw.flash_programmed_bytes,
        logged=None if log is None else lambda: log,
    )


def _replayed(raw: "RawRecording") -> Replayed | None:
    if raw.replayed_json is None or raw.off_time is None:
        return None
    told, off_time = json.loads(raw.replayed_json), distribution(raw.off_time)
    return Replayed(
        off_time_p50_s=off_time.percentile_s(50),
        off_time_p99_s=off_time.percentile_s(99),
        off_time_max_s=off_time.max_s,
        late_ios=told["late_ios"],
        late_s=told["late_ns"] * NS,
        sizes={name: counts for name, counts in told["sizes"].items() if any(counts)},
        depths=told["depths"],
        busy_s=told["busy_ns"] * NS,
        minutes=[
            ReplayedMinute(
                busy_s=minute["busy_ns"] * NS,
                flash_programmed_bytes=minute["flash_programmed_bytes"],
                condition=minute["condition"],
            )
            for minute in told["minutes"]
        ],
        waited_s=None if told["waited_ns"] is None else told["waited_ns"] * NS,
    )


def _job(raw: "RawJob") -> JobRecording:
    operations = {}
    for name, own in raw.operations.items():
        latencies = distribution(own.latencies)
        operations[name] = JobOperation(
            ios=own.ios,
            bytes=own.bytes,
            errors=own.errors,
            latency_mean_s=latencies.mean_s,
            latency_p50_s=latencies.percentile_s(50),
            latency_p99_s=latencies.percentile_s(99),
            latency_max_s=latencies.max_s,
        )
    return JobRecording(
        name=raw.name, elapsed_s=(raw.end_ns - raw.start_ns) * NS, operations=operations
    )


def _integers(values: npt.NDArray[np.uint64]) -> Integers:
    # Counts and nanoseconds stay far below 2^63, and signed arrays subtract safely.
    return values.astype(np.int64)


def distribution(raw: "RawLatencies") -> LatencyDistribution:
    """A distribution of the core's."""
    count = _integers(raw.bucket_count)
    total = int(count.sum())
    return LatencyDistribution(
        min_s=None if raw.min_ns is None else raw.min_ns * NS,
        mean_s=raw.sum_ns / total * NS if total else None,
        max_s=None if raw.max_ns is None else raw.max_ns * NS,
        histogram=Histogram(_integers(raw.bucket_low_ns), _integers(raw.bucket_high_ns), count),
    )


def _log(raw: "RawIoLog") -> IoLog:
    return IoLog(
        of=raw.offered,
        one_in=raw.one_in,
        operation=np.array(raw.operations)[raw.operation],
        **{name: getattr(raw, name) for name in IO_COLUMNS},
    )


def _operation(raw: "RawOperation", elapsed_s: float) -> OperationRecording:
    ios = _integers(raw.second_ios)
    silent = ios == 0
    latency_sum_s = raw.second_latency_sum_ns.astype(np.float64) * NS
    latency_max_s = raw.second_latency_max_ns.astype(np.float64) * NS
    latencies = distribution(raw.latencies)
    return OperationRecording(
        ios=raw.ios,
        bytes=raw.bytes,
        errors=dict(raw.errors),
        elapsed_s=elapsed_s,
        latency_min_s=latencies.min_s,
        latency_mean_s=latencies.mean_s,
        latency_max_s=latencies.max_s,
        stages={name: distribution(part) for name, part in raw.stages.items()},
        arrays=InMemory(
            histogram=latencies.histogram,
            seconds=BySecond(
                ios=ios,
                bytes=_integers(raw.second_bytes),
                latency_mean_s=np.where(silent, np.nan, latency_sum_s / np.maximum(ios, 1)),
                latency_max_s=np.where(silent, np.nan, latency_max_s),
            ),
            latency_over_time=LatencyOverTime(
                second=_integers(raw.over_time_second),
                low_ns=_integers(raw.over_time_low_ns),
                high_ns=_integers(raw.over_time_high_ns),
                count=_integers(raw.over_time_count),
            ),
        ),
    )
