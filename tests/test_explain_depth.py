"""Link, command queue and reordering as the probe finds them follow the drive's own."""

from pathlib import Path

import pytest
from analysis_fixture import FakeRun

import fourcorners as fc
from fourcorners.analysis.internals import command_queue, link
from fourcorners.suites.steps import Purge
from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import find_suite


def _values(drive: str, folder: Path, **settings: str) -> dict[str, float | None]:
    with fc.open_target(f"sim:{drive}", settings=settings) as target:
        run = fc.run("probe-depth", target, out=folder)
    return {finding["name"]: finding["value"] for finding in run.findings}


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


def _large(run: FakeRun, of: str, rate: float) -> None:
    for size in (131_072, 1_048_576):
        iops = 1 / (1e-6 + size / rate)
        run.add(f"probe-depth/link/{of}/{size}", "read", iops=iops, of=of, block_bytes=size)


def test_a_rate_of_the_medium_alone_is_no_link() -> None:
    run = FakeRun()
    _large(run, "written", 559.05e6)
    assert {f.verdict for f in link.find(run)} == {"not identifiable"}
    _large(run, "cached", 559.05e6)
    assert {f.verdict for f in link.find(run)} == {"measured"}


def test_a_rate_of_no_generation_is_no_link() -> None:
    run = FakeRun()
    _large(run, "written", 300e6)
    _large(run, "erased", 420e6)
    assert {f.verdict for f in link.find(run)} == {"not identifiable"}


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
