"""One measurement as the detectors see it: workload, figures and conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fourcorners.analysis.source import Array, RunData
from fourcorners.machine.conditions import Conditions
from fourcorners.recording import Recording
from fourcorners.workload import Workload


@dataclass(frozen=True, eq=False)
class Case:
    """Figures of one recording.

    ``bytes`` and ``ios`` are by operation, the rest is of all operations together;
    ``second_bytes`` and ``second_ios`` are per second from the start. ``workers`` and
    ``block_bytes`` are ``None`` where the workload is not known or has several sizes.
    """

    id: str
    label: str
    bytes: Mapping[str, int]
    ios: Mapping[str, int]
    elapsed_s: float
    second_bytes: Array
    latency_mean_s: float | None = None
    latency_min_s: float | None = None
    ramp_s: float = 0.0
    cpu_s: float | None = None
    generating_s: float | None = None
    mean_queue_depth: float = 1.0
    pattern: str | None = None
    block_bytes: int | None = None
    workers: int | None = None
    capacity_bytes: int | None = None
    conditions: Conditions = field(default_factory=Conditions)

    @classmethod
    def of_recording(
        cls,
        recording: Recording,
        workload: Workload,
        conditions: Conditions,
        capacity_bytes: int | None = None,
    ) -> Case:
        """A case from a recording that is in no run folder."""
        operations = recording.operations
        series = [operation.second_bytes for operation in operations.values()]
        ios = sum(operation.ios for operation in operations.values())
        means = [(o.latency_mean_s or 0.0) * o.ios for o in operations.values()]
        minima = [o.latency_min_s for o in operations.values() if o.latency_min_s is not None]
        patterns = {stream.pattern for stream in workload.streams}
        blocks = {stream.block_bytes for stream in workload.streams}
        return cls(
            id="",
            label="this measurement",
            bytes={name: operation.bytes for name, operation in operations.items()},
            ios={name: operation.ios for name, operation in operations.items()},
            elapsed_s=recording.elapsed_s,
            second_bytes=_total(series),
            latency_mean_s=sum(means) / ios if ios else None,
            latency_min_s=min(minima, default=None),
            ramp_s=workload.ramp_s,
            cpu_s=_sum(recording.cpu_user_s, recording.cpu_system_s),
            generating_s=recording.generating_s,
            mean_queue_depth=recording.mean_queue_depth or 1.0,
            pattern=patterns.pop() if len(patterns) == 1 else None,
            block_bytes=blocks.pop() if len(blocks) == 1 else None,
            workers=sum(stream.workers for stream in workload.streams),
            capacity_bytes=capacity_bytes,
            conditions=conditions,
        )

    @property
    def all_bytes(self) -> int:
        """Bytes of all operations."""
        return sum(self.bytes.values())

    @property
    def all_ios(self) -> int:
        """I/Os of all operations."""
        return sum(self.ios.values())

    @property
    def bytes_per_second(self) -> float:
        """Throughput of all operations."""
        return self.all_bytes / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def iops(self) -> float:
        """I/Os per second of all operations."""
        return self.all_ios / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def only(self) -> str | None:
        """The operation, where there was one."""
        names = [name for name, ios in self.ios.items() if ios and name != "flush"]
        return names[0] if len(names) == 1 else None

    @property
    def full_seconds(self) -> Array:
        """Bytes of every second that was measured to its end."""
        return self.second_bytes[: int(self.elapsed_s)]


def cases(run: RunData) -> list[Case]:
    """The recordings of a run in its order, those with an I/O that succeeded."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in run.recordings:
        if row["ios"] > 0:
            rows.setdefault(row["recording"], []).append(row)
    capacity = (run.manifest.get("target") or {}).get("capacity_bytes")
    return [
        _case(run, recording, rows[recording["id"]], capacity)
        for test in run.manifest.get("tests", [])
        for recording in test.get("recordings", [])
        if recording["id"] in rows
    ]


def _case(
    run: RunData,
    recording: Mapping[str, Any],
    rows: list[Mapping[str, Any]],
    capacity_bytes: int | None,
) -> Case:
    point = recording.get("point") or {}
    workload = recording.get("workload") or {}
    series = [run.series(row["recording"], row["operation"]).get("bytes") for row in rows]
    known = [np.asarray(values) for values in series if values is not None]
    ios = sum(row["ios"] for row in rows)
    first = rows[0]
    streams = workload.get("streams") or []
    latencies = [(row.get("latency_mean_s"), row["ios"]) for row in rows]
    minima = [row["latency_min_s"] for row in rows if row.get("latency_min_s") is not None]
    return Case(
        id=recording["id"],
        label=recording.get("label") or recording["id"],
        bytes={row["operation"]: row["bytes"] for row in rows},
        ios={row["operation"]: row["ios"] for row in rows},
        elapsed_s=first["elapsed_s"],
        second_bytes=_total(known),
        latency_mean_s=(
            sum(mean * count for mean, count in latencies) / ios
            if all(mean is not None for mean, _ in latencies)
            else None
        ),
        latency_min_s=min(minima, default=None),
        ramp_s=(workload.get("ramp_ns") or 0) * 1e-9,
        cpu_s=_sum(first.get("cpu_user_s"), first.get("cpu_system_s")),
        generating_s=first.get("generating_s"),
        mean_queue_depth=first.get("mean_queue_depth") or 1.0,
        pattern=point.get("pattern"),
        block_bytes=point.get("block_bytes"),
        workers=sum(stream["workers"] for stream in streams) if streams else None,
        capacity_bytes=capacity_bytes,
        conditions=Conditions.from_dict(recording.get("conditions") or {}),
    )


def _total(series: Sequence[Array]) -> Array:
    """Second by second, where some end earlier than others."""
    total = np.zeros(max(map(len, series), default=0))
    for values in series:
        total[: len(values)] += values
    return total


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second
