"""Where a test that is interrupted can go on, other than from its beginning.

Of a simulated drive its state is saved from time to time, with how many of the test's steps and
measurements are behind: going on from there is exactly what would have happened. A real drive has
no state that could be brought back. A test goes on where the drive need not be what it was (a phase
that prepares it anew), where it still is (nothing was written since it was prepared), or where what
comes next tells by itself whether it is (rounds until a steady state).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fourcorners.documents import changed
from fourcorners.manifest import ResumePoint, TestEntry
from fourcorners.recording import Recording
from fourcorners.store import Run
from fourcorners.suites.steps import Fill, Purge, Restore
from fourcorners.suites.test import Adaptive, Phase, Test

STATE_INTERVAL_S = 120.0
"""Between two places that are saved: as much work an interruption costs at most, and the saving."""

STATE_SHARE_MAX = 0.05
"""Part of a test's time that saving states may take."""


@dataclass(frozen=True)
class GoingOn:
    """A test that goes on: its entry in the manifest, cut off at the resume point."""

    entry: TestEntry
    resume_point: ResumePoint
    recordings: Mapping[str, Recording] = field(repr=False)


def going_on(run: Run, test: TestEntry) -> GoingOn | None:
    """How an interrupted test goes on; ``None`` where it has to begin anew."""
    place = test.waypoint
    if test.status != "interrupted" or place is None:
        return None
    if place.state is not None and not (run.path / place.state).is_file():
        return None
    entry = changed(
        test,
        preparation=test.preparation[: place.preparation],
        recordings=test.recordings[: place.recordings],
    )
    # What has been read stays when the folder is claimed and its tables are written anew.
    recordings = [run.recording(one.id).in_memory() for one in entry.recordings]
    return GoingOn(entry, place, {one.id: one for one in recordings})


def begins_anew(phase: Phase | Adaptive) -> bool:
    """Whether what came before the phase does not matter to it: it writes the drive full, or
    erases it."""
    if phase.continues:
        return False
    return any(isinstance(step, Purge | Fill | Restore) for step in phase.preparation)


def longest_stretch_s(test: Test) -> float:
    """Of a real drive: the most of a test's time that an interruption can cost, on the drive's
    clock. Rounds go on with the next one, and so do measurements that follow no write."""
    longest = current = 0.0
    unwritten = False
    for phase in test.phases:
        prepared_s = sum(step.duration_s for step in phase.preparation)
        if begins_anew(phase):
            longest, current, unwritten = max(longest, current), 0.0, True
        current += prepared_s
        if isinstance(phase, Adaptive) and phase.from_round is not None:
            # Up to the first round's end all is lost, then a round at most.
            round_s = sum(measurement.duration_s for measurement in phase.first)
            longest, current, unwritten = max(longest, current + round_s), round_s, False
            continue
        for measurement in phase.measurements:
            unwritten = unwritten and not measurement.writes
            longest = max(longest, current + measurement.duration_s)
            if not unwritten:
                current += measurement.duration_s
    return max(longest, current)
