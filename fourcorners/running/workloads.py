"""Runs the workloads of a run: shows how far each is, and stops when somebody asks for it."""

import errno
import os
import time
from collections.abc import Mapping
from types import MappingProxyType

from fourcorners import wording
from fourcorners.documents import changed
from fourcorners.errors import TargetLostError, UserError
from fourcorners.machine.conditions import Conditions
from fourcorners.machine.observer import Observer
from fourcorners.recording import Recording
from fourcorners.running.departures import Departures
from fourcorners.running.interrupt import InterruptRequest
from fourcorners.running.progress import Pace, Progress, Status, TimeEstimate
from fourcorners.running.write_history import WriteHistory
from fourcorners.store import RunWriter
from fourcorners.suites.test import Measurement
from fourcorners.target.target import Target
from fourcorners.workload import Workload

SIGN_INTERVAL_S = 1.0
"""Between two signs of life in the run folder; what waits for one may take a run for dead after
some of them."""


class StopRequestedError(Exception):
    """Ctrl-C or its like was seen between two workloads or during preparation."""


class Workloads:
    """Runs workloads on a run's target. ``test_title`` names the test that they belong to, and
    ``history`` what was written so far."""

    def __init__(
        self,
        target: Target,
        writer: RunWriter,
        progress: Progress,
        estimate: TimeEstimate,
        history: WriteHistory,
        observer: Observer | None,
    ) -> None:
        """Runs nothing yet."""
        self._target = target
        self._writer = writer
        self._progress = progress
        self._estimate = estimate
        self._observer = observer
        self.history = history
        self.interrupt = InterruptRequest()
        self.test_title = ""
        self._signed_at = 0.0

    def run(
        self,
        workload: Workload,
        activity: str,
        planned_s: float,
        cost_s: float,
        *,
        total_bytes: int | None = None,
        observer: Observer | None = None,
        departures: Departures | None = None,
    ) -> Recording:
        """Runs one workload, as preparation or to be measured.

        Args:
            workload: what is issued.
            activity: what it is, as a phrase for people.
            planned_s: how long it takes on the target's clock.
            cost_s: how long it was expected to take by the clock of this machine.
            total_bytes: after how many bytes it ends, where it ends by these.
            observer: looks at the machine meanwhile.
            departures: says that a level was left.

        Raises what :meth:`Target.run` raises.
        """
        pace = Pace()

        def watch(elapsed_s: float, ios: int, count: int, latency_sum_s: float) -> bool:
            if observer is not None:
                observer.tick()
            share = count / total_bytes if total_bytes else elapsed_s / max(planned_s, 1e-9)
            rate = count / elapsed_s if elapsed_s > 0 else 0.0
            current = pace.look(elapsed_s, ios, count, latency_sum_s)
            self.show(activity, min(share, 1.0) * cost_s, rate, current)
            for text in departures.look(elapsed_s, ios, count) if departures is not None else ():
                self._progress.message(f"{self.test_title}, {activity}: {text}")
            return not self.interrupt.requested

        self.show(activity, 0.0, 0.0)
        recording = self._target.run(workload, watch)
        self.history.ran(recording)
        return recording

    def observe(self, measurement: Measurement, cost_s: float) -> tuple[Recording, Conditions]:
        """Measures, and what the machine did meanwhile. After a failure or Ctrl-C nothing more is
        asked of the target: it may hang."""
        past, observer = self.history, self._observer
        written, purged = past.written_bytes, past.is_purged
        departures = None
        if self._target.kind != "simulated":
            # A simulated drive's clock runs too far between two looks to tell its seconds apart.
            departures = Departures.of(
                measurement,
                capacity_bytes=self._target.capacity_bytes,
                purged=purged,
                written_bytes=written,
            )
        if observer is not None:
            observer.begin()
        recording = self.run(
            measurement.workload,
            measurement.label,
            measurement.duration_s,
            cost_s,
            observer=observer,
            departures=departures,
        )
        conditions = Conditions()
        if observer is not None and not recording.interrupted:
            conditions = observer.end(measurement.workload, self._target.capacity_bytes)
        return recording, changed(conditions, written_before_bytes=written, purged=purged)

    def show(
        self,
        activity: str,
        current_s: float,
        bytes_per_second: float,
        current: Mapping[str, float | None] = MappingProxyType({}),
    ) -> None:
        """Shows where the run stands, ``current_s`` expected seconds into this part of it."""
        now = time.monotonic()
        if now - self._signed_at >= SIGN_INTERVAL_S:
            self._signed_at = now
            self._writer.sign()
        self._progress.update(
            Status(
                target=self._target.name,
                test=self.test_title,
                activity=activity,
                fraction=self._estimate.fraction(current_s),
                elapsed_s=self._estimate.elapsed_s,
                remaining_s=self._estimate.remaining_s(current_s),
                bytes_per_second=bytes_per_second,
                **current,
            )
        )

    def stop_if_requested(self) -> None:
        """Raises :class:`StopRequestedError` where somebody asked for the end."""
        if self.interrupt.requested:
            raise StopRequestedError


def check(activity: str, recording: Recording) -> None:
    """Raises :class:`UserError` where a workload failed as a whole, and :class:`TargetLostError`
    where the target no longer answers."""
    if recording.failure is None:
        return
    failure = f"{activity}: {recording.failure}"
    if recording.error_count:
        failure += f"; {_errors(recording)}"
    raise TargetLostError(failure) if recording.target_lost else UserError(failure)


def _errors(recording: Recording) -> str:
    """Failed I/Os by what the system called them."""
    counts: dict[int, int] = {}
    for operation in recording.operations.values():
        for number, count in operation.errors.items():
            counts[number] = counts.get(number, 0) + count
    kinds = ", ".join(
        f"{count} × {os.strerror(number)} ({errno.errorcode.get(number, number)})"
        for number, count in sorted(counts.items())
    )
    return f"{wording.count(recording.error_count, 'I/O')} failed: {kinds}"
