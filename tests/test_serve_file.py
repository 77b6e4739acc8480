"""A served drive as a file (FUSE) and as a loop device on it: what programs find there."""

import contextlib
import ctypes
import errno
import mmap
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command import COMMAND
from fault_disk import needs_fuse

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.machine.system_files import text

VECTOR = "sim:ocz-vector-256gb"
KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16
"""linux/falloc.h"""

needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio not installed")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="loop devices and mounts need root")


@pytest.fixture(autouse=True)
def _fuse() -> None:
    needs_fuse()


@contextlib.contextmanager
def serving(folder: Path, target: str = VECTOR, **options: Any) -> Iterator[fc.Served]:
    with fc.serve(target, fuse=folder / "drive", out=folder / "runs", **options) as served:
        yield served


@contextlib.contextmanager
def opened(path: Path | None, flags: int = 0) -> Iterator[int]:
    assert path is not None
    descriptor = os.open(path, os.O_RDWR | flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def fallocate(descriptor: int, mode: int, offset: int, length: int) -> int:
    """0 or the error's number."""
    call = ctypes.CDLL(None, use_errno=True).fallocate
    call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return ctypes.get_errno() if call(descriptor, mode, offset, length) else 0


def run(*words: str | Path) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def set_up_as(device: Path) -> str | None:
    """Tells one setting up of a loop device from the next, which anybody on this machine may do as
    soon as it is free (``diskseq``); ``None`` where it is free."""
    block = Path("/sys/block", device.name)
    return text(block / "diskseq") if (block / "loop").exists() else None


def test_the_drive_is_a_file_of_fixed_size(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        assert served.uri == str(served.file) == str(tmp_path / "drive")
        size = tmp_path.joinpath("drive").stat().st_size
        assert size == 256060514304
        with opened(served.file, os.O_TRUNC) as drive:
            assert os.pread(drive, 4096, 0) == bytes(4096)
            # Parts of sectors, and across their borders.
            assert os.pwrite(drive, b"x" * 1500, 700) == 1500
            assert os.pread(drive, 3000, 0) == bytes(700) + b"x" * 1500 + bytes(800)
            assert os.pread(drive, 5, 698) == b"\0\0xxx"
            assert os.pread(drive, 1000, size - 300) == bytes(300)
            assert os.pread(drive, 1000, size) == b""
            assert os.pwrite(drive, b"y" * 1024, size - 512) == 512
            with pytest.raises(OSError, match="No space left"):
                os.pwrite(drive, b"y", size)
            with pytest.raises(OSError, match="Invalid argument"):
                os.ftruncate(drive, 4096)
        assert tmp_path.joinpath("drive").stat().st_size == size
        with opened(served.file, os.O_DIRECT) as drive:
            buffer = mmap.mmap(-1, 8192)
            assert os.preadv(drive, [buffer], 0) == 8192
            assert buffer[700:2200] == b"x" * 1500
            with pytest.raises(OSError, match="Invalid argument"):
                os.preadv(drive, [buffer], 100)
        session = served.stop()
    assert session.ended == "stopped"
    assert not tmp_path.joinpath("drive").exists()
    counters = session.run.recordings[0].operations
    # Parts of sectors are read before they are written, and the last sector was a whole one.
    assert (counters["write"].ios, counters["write"].bytes) == (2, 2048 + 512)


def test_holes_zeroes_and_durable_writes_reach_the_drive(tmp_path: Path) -> None:
    with serving(tmp_path, restart_after_s=0.05) as served:
        with opened(served.file) as drive, opened(served.file, os.O_DSYNC) as durable:
            for at in (0, 2**20):
                os.pwrite(drive, b"d" * 2**20, at)
            os.fsync(drive)
            assert fallocate(drive, PUNCH_HOLE | KEEP_SIZE, 0, 2**20) == 0
            assert fallocate(drive, ZERO_RANGE, 2**20, 4096) == 0
            assert fallocate(drive, PUNCH_HOLE | KEEP_SIZE, 2**30, 200 * 2**30) == 0
            assert fallocate(drive, PUNCH_HOLE | KEEP_SIZE, 100, 4096) == errno.EINVAL
            assert fallocate(drive, 8, 0, 4096) == errno.EOPNOTSUPP
            assert os.pread(drive, 2**20 + 8192, 0) == bytes(2**20 + 4096) + b"d" * 4096
            assert os.lseek(drive, 0, os.SEEK_DATA) in range(2**20, 2**20 + 4097)
            assert os.lseek(drive, 2**20 + 4096, os.SEEK_HOLE) == 2**21
            os.pwrite(durable, b"o" * 4096, 4096)
            served.command("power-cut")
            time.sleep(0.2)
            assert os.pread(drive, 4096, 4096) == b"o" * 4096
        session = served.stop()
    # 200 GiB are more than an I/O's length can say.
    assert (session.events["trims"], session.events["zeroes"]) == (1 + 100, 1)
    # And the one with which a session ends.
    assert session.run.recordings[0].operations["flush"].ios == 2
    with (
        serving(tmp_path, "sim:wd6400aaks") as served,
        opened(served.file) as drive,
    ):
        assert fallocate(drive, PUNCH_HOLE | KEEP_SIZE, 0, 4096) == errno.EOPNOTSUPP


@needs_root
@pytest.mark.skipif(not Path("/dev/cpu_dma_latency").exists(), reason="a kernel without PM QoS")
def test_processors_are_kept_awake_while_the_drive_is_in_use(tmp_path: Path) -> None:
    def requests() -> int:
        opened = Path("/proc/self/fd").iterdir()
        return sum(os.path.realpath(one) == "/dev/cpu_dma_latency" for one in opened)

    def until(count: int, use: Callable[[], object]) -> None:
        end = time.monotonic() + 10
        while requests() != count:
            assert time.monotonic() < end, (requests(), count)
            use()
            time.sleep(0.02)

    with serving(tmp_path) as served, opened(served.file, os.O_DIRECT) as drive:
        buffer = mmap.mmap(-1, 4096)
        assert requests() == 0
        until(1, lambda: os.preadv(drive, [buffer], 0))
        until(0, lambda: None)


def test_what_waits_for_an_idle_drive_does_not_wait_on(tmp_path: Path) -> None:
    with serving(tmp_path) as served, opened(served.file) as drive:
        began = time.monotonic()
        for number in range(20):
            assert fallocate(drive, PUNCH_HOLE | KEEP_SIZE, number * 4096, 4096) == 0
        # Not 20 times as long as the server sleeps.
        assert time.monotonic() - began < 1.5


def test_a_later_request_is_answered_first_where_the_drive_is_faster(tmp_path: Path) -> None:
    order = []

    def read(offset: int) -> None:
        with opened(tmp_path / "drive") as drive:
            os.pread(drive, 4096, offset)
            order.append(offset)

    with serving(tmp_path) as served:
        served.command('slow delay="400 ms" length=4KiB')
        slow = threading.Thread(target=read, args=(0,))
        slow.start()
        time.sleep(0.1)
        read(2**20)
        slow.join()
    assert order == [2**20, 0]


def test_a_power_cut_fails_what_is_under_way_and_the_file_stays(tmp_path: Path) -> None:
    failures: list[int | None] = []

    def read() -> None:
        with opened(tmp_path / "drive") as drive:
            try:
                os.pread(drive, 4096, 0)
            except OSError as error:
                failures.append(error.errno)

    with serving(tmp_path, restart_after_s=0.5) as served:
        with opened(served.file) as drive:
            os.pwrite(drive, b"d" * 4096, 0)
            os.fsync(drive)
            served.command("hang on=read")
            reader = threading.Thread(target=read)
            reader.start()
            time.sleep(0.1)
            served.command("power-cut")
            reader.join(5)
            assert failures == [errno.EIO]
            for call in (lambda: os.pread(drive, 512, 0), lambda: os.fsync(drive)):
                with pytest.raises(OSError, match="Input/output error"):
                    call()
            served.command("clear")
            assert os.fstat(drive).st_size == 256060514304
            deadline = time.monotonic() + 10
            while served.command("status")["is_away"]:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert os.pread(drive, 4096, 0) == b"d" * 4096
        [cut] = served.stop().events["power_cuts"]
        assert cut["unacknowledged_ios"] == 1


def test_a_cut_for_good_ends_the_session_while_the_file_is_open(tmp_path: Path) -> None:
    with serving(tmp_path) as served, opened(served.file) as drive:
        served.command("power-cut")
        assert served.wait(10)
        assert served.stop().ended == "power-cut"
        with pytest.raises(OSError, match=r"Input/output|not connected"):
            os.pread(drive, 512, 0)
    assert not tmp_path.joinpath("drive").exists()


@contextlib.contextmanager
def again_and_again(action: Callable[[], object]) -> Iterator[None]:
    """Meanwhile, a hundred times a second."""
    is_over = threading.Event()

    def act() -> None:
        while not is_over.wait(0.01):
            action()

    thread = threading.Thread(target=act)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def verify(place: Path | None, jobs: int) -> None:
    run("fio", "--name=v", f"--filename={place}", "--ioengine=libaio", "--direct=1", "--rw=randrw",
        "--bs=4k", "--iodepth=8", f"--numjobs={jobs}", "--offset_increment=1M", "--size=1M",
        "--fsync=64", "--verify=crc32c", "--verify_state_save=0")  # fmt: skip


@needs_fio
def test_fio_verifies_eight_jobs_with_flushes_and_trims(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        with (
            opened(served.file) as drive,
            again_and_again(lambda: fallocate(drive, PUNCH_HOLE | KEEP_SIZE, 2**30, 2**20)),
        ):
            verify(served.file, 8)
        session = served.stop()
    counts = session.run.recordings[0].operations
    assert counts["write"].ios >= 8 * 100
    assert counts["flush"].ios >= 8
    assert session.events["trims"] > 0


@needs_root
@needs_fio
def test_fio_verifies_on_a_loop_device_with_flushes_and_trims(tmp_path: Path) -> None:
    with serving(tmp_path, loop=True) as served:
        device = served.device
        assert device is not None
        assert served.uri == str(device)
        assert device.is_block_device()
        was = set_up_as(device)
        assert was is not None
        discard = ("blkdiscard", "--offset", str(2**30), "--length", str(2**20), device)
        with again_and_again(lambda: run(*discard)):
            verify(device, 8)
        session = served.stop()
    counts = session.run.recordings[0].operations
    assert counts["write"].ios >= 8 * 50
    assert counts["flush"].ios >= 8
    assert session.events["trims"] > 0
    assert set_up_as(device) != was


@needs_root
@pytest.mark.parametrize(("target", "rotates"), [(VECTOR, "0"), ("sim:wd6400aaks", "1")])
def test_a_loop_device_says_whether_it_rotates(target: str, rotates: str, tmp_path: Path) -> None:
    with serving(tmp_path, target, loop=True) as served:
        assert served.device is not None
        assert text(Path("/sys/block", served.device.name, "queue", "rotational")) == rotates


@needs_root
def test_a_file_system_on_the_loop_device_lives_on_in_the_data_file(tmp_path: Path) -> None:
    data, mounted = tmp_path / "data", tmp_path / "mounted"
    mounted.mkdir()
    with serving(tmp_path, loop=True, data=data, speed=10) as served:
        run("mkfs.ext4", "-q", str(served.device), "64M")
        run("mount", str(served.device), mounted)
        mounted.joinpath("mine").write_bytes(b"thesis" * 10_000)
        run("fstrim", mounted)
        session = served.stop()
        assert not served.notes
    assert not list(mounted.iterdir())
    assert session.events["trims"] > 0
    with serving(tmp_path, loop=True, data=data, speed=10, read_only=True) as served:
        run("mount", "-o", "ro", str(served.device), mounted)
        assert mounted.joinpath("mine").read_bytes() == b"thesis" * 10_000
    assert not list(mounted.iterdir())


@needs_root
def test_what_a_killed_server_left_is_removed_by_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [*COMMAND, "serve", VECTOR, "--fuse", "drive", "--loop", "--data", "d"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    file, device = (Path(process.stdout.readline().strip()) for _ in range(2))
    was = set_up_as(device)
    assert was is not None
    with opened(device) as drive:
        os.pwrite(drive, b"k" * 4096, 0)
        os.fsync(drive)
    with pytest.raises(fc.UserError, match="in use by another server"), serving(tmp_path):
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with pytest.raises(OSError, match="not connected"):
        os.close(os.open(file, os.O_RDONLY))
    with serving(tmp_path, data=tmp_path / "d") as served, opened(served.file) as drive:
        assert set_up_as(device) != was
        assert os.pread(drive, 4096, 0) == b"k" * 4096
    assert not (tmp_path / "drive").exists()
    # A mount of somebody else is left alone.
    other = tmp_path / "other"
    other.touch()
    (tmp_path / "drive").touch()
    run("mount", "--bind", other, tmp_path / "drive")
    try:
        assert main(["serve", VECTOR, "--fuse", str(tmp_path / "drive")]) == 2
        assert "unmount it" in capsys.readouterr().err
    finally:
        run("umount", tmp_path / "drive")


def test_files_of_other_people_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "drive").write_text("mine")
    with pytest.raises(fc.UserError, match="no empty file"), serving(tmp_path):
        pass
    assert (tmp_path / "drive").read_text() == "mine"
    (tmp_path / "drive").write_text("")
    with serving(tmp_path, read_only=True) as served:
        with pytest.raises(OSError, match="Read-only"), opened(served.file):
            pass
        assert served.file is not None
        assert served.file.open("rb").read(512) == bytes(512)
    assert (tmp_path / "drive").exists()
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(fc.UserError, match="others can write"), serving(shared):
        pass
    assert main(["serve", VECTOR]) == 2
    assert "--fuse FILE" in capsys.readouterr().err
    assert main(["serve", VECTOR, "--nbd", f"unix:{tmp_path}/s", "--save-every", "5"]) == 2
    assert "--state FILE" in capsys.readouterr().err
    assert main(["serve", VECTOR, "--nbd", f"unix:{tmp_path}/s", "--loop"]) == 2
    assert "--fuse FILE" in capsys.readouterr().err


def test_a_killed_server_leaves_the_state_of_a_flush(tmp_path: Path) -> None:
    disk = "sim:wd6400aaks"
    command = [*COMMAND, "serve", disk, "--fuse", "drive", "--data", "d", "--state", "st"]
    process = subprocess.Popen(
        [*command, "--save-every", "0"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        drive = os.open(process.stdout.readline().strip(), os.O_RDWR)
        os.pwrite(drive, b"k" * 4096, 0)
        assert not (tmp_path / "st").exists()
        os.fsync(drive)
        deadline = time.monotonic() + 30
        while not (tmp_path / "st").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        process.kill()
        process.communicate()
    # Closing the file of a dead server fails.
    with contextlib.suppress(OSError):
        os.close(drive)
    with serving(tmp_path, disk, data=tmp_path / "d", state=tmp_path / "st") as served:
        # The disk of the first session has written; this one has done nothing yet.
        assert sum(served.command("status")["counters"].values()) > 0
        with opened(served.file) as again:
            assert os.pread(again, 4096, 0) == b"k" * 4096


def _dirty_pages(path: Path) -> int | None:
    """What of a file the host's disk does not have (cachestat(2)); ``None`` where the host does not
    tell."""
    counts = (ctypes.c_uint64 * 5)()
    whole = (ctypes.c_uint64 * 2)(0, 0)
    call = ctypes.CDLL(None).syscall
    with path.open("rb") as file:
        failed = call(451, file.fileno(), whole, counts, 0)
    return None if failed else counts[1] + counts[2]


def test_the_hosts_disk_has_the_data_before_a_flush_is_acknowledged(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(tmp_path, data=data, sync_data=True) as served, opened(served.file) as drive:
        os.pwrite(drive, b"d" * 2**20, 0)
        dirty = _dirty_pages(data)
        os.fsync(drive)
        assert _dirty_pages(data) == (None if dirty is None else 0)
        with opened(served.file, os.O_DSYNC) as durable:
            os.pwrite(durable, b"o" * 4096, 0)
        assert _dirty_pages(data) == (None if dirty is None else 0)
    with pytest.raises(fc.UserError, match="--data FILE"), serving(tmp_path, sync_data=True):
        pass


_WRITES = """
import os, sys
log = open(sys.argv[2], "w")
drive = os.open(sys.argv[1], os.O_RDWR)
for block in range(1, 21):
    os.pwrite(drive, bytes([block]) * 4096, block * 4096)
    os.fsync(drive)
    print(block, file=log, flush=True)
"""
_READS = """
import os, sys
drive = os.open(sys.argv[1], os.O_RDWR)
for block in map(int, open(sys.argv[2])):
    if os.pread(drive, 4096, block * 4096) != bytes([block]) * 4096:
        sys.exit(f"block {block} is gone")
"""


def test_a_crash_test_gives_programs_a_file(tmp_path: Path) -> None:
    log = tmp_path / "log"
    commands = []
    for name, text_ in {"load.py": _WRITES, "check.py": _READS}.items():
        (tmp_path / name).write_text(text_)
        commands.append(f"{sys.executable} {tmp_path / name} {{file}} {log}")
    load, check = commands
    honest = fc.crash_test(VECTOR, workload=load, check=check, cuts=1)
    assert (honest.writes, len(honest.failed)) == (20, 0)
    lies = {"write_buffer.ignores_flush": True}
    lying = fc.crash_test(VECTOR, workload=load, check=check, at_write=15, settings=lies)
    assert ["is gone" in cut.output for cut in lying.failed] == [True]


@needs_root
def test_a_crash_test_gives_programs_a_block_device(tmp_path: Path) -> None:
    place, log = tmp_path / "mounted", tmp_path / "log"
    place.mkdir()
    script = tmp_path / "load.sh"
    # The file system stays mounted, and the drive ends below it.
    script.write_text(
        f"set -e; true > {log}; mkfs.ext4 -q $1 16M; mount $1 {place}\n"
        f"for n in 1 2 3; do echo $n > {place}/$n; sync {place}/$n; echo $n >> {log}; done"
    )
    check = tmp_path / "check.sh"
    check.write_text(
        f"test -s {log} || exit 0; mount $1 {place}\n"
        f"for n in $(cat {log}); do test -s {place}/$n || exit 4; done"
    )
    workload, checked = (f"sh {name} {{device}}" for name in (script, check))
    tested = fc.crash_test(VECTOR, workload=workload, check=checked, cuts=2)
    assert tested.writes > 3
    assert not tested.failed
    assert not place.is_mount()
    # Somebody who stays in the file system until the other end of a pipe is opened.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    busy = tmp_path / "busy.sh"
    busy.write_text(
        f"mkfs.ext4 -q $1 16M; mount $1 {place}; cd {place}; cat {pipe} > /dev/null 2>&1 &"
    )
    with pytest.raises(fc.UserError, match="left the drive in use"):
        fc.crash_test(VECTOR, workload=f"sh {busy} {{device}}", check="true")
    pipe.write_text("")
    for _ in range(100):
        if subprocess.run(["umount", place], check=False, capture_output=True).returncode == 0:
            break
        time.sleep(0.1)
    assert not place.is_mount()
