"""Carries out a suite on a target and keeps a run folder up to date while it does."""

import os
import time
import traceback
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from fourcorners import wording
from fourcorners.analysis import find
from fourcorners.analysis.internals.method import futile
from fourcorners.errors import TargetLostError, UserError, is_panic
from fourcorners.manifest import Manifest, RunStatus, TestEntry
from fourcorners.recording import Recording
from fourcorners.reporting.html import write_html
from fourcorners.running.bookkeeping import Bookkeeping
from fourcorners.running.costs import Costs
from fourcorners.running.interrupt import stopped_by
from fourcorners.running.place import Place
from fourcorners.running.preparation import Preparation
from fourcorners.running.preview import announcement, lost_at_most
from fourcorners.running.progress import Progress, TimeEstimate
from fourcorners.running.resume_point import GoingOn
from fourcorners.running.workloads import StopRequestedError, Workloads, check
from fourcorners.running.write_history import WriteHistory
from fourcorners.store import Run, RunWriter, schema
from fourcorners.store.entry import entry_of
from fourcorners.store.folder import resume_command, timestamp
from fourcorners.suites.steps import Rest, Step
from fourcorners.suites.suite import SuitePlan
from fourcorners.suites.test import Adaptive, MeasuredSoFar, Measurement, Test
from fourcorners.target.target import Target
from fourcorners.writing import OutputError

# From which it is worth saying how a run goes on after an interruption.
_LONG_S = 60.0


class _FutileError(Exception):
    """The rest of a test cannot identify anything; why is its text."""


class Runner:
    """One run: the plan, what is known of it so far, and the folder that holds it.

    Tests that the manifest has as finished are not run again, and one that was interrupted may go
    on in its midst; see :mod:`fourcorners.running.resume`.
    """

    def __init__(
        self,
        target: Target,
        plan: SuitePlan,
        writer: RunWriter,
        manifest: Manifest,
        progress: Progress,
        going_on: Mapping[str, GoingOn] = MappingProxyType({}),
    ) -> None:
        """Runs nothing yet. ``going_on`` has the tests that do not begin anew, by name."""
        self._target = target
        self._plan = plan
        self._writer = writer
        self._progress = progress
        self._costs = Costs(target, tries=type(progress) is not Progress)
        self._estimate = TimeEstimate(self._costs.of_plan(plan))
        self._observer = target.observer()
        history = WriteHistory(target, manifest.past)
        self._workloads = Workloads(
            target, writer, progress, self._estimate, history, self._observer
        )
        self._preparation = Preparation(target, plan, self._costs, self._workloads)
        self._books = Bookkeeping(target, plan, writer, manifest, progress, self._workloads)
        self._lost_reason: str | None = None
        self._manifest = manifest
        self._tests = manifest.tests
        self._going_on = going_on
        self._skip_futile = bool(manifest.request and manifest.request.skip_futile)

    def run(self) -> Run:
        """Runs the tests that are not finished yet."""
        with self._workloads.interrupt:
            try:
                self._carry_out()
            except BaseException:
                self._writer.abandon()
                raise
            return self._writer.finish()

    def _carry_out(self) -> None:
        if self._target.drive_text is not None:
            self._writer.text(schema.DRIVE, self._target.drive_text)
        for name, text in self._target.member_texts.items():
            self._writer.text(schema.MEMBER.format(name), text)
        self._books.checkpoint()
        if self._target.read_only_reason is not None:
            self._books.note(self._target.read_only_reason)
        if self._plan.suite.scale < 1:
            self._books.note(
                f"Shortened: all durations are {self._plan.suite.scale:g} of the tests' own, "
                "so what takes time to show may not have shown"
            )
        if (about_purges := self._preparation.about_purges) is not None:
            self._books.note(about_purges)
        self._read_health("before")
        finished = {test.name for test in self._tests} - self._going_on.keys()
        to_run = [test for test in self._plan.tests if test.name not in finished]
        for test in self._plan.tests:
            if test.name in finished:
                self._estimate.fell_away(self._costs.of_test(test))
        about_s = self._estimate.remaining_s(0.0)
        self._progress.message(announcement(self._plan, to_run, self._target, about_s))
        if about_s >= _LONG_S and self._manifest.request is not None:
            how = resume_command(self._writer.named, self._manifest.request)
            cost = lost_at_most(to_run, self._target)
            self._progress.message(f"Should it be interrupted: {how}{cost}")
        for test in to_run:
            self._run_test(test, self._reason_to_skip(test))
            self._books.checkpoint()
            self._books.drop_old_states()
        self._read_health("after")
        self._manifest.status = self._final_status()
        run = self._books.checkpoint()
        self._conclude(run)
        self._manifest.ended = timestamp(time.time())
        self._writer.note(self._manifest)

    def _final_status(self) -> RunStatus:
        if self._workloads.interrupt.requested:
            return "interrupted"
        failed = any(test.status == "failed" for test in self._tests)
        return "failed" if failed else "complete"

    def _conclude(self, run: Run) -> None:
        """Findings and report. What was measured is safe already, so that a mistake in either
        costs the run nothing."""
        try:
            self._writer.findings(find(run))
            write_html([run], run.path / schema.REPORT, replace=True)
        except OutputError as error:
            self._books.note(
                f"there is no report: {error}; when that is mended, fourcorners report "
                f"{self._writer.named} makes it"
            )
            self._books.checkpoint()
        except UserError:
            raise
        except Exception as error:
            self._books.note(f"the report could not be made: {_unexpected(error)}")
            self._books.checkpoint()

    def _reason_to_skip(self, test: Test) -> str | None:
        if self._workloads.interrupt.requested:
            return stopped_by()
        reason = test.skip_reason or self._lost_reason
        measured = any(entry.recordings for entry in self._tests)
        if reason is None and self._skip_futile and measured:
            return futile.reason(self._books.checkpoint(), test.name)
        return reason

    def _run_test(self, test: Test, reason: str | None) -> None:
        entry = TestEntry(
            name=test.name,
            definition=test.definition or None,
            title=test.title,
            source=test.source,
            status="running",
            reason=None,
            purpose=test.purpose,
            preparation=[],
            parameters=dict(test.parameters),
            charts=list(test.charts),
            wall_s=None,
            recordings=[],
        )
        behind = self._going_on.get(test.name)
        if behind is None:
            self._tests.append(entry)
        else:
            entry = behind.entry
        self._workloads.test_title = test.title
        started, done_s = time.monotonic(), self._estimate.done_s
        if reason is not None:
            self._estimate.fell_away(self._costs.of_test(test))
            # One that could go on still can.
            entry.status = "skipped" if behind is None else "interrupted"
            entry.reason = reason
            self._progress.message(f"{test.title}: skipped, {reason}")
            return
        chosen = "; ".join(f"{name}: {value}" for name, value in test.parameters.items())
        self._progress.message(f"{test.title}: {chosen}" if chosen else test.title)
        entry.status, entry.reason = "running", None
        self._books.write_manifest()
        place = Place(entry, behind, self._target, self._workloads, self._books, self._writer)
        try:
            if self._target.read_only_reason is None:
                self._target.look_again()
            place.begin()
            for phase, following in zip(test.phases, [*test.phases[1:], None], strict=True):
                for step in phase.preparation:
                    self._prepare(step, place)
                place.begin_measuring(phase)
                if isinstance(phase, Adaptive):
                    self._adapt(phase, place)
                else:
                    for measurement in phase.measurements:
                        self._measure(measurement, place)
                place.end_phase(following)
            entry.status = "complete"
        except (StopRequestedError, KeyboardInterrupt):
            self._workloads.interrupt.requested = True
            entry.status, entry.reason = "interrupted", stopped_by()
        except _FutileError as error:
            self._estimate.fell_away(self._costs.of_test(test) - self._estimate.done_s + done_s)
            entry.status, entry.reason = "skipped", str(error)
        except UserError as error:
            if isinstance(error, TargetLostError):
                self._lost_reason = f"{self._target.name} no longer answers"
            entry.status, entry.reason = "failed", str(error)
        except BaseException as error:
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            # The other tests may well run, and the run folder shall tell what happened.
            entry.status, entry.reason = "failed", _unexpected(error)
        if entry.status != "interrupted":
            entry.waypoint = None
        entry.wall_s = round(time.monotonic() - started, 3)
        ending = f"{entry.status} in {wording.took(entry.wall_s)}"
        if entry.reason:
            ending += f": {entry.reason}"
        self._progress.message(f"{test.title}: {ending}")

    def _prepare(self, step: Step, place: Place) -> None:
        if place.is_behind:
            place.skip()
            self._estimate.done(self._costs.of_step(step))
            return
        self._workloads.stop_if_requested()
        if not isinstance(step, Rest):
            place.before_writing_step()
        text = self._preparation.carry_out(step)
        self._estimate.done(self._costs.of_step(step))
        if text is None:
            place.skip()
            return
        place.entry.preparation.append(text)
        place.pass_one()

    def _read_health(self, when: Literal["before", "after"]) -> None:
        """What the drive tells of itself; of a resumed run, before its first part."""
        if (
            self._observer is None
            or self._workloads.interrupt.requested
            or self._lost_reason is not None
        ):
            return
        known = self._manifest.health = self._manifest.health or {}
        if when == "before" and "before" in known:
            return
        known[when] = self._observer.health()
        if when == "before" and self._observer.no_health_reason is not None:
            self._books.note(self._observer.no_health_reason)

    def _adapt(self, phase: Adaptive, place: Place) -> None:
        """Batch after batch until the phase has enough; each is safe when it is through."""
        measured = MeasuredSoFar()
        cost_s, used_s = self._costs.of_measuring(phase), 0.0
        in_place = phase.from_round is not None and self._target.kind != "simulated"
        if in_place:
            skipped = place.skip_rounds(phase)
            if skipped is None:
                self._estimate.done(cost_s)
                return
            if skipped:
                assert phase.from_round is not None
                phase = phase.from_round(skipped + 1)
        batch = phase.first
        for _ in range(phase.batches_max):
            for measurement in batch:
                measured.add(measurement, self._measure(measurement, place))
                used_s += self._costs.of_measurement(measurement)
            if in_place:
                place.pass_round()
            else:
                self._books.checkpoint()
            batch = phase.following(measured)
            if not batch:
                break
        self._estimate.done(cost_s - used_s)

    def _measure(self, measurement: Measurement, place: Place) -> Recording:
        if place.is_behind:
            self._estimate.done(self._costs.of_measurement(measurement))
            return place.skip_measurement(measurement)
        entry = place.entry
        self._workloads.stop_if_requested()
        self._stop_if_futile(entry)
        place.before_measuring(measurement)
        measurement = self._plan.suite.logged(measurement)
        recording, conditions = self._workloads.observe(
            measurement, self._costs.of_measurement(measurement)
        )
        if recording.operations:
            placed = recording.placed(
                id=measurement.id,
                test=entry.name,
                label=measurement.label,
                point=measurement.point,
                workload=measurement.workload,
                conditions=conditions,
            )
            self._writer.add(placed)
            entry.recordings.append(entry_of(placed))
        check(measurement.label, recording)
        self._workloads.stop_if_requested()
        self._estimate.done(self._costs.of_measurement(measurement))
        place.pass_one()
        return recording

    def _stop_if_futile(self, entry: TestEntry) -> None:
        """Asks after each sentinel but the last, since only these show other load."""
        measured = entry.recordings
        if not self._skip_futile or not measured or measured[-1].point.get("sentinel") is None:
            return
        reason = futile.reason_to_stop(self._books.checkpoint(), entry.name)
        if reason is not None:
            count = f"{len(measured)} measurement{'' if len(measured) == 1 else 's'}"
            raise _FutileError(f"stopped after {count}; {reason}")


def _unexpected(error: BaseException) -> str:
    """An error that nobody foresaw, in one line; with FOURCORNERS_DEBUG=1 its traceback, too."""
    if os.environ.get("FOURCORNERS_DEBUG") == "1":
        traceback.print_exception(error)
    text = " ".join(str(error).split())
    return f"unexpected {type(error).__name__}: {text}"
