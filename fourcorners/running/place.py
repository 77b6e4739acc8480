"""Where in a test a run is, and where the test could go on if it were interrupted now.

:mod:`fourcorners.running.resume_point` says which places these are. Here the place moves with the
test, and the manifest has the last of them, with a simulated drive's state from time to time.
"""

import time

from fourcorners.errors import UserError
from fourcorners.manifest import DriveThen, ResumePoint, TestEntry
from fourcorners.recording import Recording
from fourcorners.running import resume_point
from fourcorners.running.bookkeeping import Bookkeeping
from fourcorners.running.resume_point import GoingOn, begins_anew
from fourcorners.running.workloads import Workloads
from fourcorners.running.write_history import WriteHistory
from fourcorners.store import RunWriter, schema
from fourcorners.suites.test import Adaptive, Measurement, Phase
from fourcorners.target.target import Target


class Place:
    """The place in one test. Steps of preparation and measurements are passed in the order of the
    test; those that were done before the run was interrupted are behind."""

    def __init__(
        self,
        entry: TestEntry,
        behind: GoingOn | None,
        target: Target,
        workloads: Workloads,
        books: Bookkeeping,
        writer: RunWriter,
    ) -> None:
        """Does nothing yet. ``behind`` is ``None`` of a test that begins anew."""
        self.entry = entry
        self._behind = behind
        self._target = target
        self._is_real = target.kind != "simulated"
        self._workloads = workloads
        self._books = books
        self._writer = writer
        self._passed = 0
        self._due_s: float | None = None
        # Of a real drive: whether anything but its preparation wrote to it in the phase, and how
        # many rounds are done of each phase that has some.
        self._unwritten = True
        self._rounds: list[int] = []
        # The last place of the test that prepares a real drive anew.
        self._anew: ResumePoint | None = None

    def begin(self) -> None:
        """Brings the drive to where the test finds it, or to where it was at the resume point."""
        if self._behind is not None and self._behind.resume_point.drive == DriveThen.ANEW:
            self._anew = self._behind.resume_point
        self._due_s = time.monotonic() + resume_point.STATE_INTERVAL_S
        if self._is_real:
            return
        self._target.rewind()
        self._workloads.history = WriteHistory(self._target)
        if self._behind is not None:
            point = self._behind.resume_point
            assert point.state is not None
            self._target.load(self._writer.path / point.state)
            self._workloads.history = WriteHistory(self._target, point.past)

    @property
    def is_behind(self) -> bool:
        """Whether the next step or measurement was done before the interruption."""
        return self._behind is not None and self._passed < self._behind.resume_point.passed

    def skip(self) -> None:
        """Passes a step that is behind, or that the target does not need."""
        self._passed += 1

    def skip_measurement(self, measurement: Measurement) -> Recording:
        """Passes a measurement that is behind; what it recorded."""
        assert self._behind is not None
        self._passed += 1
        return self._behind.recordings[measurement.id]

    def skip_rounds(self, phase: Adaptive) -> int | None:
        """Rounds that are behind; ``None`` where the phase is. What they decide is not asked again:
        the drive was left alone in between, so that they are not in a row with what follows."""
        self._rounds.append(0)
        if not self.is_behind:
            return 0
        assert self._behind is not None
        point, number = self._behind.resume_point, len(self._rounds) - 1
        self._rounds[number] = point.rounds[number]
        self._passed += point.rounds[number] * len(phase.first)
        goes_on = point.drive == DriveThen.ROUNDS and number == len(point.rounds) - 1
        return point.rounds[number] if goes_on else None

    def before_writing_step(self) -> None:
        """A step of preparation is about to change what is on the drive."""
        if self._known_unwritten():
            self._back_to_anew()

    def begin_measuring(self, phase: Phase | Adaptive) -> None:
        """The phase's preparation is done."""
        if begins_anew(phase):
            self._unwritten = True

    def before_measuring(self, measurement: Measurement) -> None:
        """Says of a real drive whether the test could go on with the measurement."""
        if not self._is_real:
            return
        if measurement.writes:
            self._unwritten = False
            if self._known_unwritten():
                self._back_to_anew()
        elif self._unwritten:
            self._mark(DriveThen.UNWRITTEN)

    def pass_one(self) -> None:
        """One more step or measurement is done. From time to time what was measured is written to
        the folder, and a simulated drive's state with it."""
        self._passed += 1
        if self._due_s is None or time.monotonic() < self._due_s:
            return
        begun = time.monotonic()
        if self._target.no_state_reason is not None:
            # Whoever does not go on with the run has it; a test that begins anew drops it, as every
            # test of a program's drive does, whose state is the program's.
            if self._is_real and self._known_unwritten():
                self._mark(DriveThen.UNWRITTEN)
            self._books.checkpoint()
        else:
            name = schema.STATE.format(self._passed)
            try:
                self._target.save(self._writer.path / name)
                self._writer.add_state(name)
            except UserError as error:
                # A disk that is nearly full has no room for it, and the run may need none.
                self._due_s = None
                title = self._workloads.test_title
                self._books.note(f"{error}: interrupted from here on, {title} goes back further")
                return
            self._set(DriveThen.SAVED, name)
        now = time.monotonic()
        share = (now - begun) / resume_point.STATE_SHARE_MAX
        self._due_s = now + max(resume_point.STATE_INTERVAL_S, share)

    def pass_round(self) -> None:
        """One more round of the phase is done."""
        self._rounds[-1] += 1
        self._set(DriveThen.ROUNDS)

    def end_phase(self, following: Phase | Adaptive | None) -> None:
        """A phase is done, behind which this one follows."""
        if self._is_real and following is not None and begins_anew(following):
            self._set(DriveThen.ANEW)

    def _known_unwritten(self) -> bool:
        point = self.entry.waypoint
        return point is not None and point.drive == DriveThen.UNWRITTEN

    def _back_to_anew(self) -> None:
        """Back to the phase that prepares the drive anew, if there was one."""
        self.entry.waypoint = self._anew
        self._books.write_manifest()

    def _set(self, drive: DriveThen, state: str | None = None) -> None:
        self._mark(drive, state)
        if drive is DriveThen.ANEW:
            self._anew = self.entry.waypoint
        self._books.checkpoint()
        self._books.drop_old_states()

    def _mark(self, drive: DriveThen, state: str | None = None) -> None:
        self.entry.waypoint = ResumePoint(
            passed=self._passed,
            preparation=len(self.entry.preparation),
            recordings=len(self.entry.recordings),
            drive=drive,
            state=state,
            past=self._workloads.history.so_far(),
            rounds=list(self._rounds),
        )
