"""The bends at which a burst of writes slows down for good, in the bytes accepted over time."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy

from fourcorners.analysis.internals.caches.burst_curve import Curve
from fourcorners.recording.arrays import Floats

SLOWER_MIN = 1.2
"""From this ratio of the rates before and after a bend on, it is one."""

_SEEN_PAST = 0.1
"""A burst shows the rate past a cache if it goes on for this share of the cache: for some hundred
buckets of a histogram."""

_POINTS, _BENDS, _NEAR = 500, 40, 40
"""The numbers of points of a curve, of bends tried over the whole burst, and of bends tried near
the best one. Bends differ by 15 % of the bytes before them, and by half a percent near the best."""

_FIRST_BEND, _LAST_BEND = 0.004, 0.93
"""The first and the last bend that are tried, as shares of the burst."""

_BEFORE, _ABOUT, _AFTER = (0.6, 0.9), 1.3, 1.04
"""The ranges for the line before a bend, for the bend itself and for the rate after it, in times of
the bytes before the bend."""

NEAR_BEND = 0.8
"""If the previous bend is beyond this share of the bytes before a bend, both may be the same."""

_NEAR_SHARES, _NEAR_PLACES = (0.08, 0.03), 120
"""The half widths of the last windows in which a bend is searched, in times of the bytes before it,
and the number of points in a window: what a drive does long before or after must not move the
bend."""

_GRAINS_MIN = 6
"""Half of such a window contains at least so many steps of the curve."""

_DEPARTURES = 400
"""The number of places of a departure that are tried, in all pairs."""

_SECOND_BEND_LEAVES = 0.25
"""Two bends are assumed if they leave less than this share of the squares that one bend leaves."""

_STOP_MIN, _STOPS_MAX, _BESIDE_STOP = 10.0, 5, 21
"""A stop is a point of the curve that takes so many times as long as the median of so many about
it. If there are more stops than this, they belong to the rate of the drive."""

_PARTS, _APART_MIN = 4, 3.0
"""The shorter of what lies before and after a bend has so many parts, and the other one as many as
are as long. The logarithms of their rates are to differ by so many standard deviations of a part.
That is no test by chance, as the place is chosen: of 20 bursts whose rates vary by a third it
leaves two at most."""


@dataclass(frozen=True)
class Bend:
    """The bytes before a bend, and the rates before and after it in bytes per second."""

    count_bytes: float
    fast_rate: float
    slow_rate: float
    misfit: float
    """The standard deviation of time about the pieces, over the time of the burst."""
    lasts: bool = True
    """Whether what follows is slower throughout: rates that vary all the time bend the lines as
    well."""

    @property
    def falls(self) -> bool:
        """Whether the rate is lower after it."""
        return self.fast_rate >= SLOWER_MIN * self.slow_rate

    @property
    def is_one(self) -> bool:
        """Whether the drive becomes slower there for good."""
        return self.falls and self.lasts


def find_bends(curve: Curve, grain: float = 0.0) -> tuple[Bend, Bend]:
    """Finds the last bend of a burst and the one before it. A least-squares fit of time to three
    pieces tries all pairs of bends. Each bend is then refined by the departure of time from the
    line before it, and by the lines next to it. Single stops are left out.

    Args:
        curve: the curve of a burst.
        grain: the bytes of the steps in which the curve climbs, if it does.
    """
    curve = _without_stops(curve)
    total = float(curve.count_bytes[-1])
    accepted = np.linspace(0.0, total, _POINTS + 1)[1:]
    times = curve.seconds_at(accepted)
    bends = np.geomspace(_FIRST_BEND, _LAST_BEND, _BENDS) * total
    pairs = [(first, last) for last in bends for first in bends if first < last]
    first, last = min(pairs, key=lambda pair: _misfit(accepted, times, *pair))
    near = np.linspace(0.9 * last, min(1.1 * last, _LAST_BEND * total), _NEAR)
    earlier = np.geomspace(min(first, 0.5 * last), 0.95 * last, _NEAR // 4)
    closer = [(first, last) for last in near for first in earlier if first < last]
    first, last = min(closer, key=lambda pair: _misfit(accepted, times, *pair))
    misfit = math.sqrt(_misfit(accepted, times, first, last)) / float(times[-1])
    return (
        _closer(curve, first, last, total, misfit, grain),
        _closer(curve, 0.0, first, last, misfit, grain),
    )


def _without_stops(curve: Curve) -> Curve:
    """The curve without the time of single stops, such as of other work or of a link that is set up
    anew."""
    edges = np.linspace(0.0, float(curve.count_bytes[-1]), _POINTS + 1)
    steps = np.diff(curve.seconds_at(edges))
    usual = scipy.ndimage.median_filter(steps, _BESIDE_STOP, mode="nearest")
    stops = steps > _STOP_MIN * usual
    if not 0 < np.count_nonzero(stops) <= _STOPS_MAX:
        return curve
    lost = np.append(0.0, np.cumsum(np.where(stops, steps - usual, 0.0)))
    inside = stops[np.clip(np.searchsorted(edges, curve.count_bytes) - 1, 0, _POINTS - 1)]
    even = np.interp(curve.count_bytes, edges, curve.seconds_at(edges))
    seconds = np.where(inside, even, curve.seconds)
    return Curve(seconds - np.interp(curve.count_bytes, edges, lost), curve.count_bytes)


def _lasts(curve: Curve, start: float, place: float, end: float) -> bool:
    """Whether parts of equal length after a bend differ from those before it by more than they
    scatter."""
    low = start if start < NEAR_BEND * place else 0.0
    high = min(_AFTER * place, 0.97 * end)
    part = min(place - low, end - high) / _PARTS
    edges = (
        np.linspace(*ends, round((ends[1] - ends[0]) / part) + 1)
        for ends in ((low, place), (high, end))
    )
    before, after = (np.log(np.diff(one) / np.diff(curve.seconds_at(one))) for one in edges)
    freedom = len(before) + len(after) - 2
    scatter = math.sqrt((before.var() * len(before) + after.var() * len(after)) / freedom)
    return bool(before.mean() - after.mean() >= _APART_MIN * scatter)


def _closer(
    curve: Curve, start: float, place: float, end: float, misfit: float, grain: float
) -> Bend:
    """Refines the bend near ``place``, after which one rate lasts until ``end``. If the previous
    bend at ``start`` is near, both count as one."""
    bend, early = _lines(curve, start, place, end, misfit)
    if not bend.is_one:
        return bend
    # Of two that count as one the earlier may be the bend, and the later only a step of the curve.
    since = start if start >= NEAR_BEND * place else place
    about = np.linspace(_BEFORE[1] * since, min(_ABOUT * place, end), _POINTS)
    excess = curve.seconds_at(about) - np.polyval(early, about)
    found = _hinge(curve, _departure(about, excess, bend.fast_rate), end, grain)
    # The range before the bend is known better now.
    bend = _lines(curve, start, found, end, misfit)[0]
    return replace(bend, lasts=_lasts(curve, start, found, end))


def _lines(
    curve: Curve, start: float, place: float, end: float, misfit: float
) -> tuple[Bend, Floats]:
    """The bend at ``place`` with the rates of the lines of time before and after it, and the line
    before it."""
    since = start if start >= NEAR_BEND * place else place
    low = max(_BEFORE[0] * since, start if start < NEAR_BEND * place else 0.0)
    before = np.linspace(low, max(_BEFORE[1] * since, 0.5 * (low + since)), _POINTS)
    after = np.linspace(min(_AFTER * place, 0.97 * end), end, _POINTS)
    early = np.polyfit(before, curve.seconds_at(before), 1)
    late = np.polyfit(after, curve.seconds_at(after), 1)
    fast, slow = (1 / max(float(line[0]), 1e-18) for line in (early, late))
    return Bend(place, fast, slow, misfit), early


def _hinge(curve: Curve, place: float, end: float, grain: float) -> float:
    """The place where two lines of time meet, within a window around the bend that contains nothing
    else."""
    for share in _NEAR_SHARES:
        half = min(max(share * place, _GRAINS_MIN * grain), 0.5 * place, end - place)
        accepted = np.linspace(place - half, place + half, _NEAR_PLACES)
        times = curve.seconds_at(accepted)
        x = (accepted - place) / half
        tried = np.linspace(-0.7, 0.7, _NEAR_PLACES)
        left = []
        for at in tried:
            basis = np.stack([np.ones(len(x)), x, np.maximum(x - at, 0.0)])
            values = np.linalg.solve(basis @ basis.T, basis @ times)
            left.append(float(np.sum((values @ basis - times) ** 2)))
        place += half * float(tried[int(np.argmin(left))])
    return place


def _departure(accepted: Floats, excess: Floats, fast_rate: float) -> float:
    """The place where time begins to exceed that of the line before the bend.

    The curve after a cache need not be one line: dies that have more to move than others use up the
    write buffer first. Therefore there may be two bends; the first one counts.
    """
    places = np.linspace(accepted[0], accepted[-1], _DEPARTURES, endpoint=False)
    rises = np.maximum(accepted - places[:, None], 0.0) / fast_rate
    squares, products = rises @ rises.T, rises @ excess
    own = np.diag(squares)
    alone = products**2 / own
    # The normal equations of all pairs of bends, the first in rows and the last in columns.
    determinant = np.where(np.tri(len(places), dtype=bool), np.inf, np.outer(own, own) - squares**2)
    first = (np.outer(products, own) - squares * products) / determinant
    last = (np.outer(own, products) - squares * products[:, None]) / determinant
    both = np.where(
        (first > SLOWER_MIN - 1) & (last > 0), first * products[:, None] + last * products, 0.0
    )
    total = float(excess @ excess)
    if total - both.max() < _SECOND_BEND_LEAVES * (total - alone.max()):
        return float(places[np.unravel_index(both.argmax(), both.shape)[0]])
    return float(places[alone.argmax()])


def _misfit(accepted: Floats, times: Floats, first: float, last: float) -> float:
    """The mean square of time about three pieces with these bends."""
    basis = np.stack(
        [
            np.ones(len(accepted)),
            accepted,
            np.maximum(accepted - first, 0.0),
            np.maximum(accepted - last, 0.0),
        ]
    )
    basis[1:] /= accepted[-1]
    values = np.linalg.solve(basis @ basis.T + 1e-12 * np.eye(4), basis @ times)
    return float(np.mean((values @ basis - times) ** 2))


def passes(curve: Curve, sizes: tuple[float, float, float]) -> bool:
    """Whether another burst to the erased drive went on at one rate where a cache of this size, or
    of the least or the greatest that it may have, ends. A cache is empty in both; what slows down
    one of them may be heat, a limit of the rate by volume or time, or other work.

    Args:
        curve: the curve of the other burst.
        sizes: the size of the cache, and the least and the greatest that it may have, in bytes.
    """
    _, low, high = sizes
    total = float(curve.count_bytes[-1])
    if total < (1 + _SEEN_PAST) * high:
        return False
    return curve.rate(low / 2, low) < SLOWER_MIN * curve.rate(high, total)
