"""A drive with a single die: reads of it never go in parallel, wherever they are.

No window is faster than a single place, and a read across a boundary of two pages takes twice as
long, at every power of two. A slow processor or channel, with many dies behind it, looks alike. It
shows in single reads: what a command takes without flash is in a read of a place without data, and
what is left of one of flash is the array and the channel, one after the other. If a place is read
more slowly than commands without flash are served, and nothing that is left beside its pace is as
long as the quickest array, that pace is the array's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fourcorners.analysis.internals.flash import conflicting_reads
from fourcorners.analysis.internals.nand.read_cost import DIE_LIMITS_MIN, SAME_PLACE, median_s
from fourcorners.analysis.internals.thresholds import ALIKE, TWICE
from fourcorners.analysis.internals.view import ERASED_ALONE, View, ids

_ARRAY_MIN_S = 20e-6
"""No array of flash is read in less time; docs/explain.md."""

_ONE_READ, _TWO_READS = 1.75, 2.25
"""A read within a page takes less than the first times as long as a smaller one of it, and one of
two pages no more than the second: as of dies in rotation."""

_BOUNDARIES_MIN = 3
"""So many boundaries in a row that double the time: stripes of two dies have one such boundary, and
those of four pages two, and go on to the next die then."""

_TOLERANCE = 0.02
"""The tolerance of a rate and of a histogram."""


@dataclass(frozen=True)
class OneUnit:
    """The bytes that one array read fetches, the time from one read of a place to the next, and the
    recordings that show that nothing is read beside it."""

    page_bytes: int
    each_s: float
    evidence: Sequence[str]


def one_unit(view: View) -> OneUnit | None:
    """What shows a drive with a single die; ``None`` for others."""
    seen = view.once(conflicting_reads.seen)
    again_s, empty_s = median_s(SAME_PLACE(view)), median_s(ERASED_ALONE(view))
    if seen is None or again_s is None or empty_s is None:
        return None
    each_s = 1 / seen.one_die
    page = page_of({b: seen.one_die / iops for b, iops in seen.across.items()})
    if page is None or max(seen.window.values()) > ALIKE * seen.one_die:
        return None
    # The drive works on other commands meanwhile, so that it does not take one at a time.
    takes_several = again_s >= DIE_LIMITS_MIN * each_s
    if not takes_several or not is_array(each_s, again_s, empty_s):
        return None
    points = conflicting_reads.points(view, "window", "across")
    return OneUnit(page, each_s, ids([*points, *SAME_PLACE(view), *ERASED_ALONE(view)]))


def is_array(each_s: float, again_s: float, empty_s: float) -> bool:
    """Whether the time from one read of a place to the next is that of the array.

    Args:
        each_s: that time.
        again_s: a single read of the place.
        empty_s: a single read of a place without data.
    """
    beside_s = again_s - empty_s - each_s
    longer = each_s > (1 + _TOLERANCE) * max(empty_s, _ARRAY_MIN_S)
    return longer and beside_s < (1 - _TOLERANCE) * _ARRAY_MIN_S


def page_of(times: dict[int, float]) -> int | None:
    """The first boundary of two pages, by how many times as long a read across each boundary takes
    as one of a single place; ``None`` where not all larger ones are, or where the boundary at half
    of it was left out."""
    page = next((b for b, longer in times.items() if longer >= TWICE), None)
    if page is None or page // 2 not in times:
        return None
    beyond = [longer for b, longer in times.items() if b >= page]
    within = [longer for b, longer in times.items() if b < page]
    if len(beyond) < _BOUNDARIES_MIN or max(within) > _ONE_READ:
        return None
    return page if all(TWICE <= longer <= _TWO_READS for longer in beyond) else None
