"""The rounds of a drive's dies, in the curve of the bytes accepted during a burst.

Once its buffer is full, a drive accepts as much as its dies have programmed. All dies begin at
about the same time and take equally long. Therefore the curve climbs in periodic steps, and lies
above and below the line of the mean rate in alternation.

Where pages are of different kinds, all dies program a page of one kind, then all of them one of the
next kind. The rounds last differently long, and the curve repeats itself only after as many rounds
as there are kinds. In each of them it climbs by as much.
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

_HEIGHTS = 0.7, 1.2
"""The limits of the height of the steps: over that of a round whose bytes all come at the link's
rate, and over all of its bytes, which a large request brings at once."""

_FALLS_MIN = 0.15
"""Between two steps the curve falls by at least this share of such a height, or they are one: two
rounds of quick pages may end before the link has brought what the first of them made room for."""

_NEAR = 8
"""A minimum is found again within this part of a period of its place in the first period."""

_REPEATS_MAX, _MOVES_MIN = 0.15, 0.5
"""The curve repeats itself if the variance of its gain in a period is below the first share of the
largest variance in shorter times. There are steps if this largest variance is above the second
value, over what chance would make it."""


@dataclass(frozen=True)
class Rounds:
    """The period of the rounds with its resolution, and the bytes above the line at the drain rate
    through zero: their minimum, just before the curve climbs, and its time; their mean; and their
    rise from minimum to maximum. ``turns_bytes`` are the bytes above the line in the course of
    periods, each from its minimum on; with shape (periods, places)."""

    period_s: float
    resolution_s: float
    low_bytes: float
    low_s: float
    mean_bytes: float
    rise_bytes: float
    turns_bytes: Floats

    def ends_s(self, count: int, drain_rate: float, link_rate: float) -> Floats | None:
        """When the rounds of a period end: from the minimum of the curve on, ascending, with shape
        (count,). ``None`` where most periods do not show so many equal steps.

        Args:
            count: the number of rounds.
            drain_rate: the rate in bytes per second once the buffer is full.
            link_rate: the rate at which the curve climbs.
        """
        round_bytes = drain_rate * self.period_s / count
        height = (1 - drain_rate / link_rate) * round_bytes
        least, most = _HEIGHTS[0] * height, _HEIGHTS[1] * round_bytes
        shown = [
            starts
            for starts, heights in (_steps(turn, _FALLS_MIN * height) for turn in self.turns_bytes)
            if len(starts) == count and all(least < one < most for one in heights)
        ]
        if 2 * len(shown) <= len(self.turns_bytes):
            return None
        ends: Floats = np.median(shown, axis=0) * self.period_s / self.turns_bytes.shape[1]
        return ends


def _steps(turn: Floats, least: float) -> tuple[list[int], list[float]]:
    """The places where the curve begins to climb and the heights by which it does, between which it
    falls by ``least`` or more."""
    starts, heights = [0], []
    low = high = 0
    climbs = True
    for place, value in enumerate([*turn, turn[0]]):
        at = place % len(turn)
        if climbs:
            if value > turn[high]:
                high = at
            elif value < turn[high] - least:
                heights.append(float(turn[high] - turn[starts[-1]]))
                low, climbs = at, False
        elif value < turn[low]:
            low = at
        elif value > turn[low] + least:
            starts.append(low)
            high, climbs = at, True
    return starts, heights


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
            each = np.array([_from_low(turn, first) for turn in turns])
            return Rounds(lag * step_s, step_s, low, float(places[first]), mean, rise, each)
    return None


def _from_low(turn: Floats, about: int) -> Floats:
    """A period from the minimum near that place on: in the course of many periods it moves, as the
    period is no whole number of places."""
    reach = len(turn) // _NEAR
    near = (about + np.arange(-reach, reach + 1)) % len(turn)
    return np.roll(turn, -int(near[np.argmin(turn[near])]))


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
