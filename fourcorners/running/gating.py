"""A short run held against runs that were kept: whether a drive, or the way to it, got slower.

How much a target differs from one run to the next is told by runs alone: the seconds of one run
resemble each other. So a baseline is of several runs, and what looks slower is measured several
times before it fails anything. Of a figure of n runs of the baseline and m new ones the logarithms
are compared by Student's t with the spread of both (pooled, n + m - 2 degrees of freedom), and by
Bonferroni at a level that all figures of the gate together stay below :data:`FALSE_ALARMS_MAX`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

import numpy as np
import scipy

from fourcorners.analysis.estimate import of_point
from fourcorners.analysis.quantity import Quantity
from fourcorners.analysis.source import Measured
from fourcorners.comparison import Check, ComparedRuns, Comparison, checks_of, compare, parse_gate
from fourcorners.comparison.comparison import ONE_RUN
from fourcorners.errors import EXIT_FAILED, EXIT_INTERRUPTED, UserError
from fourcorners.input_files import is_file
from fourcorners.running.options import RunOptions
from fourcorners.running.run import run as run_suite
from fourcorners.store import Run
from fourcorners.store.kept_runs import kept_runs
from fourcorners.suites import Suite
from fourcorners.suites.suite import choose_suite
from fourcorners.target.target import Target

SUITE = "ci"
"""The suite that takes under a minute."""

TOLERANCE = 0.1
"""How much slower counts: machines differ by a tenth from one minute to the next."""

RUNS = 3
"""Of a baseline, and of what looks slower: the least whose spread has more than one degree of
freedom of its own."""

FALSE_ALARMS_MAX = 0.05
"""Probability that a build fails although nothing is slower by as much as the tolerance, where
builds differ from each other as the baseline's runs do (tried by benches/gate_alarms.py)."""


@dataclass(frozen=True)
class Gated:
    """Runs against their baseline; without a comparison where they became part of the baseline."""

    runs: tuple[Run, ...]
    comparison: Comparison | None = None

    @property
    def checks(self) -> Sequence[Check]:
        """What was held against the tolerance."""
        return () if self.comparison is None else self.comparison.checks

    @property
    def failed(self) -> list[Check]:
        """What is surely slower than the tolerance allows."""
        return [check for check in self.checks if check.outcome == "failed"]

    @property
    def is_worse(self) -> bool:
        """Whether a build should fail."""
        return bool(self.failed)


def gate(
    target: Target | str,
    baseline: str | Path,
    *,
    suite: Suite | str = SUITE,
    tolerance: float = TOLERANCE,
    write_baseline: bool = False,
    **options: Unpack[RunOptions],
) -> Gated:
    """Runs a short suite on a target and compares it with the runs in a folder: once, and where
    anything looks slower than the tolerance allows, :data:`RUNS` times.

    Args:
        target: an open target, or the locator of one.
        baseline: a run folder or a folder of such, which repeat each other; they tell how much
            the target differs from run to run, which one alone does not.
        suite: name or path of the suite; the runs of the baseline must be of the same one.
        tolerance: how much slower counts, above 0 and below 1.
        write_baseline: :data:`RUNS` runs are kept in ``baseline``, beside those that are there, and
            nothing is compared.
        options: see :class:`fourcorners.running.options.RunOptions`; each further run has the next
            seed.

    Raises :class:`UserError` for bad input, a missing baseline, or a run that did not end well.
    """
    chosen = choose_suite(suite) if isinstance(suite, str) else suite
    kept = prepare_gate(chosen, baseline, tolerance, write_baseline=write_baseline)
    if write_baseline:
        options["out"] = baseline
    first = options.get("seed", 1)

    def measure(seed: int) -> Run:
        options["seed"] = seed
        return run_suite(chosen, target, **options)

    return decide(measure, kept, tolerance, first)


def prepare_gate(
    suite: Suite, baseline: str | Path, tolerance: float, *, write_baseline: bool
) -> list[Run] | None:
    """The runs of the baseline, before time goes into a new one; ``None`` where it is written.

    Raises :class:`UserError`, also where the baseline holds runs of another suite.
    """
    if not 0 < tolerance < 1:
        raise UserError(f"tolerance {tolerance:g}: use more than 0 and less than 1, such as 0.1")
    folder = Path(baseline)
    if write_baseline:
        if is_file(folder / "manifest.json"):
            raise UserError(f"{folder} is a run folder: name a folder for runs as baseline")
        if folder.is_dir():
            _of_one_suite(suite, folder, [one.run for one in kept_runs([folder])])
        return None
    if not folder.is_dir():
        raise UserError(f"there is no baseline in {folder}: make one with --write-baseline first")
    single = is_file(folder / "manifest.json")
    runs = [Run(folder)] if single else [one.run for one in kept_runs([folder])]
    sound = [run for run in runs if run.manifest.status == "complete"]
    if not sound:
        raise UserError(
            f"{folder} holds no run that is complete: make one with --write-baseline first"
        )
    _of_one_suite(suite, folder, sound)
    return sound


def _of_one_suite(suite: Suite, folder: Path, runs: Sequence[Run]) -> None:
    other = next((run for run in runs if run.manifest.suite != suite.name), None)
    if other is not None:
        raise UserError(
            f"the baseline {folder} has a run of {other.manifest.suite} ({other.path.name}), which "
            f"a run of {suite.name} cannot be compared with: name another folder, or give --suite"
        )


def decide(
    measure: Callable[[int], Run], baseline: Sequence[Run] | None, tolerance: float, seed: int
) -> Gated:
    """Measures, once or :data:`RUNS` times, and judges.

    Args:
        measure: makes a run with a seed.
        baseline: the runs to compare with; ``None`` where those that are made become the baseline.
        tolerance: how much slower counts.
        seed: of the first run.

    Raises :class:`UserError` for a run that failed, or that has nothing in common with them.
    """
    runs: list[Run] = []
    for number in range(RUNS):
        runs.append(_sound(measure(seed + number)))
        if baseline is None:
            continue
        gated = judge(runs, baseline, tolerance)
        if number == 0 and all(check.outcome == "passed" for check in gated.checks):
            return gated
    return Gated(tuple(runs)) if baseline is None else gated


def _sound(run: Run) -> Run:
    status = run.manifest.status
    if status != "complete":
        raise UserError(
            f"the measurement did not end well ({status}), nothing was compared: {run.path}",
            EXIT_INTERRUPTED if status == "interrupted" else EXIT_FAILED,
        )
    return run


def judge(runs: Sequence[Run], baseline: Sequence[Run], tolerance: float) -> Gated:
    """Finished runs against those of the baseline.

    Raises :class:`UserError` for runs that have nothing in common with them.
    """
    comparison = compare(ComparedRuns("baseline", baseline), ComparedRuns("this build", runs))
    operations = {key[1] for group in comparison.groups for key in group.keys}
    slower, longer = 1 - tolerance, 1 + tolerance
    texts = [
        *(f"{one}_iops < {slower:.6g} * baseline" for one in sorted(operations)),
        *(f"p99_{one}_latency > {longer:.6g} * baseline" for one in sorted(operations)),
    ]
    # What a drive does in no time, such as a flush that it has no use for, has no latency.
    checks = [check for text in texts for check in checks_of(parse_gate(text), comparison)]
    level = FALSE_ALARMS_MAX / len(checks)
    decided = tuple(_decided(check, comparison, level) for check in checks)
    cautions = _cautions(comparison)
    return Gated(tuple(runs), replace(comparison, cautions=cautions, checks=decided))


def _cautions(comparison: Comparison) -> tuple[str, ...]:
    """Those of the comparison; that one run does not tell the spread only of the baseline."""
    cautions = tuple(text for text in comparison.cautions if not text.startswith(ONE_RUN))
    if len(comparison.baseline.runs) > 1:
        return cautions
    return (
        "The baseline is one run, so only this build's runs show how much the target differs from "
        f"run to run, and less is certain; --write-baseline adds {RUNS} runs.",
        *cautions,
    )


def _decided(check: Check, comparison: Comparison, level: float) -> Check:
    """The check with the interval, and the outcome, that the runs' spread gives."""
    key = (check.recording, check.gate.operation)
    base, own = (comparison.measured[subject.label][key] for subject in comparison.subjects)
    quantity = check.gate.quantity
    bounds = ratio_bounds(
        _logs(base, quantity), _logs(own, quantity), _within(base, own, quantity), level
    )
    if bounds is None:
        return check if check.outcome == "passed" else replace(check, outcome="undecided")
    assert check.gate.factor is not None
    low, high = (check.limit / check.gate.factor * bound for bound in bounds)
    outcome = check.outcome
    if outcome != "passed":
        sure = low > check.limit if check.gate.above else high < check.limit
        outcome = "failed" if sure else "undecided"
    return replace(check, interval=(low, high), outcome=outcome)


def ratio_bounds(
    baseline: Sequence[float], own: Sequence[float], within: float, level: float
) -> tuple[float, float] | None:
    """Bounds of own over baseline from the spread of runs, each missed with probability ``level``.

    Args:
        baseline: the natural logarithm of the figure in each run of the baseline.
        own: the same of the runs that are judged.
        within: the relative standard error that one run shows by itself: runs that happen to agree
            are not surer than that.
        level: one-sided.

    Returns:
        None where there are not two runs on either side, so that nothing tells their spread.
    """
    freedom = len(baseline) + len(own) - 2
    if freedom < 1:
        return None
    squares = sum(float(np.var(side)) * len(side) for side in (baseline, own))
    deviation = max(math.sqrt(squares / freedom), within)
    half = (
        float(scipy.special.stdtrit(freedom, 1 - level))
        * deviation
        * math.sqrt(1 / len(baseline) + 1 / len(own))
    )
    middle = float(np.mean(own) - np.mean(baseline))
    return math.exp(middle - half), math.exp(middle + half)


_Side = Sequence[Measured]


def _logs(side: _Side, quantity: Quantity) -> list[float]:
    return [math.log(value) for point in side if (value := quantity.of(point)) is not None]


def _within(base: _Side, own: _Side, quantity: Quantity) -> float:
    """The mean relative error that runs show by themselves; 0 where it is not known of all."""
    estimates = [of_point(point, quantity) for point in (*base, *own)]
    errors = [estimate.error**2 for estimate in estimates if estimate is not None]
    return math.sqrt(float(np.mean(errors))) if len(errors) == len(estimates) else 0.0
