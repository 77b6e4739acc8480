"""Findings ``read_ahead``, ``read_ahead_streams``, ``read_ahead_bytes`` and ``read_cache_bytes``
from reads that may come out of memory.

A drive that reads ahead has the next small read of a sequence in memory before the host issues it.
A disk that is idle after a read goes on reading: after a pause, a read at some distance is in
memory if the disk reads that far ahead (Worthington, Ganger, Patt and Wilkes, SIGMETRICS 1995). If
there are more sequences at a time than segments of memory, each sequence evicts the segment of
another one before that is needed. A read cache makes the second pass over a region faster, up to
the size of the cache. A larger region in a fixed order evicts all its data before the next pass.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fourcorners.analysis.internals.answer import Answer, inapplicable, known, unknown, yes_or_no
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.caches import durability
from fourcorners.analysis.internals.disk import mechanics
from fourcorners.analysis.internals.disk.mechanics import NEAR
from fourcorners.analysis.internals.disk.mechanics import TEST as NEAR_TEST
from fourcorners.analysis.internals.flash.trim_granularity import READS as TRIMMED
from fourcorners.analysis.internals.method import pace
from fourcorners.analysis.internals.usual import RARE_COMPARED, share_below, usual_s
from fourcorners.analysis.internals.view import (
    PointAxis,
    View,
    by,
    ids,
    latency_floor_s,
    memory_read_s,
    pick,
    small_reads,
)
from fourcorners.analysis.source import Measured
from fourcorners.recording import OperationRecording
from fourcorners.sentences import say

TEST = "probe-caches"

ALONE = pick(
    TEST,
    "read",
    without=(PointAxis.SENTINEL, PointAxis.REGION, PointAxis.SEQUENCES, PointAxis.DISTANCE),
)
"""Small sequential and small random reads, and random reads as large as those of the regions that
are read again."""

SIDE_BY_SIDE = pick(TEST, "read", PointAxis.SEQUENCES)
_SMALL = pick(TEST, "read", without=ALONE.without, pattern="random", block_bytes=4096)
AGAIN = pick(TEST, "read", PointAxis.REGION)
PAUSED = pick(TEST, "read", PointAxis.DISTANCE)

_AS_MEMORY_MAX = 1.5
"""A read of a solid-state drive that comes from memory takes at most so many times as long as the
quickest kind of small read, such as of an unmapped place. Simulated drives that read ahead need no
longer for one than for the other; flash that is read at half the usual cost, because its map entry
or its page is at hand, takes at least 1.87 times as long."""

_AHEAD_GAIN = 1.15
"""From this ratio of random to sequential time of a small read on, a drive reads ahead."""

_PAUSED_MAX, _ALIKE_MAX = 0.15, 1.3
"""Reads of a disk that come from memory after a pause take less than this share of the time of a
random read; and three quarters of them take at most so many times as long as the quickest tenth.
Choices: a command takes a disk below a tenth of a seek and half a turn, and thirty places that
follow one another move under the head by a tenth of a turn."""

_HITS = 0.8
"""From this share of reads in memory on, the drive reads ahead of all sequences. The first reads of
a sequence are never in memory, and of one sequence too many, one in so many reads is not."""

_BUSY = 0.5
"""A disk whose reads would keep it busy for more than this share of the time, if each needed the
arm, may have no time in which to read ahead. Once reads miss, the arm leaves each sequence for
the next before anything is read ahead, and they go on missing."""

_KEPT_READS = 256
"""A host keeps parts of up to so many small reads: records of 1 MiB, the largest of ZFS."""

_ALL, _NOT_ALL = 1 - 1 / (2 * _KEPT_READS), 0.8
"""From the first share of the reads of a single sequence on, all are in memory: of parts that are
kept as they are read, one read in each is not. Up to the second share, only reads of a page that
was just read are: three of the four reads of a page."""

_DISTANT_HITS = 0.7
"""A disk reads ahead up to a distance if more than this share of the reads at the distance are in
memory. The first read never is, and others are only if other sequences take turns."""

_CLEAR_DROP = 0.5
"""Beyond its reach, a disk has at most this share of what it has in memory within, the middle
between all and none. Where more is in memory, other load delayed some of the dozen reads within."""

_EVICTED = 2 / 3
"""With one sequence more than a disk has segments, at most this share of what was in memory before
still is: each of them loses its segment to another in turn. The last segments of 16 keep a half.
Where more is left, the arm has no time to read ahead of all of them."""

_AGAIN_GAIN = 1.3
"""From this ratio on, of the time of a random read to that of a read of a region read three times,
two of three passes came from memory. The ratio would be 3 if memory took no time."""


@dataclass(frozen=True)
class _Alone:
    """The reads outside the regions, with their mean times; ``memory_s`` is that of a read from
    memory, if the drive reads ahead."""

    sequential: Measured
    random: Measured
    uncached_s: float
    memory_s: float

    @property
    def random_s(self) -> float:
        return _served_s(self.random)

    @property
    def sequential_s(self) -> float:
        return _served_s(self.sequential)

    @property
    def limit_s(self) -> float:
        return between_s(self.memory_s, self.random_s)


def _served_s(m: Measured) -> float:
    """The mean time of a read, in seconds, without a few that hang."""
    return usual_s(m, RARE_COMPARED)


def _alone(view: View) -> _Alone | None:
    """The reads outside the regions; ``None`` where they were not measured."""
    points = sorted(ALONE(view), key=lambda m: m.block_bytes or 0)
    random = [m for m in points if m.point.get("pattern") == "random"]
    sequential = [m for m in points if m.point.get("pattern") == "sequential"]
    if not sequential:
        return None
    block = sequential[0].block_bytes
    if not random or random[0].block_bytes != block:
        random = [*small_reads(view, _SMALL)[:1], *random]
    if not random or random[0].block_bytes != block:
        return None
    memory_s = _served_s(sequential[0])
    if view.is_disk:
        paused = by(SIDE_BY_SIDE(view), PointAxis.SEQUENCES).get(1)
        memory_s = from_memory_s(_served_s(random[0]), memory_s, paused)
    return _Alone(sequential[0], random[0], _served_s(random[-1]), memory_s)


def from_memory_s(random_s: float, sequential_s: float, paused: OperationRecording | None) -> float:
    """The time of a read from memory on a disk that reads ahead.

    A command ends the reading ahead on some disks (Worthington, Ganger, Patt and Wilkes). The next
    read of a sequence then comes too late for its sector, and waits for a turn; but after a pause
    it is in memory. Reads from memory all take the same time. Those that the platters serve at a
    good moment take longer and longer, as their places move under the head.

    Args:
        random_s: the mean time of a random read.
        sequential_s: the mean time of a read of a sequence without pauses.
        paused: the reads of a sequence with pauses.
    """
    if paused is None or is_ahead(random_s, sequential_s):
        return sequential_s
    low, middle, high = (paused.latency_percentile_s(p) or random_s for p in (10, 50, 75))
    return middle if middle < _PAUSED_MAX * random_s and high < _ALIKE_MAX * low else sequential_s


def from_memory(view: View, read_s: float) -> tuple[bool | None, list[str]]:
    """Whether small reads of flash with this median time can have come from memory, and the reads
    that show it; ``None`` where none were quicker.

    On a drive that loads its map on demand, or that keeps the page it read last, reads in sequence
    or of a small region need less work of the flash, but still some.
    """
    kinds = (*NEAR(view), *TRIMMED(view), *durability.of_one_place(view))
    quick = [(m.latency_percentile_s(50) or math.inf, m.recording) for m in kinds]
    if view.is_disk or not quick:
        return None, []
    quickest_s, recording = min(quick)
    if read_s > _AS_MEMORY_MAX * quickest_s:
        return False, [recording]
    # All kinds may read the flash alike.
    return (True if max(quick)[0] > _AS_MEMORY_MAX * quickest_s else None), [recording]


def reads_ahead(view: View) -> Answer | None:
    """Finds whether sequential reads are faster than random ones. If the drive caches what it reads
    with the rest of the page, nearly all sequential reads must be fast, not only those of the rest
    of a page."""
    alone = view.once(_alone)
    if alone is None:
        return None
    gain = alone.random_s / alone.sequential_s
    if hidden := view.once(_hidden, is_ahead(alone.random_s, alone.sequential_s)):
        return hidden
    detail: dict[str, Any] = {"gain": gain, "goodness": {"gain": gain}}
    about: dict[str, Any] = {"detail": detail, "evidence": ids([alone.random, alone.sequential])}
    again = {} if view.is_disk else view.once(_again)
    alike = Assumption.READS_AHEAD_ALONE
    paused = by(SIDE_BY_SIDE(view), PointAxis.SEQUENCES).get(1)

    def after_a_pause(code: str, read: Measured, memory_s: float) -> Answer:
        about["evidence"] = [*about["evidence"], read.recording]
        said = say(code, gain=gain, memory_s=memory_s, random_s=alone.random_s)
        return yes_or_no(True, said, **about).checked(alike, True, [read.recording])

    if not is_ahead(alone.random_s, alone.sequential_s):
        in_time = view.is_disk and is_ahead(alone.random_s, alone.memory_s)
        if paused and in_time and share_below(paused, alone.limit_s) > _HITS:
            return after_a_pause("after_a_pause", paused, alone.memory_s)
        return yes_or_no(False, say("alike"), **about).checked(alike, None)
    near = _quick_near(view)
    keeps = not again or kept(again, alone.uncached_s)[0] is not None
    if near and not keeps and not is_ahead(_served_s(near[0]), alone.sequential_s):
        # Nothing is kept for a second read: reads are faster by being near one another.
        about["evidence"] = [*about["evidence"], near[0].recording, *ids(AGAIN(view))]
        return yes_or_no(False, say("nearby", near=_served_s(near[0])), **about).checked(
            alike, None
        )
    in_memory, shown_by = view.once(from_memory, alone.sequential.latency_percentile_s(50) or 0.0)
    if in_memory is False:
        paused_s = paused and paused.latency_percentile_s(50)
        if paused and paused_s and view.once(from_memory, paused_s)[0]:
            # Few dies read ahead no faster than the host takes it, but go on in a pause.
            return after_a_pause("as_fast_as_flash", paused, paused_s)
        # What is faster is the flash itself.
        about["evidence"] = [*about["evidence"], *shown_by]
        return yes_or_no(False, say("less_flash"), **about).checked(alike, None)

    def ahead() -> Answer:
        answer = yes_or_no(True, say("faster"), **about)
        return answer.checked(alike, True, shown_by) if in_memory or view.is_disk else answer

    if not again or not keeps:
        if paused and share_below(paused, alone.limit_s) < _CLEAR_DROP:
            # What was read ahead is in memory after a pause. Others may have been in a write buffer
            # still, or share a page with what was just read. If nearly all were in memory, either
            # may be: reads of other load in the pause take the place of what was read ahead.
            about["evidence"] = [*about["evidence"], paused.recording]
            paused_s = _served_s(paused)
            said = say("not_after_a_pause", gain=gain, paused_s=paused_s, random_s=alone.random_s)
            if is_ahead(paused_s, alone.random_s):
                return yes_or_no(None, replace(said, code="woken"), **about)
            if share_below(alone.sequential, alone.limit_s) > _NOT_ALL:
                return yes_or_no(None, replace(said, code="dropped"), **about)
            return yes_or_no(False, said, **about).checked(alike, None)
        return ahead()
    smallest = next(iter(by(AGAIN(view), PointAxis.REGION).values()))
    quick_s = smallest.latency_percentile_s(50) or alone.random_s
    share = share_below(alone.sequential, math.sqrt(quick_s * alone.random_s))
    detail["in_memory"] = share
    if share > _ALL:
        return ahead()
    if share > _NOT_ALL:
        return yes_or_no(None, say("maybe_beside"), **about)
    return yes_or_no(False, say("beside"), **about).checked(alike, None)


def _quick_near(view: View) -> list[Measured]:
    """The random reads within a small region of a solid-state drive, if they are quicker than those
    between them all over the drive: places without data are quick wherever they are."""
    near, elsewhere = NEAR(view), pick(NEAR_TEST, "read", PointAxis.SENTINEL)(view)
    if view.is_disk or not near or not elsewhere:
        return []
    elsewhere_s = float(np.median([_served_s(m) for m in elsewhere]))
    return near if is_ahead(elsewhere_s, _served_s(near[0])) else []


def _hidden(view: View, seen: bool) -> Answer | None:
    """The answer where reads do not show what memory does: the way to the drive takes longer than
    its medium, which hides a memory unless that is ``seen``, a memory answers all reads, or one in
    front of an arm keeps what was read."""
    memory_s = None if seen else view.once(memory_read_s)
    if memory_s is not None:
        return unknown(say("read_ahead.memory", read_s=memory_s))
    floor_s = None if seen else view.once(latency_floor_s)
    if floor_s is not None:
        return unknown(say("read_ahead.far", floor=floor_s))
    if NEAR(view) and (found := view.once(mechanics.still)) and found.verdict != "not applicable":
        return unknown(say("read_ahead.kept"), evidence=found.evidence)
    return None


def streams(view: View) -> Answer | None:
    """Finds how many sequences the drive reads ahead of at a time: the largest number with which
    every sequence finds its next read in memory."""
    ahead, alone = view.answer("read_ahead"), view.once(_alone)
    if ahead is None or alone is None:
        return None
    if ahead.value == 0:
        return inapplicable(say("not_ahead"))
    if ahead.value is None:
        return replace(ahead, checks=())
    side = by(SIDE_BY_SIDE(view), PointAxis.SEQUENCES)
    hit = {count: share_below(m, alone.limit_s) for count, m in side.items()}
    last, missed = bracket({1: True} | all_hit(hit, of_pages=not view.is_disk))
    if last is None or (last == 1 and 1 not in hit):
        return unknown(say("alone", share=hit.get(1, 0.0)), detail={"in_memory": hit})
    detail = {
        "sequences": list(hit),
        "in_memory": list(hit.values()),
        "goodness": {"in_memory_beyond": hit.get(missed or 0)},
    }
    if not hit:
        return unknown(say("not_measured"), detail=detail)
    if last is None or missed is None:
        return unknown(say("maybe_more", last=last), detail=detail)
    shown = hit.get(last, 1.0)
    if view.is_disk and side[missed].iops * alone.random_s > _BUSY:
        return unknown(say("busy", last=last, missed=missed), detail=detail)
    if view.is_disk and hit[missed] > _EVICTED * shown:
        return unknown(say("not_all", last=last, missed=missed), detail=detail)
    if missed > last + 1 or (view.once(pace.scatter) and hit[missed] > _CLEAR_DROP * shown):
        return unknown(say("not_all", last=last, missed=missed), detail=detail)
    said = say("one" if last == 1 else "several", missed=missed, share=hit[missed])
    answer = known(last, said, detail=detail)
    tested = [c for c in ahead.checks if c.holds and c.assumption is Assumption.READS_AHEAD_ALONE]
    return replace(answer, checks=tested)


def is_ahead(random_s: float, sequential_s: float) -> bool:
    """Whether small reads are so much faster in sequence that a drive may read ahead."""
    return random_s > _AHEAD_GAIN * sequential_s


def between_s(sequential_s: float, random_s: float) -> float:
    """The time that is as many times that of a read from memory as that of one from the medium is
    of it."""
    return math.sqrt(sequential_s * random_s)


def all_hit(hit: Mapping[int, float], *, of_pages: bool) -> dict[int, bool]:
    """Whether all sequences found their reads in memory, by their number, from the shares of reads
    that did.

    With too many sequences for any read-ahead, the rest of each page read is in memory still, on
    drives ``of_pages``.
    """
    beside = min(hit.values(), default=0.0) if of_pages else 0.0
    if beside > _HITS:
        return dict.fromkeys(hit, True)
    return {count: share > beside + _HITS * (1 - beside) for count, share in hit.items()}


def bracket(hits: Mapping[int, bool]) -> tuple[int | None, int | None]:
    """The largest size up to which all sizes hit, and the next size; ``None`` where there is
    none."""
    last = None
    for size in sorted(hits):
        if not hits[size]:
            return last, size
        last = size
    return last, None


def reached(hits: Mapping[int, float]) -> tuple[int | None, int | None]:
    """The largest distance at which reads are in memory, and the next one, by the share of the
    reads that were; ``None`` where there is none."""
    return bracket({distance: share > _DISTANT_HITS for distance, share in hits.items()})


def reach(view: View) -> Answer | None:
    """Finds how far a disk reads ahead: up to a distance between the largest at which reads take
    less than the geometric mean of a read from memory and a read from the platters, and the
    next."""
    ahead, alone = view.answer("read_ahead"), view.once(_alone)
    if ahead is None or alone is None:
        return None
    if ahead.value == 0:
        return inapplicable(say("not_ahead"), evidence=ahead.evidence)
    if ahead.value is None:
        return replace(ahead, checks=())
    if not view.is_disk:
        return unknown(say("of_flash"), evidence=ahead.evidence)
    paused = by(PAUSED(view), PointAxis.DISTANCE)
    hit = {distance: share_below(m, alone.limit_s) for distance, m in paused.items()}
    last, missed = reached(hit)
    beyond = [share for distance, share in hit.items() if missed and distance >= missed]
    unclear = last is not None and any(share > _CLEAR_DROP * hit[last] for share in beyond)
    detail = {
        "distance_bytes": list(hit),
        "latency_p50_s": [m.latency_percentile_s(50) for m in paused.values()],
        "in_memory": list(hit.values()),
        "goodness": {"in_memory_beyond": hit.get(missed or 0)},
    }
    if last is None:
        return unknown(say("none"), detail=detail)
    if missed is None:
        return unknown(say("further", most=max(hit)), detail=detail)
    if unclear:
        return unknown(say("no_end", missed=missed), detail=detail)
    # What was read first may be a part of it or not.
    bounds = (float(last), float(missed + (alone.random.block_bytes or 0)))
    said = say("measured", last=last, missed=missed)
    return known(sum(bounds) / 2, said, bounds=bounds, detail=detail)


def cache(view: View) -> Answer | None:
    """Finds the size of the read cache. On a disk it is one segment for each sequence that the disk
    reads ahead of, as large as its read-ahead; on flash it is the largest region that is kept."""
    alone = view.once(_alone)
    if alone is None:
        return None
    if hidden := view.once(_hidden, bool(view.value("read_ahead_streams"))):
        return hidden
    if view.is_disk:
        return _segments(view)
    found = _kept_regions(view, alone)
    return found if found.value is None else found.checked(Assumption.SEGMENTS_AHEAD, None)


def _kept_regions(view: View, alone: _Alone) -> Answer:
    again = view.once(_again)
    detail = {
        "region_bytes": list(again),
        "seconds": list(again.values()),
        "random_s": alone.uncached_s,
    }
    if not again:
        return unknown(say("few_reads"), detail=detail)
    last, missed = kept(again, alone.uncached_s)
    one = durability.JUST_READ(view)
    one_s = float(np.median([m.latency_percentile_s(50) or 0.0 for m in one])) if one else 0.0
    in_memory, shown_by = view.once(from_memory, one_s) if one else (None, [])
    if last is not None and in_memory is False:
        evidence = [*ids(AGAIN(view)), *ids(one), *shown_by]
        said, bounds = say("less_flash", last=last, one=one_s), (0.0, float(min(again)))
        answer = known(0.0, said, bounds=bounds, detail=detail, evidence=evidence)
        return answer.checked(Assumption.AGAIN_FROM_MEMORY, None)
    if last is not None and missed is None:
        return unknown(say("more", most=max(again)), detail=detail)
    smallest = min(again)
    detail["goodness"] = {"gain_of_the_smallest": alone.uncached_s / again[smallest]}
    memory = Assumption.AGAIN_FROM_MEMORY
    if last is None:
        said, bounds = say("nothing", smallest=smallest), (0.0, float(missed or smallest))
        return known(0.0, said, bounds=bounds, detail=detail).checked(memory, None)
    assert missed is not None
    larger = [size for size, s in again.items() if size > missed and is_again(alone.uncached_s, s)]
    if larger:
        # What was in memory before the first pass is as fast in a region of any size.
        return unknown(say("before", missed=missed, larger=max(larger)), detail=detail)
    bounds = (float(last), float(missed))
    answer = known((last + missed) / 2, say("kept"), bounds=bounds, detail=detail)
    return answer.checked(memory, True, shown_by) if in_memory else answer


def _again(view: View) -> dict[int, float]:
    """The mean time of a read by region, for all regions that were read as often as planned."""
    regions = [m for m in AGAIN(view) if m.ios >= int(m.point["wanted_ios"])]
    return {region: _served_s(m) for region, m in by(regions, PointAxis.REGION).items()}


def _segments(view: View) -> Answer:
    streams, reach = view.answer("read_ahead_streams"), view.answer("read_ahead_bytes")
    far = (reach and reach.evidence) or ids(PAUSED(view))
    evidence = [*ids(SIDE_BY_SIDE(view)), *far]
    if not streams or not streams.value or reach is None or reach.interval is None:
        return unknown(say("of_a_disk"), evidence=evidence)
    count = round(streams.value)
    low, high = (count * bound for bound in reach.interval)
    # It may keep as much of what was read as it reads ahead.
    high *= 2
    said = say("segment" if count == 1 else "segments", each=reach.value)
    detail = {"segments": count, "goodness": reach.detail["goodness"]}
    value = count * (reach.value or 0.0)
    answer = known(value, said, bounds=(low, high), detail=detail, evidence=evidence)
    return answer.checked(Assumption.AGAIN_FROM_MEMORY, None)


def kept(again: Mapping[int, float], random_s: float) -> tuple[int | None, int | None]:
    """The largest region that is kept, and the next one that is not; ``None`` where there is none.

    Args:
        again: the mean time of a read by the size in bytes of the region that was read again.
        random_s: the mean time of a random read.
    """
    return bracket({region: is_again(random_s, s) for region, s in again.items()})


def is_again(random_s: float, region_s: float) -> bool:
    """Whether reads of a region that is read three times are so quick, in the mean, that the second
    pass and the third came from memory."""
    return random_s > _AGAIN_GAIN * region_s
