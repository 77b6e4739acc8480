"""How large a cache is that ends at the bend of a burst, and whether a write buffer alone explains
the bend.
"""

from __future__ import annotations

import numpy as np

from fourcorners.analysis.internals.caches.buffer_line import (
    BUFFER_MAX,
    FASTER_MIN,
    FIRST_BYTES,
    Buffer,
)
from fourcorners.analysis.internals.caches.burst_curve import Curve
from fourcorners.analysis.internals.caches.program_rounds import find_rounds
from fourcorners.analysis.internals.caches.slowdown import NEAR_BEND, Bend
from fourcorners.analysis.internals.thresholds import UNSURE

LINK_SHARE = 0.985
"""From this ratio of the cache's rate to the link's on, the link is the limit: the buffer is empty
until the cache is full."""

BELOW_LINK = 0.77
"""Below this share of the link's rate something else is so clearly the limit that a cache would
show."""

ROUND_MARGIN = 0.3
"""The uncertainty of the cache in rounds of the dies."""

_PAST_BEND, _UNSEEN_PERIOD = 1.02, 0.006
"""The time from which rounds past a bend are searched, and the longest period that may be hidden
because the curve is coarse there; both in times of the bend's time."""

_BUFFER_FULL_SHARE = 0.5
"""A write buffer must be full within this share of the short burst to be found there."""


def cache_bytes(bend: Bend, curve: Curve, buffer: Buffer | None) -> tuple[float, float, float]:
    """The size of the cache, and the least and the largest size that it may have.

    The last rows for the cache go to their dies when the buffer is full with data that is not yet
    being programmed. In the mean over a round the curve is half a round lower.

    Args:
        bend: the bend of a long burst.
        curve: the curve of this burst.
        buffer: the write buffer, if there is one.
    """
    if buffer is None:
        around = _round_bytes(curve, bend)
        # If the link is the limit, the line before the bend is higher or lower by part of a round.
        # So much may also lie on the dies, past the cache, before their pace shows.
        return bend.count_bytes + around / 2, bend.count_bytes - around, bend.count_bytes + around
    margin = buffer.margin_bytes + ROUND_MARGIN * buffer.round_bytes
    held = buffer.size_bytes - buffer.round_bytes / 2
    full = bend.count_bytes - held
    if bend.fast_rate < LINK_SHARE * curve.rate(*FIRST_BYTES):
        return full, full - margin, full + margin
    # The buffer fills up after the bend, at the link's rate, while it drains. If the cache is a
    # little slower than the link, the buffer begins to fill before the bend.
    left = 1 - bend.slow_rate / bend.fast_rate
    empty = bend.count_bytes - buffer.level_bytes / left
    return empty, empty - margin / left, max(full + margin, empty + margin / left)


def may_be_emptied_cache(bend: Bend, buffer: Buffer, size_bytes: float) -> bool:
    """Whether the buffer that the short burst showed may be room that the cache had made since the
    long burst, so that the cache holds over a quarter more.

    Both are then filled at the rate of the link. A buffer whose size is certain to a quarter drains
    as evenly as a buffer does, and counts as one.

    Args:
        bend: the bend of a long burst.
        buffer: the write buffer that the short burst showed.
        size_bytes: the size of the cache if there is such a buffer.
    """
    unsure = buffer.margin_bytes > UNSURE * buffer.size_bytes
    return unsure and _as_fast(bend, buffer) and size_bytes < (1 - UNSURE) * bend.count_bytes


def _as_fast(bend: Bend, buffer: Buffer) -> bool:
    """Whether a burst before its bend is as fast as a buffer is filled."""
    return bend.fast_rate >= LINK_SHARE * buffer.link_rate


def _round_bytes(curve: Curve, bend: Bend) -> float:
    """The bytes that the dies program in a round past a bend; if no rounds show, the largest round
    that may be hidden."""
    bend_s = float(curve.seconds_at(np.array([bend.count_bytes]))[0])
    rounds = find_rounds(curve, bend.slow_rate, _PAST_BEND * bend_s)
    period_s = rounds.period_s if rounds else _UNSEEN_PERIOD * bend_s
    return period_s * bend.slow_rate


def in_order(bends: tuple[Bend, Bend]) -> tuple[Bend, Bend]:
    """The last bend of a burst and the one before it, in the order in which they count. A cache
    ends at the first one that a write buffer does not explain; a later one is of what the drive
    does beyond its cache. Where both may be one bend, the last is known better."""
    last, before = bends
    apart = last.start_bytes > 0 or before.count_bytes <= NEAR_BEND * last.count_bytes
    return (before, last) if apart else bends


def may_be_buffer(
    bend: Bend, short: Curve | None, buffer: Buffer | None, most_bytes: float = BUFFER_MAX
) -> bool:
    """Whether a write buffer alone explains a bend, although the short burst showed none, or a
    smaller one: it may have been half full then.

    A buffer that fills at the fast rate while it drains at the slow one holds the bytes before the
    bend times 1 - slow / fast. Drives without a buffer accept their first writes as slowly as they
    program.

    Args:
        bend: the bend of a long burst.
        short: the curve of the short burst, if it was measured.
        buffer: the write buffer that it showed, if any.
        most_bytes: the most that a buffer of this drive may hold.
    """
    held = bend.count_bytes * (1 - bend.slow_rate / bend.fast_rate)
    if buffer is not None:
        return held <= 2 * buffer.size_bytes and _as_fast(bend, buffer)
    if held > most_bytes:
        return False
    if short is None:
        return True
    first = short.rate(*FIRST_BYTES)
    if first < BELOW_LINK * bend.fast_rate:
        return False
    left = 1 - bend.slow_rate / first
    seen_bytes = _BUFFER_FULL_SHARE * float(short.count_bytes[-1])
    return first < FASTER_MIN * bend.slow_rate or held > left * seen_bytes
