"""What else takes part in the bytes that a drive accepts before its cliff, beside its spare area.

A write buffer accepts as much more as it holds, whether flash or the link limits the writes before:
only what was programmed uses up the spare area. Where addresses tell the plane, planes are filled
unevenly by chance, and those that are full first collect while the others still have room.
"""

from __future__ import annotations

import math

import scipy

from fourcorners.analysis.internals.caches import write_buffer
from fourcorners.analysis.internals.caches.buffer_line import (
    BUFFER_MAX,
    FASTER_MIN,
    FIRST_BYTES,
    LATE_SHARE,
)
from fourcorners.analysis.internals.caches.burst_curve import completion_curve
from fourcorners.analysis.internals.collection.parts import FILL
from fourcorners.analysis.internals.flash.levels import PLANES_MAX
from fourcorners.analysis.internals.view import View

_WINDOW_BYTES = 4 * BUFFER_MAX
"""The first part of a burst that shows what such a buffer holds: half of it is written later, even
if the flash takes as much meanwhile as the buffer holds."""

_PAGE_MAX = 16 * 1024
"""Pages are no larger (data sheets of 2006 to 2022)."""


def held_bytes(view: View) -> tuple[float, float, float]:
    """What the write buffer holds at the cliff: the least, the likely and the most of it, in bytes.

    A buffer whose size is known is full then; the drive may have more room than that, as the bounds
    of its size say. Of one whose size is not known, a burst to the erased drive, or the fill, tells
    how far it is ahead of the flash at most. That is the buffer of a drive that drains it from the
    start; one that begins when it is full holds all that was accepted until then. A burst that is
    as fast as the link from start to end tells nothing.
    """
    buffer, size = view.answer("write_buffer_bytes"), view.value("write_buffer_bytes")
    if write_buffer.writes_through(view):
        return 0.0, 0.0, 0.0
    if buffer is not None and size is not None:
        low, high = buffer.interval or (size, size)
        return min(low, size), size, max(high, size)
    between = (0.0, 0.0) if buffer is None else buffer.detail.get("between_bytes", (0.0, 0.0))
    if between[1]:
        return between[0], sum(between) / 2, between[1]
    for m in (*write_buffer.LONG(view)[:1], *FILL(view)[:1]):
        curve = completion_curve(view.run, m).until(_WINDOW_BYTES)
        if len(curve.seconds) < 2:
            continue
        drain = curve.rate((1 - LATE_SHARE) * curve.count_bytes[-1], float(curve.count_bytes[-1]))
        link = curve.rate(*FIRST_BYTES)
        if link < FASTER_MIN * drain:
            continue
        ahead = min(float((curve.count_bytes - drain * curve.seconds).max()), BUFFER_MAX)
        return 0.0, ahead, min(ahead / (1 - drain / link), BUFFER_MAX)
    return 0.0, 0.0, BUFFER_MAX


def earliest_plane(view: View, written_bytes: float) -> float:
    """By which share the plane that is full first has less room than the mean, where writes at
    random to addresses that tell the plane fill one more than another; else zero.

    Of n pages that a plane takes in the mean it takes n + sqrt(n) z, by the Poisson distribution,
    and of so many planes the first has the z that one of them exceeds.
    """
    if not view.has("placement_by_address"):
        return 0.0
    dies, planes = view.value("dies"), view.value("planes_per_die")
    units = (dies or 1.0) * (planes or PLANES_MAX)
    pages = written_bytes / units / (view.value("page_bytes") or _PAGE_MAX)
    z = float(scipy.stats.norm.isf(1 / units)) if units > 2 else 0.0
    return z / math.sqrt(max(pages, 1.0))
