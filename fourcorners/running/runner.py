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
from fourcorners.manifest import DriveThen, Manifest, ResumePoint, RunStatus, TestEntry
from fourcorners.recording import Recording
from fourcorners.reporting.html import write_html
from fourcorners.running import resume_point as resume_point_module
from fourcorners.running.costs import Costs
from fourcorners.running.interrupt import stopped_by
from fourcorners.running.preparation import Preparation
from fourcorners.running.preview import announcement, lost_at_most
from fourcorners.running.progress import Progress, TimeEstimate
from fourcorners.running.resume_point import GoingOn, begins_anew
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
        self._lost_reason: str | None = None
        self._run_notes: list[str] = list(manifest.notes)
        self._manifest = manifest
        self._tests = manifest.tests
        self._going_on = going_on
        self._skip_futile = bool(manifest.request and manifest.request.skip_futile)
        # Of the test that runs: steps and measurements that are done, those that were done before
        # the run was interrupted, and when its state was last saved.
        self._passed = 0
        self._behind: GoingOn | None = None
        self._state_due_s: float | None = None
        # Of a real drive: whether anything but its preparation wrote to it in the phase, and how
        # many rounds are done of each phase that has some.
        self._unwritten = True
        self._rounds: list[int] = []
        # The last place of the test that prepares a real drive anew.
        self._anew: ResumePoint | None = None

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
        self._checkpoint()
        if self._target.read_only_reason is not None:
            self._note(self._target.read_only_reason)
        if self._plan.suite.scale < 1:
            self._note(
                f"Shortened: all durations are {self._plan.suite.scale:g} of the tests' own, "
                "so what takes time to show may not have shown"
            )
        if (about_purges := self._preparation.about_purges) is not None:
            self._note(about_purges)
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
            self._checkpoint()
            self._writer.keep_states(self._states())
        self._read_health("after")
        self._manifest.status = self._final_status()
        run = self._checkpoint()
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
            self._note(
                f"there is no report: {error}; when that is mended, fourcorners report "
                f"{self._writer.named} makes it"
            )
            self._checkpoint()
        except UserError:
            raise
        except Exception as error:
            self._note(f"the report could not be made: {_unexpected(error)}")
            self._checkpoint()

    def _checkpoint(self) -> Run:
        self._update()
        return self._writer.checkpoint(self._manifest)

    def _update(self) -> None:
        notes = [*self._target.notes, *self._run_notes]
        self._manifest.notes = list(dict.fromkeys(notes))
        self._manifest.past = self._workloads.history.so_far()
        # A test that failed before the run was resumed is run again after others.
        order = [test.name for test in self._plan.tests]
        self._tests.sort(key=lambda entry: order.index(entry.name))

    def _note(self, text: str) -> None:
        self._run_notes.append(text)
        self._progress.message(f"Note: {text}")

    def _reason_to_skip(self, test: Test) -> str | None:
        if self._workloads.interrupt.requested:
            return stopped_by()
        reason = test.skip_reason or self._lost_reason
        measured = any(entry.recordings for entry in self._tests)
        if reason is None and self._skip_futile and measured:
            return futile.reason(self._checkpoint(), test.name)
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
        self._behind = self._going_on.get(test.name)
        if self._behind is None:
            self._tests.append(entry)
        else:
            entry = self._behind.entry
        self._workloads.test_title = test.title
        started, done_s = time.monotonic(), self._estimate.done_s
        if reason is not None:
            self._estimate.fell_away(self._costs.of_test(test))
            # One that could go on still can.
            entry.status = "skipped" if self._behind is None else "interrupted"
            entry.reason = reason
            self._progress.message(f"{test.title}: skipped, {reason}")
            return
        chosen = "; ".join(f"{name}: {value}" for name, value in test.parameters.items())
        self._progress.message(f"{test.title}: {chosen}" if chosen else test.title)
        # For whoever finds the run killed.
        entry.status, entry.reason = "running", None
        self._update()
        self._writer.note(self._manifest)
        try:
            if self._target.read_only_reason is None:
                self._target.look_again()
            self._begin()
            for number, phase in enumerate(test.phases, start=1):
                for step in phase.preparation:
                    self._prepare(step, entry)
                if begins_anew(phase):
                    self._unwritten = True
                if isinstance(phase, Adaptive):
                    self._adapt(phase, entry, test.name)
                else:
                    for measurement in phase.measurements:
                        self._measure(measurement, entry, test.name)
                if self._target.kind != "simulated" and any(
                    map(begins_anew, test.phases[number : number + 1])
                ):
                    self._set_resume_point(entry, DriveThen.ANEW)
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
        ending = f"{entry.status} in {wording.clock(entry.wall_s)}"
        if entry.reason:
            ending += f": {entry.reason}"
        self._progress.message(f"{test.title}: {ending}")

    def _begin(self) -> None:
        """The drive as the test finds it, or as it was at the test's resume point."""
        self._passed, self._unwritten, self._rounds, self._anew = 0, True, [], None
        if self._behind is not None and self._behind.resume_point.drive == DriveThen.ANEW:
            self._anew = self._behind.resume_point
        self._state_due_s = time.monotonic() + resume_point_module.STATE_INTERVAL_S
        if self._target.kind != "simulated":
            return
        self._target.rewind()
        self._workloads.history = WriteHistory(self._target)
        if self._behind is not None:
            resume_point = self._behind.resume_point
            assert resume_point.state is not None
            self._target.load(self._writer.path / resume_point.state)
            self._workloads.history = WriteHistory(self._target, resume_point.past)

    def _is_behind(self) -> bool:
        """Whether the next step or measurement was done before the interruption."""
        return self._behind is not None and self._passed < self._behind.resume_point.passed

    def _pass(self, entry: TestEntry) -> None:
        """One more step or measurement is done. From time to time what was measured is written to
        the folder, and a simulated drive's state with it."""
        self._passed += 1
        if not self._is_due():
            return
        begun = time.monotonic()
        if self._target.no_state_reason is not None:
            # Whoever does not go on with the run has it; a test that begins anew drops it, as every
            # test of a program's drive does, whose state is the program's.
            if self._target.kind != "simulated" and self._known_unwritten(entry):
                self._mark(entry, DriveThen.UNWRITTEN)
            self._checkpoint()
            self._delay(begun)
            return
        name = schema.STATE.format(self._passed)
        try:
            self._target.save(self._writer.path / name)
            self._writer.add_state(name)
        except UserError as error:
            # A disk that is nearly full has no room for it, and the run may need none.
            self._state_due_s = None
            self._note(
                f"{error}: interrupted from here on, {self._workloads.test_title} goes back further"
            )
            return
        self._set_resume_point(entry, DriveThen.SAVED, name)
        self._delay(begun)

    def _is_due(self) -> bool:
        """Whether as much was done as an interruption may cost."""
        return self._state_due_s is not None and time.monotonic() >= self._state_due_s

    def _delay(self, begun: float) -> None:
        """Says when a place is saved again, after one took from ``begun`` until now."""
        now = time.monotonic()
        share = (now - begun) / resume_point_module.STATE_SHARE_MAX
        self._state_due_s = now + max(resume_point_module.STATE_INTERVAL_S, share)

    def _keep_place(self, measurement: Measurement, entry: TestEntry) -> None:
        """Says of a real drive, before a measurement, whether the test could go on with it."""
        if self._target.kind == "simulated":
            return
        if measurement.writes:
            self._unwritten = False
            if self._known_unwritten(entry):
                self._drop_resume_point(entry)
        elif self._unwritten:
            self._mark(entry, DriveThen.UNWRITTEN)

    def _known_unwritten(self, entry: TestEntry) -> bool:
        return entry.waypoint is not None and entry.waypoint.drive == DriveThen.UNWRITTEN

    def _drop_resume_point(self, entry: TestEntry) -> None:
        """Back to the phase that prepares the drive anew, if there was one."""
        entry.waypoint = self._anew
        self._update()
        self._writer.note(self._manifest)

    def _set_resume_point(
        self, entry: TestEntry, drive: DriveThen, state: str | None = None
    ) -> None:
        self._mark(entry, drive, state)
        if drive is DriveThen.ANEW:
            self._anew = entry.waypoint
        self._checkpoint()
        self._writer.keep_states(self._states())

    def _mark(self, entry: TestEntry, drive: DriveThen, state: str | None = None) -> None:
        entry.waypoint = ResumePoint(
            passed=self._passed,
            preparation=len(entry.preparation),
            recordings=len(entry.recordings),
            drive=drive,
            state=state,
            past=self._workloads.history.so_far(),
            rounds=list(self._rounds),
        )

    def _states(self) -> set[str]:
        """Files with states that a test could go on from."""
        points = [test.waypoint for test in self._tests if test.waypoint is not None]
        return {point.state for point in points if point.state is not None}

    def _prepare(self, step: Step, entry: TestEntry) -> None:
        if self._is_behind():
            self._passed += 1
            self._estimate.done(self._costs.of_step(step))
            return
        self._workloads.stop_if_requested()
        if not isinstance(step, Rest) and self._known_unwritten(entry):
            self._drop_resume_point(entry)
        text = self._preparation.carry_out(step)
        self._estimate.done(self._costs.of_step(step))
        if text is None:
            self._passed += 1
            return
        entry.preparation.append(text)
        self._pass(entry)

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
            self._note(self._observer.no_health_reason)

    def _adapt(self, phase: Adaptive, entry: TestEntry, test: str) -> None:
        """Batch after batch until the phase has enough; each is safe when it is through."""
        measured = MeasuredSoFar()
        cost_s, used_s = self._costs.of_measuring(phase), 0.0
        in_place = phase.from_round is not None and self._target.kind != "simulated"
        if in_place:
            skipped = self._skip_rounds(phase)
            if skipped is None:
                self._estimate.done(cost_s)
                return
            if skipped:
                assert phase.from_round is not None
                phase = phase.from_round(skipped + 1)
        batch = phase.first
        for _ in range(phase.batches_max):
            for measurement in batch:
                measured.add(measurement, self._measure(measurement, entry, test))
                used_s += self._costs.of_measurement(measurement)
            if in_place:
                self._rounds[-1] += 1
                self._set_resume_point(entry, DriveThen.ROUNDS)
            else:
                self._checkpoint()
            batch = phase.following(measured)
            if not batch:
                break
        self._estimate.done(cost_s - used_s)

    def _skip_rounds(self, phase: Adaptive) -> int | None:
        """Rounds that are behind; ``None`` where the phase is. What they decide is not asked again:
        the drive was left alone in between, so that they are not in a row with what follows."""
        self._rounds.append(0)
        if not self._is_behind():
            return 0
        assert self._behind is not None
        resume_point, place = self._behind.resume_point, len(self._rounds) - 1
        self._rounds[place] = resume_point.rounds[place]
        self._passed += resume_point.rounds[place] * len(phase.first)
        goes_on = resume_point.drive == DriveThen.ROUNDS and place == len(resume_point.rounds) - 1
        return resume_point.rounds[place] if goes_on else None

    def _measure(self, measurement: Measurement, entry: TestEntry, test: str) -> Recording:
        if self._is_behind():
            assert self._behind is not None
            self._passed += 1
            self._estimate.done(self._costs.of_measurement(measurement))
            return self._behind.recordings[measurement.id]
        self._workloads.stop_if_requested()
        self._stop_if_futile(entry, test)
        self._keep_place(measurement, entry)
        measurement = self._plan.suite.logged(measurement)
        recording, conditions = self._workloads.observe(
            measurement, self._costs.of_measurement(measurement)
        )
        if recording.operations:
            placed = recording.placed(
                id=measurement.id,
                test=test,
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
        self._pass(entry)
        return recording

    def _stop_if_futile(self, entry: TestEntry, test: str) -> None:
        """Asks after each sentinel but the last, since only these show other load."""
        measured = entry.recordings
        if not self._skip_futile or not measured or measured[-1].point.get("sentinel") is None:
            return
        reason = futile.reason_to_stop(self._checkpoint(), test)
        if reason is not None:
            count = f"{len(measured)} measurement{'' if len(measured) == 1 else 's'}"
            raise _FutileError(f"stopped after {count}; {reason}")


def _unexpected(error: BaseException) -> str:
    """An error that nobody foresaw, in one line; with FOURCORNERS_DEBUG=1 its traceback, too."""
    if os.environ.get("FOURCORNERS_DEBUG") == "1":
        traceback.print_exception(error)
    text = " ".join(str(error).split())
    return f"unexpected {type(error).__name__}: {text}"
