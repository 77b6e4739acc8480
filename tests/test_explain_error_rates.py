"""Tests with a stated error rate are wrong as often as they say, on synthetic truth."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fourcorners.analysis.internals.method.drift import _chance
from fourcorners.analysis.internals.thresholds import ALIKE, APART, FALSE_ALARM, disagree

CHANCE = np.random.default_rng(5)


def _sentinel(mean_s: float) -> Any:
    """200 reads with exponential latencies: their mean, and their histogram."""
    latency_ns = np.sort(CHANCE.exponential(mean_s * 1e9, 200)).astype(np.int64)
    histogram = (latency_ns, latency_ns, np.ones(200, np.int64))
    return SimpleNamespace(histogram=histogram, iops=1e9 / latency_ns.mean())


def _drifts(means_s: list[float]) -> bool:
    sentinels = [_sentinel(mean_s) for mean_s in means_s]
    times = np.array([1 / one.iops for one in sentinels])
    slowest, quickest = int(np.argmax(times)), int(np.argmin(times))
    return bool(np.ptp(times) > _chance(sentinels, slowest, quickest))


def test_reads_that_nothing_disturbs_drift_as_seldom_as_is_said() -> None:
    alarms = sum(_drifts([1e-4] * 7) for _ in range(1000))
    # The tails of 200 exponential times are a little heavier than the normal ones.
    assert alarms <= 10 * FALSE_ALARM * 1000
    assert all(_drifts([*[1e-4] * 6, 2e-4]) for _ in range(20))


@pytest.mark.parametrize(("dies", "ratio"), [("one", 1.0), ("two", 4 / 3)])
def test_places_are_on_one_die_or_two_or_it_is_left_open(dies: str, ratio: float) -> None:
    seen = ratio * np.exp(CHANCE.normal(0.0, 0.04, 100_000))
    alike, apart = (seen < ALIKE).mean(), (seen > APART).mean()
    right, wrong = (alike, apart) if dies == "one" else (apart, alike)
    assert wrong <= FALSE_ALARM
    assert right > 0.99


def test_two_ways_to_one_number_disagree_by_chance_as_seldom_as_is_said() -> None:
    half = 1.645 * 0.1

    def are_apart(by: float) -> bool:
        one, other = 1 + CHANCE.normal(0, 0.1), 1 + by + CHANCE.normal(0, 0.1)
        return disagree(one, (one - half, one + half), other, (other - half, other + half))

    assert sum(are_apart(0.0) for _ in range(4000)) <= 4 * FALSE_ALARM * 4000
    assert sum(are_apart(1.0) for _ in range(100)) > 95
