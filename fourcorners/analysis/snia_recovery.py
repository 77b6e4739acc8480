"""Findings of SNIA's two tests of recovery: what pauses between bursts give back, and how
sequential writes come back after random ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fourcorners.analysis.estimate import of_series
from fourcorners.analysis.source import Array, Measured, RunData, measured
from fourcorners.finding import Finding, worded
from fourcorners.sentences import say

IDLE, CROSS = "snia-host-idle-recovery", "snia-cross-stimulus-recovery"

LEVEL_S = 300
"""The end of a long segment, as its level."""

LOOK_S = 60
"""A rate is seen over a minute: single seconds of sequential writes in large requests vary."""

BACK_SHARE = 0.9
"""Of the rate before: from here on sequential writes are back."""


def find(run: RunData) -> list[Finding]:
    """The findings of both tests."""
    return [*_pauses(run), *_stimuli(run)]


def _pauses(run: RunData) -> list[Finding]:
    """The bursts' mean rate with each pause over the level of the writes that follow without."""
    bursts: dict[float, list[Measured]] = {}
    findings = []
    for one in measured(run, IDLE, "write"):
        idle_s = one.point.get("idle_s")
        if idle_s is None:
            continue
        if one.point.get("burst") is not None:
            bursts.setdefault(float(idle_s), []).append(one)
            continue
        mine = bursts.get(float(idle_s), [])
        level = _level(one, "ios")
        if not mine or not level:
            continue
        elapsed_s = sum(burst.elapsed_s for burst in mine)
        iops = sum(burst.ios for burst in mine) / elapsed_s
        interval = _ratio_interval(
            np.array([burst.iops for burst in mine]), _seconds(one, "ios")[-LEVEL_S:]
        )
        said = say(
            "snia_recovery.pauses",
            bursts=len(mine),
            idle_s=idle_s,
            iops=iops,
            gain=(iops / level, interval),
            level=level,
        )
        findings.append(
            worded(
                f"host_idle_{idle_s:g}",
                f"Bursts with pauses of {idle_s:g} s",
                "measured",
                said,
                value=iops / level,
                unit="1",
                interval=interval,
                evidence=[mine[0].recording, mine[-1].recording, one.recording],
            )
        )
    return findings


def _stimuli(run: RunData) -> list[Finding]:
    """When sequential writes have the rate again that they had before the random ones."""
    parts = {one.recording.rpartition("/")[2]: one for one in measured(run, CROSS, "write")}
    if not {"before", "after"} <= parts.keys():
        return []
    before, after = parts["before"], parts["after"]
    level = _level(before, "bytes")
    course = _seconds(after, "bytes")
    if not level or len(course) < LOOK_S:
        return []
    minutes = np.convolve(course, np.full(LOOK_S, 1 / LOOK_S), mode="valid")
    back = np.flatnonzero(minutes >= BACK_SHARE * level)
    words: dict[str, Any] = {
        "first": float(minutes[0]),
        "share": float(minutes[0]) / level,
        "level": level,
        "back": BACK_SHARE,
        "bounds": [],
    }
    interval = None
    if len(back):
        interval = _back_interval(course, minutes, _seconds(before, "bytes")[-LEVEL_S:])
        if interval is not None and interval[0] < interval[1]:
            words["bounds"].append(say("snia_recovery.bounds", low=interval[0], high=interval[1]))
        said = say("snia_recovery.back", **words, after_s=float(back[0]))
    else:
        most = float(minutes.max())
        said = say("snia_recovery.not_back", **words, seconds=len(course), most=most)
    return [
        worded(
            "cross_stimulus",
            "Sequential writes after random ones",
            "measured",
            said,
            value=float(back[0]) if len(back) else None,
            unit="s",
            interval=interval,
            evidence=[before.recording, after.recording],
            detail={"first_minute_share": float(minutes[0]) / level},
        )
    ]


def _back_interval(course: Array, minutes: Array, level_s: Array) -> tuple[float, float] | None:
    """When the rate may be back at the earliest and is at the latest: where it reaches the least
    and the most that the scatter of a minute and of the level leaves open."""
    threshold = BACK_SHARE * float(level_s.mean())
    # The scatter is that of the minute after: the one that reaches the threshold still rises.
    after = int(np.flatnonzero(minutes >= threshold)[0]) + LOOK_S
    bounds = _ratio_interval(course[after : after + LOOK_S], level_s)
    if bounds is None:
        return None
    middle = math.sqrt(bounds[0] * bounds[1])
    reached = [np.flatnonzero(minutes >= threshold * bound / middle) for bound in bounds]
    if not all(map(len, reached)):
        return None
    return float(reached[0][0]), float(reached[1][0])


def _ratio_interval(above: Array, below: Array) -> tuple[float, float] | None:
    one, other = of_series(above), of_series(below)
    return None if one is None or other is None else one.minus(other).interval()


def _level(one: Measured, column: str) -> float:
    """Mean of a column by the second at the end of a recording; 0 where it has no whole second."""
    seconds = _seconds(one, column)
    return float(seconds[-LEVEL_S:].mean()) if len(seconds) else 0.0


def _seconds(one: Measured, column: str) -> Array:
    """A column of the whole seconds of a recording, shape (seconds,)."""
    series = getattr(one.seconds, column)
    return np.asarray(series, dtype=np.float64)[: int(one.elapsed_s)]
