"""What a series of operations per second says about a drive's consistency.

The test and its reading, a fresh plateau, a cliff and a steady state, are those of AnandTech's
OCZ Vector review (2012-11); the last 400 s scored by mean and mean / standard deviation come from
its later editions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from fourcorners.recording.arrays import Floats

STEADY_SECONDS, STEADY_SHARE = 400, 0.2
"""What the reviews' later editions score: the last 400 of 2,000 seconds, or as large a share of a
shorter run."""

CLIFF_RATIO_MIN = 1.25
"""Rate before over rate after from which a change is called a cliff."""

SLOW_SHARE = 0.5
"""Of the median or the mean second, whichever is more: what is slower counts as that slow, so that
stalls and bursts of collection do not weigh more than the two levels of a series; a drive that
stands still in most seconds has no median. Of 2,000 level series of 24 seconds 1.4 to 2.6 % had a
cliff, whether their logarithms scattered by 0.2, 0.5 or 1, or most of their seconds were empty; of
64 seconds 1.2 % at most."""

DRIFT_MAX = 0.10
"""Change of the fitted line across the steady window, relative to its mean, that still counts as
steady: the slope criterion of the SNIA Performance Test Specification."""

SAME_SHARE_MIN = 0.7
"""Slowest over usual rate of a few seconds from which a series is the same all the time: what a
person does not notice."""

_SEGMENT_SECONDS_MIN, _FIRST_SECONDS_MIN = 3, 2
"""Of a level, the fewest whose median one odd second does not decide; and of the first: a cache may
be full so soon. One fast second alone is none: the lower of two decides."""

_RATE_FLOOR_IOPS = 0.5
"""A second without a completion has no logarithm: half an I/O stands for none."""


@dataclass(frozen=True)
class Steady:
    """Statistics of the last seconds of a series."""

    first_second: int
    mean_iops: float
    deviation_iops: float
    worst_second_iops: float
    below_half_median_share: float
    drift: float
    """Change of the fitted line across the window over its mean; 0 where chance explains it."""

    @property
    def coefficient_of_variation(self) -> float | None:
        """Standard deviation over mean."""
        return self.deviation_iops / self.mean_iops if self.mean_iops else None

    @property
    def mean_over_deviation(self) -> float | None:
        """The later editions' score; ``None`` for a series without any spread."""
        return self.mean_iops / self.deviation_iops if self.deviation_iops else None


def full_seconds(iops: Floats, elapsed_s: float) -> Floats:
    """The series without its last second unless that lasted a whole one, shape (seconds,)."""
    return iops[: math.floor(elapsed_s)]


def find_cliff(iops: Floats) -> int | None:
    """The second in which the rate drops from a first to a lower second level.

    The two-segment, piecewise constant least-squares fit to log IOPS over all change points
    (the single change point of Bai, 1997). A drop counts if the medians of both sides differ by
    :data:`CLIFF_RATIO_MIN` and the fit beats a constant by the Bayesian information criterion.

    Args:
        iops: shape (seconds,), full seconds.

    Returns:
        Index of the first second after the cliff; ``None`` if there is no cliff.
    """
    seconds = len(iops)
    if seconds < 2 * _SEGMENT_SECONDS_MIN:
        return None
    # A stalled second has no logarithm, and one is no level: it counts as a slow second.
    floor = max(_RATE_FLOOR_IOPS, SLOW_SHARE * max(float(np.median(iops)), float(iops.mean())))
    rate_log = np.log(np.maximum(iops, floor))
    rate_log = rate_log - rate_log.mean()
    before = np.arange(_FIRST_SECONDS_MIN, seconds - _SEGMENT_SECONDS_MIN + 1)
    sums = np.cumsum(rate_log)[before - 1]
    # With the overall mean at zero both segments' explained squares follow from the first's sum.
    explained = np.where(sums > 0, sums**2 * (1 / before + 1 / (seconds - before)), 0.0)
    best = int(np.argmax(explained))
    total = float(np.sum(rate_log**2))
    left = max(total - float(explained[best]), 1e-12 * total)
    if total == 0 or seconds * math.log(total / left) <= 3 * math.log(seconds):
        return None
    cliff = int(before[best])
    before_iops = float(np.sort(iops[:cliff])[(cliff - 1) // 2])  # the lower median
    after_iops = max(float(np.median(iops[cliff:])), _RATE_FLOOR_IOPS)
    if before_iops < CLIFF_RATIO_MIN * after_iops:
        return None
    # The first level may be shorter than a segment has to be.
    while cliff > 1 and iops[cliff - 1] ** 2 < before_iops * after_iops:
        cliff -= 1
    return cliff


def steady(iops: Floats) -> Steady:
    """Statistics of the last 400 s, or of the last fifth of a run shorter than 2000 s.

    Args:
        iops: shape (seconds,), full seconds, at least one.
    """
    window = max(1, min(STEADY_SECONDS, round(STEADY_SHARE * len(iops))))
    last = iops[-window:]
    mean = float(last.mean())
    median = float(np.median(last))
    return Steady(
        first_second=len(iops) - window,
        mean_iops=mean,
        deviation_iops=float(last.std()),
        worst_second_iops=float(last.min()),
        below_half_median_share=float(np.mean(last < median / 2)),
        drift=_drift(last, mean),
    )


def _drift(window: Floats, mean: float) -> float:
    if len(window) < 3 or mean == 0 or float(np.ptp(window)) == 0:
        return 0.0
    line = scipy.stats.linregress(np.arange(len(window)), window)
    return float(line.slope) * len(window) / mean if line.pvalue < 0.01 else 0.0


def fastest_iops(iops: Floats) -> float:
    """Mean of the fastest seconds in a row, as many as the shortest level has."""
    return float(_rolling(iops).max())


def is_same_throughout(iops: Floats, usual_iops: float) -> bool:
    """Whether no few seconds in a row, from the first on, differ much from the usual rate."""
    rates = _rolling(iops)
    slowest, fastest = float(rates.min()), float(rates.max())
    return slowest >= SAME_SHARE_MIN * usual_iops and usual_iops >= SAME_SHARE_MIN * fastest


def _rolling(iops: Floats) -> Floats:
    count = min(_SEGMENT_SECONDS_MIN, len(iops))
    return np.convolve(iops, np.ones(count) / count, mode="valid")


def longest_stall_s(iops: Floats) -> int:
    """Longest row of seconds without a completion."""
    longest = current = 0
    for stalled in iops == 0:
        current = current + 1 if stalled else 0
        longest = max(longest, current)
    return longest
