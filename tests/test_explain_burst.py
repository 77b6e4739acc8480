"""Write buffer and SLC cache as the probe finds them follow the drive's own."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from burst_fixture import OF_FLASH, add_burst, curve_of, filled
from explain_fixture import KIB, MIB, code, probed, small_ssd, view_of

from fourcorners.analysis.internals.answer import unknown
from fourcorners.analysis.internals.caches import slc_cache, slowdown
from fourcorners.analysis.internals.caches.buffer_line import Buffer, read_curve
from fourcorners.analysis.internals.caches.burst_curve import Curve
from fourcorners.analysis.internals.caches.cache_bend import (
    cache_bytes,
    in_order,
    may_be_buffer,
    may_be_emptied_cache,
)
from fourcorners.analysis.internals.caches.slowdown import Bend, find_bends, passes
from fourcorners.sentences import say
from fourcorners_validation.arena.drive_text import (
    Bytes,
    BytesPerSecond,
    GigabitsPerSecond,
    Seconds,
    Sections,
)

PROBE = "probe-burst"
# Four dies, a row of 16 KiB each, fed in 82 us and programmed in 600 us.
FLASH_RATE = 4 * 16384 / (16384 / 200e6 + 0.6e-3)


@pytest.mark.parametrize("size_mib", [1, 8])
def test_the_buffer_follows_the_drive(size_mib: int, tmp_path: Path) -> None:
    found = probed(PROBE, small_ssd(write_buffer={"size": Bytes(size_mib * MIB)}), tmp_path)
    assert found["write_buffer_bytes"].value == pytest.approx(size_mib * MIB, rel=0.05)
    assert found["write_drain_rate"].value == pytest.approx(FLASH_RATE, rel=0.01)
    none = found["slc_cache_bytes"]
    low, high = none.interval or (0.0, 0.0)
    # Of what a cache would be told from: a quarter of the buffer, or more.
    assert (none.value, low) == (0, 0)
    assert high >= 0.24 * size_mib * MIB
    assert code("slc_cache_bytes", tmp_path) == "slc_cache_bytes.none"
    assert none.detail["goodness"]["fall"] < 1.04


def test_a_buffer_of_few_rows_follows_the_drive_although_dies_wait_for_their_channel(
    tmp_path: Path,
) -> None:
    # A channel feeds its eight dies in 0.66 ms, of the 1.3 ms that a row of 32 KiB takes.
    sections = small_ssd(
        write_buffer={"size": Bytes(1 * MIB)},
        flash={
            "channels": 2,
            "dies": 16,
            "page_size": Bytes(16 * KIB),
            "blocks_per_plane": 48,
            "program_time": Seconds(1.2e-3),
            "bus_rate": BytesPerSecond(400e6),
        },
    )
    sections["link"] = {
        "pcie_generation": 3,
        "pcie_lanes": 4,
        "command_overhead": Bytes(128),
        "command_latency": Seconds(2e-6),
        "queue_depth": 128,
    }
    found = probed(PROBE, sections, tmp_path)
    low, high = found["write_buffer_bytes"].interval or (0.0, 0.0)
    # Or less by a round of all dies, which is half of it.
    assert 0.4 * MIB < low < MIB < high < 1.5 * MIB
    assert found["write_buffer_bytes"].value == pytest.approx(MIB, rel=0.03)


def test_rows_that_a_slow_data_path_brings_one_by_one_are_no_rounds_of_the_dies(
    tmp_path: Path,
) -> None:
    # Sixteen dies could program 384 MB/s.
    sections = small_ssd(
        controller={"write_data_rate": BytesPerSecond(200e6)},
        flash={"dies": 16, "blocks_per_plane": 96},
    )
    found = probed(PROBE, sections, tmp_path)
    low, high = found["write_buffer_bytes"].interval or (0.0, 0.0)
    assert low < 2 * MIB < high
    assert found["write_drain_rate"].value == pytest.approx(200e6, rel=0.005)


def test_writes_that_wait_for_flash_show_no_buffer(tmp_path: Path) -> None:
    found = probed(PROBE, small_ssd(write_buffer={"write_back": False}), tmp_path)
    assert found["write_buffer_bytes"].value is None


def _cached_ssd(size_mib: int, when_full: str, **changes: Mapping[str, Any]) -> Sections:
    cache = {
        "program_time": Seconds(0.1e-3),
        "static_size": Bytes(size_mib * MIB),
        "when_full": when_full,
        "idle_delay": Seconds(1.0),
    }
    sections = small_ssd(translation={"spare_area": 0.328}, slc_cache=cache, **changes)
    sections["flash"]["blocks_per_plane"] = 400
    return sections


@pytest.mark.parametrize(("size_mib", "buffer_mib"), [(24, 2), (24, 16), (48, 2)])
def test_the_slc_cache_follows_the_drive(size_mib: int, buffer_mib: int, tmp_path: Path) -> None:
    buffer = {"size": Bytes(buffer_mib * MIB)}
    found = probed(PROBE, _cached_ssd(size_mib, "direct", write_buffer=buffer), tmp_path)
    low, high = found["slc_cache_bytes"].interval or (0.0, 0.0)
    assert low < size_mib * MIB < high
    # Of a large buffer it does not show whether it was full before the cache; and a drive that
    # makes room as it begins the last group of blocks has a larger one.
    assert high - low < 0.03 * size_mib * MIB + 0.5 * max(buffer_mib - 2, 0) * MIB + 6 * MIB
    assert found["slc_direct_rate"].value == pytest.approx(FLASH_RATE, rel=0.002)
    assert found["slc_recovered_share"].value == pytest.approx(1, abs=0.01)


def test_a_cache_that_is_emptied_for_each_write_and_too_slowly_in_a_pause(tmp_path: Path) -> None:
    # A fold takes 20 ms for a row of 16 KiB on each of four dies.
    slow = {"read_time": Seconds(1e-3), "program_time": Seconds(18.836e-3)}
    found = probed(PROBE, _cached_ssd(48, "fold", flash=slow), tmp_path)
    folded = 4 * 16384 / 20e-3
    assert found["slc_cache_bytes"].value == pytest.approx(48 * MIB, rel=0.005)
    fed_s = 16384 / 200e6
    assert found["slc_direct_rate"].value == pytest.approx(
        4 * 16384 / (20e-3 + fed_s + 0.1e-3), rel=0.005
    )
    # After a second the drive begins; but first its dies program what the buffer held.
    late_s = max(1.0, 2 * MIB / (found["write_drain_rate"].value or 0.0))
    assert found["slc_recovered_share"].value == pytest.approx(
        folded * (10 - late_s) / (48 * MIB), rel=0.01
    )


def test_a_cache_that_no_pause_empties_is_not_told_as_other_load(tmp_path: Path) -> None:
    """A drive that folds its cache only when it is full is slow from the start after the pause."""
    sections = dict(_cached_ssd(48, "fold"))
    sections["slc_cache"] = {**sections["slc_cache"], "idle_delay": Seconds(1000.0)}
    assert probed(PROBE, sections, tmp_path)["slc_cache_bytes"].value is None
    assert code("slc_cache_bytes", tmp_path) == "slc_cache_bytes.still_slow"


def test_a_buffer_that_fills_late_is_no_slc_cache(tmp_path: Path) -> None:
    # Flash writes at 0.82 of the link's rate.
    late = small_ssd(
        link={"line_rate": GigabitsPerSecond(1.5)},
        write_buffer={"size": Bytes(11 * MIB)},
        flash={"program_time": Seconds(0.505e-3)},
    )
    found = probed(PROBE, late, tmp_path)
    assert found["write_buffer_bytes"].value is None
    assert found["slc_cache_bytes"].verdict == "not identifiable"
    assert code("slc_cache_bytes", tmp_path) == "slc_cache_bytes.like_a_buffer"


def test_a_curve_of_one_rate_has_neither() -> None:
    curve = curve_of((500e6, 250e6))
    assert read_curve(curve, 16384) is None
    bend, _ = find_bends(curve)
    assert not bend.is_one
    assert bend.fast_rate == pytest.approx(bend.slow_rate, rel=0.01)


@pytest.mark.parametrize("accepted", [100e6, 160e6, 220e6])
def test_a_buffer_that_is_full_late_drains_at_the_rate_after_it(accepted: float) -> None:
    buffer = read_curve(curve_of((accepted, 540e6), (268e6 - accepted, 378e6)), 134000)
    assert buffer is not None
    assert buffer.drain_rate == pytest.approx(378e6, rel=0.01)
    size = accepted * (1 - 378 / 540)
    assert abs(buffer.size_bytes - size) <= max(buffer.margin_bytes, 0.03 * size)


def test_a_buffer_that_is_full_at_the_end_of_a_burst_does_not_show() -> None:
    assert read_curve(curve_of((255e6, 540e6), (13e6, 378e6)), 134000) is None


def test_the_last_of_two_bends_is_the_cache() -> None:
    bend, _ = find_bends(curve_of((20e6, 500e6), (130e6, 300e6), (350e6, 80e6)))
    assert bend.count_bytes == pytest.approx(150e6, rel=0.002)
    assert bend.fast_rate / bend.slow_rate == pytest.approx(300 / 80, rel=0.03)


def test_the_first_of_two_bends_is_the_cache_where_the_drive_folds_later_on() -> None:
    """After 371 MB it writes to other cells, and after 1.36 GB it has to fold what was cached."""
    bends = find_bends(curve_of((371e6, 136e6), (990e6, 19.8e6), (640e6, 14.4e6)))
    bend = in_order(bends)[0]
    assert bend.is_one
    assert bend.count_bytes == pytest.approx(371e6, rel=0.01)
    assert bend.slow_rate == pytest.approx(19.8e6, rel=0.02)


@pytest.mark.parametrize("plateau", [26e6, 20e6, 40e6])
def test_a_buffer_that_is_full_shortly_before_the_cache_is_another_bend(plateau: float) -> None:
    """As after the pause of an own drive (number 3 of seed 1618033), with 26 MB between them."""
    bends = find_bends(curve_of((154e6, 136e6), (plateau, 107e6), (625e6, 26e6)))
    cache, buffer = (bend.count_bytes for bend in bends)
    assert cache == pytest.approx(154e6 + plateau, rel=0.003)
    assert buffer == pytest.approx(154e6, rel=0.003)
    assert in_order(bends) == bends[::-1]


def test_a_curve_that_turns_slowly_has_one_bend() -> None:
    """The rate falls evenly from that of the cache to that past it."""
    turn = ((4e6, rate) for rate in np.geomspace(136e6, 26e6, 8))
    bends = find_bends(curve_of((154e6, 136e6), *turn, (625e6, 26e6)))
    assert bends[0].start_bytes == 0
    assert in_order(bends)[0].count_bytes == pytest.approx(154e6, rel=0.1)


def test_a_cache_ends_at_its_bend_where_the_rate_changes_a_little_later_on() -> None:
    """As of an own drive (number 31 of seed 1618033), which was told to have 319 MB."""
    bends = find_bends(curve_of((295e6, 545e6), (340e6, 207.6e6), (438e6, 203e6)))
    bend = next(bend for bend in in_order(bends) if bend.is_one)
    assert bend.count_bytes == pytest.approx(295e6, rel=0.003)
    assert bend.slow_rate == pytest.approx(207.6e6, rel=0.002)


def test_a_buffer_and_a_cache_are_two_bends_of_a_fill_whose_slow_rate_varies() -> None:
    """As of the fill of the same drive (number 3): over gigabytes it varies by a thousandth."""
    pieces = (154e6, 136e6), (42e6, 107e6), (4500e6, 25.47e6), (1700e6, 25.43e6)
    cache, buffer = (bend.count_bytes for bend in find_bends(curve_of(*pieces)))
    assert cache == pytest.approx(196e6, rel=0.01)
    assert buffer == pytest.approx(154e6, rel=0.1)


def test_the_rest_of_a_cache_is_no_buffer_before_it() -> None:
    """The long burst ends within the cache, and the short one soon after it finds the rest."""
    run = filled((512 * MIB, 590e6), (1500 * MIB, 141e6))
    add_burst(run, "probe-burst/long", curve_of((374e6, 590e6)), "long")
    rest = 512 * MIB - 374e6
    add_burst(run, "probe-burst/short", curve_of((rest, 590e6), (268e6 - rest, 141e6)), "short")
    found = slc_cache.size(view_of(run, link_ceiling=1750e6, page_bytes=16384.0))
    assert found.value == pytest.approx(512 * MIB, rel=0.03)


@pytest.mark.parametrize(
    ("fast_rate", "margin", "either"),
    [(138e6, 27e6, True), (138e6, 9e6, False), (98e6, 27e6, False)],
)
def test_a_part_of_a_cache_that_was_emptied_may_show_as_a_buffer(
    fast_rate: float, margin: float, either: bool
) -> None:
    """A cache of 466 MB is emptied of 185 MB before the short burst, or a buffer of 99 MB takes
    these. A cache that is slower than the link cannot take them as fast."""
    bend = Bend(466e6, fast_rate=fast_rate, slow_rate=64e6, misfit=0.0)
    buffer = Buffer(99e6, margin, 138e6, 64e6, 0.0, 0.0, 0.0, 99e6)
    assert may_be_emptied_cache(bend, buffer, 281e6) is either


def test_a_cache_of_two_possible_sizes_has_a_direct_rate_but_no_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = filled((466e6, 138e6), (1000e6, 64e6))
    buffer = Buffer(99e6, 27e6, 138e6, 64e6, 0.0, 0.0, 0.0, 99e6)
    monkeypatch.setattr(slc_cache, "_known_buffer", lambda _: buffer)
    view = view_of(run, **OF_FLASH)
    size, rate = slc_cache.size(view), slc_cache.direct_rate(view)
    assert (size.value, size.said.code) == (None, "slc_cache_bytes.emptied")
    assert size.said.parameters["before"] == pytest.approx(466e6, rel=0.01)
    assert size.said.parameters["size"] == pytest.approx(281e6, rel=0.01)
    assert rate is not None
    assert rate.value == pytest.approx(64e6, rel=0.01)


@pytest.mark.parametrize("between", [30e6, 120e6])
def test_a_cache_ends_where_a_drive_becomes_slower_in_two_steps(between: float) -> None:
    bends = find_bends(curve_of((300e6, 300e6), (between, 60e6), (350e6 - between, 53e6)))
    bend = next(bend for bend in bends if bend.is_one)
    assert bend.count_bytes == pytest.approx(300e6, rel=0.003)


def test_a_bend_is_a_cache_where_a_buffer_would_have_shown_or_is_not_there() -> None:
    bend, _ = find_bends(curve_of((186e6, 273e6), (888e6, 224e6)))
    assert may_be_buffer(bend, None, None)
    assert may_be_buffer(bend, curve_of((268e6, 254e6)), None)
    # Without a write buffer the first writes wait for flash.
    assert not may_be_buffer(bend, curve_of((2e6, 100e6), (266e6, 273e6)), None)
    # The short burst would have been slower from 56 MB on.
    steep, _ = find_bends(curve_of((60e6, 273e6), (440e6, 120e6)))
    assert not may_be_buffer(steep, curve_of((268e6, 254e6)), None)
    large, _ = find_bends(curve_of((700e6, 273e6), (900e6, 200e6)))
    assert not may_be_buffer(large, None, None)


@pytest.mark.parametrize("waits_for_nothing", [True, False])
def test_a_buffer_that_is_kept_without_power_may_be_as_large_as_a_cache(
    waits_for_nothing: bool,
) -> None:
    """268 MB that drain at 1,405 MB/s while the link fills them at 3,400."""
    detail = {"waits_for_nothing": waits_for_nothing}
    protection = unknown(say("any.value"), detail=detail)
    run = filled((457e6, 3400e6), (1000e6, 1405e6))
    found = slc_cache.size(view_of(run, **OF_FLASH, power_loss_protection=protection))
    if waits_for_nothing:
        assert (found.value, found.said.code) == (None, "like_a_buffer")
        assert found.said.parameters["held"] == pytest.approx(268e6, rel=0.01)
    else:
        assert found.value == pytest.approx(457e6, rel=0.01)


@pytest.mark.parametrize("size", [11e6, 7e6])
def test_a_buffer_may_have_been_half_full_when_the_short_burst_began(size: float) -> None:
    bend = Bend(16.8e6, fast_rate=564e6, slow_rate=10e6, misfit=0.0)
    buffer = Buffer(size, 0.0, 565e6, 10e6, 0.0, 0.0, 0.0, 0.0)
    assert may_be_buffer(bend, None, buffer) is (size > 8e6)
    # A cache that is slower than the link is none.
    assert not may_be_buffer(replace(bend, fast_rate=400e6), None, buffer)


def test_a_burst_that_passes_the_end_of_a_cache_shows_that_there_is_none() -> None:
    """The drive becomes hot in one of two bursts, each to the erased drive."""
    cache, bend = (190e6, 180e6, 200e6), Bend(190e6, fast_rate=67e6, slow_rate=50e6, misfit=0.0)
    assert passes(curve_of((1e6, 1800e6), (267e6, 67e6)), cache, bend)
    assert not passes(curve_of((190e6, 67e6), (78e6, 50e6)), cache, bend)
    # It ends too soon to show.
    assert not passes(curve_of((210e6, 67e6)), cache, bend)
    # It found the cache full, as a pause does not empty it.
    assert not passes(curve_of((1e6, 1800e6), (267e6, 50e6)), cache, bend)


@pytest.mark.parametrize("at", [0.3, 0.55, 0.75, 0.9])
def test_a_stop_inside_a_burst_is_no_end_of_a_cache(at: float) -> None:
    curve = curve_of((500e6, 132e6))
    stopped = replace(curve, seconds=curve.seconds + (curve.count_bytes > at * 500e6))
    assert not any(bend.is_one for bend in find_bends(stopped))


@pytest.mark.parametrize("at", [0.2, 0.5, 0.8])
def test_a_cache_is_found_beside_a_stop(at: float) -> None:
    curve = curve_of((200e6, 132e6), (300e6, 40e6))
    stopped = replace(curve, seconds=curve.seconds + (curve.count_bytes > at * 500e6))
    bend = next(bend for bend in find_bends(stopped) if bend.is_one)
    assert bend.count_bytes == pytest.approx(200e6, rel=0.01)


def test_rates_that_vary_all_the_time_are_no_cache() -> None:
    """The fit bends the line of most of them by a fifth."""
    found = bent = 0
    for seed in range(20):
        chance = np.random.default_rng(seed)
        rates = 17e6 * np.exp(0.35 * chance.standard_normal(40))
        bends = find_bends(curve_of(*((10e6, rate) for rate in rates)))
        bent += any(bend.falls for bend in bends)
        found += any(bend.is_one for bend in bends)
    assert bent >= 10
    assert found <= 2


def test_a_cache_ends_before_what_the_dies_were_given_past_it() -> None:
    """The first row past the cache is accepted while its dies are idle."""
    block, cache, row, fast, slow = 2**15, 96 * MIB, 2**19, 160e6, 32e6
    count = np.arange(1, 256 * MIB // block + 1, dtype=np.float64) * block
    rows_late = np.maximum(np.floor((count - cache - block) / row), 0.0)
    late_s = np.where(rows_late > 0, cache / fast + rows_late * row / slow, 0.0)
    seconds = np.maximum(count / fast, late_s) + count / 1e12
    curve = Curve(seconds, count)
    bend = next(bend for bend in find_bends(curve) if bend.is_one)
    _, low, high = cache_bytes(bend, curve, None)
    assert low <= cache <= high
    assert high - low < 0.02 * cache


def test_the_bounds_of_a_cache_hold_where_rates_scatter() -> None:
    cache, part = 256 * MIB, 4 * MIB
    kinds = np.where(np.arange(0, 2048 * MIB, part) < cache, 1000e6, 175e6)
    holds = []
    for seed in range(22, 28):
        rates = kinds * np.random.default_rng(seed).lognormal(0.0, 0.3, len(kinds))
        found = slc_cache.size(view_of(filled(*((part, rate) for rate in rates)), **OF_FLASH))
        low, high = found.interval or (0.0, 0.0)
        holds.append(low <= cache <= high)
    assert all(holds)


@pytest.mark.parametrize("step", [36e6, 38e6])
def test_of_two_bends_that_count_as_one_the_rate_before_both_is_the_earlier_one(
    step: float,
) -> None:
    """A step of the curve after the bend at 30.9 MB is no part of what was faster."""
    curve = curve_of((30.9e6, 3300e6), (506e6, 1628e6))
    bend, _ = slowdown._lines(curve, 30.9e6, step, 537e6, 0.0)
    assert bend.fast_rate == pytest.approx(3300e6, rel=0.001)
