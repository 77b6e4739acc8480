"""Findings ``link_ceiling`` and ``link`` from large reads that need neither flash nor platters.

Data that was not written since a purge, and data in a cache, come over the link alone. With many
large reads outstanding, the time of another byte is that of the link, whatever else a command
costs. Therefore the rate is the slope between two sizes, B = (s2 - s1) / (t2 - t1).

The link follows from the rate that each generation leaves for data. SATA leaves 93.2 % of 150, 300
and 600 MB/s after its line code and the overhead of each frame of 8 KiB. PCIe leaves 91.4 % with
packets of 256 bytes and 24 bytes of overhead.
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
"""The large reads of two sizes, of erased, cached and written data."""

_SATA_SHARE, _PCIE_SHARE = 8192 / (8192 + 600), 256 / (256 + 24)
"""The shares that frames and packets leave for data; see above."""

_BYPASS_TOLERANCE = 0.015
"""The rate may differ by this much from a link's where data passes neither flash nor platters."""

_TOLERANCE = 0.005
"""The same tolerance where data passes flash or platters, which may be the limit."""

_AGREE = 0.01
"""Two rates that differ by up to this share are the same."""

_ERROR_MIN = 0.002
"""The least relative error of a rate: packets and frames are smaller at the ends of a request."""

_FASTER = 1.3
"""Data that is faster than the medium by more than this factor comes from memory."""


@dataclass(frozen=True)
class Link:
    """A generation of a link. ``line_rate`` is in bytes per second after the line code."""

    name: str
    line_rate: float
    payload_rate: float


def links() -> list[Link]:
    """All generations, sorted by their rate."""
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
    """The names of the generations that leave this rate for data. There are several if they leave
    the same rate, and none if no link has this rate."""
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
    """The rate of the link, the generation, the error of the rate, and the measurements."""

    rate: float
    link: Link
    error: float
    detail: dict[str, Any]


def fastest(view: View) -> float | None:
    """The highest rate of large reads, which the link carries at least; ``None`` without them."""
    return max((m.bytes_per_second for m in LARGE(view)), default=None)


def ceiling(view: View) -> Answer:
    """Finds the rate of the link."""
    carried = view.once(_carried)
    if isinstance(carried, Answer):
        return carried
    bounds = (carried.rate * (1 - carried.error), carried.rate * (1 + carried.error))
    return known(carried.rate, say("measured"), bounds=bounds, detail=carried.detail)


def generation(view: View) -> Answer:
    """Finds the generation of the link."""
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
    """The rate of further bytes, in bytes per second, from the smallest to the largest read."""
    ordered = sorted(points, key=lambda m: m.block_bytes or 0)
    if len(ordered) < 2:
        return None
    small, large = ordered[0], ordered[-1]
    added_s = 1 / large.iops - 1 / small.iops
    added_bytes = (large.block_bytes or 0) - (small.block_bytes or 0)
    return added_bytes / added_s if added_s > 0 and added_bytes > 0 else None


def _ceiling(slopes: dict[str, float]) -> tuple[float, bool, bool]:
    """The rate, whether its data passes neither flash nor platters, and whether it is certainly
    that of the link and not of the medium."""
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
