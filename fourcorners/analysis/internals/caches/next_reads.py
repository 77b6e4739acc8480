"""What to read next of a drive, to find out what it reads ahead and what it keeps."""

from __future__ import annotations

from collections.abc import Mapping

from fourcorners.analysis.internals.caches.read_cache import all_hit, bracket, kept, reached

_REACH_PARTS = 32
"""Between two distances that differ by no more than this part of the nearer one, no other is read:
the middle is then off by 2 % at most."""

_REFINED = 1.07
"""Up to this ratio of the smallest region that is not kept to the largest that is, no region
between them is read."""


def sequences_wanted(busy: Mapping[int, float], calm: Mapping[int, float], most: int) -> int | None:
    """The number of sequences to read next from a disk that is idle most of the time; ``None`` when
    the largest number of which it reads ahead is known, or larger than ``most``.

    Args:
        busy: the share of the reads that were in memory, by number of sequences, from a disk that
            many reads may keep from reading ahead: what it misses shows nothing.
        calm: the same from a disk that was idle most of the time.
        most: the largest number that can be read.
    """
    hits = all_hit({**busy, **calm}, of_pages=False)
    shown = {count: hit for count, hit in hits.items() if hit or count in calm}
    last, missed = bracket({1: True} | shown)
    if last is None or last >= most or missed == last + 1:
        return None
    if missed is None and not calm and last < max(busy, default=0):
        return last + 1
    return (last + (missed or most + 1)) // 2


def distance_wanted(hits: Mapping[int, float], unit_bytes: int) -> int | None:
    """The distance to read at next, between the largest that is in memory and the next; ``None``
    when both are close, or one of them is missing.

    Args:
        hits: the share of the reads that were in memory, by their distance in bytes.
        unit_bytes: what distances are multiples of.
    """
    last, missed = reached(hits)
    if last is None or missed is None or missed - last <= max(last / _REACH_PARTS, unit_bytes):
        return None
    return (last + missed) // 2 // unit_bytes * unit_bytes


def region_wanted(again: Mapping[int, float], random_s: float, unit_bytes: int) -> int | None:
    """The region to read next, between the largest that is kept and the smallest that is not;
    ``None`` when the size is known."""
    last, missed = kept(again, random_s)
    if last is None or missed is None or missed <= _REFINED * last:
        return None
    return (last + missed) // 2 // unit_bytes * unit_bytes
