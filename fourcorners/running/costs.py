"""What the parts of a plan cost in time by the clock on the wall.

A real target's clock is that clock. What a simulated drive's seconds take depends on how many I/Os
and bytes it serves in them: each workload of the plan is tried for some thousand I/Os on another
drive of the same make, which says its rates, and each I/O and byte taken at what it costs on the
machine of docs/performance.md. Writes all over a full drive are tried on a smaller one that is in
the steady state of such writes. What a trial does not see is what a drive becomes in the course of
other tests, as an SLC cache that fills up; for that, and for another machine,
:class:`fourcorners.running.progress.TimeEstimate` corrects by what has passed.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fourcorners.errors import UserError
from fourcorners.suites.steps import (
    FILL_BLOCK_BYTES,
    Fill,
    Purge,
    Restore,
    SteadyWrites,
    Step,
    Trim,
)
from fourcorners.suites.suite import SuitePlan
from fourcorners.suites.test import Adaptive, Measurement, Phase, Test
from fourcorners.target.simulated import SimulatedTarget
from fourcorners.target.target import Target
from fourcorners.units import parse_share
from fourcorners.workload import Stream, Workload

# Of `benches/speed.rs tests`, in round numbers, and of its table of models: an I/O of an SSD, each
# byte beside it, and an I/O of a disk, which reorders what is outstanding.
_SSD_IO_S, _SSD_BYTE_S, _DISK_IO_S = 0.11e-6, 0.015e-6 / 4096, 1e-6
# Of a saved state that is loaded: 2.7 s for 231 MB (docs/cli.md, prepare).
_STATE_BYTE_S = 0.012e-6
# Of a trial: a fifth of a millisecond of an SSD, and more than a write buffer takes at once.
_TRIAL_IOS = 2_000
_TRIAL_BYTES = 128 * 2**20
# Of a drive in steady state: it collects in turns that are longer.
_STEADY_IOS = 20_000
# Blocks of a plane of a drive that is made smaller: its spare area is cut in blocks, too.
_STEADY_BLOCKS_MIN = 128
# What collection keeps free: by these parameters, and blocks that are being filled or emptied.
_KEPT_FREE, _KEPT_BESIDES = ("start_free", "burst"), 4
# From which share of a drive on its writes leave it no spare area but its own.
_FULL_SHARE = 0.9
# What trials read and write; enough places for all dies, few enough to be filled in an instant.
_TRIED_BYTES = 2**30


@dataclass(frozen=True)
class _Trial:
    """What a workload did in some time on the target's clock."""

    elapsed_s: float
    ios: int
    bytes: int
    programmed_bytes: float

    def share_of(self, seconds: float | None, ios: int | None, count: int | None) -> float:
        """How many times as much is done until the first of these bounds."""
        bounds = ((seconds, self.elapsed_s), (ios, self.ios), (count, self.bytes))
        shares = [bound / done for bound, done in bounds if bound is not None and done > 0]
        return min(shares, default=0.0)


class Costs:
    """Wall-clock seconds of steps, measurements, phases and tests, in estimate."""

    def __init__(self, target: Target, *, tries: bool = True) -> None:
        """Tries nothing yet, and nothing at all where nobody is told: unless it ``tries``, what a
        simulated drive does costs nothing."""
        self._target = target
        self._tries = tries
        self._trials: dict[str, _Trial] = {}
        # Workloads of a full drive, as JSON.
        self._of_full: set[str] = set()

    def of_plan(self, plan: SuitePlan) -> float:
        """All of it."""
        costs_s = sum(self.of_test(test) for test in plan.tests)
        # The memory of what was tried is the run's from here on.
        self.__dict__.pop("_fresh", None)
        self.__dict__.pop("_steady", None)
        return costs_s

    def of_test(self, test: Test) -> float:
        """As long as it can take, where that depends on the drive."""
        if isinstance(self._target, SimulatedTarget):
            self._of_full |= _of_full(test, self._target.capacity_bytes)
        return sum(self._of_phase(phase) for phase in test.phases)

    def of_step(self, step: Step) -> float:
        """A step of preparation."""
        if not isinstance(self._target, SimulatedTarget):
            return step.duration_s
        match step:
            case Fill():
                workloads = step.workloads(seed=1)
            case SteadyWrites():
                workloads = [Workload([step.stream], volume_bytes=step.written_bytes)]
            case Restore():
                return _STATE_BYTE_S * _size_bytes(step.state)
            case _:
                # No command is served, so there is next to nothing to compute.
                return 0.0
        needed = self._target.keeps_state or self._target.needs_fill
        return sum(map(self._of_workload, workloads)) if needed else 0.0

    def of_measurement(self, measurement: Measurement) -> float:
        """A measurement, with its ramp."""
        if not isinstance(self._target, SimulatedTarget):
            return measurement.duration_s
        return self._of_workload(measurement.workload)

    def of_measuring(self, phase: Adaptive) -> float:
        """The measurements of a phase that ends when it has enough: of as many as it may have."""
        first = sum(map(self.of_measurement, phase.first))
        if phase.later is not None:
            return first + phase.later_count * self.of_measurement(phase.later)
        return phase.batches_max * first

    def _of_phase(self, phase: Phase | Adaptive) -> float:
        prepared = sum(map(self.of_step, phase.preparation))
        if isinstance(phase, Adaptive):
            return prepared + self.of_measuring(phase)
        return prepared + sum(map(self.of_measurement, phase.measurements))

    def _of_workload(self, workload: Workload) -> float:
        if not self._tries:
            return 0.0
        seconds = None if workload.duration_s is None else workload.ramp_s + workload.duration_s
        trial = self._trial(workload)
        if self._target.keeps_state:
            # What is moved in flash is handled unit by unit as well.
            handled_bytes = max(trial.bytes, trial.programmed_bytes)
            tried_s = trial.ios * _SSD_IO_S + handled_bytes * _SSD_BYTE_S
        else:
            tried_s = trial.ios * _DISK_IO_S
        return tried_s * trial.share_of(seconds, workload.ios, workload.volume_bytes)

    def _trial(self, workload: Workload) -> _Trial:
        if workload.to_json() in self._of_full and self._steady is not None:
            return self._once(self._steady, _on_all(workload))
        return self._once(self._fresh, _shortened(workload, self._fresh.capacity_bytes))

    def _once(self, target: SimulatedTarget, tried: Workload) -> _Trial:
        key = f"{target.capacity_bytes} {tried.to_json()}"
        if key not in self._trials:
            self._trials[key] = _run(target, tried)
        return self._trials[key]

    @cached_property
    def _fresh(self) -> SimulatedTarget:
        assert isinstance(self._target, SimulatedTarget)
        target = self._target.twin()
        # Reads of what was never written cost nothing like those of what was.
        count = min(_TRIED_BYTES, target.capacity_bytes) // FILL_BLOCK_BYTES * FILL_BLOCK_BYTES
        for workload in Fill(count).workloads(seed=1):
            _run(target, workload)
        return target

    @cached_property
    def _steady(self) -> SimulatedTarget | None:
        """A smaller drive of the same make in the steady state of random writes; ``None`` where
        there is none that can be entered at once."""
        assert isinstance(self._target, SimulatedTarget)
        document = tomllib.loads(self._target.drive_text)
        blocks = _value(document, "flash", "blocks_per_plane")
        smaller = blocks // max(blocks // _STEADY_BLOCKS_MIN, 1)
        # What collection keeps free is a number of blocks, however many there are.
        collection = [_value(document, "garbage_collection", f"{n}_blocks") for n in _KEPT_FREE]
        kept = sum(collection) + _KEPT_BESIDES
        share = max(smaller - kept, 0) / max(blocks - kept, 1)
        capacity_bytes = int(share * self._target.capacity_bytes) // FILL_BLOCK_BYTES
        settings = {
            "flash.blocks_per_plane": str(smaller),
            "capacity.user": f"{capacity_bytes * FILL_BLOCK_BYTES} B",
        }
        if share and (spare := document.get("translation", {}).get("spare_area")):
            # Of the smaller flash as much is in use as of the whole one.
            value = spare["value"]
            beyond = parse_share(value) if isinstance(value, str) else float(value)
            settings["translation.spare_area"] = repr((1 + beyond) * smaller / blocks / share - 1)
        try:
            target = self._target.twin(settings)
            target.enter_steady_state()
        except UserError:
            return None
        return target


def _run(target: SimulatedTarget, workload: Workload) -> _Trial:
    try:
        recording = target.run(workload)
    except UserError:
        # The run itself will say what is wrong with it.
        return _Trial(0.0, 0, 0, 0.0)
    done = recording.operations.values()
    return _Trial(
        recording.elapsed_s,
        sum(operation.ios for operation in done),
        sum(operation.bytes for operation in done),
        recording.flash_programmed_bytes or 0.0,
    )


def _size_bytes(path: str) -> int:
    """Of a file; 0 of one that is not there, as the run itself will say."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def _value(document: Mapping[str, Any], section: str, name: str) -> int:
    """A number of a drive file; 0 where it has none."""
    return int(document.get(section, {}).get(name, {}).get("value", 0))


def _of_full(test: Test, capacity_bytes: int) -> set[str]:
    """The workloads of a test that write at random all over a drive that is full, as JSON."""
    found, full = set(), False
    for phase in test.phases:
        for step in phase.preparation:
            if isinstance(step, Purge | Trim):
                full = False
            elif isinstance(step, Fill | SteadyWrites):
                full = full or step.count >= _FULL_SHARE * capacity_bytes
        for measurement in phase.measurements if full else ():
            streams = measurement.workload.streams
            if any(_writes_all_over(stream, capacity_bytes) for stream in streams):
                found.add(measurement.workload.to_json())
    return found


def _writes_all_over(stream: Stream, capacity_bytes: int) -> bool:
    span_bytes = stream.span_bytes or capacity_bytes
    random = stream.pattern != "sequential"
    return stream.read_share < 1 and random and span_bytes >= _FULL_SHARE * capacity_bytes


def _on_all(workload: Workload) -> Workload:
    """Some I/Os of the same kind, all over a drive."""
    streams = [
        replace(stream, offset_bytes=0, span_bytes=None, start_s=0.0, end_s=None)
        for stream in workload.streams
    ]
    return Workload(streams, duration_s=workload.duration_s, ios=_STEADY_IOS)


def _shortened(workload: Workload, capacity_bytes: int) -> Workload:
    """Some I/Os of the same kind, in the part that trials use; equal for measurements that differ
    in nothing else."""
    streams: Sequence[Stream] = [_moved(stream, capacity_bytes) for stream in workload.streams]
    block_bytes = max(stream.block_bytes for stream in streams)
    outstanding = sum(stream.queue_depth_per_worker * stream.workers for stream in streams)
    ios = max(min(_TRIAL_IOS, _TRIAL_BYTES // block_bytes), min(outstanding, 8), 1)
    return Workload(streams, duration_s=workload.duration_s, ios=ios)


def _moved(stream: Stream, capacity_bytes: int) -> Stream:
    span = min(stream.span_bytes or capacity_bytes, max(_TRIED_BYTES, 2 * stream.block_bytes))
    span = min(span, capacity_bytes) // 4096 * 4096
    # At once, and in one piece: a trial is about how long I/Os take to compute.
    plain = replace(stream, start_s=0.0, end_s=None, think_s=0.0, strided_zones=None)
    return replace(plain, offset_bytes=0, span_bytes=span)
