"""Where a drive that is overwritten at random, in parts of equal size, begins to collect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from fourcorners.analysis.internals.collection.parts import OVERWRITE, Part, parts
from fourcorners.analysis.internals.thresholds import FALSE_ALARM
from fourcorners.analysis.internals.view import View
from fourcorners.recording.arrays import Floats

RISE_MIN = 0.6
"""There is a cliff if the time of the next parts rises in the mean by at least so many times that
of the first parts. The erasure of empty blocks costs less."""

_FIRST_SHARE = 0.2
"""The mean rise at the cliff is at least this share of the largest mean rise: a smaller one before
may come from blocks that held little valid data."""

PARTS_AHEAD, _PARTS_BACK = 8, 6
"""The number of next parts whose mean rise shows that a cliff was passed, which is one batch of the
probe, and the number of earlier parts that may belong to the cliff, which is less."""

_ONSET_SHARE = 0.3
"""The first part of the cliff has at least this share of the largest rise nearby."""

_SEEN_SHARE = 0.1
"""The same for a slower part before it that is followed by parts at the full pace."""

FRESH_PARTS = 4
"""The median of so many first parts is the time of a part before the cliff."""

_VARIES_MIN = 0.3
"""The largest range of the middle 80 % of the times of parts before a cliff, or of the means of
several of them, over their median."""

_USUAL_QUANTILE, _USUAL_FACTOR, _RISE_SEEN = 0.9, 1.5, 0.02
"""This quantile of the rises is the usual variation before the cliff. The first part of the cliff
rises by more than this factor times it, plus the last value."""

_PART_UNCERTAIN, _BURST_UNCERTAIN = 0.3, 0.45
"""The uncertainty of the cliff in parts: the first for a drive that takes the new pace at once, the
second for one that first stalls anywhere in a part."""

_FULL_SHARE, _SHARP_PARTS = 0.8, 2
"""The drive is slow to the full from this share of the later rise on. A sharp cliff comes within so
many parts: it lies within one, and the destination block of collection is empty at first."""

_MEANS_MIN = 4
"""The least number of means by which parts are judged whose times scatter: with fewer, hardly any
scatter of means is too much or too little for chance."""

_ANYWHERE = 1.0
"""The uncertainty in parts: the one that the cliff lies in may count as before it or as after."""

_LEAST_SPREAD = 0.01
"""The least deviation of times over their mean: a few that agree by chance are no sure sign."""

PACED = 0.01
"""Writes past a cliff, and random reads with several queues, whose rates are all within this share
of each other meet a limit on I/Os, whose credits were used up at the cliff: flash serves reads
faster, and collection varies from part to part."""


@dataclass(frozen=True)
class Cliff:
    """The place where a drive begins to collect."""

    part: int
    """The number of the part in which collection begins."""
    written_bytes: float
    margin_bytes: float
    fresh_s: float
    """The time of a part before the cliff."""
    in_bursts: bool
    """Whether the drive stalls at times and writes at its full pace between stalls."""
    onset_bytes: float = 0.0
    """The bytes over which the drive slows down to the full, beyond a sharp cliff."""
    doubtful_bytes: float = 0.0
    """By how much earlier a slower part lies that may be the first one with collection, or slow for
    another reason, as others are that were written before."""


def find_cliff(parts: Sequence[Part]) -> Cliff | None:
    """The cliff; ``None`` unless enough parts follow it.

    A drive that collects between writes takes the new pace at once, and the time of the part gives
    the place of the cliff within it. A drive that collects in bursts stalls first. Where parts
    before it differ, they must do so by chance, and then chance leaves its place less sure.
    """
    times = np.array([elapsed for _, elapsed in parts])
    if len(times) < FRESH_PARTS + PARTS_AHEAD:
        return None
    return _after_even_parts(parts, times) or _among_scatter(parts, times)


def _after_even_parts(parts: Sequence[Part], times: Floats) -> Cliff | None:
    fresh = float(np.median(times[:FRESH_PARTS]))
    rise = times / fresh - 1
    ahead = np.convolve(rise, np.ones(PARTS_AHEAD) / PARTS_AHEAD, mode="valid")
    risen = np.flatnonzero(ahead >= max(RISE_MIN, _FIRST_SHARE * float(ahead.max())))
    if not len(risen):
        return None
    near = rise[risen[0] : risen[0] + PARTS_AHEAD]
    part = int(risen[0]) + int(np.argmax(near >= _ONSET_SHARE * near.max()))
    part, first = _first_slower(rise, part, float(near.max()))
    if part + 2 >= len(parts) or varies(times[:part]):
        return None
    count = float(parts[part][0])
    before = float(sum(part[0] for part in parts[:part]))
    doubtful = (part - first) * count
    in_bursts = bool(rise[part + 1] < 0.5 * rise[part])
    if in_bursts:
        margin = _BURST_UNCERTAIN * count
        return Cliff(part, before + count / 2, margin, fresh, True, doubtful_bytes=doubtful)
    share = min(float(rise[part]) / float(rise[part + 1]), 1.0)
    written = before + count * (1 - share)
    onset = count * _soft_parts(rise[part:])
    return Cliff(part, written, _PART_UNCERTAIN * count, fresh, False, onset, doubtful)


def _soft_parts(rise: Floats) -> int:
    """The parts from the first slower one, and beyond those of a sharp cliff, until the drive is
    slow to the full."""
    if len(rise) <= _PARTS_BACK:
        return 0
    later = float(np.median(rise[_PARTS_BACK : _PARTS_BACK + 2 * PARTS_AHEAD]))
    full = np.flatnonzero(rise >= _FULL_SHARE * later)
    return max(int(full[0]) - _SHARP_PARTS, 0) if len(full) and later > 0 else 0


def _first_slower(rise: Floats, part: int, most: float) -> tuple[int, int]:
    """The first slower part of a cliff found in ``part``, and the first that may be one. At first
    the destination block of collection is still empty, so that for some parts little has to be
    collected. But where single parts before were slow as well, a single one may be so by chance."""
    first = part
    while first > 1:
        near = max(first - _PARTS_BACK, 1)
        earlier = np.abs(rise[:near])
        seen = max(_USUAL_FACTOR * float(earlier.max()), _SEEN_SHARE * most)
        slower = np.flatnonzero(rise[near:first] > seen)
        if not len(slower):
            break
        first = near + int(slower[0])
    earlier = np.abs(rise[: max(first - 2, 1)])
    usual = _USUAL_FACTOR * float(np.quantile(earlier, _USUAL_QUANTILE)) + _RISE_SEEN
    if first == part or earlier.max() <= usual or rise[first:part].min() > usual:
        part = first
    # The pace may fall over some parts.
    while part > 1 and rise[part - 1] > usual:
        part -= 1
    return part, min(first, part)


def varies(times: Floats) -> bool:
    """Whether times vary without a cliff, by other load or on what is no plain flash drive."""
    low, middle, high = np.quantile(times, (0.1, 0.5, 0.9)) if len(times) else (1.0, 1.0, 1.0)
    return bool(high - low > _VARIES_MIN * middle)


def _among_scatter(parts: Sequence[Part], times: Floats) -> Cliff | None:
    """The cliff of a drive whose writes hang now and then, so that parts differ by chance: where
    the mean time rises for good. Before and after it times are taken for normal, each with a mean
    and a deviation of its own, which gives every place of the cliff its likelihood."""
    sums = np.append(0.0, np.cumsum(times))
    places = np.arange(_MEANS_MIN * PARTS_AHEAD, len(times) - PARTS_AHEAD + 1)
    if not len(places):
        return None
    ahead = (sums[places + PARTS_AHEAD] - sums[places]) / PARTS_AHEAD
    rise = ahead / (sums[places] / places) - 1
    risen = places[rise >= max(RISE_MIN, _FIRST_SHARE * float(rise.max()))]
    if not len(risen):
        return None
    near = np.arange(risen[0], min(int(risen[0]) + PARTS_AHEAD, int(places[-1])) + 1)
    end = int(near[-1]) + PARTS_AHEAD
    likely = np.array([_spread(times[:n]) + _spread(times[n:end]) for n in near])
    weight = np.exp(likely.min() - likely)
    weight /= weight.sum()
    low, high = near[np.searchsorted(np.cumsum(weight), (0.05, 0.95))]
    part, mean = int(low), float(weight @ near)
    before = times[:part]
    fresh, deviation = float(before.mean()), float(before.std(ddof=1))
    after = float(times[high : high + PARTS_AHEAD].mean())
    sure = scipy.stats.norm.isf(FALSE_ALARM / len(places)) / math.sqrt(PARTS_AHEAD)
    if not _averages_out(before) or after - fresh <= max(sure * deviation, RISE_MIN * fresh):
        return None
    count = float(parts[part][0])
    margin = max(float(high) - mean, mean - part) + _ANYWHERE
    onset = count * _soft_parts(times[int(high) :] / fresh - 1)
    return Cliff(int(high), mean * count, margin * count, fresh, False, onset)


def _spread(times: Floats) -> float:
    """Minus the logarithm of the greatest likelihood of normal times, without what is constant."""
    return len(times) * math.log(max(float(times.std()), _LEAST_SPREAD * float(times.mean())))


def _averages_out(times: Floats) -> bool:
    """Whether times of parts differ by chance: the means of several in a row are about alike, and
    differ by no more and no less than those of times that do not depend on each other. What lasts
    makes them differ by more, and what comes at equal distances by less."""
    groups, variance = len(times) // PARTS_AHEAD, float(times.var(ddof=1))
    if groups < _MEANS_MIN or variance == 0:
        return False
    means = times[len(times) % PARTS_AHEAD :].reshape(groups, PARTS_AHEAD).mean(axis=1)
    squares = float(np.sum((means - means.mean()) ** 2)) * PARTS_AHEAD / variance
    low, high = scipy.stats.chi2.ppf((FALSE_ALARM, 1 - FALSE_ALARM), groups - 1)
    return not varies(means) and bool(low < squares < high)


def one_rate(parts: Sequence[Part], cliff: Cliff | None) -> bool:
    """Whether all parts past a cliff have one rate, as heat makes it. Collection through the blocks
    of the fill moves less and less: its cost falls by more than that in so many parts. Between the
    stalls of a drive that collects in bursts, all parts have the rate of a fresh drive."""
    if cliff is None or cliff.in_bursts:
        return False
    rates = [count / elapsed for count, elapsed in parts[cliff.part + _SHARP_PARTS :]]
    rates = rates[: 2 * PARTS_AHEAD]
    return len(rates) == 2 * PARTS_AHEAD and max(rates) - min(rates) <= PACED * max(rates)


def cliff_of(view: View) -> Cliff | None:
    """The place where the drive of a run begins to collect."""
    return find_cliff(parts(OVERWRITE(view)))
