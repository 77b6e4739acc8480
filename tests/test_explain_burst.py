"""Write buffer and SLC cache as the probe finds them follow the drive's own."""

from pathlib import Path

import numpy as np
import pytest
from explain_fixture import MIB, probed, small_ssd

from fourcorners.analysis.internals.bend import find_bends
from fourcorners.analysis.internals.curve import Curve
from fourcorners.analysis.internals.slc_cache import may_be_buffer
from fourcorners.analysis.internals.write_buffer import read_curve
from fourcorners.arena.drive_text import Bytes, GigabitsPerSecond, Seconds

PROBE = "probe-burst"
# Four dies, a row of 16 KiB each, fed in 82 us and programmed in 600 us.
FLASH_RATE = 4 * 16384 / (16384 / 200e6 + 0.6e-3)


@pytest.mark.parametrize("size_mib", [1, 8])
def test_the_buffer_follows_the_drive(size_mib: int, tmp_path: Path) -> None:
    found = probed(PROBE, small_ssd(write_buffer={"size": Bytes(size_mib * MIB)}), tmp_path)
    assert found["write_buffer_bytes"]["value"] == pytest.approx(size_mib * MIB, rel=0.05)
    assert found["write_drain_rate"]["value"] == pytest.approx(FLASH_RATE, rel=0.01)
    assert found["slc_cache_bytes"]["value"] == 0


def test_writes_that_wait_for_flash_show_no_buffer(tmp_path: Path) -> None:
    found = probed(PROBE, small_ssd(write_buffer={"write_back": False}), tmp_path)
    assert found["write_buffer_bytes"]["value"] is None


@pytest.mark.parametrize("size_mib", [24, 48])
def test_the_slc_cache_follows_the_drive(size_mib: int, tmp_path: Path) -> None:
    cache = {
        "program_time": Seconds(0.1e-3),
        "static_size": Bytes(size_mib * MIB),
        "when_full": "direct",
        "idle_delay": Seconds(1.0),
    }
    sections = small_ssd(
        capacity={"user": Bytes(1024 * MIB)},
        translation={"reserved_share": 0.15},
        flash={"blocks_per_plane": 400},
        slc_cache=cache,
    )
    found = probed(PROBE, sections, tmp_path)
    assert found["slc_cache_bytes"]["value"] == pytest.approx(size_mib * MIB, rel=0.05)
    assert found["slc_direct_rate"]["value"] == pytest.approx(FLASH_RATE, rel=0.02)
    assert found["slc_recovered_share"]["value"] == pytest.approx(1, abs=0.1)


def test_a_buffer_that_fills_late_is_no_slc_cache(tmp_path: Path) -> None:
    # Flash writes at 0.82 of the link's rate.
    late = small_ssd(
        link={"line_rate": GigabitsPerSecond(1.5)},
        write_buffer={"size": Bytes(11 * MIB)},
        flash={"program_time": Seconds(0.505e-3)},
    )
    found = probed(PROBE, late, tmp_path)
    assert found["write_buffer_bytes"]["value"] is None
    assert found["slc_cache_bytes"]["verdict"] == "not identifiable"
    assert "write buffer of 11" in found["slc_cache_bytes"]["text"]


def _curve(*pieces: tuple[float, float]) -> Curve:
    """Amounts, each with its rate."""
    amounts, rates = np.array(pieces).T
    ends = np.cumsum(amounts)
    times = np.append(0.0, np.cumsum(amounts / rates))
    count = np.linspace(0, ends[-1], 2001)[1:]
    return Curve(np.interp(count, np.append(0.0, ends), times), count)


def test_a_curve_of_one_rate_has_neither() -> None:
    curve = _curve((500e6, 250e6))
    assert read_curve(curve, 16384) is None
    bend, _ = find_bends(curve)
    assert not bend.is_one
    assert bend.fast_rate == pytest.approx(bend.slow_rate, rel=0.01)


def test_the_last_of_two_bends_is_the_cache() -> None:
    bend, _ = find_bends(_curve((20e6, 500e6), (130e6, 300e6), (350e6, 80e6)))
    assert bend.count_bytes == pytest.approx(150e6, rel=0.002)
    assert bend.fast_rate / bend.slow_rate == pytest.approx(300 / 80, rel=0.03)


@pytest.mark.parametrize("between", [30e6, 120e6])
def test_a_cache_ends_where_a_drive_becomes_slower_in_two_steps(between: float) -> None:
    bends = find_bends(_curve((300e6, 300e6), (between, 60e6), (350e6 - between, 53e6)))
    bend = next(bend for bend in bends if bend.is_one)
    assert bend.count_bytes == pytest.approx(300e6, rel=0.003)


def test_a_bend_is_a_cache_where_a_buffer_would_have_shown_or_is_not_there() -> None:
    bend, _ = find_bends(_curve((186e6, 273e6), (888e6, 224e6)))
    assert may_be_buffer(bend, None)
    assert may_be_buffer(bend, _curve((268e6, 254e6)))
    # Without a write buffer the first writes wait for flash.
    assert not may_be_buffer(bend, _curve((2e6, 100e6), (266e6, 273e6)))
    # The short burst would have been slower from 56 MB on.
    steep, _ = find_bends(_curve((60e6, 273e6), (440e6, 120e6)))
    assert not may_be_buffer(steep, _curve((268e6, 254e6)))
    large, _ = find_bends(_curve((700e6, 273e6), (900e6, 200e6)))
    assert not may_be_buffer(large, None)
