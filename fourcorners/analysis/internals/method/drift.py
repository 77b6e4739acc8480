"""Finding ``drift``: whether the drive stayed the same while it was probed.

Between the points of a probe, which come in random order, the same small reads are made again and
again. They differ by chance as far as their histograms say; what is beyond that is the drive's
state, or other load on it.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from fourcorners.analysis.internals.thresholds import FALSE_ALARM
from fourcorners.analysis.internals.view import SENTINELS, View
from fourcorners.analysis.intervals import histogram_mean_error, two_sided_t
from fourcorners.analysis.source import Measured
from fourcorners.finding import Finding, worded
from fourcorners.sentences import say

DRIFT_NOTED = 0.05
"""Largest over smallest sentinel, less one and less what chance makes of it, from which drift is
said to be there: what is less moves no finding by as much as its own interval."""

SURE = "sure_change"
"""Of a finding's detail: the change less what chance makes of it."""

SIZES = "probe-sizes"
"""The probe that reads first, and then writes."""


def find(view: View) -> list[Finding]:
    """One finding for each probe with sentinels whose drift is more than chance; for sizes one of
    the reads, and one of what follows."""
    by_test: dict[tuple[str, bool], list[Measured]] = {}
    wrote: set[str] = set()
    sentinels = {m.recording for m in SENTINELS(view)}
    for m in view.points():
        if m.operation == "write" and m.test == SIZES:
            wrote.add(m.test)
        if m.operation == "read" and m.recording in sentinels:
            by_test.setdefault((m.test, m.test in wrote), []).append(m)
    found = (_drift(view, test, later, points) for (test, later), points in by_test.items())
    return [finding for finding in found if finding is not None]


def _drift(view: View, test: str, later: bool, sentinels: list[Measured]) -> Finding | None:
    times = np.array([1 / m.iops for m in sentinels])
    slowest, quickest = int(np.argmax(times)), int(np.argmin(times))
    change = float(times[slowest] / times[quickest] - 1)
    sure = change - _chance(sentinels, slowest, quickest) / float(times[quickest])
    if len(times) < 2 or sure < DRIFT_NOTED:
        return None
    said = say("drift.measured", test=test, quickest=times[quickest], slowest=times[slowest])
    return worded(
        f"drift_{test}_writes" if later else f"drift_{test}",
        f"Drift during {test}" + (", writes" if later else ""),
        "measured",
        said,
        value=change,
        unit="fraction",
        evidence=[m.recording for m in sentinels],
        detail={"sentinel_s": times, "test": test, "wrote": later, SURE: sure},
    )


def _chance(sentinels: list[Measured], slowest: int, quickest: int) -> float:
    """By how many seconds two means of as many may differ where none changed: in no more than
    :data:`~fourcorners.analysis.internals.thresholds.FALSE_ALARM` of the probes, by Bonferroni's
    bound over all pairs."""
    errors = [
        (histogram_mean_error(*sentinels[which].histogram) or math.inf) / two_sided_t(math.inf)
        for which in (slowest, quickest)
    ]
    pairs = len(sentinels) * (len(sentinels) - 1) / 2
    return float(scipy.stats.norm.isf(FALSE_ALARM / 2 / max(pairs, 1))) * math.hypot(*errors)
