"""What slows down a long burst of writes like an SLC cache that is full, and is none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fourcorners.analysis.internals.caches import write_buffer
from fourcorners.analysis.internals.caches.burst_curve import BUCKET, completion_curve
from fourcorners.analysis.internals.caches.slowdown import SLOWER_MIN
from fourcorners.analysis.internals.collection.parts import AFTER_FILL, FILL, OVERWRITE, REST
from fourcorners.analysis.internals.disk.zones import PLACES
from fourcorners.analysis.internals.link.generation import LARGE
from fourcorners.analysis.internals.view import PointAxis, View, by_size
from fourcorners.analysis.source import Measured

_MARGIN = 2 * BUCKET
"""Places so close to the end of a cache, as a share of it, may be on either side."""

_AS_SLOW = 0.02
"""Rates that differ by no more are the same: of a burst to faster cells, which take a third less
time for a program or less still, that would be chance."""

_LAST = 0.1
"""The last share of the fill, which is to be as slow as the burst is past its bend."""

_AS_HELD = 0.05
"""A limit of the rate gives back in a pause what writes are held to in as much time: a choice, some
times the resolution of a rate. Of 22 drives in which ``arena explain`` finds an SLC cache (of 105
drives of seed 1618033, and of 63 foreign ones of seed 967187623) the nearest was off by 8 %."""


@dataclass(frozen=True)
class Slower:
    """Reads that are slower than others, by how many times, and the recordings that show it."""

    ratio: float
    shown: list[Measured]

    @property
    def are_slower(self) -> bool:
        """Whether they are slower by as much as a burst is past a bend."""
        return self.ratio >= SLOWER_MIN

    def explains(self, fall: float, slow_rate: float) -> bool:
        """Whether what slows down these reads may also be what slows down writes by so many times,
        to this rate in bytes per second: by the same factor, at least by its root, or to the same
        rate. Reads of other cells, or beside data that is moved, are slower by less."""
        slowest = min(m.bytes_per_second for m in self.shown)
        alike = self.ratio**2 >= fall or slowest <= SLOWER_MIN * slow_rate
        return self.are_slower and alike

    def would_show(self, slow_rate: float) -> bool:
        """Whether reads that are held to this rate, in bytes per second, would be slower."""
        return max(m.bytes_per_second for m in self.shown) >= SLOWER_MIN * slow_rate


def by_place(view: View, low: float, high: float) -> Slower | None:
    """Where reads before the place at which a fill became slower (in bytes, the least and the
    greatest) are faster than past it, or slower: the fill came to another medium. ``None`` where
    they are alike."""
    places = [(int(m.point[PointAxis.OFFSET]), m.bytes_per_second) for m in PLACES(view)]
    before = [rate for offset, rate in places if offset < (1 - _MARGIN) * low]
    after = [rate for offset, rate in places if offset > (1 + _MARGIN) * high]
    if not before or not after:
        return None
    ratio = float(np.median(before) / np.median(after))
    return None if 1 / SLOWER_MIN < ratio < SLOWER_MIN else Slower(ratio, PLACES(view))


def as_slow_before(view: View, slow_rate: float, least: float) -> list[Measured]:
    """The short burst, if it ran at the rate past the bend although it ended before so much was
    written as the cache would hold at least. While faster cells are free, no drive is as slow as
    without."""
    long, short = write_buffer.LONG(view), write_buffer.SHORT(view)
    if not long or not short or long[-1].bytes + short[-1].bytes > least:
        return []
    curve = completion_curve(view.run, short[-1])
    total = float(curve.count_bytes[-1])
    off = curve.rate(total / 2, total) / slow_rate - 1
    return short[-1:] if abs(off) <= _AS_SLOW else []


def reads_after_fill(view: View) -> Slower | None:
    """By how many times large reads right after the fill are slower than the same reads of a drive
    that had rested; ``None`` where one of them was not measured.

    Heat slows down what a drive does as a whole, reads as well as writes, and so does a limit of
    the rate of a volume. A cache that is full of writes slows down no reads, unless the drive moves
    data out of it meanwhile.
    """
    at_rest = by_size(m for m in LARGE(view) if m.point[PointAxis.OF] == "written")[-1:]
    after = AFTER_FILL(view)[:1]
    if not at_rest or not after or at_rest[0].block_bytes != after[0].block_bytes:
        return None
    shown = [*at_rest, *after]
    return Slower(at_rest[0].bytes_per_second / after[0].bytes_per_second, shown)


@dataclass(frozen=True)
class Regained:
    """How many bytes more than at the slow rate were accepted after a pause, how many that rate
    makes of the pause, and the recordings that show it."""

    count_bytes: float
    of_rate_bytes: float
    shown: list[Measured]

    @property
    def is_of_a_rate(self) -> bool:
        """Whether a limit of the rate explains all of them."""
        return abs(self.count_bytes / self.of_rate_bytes - 1) <= _AS_HELD


def regained(view: View, slow_rate: float) -> Regained | None:
    """What a drive takes faster again after large reads that follow the fill, where the fill ended
    at this slow rate, in bytes per second; ``None`` where it did not, or what follows does not
    become as slow.

    Credits that end a burst grow while nothing is written, at the rate to which they hold writes.
    A cache makes as much room as the drive moves meanwhile, which is any amount.
    """
    fill, reads = FILL(view)[:1], AFTER_FILL(view)[:1]
    if not fill or not reads:
        return None
    curve = completion_curve(view.run, fill[0])
    total = float(curve.count_bytes[-1])
    if abs(curve.rate((1 - _LAST) * total, total) / slow_rate - 1) > _AS_SLOW:
        return None
    workload = reads[0].of.workload
    pause_s = reads[0].elapsed_s + (0.0 if workload is None else workload.ramp_s)
    more, faster = 0.0, list[Measured]()
    for part in (*REST(view)[:1], *OVERWRITE(view)):
        if part.bytes_per_second <= (1 + _AS_SLOW) * slow_rate:
            return Regained(more, pause_s * slow_rate, [*fill, *reads, *faster, part])
        more += part.bytes - slow_rate * part.elapsed_s
        faster.append(part)
    return None
