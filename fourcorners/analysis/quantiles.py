"""How well a recording determines its latency quantiles.

The interval of a quantile is that of the share of I/Os beyond it, read off the distribution
(Woodruff, JASA 47, 1952). I/Os are not independent: a drive that collects garbage is slow for all
of them. So the share's error is taken from batches of seconds, which are nearly independent (Law
and Kelton, Simulation Modeling and Analysis), and told as the number of independent I/Os that would
have it; with that number the share has the exact binomial interval, which also holds for a few I/Os
far out (Korn and Graubard, Survey Methodology 24, 1998).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy

from fourcorners.analysis.intervals import BATCH_SECONDS_MIN, BATCHES, COVERAGE, two_sided_t
from fourcorners.recording import NS, Histogram, LatencyOverTime
from fourcorners.recording.arrays import Floats

Integers = npt.NDArray[np.int64]

_TAIL_CHANCE = (1 - COVERAGE) / 2


def independent_ios(
    histogram: Histogram, over_time: LatencyOverTime, shares: Sequence[float]
) -> Floats | None:
    """As how many independent I/Os a recording determines its quantiles.

    Args:
        histogram: of the whole recording.
        over_time: its latencies by the second.
        shares: of the I/Os within each quantile, above 0 and below 1, shape (quantiles,).

    Returns:
        Shape (quantiles,), at most as many as there were; ``None`` where the seconds are not known
        or too few.
    """
    seconds = int(over_time.second[-1]) + 1 if len(over_time.count) else 0
    length = seconds // BATCHES
    if length < BATCH_SECONDS_MIN:
        return None
    # The remainder belongs to the first batch: every I/O counts in a quantile.
    batch = np.maximum(over_time.second - (seconds - length * BATCHES), 0) // length
    edges, row = np.unique(over_time.low_ns, return_inverse=True)
    counts = np.zeros((BATCHES, len(edges)))
    np.add.at(counts, (batch, row), over_time.count)
    within = np.cumsum(counts, axis=1)
    ios = within[:, -1]
    wanted = np.asarray(shares, dtype=np.float64)
    # The quantile, as a place among the coarse buckets: which, and how much of it lies below.
    whole = within.sum(axis=0)
    place = np.minimum(np.searchsorted(whole, wanted * whole[-1]), len(edges) - 1)
    held = counts[:, place]
    part = (wanted * whole[-1] - (whole[place] - held.sum(axis=0))) / held.sum(axis=0)
    below = within[:, place] - (1 - part) * held
    spread = below - wanted * ios[:, None]
    variance = BATCHES / (BATCHES - 1) * (spread**2).sum(axis=0) / whole[-1] ** 2
    total = float(histogram.count.sum())
    with np.errstate(divide="ignore"):
        found = wanted * (1 - wanted) / variance
    return np.asarray(np.minimum(found, total), dtype=np.float64)


def quantile_bounds_s(
    histogram: Histogram, over_time: LatencyOverTime, shares: Sequence[float]
) -> tuple[Floats, Floats] | None:
    """Lower and upper bounds of latency quantiles, in seconds, meant to cover the truth with 90 %
    probability; each of shape (quantiles,), NaN where so few I/Os lie beyond that there is none.

    Args:
        histogram, over_time, shares: as of :func:`independent_ios`.

    Returns:
        ``None`` where that has none.
    """
    ios = independent_ios(histogram, over_time, shares)
    if ios is None:
        return None
    low_ns, high_ns, count = histogram
    # Batches are few: their variance is itself uncertain.
    ios = ios * (two_sided_t(np.inf) / two_sided_t(BATCHES - 1)) ** 2
    wanted = np.asarray(shares, dtype=np.float64)
    within = wanted * ios
    least = scipy.special.betaincinv(within, ios - within + 1, _TAIL_CHANCE)
    most = scipy.special.betaincinv(within + 1, ios - within, 1 - _TAIL_CHANCE)
    cumulated = np.cumsum(count) / count.sum()
    last = len(count) - 1
    below = low_ns[np.minimum(np.searchsorted(cumulated, least), last)] * NS
    above = high_ns[np.minimum(np.searchsorted(cumulated, most), last)] * NS
    # Even the slowest or fastest of so few may lie on this side of the quantile.
    bounded = (wanted**ios <= _TAIL_CHANCE) & ((1 - wanted) ** ios <= _TAIL_CHANCE)
    return np.where(bounded, below, np.nan), np.where(bounded, above, np.nan)
