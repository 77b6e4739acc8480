"""A drive that has to write its map back from some point on: no buffer, and no superblock."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import MIB, view_of

from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.caches import durability, write_buffer
from fourcorners.analysis.internals.caches.burst_curve import Curve
from fourcorners.analysis.internals.collection import superblock
from fourcorners.analysis.internals.collection.reads_beside import Waits
from fourcorners.analysis.internals.flash import channels, die_conflicts, parallel_units
from fourcorners.analysis.internals.flash.interleaving import Seen
from fourcorners.analysis.internals.flash.log_blocks import log_blocks
from fourcorners.analysis.internals.flash.one_unit import is_array, page_of
from fourcorners.analysis.internals.nand import read_cost
from fourcorners.analysis.internals.nand.programs import beside_s, programs
from fourcorners.analysis.internals.view import View
from fourcorners.sentences import Said

LINK = 270e6


@pytest.mark.parametrize(
    ("fast", "first_s", "held"),
    [
        # Dies of 85 MB/s, until each write has to write a map page back as well.
        (85e6, 1.06e-3, False),
        # Dies half as fast as the link: a first write takes as long as a program.
        (0.55 * LINK, 1.06e-3, False),
        (LINK, 0.3e-3, True),
        (0.85 * LINK, 0.3e-3, True),
    ],
)
def test_a_burst_that_begins_at_the_pace_of_the_flash_fills_no_buffer(
    monkeypatch: pytest.MonkeyPatch, fast: float, first_s: float, held: bool
) -> None:
    count = np.arange(1, 4097, dtype=np.float64) * 2**16
    seconds = np.maximum(count / fast, (count - 112 * MIB) / 10e6) + first_s - 2**16 / fast
    run = FakeRun()
    run.add("probe-burst/long", "write", iops=1e3, elapsed_s=16.4, block_bytes=2**16, stage="long")
    run.add(
        "probe-depth/large",
        "read",
        iops=LINK / 2**20,
        block_bytes=2**20,
        elapsed_s=1.0,
        of="cached",
    )
    monkeypatch.setattr(write_buffer, "completion_curve", lambda *_: Curve(seconds, count))
    for finding in (write_buffer.size, write_buffer.drain_rate):
        answer = finding(view_of(run))
        if held:
            assert answer.value is not None
        else:
            assert answer.value is None
            assert answer.said.code == "write_buffer_bytes.at_flash"


def test_writes_that_wait_for_the_medium_are_complete_in_no_buffer() -> None:
    run = FakeRun()
    run.add("probe-burst/short", "write", iops=1e3, elapsed_s=1.0, stage="short")
    known = view_of(run, volatile_write_cache=0, power_loss_protection=0)
    assert write_buffer.size(known).value == 0
    assert write_buffer.drain_rate(known).value is None
    assert write_buffer.size(view_of(run)).value is None


def _map_pages(apart: bool) -> Waits:
    """Reads of eight places on four dies, each of which takes the map pages of a quarter of 16 MB,
    eight blocks of them; or one erasure of as long a time."""
    chance = np.random.default_rng(5)
    at_bytes = np.sort(chance.uniform(0, 330e6, 15_000))
    place = np.arange(len(at_bytes)) % 8
    turns = (at_bytes / 16e6 + place / 4) % 1
    met = turns < (0.2 if apart else 0.025)
    if apart:
        met &= (40 * turns) % 1 < 0.2
    return Waits(place, at_bytes, chance.uniform(1e-4, 6e-4, len(met)) + 16e-3 * met, 7e6)


@pytest.mark.parametrize("apart", [True, False])
def test_blocks_of_the_map_in_turn_are_no_superblock(
    monkeypatch: pytest.MonkeyPatch, apart: bool
) -> None:
    run = FakeRun()
    run.add("probe-overwrite/beside", "read", iops=1e3, elapsed_s=45.0, stage="beside")
    monkeypatch.setattr(superblock, "waits", lambda _: _map_pages(apart))
    answer = superblock.superblock(view_of(run))
    if apart:
        assert answer.value is None
        assert answer.said.code == "several"
    else:
        assert answer.value == pytest.approx(16e6, rel=0.01)


@pytest.mark.parametrize(("erase_s", "told"), [(3e-3, True), (0.6e-3, True), (0.3e-3, False)])
def test_waits_shorter_than_any_erasure_are_for_none(
    monkeypatch: pytest.MonkeyPatch, erase_s: float, told: bool
) -> None:
    """A memory that compresses has waits of 20 us at equal distances, and no erasures."""
    waits = _map_pages(apart=False)
    seconds = np.where(waits.seconds > 1e-3, erase_s, 0.1 * waits.seconds)
    waits = replace(waits, seconds=seconds)
    run = FakeRun()
    run.add("probe-overwrite/beside", "read", iops=1e3, elapsed_s=45.0, stage="beside")
    monkeypatch.setattr(superblock, "waits", lambda _: waits)
    answer = superblock.superblock(view_of(run))
    if told:
        assert answer.value == pytest.approx(16e6, rel=0.01)
    else:
        assert answer.value is None
        assert answer.said.code == "short"


def _one_die(again_s: float = 205e-6) -> FakeRun:
    """A drive with one die, the map of which is on the flash: a read takes 73 us of the array and
    as long again for its part of the map, and a program 534 us."""
    run = FakeRun()
    for which, (operation, kind, seconds) in enumerate(
        (
            ("read", "read", 366e-6),
            ("read", "just read", again_s),
            ("read", "just written", 205e-6),
            ("write", "plain", 666e-6),
            ("write", "forced", 666e-6),
        )
    ):
        run.add(f"probe-flush/{which}", operation, iops=1 / seconds, elapsed_s=1.0, kind=kind)
        _alike(run, f"probe-flush/{which}", operation, seconds)
    about: dict[str, Any] = {"kind": "never written", "part_bytes": 4096}
    run.add("probe-trim/never", "read", iops=1 / 44e-6, elapsed_s=1.0, **about)
    _alike(run, "probe-trim/never", "read", 44e-6)
    for window in (4096, 8192, 16384):
        recording = f"probe-conflicts/window/{window}"
        about = {"window_bytes": window, "block_bytes": 2048, "queue_depth": 64}
        run.add(recording, "read", iops=1 / 73e-6, **about)
    return run


def _alike(run: FakeRun, recording: str, operation: str, seconds: float) -> None:
    bounds = np.array([round(1e9 * seconds)])
    run.histograms[recording, operation] = (bounds, bounds, np.array([round(1 / seconds)]))


def test_a_read_whose_part_of_the_map_is_at_hand_comes_from_no_memory() -> None:
    """Else a forced write has at least as much beside its program as such a read takes, which has
    the array's read in it: 381 us for a program of 534 us."""
    view = view_of(_one_die(), mapping_unit=4096)
    cost = read_cost.read_cost(view)
    assert cost is not None
    assert cost.memory_s is None
    assert cost.idle_s == pytest.approx(205e-6, rel=0.01)
    least, most = beside_s(view, cost)
    assert least <= 666e-6 - 534e-6 <= most


def test_a_forced_write_may_write_a_part_of_the_map_back_after_it_read_it() -> None:
    """As no other kind of pages: it takes a program and a read of the array longer."""
    run = _one_die()
    bounds = np.array([666_000, 666_000 + 783_000])
    run.histograms["probe-flush/4", "write"] = (bounds, bounds, np.array([80, 40]))
    found = programs(view_of(run, mapping_unit=4096))
    assert isinstance(found, Said)
    assert found.code == "program_time.in_a_row"


def test_writes_that_are_quicker_than_a_read_with_its_part_of_the_map_wait() -> None:
    """Reads that first have to write the map back take far longer than a program."""
    run = _one_die()
    run.rows = [row for row in run.rows if row["recording"] != "probe-flush/0"]
    run.points = [point for point in run.points if point["id"] != "probe-flush/0"]
    for kind, operation, seconds in (("read", "read", 8e-3), ("flushed", "flush", 20e-6)):
        run.add(f"probe-flush/{kind}", operation, iops=1 / seconds, elapsed_s=1.0, kind=kind)
        _alike(run, f"probe-flush/{kind}", operation, seconds)
    found = durability.is_volatile(view_of(run))
    assert found is not None
    assert found.value == 0
    # The reads between the points stand for reads that are left out.
    run.add("probe-flush/sentinel", "read", iops=1 / 0.366e-3, elapsed_s=1.0, sentinel=1)
    _alike(run, "probe-flush/sentinel", "read", 0.366e-3)
    settled = View(run, lambda _: None, {("probe-flush/read", "read")})
    found = durability.is_volatile(settled)
    assert found is not None
    assert (found.value, found.detail["read_s"]) == (0, pytest.approx(0.366e-3, rel=0.01))


@pytest.mark.parametrize(("last", "stripe"), [((33.0, 28.0), 4096), ((28.0, 40.0), None)])
def test_the_largest_windows_may_need_more_of_a_map_than_there_is_room_for(
    last: tuple[float, float], stripe: int | None
) -> None:
    rates = (20.0, 40.0, 40.1, 39.9, 40.0, *last)
    assert Seen(window={4096 << n: rate for n, rate in enumerate(rates)}).stripe_bytes == stripe
    # Too few that do not fall.
    few = (20.0, 40.0, 40.0, *last)
    assert Seen(window={4096 << n: rate for n, rate in enumerate(few)}).stripe_bytes is None


@pytest.mark.parametrize("again_s", [205e-6, 366e-6])
def test_a_drive_that_loads_its_map_may_write_that_back_instead_of_merging_logs(
    again_s: float,
) -> None:
    run = _one_die(again_s)
    for which, write_s in enumerate((1.1e-3, 1.2e-3, 6.2e-3, 5.3e-3, 1.1e-3, 2.1e-3)):
        run.add(
            f"probe-alignment/{which}",
            "write",
            iops=1 / write_s,
            boundary_bytes=1024 << which,
            queue_depth=32,
        )
    found = log_blocks(view_of(run))
    assert found.value == 1
    tested = {check.assumption: check.holds for check in found.checks}
    expected = {Assumption.STOPS_ARE_MERGES: False} if again_s < 300e-6 else {}
    assert tested == expected


@pytest.mark.parametrize(
    ("each_s", "again_s", "empty_s", "array"),
    [
        (57.5e-6, 105e-6, 35e-6, True),
        # A channel of 50 us and an array of 39 us, or the other way round.
        (50e-6, 140e-6, 47e-6, False),
        # A processor that takes as long as a read.
        (57.5e-6, 140e-6, 70e-6, False),
        (15e-6, 40e-6, 10e-6, False),
    ],
)
def test_the_pace_of_a_place_is_the_arrays_if_nothing_else_is_as_slow(
    each_s: float, again_s: float, empty_s: float, array: bool
) -> None:
    assert is_array(each_s, again_s, empty_s) is array


@pytest.mark.parametrize(
    ("times", "page"),
    [
        ((1.0, 2.0, 2.0, 2.0, 2.0), 8192),
        ((1.2, 1.2, 2.0, 2.0, 2.0), 16384),
        # Two dies, the transfer of all that is read, and too few boundaries.
        ((1.0, 2.0, 2.0, 1.0, 1.0), None),
        ((2.0, 2.0, 2.0, 2.0, 2.0), None),
        ((1.0, 1.0, 1.0, 2.0, 2.0), None),
    ],
)
def test_a_page_of_a_single_die_ends_where_reads_take_twice_as_long(
    times: tuple[float, ...], page: int | None
) -> None:
    assert page_of({4096 << n: longer for n, longer in enumerate(times)}) == page


@pytest.mark.parametrize("faster", [1.0, 2.0])
def test_a_drive_that_reads_nothing_in_parallel_has_a_single_die(faster: float) -> None:
    run = _one_die(again_s=125e-6)
    run.add("probe-depth/erased", "read", iops=1 / 44e-6, of="erased", alone_bytes=4096)
    _alike(run, "probe-depth/erased", "read", 44e-6)
    for boundary in (2048, 4096, 8192, 16384):
        longer = 2 if boundary > 2048 else 1
        recording = f"probe-conflicts/across/{boundary}"
        iops = 1 / 73e-6 / longer
        run.add(recording, "read", iops=iops, boundary_bytes=boundary, queue_depth=64)
    large: dict[str, Any] = {"window_bytes": 2**20, "queue_depth": 64}
    run.add("probe-conflicts/window/large", "read", iops=faster / 73e-6, **large)
    half = large | {"window_bytes": 2**19}
    run.add("probe-conflicts/window/half", "read", iops=1 / 73e-6, **half)
    rates = (2700.0, 5400.0, 5500.0, 5500.0, 5500.0)
    for depth, iops in zip((1, 2, 4, 8, 16), rates, strict=True):
        point: dict[str, Any] = {"pattern": "random", "queue_depth": depth}
        run.add(f"probe-depth/random/{depth}", "read", iops=iops, **point)
    view = view_of(run)
    single = None if faster > 1 else 1
    assert die_conflicts.dies(view).value == single
    assert parallel_units.parallel_units(view).value == single
    assert die_conflicts.page(view).value == 4096
    shared = channels.channels(view_of(run, dies=single))
    assert shared is not None
    assert shared.value == single


def test_the_largest_windows_may_need_more_of_the_map_than_is_at_hand() -> None:
    """Two dies and a small memory for the map, which has to be read for places further apart. Some
    of the largest windows meet more changes of it than others do."""
    rates = [13.2, 13.2, 26.2, 25.9, 26.2, 26.1, 26.0, 25.0, 25.9, 26.2, 21.8, 14.5, 2.3, 7.1, 6.8]
    windows = {4096 << k: rate for k, rate in enumerate(rates)}
    assert Seen(window=windows).stripe_bytes == 8192
    # Other load is gone when the last windows are read, or makes them slower by less.
    assert Seen(window=windows | {4096 << 14: 26.0}).stripe_bytes is None
    few = {size: max(rate, 13.2) for size, rate in windows.items()}
    assert Seen(window=few | {4096 << 12: 12.0}).stripe_bytes is None
