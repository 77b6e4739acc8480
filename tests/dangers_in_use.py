"""Dangerous situations: devices that are in use, and those that cannot be written."""

import contextlib
import fcntl
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from dangers import (
    DISK_BYTES,
    MIB,
    Danger,
    danger,
    destroy,
    disk,
    mounted,
    released,
    run,
)

_LOOP_ADD, _LOOP_REMOVE = 0x4C80, 0x4C81
"""LOOP_CTL_ADD and LOOP_CTL_REMOVE of linux/loop.h."""
_LOOP = 2**16 + os.getpid() % 2**16
"""A number of a loop device that is far from those that are given out, the lowest free ones, and
that no other session of tests takes."""

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
    """Of a number of its own: one that is free goes to any test that runs beside this one."""
    with disk(folder) as one:
        loop = os.makedev(os.major(Path(one.device).stat().st_rdev), _LOOP)
    node = folder / "loop"
    os.mknod(node, stat.S_IFBLK | 0o600, loop)
    with Path("/dev/loop-control").open("rb") as control:
        fcntl.ioctl(control, _LOOP_ADD, _LOOP)
        try:
            yield Danger(destroy(node), "no", [one.image])
        finally:
            fcntl.ioctl(control, _LOOP_REMOVE, _LOOP)


@danger
def a_node_without_a_driver(folder: Path) -> Iterator[Danger]:
    if os.geteuid() != 0:
        pytest.skip("device nodes need root")
    node = folder / "node"
    os.mknod(node, stat.S_IFBLK | 0o600, os.makedev(511, 7))
    yield Danger(destroy(node), "there is no device or no medium behind it", [])
