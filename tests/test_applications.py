"""The library of application workloads: each says its source, and issues what it says."""

from collections import Counter
from pathlib import Path

import pytest

import fourcorners as fc
from fourcorners.suites import TESTS, Subject
from fourcorners.suites.catalog import APPLICATIONS
from fourcorners.suites.suite import find_suite

DRIVE = "sim:ocz-vertex-3-240gb"
KIB = 1024


def _shares(name: str, parameters: dict[str, object], folder: Path) -> tuple[float, Counter[int]]:
    """The share of reads, and how many I/Os have which size."""
    run = fc.run(
        name,
        DRIVE,
        parameters=parameters,
        scale=0.01,
        filled_share=0.01,
        log_ios=40_000,
        out=folder,
    )
    [recording] = run.recordings
    log = recording.log
    assert log is not None
    io = [one for one in log.operation if one != "flush"]
    reads = sum(one == "read" for one in io) / len(io)
    return reads, Counter(int(count) for count in log.bytes if count)


def test_each_says_its_source_and_what_is_assumed() -> None:
    assert len(APPLICATIONS) >= 12
    for definition in APPLICATIONS:
        assert TESTS[definition.name] is definition
        [test] = find_suite(definition.name).plan(Subject("simulated", 240 * 10**9)).tests
        assert definition.source
        assert test.parameters["assumed"]


@pytest.mark.parametrize(
    ("name", "reads", "sizes"),
    [
        ("app-office-heavy", 0.549, {4: 0.28, 16: 0.10, 32: 0.10, 64: 0.04}),
        ("app-office-light", 0.448, {4: 0.27, 16: 0.08, 32: 0.06, 64: 0.05}),
        ("app-web", 1.0, {4: 0.23, 8: 0.15, 64: 0.07}),
        ("app-mail", 0.6, {}),
    ],
)
def test_the_shares_are_those_of_the_source(
    name: str, reads: float, sizes: dict[int, float], tmp_path: Path
) -> None:
    found, counts = _shares(name, {}, tmp_path)
    total = sum(counts.values())
    assert total > 2_000
    if name != "app-mail":  # Its log writes beside the database.
        assert found == pytest.approx(reads, abs=0.03)
    for kib, share in sizes.items():
        assert counts[kib * KIB] / total == pytest.approx(share, abs=0.03), kib


def test_parameters_are_plain(tmp_path: Path) -> None:
    [test] = (
        find_suite("app-postgresql", {"clients": 3, "data": "1 GB"})
        .plan(Subject("simulated", 240 * 10**9))
        .tests
    )
    pages, checkpoint, log = test.phases[0].measurements[0].workload.streams
    assert (pages.workers, pages.span_bytes) == (3, 10**9)
    assert (checkpoint.arrival, log.flush_every_writes) == ("fixed:500", 1)


def test_the_heavy_bench_writes_and_queues_as_published(tmp_path: Path) -> None:
    run = fc.run(
        "app-office-heavy", DRIVE, scale=0.02, filled_share=0.02, log_ios=40_000, out=tmp_path
    )
    [recording] = run.recordings
    assert recording.write is not None
    # 106.32 GB by 1,783,447 writes, and 4.6 outstanding in the mean.
    assert recording.write.bytes / recording.write.ios == pytest.approx(59_600, rel=0.06)
    assert recording.mean_queue_depth == pytest.approx(4.6, rel=0.15)


def test_the_light_bench_queues_as_published(tmp_path: Path) -> None:
    run = fc.run("app-office-light", DRIVE, scale=0.02, filled_share=0.02, out=tmp_path)
    [recording] = run.recordings
    assert recording.mean_queue_depth == pytest.approx(2.2, rel=0.15)
