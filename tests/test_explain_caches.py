"""Reading ahead and what is kept follow the drive's own."""

from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import MIB, view_of

import fourcorners as fc
from fourcorners.analysis.internals.answer import known
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.caches import read_cache
from fourcorners.analysis.internals.caches.read_cache import bracket
from fourcorners.sentences import say
from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import find_suite


def _values(drive: str, folder: Path, **settings: str) -> dict[str, float | None]:
    with fc.open_target(f"sim:{drive}", settings=settings) as target:
        run = fc.run("probe-caches", target, out=folder)
    return {finding.name: finding.value for finding in run.findings}


@pytest.mark.parametrize("kib", [512, 1300, 4096])
def test_how_far_a_disk_reads_ahead_follows_the_drives(kib: int, tmp_path: Path) -> None:
    found = _values("wd6400aaks", tmp_path, **{"cache.read_ahead": f"{kib} KiB"})
    assert found["read_ahead"] == 1
    assert found["read_ahead_bytes"] == pytest.approx(kib * 1024, rel=0.02)


def test_a_disk_that_does_not_read_ahead(tmp_path: Path) -> None:
    found = _values("wd6400aaks", tmp_path, **{"cache.read_ahead": "0 B"})
    assert found["read_ahead"] == 0
    assert found["read_ahead_bytes"] is None


def test_flash_without_either(tmp_path: Path) -> None:
    found = _values("ocz-core-64gb", tmp_path)
    assert found["read_ahead"] == 0
    assert found["read_cache_bytes"] == 0


@pytest.mark.parametrize("streams", [1, 3])
def test_sequences_read_ahead_of_follow_the_drives(streams: int, tmp_path: Path) -> None:
    found = _values("corsair-nova-v128", tmp_path, **{"read_ahead.streams": str(streams)})
    assert found["read_ahead_streams"] == streams


@pytest.mark.parametrize("mib", [2, 11])
def test_what_is_kept_follows_the_drives(mib: int, tmp_path: Path) -> None:
    made = (files("fourcorners") / "catalog/drives/corsair-nova-v128.toml").read_text("utf-8")
    drive = tmp_path / "kept.toml"
    cache = f'[read_cache]\nsize = {{ value = "{mib} MiB", source = "assumed: test" }}\n'
    drive.write_text(f"{made}\n{cache}", "utf-8")
    run = fc.run("probe-caches", str(drive), out=tmp_path)
    found = {finding.name: finding for finding in run.findings}
    assert found["read_ahead"].value == 1
    assert found["read_ahead_streams"].value == 4
    kept = found["read_cache_bytes"]
    assert kept.value == pytest.approx(mib * MIB, rel=0.05)
    assert kept.interval is not None
    assert kept.interval[0] <= mib * MIB <= kept.interval[1]


def test_neighbours_of_what_is_kept_are_not_read_ahead(tmp_path: Path) -> None:
    made = (files("fourcorners") / "catalog/drives/ocz-vector-256gb.toml").read_text("utf-8")
    made = made.replace('unit = { value = "4 KiB"', 'unit = { value = "8 KiB"')
    cache = '[read_cache]\nsize = { value = "3 MiB", source = "assumed: test" }\n'
    drive = tmp_path / "kept.toml"
    drive.write_text(f"{made}\n{cache}", "utf-8")
    found = {f.name: f for f in fc.run("probe-caches", str(drive), out=tmp_path).findings}
    assert found["read_ahead"].value == 0
    assert found["read_ahead"].detail["in_memory"] == pytest.approx(0.5, abs=0.02)
    assert found["read_ahead_streams"].verdict == "not applicable"
    assert (found["read_cache_bytes"].interval or (0,))[0] == 3 * MIB


@pytest.mark.parametrize(("paused_s", "ahead"), [(26e-6, 1), (95e-6, 0)])
def test_two_dies_read_ahead_no_faster_than_the_host_reads(paused_s: float, ahead: int) -> None:
    """Or they need less for the next read, without and with a pause."""
    run = FakeRun()
    for name, rate in (("sequential", 10_500), ("random", 6_800)):
        run.add(f"probe-caches/{name}", "read", iops=rate, pattern=name, block_bytes=4096)
    paused: dict[str, Any] = {"sequences": 1, "latency_mean_s": paused_s}
    run.add("probe-caches/streams/1", "read", iops=15, **paused)
    for kind, read_s in (("just read", 147e-6), ("just written", 26e-6)):
        run.add(f"probe-flush/{kind}", "read", iops=1 / read_s, kind=kind)
    found = read_cache.reads_ahead(view_of(run))
    assert found is not None
    assert found.value == ahead


@pytest.mark.parametrize(
    ("paused_s", "misses", "ahead"),
    [(22e-6, 1980, 1), (87e-6, 1980, 0), (5e-3, 1980, None), (22e-6, 40, 1), (87e-6, 40, None)],
)
def test_what_is_read_ahead_is_there_after_a_pause(
    paused_s: float, misses: int, ahead: int | None
) -> None:
    """As of a foreign drive (number 15 of seed 924738685), whose write buffer still held half of
    the sequence; a drive that sleeps in each pause shows nothing by it, nor one that reads ahead of
    nearly all, as other load may end its sequence in a pause."""
    run = FakeRun()
    for name, rate in (("sequential", 18_200), ("random", 12_400)):
        run.add(f"probe-caches/{name}", "read", iops=rate, pattern=name, block_bytes=4096)
    times = np.array([21_500, 86_000])
    run.histograms["probe-caches/sequential", "read"] = (
        times,
        times,
        np.array([4000 - misses, misses]),
    )
    run.rows[0]["latency_mean_s"] = 55e-6
    about: dict[str, Any] = {"sequences": 1, "latency_mean_s": paused_s}
    run.add("probe-caches/streams/1", "read", iops=15, **about)
    found = read_cache.reads_ahead(view_of(run))
    assert found is not None
    assert found.value == ahead


@pytest.mark.parametrize("segments", [1, 4, 12])
def test_segments_of_a_disk_are_told_and_what_they_keep(segments: int, tmp_path: Path) -> None:
    found = _values("wd6400aaks", tmp_path, **{"cache.segments": str(segments)})
    assert found["read_ahead_streams"] == segments
    assert found["read_ahead_bytes"] == pytest.approx(2 * MIB, rel=0.02)
    assert found["read_cache_bytes"] == pytest.approx(segments * 2 * MIB, rel=0.02)


def test_segments_may_keep_as_much_of_what_was_read_as_is_read_ahead() -> None:
    """Four segments of 512 KiB, three quarters of each for what is read ahead."""
    reach = known(
        384.0 * 1024,
        say("any.value"),
        bounds=(380.0 * 1024, 390.0 * 1024),
        detail={"goodness": {}},
        evidence=[],
    )
    run = FakeRun()
    for pattern in ("sequential", "random"):
        about: dict[str, Any] = {"pattern": pattern, "block_bytes": 4096}
        run.add(f"probe-caches/{pattern}", "read", iops=100, **about)
    run.add("probe-caches/sentinel/1", "read", iops=100, sentinel=1)
    found = read_cache.cache(view_of(run, read_ahead_streams=4.0, read_ahead_bytes=reach))
    assert found is not None
    assert found.interval is not None
    assert found.interval[0] <= 4 * 512 * 1024 <= found.interval[1]
    assert all(c.assumption != Assumption.SEGMENTS_AHEAD for c in found.checks)


def test_regions_that_were_in_memory_before_do_not_show_what_is_kept() -> None:
    """As of a volume whose memory still has most of what was written, in no order of sizes."""
    run = FakeRun()
    for pattern, us in (("sequential", 15), ("random", 140)):
        run.add(f"probe-caches/{pattern}", "read", iops=1e6 / us, pattern=pattern, block_bytes=4096)
    for mib, us in ((1, 19), (2, 19), (4, 130), (8, 19), (16, 130)):
        axes: dict[str, Any] = {"region_bytes": mib << 20, "wanted_ios": 192 * mib}
        iops = 1e6 / us
        run.add(f"probe-caches/again/{mib}", "read", iops=iops, elapsed_s=192 * mib / iops, **axes)
    found = read_cache.cache(view_of(run))
    assert found is not None
    assert (found.value, found.said.code) == (None, "before")


@pytest.mark.parametrize(("iops", "streams"), [(144, None), (40, 8)])
def test_a_busy_disk_need_not_read_ahead(iops: float, streams: int | None) -> None:
    run = FakeRun()
    run.add("probe-caches/sentinel/1", "read", iops=180, sentinel=1)
    for name, rate in (("sequential", 12_000), ("random", 180)):
        run.add(f"probe-caches/{name}", "read", iops=rate, pattern=name, block_bytes=4096)
    for count, latency_s in ((8, 80e-6), (9, 6e-3), (16, 6e-3)):
        where: dict[str, Any] = {"sequences": count, "latency_mean_s": latency_s}
        run.add(f"probe-caches/streams/{count}", "read", iops=iops, **where)
    found = read_cache.streams(view_of(run, read_ahead=1.0))
    assert found is not None
    assert found.value == streams


@pytest.mark.parametrize(("kept", "streams"), [(79, None), (43, 9)])
def test_a_sequence_too_many_takes_the_segments_of_others(kept: int, streams: int | None) -> None:
    """Where most reads are in memory still, the arm had no time for some."""
    run = FakeRun()
    run.add("probe-caches/sentinel/1", "read", iops=180, sentinel=1)
    for name, rate in (("sequential", 12_000), ("random", 180)):
        run.add(f"probe-caches/{name}", "read", iops=rate, pattern=name, block_bytes=4096)
    times = np.array([80e3, 6e6])
    for count, in_memory in ((8, 84), (9, 84), (10, kept), (16, 0)):
        run.add(f"probe-caches/streams/{count}", "read", iops=40, sequences=count)
        share = np.array([in_memory, 100 - in_memory])
        run.histograms[f"probe-caches/streams/{count}", "read"] = (times, times, share)
    found = read_cache.streams(view_of(run, read_ahead=1.0))
    assert found is not None
    assert found.value == streams


@pytest.mark.parametrize(
    ("quick_s", "is_ahead"),
    [(170e-6, 1), (3.3e-3, 0), pytest.param(0.6e-3, 0, id="at a good moment of each turn")],
)
def test_a_disk_that_each_command_keeps_from_reading_ahead_does_it_after_a_pause(
    quick_s: float, is_ahead: int
) -> None:
    run = FakeRun()
    run.add("probe-caches/sentinel/1", "read", iops=180, sentinel=1)
    for name in ("sequential", "random"):
        run.add(f"probe-caches/{name}", "read", iops=170, pattern=name, block_bytes=4096)
    for count, latency_s in ((1, quick_s), (3, quick_s), (4, 5.8e-3)):
        where: dict[str, Any] = {"sequences": count, "latency_mean_s": latency_s}
        run.add(f"probe-caches/streams/{count}", "read", iops=20 * count, **where)
        if latency_s == 0.6e-3:
            # Each is 20 us further on.
            late = np.arange(300_000, 900_000, 20_000)
            run.rows[-1] |= {"latency_min_s": 0.3e-3, "latency_max_s": 0.9e-3}
            run.histograms[f"probe-caches/streams/{count}", "read"] = (late, late, late // late)
    ahead = read_cache.reads_ahead(view_of(run))
    assert ahead is not None
    assert ahead.value == is_ahead
    found = read_cache.streams(view_of(run, read_ahead=ahead))
    assert found is not None
    assert found.value == (3 if is_ahead else None)


def test_the_largest_that_all_hit_is_told_from_a_late_hit() -> None:
    assert bracket({1: True, 2: True, 4: False, 8: True}) == (2, 4)
    assert bracket({1: False, 2: True}) == (None, 1)
    assert bracket({1: True}) == (1, None)


@pytest.mark.parametrize("keeps_state", [True, False])
def test_reads_at_one_distance_meet_nothing_that_those_at_another_left(keeps_state: bool) -> None:
    # A disk of several segments still holds what was read ahead at the distances before.
    subject = Subject("simulated", 100 * 10**9, keeps_state=keeps_state)
    [planned] = find_suite("probe-caches").plan(subject, 1).tests
    [phase] = planned.phases
    points = [m for m in phase.measurements if "distance_bytes" in m.axes]
    begins = sorted(
        (m.workload.streams[0].offset_bytes, int(m.axes["distance_bytes"])) for m in points
    )
    assert len(begins) == 10
    for (begin, distance), (following, _) in pairwise(begins):
        assert begin + 8 * distance < following
