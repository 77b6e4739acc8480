"""The trend of a segment, its interval, and what a decay has left to take away."""

import math
from dataclasses import dataclass

import numpy as np
import scipy

from fourcorners.analysis.intervals import two_sided_t
from fourcorners.recording.arrays import Floats

BATCHES, BATCHES_MIN = 20, 10
"""Of a segment: Schmeiser (Operations Research 30, 1982) shows that more than 30 gain an interval
nothing, and that fewer than 10 cost it much."""

MOVES_BY_CHANCE_MAX = 0.01
"""How often a level series may be said to move, in either direction, by chance."""

_MEMORY_MAX = 0.98
"""Correlation of neighbouring parts at which the most parts there are, 160, are fewer than two
independent ones."""

# Of the segment, at equal ratios about: between two of them the fit is hardly another.
_TAU_SHARES = (0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 1.0)


@dataclass(frozen=True)
class Trend:
    """All are shares of the segment's mean; intervals are two-sided, 90 %."""

    drift: float
    """Change of the fitted line over the segment."""
    drift_low: float
    drift_high: float
    half_width: float
    """Of the mean's interval."""


def trend(value: Floats, batches: int | None = None) -> Trend:
    """Line and mean of a segment, by batch means, whose errors are nearly independent.

    That the drift's 90 % interval is within a margin is the equivalence test (two one-sided tests
    at 5 %: Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987) against a drift of that margin.

    Args:
        value: shape (parts,), at least :data:`BATCHES_MIN` of them.
        batches: by default :data:`BATCHES` where each has two parts at least, fewer where not.
    """
    if batches is None:
        batches = min(BATCHES, max(BATCHES_MIN, len(value) // 2))
    means = np.array([batch.mean() for batch in np.array_split(value, batches)])
    mean = float(means.mean())
    if mean == 0:
        return Trend(0.0, -math.inf, math.inf, math.inf)
    line = scipy.stats.linregress(np.arange(batches), means / mean)
    t = two_sided_t(batches - 2)
    drift = float(line.slope) * batches
    reach = t * float(line.stderr) * batches
    spread = float(means.std(ddof=1)) / mean
    return Trend(
        drift,
        drift - reach,
        drift + reach,
        two_sided_t(batches - 1) * spread / math.sqrt(batches),
    )


def movement(value: Floats) -> float | None:
    """By how much the second half of a segment is seen to fall or to rise, as a share of its
    median; ``None`` where chance explains it.

    Mann and Kendall's test (Mann, Econometrica 13, 1945) on batch means, which a level segment
    passes in :data:`MOVES_BY_CHANCE_MAX` of the cases at most. The first half does not count: a
    rate that has come to a level does not move still, whatever it did after a cliff. But the end
    has to be where the rate was not in that half: collection that begins swings about its level for
    a while, and what comes back from a swing does not go on. The change is Theil and Sen's slope
    over the half (Sen, J. Am. Stat. Assoc. 63, 1968). Five values cannot pass, six can.

    Args:
        value: shape (parts,).
    """
    batches = min(len(value), BATCHES)
    means = np.array([batch.mean() for batch in np.array_split(value, max(1, batches))])
    later = means[batches // 2 :]
    median = float(np.median(later))
    if len(later) < 2 or median <= 0:
        return None
    order = np.arange(len(later))
    # Of equal values the test has no answer.
    if not scipy.stats.kendalltau(order, later).pvalue < MOVES_BY_CHANCE_MAX:
        return None
    change = float(scipy.stats.theilslopes(later, order).slope) * len(later) / median
    # By medians of three: one batch with a stall in it is no place where the rate was.
    places = change * np.median(np.lib.stride_tricks.sliding_window_view(means, 3), axis=1)
    return change if places[-1] > places[: batches // 2 - 2].max() else None


def correlated_half_width(value: Floats) -> float:
    """Half width of the mean's 90 % interval, as a share of the mean, if each part remembers the
    one before it: noise whose memory is longer than a batch makes batch means agree too well.

    A first-order autoregression by the lag-one correlation, whose bias in short series is removed
    (Kendall, Biometrika 41, 1954), as is that of the variance about the series' own mean.

    Args:
        value: shape (parts,), at least 4 of them.
    """
    parts = len(value)
    mean = float(value.mean())
    rest = value / mean - 1 if mean > 0 else np.zeros(parts)
    total = float(np.sum(rest**2))
    if total == 0:
        return 0.0
    lag_one = float(np.sum(rest[1:] * rest[:-1])) / total
    memory = min(max(lag_one + (1 + 3 * lag_one) / parts, 0.0), _MEMORY_MAX)
    parts_of_one = (1 + memory) / (1 - memory)
    independent = parts / parts_of_one
    if independent <= 1:
        return math.inf
    variance = total / parts / (1 - 1 / independent)
    return two_sided_t(parts - 1) * math.sqrt(variance / independent)


def remaining_decay(value: Floats) -> float:
    """How far the segment's mean is above what an exponential decay would end at, as a share of
    the mean; negative below. 0 where a decay explains the segment no better than a constant does.

    The least-squares fit of ``a + b * exp(-x / tau)`` over a grid of time constants up
    to the segment's length: longer ones cannot be told from a line, which the trend is for.

    Args:
        value: shape (parts,).
    """
    parts = len(value)
    x = np.arange(parts) + 0.5
    mean = float(value.mean())
    constant = float(np.sum((value - mean) ** 2))
    if constant == 0 or mean <= 0:
        return 0.0
    best, left = math.inf, 0.0
    for share in _TAU_SHARES:
        design = np.column_stack((np.ones(parts), np.exp(-x / (share * parts))))
        (level, height), *_ = np.linalg.lstsq(design, value, rcond=None)
        error = float(np.sum((value - design @ (level, height)) ** 2))
        if error < best:
            best, left = error, (mean - float(level)) / mean
    gain = constant / max(best, 1e-12 * constant)
    return left if parts * math.log(gain) > 3 * math.log(parts) else 0.0
