"""Charts of a replay: shares of its I/Os by size and queue depth, and by the minute how busy the
drive was and what state it was in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fourcorners.analysis.replays import state_words
from fourcorners.finding import Finding
from fourcorners.manifest import Chart
from fourcorners.wording import at_start

from .chart_data import PLURALS
from .payload import findings, rounded
from .run import ReportedRun

MINUTES_MIN = 3
"""Fewer are no curve."""

SHOWN: tuple[tuple[str, str, Mapping[str, str], float], ...] = (
    ("Busy time by the minute", "busy, % of the time", {"busy_share": ""}, 100.0),
    ("Write amplification by the minute", "write amplification", {"write_amplification": ""}, 1),
    (
        "Free flash blocks at the end of each minute",
        "free blocks of the fullest plane",
        {"free_blocks_min": ""},
        1,
    ),
    (
        "Erases of a block by the end of each minute",
        "erases",
        {"erase_count_mean": "in the mean", "erase_count_max": "the most"},
        1,
    ),
    ("Bad blocks at the end of each minute", "blocks", {"bad_blocks": ""}, 1),
    (
        "Superblocks that were never written at the end of each minute",
        "superblocks",
        {"unwritten_superblocks": ""},
        1,
    ),
    ("Free log blocks at the end of each minute", "blocks", {"free_log_blocks": ""}, 1),
    (
        "Merges by the end of each minute",
        "since the drive was made",
        {
            "merges": "that copy",
            "switches": "without a copy",
            "switch_merges": "without a copy",
            "partial_merges": "that copy a part",
            "full_merges": "that copy all",
        },
        1,
    ),
    ("Write buffer at the end of each minute", "MB in it", {"write_buffer_bytes": ""}, 1e-6),
    ("Write cache at the end of each minute", "MB in it", {"write_cache_bytes": ""}, 1e-6),
    ("SLC cache at the end of each minute", "GB in it", {"slc_cache_bytes": ""}, 1e-9),
    ("Folded from the SLC cache by the end of each minute", "GB", {"slc_folded_bytes": ""}, 1e-9),
)
"""Title, axis, values by name with what a line of them is called, and factor."""


def by_minute(
    chart: Chart, test: str, runs: Sequence[ReportedRun], names: Sequence[str]
) -> list[dict[str, Any]]:
    """What the finding ``replay`` has of each minute, where the test is the replay."""
    made: list[dict[str, Any]] = []
    known = {key for _, _, values, _ in SHOWN for key in values}
    # Programs that simulate drives count what they like.
    others = [
        (f"{_title(key)} at the end of each minute", "", {key: ""}, 1.0)
        for key in _told(runs)
        if key not in known
    ]
    for title, axis, values, factor in (*SHOWN, *others):
        series: list[dict[str, Any]] = [
            {"drive": drive, "label": label, "points": points}
            for drive, run in enumerate(runs)
            for key, label in values.items()
            if (points := _points(run, test, key, factor))
        ]
        # What stays at zero, as bad blocks do, says nothing.
        if any(value for one in series for _, value in one["points"]):
            made.append(
                {
                    "kind": "lines",
                    "title": title,
                    "x": {"key": "minute", "title": "minute", "log": False},
                    "y": {"key": "of_minute", "title": axis, "log": False},
                    "series": series,
                }
            )
    return made


def shares(
    chart: Chart, test: str, runs: Sequence[ReportedRun], names: Sequence[str]
) -> list[dict[str, Any]]:
    """By size and by the queue depth at their issue, how many of a replay's I/Os there were: of
    all in a class up to so much and above the class below it."""
    sizes: list[dict[str, Any]] = []
    depths: list[dict[str, Any]] = []
    for drive, run in enumerate(runs):
        for finding in _replays(run, test):
            total = sum(finding.detail["depths"])
            for operation, counts in finding.detail["sizes"].items():
                points = _classes(counts, total, smallest=512)
                if operation != "flush":  # which has no size
                    sizes.append({"drive": drive, "label": PLURALS[operation], "points": points})
            points = _classes(finding.detail["depths"], total, smallest=1)
            depths.append({"drive": drive, "label": "", "points": points})
    return [
        {
            "kind": "lines",
            "title": title,
            "x": {"key": key, "title": axis, "log": True},
            "y": {"key": "share", "title": "% of the I/Os", "log": False},
            "series": series,
        }
        for title, key, axis, series in (
            ("I/Os by size", "block_bytes", "size, up to", sizes),
            ("I/Os by queue depth", "queue_depth", "outstanding with it, up to", depths),
        )
        if any(len(one["points"]) > 1 for one in series)
    ]


def _classes(counts: Sequence[int], total: int, *, smallest: int) -> list[list[Any]]:
    """The upper end of each class, which is twice that of the one before, and its percentage."""
    used = [number for number, count in enumerate(counts) if count]
    return [
        [smallest << number, rounded(100 * counts[number] / total)]
        for number in range(min(used, default=0), max(used, default=-1) + 1)
    ]


def _replays(run: ReportedRun, test: str) -> list[Finding]:
    """The finding ``replay`` where the test is the replay."""
    return [f for f in findings(run, "replay") if f.evidence[0].split("/")[0] == test]


def _title(key: str) -> str:
    return at_start(state_words(key))


def _told(runs: Sequence[ReportedRun]) -> list[str]:
    """The names by which drives told their states."""
    return list(
        dict.fromkeys(
            name
            for run in runs
            for finding in findings(run, "replay")
            for minute in finding.detail["minutes"]
            for name in minute.get("condition", {})
        )
    )


def _points(run: ReportedRun, test: str, key: str, factor: float) -> list[list[Any]]:
    for finding in _replays(run, test):
        minutes = finding.detail["minutes"]
        if len(minutes) < MINUTES_MIN:
            continue
        # Runs that were kept before drives told their condition have none.
        told = [minute.get(key, minute.get("condition", {}).get(key)) for minute in minutes]
        return [
            [number, rounded(value * factor)]
            for number, value in enumerate(told, 1)
            if value is not None
        ]
    return []
