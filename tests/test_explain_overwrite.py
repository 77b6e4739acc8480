"""Spare area, erase unit and stalls as the probe finds them follow the drive's own."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import MIB, code, probed, small_ssd, view_of

import fourcorners as fc
from fourcorners.analysis.internals.answer import known
from fourcorners.analysis.internals.caches.buffer_line import BUFFER_MAX
from fourcorners.analysis.internals.caches.burst_curve import Curve
from fourcorners.analysis.internals.collection import before_cliff, spare_area, stalls
from fourcorners.analysis.internals.collection.reads_beside import Waits, reads_beside
from fourcorners.analysis.internals.collection.spare_area import counted
from fourcorners.analysis.internals.collection.superblock import Cycle, erase_cycle
from fourcorners.analysis.internals.collection.write_amplification import (
    SHARES,
    Collector,
    Prior,
    likely_share,
    moved_units,
)
from fourcorners.analysis.internals.method import pace
from fourcorners.recording import IoLog
from fourcorners.sentences import say
from fourcorners_validation.arena.drive_text import (
    Bytes,
    BytesPerSecond,
    GigabitsPerSecond,
    Seconds,
    drive_file,
)
from fourcorners_validation.arena.explain.drives import Hidden
from fourcorners_validation.arena.explain.truths import true_of

PROBE = "probe-overwrite"
ERASED_BYTES = 4 * MIB
"""One block of every plane of every die of the small drive."""


COLLECTING = [0.16] * 10 + [1.0 - 0.001 * part for part in range(30)]
"""Seconds of parts: collection moves a little less in each."""


def _spare(blocks: int) -> float:
    """What the small drive takes when it is full: three blocks are kept free, and one is open for
    what is collected."""
    return (blocks - 4) * ERASED_BYTES / (1024 * MIB) - 1


def test_spare_area_and_erase_unit_follow_the_drive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sections = small_ssd(flash={"blocks_per_plane": 285})
    found = probed("explain", sections, tmp_path, tests=(PROBE, "probe-burst"))
    spare = _spare(285)
    assert found["over_provisioning"].value == pytest.approx(spare, rel=0.06)
    low, high = found["op_by_amplification"].interval or (0.0, 0.0)
    assert low <= spare <= high
    assert found["superblock_bytes"].value == pytest.approx(ERASED_BYTES, rel=0.02)
    assert found["collection_stall_length"].value == 0
    assert found["trim_effect"].value == 1
    assert found["idle_recovery"].value == 0
    # Other load, which changes the pace, may have left the drive no pause.
    monkeypatch.setattr(pace, "scatter", lambda view: 0.04)
    assert code("idle_recovery", tmp_path) == "idle_recovery.never_idle"


def test_bursts_of_collection_are_stalls_of_known_distance(tmp_path: Path) -> None:
    sections = small_ssd(garbage_collection={"burst_blocks": 2}, translation={"superblock_dies": 4})
    found = probed(PROBE, sections, tmp_path)
    spacing = found["collection_stall_spacing"]
    # A burst begins one block below where it ends.
    assert spacing.value == pytest.approx(3 * ERASED_BYTES, rel=0.01)
    true = true_of(Hidden("SATA SSD", drive_file("drive", "page-mapped-ssd", sections), seed=1))
    assert found["collection_stall_length"].value == pytest.approx(
        true["collection_stall_length"], rel=0.1
    )


def test_a_drive_that_collects_when_idle_recovers(tmp_path: Path) -> None:
    sections = small_ssd(
        garbage_collection={"idle_free_blocks": 12, "idle_delay": Seconds(0.2)},
        flash={"blocks_per_plane": 300},
    )
    found = probed(PROBE, sections, tmp_path)
    assert found["over_provisioning"].value == pytest.approx(_spare(300), rel=0.06)
    assert found["idle_recovery"].value == 1
    assert found["trim_effect"].value == 1


def test_what_a_pause_gave_is_not_taken_for_an_effect_of_trim(tmp_path: Path) -> None:
    sections = small_ssd(
        garbage_collection={"idle_free_blocks": 24, "idle_delay": Seconds(0.2)},
        flash={"blocks_per_plane": 310},
        translation={"trim_granularity": Bytes(0)},
    )
    found = probed(PROBE, sections, tmp_path)
    assert found["idle_recovery"].value == 1
    assert found["trim_effect"].value == 0


def test_a_link_that_hides_collection_leaves_the_spare_area_unknown(tmp_path: Path) -> None:
    sections = small_ssd(
        link={"line_rate": GigabitsPerSecond(1.5)},
        flash={"dies": 32, "channels": 8, "blocks_per_plane": 40},
    )
    found = probed(PROBE, sections, tmp_path)
    assert found["op_by_amplification"].value is None


def test_a_data_path_slower_than_flash_leaves_the_amplification_unknown(tmp_path: Path) -> None:
    sections = small_ssd(
        controller={"write_data_rate": BytesPerSecond(60e6)}, flash={"blocks_per_plane": 285}
    )
    found = probed("explain", sections, tmp_path, tests=(PROBE, "probe-burst"))
    assert found["op_by_cliff"].value == pytest.approx(_spare(285), rel=0.06)
    assert found["op_by_amplification"].value is None
    assert code("op_by_amplification", tmp_path) == "op_by_amplification.no_rounds"


def test_a_disk_is_not_asked(tmp_path: Path) -> None:
    with fc.open_target("sim:wd6400aaks") as target:
        run = fc.run(PROBE, target, out=tmp_path)
    assert run.manifest.tests[0].status == "skipped"
    assert not [f for f in run.findings if f.name == "over_provisioning"]


def test_what_was_written_is_known_where_half_of_the_log_is_left_out() -> None:
    count, block, each_ns = 20_000, 65536, 100_000
    at = np.arange(1, 2 * count + 1, dtype=np.int64) * each_ns // 2
    is_write = np.arange(2 * count) % 2 == 1
    offsets = np.where(is_write, np.arange(2 * count) // 2 * block, 0)
    zeros = np.zeros_like(at)
    log = IoLog(
        2 * count,
        2,
        np.where(is_write, "write", "read"),
        at,
        at,
        at,
        offsets,
        zeros + block,
        zeros.astype(np.bool_),
        zeros,
    )
    log = log.chosen(np.random.default_rng(1).random(2 * count) < 0.5)
    waits = reads_beside(log)
    reads_ns = log.submitted_ns[log.operation == "read"][: len(waits.at_bytes)]
    off = waits.at_bytes - reads_ns * block / each_ns
    inside = waits.at_bytes > 0
    assert np.ptp(off[inside]) <= block


@pytest.mark.parametrize(
    ("collector", "amplification"),
    # docs/theory.md, 20 % of spare area.
    [
        (Collector(128), 3.1188),
        (Collector(256, candidates=10), 3.2337),
        (Collector(None), 3.1877),
    ],
)
def test_the_model_ends_at_the_steady_state_that_is_known(
    collector: Collector, amplification: float
) -> None:
    written, moved = moved_units(collector)
    late = [float(np.diff(np.interp([0.5, 0.6], written, one))[0]) / 0.1 for one in moved]
    assert 1 + np.interp(0.2, SHARES, late) == pytest.approx(amplification, rel=0.03)


def test_how_amplification_falls_tells_the_spare_area_whatever_was_written_before() -> None:
    collector = Collector(128)
    edges = np.linspace(0.01, 0.3, 13)
    index = int(np.argmin(abs(SHARES - 0.12)))
    moved = np.interp(edges, moved_units(collector)[0], moved_units(collector)[1][index])
    per_write = np.diff(moved) / np.diff(edges)
    erase = 0.04
    longer = 1.05 * per_write + erase * (1 + per_write)
    known = Prior(cost=1.13, cost_spread=0.08, drift=0.03, erase=erase)
    likely = likely_share(edges, longer, scatter=0.03, ahead=0.0, prior=known)
    assert likely.low < SHARES[index] < likely.high
    assert likely.share == pytest.approx(SHARES[index], rel=0.1)
    # Where the cost of moving may be anything, less is known.
    unknown = likely_share(edges, longer, 0.03, 0.0, replace(known, cost_spread=0.5, drift=0.3))
    assert unknown.high - unknown.low > likely.high - likely.low


@pytest.mark.parametrize(
    ("by_bytes", "status"),
    [((0.277, (0.270, 0.284)), False), ((0.124, (0.121, 0.127)), True), (None, None)],
)
def test_an_amplification_that_the_bytes_before_the_cliff_contradict_is_not_given(
    by_bytes: tuple[float, tuple[float, float]] | None, status: bool | None
) -> None:
    """Planes that collect by themselves have the course of the rate, but another cost."""
    said = say("any.value")
    by_pace = known(0.12, said, interval=(0.106, 0.135))
    other = None if by_bytes is None else known(by_bytes[0], said, interval=by_bytes[1])
    checks = counted(by_pace, other, ["fill"]).checks
    assert [check.holds for check in checks] == ([] if status is None else [status])


def _collects(run: FakeRun) -> None:
    for part, taken_s in enumerate(COLLECTING):
        about: dict[str, Any] = {"block_bytes": 4096, "stage": "overwrite"}
        run.add(f"probe-overwrite/{part}", "write", iops=256 / taken_s, elapsed_s=taken_s, **about)


@pytest.mark.parametrize(("unit", "least"), [(4, 4), (64, 0), (0, 64)])
def test_writes_of_less_than_a_unit_do_not_count_the_spare_area(unit: int, least: int) -> None:
    """A drive that maps or unmaps no less than 64 KiB puts each random write into a unit."""
    run = FakeRun()
    run.add("probe-overwrite/fill", "write", iops=20_000.0, elapsed_s=12.8, stage="fill")
    _collects(run)
    sizes = {"mapping_unit": 1024.0 * unit or None, "trim_granularity": 1024.0 * least}
    found = spare_area.by_cliff(view_of(run, **sizes, write_buffer_bytes=1e6))
    assert (found.value is None) == (64 in (unit, least))
    assert found.value or found.said.code == "over_provisioning.part_of_unit"


@pytest.mark.parametrize("more", [{}, {"volatile_write_cache": 0, "power_loss_protection": 0}])
@pytest.mark.parametrize("link", [1e9, None])
@pytest.mark.parametrize(("pace", "told"), [(1.0, True), (0.8, True), (0.55, False)])
def test_slow_writes_may_take_more_room(
    pace: float, told: bool, link: float | None, more: dict[str, float]
) -> None:
    """Each takes the room of two: with parity (RAID 5), or a page of its own without a buffer. A
    link whose rate does not show carries at least what large reads reach."""
    run = FakeRun()
    run.add("probe-depth/large", "read", iops=8000.0, block_bytes=2**17, of="written")
    fill_s = 1000 * pace * COLLECTING[0]
    run.add("probe-overwrite/fill", "write", iops=256_000 / fill_s, elapsed_s=fill_s, stage="fill")
    at_ns = np.linspace(0, 1e9 * fill_s, 1001).astype(int)
    run.histograms["probe-overwrite/fill", "write"] = at_ns[:-1], at_ns[1:], np.full(1000, 256)
    _collects(run)
    found = spare_area.by_cliff(view_of(run, link_ceiling=link, write_buffer_bytes=1e6, **more))
    assert (found.said.code.split(".")[-1] in ("more_room", "padded")) != told


@pytest.mark.parametrize(("reads", "told"), [(12_000.0, True), (263.0, False)])
def test_credits_for_so_many_writes_are_no_spare_area(reads: float, told: bool) -> None:
    """Reads of a volume are held to the same rate of I/Os."""
    run = FakeRun()
    run.add("probe-overwrite/fill", "write", iops=20_000.0, elapsed_s=12.8, stage="fill")
    for part, seconds in enumerate(COLLECTING):
        about: dict[str, Any] = {"block_bytes": 4096, "stage": "overwrite", "elapsed_s": seconds}
        run.add(f"probe-overwrite/{part}", "write", iops=256 / seconds, **about)
    for depth in (1, 8, 64):
        about = {"pattern": "random", "queue_depth": depth}
        run.add(f"probe-depth/random/{depth}", "read", iops=reads if depth > 1 else 5e3, **about)
    sizes = {"mapping_unit": 4096.0, "trim_granularity": 0.0, "write_buffer_bytes": 1e6}
    found = spare_area.by_cliff(view_of(run, **sizes))
    assert (found.value is not None) == told
    assert told or found.said.code == "over_provisioning.credits"


@pytest.mark.parametrize(("times", "told"), [(1.3, True), (3.0, False)])
def test_a_cache_that_only_random_writes_fill_is_no_spare_area(times: float, told: bool) -> None:
    """A drive may write sequences past its cache, and random writes into it."""
    run = FakeRun()
    run.add("probe-overwrite/fill", "write", iops=2_000.0, elapsed_s=12.8, stage="fill")
    for part, seconds in enumerate([0.128 / times] * 10 + COLLECTING[10:]):
        about: dict[str, Any] = {"block_bytes": 4096, "stage": "overwrite", "elapsed_s": seconds}
        run.add(f"probe-overwrite/{part}", "write", iops=256 / seconds, **about)
    sizes = {"mapping_unit": 4096.0, "trim_granularity": 0.0, "write_buffer_bytes": 1e5}
    found = spare_area.by_cliff(view_of(run, **sizes))
    assert (found.value is not None) == told
    assert told or found.said.code == "over_provisioning.cached"


def _overwritten(late: Sequence[float]) -> FakeRun:
    """A drive of 1 GiB that is overwritten in parts of 4 MiB: 40 of them at 100 MB/s, and others
    that take as many seconds as ``late`` says."""
    run = FakeRun()
    about: dict[str, Any] = {"block_bytes": 2**17, "stage": "fill"}
    run.add("probe-overwrite/fill", "write", iops=1e8 / 2**17, elapsed_s=10.7374, **about)
    for part, seconds in enumerate([4 * MIB / 1e8] * 40 + list(late)):
        about = {"block_bytes": 2**14, "stage": "overwrite", "elapsed_s": seconds}
        run.add(f"probe-overwrite/{part}", "write", iops=256 / seconds, **about)
    return run


_FALLING = [0.4 - 0.002 * part for part in range(30)]
_STALLING = [2.0 if part % 30 == 0 else 4 * MIB / 1e8 for part in range(64)]


@pytest.mark.parametrize(
    ("late", "told"), [(_FALLING, True), ([0.4] * 30, False), (_STALLING, True)]
)
def test_a_rate_that_does_not_change_past_the_cliff_is_none_of_collection(
    late: list[float], told: bool
) -> None:
    """A drive that is too hot is held to a rate; one that collects in bursts stalls instead."""
    sizes = {"mapping_unit": 4096.0, "trim_granularity": 0.0, "write_buffer_bytes": 1e6}
    found = spare_area.by_cliff(view_of(_overwritten(late), **sizes))
    assert (found.value is not None) == told
    assert told or found.said.code == "over_provisioning.one_rate"


@pytest.mark.parametrize(("apart", "told"), [(4, True), (20, False)])
def test_what_a_drive_frees_at_a_time_says_what_it_keeps_in_reserve_at_least(
    apart: int, told: bool
) -> None:
    """It has room for 40 parts before it stalls."""
    late = [4.0 if part % apart == 0 else 4 * MIB / 1e8 for part in range(100)]
    sizes = {"mapping_unit": 4096.0, "trim_granularity": 0.0, "write_buffer_bytes": 1e6}
    counted = known(160 / 1024, say("any.value"), interval=(0.15, 0.165))
    view = view_of(_overwritten(late), **sizes, op_by_cliff=counted)
    found = spare_area.combined(view)
    assert (found.value is not None) == told
    assert told or found.said.code == "reserve"


@pytest.mark.parametrize("held", [0, 2, 16])
def test_the_interval_has_the_spare_area_whatever_a_buffer_of_unknown_size_holds(held: int) -> None:
    """The bytes before the cliff are the spare area and what the buffer holds."""
    spare = (160 - held) / 1024
    sizes = {"mapping_unit": 4096.0, "trim_granularity": 0.0}
    by_link = spare_area.by_cliff(view_of(_overwritten(_FALLING), **sizes))
    assert by_link.value is None  # 128 MiB is nearly all of it.
    assert by_link.said.code == "op_by_cliff.in_buffer"
    between = known(1.0, say("any.value"), detail={"between_bytes": (0.0, 16.0 * MIB)})
    answer = replace(between, value=None)
    found = spare_area.by_cliff(view_of(_overwritten(_FALLING), **sizes, write_buffer_bytes=answer))
    assert found.interval is not None
    assert found.interval[0] <= spare <= found.interval[1]
    assert found.interval[1] - found.interval[0] < 0.03


def test_a_burst_shows_the_most_that_a_buffer_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    run = FakeRun()
    run.add("probe-burst/long", "write", iops=1e3, elapsed_s=16.4, block_bytes=2**16, stage="long")
    count = np.arange(1, 16385, dtype=np.float64) * 2**16
    room, link, drain = 32 * MIB, 500e6, 100e6
    curve = Curve(np.maximum(count / link, (count - room) / drain), count)
    monkeypatch.setattr(before_cliff, "completion_curve", lambda *_: curve)
    least, likely, most = before_cliff.held_bytes(view_of(run))
    assert least == 0
    # It may have drained from the start, or from when it was full.
    assert likely == pytest.approx(room, rel=0.06)
    assert most >= room / (1 - drain / link)
    curve = Curve(count / link, count)
    assert before_cliff.held_bytes(view_of(run)) == (0.0, 0.0, BUFFER_MAX)


def test_the_plane_that_is_full_first_has_less_room_than_the_mean() -> None:
    planes, pages = 32, 1000
    chance = np.random.default_rng(3)
    first = [chance.poisson(pages, planes).max() / pages - 1 for _ in range(200)]
    about = {"dies": 8.0, "planes_per_die": 4.0, "page_bytes": 4096.0}
    written = float(planes * pages * 4096)
    by_address = view_of(FakeRun(), **about, placement_by_address=1.0)
    assert before_cliff.earliest_plane(by_address, written) == pytest.approx(
        np.median(first), rel=0.15
    )
    assert before_cliff.earliest_plane(view_of(FakeRun(), **about), written) == 0


def test_stalls_in_two_goes_are_at_no_single_distance() -> None:
    part = 4 * MIB
    for every in (9, 16, 16.5):
        at = np.arange(0.3, 300, every / 4)
        middles = (np.floor(at) + 0.5) * part
        apart = np.diff(middles)
        assert not stalls.uneven((apart.min(), np.median(apart), apart.max()), part)
    # Recorded of dies that collect for themselves, in blocks of 16 MiB over all of them.
    assert stalls.uneven((3.63e6, 16.21e6, 16.31e6), part)


def test_a_fill_that_took_all_the_time_leaves_stalls_unknown() -> None:
    run = FakeRun()
    run.add("probe-overwrite/fill", "write", iops=1000.0, stage="fill")
    for estimator in (stalls.length, stalls.spacing):
        assert estimator(view_of(run)).said.code == "collection_stalls.not_filled"


@pytest.mark.parametrize("phases", [(0.0, 0.5 - 1 / 6), (0.0, 0.25, 0.75)])
def test_planes_at_other_pages_make_a_fraction_of_a_block(phases: tuple[float, ...]) -> None:
    """A place waits once for each plane, at times that a fraction of the period explains."""
    tread, chance = 8.4e6, np.random.default_rng(3)
    at_bytes = np.sort(chance.uniform(0, 420e6, 13_000))
    place = chance.integers(0, 8, len(at_bytes))
    turns = at_bytes / tread + place * 0.13
    met = np.any([(turns - phase) % 1 < 0.012 for phase in phases], axis=0)
    seconds = chance.uniform(1e-4, 6e-4, len(at_bytes)) + 1.5e-3 * met
    cycle = erase_cycle(Waits(place, at_bytes, seconds, 200e6))
    assert cycle is not None
    assert abs(cycle.unit_bytes - tread) <= cycle.margin_bytes


def _in_parts(met_of_place: list[tuple[int, ...]], times: int) -> Waits:
    """Reads of places, each of which waits in these parts of such a multiple of 2 MB."""
    chance = np.random.default_rng(8)
    at_bytes = np.sort(chance.uniform(0, 280e6, 26_000))
    place = chance.integers(0, len(met_of_place), len(at_bytes))
    turns = at_bytes / 2e6
    part = np.round(turns).astype(np.int64) % times
    of_place = np.array([[n in parts for n in range(times)] for parts in met_of_place])
    met = of_place[place, part] & (np.abs(turns - np.round(turns)) < 0.02)
    # A part of the erasures is missed, another one at each place.
    met &= chance.random((len(met_of_place), 200))[place, np.round(turns).astype(np.int64)] < 0.6
    return Waits(place, at_bytes, chance.uniform(1e-4, 6e-4, len(met)) + 2.5e-3 * met, 41e6)


@pytest.mark.parametrize(
    ("met_of_place", "times"),
    [
        # The planes of half of the dies are half a block apart.
        ([(0,)] * 4 + [(0, 1)] * 4, 2),
        ([(0,), (1,), (2,), (0, 1)] * 2, 3),
        ([(0, 1)] * 8, 2),
    ],
)
def test_a_multiple_of_a_period_is_the_shortest_that_explains_the_places(
    met_of_place: list[tuple[int, ...]], times: int
) -> None:
    cycle = erase_cycle(_in_parts(met_of_place, times))
    assert cycle is not None
    skipped = any(len(parts) < times for parts in met_of_place)
    assert cycle.unit_bytes == pytest.approx((times if skipped else 1) * 2e6, rel=0.01)


def test_planes_of_two_places_in_turn_are_told_apart_by_where_in_a_period_they_wait() -> None:
    """As on a foreign drive (number 21 of the fourth arena): the erasures of one of the planes come
    in the even halves of a period, and those of another one a little later in the odd ones, so
    that a place waits in all halves."""
    chance = np.random.default_rng(8)
    at_bytes = np.sort(chance.uniform(0, 560e6, 120_000))
    place = chance.integers(0, 8, len(at_bytes))
    turns = at_bytes / 4.2e6 - place * 0.11
    halves, phase = np.divmod(turns, 1)
    met = (halves % 2 == 0) & (phase < 0.01) | (halves % 2 == 1) & (np.abs(phase - 0.125) < 0.005)
    met &= chance.random((8, 200))[place, halves.astype(np.int64)] < 0.5
    seconds = chance.uniform(1e-4, 6e-4, len(at_bytes)) + 2.2e-3 * met
    cycle = erase_cycle(Waits(place, at_bytes, seconds, 29e6))
    assert cycle is not None
    assert cycle.unit_bytes == pytest.approx(8.4e6, rel=0.01)


def test_stalls_nearer_than_rare_waits_are_no_distance_of_blocks() -> None:
    """Reads waited six times, after every 256 MiB, and the drive stalled after every 128 MiB."""
    rare = Cycle(256 * MIB, 2 * MIB, 5e-3, 6.2, 0.99, 1e-3, 20.0)
    assert stalls.larger(rare, 130 * MIB)
    assert not stalls.larger(rare, 255 * MIB)
    assert not stalls.larger(None, 130 * MIB)
