"""Whether the rates of reads in larger and larger windows are those of dies alone.

Windows within a stripe are as fast as one die. Larger ones lie on more and more dies, until all of
them are busy: no larger window is slower then. Other load makes some of them slower, in any order.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping

from fourcorners.analysis.internals.flash.soonest_reads import Soonest
from fourcorners.analysis.internals.thresholds import ALIKE

_FAR_MIN, _FALL_MAX = 4.0, 7 / 3
"""Where rates rise step by step to more than so many times that of one die, and only then fall, by
at most so much, the rise is that of dies: two doublings at the least. Large windows lie on pages of
all kinds, and small ones maybe on the quickest: of cells of three bits, the array compares with 1,
2 and 4 voltages (Micheloni, Crippa and Marelli, Inside NAND Flash Memories, 2010), which makes a
factor of 7/3. A read that is tried again for milliseconds holds up all reads behind it."""


_PLATEAU_MIN = 3
"""So many windows that do not fall show what dies gain: the first faster one and its next two."""


def are_steady(
    window: Mapping[int, float], beyond: int, one_die: float, *, kinds_differ: bool
) -> bool:
    """Whether rates within the stripe are the same, and those beyond do not fall. Where they rise
    by far more than other load makes of one rate, they may fall afterwards. The largest windows may
    be slower and slower, or none as fast again and the last far slower: they need more of the map
    than the drive's memory holds, and were measured in random order among the others.

    Args:
        window: the reads per second by the size of the window in bytes, in order.
        beyond: the first window that is faster than a single place.
        one_die: the reads per second of a single place.
        kinds_differ: whether pages of different kinds lie within a stripe.
    """
    inside = [iops for size, iops in window.items() if size < beyond]
    after = [iops for size, iops in window.items() if size >= beyond]
    far = _FAR_MIN * one_die
    of_kinds = kinds_differ and max(after) > far and _FALL_MAX * min(inside) > max(inside)
    if ALIKE * min(inside) <= max(inside) and not of_kinds:
        return False
    after = _without_map(after)
    fastest = itertools.accumulate(after, max)
    return all(
        ALIKE * later > earlier or (most > far and _FALL_MAX * later > most)
        for (earlier, later), most in zip(itertools.pairwise(after), fastest, strict=False)
    )


def stand_apart(soonest: Mapping[int, Soonest], window: Collection[int], beyond: int) -> bool:
    """Whether the soonest reads tell all windows within the stripe from all larger ones. Reads of
    the former, two windows at least, wait in one queue that takes as long in each; those of the
    latter are over as soon as with two dies. Reads that hang change the rates of windows by a
    fifth, and none of this. A single window within the stripe may have been slower by other load.

    Args:
        soonest: of windows by their size in bytes.
        window: the sizes of all windows, in bytes.
        beyond: the first window that is faster than a single place.
    """
    if not set(window) <= soonest.keys():
        return False
    within = [soonest[size] for size in window if size < beyond]
    after = [soonest[size] for size in window if size >= beyond]
    alike = all(one.as_slow_as(other) for one, other in itertools.permutations(within, 2))
    return len(within) > 1 and alike and all(some.sooner_than(within[0]) for some in after)


def _without_map(after: list[float]) -> list[float]:
    """The rates without those of the largest windows, if a part of the map has to be read there."""
    while len(after) > _PLATEAU_MIN and ALIKE * after[-1] <= after[-2]:
        after = after[:-1]
    falls = (n for n in range(_PLATEAU_MIN, len(after)) if ALIKE * after[n] <= after[n - 1])
    end = next(falls, len(after))
    again = max(after[end:], default=0.0)
    return after[:end] if ALIKE * again <= after[end - 1] > _FALL_MAX * after[-1] else after
