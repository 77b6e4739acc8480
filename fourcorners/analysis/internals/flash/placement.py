"""Placement by address: what writes at multiples of a boundary take if addresses tell the unit.

On most drives a write goes to whichever unit (die, plane) is next. On a drive with static placement
(Hu et al., ICS 2011; Tavakkol et al., FAST 2018) its address tells the unit: stripes go round over
N units. Multiples of a boundary of p = k stripes then lie on n = N / gcd(N, k) of them, so that
each doubling of the boundary halves the units in use, and beyond N stripes there is one.

A closed queue of Q writes keeps about n Q / (Q + n - 1) of n units busy (mean value analysis of
balanced units; Reiser and Lavenberg, JACM 1980). A write across a boundary that is one of mapping
units costs both units a write. If these are of different halves of the units, both halves work at
the rate of one. If both halves are all units, which is so up to a stripe, the work of each
doubles. With mapping units u and a share q = min(1, p / u) of such writes, times per write in
times T of a unit are::

    at:      T / busy(n, Q)
    across:  T / busy(n, Q)                   if the two units of a write are of different halves
             T (1 + q) / busy(n, Q (1 + q))   otherwise

A write buffer keeps all units busy. Where it holds a share h of the mapping units that are written
at all, the same share of writes costs nothing.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from fourcorners.recording.arrays import Floats

_UNITS = tuple(sorted({m << k for k in range(10) for m in (1, 3, 5) if 2 <= m << k <= 512}))
"""Numbers of units that are tried: powers of two, three and five times such."""

_ALWAYS = 1e6
"""Writes outstanding inside a drive that has a large write buffer: all units are always busy."""

_JUMP_MIN = 1.3
"""Writes at multiples of two stripes take at least so many times as long as of one: of two or more
units that were busy half are left. From this ratio on writes are no longer as fast either."""

_EVEN_MAX, _DOUBLES_MIN = 1.15, 1.5
"""Ratios of times that scatter of some percent does not reach, and that halved units exceed, even
if they program for others too."""

_DROP_MAX = 0.5
"""The most that is left of the excess of writes across boundaries when the boundary becomes two
stripes; all of it is left where data lie anywhere."""

_MISFIT_MAX = 0.15
"""The largest root mean square of the logarithms of modelled over measured times: the formula of
busy units leaves out some percent, planes that program together some more."""

_EXCESS_MIN, _EXCESS_MAX = 0.3, 1.2
"""The excess of a write to two units: it costs both, but something else may take a part of the
time."""

_NEXT_MIN = 1.5
"""Another number of units explains the times worse if its misfit is at least so many times as
large, and half of what is allowed; and that data lie anywhere does if its misfit is."""

_EXCESS_APART = 0.05
"""The least misfit of the excess that rules out a mapping unit: the scatter of such times."""


@dataclass(frozen=True)
class Static:
    """The placement that explains the times: the stripe in bytes, the ``units`` in rotation
    (``None`` where other numbers explain the times too), the mapping unit in bytes, what a second
    mapping unit costs in costs of the first, and the relative ``misfit``."""

    stripe_bytes: int
    units: int | None
    unit_bytes: int
    excess: float
    misfit: float


def busy(units: Floats, outstanding: Floats) -> Floats:
    """The mean number of busy units, with so many writes outstanding; arrays of one shape."""
    found: Floats = units * outstanding / (outstanding + units - 1)
    return found


def is_even(at_s: Floats) -> bool:
    """Whether writes are as fast at the largest boundaries as at the smallest."""
    return float(np.median(at_s[-2:])) < _JUMP_MIN * float(np.median(at_s[:3]))


def static(boundary_bytes: Floats, at_s: Floats, across_s: Floats, depth: int) -> Static | None:
    """The static placement that explains the times per write; ``None`` where none does.

    Args:
        boundary_bytes, at_s, across_s: arrays of shape (boundaries,), boundaries ascending.
        depth: writes outstanding.
    """
    excess = across_s / at_s - 1
    fits: list[_Fit] = []
    for stripe_at in range(1, len(boundary_bytes) - 1):
        jump = at_s[stripe_at + 1] / at_s[stripe_at]
        if jump >= _JUMP_MIN and excess[stripe_at + 1] <= _DROP_MAX * excess[stripe_at]:
            fits += _fits(
                boundary_bytes, np.log(np.concatenate([at_s, across_s])), stripe_at, depth
            )
    fits.sort()
    if not fits:
        return None
    best = fits[0]
    if best.misfit <= _MISFIT_MAX:
        if _anywhere(boundary_bytes, at_s, across_s) < _NEXT_MIN * best.misfit:
            return None
        stripe_at = best.stripe_at
        allowed = max(_NEXT_MIN * best.misfit, _MISFIT_MAX / 2)
        near = {fit.units for fit in fits if fit.misfit < allowed}
    elif (doubles_at := _doubles_at(at_s, excess)) is not None:
        # Collection among few units takes less, so that the times of large boundaries fit no model.
        stripe_at, near = doubles_at, set()
    else:
        return None
    until = stripe_at + 1
    unit, cost = _unit(boundary_bytes[:until], excess[:until])
    if unit is None or not _EXCESS_MIN <= cost <= _EXCESS_MAX:
        return None
    stripe, units = int(boundary_bytes[stripe_at]), near.pop() if len(near) == 1 else None
    return Static(stripe, units, unit, cost, best.misfit)


def _anywhere(boundary_bytes: Floats, at_s: Floats, across_s: Floats) -> float:
    """The misfit if data lie anywhere: writes at multiples of all boundaries take equally long, and
    those across them longer up to the mapping unit and by the same from there on. Times that
    scatter may rise by chance where a stripe could end."""
    measured = np.log(np.concatenate([at_s, across_s]))
    misfits = []
    for unit, excess in itertools.product(boundary_bytes, np.linspace(0, _EXCESS_MAX, 25)):
        more = np.log1p(excess * np.minimum(1, boundary_bytes / unit))
        off = measured - np.concatenate([np.zeros_like(more), more])
        misfits.append(float(np.sqrt(np.mean((off - np.mean(off)) ** 2))))
    return min(misfits)


def _doubles_at(at_s: Floats, excess: Floats) -> int | None:
    """The stripe, if writes at all boundaries up to it are equally fast and two doublings of it
    halve the units in use, and if a second mapping unit costs nothing beyond it."""
    for at in range(1, len(at_s) - 2):
        even = at_s[: at + 1].max() <= _EVEN_MAX * at_s[: at + 1].min()
        doubles = (at_s[at + 1 : at + 3] >= _DOUBLES_MIN * at_s[at : at + 2]).all()
        if even and doubles and (excess[at + 1 : at + 3] <= _DROP_MAX * excess[at]).all():
            return at
    return None


def _unit(boundary_bytes: Floats, excess: Floats) -> tuple[int | None, float]:
    """The mapping unit, up to which the excess of writes across boundaries rises with the boundary
    and from which on it stays, and the excess there; ``None`` where two units explain it."""
    fits = []
    for unit in boundary_bytes[1:]:
        share = np.minimum(1, boundary_bytes / unit)
        cost = float(share @ excess / (share @ share))
        fits.append((float(np.sqrt(np.mean((cost * share - excess) ** 2))), int(unit), cost))
    fits.sort()
    sure = len(fits) == 1 or fits[1][0] > max(2 * fits[0][0], _EXCESS_APART)
    return fits[0][1] if sure else None, fits[0][2]


@dataclass(frozen=True, order=True)
class _Fit:
    misfit: float
    units: int
    stripe_at: int


def _fits(boundary_bytes: Floats, measured: Floats, stripe_at: int, depth: int) -> list[_Fit]:
    """The fits of all placements with this stripe."""
    kept = boundary_bytes[-1] * 2.0 ** np.arange(-2, 4, 0.5)
    found = []
    for unit, units, (outstanding, all_kept) in itertools.product(
        boundary_bytes[1 : stripe_at + 1],
        _UNITS,
        ((float(depth), math.inf), *((_ALWAYS, most) for most in (math.inf, *kept))),
    ):
        stripe = boundary_bytes[stripe_at]
        model = _modelled(boundary_bytes, unit, stripe, units, outstanding, all_kept)
        off = model - measured
        misfit = float(np.sqrt(np.mean((off - np.mean(off)) ** 2)))
        found.append(_Fit(misfit, units, stripe_at))
    return found


def _modelled(
    boundary_bytes: Floats,
    unit: float,
    stripe: float,
    units: int,
    outstanding: float,
    all_kept: float,
) -> Floats:
    """The logarithms of the times per write at and then across all boundaries, but for a constant.
    ``all_kept`` is the boundary at whose multiples a write buffer keeps all that is written."""
    rounds = np.maximum(boundary_bytes / stripe, 1).astype(int)
    used = np.array([units / math.gcd(units, int(k)) for k in rounds])
    share = np.minimum(1, boundary_bytes / unit)
    together = used == units
    more = np.where(together, 1 + share, 1.0)
    written = np.maximum(boundary_bytes, unit) / all_kept
    at = np.log1p(-np.minimum(0.98, written)) - np.log(busy(used, np.full_like(used, outstanding)))
    # On either side of a boundary is another mapping unit.
    written = np.where(boundary_bytes > unit, written / 2, written)
    across = np.log1p(-np.minimum(0.98, written)) + np.log(more)
    return np.concatenate([at, across - np.log(busy(used, outstanding * more))])
