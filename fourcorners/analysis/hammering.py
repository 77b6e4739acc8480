"""Findings of the test of recovery: what pauses and TRIM give back to a hammered drive, and how
fast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fourcorners.analysis.consistency import full_seconds
from fourcorners.analysis.estimate import of_series
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Array, Measured, RunData, measured
from fourcorners.finding import Finding, worded
from fourcorners.sentences import say
from fourcorners.wording import at_start

HAMMERED_MAX = 0.9
"""Share of the fresh drive's rate above which a drive counts as not slowed by hammering."""

FRESH_S, HAMMERED_S = 10, 60
"""What of the hammering is the fresh drive's rate, its first seconds, and the hammered one's, its
last."""

BACK_SHARE = 0.5
"""Of the rate that the hammering took: from here on a drive is back."""


@dataclass(frozen=True)
class _Pause:
    """How much of the lost rate came back in a pause: all of it is 1, none of it 0."""

    idle_s: float
    share: float
    interval: tuple[float, float] | None
    evidence: tuple[str, str]


def find(run: RunData) -> list[Finding]:
    """The rate after a pause or TRIM over that of the hammered drive just before it, where the
    hammering had slowed it; and after how long a pause it is back."""
    fresh_s = before = None
    pauses: list[_Pause] = []
    findings = []
    for one in measured(run, "recovery", "write"):
        variant = str(one.point.get("variant"))
        after_s = _whole_seconds(run, one)
        if not len(after_s):
            after_s = np.array([one.iops])
        if variant == "hammered":
            before, hammered_s = one, after_s[-HAMMERED_S:]
            if "/hammer" in one.recording:
                fresh_s = after_s[:FRESH_S]
            continue
        if before is None or fresh_s is None:
            continue
        fresh, reference = float(fresh_s.mean()), float(hammered_s.mean())
        evidence = (before.recording, one.recording)
        # Not by chance: if hardly anything was lost, the share that came back is unknown.
        _, most = _ratio_interval(hammered_s, fresh_s) or (0.0, 0.0)
        slowed = reference <= HAMMERED_MAX * fresh and most < 1
        idle_s = one.point.get("idle_s")
        if slowed and idle_s is not None:
            share, bounds = _share_back(after_s, hammered_s, fresh_s)
            pauses.append(_Pause(float(idle_s), share, bounds, evidence))
        gain = float(after_s.mean()) / reference if reference and slowed else None
        interval = _ratio_interval(after_s, hammered_s) if gain is not None else None
        words = {
            "variant": at_start(variant),
            "iops": float(after_s.mean()),
            "hammered": reference,
            "fresh": fresh,
            "gain": (gain, interval),
        }
        if gain is not None:
            said = say("recovery.times", **words)
        else:
            said = say("recovery.stalls" if slowed else "recovery.not_slowed", **words)
        findings.append(
            worded(
                f"recovery_{one.recording.partition('/')[2]}",
                f"Recovery {variant}",
                "measured" if gain is not None else "not identifiable",
                said,
                value=gain,
                unit="1",
                interval=interval,
                evidence=evidence,
            )
        )
    return [*findings, *_time(sorted(pauses, key=lambda pause: pause.idle_s))]


def _time(pauses: Sequence[_Pause]) -> list[Finding]:
    """The shortest pause from which on half of the lost rate comes back."""
    if not pauses:
        return []
    back = _from_which_on(pauses, [pause.share >= BACK_SHARE for pause in pauses])
    most = max(pauses, key=lambda pause: pause.share)
    words: dict[str, Any] = {"half": BACK_SHARE, "longest_s": pauses[-1].idle_s}
    if back is None:
        comes = any(pause.share >= BACK_SHARE for pause in pauses)
        said = say("recovery.not_lasting" if comes else "recovery.never", **words, **_words(most))
    elif back == 0:
        said = say("recovery.at_once", **words, **_words(pauses[0]))
    else:
        shorter = _words(pauses[back - 1])
        words |= {"shorter_s": shorter["idle_s"], "shorter": shorter["share"]}
        said = say("recovery.between", **words, **_words(pauses[back]))
    return [
        worded(
            "recovery_time",
            "How fast the drive recovers",
            "measured",
            said,
            value=None if back is None else pauses[back].idle_s,
            unit="s",
            interval=_time_interval(pauses),
            evidence=list(dict.fromkeys(id for pause in pauses for id in pause.evidence)),
            detail={
                "idle_s": [pause.idle_s for pause in pauses],
                "share_of_lost": [pause.share for pause in pauses],
                "share_of_lost_interval": [pause.interval for pause in pauses],
            },
        )
    ]


def _from_which_on(pauses: Sequence[_Pause], holds: Sequence[bool]) -> int | None:
    """The first pause that holds with all longer ones."""
    fails = [place for place in range(len(pauses)) if not holds[place]]
    first = fails[-1] + 1 if fails else 0
    return first if first < len(pauses) else None


def _time_interval(pauses: Sequence[_Pause]) -> tuple[float, float] | None:
    """From the longest pause in which the drive is surely not back (none: 0) to the shortest from
    which on it surely is; ``None`` where no pause is long enough or the shares have no intervals.
    """
    bounds = [pause.interval for pause in pauses if pause.interval is not None]
    if len(bounds) < len(pauses):
        return None
    surely = _from_which_on(pauses, [low >= BACK_SHARE for low, _ in bounds])
    if surely is None:
        return None
    not_back = [
        pause.idle_s for pause, (_, high) in zip(pauses, bounds, strict=True) if high < BACK_SHARE
    ]
    return max(not_back, default=0.0), pauses[surely].idle_s


def _words(pause: _Pause) -> dict[str, Any]:
    """A pause and the share that came back, for a sentence; less than nothing is nothing."""
    low, high = pause.interval or (pause.share, pause.share)
    share = (max(0.0, pause.share), (max(0.0, low), max(0.0, high)))
    return {"idle_s": pause.idle_s, "share": share}


def _share_back(
    after_s: Array, hammered_s: Array, fresh_s: Array
) -> tuple[float, tuple[float, float] | None]:
    """(after - hammered) / (fresh - hammered) with its interval, by the first derivatives."""
    after, hammered, fresh = (float(one.mean()) for one in (after_s, hammered_s, fresh_s))
    lost = fresh - hammered
    share = (after - hammered) / lost
    weights = ((after_s, 1.0), (hammered_s, share - 1), (fresh_s, -share))
    variance, freedom = 0.0, math.inf
    for seconds, weight in weights:
        estimate = of_series(seconds)
        if estimate is not None:
            variance += (weight * estimate.error * estimate.value) ** 2
            freedom = min(freedom, estimate.degrees_of_freedom)
        elif seconds.any():  # of a stall nothing is unsure
            return share, None
    half = 0.0 if math.isinf(freedom) else two_sided_t(freedom) * math.sqrt(variance) / lost
    return share, (share - half, share + half)


def _ratio_interval(above_s: Array, below_s: Array) -> tuple[float, float] | None:
    above, below = of_series(above_s), of_series(below_s)
    return None if above is None or below is None else above.minus(below).interval()


def _whole_seconds(run: RunData, one: Measured) -> Array:
    """IOPS of the whole seconds of a recording, shape (seconds,)."""
    series = np.asarray(one.second_ios, np.float64)
    seconds: Array = full_seconds(series, one.elapsed_s)
    return seconds
