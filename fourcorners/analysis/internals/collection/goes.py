"""Whether what is erased at a time is several blocks of a die, one after the other.

A drive that waits until few blocks are free, and then erases several superblocks in one go, looks
like one with a larger superblock. A read that comes at random meets any of the erasures of a die
alike: a place that was held up by one of them waits again at once if another one follows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fourcorners.analysis.internals.collection.periods_met import numbers_met
from fourcorners.analysis.internals.collection.reads_beside import Waits
from fourcorners.analysis.internals.thresholds import FALSE_ALARM

_ANOTHER = 0.5
"""Waits that end further apart than this share of a long one are for different erasures: those for
one of them end together. And waits that long are for one at all."""

_AGAIN_MIN = 3
"""So often places must be held up again: a read may be slow for any reason once or twice."""


@dataclass(frozen=True)
class Goes:
    """How often places were held up by another erasure right after one."""

    met: int
    """The periods in which places waited, each place counted by itself."""
    again: int
    """Those in which another erasure followed."""
    most: int
    """The erasures that one place waited for in a row, at most."""
    by_chance: float
    """The chance that none was met again if a die erased two blocks each time."""

    @property
    def several(self) -> bool | None:
        """Whether dies erase several blocks in a row; ``None`` where that is not known."""
        if self.again >= _AGAIN_MIN:
            return True
        return False if self.again == 0 and self.by_chance < FALSE_ALARM else None


def goes(reads: Waits, level_s: float, unit_bytes: float) -> Goes | None:
    """Counts what followed the erasures that reads met.

    If a read meets one of two erasures with the chance p, a place waits in a period with the chance
    q = 1 - (1 - p)^2, and of the periods in which it does a share of p^2 / q has waits for both.

    Args:
        reads: the reads during sequential writes.
        level_s: those that waited for erasures took longer.
        unit_bytes: what is written from one erasure to the next.
    """
    waited = reads.seconds > level_s
    if not waited.any():
        return None
    long_s = float(np.quantile(reads.seconds[waited], 0.9))
    waited &= reads.seconds > _ANOTHER * long_s
    begun_s = reads.at_bytes / reads.pace_bytes_per_second
    met = again = most = 0
    places = np.unique(reads.place)
    for place in places:
        own = np.flatnonzero(waited & (reads.place == place))
        if not len(own):
            continue
        met += len(numbers_met(reads.at_bytes[own], unit_bytes))
        ends_s = begun_s[own] + reads.seconds[own]
        another = (np.diff(ends_s) > _ANOTHER * long_s) & (begun_s[own][1:] < ends_s[:-1] + long_s)
        in_row = np.diff(np.flatnonzero(np.concatenate([[True], ~another, [True]])))
        again += int(np.sum(in_row > 1))
        most = max(most, int(in_row.max()))
    share = min(met * unit_bytes / (len(places) * float(reads.at_bytes[-1])), 1.0)
    one = 1 - math.sqrt(1 - share)
    return Goes(met, again, most, (1 - one**2 / share) ** met)
