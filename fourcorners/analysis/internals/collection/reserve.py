"""What a drive that collects in bursts frees at a time, which says what it keeps in reserve at
least: collection needs as much room to move data to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fourcorners.analysis.internals.collection.parts import Part

_BURSTS_MIN = 4
"""So many bursts of collection have three distances, of which the median is not the odd one."""

_STALLED_SHARE = 0.3
"""A part contains a burst if it takes longer by at least this share of what the first burst took:
some blocks have less to move."""


def freed_bytes(parts: Sequence[Part], first: int) -> float:
    """The bytes that the drive accepts between two bursts, and so frees at a time, in the median;
    zero where they are too few.

    Args:
        parts: the parts in which the full drive was overwritten.
        first: the number of the part with the first burst.
    """
    elapsed = np.array([seconds for _, seconds in parts])
    longer = elapsed[first:] - np.median(elapsed[:first])
    stalled = np.flatnonzero(longer >= _STALLED_SHARE * longer[0])
    if len(stalled) < _BURSTS_MIN:
        return 0.0
    return float(np.median(np.diff(stalled))) * float(parts[first][0])
