"""Findings ``link_ceiling`` and ``link`` from large reads that need neither flash nor platters.

What was never written since a purge, and what a cache holds, comes over the link alone. With many
large reads outstanding the time of another byte is that of the link, whatever else a command costs:
the rate is the slope between two sizes, B = (s2 - s1) / (t2 - t1).

Which link it is follows from the rates that each generation leaves for data: of SATA after its line
code and what goes with each frame of 8 KiB, 93.2 % of 150, 300 and 600 MB/s; of PCIe in packets of
256 bytes with 24 around them, 91.4 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.view import PointAxis, View, pick
from fourcorners.analysis.source import Measured
from fourcorners.sentences import say

LARGE = pick("probe-depth", "read", PointAxis.OF)
"""Large reads of two sizes, of what was erased, what is cached, and what was written."""

_SATA_SHARE, _PCIE_SHARE = 8192 / (8192 + 600), 256 / (256 + 24)
"""What frames and packets leave for data; see above."""

_BYPASS_TOLERANCE = 0.015
"""How far a link may be from the rate where data passes neither flash nor platters."""

_TOLERANCE = 0.005
"""The same where they are passed, and may be what limits."""

_AGREE = 0.01
"""Difference up to which two rates are the same one."""

_ERROR_MIN = 0.002
"""Least relative error of a rate: packets and frames are smaller at the ends of a request."""

_FASTER = 1.3
"""Rate over that of the medium from which data comes from memory."""


@dataclass(frozen=True)
class Link:
    """A generation. ``line_rate`` in bytes per second after the line code."""

    name: str
    line_rate: float
    payload_rate: float


def links() -> list[Link]:
    """All generations, by their rate."""
    found = [
        Link(f"SATA {gigabits:g} Gb/s", gigabits * 1e8, gigabits * 1e8 * _SATA_SHARE)
        for gigabits in (1.5, 3.0, 6.0)
    ]
    for generation, transfers in enumerate((2.5e9, 5e9, 8e9, 16e9, 32e9), start=1):
        code = 8 / 10 if generation < 3 else 128 / 130
        for lanes in (1, 2, 4, 8, 16):
            rate = lanes * transfers * code / 8
            found.append(Link(f"PCIe {generation}.0 x{lanes}", rate, rate * _PCIE_SHARE))
    return sorted(found, key=lambda link: link.payload_rate)


def generations_at(bytes_per_second: float) -> list[str]:
    """Names of the generations that leave this rate for data; several where they leave the same,
    none where no link carries it."""
    nearest = _nearest(bytes_per_second)
    if abs(bytes_per_second / nearest.payload_rate - 1) > _BYPASS_TOLERANCE:
        return []
    return _alike(nearest)


def _nearest(bytes_per_second: float) -> Link:
    return min(links(), key=lambda link: abs(math.log(link.payload_rate / bytes_per_second)))


def _alike(link: Link) -> list[str]:
    return [one.name for one in links() if abs(one.line_rate / link.line_rate - 1) < 1e-6]


@dataclass(frozen=True)
class _Carried:
    """What the link carries, which one that is, how far off, and what the reads showed."""

    rate: float
    link: Link
    error: float
    detail: dict[str, Any]


def ceiling(view: View) -> Answer:
    """What the link carries."""
    carried = view.once(_carried)
    if isinstance(carried, Answer):
        return carried
    bounds = (carried.rate * (1 - carried.error), carried.rate * (1 + carried.error))
    return known(carried.rate, say("measured"), bounds=bounds, detail=carried.detail)


def generation(view: View) -> Answer:
    """Which link it is."""
    carried = view.once(_carried)
    if isinstance(carried, Answer):
        return carried
    detail = {**carried.detail, "label": " or ".join(_alike(carried.link))}
    return known(round(carried.link.line_rate), say("measured"), detail=detail)


def _carried(view: View) -> _Carried | Answer:
    points = LARGE(view)
    slopes = {
        of: slope
        for of in ("erased", "cached", "written")
        if (slope := _slope([m for m in points if m.point[PointAxis.OF] == of])) is not None
    }
    if not slopes:
        return unknown(say("link_ceiling.flat"))
    ceiling, bypasses, sure = _ceiling(slopes)
    nearest = _nearest(ceiling)
    off = ceiling / nearest.payload_rate - 1
    detail: dict[str, Any] = {
        "slopes_bytes_per_second": slopes,
        "of": [m.point[PointAxis.OF] for m in points],
        "block_bytes": [m.block_bytes for m in points],
        "measured_bytes_per_second": [m.bytes_per_second for m in points],
    }
    if not sure:
        return unknown(say("link_ceiling.medium"), detail=detail)
    if abs(off) > (_BYPASS_TOLERANCE if bypasses else _TOLERANCE):
        return unknown(say("link_ceiling.no_generation", rate=ceiling), detail=detail)
    error = max(abs(off), _spread(slopes, ceiling), _ERROR_MIN)
    detail["goodness"] = {"off_the_nearest_generation": off}
    return _Carried(ceiling, nearest, error, detail)


def _slope(points: Sequence[Measured]) -> float | None:
    """Bytes per second of another byte, from the smallest to the largest read."""
    ordered = sorted(points, key=lambda m: m.block_bytes or 0)
    if len(ordered) < 2:
        return None
    small, large = ordered[0], ordered[-1]
    added_s = 1 / large.iops - 1 / small.iops
    added_bytes = (large.block_bytes or 0) - (small.block_bytes or 0)
    return added_bytes / added_s if added_s > 0 and added_bytes > 0 else None


def _ceiling(slopes: dict[str, float]) -> tuple[float, bool, bool]:
    """The rate, whether it passes neither flash nor platters, and whether it is surely the link's
    and not the medium's."""
    best = max(slopes, key=lambda of: slopes[of])
    medium = slopes.get("written", 0.0)
    if "erased" in slopes and slopes["erased"] >= (1 - _AGREE) * medium:
        return slopes["erased"], True, True
    if slopes.get("cached", 0.0) > _FASTER * medium:
        return slopes["cached"], True, True
    close = [of for of in slopes if slopes[of] > (1 - _AGREE) * slopes[best]]
    return slopes[best], False, len(close) > 1


def _spread(slopes: dict[str, float], ceiling: float) -> float:
    close = [rate for rate in slopes.values() if abs(rate / ceiling - 1) < _AGREE]
    return (max(close) - min(close)) / ceiling if close else 0.0
