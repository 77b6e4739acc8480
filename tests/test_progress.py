"""Announced and remaining times: what the parts of a plan cost, and how the estimate follows."""

import time
from collections.abc import Iterator

import pytest

import fourcorners as fc
from fourcorners.running.costs import Costs
from fourcorners.running.progress import TimeEstimate
from fourcorners.suites import Subject, find_suite
from fourcorners.suites.suite import SuitePlan

FACTOR = 2.0
"""Within which announced and remaining times hold, of what takes longer than some seconds."""

# Of "characterize sim:class-tlc-nvme-consumer-1tb": by test, seconds on the drive's clock, what it
# was expected to cost and what it took by the clock on the wall, on a machine with other load.
COURSE = (
    ("four-corners", 6_100.0, 57.4, 39.4),
    ("queue-depth", 2_025.0, 93.9, 89.4),
    ("transfer-size", 9_240.0, 58.6, 82.8),
    ("consistency", 7_001.0, 21.2, 27.7),
)


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    clock = _Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


@pytest.mark.parametrize("machine", [0.5, 1.0, 4.0])
def test_announced_and_remaining_times_hold(machine: float, clock: _Clock) -> None:
    estimate = TimeEstimate(sum(expected_s for _, _, expected_s, _ in COURSE))
    total_s = machine * sum(took_s for *_, took_s in COURSE)
    if machine == 1.0:
        assert total_s / FACTOR < estimate.remaining_s(0.0) < total_s * FACTOR
    for told_s, left_s in _told(estimate, clock, machine):
        # A machine of another speed shows in the first tenth; at the end, seconds are left.
        if left_s < 0.9 * total_s and left_s > 0.05 * total_s:
            assert left_s / FACTOR < told_s < left_s * FACTOR


def _told(estimate: TimeEstimate, clock: _Clock, machine: float) -> Iterator[tuple[float, float]]:
    total_s = machine * sum(took_s for *_, took_s in COURSE)
    for _, _, expected_s, took_s in COURSE:
        for step in range(100):
            yield estimate.remaining_s(expected_s * step / 100), total_s - clock.now
            clock.now += machine * took_s / 100
        estimate.done(expected_s)
    assert estimate.remaining_s(0.0) == 0


def test_what_falls_away_is_not_waited_for(clock: _Clock) -> None:
    estimate = TimeEstimate(100.0)
    estimate.fell_away(60.0)
    assert estimate.remaining_s(0.0) == pytest.approx(40.0)
    clock.now = 10.0
    assert estimate.remaining_s(10.0) == pytest.approx(30.0)
    assert estimate.fraction(10.0) == pytest.approx(0.25)


def _plan(locator: str, suite: str) -> tuple[SuitePlan, Costs]:
    with fc.open_target(locator) as target:
        return find_suite(suite).plan(Subject.of(target)), Costs(target)


def test_a_simulated_drive_costs_what_its_ios_do_and_not_its_seconds() -> None:
    # Both are planned for 33 minutes of their own time.
    quick_plan, quick = _plan("sim:samsung-840-pro-256gb", "queue-depth")
    slow_plan, slow = _plan("sim:wd6400aaks", "queue-depth")
    assert quick_plan.duration_s == pytest.approx(slow_plan.duration_s, rel=0.05)
    # 200 and 90,000 I/Os a second, each five to ten times as long to compute on a disk.
    assert quick.of_plan(quick_plan) > 15 * slow.of_plan(slow_plan)


def test_writes_all_over_a_full_drive_are_tried_in_steady_state() -> None:
    plan, costs = _plan("sim:samsung-840-pro-256gb", "consistency")
    [test] = plan.tests
    full_s = costs.of_test(test)
    [phase] = test.phases
    writes_s = full_s - sum(map(costs.of_step, phase.preparation))
    [measurement] = phase.measurements
    # As of a fresh drive, where each write is served some ten times as fast.
    fresh_s = Costs(costs._target).of_measurement(measurement)
    assert writes_s < 0.6 * fresh_s


def test_a_real_targets_clock_is_the_walls(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("real") / "t.bin"
    with fc.open_target(str(path), size=16 << 20) as target:
        plan = find_suite("reviews").plan(Subject.of(target))
        assert Costs(target).of_plan(plan) == pytest.approx(plan.duration_s)
