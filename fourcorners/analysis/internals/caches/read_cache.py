"""Findings ``read_ahead``, ``read_ahead_streams``, ``read_ahead_bytes`` and ``read_cache_bytes``
from reads that may come out of memory.

A drive that reads ahead has the next small read of a sequence in memory before it is asked for. A
disk goes on reading behind a read while it has nothing else to do: after a pause a read some
distance on is there if the distance is not more than it reads ahead (Worthington, Ganger, Patt and
Wilkes, SIGMETRICS 1995). Of more sequences side by side than it has segments of memory for, each
takes the place of another one's before that comes again. Memory that keeps what was read makes the
second time over a region faster, up to its size; read in a fixed order, a larger region pushes
everything out before it comes again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fourcorners import wording
from fourcorners.analysis.finding import PRESENCE, RESOLUTION, Finding
from fourcorners.analysis.internals.method.medium import moves_an_arm
from fourcorners.analysis.source import Measured, RunData, measured

TEST = "probe-caches"

UNCACHED = "random-large"
"""Random reads as large as those that are made again."""

_AHEAD_GAIN = 1.15
"""Random over sequential time of a small read from which a drive reads ahead."""

_HITS = 0.8
"""Share of the reads in memory from which all sequences are read ahead of: the first reads of each
are not, and of one sequence more than are read ahead of, one in so many is not."""

_ALL, _NOT_ALL = 0.9, 0.8
"""Share of the reads of a single sequence from which all are in memory, and up to which only what
lies beside other reads is: of four reads of a page, three."""

_DISTANT_HITS = 0.7
"""Share of reads at a distance that are in memory from which a disk reads so far; the first never
is, and others only if other sequences take turns."""

_AGAIN_GAIN = 1.3
"""Random time over that of a region read thrice from which two of three passes came out of memory;
they would take a third of the time if memory took none."""

_REFINED = 1.07
"""Ratio of what is not kept to what is, from which no region between them is read."""

_AHEAD_TITLE = "How far it reads ahead"
_NOT_AHEAD = "Not applicable: the drive does not read ahead."
_CACHE_TITLE = "Memory that keeps what was read"


def find(run: RunData) -> list[Finding]:
    """The findings; none where the probe did not run."""
    points = {m.recording.partition("/")[2]: m for m in measured(run, TEST, "read")}
    if "random" not in points or "sequential" not in points:
        return []
    random_s, sequential_s = 1 / points["random"].iops, 1 / points["sequential"].iops
    disk = moves_an_arm(random_s)
    cache = None if disk else _kept(points, random_s)
    keeps = cache is not None and cache.value != 0 and bool(cache.detail["region_bytes"])
    ahead = _reads_ahead(run, points, random_s, sequential_s, keeps)
    streams = _streams(run, points, ahead, sequential_s, random_s)
    if ahead.value == 0:
        reach = Finding(
            "read_ahead_bytes", _AHEAD_TITLE, "not applicable", _NOT_AHEAD, evidence=ahead.evidence
        )
    elif disk:
        reach = _ahead(run, points, math.sqrt(sequential_s * random_s))
    else:
        far = (
            "What flash has read ahead is only given to the sequence that it belongs to: how far "
            "that is does not show."
        )
        reach = Finding(
            "read_ahead_bytes", _AHEAD_TITLE, "not identifiable", far, evidence=ahead.evidence
        )
    return [ahead, streams, reach, cache or _segments(streams, reach)]


def _reads_ahead(
    run: RunData, points: Mapping[str, Measured], random_s: float, sequential_s: float, keeps: bool
) -> Finding:
    """Whether reads in sequence are quicker than at random; where memory keeps what was read, with
    what lies beside it, whether nearly all are, and not only those of what was read beside."""
    name, title = "read_ahead", "Reading ahead"
    evidence = [points["random"].recording, points["sequential"].recording]
    gain = random_s / sequential_s
    detail: dict[str, Any] = {"discrete": True, "gain": gain, "goodness": {"gain": gain}}
    ahead = gain > _AHEAD_GAIN
    share = None
    if ahead and keeps:
        regions = [m for m in points.values() if m.point.get("region_bytes")]
        smallest = min(regions, key=lambda m: int(m.point["region_bytes"]))
        quick_s = smallest.number("latency_p50_s") or random_s
        share = _share_below(run, points["sequential"], math.sqrt(quick_s * random_s))
        detail["in_memory"] = share
        ahead = share > _ALL
        if _NOT_ALL < share <= _ALL:
            reason = (
                f"{wording.percent(share)} of small reads in sequence are in memory: what was read "
                "is kept with what lies beside it, which may be all."
            )
            return Finding(
                name, title, "not identifiable", reason, evidence=evidence, detail=detail
            )
    if ahead:
        text = (
            f"The drive reads ahead: small reads in sequence are {wording.times(gain)} as fast as "
            "at random."
        )
    elif share is None:
        text = "The drive does not read ahead: small ones take as long in sequence as at random."
    else:
        text = (
            f"The drive does not read ahead: of small reads in sequence {wording.percent(share)} "
            "are in memory, those of what was kept beside others."
        )
    return Finding(
        name,
        title,
        "measured",
        text,
        value=float(ahead),
        unit=PRESENCE,
        evidence=evidence,
        detail=detail,
    )


def _kept(points: Mapping[str, Measured], random_s: float) -> Finding:
    """What flash keeps of what was read."""
    regions = [m for m in points.values() if m.point.get("region_bytes")]
    again = {
        int(m.point["region_bytes"]): 1 / m.iops
        for m in regions
        if m.ios >= int(m.point["wanted_ios"])
    }
    uncached_s = 1 / points[UNCACHED].iops if UNCACHED in points else random_s
    return _cache(again, uncached_s, [m.recording for m in regions])


def _streams(
    run: RunData,
    points: Mapping[str, Measured],
    ahead: Finding,
    sequential_s: float,
    random_s: float,
) -> Finding:
    """How many sequences at a time are read ahead of: the most of which each finds its next read
    in memory."""
    name, title = "read_ahead_streams", "Sequences that it reads ahead of at a time"
    side = {int(m.point["sequences"]): m for m in points.values() if m.point.get("sequences")}
    evidence = [m.recording for m in side.values()]
    if ahead.value == 0:
        return Finding(name, title, "not applicable", _NOT_AHEAD, evidence=evidence)
    if ahead.value is None:
        return Finding(name, title, "not identifiable", ahead.text, evidence=evidence)
    between_s = math.sqrt(sequential_s * random_s)
    hit = {count: _share_below(run, m, between_s) for count, m in sorted(side.items())}
    # Of so many that none is read ahead of, what was read beside others is in memory nevertheless.
    beside = min(hit.values(), default=0.0)
    all_hit = {c: share > beside + _HITS * (1 - beside) for c, share in hit.items()}
    if beside > _HITS:
        all_hit = dict.fromkeys(hit, True)
    last, missed = bracket({1: True} | all_hit)
    detail = {
        "discrete": True,
        "sequences": list(hit),
        "in_memory": list(hit.values()),
        "goodness": {"in_memory_beyond": hit.get(missed or 0)},
    }
    if last is None or missed is None or missed > last + 1:
        reason = (
            "The sequences side by side were not measured."
            if not hit
            else f"{last} sequences side by side are all read ahead of"
            + (f", and of {missed} not all." if missed else "; it may be more.")
        )
        return Finding(name, title, "not identifiable", reason, evidence=evidence, detail=detail)
    count = "one sequence" if last == 1 else f"{last} sequences"
    return Finding(
        name,
        title,
        "measured",
        f"The drive reads ahead of {count} at a time: of {missed} side by side only "
        f"{wording.percent(hit[missed])} of the reads are in memory.",
        value=float(last),
        unit="1",
        evidence=evidence,
        detail=detail,
    )


def _share_below(run: RunData, point: Measured, limit_s: float) -> float:
    """Share of the reads that took less."""
    low, _, count = run.histogram(point.recording, "read")
    return float(count[low < limit_s * 1e9].sum() / count.sum())


def bracket(hits: Mapping[int, bool]) -> tuple[int | None, int | None]:
    """The largest size up to which all hit, and the next one; ``None`` where there is none."""
    last = None
    for size in sorted(hits):
        if not hits[size]:
            return last, size
        last = size
    return last, None


def _ahead(run: RunData, points: Mapping[str, Measured], between_s: float) -> Finding:
    """How far a disk reads on: the largest distance at which reads take less than ``between_s``,
    what a read in memory and one of the platters take in the geometric mean."""
    name, title = "read_ahead_bytes", _AHEAD_TITLE
    paused = {
        int(m.point["distance_bytes"]): m for m in points.values() if m.point.get("distance_bytes")
    }
    evidence = [m.recording for m in paused.values()]
    hit = {d: _share_below(run, paused[d], between_s) for d in sorted(paused)}
    last, missed = bracket({d: share > _DISTANT_HITS for d, share in hit.items()})
    detail = {
        "distance_bytes": list(hit),
        "latency_p50_s": [paused[distance].number("latency_p50_s") for distance in hit],
        "in_memory": list(hit.values()),
        "goodness": {"in_memory_beyond": hit.get(missed or 0)},
        "interval": RESOLUTION,
    }
    if last is None or missed is None:
        reason = (
            f"Reads {wording.size(max(hit))} on were still in memory: it reads further ahead."
            if last is not None
            else "No distance that was tried was in memory after a pause."
        )
        return Finding(name, title, "not identifiable", reason, evidence=evidence, detail=detail)
    return Finding(
        name,
        title,
        "measured",
        f"After a pause what lies {wording.size(last)} on is in memory, and what lies "
        f"{wording.size(missed)} on is not.",
        value=float(last),
        unit="B",
        interval=(float(last), float(missed)),
        evidence=evidence,
        detail=detail,
    )


def _segments(streams: Finding, reach: Finding) -> Finding:
    """The memory of a disk for what it reads: one segment for each sequence that it reads ahead of,
    as large as it reads ahead."""
    evidence = [*streams.evidence, *reach.evidence]
    if not streams.value or reach.value is None or reach.interval is None:
        reason = (
            "A disk reads no region thrice in the time of the probe; how far it reads ahead, and "
            "of how many sequences, would show what it keeps."
        )
        return Finding(
            "read_cache_bytes", _CACHE_TITLE, "not identifiable", reason, evidence=evidence
        )
    count = round(streams.value)
    low, high = (count * bound for bound in reach.interval)
    each = f"{wording.size(reach.value)} for each sequence that it reads ahead of"
    return Finding(
        "read_cache_bytes",
        _CACHE_TITLE,
        "measured",
        f"At least {wording.size(low)} keep what is read: {each}, {count} at a time."
        if count > 1
        else f"At least {wording.size(low)} keep what is read: {each}.",
        value=low,
        unit="B",
        interval=(low, high),
        evidence=evidence,
        detail={"segments": count, "interval": RESOLUTION, "goodness": reach.detail["goodness"]},
    )


def kept(again: Mapping[int, float], random_s: float) -> tuple[int | None, int | None]:
    """The largest region that is kept, and the next one that is not; ``None`` where there is none.

    Args:
        again: mean time of a read by the bytes of the region that was read several times.
        random_s: mean time of a random read.
    """
    return bracket({region: random_s > _AGAIN_GAIN * s for region, s in again.items()})


def region_wanted(again: Mapping[int, float], random_s: float, unit_bytes: int) -> int | None:
    """The region to read next, between those that are kept and not; ``None`` when it is known."""
    last, missed = kept(again, random_s)
    if last is None or missed is None or missed <= _REFINED * last:
        return None
    return (last + missed) // 2 // unit_bytes * unit_bytes


def _cache(again: dict[int, float], random_s: float, evidence: list[str]) -> Finding:
    name, title = "read_cache_bytes", _CACHE_TITLE
    detail = {
        "region_bytes": sorted(again),
        "seconds": [again[region] for region in sorted(again)],
        "random_s": random_s,
    }
    if not again:
        return Finding(
            name,
            title,
            "not identifiable",
            "No region was read often enough in the time.",
            evidence=evidence,
            detail=detail,
        )
    last, missed = kept(again, random_s)
    smallest, largest = min(again), max(again)
    goodness = {"gain_of_the_smallest": random_s / again[smallest]}
    if last is not None and missed is None:
        return Finding(
            name,
            title,
            "not identifiable",
            f"All of {wording.size(largest)} was in memory the second time: it keeps more.",
            evidence=evidence,
            detail=detail,
        )
    value = 0.0 if last is None else (last + float(missed or 0)) / 2
    return Finding(
        name,
        title,
        "measured",
        f"What was read is not kept: {wording.size(smallest)} read again take as long as anything."
        if last is None
        else f"The drive keeps {wording.size(last)} of what was read, and less than "
        f"{wording.size(missed or 0)}.",
        value=value,
        unit="B",
        interval=(float(last or 0), float(missed or smallest)),
        evidence=evidence,
        detail=detail | {"goodness": goodness, "interval": RESOLUTION},
    )
