"""When long recordings leave a level, and by how much: planted, and on a drive with a cache."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun, Floats, named

import fourcorners as fc
from fourcorners.analysis import find
from fourcorners.finding import Finding

CAPACITY = 10 * 10**9
RATE = 20_000.0
"""Writes of 4 KiB: the capacity is written every 122 s."""


def _noisy(level: Floats, seed: int = 1) -> Floats:
    chance = np.random.default_rng(seed)
    return np.asarray(np.round(level * np.exp(chance.normal(0, 0.03, len(level)))))


def _steadiness(iops: Floats, operation: str = "write", capacity_bytes: int = CAPACITY) -> Finding:
    run = FakeRun(capacity_bytes=capacity_bytes)
    run.add(
        "soak/one",
        operation,
        iops=float(iops.mean()),
        elapsed_s=float(len(iops)),
        series_iops=iops,
        queue_depth=32,
    )
    return named(find(run), "steadiness_soak")


@pytest.mark.parametrize("operation", ["read", "write"])
@pytest.mark.parametrize("seed", range(5))
def test_a_level_that_is_kept_is_said_to_be(operation: str, seed: int) -> None:
    finding = _steadiness(_noisy(np.full(1000, RATE), seed), operation)
    assert finding.verdict == "holds"


@pytest.mark.parametrize("share", [0.5, 0.7, 1.4])
def test_a_change_is_found_when_it_happens_and_as_large_as_it_is(share: float) -> None:
    level = np.where(np.arange(1000) < 700, RATE, share * RATE)
    finding = _steadiness(_noisy(level))
    assert finding.verdict == "violated"
    end = finding.detail["recordings"][0]["left"][0]
    assert end["second"] == pytest.approx(700, abs=5)
    assert end["noticed_second"] < 730
    assert end["change"] == pytest.approx(share - 1, abs=0.03)
    assert end["written_bytes"] == pytest.approx(700 * RATE * 4096, rel=0.02)


def test_a_steady_state_that_is_left_after_a_cliff_is_told_apart_from_it() -> None:
    """Free blocks are used up, the drive settles, and from second 1500 on it throttles."""
    second = np.arange(2000)
    level = np.where(second < 60, 4 * RATE, np.where(second < 1500, RATE, 0.6 * RATE))
    finding = _steadiness(_noisy(level), capacity_bytes=4 * CAPACITY)
    [seen] = finding.detail["recordings"]
    first, throttled = seen["left"]
    assert first["steady_from_s"] is None
    assert first["second"] == pytest.approx(60, abs=3)
    assert 50 <= throttled["steady_from_s"] < 200
    assert throttled["iops"] == pytest.approx(RATE, rel=0.03)
    assert throttled["second"] == pytest.approx(1500, abs=40)
    assert throttled["change"] == pytest.approx(-0.4, abs=0.03)


def _large_reads(seed: int, seconds: int = 300) -> Floats:
    """Of 512 MiB all over a disk that reads 117 MB/s at its edge and 61 MB/s inside, by the second
    in which they are complete: each takes as long as its zone has it, and no level is left."""
    chance = np.random.default_rng(seed)
    ends = np.cumsum(512 * 2**20 / chance.uniform(61e6, 117e6, 2 * seconds))
    return np.histogram(ends, bins=np.arange(seconds + 1))[0].astype(np.float64)


@pytest.mark.parametrize("seed", range(5))
def test_a_few_large_requests_leave_no_level(seed: int) -> None:
    run = FakeRun(capacity_bytes=640 * 10**9)
    for name, iops in (("large", _large_reads(seed)), ("small", _noisy(np.full(300, RATE)))):
        run.add(
            f"soak/{name}",
            "read",
            iops=float(iops.mean()),
            elapsed_s=300.0,
            series_iops=iops,
            queue_depth=1,
        )
    finding = named(find(run), "steadiness_soak")
    assert finding.evidence == ["soak/small"]
    assert finding.verdict == "holds"


def test_short_recordings_and_those_at_a_given_rate_are_left_out() -> None:
    run = FakeRun(capacity_bytes=CAPACITY)
    run.add("soak/short", "write", iops=RATE, elapsed_s=59.0, queue_depth=32)
    assert not [f for f in find(run) if f.name.startswith("steadiness_")]


SLC_DRIVE = """
name = "Cache"
kind = "page-mapped-ssd"
summary = "A small drive with an SLC cache of 64 MiB."
"""
_PARAMETERS: dict[str, dict[str, Any]] = {
    "host": {"overhead": "10 us"},
    "link": {"line_rate": "6 Gb/s", "command_overhead": "1650 B", "queue_depth": 32},
    "capacity": {"user": "1024 MiB"},
    "controller": {"read_overhead": "10 us", "write_overhead": "20 us"},
    "write_buffer": {"size": "512 KiB"},
    "flash": {
        "channels": 4,
        "dies": 4,
        "planes": 1,
        "page_size": "8 KiB",
        "pages_per_block": 32,
        "blocks_per_plane": 1400,
        "read_time": "0.6 ms",
        "program_time": "12 ms",
        "erase_time": "20 ms",
        "bus_rate": "100 MB/s",
    },
    "translation": {"unit": "4 KiB", "spare_area": "9.375 %"},
    "garbage_collection": {"start_free_blocks": 3, "burst_blocks": 0},
    "slc_cache": {
        "program_time": "2 ms",
        "when_full": "direct",
        "idle_delay": "1 s",
        "static_size": "64 MiB",
    },
}


def test_a_cache_that_fills_is_noticed_in_a_run(tmp_path: Path) -> None:
    lines = [SLC_DRIVE]
    for section, entries in _PARAMETERS.items():
        lines.append(f"[{section}]")
        for key, value in entries.items():
            text = f'"{value}"' if isinstance(value, str) else value
            lines.append(f'{key} = {{ value = {text}, source = "assumed" }}')
    drive = tmp_path / "cache.toml"
    drive.write_text("\n".join(lines) + "\n")
    run = fc.run("consistency", str(drive), parameters={"time": "150 s"}, out=tmp_path / "runs")
    [finding] = [f for f in run.findings if f.name == "steadiness_consistency"]
    assert finding.verdict == "violated"
    first = finding.detail["recordings"][0]["left"][0]
    assert first["change"] < -0.5
    # While it fills some of it is written on already.
    assert 64 * 2**20 <= first["written_bytes"] <= 128 * 2**20
    assert first["steady_from_s"] is None


def test_a_test_keeps_its_findings_under_the_name_that_a_suite_gives_it(tmp_path: Path) -> None:
    suite = tmp_path / "mine.toml"
    suite.write_text(
        'schema_version = 1\nname = "mine"\n'
        '[[test]]\nuse = "consistency"\nname = "soak"\ntime = "15 s"\n'
    )
    run = fc.run(str(suite), "sim:ocz-core-64gb", out=tmp_path / "runs")
    assert run.manifest.tests[0].definition == "consistency"
    [finding] = [f for f in run.findings if f.name == "consistency_write"]
    assert finding.evidence == ["soak/write"]
