"""Findings ``collection_stall_length`` and ``collection_stall_spacing`` from random overwriting.

A drive that collects in bursts accepts nothing during a burst, so that all outstanding requests
wait for its end: latencies are either short or about as long as a stall. The number of stalls is
the number of requests that waited, over the queue depth. The bytes written, over the number of
stalls, are the distance between two (SSDcheck, Kim et al., MICRO 2018, predicts the next stall from
it).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from fourcorners.analysis.internals.answer import Answer, about, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.collection.cliff import cliff_of
from fourcorners.analysis.internals.collection.parts import OVERWRITE, TEST
from fourcorners.analysis.internals.collection.superblock import Cycle, cycle, rare_cycle
from fourcorners.analysis.internals.thresholds import FALSE_ALARM, UNSURE
from fourcorners.analysis.internals.view import View, ids, pick
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured, RunData, capacity_bytes
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say

WRITES = pick(TEST, "write")

_LONGER_MIN = 5.0
"""A stall is at least so many times as long as the usual latency of the fresh drive."""

_EXPLAINED, _EXPLAINED_NOT = (0.5, 1.5), 0.2
"""If the total time of the stalls, over the time that writes take longer than before the cliff,
lies between the first two values, stalls are what slows the drive down; below the last value they
are not."""

_EXPLAINED_ALONE = 0.88
"""From this ratio on the stalls are counted rightly where nothing else shows their distance. Below
it, dies may collect at different times, so that requests wait for some of them; that they do not is
seen where each stall holds up all requests."""

_WAITING_ALONE_MAX = 0.05
"""The same holds up to this share of requests that meet a stall: with more, some requests may meet
two stalls that are close to each other."""

_LONG_SHARE = 0.35
"""A request met a stall if its latency is at least this share of the latency below which half of
all long waiting lies: stalls differ in length."""

_WAITING_MAX, _ALL_WAIT = 0.17, 0.65
"""Up to the first share of requests that wait, they met stalls; from the second share on, all
requests take longer and there is no stall. In between, dies may stall one by one behind a large
buffer."""

_STALLS_MIN = 2.5
"""So many stalls are needed for a distance: two have one, and half a stall more excludes chance."""

_LONGER_SHARE_MIN = 0.25
"""Writes must take longer by this share after the cliff than before it."""

_UNSURE = 0.15
"""Above this half width of the interval, over the distance, the distance is not reported. It is
stricter than :data:`~fourcorners.analysis.internals.thresholds.UNSURE`, because the distance is
compared with the erase unit."""

_IRREGULAR = 0.5
"""Stalls at equal distances come in numbers that vary by no more than rounding; at random distances
the variance of their number is its mean. Halfway between, no single distance describes them."""

_AGREE = 0.05
"""The distance of the stalls and the erase unit agree within this share, where the margin of the
distance is smaller."""

_REGULAR = 0.2
"""Up to this variance of their number, over its mean, stalls come so regularly that another erase
unit contradicts them. Dies that stall one by one give more."""

_GOES = 2
"""A drive may collect what it erases at a time in two goes. Three of the drives of ``arena explain
--drives 105 --seed 1618033`` stall twice for each unit, and none more often."""

_WHOLE = 1
"""In a stall that holds up all outstanding requests as many wait as are outstanding, but for one
that was just issued or about to be completed."""

_SEEN_BEFORE = 2
"""Stalls for another reason come before the cliff, too: at equal distances they do so in as many
bytes as lie between three of them."""

_WANDER_MAX = 2.0
"""At equal distances the number of stalls strays by less than one from what is written, and by one
more where the edge of a part divides the requests of a stall, or hides one."""

_PER_GROUP = 1.5
"""Stalls are counted in stretches of so many in the mean: with fewer, only rounding varies."""

_LENGTHS_DIFFER = 0.1
"""A stall may be longer or shorter than the mean by this share: some blocks have more to move."""


@dataclass(frozen=True)
class Stalls:
    """The length, the distance and the number of the stalls. A drive that slows down evenly has
    none."""

    length_s: float
    """Their mean, as :func:`window_mean` has it."""
    spacing_bytes: float
    margin_bytes: float
    count: float
    explained: float
    """The total time of the stalls over the time that writes took longer."""
    waiting: float
    """The share of the requests that met a stall."""
    dispersion: float = 0.0
    """The variance of the number of stalls in a stretch, beyond that of rounding, over its mean."""
    distances: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The least, the median and the largest distance, to within a part of the probe."""
    by_chance: float = 1.0
    """The chance that stalls at random come as regularly."""
    hold_all: bool = False
    """Whether all outstanding requests waited in each of them."""
    past_cliff: bool = False
    """Whether none came before the cliff, although enough was written until then."""
    lengths_s: tuple[float, float] = (0.0, 0.0)
    """The least and the largest length, each the mean within a part of the probe."""
    wander: float = 0.0
    """By how many stalls their number strays from a proportion of what is written."""


def find_stalls(view: View) -> Stalls | None:
    """The stalls from the cliff on; ``None`` where there is no cliff, or too little was written
    after it."""
    rows = OVERWRITE(view)
    cliff = view.once(cliff_of)
    if cliff is None or cliff.part < 2:
        return None
    before, after = rows[: cliff.part - 1], rows[cliff.part :]
    usual = float(np.median([m.latency_mean_s or 0.0 for m in before]))
    written = np.array([m.bytes for m in after])
    elapsed_s = sum(m.elapsed_s for m in after)
    usual_s = cliff.fresh_s * float(written.sum()) / before[0].bytes
    if elapsed_s - usual_s < _LONGER_SHARE_MIN * usual_s:
        return None
    waits = np.concatenate([_waits(view.run, m) for m in after])
    waits = waits[waits[:, 0] >= _LONGER_MIN * usual]
    if not len(waits):
        return Stalls(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    waits = waits[np.argsort(waits[:, 0])]
    waited = np.cumsum(waits[:, 0] * waits[:, 1])
    threshold = _LONG_SHARE * float(waits[np.searchsorted(waited, waited[-1] / 2), 0])
    met = np.array([_above(view.run, m, threshold) for m in after])
    before_too = any(_above(view.run, m, threshold)[0] for m in before)
    depth = float(after[0].queue_depth or 1)
    counts = met[:, 0] / depth
    count = float(counts.sum())
    spacing, margin = _distance(written, counts)
    dispersion = dispersion_of(counts)
    lengths = met[:, 1] / np.maximum(met[:, 0], 1.0)
    # The number of the stalls is as uncertain as it varies.
    margin = math.hypot(
        margin, two_sided_t(math.inf) * spacing * math.sqrt(dispersion / max(count, 1.0))
    )
    return Stalls(
        window_mean(lengths, written),
        spacing,
        margin,
        count,
        float(met[:, 1].sum()) / depth / (elapsed_s - usual_s),
        float(met[:, 0].sum()) / sum(m.ios for m in after),
        dispersion,
        _distances(written, counts),
        chance_of_regular(counts),
        hold_all(met[:, 0], depth),
        not before_too and sum(m.bytes for m in before) >= _SEEN_BEFORE * spacing,
        (float(lengths[lengths > 0].min()), float(lengths.max())),
        wander(written, counts),
    )


def window_mean(stalls: Sequence[float] | Floats, written: Sequence[float] | Floats) -> float:
    """The mean of what stalls last, or of what they move, over the bytes that are written from the
    first of them to the end: each stands for those until the next. Stalls that become shorter have
    no other mean that does not depend on whether the last of them comes just before the end or just
    after it. It is 0 of none.

    Args:
        stalls: the mean of the stalls in each part, 0 where there is none, with shape (parts,).
        written: the bytes of each part, with the same shape.
    """
    lasts = np.asarray(stalls, float)
    met = np.flatnonzero(lasts)
    if not len(met):
        return 0.0
    since = np.searchsorted(met, np.arange(met[0], len(lasts)), side="right") - 1
    return float(np.average(lasts[met[since]], weights=np.asarray(written, float)[met[0] :]))


def hold_all(waited: Floats, depth: float) -> bool:
    """Whether stalls hold up all outstanding requests, so that the number of those that waited in
    each part is a multiple of the queue depth, but for chance. Where requests wait for some of the
    dies only, each remainder is as likely as any other.

    Args:
        waited: the number of requests that waited in each part, with shape (parts,).
        depth: the requests that are outstanding.
    """
    some = waited[waited > 0]
    near = np.abs(some - depth * np.round(some / depth)) <= _WHOLE
    by_chance = min((1 + 2 * _WHOLE) / depth, 1.0)
    return bool(near.all()) and by_chance ** len(some) < FALSE_ALARM


def wander(written: Floats, counts: Floats) -> float:
    """By how many stalls their number strays from a proportion of what is written, from the most
    that is above it to the most that is below it. At equal distances, whatever the parts of the
    probe, it is less than one, as the next stall is always less than a distance away.

    Args:
        written: the bytes of each part, with shape (parts,).
        counts: the number of stalls in each part, with the same shape.
    """
    met = np.flatnonzero(counts >= 0.5)
    if len(met) < 2:
        return 0.0
    # What was written before the first stall, or after the last, is of no whole distance.
    since = slice(int(met[0]), int(met[-1]) + 1)
    at = np.append(0.0, np.cumsum(written[since])) / float(written[since].sum())
    number = np.append(0.0, np.cumsum(counts[since]))
    middle = float(number[-1])

    def strays(each: float) -> float:
        return float(np.ptp(number - each * at))

    return float(scipy.optimize.minimize_scalar(strays, (0.9 * middle, middle)).fun)


def dispersion_of(counts: Floats) -> float:
    """The variance of the number of stalls in stretches, less that of rounding, over the mean: 0
    for stalls at equal distances, 1 for stalls at random. Numbers that differ by one at most have a
    variance of 1/4 at most, and estimated from n of them n / (n - 1) times as much.

    Args:
        counts: the number of stalls in each part, with shape (parts,).
    """
    groups = _stretches(counts)
    if len(groups) < 2:
        return 0.0
    rounding = 0.25 * len(groups) / (len(groups) - 1)
    return max(float(groups.var(ddof=1)) - rounding, 0.0) / float(groups.mean())


def _stretches(counts: Floats) -> Floats:
    """The number of stalls in stretches of as many parts; none where there is no stall."""
    mean = float(counts.mean())
    if mean <= 0:
        return np.empty(0)
    size = max(round(_PER_GROUP / mean), 1)
    sums: Floats = counts[: len(counts) // size * size].reshape(-1, size).sum(axis=1)
    return sums


def chance_of_regular(counts: Floats) -> float:
    """The chance that stalls at random come as regularly as these.

    Their numbers in n stretches have a variance whose n - 1 multiples over the mean are distributed
    as chi squared. Distances at random are exponential: k of them lie within a range r of each
    other with the chance (1 - exp(-r / mean))^(k - 1), since each exceeds the least of them by as
    much as any exceeds zero. Each distance is known to within a part, so that their range may be
    two parts wider than it looks. Stalls at random that come as regularly pass both tests, so that
    the smaller chance bounds it.

    Args:
        counts: the number of stalls in each part, with shape (parts,).
    """
    groups = _stretches(counts)
    if len(groups) < 2:
        return 1.0
    squares = float(np.sum((groups - groups.mean()) ** 2) / groups.mean())
    by_number = float(scipy.stats.chi2.cdf(squares, len(groups) - 1))
    distances = float(counts.sum()) - 1
    least, _, most = _distances(np.ones(len(counts)), counts)
    near = -math.expm1(-(most - least + 2) * float(counts.mean()))
    return float(min(by_number, near ** max(distances - 1, 0.0)))


def _distances(written: Floats, counts: Floats) -> tuple[float, float, float]:
    """The least, the median and the largest distance of stalls that lie evenly within a part."""
    total = np.append(0.0, np.cumsum(counts))
    if total[-1] < 2:
        return 0.0, 0.0, 0.0
    stalls = np.arange(0.5, total[-1])
    apart = np.diff(np.interp(stalls, total, np.append(0.0, np.cumsum(written))))
    return float(apart.min()), float(np.median(apart)), float(apart.max())


def _distance(written: Floats, counts: Floats) -> tuple[float, float]:
    """The distance of the stalls and its uncertainty, from the number of stalls in each part."""
    met = np.flatnonzero(counts >= 0.5)
    count = float(counts.sum())
    if len(met) < 2 or count < _STALLS_MIN:
        return 0.0, 0.0
    first, last = int(met[0]), int(met[-1])
    middles = np.cumsum(written) - written / 2
    # In a part with several stalls the first or last of them is nearer to its edge.
    ends = sum(
        float(written[part] / 2 * (1 - 1 / max(counts[part], 1.0))) for part in (first, last)
    )
    spacing = (float(middles[last] - middles[first]) + ends) / (count - 1)
    within = min(float(written[0]), spacing)
    return spacing, two_sided_t(math.inf) * (0.41 * within / (count - 1) + 0.01 * spacing)


def _above(run: RunData, m: Measured, threshold_s: float) -> tuple[float, float]:
    """The number of requests that took longer than the threshold, and their total time."""
    waits = _waits(run, m)
    over = waits[waits[:, 0] > threshold_s]
    return float(over[:, 1].sum()), float(over[:, 0] @ over[:, 1])


def _waits(run: RunData, m: Measured) -> Floats:
    """The latencies in seconds and the number of requests with each, with shape (buckets, 2)."""
    low, high, count = m.histogram
    waits: Floats = np.stack([(low + high) / 2 * 1e-9, count], axis=1)
    return waits


@dataclass(frozen=True)
class _Told:
    """Stalls that can be reported, with their distance and margin from the more certain source;
    ``None`` for the distance of irregular ones."""

    stalls: Stalls
    spacing_bytes: float | None
    margin_bytes: float = 0.0
    freed_of_bytes: float | None = None
    """The erase unit of which as much is freed as lies between two stalls, if that is less."""


def length(view: View) -> Answer:
    """Finds for how long the drive accepts nothing."""
    told = view.once(_told)
    if not isinstance(told, _Told):
        return told
    length_s = told.stalls.length_s
    return _known(view, told, length_s, _LENGTHS_DIFFER * length_s)


def spacing(view: View) -> Answer:
    """Finds how many bytes are written from one stall to the next."""
    told = view.once(_told)
    if not isinstance(told, _Told):
        none = told.value == 0
        return told.checked(Assumption.EQUAL_DISTANCES, None) if none else told
    if told.spacing_bytes is None:
        least, middle, most = told.stalls.distances
        given = {"least": least, "middle": middle, "most": most}
        said = say("collection_stalls.irregular", stalls=told.stalls.count, **given)
        goodness = {"dispersion": told.stalls.dispersion}
        detail = {"distances_bytes": told.stalls.distances, "goodness": goodness}
        answer = unknown(said, detail=detail, evidence=ids(OVERWRITE(view)))
        return answer.checked(Assumption.EQUAL_DISTANCES, False, ids(OVERWRITE(view)))
    answer = _known(view, told, told.spacing_bytes, told.margin_bytes)
    return answer.checked(Assumption.EQUAL_DISTANCES, True, ids(OVERWRITE(view)))


def _known(view: View, told: _Told, value: float, margin: float) -> Answer:
    stalls = told.stalls
    spacing = told.spacing_bytes or stalls.spacing_bytes
    given = {"length": stalls.length_s, "spacing": spacing}
    said = say("collection_stalls.measured", **given)
    least, most = stalls.lengths_s
    if max(most - stalls.length_s, stalls.length_s - least) > _LENGTHS_DIFFER * stalls.length_s:
        said = say("collection_stalls.lengths_differ", **given, least=least, most=most)
    if unit := told.freed_of_bytes:
        said = say("collection_stalls.frees_the_rest", **given, unit=unit)
    goodness = {"time_explained": stalls.explained, "dispersion": stalls.dispersion}
    detail = {"stalls": stalls.count, "lengths_s": stalls.lengths_s, "goodness": goodness}
    evidence = ids(OVERWRITE(view))
    answer = known(value, said, bounds=about(value, margin), detail=detail, evidence=evidence)
    # All outstanding requests wait for a stall, and stalls are all that slows the drive down.
    return answer.checked(Assumption.DIES_TOGETHER, True, evidence)


def surely_counted(stalls: Stalls) -> bool:
    """Whether stalls that do not explain the whole slowdown are counted rightly: each holds up all
    requests, none came before the cliff, and they are more regular than those of dies that collect
    by themselves."""
    regular = stalls.dispersion <= _REGULAR and stalls.by_chance < FALSE_ALARM
    return stalls.hold_all and stalls.past_cliff and regular


def larger(rare: Cycle | None, most_bytes: float) -> bool:
    """Whether reads wait at a larger distance than this, too rarely to tell the erase unit: stalls
    are then no distance of whole units."""
    return rare is not None and rare.unit_bytes - rare.margin_bytes > most_bytes


def uneven(distances: tuple[float, float, float], part_bytes: float) -> bool:
    """Whether distances differ by more than those of stalls at equal distances can, each of which
    is known to within its part: where dies collect one after the other, some come in two goes.

    Args:
        distances: the least, the median and the largest, in bytes.
        part_bytes: the largest part of the probe.
    """
    return distances[2] - distances[0] > 2 * part_bytes


def contradicts(stalls: Stalls, erased_bytes: float) -> bool:
    """Whether regular stalls contradict an erase unit at another distance. They do not where each
    unit is collected in :data:`_GOES`, nor where most distances differ from the mean: some stalls
    were not counted then."""
    spacing = stalls.spacing_bytes
    tolerance = max(2 * stalls.margin_bytes, _AGREE * spacing)
    alike = abs(stalls.distances[1] - spacing) <= tolerance
    return alike and abs(erased_bytes / _GOES - spacing) > tolerance


def amplification(spare: float) -> float:
    """What a drive with this spare area, over the user area, writes for each byte that is
    overwritten at random, where it collects the oldest blocks (Desnoyers, SYSTOR 2012)."""
    area = 1 + spare
    return area / (area + float(scipy.special.lambertw(-area * math.exp(-area)).real))


def frees_the_rest(spacing: float, erased_bytes: float, spare: float) -> bool:
    """Whether as much is written from one stall to the next as a collected unit frees: where the
    host and collection write to the same blocks, the valid data of a unit take the rest of it."""
    if not 0 < spacing < erased_bytes or spare <= 0:
        return False
    return abs(math.log(erased_bytes / spacing / amplification(spare))) <= math.log1p(UNSURE)


def _told(view: View) -> _Told | Answer:
    overwritten = OVERWRITE(view)
    if not overwritten:
        return unknown(say("collection_stalls.not_filled"), evidence=ids(WRITES(view)))
    evidence = ids(overwritten)

    def hidden(name: str, **parameters: object) -> Answer:
        return unknown(say(f"collection_stalls.{name}", **parameters), evidence=evidence)

    stalls = view.once(find_stalls)
    if stalls is None:
        return hidden("not_slower")
    if stalls.waiting >= _ALL_WAIT or stalls.explained <= _EXPLAINED_NOT:
        # There is no length from which a stall would show: the share of requests that wait, or the
        # share of the time that stalls take, decides.
        goodness = {"time_explained": stalls.explained, "requests_waiting": stalls.waiting}
        code = "none_of_an_arm" if view.is_disk else "none"
        said = say(f"collection_stalls.{code}")
        none = known(0.0, said, detail={"goodness": goodness}, evidence=evidence)
        return none.checked(Assumption.DIES_TOGETHER, None)
    lasts = {"length_s": stalls.length_s}
    if stalls.waiting > _WAITING_MAX or not _EXPLAINED[0] <= stalls.explained <= _EXPLAINED[1]:
        return hidden("some_wait", **lasts)
    spacing, margin = stalls.spacing_bytes, stalls.margin_bytes
    if stalls.dispersion > _IRREGULAR:
        clear = stalls.explained >= _EXPLAINED_ALONE and stalls.waiting <= _WAITING_ALONE_MAX
        return _Told(stalls, None) if clear else hidden("too_often", **lasts)
    erased, freed_of = view.once(cycle), None
    if erased is not None:
        apart = abs(erased.unit_bytes - spacing)
        if apart <= max(2 * margin, _AGREE * spacing):
            # The erase unit is known more precisely than the distance of the stalls.
            return _Told(stalls, erased.unit_bytes, erased.margin_bytes)
        cliff = view.once(cliff_of)
        user = capacity_bytes(view.run)
        spare = cliff.written_bytes / user if cliff and user else 0.0
        if frees_the_rest(spacing, erased.unit_bytes, spare):
            freed_of = erased.unit_bytes
        elif spacing:
            regular = stalls.dispersion <= _REGULAR and margin <= _UNSURE * spacing
            against = regular and contradicts(stalls, erased.unit_bytes)
            name = "contradict_erased" if against else "unlike_erased"
            return hidden(name, spacing=spacing, erased=erased.unit_bytes)
    rare = view.once(rare_cycle)
    if spacing and freed_of is None and larger(rare, spacing + margin):
        # What is erased at a time may be collected in several goes.
        assert rare is not None
        return hidden("unlike_rare", spacing=spacing, erased=rare.unit_bytes)
    alone = stalls.explained >= _EXPLAINED_ALONE and stalls.waiting <= _WAITING_ALONE_MAX
    if not alone and not surely_counted(stalls):
        return hidden("too_often", **lasts)
    if margin > _UNSURE * spacing or not spacing:
        return hidden("too_few", **lasts, stalls=stalls.count)
    largest = max(m.bytes for m in overwritten)
    if uneven(stalls.distances, largest) or stalls.wander > _WANDER_MAX:
        return _Told(stalls, None)
    # Reads that wait at the same distance show it as well.
    alike = rare is not None and abs(rare.unit_bytes - spacing) <= margin + rare.margin_bytes
    if stalls.by_chance > FALSE_ALARM and not alike:
        return hidden("too_few", **lasts, stalls=stalls.count)
    return _Told(stalls, spacing, margin, freed_of)
