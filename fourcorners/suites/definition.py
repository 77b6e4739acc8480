"""A test that can be asked for by name: its parameters, and the plan that follows from them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fourcorners.documents import changed
from fourcorners.manifest import Chart
from fourcorners.suites.parameters import NoParameters
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Adaptive, MeasuredSoFar, Measurement, Phase, Test


@dataclass(frozen=True)
class Plan:
    """The plan of a test on a target: the parameters that are printed, its phases and its charts.

    Ids of measurements and charts are those within the test.
    """

    parameters: dict[str, str]
    phases: tuple[Phase | Adaptive, ...]
    charts: tuple[Chart, ...] = ()
    skip_reason: str | None = None


@dataclass(frozen=True)
class Definition:
    """A test of the program. ``plan(subject, parameters, seed)`` says what is done on a target."""

    name: str
    title: str
    source: str
    purpose: str
    plan: Callable[[Subject, Any, int], Plan]
    parameters: type = NoParameters

    def test(self, subject: Subject, parameters: Any, seed: int, name: str | None = None) -> Test:
        """The test on a target, under its own name or another one."""
        plan = self.plan(subject, parameters, seed)
        return named(self, plan, name or self.name).fitted_to(subject)


def named(definition: Definition, plan: Plan, name: str) -> Test:
    """A test whose recordings all belong to ``name``."""
    prefix = f"{name}/"

    def own(measurements: tuple[Measurement, ...]) -> tuple[Measurement, ...]:
        return tuple(replace(m, id=prefix + m.id) for m in measurements)

    def phase_of(phase: Phase | Adaptive) -> Phase | Adaptive:
        if isinstance(phase, Phase):
            return replace(phase, measurements=own(phase.measurements))
        return adaptive_of(phase)

    def adaptive_of(phase: Adaptive) -> Adaptive:
        def following(measured: MeasuredSoFar) -> tuple[Measurement, ...]:
            return own(phase.following(measured.within(prefix)))

        from_round = phase.from_round
        return replace(
            phase,
            first=own(phase.first),
            following=following,
            from_round=from_round and (lambda number: adaptive_of(from_round(number))),
        )

    return Test(
        name=name,
        title=definition.title,
        source=definition.source,
        purpose=definition.purpose,
        parameters=plan.parameters,
        phases=tuple(phase_of(phase) for phase in plan.phases),
        charts=tuple(changed(chart, ids=prefix + chart.ids) for chart in plan.charts),
        skip_reason=plan.skip_reason,
    )
