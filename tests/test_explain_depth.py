"""Link, command queue and reordering as the probe finds them follow the drive's own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import MIB, small_ssd, view_of

import fourcorners as fc
from fourcorners.analysis.internals.link import command_queue, generation
from fourcorners.analysis.internals.resolver import Resolver
from fourcorners.analysis.spec_sheet import rows_of
from fourcorners.suites.steps import Purge
from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import find_suite
from fourcorners_validation.arena.drive_text import drive_file


def _values(drive: str, folder: Path, **settings: str) -> dict[str, float | None]:
    with fc.open_target(f"sim:{drive}", settings=settings) as target:
        run = fc.run("probe-depth", target, out=folder)
    return {finding.name: finding.value for finding in run.findings}


@pytest.mark.parametrize(
    ("drive", "setting", "value", "rate"),
    [
        ("ocz-core-64gb", "link.line_rate", "1.5 Gb/s", 150e6),
        ("wd6400aaks", "link.line_rate", "6 Gb/s", 600e6),
        ("class-tlc-nvme-consumer-1tb", "link.pcie_generation", "3", 3_938_461_538),
    ],
)
def test_the_link_follows_the_drives(
    drive: str, setting: str, value: str, rate: float, tmp_path: Path
) -> None:
    found = _values(drive, tmp_path, **{setting: value})
    assert found["link"] == pytest.approx(rate, abs=1)
    ceiling = found["link_ceiling"]
    assert ceiling is not None
    assert ceiling == pytest.approx(rate * (8192 / 8792 if rate < 1e9 else 256 / 280), rel=0.01)


@pytest.mark.parametrize("depth", [1, 8, 32])
def test_a_disks_queue_follows_the_drives(depth: int, tmp_path: Path) -> None:
    found = _values("wd6400aaks", tmp_path, **{"link.queue_depth": str(depth)})
    assert found["command_queue_depth"] == depth
    assert found["reordering"] == (depth > 1)


@pytest.mark.parametrize(
    ("second", "deep", "reorders"),
    [
        pytest.param(103, 103, 0.0, id="what the firmware does meanwhile is no order"),
        pytest.param(103, 115, 1.0, id="places near each other gain little"),
        pytest.param(103, 108, None, id="too little to tell"),
        pytest.param(160, 300, None, id="several arms"),
        pytest.param(400, 800, None, id="a memory that fills"),
    ],
)
def test_an_order_is_what_a_queue_of_two_cannot_gain(
    second: float, deep: float, reorders: float | None
) -> None:
    run = FakeRun()
    for depth, iops in ((1, 100), (2, second), (4, (second + deep) / 2), (32, deep)):
        where: dict[str, Any] = {"pattern": "random", "queue_depth": depth}
        run.add(f"probe-depth/random/{depth}", "read", iops=iops, **where)
    found = command_queue.reordering(view_of(run))
    assert found is not None
    assert found.value == reorders
    # Two arms serve two reads, and no more.
    assert (found.said.code == "kept") == (second > 200)


@pytest.mark.parametrize(
    ("rates", "reorders"),
    [
        pytest.param((100, 102, 149, 195, 240, 289, 290, 289, 114), 1.0, id="the oldest first"),
        pytest.param((100, 102, 149, 195, 240, 289, 290, 200, 114), 1.0, id="from a lower depth"),
        pytest.param((100, 102, 130, 95, 150, 90, 145, 100, 80), None, id="up and down"),
        pytest.param((100, 102, 104, 101, 105, 102, 90, 80, 70), 0.0, id="no gain, and a fall"),
    ],
)
def test_a_fall_of_the_deepest_queues_is_no_scatter(
    rates: tuple[float, ...], reorders: float | None
) -> None:
    run = FakeRun()
    for power, iops in enumerate(rates):
        where: dict[str, Any] = {"pattern": "random", "queue_depth": 2**power}
        run.add(f"probe-depth/random/{2**power}", "read", iops=iops, **where)
    found = command_queue.reordering(view_of(run))
    assert found is not None
    assert found.value == reorders


@pytest.mark.parametrize(
    ("rates", "depth"),
    [
        pytest.param((100, 102, 160, 220, 270, 310, 312, 312, 312), 32, id="a knee"),
        pytest.param((234, 242, 257, 285, 308, 322, 322, 281, 246), None, id="gains little"),
        pytest.param((247, 253, 256, 260, 267, 263, 265, 256, 254), None, id="gains less"),
        pytest.param((200, 218, 275, 333, 387, 414, 415, 415, 414), None, id="a little more"),
        pytest.param((156, 161, 168, 175, 187, 192, 180, 162, 161), None, id="goes on by chance"),
        pytest.param((268, 274, 359, 434, 494, 543, 539, 533, 292), 32, id="a read hangs"),
        pytest.param((160, 172, 286, 449, 555, 652, 709, 654, 681), None, id="ends by chance"),
        pytest.param((400, 800, 1600, 3000, 3000, 3000, 3000, 3000, 3000), None, id="a volume"),
    ],
)
def test_a_queue_ends_at_a_knee(rates: tuple[float, ...], depth: int | None) -> None:
    run = FakeRun()
    for step, iops in enumerate(rates):
        where: dict[str, Any] = {"pattern": "random", "queue_depth": 2**step}
        run.add(f"probe-depth/random/{2**step}", "read", iops=iops, **where)
    assert command_queue.queue_depth(view_of(run)).value == depth


def test_no_rate_of_the_spec_sheet_exceeds_what_flash_and_link_carry(tmp_path: Path) -> None:
    """Reads of what was never written, or of one place over and over, come over the link alone:
    they are no figure of the drive."""
    path = tmp_path / "drive.toml"
    path.write_text(drive_file("drive", "page-mapped-ssd", small_ssd()).text, "utf-8")
    with fc.open_target(str(path)) as target:
        tests = ("probe-depth", "probe-sizes")
        run = fc.run("explain", target, tests=tests, out=tmp_path / "runs")
    rate = {
        row["recording"]: row["bytes_per_second"] for row in run.table("recordings").to_pylist()
    }
    [ceiling] = [one.value for one in run.findings if one.name == "link_ceiling"]
    written = max(rate[one] for one in rate if "link/written/" in one)
    assert max(rate[one] for one in rate if "link/erased/" in one) > 1.2 * written
    told = {
        row["quantity"]: row["value"] * (4096 if row["unit"] == "IOPS" else 1)
        for row in rows_of(run.findings)
        if row["unit"] in ("IOPS", "B/s")
    }
    assert {"sequential_read", "sequential_write", "random_read"} <= told.keys()
    for quantity, value in told.items():
        assert value <= min(1.05 * written, ceiling), quantity
    assert told["random_read"] <= told["sequential_read"]


def _large(run: FakeRun, of: str, rate: float) -> None:
    for size in (131_072, 1_048_576):
        iops = 1 / (1e-6 + size / rate)
        run.add(f"probe-depth/link/{of}/{size}", "read", iops=iops, of=of, block_bytes=size)


def _small(run: FakeRun, erased_s: float, written_s: float) -> None:
    run.add("probe-depth/alone/erased", "read", iops=1 / erased_s, of="erased", alone_bytes=4096)
    run.add("probe-depth/random/1", "read", iops=1 / written_s, pattern="random", queue_depth=1)


def test_a_rate_that_the_medium_may_limit_is_no_link() -> None:
    run = FakeRun()
    for of in ("written", "cached", "erased"):
        _large(run, of, 559.05e6)
    _small(run, 70e-6, 70e-6)
    said = generation.ceiling(view_of(run)).said
    assert said.code == generation.generation(view_of(run)).said.code == "link_ceiling.medium"
    # What reads reach is what was measured, and not the slope between two sizes, which is more.
    assert said.parameters["rate"] == pytest.approx(1_048_576 / (1e-6 + 1_048_576 / 559.05e6))


@pytest.mark.parametrize(("sizes", "why"), [((1, 2), "flat"), ((1,), "one_size")])
def test_large_reads_of_one_size_are_not_called_as_fast_as_others(
    sizes: tuple[int, ...], why: str
) -> None:
    """The recording of the other size ended because something failed."""
    run = FakeRun()
    for size in sizes:
        about: dict[str, Any] = {"block_bytes": size * MIB, "of": "written"}
        run.add(f"probe-depth/link/written/{size}", "read", iops=800.0, **about)
    assert generation.ceiling(view_of(run)).said.code == f"link_ceiling.{why}"


def test_one_track_of_a_disk_is_no_memory() -> None:
    run = FakeRun()
    _large(run, "written", 76.5e6)
    _large(run, "cached", 86.9e6)
    run.add("probe-depth/sentinel/1", "read", iops=125, sentinel=1)
    assert view_of(run).is_disk
    assert generation.ceiling(view_of(run)).said.code == "link_ceiling.medium"


@pytest.mark.parametrize(("track_bytes", "told"), [(913_920.0, False), (700_000.0, True)])
def test_what_passes_under_the_head_of_a_disk_is_no_memory(track_bytes: float, told: bool) -> None:
    """As of a foreign disk (number 6 of seed 924738685): a place that it read over and over came at
    the rate of a track."""
    run = FakeRun()
    _large(run, "written", 76.7e6)
    _large(run, "cached", 109.67e6)
    run.add("probe-depth/sentinel/1", "read", iops=125, sentinel=1)
    found = generation.ceiling(view_of(run, rotation_rpm=7200, track_bytes=track_bytes))
    assert (found.value is not None) == told
    assert told or found.said.code == "link_ceiling.medium"
    # A switch of tracks may take nearly a turn.
    unknown = generation.ceiling(view_of(run, rotation_rpm=7200))
    assert unknown.value is None


def test_erased_data_that_needs_no_flash_shows_the_link() -> None:
    run = FakeRun()
    for of in ("written", "erased"):
        _large(run, of, 559.05e6)
    _small(run, 30e-6, 70e-6)
    assert generation.ceiling(view_of(run)).value == pytest.approx(559.05e6)
    assert generation.generation(view_of(run)).value == 600e6


@pytest.mark.parametrize("turn_us", [103, 32])
def test_a_place_that_was_not_quick_in_each_turn_is_kept_in_no_memory(turn_us: float) -> None:
    """As of a mirror of two drives: reads of one place go to either, and a sequence to one. The
    place was still in a write buffer in the first turn."""
    run = FakeRun()
    for of in ("written", "erased"):
        _large(run, of, 550e6)
    _large(run, "cached", 1100e6)
    _small(run, 32e-6, 103e-6)
    for turn, one_us in ((1, 32), (2, turn_us)):
        run.add(f"probe-flush/just-read/{turn}", "read", iops=1e6 / one_us, kind="just read")
    run.add("probe-flush/just-written/1", "read", iops=1 / 103e-6, kind="just written")
    found = generation.ceiling(view_of(run))
    if turn_us == 32:
        assert found.value == pytest.approx(1100e6)
    else:
        assert (found.value, found.said.code) == (None, "link_ceiling.others_faster")


def test_what_is_faster_than_any_link_comes_from_a_memory_of_the_host() -> None:
    """Each read of a volume may be copied by a processor of its own."""
    for rate, told in ((55e9, True), (64e9, False)):
        run = FakeRun()
        _large(run, "written", 1e9)
        _large(run, "erased", rate)
        found = generation.ceiling(view_of(run))
        assert (found.value is not None) == told
        assert told or found.said.code == "link_ceiling.no_link"


@pytest.mark.parametrize(("smaller", "larger"), [(131e6, 40e6), (45.4e6, 39.4e6)])
def test_smaller_reads_that_are_faster_show_no_link(smaller: float, larger: float) -> None:
    """As of disks of 1996 and later in DiskSim: what a command takes beside its bytes is no less
    than nothing."""
    run = FakeRun()
    _large(run, "written", 8e6)
    for size, rate in ((131_072, smaller), (1_048_576, larger)):
        about: dict[str, Any] = {"of": "cached", "block_bytes": size}
        run.add(f"probe-depth/link/cached/{size}", "read", iops=rate / size, **about)
    assert generation.ceiling(view_of(run)).said.code == "link_ceiling.smaller_faster"


@pytest.mark.parametrize(("alone_s", "told"), [(75e-6, False), (150e-6, True)])
def test_larger_reads_that_reach_two_members_show_no_link(alone_s: float, told: bool) -> None:
    """As of two disks in stripes of 64 KiB: of 32 KiB one member carries 280 MB/s, of 128 KiB both
    carry 560. Where commands take so long, one link carries 840."""
    run = FakeRun()
    _large(run, "written", 120e6)
    for size, rate in ((32_768, 280e6), (131_072, 560e6)):
        about: dict[str, Any] = {"of": "cached", "block_bytes": size}
        run.add(f"probe-depth/link/cached/{size}", "read", iops=rate / size, **about)
    run.add("probe-flush/just-read/1", "read", iops=1 / alone_s, kind="just read")
    run.add("probe-depth/random/8", "read", iops=1e4, pattern="random", queue_depth=8)
    found = generation.ceiling(view_of(run))
    assert (found.value is not None) == told
    assert told or found.said.code == "link_ceiling.longer_than_alone"


@pytest.mark.parametrize(("others", "told"), [(13e3, False), (100e3, True)])
def test_a_rate_of_commands_that_limits_smaller_reads_is_in_the_interval(
    others: float, told: bool
) -> None:
    """As where a controller takes 50 us for a command while the link carries the one before: the
    smaller reads wait for the controller, the larger ones for the link. A slope over both is that
    of PCIe 2.0 x8 where the link is PCIe 3.0 x4."""
    run, rate = FakeRun(), 3.6e9
    _large(run, "written", 80e6)
    for size in (131_072, 1_048_576):
        about: dict[str, Any] = {"of": "erased", "block_bytes": size}
        each_s = max(50e-6, size / rate)
        run.add(f"probe-depth/link/erased/{size}", "read", iops=1 / each_s, **about)
    run.add("probe-depth/random/8", "read", iops=others, pattern="random", queue_depth=8)
    found = generation.ceiling(view_of(run))
    assert found.value is not None
    assert found.interval is not None
    assert (found.interval[0] <= rate) != told
    assert (generation.generation(view_of(run)).value is not None) == told


def test_a_pause_in_the_reads_of_one_size_is_in_the_interval() -> None:
    """As of a foreign disk (number 5 of seed 4867065), which stood still for 15 ms in half a second
    of the smaller reads."""
    run, rate, depth = FakeRun(), 440e6, 32
    _large(run, "written", 300e6)
    for size in (131_072, 1_048_576):
        usual_s, count = 1e-6 + size / rate, 1500
        pause_s = 0.03 * usual_s * count if size == 131_072 else 0.0
        id = f"probe-depth/link/erased/{size}"
        run.add(
            id,
            "read",
            iops=1 / (usual_s + pause_s / count),
            latency_mean_s=depth * (usual_s + pause_s / count),
            queue_depth=depth,
            of="erased",
            block_bytes=size,
        )
        usual_ns = round(depth * usual_s * 1e9)
        held_up = np.array([usual_ns, usual_ns + round(pause_s * 1e9) + 1])
        run.histograms[id, "read"] = (held_up, held_up, np.array([count - depth, depth]))
    found = generation.ceiling(view_of(run))
    assert found.value is not None
    assert found.value > 1.004 * rate
    assert found.interval is not None
    assert found.interval[0] <= rate


def test_reads_that_were_begun_before_the_measured_time_are_in_the_interval() -> None:
    """As of a foreign drive (number 44 of the fourth arena), which served 32 reads of 1 MiB side by
    side: they ended just after the ramp, so that 101 were counted in the time of 98."""
    run, rate, depth = FakeRun(), 140.3e6, 32
    for size, count, more in ((131_072, 567, 0), (1_048_576, 101, 3)):
        usual_s = size / rate
        each_s = usual_s * (count - more) / count
        id = f"probe-depth/link/erased/{size}"
        run.add(
            id,
            "read",
            iops=1 / each_s,
            latency_mean_s=depth * each_s,
            queue_depth=depth,
            of="erased",
            block_bytes=size,
        )
        full_ns = round(depth * usual_s * 1e9)
        latencies = np.array([round(full_ns * 0.87), full_ns])
        run.histograms[id, "read"] = (latencies, latencies, np.array([30, count - 30]))
    _large(run, "written", 80e6)
    found = generation.ceiling(view_of(run))
    assert found.value is not None
    assert found.value > 1.02 * rate
    assert found.interval is not None
    assert found.interval[0] <= rate


def test_a_link_needs_no_generation() -> None:
    run = FakeRun()
    _large(run, "written", 300e6)
    _large(run, "erased", 440e6)
    assert generation.ceiling(view_of(run)).value == pytest.approx(440e6)
    assert generation.generation(view_of(run)).said.code == "no_generation"


@pytest.mark.parametrize(("others_us", "told"), [(100, True), (104, False)])
def test_a_pace_that_changes_tells_no_generations_apart(others_us: float, told: bool) -> None:
    """PCIe 2.0 x4 carries 1.6 % more than PCIe 3.0 x2."""
    run = FakeRun()
    _large(run, "written", 1e9)
    _large(run, "erased", 2e9 * 256 / (256 + 24))
    for number, us in enumerate((100, others_us) * 3):
        run.add(f"probe-{number}/sentinel", "read", iops=1e6 / us, sentinel=1)
        latencies = np.array([us * 1_000])
        run.histograms[f"probe-{number}/sentinel", "read"] = (
            latencies,
            latencies,
            np.array([4000]),
        )
    found = generation.generation(view_of(run))
    assert found.value == (2e9 if told else None)
    assert told or found.said.code == "unsure"


@pytest.mark.parametrize("payload", [128, 256, 512])
def test_packets_of_several_sizes_are_considered(payload: int) -> None:
    run = FakeRun()
    _large(run, "written", 1e9)
    _large(run, "erased", 4e9 * payload / (payload + 24))
    found = generation.generation(view_of(run))
    assert found.value == 4e9


def test_the_knee_is_where_nothing_more_is_gained() -> None:
    assert command_queue.knee({1: 100.0, 2: 150.0, 4: 200.0, 8: 201.0, 16: 199.0}, 1.03) == 4
    assert command_queue.knee({1: 100.0, 2: 150.0, 4: 200.0}, 1.03) is None


def test_no_two_recordings_of_a_probe_have_one_id() -> None:
    simulated = Subject("simulated", capacity_bytes=2**35)
    for entry in find_suite("explain").entries:
        phases = entry.test(simulated, 1.0, 1.0, 1).phases
        ids = [measurement.id for phase in phases for measurement in phase.measurements]
        assert len(ids) == len(set(ids)), entry.name


def test_reading_only_leaves_a_real_drive_as_it_is() -> None:
    real = Subject("file", capacity_bytes=2**30, needs_fill=True)
    for entry in find_suite("explain-reads").entries:
        test = entry.test(real, 1.0, 1.0, 1)
        assert test.written_bytes == 0, entry.name
        for phase in test.phases:
            assert not any(isinstance(step, Purge) for step in phase.preparation), entry.name


def test_what_took_no_time_has_no_rate_and_nothing_is_said_of_it() -> None:
    """A simulated drive may answer at once: FEMU does, where nothing was written."""
    run = FakeRun()
    for depth in (1, 2, 4, 8, 16):
        run.add(
            f"probe-depth/random/{depth}",
            "read",
            iops=0.0,
            elapsed_s=0.0,
            latency_mean_s=0.0,
            queue_depth=depth,
            pattern="random",
            block_bytes=4096,
        )
        run.rows[-1]["ios"] = 12_000
    assert all(finding.value is None for finding in Resolver(run).findings())
