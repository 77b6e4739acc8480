"""A medium that fails, is slow, hangs or lies while it is used: what is kept, shown and named."""

import contextlib
import errno
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from command import COMMAND, fourcorners
from fault_disk import BLOCK, Fault, FaultDisk, ahead_of_others, needs_fuse
from fault_runs import loop_device, needs_loop_devices

import fourcorners as fc
from fourcorners.errors import EXIT_FAILED

MIB = 1 << 20
DISK_BYTES = 4 * MIB
# Of the file, and of a loop device over it.
ON = pytest.mark.parametrize("kind", ["file", "device"])


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[FaultDisk]:
    needs_fuse()
    with FaultDisk(tmp_path, DISK_BYTES) as disk:
        yield disk


@contextlib.contextmanager
def target_on(disk: FaultDisk, kind: str) -> Iterator[str]:
    """What is measured."""
    if kind == "file":
        yield str(disk.path)
        return
    needs_loop_devices()
    with loop_device(disk.path, direct=True) as device:
        yield device


def opened(locator: str, kind: str) -> fc.Target:
    if kind == "file":
        return fc.open_target(locator, overwrite=locator)
    return fc.open_target(locator, destroy_data=locator)


def command(*arguments: str, begun: str) -> subprocess.Popen[str]:
    """The command, once a line of its progress has the text."""
    process = subprocess.Popen(
        [*COMMAND, *arguments, "--json", "--progress", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    told: list[str] = []
    while not told or begun not in told[-1]:
        told.append(process.stderr.readline())
        assert told[-1], told
    return process


@ON
@pytest.mark.parametrize("operation", ["read", "write"])
def test_an_error_under_load_keeps_what_was_measured(
    operation: Literal["read", "write"], kind: str, disk: FaultDisk
) -> None:
    make = getattr(fc.Stream, operation)
    workload = fc.Workload([make("random", BLOCK, queue_depth_per_worker=8)], duration_s=20)
    later = threading.Timer(0.5, disk.tell, [Fault(operation, "eio")])
    with target_on(disk, kind) as locator, opened(locator, kind) as target:
        later.start()
        recording = target.run(workload)
        later.join()
    assert recording.interrupted
    assert recording.failure is not None
    assert f"a {operation} of 4096 bytes" in recording.failure
    assert "Input/output error" in recording.failure
    share = recording.operations[operation]
    assert set(share.errors) == {errno.EIO}
    assert share.ios > 8
    assert share.bytes == share.ios * BLOCK
    assert recording.elapsed_s < 10


def test_the_command_names_a_recording_partial(disk: FaultDisk, tmp_path: Path) -> None:
    path, runs = str(disk.path), tmp_path / "runs"
    what = ("--overwrite", path, "--profile", "quick", "--tests", "consistency")
    process = command(
        "characterize", path, *what, "--out", str(runs), begun='"activity": "4 KiB random write'
    )
    time.sleep(0.5)
    disk.tell(Fault("write", "eio"))
    _, err = process.communicate(timeout=60)
    assert process.returncode == EXIT_FAILED, err
    (written,) = runs.glob("*/manifest.json")
    (test,) = json.loads(written.read_text())["tests"]
    assert test["status"] == "failed"
    assert "Input/output error" in test["reason"]
    assert [recording["partial"] for recording in test["recordings"]] == [True]
    rows = fc.open_run(str(written.parent)).table("recordings").to_pylist()
    assert sum(row["ios"] for row in rows if row["operation"] == "write") > 0


@ON
def test_a_delay_shows_at_its_length(kind: str, disk: FaultDisk) -> None:
    # So long that 5 % of it is more than a busy machine adds.
    delay_s = 0.5
    stream = fc.Stream.read("random", BLOCK, queue_depth_per_worker=8)
    slow: list[fc.Recording] = []

    def measure() -> None:
        ahead_of_others()
        slow.append(target.run(fc.Workload([stream], duration_s=0.9)))

    with target_on(disk, kind) as locator, fc.open_target(locator) as target:
        swift = target.run(fc.Workload([stream], duration_s=0.2)).read
        disk.tell(Fault("read", "delay", seconds=delay_s))
        thread = threading.Thread(target=measure)
        thread.start()
        thread.join()
    (read,) = (recording.read for recording in slow)
    median_s, slowest_s = swift.latency_percentile_s(50), swift.latency_percentile_s(99)
    assert median_s is not None
    assert slowest_s is not None
    assert median_s < delay_s / 4
    assert read.latency_min_s >= delay_s  # type: ignore[operator]
    # Where the CPU is not ours first, a busy machine is slow without the delay, too.
    assert read.latency_percentile_s(99) < 1.05 * delay_s + 4 * slowest_s  # type: ignore[operator]
    assert read.ios >= 2 * stream.queue_depth_per_worker


@ON
def test_a_hang_leaves_no_process(kind: str, disk: FaultDisk) -> None:
    with target_on(disk, kind) as locator:
        permission = "--overwrite" if kind == "file" else "--destroy-data"
        what = (permission, locator, "--seconds", "60", "--io-limit", "1")
        process = command("verify", locator, *what, begun="mixed load")
        time.sleep(0.3)
        disk.tell(Fault("read", "hang"), Fault("write", "hang"))
        start = time.monotonic()
        try:
            # Ends only when the process is gone, with the medium still hanging.
            out, err = process.communicate(timeout=60)
        finally:
            took_s = time.monotonic() - start
            disk.tell()
    assert process.returncode == EXIT_FAILED, err
    document = json.loads(out)
    assert document["status"] == "failed"
    assert "took longer than 1 s" in document["reason"]
    assert document["blocks_checked"] > 0
    # The limit, another second for what is outstanding, and the end of a process.
    assert took_s < 20


@ON
def test_a_purge_that_hangs_ends_the_run(kind: str, disk: FaultDisk, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    what = ("--profile", "quick", "--tests", "four-corners,consistency", "--io-limit", "1")
    disk.tell(Fault("discard", "hang"))
    with target_on(disk, kind) as locator:
        named = ["--overwrite", locator]
        if kind == "device":
            named = ["--destroy-data", locator, "--purge", "discard"]
        # Comes back when the command is gone, with the medium still hanging.
        done = fourcorners("characterize", locator, *named, *what, "--out", runs)
        disk.tell()
    assert done.returncode == EXIT_FAILED, done.stderr
    (written,) = runs.glob("*/manifest.json")
    manifest = json.loads(written.read_text())
    assert manifest["status"] == "failed"
    first, second = manifest["tests"]
    assert (first["status"], second["status"]) == ("failed", "skipped")
    assert f"{DISK_BYTES} bytes of {locator} at byte 0 took longer than 1 s" in first["reason"]
    assert "no longer answers" in second["reason"]


@pytest.mark.parametrize("operation", ["read", "write"])
@pytest.mark.parametrize(("engine", "queue_depth"), [("auto", 32), ("sync", 1)])
def test_a_hang_of_a_file_ends_the_run(
    engine: str, queue_depth: int, operation: Literal["read", "write"], disk: FaultDisk
) -> None:
    path = str(disk.path)
    make = getattr(fc.Stream, operation)
    workload = fc.Workload([make("random", BLOCK, queue_depth_per_worker=queue_depth)], 60)
    later = threading.Timer(0.3, disk.tell, [Fault(operation, "hang")])
    # Were the run to wait for the medium, the medium goes on and the time tells.
    rescue = threading.Timer(40, disk.tell)
    with fc.open_target(path, overwrite=path, io_limit_s=1, engine=engine) as target:
        start = time.monotonic()
        later.start()
        rescue.start()
        recording = target.run(workload)
        took_s = time.monotonic() - start
        rescue.cancel()
        disk.tell()
    assert recording.interrupted
    assert "took longer than 1 s" in str(recording.failure)
    share = recording.operations[operation]
    assert share.ios > 0
    assert 1 <= share.errors[errno.ETIMEDOUT] <= queue_depth
    assert sum(share.second_ios) == share.ios
    assert took_s < 20


def test_a_thread_that_the_kernel_keeps_does_not_keep_the_command(
    disk: FaultDisk, tmp_path: Path
) -> None:
    path, runs = str(disk.path), tmp_path / "runs"
    what = ("--overwrite", path, "--profile", "quick", "--tests", "consistency", "--io-limit", "1")
    process = command(
        "characterize",
        path,
        *what,
        "--engine",
        "sync",
        "--out",
        str(runs),
        begun='"activity": "4 KiB random write',
    )
    time.sleep(0.5)
    disk.tell(Fault("write", "hang"))
    try:
        out, err = process.communicate(timeout=60)
    finally:
        disk.tell()
    assert process.returncode == EXIT_FAILED, err
    assert "until the kernel lets go of its I/O" in err.splitlines()[-1]
    assert json.loads(out)
    (written,) = runs.glob("*/manifest.json")
    assert "took longer than 1 s" in json.loads(written.read_text())["tests"][0]["reason"]


# By what it is called: the step of the verification at which the medium begins to lie, how, and
# what else such blocks are called where requests overlap.
LIES: dict[str, tuple[str, Fault, set[str]]] = {
    "bit flip": ("reading everything", Fault("read", "flip", 5, 3), set()),
    "zeroed": ("reading everything", Fault("read", "zero", 5, 3), set()),
    "duplicated": ("reading everything", Fault("read", "redirect", 5, 3, other=700), set()),
    "stale": ("mixed load", Fault("read", "stale", 5, 64), set()),
    "lost": ("mixed load", Fault("write", "lose", 5, 64), {"stale", "short"}),
    "torn": ("mixed load", Fault("write", "tear", 5, 64), set()),
    "short": ("mixed load", Fault("write", "shorten"), {"stale", "lost"}),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_of_the_medium_is_named(name: str, disk: FaultDisk) -> None:
    when, fault, others = LIES[name]

    def tell(step: str) -> None:
        if step.endswith(f": {when}"):
            disk.tell(fault)
        elif name == "stale":
            disk.tell()

    path = str(disk.path)
    with fc.open_target(path, overwrite=path) as target:
        found = fc.verify(target, seconds=0.4, tell=tell)
    assert found.failure is None
    assert name in found.counts
    assert set(found.counts) <= {name, *others}
    assert all(fault.hits(damage.address // BLOCK) for damage in found.damages)


def test_blocks_in_each_others_places_are_named(disk: FaultDisk) -> None:
    disk.tell(
        Fault("write", "redirect", 900, 1, other=10),
        Fault("read", "redirect", 20, 1, other=30),
        Fault("read", "redirect", 30, 1, other=20),
    )
    path = str(disk.path)
    with fc.open_target(path, overwrite=path) as target:
        # No more than the first requests: with this seed none of them writes to these blocks.
        found = fc.verify(target, seconds=1e-9)
    assert {(d.kind, d.address // BLOCK, d.written_for) for d in found.damages} == {
        ("misplaced", 10, 900 * BLOCK),
        ("zeroed", 900, None),
        ("swapped", 20, 30 * BLOCK),
        ("swapped", 30, 20 * BLOCK),
    }
