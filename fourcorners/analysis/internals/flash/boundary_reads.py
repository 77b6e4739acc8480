"""What single reads across boundaries tell of a drive that serves one command at a time.

Reads do not meet on dies then, but one read of two pages does: on one die it takes two array reads
one after the other, on two dies these are side by side. A read across the boundary of two pages of
a die is the longest. One within a page passes its two units over one channel, one after the other.
One across the boundary of two stripes, on dies with a channel each, is the shortest: so it is from
the stripe on at all larger powers of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_ALIKE = 0.015
"""Relative difference up to which times are the same."""

_LONGER = 0.03
"""Least relative difference that tells a read within a stripe from one across two."""

_TWO_READS = 0.6
"""Added time, in times of a read of one place, from which it is another array read's."""

_ONE_READ = 0.42
"""The same up to which it is a transfer's."""


@dataclass(frozen=True)
class Crossings:
    """``stripe_bytes``: what lies on one die before the next begins. ``page_bytes``: what one read
    of a die brings, ``None`` if it does not show. ``longest``: the longest time within a stripe,
    over that across two."""

    stripe_bytes: int
    page_bytes: int | None
    longest: float


def crossings(across_s: Mapping[int, float], one_place_s: float) -> Crossings | None:
    """What the times tell; ``None`` where they do not become shorter at one power of two and stay
    so.

    Args:
        across_s: time of a read across each power of two, ascending.
        one_place_s: time of a read of half as much on one side.
    """
    if len(across_s) < 2:
        return None
    boundaries, times = list(across_s), list(across_s.values())
    apart_s = times[-1]
    added = {b: (t - apart_s) / apart_s for b, t in across_s.items()}
    within = [b for b in boundaries if added[b] > _LONGER]
    if not within:
        return None
    stripe = 2 * within[-1]
    beyond = [added[b] for b in boundaries if b >= stripe]
    if len(beyond) < 2 or max(map(abs, beyond)) > _ALIKE:
        return None
    reads = {b: added[b] * apart_s / one_place_s for b in boundaries if b < stripe}
    page: int | None = None
    if all(some < _ONE_READ for some in reads.values()):
        page = stripe
    elif all(some > _TWO_READS or some < _ONE_READ for some in reads.values()):
        page = next(b for b, some in reads.items() if some > _TWO_READS)
        if any(some < _ONE_READ for b, some in reads.items() if b > page):
            return None
    return Crossings(stripe, page, 1 + max(added.values()))
