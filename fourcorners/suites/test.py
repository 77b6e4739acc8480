"""The parts of a test: phases of preparation and measurements, and charts of the results."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fourcorners.manifest import Chart
from fourcorners.patterns import CLOSED_LOOP
from fourcorners.recording import Recording
from fourcorners.replayed import TraceDocument
from fourcorners.suites.steps import (
    WRITES_PER_SECOND,
    WRITTEN_BYTES_PER_SECOND,
    Rest,
    Restore,
    Step,
    Trim,
    TrimParts,
)
from fourcorners.suites.subject import Subject
from fourcorners.workload import Stream, Workload


@dataclass(frozen=True)
class Measurement:
    """One workload and where its recording belongs.

    ``axes`` has what a plot needs in addition to the streams' own fields, such as a round's number.
    """

    id: str
    label: str
    workload: Workload
    axes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stream(self) -> Stream:
        """The only stream, as the reviews' workloads have."""
        [stream] = self.workload.streams
        return stream

    @property
    def writes(self) -> bool:
        """Whether anything is written."""
        return any(
            stream.read_share < 1 if stream.trace is None else stream.trace.writes
            for stream in self.workload.streams
        )

    @property
    def point(self) -> dict[str, Any]:
        """What a plot needs, as a manifest has it: what all streams agree on."""
        streams = self.workload.streams
        if any(stream.trace is not None for stream in streams):
            return {"operation": "mixed", "pattern": "recorded", **self.axes}
        point: dict[str, Any] = {
            name: _common(getattr(stream, name) for stream in streams)
            for name in ("operation", "pattern", "block_bytes", "content")
        }
        point["operation"] = point["operation"] or "mixed"
        if any(stream.sizes is not None for stream in streams):
            point["block_bytes"] = None
        depth = _common(stream.queue_depth_per_worker for stream in streams)
        if depth is None or any(stream.arrival != CLOSED_LOOP for stream in streams):
            return {**point, "queue_depth": None, **self.axes}
        # That of all workers, also where a suite sweeps that of one.
        return {**point, **self.axes, "queue_depth": depth * sum(one.workers for one in streams)}

    @property
    def duration_s(self) -> float:
        """Estimated time on the target's clock."""
        workload = self.workload
        traces = [stream.trace for stream in workload.streams if stream.trace is not None]
        if traces:
            return max(map(_replay_duration_s, traces))
        limits = [] if workload.duration_s is None else [workload.duration_s]
        if workload.volume_bytes is not None:
            limits.append(workload.volume_bytes / WRITTEN_BYTES_PER_SECOND)
        own = max(map(_own_duration_s, workload.streams))
        return workload.ramp_s + min(limits, default=own)

    @property
    def written_bytes(self) -> float:
        """What is written at most; where only time bounds it, an estimate: as much as a drive of
        the reviews' time writes."""
        workload = self.workload
        streams = workload.streams
        if any(stream.trace is not None for stream in streams):
            return sum(one.trace.written_bytes for one in streams if one.trace is not None)
        share = sum(1 - stream.read_share for stream in streams) / len(streams)
        bounds = [] if workload.volume_bytes is None else [workload.volume_bytes * share]
        if workload.ios is not None:
            bytes_of_all = sum((1 - one.read_share) * one.block_bytes for one in streams)
            bounds.append(workload.ios * bytes_of_all / len(streams))
        own = [_own_written_bytes(stream) for stream in streams]
        if None not in own:
            bounds.append(sum(one or 0.0 for one in own))
        if not bounds:
            return self._written_per_second * self.duration_s
        return self._written_per_second * workload.ramp_s + min(bounds)

    @property
    def _written_per_second(self) -> float:
        """Streams in closed loop share what the drive writes; others do not wait for them."""
        closed: list[float] = []
        opened: list[float] = []
        for stream in self.workload.streams:
            rate = min(WRITTEN_BYTES_PER_SECOND, WRITES_PER_SECOND * stream.block_bytes)
            kind = closed if stream.arrival == CLOSED_LOOP else opened
            kind.append((1 - stream.read_share) * rate)
        return min(sum(closed) / max(len(closed), 1) + sum(opened), WRITTEN_BYTES_PER_SECOND)


def _replay_duration_s(trace: TraceDocument) -> float:
    """Estimated time of a replay: of one that waits for no times, by what drives serve."""
    return trace.ios / WRITES_PER_SECOND if trace.pace == "depth" else trace.length_s


def _own_duration_s(stream: Stream) -> float:
    """Estimated time to the end of a stream by its own limits; 0 without any."""
    limits = [] if stream.end_s is None else [stream.end_s]
    if stream.bytes_per_worker is not None:
        count = stream.bytes_per_worker * stream.workers
        limits.append(stream.start_s + count / WRITTEN_BYTES_PER_SECOND)
    if stream.ios_per_worker is not None:
        limits.append(stream.start_s + stream.ios_per_worker * stream.workers / WRITES_PER_SECOND)
    return min(limits, default=0.0)


def _own_written_bytes(stream: Stream) -> float | None:
    """What a stream writes at most by its own limits; ``None`` without any."""
    bounds = [] if stream.read_share < 1 else [0.0]
    if stream.bytes_per_worker is not None:
        bounds.append(stream.bytes_per_worker * stream.workers * (1 - stream.read_share))
    if stream.ios_per_worker is not None:
        ios = stream.ios_per_worker * stream.workers * (1 - stream.read_share)
        bounds.append(ios * stream.block_bytes)
    return min(bounds, default=None)


def _common(values: Iterable[Any]) -> Any:
    first, *others = values
    return first if all(value == first for value in others) else None


@dataclass(frozen=True)
class Phase:
    """Preparation, and what is measured in the state that it leaves.

    One that ``continues`` is about what the phase before it left of the drive.
    """

    preparation: tuple[Step, ...]
    measurements: tuple[Measurement, ...]
    continues: bool = False

    @property
    def duration_s(self) -> float:
        """Estimated time on the target's clock."""
        return sum(part.duration_s for part in (*self.preparation, *self.measurements))

    @property
    def written_bytes(self) -> float:
        """Estimate of what is written."""
        return sum(part.written_bytes for part in (*self.preparation, *self.measurements))


class MeasuredSoFar(dict[str, Recording]):
    """The recordings of a phase so far, by the id of the measurement, and the axes of each."""

    def __init__(self) -> None:
        """Begins without recordings."""
        super().__init__()
        self._axes: dict[str, Mapping[str, Any]] = {}

    def add(self, measurement: Measurement, recording: Recording) -> None:
        """Adds the next recording."""
        self[measurement.id] = recording
        self._axes[measurement.id] = measurement.axes

    @property
    def points(self) -> list[tuple[Mapping[str, Any], Recording]]:
        """The axes of each, and its recording, in order."""
        return [(self._axes[id], recording) for id, recording in self.items()]

    def of_stage(self, stage: str) -> list[Recording]:
        """The recordings of a stage, in order."""
        return [recording for axes, recording in self.points if axes.get("stage") == stage]

    def within(self, prefix: str) -> "MeasuredSoFar":
        """The same by ids without the prefix that all of them have."""
        inner = MeasuredSoFar()
        for id, recording in self.items():
            inner[id.removeprefix(prefix)] = recording
            inner._axes[id.removeprefix(prefix)] = self._axes[id]
        return inner


@dataclass(frozen=True)
class Adaptive:
    """A phase whose measurements depend on those before: rounds until a steady state, a search.

    ``following`` gets everything that the phase has measured and gives the next batch; an empty
    one ends the phase, as does the batch ``batches_max``. It must depend on nothing else, so that
    the same recordings always lead to the same measurements.
    """

    preparation: tuple[Step, ...]
    first: tuple[Measurement, ...]
    following: Callable[[MeasuredSoFar], tuple[Measurement, ...]]
    batches_max: int
    what: str
    """What a batch is, in the plural: "rounds"."""
    later: Measurement | None = None
    """What the later batches consist of, for estimates; as the first one by default."""
    later_count: int = 0
    """How many of ``later`` there are in all, at most."""
    from_round: "Callable[[int], Adaptive] | None" = None
    """Of rounds: the phase from a round on, counted from 1, that knows nothing of those before. A
    real drive goes on with it after an interruption."""
    continues: bool = False
    """As of a :class:`Phase`."""

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The measurements that are known from the start."""
        return self.first

    @property
    def measuring_s(self) -> float:
        """The longest that measuring can take, on the target's clock."""
        first = sum(measurement.duration_s for measurement in self.first)
        if self.later is not None:
            return first + self.later_count * self.later.duration_s
        return self.batches_max * first

    @property
    def duration_s(self) -> float:
        """The longest that it can take, on the target's clock."""
        return sum(step.duration_s for step in self.preparation) + self.measuring_s

    @property
    def written_bytes(self) -> float:
        """Estimate of the most that can be written."""
        prepared = sum(step.written_bytes for step in self.preparation)
        first = sum(measurement.written_bytes for measurement in self.first)
        if self.later is not None:
            return prepared + first + self.later_count * self.later.written_bytes
        return prepared + self.batches_max * first


@dataclass(frozen=True)
class Test:
    """A test as a review defines it. ``skip_reason`` says why none of it can run.

    ``definition`` is the program's test that it is, which a suite may have given another name;
    empty of a test of the user's own.
    """

    name: str
    title: str
    source: str
    purpose: str
    parameters: dict[str, str]
    phases: tuple[Phase | Adaptive, ...]
    charts: tuple[Chart, ...] = ()
    skip_reason: str | None = None
    definition: str = ""

    @property
    def duration_s(self) -> float:
        """Estimated time on the target's clock; where it depends on the drive, the longest."""
        return sum(phase.duration_s for phase in self.phases)

    @property
    def written_bytes(self) -> float:
        """Estimate of what is written; where it depends on the drive, the most."""
        return sum(phase.written_bytes for phase in self.phases)

    def fitted_to(self, subject: Subject) -> "Test":
        """The test without what the subject does not permit or need.

        On a read-only target measurements that write, and preparation, fall away; a test left
        with nothing is skipped. Fills and purges fall away where they change nothing. A subject
        with a saved state goes back to it instead, before every phase that does not continue.
        """
        if self.skip_reason is not None:
            return self
        phases: list[Phase | Adaptive] = []
        left_out = []
        for phase in self.phases:
            steps: tuple[Step, ...] = phase.preparation
            if not subject.fills or (subject.state is not None and not phase.continues):
                steps = tuple(step for step in steps if isinstance(step, Rest))
            if subject.state is not None and not phase.continues:
                steps = (Restore(subject.state), *steps)
            kept = tuple(m for m in phase.measurements if subject.writable or not m.writes)
            trims = any(isinstance(step, Trim | TrimParts) for step in steps)
            if subject.no_trim_reason is not None and trims:
                left_out.append(subject.no_trim_reason)
                continue
            if isinstance(phase, Phase) and kept:
                phases.append(replace(phase, preparation=steps, measurements=kept))
            elif isinstance(phase, Adaptive) and len(kept) == len(phase.first):
                phases.append(replace(phase, preparation=steps))
        if not phases:
            return replace(
                self, phases=(), skip_reason="it writes, and the target is opened for reading only"
            )
        if not subject.writable and any(m.writes for p in self.phases for m in p.measurements):
            left_out.append("writes: the target is opened for reading only")
        parameters = dict(self.parameters)
        if left_out:
            known = [parameters["left out"]] if "left out" in parameters else []
            parameters["left out"] = "; ".join(dict.fromkeys([*known, *left_out]))
        return replace(self, phases=tuple(phases), parameters=parameters)
