"""Finding ``log_blocks``: whether small writes go to a few log blocks that are merged later.

Most controllers with little memory map whole blocks. If each small write rewrites its block at
once, all small writes take equally long. If it goes to a log block instead, it waits only when a
log block has to be merged with the blocks whose data it holds. Such writes are quick within a few
blocks, because there is room for their logs, or some of them take many times as long as others
(BAST: Kim et al., IEEE Transactions on Consumer Electronics 48(2), 2002; FAST: Lee et al., ACM TECS
6(3), 2007).

Many planes that merge side by side, or logs that many blocks share, make the mean write as short as
that of a drive that maps pages and collects garbage. A drive without log blocks is therefore one
whose writes do not spend most of their time in such waits. A drive that slows down once and stays
slow may have filled its logs or have begun to collect garbage, and only quick writes within a few
blocks tell which.
"""

from __future__ import annotations

import numpy as np

from fourcorners.analysis.internals.answer import Answer, yes_or_no
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.flash.mapping_unit import PAIRS, TEST
from fourcorners.analysis.internals.nand.read_cost import READ_ALONE, SAME_PLACE, loads_its_map
from fourcorners.analysis.internals.view import SENTINELS, PointAxis, View, ids, pick, small_reads
from fourcorners.analysis.source import Measured
from fourcorners.sentences import say

SMALL_WRITES = pick(TEST, "write", PointAxis.BOUNDARY, PointAxis.NEAR)

_REWRITE_S = 5e-3
"""If a small write takes at least this long, with others outstanding, the drive writes more than a
page for it."""

_REWRITE_READS = 20
"""The same limit in times of a small read, so that a slow drive does not pass for one that
rewrites blocks."""

_APART = 3.0
"""From this ratio of times on, small writes differ; up to half of it they are alike, since a write
across two units takes twice as long as a write to one."""

_HANGS = 2.5
"""If the mean time is so many times what the median latency says, few writes made it so. With 32
writes outstanding, the median latency of even two turns of writes is half of 32 times their
mean."""

_FEW = 0.25
"""So many of the points may wait for other work, such as a buffer that fills up at first, and a
host that hangs. Where more wait, and most of the time of all is spent so, it is the drive's."""

_NEAR_BOUNDARY_BYTES = 64 * 2**10
"""Writes at multiples of up to so many bytes lie on all dies and anywhere in blocks."""


def nearby(view: View) -> list[Measured]:
    """The writes at and across small boundaries. Without them the probe did not come so far."""
    return [m for m in PAIRS(view) if m.point[PointAxis.BOUNDARY] <= _NEAR_BOUNDARY_BYTES]


def log_blocks(view: View) -> Answer:
    """Finds whether the drive has log blocks."""
    points = _after_the_start(_without_a_stop(PAIRS(view)))
    # A probe that was interrupted may have none but the first ones.
    small = [m for m in _without_a_stop(nearby(view)) if m in points] or nearby(view)
    small_s = [_write_s(m) for m in small]
    read_s = min((1 / m.iops for m in SENTINELS(view) if m.test == points[0].test), default=0.0)
    slowest_s = max(map(_write_s, points))
    quickest_s, longest_s, median_s = min(small_s), max(small_s), float(np.median(small_s))
    near_s = next((_write_s(m) for m in pick(TEST, "write", PointAxis.NEAR)(view)), None)
    varies = longest_s / quickest_s
    apart = 0.0 if near_s is None else median_s / near_s
    rewrites = slowest_s >= max(_REWRITE_S, _REWRITE_READS * read_s)
    stops_s = _stops_s(small)
    detail = {
        "rewrites": rewrites,
        "read_s": read_s,
        "near_s": near_s,
        "goodness": {"varies": varies, "apart": apart},
    }
    there, said = None, say("unclear", median_s=median_s)
    if not rewrites and stops_s >= _REWRITE_S:
        said = say("merges_or_collection", median_s=median_s, stops_s=stops_s)
    elif not rewrites:
        there, said = False, say("no_rewrites", slowest_s=slowest_s)
    elif apart > _APART:
        there, said = True, say("quick_nearby", median_s=median_s)
    elif _slows_down_once(points):
        said = say("slows_down_once", quickest_s=quickest_s, longest_s=longest_s)
    elif varies > _APART:
        there, said = True, say("varies", quickest_s=quickest_s, longest_s=longest_s)
    elif near_s is not None and max(varies, apart) < _APART / 2:
        there, said = False, say("each_rewrites", median_s=median_s)
    found = yes_or_no(there, said, detail=detail)
    if not there:
        return found.checked(Assumption.STOPS_ARE_MERGES, None)
    # A drive that loads its map on demand writes it back, too, which takes programs of its own.
    reads = [*SAME_PLACE(view), *small_reads(view, READ_ALONE)]
    if view.once(loads_its_map):
        return found.checked(Assumption.STOPS_ARE_MERGES, False, ids(reads))
    return found


def _without_a_stop(points: list[Measured]) -> list[Measured]:
    """The points without a single one that ended before as many writes were complete as are
    outstanding. All of its writes waited for the same stop of the drive, as for a collection of
    garbage that began; logs that are full are so at other points, too."""
    ended = [m for m in points if m.ios < (m.queue_depth or 1)]
    return [m for m in points if m not in ended] if len(ended) == 1 < len(points) else points


def _after_the_start(points: list[Measured]) -> list[Measured]:
    """The points without the first ones, where each of these took :data:`_APART` times as long as
    any later one: the drive still did what the writes before the probe had left, as where a map is
    full of changes. Logs fill up again, and are merged again."""
    times_s = [_write_s(m) for m in points]
    for first in range(len(points) // 2, 0, -1):
        if min(times_s[:first]) >= _APART * max(times_s[first:]):
            return points[first:]
    return points


def _slows_down_once(points: list[Measured]) -> bool:
    """Whether each point after some point took :data:`_APART` times as long as any before. Logs
    fill up so, and so do the erased blocks of a drive that maps pages, which then collects garbage
    for each write. Where logs are full from the start, quick points lie among slow ones."""
    times_s = [_write_s(m) for m in points]
    return any(
        min(times_s[slow:]) >= _APART * max(times_s[:slow]) for slow in range(1, len(times_s))
    )


def _write_s(m: Measured) -> float:
    """The time per write. If all outstanding writes wait for one another, the median of the
    latencies shows it too, and one write that hangs at the end of a point does not change that."""
    queued_s = _queued_s(m)
    return queued_s if _HANGS * queued_s < 1 / m.iops else 1 / m.iops


def _queued_s(m: Measured) -> float:
    return (m.latency_percentile_s(50) or 0.0) / (m.queue_depth or 1)


def _stops_s(points: list[Measured]) -> float:
    """How much longer than the median the longest waits are that take most of the drive's time;
    zero where they do so in few points only, and not in the time of all points together. Other work
    of the drive or the host, and a buffer that fills up, make the writes of a few points wait.
    Logs that all blocks share fill up once in hundreds of writes, and then take seconds."""
    hangs = [m for m in points if _HANGS * _queued_s(m) < 1 / m.iops]
    lost_s = sum((1 / m.iops - _queued_s(m)) * m.ios for m in hangs)
    mostly = len(hangs) > _FEW * len(points) and 2 * lost_s > sum(m.ios / m.iops for m in points)
    if 2 * len(hangs) <= len(points) and not mostly:
        return 0.0
    longer_s = [
        (m.latency_percentile_s(99) or 0.0) - (m.latency_percentile_s(50) or 0.0) for m in hangs
    ]
    return float(np.median(longer_s))
