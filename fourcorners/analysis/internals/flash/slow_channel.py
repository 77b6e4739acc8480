"""Rates of two places whose dies share a channel that is slower than their arrays.

Such dies read their arrays at the same time and then wait for the channel, so that both together
gain less than two dies elsewhere: with an array's time a and a page's time c on the channel the
gain is (a + c) / max(a, c), or less where more of them wait. It may lie anywhere between that of
one die and that of two, but all such pairs gain the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fourcorners.analysis.internals.thresholds import ALIKE, APART

_GROUP_MIN, _GROUPS_APART = 3, 4.0
"""So many gains form a group if the distance to the next group is so many times as large as the
group. Of 5 to 20 gains of one die that scatter by 2 to 20 % (log-normal), fewer than one set in
1000 forms two such groups by chance, on both sides of :data:`ALIKE`."""


def behind_one_channel(gains: Sequence[float]) -> float | None:
    """The middle between the gains of pairs on one die and those of pairs on two dies behind a slow
    channel, over the rate of one die; ``None`` where gains do not form two such groups."""
    same = sorted(gain for gain in gains if gain <= ALIKE)
    more = sorted(gain for gain in gains if ALIKE < gain <= APART)
    if min(len(same), len(more)) < _GROUP_MIN:
        return None
    spread = max(math.log(group[-1] / group[0]) for group in (same, more))
    if math.log(more[0] / same[-1]) < _GROUPS_APART * spread:
        return None
    return math.sqrt(more[0] * same[-1])
