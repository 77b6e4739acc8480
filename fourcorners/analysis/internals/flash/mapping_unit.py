"""Findings ``mapping_unit``, ``partial_unit_penalty`` and ``placement_by_address``.

A small write that begins at a multiple of p lies within one mapping unit u. A write centred on the
multiple touches two units if the multiple is a boundary of units. This is always so if p >= u, and
in a share p/u of the cases if p < u. Therefore the work rises by the factor 1 + min(1, p/u), and
stops rising at p = u. A part of the time per write may not rise (1 - rho), and something else may
take longer than the flash while the work is small (kappa < 1)::

    time across / time at = max(1, kappa (1 + rho min(1, p/u)))

The idea is uFLIP's alignment pattern (Bouganim, Jonsson, Bonnet, CIDR 2009); the rise is ours.
Multiples of large powers of two lie on few dies, which changes the times for another reason.
Therefore only boundaries up to some units judge a unit. Where addresses tell the die, the rise ends
at the stripe, and the times of multiples show that
(:mod:`fourcorners.analysis.internals.flash.placement`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from fourcorners.analysis.internals.answer import Answer, about, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.flash import conflicting_reads
from fourcorners.analysis.internals.flash.placement import Static, is_even, static
from fourcorners.analysis.internals.link import command_queue
from fourcorners.analysis.internals.thresholds import FALSE_ALARM
from fourcorners.analysis.internals.view import PointAxis, View, by, ids, pick
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say

TEST = "probe-alignment"

PAIRS = pick(TEST, "write", PointAxis.BOUNDARY)

_EXCESS_MIN = 0.15
"""The least cost of a second unit that is distinguished from scatter, in costs of the first."""

_MERGE_MIN = 0.8
"""The least cost of a second block in a drive that merges a log block into each."""

_SCATTER = 0.05
"""The standard deviation of the factors apart from chance: points write to different places."""

_COST_MAX = 2.0
"""Above this mean soft-L1 cost no unit explains the factors; one standard deviation costs 0.83."""

_FEW_DIES = 0.5
"""Where the rise is clear, each doubling beyond the unit adds this much scatter, in scatters of
smaller boundaries: multiples of large powers of two lie on few dies, some of which are busy for
longer."""

_CLEAR_COST, _CLEAR_EXCESS, _CLEAR_RATIO = 1.5, 0.75, 2.0
"""A rise is clear if a unit explains it at up to the first value as cost, a second unit costs at
least the second value, and the next best unit's cost is at least so many times as high as the third
value."""

_RISE_MISFIT_MAX = 3.0
"""Each boundary up to the unit speaks for it: chance has one of 370 further from the model than so
many standard deviations. What moves one of these few points, such as another cache state, may move
the one that decides."""

_RISE_CHANCE_MIN = FALSE_ALARM
"""All boundaries up to the unit together are to be as near to the model as chance has them in all
but so many cases: that each of them is within the limit above does not show that they all are."""

_ONE_UNIT = 1.03
"""Below this gain a queue gains nothing: rates of flash scatter little. A drive of several dies
whose controller is slower than they are gains what it does beside a read of a die."""

_UNITS_SEEN = 16
"""Only boundaries up to so many units judge a unit."""

_BOUNDARIES_MIN = 4
"""So many boundaries show a rise and its end: it is the least number that leaves a degree of
freedom beyond the model's three parameters."""

_PLATEAU = 2
"""So many boundaries beyond the unit must have been measured: an endless rise shows no unit."""

_STILL_RISES = 0.01
"""The chance that a rise which ends at the unit seems to go on over these next boundaries."""


@dataclass(frozen=True)
class _Pairs:
    """The times per write at and across multiples of each boundary, with shape (boundaries,)."""

    boundary_bytes: Floats
    at_s: Floats
    across_s: Floats
    across_ios: Floats

    @property
    def factor(self) -> Floats:
        """How many times as long a write takes that lies across the boundary."""
        return self.across_s / self.at_s

    def chosen(self, which: npt.NDArray[np.bool_]) -> _Pairs:
        """The boundaries that ``which`` selects."""
        return _Pairs(
            self.boundary_bytes[which],
            self.at_s[which],
            self.across_s[which],
            self.across_ios[which],
        )


def unit(view: View) -> Answer:
    """Finds the mapping unit."""
    pairs = view.once(_pairs)
    detail: dict[str, Any] = {
        "boundary_bytes": pairs.boundary_bytes,
        "at_s": pairs.at_s,
        "across_s": pairs.across_s,
    }
    if len(pairs.boundary_bytes) < _BOUNDARIES_MIN:
        return unknown(say("few_boundaries"), detail=detail)
    if found := view.once(_static):
        detail["goodness"] = {"misfit": found.misfit}
        said = say("by_address", cost=1 + found.excess, stripe=found.stripe_bytes)
        return known(found.unit_bytes, said, detail=detail)
    fitted, explains = view.once(_best)
    if fitted is None:
        return unknown(say("no_rise"), detail=detail)
    detail |= {
        "kappa": fitted.kappa,
        "rho": fitted.rho,
        "goodness": {"soft_l1_cost": fitted.cost},
        "model": fitted.factor(pairs.boundary_bytes),
    }
    if not explains:
        return unknown(say("no_unit_explains"), detail=detail)
    if view.has("log_blocks") and fitted.excess < _MERGE_MIN:
        return unknown(say("merged_beside"), detail=detail)
    if changed := _changed(pairs, fitted.unit_bytes):
        return unknown(say("changed", times=changed), detail=detail)
    if fitted.unit_bytes <= pairs.boundary_bytes[0]:
        return unknown(say("smallest", unit=fitted.unit_bytes), detail=detail)
    return known(fitted.unit_bytes, say("measured", cost=1 + fitted.excess), detail=detail)


def placement(view: View) -> Answer:
    """Finds whether an address tells the unit (die, plane) that its data lie on."""
    pairs = view.once(_pairs)
    detail: dict[str, Any] = {"boundary_bytes": pairs.boundary_bytes, "at_s": pairs.at_s}
    if len(pairs.boundary_bytes) < _BOUNDARIES_MIN:
        return unknown(say("mapping_unit.few_boundaries"), detail=detail)
    if found := view.once(_static):
        detail |= {"units": found.units, "goodness": {"misfit": found.misfit}}
        slower = float(pairs.at_s.max() / pairs.at_s[0])
        about = {"stripe": found.stripe_bytes, "slower": slower, "excess": found.excess}
        said = say("counted", units=found.units, **about) if found.units else say("static", **about)
        return known(1.0, said, detail=detail).checked(Assumption.NOT_HASHED, None)
    _, explains = view.once(_best)
    if explains and not view.has("log_blocks") and is_even(pairs.at_s):
        anywhere = known(0.0, say("dynamic", most=pairs.boundary_bytes[-1]), detail=detail)
        seen = view.once(conflicting_reads.seen)
        if seen is not None and seen.units is not None and seen.units % 2:
            # Multiples of powers of two lie on all of an odd number of units.
            return unknown(say("odd", units=seen.units), detail=detail)
        if gain := view.once(_one_at_a_time):
            # Where there is one unit, all data lie on it.
            return unknown(say("one_unit", gain=gain), detail=detail)
        if seen is not None and seen.conflicts_between_turns:
            return unknown(say("no_turns"), detail=detail)
        # Where the dies are in banks whose number does not show, other distances conflict as well.
        if seen is None or seen.units is None or seen.keeps_turns is None:
            return anywhere
        evidence = ids(conflicting_reads.points(view, "pair"))
        return anywhere.checked(Assumption.NOT_HASHED, seen.keeps_turns, evidence)
    return unknown(say("unclear"), detail=detail)


def _one_at_a_time(view: View) -> float | None:
    """What a queue of random reads gains, if that is so little that the drive may serve one at a
    time; ``None`` where it is more, or was not measured."""
    by_depth = view.once(command_queue.rates)
    if len(by_depth) < 2 or 1 not in by_depth:
        return None
    gain = max(by_depth.values()) / by_depth[1]
    return gain if gain < _ONE_UNIT else None


def _static(view: View) -> Static | None:
    """The placement by address that explains the writes; ``None`` where none does."""
    pairs, depth = view.once(_pairs), PAIRS(view)[0].queue_depth
    if view.has("log_blocks") or len(pairs.boundary_bytes) < _BOUNDARIES_MIN or depth is None:
        return None
    return static(pairs.boundary_bytes, pairs.at_s, pairs.across_s, depth)


def penalty(view: View) -> Answer:
    """Finds the time that a second unit costs, from the boundaries that are always boundaries of
    units."""
    unit_bytes = view.value("mapping_unit")
    if unit_bytes is None:
        return unknown(say("no_unit"))
    if view.once(_static):
        return unknown(say("by_address"))
    pairs = view.once(_pairs)
    whole = (pairs.boundary_bytes >= unit_bytes) & (
        pairs.boundary_bytes <= _UNITS_SEEN * unit_bytes
    )
    extra = (pairs.across_s - pairs.at_s)[whole]
    value = float(np.mean(extra))
    # A point may end in the middle of a write.
    half = tolerance = float(np.mean((pairs.across_s / pairs.across_ios)[whole]))
    if len(extra) > 1:
        error = float(np.std(extra, ddof=1)) / math.sqrt(len(extra))
        half = max(tolerance, two_sided_t(len(extra) - 1) * error)
    detail = {"extra_s": extra, "goodness": {"boundaries": len(extra)}}
    reach = about(value, half)
    if half == tolerance:
        return known(value, say("measured"), bounds=reach, detail=detail)
    return known(value, say("measured"), interval=reach, detail=detail)


def _pairs(view: View) -> _Pairs:
    """The times of each boundary at which both kinds of writes were measured."""
    where = {
        place: by([m for m in PAIRS(view) if m.point["where"] == place], PointAxis.BOUNDARY)
        for place in ("at", "across")
    }
    both = sorted(where["at"].keys() & where["across"].keys())
    at, across = ([where[place][b] for b in both] for place in ("at", "across"))
    return _Pairs(
        np.array(both, dtype=np.float64),
        np.array([1 / m.iops for m in at]),
        np.array([1 / m.iops for m in across]),
        np.array([m.ios for m in across], dtype=np.float64),
    )


@dataclass(frozen=True)
class _Fit:
    unit_bytes: float
    kappa: float
    rho: float
    cost: float
    """The mean soft-L1 cost of the factors, in standard deviations."""
    rise_misfit: float = 0.0
    """The largest residual up to the unit, in standard deviations."""
    rise_chance: float = 1.0
    """The chance that the residuals up to the unit are as large together."""

    def factor(self, boundary_bytes: Floats) -> Floats:
        """How many times as long a write across boundaries takes, with shape (boundaries,)."""
        rise = 1 + self.rho * np.minimum(1, boundary_bytes / self.unit_bytes)
        return np.maximum(1, self.kappa * rise)

    @property
    def excess(self) -> float:
        """The cost of a second unit, in costs of the first."""
        return self.kappa * (1 + self.rho) - 1


def _best(view: View) -> tuple[_Fit | None, bool]:
    """The fit of the best unit, and whether this unit alone explains the factors. The fit is
    ``None`` where a second unit costs nothing with any unit."""
    pairs = view.once(_pairs)
    fits = _fits(pairs, 0.0)
    if not fits:
        return None, False
    if _still_rises(pairs, fits[0].unit_bytes):
        return fits[0], False
    if fits[0].cost <= _COST_MAX:
        steep = fits[0].excess >= _CLEAR_EXCESS and not _one_decides(pairs, fits[0].unit_bytes)
        clear_rise = _alone(fits) or steep
        fits_all = fits[0].rise_chance >= _RISE_CHANCE_MIN
        return fits[0], clear_rise and fits_all and fits[0].rise_misfit <= _RISE_MISFIT_MAX
    clear = _fits(pairs, _FEW_DIES)
    if clear and clear[0].cost <= _CLEAR_COST and clear[0].excess >= _CLEAR_EXCESS:
        return clear[0], _alone(clear)
    return fits[0], False


def _changed(pairs: _Pairs, unit_bytes: float) -> float | None:
    """By what factor a write at multiples of some boundary up to the unit takes longer or shorter
    than of the others; ``None`` where all take about as long, as they all lie within one unit
    anywhere on the drive. Otherwise the drive changed from point to point, and so may the factors
    have, of which only these few show the unit."""
    logs = np.log(pairs.at_s[pairs.boundary_bytes <= unit_bytes])
    off = float(np.abs(logs - np.median(logs)).max())
    return math.exp(off) if off > _RISE_MISFIT_MAX * _SCATTER else None


def _still_rises(pairs: _Pairs, unit_bytes: float) -> bool:
    """Whether the factors of the next boundaries are above that of the unit by more than chance
    explains: the rise ends later, and what lowers the factors beyond hides where."""
    unit = int(np.searchsorted(pairs.boundary_bytes, unit_bytes))
    logs = np.log(pairs.factor[unit : unit + 1 + _PLATEAU])
    error = _SCATTER * math.sqrt(1 + 1 / _PLATEAU)
    return float(logs[1:].mean() - logs[0]) > float(scipy.stats.norm.isf(_STILL_RISES)) * error


def _one_decides(pairs: _Pairs, unit_bytes: float) -> bool:
    """Whether a single boundary up to the unit speaks for it, and all others speak clearly for
    another unit: what moved this one point, such as other load, decides then."""
    for left_out in pairs.boundary_bytes[pairs.boundary_bytes <= unit_bytes]:
        others = pairs.chosen(pairs.boundary_bytes != left_out)
        units = pairs.boundary_bytes[pairs.boundary_bytes >= others.boundary_bytes[0]]
        fits = _fits(others, 0.0, units)
        own = [fit.cost for fit in fits if fit.unit_bytes == unit_bytes]
        if fits and fits[0].cost <= min(_CLEAR_COST, min(own, default=math.inf) / _CLEAR_RATIO):
            return True
    return False


def _alone(fits: Sequence[_Fit]) -> bool:
    """Whether the first of the units explains the factors much better than the next."""
    return len(fits) < 2 or fits[1].cost >= _CLEAR_RATIO * fits[0].cost


def _fits(pairs: _Pairs, few_dies: float, units: Floats | None = None) -> list[_Fit]:
    """The fits of the units, of all boundaries if not said otherwise, the best first."""
    of = pairs.boundary_bytes if units is None else units
    tried = (_fit_unit(pairs, unit, few_dies) for unit in of)
    return sorted((fit for fit in tried if fit is not None), key=lambda fit: fit.cost)


def _fit_unit(pairs: _Pairs, unit: float, few_dies: float) -> _Fit | None:
    judged = pairs.boundary_bytes <= _UNITS_SEEN * unit
    boundary, factor = pairs.boundary_bytes[judged], pairs.factor[judged]
    if np.count_nonzero(boundary > unit) < _PLATEAU:
        return None
    # If there are few slow writes, the share of them that crosses a boundary of units may differ
    # from p/u by chance.
    share = np.minimum(1, boundary / unit)
    scatter = _SCATTER * (1 + few_dies * np.log2(np.maximum(1, boundary / unit)))
    deviation = np.sqrt(scatter**2 + share * (1 - share) / pairs.across_ios[judged])

    def residuals(parameters: Floats) -> Floats:
        model = _Fit(unit, parameters[0], parameters[1], 0.0)
        return np.asarray((model.factor(boundary) - factor) / deviation)

    # Something else may hide up to half of the cost of the first unit. Where the model is 1, it
    # depends on neither parameter, so that a single start may not reach the best fit.
    solved = min(
        (
            scipy.optimize.least_squares(
                residuals, [0.95, start], bounds=([0.5, 0.0], [1.0, 1.1]), loss="soft_l1"
            )
            for start in (0.95, 0.3)
        ),
        key=lambda solved: solved.cost,
    )
    kappa, rho = (float(value) for value in solved.x)
    cost = 2 * float(np.mean(np.sqrt(1 + residuals(solved.x) ** 2) - 1))
    rise = residuals(solved.x)[boundary <= unit]
    chance = float(scipy.stats.chi2.sf(np.sum(rise**2), len(rise)))
    fit = _Fit(float(unit), kappa, rho, cost, float(np.abs(rise).max()), chance)
    return fit if fit.excess >= _EXCESS_MIN else None
