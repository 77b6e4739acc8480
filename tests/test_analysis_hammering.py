"""Findings of the tests of recovery and of write saturation on synthetic truth."""

from __future__ import annotations

from unittest.mock import ANY

import numpy as np
import pytest
from analysis_fixture import FakeRun

from fourcorners.analysis import hammering, rounds, snia_recovery
from fourcorners.finding import Finding
from fourcorners.sentences import say


def _run(fresh_iops: float, hammered_iops: float, after_iops: dict[float, float]) -> FakeRun:
    """Hammering that falls to its level after 20 s, then a minute before and after each pause."""
    run = FakeRun()
    course = np.concatenate([np.full(20, fresh_iops), np.full(80, hammered_iops)])
    run.add(
        "recovery/hammer",
        "write",
        iops=float(course.mean()),
        elapsed_s=100,
        series_iops=course,
        variant="hammered",
    )
    for idle_s, iops in after_iops.items():
        run.add(f"recovery/before-idle-{idle_s:g}", "write", iops=hammered_iops, variant="hammered")
        run.add(
            f"recovery/after-idle-{idle_s:g}",
            "write",
            iops=iops,
            variant=f"after {idle_s:g} s idle",
            idle_s=idle_s,
        )
    return run


def _found(run: FakeRun) -> dict[str, Finding]:
    return {one.name: one for one in hammering.find(run)}


def test_the_gain_and_the_pause_that_brings_the_drive_back() -> None:
    found = _found(_run(10_000, 1_000, {1.0: 1_100, 10.0: 6_000, 60.0: 9_000}))
    assert found["recovery_after-idle-10"].value == pytest.approx(6.0)
    assert found["recovery_after-idle-60"].verdict == "measured"
    time = found["recovery_time"]
    assert (time.value, time.interval) == (10.0, (1.0, 10.0))
    assert time.said is not None
    assert time.said.code == "recovery.between"
    slower = _found(_run(10_000, 1_000, {1.0: 1_100, 10.0: 4_600}))
    assert slower["recovery_time"].value is None
    assert slower["recovery_time"].said == say(
        "recovery.never", half=0.5, longest_s=10.0, idle_s=10.0, share=(pytest.approx(0.4), ANY)
    )


def test_a_drive_that_stays_where_it_was_has_not_come_back() -> None:
    time = _found(_run(10_000, 7_000, {1: 7_000, 10: 7_000, 60: 7_000}))["recovery_time"]
    assert (time.value, time.interval) == (None, None)
    assert time.said is not None
    assert time.said.code == "recovery.never"
    # Nor has one that a longer pause finds slow.
    time = _found(_run(10_000, 1_000, {1: 9_000, 10: 2_000}))["recovery_time"]
    assert time.value is None
    assert time.said is not None
    assert time.said.code == "recovery.not_lasting"


def test_what_varies_by_the_second_has_an_interval_of_its_recovery() -> None:
    run = _run(10_000, 1_000, {1.0: 1_100, 10.0: 5_500, 60.0: 9_000})
    chance = np.random.default_rng(3)
    for columns in run.all_series.values():
        columns["ios"] = columns["ios"] * (1 + 0.3 * chance.standard_normal(len(columns["ios"])))
    found = _found(run)
    low, high = found["recovery_after-idle-10"].interval or (0.0, 0.0)
    assert 4 < low < 5.5 < high < 7
    shares = found["recovery_time"].detail["share_of_lost_interval"]
    assert shares[1][0] < 0.5 < shares[1][1]
    # Whether ten seconds are enough is open.
    assert found["recovery_time"].interval == (1.0, 60.0)


def test_where_the_hammering_slowed_nothing_there_is_nothing_to_come_back_from() -> None:
    found = _found(_run(10_000, 9_500, {1.0: 10_000}))
    assert set(found) == {"recovery_after-idle-1"}
    assert found["recovery_after-idle-1"].verdict == "not identifiable"
    said = found["recovery_after-idle-1"].said
    assert said is not None
    assert said.code == "recovery.not_slowed"


def test_of_a_loss_that_may_be_chance_nothing_tells_how_much_came_back() -> None:
    """As of a file on a busy machine, of which a pause gave back "721 % (0 to 2,229 %)"."""
    run = _run(15_000, 13_000, {30.0: 28_000})
    chance = np.random.default_rng(4)
    for columns in run.all_series.values():
        columns["ios"] = columns["ios"] * (1 + 0.4 * chance.standard_normal(len(columns["ios"])))
    found = _found(run)
    assert set(found) == {"recovery_after-idle-30"}
    assert found["recovery_after-idle-30"].verdict == "not identifiable"


@pytest.mark.parametrize(
    ("levels", "verdict", "ends"),
    [
        ([9, 5, 2, 2, 2, 2, 2, 2], "holds", (3, 7)),
        ([9, 8, 7, 6, 5, 4], "violated", (2, 6)),
        ([2, 2, 2], "not identifiable", None),
    ],
)
def test_write_saturation_is_steady_from_its_first_five_even_rounds_on(
    levels: list[int], verdict: str, ends: tuple[int, int] | None
) -> None:
    # Of each round of 31 minutes only the last one is tracked.
    course = np.concatenate([[1000.0 * n] * 1800 + [100.0 * n] * 60 for n in levels])
    run = FakeRun()
    name = "snia-write-saturation"
    run.add(
        f"{name}/write",
        "write",
        iops=float(course.mean()),
        elapsed_s=len(course) + 7,
        series_iops=np.append(course, np.ones(7)),
    )
    [found] = rounds.find(run)
    assert found.verdict == verdict
    window = found.detail["window"]
    assert ends == (window and (window["first_round"], window["last_round"]))
    assert list(found.detail["values"]) == [100.0 * n for n in levels]


def test_bursts_with_a_pause_are_held_against_the_level_without() -> None:
    run = FakeRun()
    for number in (1, 2):
        run.add(
            f"snia-host-idle-recovery/idle-5/{number}",
            "write",
            iops=2_000,
            elapsed_s=5,
            idle_s=5.0,
            burst=number,
        )
    falling = np.concatenate([np.full(100, 2_000.0), np.full(400, 1_000.0)])
    run.add(
        "snia-host-idle-recovery/baseline-5",
        "write",
        iops=float(falling.mean()),
        elapsed_s=500,
        series_iops=falling,
        idle_s=5.0,
    )
    [found] = snia_recovery.find(run)
    assert found.value == pytest.approx(2.0)
    assert found.interval == pytest.approx((2.0, 2.0))


@pytest.mark.parametrize(("end_iops", "back_s"), [(950.0, 400), (800.0, None)])
def test_sequential_writes_are_back_when_a_minute_has_their_rate(
    end_iops: float, back_s: int | None
) -> None:
    run = FakeRun()
    name = "snia-cross-stimulus-recovery"
    run.add(f"{name}/before", "write", iops=1_000, elapsed_s=600, series_iops=np.full(600, 1_000.0))
    course = np.concatenate([np.full(400, 200.0), np.full(600, end_iops)])
    course += 40 * np.random.default_rng(1).standard_normal(1_000)
    run.add(f"{name}/random", "write", iops=50, elapsed_s=100)
    run.add(
        f"{name}/after", "write", iops=float(course.mean()), elapsed_s=1_000, series_iops=course
    )
    [found] = snia_recovery.find(run)
    assert found.detail["first_minute_share"] == pytest.approx(0.2, rel=0.1)
    # The minute that begins up to four seconds earlier has 90 % of the rate on the whole.
    assert found.value == (None if back_s is None else pytest.approx(back_s, abs=12))
    if found.value is not None:
        assert found.interval is not None
        assert found.interval[0] <= found.value <= found.interval[1] < 1_000
