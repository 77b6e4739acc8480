"""Rounds of a drive's dies, in the curve of what a burst is accepted.

Once its buffer is full, a drive takes as much as its dies have programmed. All of them take up
work at about the same time and need as long for it, so the curve climbs in steps that repeat: so
many bytes in a period, above the line of the mean rate and below it by turns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fourcorners.analysis.internals.caches.burst_curve import BUCKET, Curve
from fourcorners.recording.arrays import Floats

_WINDOWS_S = (0.012, 0.04, 0.12, 0.4)
"""Times after the buffer is full in which a period is looked for, the shortest first: the curve is
finer the earlier it is."""

_COARSE_STEPS = 3
"""Buckets that the dies have to be ahead of the mean, and behind, for a step to be no bucket's."""

_PERIOD_MIN_S = 0.2e-3
"""Programs take longer: what repeats faster are single rows, which something before the dies brings
one by one."""

_PLACES = 1500
"""In a window: some 20 to the shortest period that a window has to repeat."""

_PERIODS_MIN = 3
"""In a window."""

_REPEATS_MAX, _MOVES_MIN = 0.15, 0.5
"""Variance of what the curve gains in a period, over the most in a shorter time, up to which it
repeats itself; and that most, over what chance would make it, from which there are steps."""


@dataclass(frozen=True)
class Rounds:
    """A period; where the curve is just before it climbs: the least bytes above the line of the
    drain rate through zero, at which time; the mean of them, and how far they rise."""

    period_s: float
    resolution_s: float
    low_bytes: float
    low_s: float
    mean_bytes: float
    rise_bytes: float


def find_rounds(curve: Curve, drain_rate: float, full_s: float) -> Rounds | None:
    """The steps of a curve, if they repeat.

    Args:
        curve: of a burst.
        drain_rate: bytes per second, once the buffer is full.
        full_s: when that is.
    """
    times, count = np.append(0.0, curve.seconds), np.append(0.0, curve.count_bytes)
    for window_s in _WINDOWS_S:
        if full_s + window_s > float(times[-1]):
            return None
        places = np.linspace(full_s, full_s + window_s, _PLACES)
        # What is complete just before each place.
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
    """The least lag at which the series repeats itself, having moved in between."""
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
