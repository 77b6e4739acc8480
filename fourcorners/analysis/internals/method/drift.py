"""Finding ``drift``: whether the drive stayed the same while it was probed.

Between its points, which come in random order, a probe repeats the same small reads. Their
histograms show how much they may differ by chance; any further change comes from the drive's state
or from other load.
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
"""Drift is reported if the largest over the smallest sentinel, less 1 and less the part by chance,
is at least this. A smaller drift moves no finding by as much as its own interval."""

SURE = "sure_change"
"""The key in a finding's detail for the change less the part by chance."""

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
    """The seconds by which the slowest and the quickest mean may differ without a change: in at
    most :data:`~fourcorners.analysis.internals.thresholds.FALSE_ALARM` of the probes they differ by
    more, by Bonferroni's bound over all pairs."""
    errors = [
        (histogram_mean_error(*sentinels[which].histogram) or math.inf) / two_sided_t(math.inf)
        for which in (slowest, quickest)
    ]
    pairs = len(sentinels) * (len(sentinels) - 1) / 2
    return float(scipy.stats.norm.isf(FALSE_ALARM / 2 / max(pairs, 1))) * math.hypot(*errors)
