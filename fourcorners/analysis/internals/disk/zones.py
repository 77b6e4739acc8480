"""Findings ``zones``, ``outer_rate`` and ``inner_rate`` from sequential reads all over a drive.

Within a zone of a disk all tracks have equally many sectors, and therefore the same rate. The rate
falls from the outer edge inwards. A least-squares fit with a penalty of log n variances per change
point finds the steps of the logarithm of the rate (PELT: Killick, Fearnhead and Eckley, JASA 2012,
by ``ruptures``). A place whose reads cross into the next zone has a rate between the two and is no
zone of its own.

The host asks for the next part only when it has the one before. A disk that has not read ahead by
then waits for a whole turn, at each request: the rate that the host sees is then that of its
requests, not that of the platters. Reads that follow the head (:mod:`tracks`) show the latter at
the start of the disk, and so how many turns a request loses. Its time without them is that of the
platters.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fourcorners.analysis.internals.answer import Answer, about, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.view import PointAxis, View, ids, pick
from fourcorners.analysis.source import Measured, capacity_bytes
from fourcorners.analysis.steady_state.segments import change_penalty
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say

PLACES = pick("probe-positions", "read", PointAxis.OFFSET)
"""The sequential reads at places all over the drive."""

_PLACES_MIN = 16
"""So many places are needed to show steps: each of two zones then has several of them."""

_STEP_MIN = 0.004
"""The smallest relative step of the rate that counts. The sectors of a track change by at least as
much in any zone table, and the number of turns in a measurement scatters less."""

_SLOWEST_RPM, _FASTEST_RPM = 3600, 15_000
"""No spindle turns more slowly, or faster."""

_MOST = 0.9
"""If this share of the places takes less than a turn for a request, none loses one."""

_RARE = 0.05
"""A few of a hundred requests at a place may lose a turn more or less: the disk does something of
its own, reads a sector again, or just catches the next request. More of them are a part of what
it does. It is a choice."""

_OUTER_PARTS = 16
"""The first one in so many places is near the tracks that were followed. The zones of a disk are
fewer than twice as many."""

_WHOLE_OFF_MAX = 0.1
"""The turns that a request loses may differ by so much from a whole number."""

_PLACE_STEP_MAX = 0.3
"""The logarithm of the largest step of the time of a request from a place to the next, without the
turns that it loses: zones differ by less, and a turn is longer than a third of a request, as no
track of a disk holds less than a third of it."""

_UNREAD_MAX = 0.02
"""With this probability a zone may begin behind the last place that was read, unsaid: the share of
false claims that the contest of the probes accepts."""

_SMALL_ZONE = 0.02
"""A zone that holds less of the disk than this is not counted; it is the share from which on the
truths of the specimens count one. More than this behind the last place may hold a zone, whatever
the length of the others, since the last zone ends anywhere."""

_LINK_NEAR = 0.97
"""From this share of the link's rate on, the link may be the limit."""

_LARGE = "measured_bytes_per_second"
"""Where the finding of the link has the rates of large reads, also if it has no value."""


def profile(view: View) -> tuple[Floats, Floats]:
    """The offsets in bytes, ascending, and the rates of the platters in bytes per second, with
    shape (places,); where it is not known whether requests lose turns, the rates of the
    requests."""
    places = view.once(_places)
    seconds = places.seconds - (view.once(_lost) or 0) * _turn_s(view)
    return places.offset, places.block_bytes / seconds


@dataclass(frozen=True)
class _Places:
    """The places by offset, with shape (places,): the time of a request in seconds, and how many
    of them were measured."""

    offset: Floats
    seconds: Floats
    reads: Floats
    block_bytes: Floats


def _places(view: View) -> _Places:
    points = sorted(PLACES(view), key=lambda m: int(m.point[PointAxis.OFFSET]))
    rpm = view.value("rotation_rpm")
    turn_s = math.inf if rpm == 0 else 60 / (rpm or _SLOWEST_RPM)
    array = np.array(
        [
            (
                float(m.point[PointAxis.OFFSET]),
                _request_s(m, turn_s),
                m.ios,
                m.bytes_per_second / m.iops,
            )
            for m in points
        ],
        dtype=np.float64,
    ).reshape(-1, 4)
    return _Places(*array.T)


def _request_s(m: Measured, turn_s: float) -> float:
    """The mean time of a request, without rare ones that lost a turn more or less than the
    others."""
    low, high, count = m.histogram
    middle_s = (low + high) / 2e9
    median_s = middle_s[np.searchsorted(np.cumsum(count), count.sum() / 2)]
    odd = np.abs(middle_s - median_s) > turn_s / 2
    others = int(count[~odd].sum())
    if not odd.any() or others < (1 - _RARE) * m.ios:
        return 1 / m.iops
    return float((m.ios / m.iops - middle_s[odd] @ count[odd]) / others)


def _turn_s(view: View) -> float:
    """The time of a turn; of the fastest spindle where the speed is not known."""
    return 60 / (view.value("rotation_rpm") or _FASTEST_RPM)


def _lost(view: View) -> int | None:
    """How many turns each of the requests loses, at all places; ``None`` where it does not show,
    or is not a whole number."""
    places = view.once(_places)
    if not len(places.seconds) or view.value("rotation_rpm") == 0:
        return 0
    turn_s, tracks = _turn_s(view), view.answer("track_bytes")
    if tracks is None or tracks.value is None:
        return 0 if np.quantile(places.seconds, _MOST) < turn_s else None
    if view.value("rotation_rpm") is None:
        return None
    read_s = places.block_bytes / tracks.detail["bytes_per_second"]
    turns = (places.seconds - read_s)[: max(len(read_s) // _OUTER_PARTS, 1)] / turn_s
    lost = round(float(np.median(turns)))
    if lost < 0 or np.max(np.abs(turns - lost)) > _WHOLE_OFF_MAX:
        return None
    # From place to place one turn more or less would be a step that no zone makes.
    left = places.seconds - lost * turn_s
    if np.min(left) <= 0 or np.max(np.abs(np.diff(np.log(left)))) > _PLACE_STEP_MAX:
        return None
    return lost


def _step_min(view: View) -> float:
    """The smallest relative step that counts: of reads that lose turns, a switch of tracks more or
    less is a larger share of the time that is left."""
    switch_s = view.value("track_switch")
    if not switch_s or not view.once(_lost):
        return _STEP_MIN
    places, (_, rate) = view.once(_places), view.once(profile)
    return max(_STEP_MIN, 2 * float(np.max(switch_s * rate / places.block_bytes / places.reads)))


def levels(rate: Floats, step_min: float = _STEP_MIN) -> list[tuple[int, int]]:
    """Finds the zones as ranges of places, in order.

    Args:
        rate: the rate at each place, positive, with shape (places,).
        step_min: the smallest relative step that counts.
    """
    # The import is here so that commands that compute nothing start quickly.
    import ruptures

    logs = np.log(rate)
    penalty = change_penalty(logs, least_noise=step_min / 8)
    ends = ruptures.Pelt(model="l2", min_size=1, jump=1).fit(logs[:, None]).predict(pen=penalty)
    bounds = [0, *ends]
    zones = list(itertools.pairwise(bounds))
    zones = _without_crossings(logs, zones)
    return _merged(logs, zones, step_min)


def _without_crossings(logs: Floats, zones: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Leaves out single places between two zones whose rate lies between theirs."""
    kept = list(zones)
    index = 1
    while index < len(kept) - 1:
        (start, end), before, after = kept[index], kept[index - 1], kept[index + 1]
        if end - start == 1:
            here = logs[start]
            left, right = logs[before[0] : before[1]].mean(), logs[after[0] : after[1]].mean()
            if min(left, right) < here < max(left, right):
                kept[index - 1 : index + 2] = [before, (start + 1, after[1])]
                continue
        index += 1
    return kept


def _merged(logs: Floats, zones: list[tuple[int, int]], step_min: float) -> list[tuple[int, int]]:
    """Merges neighbours that differ by less than the smallest step."""
    merged = [zones[0]]
    for start, end in zones[1:]:
        before = merged[-1]
        step = abs(logs[start:end].mean() - logs[before[0] : before[1]].mean())
        if step < step_min:
            merged[-1] = (before[0], end)
        else:
            merged.append((start, end))
    return merged


@dataclass(frozen=True)
class _Zones:
    """The zones as ranges of places, their rates, the spread of the rates within a zone, and the
    measurements."""

    ranges: list[tuple[int, int]]
    rates: list[float]
    spread: float
    goodness: dict[str, float]
    detail: dict[str, Any]


def _zones(view: View) -> _Zones | Answer:
    offset, rate = view.once(profile)
    detail: dict[str, Any] = {"offset_bytes": offset, "bytes_per_second": rate}
    if len(rate) < _PLACES_MIN:
        said = say("zones.few_places", places=len(rate), wanted=_PLACES_MIN)
        return unknown(said, detail=detail)
    ranges = levels(rate, view.once(_step_min))
    means = [float(rate[start:end].mean()) for start, end in ranges]
    if any(later >= earlier for earlier, later in itertools.pairwise(means)):
        return unknown(say("zones.no_steps"), detail=detail)
    residuals = np.concatenate(
        [rate[start:end] / mean - 1 for (start, end), mean in zip(ranges, means, strict=True)]
    )
    freedom = max(len(rate) - len(ranges), 1)
    spread = float(np.ptp(residuals))
    goodness = {
        "scatter_within_zones": float(np.sqrt(residuals @ residuals / freedom)),
        "spread_within_zones": spread,
    }
    detail |= {"zone_starts": [offset[start] for start, _ in ranges], "zone_rates": means}
    return _Zones(ranges, means, spread, goodness, detail)


def boundaries(view: View) -> list[tuple[float, float]]:
    """Where each zone but the last ends, as the last byte that is known to be before it and the
    first one behind it; empty where zones do not show."""
    zones, (offset, _) = view.once(_zones), view.once(profile)
    if isinstance(zones, Answer):
        return []
    pairs = itertools.pairwise(zones.ranges)
    return [(float(offset[one[1] - 1]), float(offset[later[0]])) for one, later in pairs]


def rates(view: View) -> list[float]:
    """The rate of each zone in bytes per second; empty where zones do not show."""
    zones = view.once(_zones)
    return [] if isinstance(zones, Answer) else zones.rates


def _hidden(view: View, zones: _Zones) -> Answer | None:
    """The answer where the first zones are as fast as the link; ``None`` where they are not."""
    if len(zones.ranges) == 1:
        return _one_rate(view, zones)
    carried = view.value("link_ceiling")
    if carried is None or zones.rates[0] <= _LINK_NEAR * carried:
        return None
    return unknown(say("zones.link"), detail=zones.detail)


def _one_rate(view: View, zones: _Zones) -> Answer | None:
    """The answer where a disk is read at one rate everywhere, and nothing shows that its platters
    have it: neither faster reads of other data, nor reads that follow the head. A slow link, or
    whatever else all data pass, hides any zones then."""
    if not view.is_disk and not view.has("rotation_rpm"):
        return None
    link, tracks, rate = view.answer("link_ceiling"), view.answer("track_bytes"), zones.rates[0]
    large = [] if link is None else [link.value or 0.0, *link.detail.get(_LARGE, ())]
    if rate <= _LINK_NEAR * max(large, default=0.0):
        return None
    if tracks is not None and tracks.value is not None:
        followed = tracks.detail["bytes_per_second"]
        if _LINK_NEAR * followed <= rate <= followed / _LINK_NEAR:
            return None
    return unknown(say("zones.one_rate", rate=rate), detail=zones.detail)


def count(view: View) -> Answer:
    """Finds the number of zones."""
    zones = view.once(_zones)
    if isinstance(zones, Answer):
        return zones
    if hidden := _hidden(view, zones):
        return hidden
    number = len(zones.ranges)
    if number > 1 and _is_scattered(view, zones):
        return unknown(say("scatter", smallest=view.once(_step_min)), detail=zones.detail)
    if hidden := _steps_hidden(view, zones):
        return hidden
    ends = {"first": zones.rates[0], "last": zones.rates[-1]}
    said = say("one", **ends) if number == 1 else say("steps", steps=number - 1, **ends)
    answer = known(number, said, detail=zones.detail | {"goodness": zones.goodness})
    least = _SMALL_ZONE * (capacity_bytes(view.run) or math.inf)
    if unread := _zones_unread(view, zones, least if number > 1 else math.inf):
        return unread
    # Rates that fall from zone to zone show the order of the addresses.
    falls = None if number == 1 else True
    return answer.checked(Assumption.OUTER_EDGE_FIRST, falls, ids(PLACES(view)) if falls else ())


def _is_scattered(view: View, zones: _Zones) -> bool:
    """Whether the rates of places in one zone differ by more than the smallest step."""
    return zones.goodness["scatter_within_zones"] > view.once(_step_min)


def _steps_hidden(view: View, zones: _Zones) -> Answer | None:
    """The answer where a switch of tracks more or less raises the smallest step that counts, and
    other zones may differ by less than that; ``None`` where this cannot be.

    It assumes that the sectors of a track change by the same number from each zone to the next. The
    relative steps of the rate then differ by no more than the rates of the first and the last zone
    do. If even the smallest step that was found is larger by this ratio than what counts, no step
    is too small to count.
    """
    least = view.once(_step_min)
    steps = [1 - later / one for one, later in itertools.pairwise(zones.rates)]
    smallest = min(steps, default=math.inf)
    if least <= _STEP_MIN or smallest >= least * zones.rates[0] / zones.rates[-1]:
        return None
    said = say("zones.small_steps", steps=len(steps), smallest=smallest, least=least)
    return unknown(said, detail=zones.detail)


def outer_rate(view: View) -> Answer | None:
    """Finds the rate of the first zone; ``None`` where there is only one."""
    zones = view.once(_zones)
    if isinstance(zones, Answer):
        return zones
    return _hidden(view, zones) or _edge(view, zones, 0)


def inner_rate(view: View) -> Answer | None:
    """Finds the rate of the last zone; ``None`` where there is only one."""
    zones = view.once(_zones)
    return zones if isinstance(zones, Answer) else _edge(view, zones, -1)


def _edge(view: View, zones: _Zones, which: int) -> Answer | None:
    if len(zones.ranges) == 1:
        return None
    if which == -1 and (unread := _zones_unread(view, zones)):
        return unread
    start, end = zones.ranges[which]
    if end - start == 1 and _is_scattered(view, zones):
        # A single place may differ for no other reason than places of one zone do.
        return unknown(say("zones.scatter", smallest=view.once(_step_min)), detail=zones.detail)
    lost = view.once(_lost)
    if lost is None:
        return unknown(say("outer_rate.turns"), detail=zones.detail)
    value = zones.rates[which]
    # Depending on its start, a measurement contains one track switch more or less. Places of a zone
    # differ by this switch or agree, so that more places do not make the mean more exact. The
    # spread is that of all zones together, because the places of one may agree by chance.
    low, high = about(value, zones.spread * value)
    bounds = (low * (1 - (_step_behind(view, zones) if which == -1 else 0.0)), high)
    detail = {"goodness": zones.goodness, "turns_lost": lost}
    answer = known(value, say("without" if lost else "measured"), bounds=bounds, detail=detail)
    followed = view.answer("track_bytes")
    shown_by = () if followed is None else followed.evidence or ()
    answer = answer.checked(Assumption.NO_TURN_LOST, None if lost else True, shown_by)
    return answer.checked(Assumption.OUTER_EDGE_FIRST, True, ids(PLACES(view)))


def _step_behind(view: View, zones: _Zones) -> float:
    """The relative step to another zone behind the last place that was read: the largest of those
    that were found, or 0 where what was not read is too short to be likely to hold one. The last
    zone ends anywhere, since the disk may keep its innermost tracks for itself."""
    capacity, unread = capacity_bytes(view.run), _unread_bytes(view)
    if capacity is None or unread * len(zones.ranges) <= _UNREAD_MAX * capacity:
        return 0.0
    return float(np.max(1 - np.array(zones.rates[1:]) / np.array(zones.rates[:-1])))


def _unread_bytes(view: View) -> float:
    """The bytes behind what was read of the last place; 0 where the capacity is not known."""
    capacity, places = capacity_bytes(view.run), view.once(_places)
    if capacity is None:
        return 0.0
    return float(capacity - places.offset[-1] - places.reads[-1] * places.block_bytes[-1])


def _zones_unread(view: View, zones: _Zones, least: float = math.inf) -> Answer | None:
    """The answer where zones of at least so many bytes, or as long as the shortest one, may lie
    behind the last place that was read: much of a small disk does. ``None`` elsewhere."""
    starts = [view.once(_places).offset[start] for start, _ in zones.ranges]
    shortest = min((later - one for one, later in itertools.pairwise(starts)), default=math.inf)
    unread = _unread_bytes(view)
    if unread < min(shortest, least):
        return None
    said = say("zones.unread", zones=len(zones.ranges), unread=unread)
    return unknown(said, detail=zones.detail)
