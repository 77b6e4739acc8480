"""Artefacts planted for real: each is found, and is named by what was planted."""

import contextlib
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dangers import run

import fourcorners as fc
from fourcorners.analysis.artefacts import Artefact
from fourcorners.running.observing import Observed

MIB = 1 << 20
SIZE = 16 * MIB
SECONDS = 0.6


def read(depth: int = 4, block_bytes: int = 4096) -> fc.Workload:
    return fc.Workload(
        [fc.Stream.read("random", block_bytes, queue_depth_per_worker=depth)], duration_s=SECONDS
    )


def write(depth: int = 4, block_bytes: int = 4096) -> fc.Workload:
    return fc.Workload(
        [fc.Stream.write("random", block_bytes, queue_depth_per_worker=depth)], duration_s=SECONDS
    )


def found(observed: Observed, name: str) -> Artefact:
    """The artefact of that name; all of them in the message where it is missing."""
    named = [artefact for artefact in observed.artefacts if artefact.name == name]
    assert named, (observed.artefacts, observed.conditions)
    return named[0]


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    path = tmp_path / "filled"
    path.write_bytes(os.urandom(SIZE))
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return path


@contextlib.contextmanager
def loop(image: Path, *options: str) -> Iterator[str]:
    if os.geteuid() != 0:
        pytest.skip("loop devices need root")
    device = run("losetup", "--find", "--show", *options, image)
    try:
        yield device
    finally:
        run("losetup", "--detach", device)


@contextlib.contextmanager
def in_memory() -> Iterator[Path]:
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm here")
    path = Path(f"/dev/shm/fourcorners-artefacts-{os.getpid()}")
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def test_a_file_system_in_memory() -> None:
    with in_memory() as path, fc.open_target(str(path), size=SIZE) as target:
        target.run(fc.Workload([fc.Stream.write("sequential", MIB)], volume_bytes=SIZE))
        artefact = found(fc.observe(target, read()), "page_cache")
    assert artefact.severity == "severe"
    assert "tmpfs" in artefact.seen


def test_the_page_cache(filled: Path) -> None:
    filled.read_bytes()
    with fc.open_target(str(filled), engine="sync,buffered") as target:
        artefact = found(fc.observe(target, read()), "page_cache")
    reached = artefact.evidence["reached_share"]
    assert reached < 0.5, "a system short of memory may have dropped some of it, never most"
    assert f"{100 * (1 - reached):.3g} % of what was read came from there" in artefact.seen


def test_a_loop_device_through_the_page_cache(filled: Path) -> None:
    with loop(filled) as device, fc.open_target(device) as target:
        assert "loop device" in found(fc.observe(target, read()), "page_cache").seen


def test_a_sparse_file(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(os.urandom(SIZE // 4))
        file.truncate(SIZE)
    with fc.open_target(str(path)) as target:
        artefact = found(fc.observe(target, read()), "unwritten_blocks")
    assert artefact.evidence["hole_share"] == pytest.approx(0.75, abs=0.02)


def test_blocks_that_were_allocated_and_never_written(tmp_path: Path) -> None:
    with fc.open_target(str(tmp_path / "file"), size=SIZE) as target:
        artefact = found(fc.observe(target, read()), "unwritten_blocks")
        assert artefact.evidence["hole_share"] == pytest.approx(1)
        everything = fc.Stream.write("sequential", MIB)
        target.run(fc.Workload([everything], volume_bytes=SIZE))
        names = {artefact.name for artefact in fc.observe(target, read()).artefacts}
    assert "unwritten_blocks" not in names


def test_a_device_that_was_trimmed(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(os.urandom(SIZE))
    with loop(image, "--direct-io=on") as device:
        run("blkdiscard", "--force", device)
        with fc.open_target(device) as target:
            artefact = found(fc.observe(target, read()), "zero_blocks")
    assert artefact.evidence["zero_share"] == 1


def test_written_zeros(tmp_path: Path) -> None:
    path = tmp_path / "zeros"
    path.write_bytes(os.urandom(SIZE // 2) + bytes(SIZE // 2))
    with fc.open_target(str(path)) as target:
        artefact = found(fc.observe(target, read()), "zero_blocks")
    assert artefact.evidence["zero_share"] == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("unit", [os.urandom(4096), b"fourcorn" * 512], ids=["block", "word"])
def test_repeated_data(tmp_path: Path, unit: bytes) -> None:
    path = tmp_path / "repeated"
    path.write_bytes(unit * (SIZE // len(unit)))
    with fc.open_target(str(path)) as target:
        found(fc.observe(target, read()), "repeated_blocks")


def test_a_device_that_compresses() -> None:
    number = _new_zram()
    try:
        Path(f"/sys/block/zram{number}/disksize").write_text(str(SIZE))
        device = f"/dev/zram{number}"
        with fc.open_target(device, destroy_data=device) as target:
            observed = fc.observe(target, write())
        assert "zram" in found(observed, "compressing_storage").seen
        assert "memory" in found(observed, "page_cache").seen
    finally:
        Path("/sys/class/zram-control/hot_remove").write_text(str(number))


def _new_zram() -> int:
    try:
        return int(Path("/sys/class/zram-control/hot_add").read_text())
    except OSError as error:
        pytest.skip(f"no zram here: {error}")


def test_kernel_workers() -> None:
    with in_memory() as path, fc.open_target(str(path), size=SIZE, engine="io_uring") as target:
        if "io_uring" in " ".join(target.notes):
            pytest.skip("no io_uring here")
        artefact = found(fc.observe(target, write(depth=1)), "kernel_workers")
    assert artefact.evidence["kernel_workers"] >= 1


def test_a_host_that_is_the_limit() -> None:
    with in_memory() as path, fc.open_target(str(path), size=SIZE, engine="sync") as target:
        observed = fc.observe(target, write(depth=1, block_bytes=MIB))
    waited_s, observed_s = observed.conditions.issuers_wait_s, observed.conditions.observed_s
    assert waited_s is not None
    assert observed_s is not None
    if waited_s > 0.1 * observed_s:
        # Others have the processors, and not all of a worker's waiting for one is seen.
        assert found(observed, "cpu_contention").evidence["wait_share"] > 0.1
        return
    assert found(observed, "host_saturated").evidence["generating_share"] > 0


def test_sqpoll_on_a_small_machine(filled: Path) -> None:
    workers = -(-len(os.sched_getaffinity(0)) // 2)
    stream = fc.Stream.read("random", 4096, queue_depth_per_worker=4, workers=workers)
    try:
        with fc.open_target(str(filled), engine="io_uring,sqpoll") as target:
            observed = fc.observe(target, fc.Workload([stream], duration_s=SECONDS))
    except fc.UserError as error:
        pytest.skip(str(error))
    assert found(observed, "sqpoll_starvation").evidence["pollers"] == workers


def _spin() -> None:
    while True:
        pass


def test_processors_shared_with_others(filled: Path) -> None:
    context = multiprocessing.get_context("spawn")
    hogs = [context.Process(target=_spin) for _ in range(4 * len(os.sched_getaffinity(0)))]
    try:
        for hog in hogs:
            hog.start()
        time.sleep(1)
        with fc.open_target(str(filled)) as target:
            # The page cache: each I/O at once, so that the thread never rests.
            artefact = found(fc.observe(target, read()), "cpu_contention")
    finally:
        for hog in hogs:
            hog.kill()
    assert artefact.evidence["other_cpu_share"] > 0.3


FOREIGN = """
import mmap, os, sys
descriptor = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
buffer = mmap.mmap(-1, 65536)
print("ready", flush=True)
while True:
    for at in range(0, 16 << 20, 65536):
        os.preadv(descriptor, [buffer], at)
"""


def test_foreign_load(filled: Path) -> None:
    with loop(filled, "--direct-io=on") as device:
        other = subprocess.Popen(
            [sys.executable, "-c", FOREIGN, device], stdout=subprocess.PIPE, text=True
        )
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "ready\n"
            with fc.open_target(device) as target:
                artefact = found(fc.observe(target, read()), "foreign_load")
        finally:
            other.kill()
            other.wait()
    assert artefact.evidence["foreign_read_bytes"] > MIB
    assert artefact.evidence["foreign_write_bytes"] == 0


def test_a_rate_cap(filled: Path) -> None:
    workload = fc.Workload([fc.Stream.read("random", 4096, queue_depth_per_worker=8)], duration_s=2)
    with (
        loop(filled, "--direct-io=on") as device,
        _throttled(device, 300),
        fc.open_target(device) as target,
    ):
        artefact = found(fc.observe(target, workload), "rate_cap")
    assert "300 I/Os" in artefact.seen


@contextlib.contextmanager
def _throttled(device: str, iops: int) -> Iterator[None]:
    """This process in a control group that may read so often from the device."""
    number = Path(device).stat().st_rdev
    limit = f"{os.major(number)}:{os.minor(number)}"
    first, second = Path("/sys/fs/cgroup/blkio"), Path("/sys/fs/cgroup")
    base = first if first.is_dir() else second
    group = base / f"fourcorners-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group here: {error}")
    home = base / _own_group(base == first)
    try:
        if base == first:
            (group / "blkio.throttle.read_iops_device").write_text(f"{limit} {iops}")
        else:
            (base / "cgroup.subtree_control").write_text("+io")
            (group / "io.max").write_text(f"{limit} riops={iops}")
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError as error:
        group.rmdir()
        pytest.skip(f"no limits on I/O here: {error}")
    try:
        yield
    finally:
        (home / "cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()


def _own_group(version_1: bool) -> str:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if ("blkio" in controllers.split(",")) if version_1 else not controllers:
            return path.lstrip("/")
    return ""


def test_nothing_planted_nothing_found(filled: Path) -> None:
    """Whether this machine's processors are busy is not the test's to say."""
    with (
        loop(filled, "--direct-io=on") as device,
        fc.open_target(device, destroy_data=device) as target,
    ):
        for workload in (read(), write(), read(depth=32), write(block_bytes=65536), read()):
            names = {artefact.name for artefact in fc.observe(target, workload).artefacts}
            assert names <= {"cpu_contention", "host_saturated"}
