"""The recordings of reads that conflict, and what they measured.

The arithmetic is in :mod:`~fourcorners.analysis.internals.flash.interleaving` (rates) and
:mod:`~fourcorners.analysis.internals.flash.levels` (waits of pairs).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fourcorners.analysis.internals.flash.interleaving import Seen
from fourcorners.analysis.internals.flash.levels import (
    PLANES_MAX,
    RESOLUTION,
    Levels,
    Pairs,
    levels,
    next_one_waits,
    out_of_turn,
)
from fourcorners.analysis.internals.flash.soonest_reads import Soonest
from fourcorners.analysis.internals.thresholds import APART
from fourcorners.analysis.internals.view import Pick, PointAxis, View, by, ids, pick
from fourcorners.analysis.source import Measured
from fourcorners.recording import OperationRecording
from fourcorners.recording.arrays import Floats

TEST = "probe-conflicts"

POINTS: Mapping[str, tuple[PointAxis, Pick]] = {
    kind: (axis, pick(TEST, "read", known or axis))
    for kind, axis, known in (
        ("window", PointAxis.WINDOW, None),
        ("across", PointAxis.BOUNDARY, None),
        ("pair", PointAxis.DISTANCE, None),
        ("beside", PointAxis.BESIDE, None),
        ("together", PointAxis.STRIPES, PointAxis.LONG),
        ("short", PointAxis.STRIPES, PointAxis.SHORT),
        ("late", PointAxis.STRIPES, PointAxis.LATE),
        ("alone", PointAxis.ALONE, None),
        ("sentinel", PointAxis.SENTINEL, None),
        ("stride", PointAxis.STRIDE, None),
        ("apart", PointAxis.APART, None),
        ("edge", PointAxis.EDGE, None),
    )
}
"""For each kind of point, the axis that holds its number, and the selection of its points."""


_SIZES = pick("probe-sizes", "read", without=(PointAxis.SENTINEL,))
_SMALL_BYTES = 4096
"""The largest of the sizes that lie within a page of most drives."""

PAIRS = ("together", "short", "late")
"""The kinds of pairs."""

_KEPT_FULL = ("window", "across", "pair", "beside")
"""The kinds of points whose places are read again and again by a queue that is kept full."""

_DUE_AT_ONCE = {"alone": 1} | dict.fromkeys(PAIRS, 2)
"""How many reads of a point are due at the same time. They tell what these reads wait for if they
are over before the next ones are due; a link that is slower than that lets them wait for one
another."""


def points(view: View, *kinds: str) -> list[Measured]:
    """The points of these kinds, in this order. A point of a single read is left out, since it has
    no rate, and a point of reads that wait for those that were due before them."""
    return [m for kind in kinds for m in _measured(view, kind) if not _meets_the_next(m, kind)]


def overlap(view: View) -> bool:
    """Whether points of reads that are due together were left out, as they wait for the next."""
    return any(_meets_the_next(m, kind) for kind in _DUE_AT_ONCE for m in _measured(view, kind))


def _measured(view: View, kind: str) -> list[Measured]:
    return [m for m in POINTS[kind][1](view) if m.ios > 1]


def _meets_the_next(m: Measured, kind: str) -> bool:
    """Whether more reads are outstanding in the mean than are due at once (Little's law)."""
    outstanding = m.iops * (m.latency_percentile_s(50) or 0.0)
    return outstanding > _DUE_AT_ONCE.get(kind, math.inf)


def windows(view: View) -> list[Measured]:
    """Reads within windows of growing size. The list is empty unless two sizes were measured."""
    found = points(view, "window")
    return found if len(by(found, PointAxis.WINDOW)) > 1 else []


def seen(view: View) -> Seen | None:
    """The rates that the probe measured; ``None`` where it did not run."""
    if not windows(view):
        return None
    return seen_of((m.point, m) for m in view.points(TEST, "read") if m.ios > 1)


def seen_of(points: Iterable[tuple[Mapping[str, Any], OperationRecording]]) -> Seen:
    """The rates of these points, each given with what was read."""
    return Seen.of(
        (
            kind,
            int(point[axis]),
            _rate(kind, point, read),
            read.latency_mean_s or 0.0,
            _soonest(read),
        )
        for point, read in points
        for kind, (axis, picked) in POINTS.items()
        if picked.fits(point)
    )


def _soonest(read: OperationRecording) -> Soonest | None:
    """The soonest reads; ``None`` where there are none."""
    tenth_s, half_s = read.latency_percentile_s(10), read.latency_percentile_s(50)
    return None if tenth_s is None or half_s is None else Soonest(tenth_s, half_s)


_FULL_ROUNDS = 4
"""A queue that is kept full serves each of its places more than once: a choice."""

_DRAINED = 0.5
"""As a full queue drains at the end of a point, it lacks half of its reads in the mean of the time
that the last one takes. If it lacks more, that one alone was left for most of this time."""


def _rate(kind: str, point: Mapping[str, Any], read: OperationRecording) -> float:
    """The reads per second while the queue is full. The rate itself, unless a last read hangs: then
    it holds up the end of the point, so that far fewer reads were outstanding in the mean than the
    queue holds (Little's law), by what that one read explains."""
    latency_s, longest_s = read.latency_mean_s, read.latency_max_s
    held = point[PointAxis.BESIDE] + 1 if kind == "beside" else point.get("queue_depth")
    if kind not in _KEPT_FULL or not held or not latency_s or not longest_s:
        return read.iops
    lacking_s = read.elapsed_s - read.ios * latency_s / held
    if read.ios < _FULL_ROUNDS * held or lacking_s <= _DRAINED * longest_s:
        return read.iops
    # Other than by a last read, a queue may lack reads because the host is slow to issue them.
    return held / latency_s if lacking_s <= longest_s else read.iops


def one_unit(view: View) -> tuple[float, Sequence[str]] | None:
    """The reads per second of one unit, and the recordings that show them; ``None`` where the probe
    did not run."""
    found = view.once(seen)
    if found is None:
        return None
    if found.strides_show_a_die:
        assert found.unread is not None
        return found.unread.one_die, ids(points(view, "stride", "apart"))
    return found.one_die, ids(points(view, "window", "pair"))


def one_read_s(view: View) -> float | None:
    """The time of one read of one place while many are outstanding, without what rarely takes far
    longer: half of the reads wait for no longer than all outstanding ones take, one after the
    other. ``None`` where they are not served one after the other, in the order of their issue, and
    where only reads of other places meet on a unit."""
    found = view.once(seen)
    if found is None or found.strides_show_a_die:
        return None
    of_one = found.soonest.get(0)
    if of_one is None or not of_one.is_one_queue:
        return None
    place = by(points(view, "window"), PointAxis.WINDOW)[found.grid_bytes]
    return None if place.queue_depth is None else of_one.half_s / place.queue_depth


def reads_several(view: View) -> bool:
    """Whether most reads within a stripe are over sooner than those of one place, although no more
    of them are served: a die that reads pages of several planes at a time, and now and then hangs
    for as long as hundreds of reads take, which hides what it gains."""
    found = view.once(seen)
    if found is None or found.stripe_bytes is None:
        return False
    half_s = {
        size: m.latency_percentile_s(50) for size, m in by(windows(view), PointAxis.WINDOW).items()
    }
    one, of_one = half_s.get(found.grid_bytes), found.soonest.get(0)
    if one is None or of_one is None or not of_one.is_one_queue:
        return False
    within = [
        s for size, s in half_s.items() if found.grid_bytes < size <= found.stripe_bytes and s
    ]
    return any(one > APART * seconds for seconds in within)


def fastest_place(view: View) -> float | None:
    """The most reads per second of any single place, many at a time; ``None`` where the probe did
    not run."""
    found = view.once(seen)
    return None if found is None else max(found.one_die, *found.across.values(), 0.0)


_TYPICAL = 0.9
"""The share of reads, beginning with the quickest, whose mean stands for all: the rest may have
been read again, or have met what the drive does by itself."""


_DISTURBED = 8.0
"""Pairs whose mean latency has so many times the usual error may be disturbed. Of pairs of reads
that wait for each other it is up to three times as large, since what they wait for scatters as
well; a stop of ten milliseconds makes it thirty times as large. But it is twenty times as large
where chance decides which of a long and a short read comes to their channel first."""

_ONE_AFTER_THE_OTHER = 2.0
"""Of two reads that are due together neither takes longer than both alone, one after the other,
which is twice the mean latency of pairs that do not wait. What takes longer was held up."""

_OF_HALVES = (1 - 2 / math.pi) ** -0.5
"""The standard deviation of a normal distribution over that of either half of it."""


def typical_s(m: Measured) -> tuple[float, float]:
    """The mean latency of most reads of a measurement and its standard error, in seconds. The
    scatter is that within the quicker and the slower half: two reads of different sizes differ by
    more."""
    low_ns, high_ns, count = m.histogram
    middle_s = (low_ns + high_ns) / 2e9
    before, total = np.cumsum(count) - count, count.sum()
    quick, most = (np.clip(share * total - before, 0, count) for share in (0.5, _TYPICAL))
    squares = 0.0
    for half in (quick, most - quick):
        mean_s = np.average(middle_s, weights=half)
        squares += float(half @ (middle_s - mean_s) ** 2)
    typical = float(np.average(middle_s, weights=most))
    return typical, _OF_HALVES * math.sqrt(squares) / float(most.sum())


def second_waits_s(pair_s: float, without_s: float) -> tuple[float, float]:
    """How long the second of two reads waits, at least and at most, by the typical latencies of
    such pairs and of others that do not wait. What a typical latency leaves out are second reads,
    or first ones where these are longer and take as long as a second one that has waited."""
    longer_s = (pair_s - without_s) * _TYPICAL
    return longer_s / 0.5, longer_s / (_TYPICAL - 0.5)


def of_quickest_s(seconds: Floats, share: Floats) -> float:
    """The typical latency of a distribution: the mean of the quickest reads (:data:`_TYPICAL`)."""
    order = np.argsort(seconds)
    share = share[order] / share.sum()
    weights = np.clip(_TYPICAL - (np.cumsum(share) - share), 0, share)
    return float(np.average(seconds[order], weights=weights))


def alone(view: View) -> dict[int, tuple[float, float]]:
    """For each size of single reads their typical latency and its standard error, in seconds."""
    found = by(points(view, "alone"), PointAxis.ALONE)
    return {size: typical_s(m) for size, m in found.items()}


def pairs(view: View, kind: str) -> Pairs:
    """The typical latencies of the pairs of a kind."""
    found = by(points(view, kind), PointAxis.STRIPES)
    typical = {n: typical_s(m) for n, m in found.items()}
    error_s = statistics.median(error for _, error in typical.values()) if typical else 0.0
    longest_s = _ONE_AFTER_THE_OTHER * min((mean for mean, _ in typical.values()), default=0.0)
    # Where all latencies scatter alike, those of a few pairs scatter far more only if something
    # held up the drive meanwhile.
    told = {
        n: (mean, error)
        for n, (mean, error) in typical.items()
        if error_s <= RESOLUTION * mean
        or error <= _DISTURBED * error_s
        or (found[n].latency_percentile_s(100 * _TYPICAL) or math.inf) <= longest_s
    }
    single = view.once(alone)
    # Where the second read comes later, it finds the first one's commands out of its way.
    alone_s = single[min(single)][0] if single and kind == "late" else None
    latency_s = {n: mean for n, (mean, _) in told.items()}
    return Pairs(latency_s, error_s, alone_s, kind != "together", complete=told == typical)


def second_s(view: View) -> dict[int, float]:
    """The median latency of the later half of pairs of short reads, in seconds, by how many stripes
    they are apart: if both reads are alike, of the second ones. 0 where it is not known."""
    found = by(points(view, "short"), PointAxis.STRIPES)
    return {n: m.latency_percentile_s(75) or 0.0 for n, m in found.items()}


def all_pairs(view: View) -> list[Pairs]:
    """The pairs of all kinds, without those kinds of which some were disturbed, if others were
    not."""
    kinds = [view.once(pairs, kind) for kind in PAIRS]
    return [kind for kind in kinds if kind.complete and kind.latency_s] or kinds


def per_byte_s(view: View) -> float:
    """The time that each further byte of a small read takes on its way to the host at most, from
    single reads of several sizes; zero where they do not show it."""
    single = [(size, typical) for size, (typical, _) in view.once(alone).items()]
    if len(single) < 2:
        single = [
            (m.block_bytes or 0, m.latency_percentile_s(50) or 0.0)
            for m in _SIZES(view)
            if m.queue_depth == 1 and (m.block_bytes or 0) <= _SMALL_BYTES
        ]
    (small, small_s), (large, large_s) = min(single, default=(0, 0)), max(single, default=(0, 0))
    return max(0.0, large_s - small_s) / (large - small) if large > small else 0.0


def may_be_channels(view: View) -> bool:
    """Whether units that conflict may be channels with several dies each: the data of a read are on
    their way for nearly as long as a place takes from one read to the next. Then a second die of
    the channel gains too little to be told from the same die: where its array reads while another
    page passes, the longer one of the two over the channel's time, and more elsewhere. Pairs that
    wait for a whole read show dies all the same."""
    found = view.once(seen)
    if found is None or view.once(shown_levels) is not None:
        return False
    return APART * view.once(per_byte_s) * found.block_bytes * found.one_die >= 1


def units(view: View) -> int | None:
    """The number of units (dies, or planes that are read together) that take stripes in rotation;
    ``None`` where none do, where they are not all, where places conflict at other distances than
    whole turns, or where they may be channels."""
    return None if view.once(may_be_channels) else view.once(in_rotation)


def in_rotation(view: View) -> int | None:
    """The same, where they may be channels too."""
    found = view.once(seen)
    if found is None:
        return None
    if found.stripe_bytes is None:
        return found.unread.dies if found.unread is not None else None
    if not found.takes_turns or found.keeps_turns is False or not found.is_one_die_again:
        return None
    return found.units


def shown_levels(view: View) -> Levels | None:
    """The levels of waits; ``None`` where they do not show, or no pairs were measured."""
    count, one = view.once(in_rotation), view.once(one_unit)
    if count is None or one is None:
        return None
    return levels(count, view.once(all_pairs), 1 / one[0])


def planes_follow(view: View) -> bool:
    """Whether planes of a die follow each other directly, although their number does not show."""
    count = view.once(units)
    if count is None or view.once(shown_levels) is not None:
        return False
    return next_one_waits(view.once(all_pairs), count)


def row_max_bytes(view: View) -> int:
    """The most of what is written in sequence that a die may program together: a stripe, or one for
    each plane where planes follow each other directly; 0 where no stripe shows."""
    found = view.once(seen)
    part = 0 if found is None else found.stripe_bytes or 0
    return part * (PLANES_MAX if view.once(planes_follow) else 1)


def own_units(view: View) -> int | None:
    """The number of units in rotation, if none of them share a die out of turn; otherwise, and
    where none take stripes in rotation, ``None``."""
    count = view.once(units)
    if count is None or out_of_turn(count, view.once(all_pairs)):
        return None
    return count
