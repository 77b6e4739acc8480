"""Findings ``zones``, ``outer_rate`` and ``inner_rate`` from sequential reads all over a drive.

Within a zone of a disk all tracks have equally many sectors, and therefore the same rate. The rate
falls from the outer edge inwards. A least-squares fit with a penalty of log n variances per change
point finds the steps of the logarithm of the rate (PELT: Killick, Fearnhead and Eckley, JASA 2012,
by ``ruptures``). A place whose reads cross into the next zone has a rate between the two and is no
zone of its own.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from fourcorners.analysis.internals.answer import Answer, about, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.view import PointAxis, View, ids, pick
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

_LINK_NEAR = 0.97
"""From this share of the link's rate on, the link may be the limit."""


def profile(view: View) -> tuple[Floats, Floats]:
    """The offsets in bytes, ascending, and the rates in bytes per second, with shape (places,)."""
    points = sorted((float(m.point[PointAxis.OFFSET]), m.bytes_per_second) for m in PLACES(view))
    array = np.array(points, dtype=np.float64).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def levels(rate: Floats) -> list[tuple[int, int]]:
    """Finds the zones as ranges of places, in order.

    Args:
        rate: the rate at each place, positive, with shape (places,).
    """
    # The import is here so that commands that compute nothing start quickly.
    import ruptures

    logs = np.log(rate)
    penalty = change_penalty(logs, least_noise=_STEP_MIN / 8)
    ends = ruptures.Pelt(model="l2", min_size=1, jump=1).fit(logs[:, None]).predict(pen=penalty)
    bounds = [0, *ends]
    zones = list(itertools.pairwise(bounds))
    zones = _without_crossings(logs, zones)
    return _merged(logs, zones)


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


def _merged(logs: Floats, zones: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merges neighbours that differ by less than the smallest step."""
    merged = [zones[0]]
    for start, end in zones[1:]:
        before = merged[-1]
        step = abs(logs[start:end].mean() - logs[before[0] : before[1]].mean())
        if step < _STEP_MIN:
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
    ranges = levels(rate)
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


def _hidden(view: View, zones: _Zones) -> Answer | None:
    """The answer where the first zones are as fast as the link; ``None`` where they are not."""
    carried = view.value("link_ceiling")
    if len(zones.ranges) == 1 or carried is None or zones.rates[0] <= _LINK_NEAR * carried:
        return None
    return unknown(say("zones.link"), detail=zones.detail)


def count(view: View) -> Answer:
    """Finds the number of zones."""
    zones = view.once(_zones)
    if isinstance(zones, Answer):
        return zones
    if hidden := _hidden(view, zones):
        return hidden
    number = len(zones.ranges)
    if number > 1 and zones.goodness["scatter_within_zones"] > _STEP_MIN:
        return unknown(say("scatter", smallest=_STEP_MIN), detail=zones.detail)
    ends = {"first": zones.rates[0], "last": zones.rates[-1]}
    said = say("one", **ends) if number == 1 else say("steps", steps=number - 1, **ends)
    answer = known(number, said, detail=zones.detail | {"goodness": zones.goodness})
    # Rates that fall from zone to zone show the order of the addresses.
    falls = None if number == 1 else True
    return answer.checked(Assumption.OUTER_EDGE_FIRST, falls, ids(PLACES(view)) if falls else ())


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
    value = zones.rates[which]
    # Depending on its start, a measurement contains one track switch more or less. Places of a zone
    # differ by this switch or agree, so that more places do not make the mean more exact. The
    # spread is that of all zones together, because the places of one may agree by chance.
    bounds = about(value, zones.spread * value)
    answer = known(value, say("measured"), bounds=bounds, detail={"goodness": zones.goodness})
    return answer.checked(Assumption.OUTER_EDGE_FIRST, True, ids(PLACES(view)))
