"""Finding ``log_blocks``: whether small writes are kept in a few blocks and merged into their own
ones later.

Most controllers with little memory map whole blocks. Where a small write rewrites its block at
once, each takes as long as any other. Where it goes to a log block instead, it waits only when a
log has to be merged with the blocks whose data it holds: such writes are quick within a few blocks,
whose logs there is room for, or take many times as long at some times as at others (BAST: Kim et
al., IEEE Transactions on Consumer Electronics 48(2), 2002; FAST: Lee et al., ACM TECS 6(3), 2007).
"""

from __future__ import annotations

import numpy as np

from fourcorners.analysis.internals.answer import Answer, yes_or_no
from fourcorners.analysis.internals.flash.mapping_unit import PAIRS, TEST
from fourcorners.analysis.internals.view import SENTINELS, PointAxis, View, pick
from fourcorners.analysis.source import Measured
from fourcorners.sentences import say

SMALL_WRITES = pick(TEST, "write", PointAxis.BOUNDARY, PointAxis.NEAR)

_REWRITE_S = 5e-3
"""Time of a small write, with others outstanding, from which more than a page is written for it."""

_REWRITE_READS = 20
"""The same in small reads, so that it is not the drive that is slow."""

_APART = 3.0
"""Ratio of times from which small writes are not alike, and up to half of which they are: across
two units they take twice as long as across one."""

_NEAR_BOUNDARY_BYTES = 64 * 2**10
"""Up to multiples of so much, writes lie on all dies and anywhere in blocks."""


def nearby(view: View) -> list[Measured]:
    """Writes about multiples of little: without these the probe did not come so far."""
    return [m for m in PAIRS(view) if m.point[PointAxis.BOUNDARY] <= _NEAR_BOUNDARY_BYTES]


def log_blocks(view: View) -> Answer:
    """Whether there are logs."""
    points = PAIRS(view)
    small_s = [1 / m.iops for m in nearby(view)]
    read_s = min((1 / m.iops for m in SENTINELS(view) if m.test == points[0].test), default=0.0)
    slowest_s = max(1 / m.iops for m in points)
    quickest_s, longest_s, median_s = min(small_s), max(small_s), float(np.median(small_s))
    near_s = next((1 / m.iops for m in pick(TEST, "write", PointAxis.NEAR)(view)), None)
    varies = longest_s / quickest_s
    apart = 0.0 if near_s is None else median_s / near_s
    rewrites = slowest_s >= max(_REWRITE_S, _REWRITE_READS * read_s)
    detail = {
        "rewrites": rewrites,
        "read_s": read_s,
        "near_s": near_s,
        "goodness": {"varies": varies, "apart": apart},
    }
    there, said = None, say("unclear", median_s=median_s)
    if not rewrites:
        there, said = False, say("no_rewrites", slowest_s=slowest_s)
    elif apart > _APART:
        there, said = True, say("quick_nearby", median_s=median_s)
    elif varies > _APART:
        there, said = True, say("varies", quickest_s=quickest_s, longest_s=longest_s)
    elif near_s is not None and max(varies, apart) < _APART / 2:
        there, said = False, say("each_rewrites", median_s=median_s)
    return yes_or_no(there, said, detail=detail)
