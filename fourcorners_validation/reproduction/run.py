"""Runs the experiments on several drives at a time, and derives figures and checks from them."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from typing import Any

from fourcorners import catalog
from fourcorners.errors import UserError
from fourcorners.running.precondition import write_until_steady
from fourcorners.suites.steps import Fill, Purge, Restore, SteadyWrites, Step, Trim
from fourcorners.target.open import open_target
from fourcorners.target.simulated import SimulatedTarget
from fourcorners_validation.reproduction.checks import CheckRow, CheckVerdict, check_row
from fourcorners_validation.reproduction.experiment import Experiment, Results, SimulatedResult
from fourcorners_validation.reproduction.figure import FigureRow, Standing, figure_row
from fourcorners_validation.reproduction.source import SOURCES, Source
from fourcorners_validation.study import Written

SEED = 1


@dataclass(frozen=True)
class PrintedCheck:
    """A headline result of a review, and what the simulation shows of it."""

    headline: str
    claim: str
    rule: str
    source: str
    measured: str
    standing: Standing
    verdict: CheckVerdict
    reason: str | None


@dataclass(frozen=True)
class ReproductionDocument:
    """What ``reproduce --json`` prints."""

    figures: Sequence[FigureRow]
    checks: Sequence[PrintedCheck]


@dataclass(frozen=True)
class Reproduction(Written):
    """The whole result: measured numbers, and the two tables derived from them."""

    sources: tuple[Source, ...]
    results: Results
    figures: tuple[FigureRow, ...]
    checks: tuple[CheckRow, ...]

    @property
    def unexplained(self) -> int:
        """How many figures are missed and checks fail for which no reason is known."""
        return sum(row.verdict == "missed" and not row.reason for row in self.figures) + sum(
            row.verdict == "fails" and not row.reason for row in self.checks
        )

    def to_dict(self) -> dict[str, Any]:
        """The tables as a :class:`ReproductionDocument`."""
        checks = [
            PrintedCheck(
                headline=row.check.headline,
                claim=row.check.claim,
                rule=row.check.rule,
                source=row.source,
                measured=row.measured,
                standing=row.standing,
                verdict=row.verdict,
                reason=row.reason,
            )
            for row in self.checks
        ]
        return vars(ReproductionDocument(self.figures, checks))


def run_sources(
    executor: Executor,
    *,
    sources: Sequence[str] = tuple(SOURCES),
    scale: float = 1.0,
    progress: Callable[[str, int, int], None] | None = None,
) -> Reproduction:
    """Runs every experiment of the sources and judges its results.

    Args:
        executor: where drives run; each takes up to 1 GB of memory.
        sources: names out of :data:`SOURCES`.
        scale: factor on all durations; below 1 the figures are left more to chance.
        progress: called with what ended, how many did, and how many there are.

    Raises:
        UserError: a source that does not exist.
    """
    for name in sources:
        if name not in SOURCES:
            raise UserError(f'no source named "{name}": use one of {", ".join(SOURCES)}')
    chosen = tuple(source for source in SOURCES.values() if source.name in sources)
    results = run_experiments(
        [experiment for source in chosen for experiment in source.experiments],
        executor,
        scale,
        progress,
    )
    return Reproduction(
        sources=chosen,
        results=results,
        figures=tuple(
            figure_row(source.name, figure, results)
            for source in chosen
            for figure in source.figures
        ),
        checks=tuple(
            check_row(source.name, check, results) for source in chosen for check in source.checks
        ),
    )


def run_experiments(
    experiments: Iterable[Experiment],
    executor: Executor,
    scale: float = 1.0,
    progress: Callable[[str, int, int], None] | None = None,
) -> Results:
    """Measures on the drives of the catalog; ``absent`` names the experiments without a drive."""
    absent: dict[str, str] = {}
    futures = {}
    for experiment in experiments:
        try:
            catalog.load(experiment.drive)
        except UserError:
            absent[experiment.key] = f"{experiment.drive} is not in the catalog"
        else:
            futures[executor.submit(run_experiment, experiment, scale)] = experiment
    measured = {}
    for done, future in enumerate(as_completed(futures), start=1):
        key = futures[future].key
        measured[key] = future.result()
        if progress is not None:
            progress(key, done, len(futures))
    return Results(measured, absent)


def run_experiment(experiment: Experiment, scale: float = 1.0) -> dict[str, SimulatedResult]:
    """One drive through all phases of an experiment; recordings by their id."""
    measured = {}
    with open_target(
        f"sim:{experiment.drive}", settings=dict(experiment.settings), seed=SEED
    ) as target:
        assert isinstance(target, SimulatedTarget)
        for phase in experiment.plan(target.capacity_bytes, scale):
            for step in phase.preparation:
                _prepare(target, step)
            for measurement in phase.measurements:
                measured[measurement.id] = SimulatedResult.of(
                    measurement, target.run(measurement.workload)
                )
    return measured


def _prepare(target: SimulatedTarget, step: Step) -> None:
    if isinstance(step, Purge):
        target.purge()
    elif isinstance(step, Trim):
        target.trim(0, target.capacity_bytes)
    elif isinstance(step, Fill):
        # Earlier writes to a plain disk do not change later results.
        for workload in step.workloads(SEED) if target.keeps_state else ():
            target.run(workload)
    elif isinstance(step, Restore):
        target.restore()
    elif isinstance(step, SteadyWrites):
        if target.keeps_state:
            write_until_steady(
                target.run,
                step.stream,
                span_bytes=step.count,
                capacity_bytes=target.capacity_bytes,
                seed=SEED,
            )
    else:
        target.idle(step.duration_s)
