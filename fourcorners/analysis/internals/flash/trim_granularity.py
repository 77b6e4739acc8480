"""Finding ``trim_granularity``: the least part that a drive forgets by TRIM.

What is not mapped is answered without the medium. A part of g bytes at a multiple of g holds whole
units of the drive from their size on: the first size of which reads are fast is the unit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from fourcorners import wording
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.source import RunData, measured

TEST = "probe-trim"
NAME, TITLE = "trim_granularity", "Least part that TRIM takes"

_FASTER_MIN = 1.25
"""Time of a read of what is mapped over one of what is not, from which they are told apart."""

_ALIKE = 1.1
"""Reads that take up to so many times as long as others are of the same kind."""


def find(run: RunData) -> list[Finding]:
    """The finding, if the probe ran."""
    rows = [m for m in measured(run, TEST, "read") if m.point.get("kind")]
    seconds: dict[str, dict[int, float]] = {"trimmed": {}, "kept": {}, "never written": {}}
    for m in rows:
        # Some places may have come into a cache of the drive by chance: not half of them.
        median_s = m.number("latency_p50_s")
        if median_s is not None:
            seconds[str(m.point["kind"])][int(m.point["part_bytes"])] = median_s
    if not seconds["trimmed"] or not seconds["kept"]:
        return []
    evidence = [m.recording for m in rows]
    kept_s = min(seconds["kept"].values())
    unmapped_s = min([*seconds["never written"].values(), *seconds["trimmed"].values()])
    detail = {
        "discrete": True,
        "trimmed_s": _plotted(seconds["trimmed"]),
        "kept_s": _plotted(seconds["kept"]),
        "goodness": {"spread_of_kept": max(seconds["kept"].values()) / kept_s - 1},
    }

    def said(value: float | None, text: str) -> list[Finding]:
        return [
            Finding(
                NAME,
                TITLE,
                "not identifiable" if value is None else "measured",
                text,
                value=value,
                unit=None if value is None else "B",
                evidence=evidence,
                detail=detail,
            )
        ]

    if kept_s < _FASTER_MIN * unmapped_s:
        return said(
            None,
            f"Reads of what was written take {wording.duration(kept_s)}, and others no less than "
            f"{wording.duration(unmapped_s)}: what the drive has forgotten does not show.",
        )
    between_s = math.sqrt(kept_s * unmapped_s)
    taken = {size: s < between_s for size, s in sorted(seconds["trimmed"].items())}
    sure = all(
        s <= _ALIKE * unmapped_s or s >= kept_s / _ALIKE for s in seconds["trimmed"].values()
    )
    least = next((size for size, fast in taken.items() if fast), None)
    if not sure or (least is not None and not all(taken[size] for size in taken if size >= least)):
        return said(
            None,
            "Of some sizes parts are read as fast as what is not there, of others not or only in "
            "part, in no order: the drive heeds TRIM as it likes, or later.",
        )
    if least is None:
        return said(
            0.0,
            f"Parts of up to {wording.size(max(taken))} that were trimmed are read as if they were "
            "still there: the drive takes no notice of such TRIM, or answers it later.",
        )
    bound = ", or less" if least == min(taken) else ""
    return said(
        float(least),
        f"The drive forgets parts of {wording.size(least)}{bound}: reads of them take "
        f"{wording.duration(unmapped_s)} instead of {wording.duration(kept_s)}.",
    )


def _plotted(seconds: Mapping[int, float]) -> list[list[float]]:
    return [[float(size), s] for size, s in sorted(seconds.items())]
