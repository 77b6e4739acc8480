"""Dangerous situations, staged with real devices: mistakes, carelessness and bad luck.

Each is a context manager that yields a :class:`Danger`. They need root for loop devices and mounts,
and skip with a reason where the machine cannot stage them.
"""

import contextlib
import dataclasses
import itertools
import os
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

MIB = 1 << 20
DISK_BYTES = 16 * MIB


@dataclasses.dataclass
class Danger:
    """What is typed, what the refusal must name, and the files whose bytes must stay."""

    arguments: list[str]
    named: str
    guarded: list[Path]
    command: str = "characterize"


Staging = Callable[[Path], AbstractContextManager[Danger]]
DANGERS: dict[str, Staging] = {}


def danger(stage: Callable[[Path], Iterator[Danger]]) -> Staging:
    """Registers a situation under its function's name."""
    staging = contextlib.contextmanager(stage)
    DANGERS[stage.__name__.replace("_", " ")] = staging
    return staging


def run(*command: str | Path) -> str:
    """Output of a command that has to work here; without it the test skips."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip(f"no {command[0]} here")
    if done.returncode != 0:
        pytest.skip(f"{command[0]} does not work here: {done.stderr.strip()}")
    return done.stdout.strip()


@dataclasses.dataclass
class Disk:
    """A loop device and the file that backs it."""

    device: str
    image: Path

    def partition(self, number: int) -> str:
        """One of two 6 MiB partitions, of which only the kernel knows."""
        name = f"{self.device}p{number}"
        if not Path(name).exists():
            run("addpart", self.device, str(number), str(2048 + (number - 1) * 12288), "12288")
        return name


@contextlib.contextmanager
def disk(folder: Path, *options: str, name: str = "disk.img") -> Iterator[Disk]:
    """A loop device over a file of random bytes, so that every write would show."""
    if os.geteuid() != 0:
        pytest.skip("loop devices need root")
    image = folder / name
    image.write_bytes(os.urandom(DISK_BYTES))
    device = run("losetup", "--find", "--show", *options, image)
    try:
        yield Disk(device, image)
    finally:
        for partition in Path("/dev").glob(f"{Path(device).name}p*"):
            number = partition.name.rpartition("p")[2]
            subprocess.run(["delpart", device, number], check=False, capture_output=True)
        subprocess.run(["losetup", "--detach", device], check=False, capture_output=True)


@contextlib.contextmanager
def mounted(device: str, point: Path, *options: str, make: bool = True) -> Iterator[Path]:
    """The device's file system, made first unless it is there."""
    if make:
        run("mkfs.ext4", "-q", "-F", device)
    point.mkdir(exist_ok=True)
    run("mount", *options, device, point)
    try:
        yield point
    finally:
        run("umount", point)


def destroy(device: str | Path, word: str | Path | None = None) -> list[str]:
    return [str(device), "--destroy-data", str(device if word is None else word)]


# The word that does not name the target


def _wrong_word(name: str, word: Callable[[Disk, Path], str]) -> None:
    def stage(folder: Path) -> Iterator[Danger]:
        with disk(folder) as one:
            yield Danger(destroy(one.device, word(one, folder)), "names", [one.image])

    stage.__name__ = f"the_word_is_{name}"
    danger(stage)


_wrong_word("a_device_that_does_not_exist", lambda *_: "/dev/sdzz")
_wrong_word("a_character_device", lambda *_: "/dev/null")
_wrong_word("yes", lambda *_: "yes")
_wrong_word("empty", lambda *_: "")
_wrong_word("the_file_behind_the_loop_device", lambda one, _: str(one.image))
_wrong_word("a_folder", lambda _, folder: str(folder))
_wrong_word("the_name_without_its_folder", lambda one, _: Path(one.device).name)


@danger
def the_word_is_another_disk(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, disk(folder, name="other.img") as other:
        yield Danger(destroy(one.device, other.device), "names", [one.image, other.image])


@danger
def the_word_is_a_partition_of_the_target(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        yield Danger(destroy(one.device, one.partition(1)), "names", [one.image])


@danger
def the_word_is_the_disk_of_the_target(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        yield Danger(destroy(one.partition(1), one.device), "names", [one.image])


@danger
def the_word_is_the_neighbouring_partition(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        yield Danger(destroy(one.partition(1), one.partition(2)), "names", [one.image])


@danger
def the_word_for_files_on_a_device(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        yield Danger([one.device, "--overwrite", one.device], "use --destroy-data", [one.image])


@danger
def the_word_for_none_of_several_targets(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, disk(folder, name="other.img") as other:
        yield Danger(
            [one.device, other.device, "--destroy-data", "/dev/null"],
            "none of the targets",
            [one.image, other.image],
        )


@danger
def a_size_for_a_device(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        yield Danger(
            [*destroy(one.device), "--size", "4MiB"], "--size is for regular files", [one.image]
        )


@danger
def nvme_commands_to_a_device_of_another_kind(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        yield Danger(
            [*destroy(one.device), "--engine", "nvme"], "whole NVMe namespaces", [one.image]
        )


# Devices in use


@danger
def a_mounted_disk(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, mounted(one.device, folder / "point") as point:
        yield Danger(destroy(one.device), f"mounted at {point}", [one.image])


@danger
def a_disk_mounted_for_reading_only(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, mounted(one.device, folder / "point", "-o", "ro"):
        yield Danger(destroy(one.device), "mounted at", [one.image])


@danger
def a_mounted_disk_behind_two_links(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, mounted(one.device, folder / "point"):
        (folder / "by-id").symlink_to(one.device)
        (folder / "mine").symlink_to(folder / "by-id")
        yield Danger(destroy(folder / "mine"), "mounted at", [one.image])


@danger
def a_mounted_disk_under_a_node_of_another_name(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, mounted(one.device, folder / "point"):
        node = folder / "node"
        os.mknod(node, stat.S_IFBLK | 0o600, Path(one.device).stat().st_rdev)
        yield Danger(destroy(node), "mounted at", [one.image])


@danger
def a_disk_mounted_where_this_process_does_not_see_it(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        run("mkfs.ext4", "-q", "-F", one.device)
        script = f"mount {one.device} {folder / 'point'} && echo ready && exec sleep 60"
        (folder / "point").mkdir()
        with subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", script], stdout=subprocess.PIPE, text=True
        ) as other:
            try:
                assert other.stdout is not None
                if other.stdout.readline() != "ready\n":
                    pytest.skip("no mount namespaces here")
                yield Danger(destroy(one.device), "in use by the kernel", [one.image])
            finally:
                other.kill()
        released(one.device)


@danger
def a_disk_unmounted_while_a_file_is_open(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, mounted(one.device, folder / "point") as point:
        file = (point / "open").open("wb")
        run("umount", "--lazy", point)
        try:
            yield Danger(destroy(one.device), "in use by the kernel", [one.image])
        finally:
            file.close()
            released(one.device)
            run("mount", one.device, point)


@danger
def a_disk_with_a_mounted_partition(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, mounted(one.partition(2), folder / "point"):
        yield Danger(destroy(one.device), "p2, mounted at", [one.image])


@danger
def a_mounted_partition(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, mounted(one.partition(1), folder / "point"):
        yield Danger(destroy(one.partition(1)), "mounted at", [one.image])


@danger
def a_partition_of_a_disk_that_is_mounted_whole(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        partition = one.partition(2)
        with mounted(one.device, folder / "point"):
            yield Danger(destroy(partition), "mounted at", [one.image])


@contextlib.contextmanager
def _swap(path: str) -> Iterator[None]:
    run("mkswap", path)
    run("swapon", path)
    try:
        yield
    finally:
        run("swapoff", path)


@danger
def a_swap_device(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, _swap(one.device):
        yield Danger(destroy(one.device), "used as swap", [one.image])


@danger
def a_disk_with_a_swap_partition(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, _swap(one.partition(1)):
        yield Danger(destroy(one.device), "p1, used as swap", [one.image])


@danger
def a_swap_file(folder: Path) -> Iterator[Danger]:
    if os.geteuid() != 0:
        pytest.skip("swap needs root")
    file = folder / "swap"
    file.write_bytes(bytes(MIB))
    file.chmod(0o600)
    with _swap(str(file)):
        yield Danger([str(file), "--overwrite", str(file)], "used as swap", [file])


@danger
def a_disk_under_another_loop_device(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        upper = run("losetup", "--find", "--show", one.device)
        try:
            yield Danger(destroy(one.device), f"attached to {upper}", [one.image])
        finally:
            run("losetup", "--detach", upper)


@danger
def a_disk_whose_partition_is_under_a_loop_device(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        upper = run("losetup", "--find", "--show", one.partition(1))
        try:
            yield Danger(destroy(one.device), f"p1, attached to {upper}", [one.image])
        finally:
            run("losetup", "--detach", upper)


@danger
def the_file_behind_a_loop_device(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        yield Danger(
            [str(one.image), "--overwrite", str(one.image)],
            f"attached to {one.device}",
            [one.image],
        )


@danger
def a_hard_link_to_the_file_behind_a_loop_device(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        (folder / "link").hardlink_to(one.image)
        link = str(folder / "link")
        yield Danger([link, "--overwrite", link], f"attached to {one.device}", [one.image])


@danger
def a_disk_under_device_mapper(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        name = f"fourcorners-danger-{os.getpid()}"
        table = f"0 {DISK_BYTES // 512} linear {one.device} 0"
        run("dmsetup", "create", name, "--noudevsync", "--table", table)
        try:
            yield Danger(destroy(one.device), "held by LVM, RAID or dm-crypt", [one.image])
        finally:
            run("dmsetup", "remove", "--noudevsync", name)


@danger
def a_disk_that_another_program_claims(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        claim = os.open(one.device, os.O_RDWR | os.O_EXCL)
        try:
            yield Danger(destroy(one.device), "in use by the kernel", [one.image])
        finally:
            os.close(claim)


@danger
def a_disk_whose_partition_another_program_claims(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        claim = os.open(one.partition(1), os.O_RDWR | os.O_EXCL)
        try:
            yield Danger(destroy(one.device), "in use by the kernel", [one.image])
        finally:
            os.close(claim)


@danger
def a_file_that_another_run_measures(folder: Path) -> Iterator[Danger]:
    import fourcorners as fc

    file = folder / "test.img"
    with fc.open_target(str(file), size=MIB):
        yield Danger([str(file), "--overwrite", str(file)], "another run", [file])


# Devices that cannot be written


@danger
def a_loop_device_attached_for_reading(folder: Path) -> Iterator[Danger]:
    with disk(folder, "--read-only") as one:
        yield Danger(destroy(one.device), "set read-only", [one.image])


@danger
def a_disk_set_read_only(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        run("blockdev", "--setro", one.device)
        try:
            yield Danger(destroy(one.device), "set read-only", [one.image])
        finally:
            run("blockdev", "--setrw", one.device)


@danger
def a_loop_device_with_nothing_attached(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        pass
    yield Danger(destroy(one.device), "no", [one.image])


@danger
def a_node_without_a_driver(folder: Path) -> Iterator[Danger]:
    if os.geteuid() != 0:
        pytest.skip("device nodes need root")
    node = folder / "node"
    os.mknod(node, stat.S_IFBLK | 0o600, os.makedev(511, 7))
    yield Danger(destroy(node), "there is no device or no medium behind it", [])


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


def released(device: str) -> None:
    """Waits until the kernel has let go of a device that was unmounted behind its back."""
    for _ in itertools.repeat(None, 100):
        try:
            os.close(os.open(device, os.O_RDONLY | os.O_EXCL))
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"{device} stays in use")
