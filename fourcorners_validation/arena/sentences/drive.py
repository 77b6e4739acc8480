"""The truth about a simulated drive, from what it says of itself and from separate measurements in
virtual time, in states that the run never had."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from fourcorners.analysis.source import Measured, measured
from fourcorners.errors import UserError
from fourcorners.recording.arrays import Floats
from fourcorners.running.run import run
from fourcorners.suites.steps import SETTLE_S, Fill
from fourcorners.suites.suite import Suite
from fourcorners.target.foreign import ForeignTarget
from fourcorners.target.open import open_target
from fourcorners.target.simulated import SimulatedTarget
from fourcorners.target.target import Target
from fourcorners.workload import Stream, Workload
from fourcorners_validation.arena.explain.drives import Hidden
from fourcorners_validation.arena.explain.foreign import Foreign
from fourcorners_validation.arena.explain.program import true_of_program
from fourcorners_validation.arena.explain.truths import KINDS_TOLD, true_of

_IOS_MAX = 300_000
"""I/Os of a measurement: a rate of so many is known within a percent, and a fraction of a second
simulates them."""

_AT_REST_S = 3600.0
"""Virtual time in which a drive ends all that it does by itself after a fill: the largest SLC cache
that is drawn, a third of 12 GiB, is folded at 4 MB/s, the slowest flash, in a quarter of that."""

# The small random I/O of the reviews.
_SMALL_BYTES = 4096
_REPEATED = ("four-corners", "queue-depth", "transfer-size")


class KnownDrive(ABC):
    """The truth of one drive. Each measurement is made when it is first asked for; a context
    manager, which closes the drives that were measured."""

    kind: str
    """In words."""
    is_disk: bool
    """Whether it is a disk, with an arm that moves."""
    maps_pages: bool
    """Whether it maps pages and collects garbage."""
    rewrites_blocks: bool
    """Whether a small write rewrites a block."""

    def __init__(self, seed: int, suite: Suite, folder: Path) -> None:
        self._seed, self._suite, self._folder = seed, suite, folder
        self._opened_ones = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened_ones.close()

    @abstractmethod
    def opened(self) -> Target:
        """The drive as it was delivered."""

    @property
    @abstractmethod
    def truths(self) -> dict[str, float]:
        """The truths that the drive states of itself, by finding, and ``host_overhead``: seconds
        of each request that nothing hides."""

    @property
    def content_matters(self) -> bool:
        """Whether it compresses or deduplicates data."""
        return bool(self.truths["compression"] or self.truths["deduplication"])

    @cached_property
    def repeated(self) -> dict[tuple[str, str], Measured]:
        """Its shorter tests once more with another seed, by recording and operation."""
        with self.opened() as target:
            suite = self._suite.only(_REPEATED)
            again = run(suite, target, seed=self._seed ^ 0x5EED, out=self._folder)
        return {(m.recording, m.operation): m for m in measured(again)}

    def fresh(self, filled_bytes: int | None = None, seed: int = 7) -> Target:
        """The drive at rest after it was erased and its first bytes were filled in sequence."""
        target = self._opened_ones.enter_context(self.opened())
        if target.keeps_state:  # Others are as fast empty.
            for workload in Fill(filled_bytes or target.capacity_bytes).workloads(seed):
                target.run(workload)
        target.idle(SETTLE_S)
        return target

    @cached_property
    def _full(self) -> Target:
        target = self.fresh()
        target.idle(_AT_REST_S)
        return target

    @property
    def capacity_bytes(self) -> int:
        """The drive's size."""
        return self._full.capacity_bytes

    def reads(self, block_bytes: int, depth: int, seconds: float = 2.0) -> float:
        """Aligned random reads a second over the whole full drive, when it does nothing else."""
        return _rate(self._full, _reading(block_bytes, depth), seconds)

    def reads_when_rested(self, block_bytes: int, depth: int, seconds: float = 2.0) -> float:
        """The same as the first reads of a full drive at rest: a drive that writes its map back
        before it reads another part of it is faster once it has done so."""
        target = self.fresh()
        target.idle(_AT_REST_S)
        return _rate(target, _reading(block_bytes, depth), seconds)

    def writes_when_fresh(
        self, depth: int, span_bytes: int, seconds: float, written_bytes: float = 0.0
    ) -> float:
        """Small random writes a second over a filled span of a drive that is empty beyond, after
        so many bytes of them."""
        target = self.fresh(span_bytes)
        stream = Stream.write(
            "random", _SMALL_BYTES, span_bytes=span_bytes, queue_depth_per_worker=depth
        )
        if written_bytes:
            ios = max(1, round(written_bytes / _SMALL_BYTES))
            target.run(Workload([stream], duration_s=_AT_REST_S, ios=ios, seed=6))
        return _rate(target, stream, seconds)

    def steady(self) -> Target | None:
        """The drive put at once into the steady state of small random writes, as theory has it;
        ``None`` where no such state is known of it."""
        return None

    @cached_property
    def steady_iops(self) -> float | None:
        """Small random writes a second in the steady state, at queue depth 32."""
        target = self.steady()
        return None if target is None else _rate(target, _hammering(), 60.0)

    def around_pause(self, seconds: float, after_s: float) -> tuple[float, float] | None:
        """Rates before and after a pause, in the steady state, the latter for ``after_s``."""
        target = self.steady()
        if target is None:
            return None
        before = _rate(target, _hammering(), 2 * after_s)
        target.idle(seconds)
        return before, _rate(target, _hammering(), after_s, seed=9)

    def longer(self, seconds: float) -> Floats:
        """Small random writes to the full drive, of each second; shape (seconds,)."""
        recording = self.fresh(seed=11).run(Workload([_hammering()], duration_s=seconds, seed=12))
        return np.asarray(recording.write.second_ios[: int(seconds)], np.float64)


class OwnDrive(KnownDrive):
    """A drive of this project's simulator."""

    def __init__(self, hidden: Hidden, suite: Suite, folder: Path) -> None:
        super().__init__(hidden.seed, suite, folder)
        self._hidden = hidden
        self.kind = hidden.kind
        self.is_disk = hidden.kind == "disk"
        self.maps_pages = hidden.drive.kind == "page-mapped-ssd"
        self.rewrites_blocks = hidden.kind in ("block-mapped SSD", "log-block SSD")

    def opened(self) -> SimulatedTarget:
        """The drive as it was delivered."""
        drive = self._hidden.drive
        return SimulatedTarget(drive.id, drive, {}, self._seed)

    @cached_property
    def truths(self) -> dict[str, float]:
        """The truths that the drive states of itself, by finding."""
        return true_of(self._hidden)

    def steady(self) -> SimulatedTarget | None:
        """As theory has it."""
        target = self.opened()
        try:
            target.enter_steady_state()
        except UserError:
            return None
        return target


class ForeignDrive(KnownDrive):
    """A foreign drive, of the compiled specimens in a folder. No theory knows its steady state."""

    def __init__(self, foreign: Foreign, programs: str, suite: Suite, folder: Path) -> None:
        super().__init__(foreign.seed, suite, folder)
        self._locator = foreign.locator(programs)
        with self.opened() as target:
            assert isinstance(target, ForeignTarget)
            self._truths = true_of_program(target.locator, target.truths)
        self._truths["host_overhead"] = foreign.controller_s
        self.kind = foreign.specimen
        told = KINDS_TOLD[round(self.truths["explanation"]) - 1]
        self.is_disk = told == "disk"
        self.maps_pages = told == "page-mapped"
        self.rewrites_blocks = told == "log-block"

    @property
    def truths(self) -> dict[str, float]:
        """The truths that the drive states of itself, by finding."""
        return self._truths

    def opened(self) -> Target:
        """The drive as it was delivered."""
        return open_target(self._locator, seed=self._seed)


def _reading(block_bytes: int, depth: int) -> Stream:
    return Stream.read("random", block_bytes, queue_depth_per_worker=depth)


def _hammering() -> Stream:
    return Stream.write("random", _SMALL_BYTES, queue_depth_per_worker=32)


def _rate(target: Target, stream: Stream, seconds: float, seed: int = 8) -> float:
    recording = target.run(Workload([stream], duration_s=seconds, ios=_IOS_MAX, seed=seed))
    [operation] = recording.operations.values()
    return operation.ios / recording.elapsed_s
