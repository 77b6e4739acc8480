"""One measurement as the detectors see it: workload, figures and conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fourcorners.analysis.source import Array, RunData, capacity_bytes
from fourcorners.machine.conditions import Conditions
from fourcorners.recording import Recording


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
    def of(cls, recording: Recording, capacity_bytes: int | None = None) -> Case:
        """A recording on a target of this size, where that is known."""
        operations = {name: one for name, one in recording.operations.items() if one.ios}
        ios = sum(one.ios for one in operations.values())
        known = [
            one.latency_mean_s * one.ios
            for one in operations.values()
            if one.latency_mean_s is not None
        ]
        minima = [o.latency_min_s for o in operations.values() if o.latency_min_s is not None]
        streams = [] if recording.workload is None else list(recording.workload.streams)
        patterns = {stream.pattern for stream in streams}
        blocks = {stream.block_bytes for stream in streams}
        point = recording.point
        return cls(
            id=recording.id,
            label=recording.label or "this measurement",
            bytes={name: operation.bytes for name, operation in operations.items()},
            ios={name: operation.ios for name, operation in operations.items()},
            elapsed_s=recording.elapsed_s,
            second_bytes=_total([one.second_bytes for one in operations.values()]),
            latency_mean_s=sum(known) / ios if ios and len(known) == len(operations) else None,
            latency_min_s=min(minima, default=None),
            ramp_s=0.0 if recording.workload is None else recording.workload.ramp_s,
            cpu_s=_sum(recording.cpu_user_s, recording.cpu_system_s),
            generating_s=recording.generating_s,
            mean_queue_depth=recording.mean_queue_depth or 1.0,
            pattern=point.get("pattern") or (patterns.pop() if len(patterns) == 1 else None),
            block_bytes=point.get("block_bytes") or (blocks.pop() if len(blocks) == 1 else None),
            workers=sum(stream.workers for stream in streams) if streams else None,
            capacity_bytes=capacity_bytes,
            conditions=recording.conditions or Conditions(),
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
    capacity = capacity_bytes(run)
    return [
        Case.of(recording, capacity)
        for recording in run.recordings
        if any(one.ios for one in recording.operations.values())
    ]


def _total(series: Sequence[Array]) -> Array:
    """Second by second, where some end earlier than others."""
    total = np.zeros(max(map(len, series), default=0))
    for values in series:
        total[: len(values)] += values
    return total


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second
