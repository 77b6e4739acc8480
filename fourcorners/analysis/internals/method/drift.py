"""Finding ``drift``: whether the drive stayed the same while it was probed.

Between its points, which come in random order, a probe repeats the same small reads. Their
histograms show how much they may differ by chance; any further change comes from the drive's state
or from other load.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from fourcorners.analysis.internals.method import two_times
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

SLOW_FIRST = "slow_first"
"""The key for how many of the small reads came first and took one time, if all others took another,
shorter one; 0 for others."""

SIZES = "probe-sizes"
"""The probe that reads first, and then writes."""

READING = (
    *(f"probe-{name}" for name in ("depth", "positions", "seeks", "caches", "conflicts")),
    SIZES,
)
"""The probes that do not change the drive, including that of sizes before it writes. A drift during
them comes from other load, or from work that earlier writes had left."""

WRITING = tuple(f"probe-{name}" for name in ("alignment", "burst", "content", "flush", "overwrite"))
"""The probes that write and thereby change the drive."""


def find(view: View) -> list[Finding]:
    """One finding for each probe with sentinels whose drift is more than chance; for sizes one of
    the reads, and one of what follows."""
    found = (_drift(test, later, points) for (test, later), points in sentinels(view).items())
    return [finding for finding in found if finding is not None]


def sentinels(view: View) -> dict[tuple[str, bool], list[Measured]]:
    """The small reads between the points of each probe, in the order of the run; those of sizes
    that come after its first write by themselves (true)."""
    by_test: dict[tuple[str, bool], list[Measured]] = {}
    wrote: set[str] = set()
    found = {m.recording for m in SENTINELS(view)}
    for m in view.points():
        if m.operation == "write" and m.test == SIZES:
            wrote.add(m.test)
        if m.operation == "read" and m.recording in found:
            by_test.setdefault((m.test, m.test in wrote), []).append(m)
    return by_test


def sure_change(points: list[Measured]) -> float:
    """The largest over the smallest time of these reads, less 1 and less the part by chance; 0 of a
    single one."""
    times = np.array([1 / m.iops for m in points])
    if len(times) < 2:
        return 0.0
    slowest, quickest = int(np.argmax(times)), int(np.argmin(times))
    chance_s = _chance(points, slowest, quickest)
    return float((times[slowest] - chance_s) / times[quickest] - 1)


def _drift(test: str, later: bool, points: list[Measured]) -> Finding | None:
    times = np.array([1 / m.iops for m in points])
    sure = sure_change(points)
    if sure < DRIFT_NOTED:
        return None
    said = say("drift.measured", test=test, quickest=times.min(), slowest=times.max())
    return worded(
        f"drift_{test}_writes" if later else f"drift_{test}",
        f"Drift during {test}" + (", writes" if later else ""),
        "measured",
        said,
        value=float(times.max() / times.min() - 1),
        unit="fraction",
        evidence=[m.recording for m in points],
        detail={
            "sentinel_s": times,
            "test": test,
            "wrote": later,
            SURE: sure,
            SLOW_FIRST: two_times.slow_ones(points),
        },
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
