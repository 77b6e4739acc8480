"""Headline results as checks. Each compares measured numbers by a stated rule, and can fail."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import msgspec

from fourcorners_validation.reproduction.experiment import NotRunError, Results
from fourcorners_validation.reproduction.expressions import value_of
from fourcorners_validation.reproduction.figure import (
    STANDINGS,
    Figure,
    FigureRow,
    Standing,
    drive_name,
    fitted_parameters,
    parameters_fitted_to,
)
from fourcorners_validation.reproduction.recorded import Names, Recorded

CheckVerdict = Literal["holds", "fails", "not run"]


class Rule(msgspec.Struct, forbid_unknown_fields=True):
    """An expression, its meaning, and the limits of its value.

    ``each`` are drives for which the rule is read in turn, as ``each`` in the expression, and
    ``{each}`` or, by its name, ``{drive}`` in ``what``. Rules with the same ``each`` that stand
    together are read for one drive after the other.
    """

    what: str
    value: str = msgspec.field(name="is")
    low: float | None = msgspec.field(name="from", default=None)
    high: float | None = msgspec.field(name="to", default=None)
    each: str | list[str] = []


class Fitted(msgspec.Struct, forbid_unknown_fields=True):
    """Drives, and patterns that in their parameters' sources mean a result."""

    drives: list[str] = []
    words: list[str] = []


class CheckTable(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """A headline result of a review, as a source's file describes it.

    Args:
        headline: its name, H1 to H36.
        claim: what the review says.
        rule: the condition on which the simulation counts as showing it.
        rules: the same condition, as expressions over results.
        restates: figures that say the same in numbers; if they are fitted, so is this.
        fitted: what shows that the result was fitted.
        fitted_test: whether details of the test that the review omits were chosen by this.
        reason: why it fails, if that is known.
    """

    headline: str
    claim: str
    rule: str
    rules: list[Rule]
    restates: list[str] = []
    fitted: Fitted = msgspec.field(default_factory=Fitted)
    fitted_test: bool = False
    reason: str | None = None


@dataclass(frozen=True)
class PublishedCheck:
    """A headline result, with the figures that it restates."""

    names: Names
    table: CheckTable
    restates: tuple[Figure, ...]

    @property
    def is_fitted(self) -> bool:
        """Whether the test, an equivalent figure or a parameter was chosen by this result."""
        drives = [self.names.drives[self.names.source][name] for name in self.table.fitted.drives]
        return (
            self.table.fitted_test
            or bool(parameters_fitted_to(drives, self.table.fitted.words))
            or any(fitted_parameters(figure) for figure in self.restates)
        )

    def judge(self, results: Results) -> tuple[bool, str]:
        """Whether every rule holds, and the numbers that it was decided by; raises
        :class:`NotRunError`."""
        recorded = Recorded(self.names, results)
        judged = [_judged(rule, each, recorded) for rule, each in self._read()]
        return all(holds for holds, _ in judged), "; ".join(words for _, words in judged)

    def _read(self) -> Iterator[tuple[Rule, str]]:
        for each, rules in itertools.groupby(self.table.rules, key=lambda rule: rule.each):
            group = list(rules)
            for drive in self.names.listed(each) if each else [""]:
                yield from ((rule, drive) for rule in group)


def _judged(rule: Rule, each: str, recorded: Recorded) -> tuple[bool, str]:
    value = value_of(rule.value, recorded, each=each)
    what = rule.what
    if each:
        name = drive_name(recorded.names.drives[recorded.names.source][each])
        what = what.replace("{each}", each).replace("{drive}", name)
    low, high = rule.low, rule.high
    holds = (low is None or value >= low) and (high is None or value <= high)
    return holds, f"{what} {_number(value)} ({_limits(low, high)})"


def _limits(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return f"at least {_number(low)}" if low is not None else f"at most {_number(high or 0.0)}"
    return f"{_number(low)} to {_number(high)}"


@dataclass(frozen=True)
class CheckRow:
    """One row of the table of checks."""

    source: str
    check: CheckTable
    verdict: CheckVerdict
    measured: str
    standing: Standing
    reason: str | None


Row = TypeVar("Row", FigureRow, CheckRow)


def by_standing(source: str, rows: Sequence[Row]) -> list[tuple[Standing, list[Row]]]:
    """A source's rows, predictions first."""
    own = [row for row in rows if row.source == source]
    groups = [(kind, [row for row in own if row.standing == kind]) for kind in STANDINGS]
    return [(kind, some) for kind, some in groups if some]


def check_row(source: str, check: PublishedCheck, results: Results) -> CheckRow:
    """Judges a check."""
    standing: Standing = "fitted" if check.is_fitted else "predicted"
    try:
        holds, measured = check.judge(results)
    except NotRunError as absent:
        return CheckRow(source, check.table, "not run", "", standing, str(absent))
    verdict: CheckVerdict = "holds" if holds else "fails"
    reason = None if holds else check.table.reason
    return CheckRow(source, check.table, verdict, measured, standing, reason)


def _number(value: float) -> str:
    if 0 < value < 0.001:
        return "under 0.001"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
