"""Findings about an SLC cache: where a long burst of sequential writes becomes slower for good.

The time over the bytes accepted is a line of three pieces: writes into the write buffer, into the
cache, and past it. The cache is the number of bytes before the last bend, less what the write
buffer holds at the bend.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.caches import other_causes, write_buffer
from fourcorners.analysis.internals.caches.buffer_line import BUFFER_MAX, FIRST_BYTES, Buffer
from fourcorners.analysis.internals.caches.burst_curve import BUCKET, completion_curve
from fourcorners.analysis.internals.caches.cache_bend import (
    BELOW_LINK,
    LINK_SHARE,
    ROUND_MARGIN,
    cache_bytes,
    in_order,
    may_be_buffer,
    may_be_emptied_cache,
)
from fourcorners.analysis.internals.caches.slowdown import SLOWER_MIN, Bend, find_bends, passes
from fourcorners.analysis.internals.collection.parts import FILL, OVERWRITE, faster_at_random
from fourcorners.analysis.internals.link import generation
from fourcorners.analysis.internals.view import (
    View,
    ids,
    latency_floor_s,
    memory_read_s,
    pick,
)
from fourcorners.analysis.source import Measured, capacity_bytes
from fourcorners.sentences import say

RESTED = pick(write_buffer.TEST, "write", stage="rested")

_FLAT_MAX = 1.04
"""Up to this ratio of the rates before and after a bend, there is no bend."""

_BEYOND_BUFFER_MIN = 0.25
"""The least cache, in write buffers, that is distinguished from the uncertainty of the buffer."""

_FASTER_SEEN = 1 / BELOW_LINK
"""The same limit for the rate of the first bytes over that of the flash."""

_MARGIN = 2 * BUCKET
"""The relative uncertainty of the direct rate and of the cache: a bucket at either end."""

_DEVIATIONS = 2.0
"""Times lie within so many standard deviations of the lines, but for one of twenty."""

_BLOCKS_MIN = 256
"""A drive has at least so many groups of blocks that are written at a time with one bit per cell.
It may begin to make room when it begins the last one of its cache."""

_CELLS_MAX = 0.7
"""A cache that is written with one bit per cell holds at most this share of the capacity: that of
cells of two bits, of a drive with two fifths of spare area."""

_SAME_RATE_MIN = 0.9
"""A buffer is filled at this share of the earlier rate or more: at that of the link."""

_PROTECTED_MAX = 8 * 2**30
"""A write buffer that keeps its content when power fails is a part of the memory that a drive has
for its map as well, a thousandth of the capacity: of the largest drives so much."""

_EARLY = 0.25
"""From this share of a cache on, a buffer that does not show is full: it is smaller than that."""

_OF_FLASH = ("page_bytes", "mapping_unit", "superblock_bytes")
"""Findings of what only flash has. A volume has none of them, but credits that end a burst. Where
one of them was not asked for, nothing follows."""

_AGAIN_MIN = 0.03
"""If less than this share of a cache shows again after a pause, there may be no cache."""


def bursts(view: View) -> list[Measured]:
    """The long bursts of writes to an erased drive."""
    return [*write_buffer.LONG(view)[-1:], *FILL(view)]


def bursts_to_flash(view: View) -> list[Measured]:
    """The same bursts; an empty list for a disk."""
    return [] if view.is_disk else bursts(view)


@dataclass(frozen=True)
class _Found:
    """A cache: its size with the least and the largest possible one, the bend at which it ends, and
    the burst that shows it."""

    sizes: tuple[float, float, float]
    bend: Bend
    burst: Measured


@dataclass(frozen=True)
class _Search:
    """What the long bursts show: the cache, if one was found, the bends that a write buffer
    explains as well, and for each burst the least cache that would show."""

    found: _Found | None
    doubtful: tuple[Bend, ...]
    least: tuple[float, ...]
    uneven: bool = False
    """Whether the rate falls somewhere, but not for good."""
    beyond: Bend | None = None
    """A bend after more than any cache holds."""
    once_only: _Found | None = None
    """A bend that another burst to the erased drive passed without becoming slower."""


def _known_buffer(view: View) -> Buffer | None:
    return None if write_buffer.writes_through(view) else view.once(write_buffer.shown)


def _buffer_most(view: View) -> float:
    """The most that a write buffer of this drive may hold, in bytes: more where it keeps its
    content when power fails, as it may where FUA does not make a write wait for the medium. What
    limits others is how much a host is willing to lose."""
    protection = view.answer("power_loss_protection")
    kept = protection is not None and protection.detail.get("waits_for_nothing")
    return _PROTECTED_MAX if kept else BUFFER_MAX


def _bends(view: View, m: Measured, grain: float = 0.0) -> tuple[Bend, Bend]:
    return find_bends(completion_curve(view.run, m), grain)


def _search(view: View) -> _Search:
    buffer = view.once(_known_buffer)
    doubtful: list[Bend] = []
    uneven, beyond = False, None
    told: list[float] = []
    grain = buffer.round_bytes if buffer else 0.0
    short, through = view.once(write_buffer.short_curve), write_buffer.writes_through(view)
    for m in view.once(bursts):
        least = max(
            _BEYOND_BUFFER_MIN * buffer.size_bytes if buffer else 0.0,
            write_buffer.CACHE_SHARE_MIN * m.bytes,
        )
        told.append(least)
        # Past its cache a drive may slow down once more, as one does that first writes to other
        # cells directly and then has to fold what is in the cache: the first bend counts.
        curve = completion_curve(view.run, m)
        for bend in in_order(find_bends(curve, grain)):
            soon = None if through else view.once(_soon_again)
            # A buffer is filled at the same rate each time, a cache that was emptied need not be.
            same = soon is not None and soon.fast_rate >= _SAME_RATE_MIN * bend.fast_rate
            again = soon.count_bytes if soon is not None and same else 0.0
            if m in FILL(view) and _ended_before(view, bend):
                again = 0.0
            size, low, high = (count - again for count in cache_bytes(bend, curve, buffer))
            if not bend.falls or size <= least:
                continue
            if not bend.is_one:
                uneven = True
                continue
            if may_be_buffer(bend, short, buffer, view.once(_buffer_most)):
                doubtful.append(bend)
                continue
            if size > _CELLS_MAX * (capacity_bytes(view.run) or math.inf):
                beyond = bend
                continue
            found = _with_margins(view, _Found((size, low, high), bend, m))
            if found.sizes[1] <= 0:
                doubtful.append(bend)
                continue
            if any(
                passes(completion_curve(view.run, other), found.sizes, bend)
                for other in view.once(bursts)
                if other is not m
            ):
                return _Search(None, tuple(doubtful), tuple(told), once_only=found)
            return _Search(found, tuple(doubtful), tuple(told))
    return _Search(None, tuple(doubtful), tuple(told), uneven, beyond)


def _with_margins(view: View, found: _Found) -> _Found:
    value, low, high = found.sizes
    bend = found.bend
    # Where times scatter about the two lines, so does the place at which these meet.
    off_s = _DEVIATIONS * bend.misfit * float(completion_curve(view.run, found.burst).seconds[-1])
    margin = _MARGIN * value + off_s / (1 / bend.slow_rate - 1 / bend.fast_rate)
    low -= margin + _hidden_buffer(view, found)
    # Where the cache gives way to another kind of cells, one block at a time does.
    high += margin + (capacity_bytes(view.run) or 0) / _BLOCKS_MIN
    return _Found((value, low, high), found.bend, found.burst)


def _ended_before(view: View, bend: Bend) -> bool:
    """Whether the long burst ended before as much was written to the erased drive as a bend of the
    fill shows. What the short burst then wrote fast soon after it was the rest of the cache, and
    not what a buffer takes each time."""
    long = write_buffer.LONG(view)
    return bool(long) and long[-1].bytes < bend.count_bytes


def _soon_again(view: View) -> Bend | None:
    """The end of what the short burst wrote fast soon after the long one, where no known write
    buffer explains it."""
    short = write_buffer.SHORT(view)
    if not short or view.once(_known_buffer) is not None:
        return None
    bend, _ = _bends(view, short[-1])
    return bend if bend.is_one else None


def size(view: View) -> Answer:
    """Finds how many bytes of a long burst the cache takes before the burst slows down for good."""
    search = view.once(_search)
    if search.found is not None:
        found = search.found
        if other := _other_cause(view, found) or _two_sizes(view, found):
            return other
        value, low, high = found.sizes
        said = say("measured", fast=found.bend.fast_rate, slow=found.bend.slow_rate)
        evidence = ids([found.burst])
        # A pause that gives back the fast writes does not show faster cells: it cools a drive, lets
        # it catch up on compaction, and renews the credits of a volume as well.
        answer = known(value, said, bounds=(low, high), detail=_detail(found), evidence=evidence)
        return _tested(view, answer, found)
    if search.once_only is not None:
        said = say("not_in_all", size=search.once_only.sizes[0])
        return unknown(said, evidence=ids(view.once(bursts)))
    if search.doubtful:
        bend = search.doubtful[0]
        left = 1 - bend.slow_rate / bend.fast_rate
        return unknown(
            say("like_a_buffer", slower=left, before=bend.count_bytes, held=left * bend.count_bytes)
        )
    if search.beyond is not None:
        return unknown(say("beyond", size=search.beyond.count_bytes))
    buffer, long = view.once(_known_buffer), view.once(bursts)
    bends = [_bends(view, m)[0] for m in long]
    link = view.value("link_ceiling")
    hidden = buffer is None or buffer.link_rate < _FASTER_SEEN * buffer.drain_rate
    if search.uneven:
        return unknown(say("uneven"))
    # A faster kind of cell shows only if flash limits the long bursts.
    if hidden and (link is None or max(b.slow_rate for b in bends) >= BELOW_LINK * link):
        return unknown(say("as_the_link"))
    # A larger fall that is no cache comes from the write buffer.
    falls = [bend.fast_rate / bend.slow_rate for bend in bends]
    fall = max((fall for fall in falls if fall < SLOWER_MIN), default=1.0)
    if fall > _FLAT_MAX:
        return unknown(say("little", slower=1 - 1 / fall))
    if times := view.once(faster_at_random):
        return unknown(say("at_random", times=times), evidence=ids(OVERWRITE(view)[:1]))
    most = max(m.bytes for m in long)
    detail = {"goodness": {"fall": fall}}
    answer = known(0.0, say("none", written=most), bounds=(0.0, min(search.least)), detail=detail)
    return answer.checked(Assumption.FASTER_CELLS, None).checked(Assumption.READS_KEEP_PACE, None)


def _tested(view: View, answer: Answer, found: _Found) -> Answer:
    reads = view.once(other_causes.reads_after_fill)
    if reads is None or reads.are_slower or not reads.would_show(found.bend.slow_rate):
        return answer
    return answer.checked(Assumption.READS_KEEP_PACE, True, ids(reads.shown))


def _hidden_buffer(view: View, found: _Found) -> float:
    """The bytes that a write buffer which does not show may hold at the bend: as many as the burst
    was ahead of its rate from the start; any that a buffer holds if the link limits that rate."""
    if view.once(_known_buffer) is not None or write_buffer.writes_through(view):
        return 0.0
    curve, bend = completion_curve(view.run, found.burst), found.bend
    if bend.fast_rate >= LINK_SHARE * curve.rate(*FIRST_BYTES):
        return BUFFER_MAX
    bend_s = float(curve.seconds_at(np.array([bend.count_bytes]))[0])
    # The rate right before the bend may be higher than that of the whole cache by chance.
    rate = min(bend.fast_rate, curve.rate(_EARLY * bend.count_bytes, bend.count_bytes))
    return min(max(bend.count_bytes - rate * bend_s, 0.0), BUFFER_MAX)


def _two_sizes(view: View, found: _Found) -> Answer | None:
    """The answer where the short burst, soon after the long one, was fast because a write buffer
    takes so much each time, or because the cache had become empty by so much: each of them means
    another size of the cache. ``None`` where both sizes are nearly the same, or it shows which."""
    buffer, size_bytes, before = view.once(_known_buffer), found.sizes[0], found.bend.count_bytes
    if buffer is None or not may_be_emptied_cache(found.bend, buffer, size_bytes):
        return None
    said = say("slc_cache_bytes.emptied", before=before, size=size_bytes)
    return unknown(said, evidence=ids([found.burst, *write_buffer.SHORT(view)]))


def _other_cause(view: View, found: _Found) -> Answer | None:
    """The answer where something other than a cache may have slowed down the burst; else ``None``.

    A pause gives back a cache, which shows where it ended in the burst that is repeated after one.
    A drive without a write buffer also becomes slower where its map in memory is full of changes,
    as each further write has to put one of them on the flash; it does not become faster in a pause.
    A volume behind a host or a network has credits, which a pause renews at the rate to which it
    holds writes, and may show no pages, no units of a map and no erasures. A memory that answers
    all reads takes writes until it is full of them, as one of the host does, faster than a link
    carries them. A volume of several media may be slower from a place on.
    """
    memory_s = view.once(memory_read_s)
    if memory_s is not None:
        said = say("slc_cache_bytes.memory", size=found.sizes[0], read_s=memory_s)
        return unknown(said, evidence=ids([found.burst]))
    floor_s = view.once(latency_floor_s)
    if floor_s is not None:
        said = say("slc_cache_bytes.far", size=found.sizes[0], floor=floor_s)
        return unknown(said, evidence=ids([found.burst]))
    if generation.is_of_no_link(found.bend.fast_rate):
        said = say("slc_cache_bytes.no_link", size=found.sizes[0], rate=found.bend.fast_rate)
        return unknown(said, evidence=ids([found.burst]))
    of_flash = [view.answer(name) for name in _OF_FLASH]
    if all(of_flash) and not any(answer.value for answer in of_flash if answer):
        said = say("slc_cache_bytes.no_flash", size=found.sizes[0])
        return unknown(said, evidence=ids([found.burst]))
    if alike := generation.met_by_reads(view, found.bend.slow_rate):
        said = say("slc_cache_bytes.credits", size=found.sizes[0], rate=found.bend.slow_rate)
        return unknown(said, evidence=[*ids([found.burst]), *ids(alike)])
    low, high = found.sizes[1:]
    if found.burst in FILL(view) and (places := other_causes.by_place(view, low, high)):
        said = say("slc_cache_bytes.by_place", size=found.sizes[0], faster=places.ratio)
        return unknown(said, evidence=ids([found.burst, *places.shown]))
    if earlier := other_causes.as_slow_before(view, found.bend.slow_rate, low):
        said = say("slc_cache_bytes.as_slow_before", size=found.sizes[0], rate=found.bend.slow_rate)
        return unknown(said, evidence=[*ids([found.burst]), *ids(earlier)])
    reads = view.once(other_causes.reads_after_fill)
    fall, slow_rate = found.bend.fast_rate / found.bend.slow_rate, found.bend.slow_rate
    if reads is not None and reads.explains(fall, slow_rate):
        size = found.sizes[0]
        said = say("slc_cache_bytes.reads_too", size=size, slower=fall, reads=reads.ratio)
        return unknown(said, evidence=ids([found.burst, *reads.shown]))
    regained = other_causes.regained(view, slow_rate)
    if regained is not None and regained.is_of_a_rate:
        size, more = found.sizes[0], regained.count_bytes
        said = say("slc_cache_bytes.given_back", size=size, rate=slow_rate, more=more)
        return unknown(said, evidence=[*ids([found.burst]), *ids(regained.shown)])
    recovery = view.once(_recovery)
    if recovery is not None and recovery.is_none:
        code = "still_slow" if recovery.is_slow_at_once else "once_only"
        said = say(f"slc_cache_bytes.{code}", size=found.sizes[0])
        return unknown(said, evidence=recovery.evidence)
    if recovery is None and write_buffer.writes_through(view):
        said = say("slc_cache_bytes.cache_or_map", size=found.sizes[0])
        return unknown(said, evidence=ids([found.burst]))
    return None


def direct_rate(view: View) -> Answer | None:
    """Finds the rate at which the drive accepts writes when its cache is full; ``None`` where there
    is no cache."""
    found = view.once(_search).found
    if found is None:
        return None
    if other := _other_cause(view, found):
        return other
    rate = found.bend.slow_rate
    bounds = (rate * (1 - _MARGIN), rate * (1 + _MARGIN))
    evidence = ids([found.burst])
    answer = known(rate, say("measured"), bounds=bounds, detail=_detail(found), evidence=evidence)
    return _tested(view, answer, found)


def recovered_share(view: View) -> Answer | None:
    """Finds which share of the cache can be used again after a pause; ``None`` where there was no
    pause, or the pause shows that there is no cache."""
    found = view.once(_search).found
    recovery = view.once(_recovery)
    if found is None or recovery is None or recovery.is_none or _other_cause(view, found):
        return None
    if unsure := _two_sizes(view, found):
        return unsure
    detail = {"goodness": {"misfit": recovery.misfit}}
    share, said = recovery.share, say("measured")
    evidence = recovery.evidence
    answer = known(share, said, bounds=recovery.bounds, detail=detail, evidence=evidence)
    return _tested(view, answer, found)


@dataclass(frozen=True)
class _Recovered:
    """The share of a cache that shows again in a burst after a pause."""

    share: float
    bounds: tuple[float, float]
    misfit: float
    evidence: list[str]
    is_slow_at_once: bool
    """Whether the burst after the pause is nearer to the slow rate from its start on."""

    @property
    def is_none(self) -> bool:
        """Whether something other than a cache slowed down the first burst."""
        return self.share < _AGAIN_MIN


def _recovery(view: View) -> _Recovered | None:
    found, rested = view.once(_search).found, RESTED(view)
    if found is None or not rested or found.burst not in write_buffer.LONG(view):
        return None
    buffer = view.once(_known_buffer)
    curve = completion_curve(view.run, rested[-1])
    bends = find_bends(curve, buffer.round_bytes if buffer else 0.0)
    again = next((bend for bend in bends if bend.is_one), bends[0])
    # What a part of the burst gains after a stop is no cache that is empty again.
    sooner = curve.rate(0.0, again.count_bytes) >= SLOWER_MIN * again.slow_rate
    now = cache_bytes(again, curve, buffer) if again.is_one and sooner else (0.0, 0.0, 0.0)
    # The uncertainty of the buffer is the same in both bursts.
    share, low, high = (max(now, 0.0) / once for now, once in zip(now, found.sizes, strict=True))
    # No pause makes more room than there was on the erased drive: what is more is uncertainty.
    share, low = min(share, 1.0), min(low, 1.0)
    rounds = ROUND_MARGIN * buffer.round_bytes / found.sizes[0] if buffer else 0.0
    margin = 2 * _MARGIN + rounds
    bounds = (min(share, low, high) - margin, max(share, low, high) + margin)
    slow = curve.rate(0.0, found.sizes[0]) < found.bend.middle_rate
    return _Recovered(share, bounds, again.misfit, ids([found.burst, rested[-1]]), slow)


def _detail(found: _Found) -> dict[str, object]:
    return {"goodness": {"misfit": found.bend.misfit}, "fast_rate": found.bend.fast_rate}
