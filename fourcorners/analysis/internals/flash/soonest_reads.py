"""What the soonest of many reads of a place tell: whether all of them wait in one queue.

A few reads that hang lower the rate of two places, or of the one that it is compared with, by a
fifth. The soonest reads are the same with them and without.
"""

from __future__ import annotations

from dataclasses import dataclass

from fourcorners.analysis.internals.thresholds import ALIKE

_TWO_DIES = 3 / 4
"""The time of a read of two dies over that of one, as they serve at least 4/3 as many reads."""


@dataclass(frozen=True)
class Soonest:
    """Of the latencies of many reads outstanding, in seconds, what nine of ten exceed, and half."""

    tenth_s: float
    half_s: float

    @property
    def is_one_queue(self) -> bool:
        """Whether all reads took about as long, as those do that one unit serves in the order in
        which they came: each waits for all that are outstanding."""
        return ALIKE * self.tenth_s > self.half_s

    def sooner_than(self, one: Soonest | None) -> bool:
        """Whether a tenth of the reads of two places are over as soon as those of two dies must be:
        in 3/4 of the time of one place's, all of which wait for the one die. Reads that hang make
        none of the others sooner."""
        return one is not None and one.is_one_queue and self.tenth_s <= _TWO_DIES * one.half_s

    def as_slow_as(self, one: Soonest | None) -> bool:
        """Whether nine of ten reads of two places take about as long as those of one place: then
        both are on one die. Two dies, which serve at least 4/3 as many, let a read wait for at most
        3/4 as long in the mean, and a tenth of the reads for no longer than that."""
        return one is not None and one.is_one_queue and ALIKE * self.tenth_s > one.half_s
