"""The judge of steady state, and SNIA's rule, on synthetic series."""

import numpy as np
import pytest

from fourcorners.analysis.steady_state import (
    UNIFORM,
    DepartureWatch,
    OnlineJudge,
    Series,
    Spread,
    State,
    Verdict,
    judge,
    snia_window,
)
from fourcorners.workload import Stream

CAPACITY = 1e9
FREE = 0.3e9


def written(value: np.ndarray) -> Series:
    """A series of a drive that is only written to, one round a second."""
    return Series.of_seconds(value, value)


def noisy(value: np.ndarray, share: float, seed: int = 1) -> np.ndarray:
    return value * (1 + share * np.random.default_rng(seed).standard_normal(len(value)))


def cliff(fast_s: int, slow_s: int) -> np.ndarray:
    return np.concatenate((np.full(fast_s, 20e6), np.full(slow_s, 4e6)))


def answer(value: np.ndarray) -> Verdict:
    return judge(written(value), CAPACITY, spare_bytes_max=FREE)


def test_snia_accepts_up_to_range_and_slope_and_not_beyond() -> None:
    def steady(*values: float) -> bool:
        window = snia_window(np.array(values))
        assert window is not None
        return window.steady

    assert steady(100, 110, 90, 110, 100)
    assert not steady(100, 111, 90, 111, 100)  # range 21 %
    assert steady(96, 98, 100, 102, 104)
    assert not steady(94, 97, 100, 103, 106)  # range 12 %, slope 12 %
    assert not steady(0, 0, 0, 0, 0)
    assert snia_window(np.array([1.0, 1.0, 1.0, 1.0])) is None


def test_snia_looks_at_the_last_rounds_only() -> None:
    window = snia_window(np.array([900.0, 500.0, 100.0, 101.0, 99.0, 100.0, 100.0]))
    assert window is not None
    assert window.steady
    assert window.first_round == 2
    assert window.average == pytest.approx(100)


def test_a_plateau_is_not_steady_while_the_drive_may_have_free_blocks() -> None:
    plateau = noisy(np.full(10, 20e6), 0.01)
    window = snia_window(plateau)
    assert window is not None
    assert window.steady
    verdict = answer(noisy(np.full(12 * 20, 1e6), 0.01))
    assert verdict.state is State.UNDECIDED
    assert not verdict.settled
    assert answer(noisy(np.full(2000, 1e6), 0.01)).settled


def test_steady_after_a_cliff_with_an_interval_that_holds_the_value() -> None:
    verdicts = [answer(noisy(cliff(10, 600), 0.05, seed)) for seed in range(40)]
    assert all(verdict.text == "steady" for verdict in verdicts)
    assert all(verdict.high / verdict.low < 1.08 for verdict in verdicts)
    assert all(8 <= verdict.first_round <= 40 for verdict in verdicts)
    # 90 % intervals: fewer than 31 of 40 has a chance below 1 %.
    assert sum(verdict.low < 4e6 < verdict.high for verdict in verdicts) >= 31


def test_a_fresh_cliff_needs_a_turnover() -> None:
    verdict = answer(noisy(cliff(15, 30), 0.01))
    assert not verdict.settled
    assert verdict.written_bytes < verdict.needed_bytes


def test_a_level_is_final_only_after_several_turnovers() -> None:
    early = answer(noisy(cliff(10, 150), 0.01))
    assert early.prepared
    assert not early.settled
    assert answer(noisy(cliff(10, 350), 0.01)).settled


def test_a_decay_is_falling() -> None:
    seconds = np.arange(300)
    verdict = answer(noisy(4e6 * (1 + np.exp(-seconds / 150)), 0.02))
    assert verdict.text == "not steady, still falling"
    assert answer(noisy(4e6 * (1 - 0.5 * np.exp(-seconds / 150)), 0.02)).state is State.RISING


def test_an_oscillation_has_its_period_and_settles_on_its_mean() -> None:
    seconds = np.arange(2000)
    verdict = answer(noisy(4e6 * (1 + 0.3 * np.sin(2 * np.pi * seconds / 80)), 0.02))
    assert verdict.state is State.OSCILLATING
    assert verdict.period_s == pytest.approx(80, rel=0.03)
    assert verdict.settled
    assert verdict.value == pytest.approx(4e6, rel=0.02)
    assert verdict.text == f"not steady, oscillating with period {verdict.period_s:.3g} s"


def test_online_as_offline() -> None:
    value = noisy(cliff(10, 400), 0.05)
    online = OnlineJudge(CAPACITY, spare_bytes_max=FREE)
    stopped = None
    for second, rate in enumerate(value):
        verdict = online.add(rate, 1.0, rate)
        if verdict is not None and verdict.settled:
            stopped = second
            break
    assert stopped is not None
    offline = judge(written(value[: stopped + 1]), CAPACITY, spare_bytes_max=FREE)
    assert offline == online.verdict


def test_a_series_without_writes_is_judged_by_time() -> None:
    value = noisy(np.full(300, 5e4), 0.02)
    verdict = judge(Series(value, np.ones(300), np.zeros(300)), CAPACITY)
    assert verdict.settled
    assert verdict.value == pytest.approx(5e4, rel=0.01)


def test_only_zeros_are_nothing() -> None:
    assert not answer(np.zeros(100)).settled


def test_a_drive_that_was_not_filled_falls_until_its_level_can_be_told() -> None:
    def rate(capacities: float) -> np.ndarray:
        """Of collection that the empty part helps by as much as its share of the spare area."""
        value, total = [20e6] * 60, 60 * 20e6
        while total < capacities * CAPACITY:
            value.append(4e6 * (1 + 3 * np.exp(-total / CAPACITY)))
            total += value[-1]
        return noisy(np.array(value), 0.02)

    def answered(capacities: float) -> Verdict:
        return judge(written(rate(capacities)), CAPACITY, unwritten_bytes=CAPACITY)

    assert answered(2.5).text == "not steady, still falling"
    verdict = answered(6)
    assert verdict.text == "steady"
    # The mean of the last capacity is 2 % above what the drive will end at.
    assert verdict.value == pytest.approx(4e6, rel=0.01)


@pytest.mark.parametrize("capacities", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("exponent", [0.8, 1.0, 1.2])
def test_a_spread_knows_how_much_is_still_unwritten(exponent: float, capacities: float) -> None:
    places = 20_000
    odds = np.arange(1, places + 1.0) ** -exponent
    draws = np.random.default_rng(5).choice(
        places, size=int(capacities * places), p=odds / odds.sum()
    )
    left = 1 - len(np.unique(draws)) / places
    spread = Spread.of_pattern(f"zipf:{exponent}", places)
    assert spread.unwritten(np.array([capacities]))[0] == pytest.approx(left, abs=0.01)


def test_a_spread_is_as_slow_as_its_cold_data() -> None:
    assert UNIFORM.slowness == Spread.of_pattern("hot-cold:0.5:0.5").slowness == 1.0
    assert Spread.of_pattern("sequential").slowness == 1.0
    # After 1.25 capacities uniform writes leave 29 %; of these, 80 % are written at a quarter of
    # that pace, and 29 % are left after 4.1 capacities.
    assert Spread.of_pattern("hot-cold:0.2:0.8").slowness == pytest.approx(4.1 / 1.25, rel=0.01)
    assert Spread.of_pattern("zoned:80/20:20/80").slowness == pytest.approx(4.1 / 1.25, rel=0.01)
    # Fio's pareto: a fifth of the places takes four fifths of the accesses, and so on within it.
    assert Spread.of_pattern("pareto:0.2").slowness > 4.1 / 1.25
    assert Spread.of_pattern("hot-cold:0.5:1").slowness == 8.0


def test_several_streams_mix_as_the_slowest_that_writes() -> None:
    uniform, skewed = Stream.write("random", 4096), Stream.write("hot-cold:0.2:0.8", 4096)
    read = Stream.read("hot-cold:0.1:0.9", 4096)
    spread = Spread.of_streams([uniform, skewed, read], CAPACITY)
    assert spread.slowness == Spread.of_pattern("hot-cold:0.2:0.8").slowness


def test_a_slow_fall_of_skewed_writes_is_not_called_steady() -> None:
    def answered(capacities: float, fall: float, skewed: Spread) -> Verdict:
        """A cliff, and a rate that falls by so much until 4 capacities are written."""
        total = np.arange(0.0, capacities, 0.002)
        value = np.where(total < 0.2, 20e6, 4e6 * (1 + fall * np.maximum(0, 1 - total / 4)))
        noise = np.random.default_rng(1).normal(1, 0.04, len(value))
        series = Series(
            value * noise, CAPACITY * 0.002 / value, CAPACITY * np.full(len(value), 0.002)
        )
        return judge(series, CAPACITY, spare_bytes_max=FREE, spread=skewed)

    zipf = Spread.of_pattern("zipf:0.99")
    assert answered(1.3, 0.12, UNIFORM).settled
    assert not answered(1.3, 0.12, zipf).settled
    assert answered(3.0, 0.0, zipf).settled


def test_a_level_before_the_first_collection_of_cold_data_is_not_final() -> None:
    """As of a DFTL drive of other people's design: level until 2.6 capacities, then a step."""
    hot_cold = Spread.of_pattern("hot-cold:0.2:0.8")

    def answered(capacities: float, spread: Spread) -> Verdict:
        total = np.arange(0.0, capacities, 0.002)
        value = noisy(np.where(total < 0.2, 20e6, np.where(total < 2.6, 4.5e6, 4e6)), 0.01)
        written_bytes = np.full(len(total), 0.002 * CAPACITY)
        return judge(Series(value, written_bytes / value, written_bytes), CAPACITY, spread=spread)

    assert answered(2.5, UNIFORM).settled
    assert not answered(2.5, hot_cold).settled
    assert answered(6, hot_cold).settled
    assert answered(6, hot_cold).value == pytest.approx(4e6, rel=0.02)
    # Under Zipf's law no such step is ahead, and data that is never written again has none.
    assert Spread.of_pattern("zipf:0.99").late_step == 1.0
    assert Spread.of_pattern("hot-cold:0.5:1").late_step == 1.0


def test_a_part_that_skewed_writes_leave_empty_is_counted() -> None:
    hot_cold = Spread.of_pattern("hot-cold:0.2:0.8")
    total = np.arange(0.0, 6.0, 0.002)
    empty = hot_cold.unwritten(total)
    value = noisy(np.where(total < 0.3, 20e6, 4e6 * (1 + 3 * empty)), 0.02)
    written_bytes = np.full(len(total), 0.002 * CAPACITY)
    series = Series(value, written_bytes / value, written_bytes)

    def answered(spread: Spread) -> Verdict:
        return judge(series, CAPACITY, unwritten_bytes=CAPACITY, spread=spread)

    # It still has 18 % of its capacity empty: uniform writes would have left 0.2 %.
    assert not answered(hot_cold).settled
    assert answered(hot_cold).text == "not steady, still falling"


@pytest.mark.parametrize("unwritten", [0.0, CAPACITY])
def test_a_rate_that_never_changed_may_still_go_by_time(unwritten: float) -> None:
    """As of a small volume whose credits end after half an hour."""

    def answered(seconds: int, rate: float, spare: float = FREE) -> Verdict:
        series = written(noisy(np.full(seconds, rate), 0.01))
        return judge(series, CAPACITY, spare_bytes_max=spare, unwritten_bytes=unwritten)

    early = answered(1700, 12e6)
    assert early.state is State.UNDECIDED
    assert early.reason.code == "judge.never_slower"
    assert answered(1900, 12e6).settled
    if not unwritten:
        # After as much of the same writes it was another rate before.
        assert answered(1700, 12e6, 0.0).settled


def test_a_short_oscillation_is_found_round_by_round() -> None:
    seconds = np.arange(6000)
    verdict = answer(noisy(4e6 * (1 + 0.3 * np.sin(2 * np.pi * seconds / 11)), 0.02))
    assert verdict.state is State.OSCILLATING
    assert verdict.settled
    assert verdict.period_s == pytest.approx(11, rel=0.03)


def test_steady_noise_is_no_departure() -> None:
    watch = DepartureWatch(noisy(np.full(60, 1e4), 0.08))
    later = noisy(np.full(20_000, 1e4), 0.08, seed=2)
    assert all(watch.add(value) is None for value in later)


def test_a_stall_is_no_departure() -> None:
    watch = DepartureWatch(noisy(np.full(60, 1e4), 0.02))
    later = noisy(np.full(1000, 1e4), 0.02, seed=2)
    later[[200, 500, 501]] *= 0.05
    assert all(watch.add(value) is None for value in later)


@pytest.mark.parametrize("swing", [0.0, 0.3])
@pytest.mark.parametrize("period", [None, 3, 8])
@pytest.mark.parametrize("stall", [0.0, 0.1, 5.0, 30.0])
def test_a_round_alone_is_no_departure_in_batches_either(
    stall: float, period: int | None, swing: float
) -> None:
    def rounds(count: int, seed: int) -> np.ndarray:
        phase = 2 * np.pi * np.arange(count) / (period or 1)
        return noisy(1e3 * (1 + swing * np.sin(phase)), 0.01, seed=seed)

    watch = DepartureWatch(rounds(240, 1), period_rounds=period)
    later = rounds(960, 2)
    later[[200, 500, 501, 703]] = 1e3 * stall
    assert all(watch.add(value) is None for value in later)
    assert any(watch.add(0.6 * value) is not None for value in later)


@pytest.mark.parametrize("share", [0.6, 1.5])
def test_a_departure_is_noticed_soon_and_dated(share: float) -> None:
    value = noisy(np.full(400, 1e4), 0.03)
    value[300:] *= share
    watch = DepartureWatch(value[:100])
    noticed = [departure for rate in value[100:] if (departure := watch.add(rate)) is not None]
    assert noticed
    assert noticed[0].since_round == pytest.approx(200, abs=1)
    assert noticed[0].noticed_round < 205
    assert noticed[0].level_share == pytest.approx(share, rel=0.05)
