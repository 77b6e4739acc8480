"""How units that serve reads share dies and channels: levels of waits between pairs of reads.

Two units that have nothing in common do not wait for each other. On one channel, the second read
waits until the first one's data have passed. On two planes of one die it waits for the whole first
read, unless the die reads both planes together (multi-plane read). A die does that with reads that
wait in its queue, so that two of its planes together are faster than one, as two dies are; it does
not with a read that comes while it reads. Therefore pairs show what the rates hide.

Unit n of a turn has one digit for its place on each level: channel, plane of a die, and others
(package, die of a package). Their order and sizes differ from drive to drive, as orders of
allocation do (Hu et al., ICS 2011). Each order with sizes predicts which of the units wait alike
for the first unit's read. The best explanation of the latencies is the order with the least
Bayesian information criterion (Schwarz, Annals of Statistics 6, 1978), the waits of each level and
their scatter being free.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fourcorners.analysis.internals.thresholds import FALSE_ALARM
from fourcorners.recording.arrays import Floats

PLANES_MAX = 8
"""Chips have up to so many planes a die."""

WAIT_MIN = 0.003
"""The least difference of latencies that is distinguished from scatter, in latencies of a pair that
does not wait: three widths of a histogram's bucket."""

RESOLUTION = WAIT_MIN / 3
"""The least scatter of a latency: the width of a histogram's bucket."""

APART = 4.0
"""Two levels differ by at least so many standard deviations of a pair's latency: of the hundred or
so pairs none then looks like one of the other level."""

_DIE_MIN, _CHANNEL_MAX = 0.8, 0.7
"""A wait for a die is at least the first share of that for the same unit, since both wait for a
whole read. A wait for a channel is at most the second: if data take c times as long on the channel
as a page in the array, it is (c - 1) / (c + 1) of that where the second read comes half a read
later."""

_SLACK = 2.0
"""A label is ruled out only by so many standard deviations."""

_WITHIN = 0.1
"""A grouping that no drive has, and that fits better than all that drives have, is set aside if
units of one level differ by up to this share of the wait for the same unit: a read that waits takes
a little longer or shorter by what comes with it, as a command or a page that is read again. Of a
level that the shapes do not have, units differ by a channel's wait or more."""

NOTHING, CHANNEL, DIE = range(3)
"""What the units of a pair share."""


@dataclass(frozen=True)
class Shape:
    """``planes`` of each die, and ``channels`` that dies share; ``levels`` are what each unit of
    interest shares with unit 0."""

    planes: int
    channels: int
    levels: tuple[int, ...]


@dataclass(frozen=True)
class Levels:
    """What the pairs show.

    ``planes`` are the units of a die. ``channels`` are ``None`` where no level of waits shows them.
    ``are_first`` is whether the planes of a die follow each other directly. ``wait`` is how much
    longer the pairs of each level take, as a share of the latency of those that wait the least."""

    units: int
    planes: int
    channels: int | None
    are_first: bool
    wait: Mapping[int, float]

    @property
    def dies(self) -> int:
        """The number of dies."""
        return self.units // self.planes


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]


@lru_cache(maxsize=32)
def _shapes(units: int, apart: tuple[int, ...]) -> Mapping[tuple[int, ...], tuple[Shape, ...]]:
    """All shapes of so many units by how they group the units at these distances."""
    numbers = np.array(apart)
    found: dict[tuple[int, ...], dict[tuple[int, int, tuple[int, ...]], None]] = {}
    for planes in _divisors(units):
        if planes > PLANES_MAX:
            continue
        for channels in _divisors(units // planes):
            rest = units // planes // channels
            for one in _divisors(rest):
                sizes = (("channel", channels), ("plane", planes), ("", one), ("", rest // one))
                for order in itertools.permutations(sizes):
                    levels = _levels(order, numbers)
                    key = (planes, channels, levels)
                    found.setdefault(_grouping(levels), {})[key] = None
    return {group: tuple(Shape(*key) for key in keys) for group, keys in found.items()}


def _levels(order: Sequence[tuple[str, int]], numbers: np.ndarray) -> tuple[int, ...]:
    on_channel = np.ones(len(numbers), dtype=bool)
    on_die = np.ones(len(numbers), dtype=bool)
    stride = 1
    for name, size in order:
        same = numbers // stride % size == 0
        stride *= size
        if name == "channel":
            on_channel &= same
        if name != "plane":
            on_die &= same
    return tuple(int(level) for level in np.where(on_die, DIE, np.where(on_channel, CHANNEL, 0)))


def _grouping(levels: Sequence[int]) -> tuple[int, ...]:
    """The same grouping for all levels that group alike: groups are numbered as they come."""
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(level, len(numbers)) for level in levels)


@dataclass(frozen=True)
class Pairs:
    """Latencies of one kind of pairs in seconds, by how many stripes they are apart, and the
    standard error of one of them, from the scatter of its reads. ``tells_dies``
    is whether a wait for a channel is shorter in them than one for a die: it is not where the first
    read is long. ``complete`` is whether none of them is left out as disturbed."""

    latency_s: Mapping[int, float]
    error_s: float = 0.0
    alone_s: float | None = None
    tells_dies: bool = True
    complete: bool = True


def levels(units: int, kinds: Sequence[Pairs], unit_s: float) -> Levels | None:
    """The levels of so many units; ``None`` where several shapes explain the latencies, or none.

    Args:
        units: in a turn.
        kinds: the pairs, each kind at the same distances, with the whole turn where it was
            measured.
        unit_s: the time of a unit's read, which stands for the wait for the same unit where the
            whole turn was not measured.
    """
    kinds = [kind for kind in kinds if any(n < units for n in kind.latency_s)]
    if not kinds:
        return None
    apart = tuple(sorted(set.intersection(*(set(kind.latency_s) for kind in kinds)) - {units}))
    measured = [(np.array([kind.latency_s[n] for n in apart]), kind.error_s) for kind in kinds]
    shapes = _shapes(units, apart)
    fits = sorted(
        (fit for group in shapes if (fit := _fit(group, measured)) is not None),
        key=lambda fit: fit.criterion,
    )
    # Of groupings that the latencies do not tell apart, those that no drive has are left out.
    fitting = [
        (fit, told) for fit in fits if (told := _told(shapes[fit.group], fit, kinds, unit_s, units))
    ]
    if not fitting:
        return None
    first_fit = fitting[0][0]
    apart_by = -2 * math.log(FALSE_ALARM)
    if first_fit.criterion - fits[0].criterion >= apart_by and not _alike_within(
        first_fit, apart, kinds, units
    ):
        return None
    possible = [one for one in fitting if one[0].criterion - first_fit.criterion < apart_by]
    seen = {(shape.planes, shape.channels) for _, told in possible for shape in told}
    if len({planes for planes, _ in seen}) != 1:
        return None
    best, told = possible[0]
    shape = min(told, key=lambda shape: (shape.planes, shape.channels))
    if _elsewhere(shape, apart, kinds, units):
        return None
    first = all(
        level == DIE for n, level in zip(apart, shape.levels, strict=True) if n < shape.planes
    )
    wait = {level: best.wait(best.group[shape.levels.index(level)]) for level in set(shape.levels)}
    # Where all dies share one channel, nothing shows what no wait would be.
    shows = {CHANNEL, NOTHING} <= set(shape.levels)
    channels = shape.channels if len(seen) == 1 and shows else None
    return Levels(units, shape.planes, channels, first and shape.planes > 1, wait)


@dataclass(frozen=True)
class _Fit:
    """A grouping with the mean latencies of its groups, with shape (kinds, groups)."""

    group: tuple[int, ...]
    mean_s: Floats
    criterion: float

    @property
    def base_s(self) -> Floats:
        """The least latencies, with shape (kinds,)."""
        least: Floats = self.mean_s.min(axis=1)
        return least

    def wait(self, group: int) -> float:
        """How much longer a group's pairs take, in the kind that shows it best."""
        return float(np.max(self.mean_s[:, group] / self.base_s - 1))


def _fit(group: tuple[int, ...], measured: Sequence[tuple[Floats, float]]) -> _Fit | None:
    """The fit of a grouping; ``None`` where two of its groups do not differ."""
    members = np.array(group)
    groups = int(members.max()) + 1
    means, criterion, apart = [], 0.0, np.zeros((groups, groups), dtype=bool)
    for latencies, error_s in measured:
        mean = np.array([np.median(latencies[members == g]) for g in range(groups)])
        floor = max(RESOLUTION * float(mean.min()), error_s)
        squares = float(np.sum((latencies - mean[members]) ** 2))
        scatter = max(math.sqrt(squares / len(latencies)), floor)
        least = max(APART * scatter, WAIT_MIN * float(mean.min()))
        apart |= np.abs(mean[:, None] - mean[None, :]) > least
        # Where the waits of several groups are the same they count as one parameter.
        waits = 1 + int(np.count_nonzero(np.diff(np.sort(mean)) > least))
        criterion += 2 * len(latencies) * math.log(scatter / floor) + squares / scatter**2
        criterion += waits * math.log(len(latencies))
        means.append(mean)
    distinct = bool((apart | np.eye(groups, dtype=bool)).all())
    return _Fit(group, np.array(means), criterion) if distinct else None


def _alike_within(fit: _Fit, apart: Sequence[int], kinds: Sequence[Pairs], units: int) -> bool:
    """Whether all units of each group of a grouping take as long, but for a small share of the wait
    for the same unit, in all kinds that show that wait."""
    telling = [
        (kind, mean_s)
        for kind, mean_s in zip(kinds, fit.mean_s, strict=True)
        if units in kind.latency_s
    ]
    return bool(telling) and all(
        abs(kind.latency_s[n] - mean_s[group])
        <= _WITHIN * (kind.latency_s[units] - min(kind.latency_s.values()))
        for kind, mean_s in telling
        for n, group in zip(apart, fit.group, strict=True)
    )


def _told(
    shapes: Sequence[Shape], fit: _Fit, kinds: Sequence[Pairs], unit_s: float, units: int
) -> set[Shape]:
    """The shapes of a grouping whose levels wait as they must: of those that share a die for about
    as long as of the same unit, others less, and of a channel longer than of nothing."""
    return {s for s in shapes if _waits_as_it_must(s, fit, kinds, unit_s, units)}


def out_of_turn(units: int, kinds: Sequence[Pairs]) -> bool:
    """Whether units of a turn share dies, but not as planes do: the nearest unit of the same die is
    then a part of the turn away that does not divide it. Or whether they are no dies."""
    telling = [kind for kind in kinds if kind.tells_dies and units in kind.latency_s]
    apart = sorted(set.intersection(*(set(kind.latency_s) for kind in telling))) if telling else []
    nearest = next((n for n in apart if all(_as_itself(kind, n, units) for kind in telling)), units)
    return units % nearest != 0 or mirrored(units, kinds)


def mirrored(units: int, kinds: Sequence[Pairs]) -> bool:
    """Whether a unit waits for itself no longer than for any other, in all kinds that would show
    it: several then serve its reads in turn, such as the disks of a mirror."""
    telling = [kind for kind in kinds if kind.tells_dies and units in kind.latency_s]
    return bool(telling) and all(
        kind.latency_s[units] <= min(kind.latency_s.values()) + _SLACK * kind.error_s
        and len(kind.latency_s) > 1
        for kind in telling
    )


def next_one_waits(kinds: Sequence[Pairs], units: int) -> bool:
    """Whether the next unit waits for the first one for longer than a channel makes it, in the time
    in which that waits for itself: it is another plane of the same die."""
    telling = [k for k in kinds if k.tells_dies and {1, units} <= k.latency_s.keys()]
    return (
        units > 1
        and bool(telling)
        and all(_waits_for(kind, 1, units, _CHANNEL_MAX) for kind in telling)
    )


def _elsewhere(shape: Shape, apart: Sequence[int], kinds: Sequence[Pairs], units: int) -> bool:
    """Whether units that share no die in this shape wait for each other as a unit for itself, in
    all kinds that show it: stripes then take the dies in another order than a turn has, as where
    requests do not end where pages do."""
    telling = [kind for kind in kinds if kind.tells_dies and units in kind.latency_s]
    return bool(telling) and any(
        all(_as_itself(kind, n, units) for kind in telling)
        for n, level in zip(apart, shape.levels, strict=True)
        if level != DIE
    )


def _as_itself(kind: Pairs, n: int, units: int) -> bool:
    return _waits_for(kind, n, units, _DIE_MIN)


def _waits_for(kind: Pairs, n: int, units: int, least: float) -> bool:
    """Whether a unit waits for at least this share of the time for which it waits for itself."""
    base_s = kind.alone_s or min(kind.latency_s.values())
    same_s = kind.latency_s[units] - base_s
    # Where the same unit hardly waits, scatter is no wait.
    slack_s = _SLACK * math.sqrt(2) * max(kind.error_s, RESOLUTION * base_s)
    wait_s = kind.latency_s[n] - base_s
    return same_s > APART * slack_s and wait_s - slack_s >= least * same_s


def _waits_as_it_must(
    shape: Shape, fit: _Fit, kinds: Sequence[Pairs], unit_s: float, units: int
) -> bool:
    at = {level: fit.group[shape.levels.index(level)] for level in set(shape.levels)}
    if {CHANNEL, NOTHING} <= at.keys():
        longer = fit.mean_s[:, at[CHANNEL]] > fit.mean_s[:, at[NOTHING]]
        if not longer.any():
            return False
    telling = [number for number, kind in enumerate(kinds) if kind.tells_dies]
    for number in telling[-1:]:
        kind = kinds[number]
        base_s = float(fit.base_s[number]) if kind.alone_s is None else kind.alone_s
        same_s = 2 * (kind.latency_s[units] - base_s) if units in kind.latency_s else unit_s
        if same_s <= 0:
            # What does not wait for itself is no die: mirrored ones may serve reads in turn.
            return False
        for level, group in at.items():
            share = 2 * (float(fit.mean_s[number, group]) - base_s) / same_s
            members = np.count_nonzero(np.array(fit.group) == group)
            # Neither of two labels is ruled out where scatter may give the share.
            slack = _SLACK * 2 * kind.error_s * math.sqrt(1 / members + share**2) / same_s
            if share + slack < _DIE_MIN if level == DIE else share - slack > _CHANNEL_MAX:
                return False
    return True
