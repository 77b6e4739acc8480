"""What a test is made of: phases of preparation and measurements, and what they need to know."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from fourcorners.errors import UserError
from fourcorners.suites.profile import Profile
from fourcorners.targets import Target
from fourcorners.units import format_bytes
from fourcorners.workload import Stream, Workload

FILL_BLOCK_BYTES = 128 * 1024
# Enough outstanding I/Os that no drive waits for the host between two of them.
FILL_QUEUE_DEPTH = 4
# For estimates only: what a drive of the reviews' time writes in sequence.
FILL_BYTES_PER_SECOND = 200e6
# Long enough that a drive's write cache is empty before something else is measured.
SETTLE_S = 5.0


def filled_bytes(capacity_bytes: int, filled_share: float) -> int:
    """Bytes of a share of a target, in whole 4 KiB where they are not all of it.

    Raises :class:`UserError` when that is not above 0 and up to all of it.
    """
    if filled_share == 1.0:
        return capacity_bytes
    count = int(filled_share * capacity_bytes) // 4096 * 4096 if filled_share < 1.0 else 0
    if count <= 0:
        raise UserError(f"--filled {filled_share:g}: use more than 0, and at most 1")
    return count


@dataclass(frozen=True)
class Subject:
    """What a plan needs to know of a target; see :class:`fourcorners.targets.Target`."""

    kind: Literal["simulated", "file", "device"]
    capacity_bytes: int
    writable: bool = True
    keeps_state: bool = True
    needs_fill: bool = False
    request_alignment_bytes: int = 512
    state: str | None = None
    filled_share: float = 1.0

    @classmethod
    def of(cls, target: Target, filled_share: float = 1.0) -> "Subject":
        """The facts of an open target, of which the first ``filled_share`` is to be used."""
        return cls(
            kind=target.kind,
            capacity_bytes=target.capacity_bytes,
            writable=target.read_only_reason is None,
            keeps_state=target.keeps_state,
            needs_fill=target.needs_fill,
            request_alignment_bytes=target.request_alignment_bytes,
            state=target.state,
            filled_share=filled_share,
        )

    @property
    def fills(self) -> bool:
        """Whether filling changes anything: not on a disk whose every part was written once."""
        return self.writable and (self.keeps_state or self.needs_fill)

    @property
    def filled_bytes(self) -> int:
        """What is filled and written, from the start of the target; the rest stays empty."""
        return filled_bytes(self.capacity_bytes, self.filled_share)

    def area_bytes(self, profile: Profile) -> int:
        """The part of the target that a profile tests, from its start."""
        area = self.filled_bytes
        if profile.filled_bytes_max is None or self.kind == "simulated" or not self.fills:
            return area
        return self.rounded(min(profile.filled_bytes_max, area))

    def span_bytes(self, wanted_bytes: int, profile: Profile) -> int:
        """A span of ``wanted_bytes``, or as much of it as the tested part has."""
        return self.rounded(min(wanted_bytes, self.area_bytes(profile)))

    def extent(self, count: int) -> str:
        """The first ``count`` bytes of the target, in words."""
        if count >= self.rounded(self.capacity_bytes):
            return "the whole drive"
        return f"the first {format_bytes(count)}"

    def rounded(self, count: int) -> int:
        """``count`` rounded down to what requests must be multiples of."""
        return count - count % self.request_alignment_bytes


@dataclass(frozen=True)
class Purge:
    """Secure erase, or what the target has in its place."""

    seconds = 1.0

    def describe(self, subject: Subject) -> str:
        """One phrase, as a manifest's ``preparation`` has it."""
        if subject.kind == "simulated":
            return "secure erase"
        if subject.kind == "device":
            return "purge of the drive"
        return "all blocks given back to the file system and allocated anew"


@dataclass(frozen=True)
class Fill:
    """Sequential write of the first ``count`` bytes, incompressible."""

    count: int

    @property
    def seconds(self) -> float:
        """Estimate."""
        return self.count / FILL_BYTES_PER_SECOND

    def describe(self, subject: Subject) -> str:
        """One phrase, as a manifest's ``preparation`` has it."""
        return f"sequential fill of {subject.extent(self.count)}, {format_bytes(FILL_BLOCK_BYTES)}"

    def workloads(self, seed: int) -> list[Workload]:
        """The fill: whole blocks, then what they leave over at the end."""
        blocks, rest = divmod(self.count, FILL_BLOCK_BYTES)
        span = blocks * FILL_BLOCK_BYTES
        whole = Stream.write(
            "sequential", FILL_BLOCK_BYTES, span_bytes=span, queue_depth=FILL_QUEUE_DEPTH
        )
        tail = Stream.write("sequential", rest or 512, offset_bytes=span, span_bytes=rest)
        parts = [Workload([whole], ios=blocks, seed=seed)] if blocks else []
        return [*parts, Workload([tail], ios=1, seed=seed)] if rest else parts


@dataclass(frozen=True)
class Settle:
    """A pause, so that what is still in the drive's write cache does not disturb."""

    seconds = SETTLE_S

    def describe(self, subject: Subject) -> str:
        """One phrase, as a manifest's ``preparation`` has it."""
        return f"pause of {SETTLE_S:g} s"


@dataclass(frozen=True)
class Restore:
    """Back to the saved state that the target was opened from."""

    state: str
    seconds = 1.0

    def describe(self, subject: Subject) -> str:
        """One phrase, as a manifest's ``preparation`` has it."""
        return f"the state saved in {self.state}"


Step = Purge | Fill | Settle | Restore


@dataclass(frozen=True)
class Measurement:
    """One workload and where its recording belongs; ``point`` is what a plot needs."""

    id: str
    label: str
    workload: Workload

    @property
    def stream(self) -> Stream:
        """The only stream: no test of the reviews mixes streams."""
        [stream] = self.workload.streams
        return stream

    @property
    def point(self) -> dict[str, Any]:
        """What a plot needs, as a manifest has it."""
        stream = self.stream
        return {
            "operation": stream.operation,
            "pattern": stream.pattern,
            "block_bytes": stream.block_bytes,
            "queue_depth": stream.queue_depth,
            "content": stream.content,
        }

    @property
    def seconds(self) -> float:
        """Estimate: every workload of the suite ends by time."""
        return (self.workload.seconds or 0.0) + self.workload.ramp_s


@dataclass(frozen=True)
class Phase:
    """Preparation, and what is measured in the state that it leaves."""

    preparation: tuple[Step, ...]
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True)
class Test:
    """A test as a review defines it. ``skip_reason`` says why none of it can run."""

    name: str
    title: str
    source: str
    purpose: str
    parameters: dict[str, str]
    phases: tuple[Phase, ...]
    skip_reason: str | None = None

    @property
    def seconds(self) -> float:
        """Estimated time on the target's clock."""
        return sum(
            part.seconds
            for phase in self.phases
            for part in (*phase.preparation, *phase.measurements)
        )

    def fitted_to(self, subject: Subject) -> "Test":
        """The test without what the subject does not permit or need.

        On a read-only target measurements that write, and preparation, fall away; a test left
        with nothing is skipped. Fills and purges fall away where they change nothing. A subject
        with a saved state goes back to it instead, before every phase.
        """
        if self.skip_reason is not None:
            return self
        phases = []
        for phase in self.phases:
            measurements = tuple(
                m for m in phase.measurements if subject.writable or m.stream.operation == "read"
            )
            steps: tuple[Step, ...] = phase.preparation
            if subject.state is not None or not subject.fills:
                steps = tuple(step for step in steps if isinstance(step, Settle))
            if subject.state is not None:
                steps = (Restore(subject.state), *steps)
            if measurements:
                phases.append(Phase(steps, measurements))
        if not phases:
            return replace(
                self, phases=(), skip_reason="it writes, and the target is opened for reading only"
            )
        parameters = dict(self.parameters)
        if sum(len(p.measurements) for p in phases) < sum(len(p.measurements) for p in self.phases):
            parameters["left out"] = "writes: the target is opened for reading only"
        return replace(self, phases=tuple(phases), parameters=parameters)
