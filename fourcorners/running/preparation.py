"""Prepares the target for a test: the steps that stand before its measurements."""

import time

from fourcorners.errors import TargetLostError, UserError
from fourcorners.recording import Recording
from fourcorners.running.costs import Costs
from fourcorners.running.precondition import write_until_steady
from fourcorners.running.workloads import SIGN_INTERVAL_S, Workloads, check
from fourcorners.suites.steps import (
    Fill,
    Purge,
    Rest,
    Restore,
    SteadyWrites,
    Step,
    Trim,
    TrimParts,
)
from fourcorners.suites.suite import SuitePlan
from fourcorners.target.target import Target
from fourcorners.workload import Workload


class Preparation:
    """Carries out the steps of a plan on a target."""

    def __init__(self, target: Target, plan: SuitePlan, costs: Costs, workloads: Workloads) -> None:
        """Does nothing yet."""
        self._target = target
        self._plan = plan
        self._costs = costs
        self._workloads = workloads

    @property
    def about_purges(self) -> str | None:
        """What will be erased and how, before it is; ``None`` where nothing has to be said."""
        planned, missing = self._target.purge_plan, self._target.no_purge_reason
        if planned is not None and not self._plan.purges:
            return "nothing is purged: no test of this run begins with an erased drive"
        return planned or (missing if self._plan.purges else None)

    def carry_out(self, step: Step) -> str | None:
        """What was done, as one phrase; ``None`` where the target does not need the step.

        Raises :class:`UserError` where it fails, and :class:`StopRequestedError`.
        """
        text = step.describe(self._plan.subject)
        match step:
            case Purge():
                self._workloads.show(text, 0.0, 0.0)
                return self._purge(text)
            case Rest():
                self._rest(step.duration_s, text)
            case Trim() | TrimParts():
                self._workloads.show(text, 0.0, 0.0)
                for offset, count in step.ranges(self._target.capacity_bytes):
                    self._target.trim(offset, count)
            case Restore():
                self._workloads.show(text, 0.0, 0.0)
                self._target.restore()
            case Fill():
                return text if self._fill(step, text) else None
            case SteadyWrites():
                return f"{text}: {self._write_until_steady(step, text)}"
        return text

    def _rest(self, seconds: float, text: str) -> None:
        self._workloads.show(text, 0.0, 0.0)
        if self._target.kind == "simulated":
            self._target.idle(seconds)
            return
        # In parts, so that a pause of hours can be ended.
        end = time.monotonic() + seconds
        while (left_s := end - time.monotonic()) > 0:
            self._target.idle(min(left_s, SIGN_INTERVAL_S))
            self._workloads.show(text, seconds - left_s, 0.0)
            self._workloads.stop_if_requested()

    def _purge(self, text: str) -> str:
        """What happened, as one phrase. A device's purge was asked for by name: it works, or the
        test ends. Not every file system can take a file's blocks back."""
        target = self._target
        if target.no_purge_reason is not None:
            return target.no_purge_reason
        try:
            target.purge()
        except UserError as error:
            if target.kind == "device" or isinstance(error, TargetLostError):
                raise
            return f"no purge: {error}"
        self._workloads.history.purged()
        return text

    def _fill(self, step: Fill, text: str) -> bool:
        """Whether it was carried out: a disk that was written through once needs no other."""
        target = self._target
        if not (target.keeps_state or target.needs_fill):
            return False
        cost_s = self._costs.of_step(step)
        for workload in step.workloads(self._plan.seed):
            recording = self._workloads.run(
                workload, text, step.duration_s, cost_s, total_bytes=step.written_bytes
            )
            check(text, recording)
            self._workloads.stop_if_requested()
        if step.count >= self._plan.subject.rounded(target.capacity_bytes):
            target.filled()
        return True

    def _write_until_steady(self, step: SteadyWrites, activity: str) -> str:
        """What came of it, as one phrase."""
        if not self._target.keeps_state:
            return "none, as earlier writes do not change this drive's speed"

        cost_s = self._costs.of_step(step)

        def run(workload: Workload) -> Recording:
            recording = self._workloads.run(workload, activity, step.duration_s, cost_s)
            check(activity, recording)
            self._workloads.stop_if_requested()
            return recording

        outcome = write_until_steady(
            run,
            step.stream,
            span_bytes=step.count,
            capacity_bytes=self._target.capacity_bytes,
            seed=self._plan.seed,
        )
        times = f"written {outcome.written_bytes / step.count:.3g} times over"
        return times if outcome.steady else f"{times}, and not steady by then"
