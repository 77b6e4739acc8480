"""Intervals of means; each is two-sided and meant to cover the truth with 90 % probability."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt
import scipy

COVERAGE = 0.90
"""Probability that an interval covers the truth, for every finding."""

BATCHES = 10
"""Batches per series: enough for a stable spread, few enough to keep them long."""

BATCH_SECONDS_MIN = 2
"""Seconds of a batch, at least."""


@cache
def two_sided_t(degrees_of_freedom: float, parts: int = 1) -> float:
    """Student's t for :data:`COVERAGE`, or where what is outside of it is in so many equal parts,
    one for each of several estimates of which one was chosen (Bonferroni)."""
    outside = (1 - COVERAGE) / parts
    return float(scipy.stats.t.ppf(1 - outside / 2, degrees_of_freedom))


def middle(low: float, high: float) -> float:
    """The value between two bounds that is off by the least share of the true one, whichever of
    both that is: the harmonic mean. It is off by ``(high - low) / (high + low)``. Between bounds
    that are not both positive it is the mean."""
    return 2 / (1 / low + 1 / high) if low > 0 else (low + high) / 2


def chance_log_ratio(ios: int, other_ios: int) -> float:
    """How far, as a logarithm, chance alone may take the ratio of two rates: three standard
    deviations of two counts of I/Os, taken as Poisson.
    """
    return 3 * math.sqrt(1 / ios + 1 / other_ios)


def batch_means(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
    """Means of :data:`BATCHES` equal stretches of a series, which are nearly independent though
    its neighbours resemble each other (Law and Kelton, Simulation Modeling and Analysis).

    Args:
        values: shape (seconds,), any unit.

    Returns:
        Shape (batches,), in the unit of ``values``; ``None`` if the series is too short.
    """
    length = len(values) // BATCHES
    if length < BATCH_SECONDS_MIN:
        return None
    # The remainder is dropped at the front, where start-up effects are.
    means: npt.NDArray[np.float64] = (
        values[-length * BATCHES :].reshape(BATCHES, length).mean(axis=1)
    )
    return means


def batch_means_interval(values: npt.NDArray[np.float64]) -> tuple[float, float] | None:
    """Interval of the mean of a series, by its :func:`batch_means`.

    Args:
        values: shape (seconds,), any unit.

    Returns:
        Lower and upper bound in the unit of ``values``; ``None`` if the series is too short.
    """
    means = batch_means(values)
    if means is None:
        return None
    half = two_sided_t(BATCHES - 1) * float(means.std(ddof=1)) / math.sqrt(BATCHES)
    centre = float(values.mean())
    return centre - half, centre + half


def ratio_interval(
    sums: npt.NDArray[np.float64], counts: npt.NDArray[np.float64]
) -> tuple[float, float] | None:
    """Interval of a mean that is known by the second, such as latency: sums over counts, from
    batches of seconds as in :func:`batch_means`.

    Args:
        sums, counts: shape (seconds,).

    Returns:
        Lower and upper bound in the unit of a sum; ``None`` if there are too few seconds or counts.
    """
    batches = batch_means(sums), batch_means(counts)
    # Batches leave out the first seconds where they do not divide: all that was may lie in these.
    if batches[0] is None or batches[1] is None or not batches[1].any():
        return None
    centre = float(sums.sum() / counts.sum())
    spread = batches[0] - centre * batches[1]
    error = math.sqrt(float((spread**2).sum()) / (BATCHES - 1) / BATCHES) / float(batches[1].mean())
    half = two_sided_t(BATCHES - 1) * error
    return centre - half, centre + half


def histogram_mean_error(
    low_ns: npt.NDArray[np.int64], high_ns: npt.NDArray[np.int64], count: npt.NDArray[np.int64]
) -> float | None:
    """Half width, in seconds, of the interval of the mean latency of independent I/Os.

    Args:
        low_ns, high_ns, count: shape (buckets,), as in ``histograms.parquet``.

    Returns:
        ``None`` with fewer than two I/Os.
    """
    total = int(count.sum())
    if total < 2:
        return None
    middle_s = (low_ns + high_ns) / 2 * 1e-9
    mean_s = float(np.average(middle_s, weights=count))
    variance = float(np.average((middle_s - mean_s) ** 2, weights=count)) * total / (total - 1)
    return two_sided_t(total - 1) * math.sqrt(variance / total)
