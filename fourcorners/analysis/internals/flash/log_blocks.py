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

from fourcorners import wording
from fourcorners.analysis.finding import PRESENCE, Finding
from fourcorners.analysis.internals.flash.mapping_unit import TEST
from fourcorners.analysis.internals.method.medium import NO_UNITS, is_disk
from fourcorners.analysis.source import RunData, measured

NAME = "log_blocks"
TITLE = "Log blocks for small writes"

_REWRITE_S = 5e-3
"""Time of a small write, with others outstanding, from which more than a page is written for it."""

_REWRITE_READS = 20
"""The same in small reads, so that it is not the drive that is slow."""

_APART = 3.0
"""Ratio of times from which small writes are not alike, and up to half of which they are: across
two units they take twice as long as across one."""

_NEAR_BOUNDARY_BYTES = 64 * 2**10
"""Up to multiples of so much, writes lie on all dies and anywhere in blocks."""


def find(run: RunData) -> list[Finding]:
    """The finding; none where the probe did not come so far."""
    points = [m for m in measured(run, TEST, "write") if m.point.get("boundary_bytes")]
    small_s = [1 / m.iops for m in points if m.point["boundary_bytes"] <= _NEAR_BOUNDARY_BYTES]
    if not small_s:
        return []
    near = [m for m in measured(run, TEST, "write") if m.point.get("near_bytes")]
    reads = [m for m in measured(run, TEST, "read") if m.point.get("sentinel")]
    evidence = [m.recording for m in [*points, *near]]
    if is_disk(run):
        return [Finding(NAME, TITLE, "not applicable", NO_UNITS, evidence=evidence)]
    slowest_s = max(1 / m.iops for m in points)
    quickest_s, median_s = min(small_s), float(np.median(small_s))
    near_s = next((1 / m.iops for m in near), None)
    read_s = min((1 / m.iops for m in reads), default=0.0)
    varies = max(small_s) / quickest_s
    apart = 0.0 if near_s is None else median_s / near_s
    rewrites = slowest_s >= max(_REWRITE_S, _REWRITE_READS * read_s)
    detail = {
        "discrete": True,
        "rewrites": rewrites,
        "read_s": read_s,
        "near_s": near_s,
        "goodness": {"varies": varies, "apart": apart},
    }

    def found(there: bool, text: str) -> list[Finding]:
        return [
            Finding(
                NAME,
                TITLE,
                "measured",
                text,
                value=float(there),
                unit=PRESENCE,
                evidence=evidence,
                detail=detail,
            )
        ]

    if not rewrites:
        return found(
            False,
            f"Small writes take no longer than {wording.duration(slowest_s)} anywhere: none has a "
            "block rewritten.",
        )
    if apart > _APART:
        assert near_s is not None
        return found(
            True,
            f"Small writes take {wording.duration(median_s)} over a large part of the drive, but "
            f"{wording.duration(near_s)} within a small one: the latest are in log blocks, which "
            "are merged into whole ones when others need them.",
        )
    if varies > _APART:
        return found(
            True,
            f"Small writes take from {wording.duration(quickest_s)} to "
            f"{wording.duration(max(small_s))}: they go to log blocks, which are merged into whole "
            "ones from time to time.",
        )
    if near_s is not None and max(varies, apart) < _APART / 2:
        return found(
            False,
            f"Each small write has a block rewritten, which takes {wording.duration(median_s)}, "
            "also within a small part of the drive: no log keeps it until others are there.",
        )
    reason = (
        f"Small writes take {wording.duration(median_s)}, so that more than a page is written for "
        "each; whether there are logs for them does not show."
    )
    return [Finding(NAME, TITLE, "not identifiable", reason, evidence=evidence, detail=detail)]
