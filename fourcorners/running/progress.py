"""What a runner tells while it runs, and its estimate of the time that is left."""

import time
from dataclasses import dataclass
from typing import Annotated

import msgspec

# How much of the time that a plan was expected to take weighs against what has passed, and how many
# seconds at least: the first parts of a run are not as the rest.
_EXPECTED_WEIGHT, _EXPECTED_WEIGHT_S = 0.05, 2.0


@dataclass(frozen=True)
class PrintedMessage:
    """What is told once, as a sentence."""

    message: str


@dataclass(frozen=True)
class PrintedStatus:
    """Where a run stands. Times are wall-clock seconds, rates are on the target's clock;
    ``bytes_per_second`` is the mean of the workload so far."""

    target: str
    test: str
    activity: str
    fraction: Annotated[float, msgspec.Meta(ge=0, le=1)]
    elapsed_s: float
    remaining_s: float
    bytes_per_second: float


@dataclass(frozen=True)
class Status(PrintedStatus):
    """Where a run stands, and what is ``current``: of the last moments, ``None`` before the first
    ones have passed and where there is no workload."""

    current_bytes_per_second: float | None = None
    current_iops: float | None = None
    current_latency_s: float | None = None
    """Mean of the I/Os that completed since the last look, from when each was due."""


class Pace:
    """What passes in a workload at the moment: differences between two looks at it."""

    def __init__(self) -> None:
        """Nothing has passed yet."""
        self._before: tuple[float, int, int, float] = (0.0, 0, 0, 0.0)

    def look(
        self, elapsed_s: float, ios: int, count: int, latency_sum_s: float
    ) -> dict[str, float | None]:
        """The ``current`` fields of a :class:`Status`.

        Takes seconds on the target's clock, I/Os, bytes and the sum of the I/Os' latencies in
        seconds since the workload began.
        """
        now = (elapsed_s, ios, count, latency_sum_s)
        seconds, done, moved, waited_s = (
            after - before for after, before in zip(now, self._before, strict=True)
        )
        if seconds <= 0 or done <= 0:
            return {}
        self._before = now
        return {
            "current_bytes_per_second": moved / seconds,
            "current_iops": done / seconds,
            "current_latency_s": waited_s / done,
        }


class Progress:
    """Told what happens; this one keeps it to itself. A command line shows it."""

    def update(self, status: Status) -> None:
        """Called some ten times a second."""

    def message(self, text: str) -> None:
        """Something worth a line of its own: a test that ended, a note."""


class TimeEstimate:
    """How far a plan has come, in wall-clock seconds that its parts were expected to take
    (:class:`fourcorners.running.costs.Costs`)."""

    def __init__(self, expected_s: float) -> None:
        """Starts the clock on a plan that is expected to take ``expected_s``."""
        self._expected_s = expected_s
        self._weight_s = max(_EXPECTED_WEIGHT * expected_s, _EXPECTED_WEIGHT_S)
        self._done_s = 0.0
        self._started = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Wall-clock time since the start."""
        return time.monotonic() - self._started

    @property
    def done_s(self) -> float:
        """Expected time of the parts that have ended."""
        return self._done_s

    def done(self, expected_s: float) -> None:
        """A part that was expected to take ``expected_s`` has ended or fallen away."""
        self._done_s += expected_s

    def fell_away(self, expected_s: float) -> None:
        """A part that was expected to take ``expected_s`` is not carried out."""
        self._expected_s -= expected_s

    def fraction(self, current_s: float) -> float:
        """Share of the plan that is done, ``current_s`` expected seconds of it in this part."""
        if self._expected_s <= 0:
            return 1.0
        return min((self._done_s + current_s) / self._expected_s, 1.0)

    def remaining_s(self, current_s: float) -> float:
        """Wall-clock time to go: what was expected of it, at the pace so far."""
        done_s = self._done_s + current_s
        pace = (self.elapsed_s + self._weight_s) / (done_s + self._weight_s)
        return max(self._expected_s - done_s, 0.0) * pace
