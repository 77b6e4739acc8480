"""What one workload's execution showed, as numpy arrays. Seconds are floats, sizes bytes."""

import errno
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from fourcorners._core import RawIoLog, RawLatencies, RawOperation, RawRecording

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NS = 1e-9

# What the kernel says of a device that was removed, and what an I/O counts as that never ended.
_LOST = {errno.ENODEV, errno.ENXIO, errno.ENOMEDIUM, errno.ESHUTDOWN, errno.ETIMEDOUT}


@dataclass(frozen=True, eq=False)
class LatencyDistribution:
    """Times of I/Os: extremes and mean in seconds, and a histogram.

    ``bucket_*`` have shape (buckets,), bounds are inclusive and in nanoseconds; only buckets that
    hold something are there. Extremes and mean are ``None`` when there is nothing.
    """

    min_s: float | None
    mean_s: float | None
    max_s: float | None
    bucket_low_ns: Integers = field(repr=False)
    bucket_high_ns: Integers = field(repr=False)
    bucket_count: Integers = field(repr=False)

    def percentile_s(self, percent: float) -> float | None:
        """Time in seconds that ``percent`` (0 to 100) of the I/Os did not exceed.

        Interpolated within its bucket (at most 0.1 % wide) and kept between the exact minimum and
        maximum; ``None`` when there is nothing, or no histogram was kept.
        """
        if not 0 <= percent <= 100:
            raise ValueError(f"percentile {percent}: use 0 to 100")
        if self.min_s is None or self.max_s is None or not len(self.bucket_count):
            return None
        cumulative = np.cumsum(self.bucket_count)
        rank = percent / 100 * cumulative[-1]
        bucket = min(int(np.searchsorted(cumulative, rank)), len(cumulative) - 1)
        low, high = self.bucket_low_ns[bucket], self.bucket_high_ns[bucket]
        before = cumulative[bucket] - self.bucket_count[bucket]
        within = (rank - before) / self.bucket_count[bucket]
        value = float(low + (high - low) * within) * NS
        return min(max(value, self.min_s), self.max_s)


@dataclass(frozen=True, eq=False)
class LatencyOverTime:
    """How the latencies of one operation went on: a coarse histogram of every second.

    A row for each bucket that holds something, all of shape (rows,), in order of second and
    latency. ``second`` counts from the start of measuring and is that of the completion; bounds are
    inclusive, in nanoseconds, and at most an eighth apart (128 ns below 2048 ns). No rows where no
    I/O succeeded, and where the recording was made by another program or by a version that did not
    keep them.
    """

    second: Integers = field(repr=False)
    low_ns: Integers = field(repr=False)
    high_ns: Integers = field(repr=False)
    count: Integers = field(repr=False)

    def chosen(self, which: npt.NDArray[Any]) -> "LatencyOverTime":
        """Some of the rows, by a mask."""
        return LatencyOverTime(
            self.second[which], self.low_ns[which], self.high_ns[which], self.count[which]
        )

    @classmethod
    def none(cls) -> "LatencyOverTime":
        """Nothing is known of the seconds."""
        return cls(*(np.zeros(0, np.int64) for _ in range(4)))


@dataclass(frozen=True)
class Offered:
    """What streams at a given rate asked for.

    ``iops`` were due per second; ``unissued`` I/Os in all were not issued, because the target had
    fallen too far behind or the run was stopped, and no latency shows them.
    """

    iops: float
    unissued: int


@dataclass(frozen=True, eq=False)
class OperationRecording:
    """One operation's share of a recording.

    ``errors`` counts failed I/Os by errno. Latencies are ``None`` when no I/O succeeded.
    ``bucket_*`` are the latency histogram (bounds inclusive, in nanoseconds, only buckets that
    hold something); ``second_*`` are one entry per second from the start of measuring, with NaN
    for the latency of a second without completions; ``latency_over_time`` is a coarse latency
    histogram of every second.

    Latency counts from when an I/O was due, which in a closed loop is its submission. At a given
    rate ``stages`` has its parts: ``queue`` (until it had a place among the outstanding I/Os),
    ``lateness`` (from then to its submission) and ``service`` (to its completion).
    """

    ios: int
    bytes: int
    errors: Mapping[int, int]
    elapsed_s: float
    latency_min_s: float | None
    latency_mean_s: float | None
    latency_max_s: float | None
    bucket_low_ns: Integers = field(repr=False)
    bucket_high_ns: Integers = field(repr=False)
    bucket_count: Integers = field(repr=False)
    second_ios: Integers = field(repr=False)
    second_bytes: Integers = field(repr=False)
    second_latency_mean_s: Floats = field(repr=False)
    second_latency_max_s: Floats = field(repr=False)
    stages: Mapping[str, LatencyDistribution] = field(default_factory=dict, repr=False)
    latency_over_time: LatencyOverTime = field(default_factory=LatencyOverTime.none, repr=False)

    @property
    def iops(self) -> float:
        """Completed I/Os per second."""
        return self.ios / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def bytes_per_second(self) -> float:
        """Completed bytes per second."""
        return self.bytes / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def error_count(self) -> int:
        """Failed I/Os of all kinds."""
        return sum(self.errors.values())

    def latency_percentile_s(self, percent: float) -> float | None:
        """Latency in seconds that ``percent`` (0 to 100) of the I/Os did not exceed.

        See :meth:`LatencyDistribution.percentile_s`.
        """
        return LatencyDistribution(
            self.latency_min_s,
            self.latency_mean_s,
            self.latency_max_s,
            self.bucket_low_ns,
            self.bucket_high_ns,
            self.bucket_count,
        ).percentile_s(percent)


@dataclass(frozen=True, eq=False)
class IoLog:
    """Single I/Os of a workload in order of their completion; all arrays have shape (ios,).

    ``of`` I/Os were measured. One in ``one_in`` of them, a power of two, is here: 1 where all had
    room, else drawn at random, without regard to what they were. Failed I/Os are among them, with
    their ``errno``; it is 0 of the others.

    Times are nanoseconds from the start of measuring: when the I/O was due (in a closed loop when
    it was submitted; negative if that was in the ramp), when it was submitted, when it completed.
    """

    of: int
    one_in: int
    operation: npt.NDArray[np.str_] = field(repr=False)
    due_ns: Integers = field(repr=False)
    submitted_ns: Integers = field(repr=False)
    completed_ns: Integers = field(repr=False)
    offset_bytes: Integers = field(repr=False)
    bytes: Integers = field(repr=False)
    errno: Integers = field(repr=False)

    def __len__(self) -> int:
        """I/Os that are here."""
        return len(self.due_ns)

    @property
    def latency_s(self) -> Floats:
        """From when each was due to its completion, in seconds."""
        return np.asarray((self.completed_ns - self.due_ns) * NS, dtype=np.float64)

    def chosen(self, which: npt.NDArray[Any]) -> "IoLog":
        """Some of them, by a mask or by their positions."""
        return replace(
            self, **{name: getattr(self, name)[which] for name in ("operation", *IO_COLUMNS)}
        )


IO_COLUMNS = ("due_ns", "submitted_ns", "completed_ns", "offset_bytes", "bytes", "errno")
"""The numbers that a log has of each I/O."""


@dataclass(frozen=True)
class Recording:
    """What one workload's execution showed, whatever kind of target ran it.

    ``operations`` has the operations with at least one I/O or error, by ``read``,
    ``write`` and ``flush``.
    ``elapsed_s`` runs from the end of the ramp to the last completion. ``mean_queue_depth`` is the
    time integral of outstanding I/Os, summed where they are issued, over ``elapsed_s``; ``None``
    where another program measured and did not tell.
    ``offered`` is ``None`` in a closed loop.
    CPU times are the process's own while measuring, threads that the kernel runs for it included,
    ``None`` for simulated targets, and ``generating_s`` is the time that all workers took to make
    the data of writes.
    ``energy_j`` is what the drive took in the measured time, in joules: ``None`` for real targets
    and where the drive file gives no powers. ``flash_programmed_bytes`` is what it programmed into
    flash in that time, with GC and its own tables: ``None`` where the target does not tell it, as
    real ones do not.
    ``log`` has single I/Os where the workload asks for them.
    ``interrupted`` says that the workload was not carried out to its end, so that the recording is
    partial; ``failure`` is why, in one sentence, where the target was the reason.
    """

    elapsed_s: float
    mean_queue_depth: float | None
    cpu_user_s: float | None
    cpu_system_s: float | None
    generating_s: float | None
    interrupted: bool
    failure: str | None
    operations: Mapping[str, OperationRecording]
    offered: Offered | None = None
    energy_j: float | None = None
    log: IoLog | None = None
    flash_programmed_bytes: int | None = None

    @classmethod
    def from_raw(cls, raw: "RawRecording", *, simulated: bool) -> "Recording":
        """Takes over what the compiled core measured."""
        elapsed_s = raw.elapsed_ns * NS
        outstanding = raw.outstanding_integral_ns / raw.elapsed_ns if raw.elapsed_ns else 0.0
        operations = {
            name: _operation_from_raw(operation, elapsed_s)
            for name, operation in raw.operations.items()
            if operation.ios or operation.errors
        }
        return cls(
            elapsed_s=elapsed_s,
            mean_queue_depth=outstanding,
            cpu_user_s=None if simulated else raw.cpu_user_ns * NS,
            cpu_system_s=None if simulated else raw.cpu_system_ns * NS,
            generating_s=None if simulated else raw.generating_ns * NS,
            interrupted=raw.interrupted,
            failure=raw.failure,
            operations=operations,
            offered=Offered(raw.offered_ios / (raw.offered_ns * NS), raw.unissued_ios)
            if raw.offered_ns
            else None,
            energy_j=raw.energy_j,
            flash_programmed_bytes=raw.flash_programmed_bytes,
            log=None if raw.log is None else _log_from_raw(raw.log),
        )

    @property
    def read(self) -> OperationRecording:
        """The reads; raises ``KeyError`` when there were none."""
        return self.operations["read"]

    @property
    def write(self) -> OperationRecording:
        """The writes; raises ``KeyError`` when there were none."""
        return self.operations["write"]

    @property
    def flush(self) -> OperationRecording:
        """The flushes; raises ``KeyError`` when there were none."""
        return self.operations["flush"]

    @property
    def iops(self) -> float:
        """Completed reads and writes per second. Flushes transfer nothing and do not count."""
        return sum(operation.iops for name, operation in self.operations.items() if name != "flush")

    @property
    def bytes_per_second(self) -> float:
        """Completed bytes per second, all operations."""
        return sum(operation.bytes_per_second for operation in self.operations.values())

    @property
    def mean_power_w(self) -> float | None:
        """Mean power of the drive in the measured time, in watts; ``None`` where not known."""
        if self.energy_j is None or self.elapsed_s <= 0:
            return None
        return self.energy_j / self.elapsed_s

    @property
    def write_amplification(self) -> float | None:
        """Bytes programmed into flash over bytes that the host wrote, both in the measured time.

        ``None`` where the target does not tell what it programs, and where nothing was written. A
        drive that compresses can stay below 1; a write buffer moves work past the end of a short
        recording.
        """
        written = self.operations["write"].bytes if "write" in self.operations else 0
        if self.flash_programmed_bytes is None or written == 0:
            return None
        return self.flash_programmed_bytes / written

    @property
    def error_count(self) -> int:
        """Failed I/Os, all operations."""
        return sum(operation.error_count for operation in self.operations.values())

    @property
    def target_lost(self) -> bool:
        """The target no longer answers: it hangs or is gone."""
        return any(_LOST & operation.errors.keys() for operation in self.operations.values())


def _integers(values: npt.NDArray[np.uint64]) -> Integers:
    # Counts and nanoseconds stay far below 2^63, and signed arrays subtract safely.
    return values.astype(np.int64)


def _distribution(raw: "RawLatencies") -> LatencyDistribution:
    count = _integers(raw.bucket_count)
    total = int(count.sum())
    return LatencyDistribution(
        min_s=None if raw.min_ns is None else raw.min_ns * NS,
        mean_s=raw.sum_ns / total * NS if total else None,
        max_s=None if raw.max_ns is None else raw.max_ns * NS,
        bucket_low_ns=_integers(raw.bucket_low_ns),
        bucket_high_ns=_integers(raw.bucket_high_ns),
        bucket_count=count,
    )


def _log_from_raw(raw: "RawIoLog") -> IoLog:
    return IoLog(
        of=raw.offered,
        one_in=raw.one_in,
        operation=np.array(raw.operations)[raw.operation],
        **{name: getattr(raw, name) for name in IO_COLUMNS},
    )


def _operation_from_raw(raw: "RawOperation", elapsed_s: float) -> OperationRecording:
    second_ios = _integers(raw.second_ios)
    silent = second_ios == 0
    latency_sum_s = raw.second_latency_sum_ns.astype(np.float64) * NS
    latency_max_s = raw.second_latency_max_ns.astype(np.float64) * NS
    latencies = _distribution(raw.latencies)
    return OperationRecording(
        ios=raw.ios,
        bytes=raw.bytes,
        errors=dict(raw.errors),
        elapsed_s=elapsed_s,
        latency_min_s=latencies.min_s,
        latency_mean_s=latencies.mean_s,
        latency_max_s=latencies.max_s,
        bucket_low_ns=latencies.bucket_low_ns,
        bucket_high_ns=latencies.bucket_high_ns,
        bucket_count=latencies.bucket_count,
        second_ios=second_ios,
        second_bytes=_integers(raw.second_bytes),
        second_latency_mean_s=np.where(silent, np.nan, latency_sum_s / np.maximum(second_ios, 1)),
        second_latency_max_s=np.where(silent, np.nan, latency_max_s),
        stages={name: _distribution(part) for name, part in raw.stages.items()},
        latency_over_time=LatencyOverTime(
            second=_integers(raw.over_time_second),
            low_ns=_integers(raw.over_time_low_ns),
            high_ns=_integers(raw.over_time_high_ns),
            count=_integers(raw.over_time_count),
        ),
    )
