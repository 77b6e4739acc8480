"""Where a test that is interrupted can go on, other than from its beginning.

Of a simulated drive its state is saved from time to time, with how many of the test's steps and
measurements are behind: going on from there is exactly what would have happened. A real drive has
no state that could be brought back. A test goes on where the drive need not be what it was (a phase
that prepares it anew), where it still is (nothing was written since it was prepared), or where what
comes next tells by itself whether it is (rounds until a steady state).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from fourcorners.recording import Offered, OperationRecording, Recording
from fourcorners.store import Run
from fourcorners.suites.steps import Fill, Purge, Restore
from fourcorners.suites.test import Adaptive, Phase, Test

STATE_INTERVAL_S = 120.0
"""Between two places that are saved: as much work an interruption costs at most, and the saving."""

STATE_SHARE_MAX = 0.05
"""Part of a test's time that saving states may take."""


class DriveThen(StrEnum):
    """What the drive is where a test goes on."""

    SAVED = "saved"
    """Simulated, and back in the state that it was in."""
    ANEW = "anew"
    """Prepared by the phase that comes next."""
    UNWRITTEN = "unwritten"
    """As its preparation left it: it was only read since."""
    ROUNDS = "rounds"
    """As rounds left it: those that are behind do not count towards the steady state."""


@dataclass(frozen=True)
class ResumePoint:
    """A place in a test: what is behind it, as the manifest has it while the test runs."""

    passed: int
    """Steps of preparation and measurements, in the order of the test."""
    preparation: int
    recordings: int
    """Entries of the test's ``preparation`` and ``recordings`` that belong to them."""
    drive: str
    """A :class:`DriveThen`."""
    state: str | None
    """File in the run folder with a simulated drive's state."""
    past: dict[str, Any]
    """See :class:`fourcorners.running.write_history.WriteHistory`."""
    rounds: list[int] = field(default_factory=list)
    """Of each phase of rounds that has begun, those that are behind."""

    def to_dict(self) -> dict[str, Any]:
        """For a manifest."""
        return asdict(self)


@dataclass(frozen=True)
class GoingOn:
    """A test that goes on: its entry in the manifest, cut off at the resume point."""

    entry: dict[str, Any]
    resume_point: ResumePoint
    recordings: Mapping[str, Recording] = field(repr=False)


def going_on(run: Run, test: Mapping[str, Any]) -> GoingOn | None:
    """How an interrupted test goes on; ``None`` where it has to begin anew."""
    if test["status"] != "interrupted" or "waypoint" not in test:
        return None
    resume_point = ResumePoint(**test["waypoint"])
    if resume_point.state is not None and not (run.path / resume_point.state).is_file():
        return None
    entry = {
        **test,
        "preparation": test["preparation"][: resume_point.preparation],
        "recordings": test["recordings"][: resume_point.recordings],
    }
    ids = [recording["id"] for recording in entry["recordings"]]
    return GoingOn(entry, resume_point, {id: _recording(run, id) for id in ids})


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
        prepared_s = sum(step.seconds for step in phase.preparation)
        if begins_anew(phase):
            longest, current, unwritten = max(longest, current), 0.0, True
        current += prepared_s
        if isinstance(phase, Adaptive) and phase.from_round is not None:
            # Up to the first round's end all is lost, then a round at most.
            round_s = sum(measurement.seconds for measurement in phase.first)
            longest, current, unwritten = max(longest, current + round_s), round_s, False
            continue
        for measurement in phase.measurements:
            unwritten = unwritten and not measurement.writes
            longest = max(longest, current + measurement.seconds)
            if not unwritten:
                current += measurement.seconds
    return max(longest, current)


def _recording(run: Run, id: str) -> Recording:
    """A recording as the tables have it, without the stages of latencies and single I/Os, on which
    no measurement depends. Failed I/Os they count together, under errno 0."""
    rows = [row for row in run.recordings if row["recording"] == id]
    operations = {row["operation"]: _operation(run, row) for row in rows}
    first = rows[0]
    offered = None
    if first["offered_iops"] is not None:
        offered = Offered(first["offered_iops"], first["unissued_ios"])
    return Recording(
        elapsed_s=first["elapsed_s"],
        mean_queue_depth=first["mean_queue_depth"],
        cpu_user_s=first["cpu_user_s"],
        cpu_system_s=first["cpu_system_s"],
        generating_s=first["generating_s"],
        interrupted=first["interrupted"],
        failure=None,
        operations=operations,
        offered=offered,
        energy_j=first["energy_j"],
        flash_programmed_bytes=first.get("flash_programmed_bytes"),
    )


def _operation(run: Run, row: Mapping[str, Any]) -> OperationRecording:
    series = run.series(row["recording"], row["operation"])
    low, high, count = run.histogram(row["recording"], row["operation"])
    return OperationRecording(
        ios=row["ios"],
        bytes=row["bytes"],
        errors={0: row["errors"]} if row["errors"] else {},
        elapsed_s=row["elapsed_s"],
        latency_min_s=row["latency_min_s"],
        latency_mean_s=row["latency_mean_s"],
        latency_max_s=row["latency_max_s"],
        bucket_low_ns=low,
        bucket_high_ns=high,
        bucket_count=count,
        second_ios=series["ios"],
        second_bytes=series["bytes"],
        second_latency_mean_s=np.asarray(series["latency_mean_s"], dtype=np.float64),
        second_latency_max_s=np.asarray(series["latency_max_s"], dtype=np.float64),
        latency_over_time=run.latency_over_time(row["recording"], row["operation"]),
    )
