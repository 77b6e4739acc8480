"""Leaving steady state: a drive that throttles, a cache that fills."""

import math
from dataclasses import dataclass, field

import numpy as np

from fourcorners.recording.arrays import Floats

ALLOWANCE = 0.10
"""Change of the level, as a share, that is not yet a departure: half of SNIA's range."""

THRESHOLD_MIN, DEVIATIONS = 0.30, 8.0
"""Threshold of the sum: a share of the level, or so many standard deviations of a batch, whichever
is more: in the contest of steady state (docs/steady-state.md) they give the false alarms and the
delays that it shows."""

ROUND_SHARE_MAX = 0.45
"""Of the threshold, how much a round may add that is outside of what the steady stretch had: one or
two rounds alone are a stall or two and not another level, however slow or fast they are."""

BATCHES = 12
"""Batches in the steady stretch that the watch learns from, at least."""

NOISE_MAX = 0.04
"""Standard deviation of a batch, as a share of the level, that batches are made long for."""


@dataclass(frozen=True)
class Departure:
    """The level has changed. ``since_round`` and ``noticed_round`` count from the first round that
    the watch was given."""

    since_round: int
    noticed_round: int
    level_share: float
    """The mean since then over the steady value."""


class DepartureWatch:
    """Watches the rounds that follow a steady stretch, at a constant cost for each.

    Page's cumulative sums, one for each direction (Page, Biometrika 41, 1954), over means of
    batches of rounds, each of which counts for no more than :data:`ROUND_SHARE_MAX` allows: what
    exceeds :data:`ALLOWANCE` adds up until chance does not explain it.
    """

    def __init__(
        self, steady: Floats, *, level: float | None = None, period_rounds: float | None = None
    ) -> None:
        """Learns the noise, and the level where it is not given.

        Args:
            steady: shape (rounds,), the tracked value of the steady stretch, at least
                :data:`BATCHES` rounds of the same length.
            level: the steady value, such as a verdict's.
            period_rounds: of an oscillation: batches become whole periods.
        """
        self._level = float(np.mean(steady)) if level is None else level
        shares = steady / self._level
        self._batch, noise = _batches(shares, period_rounds)
        self._threshold = max(THRESHOLD_MIN, DEVIATIONS * noise)
        reach = ALLOWANCE + ROUND_SHARE_MAX * self._batch * self._threshold
        # An oscillation's own rounds count in full: its mean would be another one without.
        self._least = min(float(shares.min()), 1 - reach)
        self._most = max(float(shares.max()), 1 + reach)
        self._sides = {-1: _Side(), +1: _Side()}
        self._rounds = 0
        self._waiting: list[float] = []
        self._departure: Departure | None = None

    def add(self, value: float) -> Departure | None:
        """Takes one more round; ``None`` while the level is what it was."""
        self._rounds += 1
        self._waiting.append(value / self._level)
        if self._departure is not None or len(self._waiting) < self._batch:
            return self._departure
        mean = float(np.mean(self._waiting))
        counted = float(np.mean(np.clip(self._waiting, self._least, self._most)))
        self._waiting.clear()
        for sign, side in self._sides.items():
            side.sum += sign * (counted - 1) - ALLOWANCE
            if side.sum <= 0:
                self._sides[sign] = _Side(start=self._rounds)
                continue
            side.batches.append(mean)
            if side.sum > self._threshold:
                self._departure = Departure(
                    since_round=side.start,
                    noticed_round=self._rounds - 1,
                    level_share=float(np.mean(side.batches)),
                )
        return self._departure


@dataclass
class _Side:
    """The cumulative sum in one direction, and the batches since it was zero."""

    sum: float = 0.0
    start: int = 0
    batches: list[float] = field(default_factory=list)


def _batches(steady: Floats, period_rounds: float | None) -> tuple[int, float]:
    """Rounds of a batch, and the standard deviation of a batch's mean."""
    least = max(1, math.ceil(period_rounds)) if period_rounds else 1
    most = max(least, len(steady) // BATCHES)
    batch = least
    while True:
        count = max(1, len(steady) // batch)
        means = steady[: count * batch].reshape(count, -1).mean(axis=1)
        noise = float(means.std(ddof=1)) if count > 1 else NOISE_MAX
        if noise <= NOISE_MAX or batch >= most:
            return batch, noise
        batch = min(most, max(batch + 1, round(batch * 1.5)))
