"""What a small read of flash consists of: the array's read, the channel, and the rest of a command.

Many reads of one place keep its die busy. The time from one completion to the next is that of the
array's read and, unless the die goes on while its register is emptied, of the transfer over the
channel; the host's and the controller's share of a command is hidden. A single read has all of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from fourcorners.analysis.internals.caches.burst_curve import BUCKET
from fourcorners.analysis.internals.caches.read_cache import from_memory
from fourcorners.analysis.internals.flash import conflicting_reads
from fourcorners.analysis.internals.thresholds import FALSE_ALARM
from fourcorners.analysis.internals.view import View, pick, small_reads
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured

TEST = "probe-flush"

READ_BYTES = 4096
"""Of a single read."""

READ_ALONE = pick(TEST, "read", kind="read")
PLAIN = pick(TEST, "write", kind="plain")
SAME_PLACE = pick(TEST, "read", kind="just read")

SINGLE = pick("probe-sizes", "read")
"""Random reads of each size, most of them one at a time."""
_JUST_WRITTEN = pick(TEST, "read", kind="just written")

DIE_LIMITS_MIN = 1.45
"""If other windows are this many times as fast as a single place, the die limits the rate of the
place, and not the controller, the link or the queue; the stripe has the same limit."""

_MEMORY_MAX = 0.8
"""A read that takes at most this share of a read of flash came from memory."""

_SLOPE_TOLERANCE = 0.1
"""The tolerance of the channel's time per byte: means of a hundred reads each, whose difference is
a tenth of them."""

_PER_BYTE_MAX_S = 1 / 20e6
"""No channel of NAND is slower than this: asynchronous, eight bits in 50 ns (ONFI mode 1)."""

_SIZES = 3
"""A small read, and ones of half a page and of a page."""

_UNITS = (4096, 8192, 16384)
"""Mapping units of drives that map pages."""

_UNIT_MAX = _UNITS[-1]
"""The most that a drive moves for a small read if neither its unit nor its page is known."""

_CLEARLY = 0.4
"""One of two explanations is taken if it is off by at most this share of the other."""

_SHORTEST = (512, 1024)
"""The shortest reads."""

_TENTH_ERROR = 4.0
"""The standard error of the difference of two tenths, times the root of the number of reads, over
the distance from the tenth to the quarter, of normal numbers."""

_SLOPE_MIN = 0.01
"""A channel's time of a page shows if it is at least this share of a read."""


_SECOND_ERROR = 1.8
"""The standard error of the median of 100 second reads, 1.25 / sqrt(100) of their scatter, over
that of the typical latency of 200, which is about 0.98 / sqrt(200) of it."""

_DIE_WAITS = 0.5
"""A read that waits for the die of another one does so for most of the array's read. One that waits
for a channel does only if the channel is slower than the array."""


@dataclass(frozen=True)
class ReadCost:
    """The parts of a small read, in seconds."""

    idle_s: float
    """A single small read of a place whose mapping is known."""
    die_s: float | None
    """From one read of a place to the next while many wait for it; ``None`` if the die is not what
    limits them."""
    memory_s: float | None
    """A read from memory; ``None`` if none was seen."""
    per_byte_s: tuple[float, float]
    """Least and greatest time of a byte on the channel."""
    small_bytes: tuple[int, int]
    """The least and the most that the channel moves for a read of 2 KiB."""
    of_channel: bool
    """Whether the time on the channel was measured."""

    def over_channel(self, low_bytes: float, high_bytes: float) -> tuple[float, float]:
        """The least and the greatest time of so much on the channel."""
        return low_bytes * self.per_byte_s[0], high_bytes * self.per_byte_s[1]


def median_s(points: list[Measured]) -> float | None:
    """The median latency over all points; ``None`` without any."""
    times = [m.latency_percentile_s(50) for m in points]
    found = [time for time in times if time]
    return float(np.median(found)) if found else None


def read_cost(view: View) -> ReadCost | None:
    """The parts of a small read of this drive; ``None`` if the probes that show them did not run.

    A read takes a median, so that retries and interruptions do not count. Rates of many reads
    contain them: where many reads of one place wait for each other in the order of their issue, the
    median of their latency does not; elsewhere what the mean of single reads has more than their
    median corrects the rate.
    """
    singles = small_reads(view, READ_ALONE)
    alone = median_s(singles)
    shown = conflicting_reads.one_unit(view)
    seen = view.once(conflicting_reads.seen)
    if alone is None or shown is None or seen is None:
        return None
    again, written = median_s(SAME_PLACE(view)), median_s(_JUST_WRITTEN(view))
    plain = median_s(PLAIN(view))
    one = 1 / shown[0]
    rare = _rare(singles, alone)
    if again is not None and again > one:
        # Reads of one place load no part of a mapping, as single reads of any place may.
        rare = min(rare, _rare(SAME_PLACE(view), again))
    fastest = max([*seen.window.values(), *seen.stride.values(), *seen.apart.values()])
    limits = fastest * one >= DIE_LIMITS_MIN
    each_s = min(view.once(conflicting_reads.one_read_s) or one / (1 + rare), one)
    die_s = each_s if limits and one <= alone * (1 + rare) else None
    # A read of a drive that has to look up its mapping may take longer than one of the same place.
    idle = alone
    of_flash = {s for s in (again, written) if s and view.once(from_memory, s)[0] is False}
    kept = again is not None and in_memory(again, alone, die_s, plain)
    no_memory = again in of_flash or (die_s is not None and again is not None and die_s < again)
    if again is not None and not kept and no_memory and again < alone:
        idle = again
    cached = [
        seconds
        for seconds in (again, written)
        if seconds is not None
        and seconds not in of_flash
        and seconds <= _MEMORY_MAX * idle
        and (die_s is None or seconds < die_s or in_memory(seconds, alone, die_s, plain))
    ]
    per_byte, measured, whole = _channel(view, idle, die_s)
    moved = (whole, whole) if whole else _moved(view, sum(per_byte) / 2 if measured else 0.0)
    return ReadCost(idle, die_s, min(cached, default=None), per_byte, moved, measured)


def loads_its_map(view: View) -> bool:
    """Whether a read of any place takes longer than a repeated read of one, although that comes
    from no memory either: it needs a part of the map that is not at hand."""
    again_s, alone_s = median_s(SAME_PLACE(view)), median_s(small_reads(view, READ_ALONE))
    if again_s is None or alone_s is None or again_s > _MEMORY_MAX * alone_s:
        return False
    return view.once(from_memory, again_s)[0] is False


def in_memory(seconds: float, alone_s: float, die_s: float | None, plain_s: float | None) -> bool:
    """Whether a read comes from the write buffer: it takes as long as a write that ends there, and
    lacks the array's read.

    Args:
        seconds: the read of a place that may be in the buffer.
        alone_s: a read of flash.
        die_s: the array's part of it, if that is known.
        plain_s: a write that is neither forced nor flushed, if there are any.
    """
    if die_s is None or plain_s is None:
        return False
    # Half of the array's read is as far from a read with it as from one without.
    return seconds <= alone_s - die_s / 2 and abs(seconds - plain_s) < die_s / 2


def _rare(points: list[Measured], middle_s: float) -> float:
    """The share by which the mean latency is above the median."""
    means = [m.latency_mean_s for m in points if m.latency_mean_s]
    return max(float(np.mean(means)) / middle_s - 1, 0.0) if means else 0.0


def _moved(view: View, per_byte_s: float) -> tuple[int, int]:
    """What the channel moves for a small read: what is asked for, or the whole mapping unit.

    A read of 512 bytes and one of half a page without 512 show which: between them lie so many
    bytes, or so many units. That assumes that the array takes as long for both. One that senses a
    part of a page sooner makes up for bytes that were moved anyway, which shorter reads show.
    """
    unit, page = view.value("mapping_unit"), view.value("page_bytes")
    seen = view.once(conflicting_reads.seen)
    assert seen is not None
    small = seen.block_bytes
    most = int(max(min(unit or page or _UNIT_MAX, page or _UNIT_MAX), small))
    sizes = list(view.once(conflicting_reads.alone).items())
    if per_byte_s == 0 or len(sizes) < _SIZES:
        return small, most
    (least, (least_s, _)), (half, (half_s, _)) = sizes[:2]
    longer_s = half_s - least_s - (half - least) * sum(link_s(view)) / 2
    by_bytes = abs(longer_s - (half - least) * per_byte_s)
    by_unit = {
        one: abs(longer_s - (math.ceil(half / one) - math.ceil(least / one)) * one * per_byte_s)
        # A longer unit would show no transfer from half a page to a page.
        for one in ([int(unit)] if unit else [one for one in _UNITS if 2 * one <= most])
    }
    if not by_unit:
        return small, most
    best, *others = sorted(by_unit, key=lambda one: by_unit[one])
    if by_bytes < _CLEARLY * by_unit[best]:
        return small, most if _moves_more(view, per_byte_s) else small
    if by_unit[best] < _CLEARLY * min([by_bytes, *(by_unit[one] for one in others)]):
        return min(best, most), min(best, most)
    return small, most


def _moves_more(view: View, per_byte_s: float) -> bool:
    """Whether reads of 1 KiB take as long as those of 512 bytes, so that the channel moves more
    than is asked for. The quickest tenth tells: few reads cross the end of a unit, and pages of
    each kind are more than that."""
    least, more = (
        next((m for m in SINGLE(view) if (m.block_bytes, m.queue_depth or 1) == (size, 1)), None)
        for size in _SHORTEST
    )
    if least is None or more is None:
        return False
    (tenth_s, quarter_s), (longer_s, _) = (
        [m.latency_percentile_s(percent) or 0.0 for percent in (10, 25)] for m in (least, more)
    )
    expected_s = (_SHORTEST[1] - _SHORTEST[0]) * per_byte_s
    error_s = max(BUCKET * tenth_s, _TENTH_ERROR * (quarter_s - tenth_s) / math.sqrt(least.ios))
    return longer_s - tenth_s < expected_s / 2 and expected_s / 2 > two_sided_t(math.inf) * error_s


def link_s(view: View) -> tuple[float, float]:
    """The least and the greatest time of a byte on the link: by its ceiling. Where that is not
    known, the link is as fast as the fastest reads or faster, by any factor."""
    rates = [m.bytes / m.elapsed_s for m in view.points(None, "read") if m.elapsed_s and m.bytes]
    fastest, ceiling = max(rates, default=1e6), view.value("link_ceiling")
    return (0.0, 1 / fastest) if ceiling is None else (1 / max(ceiling, fastest),) * 2


def _channel(
    view: View, idle_s: float, die_s: float | None
) -> tuple[tuple[float, float], bool, int | None]:
    """The least and greatest time of a byte on the channel, whether it was measured, and how much
    the channel moves for each read if that does not depend on what is asked for.

    Single reads of a part and of all of a page show it, or else pairs of which one waits for the
    other's page. No read waits longer than the other one has the channel; if pairs wait longer than
    the difference of single reads allows, this difference arises elsewhere, as in the controller's
    memory, and the channel moves a whole page for each read.
    """
    seen = view.once(conflicting_reads.seen)
    assert seen is not None
    link = link_s(view)
    sizes = list(view.once(conflicting_reads.alone).items())
    if len(sizes) >= 2:
        waits = _channel_waits(view, die_s)
        (small, (small_s, small_error_s)), (large, (large_s, large_error_s)) = sizes[-2:]
        both = (large_s - small_s) / (large - small)
        error = math.hypot(small_error_s, large_error_s) / (large - small)
        least, most = both - link[1], both - link[0]
        # So many standard errors of the mean latencies make no slope of their own.
        by_chance = float(scipy.stats.norm.isf(FALSE_ALARM)) * error
        shows = least if view.value("link_ceiling") else most
        chance = two_sided_t(math.inf) * error
        low = (1 - _SLOPE_TOLERANCE) * max(least - chance, 0.0)
        high = (1 + _SLOPE_TOLERANCE) * (most + chance)
        page = int(view.value("page_bytes") or large)
        of_page = max(
            (one for one in (waits, _page_waits(view, die_s, waits)) if one is not None),
            key=lambda one: one.least_s - one.chance_s,
            default=None,
        )
        longer_s = max(high * page, _SLOPE_MIN * idle_s)
        if of_page is not None and of_page.least_s - of_page.chance_s > longer_s:
            return of_page.per_byte_s(page), True, page
        # Where the link may be all of it, nothing shows that the channel moves only a part.
        if least > 0 and (shows - by_chance) * large > _SLOPE_MIN * idle_s:
            return (low, high), True, None
        if waits is not None and waits.shows_s > _SLOPE_MIN * idle_s:
            return waits.per_byte_s(large), True, None
    return (0.0, per_byte_most_s(view, idle_s, die_s, seen.block_bytes)), False, None


def per_byte_most_s(view: View, idle_s: float, die_s: float | None, block_bytes: int) -> float:
    """The most that a byte takes on a channel whose time does not show.

    The channel either moves what is asked for, in parts of half a page at most, and then a read of
    a page takes longer than one of its half by the transfer of the other half, maybe while the link
    moves what came before. Or it moves all of a page for each read, in no more time than there is
    from one read of a die to the next. If the size of a page is not known, what is read may be on
    several dies, and neither shows.
    """
    limit_s = idle_s if die_s is None else die_s
    most = min(_PER_BYTE_MAX_S, limit_s / block_bytes)
    page = view.value("page_bytes") or 0
    sizes = [one for one in view.once(conflicting_reads.alone).items() if one[0] <= page]
    if len(sizes) < 2:
        return most
    (small, (small_s, small_error_s)), (large, (large_s, large_error_s)) = sizes[-2:]
    longer_s = large_s - small_s + two_sided_t(math.inf) * math.hypot(small_error_s, large_error_s)
    by_part = (1 + _SLOPE_TOLERANCE) * max(longer_s, 0.0) / min(large - small, large / 2)
    return min(most, max(by_part, limit_s / large))


@dataclass(frozen=True)
class _ChannelWaits:
    """How long one of two reads waits for the channel, in seconds: the least and the greatest time,
    by how much chance may be off, the time that is to tell whether there are such waits, and the
    least time with what may be a wait for the link."""

    least_s: float
    most_s: float
    chance_s: float
    shows_s: float
    or_link_s: float

    def per_byte_s(self, count: int) -> tuple[float, float]:
        """The least and the greatest time of a byte, if so many pass the channel."""
        least_s = max(self.least_s - self.chance_s, 0.0)
        return least_s / count, (self.most_s + self.chance_s) / count


def _channel_waits(view: View, die_s: float | None) -> _ChannelWaits | None:
    """The waits of a short read for a long one's page; ``None`` where dies share no channel."""
    sizes = list(view.once(conflicting_reads.alone).items())
    dies, channels = view.value("dies"), view.value("channels")
    shared = _of_two_dies(view, "together", die_s)
    if not shared or not sizes or not dies or not channels or channels >= dies:
        return None
    found = view.once(conflicting_reads.pairs, "together")
    (_, (small_s, _)), (large, (large_s, _)) = sizes[0], sizes[-1]
    least_s = min(found.latency_s.values())
    low, high = conflicting_reads.second_waits_s(
        max(found.latency_s[apart] for apart in shared), least_s
    )
    late = max(2 * (least_s - (small_s + large_s) / 2), 0.0)
    or_link, high = low, high + late
    low = max(low - large * link_s(view)[1], 0.0)
    error_s = conflicting_reads.second_waits_s(math.sqrt(2) * found.error_s, 0.0)[1]
    chance = two_sided_t(math.inf) * error_s
    # Without shorter waits, the longest may be for a slow channel.
    shows = high if len(shared) == len(found.latency_s) else low
    return _ChannelWaits(low, high, chance, shows, or_link)


def _page_waits(
    view: View, die_s: float | None, together: _ChannelWaits | None
) -> _ChannelWaits | None:
    """The waits of two short reads for the channel, if it passes whole pages; ``None`` where that
    does not show.

    The first one lies in the middle of a page. If whole pages pass, both reads are alike, so that
    the second ones are the later half, and they wait as long as for a long read, but hardly for the
    link. A channel that passes parts of a page lets them wait for less than that.
    """
    apart, second_s = _of_two_dies(view, "short", die_s), view.once(conflicting_reads.second_s)
    if together is None or not apart or not all(second_s.get(n) for n in apart):
        return None
    middle_s = (max(second_s[n] for n in apart) + min(second_s[n] for n in apart)) / 2
    waiting = float(np.median([second_s[n] for n in apart if second_s[n] >= middle_s]))
    waited_s = waiting - float(np.median([second_s[n] for n in apart if second_s[n] <= middle_s]))
    found, sizes = view.once(conflicting_reads.pairs, "short"), view.once(conflicting_reads.alone)
    small = min(sizes)
    late = max(2 * (min(found.latency_s.values()) - sizes[small][0]), 0.0)
    low, high = max(waited_s - 2 * small * link_s(view)[1], 0.0), waited_s + late
    chance = two_sided_t(math.inf) * _SECOND_ERROR * math.sqrt(2) * found.error_s
    slack = chance + together.chance_s
    # Pairs that do not share a channel wait for the link as well, by up to a long read.
    most_s = together.most_s + max(sizes) * link_s(view)[1]
    as_long = together.or_link_s - slack <= high and low <= most_s + slack
    return _ChannelWaits(low, high, chance, low, low) if as_long else None


def _of_two_dies(view: View, kind: str, die_s: float | None) -> list[int]:
    """How many stripes the pairs of a kind are apart whose reads are of two dies, as far as the
    levels of waits, or the waits themselves, show it."""
    latency_s = view.once(conflicting_reads.pairs, kind).latency_s
    least_s = min(latency_s.values(), default=0.0)
    return [n for n, s in latency_s.items() if _shares_no_die(view, n, 2 * (s - least_s), die_s)]


def _shares_no_die(view: View, apart: int, wait_s: float, die_s: float | None) -> bool:
    """Whether two reads so many stripes apart are of two dies: by the levels of their waits where
    these show that each unit is a die, else by how long they wait."""
    levels = view.once(conflicting_reads.shown_levels)
    if levels is not None and levels.planes == 1:
        return apart < levels.units
    return not die_s or wait_s < _DIE_WAITS * die_s
