"""Thresholds and tests that several estimators share, each with what chose it.

docs/thresholds.md has what each constant of the estimators decides on hidden drives.
"""

import math

import scipy

from fourcorners.analysis.intervals import two_sided_t

UNSURE = 0.25
"""A quarter is the largest relative half width at which a value is reported, the largest relative
difference of two estimates that are of one count, and the most by which other load may shift reads.
A choice: a quantity that may as well be a quarter more or less does not tell one drive from the
next."""

FALSE_ALARM = 1e-3
"""The chance that each of these tests may have of a false alarm: that reads drift, that two places
are on different dies, that waits come at equal distances, or that two estimates disagree."""

_SCATTER = 0.04
"""The standard deviation of the logarithm of a rate about that of its die: pages of a die differ in
their times, and more reads do not change this. It is a choice: simulated dies do not scatter."""

_GAIN_LOG = math.log(4 / 3)
# Wald's sequential test of the two (Annals of Mathematical Statistics 16, 1945): between its bounds
# neither is said, and beyond them a wrong answer has at most the chance of FALSE_ALARM.
_BOUNDS = [
    _GAIN_LOG / 2 + sign * _SCATTER**2 * math.log(FALSE_ALARM) / _GAIN_LOG for sign in (1, -1)
]

ALIKE, APART = (math.exp(bound) for bound in _BOUNDS)
"""Ratio of the rate of two places over one's, up to which and from which both are on one die and on
two: 1 or, as even a queue of two commands gives in the mean, 4/3 (``drive/sim`` and theory alike).
Up to the former times of any one thing are alike, within 2.6 of those standard deviations."""

TWICE = 1.93
"""A read takes two pages if it lasts this many times as long as a read of one page. The factor is
less than two, since the array's time counts twice but the rest of a command only once."""


def disagree(
    one: float, interval: tuple[float, float], other: float, other_interval: tuple[float, float]
) -> bool:
    """Whether two estimates of one number, with their intervals, are further apart than chance has
    them in :data:`FALSE_ALARM` of such pairs."""
    halves = [(high - low) / 2 for low, high in (interval, other_interval)]
    error = math.hypot(*halves) / two_sided_t(math.inf)
    return abs(one - other) > float(scipy.stats.norm.isf(FALSE_ALARM / 2)) * error


def points_min(parameters: int) -> int:
    """The points that a model with so many parameters needs: as many again test the model."""
    return 2 * parameters
