"""Findings ``link_ceiling`` and ``link`` from large reads that need neither flash nor platters.

Data in a cache come over the link alone, and on most drives data that was not written since a purge
too. With many large reads outstanding, the time of another byte is that of the link, whatever else
a command costs. Therefore the rate is the slope between two sizes, B = (s2 - s1) / (t2 - t1). It is
that of the link, or of another part that all data pass, only if something excludes the flash: such
data are read faster than others, or with less delay, or dies and channels could do more.

The generation follows from the rate that each leaves for data. SATA leaves 93.2 % of 150, 300 and
600 MB/s after its line code and the overhead of each frame of 8 KiB. PCIe leaves 91.4 % with
packets of 256 bytes and 24 bytes of overhead, 84.2 % with 128 bytes, and 95.5 % with 512.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.caches import durability
from fourcorners.analysis.internals.caches.read_cache import from_memory
from fourcorners.analysis.internals.disk import passing
from fourcorners.analysis.internals.flash import conflicting_reads, trim_granularity
from fourcorners.analysis.internals.flash.conflicting_reads import points, shown_levels, typical_s
from fourcorners.analysis.internals.flash.soonest_reads import Soonest
from fourcorners.analysis.internals.method import pace
from fourcorners.analysis.internals.thresholds import APART, UNSURE
from fourcorners.analysis.internals.view import ERASED_ALONE, PointAxis, View, by, ids, pick
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured
from fourcorners.sentences import say

LARGE = pick("probe-depth", "read", PointAxis.OF, without=(PointAxis.ALONE,))
"""The large reads of two sizes, of erased, cached and written data."""

WRITTEN_ALONE = pick(
    "probe-depth", "read", without=(PointAxis.SENTINEL, PointAxis.OF), pattern="random"
)
"""Small reads of written data; one at a time where the queue depth is 1."""

_SATA_SHARE = 8192 / (8192 + 600)
"""The share that frames leave for data; see above."""

_PCIE_SHARES = tuple(payload / (payload + 24) for payload in (256, 128, 512))
"""The shares that packets leave for data; see above. The first payload is that of most drives and
computers, and goes first."""

_TOLERANCE = 0.015
"""The rate may differ by this much from that of a link with the usual packets, which are smaller at
the ends of a request."""

_TOLERANCE_OTHER = 0.005
"""The same for other packets, so that they do not take the place of another link."""

_ALIKE = 1e-6
"""Line rates that differ by less are the same."""

_AGREE = 0.01
"""Two rates that differ by up to this share are the same."""

_ERROR_MIN = 0.005
"""The least relative error of a rate: packets and frames are smaller at the ends of a request."""

_QUARTILE = 0.6745
"""The third quartile of a normal distribution, in standard deviations."""

_QUICKER = 1.1
"""Requests at a rate that is higher by more than this factor show that the rate of commands does
not limit the others. A rate that is known to a few percent is not taken for a higher one."""

_FASTER = 1.3
"""Data that is faster than the medium by more than this factor comes from memory, and flash that
could be faster by this factor is not the limit."""


@dataclass(frozen=True)
class Link:
    """A generation of a link. ``line_rate`` is in bytes per second after the line code."""

    name: str
    line_rate: float
    payload_rate: float


def links(pcie_share: float = _PCIE_SHARES[0]) -> list[Link]:
    """All generations, sorted by their rate; those of PCIe with packets that leave this share."""
    found = [
        Link(f"SATA {gigabits:g} Gb/s", gigabits * 1e8, gigabits * 1e8 * _SATA_SHARE)
        for gigabits in (1.5, 3.0, 6.0)
    ]
    for generation, transfers in enumerate((2.5e9, 5e9, 8e9, 16e9, 32e9), start=1):
        code = 8 / 10 if generation < 3 else 128 / 130
        for lanes in (1, 2, 4, 8, 16):
            rate = lanes * transfers * code / 8
            found.append(Link(f"PCIe {generation}.0 x{lanes}", rate, rate * pcie_share))
    return sorted(found, key=lambda link: link.payload_rate)


def fitting(bytes_per_second: float) -> list[Link]:
    """The generations that leave this rate for data, the nearest first: with the usual packets, or
    else with others."""
    usual = _near(links(), bytes_per_second, _TOLERANCE)
    if usual:
        return [one for one in usual if abs(one.line_rate / usual[0].line_rate - 1) < _ALIKE]
    others = [one for share in _PCIE_SHARES[1:] for one in links(share)]
    return _near(others, bytes_per_second, _TOLERANCE_OTHER)


def _near(of: Sequence[Link], rate: float, tolerance: float) -> list[Link]:
    def off(link: Link) -> float:
        return abs(rate / link.payload_rate - 1)

    return sorted((link for link in of if off(link) <= tolerance), key=off)


def generations_at(bytes_per_second: float) -> list[str]:
    """The names of the generations that leave this rate for data. There are several if they leave
    the same rate, and none if no link has this rate."""
    return [link.name for link in fitting(bytes_per_second)]


@dataclass(frozen=True)
class _Carried:
    """The rate of the link, its relative error, and the measurements."""

    rate: float
    error: float
    detail: dict[str, Any]


def fastest(view: View) -> float | None:
    """The highest rate of large reads, which the link carries at least; ``None`` without them."""
    return max((m.bytes_per_second for m in LARGE(view)), default=None)


def is_of_no_link(rate: float) -> bool:
    """Whether no link of a drive carries as much data, in bytes per second: a memory of the host
    takes or has them."""
    return rate > (1 + _TOLERANCE) * max(one.payload_rate for one in links(_PCIE_SHARES[-1]))


def met_by_reads(view: View, rate: float) -> list[Measured]:
    """The large reads of two sizes or more that run at this rate of writes, in bytes per second;
    empty where they do not. What both meet alike is no flash, but a limit of a volume or of what
    all data pass; unless the channels to the dies carry as much, and data that need none of them
    are read faster. The platters of a disk take data at the rate at which they give it."""
    if view.is_disk or view.once(_is_of_channels, rate):
        return []
    alike = [m for m in LARGE(view) if abs(m.bytes_per_second / rate - 1) <= _AGREE]
    return alike if len({m.block_bytes for m in alike}) > 1 else []


def _is_of_channels(view: View, rate: float) -> bool:
    """Whether the channels explain this rate, in bytes per second: all of them transfer as much, by
    the time of single reads, and other data are read faster."""
    levels, per_byte_s = view.once(shown_levels), view.once(_channel_s)
    most = view.once(fastest)
    if levels is None or levels.channels is None or per_byte_s is None or most is None:
        return False
    return most > _FASTER * rate and abs(levels.channels / per_byte_s / rate - 1) <= UNSURE


def ceiling(view: View) -> Answer:
    """Finds the rate of the link."""
    carried = view.once(_carried)
    if isinstance(carried, Answer):
        return carried
    error = carried.error
    if fits := fitting(carried.rate):
        off = abs(carried.rate / fits[0].payload_rate - 1)
        error = max(off, error)
    bounds = (carried.rate * (1 - error), carried.rate * (1 + error))
    code = carried.detail["not_flash"]
    return known(carried.rate, say(code), bounds=bounds, detail=carried.detail)


def generation(view: View) -> Answer:
    """Finds the generation of the link."""
    carried = view.once(_carried)
    if isinstance(carried, Answer):
        return carried
    # A system that changes its pace showed the link at one of its paces.
    error = math.hypot(carried.error, two_sided_t(math.inf) * view.once(pace.scatter))
    if error > _TOLERANCE:
        said = say("unsure", rate=carried.rate, error=error)
        return unknown(said, detail=carried.detail)
    fits = fitting(carried.rate)
    if not fits:
        return unknown(say("no_generation", rate=carried.rate), detail=carried.detail)
    off = carried.rate / fits[0].payload_rate - 1
    goodness = {"off_the_nearest_generation": off}
    detail = {**carried.detail, "goodness": goodness, "label": " or ".join(f.name for f in fits)}
    if any(abs(one.line_rate / fits[0].line_rate - 1) > _ALIKE for one in fits):
        return unknown(say("several", rate=carried.rate, label=detail["label"]), detail=detail)
    return known(round(fits[0].line_rate), say("measured"), detail=detail)


def _carried(view: View) -> _Carried | Answer:
    points = LARGE(view)
    slopes = {
        of: slope
        for of in ("erased", "cached", "written")
        if (slope := _slope([m for m in points if m.point[PointAxis.OF] == of])) is not None
    }
    if not slopes:
        sizes = {(m.point[PointAxis.OF], m.block_bytes) for m in points}
        twice = len(sizes) > len({of for of, _ in sizes})
        return unknown(say("link_ceiling.flat" if twice else "link_ceiling.one_size"))
    detail: dict[str, Any] = {
        "slopes_bytes_per_second": slopes,
        "of": [m.point[PointAxis.OF] for m in points],
        "block_bytes": [m.block_bytes for m in points],
        "measured_bytes_per_second": [m.bytes_per_second for m in points],
    }
    limited = _limited(view, slopes)
    if limited is None:
        fastest_seen = max(m.bytes_per_second for m in points)
        return unknown(say("link_ceiling.medium", rate=fastest_seen), detail=detail)
    of, why = limited
    shown = [m for m in points if m.point[PointAxis.OF] == of]
    # Other load may hold up the small reads more than the large ones.
    rate = max(slopes[of], *(m.bytes_per_second for m in shown))
    if is_of_no_link(rate):
        return unknown(say("link_ceiling.no_link", rate=rate), detail=detail, evidence=ids(shown))
    most = max(m.bytes_per_second for m in points)
    if most > (1 + UNSURE) * rate:
        # Flash delivers more than what this rate would be the link's of.
        said = say("link_ceiling.others_faster", rate=rate, most=most)
        return unknown(said, detail=detail)
    chance = max(_chance(shown), _ERROR_MIN)
    pauses, begun = _pauses(shown, slopes[of]), _begun_before(shown, slopes[of])
    fewer = rate / slopes[of] - 1
    # The rest of a command takes no less than nothing.
    if fewer > pauses + begun + chance:
        said = say("link_ceiling.smaller_faster", smaller=fewer)
        return unknown(said, detail=detail, evidence=ids(shown))
    behind = _behind_commands(view, shown, rate)
    error = max(_spread(slopes, slopes[of]), fewer, pauses + chance, begun + chance, behind)
    if error > UNSURE:
        said = say("link_ceiling.unsure", rate=rate, error=error)
        return unknown(said, detail=detail, evidence=ids(shown))
    rest_s, alone_s = _rest_s(shown, rate * (1 - error)), _alone_s(view, of)
    if alone_s is not None and rest_s > alone_s:
        said = say("link_ceiling.longer_than_alone", rate=rate, rest_s=rest_s, alone_s=alone_s)
        return unknown(said, detail=detail, evidence=ids(shown))
    return _Carried(rate, error, detail | {"not_flash": why})


def _slope(
    points: Sequence[Measured], left: Callable[[Measured], float] = lambda m: 1.0
) -> float | None:
    """The rate of further bytes, in bytes per second, from the smallest to the largest read, if of
    the mean time from one read to the next a share is ``left``."""
    ordered = sorted(points, key=lambda m: m.block_bytes or 0)
    if len(ordered) < 2:
        return None
    small, large = ordered[0], ordered[-1]
    added_s = left(large) / large.iops - left(small) / small.iops
    added_bytes = (large.block_bytes or 0) - (small.block_bytes or 0)
    return added_bytes / added_s if added_s > 0 and added_bytes > 0 else None


def _rest_s(points: Sequence[Measured], rate: float) -> float:
    """What the smallest reads take beside their transfer at this rate, in seconds."""
    small = min(points, key=lambda m: m.block_bytes or 0)
    return 1 / small.iops - (small.block_bytes or 0) / rate


def _alone_s(view: View, of: str) -> float | None:
    """How long a single small read of these data takes; ``None`` where it was not measured. What
    keeps other commands waiting is a part of it. Where it is longer when many are outstanding, the
    larger reads use what the smaller ones do not, such as a second member of an array."""
    if of == "cached":
        seconds = [m.latency_percentile_s(50) for m in durability.JUST_READ(view)]
        return min((s for s in seconds if s), default=None)
    alone = ERASED_ALONE(view) if of == "erased" else WRITTEN_ALONE(view)
    return min((1 / m.iops for m in alone if (m.queue_depth or 1) == 1), default=None)


def _behind_commands(view: View, points: Sequence[Measured], rate: float) -> float:
    """By how much this rate is off, as a share, if commands and data pass at the same time. The
    smaller reads may then be limited by the rate of commands alone, so that the slope is more than
    the link carries, and the larger ones show its rate. Where any read of the run is served at a
    higher rate of commands, that is not what limits the smaller ones."""
    small = min(points, key=lambda m: m.block_bytes or 0)
    if any(m.iops > _QUICKER * small.iops for m in view.points(operation="read")):
        return 0.0
    return rate / max(m.bytes_per_second for m in points) - 1


def _pauses(points: Sequence[Measured], slope: float) -> float:
    """By how much the slope is off, as a share, if a pause of the drive fell into the reads of one
    size only. Each read waits for as many others as are outstanding; a pause makes the mean longer,
    and not the median, as it holds up only those that are outstanding then. Where the quickest
    reads wait for as long as the median, in one queue, all that takes longer is a pause."""

    def usual(m: Measured) -> float:
        return (m.latency_percentile_s(50) or 0.0) / (m.latency_mean_s or math.inf)

    def in_queue(m: Measured) -> float:
        return min(1.0, m.iops * (m.latency_percentile_s(50) or 0.0) / (m.queue_depth or math.inf))

    most = max(map(usual, points))
    one_queue = all(map(_is_one_queue, points))
    found = [
        _slope(points, lambda m: usual(m) / most) if most > 0 else None,
        _slope(points, in_queue) if one_queue else None,
    ]
    return max((abs(without / slope - 1) for without in found if without is not None), default=0.0)


def _is_one_queue(m: Measured) -> bool:
    tenth_s, half_s = m.latency_percentile_s(10), m.latency_percentile_s(50)
    return tenth_s is not None and half_s is not None and Soonest(tenth_s, half_s).is_one_queue


def _begun_before(points: Sequence[Measured], slope: float) -> float:
    """By how much the slope is off, as a share, if reads were counted that were served before they
    could be. Reads that are issued together and served side by side end together: those of the
    start, when the measured time begins. A read that finds all others outstanding waits for each,
    so that most reads then wait for longer than the count allows."""

    def longer(m: Measured) -> float:
        return max(1.0, m.iops * (m.latency_percentile_s(50) or 0.0) / (m.queue_depth or math.inf))

    settled = _slope(points, longer)
    return 0.0 if settled is None else abs(settled / slope - 1)


def _chance(points: Sequence[Measured]) -> float:
    """The relative error of the slope, from the scatter of latencies. All reads that are
    outstanding wait for the same, so that there are fewer independent ones by their number. The
    scatter is the distance of the third quartile from the median: the first reads find a queue that
    is not full yet, or data that are not in the cache yet, and say nothing about the others."""
    ordered = sorted(points, key=lambda m: m.block_bytes or 0)
    errors_s = [_mean_error_s(m) / math.sqrt(m.queue_depth or 1) for m in (ordered[0], ordered[-1])]
    return math.hypot(*errors_s) / (1 / ordered[-1].iops - 1 / ordered[0].iops)


def _mean_error_s(m: Measured) -> float:
    middle_s, upper_s = m.latency_percentile_s(50), m.latency_percentile_s(75)
    if m.ios < 2 or middle_s is None or upper_s is None:
        return 0.0
    deviation_s = (upper_s - middle_s) / _QUARTILE
    return two_sided_t(m.ios - 1) * deviation_s / math.sqrt(m.ios)


def _limited(view: View, slopes: Mapping[str, float]) -> tuple[str, str] | None:
    """The data whose rate neither flash nor platters limit, and what shows that, as the code of a
    sentence; ``None`` where nothing does."""
    # Reads of one place gain from more dies as they become larger, unless they come from memory.
    repeated = [m.bytes_per_second for m in LARGE(view) if m.point[PointAxis.OF] == "cached"]
    medium = slopes.get("written", math.inf)
    quicker = "cached" in slopes and max(repeated) > _FASTER * medium
    # Nor is the rate of one track, which no switches slow down, that of a memory.
    if quicker and view.is_disk:
        quicker = passing.is_of_memory(view, max(repeated), medium)
    kept = quicker and _again_from_memory(view)
    read = {of: rate for of, rate in slopes.items() if of != "cached" or kept}
    if not read:
        return None
    most = max(read, key=lambda of: read[of])
    if most == "erased" and read[most] > _FASTER * read.get("written", math.inf):
        return most, most
    if most == "cached":
        return most, most
    erased = read.get("erased", 0.0)
    if erased > (1 - _AGREE) * read[most] and _erased_is_quicker(view):
        return "erased", "erased_alone"
    capable = _flash_rate(view)
    if capable is not None and capable > _FASTER * read[most]:
        return most, "flash_is_faster"
    return None


def _again_from_memory(view: View) -> bool:
    """Whether what is read again and again may come out of a memory. On flash it may be quick only
    because its part of the map is at hand: then small reads of one place still take longer than
    the quickest kind of small read. A memory that keeps what is read has it each time: a place that
    was quick in some turns only was still in a write buffer in these."""
    seconds = [s for m in durability.JUST_READ(view) if (s := m.latency_percentile_s(50))]
    return not seconds or from_memory(view, max(seconds))[0] is not False


def _erased_is_quicker(view: View) -> bool:
    """Whether a small read of erased data takes less time than one of written data, which shows
    that it reads no flash. That both rates of large reads are the same does not: some drives read
    the flash anyway."""
    erased = [1 / m.iops for m in ERASED_ALONE(view)]
    written = [1 / m.iops for m in WRITTEN_ALONE(view) if m.queue_depth == 1]
    if not erased or not written:
        kept = [m for m in trim_granularity.READS(view) if m.ios]
        erased, written = (
            [
                s
                for m in kept
                if m.point[PointAxis.KIND] == kind and (s := m.latency_percentile_s(50))
            ]
            for kind in ("never written", "kept")
        )
    return bool(erased and written) and min(written) > APART * min(erased)


def _flash_rate(view: View) -> float | None:
    """The least rate at which flash and its channels can read, in bytes per second. A die reads its
    pages, and then waits at worst until all other dies of its channel have transferred theirs:
    this bounds from below what machines that share one repairman do, whatever the order. Channels
    transfer at the rate that single reads of several sizes show. A part of the time of their
    further bytes is the link's, but as its rate is what is asked for, all of it counts as the
    channel's. ``None`` where something of this does not show."""
    levels, seen = view.once(shown_levels), view.once(conflicting_reads.seen)
    per_byte_s = view.once(_channel_s)
    if levels is None or levels.channels is None or seen is None or per_byte_s is None:
        return None
    page, block = seen.page_bytes, seen.block_bytes
    if page is None:
        return None
    array_s = max(0.0, 1 / seen.one_die - block * per_byte_s)
    pages_s = array_s + levels.units / levels.channels * page * per_byte_s
    return levels.units * page / pages_s


def _channel_s(view: View) -> float | None:
    """The time of a further byte of the largest single reads within a page; ``None`` where it does
    not show."""
    alone = {
        size: typical_s(m)[0] for size, m in by(points(view, "alone"), PointAxis.ALONE).items()
    }
    if len(alone) < 2:
        return None
    (small, small_s), (large, large_s) = list(alone.items())[-2:]
    per_byte_s = (large_s - small_s) / (large - small)
    return per_byte_s if per_byte_s > 0 else None


def _spread(slopes: Mapping[str, float], ceiling: float) -> float:
    close = [rate for rate in slopes.values() if abs(rate / ceiling - 1) < _AGREE]
    return (max(close) - min(close)) / ceiling if close else 0.0
