"""What one workload's execution showed: the one shape in which every part of the program reads it,
whether it was just measured or is kept in a run folder. Times are float seconds, sizes bytes."""

import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fourcorners.errors import UserError
from fourcorners.jobs import JobRecording
from fourcorners.recording.arrays import (
    IO_COLUMNS,
    Arrays,
    BySecond,
    Floats,
    Histogram,
    InMemory,
    Integers,
    IoLog,
    LatencyDistribution,
    LatencyOverTime,
)
from fourcorners.replayed import Replayed

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import polars as pl  # type: ignore[import-not-found,unused-ignore]
    import pyarrow as pa

    from fourcorners.machine.conditions import Conditions
    from fourcorners.workload import Workload

# What the kernel says of a device that was removed, and what an I/O counts as that never ended.
_LOST = {errno.ENODEV, errno.ENXIO, errno.ENOMEDIUM, errno.ESHUTDOWN, errno.ETIMEDOUT}


@dataclass(frozen=True)
class Offered:
    """What streams at a given rate asked for.

    ``iops`` were due per second; ``unissued`` I/Os in all were not issued, because the target had
    fallen too far behind or the run was stopped, and no latency shows them.
    """

    iops: float
    unissued: int


@dataclass(frozen=True, eq=False, kw_only=True)
class OperationRecording:
    """One operation's share of a recording.

    ``errors`` counts failed I/Os by errno; 0 stands for one that is not known. Latencies are
    ``None`` when no I/O succeeded. :attr:`histogram` has all latencies, ``second_*`` are one entry
    per second from the start of measuring, with NaN for the latency of a second without
    completions; :attr:`latency_over_time` is a coarse latency histogram of every second.

    Latency counts from when an I/O was due, which in a closed loop is its submission. At a given
    rate ``stages`` has its parts: ``queue`` (until it had a place among the outstanding I/Os),
    ``lateness`` (from then to its submission) and ``service`` (to its completion).
    """

    ios: int
    bytes: int
    errors: Mapping[int, int] = field(default_factory=dict)
    elapsed_s: float
    latency_min_s: float | None
    latency_mean_s: float | None
    latency_max_s: float | None
    stages: Mapping[str, LatencyDistribution] = field(default_factory=dict, repr=False)
    arrays: Arrays = field(default_factory=InMemory, repr=False)

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

    @property
    def histogram(self) -> Histogram:
        """Latencies of all I/Os; no buckets where another program measured and kept none."""
        return self.arrays.histogram

    @property
    def seconds(self) -> BySecond:
        """Rates and latencies by the second."""
        return self.arrays.seconds

    @property
    def second_ios(self) -> Integers:
        """I/Os that completed in each second."""
        return self.seconds.ios

    @property
    def second_bytes(self) -> Integers:
        """Bytes that completed in each second."""
        return self.seconds.bytes

    @property
    def second_latency_mean_s(self) -> Floats:
        """Mean latency of the I/Os that completed in each second."""
        return self.seconds.latency_mean_s

    @property
    def second_latency_max_s(self) -> Floats:
        """Longest latency of the I/Os that completed in each second."""
        return self.seconds.latency_max_s

    @property
    def latency_over_time(self) -> LatencyOverTime:
        """Latencies of every second."""
        return self.arrays.latency_over_time

    def latency_percentile_s(self, percent: float) -> float | None:
        """Latency in seconds that ``percent`` (0 to 100) of the I/Os did not exceed.

        See :meth:`LatencyDistribution.percentile_s`.
        """
        return LatencyDistribution(
            self.latency_min_s, self.latency_mean_s, self.latency_max_s, self.histogram
        ).percentile_s(percent)

    def stage_mean_s(self, stage: str) -> float | None:
        """Mean of a part of the latency; ``None`` in a closed loop."""
        return self.stages[stage].mean_s if stage in self.stages else None


@dataclass(frozen=True, eq=False)
class Recording:
    """What one workload's execution showed, whatever kind of target ran it.

    ``operations`` has the operations with at least one I/O or error, by ``read``,
    ``write`` and ``flush``; of traces also ``discard`` and ``write-zeroes``.
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
    ``interrupted`` says that the workload was not carried out to its end, so that the recording is
    partial; ``failure`` is why, in one sentence, where the target was the reason.

    In a run a recording has an ``id`` that begins with the name of its ``test``, a ``label``, a
    ``point`` (what a plot needs: ``block_bytes``, ``queue_depth`` and what the test swept), its
    ``workload`` (of another program the ``options`` that it was given) and the ``conditions`` on
    the machine.
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
    replayed: Replayed | None = None
    """How a trace was replayed; ``None`` of other workloads."""
    jobs: Sequence[JobRecording] = ()
    """What streams with a ``job`` did, each job by itself, in the order of the workload."""
    energy_j: float | None = None
    flash_programmed_bytes: int | None = None
    logged: Callable[[], IoLog] | None = field(default=None, repr=False)
    """Gives the single I/Os where the workload asks for them; see :attr:`log`."""
    id: str = ""
    test: str = ""
    label: str = ""
    point: Mapping[str, Any] = field(default_factory=dict)
    workload: "Workload | None" = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    conditions: "Conditions | None" = field(default=None, repr=False)

    def placed(self, **fields: Any) -> "Recording":
        """The same with its place in a run: ``id``, ``test`` and the fields after them."""
        return replace(self, **fields)

    def in_memory(self) -> "Recording":
        """The same without what is still to be read from a run folder, and without single I/Os."""
        operations = {
            name: replace(one, arrays=InMemory(one.histogram, one.seconds, one.latency_over_time))
            for name, one in self.operations.items()
        }
        return replace(self, operations=operations, logged=None)

    @cached_property
    def log(self) -> IoLog | None:
        """Single I/Os, where the workload asks for them."""
        return None if self.logged is None else self.logged()

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
    def transfers(self) -> Mapping[str, OperationRecording]:
        """The operations that move data, by name: reads and writes."""
        return {name: one for name, one in self.operations.items() if name in ("read", "write")}

    @property
    def iops(self) -> float:
        """Completed reads and writes per second. Flushes transfer nothing and do not count."""
        return sum(operation.iops for operation in self.transfers.values())

    @property
    def bytes_per_second(self) -> float:
        """Bytes of completed reads and writes per second."""
        return sum(operation.bytes_per_second for operation in self.transfers.values())

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

    def to_arrow(self, table: str = "recordings") -> "pa.Table":
        """The recording as a table, with the columns that it has in a run folder.

        Args:
            table: ``recordings`` (a row for each operation), ``series`` (for each second),
                ``histograms`` (for each latency bucket), ``latency_over_time`` or ``ios`` (for
                each single I/O).

        Raises:
            UserError: another table.
        """
        import pyarrow as pa

        from fourcorners.recording.columns import TABLES

        if table not in TABLES:
            raise UserError(f'a recording has no table "{table}": there are {", ".join(TABLES)}')
        schema = TABLES[table]
        if table == "recordings":
            return pa.Table.from_pylist(list(self._rows()), schema=schema)
        parts = [
            pa.table({"recording": [self.id] * count, "operation": names, **columns}, schema=schema)
            for names, count, columns in self._columns(table)
        ]
        return pa.concat_tables([schema.empty_table(), *parts])

    def to_polars(self, table: str = "recordings") -> "pl.DataFrame":
        """:meth:`to_arrow` for polars; raises :class:`UserError` where it is not installed."""
        try:
            import polars as pl
        except ImportError:
            raise UserError("a polars table needs polars: pip install polars") from None
        return pl.from_arrow(self.to_arrow(table))

    def to_pandas(self, table: str = "recordings") -> "pd.DataFrame":
        """:meth:`to_arrow` for pandas; raises :class:`UserError` where it is not installed."""
        try:
            import pandas as _  # noqa: F401
        except ImportError:
            raise UserError("a pandas table needs pandas: pip install pandas") from None
        return self.to_arrow(table).to_pandas()

    def _rows(self) -> Iterator[dict[str, Any]]:
        from fourcorners.recording.columns import PERCENTILES, STAGES

        for name, operation in self.operations.items():
            yield {
                "recording": self.id,
                "test": self.test,
                "operation": name,
                "ios": operation.ios,
                "bytes": operation.bytes,
                "errors": operation.error_count,
                "elapsed_s": operation.elapsed_s,
                "iops": operation.iops,
                "bytes_per_second": operation.bytes_per_second,
                "latency_min_s": operation.latency_min_s,
                "latency_mean_s": operation.latency_mean_s,
                **{
                    column: operation.latency_percentile_s(percent)
                    for column, percent in PERCENTILES.items()
                },
                "latency_max_s": operation.latency_max_s,
                **{f"{stage}_mean_s": operation.stage_mean_s(stage) for stage in STAGES},
                "offered_iops": self.offered.iops if self.offered else None,
                "unissued_ios": self.offered.unissued if self.offered else None,
                "mean_queue_depth": self.mean_queue_depth,
                "cpu_user_s": self.cpu_user_s,
                "cpu_system_s": self.cpu_system_s,
                "generating_s": self.generating_s,
                "energy_j": self.energy_j,
                "mean_power_w": self.mean_power_w,
                "flash_programmed_bytes": self.flash_programmed_bytes,
                "write_amplification": self.write_amplification,
                "interrupted": self.interrupted,
            }

    def _columns(self, table: str) -> Iterator[tuple[Any, int, dict[str, Any]]]:
        """Of each part of a table the operation of every row, the rows, and the other columns."""
        import pyarrow as pa

        if table == "ios":
            if self.log is not None:
                columns = {name: getattr(self.log, name) for name in IO_COLUMNS}
                yield self.log.operation, len(self.log), columns
            return
        for name, operation in self.operations.items():
            if table == "series":
                ios, transferred, mean_s, max_s = operation.seconds
                columns = {
                    "second": np.arange(len(ios), dtype=np.int32),
                    "ios": ios,
                    "bytes": transferred,
                    # NaN is null.
                    "latency_mean_s": pa.array(mean_s, from_pandas=True),
                    "latency_max_s": pa.array(max_s, from_pandas=True),
                }
                count = len(ios)
            elif table == "histograms":
                columns = dict(vars(operation.histogram))
                count = len(operation.histogram.count)
            else:
                columns = dict(vars(operation.latency_over_time))
                count = len(operation.latency_over_time.count)
            yield [name] * count, count, columns
