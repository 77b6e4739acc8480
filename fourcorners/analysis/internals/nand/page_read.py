"""Finding ``page_read_time``: how long the array takes to read a page (tR)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.flash import conflicting_reads
from fourcorners.analysis.internals.nand.read_cost import (
    READ_ALONE,
    READ_BYTES,
    SAME_PLACE,
    SINGLE,
    ReadCost,
    link_s,
    median_s,
    read_cost,
)
from fourcorners.analysis.internals.thresholds import UNSURE
from fourcorners.analysis.internals.view import (
    ERASED_ALONE,
    FLASH_READ_MIN_S,
    PointAxis,
    View,
    by,
    ids,
)
from fourcorners.analysis.intervals import middle, two_sided_t
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say

_CHANCE = 0.02
"""The tolerance of the rate of one place: its histogram and the scatter of a fraction of a second
of reads."""

_FAR = 2.0
"""A read of so many times the median met something else: noise of flash is far less."""

_SEVERAL_MIN = 1.5
"""A read of flash takes longer than one without, by the array's read, the transfer, and what
corrects errors. If that, without the transfer, is more than so many times the time from one read of
a place to the next, several serve the place: two would make it twice as much, less what else a read
of flash needs."""


_SECTOR_BYTES = 512
"""The least read, of which both probes have single ones."""

_KINDS_WITHIN, _KINDS_MOST = 0.8, 4.0
"""Reads that differ by less than the first share of the array's time are of other pages. A look-up
in a mapping that lies on flash adds one read or more, and a read from memory lacks one; but pages
of four bits a cell may take up to so many times as long as the second value. Which of both longer
reads are does not show."""

_AS_PLACE, _AS_PLACE_MIN = 0.02, 0.1
"""A read takes as long as one of the place if they differ by up to the first share of the array's
time. Of four kinds of pages each has a quarter of the reads; where fewer than the second share are
like the place, something else sets it apart."""


def page_read(view: View) -> Answer | None:
    """Finds the time of an array read, without the page's way over the channel."""
    cost = view.once(read_cost)
    if cost is None:
        return None
    evidence = [*ids(READ_ALONE(view)), *(conflicting_reads.one_unit(view) or (0, ()))[1]]
    if cost.die_s is None:
        return unknown(say("not_the_die"), evidence=evidence)
    if view.value("slc_cache_bytes") != 0 and view.has("slc_cache_bytes"):
        return unknown(say("which_cells"), evidence=evidence)
    erased_s = median_s(ERASED_ALONE(view))
    if erased_s is not None and several_serve(cost, cost.idle_s - erased_s):
        said = say("several", die_s=cost.die_s, flash_s=cost.idle_s - erased_s)
        return unknown(said, evidence=[*evidence, *ids(ERASED_ALONE(view))])
    least, most = cost.over_channel(*cost.small_bytes)
    bounds = (_least_die_s(view, cost.die_s) - most, cost.die_s - least)
    overlaps = _overlaps(cost, link_s(view)[0])
    if overlaps is not False:
        # A small difference of two medians is no proof that all of the transfer is hidden.
        bounds = (bounds[0], cost.die_s)
    of_kinds = _of_other_kinds(view, cost.die_s)
    bounds = (bounds[0] + of_kinds[0], bounds[1] + of_kinds[1])
    value = middle(*bounds)
    detail: dict[str, Any] = {
        "die_s": cost.die_s,
        "idle_s": cost.idle_s,
        "memory_s": cost.memory_s,
        "channel_s_per_byte": list(cost.per_byte_s),
        "longer_than_the_place_s": list(of_kinds),
        "register_emptied_meanwhile": overlaps,
    }
    if not cost.of_channel or bounds[1] - bounds[0] > UNSURE * sum(bounds):
        said = say("channel_unknown", die_s=cost.die_s)
        return unknown(said, detail=detail, evidence=evidence)
    if value < FLASH_READ_MIN_S:
        said = say("quicker_than_flash", read_s=value)
        return unknown(said, detail=detail, evidence=evidence)
    said = say("measured", die_s=cost.die_s, low=least, high=most)
    longer_s = sum(of_kinds) / 2
    if abs(longer_s) > _CHANCE * cost.die_s:
        code = "of_longer" if longer_s > 0 else "of_shorter"
        said = say(code, die_s=cost.die_s, low=least, high=most, other=abs(longer_s))
    low, high = bounds[0] - _CHANCE * cost.die_s, bounds[1] + _CHANCE * cost.die_s
    answer = known(value, said, bounds=(low, high), detail=detail, evidence=evidence)
    if overlaps is None:
        # Both possibilities are within the bounds.
        return answer.checked(Assumption.ARRAY_THEN_CHANNEL, None)
    return answer.checked(Assumption.ARRAY_THEN_CHANNEL, not overlaps, evidence, covered=True)


def several_serve(cost: ReadCost, flash_s: float) -> bool:
    """Whether several serve a place in turn, by how much longer a read of flash takes than one that
    needs none. The channel's part of it may be longer than the array's: a read of 4 KiB passes a
    slow one for longer than reads of 512 bytes of one place are apart."""
    assert cost.die_s is not None
    passes_s = 0.0
    if cost.of_channel:
        passes_s = cost.over_channel(READ_BYTES, max(READ_BYTES, cost.small_bytes[1]))[1]
    return flash_s - passes_s > _SEVERAL_MIN * cost.die_s


def _of_other_kinds(view: View, die_s: float) -> tuple[float, float]:
    """How much longer the mean read of a page is than one of the place whose die was kept busy, at
    least and at most: cells of several bits have pages that take longer than others, and the place
    is in one of them."""
    place = by(conflicting_reads.points(view, "alone"), PointAxis.ALONE).get(_SECTOR_BYTES)
    anywhere = [
        m for m in SINGLE(view) if m.block_bytes == _SECTOR_BYTES and (m.queue_depth or 1) == 1
    ]
    if place is None or not anywhere:
        return 0.0, 0.0
    place_s = conflicting_reads.typical_s(place)[0]
    low, high, count = anywhere[0].histogram
    longer_s = (low + high) / 2e9 - place_s
    alike = np.abs(longer_s) <= _AS_PLACE * die_s
    if float(count[alike].sum()) < _AS_PLACE_MIN * float(count.sum()):
        return 0.0, 0.0
    near = np.abs(longer_s) < _KINDS_WITHIN * die_s
    far = near | ((longer_s > 0) & (longer_s < _KINDS_MOST * die_s))
    (low_s, low_reach_s), (high_s, high_reach_s) = (
        _mean(longer_s, np.where(which, count, 0)) for which in (near, far)
    )
    return low_s - low_reach_s, high_s + high_reach_s


def _mean(values: Floats, weights: Floats) -> tuple[float, float]:
    """The weighted mean, and how far chance may have taken it from its true value."""
    mean = float(np.average(values, weights=weights))
    square = float(np.average((values - mean) ** 2, weights=weights))
    return mean, two_sided_t(math.inf) * math.sqrt(square / float(weights.sum()))


def _least_die_s(view: View, die_s: float) -> float:
    """The least time that the die may take for a read, where a median of waiting reads shows it."""
    shown, each_s = conflicting_reads.one_unit(view), view.once(conflicting_reads.one_read_s)
    depths = [m.queue_depth or 0 for m in conflicting_reads.points(view, "window")]
    if not each_s or shown is None or not depths:
        return die_s
    singles = [m.histogram for m in (*READ_ALONE(view), *SAME_PLACE(view))]
    counted = [((low + high) / 2e9, count.astype(np.float64)) for low, high, count in singles]
    return min(die_s, without_rare(1 / shown[0], counted, max(depths)))


def without_rare(each_s: float, singles: Sequence[tuple[Floats, Floats]], waiting: int) -> float:
    """The time of one of many reads of a place, less what now and then takes far longer, if that is
    in half of the waits: then their median has it too. By the Poisson distribution it is from ln 2
    in a wait on.

    Args:
        each_s: the mean time from one read to the next.
        singles: the latencies of single reads and how many had them, for each measurement.
        waiting: so many reads wait for each other.
    """
    reads = far = 0.0
    longer = []
    for seconds, count in singles:
        middle = float(np.interp(count.sum() / 2, np.cumsum(count), seconds))
        reads += float(count.sum())
        far += float(count[seconds > _FAR * middle].sum())
        longer.append(float(np.sum(seconds * count) / count.sum()) / middle - 1)
    if not reads or far / reads * waiting <= math.log(2):
        return each_s
    return each_s / (1 + max(float(np.mean(longer)), 0.0))


def _overlaps(cost: ReadCost, link_s: float) -> bool | None:
    """Whether the array reads on while the page before leaves the register: then the rate of one
    place has no transfer in it. A read of flash takes longer than one from memory by the array's
    read and the transfer. ``None`` if no read came from memory and a single read is long enough for
    both, or if it depends on how much of a byte's time is the channel's.

    Args:
        cost: the parts of a small read.
        link_s: the least time of a byte on the link.
    """
    if cost.die_s is None:
        return None
    small, moved = cost.small_bytes[1], max(READ_BYTES, cost.small_bytes[1])
    if cost.memory_s is None:
        # If the array was as long as the rate of the place, a single read would have no time left
        # for the transfer, at least, and its way over the link.
        least, most = cost.over_channel(max(READ_BYTES, cost.small_bytes[0]), moved)
        both_s = (1 - _CHANCE) * cost.die_s + least
        return False if most < cost.die_s and cost.idle_s - READ_BYTES * link_s < both_s else None
    array_s = cost.idle_s - cost.memory_s
    # Halfway between a rate with all of the transfer in it and one with none.
    either = {
        array_s - moved * byte_s > cost.die_s - small * byte_s / 2 for byte_s in cost.per_byte_s
    }
    return either.pop() if len(either) == 1 else None
