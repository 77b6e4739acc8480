"""What an estimator gives: a value with its interval, or a code that says why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fourcorners.analysis.internals.assumptions import Assumption, AssumptionCheck
from fourcorners.finding import RESOLUTION, Verdict
from fourcorners.sentences import Said


@dataclass(frozen=True)
class Answer:
    """``interval`` as of a :class:`~fourcorners.finding.Finding`; ``evidence`` is ``None``
    for all recordings that the question rests on."""

    verdict: Verdict
    said: Said
    value: float | None = None
    interval: tuple[float, float] | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    evidence: Sequence[str] | None = None
    checks: Sequence[AssumptionCheck] = ()
    """The assumptions of the finding that were tested, or that the answer does not need."""

    def checked(
        self,
        assumption: Assumption,
        holds: bool | None,
        evidence: Sequence[str] = (),
        *,
        covered: bool = False,
    ) -> Answer:
        """The answer with the test of an assumption. A value whose assumption fails becomes "not
        identifiable", unless its interval covers the alternatives.

        Args:
            assumption: what was tested.
            holds: whether it holds; ``None`` where the answer does not depend on it.
            evidence: the recordings on which it was tested.
            covered: whether the interval includes what the assumption may change.
        """
        check = AssumptionCheck(assumption, holds, tuple(evidence), covered)
        return replace(self, checks=(*self.checks, check))


def known(
    value: float,
    said: Said,
    *,
    interval: tuple[float, float] | None = None,
    bounds: tuple[float, float] | None = None,
    detail: Mapping[str, Any] | None = None,
    evidence: Sequence[str] | None = None,
) -> Answer:
    """An answer with a value. It takes either ``interval``, which is about chance, or ``bounds``,
    which always contain the truth, such as a sweep's resolution or a tolerance."""
    if bounds is not None:
        detail, interval = {**(detail or {}), "interval": RESOLUTION}, bounds
    return Answer("measured", said, float(value), interval, detail or {}, evidence)


def unknown(
    said: Said,
    *,
    detail: Mapping[str, Any] | None = None,
    evidence: Sequence[str] | None = None,
) -> Answer:
    """An answer without a value, with the reason."""
    return Answer("not identifiable", said, None, None, detail or {}, evidence)


def inapplicable(
    said: Said,
    *,
    detail: Mapping[str, Any] | None = None,
    evidence: Sequence[str] | None = None,
) -> Answer:
    """The answer to a question that does not apply to this drive."""
    return Answer("not applicable", said, None, None, detail or {}, evidence)


def yes_or_no(yes: bool | None, said: Said, **about: Any) -> Answer:
    """An answer that says whether something is there; ``None`` stands for an unknown answer."""
    return unknown(said, **about) if yes is None else known(float(yes), said, **about)


def about(value: float, half_width: float) -> tuple[float, float]:
    """The interval that extends by the half width to either side of the value."""
    return value - half_width, value + half_width
