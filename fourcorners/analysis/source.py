"""What the analyses read of a run, and how they look things up in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from fourcorners.recording import IoLog, LatencyOverTime

Array = npt.NDArray[Any]


class RunData(Protocol):
    """The part of ``fourcorners.store.Run`` that analyses use."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """``manifest.json``."""
        ...

    @property
    def recordings(self) -> Sequence[Mapping[str, Any]]:
        """Rows of ``recordings.parquet``."""
        ...

    def series(self, recording_id: str, operation: str) -> Mapping[str, Array]:
        """Columns of ``series.parquet``, each of shape (seconds,); NaN for null."""
        ...

    def ios(self, recording_id: str) -> IoLog:
        """Single I/Os of a recording that the manifest has as ``logged``."""
        ...

    def histogram(self, recording_id: str, operation: str) -> tuple[Array, Array, Array]:
        """Latency buckets: ``low_ns``, ``high_ns`` (inclusive) and ``count``, shape (buckets,)."""
        ...

    def latency_over_time(self, recording_id: str, operation: str) -> LatencyOverTime:
        """Latencies of every second; without rows where they were not kept."""
        ...


@dataclass(frozen=True)
class Measured:
    """One operation of one recording: its totals and the point of the test that it belongs to."""

    recording: str
    test: str
    operation: str
    point: Mapping[str, Any]
    row: Mapping[str, Any]

    @property
    def ios(self) -> int:
        """Successful I/Os."""
        return int(self.row["ios"])

    @property
    def iops(self) -> float:
        """Successful I/Os per second."""
        return float(self.row["iops"])

    @property
    def bytes_per_second(self) -> float:
        """Throughput."""
        return float(self.row["bytes_per_second"])

    @property
    def block_bytes(self) -> int | None:
        """Request size, if the test has one."""
        size = self.point.get("block_bytes")
        return None if size is None else int(size)

    @property
    def queue_depth(self) -> int | None:
        """Nominal outstanding I/Os, ``None`` if the workload does not hold a number of them."""
        depth = self.point.get("queue_depth")
        return None if depth is None else int(depth)

    @property
    def is_apart(self) -> bool:
        """Whether it was measured beside other work, held back, or with flushes and forced writes
        in between, which its own rate and latency do not tell of the drive alone."""
        return bool(self.point.get("apart"))

    def number(self, column: str) -> float | None:
        """A column of the row in seconds or whatever it carries; ``None`` for null or absent."""
        value = self.row.get(column)
        return None if value is None else float(value)


def measured(run: RunData, test: str | None = None, operation: str | None = None) -> list[Measured]:
    """Rows with at least one successful I/O, in the order of the run; of one operation or one of
    the program's tests if given, whatever a suite has named it. Of a suite that has the test
    several times it is the one that bears its name, else the first."""
    name = None if test is None else _named(run, test)
    points: dict[str, Mapping[str, Any]] = {
        recording["id"]: recording.get("point") or {}
        for entry in run.manifest.get("tests", [])
        for recording in entry.get("recordings", [])
    }
    return [
        Measured(
            recording=row["recording"],
            test=row["test"],
            operation=row["operation"],
            point=points.get(row["recording"], {}),
            row=row,
        )
        for row in run.recordings
        if row["ios"] > 0 and name in (None, row["test"]) and operation in (None, row["operation"])
    ]


def _named(run: RunData, definition: str) -> str:
    """The name of the run's test of that definition."""
    names = [
        str(test["name"])
        for test in run.manifest.get("tests", [])
        if test.get("definition") == definition
    ]
    return definition if definition in names else next(iter(names), definition)


def capacity_bytes(run: RunData) -> int | None:
    """Size of the target as any host sees it, ``None`` if it is not known."""
    size = (run.manifest.get("target") or {}).get("capacity_bytes")
    return int(size) if size else None
