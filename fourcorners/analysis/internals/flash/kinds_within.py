"""Stripes whose pages are not all read in the same time.

Where a die programs the pages of a cell together, a stripe holds a page of each kind, and the array
compares the upper ones with more voltages. Windows that reach a slower page are slower than smaller
ones, before the next die makes larger ones faster. Their rates do not show where the stripe ends,
as a die with slow pages has more to do than its share of the places. Two places do: the next stripe
begins with a page of the same kind as the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from fourcorners.analysis.internals.thresholds import ALIKE, APART


def differ(window: Mapping[int, float], one_die: float) -> bool:
    """Whether windows that do not gain differ from each other. Rates are in reads per second, by
    the size of the window; the first one gains nothing."""
    inside = list(itertools.takewhile(lambda iops: iops <= APART * one_die, window.values()))
    return ALIKE * min(inside) <= max(inside)


def stripes_tried(beyond: int) -> list[int]:
    """The stripes of which a window of ``beyond`` bytes may be the first that gains. They have one,
    two, three or four pages, as cells have bits, or planes; a window of two or more of them gains
    unless the slowest page takes more than twice as long as the first."""
    return [beyond // 4, beyond * 3 // 8, beyond // 2, beyond * 3 // 4]


def slowest(pair: Mapping[int, float], stripe: int, one_die: float) -> float:
    """How many times as long as the first place of a stripe the slowest measured one takes. Two
    places of a die are read in turns, each of them half of the times."""
    within = [iops for distance, iops in pair.items() if distance < stripe]
    return max(1.0, 2 * one_die / min(within, default=2 * one_die) - 1)
