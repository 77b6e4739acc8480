"""Truth and finding side by side, for people."""

from collections.abc import Sequence

from fourcorners import wording
from fourcorners.analysis.internals.catalog import CATALOG, ValueKind
from fourcorners.finding import PRESENCE
from fourcorners_validation.arena.explain.contest import GradedAnswer, ProbedDrive
from fourcorners_validation.arena.explain.goals import Standard, is_wrong
from fourcorners_validation.arena.explain.truths import KINDS_TOLD, TRUTHS

HEADER = ("drive", "finding", "truth", "reported", "interval", "")

_UNITS = {row.name: row.unit for row in CATALOG}
_WHOLE = {row.name for row in CATALOG if row.kind is ValueKind.DISCRETE and row.unit == "1"}
_DISCRETE = {truth.finding: truth.discrete for truth in TRUTHS}


def shown(finding: str, value: float | None) -> str:
    """A value of a finding as people read it."""
    if value is None:
        return "not identifiable"
    if finding == "explanation":
        return KINDS_TOLD[round(value) - 1]
    unit = _UNITS[finding]
    if unit == PRESENCE:
        return "yes" if value else "no"
    if finding in _WHOLE:
        return f"{value:,.0f}"
    return wording.quantity(value, unit) if value else "none"


def rows(
    drives: Sequence[str], outcomes: Sequence[ProbedDrive], standard: Standard
) -> list[tuple[str, ...]]:
    """A row for each answer."""
    return [
        (
            drives[outcome.index],
            answer.finding,
            shown(answer.finding, answer.truth),
            shown(answer.finding, answer.value) if answer.applies else "not applicable",
            wording.interval(answer.interval, _UNITS.get(answer.finding)),
            _verdict(answer, standard),
        )
        for outcome in outcomes
        for answer in outcome.answers
    ]


def _verdict(answer: GradedAnswer, standard: Standard) -> str:
    if answer.value is None:
        return ""
    wrong = is_wrong(answer, discrete=_DISCRETE[answer.finding], standard=standard)
    return "WRONG" if wrong else "right"
