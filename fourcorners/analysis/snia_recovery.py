"""Findings of SNIA's two tests of recovery: what pauses between bursts give back, and how
sequential writes come back after random ones."""

from __future__ import annotations

import numpy as np

from fourcorners import wording
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.source import Array, Measured, RunData, measured

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
        level = _level(run, one, "ios")
        if not mine or not level:
            continue
        elapsed_s = sum(burst.number("elapsed_s") or 0.0 for burst in mine)
        iops = sum(burst.ios for burst in mine) / elapsed_s
        findings.append(
            Finding(
                name=f"host_idle_{idle_s:g}",
                title=f"Bursts with pauses of {idle_s:g} s",
                verdict="measured",
                text=f"{wording.count(len(mine), 'burst')} with pauses of {idle_s:g} s: "
                f"{wording.number(iops)} IOPS, {wording.times(iops / level)} the "
                f"{wording.number(level)} without a pause.",
                value=iops / level,
                unit="1",
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
    level = _level(run, before, "bytes")
    course = _seconds(run, after, "bytes")
    if not level or len(course) < LOOK_S:
        return []
    minutes = np.convolve(course, np.full(LOOK_S, 1 / LOOK_S), mode="valid")
    back = np.flatnonzero(minutes >= BACK_SHARE * level)
    first = f"The first minute after the random writes has {wording.rate(float(minutes[0]))}, "
    first += f"{wording.percent(float(minutes[0]) / level)} of the {wording.rate(level)} before"
    share = wording.percent(BACK_SHARE)
    if len(back):
        told = f"{share} are reached again after {wording.clock(float(back[0]))}"
    else:
        told = (
            f"{share} are not reached again in {wording.clock(len(course))}: the most is "
            f"{wording.rate(float(minutes.max()))}"
        )
    return [
        Finding(
            name="cross_stimulus",
            title="Sequential writes after random ones",
            verdict="measured",
            text=f"{first}; {told}.",
            value=float(back[0]) if len(back) else None,
            unit="s",
            evidence=[before.recording, after.recording],
            detail={"first_minute_share": float(minutes[0]) / level},
        )
    ]


def _level(run: RunData, one: Measured, column: str) -> float:
    """Mean of a column by the second at the end of a recording; 0 where it has no whole second."""
    seconds = _seconds(run, one, column)
    return float(seconds[-LEVEL_S:].mean()) if len(seconds) else 0.0


def _seconds(run: RunData, one: Measured, column: str) -> Array:
    """A column of the whole seconds of a recording, shape (seconds,)."""
    series = run.series(one.recording, one.operation)[column]
    return np.asarray(series, dtype=np.float64)[: int(one.number("elapsed_s") or 0)]
