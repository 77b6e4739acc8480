"""Intervals of quantiles and means cover the truth as often as they say."""

import numpy as np
import numpy.typing as npt
import pytest
from analysis_fixture import FakeRun

from fourcorners.analysis.estimate import of_point
from fourcorners.analysis.intervals import ratio_interval
from fourcorners.analysis.quantiles import independent_ios, quantile_bounds_s
from fourcorners.analysis.quantity import MEAN_LATENCY, QUANTILES
from fourcorners.analysis.source import measured
from fourcorners.recording import Histogram, LatencyOverTime

SHARES = (0.5, 0.9, 0.99)
SECONDS, IOS = 80, 100
Floats = npt.NDArray[np.float64]


def _latencies(chance: np.random.Generator, seconds: int, correlated: bool) -> Floats:
    """Nanoseconds, shape (seconds, IOS). Correlated ones have a level that a second takes over from
    the one before, and bursts of slow I/Os."""
    noise = chance.normal(size=(seconds, IOS))
    if not correlated:
        return np.asarray(1e6 * np.exp(0.3 * noise))
    level = np.zeros(seconds)
    for second in range(1, seconds):
        level[second] = 0.5 * level[second - 1] + 0.3 * chance.normal()
    burst = np.where(chance.random(seconds) < 0.15, 1.0, 0.0)[:, None]
    slow = (chance.random((seconds, IOS)) < 0.3) * burst
    return np.asarray(1e6 * np.exp(level[:, None] + 0.3 * noise + 2.0 * slow))


def _recorded(latency_ns: Floats) -> tuple[Histogram, LatencyOverTime]:
    values = np.sort(latency_ns.ravel()).astype(np.int64)
    power = np.floor(np.log2(latency_ns)).astype(np.int64)
    step = np.left_shift(np.int64(1), power - 3)
    low = latency_ns.astype(np.int64) // step * step
    second = np.repeat(np.arange(len(latency_ns)), IOS)
    (seconds, lows, steps), count = np.unique(
        np.stack([second, low.ravel(), step.ravel()]), axis=1, return_counts=True
    )
    over_time = LatencyOverTime(seconds, lows, lows + steps - 1, count)
    return Histogram(values, values, np.ones(len(values), np.int64)), over_time


def _run(latency_ns: Floats) -> FakeRun:
    """A run of one request at a time with these latencies."""
    run, key = FakeRun(), ("four-corners/random-read", "read")
    run.add(*key, iops=IOS, elapsed_s=SECONDS, queue_depth=1, series_iops=np.full(SECONDS, IOS))
    run.all_series[key]["latency_mean_s"] = 1e-9 * latency_ns.mean(axis=1)
    run.rows[0]["latency_mean_s"] = 1e-9 * float(latency_ns.mean())
    run.histograms[key], run.over_time[key] = _recorded(latency_ns)
    for quantity in QUANTILES:
        run.rows[0][quantity.column] = 1e-9 * float(
            np.quantile(latency_ns, (quantity.percentile or 0) / 100)
        )
    return run


@pytest.mark.parametrize("correlated", [False, True])
def test_intervals_cover_the_truth(correlated: bool) -> None:
    chance = np.random.default_rng(7)
    many = _latencies(chance, 10_000, correlated)
    truth_s = np.quantile(many, SHARES) * 1e-9
    told, covered, means, repeats = np.zeros(3), np.zeros(3), 0, 100
    run_told, run_covered = np.zeros(3), np.zeros(3)
    quantities = [one for one in QUANTILES if one.percentile in (50, 90, 99)]
    for _ in range(repeats):
        sample = _latencies(chance, SECONDS, correlated)
        bounds = quantile_bounds_s(*_recorded(sample), SHARES)
        assert bounds is not None
        told += np.isfinite(bounds[0])
        covered += (bounds[0] <= truth_s) & (truth_s <= bounds[1])
        run = _run(sample)
        for place, quantity in enumerate(quantities):
            if (estimate := of_point(measured(run)[0], quantity)) is not None:
                low, high = estimate.interval()
                run_told[place] += 1
                run_covered[place] += low <= truth_s[place] <= high
        mean = of_point(measured(run)[0], MEAN_LATENCY)
        assert mean is not None
        low, high = mean.interval()
        means += low <= 1e-9 * many.mean() <= high
    # 90 %, within about three standard deviations of as many repeats.
    assert (told >= 0.7 * repeats).all(), told
    assert (covered / told >= 0.8).all(), covered / told
    assert (covered / told <= 0.99).all(), covered / told
    # Gates and differences rest on these; as wide on either side as on the wider one.
    assert (run_told == told).all(), run_told
    assert (run_covered / told >= 0.8).all(), run_covered / told
    assert (run_covered / told < 1).any(), run_covered / told
    assert 0.8 <= means / repeats <= 0.99


def test_the_same_ios_in_another_order_are_worth_less() -> None:
    chance = np.random.default_rng(1)
    mixed = _latencies(chance, SECONDS, correlated=False)
    sorted_ns = np.sort(mixed.ravel()).reshape(mixed.shape)
    for latency_ns, least, most in ((mixed, 1000, SECONDS * IOS), (sorted_ns, 1, 100)):
        histogram, over_time = _recorded(latency_ns)
        ios = independent_ios(histogram, over_time, SHARES)
        assert ios is not None
        assert (least <= ios).all(), ios
        assert (ios <= most).all(), ios


def test_what_too_few_ios_show_has_no_interval() -> None:
    latency_ns = _latencies(np.random.default_rng(2), SECONDS, correlated=False)
    histogram, over_time = _recorded(latency_ns)
    bounds = quantile_bounds_s(histogram, over_time, [1e-6, 0.5, 0.9999, 1 - 1e-6])
    assert bounds is not None
    assert np.isfinite(bounds[0]).tolist() == [False, True, False, False]
    short = _recorded(latency_ns[:19])
    assert quantile_bounds_s(*short, SHARES) is None
    assert quantile_bounds_s(histogram, LatencyOverTime.none(), SHARES) is None
    assert ratio_interval(np.ones(19), np.ones(19)) is None
