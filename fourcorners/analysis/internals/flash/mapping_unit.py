"""Findings ``mapping_unit`` and ``partial_unit_penalty`` from writes across boundaries.

A small write at a multiple of p lies within one mapping unit u; one that has half of itself on
either side of it touches two units if that multiple is a boundary of units: always where p >= u, in
a share p/u of the cases where p < u. So its work rises by the factor 1 + min(1, p/u), and stops
rising at p = u. Of the time per write a part may not rise (1 - rho), and something else may take
longer than the flash as long as the work is small (kappa < 1)::

    time across / time at = max(1, kappa (1 + rho min(1, p/u)))

The idea is uFLIP's alignment pattern (Bouganim, Jonsson, Bonnet, CIDR 2009); the rise is ours.
Multiples of large powers of two lie on few dies, which changes the times by something else, so only
boundaries up to some units judge a unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from fourcorners import wording
from fourcorners.analysis.finding import RESOLUTION, Finding
from fourcorners.analysis.internals.method.medium import NO_UNITS, is_disk
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured, RunData, measured

TEST = "probe-alignment"

_TITLES = {
    "mapping_unit": "Mapping unit",
    "partial_unit_penalty": "What a partly covered unit costs",
}

Floats = npt.NDArray[np.float64]

_EXCESS_MIN = 0.15
"""Least cost of a second unit, in costs of the first, that is told from scatter."""

_MERGE_MIN = 0.8
"""Least cost of a second block where each has a log merged."""

_SCATTER = 0.05
"""Standard deviation of the factors beside chance: where the writes go differs between points."""

_COST_MAX = 2.0
"""Mean soft-L1 cost above which no unit explains the factors; 0.83 for one standard deviation."""

_FEW_DIES = 0.5
"""Scatter, in that of smaller boundaries, that each doubling beyond the unit adds where the rise is
clear: multiples of large powers of two lie on few dies, some of which are busy for longer."""

_CLEAR_COST, _CLEAR_EXCESS, _CLEAR_RATIO = 1.5, 0.75, 2.0
"""A rise is clear if a unit explains it at such a cost, of which a second one costs so much, and
the next best unit's cost is so many times as high."""

_UNITS_SEEN = 16
"""Boundaries up to so many units judge a unit."""

_PLATEAU = 2
"""Boundaries beyond the unit that must be there: a rise that nothing ends has no unit."""


@dataclass(frozen=True)
class _Pairs:
    """Times per write at and across multiples of each boundary, shape (boundaries,)."""

    boundary_bytes: Floats
    at_s: Floats
    across_s: Floats
    across_ios: Floats

    @property
    def factor(self) -> Floats:
        """How much longer a write takes that lies across."""
        return self.across_s / self.at_s


def find(run: RunData, log_blocks: bool = False) -> list[Finding]:
    """Both findings; none where the probe did not run.

    Args:
        run: the run.
        log_blocks: whether small writes are known to go to logs, which are merged into blocks.
    """
    points = [m for m in measured(run, TEST, "write") if m.point.get("boundary_bytes")]
    if not points:
        return []
    evidence = [m.recording for m in points]
    pairs = _pairs(points)
    detail = {
        "boundary_bytes": pairs.boundary_bytes,
        "at_s": pairs.at_s,
        "across_s": pairs.across_s,
        "discrete": True,
    }
    title = _TITLES["mapping_unit"]

    def unidentified(reason: str) -> list[Finding]:
        return [
            Finding(
                "mapping_unit", title, "not identifiable", reason, evidence=evidence, detail=detail
            ),
            _no_penalty(evidence),
        ]

    if is_disk(run):
        return [
            Finding(name, title, "not applicable", NO_UNITS, evidence=evidence, detail=detail)
            for name, title in _TITLES.items()
        ]
    if len(pairs.boundary_bytes) < 4:
        return unidentified("Too few boundaries were measured to see where the cost stops rising.")
    fitted, explains = _fit(pairs)
    if fitted is None:
        return unidentified(
            "Small writes across boundaries do not begin to cost more at any power of two and stay "
            "so: there is no mapping unit, or something else takes longer than it does."
        )
    unit, excess = fitted.unit_bytes, fitted.excess
    detail |= {
        "kappa": fitted.kappa,
        "rho": fitted.rho,
        "goodness": {"soft_l1_cost": fitted.cost},
        "model": fitted.factor(pairs.boundary_bytes),
    }
    if not explains:
        return unidentified(
            "The cost of writes across boundaries does not rise as one size of mapping unit would "
            "have it."
        )
    if log_blocks and excess < _MERGE_MIN:
        return unidentified(
            "Logs are merged into blocks, but a write across two of them does not wait for two "
            "merges: others go on beside, or were due anyway."
        )
    if unit <= pairs.boundary_bytes[0]:
        return unidentified(
            "Writes across boundaries cost more at every power of two: the unit is "
            f"{wording.size(unit)} or smaller."
        )
    found = Finding(
        "mapping_unit",
        title,
        "measured",
        f"The drive maps {wording.size(unit)} at a time: a small write across a multiple of that "
        f"costs {wording.times(1 + excess)} as much as one beside it, and no more across larger "
        "powers of two.",
        value=unit,
        unit="B",
        evidence=evidence,
        detail=detail,
    )
    return [found, _penalty(pairs, unit, evidence)]


def _pairs(points: Sequence[Measured]) -> _Pairs:
    by_boundary: dict[int, dict[str, Measured]] = {}
    for m in points:
        by_boundary.setdefault(int(m.point["boundary_bytes"]), {})[str(m.point["where"])] = m
    both = sorted(boundary for boundary, pair in by_boundary.items() if len(pair) == 2)
    array = np.array(
        [
            [boundary, 1 / pair["at"].iops, 1 / pair["across"].iops, pair["across"].ios]
            for boundary in both
            for pair in [by_boundary[boundary]]
        ],
        dtype=np.float64,
    ).reshape(-1, 4)
    return _Pairs(*array.T)


@dataclass(frozen=True)
class _Fit:
    unit_bytes: float
    kappa: float
    rho: float
    cost: float
    """Mean soft-L1 cost of the factors, in standard deviations."""

    def factor(self, boundary_bytes: Floats) -> Floats:
        """How much longer a write across boundaries takes, shape (boundaries,)."""
        rise = 1 + self.rho * np.minimum(1, boundary_bytes / self.unit_bytes)
        return np.maximum(1, self.kappa * rise)

    @property
    def excess(self) -> float:
        """What a second unit costs, in costs of the first."""
        return self.kappa * (1 + self.rho) - 1


def _fit(pairs: _Pairs) -> tuple[_Fit | None, bool]:
    """The best of all units, ``None`` where a second unit costs nothing with any, and whether it
    alone explains the factors."""
    fits = _fits(pairs, 0.0)
    if not fits:
        return None, False
    if fits[0].cost <= _COST_MAX:
        return fits[0], fits[0].excess >= _CLEAR_EXCESS or _alone(fits)
    clear = _fits(pairs, _FEW_DIES)
    if clear and clear[0].cost <= _CLEAR_COST and clear[0].excess >= _CLEAR_EXCESS:
        return clear[0], _alone(clear)
    return fits[0], False


def _alone(fits: Sequence[_Fit]) -> bool:
    """Whether the first of the units explains the factors much better than the next."""
    return len(fits) < 2 or fits[1].cost >= _CLEAR_RATIO * fits[0].cost


def _fits(pairs: _Pairs, few_dies: float) -> list[_Fit]:
    """Those of all units, the best first."""
    tried = (_fit_unit(pairs, unit, few_dies) for unit in pairs.boundary_bytes)
    return sorted((fit for fit in tried if fit is not None), key=lambda fit: fit.cost)


def _fit_unit(pairs: _Pairs, unit: float, few_dies: float) -> _Fit | None:
    judged = pairs.boundary_bytes <= _UNITS_SEEN * unit
    boundary, factor = pairs.boundary_bytes[judged], pairs.factor[judged]
    if np.count_nonzero(boundary > unit) < _PLATEAU:
        return None
    # Of few slow writes, more or fewer than the share p/u lie across a boundary of units.
    share = np.minimum(1, boundary / unit)
    scatter = _SCATTER * (1 + few_dies * np.log2(np.maximum(1, boundary / unit)))
    deviation = np.sqrt(scatter**2 + share * (1 - share) / pairs.across_ios[judged])

    def residuals(parameters: Floats) -> Floats:
        model = _Fit(unit, parameters[0], parameters[1], 0.0)
        return np.asarray((model.factor(boundary) - factor) / deviation)

    # Of the cost of the first unit something else may hide up to a half. Where the model is 1 it
    # does not depend on either, so that one start may not reach the best.
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
    fit = _Fit(float(unit), kappa, rho, cost)
    return fit if fit.excess >= _EXCESS_MIN else None


def _no_penalty(evidence: Sequence[str]) -> Finding:
    return Finding(
        "partial_unit_penalty",
        _TITLES["partial_unit_penalty"],
        "not identifiable",
        "Without a mapping unit that shows there is no cost of covering it in part.",
        evidence=evidence,
    )


def _penalty(pairs: _Pairs, unit: float, evidence: Sequence[str]) -> Finding:
    """The second unit's time at the boundaries that are all boundaries of units."""
    whole = (pairs.boundary_bytes >= unit) & (pairs.boundary_bytes <= _UNITS_SEEN * unit)
    extra = (pairs.across_s - pairs.at_s)[whole]
    value = float(np.mean(extra))
    # A point ends within one of its writes.
    half = tolerance = float(np.mean((pairs.across_s / pairs.across_ios)[whole]))
    if len(extra) > 1:
        error = float(np.std(extra, ddof=1)) / math.sqrt(len(extra))
        half = max(tolerance, two_sided_t(len(extra) - 1) * error)
    detail: dict[str, Any] = {"extra_s": extra, "goodness": {"boundaries": len(extra)}}
    if half == tolerance:
        detail["interval"] = RESOLUTION
    return Finding(
        "partial_unit_penalty",
        _TITLES["partial_unit_penalty"],
        "measured",
        f"Each unit that a write covers only in part keeps the drive busy for "
        f"{wording.duration(value)} more.",
        value=value,
        unit="s",
        interval=(value - half, value + half),
        evidence=evidence,
        detail=detail,
    )
