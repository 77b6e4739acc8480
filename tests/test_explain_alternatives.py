"""What looks like one thing and is another: irregular stalls, a map at hand, a soft cliff."""

import math

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import view_of

from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.caches import read_cache
from fourcorners.analysis.internals.collection.cliff import find_cliff
from fourcorners.analysis.internals.collection.stalls import (
    amplification,
    chance_of_regular,
    dispersion_of,
    frees_the_rest,
)
from fourcorners.analysis.internals.disk import mechanics


@pytest.mark.parametrize("spacing", [0.13, 0.7, 2.5, 9.0])
def test_stalls_at_equal_distances_do_not_vary(spacing: float) -> None:
    counts, _ = np.histogram(np.arange(0.1, 90.0, spacing), np.arange(91.0))
    assert dispersion_of(counts.astype(float)) < 0.1


@pytest.mark.parametrize("seed", range(5))
def test_stalls_at_distances_of_two_sizes_vary_more_than_chance(seed: int) -> None:
    chance = np.random.default_rng(seed)
    # From 1.2 to 115 MiB, 4.9 in the median, as on a drive that was not ours.
    apart = np.exp(chance.normal(math.log(4.9), 1.4, 400)).clip(1.2, 115)
    counts, _ = np.histogram(np.cumsum(apart), np.arange(0.0, 1300.0, 16.0))
    assert dispersion_of(counts.astype(float)) > 0.5


@pytest.mark.parametrize(("stalls", "parts"), [(3, 36), (5, 12)])
def test_few_stalls_at_equal_distances_have_no_dispersion(stalls: int, parts: int) -> None:
    counts = np.zeros(stalls * parts - parts // 2)
    counts[::parts] = 1.0
    assert dispersion_of(counts) == 0


def test_few_stalls_at_equal_distances_may_be_chance_and_many_are_not() -> None:
    few, many = np.zeros(108), np.zeros(120)
    few[::36], many[::4] = 1.0, 1.0
    apart = np.random.default_rng(1).exponential(36.0, (20_000, 2))
    share = float((np.abs(np.diff(apart, axis=1)) <= 2).mean())
    assert chance_of_regular(few) == pytest.approx(share, rel=0.1)
    assert chance_of_regular(many) < 1e-3


def test_stalls_at_random_are_not_taken_for_regular() -> None:
    chance = np.random.default_rng(1)
    chances = [chance_of_regular(chance.poisson(0.25, 120).astype(float)) for _ in range(500)]
    assert np.mean(np.array(chances) < 0.05) <= 0.1


def _reads(sequential_s: float, unmapped_s: float) -> FakeRun:
    run = FakeRun()
    for name, pattern, seconds in (
        ("sequential", "sequential", sequential_s), ("random", "random", 200e-6),
        ("larger", "random", 260e-6),
    ):  # fmt: skip
        block = 16384 if name == "larger" else 4096
        run.add(f"probe-caches/{name}", "read", iops=1 / seconds, pattern=pattern,
                block_bytes=block)  # fmt: skip
        _histogram(run, f"probe-caches/{name}", seconds)
    run.add("probe-seeks/near", "read", iops=1 / unmapped_s, pattern="random", near_bytes=2**26)
    _histogram(run, "probe-seeks/near", unmapped_s)
    run.add("probe-caches/sentinel", "read", iops=1 / 200e-6, sentinel=1)
    return run


def _histogram(run: FakeRun, recording: str, seconds: float) -> None:
    edges = np.array([seconds * 1e9 * 0.999]), np.array([seconds * 1e9 * 1.001])
    run.histograms[recording, "read"] = (*edges, np.array([1000]))


@pytest.mark.parametrize(("sequential_s", "ahead"), [(30e-6, 1), (120e-6, 0)])
def test_reads_in_sequence_that_still_read_flash_are_not_read_ahead(
    sequential_s: float, ahead: int
) -> None:
    found = read_cache.reads_ahead(view_of(_reads(sequential_s, 30e-6)))
    assert found is not None
    assert found.value == ahead
    assert found.said.code == ("faster" if ahead else "less_flash")


def test_a_drive_that_slows_down_gradually_has_a_wider_spare_area() -> None:
    sharp = find_cliff([(100, t) for t in [1.0] * 40 + [5.0] * 40])
    soft = find_cliff([(100, t) for t in [1.0] * 40 + [1.5, 2, 2.5, 3, 3.5, 4, 4.5] + [5.0] * 33])
    assert sharp is not None
    assert soft is not None
    assert sharp.onset_bytes == 0
    assert soft.onset_bytes == pytest.approx(300, abs=100)


@pytest.mark.parametrize(("turn_s", "speed"), [(11.1e-3, 5400), (10.5e-3, None)])
def test_a_turn_between_two_speeds_is_of_neither(turn_s: float, speed: int | None) -> None:
    run = FakeRun()
    run.add("probe-seeks/near", "read", iops=120.0, pattern="random")
    at_ns = (3e-3 + turn_s * np.linspace(0, 1, 400)) * 1e9
    run.histograms["probe-seeks/near", "read"] = (at_ns, at_ns, np.full(400, 5))
    assert mechanics.rotation(view_of(run)).value == speed


@pytest.mark.parametrize("linear_s", [0.0, 6e-3])
def test_a_seek_that_also_grows_with_its_distance_is_told_from_the_root(linear_s: float) -> None:
    run = FakeRun(capacity_bytes=10**12)
    chance = np.random.default_rng(3)
    run.add("probe-seeks/near", "read", iops=150.0, pattern="random")
    for share in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9, 0.98):
        seconds = 7e-3 + 8e-3 * math.sqrt(share) + linear_s * share + chance.normal(0, 1e-5)
        run.add(f"probe-seeks/{share}", "read", iops=1 / seconds, elapsed_s=1e3,
                distance_bytes=int(share * 1e12))  # fmt: skip
    found = mechanics.seek_stroke(view_of(run))
    assert found.value == pytest.approx(8e-3 + linear_s, rel=0.02)
    [check] = [c for c in found.checks if c.assumption is Assumption.ROOT_OF_DISTANCE]
    assert (check.holds, check.covered) == (not linear_s, bool(linear_s))


@pytest.mark.parametrize(
    ("spacing", "erased", "spare", "explained"),
    [
        # The host's data and what collection moves share the blocks of a line.
        (12.5 * 2**20, 64 * 2**20, 0.125, True),
        (4.07 * 2**20, 32 * 2**20, 0.0726, True),
        (20 * 2**20, 64 * 2**20, 0.125, False),
        (8 * 2**20, 64 * 2**20, 0.125, False),
        (80 * 2**20, 64 * 2**20, 0.125, False),
        (12.5 * 2**20, 64 * 2**20, 0.0, False),
    ],
)
def test_stalls_are_as_near_as_what_a_collected_block_frees(
    spacing: float, erased: float, spare: float, explained: bool
) -> None:
    assert frees_the_rest(spacing, erased, spare) == explained


@pytest.mark.parametrize("spare", [0.07, 0.2, 0.5])
def test_the_amplification_is_that_of_the_formula(spare: float) -> None:
    """Of the oldest block a share v is valid: (1 + spare) (v - 1) = ln v, and 1 / (1 - v) is
    written for each byte."""
    valid = 1 - 1 / amplification(spare)
    assert (1 + spare) * (valid - 1) == pytest.approx(np.log(valid))
