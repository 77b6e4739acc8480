"""The goals of the probes, and which findings meet them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import scipy

from fourcorners_validation.arena.explain.contest import EXACT, FindingScore, GradedAnswer

FINDINGS_MIN = 20
"""How many findings the goals asked for."""


@dataclass(frozen=True)
class Standard:
    """What was asked of the findings about a kind of drives, before the probes were graded."""

    exact_min: float
    """Share of right values of a discrete finding."""
    error_median_max: float
    error_95_max: float
    """Of relative errors of a continuous finding."""
    coverage_min: float
    coverage_max: float
    """Share of the 90 % intervals that hold the truth."""
    false_max: float
    """Share of false claims: found where it is not, or absent where it is."""


OWN = Standard(0.95, 0.05, 0.15, 0.85, 0.95, 0.01)
"""Of drives of this project's simulator."""
FOREIGN = Standard(0.95, 0.10, 0.25, 0.85, 1, 0.02)
"""Of drives that others designed."""
UNIDENTIFIED_MAX = 0.5
"""Share of what a foreign drive raises that may be not identifiable."""

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


def is_wrong(answer: GradedAnswer, *, discrete: bool, standard: Standard = OWN) -> bool:
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
    return error > standard.error_95_max


def judge(scores: Sequence[FindingScore], standard: Standard = OWN) -> list[Goal]:
    """Every goal, judged over all findings that have something to count for it."""
    return [_goal(wanted, scores, figure, meets) for wanted, figure, meets in _goals(standard)]


def all_intervals(scores: Sequence[FindingScore]) -> tuple[int, int]:
    """How many 90 % intervals that describe scatter hold the truth, and how many there are."""
    counted = [s for s in scores if s.intervals]
    return sum(round(s.coverage * s.intervals) for s in counted), sum(s.intervals for s in counted)


def _covers(score: FindingScore, standard: Standard) -> bool:
    """Whether some coverage of the wanted range explains the one that was counted."""
    held = round(score.coverage * score.intervals)
    few = float(scipy.stats.binom.cdf(held, score.intervals, standard.coverage_min))
    many = float(scipy.stats.binom.sf(held - 1, score.intervals, standard.coverage_max))
    return few > CHANCE and many > CHANCE


def _goals(of: Standard) -> list[tuple[str, str, Callable[[FindingScore], bool]]]:
    """The text of each goal, the figure of a score that it concerns, and the test of a score."""
    upper = f" to {100 * of.coverage_max:.0f} %" if of.coverage_max < 1 else " % or more"
    return [
        (
            f"discrete: at least {100 * of.exact_min:.0f} % exact",
            "exact",
            lambda s: s.exact >= of.exact_min,
        ),
        (
            f"continuous: median error at most {100 * of.error_median_max:.0f} %",
            "error_median",
            lambda s: s.error_median <= of.error_median_max,
        ),
        (
            f"continuous: 95th percentile of the error at most {100 * of.error_95_max:.0f} %",
            "error_95",
            lambda s: s.error_95 <= of.error_95_max,
        ),
        (
            f"90 % intervals: {100 * of.coverage_min:.0f}{upper} hold the "
            "truth, or the share differs from this range by no more than chance explains",
            "coverage",
            lambda s: _covers(s, of),
        ),
        ("bounds: all hold the truth", "bounded", lambda s: s.bounded == 1),
        (
            f"found where it is not: at most {100 * of.false_max:.0f} %",
            "false",
            lambda s: s.false <= of.false_max,
        ),
        (
            f"reported as absent although it is there: at most {100 * of.false_max:.0f} %",
            "missed",
            lambda s: s.missed <= of.false_max,
        ),
    ]


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
