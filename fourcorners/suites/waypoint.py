"""Where a test that is interrupted can go on, other than from its beginning.

Of a simulated drive its state is saved from time to time, with how many of the test's steps and
measurements are behind: going on from there is exactly what would have happened. A real drive has
no state that could be brought back, so a test goes on at a phase that prepares the drive anew.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from fourcorners.recording import OperationRecording, Recording
from fourcorners.store import Run
from fourcorners.suites.steps import Fill, Purge, Restore
from fourcorners.suites.test import Adaptive, Phase, Test
from fourcorners.workload import CLOSED_LOOP

STATE_INTERVAL_S = 120.0
"""Between two saved states: as much work an interruption costs at most, and the saving itself."""

STATE_SHARE_MAX = 0.05
"""Part of a test's time that saving states may take."""


@dataclass(frozen=True)
class Waypoint:
    """A place in a test: what is behind it, as the manifest has it while the test runs."""

    passed: int
    """Steps of preparation and measurements, in the order of the test."""
    preparation: int
    recordings: int
    """Entries of the test's ``preparation`` and ``recordings`` that belong to them."""
    state: str | None
    """File in the run folder with the drive's state; ``None`` where it is prepared anew."""
    past: dict[str, Any]
    """See :class:`fourcorners.suites.past.Past`."""

    def to_dict(self) -> dict[str, Any]:
        """For a manifest."""
        return asdict(self)


@dataclass(frozen=True)
class GoingOn:
    """A test that goes on: its entry in the manifest, cut off at the waypoint."""

    entry: dict[str, Any]
    waypoint: Waypoint
    recordings: Mapping[str, Recording] = field(repr=False)


def going_on(run: Run, test: Mapping[str, Any]) -> GoingOn | None:
    """How an interrupted test goes on; ``None`` where it has to begin anew."""
    if test["status"] != "interrupted" or "waypoint" not in test:
        return None
    waypoint = Waypoint(**test["waypoint"])
    if waypoint.state is not None and not (run.path / waypoint.state).is_file():
        return None
    entry = {
        **test,
        "preparation": test["preparation"][: waypoint.preparation],
        "recordings": test["recordings"][: waypoint.recordings],
    }
    ids = [recording["id"] for recording in entry["recordings"]]
    return GoingOn(entry, waypoint, {id: _recording(run, id) for id in ids})


def saves_states(test: Test) -> bool:
    """Whether the test can go on from a saved state: what it does next must follow from what the
    tables keep, which is not all that there is to know of rates that were offered."""
    return all(
        stream.arrival == CLOSED_LOOP
        for phase in test.phases
        for measurement in (*phase.measurements, *_later(phase))
        for stream in measurement.workload.streams
    )


def _later(phase: Phase | Adaptive) -> tuple[Any, ...]:
    return (phase.later,) if isinstance(phase, Adaptive) and phase.later is not None else ()


def begins_anew(phase: Phase | Adaptive) -> bool:
    """Whether what came before the phase does not matter to it: it writes the drive full, or
    erases it."""
    if isinstance(phase, Phase) and phase.continues:
        return False
    return any(isinstance(step, Purge | Fill | Restore) for step in phase.preparation)


def _recording(run: Run, id: str) -> Recording:
    """A recording as the tables have it. They count failed I/Os together, under errno 0."""
    rows = [row for row in run.recordings if row["recording"] == id]
    operations = {row["operation"]: _operation(run, row) for row in rows}
    first = rows[0]
    return Recording(
        elapsed_s=first["elapsed_s"],
        mean_queue_depth=first["mean_queue_depth"],
        cpu_user_s=first["cpu_user_s"],
        cpu_system_s=first["cpu_system_s"],
        generating_s=first["generating_s"],
        interrupted=first["interrupted"],
        failure=None,
        operations=operations,
        energy_j=first["energy_j"],
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
    )
