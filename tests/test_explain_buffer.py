"""The write buffer, where the two bursts of the probe find it in different states."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import MIB, view_of

from fourcorners.analysis.internals.answer import Answer
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.caches import write_buffer
from fourcorners.analysis.internals.caches.buffer_line import read_curve
from fourcorners.analysis.internals.caches.burst_curve import Curve
from fourcorners.analysis.internals.flash.levels import Levels
from fourcorners.analysis.internals.link import generation

LINK, DRAIN = 500e6, 60e6


def _curve(room: float, drain: float, block: int, cache: tuple[float, float] = (0, 1e9)) -> Curve:
    """What a drive with so much room accepts at the link's rate, and then as fast as it drains; or
    first the bytes of a cache, at a rate of its own."""
    cached, fast = cache
    count = np.arange(1, 256 * MIB // block + 1, dtype=np.float64) * block
    past = np.maximum(cached / fast, 0.0) + (count - room - cached) / drain
    return Curve(np.maximum.reduce([count / LINK, (count - room) / fast, past]), count)


def _size(
    monkeypatch: pytest.MonkeyPatch,
    short: Curve,
    long: Curve,
    read_s: float = 0.1e-3,
    large_rate: float | None = None,
    random_rate: float = 60e6,
) -> Answer:
    run = FakeRun()
    for stage, rate in (("fill", 60e6), ("overwrite", random_rate)):
        run.add(
            f"probe-overwrite/{stage}", "write", iops=rate / 4096, block_bytes=4096, stage=stage
        )
    run.add("probe-seeks/sentinel", "read", iops=1 / read_s, sentinel=1)
    for block in (2**17, 2**20) if large_rate else ():
        about: dict[str, Any] = {"block_bytes": block, "queue_depth": 32, "of": "written"}
        run.add(f"probe-depth/large/{block}", "read", iops=(large_rate or 0.0) / block, **about)
    run.add(
        "probe-burst/short", "write", iops=1e3, elapsed_s=16.4, block_bytes=2**14, stage="short"
    )
    run.add("probe-burst/long", "write", iops=1e3, elapsed_s=16.4, block_bytes=2**16, stage="long")
    curves = {"probe-burst/short": short, "probe-burst/long": long}
    monkeypatch.setattr(write_buffer, "completion_curve", lambda _, m: curves[m.recording])
    return write_buffer.size(view_of(run))


@pytest.mark.parametrize(("size_mib", "explains"), [(4, True), (3.9, True), (2, False), (8, False)])
def test_a_buffer_is_full_when_the_curve_leaves_the_rate_of_the_link(
    size_mib: float, explains: bool
) -> None:
    """Late stops had sunk the drain of a foreign drive (number 57 of seed 866472212)."""
    curve = _curve(4 * MIB, 19e6, 2**16)
    seen = read_curve(curve, 2**16)
    assert seen is not None
    told = replace(seen, size_bytes=size_mib * MIB, margin_bytes=0.1 * MIB)
    assert told.fills_as_it_should(curve) == explains


@pytest.mark.parametrize(("share", "explains"), [(1.0, True), (0.9, False)])
def test_faster_cells_behind_a_buffer_are_not_filled_at_the_rate_of_the_link(
    share: float, explains: bool
) -> None:
    """Of a foreign drive (number 32 of seed 588324163): 2 MiB at the rate of the link, then 100 MiB
    at nine tenths of it, and then at less than a half."""
    curve = _curve(2 * MIB, 0.45 * LINK, 2**16, (100 * MIB, share * LINK))
    seen = read_curve(curve, 2**16)
    assert seen is not None
    assert seen.size_bytes > 40 * MIB
    assert seen.fills_as_it_should(curve) == explains


def _empty(answer: Answer) -> list[bool | None]:
    return [c.holds for c in answer.checks if c.assumption is Assumption.EMPTY_AT_FIRST]


def test_the_buffer_that_an_erased_drive_shows_counts_where_a_later_one_is_half_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = _size(monkeypatch, _curve(4.5 * MIB, 60e6, 2**14), _curve(8 * MIB, 60e6, 2**16))
    assert found.value == pytest.approx(8 * MIB, rel=0.05)
    assert _empty(found) == [False]


def test_the_interval_reaches_to_the_buffer_of_a_drive_that_drains_it_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A buffer of 8 MiB that drains from its last byte on looks like one of 7.
    room = 8 * MIB * (1 - 60e6 / LINK)
    found = _size(monkeypatch, _curve(room, 60e6, 2**14), _curve(room, 60e6, 2**16))
    assert found.value == pytest.approx(room, rel=0.05)
    assert found.interval is not None
    assert found.interval[1] > 8 * MIB
    assert _empty(found) == [True]


def test_a_cache_behind_the_buffer_is_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # The short burst comes before the drive has emptied all of its cache.
    short = _curve(4 * MIB, 60e6, 2**14, cache=(40 * MIB, 240e6))
    long = _curve(4 * MIB, 60e6, 2**16, cache=(128 * MIB, 240e6))
    found = _size(monkeypatch, short, long)
    assert found.interval is not None
    assert 3.5 * MIB < found.interval[0] < 4 * MIB < found.interval[1] < 9 * MIB


@pytest.mark.parametrize(("random_rate", "told"), [(78e6, True), (190e6, False)])
def test_writes_that_may_go_to_faster_cells_hide_the_size_of_the_buffer(
    random_rate: float, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a drive that writes the first 512 KiB of a sequence to a cache that the rest passes."""
    curves = _curve(4 * MIB, 60e6, 2**14), _curve(4 * MIB, 60e6, 2**16)
    found = _size(monkeypatch, *curves, random_rate=random_rate)
    assert (found.value is not None) == told
    assert told or found.said.code == "other_cells"


def test_much_more_room_at_first_is_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _size(monkeypatch, _curve(8 * MIB, 60e6, 2**14), _curve(64 * MIB, 60e6, 2**16))
    assert found.value == pytest.approx(8 * MIB, rel=0.05)
    assert _empty(found) == []


def test_a_little_more_room_at_first_is_held_data_or_a_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = _size(monkeypatch, _curve(20 * MIB, 60e6, 2**14), _curve(38 * MIB, 60e6, 2**16))
    assert found.verdict == "not identifiable"
    assert found.said.code == "write_buffer_bytes.cache_or_held"
    assert found.detail["between_bytes"] == pytest.approx([20 * MIB, 38 * MIB], rel=0.05)


@pytest.mark.parametrize(("read_s", "told"), [(0.1e-3, True), (7e-3, False)])
def test_disks_whose_cache_may_be_half_full_drain_it_at_any_rate(
    read_s: float, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has an arm has no faster cells; an array of disks drains as its stripes come."""
    short, long = _curve(20 * MIB, 60e6, 2**14), _curve(38 * MIB, 48e6, 2**16)
    found = _size(monkeypatch, short, long, read_s)
    assert (found.value is not None) == told


@pytest.mark.parametrize(
    ("read_rate", "read_s", "told"),
    [(200e6, 0.1e-3, True), (60.3e6, 0.1e-3, False), (60.3e6, 7e-3, True)],
)
def test_a_limit_that_reads_meet_as_well_is_no_full_buffer(
    read_rate: float, read_s: float, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Platters give data at the rate at which they take it."""
    curves = _curve(8 * MIB, 60e6, 2**14), _curve(8 * MIB, 60e6, 2**16)
    found = _size(monkeypatch, *curves, read_s, large_rate=read_rate)
    assert (found.value is not None) == told
    assert told or found.said.code == "write_buffer_bytes.credits"


def test_room_may_become_free_as_rows_leave_for_their_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dies then have a row besides what the buffer holds, and its rounds do not show."""
    row = 2.4e-3 * 60e6
    curve = _curve(4 * MIB + row / 2, 60e6, 2**14), _curve(4 * MIB + row / 2, 60e6, 2**16)
    found = _size(monkeypatch, *curve)
    assert found.interval is not None
    assert found.interval[0] <= 4 * MIB


@pytest.mark.parametrize(
    ("channels", "erased", "told"),
    [
        (2, 500e6, True),
        # The channels carry three times as much, or all data meet the limit.
        (6, 500e6, False),
        (2, 60.3e6, False),
        (None, 500e6, False),
    ],
)
def test_channels_that_carry_as_much_are_the_limit_of_reads_and_writes(
    channels: int | None, erased: float, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = FakeRun()
    for of, rate in (("written", 60.3e6), ("erased", erased)):
        for block in (2**17, 2**20):
            about: dict[str, Any] = {"block_bytes": block, "queue_depth": 32, "of": of}
            run.add(f"probe-depth/link/{of}/{block}", "read", iops=rate / block, **about)
    levels = channels and Levels(8, 1, channels, are_first=False, wait={})
    monkeypatch.setattr(generation, "shown_levels", lambda _: levels)
    monkeypatch.setattr(generation, "_channel_s", lambda _: 1 / 31e6)
    assert bool(generation.met_by_reads(view_of(run), 60e6)) != told


@pytest.mark.parametrize(
    ("rate", "size", "told"),
    [(60e6, 8 * MIB, True), (120e6, 8 * MIB, True), (120e6, 12 * MIB, False)],
)
def test_two_bursts_that_agree_show_a_buffer_whatever_a_longer_part_shows(
    rate: float, size: int, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short burst shows 8 MiB; of the long one a later part shows 6 MiB, and its surest part
    ``size``, at the same or another rate."""
    long = _curve(size, rate, 2**16)
    buffer = read_curve(long.until(64 * MIB), 2**16)
    assert buffer is not None
    shown = write_buffer.BufferShown(buffer, long, ["probe-burst/long"])
    other = replace(buffer, size_bytes=6 * MIB)
    parts = [shown, replace(shown, buffer=other)]
    monkeypatch.setattr(write_buffer, "_by_long", lambda _: parts)
    found = _size(monkeypatch, _curve(8 * MIB, 60e6, 2**14), long)
    assert (found.value is not None) == told
    assert told or found.said.code == "write_buffer_bytes.uneven"


@pytest.mark.parametrize("erased", [3760e6, 2300e6])
def test_erasures_that_stop_a_burst_now_and_then_show_no_buffer(
    monkeypatch: pytest.MonkeyPatch, erased: float
) -> None:
    """As of a foreign drive with 12 MiB, which erases for 3 ms after every 16 MiB. The steps look
    like a buffer of 28 MiB that is drained at 2.2 GB/s."""
    count = np.arange(1, 2**11 + 1, dtype=np.float64) * 2**16
    stopped = np.maximum(count / 3760e6, (count - 28 * MIB) / 2236e6)
    short, long = Curve(stopped, count), Curve(count / erased, count)
    monkeypatch.setattr(
        write_buffer, "completion_curve", lambda _, m: long if m.point["stage"] == "long" else short
    )
    run = FakeRun()
    for stage in ("long", "short"):
        ios, seconds = len(count), float((long if stage == "long" else short).seconds[-1])
        run.add(
            f"probe-burst/{stage}",
            "write",
            iops=ios / seconds,
            elapsed_s=seconds,
            block_bytes=2**16,
            stage=stage,
        )
    found = write_buffer.size(view_of(run, power_loss_protection=1.0))
    assert (found.said.code == "write_buffer_bytes.not_when_erased") == (erased > 3e9)
    assert (found.value is None) == (erased > 3e9)


def test_of_two_bursts_that_agree_at_two_rates_the_surer_one_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short, long = _curve(8 * MIB, 60e6, 2**14), _curve(int(8.2 * MIB), 80e6, 2**16)
    found = _size(monkeypatch, short, long)
    assert found.value == pytest.approx(8 * MIB, rel=0.01)
    assert found.interval is not None
    # Lower by what the other one shows.
    assert found.interval[0] < 7.75 * MIB


def test_a_drain_that_is_slower_for_a_while_widens_the_interval() -> None:
    even = _curve(32 * MIB, 22e6, 2**16).until(64 * MIB)
    slower = Curve(even.seconds + 0.15 * (even.count_bytes > 54 * MIB), even.count_bytes)
    found = [read_curve(curve, 2**16) for curve in (even, slower)]
    for buffer in found:
        assert buffer is not None
        assert abs(buffer.size_bytes - 32 * MIB) <= buffer.margin_bytes
    assert found[0] is not None
    assert found[0].margin_bytes < 0.02 * 32 * MIB


def test_parts_of_a_burst_that_show_different_buffers_show_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = np.arange(1, 4097, dtype=np.float64) * 2**16
    slower = np.where(count < 40 * MIB, (count - 8 * MIB) / 120e6, 0.0)
    late = 32 * MIB / 120e6 + (count - 40 * MIB) / 110e6
    uneven = Curve(np.maximum(count / LINK, np.where(count < 40 * MIB, slower, late)), count)
    found = _size(monkeypatch, _curve(8 * MIB, 60e6, 2**14), uneven)
    assert found.value is None
    assert found.said.code == "write_buffer_bytes.uneven"


def _in_rounds(room: float, kinds_s: tuple[float, ...], row: float, link: float) -> Curve:
    """What a drive with so much room accepts whose dies take together a row of each kind of pages
    in turn, which makes as much room when it is programmed."""
    block = 2**14
    ends = np.cumsum(np.resize(kinds_s, 3000)) + 0.1e-3
    count = np.arange(1, 32 * MIB // block + 1, dtype=np.float64) * block
    # The rounds that have to end before there is room for so much.
    rounds = np.ceil((count - room) / row).astype(np.int64)
    due = np.where(rounds > 0, ends[np.maximum(rounds, 1) - 1], 0.0)
    seconds = np.zeros(len(count))
    before = 0.0
    for place, at in enumerate(due):
        before = seconds[place] = max(before + block / link, at)
    return Curve(seconds, count)


@pytest.mark.parametrize("kinds_s", [(1.5e-3,), (0.8e-3, 2.2e-3), (0.6e-3, 1.2e-3, 2.7e-3)])
def test_rounds_of_pages_of_all_kinds_show_the_buffer(kinds_s: tuple[float, ...]) -> None:
    row = 2.0**18
    found = read_curve(_in_rounds(MIB, kinds_s, row, 2e9), 2**14, row)
    assert found is not None
    assert found.round_bytes == pytest.approx(row, rel=0.02)
    assert found.longest_round == pytest.approx(max(kinds_s) / np.mean(kinds_s), rel=0.03)
    assert found.size_bytes == pytest.approx(MIB, rel=0.03)
    assert abs(found.size_bytes - MIB) <= found.margin_bytes < 0.1 * MIB


def test_erasures_in_the_later_part_of_the_short_burst_do_not_hide_the_buffer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short, long = _curve(8 * MIB, 60e6, 2**14), _curve(8 * MIB, 60e6, 2**16)
    erased = np.maximum(np.floor((short.count_bytes - 80 * MIB) / (20 * MIB)), 0.0)
    short = replace(short, seconds=short.seconds + 30e-3 * erased)
    found = _size(monkeypatch, short, long)
    assert found.value == pytest.approx(8 * MIB, rel=0.02)
    assert found.said.code != "write_buffer_bytes.uneven"
    flat, steep = (read_curve(curve, 2**14) for curve in (short, long.until(64 * MIB)))
    assert flat is not None
    assert steep is not None
    # The rate by the short burst has the erasures in it, that by the long one has not.
    low, high = write_buffer._drain_bounds(flat, steep)
    assert low < 0.97 * 60e6 < 60e6 < high


def test_a_drain_that_stops_now_and_then_leaves_the_size_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As of dies that repeat some programs for milliseconds: both bursts fill a buffer of 4 MiB."""
    stops = np.random.default_rng(5)

    def stopping(block: int) -> Curve:
        even = _curve(4 * MIB, 120e6, block)
        held = np.floor(even.count_bytes / MIB).astype(int)
        stopped_s = np.cumsum(stops.exponential(4e-3, held[-1] + 1))
        full = even.count_bytes > 6 * MIB
        return replace(even, seconds=even.seconds + np.where(full, stopped_s[held], 0.0))

    found = _size(monkeypatch, stopping(2**14), stopping(2**16))
    assert (found.value, found.said.code) == (None, "write_buffer_bytes.wanders")
    assert _size(monkeypatch, _curve(4 * MIB, 60e6, 2**14), _curve(4 * MIB, 60e6, 2**16)).value


def test_stops_that_come_regularly_for_a_while_are_no_rounds_of_dies() -> None:
    """As of programs that take sixty times as long now and then: for half a second every 2 MiB."""
    even, stop_s = _curve(8 * MIB, 480e6, 2**14), 22e-3
    held = np.floor(even.count_bytes / (2 * MIB)).astype(int)
    stops = np.random.default_rng(4).exponential(stop_s, held[-1] + 1)
    stops[:20] = stop_s
    late_s = np.cumsum(np.where(np.arange(len(stops)) >= 6, stops, 0.0))
    found = read_curve(replace(even, seconds=even.seconds + late_s[held]), 2**14)
    assert found is not None
    assert found.round_bytes > 0
    assert write_buffer._wanders(found)
