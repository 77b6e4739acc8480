"""Headline results as checks: each compares measured numbers by a stated rule, and can fail."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from fourcorners.validation.reproduction.experiment import NotRunError, Results
from fourcorners.validation.reproduction.figure import (
    Figure,
    Standing,
    fitted_parameters,
    parameters_fitted_to,
)

CheckVerdict = Literal["holds", "fails", "not run"]


@dataclass(frozen=True)
class Judgement:
    """Whether a rule holds, and the numbers that it was decided by."""

    holds: bool
    measured: str


def all_of(*judgements: Judgement) -> Judgement:
    """Every one of several rules."""
    return Judgement(
        all(judgement.holds for judgement in judgements),
        "; ".join(judgement.measured for judgement in judgements),
    )


def at_least(what: str, value: float, limit: float) -> Judgement:
    """``value >= limit``."""
    return Judgement(value >= limit, f"{what} {_number(value)} (at least {_number(limit)})")


def at_most(what: str, value: float, limit: float) -> Judgement:
    """``value <= limit``."""
    return Judgement(value <= limit, f"{what} {_number(value)} (at most {_number(limit)})")


def between(what: str, value: float, low: float, high: float) -> Judgement:
    """``low <= value <= high``."""
    return Judgement(
        low <= value <= high, f"{what} {_number(value)} ({_number(low)} to {_number(high)})"
    )


def in_order(what: str, *named: tuple[str, float]) -> Judgement:
    """Values that are strictly rising, each with its name."""
    values = [value for _, value in named]
    rising = all(low < high for low, high in itertools.pairwise(values))
    return Judgement(
        rising, f"{what} " + ", ".join(f"{name} {_number(value)}" for name, value in named)
    )


def relative_range(values: Sequence[float]) -> float:
    """Largest less smallest, over the mean."""
    return (max(values) - min(values)) / (sum(values) / len(values))


def worst_deviation(values: Sequence[float], reference: float) -> float:
    """The largest relative distance from a reference."""
    return max(abs(value / reference - 1) for value in values)


@dataclass(frozen=True)
class PublishedCheck:
    """A headline result of a review.

    Args:
        headline: its name, H1 to H36.
        claim: what the review says.
        rule: when the simulation is taken to show it.
        judge: the rule, on results.
        restates: figures that say the same in numbers; what they are fitted to, so is this.
        fitted: drives, and patterns that in their parameters' sources mean this result.
        fitted_test: the test itself, of which the review does not say all, was chosen by this.
        reason: why it fails, where that is known.
    """

    headline: str
    claim: str
    rule: str
    judge: Callable[[Results], Judgement]
    restates: tuple[Figure, ...] = ()
    fitted: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    fitted_test: bool = False
    reason: str | None = None


@dataclass(frozen=True)
class CheckRow:
    """One row of the table of checks."""

    source: str
    check: PublishedCheck
    verdict: CheckVerdict
    measured: str
    standing: Standing
    reason: str | None


def check_row(source: str, check: PublishedCheck, results: Results) -> CheckRow:
    """Judges a check."""
    fitted = (
        check.fitted_test
        or parameters_fitted_to(*check.fitted)
        or any(fitted_parameters(figure) for figure in check.restates)
    )
    standing: Standing = "fitted" if fitted else "predicted"
    try:
        judgement = check.judge(results)
    except NotRunError as absent:
        return CheckRow(source, check, "not run", "", standing, str(absent))
    verdict: CheckVerdict = "holds" if judgement.holds else "fails"
    reason = None if judgement.holds else check.reason
    return CheckRow(source, check, verdict, judgement.measured, standing, reason)


def _number(value: float) -> str:
    if 0 < value < 0.001:
        return "under 0.001"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
