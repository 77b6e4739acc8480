"""Write amplification of a drive that is overwritten at random after a sequential fill.

No formula describes the way to the steady state. Therefore this module computes the mean field of
infinitely many blocks (Van Houdt, SIGMETRICS 2013), which ends at the value of Desnoyers' formula
(SYSTOR 2012). Under uniform writes every unit stays valid with the same chance, whether the host or
collection wrote it last. A block is thus described by when it was written, or by how many of its
units are still valid. A host knows neither the policy of collection nor the number of units of a
block; drives lie between the :data:`COLLECTORS`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import scipy

from fourcorners.recording.arrays import Floats

SHARES: Floats = np.geomspace(0.03, 0.9, 45)
"""The spare areas, over the user area, that are computed."""

WRITTEN_MAX = 0.6
"""The computation ends when so many user areas have been written after the cliff."""

_STEP = 0.004
"""The user areas written in a step, about a tenth of the smallest spare area that is computed."""

_AGES = 32
"""The data written before the cliff is divided into so many stretches."""


@dataclass(frozen=True)
class Collector:
    """A model of how a drive chooses the next block to collect."""

    units_per_block: int | None
    """The units of a block, each of which the host overwrites as a whole; ``None`` means infinitely
    many. All blocks of an age are then alike, and under every policy the oldest has the fewest
    valid units."""
    candidates: int | None = None
    """The drive draws so many blocks at random and takes the one with the fewest valid units;
    ``None`` means that it looks at all blocks."""


COLLECTORS = (
    *((Collector(units), 1.0) for units in (16, 48, 128, 256)),
    *((Collector(units, candidates=6), 0.3) for units in (48, 128, 256)),
    (Collector(None), 1.0),
)
"""The collectors with their weights: greedy ones, some that look at few blocks only, and the limit
of all."""


@functools.lru_cache(maxsize=len(COLLECTORS) + 8)
def moved_units(collector: Collector) -> tuple[Floats, Floats]:
    """How much a drive has moved, by how much the host has written.

    Returns:
        The data that the host has written since the cliff, with shape (points,), and the data moved
        until then for each of :data:`SHARES`, with shape (shares, points); both in user areas.
    """
    follow = _by_age() if collector.units_per_block is None else _by_content(collector)
    written: Floats = np.linspace(0.0, WRITTEN_MAX, round(WRITTEN_MAX / _STEP) + 1)
    return written, follow


def _by_content(collector: Collector) -> Floats:
    """Computes the moved data from the amount of blocks with each number of valid units, which has
    shape (shares, units + 1), in user areas."""
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
    """Computes the moved data from the amount of blocks by their age, in user areas: blocks of the
    fill, blocks written before the cliff, and blocks written in each step after it."""
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
    """Takes blocks in their order until they free what the host writes in a step."""
    gain = blocks * lost
    before = np.cumsum(gain, axis=1) - gain
    share = np.clip(_STEP - before, 0.0, gain) / np.where(gain > 0, gain, 1.0)
    taken: Floats = blocks * share
    return taken


@dataclass(frozen=True)
class Likely:
    """The estimate of the spare area from the times after a cliff."""

    share: float
    low: float
    high: float
    """The spare area over the user area, and its 90 % interval."""
    misfit: float
    """The chi squared of the best fit over its degrees of freedom."""
    amplification: float
    cost: float
    """The mean amplification of the best fit, and its cost of moving a unit in times of writing
    one."""


@dataclass(frozen=True)
class Prior:
    """What is known about a drive before the estimate."""

    cost: float
    cost_spread: float
    """The cost of moving a unit in times of writing one, and the standard deviation of its
    logarithm over drives."""
    drift: float
    """The standard deviation of that logarithm at either end of the measured stretches."""
    erase: float
    """The time of an erasure over the time of writing what it erases."""


def likely_share(
    edges: Floats, longer: Floats, scatter: float, ahead: float, prior: Prior
) -> Likely:
    """Weighs :data:`SHARES` and :data:`COLLECTORS` by how well they explain the times.

    The bytes written before the cliff are not used. The spare area follows from how the
    amplification falls after the cliff, and from its height as far as the cost of moving is known.

    Args:
        edges: the edges of the stretches, in user areas written since the cliff, with shape
            (stretches + 1,).
        longer: the share by which each stretch took longer than before the cliff, with shape
            (stretches,).
        scatter: the relative standard deviation of one stretch.
        ahead: the data collected ahead of the writes, in user areas.
        prior: what else is known about the drive.
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
        # Data written by the host and by collection needs erased blocks alike.
        moving = longer - prior.erase * (1 + per_write)
        off = np.log(np.maximum(moving, 1e-9) / per_write) - np.log(prior.cost)
        misfits.append(np.einsum("si,ij,sj->s", off, precision, off))
        costs.append(np.exp(off.mean(axis=1)) * prior.cost)
        means.append(1 + per_write.mean(axis=1))
        weights.append(weight)
    misfit = np.array(misfits)
    best = np.unravel_index(int(misfit.argmin()), misfit.shape)
    least = float(misfit[best]) / count
    # If the model fits worse than the scatter explains, its evidence counts less in proportion.
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
