"""What must have been written before a rate can be a drive's steady state.

A drive may still have free blocks, data that lies as a fill laid it out, or blocks of one age; how
long each lasts follows from the spare area, which the fall of the rate suggests.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fourcorners.analysis.steady_state.segments import STEP_RATIO_MIN
from fourcorners.analysis.steady_state.series import Progression, Series, progression
from fourcorners.analysis.steady_state.spread import Spread
from fourcorners.sentences import Said, say

SPARE_SHARE_MAX = 0.45
"""Spare area that a drive may have, as a share of its capacity, where nothing is known: of the
drives whose raw capacity was published the Intel DC S3700 has the most, 41 %."""

LEAST_CAPACITIES = 0.05
"""Capacities that must be written in any case: a drive that was prepared well has to be seen for a
while, too. More of them found no false answer that the other conditions had not."""

LEAST_SHARE = 0.5
"""Share of all that was written that must follow the last change: the last step of a slow decay
is short against the decay."""

EXHAUSTED_SHARE = 0.7
"""Of the spare area that the fall of the rate suggests, how much must have been written before the
fall for it to be the end of the spare area."""

FASTEST_CAPACITIES = 0.02
"""Capacities in a window whose rate may count as the fastest: as the least spare area is, and still
many requests."""

LAID_OUT_MAX = 8.0
"""Data that still lies as a sequential fill laid it out, over the spare area, up to which a rate
may be final: blocks of such data become free otherwise than blocks of mixed data."""

TURNOVERS = 8.0
"""Times that the flash must have been collected since its spare area was used up: all blocks of a
fill are of one age, which several generations of blocks inherit."""

TURNOVERS_CAPACITIES_MAX = 1.25
"""Capacities written after which those turnovers need not be waited for: a drive that collects
little takes long for each. Uniform writes have by then reached all but 29 % of the data, and those
blocks of the fill are worth collecting that are collected at an amplification of 1.4 or more."""

UNCHANGED_S = 1800.0
"""For how long a rate must have been seen that was never another one: it is not collection that
limits it then, and what limits it may go by time and not by bytes. A cloud volume's credits last
for about half an hour (AWS promises of gp2 "at least 30 minutes"), a drive is hot in less."""


@dataclass(frozen=True)
class Known:
    """What is known of the drive and its preparation."""

    capacity_bytes: float
    spare_bytes_max: float
    unwritten_bytes: float
    spread: Spread


@dataclass(frozen=True)
class Preparedness:
    """How far a series has brought its drive, at one resolution; ``first`` is the part that begins
    after the last change."""

    series: Series
    parts: Progression
    known: Known

    def amplification(self, first: int) -> float:
        """A lower bound of the write amplification since the last change: the fastest rate seen
        over the rate after it. Without collection a drive would still write at that rate."""
        after = self.parts.mean_from(first)
        return max(1.0, self.fastest / after) if after else 1.0

    @cached_property
    def fastest(self) -> float:
        """The fastest rate, of windows short enough for the least spare area to show: parts become
        longer as the series does."""
        fastest = float(np.quantile(self.parts.value, 0.98))
        if not self.parts.by_bytes:
            return fastest
        total = self.parts.work * len(self.parts.value)
        windows = int(total / (FASTEST_CAPACITIES * self.known.capacity_bytes))
        return max(fastest, float(progression(self.series, windows).value.max()))

    def spare_share(self, first: int) -> float:
        """Spare area, in capacities, that the amplification since the last change suggests: under
        uniform random writes it is about ``(1 + s) / 2 s`` (Agarwal & Marrow, GLOBECOM 2010, for
        greedy collection)."""
        return 1 / (2 * self.amplification(first) - 1)

    def _mixed_bytes(self, first: int) -> float:
        """What must be written in all for little enough of the data to lie still as a sequential
        fill laid it out: uniform random writes leave ``exp(-w / C)`` of it after w of C bytes."""
        if self.known.spare_bytes_max == 0:
            return 0.0
        share = LAID_OUT_MAX * self.spare_share(first)
        return self.known.capacity_bytes * max(0.0, -math.log(share))

    def _turnover_bytes(self, first: int) -> float:
        """What must be written in all for :data:`TURNOVERS` since the spare area was used up; of
        data that is written seldom they take longer by as much."""
        if self.known.spare_bytes_max == 0:
            return 0.0
        spare = self.spare_share(first)
        capacities = spare + TURNOVERS * (1 + spare) / self.amplification(first)
        late = self.known.spread.late_step
        return self.known.capacity_bytes * late * min(TURNOVERS_CAPACITIES_MAX, capacities)

    def needed_bytes(self, first: int) -> float:
        """What has to be written since the last change, for every block of flash to be collected
        once: a turnover takes the whole flash over the write amplification. What is not known
        makes it larger: with the most spare area the flash is largest."""
        if not self.parts.by_bytes:
            return 0.0
        least = max(
            LEAST_CAPACITIES * self.known.capacity_bytes,
            LEAST_SHARE * self.parts.work * len(self.parts.value),
        )
        if self.known.spare_bytes_max == 0:
            return least
        flash = self.known.capacity_bytes + self.known.spare_bytes_max
        return max(least, flash / self.amplification(first))

    def _free_bytes(self, first: int) -> float:
        """What may have been free when the series began.

        Where the rate fell the spare area can be told. If about as much was written before the
        fall, the fall was the end of it; if less, a smaller cache has ended, and the largest spare
        area counts.
        """
        known = self.known
        most = known.spare_bytes_max + known.unwritten_bytes
        if self.amplification(first) > 1.0:
            spare = known.capacity_bytes * self.spare_share(first) + known.unwritten_bytes
            if self.parts.work * first >= EXHAUSTED_SHARE * spare:
                return min(most, spare)
        return most

    def missing(self, first: int) -> Said | None:
        """What was not written yet for the value to be final."""
        unprepared = self.unprepared(first)
        if unprepared is not None or not self.parts.by_bytes:
            return unprepared
        total, needed = self.parts.work * len(self.parts.value), self._turnover_bytes(first)
        if total < needed:
            return say("judge.ages_not_mixed", written=total, needed=needed)
        return self.unchanged(first)

    def unchanged(self, first: int) -> Said | None:
        """That it is too early for a rate that was never another one. After the same writes it was
        one before."""
        elapsed = float(self.parts.duration_s.sum())
        if self.known.spare_bytes_max == 0 or elapsed >= UNCHANGED_S:
            return None
        if self.amplification(first) >= STEP_RATIO_MIN:
            return None
        return say("judge.never_slower", elapsed_s=elapsed, needed_s=UNCHANGED_S)

    def unprepared(self, first: int) -> Said | None:
        """What was not written yet for the drive to be near its steady state."""
        if not self.parts.by_bytes:
            return None
        total = self.parts.work * len(self.parts.value)
        free = self._free_bytes(first)
        if total < free:
            return say("judge.may_be_free", written=total, free=free)
        mixed = self._mixed_bytes(first)
        if total < mixed:
            return say("judge.order_not_mixed", written=total, needed=mixed)
        since, needed = total - self.parts.work * first, self.needed_bytes(first)
        if since < needed:
            return say("judge.no_turnover", written=since, needed=needed)
        return None
