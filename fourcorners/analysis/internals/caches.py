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
from dataclasses import replace

from fourcorners import wording
from fourcorners.analysis.finding import PRESENCE, RESOLUTION, Finding, Verdict
from fourcorners.analysis.internals.medium import moves_an_arm
from fourcorners.analysis.source import Measured, RunData, measured

TEST = "probe-caches"

UNCACHED = "random-large"
"""Random reads as large as those that are made again."""

_AHEAD_GAIN = 1.15
"""Random over sequential time of a small read from which a drive reads ahead."""

_HIT_SHARE = 0.3
"""Share of a random read's time below which a disk had the data."""

_HITS = 0.9
"""Share of the reads in memory from which all sequences are read ahead of; of one more than that,
one in so many is not."""

_AGAIN_GAIN = 1.3
"""Random time over that of a region read thrice from which two of three passes came out of memory;
they would take a third of the time if memory took none."""

_REFINED = 1.07
"""Ratio of what is not kept to what is, from which no region between them is read."""

_AHEAD_TITLE = "How far it reads ahead"
_AHEAD_TITLES = {
    "read_ahead": "Reading ahead",
    "read_ahead_streams": "Sequences that it reads ahead of at a time",
    "read_ahead_bytes": _AHEAD_TITLE,
}

_NEIGHBOURS = (
    "What was read is kept, with what lies beside it: reads in sequence gain from that, so that "
    "reading ahead does not show."
)

_CACHE_TITLE = "Memory that keeps what was read"


def find(run: RunData) -> list[Finding]:
    """The findings; none where the probe did not run."""
    points = {m.recording.partition("/")[2]: m for m in measured(run, TEST, "read")}
    if "random" not in points or "sequential" not in points:
        return []
    random_s, sequential_s = 1 / points["random"].iops, 1 / points["sequential"].iops
    disk = moves_an_arm(random_s)
    cache = None if disk else _kept(points, random_s)
    gain = random_s / sequential_s
    ahead = gain > _AHEAD_GAIN
    keeps = cache is not None and cache.value != 0 and bool(cache.detail["region_bytes"])
    if ahead and keeps and cache is not None and not _all_in_memory(run, points, random_s):
        evidence = [points["random"].recording, points["sequential"].recording]
        return [
            *(
                Finding(name, title, "not identifiable", _NEIGHBOURS, evidence=evidence)
                for name, title in _AHEAD_TITLES.items()
            ),
            cache,
        ]
    found = [
        Finding(
            "read_ahead",
            "Reading ahead",
            "measured",
            f"The drive reads ahead: small reads in sequence are {wording.times(gain)} as fast as "
            "at random."
            if ahead
            else "The drive does not read ahead: small ones take as long in sequence as at random.",
            value=float(ahead),
            unit=PRESENCE,
            evidence=[points["random"].recording, points["sequential"].recording],
            detail={"discrete": True, "gain": gain, "goodness": {"gain": gain}},
        )
    ]
    found.append(_streams(run, points, ahead, sequential_s, random_s))
    if ahead and keeps:
        # Each sequence finds what those before it have read of its places.
        found[-1] = replace(found[-1], verdict="not identifiable", value=None, text=_NEIGHBOURS)
    streams = found[-1]
    if cache is None:
        paused = {
            int(m.point["distance_bytes"]): float(p50)
            for m in points.values()
            if m.point.get("distance_bytes") and (p50 := m.number("latency_p50_s")) is not None
        }
        evidence = [m.recording for m in points.values() if m.point.get("distance_bytes")]
        reach = _ahead(paused, random_s, evidence)
        return [*found, reach, _segments(streams, reach)]
    far = (
        "What flash has read ahead is only given to the sequence that it belongs to: how far that "
        "is does not show."
        if ahead
        else "Not applicable: the drive does not read ahead."
    )
    verdict: Verdict = "not identifiable" if ahead else "not applicable"
    return [
        *found,
        Finding("read_ahead_bytes", _AHEAD_TITLE, verdict, far, evidence=cache.evidence),
        cache,
    ]


def _all_in_memory(run: RunData, points: Mapping[str, Measured], random_s: float) -> bool:
    """Whether reads in sequence are nearly all as quick as those of what is kept; of what was only
    kept with its neighbours the first of each page is not."""
    regions = [m for m in points.values() if m.point.get("region_bytes")]
    smallest = min(regions, key=lambda m: int(m.point["region_bytes"]))
    quick_s = smallest.number("latency_p50_s") or random_s
    return _share_below(run, points["sequential"], math.sqrt(quick_s * random_s)) > _HITS


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
    ahead: bool,
    sequential_s: float,
    random_s: float,
) -> Finding:
    """How many sequences at a time are read ahead of: the most of which each finds its next read
    in memory."""
    name, title = "read_ahead_streams", "Sequences that it reads ahead of at a time"
    side = {int(m.point["sequences"]): m for m in points.values() if m.point.get("sequences")}
    evidence = [m.recording for m in side.values()]
    if not ahead:
        reason = "Not applicable: the drive does not read ahead."
        return Finding(name, title, "not applicable", reason, evidence=evidence)
    between_s = math.sqrt(sequential_s * random_s)
    hit = {count: _share_below(run, m, between_s) for count, m in sorted(side.items())}
    last, missed = bracket({1: True} | {count: share > _HITS for count, share in hit.items()})
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


def _ahead(paused: dict[int, float], random_s: float, evidence: list[str]) -> Finding:
    name, title = "read_ahead_bytes", _AHEAD_TITLE
    last, missed = bracket({d: s < _HIT_SHARE * random_s for d, s in paused.items()})
    detail = {
        "distance_bytes": sorted(paused),
        "latency_p50_s": [paused[distance] for distance in sorted(paused)],
        "goodness": {"hit_to_random": None if last is None else paused[last] / random_s},
        "interval": RESOLUTION,
    }
    if last is None or missed is None:
        reason = (
            f"Reads {wording.size(max(paused))} on were still in memory: it reads further ahead."
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
        interval=None if last is None else (float(last), float(missed or 0)),
        evidence=evidence,
        detail=detail | {"goodness": goodness, "interval": RESOLUTION},
    )
