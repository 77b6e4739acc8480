"""Dangerous situations: paths that are not what they seem, and files of somebody else."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dangers import MIB, Danger, danger, destroy, disk, mounted, run

# Paths that are not what they seem


def _mistyped(name: str, path: str, *options: str) -> None:
    def stage(folder: Path) -> Iterator[Danger]:
        yield Danger([path, *options], "there is no device", [])
        assert not Path(path).exists()

    stage.__name__ = f"a_mistyped_device_{name}"
    danger(stage)


_mistyped("alone", "/dev/sdzz")
_mistyped("with_a_size", "/dev/sdzz", "--size", "4MiB")
_mistyped("that_names_itself", "/dev/sdzz", "--destroy-data", "/dev/sdzz", "--size", "4MiB")
_mistyped("in_a_folder_of_dev", "/dev/mapper/sdzz", "--size", "4MiB")
_mistyped("by_a_long_way", "/proc/self/root/dev//./sdzz", "--size", "4MiB")


@danger
def a_mistyped_device_below_a_linked_folder(folder: Path) -> Iterator[Danger]:
    (folder / "devices").symlink_to("/dev")
    path = str(folder / "devices" / "sdzz")
    yield Danger([path, "--size", "4MiB"], "there is no device", [])
    assert not Path("/dev/sdzz").exists()


@danger
def a_link_to_a_mistyped_device(folder: Path) -> Iterator[Danger]:
    (folder / "link").symlink_to("/dev/sdzz")
    yield Danger([str(folder / "link"), "--size", "4MiB"], "does not exist", [])
    assert not Path("/dev/sdzz").exists()


@danger
def a_file_that_a_mistyped_device_left_in_dev(folder: Path) -> Iterator[Danger]:
    if os.geteuid() != 0:
        pytest.skip("files in /dev need root")
    path = Path(f"/dev/fourcorners-test-{os.getpid()}")
    path.write_bytes(os.urandom(MIB))
    try:
        yield Danger([str(path), "--overwrite", str(path)], "lies on no drive", [path])
    finally:
        path.unlink()


@danger
def a_character_device(folder: Path) -> Iterator[Danger]:
    yield Danger(destroy("/dev/zero"), "a character device", [])


@danger
def a_folder(folder: Path) -> Iterator[Danger]:
    yield Danger([str(folder), "--overwrite", str(folder)], "a directory", [])


@danger
def a_fifo(folder: Path) -> Iterator[Danger]:
    os.mkfifo(folder / "fifo")
    yield Danger([str(folder / "fifo"), "--size", "4MiB"], "a FIFO", [])


@danger
def a_socket(folder: Path) -> Iterator[Danger]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        yield Danger([str(folder / "socket"), "--size", "4MiB"], "a socket", [])


@danger
def a_file_of_the_kernel(folder: Path) -> Iterator[Danger]:
    path = "/proc/sys/kernel/hostname"
    yield Danger([path, "--overwrite", path], "lies on no drive", [Path(path)])


# Files of somebody else


def _precious(folder: Path, name: str = "precious.img") -> Path:
    path = folder / name
    path.write_bytes(os.urandom(MIB))
    return path


@danger
def a_larger_size_for_a_file_with_content(folder: Path) -> Iterator[Danger]:
    file = _precious(folder)
    yield Danger([str(file), "--size", "4MiB"], "exists and holds 1048576 bytes", [file])


@danger
def the_word_for_another_file(folder: Path) -> Iterator[Danger]:
    file, other = _precious(folder), _precious(folder, "other.img")
    yield Danger([str(file), "--overwrite", str(other)], "names", [file, other])


@danger
def the_word_for_a_copy_of_the_file(folder: Path) -> Iterator[Danger]:
    file = _precious(folder)
    copy = Path(shutil.copy2(file, folder / "copy.img"))
    yield Danger([str(file), "--overwrite", str(copy)], "names", [file, copy])


@danger
def the_word_for_a_file_that_is_missing(folder: Path) -> Iterator[Danger]:
    file = _precious(folder)
    yield Danger([str(file), "--overwrite", str(folder / "typo.img")], "names", [file])


@danger
def the_word_for_devices_on_a_file(folder: Path) -> Iterator[Danger]:
    file = _precious(folder)
    yield Danger(destroy(file), "use --overwrite", [file])


@danger
def a_program_that_runs(folder: Path) -> Iterator[Danger]:
    program = folder / "program"
    shutil.copy2(shutil.which("sleep") or sys.executable, program)
    with subprocess.Popen([program, "60"]) as running:
        try:
            time.sleep(0.1)
            yield Danger(
                [str(program), "--overwrite", str(program)], "in use as a program", [program]
            )
        finally:
            running.kill()


@danger
def an_immutable_file(folder: Path) -> Iterator[Danger]:
    file = _precious(folder)
    run("chattr", "+i", file)
    try:
        yield Danger([str(file), "--overwrite", str(file)], "permission denied", [file])
    finally:
        run("chattr", "-i", file)


@danger
def a_file_on_a_file_system_mounted_read_only(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        with mounted(one.device, folder / "point") as point:
            _precious(point)
        with mounted(one.device, point, "-o", "ro", make=False):
            file = str(point / "precious.img")
            yield Danger([file, "--overwrite", file], "mounted read-only", [one.image])


@danger
def a_file_larger_than_the_room(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, mounted(one.device, folder / "point") as point:
        yield Danger([str(point / "new.img"), "--size", "1GiB"], "make room", [])
        assert not (point / "new.img").exists()
