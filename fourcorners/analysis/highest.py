"""The highest rate of a sweep over the queue depth that is no single lucky point.

The highest of many short measurements is high by luck. So rates are smoothed over neighbouring
depths by running medians of three with Tukey's rule for the ends (Exploratory Data Analysis, 1977,
chapter 7), which keep a rise, a plateau and a broad peak as they are; the measurement next to the
highest of these stands for it, and its error is no less than the scatter about the medians.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fourcorners.analysis.estimate import Estimate, of_point
from fourcorners.analysis.quantity import IOPS
from fourcorners.analysis.source import Measured

SWEEP_MIN = 5
"""Depths from which on neighbours distinguish luck from a rise."""

_SCATTER_SEEN = math.sqrt(0.782)
"""Standard deviation about the median of three, one's own value among them, over that of normally
distributed values: 1 + 0.449 (the variance of that median) - 2/3 (twice their covariance)."""


@dataclass(frozen=True)
class Highest:
    """A measurement and the 90 % interval of its rate in IOPS, ``None`` where it is unknown."""

    point: Measured
    interval: tuple[float, float] | None


def highest(points: Sequence[Measured]) -> Highest:
    """Of measurements at queue depths above 1, one or more; those that differ in nothing but the
    depth are a sweep.

    Raises:
        ValueError: there are none.
    """
    sweeps: dict[object, list[Measured]] = {}
    for one in points:
        rest = {key: value for key, value in one.point.items() if key != "queue_depth"}
        sweeps.setdefault((one.test, repr(sorted(rest.items()))), []).append(one)
    return max((_of_sweep(sweep) for sweep in sweeps.values()), key=lambda h: h.point.iops)


def _of_sweep(points: Sequence[Measured]) -> Highest:
    by_depth = sorted(points, key=lambda one: one.queue_depth or 0)
    if len({one.queue_depth for one in points}) < max(SWEEP_MIN, len(points)):
        best = max(points, key=lambda one: one.iops)
        estimate = of_point(best, IOPS)
        return Highest(best, None if estimate is None else estimate.interval())
    rates = np.log([one.iops for one in by_depth])
    smooth = _smoothed(rates)
    best = by_depth[int(np.argmin(np.abs(rates - smooth.max())))]
    estimate = of_point(best, IOPS)
    if estimate is None:
        return Highest(best, None)
    # Not at the ends, where the bend of a rise would count.
    apart = (rates - smooth)[1:-1]
    scatter = float(np.sqrt(np.mean(apart**2))) / _SCATTER_SEEN
    if scatter > estimate.error:
        estimate = Estimate(estimate.log, scatter, len(apart) - 1)
    return Highest(best, estimate.interval())


def _smoothed(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Running medians of three, shape (depths,)."""
    inner = np.median(np.stack([values[:-2], values[1:-1], values[2:]]), axis=0)
    first = np.median([values[0], inner[0], 3 * inner[0] - 2 * inner[1]])
    last = np.median([values[-1], inner[-1], 3 * inner[-1] - 2 * inner[-2]])
    return np.concatenate([[first], inner, [last]])
