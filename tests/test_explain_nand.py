"""The NAND in a drive, from outside: times of its operations, kinds of pages, pages of a block."""

from pathlib import Path

import numpy as np
import pytest
from explain_fixture import MIB, code, probed, small_ssd

from fourcorners.analysis.internals.collection.reads_beside import Waits
from fourcorners.analysis.internals.nand.erasures import fit_erase, several_at_a_time
from fourcorners.analysis.internals.nand.page_kinds import page_kinds
from fourcorners.finding import Finding
from fourcorners.recording.arrays import Floats
from fourcorners_validation.arena.drive_text import Bytes, Seconds

PROBES = ("probe-depth", "probe-conflicts", "probe-alignment", "probe-flush", "probe-overwrite")


DRAWN = 20


def _writes(kinds: list[float], noise: float, count: int, seed: int = 1) -> Floats:
    chance = np.random.default_rng(seed)
    times = chance.choice(kinds, count) * np.exp(noise * chance.standard_normal(count))
    return np.asarray(times, dtype=np.float64)


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.15])
@pytest.mark.parametrize(
    "kinds", [[0.9e-3], [0.5e-3, 1.6e-3], [0.3e-3, 0.8e-3, 2.1e-3], [0.2e-3, 0.5e-3, 1.2e-3, 3e-3]]
)
def test_kinds_of_pages_are_as_many_as_there_are(kinds: list[float], noise: float) -> None:
    found = page_kinds(_writes(kinds, noise, 400))
    assert found is not None
    assert found.seconds == pytest.approx(kinds, rel=0.05)


def test_a_read_before_some_programs_makes_no_kind() -> None:
    writes = np.concatenate([_writes([0.5e-3], 0.01, 90), _writes([0.55e-3], 0.01, 30)])
    found = page_kinds(writes)
    assert found is not None
    assert found.count == 1


def test_times_of_unequal_frequency_are_no_kinds() -> None:
    writes = np.concatenate([_writes([0.5e-3], 0.02, 110), _writes([1.6e-3], 0.02, 14)])
    assert page_kinds(writes) is None


@pytest.mark.parametrize(
    ("kinds", "equally"),
    [
        ([0.4e-3, 1.42e-3], True),
        ([0.4e-3, 1.42e-3, 1.52e-3], False),
        ([0.3e-3, 0.8e-3, 2e-3], True),
    ],
)
def test_kinds_that_are_nearly_alike_show_as_one_that_comes_more_often(
    kinds: list[float], equally: bool
) -> None:
    found = page_kinds(_writes(kinds, 0.02, 1300))
    assert found is not None
    assert found.equally_often == equally


def test_now_and_then_a_far_longer_write_makes_no_kind() -> None:
    writes = np.concatenate([_writes([0.5e-3], 0.05, 400), _writes([30e-3], 0.5, 5)])
    found = page_kinds(writes)
    assert found is not None
    assert found.seconds == pytest.approx([0.5e-3], rel=0.02)


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.15])
def test_the_time_of_an_erasure_is_within_its_interval_as_often_as_it_says(spread: float) -> None:
    truth, held = 3e-3, 0
    for seed in range(DRAWN):
        chance = np.random.default_rng(seed)
        waits = truth * (1 + spread * chance.standard_normal(80)) - chance.exponential(0.4e-3, 80)
        # Some of them also wait for a program that comes next.
        waits[:4] += 1e-3
        fitted = fit_erase(waits, 1e-3)
        assert fitted is not None
        assert fitted.seconds == pytest.approx(truth, rel=0.2)
        held += 0.99 * fitted.interval_s[0] <= truth <= 1.01 * fitted.interval_s[1]
    assert held >= 0.75 * DRAWN


def test_reads_that_come_late_do_not_shorten_an_erasure() -> None:
    """The interval reaches down to the median wait, but the likeliest time is not half as far."""
    chance = np.random.default_rng(1)
    waits = 4e-3 * (1 + 0.01 * chance.standard_normal(300)) - chance.exponential(1.2e-3, 300)
    fitted = fit_erase(waits, 1.4e-3)
    assert fitted is not None
    assert fitted.seconds == pytest.approx(4e-3, rel=0.02)
    assert fitted.interval_s[0] < 3.4e-3


def test_some_reads_that_come_late_in_step_widen_the_interval() -> None:
    """Unless they are as much shorter as a program that the others may wait for besides."""
    waits = np.concatenate([np.full(40, 2.1e-3), np.full(20, 3e-3)])
    fitted = fit_erase(waits, 1.8e-3)
    assert fitted is not None
    assert fitted.interval_s[0] <= 2.1e-3 < 3e-3 <= fitted.interval_s[1]
    besides = fit_erase(waits, 1.8e-3, program_s=0.9e-3)
    assert besides is not None
    assert besides.seconds == pytest.approx(2.1e-3, rel=0.02)


def test_a_place_that_waits_twice_in_a_row_met_two_erasures() -> None:
    def reads(seconds: list[float]) -> Waits:
        count = len(seconds)
        waited = np.array(seconds, dtype=np.float64)
        return Waits(np.arange(count) % 2, np.arange(count, dtype=np.float64), waited, 1e8)

    once = [3e-3, 1e-4, 1e-4, 1e-4, *[1e-4] * 96] * 8
    twice = [3e-3, 1e-4, 2.9e-3, 1e-4, *[1e-4] * 96] * 8
    assert not several_at_a_time(reads(once), 3e-3)
    assert several_at_a_time(reads(twice), 3e-3)


@pytest.fixture(scope="module")
def lower_and_upper(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    times = [Seconds(0.5e-3), Seconds(1.5e-3)]
    flash = {"program_time": Seconds(1e-3), "program_times": times, "blocks_per_plane": 160}
    sections = small_ssd(capacity={"user": Bytes(512 * MIB)}, flash=flash)
    return probed("explain", sections, tmp_path_factory.mktemp("two"), PROBES)


def test_a_block_may_be_of_one_plane_or_two(lower_and_upper: dict[str, Finding]) -> None:
    """Planes that serve no reads together do not show, and each has a block of its own."""
    found = lower_and_upper["pages_per_block"]
    assert found.verdict == "not identifiable"
    assert "half as many of each of two planes" in found.text
    assert found.detail["count"] == pytest.approx(64, rel=0.01)


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("page_read_time", 60e-6),
        ("program_time", 1e-3),
        ("program_time_lower", 0.5e-3),
        ("program_time_upper", 1.5e-3),
        ("program_time_extra", 0.0),
        ("bits_per_cell", 2),
        ("erase_time", 4e-3),
    ],
)
def test_findings_are_those_of_the_flash(
    lower_and_upper: dict[str, Finding], name: str, truth: float
) -> None:
    found = lower_and_upper[name]
    assert found.value == pytest.approx(truth, rel=0.1)
    assert found.interval is None or found.interval[0] <= truth <= found.interval[1]


def test_pages_that_all_take_equally_long_say_nothing_of_the_bits(tmp_path: Path) -> None:
    tests = (*PROBES[:-1], "probe-burst")
    found = probed("explain", small_ssd(), tmp_path, tests)
    assert found["program_time"].value == pytest.approx(0.6e-3, rel=0.15)
    assert found["bits_per_cell"].value is None
    assert code("bits_per_cell", tmp_path) == "bits_per_cell.all_alike"


def test_a_protected_buffer_hides_programs(tmp_path: Path) -> None:
    protected = small_ssd(write_buffer={"power_loss_protection": True})
    found = probed("explain", protected, tmp_path, ("probe-conflicts", "probe-flush"))
    assert found["program_time"].value is None
    assert code("program_time", tmp_path) == "program_time.protected"
