"""Consistency findings on series whose cliff and steady state are known."""

from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun, Floats, named
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorners.analysis import consistency, find
from fourcorners.finding import Finding


def cliff_series(
    seconds: int, cliff_s: int, fresh: float, steady: float, noise: float, seed: int = 1
) -> Floats:
    rng = np.random.default_rng(seed)
    level = np.where(np.arange(seconds) < cliff_s, fresh, steady)
    return np.asarray(np.round(level * np.exp(rng.normal(0, noise, seconds))))


def finding_of(series: Floats, **fields: Any) -> Finding:
    run = FakeRun(capacity_bytes=fields.pop("capacity_bytes", 256 * 10**9))
    run.add_consistency(series, **fields)
    return named(find(run), "consistency_write")


@settings(deadline=None)
@given(
    cliff_s=st.integers(5, 900),
    ratio=st.floats(2, 50),
    noise=st.floats(0, 0.1),
    seed=st.integers(0, 2**32),
)
def test_a_clear_cliff_is_found_to_the_second(
    cliff_s: int, ratio: float, noise: float, seed: int
) -> None:
    series = cliff_series(2000, cliff_s, 8000 * ratio, 8000, noise, seed)
    assert consistency.find_cliff(series) == pytest.approx(cliff_s, abs=1)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3, 0.5])
def test_a_cliff_is_seen_in_noise_alone_once_in_a_thousand_series_at_most(noise: float) -> None:
    series = [cliff_series(1000, 0, 1, 20_000, noise, seed) for seed in range(1000)]
    assert sum(consistency.find_cliff(one) is not None for one in series) <= 1


def named_sentences(finding: Finding) -> set[str]:
    return {sentence["name"] for sentence in finding.detail["sentences"]}


def test_a_rise_is_not_a_cliff() -> None:
    assert consistency.find_cliff(cliff_series(1000, 300, 5000, 50_000, 0.05)) is None


def test_numbers_of_a_run_with_a_cliff() -> None:
    series = cliff_series(2000, 20, 95_000, 8_000, 0.05)
    finding = finding_of(series, capacity_bytes=60 * 10**9)
    detail = finding.detail
    assert finding.verdict == "measured"
    assert finding.unit == "IOPS"
    assert finding.value == pytest.approx(series[-400:].mean())
    assert finding.interval is not None
    assert finding.value is not None
    assert finding.interval[0] < finding.value < finding.interval[1]
    assert finding.interval[1] - finding.interval[0] < 0.02 * finding.value
    assert detail["cliff_s"] == 20
    assert detail["steady_from_s"] == 1600
    assert detail["fresh_iops"] == pytest.approx(95_000, rel=0.05)
    written = series[:20].sum() * 4096
    assert detail["bytes_until_cliff"] == pytest.approx(written)
    assert detail["capacities_until_cliff"] == pytest.approx(written / 60e9)
    assert detail["coefficient_of_variation"] == pytest.approx(0.05, rel=0.2)
    assert detail["mean_over_deviation"] == pytest.approx(20, rel=0.2)
    assert detail["worst_second_iops"] == series[-400:].min()
    assert detail["longest_stall_s"] == 0
    assert detail["feels_like"]["name"] == "feels_even_at_the_end"
    assert "8.25 %" in detail["feels_like"]["text"]


def test_stalls_and_slow_seconds_are_counted() -> None:
    series = cliff_series(2000, 30, 95_000, 8_000, 0.02)
    series[1700:1703] = 0
    series[1800:1837] = 3000
    finding = finding_of(series)
    assert finding.detail["longest_stall_s"] == 3
    assert finding.detail["worst_second_iops"] == 0
    assert finding.detail["below_half_median_share"] == pytest.approx(40 / 400)
    assert finding.detail["feels_like"]["name"] == "feels_uneven"
    assert "longest_stall" in named_sentences(finding)


def test_the_partial_last_second_is_dropped() -> None:
    series = np.append(cliff_series(2000, 30, 95_000, 8_000, 0.0), 5.0)
    detail = finding_of(series, elapsed_s=2000.001).detail
    assert detail["seconds"] == 2000
    assert detail["worst_second_iops"] == 8_000


def test_an_even_series_has_no_score_rather_than_an_infinite_one() -> None:
    detail = finding_of(np.full(2000, 40_000.0), capacity_bytes=200 * 10**9).detail
    assert detail["coefficient_of_variation"] == 0
    assert detail["mean_over_deviation"] is None


def test_a_run_that_may_not_have_met_its_cliff_says_so() -> None:
    finding = finding_of(np.full(200, 40_000.0))
    assert finding.verdict == "not identifiable"
    assert finding.value is None
    assert "32.8 GB were written" in finding.detail["reason"]
    unknown = finding_of(np.full(200, 40_000.0), capacity_bytes=None)
    assert "without the drive's capacity" in unknown.detail["reason"]


def test_enough_written_without_a_cliff_is_a_steady_state() -> None:
    finding = finding_of(np.full(2000, 32_000.0), capacity_bytes=150 * 10**9)
    assert finding.verdict == "measured"
    assert finding.detail["cliff_s"] is None


def test_writes_too_slow_for_fresh_flash_need_no_capacity() -> None:
    finding = finding_of(np.tile([4.0, 4.0, 5.0], 100))
    assert finding.verdict == "measured"
    assert finding.value == pytest.approx(4.33, abs=0.05)
    assert finding.detail["feels_like"]["name"] == "feels_stuck"


def test_a_rate_still_falling_is_not_steady() -> None:
    finding = finding_of(np.linspace(90_000, 8_000, 2000))
    assert finding.verdict == "not identifiable"
    assert "still falling" in finding.detail["reason"]


def test_a_cliff_within_the_last_seconds_is_not_followed_by_a_steady_state() -> None:
    finding = finding_of(cliff_series(200, 165, 90_000, 8_000, 0.02))
    assert finding.verdict == "not identifiable"


def test_a_run_of_a_few_seconds_says_nothing() -> None:
    finding = finding_of(np.full(5, 40_000.0))
    assert finding.verdict == "not identifiable"
    assert finding.detail["seconds"] == 5


def test_a_rate_that_keeps_changing_is_not_called_even() -> None:
    finding = finding_of(np.tile([22_000.0, 45_000.0], 1000), capacity_bytes=10**9)
    assert finding.detail["feels_like"]["name"] == "feels_restless"
    calm = finding_of(np.tile([32_000.0, 34_000.0], 1000), capacity_bytes=10**9)
    assert calm.detail["feels_like"]["name"] == "feels_the_same"
