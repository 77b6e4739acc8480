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

_POINTS, _BENDS, _NEAR, _LOOKS = 500, 120, 24, 3
"""The numbers of points of a curve, of bends tried over the whole burst, of bends tried near each
of the best ones, and of times that these are looked for. Bends differ by 5 % of the bytes before
them, and by half a percent near the best. Both are moved at a time: two bends about a real one
describe it better than one beside it, and another real bend would be missed."""

_FIRST_BEND, _LAST_BEND = 0.004, 0.93
"""The first and the last bend that are tried, as shares of the burst."""

_BEFORE, _ABOUT, _AFTER = (0.6, 0.9), 1.3, 1.04
"""The ranges for the line before a bend, for the bend itself and for the rate after it, in times of
the bytes before the bend."""

NEAR_BEND = 0.8
"""If the previous bend is beyond this share of the bytes before a bend, both may be the same,
unless a rate of its own lasts from one to the other."""

_NEAR_SHARES, _NEAR_PLACES = (0.08, 0.03), 120
"""The half widths of the last windows in which a bend is searched, in times of the bytes before it,
and the number of points in a window: what a drive does long before or after must not move the
bend."""

_GRAINS_MIN = 6
"""Half of such a window contains at least so many steps of the curve."""

_DIFFER_MIN = 1e-9
"""Of two functions of which less than this share of the squares is not in both, one is enough:
rounding would decide."""

_BEND_EDGE = 0.1
"""The part of what lies between two bends that is left out at either end, where the curve turns."""

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
leaves two at most. What lies between two bends differs from both sides by so many times the range
of its own parts, or it is a part of a turn."""


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
    start_bytes: float = 0.0
    """The bend before it, from which the rate before it lasts: 0 where both may be one bend."""

    @property
    def middle_rate(self) -> float:
        """The rate that is as many times the slow one as the fast one is times it, in bytes per
        second."""
        return math.sqrt(self.fast_rate * self.slow_rate)

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
    bends = earlier = _two_bends(curve, grain)
    # In a long burst a small change of the slow rate weighs more than that from the buffer's rate
    # to the cache's, and these two are taken for one.
    for _ in range(_LOOKS):
        if earlier[0].falls or not earlier[1].falls:
            break
        earlier = _two_bends(curve.until(earlier[0].count_bytes), grain)
    return earlier if all(bend.is_one for bend in earlier) else bends


def _two_bends(curve: Curve, grain: float) -> tuple[Bend, Bend]:
    """The last bend and the one before it, of three pieces."""
    total = float(curve.count_bytes[-1])
    accepted = np.linspace(0.0, total, _POINTS + 1)[1:]
    times = curve.seconds_at(accepted)
    everywhere = np.geomspace(_FIRST_BEND, _LAST_BEND, _BENDS) * total
    step = everywhere[1] / everywhere[0]
    first, last = _best_pair(accepted, times, everywhere)
    for _ in range(_LOOKS):
        # Where one of them is known better, the other may be elsewhere.
        near = [np.geomspace(at / step, at * step, _NEAR) for at in (first, last)]
        tried = np.unique(np.minimum([*everywhere, *near[0], *near[1]], _LAST_BEND * total))
        first, last = _best_pair(accepted, times, tried)
    misfit = math.sqrt(_misfit(accepted, times, first, last)) / float(times[-1])
    apart = _has_own_rate(curve, first, last, total, grain)
    return (
        _closer(curve, first, last, total, misfit, grain, apart=apart),
        _closer(curve, 0.0, first, last, misfit, grain),
    )


def _best_pair(accepted: Floats, times: Floats, tried: Floats) -> tuple[float, float]:
    """The two bends, of those that are tried (ascending), with which three pieces fit best."""
    line, _ = np.linalg.qr(np.stack([np.ones(len(accepted)), accepted / accepted[-1]], axis=1))
    rises = np.maximum(accepted - tried[:, None], 0.0) / accepted[-1]
    rises -= (rises @ line) @ line.T
    first, last, products = _pairs(rises, times - line @ (line.T @ times))
    gained = first * products[:, None] + last * products
    one, other = np.unravel_index(int(gained.argmax()), gained.shape)
    return float(tried[one]), float(tried[other])


def _pairs(rises: Floats, values: Floats) -> tuple[Floats, Floats, Floats]:
    """The normal equations of all pairs of these functions (rows), the first in rows and the last
    in columns: the factors of the first and of the last, and the products with the values. Factors
    are 0 where the last is not after the first."""
    squares, products = rises @ rises.T, rises @ values
    own = np.diag(squares)
    determinant = np.outer(own, own) - squares**2
    # Functions that hardly differ are one.
    usable = ~np.tri(len(rises), dtype=bool) & (determinant > _DIFFER_MIN * np.outer(own, own))
    determinant = np.where(usable, determinant, np.inf)
    first = (np.outer(products, own) - squares * products) / determinant
    last = (np.outer(own, products) - squares * products[:, None]) / determinant
    return first, last, products


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
    high = min(_AFTER * place, 0.97 * end)
    part = min(place - start, end - high) / _PARTS
    edges = (
        np.linspace(*ends, round((ends[1] - ends[0]) / part) + 1)
        for ends in ((start, place), (high, end))
    )
    before, after = (np.log(np.diff(one) / np.diff(curve.seconds_at(one))) for one in edges)
    freedom = len(before) + len(after) - 2
    scatter = math.sqrt((before.var() * len(before) + after.var() * len(after)) / freedom)
    return bool(before.mean() - after.mean() >= _APART_MIN * scatter)


def _has_own_rate(curve: Curve, first: float, last: float, end: float, grain: float) -> bool:
    """Whether a rate of its own lasts from one bend to another that is near: a write buffer is full
    shortly before a cache is. Where the curve only turns slowly, both are one bend, and where they
    are closer than the window in which a bend is searched."""
    if last - first < max(_NEAR_SHARES[0] * last, _GRAINS_MIN * grain):
        return False
    edge = _BEND_EDGE * (last - first)
    parts = np.linspace(first + edge, last - edge, _PARTS + 1)
    rates = np.log(np.diff(parts) / np.diff(curve.seconds_at(parts)))
    before = math.log(curve.rate(first / 2, first))
    after = math.log(curve.rate(min(_AFTER * last, 0.97 * end), end))
    apart = min(before - rates.mean(), rates.mean() - after)
    return bool(apart >= _APART_MIN * np.ptp(rates))


def _closer(
    curve: Curve,
    start: float,
    place: float,
    end: float,
    misfit: float,
    grain: float,
    *,
    apart: bool = False,
) -> Bend:
    """Refines the bend near ``place``, after which one rate lasts until ``end``. If the previous
    bend at ``start`` is near, both count as one, unless they are known to be ``apart``."""
    bend, early = _lines(curve, start, place, end, misfit, apart=apart)
    if not bend.is_one:
        return bend
    begin, since = _before(start, place, apart)
    about = np.linspace(
        max(_BEFORE[1] * since, (begin + since) / 2), min(_ABOUT * place, end), _POINTS
    )
    excess = curve.seconds_at(about) - np.polyval(early, about)
    found = _hinge(curve, _departure(about, excess, bend.fast_rate), begin, end, grain)
    # The range before the bend is known better now.
    bend = _lines(curve, start, found, end, misfit, apart=apart)[0]
    begin, _ = _before(start, found, apart)
    return replace(bend, lasts=_lasts(curve, begin, found, end), start_bytes=begin)


def _before(start: float, place: float, apart: bool) -> tuple[float, float]:
    """Where the rate before a bend begins, and until where it surely lasts. Of two that count as
    one the earlier may be the bend, and the later only a step of the curve."""
    return (start, place) if apart or start < NEAR_BEND * place else (0.0, start)


def _lines(
    curve: Curve, start: float, place: float, end: float, misfit: float, *, apart: bool = False
) -> tuple[Bend, Floats]:
    """The bend at ``place`` with the rates of the lines of time before and after it, and the line
    before it."""
    begin, since = _before(start, place, apart)
    low = max(_BEFORE[0] * since, begin)
    before = np.linspace(low, max(_BEFORE[1] * since, 0.5 * (low + since)), _POINTS)
    after = np.linspace(min(_AFTER * place, 0.97 * end), end, _POINTS)
    early = np.polyfit(before, curve.seconds_at(before), 1)
    late = np.polyfit(after, curve.seconds_at(after), 1)
    fast, slow = (1 / max(float(line[0]), 1e-18) for line in (early, late))
    return Bend(place, fast, slow, misfit), early


def _hinge(curve: Curve, place: float, start: float, end: float, grain: float) -> float:
    """The place where two lines of time meet, within a window around the bend that contains nothing
    else."""
    for share in _NEAR_SHARES:
        half = max(share * place, _GRAINS_MIN * grain)
        half = min(half, 0.5 * place, place - start, end - place)
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
    first, last, products = _pairs(rises, excess)
    alone = products**2 / np.sum(rises**2, axis=1)
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


def passes(curve: Curve, sizes: tuple[float, float, float], bend: Bend) -> bool:
    """Whether another burst to the erased drive went on at one rate where a cache of this size, or
    of the least or the greatest that it may have, ends. A cache is empty in both; what slows down
    one of them may be heat, a limit of the rate by volume or time, or other work. A burst that is
    nearer to the slow rate from its start on may have found the cache full.

    Args:
        curve: the curve of the other burst.
        sizes: the size of the cache, and the least and the greatest that it may have, in bytes.
        bend: the end of the cache in the first burst.
    """
    _, low, high = sizes
    total = float(curve.count_bytes[-1])
    if total < (1 + _SEEN_PAST) * high:
        return False
    before = curve.rate(low / 2, low)
    return bend.middle_rate < before < SLOWER_MIN * curve.rate(high, total)
