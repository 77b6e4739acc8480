"""The rounds of a drive's dies, in the curve of the bytes accepted during a burst.

Once its buffer is full, a drive accepts as much as its dies have programmed. All dies begin at
about the same time and take equally long. Therefore the curve climbs in periodic steps, and lies
above and below the line of the mean rate in alternation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fourcorners.analysis.internals.caches.burst_curve import BUCKET, Curve
from fourcorners.recording.arrays import Floats

_WINDOWS_S = (0.012, 0.04, 0.12, 0.4)
"""The windows after the buffer is full in which a period is searched. The shortest comes first,
because the early part of the curve is finer."""

_COARSE_STEPS = 3
"""A step must rise by so many buckets of the histogram, or it may come from the buckets."""

_PERIOD_MIN_S = 0.2e-3
"""Programs take longer than this: shorter periods are those of single rows, which something before
the dies delivers one by one."""

_PLACES = 1500
"""The number of points in a window; some 20 of them lie in the shortest period that can repeat."""

_PERIODS_MIN = 3
"""A window must contain at least so many periods."""

_REPEATS_MAX, _MOVES_MIN = 0.15, 0.5
"""The curve repeats itself if the variance of its gain in a period is below the first share of the
largest variance in shorter times. There are steps if this largest variance is above the second
value, over what chance would make it."""


@dataclass(frozen=True)
class Rounds:
    """The period of the rounds with its resolution, and the bytes above the line at the drain rate
    through zero: their minimum, just before the curve climbs, and its time; their mean; and their
    rise from minimum to maximum."""

    period_s: float
    resolution_s: float
    low_bytes: float
    low_s: float
    mean_bytes: float
    rise_bytes: float


def find_rounds(curve: Curve, drain_rate: float, full_s: float) -> Rounds | None:
    """The steps of a curve, if they repeat.

    Args:
        curve: the curve of a burst.
        drain_rate: the rate in bytes per second once the buffer is full.
        full_s: the time at which the buffer is full.
    """
    times, count = np.append(0.0, curve.seconds), np.append(0.0, curve.count_bytes)
    for window_s in _WINDOWS_S:
        if full_s + window_s > float(times[-1]):
            return None
        places = np.linspace(full_s, full_s + window_s, _PLACES)
        # The bytes that are complete just before each place.
        above = count[np.searchsorted(times, places) - 1] - drain_rate * places
        step_s = window_s / (_PLACES - 1)
        lag = _period(above)
        if lag is not None:
            turns = above[: len(above) // lag * lag].reshape(-1, lag)
            first = int(np.argmin(turns[0]))
            low = float(np.median(turns.min(axis=1)))
            rise = float(np.median(turns.max(axis=1))) - low
            coarse = _COARSE_STEPS * BUCKET * full_s * drain_rate
            if lag * step_s < _PERIOD_MIN_S or rise < coarse:
                return None
            mean = float(turns.mean())
            return Rounds(lag * step_s, step_s, low, float(places[first]), mean, rise)
    return None


def _period(above: Floats) -> int | None:
    """The least lag at which the series repeats itself after it has moved in between."""
    lags = np.arange(1, len(above) // _PERIODS_MIN)
    moves = np.array([np.var(above[lag:] - above[:-lag]) for lag in lags])
    most = np.maximum.accumulate(moves)
    repeats = (moves < _REPEATS_MAX * most) & (most > _MOVES_MIN * 2 * np.var(above))
    if not repeats.any():
        return None
    first = int(np.argmax(repeats))
    others = np.nonzero(~repeats[first:])[0]
    end = first + int(others[0]) if len(others) else len(repeats)
    return int(lags[first + int(np.argmin(moves[first:end]))])
