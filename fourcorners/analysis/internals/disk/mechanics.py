"""Findings ``rotation_rpm``, ``seek_stroke``, ``seek_base`` and ``seek_mean`` of a disk, from reads
that move its arm.

Rotation: within a small region an access waits for anything between zero and one turn, so that its
times are spread evenly over a turn. The range from the 5th to the 95th percentile is nine tenths of
a turn. Spindles turn at few speeds, and the nearest of these is the finding.

Seeks: reads that alternate between two regions take c + S sqrt(x) in the mean, where x is the share
of all cylinders between the regions. An arm that accelerates for half the way and brakes for the
other half needs a time that grows with the root. A long seek also runs at the arm's full speed:
from some distance on its time grows with x (Ruemmler and Wilkes, IEEE Computer 27(3), 1994). Where
the recordings show this, the best of such curves is taken, with the bend at any distance, or with
both terms at all distances; and an interval contains those of all curves that the recordings do not
contradict. c contains what does not depend on the distance: half a turn,
settling, firmware. If the drive accepts a command while it serves another one, its firmware works
in the meantime, and c less half a turn is the shortest seek. Where the rate is higher, there are
fewer cylinders per byte: x, and the time of the transfer, follow from the rates by place where
these were measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy

from fourcorners.analysis.internals.answer import Answer, about, inapplicable, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.disk import zones
from fourcorners.analysis.internals.thresholds import UNSURE, points_min
from fourcorners.analysis.internals.usual import HANGS, usual_latencies
from fourcorners.analysis.internals.view import PointAxis, View, ids, moves_an_arm, pick
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured, capacity_bytes
from fourcorners.finding import UNDER_LOAD
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say

TEST = "probe-seeks"

NEAR = pick(
    TEST,
    "read",
    without=(PointAxis.SENTINEL, PointAxis.DISTANCE, PointAxis.STRIDE, PointAxis.REGION),
)
"""The random reads within a small region."""

IN_TURNS = pick(TEST, "read", PointAxis.DISTANCE)
"""The reads that alternate between two regions."""

SPEEDS_RPM = (3600, 4200, 4500, 5400, 5900, 7200, 10_000, 15_000)
"""The speeds at which spindles were and are sold."""

_SPEED_TOLERANCE = 0.04
"""The spread may differ by this much from that of a known speed; the nearest two are 8 % apart."""

_OTHER_SPEED_MIN = 3.0
"""Any other known speed must be at least so many times as far off. It is a choice: the nearest two
speeds are 8 % apart, so that the spread may differ from either of them by 2 %."""

_CACHED_SHARE = 0.05
"""A read that took less than this share of the median time came from a cache. With a fifth, as it
was, one in sixteen reads that only had a short way and a short wait was left out, and the others
spread over less than a turn, by as much."""

_PERCENTILES = (0.05, 0.95)
"""The spread lies between these quantiles: nine tenths of a turn, without odd reads at its ends."""

_BENT = 0.01
"""The chance at which seeks that grow with the root alone are taken for others."""

_IMPROBABLE = 0.1
"""Curves whose times scatter more than those of the best are left out of a 90 % interval at this
chance."""

_UNEVEN_MAX = 0.05
"""The times within the spread may lie so far, as a share of it, from where even times lie at the
quarters. Chance gives 2000 reads 0.025. Times that scatter normally are off by 0.07, those of a
queue by 0.28: of these the width is that of no turn, though it may be near one's."""

_TURNS_APART = 2.0
"""Reads in turns are told from reads of one region if they typically take so many times as long as
the longest of these: then few reads in turns are that short. A read in turns takes twice a seek,
twice the wait for its sector, which is two halves of a turn in the mean; one alone waits for a
whole turn at most."""

_NEAREST = 2
"""The shortest seek must not depend on so many of the nearest distances: they are those below 1.5 %
of the drive, within one zone of any disk."""

_RESIDUAL_MAX = 0.1
"""Above this scatter about the curve, in strokes, the curve does not hold."""


ARM_SHARED = 1.2
"""A second outstanding read gains less than this where one arm serves both: the host's and the
firmware's part of a command is below a tenth of a turn. Two arms gain a third or more, as half of
the pairs fall on both."""

AT_LEAST = "at_least"
"""The key in the detail of a queue whose end does not show, for a depth that is within it."""

_OVERLAPS = 2
"""A drive that accepts so many commands at a time accepts one while it serves another."""

_PLACES = 500
"""So many places represent the whole disk."""

_ELSEWHERE = (
    pick("probe-depth", "read", without=(PointAxis.SENTINEL, PointAxis.OF), pattern="random"),
    pick("probe-caches", "read", without=(PointAxis.SENTINEL, PointAxis.REGION), pattern="random"),
    pick("probe-sizes", "read", without=(PointAxis.SENTINEL,)),
)
"""Random reads of other probes, over more of the drive; of each the first, smallest ones count."""

_PROBES_MIN = 2
"""So many of these probes must agree: load can make the reads of one as long."""

_DISTANCES_MIN = points_min(parameters=2)
_BENT_MIN = points_min(parameters=4)


def long_reads(view: View) -> list[Measured]:
    """Single random reads over much of the drive that take as long as an arm needs, of several
    probes; empty where they do not. Reads within a small region may come from a memory in front of
    the arm, as of a disk that keeps what was read in flash."""
    single = [
        min(alone, key=lambda m: m.block_bytes or 0)
        for which in _ELSEWHERE
        if (alone := [m for m in which(view) if (m.queue_depth or 1) == 1])
    ]
    long = [m for m in single if moves_an_arm(m.latency_percentile_s(50) or 0.0)]
    return long if len(long) >= _PROBES_MIN else []


def still(view: View) -> Answer | None:
    """The answer that nothing moves, or that this does not show, from reads within a small region;
    ``None`` where an arm moves."""
    [near, *_] = NEAR(view)
    if moves_an_arm(1 / near.iops):
        return None
    if far := view.once(long_reads):
        elsewhere_s = float(np.median([m.latency_percentile_s(50) or 0.0 for m in far]))
        said = say("rotation_rpm.behind_memory", near=1 / near.iops, elsewhere=elsewhere_s)
        return unknown(said, evidence=ids([near, *far]))
    return inapplicable(say("any.no_arm"), detail={UNDER_LOAD: True}, evidence=[near.recording])


def rotation(view: View) -> Answer:
    """Finds the speed of rotation. It is zero for a drive without an arm, even under other load."""
    [near, *_] = NEAR(view)
    read_s = 1 / near.iops
    if (none := view.once(still)) and none.verdict != "not applicable":
        return none
    if none:
        goodness = {"read_in_shortest_half_turns": max(SPEEDS_RPM) / 30 * read_s}
        detail = {"goodness": goodness, UNDER_LOAD: True}
        answer = known(0.0, say("still", read_s=read_s), detail=detail)
        return answer.checked(Assumption.ANY_ANGLE, None)
    low, high, count = near.histogram
    turn_s, uneven = _spread((low + high) / 2e9, count.astype(np.float64))
    shown: dict[str, Any] = {"turn_s": turn_s, "goodness": {"uneven": uneven}}
    # Times that are all the same have no width.
    if uneven > _UNEVEN_MAX:
        return unknown(say("uneven", turn_s=turn_s), detail=shown)
    speed, second = sorted(SPEEDS_RPM, key=lambda rpm: abs(np.log(turn_s * rpm / 60)))[:2]
    off = 60 / turn_s / speed - 1
    shown["goodness"]["off_the_nearest_speed"] = off
    other = abs(np.log(turn_s * second / 60)) / max(abs(np.log(turn_s * speed / 60)), 1e-9)
    if abs(off) > _SPEED_TOLERANCE or other < _OTHER_SPEED_MIN:
        return unknown(say("no_speed"), detail=shown)
    # Times that are not spread over a turn have the width of no speed.
    answer = known(speed, say("measured"), detail=shown)
    return answer.checked(Assumption.ANY_ANGLE, True, [near.recording])


def _spread(times_s: Floats, count: Floats) -> tuple[float, float]:
    """The width of an even spread of times, for reads that came from the platters; and how far the
    times at the quarters are from those of an even spread, at most, as a share of the width."""
    order = np.argsort(times_s)
    times_s, count = times_s[order], count[order]
    median = _quantile(times_s, count, 0.5)
    uncached = times_s > _CACHED_SHARE * median
    shares = np.linspace(*_PERCENTILES, 5)
    at = np.array([_quantile(times_s[uncached], count[uncached], share) for share in shares])
    width = float(at[-1] - at[0])
    uneven = np.abs((at - at[0]) / max(width, 1e-9) - np.linspace(0, 1, 5))
    return width / (_PERCENTILES[1] - _PERCENTILES[0]), float(uneven.max())


def _quantile(times_s: Floats, count: Floats, share: float) -> float:
    return float(np.interp(share * count.sum(), np.cumsum(count) - count / 2, times_s))


def strokes(distance_bytes: Floats, capacity: float, offset: Floats, rate: Floats) -> Floats:
    """The share of all cylinders between the start of the drive and each distance, with shape
    (points,).

    Args:
        distance_bytes: the distances, with shape (points,).
        capacity: the bytes of the drive.
        offset, rate: the rates by place, with shape (places,); empty if unknown.
    """
    if len(rate) < 2:
        return distance_bytes / capacity
    grid = np.linspace(0, capacity, 2049)
    middle = (grid[:-1] + grid[1:]) / 2
    cylinders = np.concatenate([[0.0], np.cumsum(np.diff(grid) / np.interp(middle, offset, rate))])
    return np.asarray(np.interp(distance_bytes, grid, cylinders / cylinders[-1]))


_Terms = Callable[[Floats], Floats]
"""The terms of a curve, with shape (terms, points), at shares of all cylinders with shape
(points,); the first one is 1."""


def _root(share: Floats) -> Floats:
    return np.array([np.ones_like(share), np.sqrt(share)])


def _root_and_line(share: Floats) -> Floats:
    return np.array([np.ones_like(share), np.sqrt(share), share])


def _root_then_line(share: Floats, bend: float) -> Floats:
    near, far = np.sqrt(np.minimum(share, bend)), np.maximum(share - bend, 0)
    return np.array([np.ones_like(share), near, far])


_BENT_TERMS: tuple[_Terms, ...] = (
    _root_and_line,
    *(partial(_root_then_line, bend=bend) for bend in np.linspace(0.1, 0.8, 15)),
)


@dataclass(frozen=True)
class _Curve:
    """A curve of so many terms, fitted to the mean times of reads that alternate between two
    regions.

    ``values`` are the factors of its terms, in seconds. ``covariance`` is their covariance over the
    variance of a time, with shape (values, values). ``scatter_s`` is the standard deviation of a
    time, with ``freedom`` degrees of freedom.
    """

    terms: _Terms
    values: Floats
    covariance: Floats
    scatter_s: float
    freedom: int

    def mean(self, share: Floats) -> tuple[float, float]:
        """The mean of the curve at these shares of all cylinders, and half the width of its
        interval."""
        return self._at(self.terms(share).mean(axis=1))

    @property
    def stroke(self) -> tuple[float, float]:
        """What all cylinders take longer than none, and half the width of its interval."""
        none, all = self.terms(np.array([0.0, 1.0])).T
        return self._at(all - none)

    def _at(self, weights: Floats) -> tuple[float, float]:
        error = self.scatter_s * math.sqrt(float(weights @ self.covariance @ weights))
        return float(weights @ self.values), two_sided_t(self.freedom) * error

    @property
    def holds(self) -> bool:
        """Whether the times grow as the curve says."""
        stroke, _ = self.stroke
        return stroke > 0 and self.scatter_s <= _RESIDUAL_MAX * stroke

    def is_worse(self, best: _Curve, chance: float) -> bool:
        """Whether its times scatter more than those of the best curve by more than this chance."""
        limit = float(scipy.stats.f.isf(chance, self.freedom, best.freedom))
        return self.scatter_s > math.sqrt(limit) * best.scatter_s


def _fitted(terms: _Terms, share: Floats, seconds: Floats, reads: Floats) -> _Curve:
    """Fits a curve to the mean times of so many reads at each share of all cylinders; all have
    shape (points,)."""
    columns = terms(share)
    # The first read of a measurement does not come from the other region, because a drive serves
    # the region nearer to the arm first.
    columns[1:] *= (reads - 1) / reads
    columns = columns.T
    values, *_ = np.linalg.lstsq(columns, seconds, rcond=None)
    residuals = seconds - columns @ values
    freedom = len(seconds) - columns.shape[1]
    covariance = np.asarray(np.linalg.pinv(columns.T @ columns), dtype=np.float64)
    scatter_s = math.sqrt(float(residuals @ residuals) / freedom)
    return _Curve(terms, np.asarray(values), covariance, scatter_s, freedom)


@dataclass(frozen=True)
class _Seeks:
    """The curve of a disk's seeks, where it holds, and all curves that may be true."""

    curve: _Curve
    possible: Sequence[_Curve]
    capacity_bytes: int
    detail: dict[str, Any]
    farther: Sequence[_Curve]
    """The best curves without the nearest distances. Tracks that lie side by side on one surface
    for some cylinders, and then on the next one, put such addresses on other cylinders than their
    distance says."""
    falls: bool
    """Whether the rates by place are known, and fall from the start of the drive to its end."""

    def of(
        self, part: Callable[[_Curve], tuple[float, float]], *others: _Curve
    ) -> tuple[float, tuple[float, float]]:
        """A part of the curve; the interval contains those of all curves that may be true, and of
        the others."""
        curves = (self.curve, *self.possible, *others)
        low, high = zip(*(about(*part(one)) for one in curves), strict=True)
        return part(self.curve)[0], (min(low), max(high))

    def tested(self, view: View, answer: Answer) -> Answer:
        """The answer with the tests of what it assumes."""
        evidence = ids(IN_TURNS(view))
        bent = self.curve.terms is not _root
        answer = answer.checked(Assumption.ROOT_OF_DISTANCE, not bent, evidence, covered=bent)
        order = view.answer("reordering")
        if order is not None and (pair := order.detail.get("gain_of_two")) is not None:
            shown_by = (*evidence, *(order.evidence or ()))
            answer = answer.checked(Assumption.ONE_ARM, pair <= ARM_SHARED, shown_by)
        if not self.falls:
            return answer
        return answer.checked(Assumption.OUTER_EDGE_FIRST, True, ids(zones.PLACES(view)))


def _seeks(view: View) -> _Seeks | Answer:
    near = NEAR(view)[0]
    in_turns = [(m, s) for m in IN_TURNS(view) if (s := _in_turns_s(m, near)) is not None]
    in_turns.sort(key=lambda one: float(one[0].point[PointAxis.DISTANCE]))
    apart = [m for m, _ in in_turns]
    capacity = capacity_bytes(view.run)
    if len(apart) < _DISTANCES_MIN or capacity is None:
        return unknown(say("seek_stroke.few_distances"))
    distance = np.array([float(m.point[PointAxis.DISTANCE]) for m in apart])
    seconds = np.array([s for _, s in in_turns])
    profile = view.once(zones.profile)
    share = strokes(distance, capacity, *profile)
    block_bytes = float(apart[0].block_bytes or 0)
    reads = np.array([float(m.ios) for m in apart])
    moving_s = seconds - _transfers_s(block_bytes, distance, *profile)

    def fits(first: int) -> list[_Curve]:
        """The root, and where there are enough distances the others, without the nearest ones."""
        terms = (_root, *(_BENT_TERMS if len(apart) - first >= _BENT_MIN else ()))
        return [_fitted(one, share[first:], moving_s[first:], reads[first:]) for one in terms]

    def closest(curves: Sequence[_Curve]) -> _Curve:
        return min(curves, key=lambda one: one.scatter_s)

    root, *bent = fits(0)
    best = closest((root, *bent))
    curve = best if root.is_worse(best, _BENT) else root
    detail = {
        "distance_bytes": distance,
        "cylinder_share": share,
        "seconds": seconds,
        "constant_s": float(curve.values[0]),
        "goodness": {"scatter_s": curve.scatter_s},
    }
    if not curve.holds:
        return unknown(say("seek_stroke.no_root"), detail=detail)
    possible = [one for one in (root, *bent) if not one.is_worse(best, _IMPROBABLE)]
    falls = len(profile[1]) > 1 and bool(profile[1][0] > profile[1][-1])
    left_out = range(1, min(_NEAREST, len(apart) - _DISTANCES_MIN) + 1)
    farther = [closest(fits(first)) for first in left_out]
    return _Seeks(curve, possible, capacity, detail, farther, falls)


def _in_turns_s(m: Measured, near: Measured) -> float | None:
    """The mean time from one read to the next of two regions in turn, in seconds; ``None`` where
    that does not show.

    While a command hangs on its way, the other region is read alone, without long seeks, so that
    the rate is that of no turns. Each read in turn waits for one of the other region: half of the
    median latency of such reads is what one takes, if a read alone never takes as long. The median
    is the mean, as two waits for a turn add up to a symmetric distribution.
    """
    low_ns, high_ns, count = m.histogram
    latency_s = (low_ns + high_ns) / 2e9
    alone_s, alone = usual_latencies(near)
    longest_s = _quantile(alone_s, alone.astype(np.float64), _PERCENTILES[1])
    waits = latency_s > longest_s
    if not count[waits].sum():
        return 1 / m.iops
    typical_s = _quantile(latency_s[waits], count[waits].astype(np.float64), 0.5)
    hangs = latency_s > HANGS * typical_s
    if not count[hangs].sum():
        return 1 / m.iops
    if typical_s < _TURNS_APART * longest_s:
        return None
    in_turns = waits & ~hangs
    return _quantile(latency_s[in_turns], count[in_turns].astype(np.float64), 0.5) / 2


def seek_stroke(view: View) -> Answer:
    """Finds the time that the distance adds to a seek over all cylinders."""
    if none := view.once(still):
        return none
    seeks = view.once(_seeks)
    if isinstance(seeks, Answer):
        return seeks
    value, interval = seeks.of(lambda curve: curve.stroke)
    answer = known(value, say("measured"), interval=interval, detail=seeks.detail)
    return seeks.tested(view, answer)


def seek_base(view: View) -> Answer:
    """Finds the time of the shortest seek."""
    return view.once(_beside_half_a_turn, False)


def seek_mean(view: View) -> Answer:
    """Finds the mean time of a seek between two random places."""
    return view.once(_beside_half_a_turn, True)


def _beside_half_a_turn(view: View, between_any: bool) -> Answer:
    """The time of a read less half a turn, for the shortest seek or between any two places."""
    if none := view.once(still):
        return none
    seeks = view.once(_seeks)
    if isinstance(seeks, Answer):
        return seeks
    rpm, profile = view.value("rotation_rpm"), view.once(zones.profile)
    if rpm is None or not len(profile[1]):
        return unknown(say("seek_stroke.no_rotation"), detail=seeks.detail)
    queue = view.answer("command_queue_depth")
    if queue is None or (queue.value or queue.detail.get(AT_LEAST, 0)) < _OVERLAPS:
        return unknown(say("seek_stroke.one_at_a_time"), detail=seeks.detail)
    apart = _shares_apart(seeks.capacity_bytes, *profile) if between_any else np.zeros(1)
    others = () if between_any else seeks.farther
    value, interval = seeks.of(lambda curve: curve.mean(apart), *others)
    value, low, high = (time_s - 30 / rpm for time_s in (value, *interval))
    if high - low > 2 * UNSURE * value:
        return unknown(say("seek_stroke.too_short"), detail=seeks.detail)
    answer = known(value, say("measured"), interval=(low, high), detail=seeks.detail)
    return seeks.tested(view, answer).checked(Assumption.ANY_ANGLE, True, ids(NEAR(view)))


def _transfers_s(block_bytes: float, distance: Floats, offset: Floats, rate: Floats) -> Floats:
    """The mean transfer time of reads that alternate between the start and each distance, with
    shape (points,); zero where the rates by place are unknown."""
    if not len(rate):
        return np.zeros_like(distance)
    return np.asarray(block_bytes / 2 * (1 / rate[0] + 1 / np.interp(distance, offset, rate)))


def _shares_apart(capacity: float, offset: Floats, rate: Floats) -> Floats:
    """The share of all cylinders between any two places, with shape (pairs,)."""
    places = (np.arange(_PLACES) + 0.5) / _PLACES * capacity
    share = strokes(places, capacity, offset, rate)
    return np.asarray(np.abs(share[:, None] - share[None, :]).ravel())
