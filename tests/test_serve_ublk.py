"""A served drive as a block device of the kernel's ublk driver: what is refused, and, where the
kernel has ublk, what programs find there (``benches/qemu_serve.py`` does more, in a guest)."""

import errno
import mmap
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import COMMAND

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.machine.environment import Mount
from fourcorners.serving import mounts

VECTOR = "sim:ocz-vector-256gb"
CONTROL = Path("/dev/ublk-control")

needs_ublk = pytest.mark.skipif(
    not CONTROL.exists() or os.geteuid() != 0,
    reason="this kernel has no ublk (/dev/ublk-control), or only root may use it",
)


def left_devices() -> list[Path]:
    return sorted(Path("/dev").glob("ublk[bc]*"))


def test_what_cannot_be_is_said_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = ["serve", VECTOR, "--fuse", str(tmp_path / "drive"), "--loop", "--ublk"]
    assert main(both) == 2
    assert "leave one of them out" in capsys.readouterr().err
    if CONTROL.exists() and os.geteuid() == 0:
        return
    assert main(["serve", VECTOR, "--ublk", "--out", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert ("only root" if CONTROL.exists() else "no ublk (/dev/ublk-control is missing)") in told
    assert len(told.strip().splitlines()) == 1
    # And nothing is left of it: neither a run folder nor a server.
    assert not list(tmp_path.iterdir())


def test_a_file_system_on_a_dead_device_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = next(Path("/sys/dev/block").iterdir()).name

    def mounted() -> Iterator[Mount]:
        for device, source in (("259:7777", "/dev/ublkb3"), (there, "/dev/ublkb4")):
            yield Mount(device, f"/mnt/{source[-1]}", "ext4", source, "rw")

    monkeypatch.setattr(mounts, "mounts", mounted)
    [told] = mounts.left_on_ublk()
    assert told.startswith("/mnt/3 is mounted on /dev/ublkb3")


@needs_ublk
def test_the_drive_is_a_block_device(tmp_path: Path) -> None:
    with fc.serve(VECTOR, ublk=True, restart_after_s=0.2, out=tmp_path) as served:
        assert served.device is not None
        assert served.uri == str(served.device)
        queue = Path("/sys/block", served.device.name, "queue")
        assert (queue / "write_cache").read_text().strip() == "write back"
        assert (queue / "fua").read_text().strip() == "1"
        assert int((queue / "discard_max_bytes").read_text()) > 0
        file = os.open(served.device, os.O_RDWR | os.O_DIRECT)
        assert os.lseek(file, 0, os.SEEK_END) == 256060514304
        page = mmap.mmap(-1, 4096)
        page[:] = b"d" * 4096
        assert os.pwritev(file, [page], 8192) == 4096
        os.fsync(file)
        served.command("power-cut")
        page[:] = bytes(4096)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            os.preadv(file, [page], 8192)
        time.sleep(0.5)
        assert os.preadv(file, [page], 8192) == 4096
        assert page[:] == b"d" * 4096
        os.close(file)
        session = served.stop()
    assert session.ended == "stopped"
    assert session.run.recordings[0].operations["flush"].ios >= 2
    assert not left_devices()


@needs_ublk
def test_what_a_killed_server_left_goes_with_the_next(tmp_path: Path) -> None:
    command = [*COMMAND, "serve", VECTOR, "--ublk"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    device = Path(process.stdout.readline().strip())
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 30
    while device.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left_devices()
    with fc.serve(VECTOR, ublk=True, out=tmp_path) as served:
        assert len(left_devices()) == 2
        assert served.device in left_devices()
    assert not left_devices()
