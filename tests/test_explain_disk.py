"""Zones, rotation and seeks as the probes find them follow the drive's own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import view_of

import fourcorners as fc
from fourcorners.analysis import internals
from fourcorners.analysis.internals.answer import known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.caches import buffer_line, write_buffer
from fourcorners.analysis.internals.caches.burst_curve import Curve
from fourcorners.analysis.internals.disk import mechanics, zones
from fourcorners.analysis.internals.resolver import Resolver
from fourcorners.finding import Finding
from fourcorners.sentences import say
from fourcorners.store import Run

DRIVE = "sim:wd6400aaks"


def _finding(run: Run, name: str) -> Finding:
    [finding] = [f for f in run.findings if f.name == name]
    return finding


@pytest.mark.parametrize("count", [7, 16])
def test_zones_follow_the_drives(count: int, tmp_path: Path) -> None:
    with fc.open_target(DRIVE, settings={"geometry.zones": str(count)}) as target:
        run = fc.run("probe-positions", target, out=tmp_path)
    assert _finding(run, "zones").value == count
    outer, inner = 113.6 * 2**20, 56.8 * 2**20
    for name, edge, inwards in (("outer_rate", outer, -1), ("inner_rate", inner, 1)):
        finding = _finding(run, name)
        assert finding.value == pytest.approx(
            edge + inwards * (outer - inner) / count / 2, rel=2e-3
        )
        # A place's second has a switch more or less.
        interval = np.array(finding.interval)
        assert interval[0] < finding.value < interval[1] < 1.005 * interval[0]


def test_flash_has_one_zone_and_does_not_turn(tmp_path: Path) -> None:
    with fc.open_target("sim:ocz-vertex-2-120gb-34nm") as target:
        run = fc.run("probe-positions", target, out=tmp_path)
        assert _finding(run, "zones").value == 1
        run = fc.run("probe-seeks", target, out=tmp_path)
    assert _finding(run, "rotation_rpm").value == 0


@pytest.mark.parametrize(("rpm", "stroke_ms"), [(5400, 14.0), (10_000, 8.0)])
def test_rotation_and_seeks_follow_the_drives(rpm: int, stroke_ms: float, tmp_path: Path) -> None:
    settings = {"geometry.rotation_rpm": str(rpm), "seek.stroke": f"{stroke_ms} ms"}
    with fc.open_target(DRIVE, settings=settings) as target:
        run = fc.run("probe-seeks", target, out=tmp_path)
    assert _finding(run, "rotation_rpm").value == rpm
    # Without the rates by place cylinders are taken to hold the same.
    assert _finding(run, "seek_stroke").value == pytest.approx(stroke_ms * 1e-3, rel=0.05)


def _burst_shows(
    shown: buffer_line.Buffer, monkeypatch: pytest.MonkeyPatch, **about: Any
) -> FakeRun:
    """A run with a short burst whose curve shows this buffer."""
    monkeypatch.setattr(write_buffer, "read_curve", lambda *burst, in_rounds: shown)
    run = FakeRun()
    run.add("probe-burst/short", "write", iops=1000.0, stage="short", **about)
    return run


@pytest.mark.parametrize(("height", "size"), [(0.5e6, 8e6), (1.5e6, None), (3e6, None)])
def test_what_leaves_a_disks_cache_late_is_added(
    height: float, size: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = buffer_line.Buffer(7.3e6, 0.1e6, 2.5e8, 1e8, 1e5, height / 7.3e6, 0.0, 7.3e6)
    run = _burst_shows(shown, monkeypatch)
    turn = {"rotation_rpm": 6000, "track_switch": 1e-3, "track_bytes": 1e6}
    # Half a turn of 10 ms and two switches, at 100 MB/s.
    assert write_buffer.size(view_of(run, **turn)).value == pytest.approx(size)
    assert write_buffer.size(view_of(run)).value == pytest.approx(7.3e6)


def test_an_arm_whose_disk_does_not_show_its_turns_writes_late_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As of a disk that keeps in flash what was read. At 100 MB/s, a read takes 8 ms."""
    shown = buffer_line.Buffer(15.7e6, 0.1e6, 1e10, 1e8, 1e5, 0.01, 0.0, 15.7e6)
    run = _burst_shows(shown, monkeypatch)
    run.add("probe-seeks/sentinel/1", "read", iops=125, sentinel=1)
    found = write_buffer.size(view_of(run))
    assert found.value == pytest.approx(16.5e6)
    assert found.interval is not None
    assert found.interval[0] < 15.7e6
    assert found.interval[1] > 17.3e6


def test_a_disk_may_have_less_room_than_the_line_says_by_a_run_that_it_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As of a shingled disk (number 62 of seed 1777251), which frees a run as it begins it."""
    shown = buffer_line.Buffer(4.5e6, 0.1e6, 1e9, 1e8, 1e5, 0.1, 0.0, 4.5e6)
    run = _burst_shows(shown, monkeypatch, elapsed_s=2.0)
    count_bytes = 4096.0 * np.arange(1, 2001)
    # At the link's rate up to 4 MB, and at that of the platters later.
    late = np.maximum(count_bytes - 4e6, 0)
    times = (np.minimum(count_bytes, 4e6) / 1e9 + late / 1e8) * 1e9
    run.histograms["probe-burst/short", "write"] = (times, times, np.ones(2000))
    turn = {"rotation_rpm": 6000, "track_switch": 1e-3, "track_bytes": 1e6}
    found = write_buffer.size(view_of(run, **turn))
    assert found.interval is not None
    assert found.interval[0] == pytest.approx(4e6 - 1e8 * 4e-3, rel=0.01)


def test_a_disk_that_drains_unevenly_has_a_buffer_of_less_certain_size() -> None:
    """The line from the late part of the burst back to when the buffer was full is long."""
    margins = []
    for slower in (1.0, 0.99):
        seconds = np.linspace(0.001, 1, 4000)
        rates = np.where(seconds < 0.75, 1e8, slower * 1e8)
        drained = np.cumsum(np.diff(seconds, prepend=0.0) * rates)
        curve = Curve(seconds, np.minimum(4e6 + drained, 3e8 * seconds))
        buffer = buffer_line.read_curve(curve, 4096.0, in_rounds=False)
        assert buffer is not None
        margins.append(buffer.margin_bytes)
    # By half of 1 % of 100 MB/s, over 0.73 s.
    assert margins[1] - margins[0] > 0.3e6


def test_a_disk_has_no_flash() -> None:
    run = FakeRun()
    for probe, speed in (("probe-depth", 80.0), ("probe-trim", 80.0)):
        run.add(f"{probe}/sentinel/1", "read", iops=speed, sentinel=1)
    run.add("probe-trim/kept/4096", "read", iops=80.0, kind="kept", part_bytes=4096)
    run.add("probe-depth/random/1", "read", iops=80.0, pattern="random", queue_depth=1)
    found = {finding.name: finding for finding in internals.find(run)}
    assert found["trim_granularity"].verdict == "not applicable"
    assert found["command_queue_depth"].verdict == "not identifiable"


def test_zones_are_told_from_scatter_and_crossings() -> None:
    chance = np.random.default_rng(4)
    steps = np.repeat([200.0, 190.0, 175.0, 150.0], 25)
    noisy = steps * np.exp(chance.normal(0, 0.003, len(steps)))
    assert zones.levels(noisy) == [(0, 25), (25, 50), (50, 75), (75, 100)]
    crossing = steps.copy()
    crossing[25] = 196.0
    assert len(zones.levels(crossing)) == 4
    assert zones.levels(np.full(100, 200.0)) == [(0, 100)]


@pytest.mark.parametrize("turns", [0, 1])
def test_turns_that_requests_lose_are_none_of_the_platters(turns: int) -> None:
    run, block, rate = FakeRun(32 * 10**9), 2**18, np.repeat([60e6, 55e6, 48e6, 40e6], 8)
    for place, each in enumerate(rate):
        request_s = block / each + turns / 120
        where: dict[str, Any] = {"offset_bytes": place * 10**9, "block_bytes": block}
        run.add(f"probe-positions/at/{place}", "read", iops=1 / request_s, **where)
        # One of so many requests lost another turn.
        bounds = np.array([request_s, request_s + 1 / 120]) * 1e9
        run.histograms[f"probe-positions/at/{place}", "read"] = (
            bounds,
            bounds,
            np.array([round(60 / request_s), 0]),
        )
    run.add("probe-seeks/sentinel/1", "read", iops=80, sentinel=1)
    track = known(504320, say("any.value"), detail={"bytes_per_second": 60.3e6})
    view = view_of(run, rotation_rpm=7200, track_bytes=track, track_switch=1e-3)
    outer, inner = zones.outer_rate(view), zones.inner_rate(view)
    assert outer is not None
    assert inner is not None
    assert (outer.value, inner.value) == pytest.approx((60e6, 40e6), rel=1e-3)
    assert outer.said.code == ("without" if turns else "measured")
    assert zones.count(view).value == 4
    # Without the tracks it does not show.
    alone = zones.outer_rate(view_of(run, rotation_rpm=7200))
    assert alone is not None
    assert (alone.value is None) == bool(turns)


def _four_zones(unread_bytes: int) -> FakeRun:
    """A disk of four zones of 8 GB, of which the last bytes are not read."""
    block, reads, rate = 2**18, 160, np.repeat([60e6, 55e6, 48e6, 40e6], 8)
    run = FakeRun(capacity_bytes=31 * 10**9 + reads * block + unread_bytes)
    for place, each in enumerate(rate):
        where: dict[str, Any] = {"offset_bytes": place * 10**9, "block_bytes": block}
        name = f"probe-positions/at/{place}"
        run.add(name, "read", iops=each / block, elapsed_s=reads * block / each, **where)
        bounds = np.array([block / each]) * 1e9
        run.histograms[name, "read"] = (bounds, bounds, np.array([reads]))
    return run


@pytest.mark.parametrize(
    ("cached", "followed", "told"),
    [(3.46e6, None, False), (80e6, None, True), (3.46e6, 3.47e6, True)],
)
def test_one_rate_of_a_disk_may_be_that_of_its_link(
    cached: float, followed: float | None, told: bool
) -> None:
    """As of a disk of eight zones behind a bus of 3.5 MB/s, in DiskSim."""
    block, reads = 2**18, 14
    run = FakeRun(capacity_bytes=32 * 10**9)
    run.add("probe-positions/sentinel/1", "read", iops=70, sentinel=1)
    for place in range(32):
        where: dict[str, Any] = {"offset_bytes": place * 10**9, "block_bytes": block}
        name = f"probe-positions/at/{place}"
        run.add(name, "read", iops=3.46e6 / block, elapsed_s=reads * block / 3.46e6, **where)
        bounds = np.array([block / 3.46e6]) * 1e9
        run.histograms[name, "read"] = (bounds, bounds, np.array([reads]))
    link = unknown(say("any.value"), detail={"measured_bytes_per_second": [3.3e6, cached]})
    track = followed and known(5e4, say("any.value"), detail={"bytes_per_second": followed})
    found = zones.count(view_of(run, link_ceiling=link, track_bytes=track))
    assert found.value == (1 if told else None)
    assert told or found.said.code == "zones.one_rate"


@pytest.mark.parametrize(("reads", "told"), [(100, True), (25, False)])
def test_zones_that_differ_by_a_switch_of_tracks_are_not_counted(reads: int, told: bool) -> None:
    """Each zone is slower by 1.2 MB/s, which is 2 % or more. Reads that lose turns contain one
    switch of tracks more or less, which of 25 reads is 0.9 % of their time without those turns."""
    block, rate = 2**18, np.repeat(np.arange(60e6, 51e6, -1.2e6), 4)
    run = FakeRun(10**9 * (len(rate) - 1) + 100 * block)
    for place, each in enumerate(rate):
        request_s = block / each + 1 / 120
        name = f"probe-positions/at/{place}"
        where: dict[str, Any] = {"offset_bytes": place * 10**9, "block_bytes": block}
        run.add(name, "read", iops=1 / request_s, elapsed_s=reads * request_s, **where)
        bounds = np.array([request_s]) * 1e9
        run.histograms[name, "read"] = (bounds, bounds, np.array([reads]))
    track = known(504320, say("any.value"), detail={"bytes_per_second": 60e6})
    found = zones.count(view_of(run, rotation_rpm=7200, track_bytes=track, track_switch=1e-3))
    assert (found.value, found.said.code) == ((8, "steps") if told else (None, "zones.small_steps"))


@pytest.mark.parametrize(("unread", "low"), [(5 * 10**8, 40e6 * 40 / 48), (10**7, 40e6)])
def test_another_zone_may_begin_behind_the_last_place(unread: int, low: float) -> None:
    inner = zones.inner_rate(view_of(_four_zones(unread), rotation_rpm=7200))
    assert inner is not None
    assert inner.interval == pytest.approx((low, 40e6), rel=1e-3)


@pytest.mark.parametrize(
    ("unread", "counted", "told"),
    [(5 * 10**8, True, True), (7 * 10**9, False, True), (9 * 10**9, False, False)],
)
def test_zones_behind_the_last_place_are_not_left_out(
    unread: int, counted: bool, told: bool
) -> None:
    """Each zone is 8 GB long, and so much of a small disk may not be read. The last zone ends
    anywhere: that of the Cheetah 9LP in DiskSim is half as long as the others."""
    view = view_of(_four_zones(unread), rotation_rpm=7200)
    inner, outer = zones.inner_rate(view), zones.outer_rate(view)
    assert inner is not None
    assert outer is not None
    assert outer.value == pytest.approx(60e6)
    assert (zones.count(view).value == 4) == counted
    assert (inner.value is not None) == told


def test_a_turn_that_one_request_loses_is_no_step() -> None:
    run = FakeRun()
    for place in range(16):
        where: dict[str, Any] = {"offset_bytes": place * 10**9, "block_bytes": 2**18}
        odd = int(place == 7)
        run.add(
            f"probe-positions/at/{place}",
            "read",
            iops=100 / (100 * 5e-3 + odd / 120),
            elapsed_s=100 * 5e-3 + odd / 120,
            **where,
        )
        bounds = np.array([5e-3, 5e-3 + 1 / 120]) * 1e9
        count = np.array([100 - odd, odd])
        run.histograms[f"probe-positions/at/{place}", "read"] = (bounds, bounds, count)
    _, rate = view_of(run, rotation_rpm=7200).once(zones.profile)
    assert rate == pytest.approx(np.full(16, 2**18 / 5e-3), rel=1e-6)


@pytest.mark.parametrize("even", [True, False])
def test_times_that_scatter_are_none_of_a_turn(even: bool) -> None:
    chance, turn_s = np.random.default_rng(2), 60 / 7200
    scattered = chance.normal(8e-3, 0.9 * turn_s / 3.29, 2000)
    times = chance.uniform(2e-3, 2e-3 + turn_s, 2000) if even else scattered
    run = FakeRun()
    run.add("probe-seeks/near", "read", iops=1 / float(times.mean()))
    count, edges = np.histogram(times * 1e9, bins=500)
    run.histograms["probe-seeks/near", "read"] = (edges[:-1], edges[1:], count)
    assert mechanics.rotation(view_of(run)).value == (7200 if even else None)


@pytest.mark.parametrize("even", [True, False])
def test_only_what_turns_is_said_to_have_no_flash(even: bool) -> None:
    """A slow host or network makes the reads of an SSD as long as those of a disk."""
    chance, turn_s = np.random.default_rng(2), 60 / 7200
    scattered = chance.lognormal(np.log(5e-3), 0.8, 2000)
    times = chance.uniform(2e-3, 2e-3 + turn_s, 2000) if even else scattered
    run = FakeRun()
    run.add("probe-seeks/near", "read", iops=1 / float(times.mean()))
    run.add("probe-seeks/sentinel/1", "read", iops=1 / float(times.mean()), sentinel=True)
    count, edges = np.histogram(times * 1e9, bins=500)
    run.histograms["probe-seeks/near", "read"] = (edges[:-1], edges[1:], count)
    for size in (4096, 8192):
        run.add(f"probe-conflicts/window/{size}", "read", iops=100.0, window_bytes=size)
    dies = Resolver(run).finding("stripe_bytes")
    assert dies is not None
    assert dies.verdict == ("not applicable" if even else "not identifiable")


def test_reads_with_a_short_way_and_wait_are_part_of_a_turn() -> None:
    times = np.random.default_rng(7).uniform(0.6e-3, 0.6e-3 + 60 / 5400, 2000)
    # As many come from a cache.
    times = np.concatenate([times, np.full(100, 80e-6)])
    run = FakeRun()
    run.add("probe-seeks/near", "read", iops=1 / float(times.mean()))
    count, edges = np.histogram(times * 1e9, bins=1000)
    run.histograms["probe-seeks/near", "read"] = (edges[:-1], edges[1:], count)
    found = mechanics.rotation(view_of(run))
    assert found.value == 5400
    assert abs(found.detail["goodness"]["off_the_nearest_speed"]) < 0.02


def test_times_that_are_all_the_same_are_none_of_a_turn() -> None:
    run = FakeRun()
    run.add("probe-seeks/near", "read", iops=100)
    bounds = np.array([9.9e6]), np.array([10.1e6])
    run.histograms["probe-seeks/near", "read"] = (*bounds, np.array([2000]))
    assert mechanics.rotation(view_of(run)).verdict == "not identifiable"


@pytest.mark.parametrize(("of_two", "holds"), [(1.05, True), (1.7, False), (None, None)])
def test_seeks_of_several_arms_are_none_of_one(of_two: float | None, holds: bool | None) -> None:
    run, capacity = FakeRun(capacity_bytes=10**11), 10**11
    for share in (0.01, 0.1, 0.2, 0.4, 0.7, 1.0):
        where: dict[str, Any] = {"distance_bytes": int(share * capacity), "block_bytes": 4096}
        at_s = 6e-3 + 12e-3 * share**0.5
        run.add(f"probe-seeks/apart/{share}", "read", iops=1 / at_s, elapsed_s=800 * at_s, **where)
    run.add("probe-seeks/near", "read", iops=100)
    order = known(1.0, say("any.value"), detail={"gain_of_two": of_two})
    checks = {
        c.assumption: c.holds for c in mechanics.seek_stroke(view_of(run, reordering=order)).checks
    }
    assert checks.get(Assumption.ONE_ARM) == holds


def test_far_seeks_grow_with_the_distance() -> None:
    run, capacity = FakeRun(capacity_bytes=10**11), 10**11
    for place in range(17):
        run.add(f"probe-positions/at/{place}", "read", iops=400, offset_bytes=place * capacity / 17)
    for share in (0.002, 0.01, 0.03, 0.07, 0.13, 0.2, 0.3, 0.45, 0.65, 0.85, 1.0):
        way_s = 12e-3 * min(share, 0.3) ** 0.5 + 9e-3 * max(share - 0.3, 0)
        at_s = 30 / 7200 + 4096 / (400 * 4096) + 0.7e-3 + way_s * 799 / 800
        where: dict[str, Any] = {"distance_bytes": int(share * capacity), "block_bytes": 4096}
        run.add(f"probe-seeks/apart/{share}", "read", iops=1 / at_s, elapsed_s=800 * at_s, **where)
    run.add("probe-seeks/near", "read", iops=100)
    view = view_of(run, rotation_rpm=7200, command_queue_depth=32)
    stroke_s = 12e-3 * 0.3**0.5 + 9e-3 * 0.7
    assert mechanics.seek_stroke(view).value == pytest.approx(stroke_s, rel=1e-3)
    assert mechanics.seek_base(view).value == pytest.approx(0.7e-3, rel=0.01)


def test_the_shortest_seek_is_what_a_queue_leaves_of_the_curve() -> None:
    run, capacity = FakeRun(capacity_bytes=10**11), 10**11
    for place in range(17):
        run.add(f"probe-positions/at/{place}", "read", iops=400, offset_bytes=place * capacity / 17)
    rate, reads = 400 * 4096, 100
    for share in (0.01, 0.1, 0.2, 0.4, 0.7, 1.0):
        # The first of the reads has no way from the other region.
        way_s = 12e-3 * share**0.5 * (reads - 1) / reads
        at_s = 30 / 7200 + 4096 / rate + 1.5e-3 + way_s
        run.add(
            f"probe-seeks/apart/{share}",
            "read",
            iops=1 / at_s,
            elapsed_s=reads * at_s,
            distance_bytes=int(share * capacity),
            block_bytes=4096,
        )
    run.add("probe-seeks/near", "read", iops=100)
    view = view_of(run, rotation_rpm=7200, command_queue_depth=32)
    assert mechanics.seek_stroke(view).value == pytest.approx(12e-3, rel=1e-6)
    assert mechanics.seek_base(view).value == pytest.approx(1.5e-3, rel=1e-6)
    # The mean root of the distance of two points of a line is 8/15 of that of its length.
    assert mechanics.seek_mean(view).value == pytest.approx(1.5e-3 + 12e-3 * 8 / 15, rel=2e-3)
    more = unknown(say("any.value"), detail={mechanics.AT_LEAST: 16})
    found = mechanics.seek_base(view_of(run, rotation_rpm=7200, command_queue_depth=more))
    assert found.value == pytest.approx(1.5e-3, rel=1e-6)
    for rpm, queue in ((None, 32), (7200, 1), (7200, None)):
        view = view_of(run, rotation_rpm=rpm, command_queue_depth=queue)
        assert mechanics.seek_stroke(view).value == pytest.approx(12e-3, rel=1e-6)
        assert mechanics.seek_base(view).value is None


def test_near_addresses_on_other_cylinders_make_the_shortest_seek_less_sure() -> None:
    """As where tracks follow each other on one surface, and then on the next one."""
    run, capacity = FakeRun(capacity_bytes=10**11), 10**11
    for place in range(17):
        run.add(f"probe-positions/at/{place}", "read", iops=400, offset_bytes=place * capacity / 17)
    for share in (1.0, 0.85, 0.65, 0.45, 0.3, 0.2, 0.13, 0.07, 0.03, 0.01, 0.002):
        moved_s = 0.25e-3 if share < 0.02 else 0.0
        at_s = 30 / 7200 + 4096 / (400 * 4096) + 1.5e-3 + 12e-3 * share**0.5 - moved_s
        where: dict[str, Any] = {"distance_bytes": int(share * capacity), "block_bytes": 4096}
        run.add(f"probe-seeks/apart/{share}", "read", iops=1 / at_s, elapsed_s=1e4 * at_s, **where)
    run.add("probe-seeks/near", "read", iops=100)
    found = mechanics.seek_base(view_of(run, rotation_rpm=7200, command_queue_depth=32))
    assert found.interval is not None
    assert found.interval[0] < 1.499e-3 < found.interval[1]


def test_cylinders_are_fewer_where_the_rate_is_higher() -> None:
    offset, rate = np.linspace(0, 1000, 50), np.linspace(200, 100, 50)
    [half] = mechanics.strokes(np.array([500.0]), 1000.0, offset, rate)
    # Of 1/r from 200 to 100 the first half is log(4/3) of log(2).
    assert half == pytest.approx(np.log(4 / 3) / np.log(2), rel=1e-3)
