"""The contest: all probes run on every hidden drive, and their findings are scored."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fourcorners.documents import Count
from fourcorners.finding import RESOLUTION, Finding
from fourcorners.store import Run
from fourcorners_validation.arena.explain.drives import Hidden, draw
from fourcorners_validation.arena.explain.known import known
from fourcorners_validation.arena.explain.noise import as_seen
from fourcorners_validation.arena.explain.truths import TRUTHS, Truth, true_of
from fourcorners_validation.arena.hidden_run import measured
from fourcorners_validation.arena.tables import Figure, Share, mean_of, quantile_of

SUITE = "explain"

EXACT = 1e-9
"""Relative error below which two numbers count as the same."""


@dataclass(frozen=True)
class GradedAnswer:
    """One finding about one drive. ``value`` is ``None`` if it was not identifiable, and 0 if the
    finding was reported not to ``apply``; ``bounds`` means that the interval is a resolution."""

    finding: str
    truth: Figure
    value: Figure | None
    interval: tuple[Figure, Figure] | None
    bounds: bool = False
    applies: bool = True

    @property
    def error(self) -> float | None:
        """Relative error of a thing that is there and was found."""
        if not self.value or self.truth == 0:
            return None
        return abs(self.value / self.truth - 1)


@dataclass(frozen=True)
class ProbedDrive:
    """One drive, with its findings and a sentence about each failure."""

    index: Count
    kind: str
    answers: tuple[GradedAnswer, ...]
    failures: tuple[str, ...]
    noise: Figure = 0.0
    """What disturbed it (:mod:`fourcorners_validation.arena.explain.noise`)."""
    foreign: bool = False
    """Whether it is a drawn drive of other people's design."""


@dataclass(frozen=True)
class FindingScore:
    """The score of one finding. Shares and errors are NaN where there is nothing to count."""

    finding: str
    discrete: bool
    drives: Count
    """Number of drives for which the finding has a truth."""
    exact: Share
    """Share of right values among the values of things that are there; of discrete findings."""
    error_median: Figure
    error_95: Figure
    """95th percentile of the relative errors; of continuous findings, as the median."""
    coverage: Share
    """Share of the 90 % intervals that hold the truth, among those that describe scatter."""
    intervals: Count
    """Number of these intervals."""
    bounded: Share
    """The same of intervals between two points of a sweep, and of tolerances."""
    missed: Share
    """Share of the things that are there but were reported as absent."""
    inapplicable: Share
    """Share of "not applicable"."""
    unidentified: Share
    """Share of "not identifiable"."""
    false: Share
    """Share of the drives without the thing in which it was found nevertheless."""


def run_drive(seed: int, index: int, *, noise: float = 0.0) -> ProbedDrive:
    """Probes one hidden drive, from which the probes get only what any drive shows."""
    return _probed(draw(seed, index), index, noise)


def run_known(seed: int, index: int, *, noise: float = 0.0) -> ProbedDrive:
    """Probes one drive of the catalog."""
    return _probed(known(index, seed), index, noise)


def _probed(hidden: Hidden, index: int, noise: float) -> ProbedDrive:
    with measured(hidden, SUITE, noise=noise) as (probed, _):
        found = graded(index, hidden.kind, probed, as_seen(true_of(hidden), noise))
        return replace(found, noise=noise)


def graded(index: int, kind: str, probed: Run, true: Mapping[str, float]) -> ProbedDrive:
    """Compares the probes' findings about a drive with the truth about it."""
    failures = tuple(
        f"{test.name}: {test.reason}" for test in probed.manifest.tests if test.status == "failed"
    )
    return ProbedDrive(index, kind, answers_of(probed.findings, true), failures)


def answers_of(findings: Sequence[Finding], true: Mapping[str, float]) -> tuple[GradedAnswer, ...]:
    """What findings say of each thing whose truth is known."""
    by_name = {finding.name: finding for finding in findings}
    return tuple(
        _answer(truth, true[truth.finding], by_name.get(truth.finding))
        for truth in TRUTHS
        if truth.finding in true
    )


def _answer(truth: Truth, value: float, finding: Finding | None) -> GradedAnswer:
    if finding is not None and finding.verdict == "not applicable":
        return GradedAnswer(truth.finding, value, 0.0, None, applies=False)
    said = None if finding is None else truth.said(finding)
    if finding is None or said is None:
        return GradedAnswer(truth.finding, value, None, None)
    low_high = finding.interval
    return GradedAnswer(
        truth.finding,
        value,
        said,
        None if low_high is None else (float(low_high[0]), float(low_high[1])),
        bounds=finding.detail.get("interval") == RESOLUTION,
    )


def score(truth: Truth, outcomes: Sequence[ProbedDrive]) -> FindingScore:
    """The score of the finding over these drives."""
    answers = [a for outcome in outcomes for a in outcome.answers if a.finding == truth.finding]
    there = [a for a in answers if a.truth != 0]
    absent = [a for a in answers if a.truth == 0]
    said = [a for a in there if a.value is not None]
    errors = np.array([a.error for a in said if a.error is not None])
    covered = {
        bounds: [
            a.interval[0] <= a.truth <= a.interval[1]
            for a in said
            if a.value != 0 and a.interval is not None and a.bounds == bounds
        ]
        for bounds in (False, True)
    }
    return FindingScore(
        finding=truth.finding,
        discrete=truth.discrete,
        drives=len(answers),
        exact=mean_of(list(errors < EXACT)) if truth.discrete else math.nan,
        error_median=math.nan if truth.discrete else quantile_of(errors, 0.5),
        error_95=math.nan if truth.discrete else quantile_of(errors, 0.95),
        coverage=math.nan if truth.discrete else mean_of(covered[False]),
        intervals=0 if truth.discrete else len(covered[False]),
        bounded=math.nan if truth.discrete else mean_of(covered[True]),
        missed=mean_of([a.value == 0 for a in said]),
        inapplicable=mean_of([not a.applies for a in answers]),
        unidentified=mean_of([a.value is None for a in answers]),
        false=mean_of([bool(a.value) for a in absent]),
    )
