"""Small reads that take one of two times, because the drive begins a probe with work of its own.

A drive that loads its map on demand keeps what writes changed of it in memory. A read of another
place has to wait until one change is back on the flash. That takes the same time for each read,
until the places that are read again and again have none left: then all reads take another, shorter
time. Each probe begins with such reads, since writes came before it.

Other load is different. A read waits for any part of what it finds under way, so that the times
scatter, and load does not know when a probe begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from fourcorners.analysis.internals.thresholds import ALIKE, UNSURE
from fourcorners.analysis.source import Measured

_BEGIN_MIN, _FALL_MIN = 3, 2
"""So many probes have to begin with reads that take the same time, and in so many of them the later
reads take the other time. A load that ends during a probe may look like this once; for a second
time it would have to begin again, as strong as before, between two probes."""


def slow_ones(points: Sequence[Measured]) -> int:
    """How many of these small reads, the first ones, take one time, if all later ones take another,
    shorter one; 0 for others."""
    middle_s = [_middle_s(m) for m in points]
    if len(points) < 2 or not _is_one_time(points[0]) or not _is_one_time(points[-1]):
        return 0
    first_s, last_s = middle_s[0], middle_s[-1]
    slow = next((n for n, s in enumerate(middle_s) if not _alike(s, first_s)), len(points))
    falls = first_s > (1 + UNSURE) * last_s
    return slow if falls and all(_alike(s, last_s) for s in middle_s[slow:]) else 0


def of_the_drive(series: Mapping[str, Sequence[Measured]]) -> dict[str, int]:
    """The probes whose small reads became quicker because the drive had done its own work, with how
    many reads came before; none where other load explains it as well.

    Args:
        series: the small reads between the points of each probe that only reads, in their order.
    """
    fell = {test: slow for test, points in series.items() if (slow := slow_ones(points))}
    if len(fell) < _FALL_MIN:
        return {}
    slow_s = [_middle_s(series[test][0]) for test in fell]
    quick_s = [_middle_s(series[test][-1]) for test in fell]
    begin_s = [_middle_s(points[0]) for points in series.values() if _is_one_time(points[0])]
    same = all(_alike(s, median(times)) for times in (slow_s, quick_s) for s in times)
    alike = sum(_alike(s, median(slow_s)) for s in begin_s)
    return fell if same and alike >= _BEGIN_MIN else {}


def _middle_s(m: Measured) -> float:
    return m.latency_percentile_s(50) or 1 / m.iops


def _is_one_time(m: Measured) -> bool:
    """Whether half of these reads, those in the middle, take about as long."""
    low_s, high_s = (m.latency_percentile_s(share) for share in (25, 75))
    return bool(low_s and high_s and high_s <= ALIKE * low_s)


def _alike(one_s: float, other_s: float) -> bool:
    return 1 / ALIKE <= one_s / other_s <= ALIKE
