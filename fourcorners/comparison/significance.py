"""What a subject's runs say of a quantity, and which differences are sure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from fourcorners.analysis.estimate import Estimate, of_point, pooled
from fourcorners.analysis.quantity import Quantity
from fourcorners.analysis.source import Measured

FALSE_DISCOVERIES_MAX = 0.05
"""Share of the differences told that may be chance (Benjamini and Hochberg, JRSS B 57, 1995)."""

DIFFERENCE_MIN = 0.01
"""Relative difference below which nobody would choose by it, however sure it is."""


def surely_differ(ratios: Sequence[Estimate | None]) -> list[bool]:
    """Which of these ratios are not one, so that few of those that are said to be are chance."""
    chances = [ratio.chance_of_zero() for ratio in ratios if ratio is not None]
    adjusted = iter(scipy.stats.false_discovery_control(chances) if chances else [])
    return [ratio is not None and next(adjusted) <= FALSE_DISCOVERIES_MAX for ratio in ratios]


def values(
    measurements: Sequence[Measured], quantity: Quantity
) -> tuple[float, Estimate | None] | None:
    """A quantity of a subject: its geometric mean over the runs, and its estimate if it has one;
    ``None`` where no run has a value."""
    known = [value for point in measurements if (value := quantity.of(point)) is not None]
    if not known:
        return None
    estimates = [of_point(point, quantity) for point in measurements]
    whole = [estimate for estimate in estimates if estimate is not None]
    value = float(np.exp(np.mean(np.log(known))))
    return value, pooled(whole) if whole and len(whole) == len(known) else None
