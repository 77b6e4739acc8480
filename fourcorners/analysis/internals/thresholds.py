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
"""How often each of these tests may say by chance what is not so: whether reads drift, two places
are on different dies, waits come at equal distances, or two ways to one number disagree."""

_SCATTER = 0.04
"""Standard deviation of the logarithm of a rate about that of its die: pages of one die take unlike
times, which more reads do not make alike. A choice, as simulated dies do not scatter at all."""

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
"""Time over that of one page from which a read takes two of them: twice the array's time, but once
what a command takes beside it, which makes it less than two."""


def disagree(
    one: float, interval: tuple[float, float], other: float, other_interval: tuple[float, float]
) -> bool:
    """Whether two estimates of one number, with their intervals, are further apart than chance has
    them in :data:`FALSE_ALARM` of such pairs."""
    halves = [(high - low) / 2 for low, high in (interval, other_interval)]
    error = math.hypot(*halves) / two_sided_t(math.inf)
    return abs(one - other) > float(scipy.stats.norm.isf(FALSE_ALARM / 2)) * error


def points_min(parameters: int) -> int:
    """Points that a model of so many parameters needs: as many again tell whether it holds."""
    return 2 * parameters
