"""The goals of the probes, and which findings meet them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import scipy

from fourcorners_validation.arena.explain.contest import EXACT, FindingScore, GradedAnswer

# The goals that were set for explanations before the probes were written (docs/explain-arena.md).
FINDINGS_MIN = 20
EXACT_MIN = 0.95
ERROR_MEDIAN_MAX, ERROR_95_MAX = 0.05, 0.15
COVERAGE_MIN, COVERAGE_MAX = 0.85, 0.95
FALSE_MAX = 0.01

CHANCE = 0.05
"""A share of few intervals counts as missed if chance gives it with at most this probability."""


@dataclass(frozen=True)
class Goal:
    """One goal and the findings that it is about."""

    wanted: str
    met: tuple[str, ...]
    missed: tuple[str, ...]
    """Each with its figure."""

    @property
    def asked(self) -> int:
        """Findings that could be counted."""
        return len(self.met) + len(self.missed)


def is_wrong(answer: GradedAnswer, *, discrete: bool) -> bool:
    """Whether the answer is wrong: it is another number, it is "none" or "not applicable" although
    the thing is there, it finds a thing that is not there, its bounds do not hold the truth, or its
    error exceeds the goal's."""
    if answer.value is None:
        return False
    if not answer.truth or not answer.value:
        return bool(answer.truth) != bool(answer.value)
    error = answer.error or 0.0
    if discrete:
        return error >= EXACT
    if answer.bounds and answer.interval is not None:
        return not answer.interval[0] <= answer.truth <= answer.interval[1]
    return error > ERROR_95_MAX


def judge(scores: Sequence[FindingScore]) -> list[Goal]:
    """Every goal, judged over all findings that have something to count for it."""
    return [_goal(wanted, scores, figure, meets) for wanted, figure, meets in _GOALS]


def all_intervals(scores: Sequence[FindingScore]) -> tuple[int, int]:
    """How many 90 % intervals that describe scatter hold the truth, and how many there are."""
    counted = [s for s in scores if s.intervals]
    return sum(round(s.coverage * s.intervals) for s in counted), sum(s.intervals for s in counted)


def _covers(score: FindingScore) -> bool:
    """Whether some coverage of the wanted range explains the one that was counted."""
    held = round(score.coverage * score.intervals)
    few = float(scipy.stats.binom.cdf(held, score.intervals, COVERAGE_MIN))
    many = float(scipy.stats.binom.sf(held - 1, score.intervals, COVERAGE_MAX))
    return few > CHANCE and many > CHANCE


_GOALS: tuple[tuple[str, str, Callable[[FindingScore], bool]], ...] = (
    (f"discrete: at least {100 * EXACT_MIN:.0f} % exact", "exact", lambda s: s.exact >= EXACT_MIN),
    (
        f"continuous: median error at most {100 * ERROR_MEDIAN_MAX:.0f} %",
        "error_median",
        lambda s: s.error_median <= ERROR_MEDIAN_MAX,
    ),
    (
        f"continuous: 95th percentile of the error at most {100 * ERROR_95_MAX:.0f} %",
        "error_95",
        lambda s: s.error_95 <= ERROR_95_MAX,
    ),
    (
        f"90 % intervals: {100 * COVERAGE_MIN:.0f} to {100 * COVERAGE_MAX:.0f} % hold the "
        "truth, or the share differs from this range by no more than chance explains",
        "coverage",
        _covers,
    ),
    ("bounds: all hold the truth", "bounded", lambda s: s.bounded == 1),
    (
        f"found where it is not: at most {100 * FALSE_MAX:.0f} %",
        "false",
        lambda s: s.false <= FALSE_MAX,
    ),
    (
        f"reported as absent although it is there: at most {100 * FALSE_MAX:.0f} %",
        "missed",
        lambda s: s.missed <= FALSE_MAX,
    ),
)
"""The text of each goal, the figure of a score that it concerns, and the test of a score."""


def _goal(
    wanted: str,
    scores: Sequence[FindingScore],
    figure: str,
    meets: Callable[[FindingScore], bool],
) -> Goal:
    asked = [score for score in scores if not math.isnan(getattr(score, figure))]
    return Goal(
        wanted,
        tuple(score.finding for score in asked if meets(score)),
        tuple(
            f"{score.finding} {100 * getattr(score, figure):.3g} %"
            for score in asked
            if not meets(score)
        ),
    )
