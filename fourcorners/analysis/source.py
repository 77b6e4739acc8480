"""What the analyses read of a run, and how they look things up in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy.typing as npt

from fourcorners.manifest import Manifest
from fourcorners.recording import OperationRecording, Recording

Array = npt.NDArray[Any]

KEEPS_UP = 0.98
"""Share of the offered rate that is completed, from which a drive keeps up: below it a
queue grows, however short the run was for the latency to show it."""


class RunData(Protocol):
    """The part of ``fourcorners.store.Run`` that analyses use."""

    @property
    def manifest(self) -> Manifest:
        """``manifest.json``."""
        ...

    @property
    def recordings(self) -> Sequence[Recording]:
        """What was measured, in the order of the run."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Measured(OperationRecording):
    """One operation of a recording of a run, and the recording that it belongs to."""

    operation: str
    of: Recording = field(repr=False)

    @property
    def recording(self) -> str:
        """Id of the recording."""
        return self.of.id

    @property
    def test(self) -> str:
        """Name of the test, as the run has it."""
        return self.of.test

    @property
    def point(self) -> Mapping[str, Any]:
        """The point of the test that was measured."""
        return self.of.point

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
    def is_again(self) -> bool:
        """Whether the same was measured before, to see what changed meanwhile: no new point of a
        curve."""
        return bool(self.point.get("again"))

    @property
    def is_apart(self) -> bool:
        """Whether other jobs ran at the same time, it was held back, or had flushes or FUA writes
        in between: then its rate and latency are not those of the drive alone. A drive that keeps
        up with a given rate is held back by it."""
        offered = self.of.offered
        kept_up = offered is not None and self.of.iops >= KEEPS_UP * offered.iops
        return bool(self.point.get("apart")) or kept_up


def measured(run: RunData, test: str | None = None, operation: str | None = None) -> list[Measured]:
    """The operations with a rate, in the order of the run: at least one I/O succeeded, and all
    together took time, which they need not on a simulated drive. Of one name or one of the
    program's tests if given, whatever a suite has named it. Of a suite that has the test several
    times it is the one that bears its name, else the first."""
    name = None if test is None else _named(run, test)
    return [
        Measured(operation=own, of=recording, **vars(one))
        for recording in run.recordings
        if name in (None, recording.test)
        for own, one in recording.operations.items()
        if one.iops > 0 and operation in (None, own)
    ]


def every_operation(recordings: Iterable[Recording]) -> Iterator[Measured]:
    """The operations of recordings in order, those without a successful I/O as well."""
    for recording in recordings:
        for name, one in recording.operations.items():
            yield Measured(operation=name, of=recording, **vars(one))


def _named(run: RunData, definition: str) -> str:
    """The name of the run's test of that definition."""
    names = [test.name for test in run.manifest.tests if test.definition == definition]
    return definition if definition in names else next(iter(names), definition)


def capacity_bytes(run: RunData) -> int | None:
    """Size of the target as any host sees it, ``None`` if it is not known."""
    return run.manifest.target.capacity_bytes or None
