"""Rules that look at a window of rounds: SNIA's, fio's, and MSER-5."""

from dataclasses import dataclass

import numpy as np

from fourcorners.recording.arrays import Floats

# Of the specification, as :func:`snia_window` has it.
SNIA_ROUNDS = 5
SNIA_RANGE_MAX = 0.20
SNIA_SLOPE_MAX = 0.10


@dataclass(frozen=True)
class SniaWindow:
    """The last rounds of a series under SNIA's rule; shares are of the window's average."""

    first_round: int
    average: float
    range_share: float
    """Largest minus smallest value."""
    slope_share: float
    """Rise or fall of the fitted line from the window's first to its last round, absolute."""
    slope_per_round: float
    intercept: float
    """Value of the fitted line at the window's first round."""
    steady: bool


def snia_window(
    values: Floats,
    *,
    rounds: int = SNIA_ROUNDS,
    range_max: float = SNIA_RANGE_MAX,
    slope_max: float = SNIA_SLOPE_MAX,
) -> SniaWindow | None:
    """The measurement window that ends with the last round, and whether it is steady.

    SNIA Solid State Storage Performance Test Specification 2.0.2, definition of steady state: in
    five consecutive rounds the tracked value's range is at most 20 % of its average, and so is the
    range of its best linear fit at most 10 % of it.

    Args:
        values: shape (rounds so far,), the tracked variable of each round.

    Returns:
        ``None`` with fewer rounds than the window has.
    """
    if len(values) < rounds:
        return None
    window = np.asarray(values[-rounds:], dtype=np.float64)
    average = float(window.mean())
    slope, intercept = (float(c) for c in np.polyfit(np.arange(rounds), window, 1))
    # A window of zeros does not change, but it is no steady state of anything.
    scale = abs(average) if average else np.inf
    range_share = float(np.ptp(window)) / scale
    slope_share = abs(slope) * (rounds - 1) / scale
    return SniaWindow(
        first_round=len(values) - rounds,
        average=average,
        range_share=range_share,
        slope_share=slope_share,
        slope_per_round=slope,
        intercept=intercept,
        steady=average != 0 and range_share <= range_max and slope_share <= slope_max,
    )


def mser_5(values: Floats) -> int | None:
    """Index of the first value after the initial transient by MSER-5.

    Batches of five values; the truncation that minimises the standard error of the remaining
    batches' mean (White, Cobb & Spratt, "A comparison of five steady-state truncation heuristics
    for simulation", Winter Simulation Conference 2000). A truncation in the second half of the
    series means that it is too short.

    Args:
        values: shape (values,).

    Returns:
        ``None`` where the series is too short.
    """
    batches = len(values) // 5
    if batches < 4:
        return None
    means = np.asarray(values[: batches * 5], dtype=np.float64).reshape(batches, 5).mean(axis=1)
    left = np.arange(batches, 0, -1)
    sums = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum((means**2)[::-1])[::-1]
    errors = (squares - sums**2 / left) / left.astype(np.float64) ** 2
    half = batches // 2
    # A few batches that happen to agree have no error: the second half serves to refuse only.
    best = int(np.argmin(errors[: max(batches - 5, half + 1)]))
    return best * 5 if best < half else None


def fio_slope(values: Floats, *, limit: float) -> bool:
    """fio's ``ss=iops_slope:LIMIT%``: the fitted slope per value, absolute, over the mean.

    Args:
        values: shape (``ss_dur`` seconds,), one value a second.
        limit: as a share, 0.01 for ``1%``.
    """
    mean = float(np.mean(values))
    if len(values) < 2 or mean == 0:
        return False
    slope = float(np.polyfit(np.arange(len(values)), values, 1)[0])
    return abs(slope) / mean < limit


def fio_deviation(values: Floats, *, limit: float) -> bool:
    """fio's ``ss=iops:LIMIT%``: no value further than that from the window's mean.

    Args:
        values: shape (``ss_dur`` seconds,), one value a second.
        limit: as a share, 0.1 for ``10%``.
    """
    mean = float(np.mean(values))
    return mean > 0 and float(np.max(np.abs(np.asarray(values) - mean))) / mean <= limit
