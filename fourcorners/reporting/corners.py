"""The four corners in the report: bars of rates with latencies, and a table of percentiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fourcorners import wording
from fourcorners.analysis.source import Measured, every_operation

from .payload import (
    CORNERS,
    LATENCIES,
    corner_of,
    latency_interval,
    latency_s,
    point_of,
    rate_interval,
)
from .run import ReportedRun
from .spec import interval_beside

CORNER_TITLES = {
    "random-read": "random read",
    "random-write": "random write",
    "sequential-read": "sequential read",
    "sequential-write": "sequential write",
}


def corners(runs: Sequence[ReportedRun], names: Sequence[str]) -> list[dict[str, Any]]:
    """Each of the four, with the lengths of its bars."""
    found = [_corner(runs, names, corner) for corner in CORNERS]
    _set_shares(found)
    return found


def _corner(runs: Sequence[ReportedRun], names: Sequence[str], corner: str) -> dict[str, Any]:
    """One corner: a block per queue depth, in it a group per drive, in it a bar per data kind."""
    blocks: dict[float, dict[int, list[dict[str, Any]]]] = {}
    block_bytes: object = None
    for index, run in enumerate(runs):
        for one in every_operation(run.recordings):
            if corner_of(one) != corner:
                continue
            point, moved = point_of(one), one.bytes_per_second
            block_bytes = block_bytes or point.get("block_bytes")
            depth = wording.finite(point.get("queue_depth")) or 0
            blocks.setdefault(depth, {}).setdefault(index, []).append(
                {
                    "content": _content(str(point.get("content") or "")),
                    "bps": moved,
                    "rate": wording.mbps(moved),
                    "iops": wording.number(one.iops),
                    "mean": wording.duration(one.latency_mean_s),
                    "p99": wording.duration(one.latency_percentile_s(99)),
                    "max": wording.duration(one.latency_max_s),
                    "intervals": _bar_intervals(one),
                }
            )
    size = wording.size(block_bytes) if block_bytes else ""
    return {
        "title": f"{size} {CORNER_TITLES[corner]}".strip(),
        "kinds": sorted(
            {
                bar["content"]
                for block in blocks.values()
                for group in block.values()
                for bar in group
            }
        ),
        "blocks": [
            {
                "label": f"queue depth {depth:g}" if depth else "",
                "groups": [
                    {"index": index, "name": names[index], "bars": bars}
                    for index, bars in sorted(block.items())
                ],
            }
            for depth, block in sorted(blocks.items())
        ],
    }


def _bar_intervals(one: Measured) -> dict[str, str]:
    """Intervals beside a bar's IOPS, mean and p99; empty where there is none that shows."""
    factors = rate_interval(one)
    rates = None if factors is None else [one.iops * factor for factor in factors]
    bounds = {"iops": (rates, "IOPS", one.iops)} | {
        key: (latency_interval(one, key), "s", latency_s(one, key)) for key in ("mean", "p99")
    }
    texts = {
        key: interval_beside(own, unit, wording.quantity(value, unit))
        for key, (own, unit, value) in bounds.items()
    }
    return {key: text if " to " in text else "" for key, text in texts.items()}


def _set_shares(corners: Sequence[Mapping[str, Any]]) -> None:
    """Lengths of bars in percent: one drive has one scale, several have one in each corner."""
    bars = [
        [bar for block in corner["blocks"] for group in block["groups"] for bar in group["bars"]]
        for corner in corners
    ]
    tops = [max((bar["bps"] for bar in corner), default=0.0) for corner in bars]
    alone = len({g["index"] for c in corners for b in c["blocks"] for g in b["groups"]}) == 1
    for corner, top in zip(bars, tops, strict=True):
        full = max(tops) if alone else top
        for bar in corner:
            bar["share"] = round(100 * bar["bps"] / full, 2) if full else 0.0


def _content(content: str) -> str:
    ratio = content.removeprefix("compressible:")
    return content if ratio == content else f"{ratio} % compressible"


def percentiles(runs: Sequence[ReportedRun], names: Sequence[str]) -> list[dict[str, Any]]:
    """The corners' recordings, each with a row per drive."""
    groups: dict[tuple[int, float, str], list[dict[str, Any]]] = {}
    for index, (run, name) in enumerate(zip(runs, names, strict=True)):
        for one in every_operation(run.recordings):
            if (corner := corner_of(one)) not in CORNERS:
                continue
            key = (CORNERS.index(corner), one.queue_depth or 0, one.of.label)
            groups.setdefault(key, []).append(
                {
                    "index": index,
                    "drive": name,
                    "ios": wording.number(one.ios),
                    "latency": [wording.duration(latency_s(one, k)) for k in LATENCIES],
                }
            )
    return [{"label": key[2], "rows": rows} for key, rows in sorted(groups.items())]
