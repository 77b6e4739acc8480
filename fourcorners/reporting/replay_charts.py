"""Charts of a replay by the minute: how busy the drive was, and what state it was in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fourcorners.analysis.replays import state_words
from fourcorners.manifest import Chart
from fourcorners.wording import at_start

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
    for finding in findings(run, "replay"):
        minutes = finding.detail["minutes"]
        if finding.evidence[0].split("/")[0] != test or len(minutes) < MINUTES_MIN:
            continue
        # Runs that were kept before drives told their condition have none.
        told = [minute.get(key, minute.get("condition", {}).get(key)) for minute in minutes]
        return [
            [number, rounded(value * factor)]
            for number, value in enumerate(told, 1)
            if value is not None
        ]
    return []
