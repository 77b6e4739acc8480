"""What Python misses on systems other than Linux is left out, and nothing fails."""

import os
from pathlib import Path

import pytest

import fourcorners as fc
from fourcorners.machine import environment
from fourcorners.machine.observer import Observer
from fourcorners.target import identity

MISSING = ("sched_getaffinity", "O_DIRECT", "fdatasync")


@pytest.fixture(autouse=True)
def another_system(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in MISSING:
        monkeypatch.delattr(os, name)


def test_a_measurement_is_observed_without_proc_and_sys(tmp_path: Path) -> None:
    stream = fc.Stream(read_share=0.5, block_bytes=4096, pattern="random", queue_depth_per_worker=4)
    workload = fc.Workload([stream], ios=200)
    with fc.open_target(str(tmp_path / "file"), size=1 << 20, engine="sync") as target:
        observer = Observer(target.locator, direct=False, root=tmp_path / "nothing")
        observer.begin()
        recording = target.run(workload)
        observer.tick()
        conditions = observer.end(workload, target.capacity_bytes)
        assert identity.identify(target)["inode"] == (tmp_path / "file").stat().st_ino
    assert sum(operation.ios for operation in recording.operations.values()) == 200
    assert conditions.cores
    assert conditions.sampled_blocks
    assert conditions.flush_s is not None
    untold = (conditions.file_system, conditions.disk_reads, conditions.clock_source)
    assert untold == (None, None, None)


def test_the_machine_is_described_without_proc_and_sys(tmp_path: Path) -> None:
    facts = environment.describe_host(tmp_path)
    assert facts["cores"]
    assert facts["kernel"] is None
    assert facts["memory_bytes"] is None
