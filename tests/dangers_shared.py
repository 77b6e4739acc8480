"""Dangerous situations of storage that is shared or hidden: several ways lead to the same bytes,
and the one that is named is not the one that is used.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from dangers import (
    DISK_BYTES,
    MIB,
    Danger,
    Disk,
    danger,
    destroy,
    disk,
    mounted,
    overwrite,
    released,
    run,
)


@contextlib.contextmanager
def attached(file: str | Path, *options: str) -> Iterator[str]:
    """A loop device over a file that is there."""
    device = run("losetup", "--find", "--show", *options, file)
    try:
        yield device
    finally:
        for partition in Path("/dev").glob(f"{Path(device).name}p*"):
            number = partition.name.rpartition("p")[2]
            subprocess.run(["delpart", device, number], check=False, capture_output=True)
        # One that clears itself is gone when it is unmounted.
        subprocess.run(["losetup", "--detach", device], check=False, capture_output=True)


@contextlib.contextmanager
def elsewhere_mounted(device: str, point: Path) -> Iterator[None]:
    """A file system that is mounted in another namespace only."""
    point.mkdir()
    with elsewhere(f"mount {device} {point}"):
        yield


@contextlib.contextmanager
def elsewhere(script: str) -> Iterator[None]:
    """What is done in a mount namespace that ends with this."""
    with subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", f"{script} && echo ready && exec sleep 60"],
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        try:
            assert other.stdout is not None
            if other.stdout.readline() != "ready\n":
                pytest.skip("no mount namespaces here")
            yield
        finally:
            other.kill()


# Loop devices over one file


@danger
def a_second_loop_device_over_a_mounted_file(folder: Path) -> Iterator[Danger]:
    with (
        disk(folder) as one,
        mounted(one.device, folder / "point"),
        attached(one.image) as second,
    ):
        yield Danger(destroy(second), f"attached to {one.device}", [one.image])


@danger
def a_second_loop_device_over_a_file(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, attached(one.image) as second:
        yield Danger(destroy(one.device), f"attached to {second}", [one.image])


@danger
def a_loop_device_over_a_part_of_a_mounted_file(folder: Path) -> Iterator[Danger]:
    with (
        disk(folder) as one,
        mounted(one.device, folder / "point"),
        attached(one.image, "--offset", str(4 * MIB)) as part,
    ):
        yield Danger(destroy(part), f"attached to {one.device}", [one.image])


@danger
def a_file_a_part_of_which_is_mounted(folder: Path) -> Iterator[Danger]:
    with (
        disk(folder, "--offset", str(8 * MIB)) as one,
        mounted(one.device, folder / "point"),
        attached(one.image, "--sizelimit", str(9 * MIB)) as second,
    ):
        yield Danger(destroy(second), f"attached to {one.device}", [one.image])


@danger
def a_partition_of_a_second_loop_device_over_a_mounted_file(folder: Path) -> Iterator[Danger]:
    with (
        disk(folder) as one,
        mounted(one.device, folder / "point"),
        attached(one.image) as second,
    ):
        partition = Disk(second, one.image).partition(2)
        yield Danger(destroy(partition), f"attached to {one.device}", [one.image])


@danger
def a_second_loop_device_over_a_file_with_a_mounted_partition(folder: Path) -> Iterator[Danger]:
    with (
        disk(folder) as one,
        mounted(one.partition(2), folder / "point"),
        attached(one.image) as second,
    ):
        yield Danger(destroy(second), f"attached to {one.device}", [one.image])


@danger
def a_second_loop_device_over_a_file_that_is_swap(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        run("mkswap", one.device)
        run("swapon", one.device)
        try:
            with attached(one.image) as second:
                # The kernel may swap to it at any time, so that its bytes prove nothing.
                yield Danger(destroy(second), f"attached to {one.device}", [])
        finally:
            run("swapoff", one.device)


@danger
def a_second_loop_device_by_another_name_of_the_file(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, mounted(one.device, folder / "point"):
        (folder / "link").hardlink_to(one.image)
        with attached(folder / "link") as second:
            yield Danger(destroy(second), f"attached to {one.device}", [one.image])


@danger
def a_file_mounted_by_a_loop_device_that_clears_itself(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        run("mkfs.ext4", "-q", "-F", one.device)
    (folder / "point").mkdir()
    run("mount", "-o", "loop", one.image, folder / "point")
    try:
        second = folder / "second.img"
        second.hardlink_to(one.image)
        one.image.unlink()
        yield Danger(overwrite(second), "attached to /dev/loop", [second])
    finally:
        run("umount", folder / "point")


# Files whose attached name leads nowhere, or elsewhere


@contextlib.contextmanager
def _second_name(folder: Path) -> Iterator[tuple[Disk, Path]]:
    with disk(folder) as one, mounted(one.device, folder / "point"):
        (folder / "second.img").hardlink_to(one.image)
        yield one, folder / "second.img"


@danger
def a_mounted_file_whose_attached_name_was_removed(folder: Path) -> Iterator[Danger]:
    with _second_name(folder) as (one, second):
        one.image.unlink()
        yield Danger(overwrite(second), f"attached to {one.device}", [second])


@danger
def a_mounted_file_whose_name_another_file_has_now(folder: Path) -> Iterator[Danger]:
    with _second_name(folder) as (one, second):
        one.image.unlink()
        one.image.write_bytes(b"another")
        yield Danger(overwrite(second), f"attached to {one.device}", [second])


@danger
def a_mounted_file_that_was_mounted_over(folder: Path) -> Iterator[Danger]:
    with _second_name(folder) as (one, second):
        (folder / "over").write_bytes(b"over")
        run("mount", "--bind", folder / "over", one.image)
        try:
            yield Danger(overwrite(second), f"attached to {one.device}", [second])
        finally:
            run("umount", one.image)


@danger
def a_second_loop_device_over_a_file_that_was_mounted_over(folder: Path) -> Iterator[Danger]:
    with _second_name(folder) as (one, second):
        (folder / "over").write_bytes(b"over")
        run("mount", "--bind", folder / "over", one.image)
        try:
            with attached(second) as other:
                yield Danger(destroy(other), f"attached to {one.device}", [second])
        finally:
            run("umount", one.image)


@danger
def a_file_below_a_folder_that_was_mounted_over(folder: Path) -> Iterator[Danger]:
    (folder / "below").mkdir()
    with disk(folder / "below") as one, mounted(one.device, folder / "point"):
        (folder / "second.img").hardlink_to(one.image)
        run("mount", "-t", "tmpfs", "none", folder / "below")
        try:
            second = folder / "second.img"
            yield Danger(overwrite(second), f"attached to {one.device}", [second])
        finally:
            run("umount", folder / "below")


@danger
def a_file_attached_in_another_mount_namespace(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        pass  # only the file is needed
    (folder / "hidden").mkdir()
    name = folder / "hidden" / "name.img"
    script = (
        f"mount -t tmpfs none {folder / 'hidden'} && touch {name}"
        f" && mount --bind {one.image} {name} && losetup --find --show {name} > {folder / 'device'}"
    )
    with elsewhere(script):
        device = (folder / "device").read_text().strip()
        try:
            yield Danger(overwrite(one.image), f"attached to {device}", [one.image])
        finally:
            run("losetup", "--detach", device)


@danger
def a_second_loop_device_over_a_file_mounted_in_another_namespace(
    folder: Path,
) -> Iterator[Danger]:
    with disk(folder) as one:
        run("mkfs.ext4", "-q", "-F", one.device)
        with elsewhere_mounted(one.device, folder / "point"), attached(one.image) as second:
            yield Danger(destroy(second), f"attached to {one.device}", [one.image])
        released(one.device)


# Loop devices over devices


@danger
def a_loop_device_over_a_mounted_disk(folder: Path) -> Iterator[Danger]:
    with (
        disk(folder) as one,
        mounted(one.device, folder / "point"),
        attached(one.device) as upper,
    ):
        yield Danger(destroy(upper), "mounted at", [one.image])


@danger
def a_loop_device_over_a_disk_with_a_mounted_partition(folder: Path) -> Iterator[Danger]:
    with (
        disk(folder) as one,
        mounted(one.partition(1), folder / "point"),
        attached(one.device) as upper,
    ):
        yield Danger(destroy(upper), "p1, mounted at", [one.image])


@danger
def a_loop_device_over_a_disk_mounted_in_another_namespace(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        run("mkfs.ext4", "-q", "-F", one.device)
        with attached(one.device) as upper:
            with elsewhere_mounted(one.device, folder / "point"):
                yield Danger(destroy(upper), "in use by the kernel", [one.image])
            released(one.device)


@danger
def a_loop_device_over_a_loop_device_over_a_mounted_disk(folder: Path) -> Iterator[Danger]:
    with (
        disk(folder) as one,
        mounted(one.device, folder / "point"),
        attached(one.device) as middle,
        attached(middle) as upper,
    ):
        yield Danger(destroy(upper), "mounted at", [one.image])


@danger
def two_loop_devices_over_one_disk(folder: Path) -> Iterator[Danger]:
    with (
        disk(folder) as one,
        attached(one.device) as left,
        attached(one.device) as right,
        mounted(left, folder / "point"),
    ):
        yield Danger(destroy(right), f"attached to {left}", [one.image])


@danger
def a_loop_device_over_a_disk_under_device_mapper(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, attached(one.device) as upper:
        name = f"fourcorners-shared-{os.getpid()}"
        table = f"0 {DISK_BYTES // 512} linear {one.device} 0"
        run("dmsetup", "create", name, "--noudevsync", "--table", table)
        try:
            yield Danger(destroy(upper), "held by LVM, RAID or dm-crypt", [one.image])
        finally:
            run("dmsetup", "remove", "--noudevsync", name)


@danger
def a_loop_device_over_a_swap_device(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, attached(one.device) as upper:
        run("mkswap", one.device)
        run("swapon", one.device)
        try:
            yield Danger(destroy(upper), "used as swap", [])
        finally:
            run("swapoff", one.device)


@danger
def a_file_inside_a_disk_that_a_loop_device_is_attached_to(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, mounted(one.device, folder / "point") as point:
        inner = point / "inner.img"
        inner.write_bytes(os.urandom(MIB))
        with attached(inner):
            second = point / "second.img"
            second.hardlink_to(inner)
            inner.unlink()
            yield Danger(overwrite(second), "attached to /dev/loop", [second])


# Overlay file systems: a file has a number there, and another one in its layer


@contextlib.contextmanager
def overlaid(folder: Path) -> Iterator[tuple[Path, Path]]:
    """A file as an overlay file system shows it, and in the folder above which that lies."""
    if os.geteuid() != 0:
        pytest.skip("mounts need root")
    for name in ("lower", "upper", "work", "merged"):
        (folder / name).mkdir()
    (folder / "upper/precious.img").write_bytes(os.urandom(MIB))
    layers = f"lowerdir={folder}/lower,upperdir={folder}/upper,workdir={folder}/work"
    run("mount", "-t", "overlay", "overlay", "-o", layers, folder / "merged")
    try:
        yield folder / "merged/precious.img", folder / "upper/precious.img"
    finally:
        run("umount", folder / "merged")


@danger
def a_file_whose_layer_is_attached_to_a_loop_device(folder: Path) -> Iterator[Danger]:
    with overlaid(folder) as (shown, layer), attached(layer) as device:
        yield Danger(overwrite(shown), f"attached to {device}", [layer])


@danger
def a_layer_whose_file_is_attached_to_a_loop_device(folder: Path) -> Iterator[Danger]:
    with overlaid(folder) as (shown, layer), attached(shown):
        yield Danger(overwrite(layer), "open for writing by the kernel, or", [layer])


@danger
def a_file_whose_layer_another_program_has_open_for_writing(folder: Path) -> Iterator[Danger]:
    with (
        overlaid(folder) as (shown, layer),
        layer.open("ab") as output,
        subprocess.Popen(["sleep", "60"], stdout=output) as other,
    ):
        try:
            yield Danger(overwrite(shown), "open for writing by sleep", [layer])
        finally:
            other.kill()
