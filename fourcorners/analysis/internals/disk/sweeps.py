"""The order in which a disk fills its surfaces, from single reads anywhere within a zone.

A disk may go on with one head for a whole zone before it takes the next one: it fills a surface
from the outside of the zone to its inside, the next one back to the outside, and so on (a
serpentine layout), or each of them from the outside. Then addresses far apart lie on cylinders side
by side, and the way between two places says how often the disk has swept over the cylinders of the
zone by then. Reads that follow the head for some hundred tracks show nothing of it.

A read takes a fixed time, a seek that grows with the root of the distance of the two cylinders, and
a wait for the sector, which is anything up to a turn (Ruemmler and Wilkes, IEEE Computer 27(3),
1994). Each layout gives the cylinders of two places, and so the chance of each time. The likeliest
layout counts if it is far likelier than all layouts with another number of sweeps, than addresses
that simply lie in order, and no less likely than sweeps of any length that begin anywhere: those of
a zone begin with the zone and end with it.

Addresses in order do not show the number of heads: a disk with one head has them, and one that
changes its head after each track, or after a hundred.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy

from fourcorners.analysis.internals.disk import zones
from fourcorners.analysis.internals.disk.mechanics import TEST
from fourcorners.analysis.internals.thresholds import FALSE_ALARM
from fourcorners.analysis.internals.view import PointAxis, View, pick
from fourcorners.recording.arrays import Floats

WITHIN = pick(TEST, "read", PointAxis.REGION)
"""The single reads anywhere within a part of the disk from its start."""

_SWEEPS_MAX = 20
"""No disk has more surfaces."""

_PAIRS_MIN = 100
"""So many reads of two places in a zone are needed. Whether they show the sweeps, the likelihoods
say; far fewer never do."""

_STEPS = 9
"""So many places are tried for where a zone begins or ends, within what its rates leave open. A
sweep is rarely shorter than that: no place is off by more than a sixteenth of one."""

_STEP_MIN = 0.02
"""The likeliest place is found to this share of a sweep."""

_SHIFTS = 12
"""So many places are tried in two sweeps for where the first one begins."""

_SHORTER = 0.25
"""The number of sweeps of any length in a zone grows by so much from one that is tried to the
next."""

_LATE = 0.02
"""The share of reads that may take any time: a sector is read again, or the disk has other work.
A choice: so many do no harm, and more of them than chance has are seen in ``odd``."""

_LATE_TURNS = 6.0
"""These take up to so many turns."""

_ODD_MAX = 0.05
"""At most this share of the reads may take less than the seek, or longer than it and a turn."""

_ODD_DEVIATIONS = 4.0
"""They do if they are off by so many standard deviations."""


@dataclass(frozen=True)
class Ways:
    """Single reads: the byte that was read before, the byte read and its time in seconds, each with
    shape (reads,)."""

    before: Floats
    place: Floats
    seconds: Floats

    def within(self, low: float, high: float) -> Ways:
        """The reads whose two places both lie there."""
        both = (np.minimum(self.before, self.place) >= low) & (
            np.maximum(self.before, self.place) < high
        )
        return Ways(self.before[both], self.place[both], self.seconds[both])


@dataclass(frozen=True)
class Layout:
    """How often the disk sweeps over cylinders from one byte to another: so many sweeps in all, in
    ``groups`` that each have a part of the cylinders. ``folded`` ones go inwards and outwards in
    turn; others all go inwards."""

    begin: float
    end: float
    sweeps: float
    groups: int = 1
    folded: bool = True

    def swept(self, place: Floats) -> Floats:
        """The sweeps before each byte."""
        return np.asarray((place - self.begin) / (self.end - self.begin) * self.sweeps)

    def cylinder(self, place: Floats) -> Floats:
        """The share of the cylinders before each byte."""
        swept = self.swept(place)
        number = np.floor(swept)
        part = swept - number
        of_group = self.sweeps / self.groups
        group = np.floor(number / of_group) if self.groups > 1 else np.zeros_like(number)
        back = self.folded & ((number - group * of_group) % 2 == 1)
        return np.asarray((group + np.where(back, 1 - part, part)) / self.groups)

    def root(self, ways: Ways) -> Floats:
        """The root of the distance in cylinders, as a share of all, of each read."""
        return np.sqrt(np.abs(self.cylinder(ways.place) - self.cylinder(ways.before)))


@dataclass(frozen=True)
class Fit:
    """A layout with the times that make the reads likeliest: of a read beside the seek and the
    wait, of a seek over all cylinders of the layout beyond that, and its scatter, in seconds."""

    layout: Layout
    log_likelihood: float
    base_s: float
    stroke_s: float
    scatter_s: float

    def of(self, layout: Layout, ways: Ways, turn_s: float) -> float:
        """The logarithm of how likely the reads are with another layout and the same times."""
        times = (self.base_s, self.stroke_s, self.scatter_s)
        return _log_likelihood(layout.root(ways), ways, turn_s, *times)

    def odd(self, ways: Ways, turn_s: float) -> float:
        """The share of reads that take none of the times that they may."""
        wait = ways.seconds - self.base_s - self.stroke_s * self.layout.root(ways)
        off = np.maximum(-wait, wait - turn_s)
        return float(np.mean(off > _ODD_DEVIATIONS * self.scatter_s))


@dataclass(frozen=True)
class Swept:
    """A zone in which the disk sweeps over the cylinders so often with one head after another."""

    heads: int
    fit: Fit
    ways: Ways
    ahead: float
    """How much likelier it is than any other number of heads, as a logarithm."""


def ways(view: View) -> Ways:
    """All single reads of which the place before is known."""
    parts = []
    for point in WITHIN(view):
        if (log := point.of.log) is not None and len(log.latency_s) > 1:
            offset = log.offset_bytes.astype(np.float64)
            parts.append((offset[:-1], offset[1:], log.latency_s[1:]))
    return Ways(*(np.concatenate(part) if part else np.zeros(0) for part in _columns(parts)))


def _columns(parts: list[tuple[Floats, Floats, Floats]]) -> list[list[Floats]]:
    return [[part[column] for part in parts] for column in range(3)]


def swept(view: View) -> Swept | None:
    """The sweeps of the heads over a zone; ``None`` where they do not show."""
    rpm, bounds = view.value("rotation_rpm"), [(0.0, 0.0), *view.once(zones.boundaries)]
    if not rpm:
        return None
    turn_s, all_ways = 60 / rpm, view.once(ways)
    found = []
    for number, (begin, end) in enumerate(itertools.pairwise(bounds)):
        inside = all_ways.within(begin[1], end[0])
        if len(inside.place) >= _PAIRS_MIN and (one := of_zone(inside, begin, end, turn_s)):
            found.append((number, one))
    # A zone that begins before the first byte shows fewer sweeps than it has.
    behind = [one for number, one in found if number > 0]
    whole = behind or [one for number, one in found if _is_whole(view, bounds, one)]
    if not whole or len({one.heads for one in whole}) > 1:
        return None
    return max([one for _, one in found if one.heads == whole[0].heads], key=lambda one: one.ahead)


def _is_whole(view: View, bounds: list[tuple[float, float]], first: Swept) -> bool:
    """Whether the first zone is no shorter than the next one, by a sweep, wherever that ends: a
    disk that keeps the first tracks for itself, as shingled ones do for their media cache, has only
    the rest of it."""
    if len(bounds) < 3:
        return False
    rates, end = view.once(zones.rates), first.fit.layout.end
    here, there = end / rates[0], (bounds[2][1] - end) / rates[1]
    return here > there * (1 - 0.5 / first.heads)


def of_zone(
    inside: Ways, begin: tuple[float, float], end: tuple[float, float], turn_s: float
) -> Swept | None:
    """The sweeps of a zone that begins and ends between these bytes."""
    tried = dict(_layouts(begin, end))
    best = {
        heads: _likeliest(layouts, inside, turn_s, _within(begin, end))
        for heads, layouts in tried.items()
    }
    heads, fit = max(best.items(), key=lambda one: one[1].log_likelihood)
    others = max(one.log_likelihood for count, one in best.items() if count != heads)
    margin = math.log(sum(map(len, tried.values())) / FALSE_ALARM)
    if heads == 1 or fit.log_likelihood - others < margin:
        return None
    length = end[1] - begin[0]
    anywhere = [
        Layout(
            begin[0] - shift * length / number, begin[0] - shift * length / number + length, number
        )
        for number in np.arange(1, _SWEEPS_MAX, _SHORTER)
        for shift in np.linspace(0, 2, _SHIFTS, endpoint=False)
    ]
    free = _likeliest(anywhere, inside, turn_s, lambda _: True)
    if free.log_likelihood - fit.log_likelihood >= margin:
        return None
    if fit.odd(inside, turn_s) > _ODD_MAX:
        return None
    return Swept(heads, fit, inside, fit.log_likelihood - others)


def _within(begin: tuple[float, float], end: tuple[float, float]) -> Callable[[Layout], bool]:
    return lambda one: begin[0] <= one.begin <= begin[1] and end[0] <= one.end <= end[1]


def _layouts(
    begin: tuple[float, float], end: tuple[float, float]
) -> Iterator[tuple[int, list[Layout]]]:
    """Numbers of heads, each with all layouts of so many."""
    steps = 1 if begin[0] == begin[1] else _STEPS
    edges = list(itertools.product(np.linspace(*begin, steps), np.linspace(*end, _STEPS)))
    yield 1, [Layout(*edges[0], 1.0)]
    for heads in range(2, _SWEEPS_MAX + 1):
        yield (
            heads,
            [
                Layout(*edge, heads * groups, groups, folded)
                for edge in edges
                for groups in range(1, _SWEEPS_MAX // heads + 1)
                for folded in (True, False)
            ],
        )


def _likeliest(
    layouts: list[Layout], ways: Ways, turn_s: float, allowed: Callable[[Layout], bool]
) -> Fit:
    """The likeliest of these layouts, and of those near it that are allowed. Least squares choose
    the one to begin with."""
    scores = [_explained(one.root(ways), ways.seconds) for one in layouts]
    first = layouts[int(np.argmax(scores))]
    fit = fitted(first, ways, turn_s)
    step = 0.25 * (first.end - first.begin) / first.sweeps
    while step > _STEP_MIN * (first.end - first.begin) / first.sweeps:
        off = np.linspace(-step, step, _STEPS)
        ends = [replace(fit.layout, end=fit.layout.end + by) for by in off]
        begins = [replace(fit.layout, begin=fit.layout.begin + by) for by in off]
        moved = [replace(one, end=one.end + by) for one, by in zip(begins, off, strict=True)]
        near = [one for one in (*ends, *begins, *moved) if allowed(one)]
        fit = fitted(max(near, key=lambda one: fit.of(one, ways, turn_s)), ways, turn_s)
        step /= 2
    return fit


def _explained(root: Floats, seconds: Floats) -> float:
    """How much of the times grows with the root of the distance: their correlation."""
    spread = float(root.std() * seconds.std())
    centred = (root - root.mean()) @ (seconds - seconds.mean()) / len(seconds)
    return float(centred) / spread if spread else 0.0


def fitted(layout: Layout, ways: Ways, turn_s: float, base_s: float | None = None) -> Fit:
    """The times that make the reads likeliest, for a given time beside the seek and the wait or for
    any."""
    root = layout.root(ways)
    slope = max(_explained(root, ways.seconds), 0.05) * ways.seconds.std() / max(root.std(), 1e-9)
    mean = float(ways.seconds.mean() - turn_s / 2 - slope * root.mean())
    given = base_s is not None

    def values(free: Floats) -> tuple[float, float, float]:
        base = base_s if base_s is not None else free[2] * turn_s
        return base, abs(free[0]) * turn_s, math.exp(free[1]) * turn_s

    def cost(free: Floats) -> float:
        return -_log_likelihood(root, ways, turn_s, *values(free))

    start = [slope / turn_s, math.log(0.02)] + ([] if given else [mean / turn_s])
    steps = [0.1, 0.5] + ([] if given else [0.05])
    simplex = np.array([start, *(np.array(start) + step for step in np.diag(steps))])
    result = scipy.optimize.minimize(
        cost, start, method="Nelder-Mead", options={"initial_simplex": simplex, "maxiter": 200}
    )
    return Fit(layout, -float(result.fun), *values(result.x))


def _log_likelihood(
    root: Floats, ways: Ways, turn_s: float, base_s: float, stroke_s: float, scatter_s: float
) -> float:
    """Of the times: a fixed one, a seek that scatters, and a wait of anything up to a turn."""
    wait = ways.seconds - base_s - stroke_s * root
    scatter_s = max(scatter_s, 1e-4 * turn_s)
    waits = scipy.special.ndtr(wait / scatter_s) - scipy.special.ndtr((wait - turn_s) / scatter_s)
    chance = (1 - _LATE) * waits / turn_s + _LATE / (_LATE_TURNS * turn_s)
    return float(np.log(chance).sum())
