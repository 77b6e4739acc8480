"""File systems on a served drive's block device whose device number is another one."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from command import COMMAND
from fault_disk import needs_fuse

import fourcorners as fc

CONSUMER = "sim:class-tlc-nvme-consumer-1tb"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices and mounts need root"),
    pytest.mark.skipif(shutil.which("mkfs.btrfs") is None, reason="btrfs-progs not installed"),
]


@pytest.fixture(autouse=True)
def _fuse() -> None:
    needs_fuse()


def mounted_on(device: Path | None, place: Path, *mkfs: str) -> None:
    assert device is not None
    words = mkfs or ("mkfs.btrfs", "-q", "-b", "512M")
    made = subprocess.run([*words, device], check=False, capture_output=True)
    assert made.returncode == 0, made.stderr
    place.mkdir()
    if subprocess.run(["mount", device, place], check=False, capture_output=True).returncode:
        pytest.skip("a kernel without btrfs")


def test_the_end_unmounts_btrfs(tmp_path: Path) -> None:
    place = tmp_path / "mounted"
    with fc.serve(CONSUMER, fuse=tmp_path / "v", loop=True, out=tmp_path / "runs") as served:
        mounted_on(served.device, place)
        place.joinpath("mine").write_bytes(b"thesis" * 1000)
    assert not served.notes
    assert not place.is_mount()


@pytest.mark.skipif(shutil.which("addpart") is None, reason="addpart not installed")
def test_the_end_unmounts_a_partition(tmp_path: Path) -> None:
    place = tmp_path / "mounted"
    with fc.serve(CONSUMER, fuse=tmp_path / "v", loop=True, out=tmp_path / "runs") as served:
        assert served.device is not None
        # The kernel keeps a partition that was added by hand, also past the device's end.
        without: tuple[str | Path, ...] = ("delpart", served.device, "1")
        subprocess.run(without, check=False, capture_output=True)
        subprocess.run(["addpart", served.device, "1", "2048", "262144"], check=True)
        mounted_on(Path(f"{served.device}p1"), place, "mkfs.ext4", "-q")
    subprocess.run(without, check=False, capture_output=True)
    assert not served.notes
    assert not place.is_mount()


def test_the_next_start_tells_where_btrfs_is_on_a_dead_drive(tmp_path: Path) -> None:
    place = tmp_path / "mounted"
    command = [*COMMAND, "serve", CONSUMER, "--fuse", "v", "--loop"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    device = [Path(process.stdout.readline().strip()) for _ in range(2)][1]
    mounted_on(device, place)
    try:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with fc.serve(CONSUMER, fuse=tmp_path / "v", out=tmp_path / "runs") as served:
            assert served.notes == [f"{place} is mounted on a dead drive: unmount it"]
    finally:
        subprocess.run(["umount", place], check=True)
