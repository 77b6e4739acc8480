"""How much the pace of a drive changed while it was probed, and wider intervals because of it.

The same small reads are repeated between the points of every probe. If their times differ from
probe to probe by more than chance explains, the whole system was faster at one time than at
another: because of heat, its clock, or other load. A rate or a time that was measured once then
differs from what the drive does in the mean by as much, however exact the measurement was.

A change of pace moves all reads, so that both their median and the mean of their middle half show
it. Either one moves without it: the median where cells have two kinds of pages, half of the reads
each, since it lies on either kind by chance; and the mean where a part of the reads of one probe
meet places without data.

Chance hides a pace that changes by less than the error of these means. On flash that is a
fraction of a percent; on a disk, whose reads differ by their seeks, some percent. Nothing is hidden
where the same work takes the same time again and again, as where nothing disturbs the system.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import scipy

from fourcorners import wording
from fourcorners.analysis.internals.answer import Answer, unknown
from fourcorners.analysis.internals.caches import durability
from fourcorners.analysis.internals.thresholds import FALSE_ALARM, UNSURE
from fourcorners.analysis.internals.view import SENTINELS, View
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured
from fourcorners.finding import RESOLUTION
from fourcorners.sentences import say

UNITS = ("s", "B/s")
"""Units of what the pace changes."""

_BUCKET = 1e-3
"""The width of a histogram's buckets over their latency: means show no smaller scatter."""

_PROBES_MIN = 3
"""The pace of fewer probes has no scatter."""

_QUIET = 4 * _BUCKET
"""Reads of one place take the same time if the middle half of them differs by no more than this
share: the buckets of both quartiles, and of the median that they are compared with, and one more
for a clock of 100 ns. Those of the quiet disks of ``arena explain --drives 105 --seed 1618033`` are
in one bucket."""

_SAME_AREA = 0.9
"""An arm reads as far apart in areas that differ by up to a tenth in size: seeks take the root."""

_TAIL = 0.25
"""The share of the reads on either side that the mean leaves out, so that few that hang do not
count."""

_MEDIAN_ERROR = math.sqrt(math.pi / 2)
"""Standard error of a median over that of a mean, of normal numbers."""

_QUARTILES_APART = 1.35
"""Standard deviations between the quartiles of a normal distribution."""

Pace = tuple[float, float]
"""A time of a probe's reads, in seconds, and the variance of its logarithm by chance."""


def scatter(view: View) -> float:
    """The standard deviation of the logarithm of the drive's pace over the probes; 0 where chance
    explains the differences (with the chance of a false alarm that is :data:`FALSE_ALARM`) of the
    medians or of the means of the middle half."""
    return min(_scatter(_medians(view)), _scatter(_middles(view)))


def _scatter(paces: list[Pace]) -> float:
    if len(paces) < _PROBES_MIN:
        return 0.0
    logs, expected = np.log([s for s, _ in paces]), float(np.mean([v for _, v in paces]))
    freedom = len(logs) - 1
    variance = float(logs.var(ddof=1))
    limit = expected * float(scipy.stats.chi2.isf(FALSE_ALARM, freedom)) / freedom
    found = math.sqrt(variance - expected) if variance > limit else 0.0
    return found if found > _BUCKET else 0.0


def unsure(view: View) -> float:
    """The standard deviation of the logarithm of the drive's pace, as far as it shows or may be
    hidden: where no change shows, that of the mean of the middle half of a probe's sentinels by
    chance, or 0 if the system is quiet."""
    if shown := view.once(scatter):
        return shown
    paces = _middles(view)
    if len(paces) < _PROBES_MIN or _is_quiet(view):
        return 0.0
    return math.sqrt(float(np.mean([variance for _, variance in paces])))


def _is_quiet(view: View) -> bool:
    """Whether reads of one place take the same time again and again, or none were measured that
    could show that they do not."""
    return all(_spread(m) <= _QUIET for m in durability.JUST_READ(view))


def _spread(m: Measured) -> float:
    """The distance of the quartiles of the latencies over their median."""
    quarter, half, three = (m.latency_percentile_s(p) or 0.0 for p in (25, 50, 75))
    return (three - quarter) / half if half else 0.0


def _medians(view: View) -> list[Pace]:
    """The median times of the probes' reads."""
    found = []
    for points in _of_probes(view, _median_s):
        middle_s = float(np.median([_median_s(m) for m in points]))
        deviation = float(np.median([_spread(m) for m in points])) / _QUARTILES_APART
        variance = (_MEDIAN_ERROR * deviation) ** 2 / sum(m.ios for m in points)
        found.append((middle_s, variance))
    return found


def _middles(view: View) -> list[Pace]:
    """The mean times of the middle half of the probes' reads."""
    return [_middle(points) for points in _of_probes(view, lambda m: _middle([m])[0])]


def _of_probes(view: View, time_of: Callable[[Measured], float]) -> list[list[Measured]]:
    """The reads of each probe. Reads of what was not written yet, or is in memory, are quicker by
    far: only those within :data:`UNSURE` of what most reads take are of the same thing. The way of
    an arm is shorter in a smaller area: of a disk only those in the largest one are."""
    by_probe: dict[str, list[tuple[float, Measured]]] = {}
    largest = max(map(_area_bytes, SENTINELS(view)), default=0.0)
    for m in SENTINELS(view):
        if not view.is_disk or _area_bytes(m) >= _SAME_AREA * largest:
            by_probe.setdefault(m.test, []).append((time_of(m), m))
    usual = _of_most([seconds for points in by_probe.values() for seconds, _ in points])
    near = [
        [m for seconds, m in points if abs(seconds - usual) <= UNSURE * usual]
        for points in by_probe.values()
    ]
    return [points for points in near if points]


def _median_s(m: Measured) -> float:
    return m.latency_percentile_s(50) or 0.0


def _middle(points: Sequence[Measured]) -> Pace:
    """The mean latency of the middle half of the reads of some points, and its error whatever the
    distribution of the latencies (Tukey and McLaughlin, 1963)."""
    low, high, count = (
        np.concatenate(all_of) for all_of in zip(*(m.histogram for m in points), strict=True)
    )
    order = np.argsort(low)
    seconds, count = ((low + high) / 2e9)[order], count[order]
    total = float(count.sum())
    if not total:
        return 0.0, 0.0
    ranks = np.clip(np.cumsum(count), _TAIL * total, (1 - _TAIL) * total)
    within = np.diff(ranks, prepend=_TAIL * total)
    mean = float(np.average(seconds, weights=within))
    ends = seconds[within > 0]
    limited = np.clip(seconds, ends[0], ends[-1])
    square = float(np.average((limited - np.average(limited, weights=count)) ** 2, weights=count))
    return mean, square / (mean * (1 - 2 * _TAIL)) ** 2 / total


def _of_most(seconds: list[float]) -> float:
    """The median of the largest group of times within :data:`UNSURE` of one of them, of the slower
    one of two that are as large; 0 without any. The median of all may be between two groups."""
    groups = [[s for s in seconds if abs(s - one) <= UNSURE * one] for one in seconds]
    largest = max(groups, key=lambda group: (len(group), np.median(group)), default=[])
    return float(np.median(largest)) if largest else 0.0


def _area_bytes(m: Measured) -> float:
    """The size of the area that is read; zero where that is not known."""
    streams = [] if m.of.workload is None else m.of.workload.streams
    return max((float(stream.span_bytes or math.inf) for stream in streams), default=0.0)


def widened(view: View, answer: Answer, unit: str) -> Answer:
    """The answer with an interval that covers the pace of other times as well, if its unit is one
    of :data:`UNITS`. What is then known to no better than :data:`UNSURE` has no value."""
    if answer.interval is None or not answer.value or unit not in UNITS:
        return answer
    off = two_sided_t(math.inf) * view.once(unsure)
    if not off:
        return answer
    low, high = (abs(bound - answer.value) for bound in answer.interval)
    half = off * answer.value
    # Within bounds the value may lie anywhere, also at their edge: both add up. Two chances seldom
    # have the same sign.
    add = float.__add__ if answer.detail.get("interval") == RESOLUTION else math.hypot
    interval = answer.value - add(low, half), answer.value + add(high, half)
    if interval[1] - interval[0] > 2 * UNSURE * answer.value:
        shown = (wording.quantity(max(end, 0.0), unit) for end in interval)
        said = say("any.pace", **dict(zip(("low", "high"), shown, strict=True)))
        unsure_of = unknown(said, detail=answer.detail, evidence=answer.evidence)
        return replace(unsure_of, checks=answer.checks)
    # What scatters is within no bounds for sure.
    detail = {name: value for name, value in answer.detail.items() if name != "interval"}
    return replace(answer, interval=interval, detail=detail | {"pace_scatter": view.once(unsure)})
