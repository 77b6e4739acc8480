"""What single reads across boundaries show of a drive that serves one command at a time.

In such a drive two reads never meet on a die, but the parts of one read of two pages may: on one
die the two array reads follow each other, on two dies they run in parallel. A read across the
boundary of two pages of a die takes longest. A read within a page transfers its two units over one
channel, one after the other. A read across the boundary of two stripes, on dies with a channel
each, is the shortest. This holds at the stripe and at all larger powers of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_ALIKE = 0.015
"""Times whose relative difference is at most this are the same."""

_LONGER = 0.03
"""The least relative difference that separates a read within a stripe from a read across two."""

_TWO_READS = 0.6
"""From this added time on, in times of a read of one place, it is that of another array read."""

_ONE_READ = 0.42
"""Up to this added time, in times of a read of one place, it is that of a transfer."""


@dataclass(frozen=True)
class Crossings:
    """What the reads show. ``stripe_bytes`` are the consecutive bytes on one die. ``page_bytes``
    are the bytes that one array read fetches, ``None`` if they cannot be found. ``longest`` is the
    longest time within a stripe, over that across two."""

    stripe_bytes: int
    page_bytes: int | None
    longest: float


def crossings(across_s: Mapping[int, float], one_place_s: float) -> Crossings | None:
    """Finds stripe and page from the times; ``None`` where the times do not become shorter at one
    power of two and stay so, or where that one was left out.

    Args:
        across_s: the time of a read across each power of two, ascending.
        one_place_s: the time of a read of half the size that stays on one side.
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
    if stripe not in across_s:
        return None
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
        # The boundary before it may have been left out.
        if page != boundaries[0] and page // 2 not in reads:
            page = None
    return Crossings(stripe, page, 1 + max(added.values()))
