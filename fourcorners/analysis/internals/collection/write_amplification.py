"""Write amplification of a drive that is overwritten at random after a fill in sequence.

No formula gives the way to the steady state, so the mean field of endlessly many blocks is followed
(Van Houdt, SIGMETRICS 2013; it ends where Desnoyers' formula has it, SYSTOR 2012). Uniform writes
leave each unit valid with the same chance whoever wrote it last, so that a block is known by when
it was written, or by how many of its units are still valid. A host knows neither the policy of
collection nor how many units a block holds: :data:`COLLECTORS` are some, between which drives lie.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import scipy

from fourcorners.recording.arrays import Floats

SHARES: Floats = np.geomspace(0.03, 0.9, 45)
"""Spare areas over user area that are followed."""

WRITTEN_MAX = 0.6
"""User areas that are written after the cliff."""

_STEP = 0.004
"""User areas that are written in a step, a tenth of the smallest spare area that is followed."""

_AGES = 32
"""Stretches into which what is written before the cliff is divided."""


@dataclass(frozen=True)
class Collector:
    """How a drive chooses the block that it empties next."""

    units_per_block: int | None
    """Units that the host overwrites at a time; ``None``: endlessly many. All blocks of an age are
    then alike, and the oldest one is the emptiest, by whatever policy."""
    candidates: int | None = None
    """Blocks drawn at random, the emptiest of which it takes; ``None``: all."""


COLLECTORS = (
    *((Collector(units), 1.0) for units in (16, 48, 128, 256)),
    *((Collector(units, candidates=6), 0.3) for units in (48, 128, 256)),
    (Collector(None), 1.0),
)
"""Each with its weight: greedy ones, some that look at few blocks only, and the limit of all."""


@functools.lru_cache(maxsize=len(COLLECTORS) + 8)
def moved_units(collector: Collector) -> tuple[Floats, Floats]:
    """How much was moved by when.

    Returns:
        What the host has written since the cliff, in user areas, shape (points,), and what was
        moved by then for each of :data:`SHARES`, shape (shares, points).
    """
    follow = _by_age() if collector.units_per_block is None else _by_content(collector)
    written: Floats = np.linspace(0.0, WRITTEN_MAX, round(WRITTEN_MAX / _STEP) + 1)
    return written, follow


def _by_content(collector: Collector) -> Floats:
    """Blocks of ``k`` valid units, shape (shares, units + 1), in user areas."""
    units = collector.units_per_block or 1
    valid = np.arange(units + 1)
    lost = 1 - valid / units

    def after(written: Floats) -> Floats:
        chance: Floats = scipy.stats.binom.pmf(valid, units, np.exp(-written)[:, None])
        return chance

    blocks = after(SHARES)
    for age in (np.arange(_AGES) + 0.5) / _AGES:
        blocks = blocks + (SHARES / _AGES)[:, None] * after(SHARES * age)
    survive = scipy.stats.binom.pmf(valid, valid[:, None], np.exp(-_STEP))
    moved = [np.zeros(len(SHARES))]
    for _ in range(round(WRITTEN_MAX / _STEP)):
        blocks = blocks @ survive
        if collector.candidates is None:
            taken = _in_order(blocks, lost[None, :])
        else:
            above = 1 - np.cumsum(blocks, axis=1) / blocks.sum(axis=1, keepdims=True)
            none = np.maximum(above, 0.0) ** collector.candidates
            chance = -np.diff(none, axis=1, prepend=1.0)
            taken = np.minimum(chance * (_STEP / (chance @ lost))[:, None], blocks)
        freed, kept = taken @ lost, taken @ (1 - lost)
        blocks = blocks - taken
        blocks[:, -1] += freed + kept
        moved.append(moved[-1] + kept * _STEP / freed)
    return np.array(moved).T


def _by_age() -> Floats:
    """Blocks of the fill, those written before the cliff and those written in each step after it,
    in user areas."""
    steps = round(WRITTEN_MAX / _STEP)
    written_at = np.zeros((len(SHARES), 1 + _AGES + steps))
    written_at[:, 1 : 1 + _AGES] = SHARES[:, None] * (np.arange(_AGES) + 0.5) / _AGES
    written_at[:, 1 + _AGES :] = SHARES[:, None] + _STEP * np.arange(1, steps + 1)
    blocks = np.zeros_like(written_at)
    blocks[:, 0] = 1.0
    blocks[:, 1 : 1 + _AGES] = (SHARES / _AGES)[:, None]
    moved = [np.zeros(len(SHARES))]
    for step in range(steps):
        until = 1 + _AGES + step
        age = SHARES[:, None] + _STEP * (step + 0.5) - written_at[:, :until]
        lost = 1 - np.exp(-np.maximum(age, 0.0))
        taken = _in_order(blocks[:, :until], lost)
        freed, kept = (taken * lost).sum(axis=1), (taken * (1 - lost)).sum(axis=1)
        blocks[:, :until] -= taken
        blocks[:, until] = freed + kept
        moved.append(moved[-1] + kept * _STEP / freed)
    return np.array(moved).T


def _in_order(blocks: Floats, lost: Floats) -> Floats:
    """Of the blocks, in their order, as many as free what the host writes in a step."""
    gain = blocks * lost
    before = np.cumsum(gain, axis=1) - gain
    share = np.clip(_STEP - before, 0.0, gain) / np.where(gain > 0, gain, 1.0)
    taken: Floats = blocks * share
    return taken


@dataclass(frozen=True)
class Likely:
    """What the times after a cliff say of the spare area."""

    share: float
    low: float
    high: float
    """Spare area over user area, and the 90 % interval."""
    misfit: float
    """Chi squared of the best fit over its degrees of freedom."""
    amplification: float
    cost: float
    """Mean amplification, and what moving a unit takes in times of writing one, of the best fit."""


@dataclass(frozen=True)
class Prior:
    """What is known of a drive before."""

    cost: float
    cost_spread: float
    """What moving a unit takes in times of writing one, and the standard deviation of its
    logarithm over drives."""
    drift: float
    """Standard deviation by which that logarithm may be off at either end of what was seen."""
    erase: float
    """Time of an erasure over the time in which what it erases is written."""


def likely_share(
    edges: Floats, longer: Floats, scatter: float, ahead: float, prior: Prior
) -> Likely:
    """Weighs :data:`SHARES`, and :data:`COLLECTORS`, by how well they explain the times.

    It is not used how much was written before the cliff: how the amplification falls from there on
    tells the spare area, and its height does as far as the cost of moving is known.

    Args:
        edges: of the stretches, in user areas written since the cliff, shape (stretches + 1,).
        longer: by what share each took longer than before the cliff, shape (stretches,).
        scatter: relative standard deviation of one stretch.
        ahead: what is collected ahead of the writes, in user areas.
        prior: what else is known.
    """
    count = len(longer)
    place = np.linspace(-1, 1, count)
    covariance = np.eye(count) * scatter**2 + prior.cost_spread**2
    precision = np.linalg.inv(covariance + prior.drift**2 * np.outer(place, place))
    misfits, costs, means, weights = [], [], [], []
    for collector, weight in COLLECTORS:
        written, moved = moved_units(collector)
        total = np.array([np.interp(edges + ahead, written, one) for one in moved])
        per_write = np.maximum(np.diff(total, axis=1) / np.diff(edges), 1e-9)
        # All that is written, by whomever, needs erased blocks.
        moving = longer - prior.erase * (1 + per_write)
        off = np.log(np.maximum(moving, 1e-9) / per_write) - np.log(prior.cost)
        misfits.append(np.einsum("si,ij,sj->s", off, precision, off))
        costs.append(np.exp(off.mean(axis=1)) * prior.cost)
        means.append(1 + per_write.mean(axis=1))
        weights.append(weight)
    misfit = np.array(misfits)
    best = np.unravel_index(int(misfit.argmin()), misfit.shape)
    least = float(misfit[best]) / count
    # Where the model fits worse than the scatter should have it, it says so much less.
    chance = np.array(weights) @ np.exp((misfit[best] - misfit) / 2 / max(least, 1.0))
    chance /= chance.sum()
    below = np.cumsum(chance) - chance / 2
    low, middle, high = np.exp(np.interp([0.05, 0.5, 0.95], below, np.log(SHARES)))
    return Likely(
        float(middle),
        float(low),
        float(high),
        least,
        float(np.array(means)[best]),
        float(np.array(costs)[best]),
    )
