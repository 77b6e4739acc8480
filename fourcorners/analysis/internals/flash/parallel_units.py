"""Finding ``parallel_units``: how many reads a drive serves at a time, from the gain of a queue.

With N outstanding, random reads meet on units (dies) by chance. The drive is modelled as a closed
queueing network (:mod:`closed_network`), whose fit is compared with two other models, and its units
are compared with those that conflicts count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.caches.durability import JUST_READ
from fourcorners.analysis.internals.flash import conflicting_reads, whole_drive
from fourcorners.analysis.internals.flash.closed_network import (
    SCATTER,
    UNITS_MAX,
    NetworkFit,
    balls_in_bins,
    fit_network,
    scalability,
)
from fourcorners.analysis.internals.flash.one_unit import one_unit
from fourcorners.analysis.internals.link import command_queue
from fourcorners.analysis.internals.thresholds import UNSURE
from fourcorners.analysis.internals.usual import usual_s
from fourcorners.analysis.internals.view import ERASED_ALONE, PointAxis, View, by, ids
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import Said, say

_ALONE = 1.5
"""Below this gain of the deepest queue, the host's own part of a command explains the gain."""

_MORE_THAN_ONE = 1.03
"""A drive that serves random reads so many times as fast as any single place has more than one
unit: reads of a place take its unit as long as any others. Ten times the scatter of a rate."""

_PATH_FREE = 0.5
"""What all reads pass is not what limits them if it is busy for up to this share of the time: the
queue in front of a station that is busy for half of it holds less than one read."""

_MISFIT_MAX = 0.02
"""Above this root mean square of the relative misfit, the drive is no such network."""

_FEW = 3.5
"""Below so many units, the error of mean value analysis is too large a part of a unit to count
them."""

_FACTOR_MAX = 1.25
"""If the upper bound of the units is more than so many times the lower, the curve does not show
their number."""

_STATION_FULL, _UNITS_FULL = 0.99, 0.95
"""The station limits the highest rate if it is busy for more than the first share of the time, and
the units do not if they are busy for less than the second. Where both hold, other stations such as
channels would go unnoticed."""

_MODEL_SHARE, _MODEL_UNITS = 0.15, 0.5
"""The error of mean value analysis on simulated networks of 2 to 32 units: a share of the units,
and with few units a part of one. The interval includes it."""

_SEVERAL_MIN = 1.5
"""If a read takes a unit for more than so many times the time from one read of a place to the next,
several serve the place: two would make it twice as much, less what else a read of flash needs."""

_VARIANCE_MAX = UNSURE
"""The network's units take equally long for each read. Where the times of single reads vary by more
than this share of the square of a unit's time, reads wait behind one that hangs, so that the rate
rises as slowly as with more units: up to it the bounds held the units of simulated networks."""

_DEVIATIONS = 2.0
"""Two shares of random reads differ by more standard deviations for one of twenty drives."""

_BLOCK_PAGES_MIN = 64
"""A block has at least so many pages (data sheets of 2006 to 2022)."""


@dataclass(frozen=True)
class Conflicting:
    """The number of dies found from reads that conflict, the reads per second of one die, the
    recordings that show them, and how many of these are planes of one die that read together."""

    dies: float
    one_die_iops: float
    recordings: Sequence[str]
    planes: int = 1
    reads_several: bool = False
    """Whether a unit seems to serve reads of several of its places at a time."""
    path_s: float = 0.0
    """The time that data of a read takes to the host at most, where nothing else shows that reads
    of a place wait for a die and not for what carries its data."""

    def allow(self, iops: float) -> bool:
        """Whether this number of dies can serve this rate of reads."""
        return iops <= (1 + _MODEL_SHARE) * self.dies * self.one_die_iops

    def may_need_same_pages(self, depths: Floats, rates: Floats) -> bool:
        """Whether planes of a die may read together only where they read the same page of each, as
        those of pairs that were written in turn. At no queue depth were more random reads served
        than by dies that read one place after the other, and with it those of the reads that wait
        for other planes that are of the same page of their block by chance."""
        if self.planes == 1:
            return False
        waiting = depths / self.dies
        by_chance = 1 - (1 - 1 / _BLOCK_PAGES_MIN) ** waiting
        each = self.one_die_iops * (1 + (self.planes - 1) * by_chance * (1 + _MODEL_SHARE))
        return bool(np.all(rates <= self.dies / self.planes * each))


def parallel_units(view: View) -> Answer:
    """Finds how many reads the drive serves at the same time."""
    found, one = view.once(_both)[0], view.once(one_unit)
    if found.value is None and one is not None:
        found = known(
            1.0, say("one_die", why=found.said), detail=found.detail, evidence=one.evidence
        )
        found = _counted(found.checked(Assumption.UNITS_ALIKE, None))
    return whole_drive.checked(view, found)


def disagreement(view: View) -> Answer | None:
    """A contradiction between the curve and the dies found from conflicts; ``None`` where they
    agree."""
    return None if view.is_disk else view.once(_both)[1]


def _both(view: View) -> tuple[Answer, Answer | None]:
    by_depth = view.once(command_queue.rates)
    units, one = view.once(conflicting_reads.own_units), view.once(conflicting_reads.one_unit)
    evidence = ids(command_queue.RANDOM(view))
    place = view.once(conflicting_reads.fastest_place)
    levels = view.once(conflicting_reads.shown_levels)
    planes = 1 if levels is None else levels.planes
    path_s, several = view.once(_path_s), view.once(_several_serve)
    carried_s = path_s if levels is None else 0.0
    together = view.once(conflicting_reads.reads_several)
    conflicting = None
    if units is not None and one is not None:
        conflicting = Conflicting(units, *one, planes, together, carried_s)
    quicker_s = _quicker_s(view)
    if quicker_s is None:
        place = None
    elif quicker_s > 0 and one is not None and (one_s := 1 / one[0] - quicker_s) > 0:
        place = max(place or 0.0, 1 / one_s)
        if units is not None:
            conflicting = Conflicting(units, 1 / one_s, one[1], planes, together, carried_s)
    queue_depth = view.value("command_queue_depth")
    if place is not None:
        place /= 1 - view.once(_from_memory)
    waits = view.once(command_queue.waits_for_others)
    near = max((m.iops for m in conflicting_reads.windows(view)), default=0.0)
    return told(
        by_depth,
        queue_depth,
        conflicting,
        evidence,
        place,
        path_s,
        waits,
        several,
        near,
        view.once(_variance_s2),
    )


def _variance_s2(view: View) -> float:
    """The variance of the times of single random reads, with those that hang."""
    single = [m for m in command_queue.RANDOM(view) if m.queue_depth == 1]
    if not single:
        return 0.0
    low_ns, high_ns, count = single[0].histogram
    middle_s = (low_ns + high_ns) / 2e9
    mean_s = float(np.average(middle_s, weights=count))
    return float(np.average((middle_s - mean_s) ** 2, weights=count))


def _several_serve(view: View) -> bool:
    """Whether several units serve each place, as the members of a mirror: a read of flash takes so
    much longer than one that needs none, beside the transfer of its bytes, that one unit could not
    be done so soon with each of many reads of a place. A read that has to look up its map takes
    longer than one of a place whose map is at hand, which counts then."""
    place = view.once(conflicting_reads.fastest_place)
    written, erased, again = (
        [s for m in found if (s := m.latency_percentile_s(50))]
        for found in (
            [m for m in command_queue.RANDOM(view) if m.queue_depth == 1],
            ERASED_ALONE(view),
            JUST_READ(view),
        )
    )
    if place is None or not written or not erased:
        return False
    flash = [s for s in (*written, *again) if s > 1 / place and s > max(erased)]
    passes_s = view.once(_path_s)
    return bool(flash) and min(flash) - max(erased) - passes_s > _SEVERAL_MIN / place


def _path_s(view: View) -> float:
    """The time that a small read's data takes to the host at most, from single reads of several
    sizes; zero where they do not show it."""
    single = [m for m in command_queue.RANDOM(view) if m.queue_depth == 1]
    return view.once(conflicting_reads.per_byte_s) * (single[0].block_bytes or 0) if single else 0.0


def _from_memory(view: View) -> float:
    """The share of random reads that are over before a unit serves one, as those of data in a write
    buffer: units do not limit them. With chance, of which the reads of other depths have as much;
    zero where the median read is no longer than that."""
    place = view.once(conflicting_reads.fastest_place)
    single = [m for m in command_queue.RANDOM(view) if m.queue_depth == 1]
    if place is None or not single:
        return 0.0
    low, high, count = single[0].histogram
    sooner = int(count[(low + high) / 2 * 1e-9 < 1 / place].sum())
    if 2 * sooner > single[0].ios:
        return 0.0
    share = sooner / single[0].ios
    return share + _DEVIATIONS * math.sqrt(2 * share * (1 - share) / single[0].ios)


def _quicker_s(view: View) -> float | None:
    """How much sooner the mean random read is over than one of the place that was read again and
    again: a part of the data may be in quicker cells, or in a memory, so that the mean read takes
    its unit for less time than the reads of that place do. ``None`` where random reads differ by
    much and no single read of the place was measured."""
    single = [m for m in command_queue.RANDOM(view) if m.queue_depth == 1]
    seen = view.once(conflicting_reads.seen)
    if not single or seen is None:
        return 0.0
    points = by(conflicting_reads.points(view, "alone"), PointAxis.ALONE)
    if not points:
        low_s, high_s = (single[0].latency_percentile_s(share) for share in (10, 90))
        alike = low_s is None or high_s is None or low_s > (1 - UNSURE) * high_s
        return 0.0 if alike else None
    seconds = [conflicting_reads.typical_s(m)[0] for m in points.values()]
    place_s = float(np.interp(seen.block_bytes, list(points), seconds))
    return max(0.0, place_s - usual_s(single[0]))


def told(
    by_depth: Mapping[int, float],
    queue_depth: float | None,
    conflicting: Conflicting | None,
    evidence: Sequence[str],
    one_place_iops: float | None = None,
    path_s: float = 0.0,
    waits_for_others: bool = False,
    several_serve: bool = False,
    most_iops: float = 0.0,
    variance_s2: float = 0.0,
) -> tuple[Answer, Answer | None]:
    """The units, and a disagreement between the two ways to count them.

    Args:
        by_depth: the random reads per second by queue depth, beginning at 1.
        queue_depth: the number of commands that the drive accepts at a time, if it is known.
        conflicting: the dies found from conflicts, if there are any.
        evidence: the recordings of the random reads.
        one_place_iops: the reads per second of the fastest place, many at a time: no unit serves
            more.
        path_s: the time that a read takes at most of a path that all reads share.
        waits_for_others: whether reads wait for reads of other units, as where a drive returns
            them in the order of submission.
        several_serve: whether each place is on several units, which serve it in turn.
        most_iops: the most reads per second of any part of the drive.
        variance_s2: the variance of the times of random reads, one at a time.
    """
    depths = np.array(list(by_depth), dtype=np.float64)
    rates = np.array(list(by_depth.values()), dtype=np.float64)
    most = float(rates.max())
    gain = float(most / rates[0])
    detail: dict[str, Any] = {"queue_depth": depths, "iops": rates, "gain": gain}
    both = evidence if conflicting is None else [*conflicting.recordings, *evidence]
    # No model is needed for the least number of units: what each serves at most, by a count.
    least = 0.0 if one_place_iops is None else most / one_place_iops
    if gain < _ALONE:
        detail["goodness"] = {"gain": gain}
        why = None
        if least > _MORE_THAN_ONE:
            why = say("parallel_units.more_than_one", times=least)
        elif path_s * most > _PATH_FREE:
            why = say("parallel_units.path", path=path_s, each=1 / most)
        # Behind a path that is busy, many units gain no more than one.
        if why is not None:
            return _without_curve(why, gain, conflicting, detail, evidence), None
        found = known(1.0, say("one"), detail=detail, evidence=evidence)
        return _counted(found.checked(Assumption.UNITS_ALIKE, None)), None
    if conflicting is not None and not conflicting.allow(most):
        # If the drive is faster than this number of dies can be, both ways to count are in doubt.
        served = most / conflicting.one_die_iops
        about = {"dies": conflicting.dies, "served": served}
        return (
            unknown(say("more_than_dies", **about), detail=detail, evidence=both),
            known(served / conflicting.dies, say("more_than_dies", **about), evidence=both),
        )
    # Commands that the drive does not accept wait in the host.
    inside = np.minimum(depths, queue_depth or depths.max())
    fit = fit_network(inside, rates)
    detail |= {
        "model_iops": fit.rates,
        "unit_s": fit.unit_s,
        "station_s": fit.station_s,
        "universal_scalability_law": scalability(inside, rates),
        "balls_in_bins": balls_in_bins(inside, rates),
        "goodness": {"relative_misfit_rms": fit.misfit},
    }
    why = _hidden(fit, most)
    if why is not None:
        return _without_curve(why, gain, conflicting, detail, evidence), None
    low, high = fit.interval
    low = max(1.0, low * (1 - _MODEL_SHARE) - _MODEL_UNITS, least)
    high = max(high, least) * (1 + _MODEL_SHARE) + _MODEL_UNITS
    units = max(float(round(fit.units)), math.ceil(least * (1 - SCATTER)))
    dies = None if conflicting is None else conflicting.dies
    place_s = math.inf if one_place_iops is None else 1 / one_place_iops
    alike = variance_s2 <= _VARIANCE_MAX * min(fit.unit_s, place_s) ** 2
    shown = {"units": units, "misfit": fit.misfit}
    if dies is None and waits_for_others:
        # The network's units wait for nothing but themselves: fewer of them have such a curve.
        return unknown(say("waits_for_others", **shown), detail=detail, evidence=evidence), None
    if dies is None and several_serve:
        # The network's reads have one unit each: they neither choose between two nor take turns.
        return unknown(say("members", **shown), detail=detail, evidence=evidence), None
    if dies is None and one_place_iops is not None and most_iops > high * one_place_iops:
        shown["times"] = most_iops / one_place_iops
        return unknown(say("faster_near", **shown), detail=detail, evidence=evidence), None
    if dies is None:
        found = known(
            units, say("measured", **shown), bounds=(low, high), detail=detail, evidence=evidence
        )
        found = found.checked(Assumption.UNITS_ALIKE, True, evidence)
        return found.checked(Assumption.READS_ALIKE, alike, evidence), None
    if low <= dies <= high or abs(units / dies - 1) < UNSURE:
        # A count that the estimate confirms has no interval.
        found = known(dies, say("counted", **shown), detail=detail, evidence=both)
        return _counted(found.checked(Assumption.UNITS_ALIKE, True, evidence)), None
    assert conflicting is not None
    alone = dies / conflicting.planes
    if conflicting.planes > 1 and (low <= alone <= high or abs(units / alone - 1) < UNSURE):
        said = say("planes_apart", dies=dies, planes=conflicting.planes, **shown)
        found = known(alone, said, detail=detail, evidence=both)
        return _counted(found.checked(Assumption.UNITS_ALIKE, True, evidence)), None
    if units < dies and conflicting.may_need_same_pages(depths, rates):
        why = say("parallel_units.measured", gain=gain, unit_s=fit.unit_s, **shown)
        return _planes_together(why, conflicting, detail, both), None
    if units > dies and not alike:
        why = say("parallel_units.hang", units=units, unit_s=fit.unit_s)
        return _without_curve(why, gain, conflicting, detail, evidence), None
    # Conflicts count, while the curve estimates. A smaller estimate may come from something that
    # units share, such as channels, which the network does not have; or places conflict that are on
    # different units.
    value = max(dies, units)
    bounds = (min(low, dies), max(high, dies))
    said = say("independent", dies=dies, **shown)
    found = known(value, said, bounds=bounds, detail=detail, evidence=both)
    return (
        _counted(found.checked(Assumption.UNITS_ALIKE, False, evidence, covered=True)),
        known(units / dies, say("measured", dies=dies, units=units), evidence=both),
    )


def _without_curve(
    why: Said,
    gain: float,
    conflicting: Conflicting | None,
    detail: dict[str, Any],
    evidence: Sequence[str],
) -> Answer:
    """What conflicts alone tell of the units, where the curve does not show them for this reason: a
    single read spends time outside its die, which a queue hides."""
    if conflicting is None:
        return unknown(why, detail=detail, evidence=evidence)
    both = [*conflicting.recordings, *evidence]
    if conflicting.reads_several:
        said = say("reads_several", units=conflicting.dies, why=why)
        return unknown(said, detail=detail, evidence=both)
    if conflicting.may_need_same_pages(detail["queue_depth"], detail["iops"]):
        return _planes_together(why, conflicting, detail, both)
    if conflicting.path_s * conflicting.one_die_iops > _PATH_FREE:
        each_s, units = 1 / conflicting.one_die_iops, conflicting.dies
        said = say("carried", path=conflicting.path_s, each=each_s, units=units, why=why)
        return unknown(said, detail=detail, evidence=both)
    if gain > conflicting.dies:
        said = say("conflicts_alone_more", why=why)
        return _counted(known(conflicting.dies, said, detail=detail, evidence=both))
    # Other load on the reads of the queue leaves the conflicts as they are.
    said, evidence = say("conflicts_alone", why=why), conflicting.recordings
    return _counted(known(conflicting.dies, said, detail=detail, evidence=evidence))


def _counted(found: Answer) -> Answer:
    """The answer of a count, for which reads need not take equally long."""
    return found.checked(Assumption.READS_ALIKE, None)


def _planes_together(
    why: Said, conflicting: Conflicting, detail: dict[str, Any], evidence: Sequence[str]
) -> Answer:
    """The answer where the planes of a die may be one unit for reads of random places."""
    said = say("planes_together", units=conflicting.dies, planes=conflicting.planes, why=why)
    return unknown(said, detail=detail, evidence=evidence)


def _hidden(fit: NetworkFit, most: float) -> Said | None:
    """The reason why the curve does not show the number of units; ``None`` where it does."""
    low, high = fit.interval
    if fit.misfit > _MISFIT_MAX:
        return say("parallel_units.no_network", misfit=fit.misfit)
    if fit.units < _FEW:
        return say("parallel_units.few", units=fit.units)
    if fit.station_s * most > _STATION_FULL and fit.unit_s * most / fit.units < _UNITS_FULL:
        return say("parallel_units.station")
    if high > _FACTOR_MAX * low or high >= UNITS_MAX:
        return say("parallel_units.same_curve", few=low, many=high)
    return None
