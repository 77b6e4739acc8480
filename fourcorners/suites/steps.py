"""How a drive is prepared: the steps before measurements."""

from dataclasses import dataclass

from fourcorners import wording
from fourcorners.patterns import INCOMPRESSIBLE
from fourcorners.suites.subject import Subject
from fourcorners.workload import Stream, Workload

# SNIA's block for preconditioning.
FILL_BLOCK_BYTES = 128 * 1024
# Enough outstanding I/Os that no drive waits for the host between two of them.
FILL_QUEUE_DEPTH = 4
# For estimates only: what a drive of the reviews' time writes in sequence.
WRITTEN_BYTES_PER_SECOND = 200e6
# As much in requests of 4 KiB; smaller ones move less.
WRITES_PER_SECOND = 50e3
# Long enough that a drive's write cache is empty before something else is measured.
SETTLE_S = 5.0


@dataclass(frozen=True)
class Purge:
    """Secure erase, or the target's substitute for it."""

    duration_s = 1.0
    written_bytes = 0

    def describe(self, subject: Subject) -> str:
        """One phrase, as a manifest's ``preparation`` has it."""
        if subject.kind == "simulated":
            return "secure erase"
        if subject.kind == "device":
            return "purge of the drive"
        return "all blocks given back to the file system and allocated anew"


@dataclass(frozen=True)
class Fill:
    """Sequential write of the first ``count`` bytes, ``times`` times over."""

    count: int
    content: str = INCOMPRESSIBLE
    times: float = 1.0
    block_bytes: int = FILL_BLOCK_BYTES

    @property
    def duration_s(self) -> float:
        """Estimate."""
        return self.written_bytes / WRITTEN_BYTES_PER_SECOND

    @property
    def written_bytes(self) -> int:
        """The bytes that it writes."""
        return round(self.count * self.times)

    def describe(self, subject: Subject) -> str:
        """One phrase, as a manifest's ``preparation`` has it."""
        text = f"sequential fill of {subject.extent(self.count)}"
        text += f", {wording.chosen_size(self.block_bytes)}"
        if self.content != INCOMPRESSIBLE:
            text += f", {self.content} data"
        return text if self.times == 1 else f"{text}, {self.times:.3g} times over"

    def workloads(self, seed: int) -> list[Workload]:
        """The fill: whole blocks, then what they leave over at the end; once for each time."""
        blocks, rest = divmod(self.count, self.block_bytes)
        span = blocks * self.block_bytes
        whole = Stream.write(
            "sequential",
            self.block_bytes,
            span_bytes=span,
            queue_depth_per_worker=FILL_QUEUE_DEPTH,
            content=self.content,
        )
        tail = Stream.write(
            "sequential", rest or 512, offset_bytes=span, span_bytes=rest, content=self.content
        )
        ios = round(blocks * self.times)
        parts = [Workload([whole], ios=ios, seed=seed)] if blocks else []
        return [*parts, Workload([tail], ios=1, seed=seed)] if rest else parts


@dataclass(frozen=True)
class Rest:
    """Time without I/O."""

    duration_s: float
    written_bytes = 0

    def describe(self, subject: Subject) -> str:
        """One phrase, as a manifest's ``preparation`` has it."""
        length = (
            f"{self.duration_s:g} s" if self.duration_s < 60 else wording.clock(self.duration_s)
        )
        return f"pause of {length}"


def settle() -> Rest:
    """A pause, so that what is still in the drive's write cache does not disturb."""
    return Rest(SETTLE_S)


@dataclass(frozen=True)
class Trim:
    """TRIM of the whole drive, none of whose data are needed any longer."""

    duration_s = 1.0
    written_bytes = 0

    def describe(self, subject: Subject) -> str:
        """One phrase, as a manifest's ``preparation`` has it."""
        return "TRIM of the whole drive"

    def ranges(self, capacity_bytes: int) -> list[tuple[int, int]]:
        """Offset and length of what is trimmed, in bytes."""
        return [(0, capacity_bytes)]


@dataclass(frozen=True)
class TrimParts:
    """TRIM of ``part_bytes`` in every ``distance_bytes`` from ``offset`` on, ``parts`` times."""

    offset: int
    part_bytes: int
    distance_bytes: int
    parts: int

    duration_s = 0.1
    written_bytes = 0

    def describe(self, subject: Subject) -> str:
        """One phrase, as a manifest's ``preparation`` has it."""
        return (
            f"TRIM of {self.parts} times {wording.chosen_size(self.part_bytes)}, every "
            f"{wording.chosen_size(self.distance_bytes)}"
        )

    def ranges(self, capacity_bytes: int) -> list[tuple[int, int]]:
        """Offset and length of what is trimmed, in bytes."""
        return [
            (self.offset + number * self.distance_bytes, self.part_bytes)
            for number in range(self.parts)
        ]


@dataclass(frozen=True)
class Restore:
    """Back to the saved state that the target was opened from."""

    state: str
    duration_s = 1.0
    written_bytes = 0

    def describe(self, subject: Subject) -> str:
        """One phrase, as a manifest's ``preparation`` has it."""
        return f"the state saved in {self.state}"


@dataclass(frozen=True)
class SteadyWrites:
    """4 KiB random writes to the first ``count`` bytes, after a fill, until the judge says that the
    drive is in its steady state; see :mod:`fourcorners.running.precondition`."""

    count: int

    @property
    def duration_s(self) -> float:
        """Estimate."""
        return self.written_bytes / WRITTEN_BYTES_PER_SECOND

    @property
    def written_bytes(self) -> int:
        """Estimate: what page-mapped drives need once they are full."""
        return self.count

    @property
    def stream(self) -> Stream:
        """What is written."""
        return Stream.write("random", 4096, span_bytes=self.count, queue_depth_per_worker=32)

    def describe(self, subject: Subject) -> str:
        """One phrase, as a manifest's ``preparation`` has it."""
        return f"4 KiB random writes to {subject.extent(self.count)} until steady"


Step = Purge | Fill | SteadyWrites | Rest | Trim | TrimParts | Restore
