"""What a run will do, before it does: steps, time, what is written, what is destroyed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

import msgspec

from fourcorners import wording
from fourcorners.documents import Count, Seed
from fourcorners.running.costs import Costs
from fourcorners.running.resume_point import longest_stretch_s
from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import Suite, SuitePlan
from fourcorners.suites.test import Adaptive, Phase, Test
from fourcorners.target.foreign import is_foreign
from fourcorners.target.open import examine_new_file, is_simulated, open_target
from fourcorners.target.simulated import SimulatedTarget
from fourcorners.target.target import Target


class PlannedPhase(TypedDict):
    """Steps, then measurements, both in words; ``times`` counts the phases that are the same."""

    preparation: list[str]
    measurements: list[str]
    repeated: str | None
    seconds: float
    times: Annotated[int, msgspec.Meta(ge=1)]


class PlannedTest(TypedDict):
    """What one test will do, or why it is skipped."""

    name: str
    title: str
    source: str
    purpose: str
    parameters: Mapping[str, str]
    skip_reason: str | None
    seconds: float
    drive_writes: float
    phases: list[PlannedPhase]


class Interruption(TypedDict):
    """The time that an interruption of a real drive's run can cost at most, and the test in
    which."""

    seconds: float
    title: str


class PreviewedPlan(TypedDict):
    """What a run will do on one target.

    ``seconds`` are estimates on the target's clock, at 200 MB/s for what is not bounded by time;
    ``wall_seconds`` how long a simulated drive takes to compute that, by the clock on the wall,
    ``None`` of other targets, whose clock that is or, of programs, which nobody knows;
    ``drive_writes`` is what is written over the capacity, at most; at the same rate where only time
    bounds it.
    """

    target: str
    name: str
    suite: str
    scale: float
    seed: Seed
    seconds: float
    wall_seconds: float | None
    written_bytes: Count
    drive_writes: float
    destroys: str
    interruption: Interruption | None
    tests: list[PlannedTest]


@dataclass(frozen=True)
class PlanDocument:
    """What runs will do, on each target."""

    plans: Sequence[PreviewedPlan]


def preview(plan: SuitePlan, target: Target) -> PreviewedPlan:
    """A plan as plain data."""
    simulated = isinstance(target, SimulatedTarget)
    wall_s = Costs(target).of_plan(plan) if simulated else None
    return _preview(plan, target.locator, target.name, target.purge_plan, wall_s)


def _preview(
    plan: SuitePlan,
    locator: str,
    name: str,
    purge_plan: str | None = None,
    wall_s: float | None = None,
) -> PreviewedPlan:
    capacity = plan.subject.capacity_bytes
    tests: list[PlannedTest] = [
        {
            "name": test.name,
            "title": test.title,
            "source": test.source,
            "purpose": test.purpose,
            "parameters": test.parameters,
            "skip_reason": test.skip_reason,
            "seconds": round(test.duration_s, 3),
            "drive_writes": _four_digits(test.written_bytes / capacity),
            "phases": _phases(test, plan),
        }
        for test in plan.tests
    ]
    return {
        "target": locator,
        "name": name,
        "suite": plan.suite.name,
        "scale": plan.suite.scale,
        "seed": plan.seed,
        "seconds": round(plan.duration_s, 3),
        "wall_seconds": None if wall_s is None else round(wall_s, 3),
        "written_bytes": round(plan.written_bytes),
        "drive_writes": _four_digits(plan.written_bytes / capacity),
        "destroys": destroyed(plan, locator, purge_plan),
        "interruption": _interruption(plan.tests, plan.subject.kind),
        "tests": tests,
    }


CheckSubject = Callable[[str, Subject], None]
"""Raises :class:`UserError` where a target of that name cannot be used."""


def preview_opening(
    suite: Suite,
    opening: Mapping[str, Any],
    filled_share: float,
    seed: int,
    check: CheckSubject | None,
) -> PreviewedPlan:
    """:func:`preview` of a target by the arguments of :func:`open_target`; a file that this would
    make is not made."""
    locator = str(opening["locator"])
    if "size" in opening and not is_simulated(locator) and not Path(locator).exists():
        examine_new_file(**opening)
        name = Path(locator).name
        subject = Subject("file", opening["size"], needs_fill=True, filled_share=filled_share)
        if check is not None:
            check(name, subject)
        return _preview(suite.plan(subject, seed), locator, name)
    with open_target(**opening) as target:
        subject = Subject.of(target, filled_share)
        if check is not None:
            check(target.name, subject)
        return preview(suite.plan(subject, seed), target)


def _four_digits(value: float) -> float:
    """Rounded, and never to nothing."""
    return float(f"{value:.4g}")


def announcement(plan: SuitePlan, tests: Sequence[Test], target: Target, about_s: float) -> str:
    """What will be done by ``tests`` of a plan, in two lines: how long it takes by the clock on the
    wall, or of a program's drive by its own, how much is written, and what is destroyed."""
    names = ", ".join(test.name for test in tests) or "only the report is missing"
    count = f"{len(tests)} test{'s' if len(tests) != 1 else ''}"
    clock = " on the drive's clock" if is_foreign(target.locator) else ""
    text = f"{target.name}: {count}, {wording.about(about_s)}{clock}: {names}"
    written = sum(test.written_bytes for test in tests)
    writes = written / plan.subject.capacity_bytes
    amount = (
        f"up to {wording.chosen_size(round(written))}, {wording.number(writes)} drive writes"
        if written
        else "nothing"
    )
    lost = destroyed(plan, target.locator, target.purge_plan)
    return f"{text}\nWritten: {amount}. Destroyed: {lost}"


def lost_at_most(tests: Sequence[Test], target: Target) -> str:
    """What an interruption costs, to follow how to go on after one."""
    cost = _interruption(tests, target.kind)
    return "" if cost is None else f"; {done_again(cost)}"


def done_again(cost: Interruption) -> str:
    """What an interruption costs, in words."""
    return f"at most {wording.clock(cost['seconds'])} of it are then done again ({cost['title']})"


def _interruption(tests: Sequence[Test], kind: str) -> Interruption | None:
    """The longest stretch that an interruption can cost, and its test; nothing of a simulated
    drive, whose state is saved every two minutes."""
    if kind == "simulated" or not tests:
        return None
    worst = max(tests, key=longest_stretch_s)
    return {"seconds": round(longest_stretch_s(worst), 3), "title": worst.title}


def _phases(test: Test, plan: SuitePlan) -> list[PlannedPhase]:
    """Phase by phase; those that only repeat the one before are counted with it."""
    phases: list[PlannedPhase] = []
    for phase in test.phases:
        one = _phase(phase, plan)
        last = phases[-1] if phases else None
        if last is not None and {**last, "times": 1} == one:
            last["times"] += 1
        else:
            phases.append(one)
    return phases


def _phase(phase: Phase | Adaptive, plan: SuitePlan) -> PlannedPhase:
    return {
        "preparation": [step.describe(plan.subject) for step in phase.preparation],
        "measurements": [measurement.label for measurement in phase.measurements],
        "repeated": f"up to {phase.batches_max} {phase.what}"
        if isinstance(phase, Adaptive)
        else None,
        "seconds": round(phase.duration_s, 3),
        "times": 1,
    }


def destroyed(plan: SuitePlan, locator: str, purge_plan: str | None) -> str:
    """What a run destroys, as one phrase."""
    subject = plan.subject
    if subject.kind == "simulated":
        return "nothing: the drive is simulated"
    if not subject.writable:
        return "nothing: the target is only read"
    if plan.written_bytes == 0 and not plan.purges:
        return "nothing: no test writes"
    if subject.kind == "file":
        return f"the content of {locator}"
    purged = f"; {purge_plan}" if purge_plan is not None and plan.purges else ""
    return f"all data on {locator}{purged}"
