"""Whether reads that wait at equal distances of written bytes wait at equal distances in time.

A drive that is written at one pace writes as much from one housekeeping (a table that is saved, a
scan, a calibration) to the next, if that is done by the clock. Reads meet it also while nothing is
written, and erasures only while something is.
"""

from __future__ import annotations

import numpy as np
import scipy

from fourcorners.analysis.internals.thresholds import FALSE_ALARM
from fourcorners.analysis.internals.view import View
from fourcorners.analysis.source import Measured
from fourcorners.recording.arrays import Floats

_OF_WRITTEN = ("probe-conflicts", "probe-caches")
"""Tests that only read, and read what they wrote before: other reads may not need flash, and then
do not meet what it does."""

_USUAL_PERCENT = 95
"""Up to this percentile reads do not wait: longer ones than the waits in question show none."""

_WAITS_MIN = 2
"""A single long read may have any reason."""


def comes_by_the_clock(
    view: View, level_s: float, period_s: float, wait_s: float, beside_s: Floats
) -> bool:
    """Whether single reads of tests that only read wait for longer than ``level_s`` about as often
    as once in ``period_s``: by the Poisson distribution neither too rarely nor too often, each at
    :data:`~fourcorners.analysis.internals.thresholds.FALSE_ALARM`. They must also wait about as
    long: during writes a read waits for other things besides, and no longer for the same one. And
    no test may have more of the waits than its share of the time, beyond chance: what comes by the
    clock comes in each, and what a drive still does after writes comes in some.

    Args:
        view: the view of the run.
        level_s: reads that wait for the thing in question take longer than this.
        period_s: the time from one of these waits to the next during writes.
        wait_s: the median of these waits during writes.
        beside_s: the times of all reads during writes, with shape (reads,).
    """
    lengths_s: list[Floats] = []
    of_tests: list[tuple[int, float]] = []
    for m in view.points(None, "read"):
        if m.test in _OF_WRITTEN and m.queue_depth == 1 and _is_short(m, level_s):
            low_ns, high_ns, count = m.histogram
            taken_s = (low_ns + high_ns) / 2e9
            long = taken_s > level_s
            of_tests.append((int(count[long].sum()), float(np.sum(count * taken_s))))
            lengths_s.append(np.repeat(taken_s[long], count[long]))
    waits, seconds = sum(count for count, _ in of_tests), sum(taken for _, taken in of_tests)
    other_s = float(np.ptp(np.quantile(beside_s, (1 - _USUAL_PERCENT / 100, _USUAL_PERCENT / 100))))
    if waits < _WAITS_MIN or float(np.median(np.concatenate(lengths_s))) + other_s < wait_s:
        return False
    expected = seconds / period_s
    rarely = float(scipy.stats.poisson.cdf(waits, expected))
    often = float(scipy.stats.poisson.sf(waits - 1, expected))
    return min(rarely, often) >= FALSE_ALARM and not _in_some_only(of_tests)


def _in_some_only(of_tests: list[tuple[int, float]]) -> bool:
    """Whether one of the tests has more waits than its share of the time explains, by the binomial
    distribution with Bonferroni's correction for their number.

    Args:
        of_tests: of each test the number of waits and the time in seconds.
    """
    counts, seconds = (np.array(column) for column in zip(*of_tests, strict=True))
    chances = scipy.stats.binom.sf(counts - 1, counts.sum(), seconds / seconds.sum())
    return bool(chances.min() * len(of_tests) < FALSE_ALARM)


def _is_short(m: Measured, level_s: float) -> bool:
    usual_s = m.latency_percentile_s(_USUAL_PERCENT)
    return usual_s is not None and usual_s <= level_s
