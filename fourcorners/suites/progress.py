"""What a runner tells while it runs, and its estimate of the time that is left."""

import time
from dataclasses import dataclass

from fourcorners.workload import CLOSED_LOOP, Workload

# Seconds of wall time per second on the target's clock, before anything has been measured.
_FIRST_PACE = {"simulated": 0.004, "file": 1.0, "device": 1.0}
# How many planned seconds that first guess weighs against what was measured.
_FIRST_PACE_WEIGHT_S = 60.0


@dataclass(frozen=True)
class Status:
    """Where a run stands. Times are wall-clock seconds, rates are on the target's clock.

    ``bytes_per_second`` is the mean of the workload so far; what is ``current`` is about the last
    moments, ``None`` before the first ones have passed and where there is no workload.
    """

    target: str
    test: str
    activity: str
    fraction: float
    elapsed_s: float
    remaining_s: float
    bytes_per_second: float
    current_bytes_per_second: float | None = None
    current_iops: float | None = None
    current_latency_s: float | None = None
    """Mean, by Little's law from the outstanding I/Os of a closed loop; else ``None``."""


class Pace:
    """What passes in a workload at the moment: differences between two looks at it."""

    def __init__(self, workload: Workload) -> None:
        """Nothing has passed yet."""
        closed = all(stream.arrival == CLOSED_LOOP for stream in workload.streams)
        self._outstanding = (
            sum(stream.queue_depth * stream.workers for stream in workload.streams)
            if closed
            else None
        )
        self._before: tuple[float, int, int] = (0.0, 0, 0)

    def look(self, elapsed_s: float, ios: int, count: int) -> dict[str, float | None]:
        """The ``current`` fields of a :class:`Status`.

        Takes seconds on the target's clock, I/Os and bytes since the workload began.
        """
        seconds, done, moved = (
            now - before for now, before in zip((elapsed_s, ios, count), self._before, strict=True)
        )
        if seconds <= 0 or done <= 0:
            return {}
        self._before = (elapsed_s, ios, count)
        iops = done / seconds
        return {
            "current_bytes_per_second": moved / seconds,
            "current_iops": iops,
            "current_latency_s": None if self._outstanding is None else self._outstanding / iops,
        }


class Progress:
    """Told what happens; this one keeps it to itself. A command line shows it."""

    def update(self, status: Status) -> None:
        """Called some ten times a second."""

    def message(self, text: str) -> None:
        """Something worth a line of its own: a test that ended, a note."""


class Estimate:
    """How far a plan has come. Simulated time passes at another pace than the wall clock."""

    def __init__(self, planned_s: float, kind: str) -> None:
        """Starts the clock on a plan of ``planned_s`` seconds of the target's time."""
        self._planned_s = planned_s
        self._done_s = 0.0
        self._started = time.monotonic()
        self._first_pace = _FIRST_PACE[kind]

    @property
    def elapsed_s(self) -> float:
        """Wall-clock time since the start."""
        return time.monotonic() - self._started

    def done(self, planned_s: float) -> None:
        """A part that was planned to take ``planned_s`` has ended or fallen away."""
        self._done_s += planned_s

    def fell_away(self, planned_s: float) -> None:
        """A part that was planned to take ``planned_s`` is not carried out."""
        self._planned_s -= planned_s

    def fraction(self, current_s: float) -> float:
        """Share of the plan that is done, ``current_s`` planned seconds of it in this part."""
        if self._planned_s <= 0:
            return 1.0
        return min((self._done_s + current_s) / self._planned_s, 1.0)

    def remaining_s(self, current_s: float) -> float:
        """Wall-clock time to go, at the pace so far."""
        done_s = self._done_s + current_s
        weighed = self.elapsed_s + self._first_pace * _FIRST_PACE_WEIGHT_S
        pace = weighed / (done_s + _FIRST_PACE_WEIGHT_S)
        return max(self._planned_s - done_s, 0.0) * pace
