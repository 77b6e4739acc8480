"""Findings ``idle_recovery`` and ``trim_effect``: does a slowed drive become faster by them."""

from __future__ import annotations

import numpy as np

from fourcorners import wording
from fourcorners.analysis.finding import PRESENCE, Finding
from fourcorners.analysis.internals.erase_unit import parts_of
from fourcorners.analysis.internals.spare_area import find_cliff
from fourcorners.analysis.source import RunData

_BEFORE = 16
"""Parts whose pace is the slowed drive's."""

_RECOVERED_MIN, _UNCHANGED_MAX = 0.5, 0.25
"""Share of the slowing down that is gone, from which and up to which it is said."""

_PARTS_PER_STALL_MAX = 2.0

_SAID = {
    "idle_recovery": ("rested", "Recovery by a pause", "a pause"),
    "trim_effect": ("trimmed", "TRIM", "TRIM of everything"),
}


def find(run: RunData, stall_spacing: float | None) -> list[Finding]:
    """Both findings, if the probe came that far.

    Args:
        run: the run.
        stall_spacing: bytes from one stall of collection to the next; 0 where there are none,
            ``None`` where that is not known.
    """
    parts, _ = parts_of(run, "overwrite")
    cliff = find_cliff(parts)
    found = []
    for name, (stage, title, what) in _SAID.items():
        after, evidence = parts_of(run, stage)
        if not after:
            continue
        reason = None
        if cliff is None or len(parts) < cliff.part + _BEFORE // 2:
            reason = "The drive had not slowed down before."
        elif (stall_spacing or 0.0) > _PARTS_PER_STALL_MAX * parts[0][0]:
            reason = "Stalls are so far apart that none may be due in what was written after it."
        if reason is not None or cliff is None:
            found.append(Finding(name, title, "not identifiable", reason or "", evidence=evidence))
            continue
        slow = float(np.mean([elapsed for _, elapsed in parts[cliff.part + 1 :][-_BEFORE:]]))
        quick = np.array([elapsed for _, elapsed in after])
        share = (slow - float(quick.mean())) / (slow - cliff.fresh_s)
        unclear = _UNCHANGED_MAX < share < _RECOVERED_MIN
        gone = wording.percent(min(max(share, 0.0), 1.0))
        found.append(
            Finding(
                name,
                title,
                "not identifiable" if unclear else "measured",
                f"After {what} {gone} of the slowing down is gone.",
                value=None if unclear else float(share >= _RECOVERED_MIN),
                unit=None if unclear else PRESENCE,
                evidence=evidence,
                detail={
                    "share": share,
                    "discrete": True,
                    "goodness": {"scatter": float(quick.std() / quick.mean())},
                },
            )
        )
    return found
