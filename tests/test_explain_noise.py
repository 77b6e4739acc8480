"""What noise does to findings: intervals become wider, and claims that it explains are not made."""

from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun

from fourcorners.analysis.internals.answer import Answer, known
from fourcorners.analysis.internals.caches import read_cache
from fourcorners.analysis.internals.disk import mechanics, tracks, zones
from fourcorners.analysis.internals.flash import log_blocks
from fourcorners.analysis.internals.link import command_queue
from fourcorners.analysis.internals.method import pace
from fourcorners.analysis.internals.usual import usual_s
from fourcorners.analysis.internals.view import View
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say

MS = 1_000_000


def _view(run: FakeRun, **answers: Answer) -> View:
    return View(run, answers.get)


def _latencies(run: FakeRun, recording: str, operation: str, ms: dict[float, int]) -> None:
    """Replaces the latencies of a recording: how many took so many milliseconds."""
    bounds = np.array([round(one * MS) for one in sorted(ms)])
    counts = np.array([ms[one] for one in sorted(ms)])
    run.histograms[recording, operation] = (bounds, bounds, counts)


@pytest.mark.parametrize(("hanging", "left_out"), [(0, 0), (10, 10), (100, 0)])
def test_rare_commands_that_hang_are_left_out(hanging: int, left_out: int) -> None:
    run, count = FakeRun(), 1000
    mean_ms = (count - hanging + 50 * hanging) / count
    run.add("probe-flush/flushed", "flush", iops=1e3 / mean_ms, elapsed_s=mean_ms)
    _latencies(run, "probe-flush/flushed", "flush", {1: count - hanging, 50: hanging})
    [m] = _view(run).points("probe-flush", "flush")
    assert usual_s(m) == pytest.approx((1.0 if left_out else mean_ms) * 1e-3)


def _sentinels(run: FakeRun, times_us: list[float], spread: float) -> None:
    for number, us in enumerate(times_us):
        recording = f"probe-{number}/sentinel"
        run.add(recording, "read", iops=1e6 / us, elapsed_s=0.2, sentinel=1)
        ms = {us * 1e-3 * (1 + spread * step): 400 for step in (-2, -1, 0, 1, 2)}
        _latencies(run, recording, "read", ms)


def test_intervals_cover_a_pace_that_changes_from_probe_to_probe() -> None:
    run = FakeRun()
    _sentinels(run, [100, 104, 98, 101, 95, 102], 0.01)
    view = _view(run)
    scatter = pace.scatter(view)
    assert scatter == pytest.approx(np.log([100, 104, 98, 101, 95, 102]).std(ddof=1), rel=0.02)
    said = say("write_drain_rate.measured")
    bounded = pace.widened(view, known(100e6, said, bounds=(90e6, 110e6)), "B/s")
    assert bounded.interval == pytest.approx(
        (90e6 - 164.5e6 * scatter, 110e6 + 164.5e6 * scatter), rel=1e-4
    )
    assert "interval" not in bounded.detail  # It is no longer certain.
    exact = known(100e6, said, interval=(99.9e6, 100.1e6))
    wider = pace.widened(view, exact, "B/s")
    assert wider.interval == pytest.approx(
        (100e6 * (1 - 1.645 * scatter), 100e6 * (1 + 1.645 * scatter)), rel=1e-3
    )
    assert pace.widened(view, exact, "B") == exact


def test_a_pace_shows_where_half_of_the_probes_read_what_was_not_written() -> None:
    run = FakeRun()
    written_us = [100, 104, 88, 101]
    _sentinels(run, [28, 28, *written_us, 28, 28], 0.01)
    scatter = pace.scatter(_view(run))
    assert scatter == pytest.approx(np.log(written_us).std(ddof=1), rel=0.02)


@pytest.mark.parametrize(
    ("bounds", "verdict"),
    [((95e6, 105e6), "measured"), ((80e6, 120e6), "not identifiable")],
)
def test_what_the_pace_leaves_known_to_no_better_than_a_quarter_has_no_value(
    bounds: tuple[float, float], verdict: str
) -> None:
    run = FakeRun()
    _sentinels(run, [100, 104, 88, 101, 92, 110], 0.01)
    found = pace.widened(_view(run), known(100e6, say("link_ceiling.cached"), bounds=bounds), "B/s")
    assert found.verdict == verdict
    assert found.said.code == ("any.pace" if found.value is None else "link_ceiling.cached")


@pytest.mark.parametrize("times_us", [[100] * 6, [100, 100.5, 99.5, 100.2, 100.1, 99.8], [90, 110]])
def test_a_pace_that_chance_explains_widens_nothing(times_us: list[float]) -> None:
    run = FakeRun()
    _sentinels(run, times_us, 0.1)
    view = _view(run)
    exact = known(100e6, say("write_drain_rate.measured"), bounds=(99.9e6, 100.1e6))
    assert pace.scatter(view) == 0
    assert pace.widened(view, exact, "B/s") == exact


@pytest.mark.parametrize(("slower", "scatters"), [(1.0, False), (1.05, True)])
def test_pages_of_two_kinds_change_no_pace(slower: float, scatters: bool) -> None:
    """Half of the reads of a probe are of slower pages, more or less by chance, so that the median
    is that of either kind. One probe of eight is slower as a whole."""
    run, chance = FakeRun(), np.random.default_rng(2)
    for number in range(8):
        recording, pace_of = f"probe-{number}/sentinel", slower if number == 5 else 1.0
        run.add(recording, "read", iops=16e3, elapsed_s=0.2, sentinel=1)
        lower = int(chance.binomial(4000, 0.5))
        ms = {0.057 * pace_of: lower, 0.069 * pace_of: 4000 - lower}
        _latencies(run, recording, "read", ms)
    assert (pace.scatter(_view(run)) > 0) == scatters


@pytest.mark.parametrize(("jitter", "wider"), [(0.0, False), (0.05, True)])
def test_a_pace_that_sentinels_hide_widens_intervals_where_the_same_work_scatters(
    jitter: float, wider: bool
) -> None:
    """The reads of a disk scatter by their seeks, so that a pace that drifts by 4 % is not seen."""
    run = FakeRun()
    _sentinels(run, [100, 100.5, 99.5, 100.2, 100.1, 99.8], 0.2)
    run.add("probe-flush/just-read/1", "read", iops=7e3, elapsed_s=0.1, kind="just read")
    just = {0.14 * (1 + jitter * step): 100 for step in (-2, -1, 0, 1, 2)}
    _latencies(run, "probe-flush/just-read/1", "read", just if jitter else {0.14: 500})
    view = _view(run)
    assert pace.scatter(view) == 0
    bounded = known(257e6, say("link_ceiling.cached"), bounds=(256e6, 258e6))
    seen = pace.widened(view, bounded, "B/s")
    assert (seen != bounded) == wider
    if wider:
        # The middle of so many reads is off by half a percent or more.
        off = pace.unsure(view)
        assert 0.003 < off < 0.01
        half = 1.645 * 257e6 * off
        assert seen.interval == pytest.approx((256e6 - half, 258e6 + half), rel=1e-4)
        assert "interval" not in seen.detail


@pytest.mark.parametrize(("read_us", "scatters"), [(100, True), (8000, False)])
def test_an_arm_that_has_a_shorter_way_in_a_smaller_area_changes_no_pace(
    read_us: float, scatters: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second and the last two probes read a thirtieth of the area. What has no arm reads as
    long there."""
    run = FakeRun()
    shares = (1.0, 0.9, 1.0, 1.0, 1.0, 0.88, 0.85)
    _sentinels(run, [read_us * share for share in shares], 0.01)
    small = {f"probe-{number}/sentinel" for number in (1, 5, 6)}
    monkeypatch.setattr(pace, "_area_bytes", lambda m: 2**28 if m.recording in small else 2**33)
    assert (pace.scatter(_view(run)) > 0) == scatters


@pytest.mark.parametrize(("again_ms", "kept"), [(0.1, False), (0.03, True)])
def test_reads_that_hang_elsewhere_only_show_nothing_that_is_kept(
    again_ms: float, kept: bool
) -> None:
    """Sixteen of a thousand reads hang, but by chance none of the few of the smallest region."""
    run = FakeRun()
    random = {0.1: 3936, 4.0: 64}
    for name, pattern in (("sequential", "sequential"), ("random", "random")):
        run.add(f"probe-caches/{name}", "read", iops=6e3, pattern=pattern, block_bytes=16384)
        _latencies(run, f"probe-caches/{name}", "read", random)
    for mib, ms in ((1, {again_ms: 192}), (2, {0.1: 364, 4.0: 20})):
        axes: dict[str, Any] = {"region_bytes": mib << 20, "wanted_ios": 192 * mib}
        run.add(f"probe-caches/again/{mib}", "read", iops=6e3, elapsed_s=0.0325 * mib, **axes)
        _latencies(run, f"probe-caches/again/{mib}", "read", ms)
    found = read_cache.cache(_view(run))
    assert found is not None
    assert found.value == (1.5 * 2**20 if kept else 0)


@pytest.mark.parametrize(("alone", "verdict"), [(0.95, "measured"), (0.6, "not identifiable")])
def test_sequences_count_only_where_a_single_one_is_read_ahead_of(
    alone: float, verdict: str
) -> None:
    run = FakeRun()
    for name, ms in (("sequential", 0.02), ("random", 0.1)):
        run.add(f"probe-caches/{name}", "read", iops=1e3 / ms, pattern=name, block_bytes=4096)
    for count, share in ((1, alone), (2, 0.94 * alone), (3, 0.1), (16, 0.0)):
        recording = f"probe-caches/streams/{count}"
        run.add(recording, "read", iops=10.0, sequences=count)
        _latencies(
            run, recording, "read", {0.02: round(1000 * share), 0.1: 1000 - round(1000 * share)}
        )
    found = read_cache.streams(_view(run, read_ahead=known(1.0, say("read_ahead.faster"))))
    assert found is not None
    assert found.verdict == verdict
    assert found.value == (2 if verdict == "measured" else None)


def _zoned(scatter: float, last: float = 1.0) -> View:
    """Four zones; the last place is read so many times as fast as the others of its zone."""
    run, chance = FakeRun(), np.random.default_rng(1)
    for place in range(64):
        rate = 150e6 * 0.95 ** (place // 16) * (1 + scatter * chance.normal())
        rate *= last if place == 63 else 1.0
        run.add(
            f"probe-positions/{place}",
            "read",
            iops=rate / 2**18,
            block_bytes=2**18,
            offset_bytes=place * 10**9,
        )
    return _view(run)


def test_zones_are_not_counted_in_rates_that_scatter() -> None:
    assert zones.count(_zoned(0.0005)).value == 4
    assert zones.count(_zoned(0.02)).verdict == "not identifiable"


@pytest.mark.parametrize(
    ("scatter", "last", "rate"), [(0.0005, 0.8, 103e6), (0.015, 1.0, 129e6), (0.015, 0.7, None)]
)
def test_a_single_place_is_no_zone_where_rates_scatter(
    scatter: float, last: float, rate: float | None
) -> None:
    found = zones.inner_rate(_zoned(scatter, last))
    assert found is not None
    assert found.value == (rate and pytest.approx(rate, rel=0.01))


@pytest.mark.parametrize("hanging_s", [0.0, 100.0])
def test_a_write_that_hangs_makes_no_log_blocks(hanging_s: float) -> None:
    run = FakeRun()
    for step in range(7):
        for where in ("at", "across"):
            hangs = step == 3 and where == "at"
            recording = f"probe-alignment/{step}-{where}"
            elapsed_s = 10.0 + (hanging_s if hangs else 0.0)
            about: dict[str, Any] = {"boundary_bytes": 1024 << step, "where": where}
            run.add(
                recording,
                "write",
                iops=50 / elapsed_s,
                elapsed_s=elapsed_s,
                latency_mean_s=6.0,
                queue_depth=32,
                **about,
            )
            _latencies(run, recording, "write", {6000: 49, 6001 + 1e3 * hanging_s: 1})
    run.add("probe-alignment/near", "write", iops=5.0, elapsed_s=10.0, queue_depth=32, near_bytes=1)
    found = log_blocks.log_blocks(_view(run))
    assert found.value == 0


@pytest.mark.parametrize(("points", "value"), [(14, None), (3, 0.0)])
def test_writes_that_mostly_wait_exclude_no_log_blocks(points: int, value: float | None) -> None:
    """Many planes that merge side by side make the mean write short, but not the longest."""
    run = FakeRun()
    for number in range(14):
        recording = f"probe-alignment/{number}"
        waits_ms = 45.0 if number < points else 1.2
        mean_s = (0.8 * 80 + waits_ms * 20) / 100 / 32 * 1e-3
        about: dict[str, Any] = {
            "boundary_bytes": 1024 << number // 2,
            "where": ("at", "across")[number % 2],
        }
        run.add(
            recording, "write", iops=1 / mean_s, elapsed_s=100 * mean_s, queue_depth=32, **about
        )
        run.rows[-1] |= {"latency_min_s": 0.8e-3, "latency_max_s": 1e-3 * waits_ms}
        _latencies(run, recording, "write", {0.8: 80, waits_ms: 20})
    found = log_blocks.log_blocks(_view(run))
    assert found.value == value
    assert found.verdict == ("not identifiable" if value is None else "measured")


@pytest.mark.parametrize(("points", "value"), [(5, None), (3, 0.0)])
def test_logs_that_all_blocks_share_are_full_now_and_then(points: int, value: float | None) -> None:
    """FAST merges every block that a full log has writes of, which takes seconds; a point without
    such merges shows none."""
    run = FakeRun()
    for number in range(14):
        recording = f"probe-alignment/{number}"
        waits = 32 if number < points else 0
        elapsed_s = 1.0 + (4.0 if waits else 0.0)
        about: dict[str, Any] = {
            "boundary_bytes": 1024 << number // 2,
            "where": ("at", "across")[number % 2],
        }
        run.add(
            recording, "write", iops=1e3 / elapsed_s, elapsed_s=elapsed_s, queue_depth=32, **about
        )
        run.rows[-1] |= {"latency_min_s": 30e-3, "latency_max_s": 4.0 if waits else 30e-3}
        _latencies(
            run, recording, "write", {30.0: 1000 - waits} | ({4000.0: waits} if waits else {})
        )
    assert log_blocks.log_blocks(_view(run)).value == value


@pytest.mark.parametrize(("stops", "value"), [((13,), 0.0), ((2, 6, 9, 13), 1.0)])
def test_a_single_stop_of_the_drive_makes_no_log_blocks(
    stops: tuple[int, ...], value: float
) -> None:
    """Writes complete before the next second of a stop is over: fewer than are outstanding."""
    run = FakeRun()
    for number in range(14):
        recording, stopped = f"probe-alignment/{number}", number in stops
        about: dict[str, Any] = {
            "boundary_bytes": 1024 << number // 2,
            "where": ("at", "across")[number % 2],
        }
        each_s = 46e-3 if stopped else 12e-6
        elapsed_s = 7 * each_s if stopped else 0.1
        run.add(recording, "write", iops=1 / each_s, elapsed_s=elapsed_s, queue_depth=32, **about)
        run.rows[-1] |= {"latency_min_s": 0.3e-3, "latency_max_s": 0.83}
        _latencies(run, recording, "write", {520.0: 7} if stopped else {0.384: 8000})
    assert log_blocks.log_blocks(_view(run)).value == value


def _small_writes(means_s: list[float]) -> FakeRun:
    """Points of the probe of boundaries, at one and across it in turn, with these times a write."""
    run = FakeRun()
    for number, mean_s in enumerate(means_s):
        recording = f"probe-alignment/{number}"
        about: dict[str, Any] = {
            "boundary_bytes": 1024 << number // 2,
            "where": ("at", "across")[number % 2],
        }
        run.add(recording, "write", iops=1 / mean_s, elapsed_s=1, queue_depth=32, **about)
        _latencies(run, recording, "write", {32e3 * mean_s: 1000})
    return run


@pytest.mark.parametrize(("slow", "value"), [((0, 1, 2), 0.0), ((0, 1, 9), 1.0)])
def test_a_drive_that_is_slow_at_first_only_has_no_log_blocks(
    slow: tuple[int, ...], value: float
) -> None:
    """It still does what the writes before the probe had left; logs fill up again."""
    run = _small_writes([8e-3 if number in slow else 0.4e-3 for number in range(14)])
    assert log_blocks.log_blocks(_view(run)).value == value


@pytest.mark.parametrize(
    ("quick", "near_s", "value"),
    [((0, 1, 2, 3), None, None), ((0, 1, 2, 3), 0.3e-3, 1.0), ((0, 1, 2, 9), None, 1.0)],
)
def test_a_drive_that_slows_down_once_may_have_begun_to_collect(
    quick: tuple[int, ...], near_s: float | None, value: float | None
) -> None:
    """SimpleSSD's page mapping collects for each write when its erased blocks are used up. Logs of
    a few blocks are quick again."""
    run = _small_writes([0.04e-3 if number in quick else 75e-3 for number in range(14)])
    if near_s is not None:
        run.add(
            "probe-alignment/near",
            "write",
            iops=1 / near_s,
            elapsed_s=1,
            queue_depth=32,
            near_bytes=65536,
        )
        _latencies(run, "probe-alignment/near", "write", {32e3 * near_s: 1000})
    assert log_blocks.log_blocks(_view(run)).value == value


def test_a_probe_that_ended_after_a_slow_start_has_an_answer() -> None:
    run = FakeRun()
    for boundary_bytes, mean_s in ((4096, 8e-3), (2**20, 0.4e-3)):
        recording = f"probe-alignment/{boundary_bytes}"
        about: dict[str, Any] = {"boundary_bytes": boundary_bytes, "where": "at"}
        run.add(recording, "write", iops=1 / mean_s, elapsed_s=1, queue_depth=32, **about)
        _latencies(run, recording, "write", {32e3 * mean_s: round(1 / mean_s)})
    assert log_blocks.log_blocks(_view(run)).value == 0


def test_a_single_read_that_hangs_reorders_nothing() -> None:
    run = FakeRun()
    for depth in (1, 2, 4, 8):
        recording = f"probe-depth/{depth}"
        mean_ms = 8.5 if depth == 1 else 7.0
        run.add(
            recording,
            "read",
            iops=1e3 / mean_ms,
            elapsed_s=8.5,
            pattern="random",
            queue_depth=depth,
        )
    _latencies(run, "probe-depth/1", "read", {7: 996, 380: 4})
    view = _view(run)
    found = command_queue.reordering(view)
    assert found is not None
    assert found.value == 0
    assert command_queue.queue_depth(view).value == 1


@pytest.mark.parametrize(
    ("deeper", "reorders"),
    [
        ((196, 201, 190, 200, 151, 194, 201), None),
        ((196, 201, 204, 207, 210, 213, 220), 1.0),
        # A disk that keeps the order of issue: most depths gain an eighth by chance.
        ((202, 231, 224, 244, 192, 238, 163), None),
        # An order, of which chance held up two depths.
        ((210, 290, 330, 300, 420, 500, 480), 1.0),
    ],
)
def test_rates_that_go_up_and_down_are_no_order(
    deeper: tuple[float, ...], reorders: float | None
) -> None:
    """The first as of a disk with noise of 15 %, on which chance held up the reads of depth 2."""
    run = FakeRun()
    for step, iops in enumerate((190.6, 185.6, *deeper)):
        about: dict[str, Any] = {"pattern": "random", "queue_depth": 2**step}
        run.add(f"probe-depth/random/{2**step}", "read", iops=iops, **about)
    found = command_queue.reordering(_view(run))
    assert found is not None
    assert found.value == reorders


@pytest.mark.parametrize(
    ("shares", "value"),
    [((0.9, 0.9, 0.9, 0.2), 256), ((0.9, 0.8, 0.6, 0.2), None), ((0.9, 0.6, 0.8, 0.1), None)],
)
def test_a_reach_ends_in_a_clear_drop(shares: tuple[float, ...], value: int | None) -> None:
    run = FakeRun()
    run.add("probe-caches/sentinel", "read", iops=100.0, sentinel=1)
    for name, ms in (("sequential", 0.1), ("random", 10.0)):
        run.add(f"probe-caches/{name}", "read", iops=1e3 / ms, pattern=name, block_bytes=4096)
    for step, share in enumerate(shares):
        recording = f"probe-caches/ahead/{step}"
        run.add(recording, "read", iops=100.0, distance_bytes=(64 << step) * 1024)
        count = round(1000 * share)
        _latencies(run, recording, "read", {0.1: count, 10.0: 1000 - count})
    found = read_cache.reach(_view(run, read_ahead=known(1.0, say("read_ahead.faster"))))
    assert found is not None
    told = None if found.interval is None else found.interval[0]
    assert told == (None if value is None else value * 1024)


@pytest.mark.parametrize(("spread", "told"), [(0.0, True), (0.002, True), (0.05, False)])
def test_switches_are_told_only_from_times_that_scatter_less(spread: float, told: bool) -> None:
    chance = np.random.default_rng(1)
    seconds = 1e-3 * (1 + spread * chance.normal(size=2000))
    seconds[::20] += 0.3e-3
    assert (tracks.Followed.of(seconds) is not None) == told


def test_under_noise_sequences_end_in_a_clear_drop() -> None:
    run = FakeRun()
    _sentinels(run, [100, 104, 98, 101, 95, 102], 0.01)
    for name, ms in (("sequential", 0.02), ("random", 0.1)):
        run.add(f"probe-caches/{name}", "read", iops=1e3 / ms, pattern=name, block_bytes=4096)
    for count, hit in ((1, 930), (2, 750), (3, 600), (16, 0)):
        run.add(f"probe-caches/streams/{count}", "read", iops=10.0, sequences=count)
        _latencies(run, f"probe-caches/streams/{count}", "read", {0.02: hit, 0.1: 1000 - hit})
    found = read_cache.streams(_view(run, read_ahead=known(1.0, say("read_ahead.faster"))))
    assert found is not None
    assert found.verdict == "not identifiable"


def _in_turns(share: float, hung_s: float, chance: np.random.Generator) -> tuple[Floats, float]:
    """The latencies of 800 reads of two regions, one outstanding in each, by a disk of 15,000 rpm
    that serves them in order of arrival; and their time. One of them hangs on its way back."""
    due: list[tuple[float, int]] = [(0.0, 0), (0.0, 1)]
    now, arm, latencies = 0.0, 0, []
    for number in range(800):
        due.sort()
        at, region = due.pop(0)
        way_s = 12e-3 * share**0.5 if region != arm else 0.0
        now, arm = max(now, at) + 1e-3 + way_s + chance.uniform(0, 4e-3), region
        done = now + (hung_s if number == 300 else 0.0)
        latencies.append(done - at)
        due.append((done, region))
    return np.array(latencies), now


@pytest.mark.parametrize("hung_s", [0.0, 2.5])
def test_a_seek_is_that_of_reads_in_turns_while_one_hangs(hung_s: float) -> None:
    chance, run, capacity = np.random.default_rng(5), FakeRun(capacity_bytes=10**11), 10**11
    near = 1e-3 + chance.uniform(0, 4e-3, 2000)
    run.add("probe-seeks/near", "read", iops=1 / float(near.mean()))
    _histogram(run, "probe-seeks/near", near)
    for step, share in enumerate((0.002, 0.01, 0.03, 0.07, 0.13, 0.2, 0.3, 0.45, 0.65, 0.85, 1.0)):
        latencies, elapsed_s = _in_turns(share, hung_s if step % 3 == 0 else 0.0, chance)
        recording = f"probe-seeks/apart/{share}"
        about: dict[str, Any] = {"distance_bytes": int(share * capacity), "block_bytes": 4096}
        run.add(recording, "read", iops=800 / elapsed_s, elapsed_s=elapsed_s, **about)
        _histogram(run, recording, latencies)
    found = mechanics.seek_stroke(_view(run))
    assert found.value == pytest.approx(12e-3, rel=0.04)


def _histogram(run: FakeRun, recording: str, latencies_s: Floats) -> None:
    count, edges = np.histogram(latencies_s * 1e9, bins=5000)
    run.histograms[recording, "read"] = (edges[:-1], edges[1:], count)
