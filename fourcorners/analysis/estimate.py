"""How well a run, or several that repeat it, determine a quantity.

Everything is a logarithm, since differences are ratios. Rates and latencies of neighbouring
seconds resemble each other, so the error of one run is that of batch means (Law and Kelton,
Simulation Modeling and Analysis), or of its seconds where it is too short for batches. Latency
quantiles have the bounds of :mod:`~fourcorners.analysis.quantiles`; where the latencies of the
seconds are not known or too few, the order-statistics interval for as many independent I/Os as the
rate's error leaves (Woodruff, JASA 47, 1952). Several runs have the spread that they show, and
never less than each has within.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from fourcorners.analysis.consistency import full_seconds
from fourcorners.analysis.intervals import (
    BATCH_SECONDS_MIN,
    BATCHES,
    batch_means,
    ratio_interval,
    two_sided_t,
)
from fourcorners.analysis.quantiles import quantile_bounds_s
from fourcorners.analysis.quantity import MEAN_LATENCY, Quantity
from fourcorners.analysis.source import Measured

_TAIL_IOS_MIN = 5
"""I/Os beyond a quantile, below which it has no interval."""

ENOUGH_IOS = 30
"""I/Os of a recording from which on they show themselves how much they differ: fewer all miss what
befalls one in ten with a chance of more than 4 %."""

SECOND_IOS_MIN = 10
"""I/Os per second from which seconds differ by what they hold and not by where they end."""


@dataclass(frozen=True)
class Estimate:
    """A logarithm with its standard error (of the logarithm: a relative error)."""

    log: float
    error: float
    degrees_of_freedom: float

    @property
    def value(self) -> float:
        """The quantity itself."""
        return math.exp(self.log)

    def minus(self, other: Estimate) -> Estimate:
        """The ratio of two independent estimates, with Welch's degrees of freedom."""
        own, theirs = self.error**2, other.error**2
        variance = own + theirs
        freedom = math.inf
        if variance > 0:
            freedom = variance**2 / (
                own**2 / self.degrees_of_freedom + theirs**2 / other.degrees_of_freedom
            )
        return Estimate(self.log - other.log, math.sqrt(variance), freedom)

    def interval(self, highest_of: int = 1) -> tuple[float, float]:
        """Bounds of the quantity, meant to cover it with 90 % probability; also if it was chosen as
        the highest of several, which is high by luck."""
        half = two_sided_t(self.degrees_of_freedom, highest_of) * self.error
        return math.exp(self.log - half), math.exp(self.log + half)

    def chance_of_zero(self) -> float:
        """Two-sided probability of a logarithm so far from zero, were it zero."""
        if self.error == 0:
            return 1.0 if self.log == 0 else 0.0
        return float(2 * scipy.stats.t.sf(abs(self.log) / self.error, self.degrees_of_freedom))


def pooled(estimates: Sequence[Estimate]) -> Estimate:
    """One estimate of runs that repeat each other: the mean of their logarithms.

    Raises:
        ValueError: there are none.
    """
    if not estimates:
        raise ValueError("no runs to pool")
    if len(estimates) == 1:
        return estimates[0]
    logs = np.array([estimate.log for estimate in estimates])
    between = float(logs.var(ddof=1))
    within = float(np.mean([estimate.error**2 for estimate in estimates]))
    return Estimate(
        float(logs.mean()), math.sqrt(max(between, within) / len(logs)), len(logs) - 1.0
    )


def averaged(estimates: Sequence[Estimate]) -> Estimate:
    """The geometric mean of different quantities, such as those of the points of a sweep."""
    freedom = min(estimate.degrees_of_freedom for estimate in estimates)
    error = math.sqrt(sum(estimate.error**2 for estimate in estimates)) / len(estimates)
    return Estimate(float(np.mean([estimate.log for estimate in estimates])), error, freedom)


def of_point(point: Measured, quantity: Quantity) -> Estimate | None:
    """The quantity of one recording; ``None`` where the recording has no such value, or 0, or no
    error can be given for it (a maximum, a quantile with too few I/Os beyond it, no histogram)."""
    value = quantity.of(point)
    if not value or quantity.column == "latency_max_s":
        return None
    scatter = _scatter(point)
    if scatter is None:
        return None
    if quantity.percentile is None:
        if quantity.column == MEAN_LATENCY.column:
            scatter = _with_latencies(point, scatter)
        return Estimate(math.log(value), scatter.error, scatter.degrees_of_freedom)
    histogram = point.histogram
    over_time = point.latency_over_time
    bounds = quantile_bounds_s(histogram, over_time, [quantity.percentile / 100])
    if bounds is None:
        return _quantile(point, quantity.percentile, value, scatter)
    below, above = float(bounds[0][0]), float(bounds[1][0])
    if not (below > 0 and above > 0):
        return None
    # A distribution's far side is the longer one: the ratio of two quantiles may go either way.
    reach = max(math.log(value / below), math.log(above / value))
    return Estimate(math.log(value), reach / two_sided_t(BATCHES - 1), BATCHES - 1)


def of_few(point: Measured, alike: Sequence[Measured], quantity: Quantity) -> Estimate | None:
    """The quantity of one recording, whose few I/Os may agree by chance. Its error is no less than
    the standard deviation of the I/Os of all recordings that are ``alike`` and have few, each about
    the mean of its own recording, allows for so many I/Os; ``None`` as of :func:`of_point`."""
    estimate = of_point(point, quantity)
    several = [(one.ios - 1, _deviation(one)) for one in alike if 1 < one.ios < ENOUGH_IOS]
    if estimate is None or point.ios >= ENOUGH_IOS or not several:
        return estimate
    freedom = sum(more for more, _ in several)
    # Of few I/Os the deviation about their own mean is the smaller for it.
    squares = sum((more + 1) * deviation**2 for more, deviation in several)
    error = math.sqrt(squares / freedom / point.ios)
    return estimate if error <= estimate.error else replace(estimate, error=error)


def _deviation(point: Measured) -> float:
    """The standard deviation of its latencies over their mean."""
    low, high, count = point.histogram
    middle = (low + high) / 2
    mean = float(np.average(middle, weights=count)) if count.sum() else 0.0
    if not mean:
        return 0.0
    return math.sqrt(float(np.average((middle - mean) ** 2, weights=count))) / mean


def of_series(per_second: npt.NDArray[np.float64]) -> Estimate | None:
    """The mean of a series, shape (seconds,): by its batch means or, if there are too few seconds
    for them, by the seconds themselves. ``None`` with less than two, if these hold few I/Os each,
    or if the mean is zero."""
    means = batch_means(per_second)
    if means is None:
        if len(per_second) < 2 or per_second.mean() < SECOND_IOS_MIN:
            return None
        means = per_second
    if not means.mean():
        return None
    error = float(means.std(ddof=1)) / math.sqrt(len(means)) / float(means.mean())
    return Estimate(math.log(float(per_second.mean())), error, len(means) - 1)


@dataclass(frozen=True)
class _Scatter:
    """Relative error of the mean rate of a recording."""

    error: float
    degrees_of_freedom: float
    independent_ios: float
    """I/Os that would have this error if they were independent of each other."""


def _scatter(point: Measured) -> _Scatter | None:
    """``None`` without a series or latencies, as in some imported results."""
    low, high, count = point.histogram
    # Programs that are drives may do things, such as flushes, in no time.
    if not len(count) or not float(np.average(low + high, weights=count)):
        return None
    ios = int(count.sum())
    # As independent I/Os: of a closed loop, rate times mean latency is constant.
    relative_deviation = _deviation(point)
    # Of few I/Os the deviation about their own mean is the smaller for it.
    independent = relative_deviation / math.sqrt(max(ios - 1, 1))
    series = np.asarray(point.second_ios, np.float64)
    seconds: npt.NDArray[np.float64] = full_seconds(series, point.elapsed_s)
    spread, degrees_of_freedom = of_series(seconds), float(max(ios - 1, 1))
    if len(seconds) < BATCHES * BATCH_SECONDS_MIN:
        # A few seconds may happen to agree, and one says nothing about the next.
        degrees_of_freedom = max(1.0, min(degrees_of_freedom, len(seconds) - 1))
    if spread is None or spread.error <= independent:
        return _Scatter(independent, degrees_of_freedom, ios)
    like_independent = max(1.0, (relative_deviation / spread.error) ** 2)
    return _Scatter(spread.error, spread.degrees_of_freedom, like_independent)


def _with_latencies(point: Measured, scatter: _Scatter) -> _Scatter:
    """The same, and no less than the error of the mean latency: in a closed loop the two are one,
    but requests that come at their own times may wait longer while the rate stays."""
    ios, mean_s = (
        full_seconds(np.nan_to_num(np.asarray(column, np.float64)), point.elapsed_s)
        for column in (point.second_ios, point.second_latency_mean_s)
    )
    bounds = ratio_interval(ios * mean_s, ios)
    if bounds is None or sum(bounds) <= 0:
        return scatter
    error = (bounds[1] - bounds[0]) / sum(bounds) / two_sided_t(BATCHES - 1)
    return (
        scatter
        if error <= scatter.error
        else replace(scatter, error=error, degrees_of_freedom=BATCHES - 1)
    )


def _quantile(
    point: Measured, percentile: float, value: float, scatter: _Scatter
) -> Estimate | None:
    """Of a recording whose seconds do not show how its latencies varied."""
    share = percentile / 100
    # I/Os that wait together are slow together: as many independent ones as queues full.
    ios = scatter.independent_ios / max(1, point.queue_depth or 1)
    if ios * min(share, 1 - share) < _TAIL_IOS_MIN:
        return None
    low, high, count = point.histogram
    cumulated = np.cumsum(count) / count.sum()
    half = math.sqrt(share * (1 - share) / ios)
    bounds = np.searchsorted(cumulated, [share - half, share + half])
    below, above = low[bounds[0]], high[min(bounds[1], len(high) - 1)]
    # One standard deviation of the share on either side, read off the distribution.
    error = (math.log(above) - math.log(max(below, 1))) / 2
    return Estimate(math.log(value), error, scatter.degrees_of_freedom)
