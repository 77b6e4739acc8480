"""Ways to lose data that somebody thought of who had not seen the others: names that lead
elsewhere, results put over what matters, folders of strangers, files that others share.

Each stages something in a folder and yields what is typed, and a phrase of the refusal. All that is
in the folder is guarded; ``runs/A`` is a run in it that the user made earlier.
"""

import contextlib
import ctypes
import dataclasses
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from dangers import disk, mounted, run

MIB = 1 << 20


@dataclasses.dataclass
class Situation:
    """What is typed, and what the refusal must say."""

    arguments: list[str]
    said: str


Staging = Callable[[Path], AbstractContextManager[Situation]]
SITUATIONS: dict[str, Staging] = {}


def situation(stage: Callable[[Path], Iterator[Situation]]) -> Staging:
    """Registers a situation under its function's name."""
    staging = contextlib.contextmanager(stage)
    SITUATIONS[stage.__name__.replace("_", " ")] = staging
    return staging


def file(folder: Path, name: str = "thesis.bin", count: int = MIB) -> Path:
    path = folder / name
    path.write_bytes(os.urandom(count))
    return path


def own_file(folder: Path, name: str = "t.bin") -> Path:
    """One that fourcorners made and sealed."""
    from fourcorners.cli import main

    path = folder / name
    assert main([*verify(path), "--size", "1MiB", "--quiet"]) == 0
    return path


def verify(target: str | Path, *options: str | Path) -> list[str]:
    """The quickest command that writes."""
    return ["verify", str(target), "--seconds", "1e-9", *map(str, options)]


def overwrite(path: Path, *options: str | Path) -> list[str]:
    return verify(path, "--overwrite", path, *options)


def destroy(device: str | Path, *options: str | Path) -> list[str]:
    return verify(device, "--destroy-data", device, *options)


@contextlib.contextmanager
def attached(path: str | Path, *options: str) -> Iterator[str]:
    device = run("losetup", "--find", "--show", *options, path)
    try:
        yield device
    finally:
        run("losetup", "--detach", device)


# Names that are not what they look like


@situation
def a_word_that_lacks_the_space_at_the_end_of_the_name(folder: Path) -> Iterator[Situation]:
    file(folder, "data")
    yield Situation(verify(file(folder, "data "), "--overwrite", folder / "data"), "names")


@situation
def a_word_with_the_newline_of_a_list(folder: Path) -> Iterator[Situation]:
    target = file(folder)
    file(folder, f"{target.name}\n")
    yield Situation(verify(target, "--overwrite", f"{target}\n"), "names")


@situation
def a_word_with_other_capitals(folder: Path) -> Iterator[Situation]:
    file(folder, "Thesis.bin")
    yield Situation(verify(file(folder), "--overwrite", folder / "Thesis.bin"), "names")


@situation
def a_word_with_a_pattern_that_no_shell_expanded(folder: Path) -> Iterator[Situation]:
    yield Situation(verify(file(folder), "--overwrite", folder / "*.bin"), "names")


@situation
def a_word_that_the_shell_split_at_a_space(folder: Path) -> Iterator[Situation]:
    file(folder, "my")
    target = file(folder, "my thesis")
    yield Situation(["verify", "--overwrite", str(folder / "my"), "thesis", str(target)], "")


@situation
def two_words_of_which_the_last_is_another_file(folder: Path) -> Iterator[Situation]:
    one, other = file(folder), file(folder, "other.bin")
    yield Situation(verify(one, "--overwrite", one, "--overwrite", other), "")


@situation
def two_targets_for_a_command_that_takes_one(folder: Path) -> Iterator[Situation]:
    one, other = file(folder), file(folder, "other.bin")
    yield Situation(["verify", str(one), str(other), "--overwrite", str(one)], "")


@situation
def a_shortened_option(folder: Path) -> Iterator[Situation]:
    target = file(folder)
    yield Situation(verify(target, "--over", target), "")


@situation
def a_word_without_a_name(folder: Path) -> Iterator[Situation]:
    yield Situation([*verify(file(folder)), "--overwrite"], "")


@situation
def a_folder_that_is_named_to_be_overwritten(folder: Path) -> Iterator[Situation]:
    yield Situation(verify(file(folder), "--overwrite", folder), "names")


@situation
def a_link_that_leads_in_a_circle(folder: Path) -> Iterator[Situation]:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    yield Situation(verify(folder / "a", "--size", "1MiB"), "")


@situation
def a_link_to_a_place_for_a_new_file(folder: Path) -> Iterator[Situation]:
    (folder / "home").mkdir()
    (folder / "t.bin").symlink_to(folder / "home" / "new.bin")
    yield Situation(verify(folder / "t.bin", "--size", "1MiB"), "link")


@situation
def a_name_that_ends_in_dots(folder: Path) -> Iterator[Situation]:
    yield Situation(verify(folder / "runs" / "..", "--size", "1MiB"), "directory")


@situation
def a_descriptor_of_a_file_that_was_removed(folder: Path) -> Iterator[Situation]:
    """Its name by /proc is that of a file that is there."""
    path = file(folder, "gone")
    file(folder, "gone (deleted)")
    with path.open("rb+") as opened:
        path.unlink()
        name = f"/proc/{os.getpid()}/fd/{opened.fileno()}"
        yield Situation(verify(name, "--overwrite", name), "")


@situation
def a_file_in_memory_by_its_descriptor(folder: Path) -> Iterator[Situation]:
    descriptor = os.memfd_create("database")
    try:
        os.write(descriptor, bytes(MIB))
        name = f"/proc/self/fd/{descriptor}"
        yield Situation(verify(name, "--overwrite", name), "")
    finally:
        os.close(descriptor)


@situation
def a_name_too_long(folder: Path) -> Iterator[Situation]:
    yield Situation(verify(folder / ("x" * 300), "--size", "1MiB"), "")


# Files of the kernel in places that are not /proc and /sys, as below the root of a container


def _kernels(kind: str, name: str) -> None:
    def stage(folder: Path) -> Iterator[Situation]:
        point = folder / "point"
        point.mkdir()
        run("mount", "-t", kind, "none", point)
        try:
            target = point / name
            if not target.exists():
                pytest.skip(f"no {name} in {kind} here")
            yield Situation(
                ["run", "consistency", str(target), "--overwrite", str(target)], "kernel"
            )
        finally:
            run("umount", point)

    stage.__name__ = f"a_file_of_{kind}_that_is_mounted_elsewhere"
    situation(stage)


_kernels("proc", "sys/kernel/domainname")
_kernels("sysfs", "power/state")
_kernels("cgroup2", "cgroup.procs")


@situation
def a_mistyped_device_below_the_root_of_a_container(folder: Path) -> Iterator[Situation]:
    point = folder / "dev"
    point.mkdir()
    run("mount", "-t", "devtmpfs", "none", point)
    try:
        yield Situation(verify(point / "sdzz", "--size", "1MiB"), "no device")
        assert not (Path("/dev") / "sdzz").exists()
    finally:
        Path("/dev/sdzz").unlink(missing_ok=True)
        run("umount", point)


# Files with more to them than their content


@situation
def a_file_that_snapshots_share_by_hard_links(folder: Path) -> Iterator[Situation]:
    """As `cp -al` and rsnapshot make them: the word names one of its names."""
    target = file(folder)
    (folder / "monday").mkdir()
    os.link(target, folder / "monday" / target.name)
    yield Situation(overwrite(target), "2 names")


@situation
def a_file_that_only_grows(folder: Path) -> Iterator[Situation]:
    target = file(folder, "log")
    run("chattr", "+a", target)
    try:
        yield Situation(overwrite(target), "permission")
    finally:
        run("chattr", "-a", target)


@situation
def a_letter_made_a_test_file(folder: Path) -> Iterator[Situation]:
    """Shorter than a sector: what it takes to be read is no permission to write."""
    letter = folder / "letter"
    letter.write_text("Dear all,")
    yield Situation(verify(letter, "--size", "1MiB"), "not fourcorners' own")


@situation
def a_sparse_file_with_a_little_at_its_end(folder: Path) -> Iterator[Situation]:
    target = folder / "sparse.img"
    with target.open("wb") as sparse:
        sparse.truncate(8 * MIB)
        sparse.seek(8 * MIB - 1)
        sparse.write(b"!")
    yield Situation(verify(target), "--overwrite")


@situation
def a_file_of_zeros(folder: Path) -> Iterator[Situation]:
    """Room that a database took: only its owner knows that nothing is in it."""
    target = folder / "undo.dbf"
    target.write_bytes(bytes(MIB))
    yield Situation(verify(target), "--overwrite")


@situation
def a_file_with_a_hole_only(folder: Path) -> Iterator[Situation]:
    target = folder / "disk.raw"
    with target.open("wb") as sparse:
        sparse.truncate(MIB)
    yield Situation(verify(target), "--overwrite")


@situation
def a_drive_file_by_its_ending(folder: Path) -> Iterator[Situation]:
    target = file(folder, "thesis.toml")
    yield Situation(overwrite(target, "--size", "1MiB"), "")


@situation
def a_file_of_ours_that_grew(folder: Path) -> Iterator[Situation]:
    target = own_file(folder)
    with target.open("ab") as grown:
        grown.write(b"the only copy of a letter")
    yield Situation(verify(target), "--overwrite")


@situation
def a_file_of_ours_that_was_cut_and_filled_again(folder: Path) -> Iterator[Situation]:
    target = own_file(folder)
    os.truncate(target, 0)
    with target.open("rb+") as filled:
        filled.write(os.urandom(MIB))
    yield Situation(verify(target), "--overwrite")


@situation
def a_file_of_ours_whose_middle_was_punched_and_written(folder: Path) -> Iterator[Situation]:
    target = own_file(folder)
    run("fallocate", "--punch-hole", "--offset", "524288", "--length", "4096", target)
    yield Situation(verify(target), "--overwrite")


@situation
def a_file_of_ours_that_another_was_moved_over(folder: Path) -> Iterator[Situation]:
    target = own_file(folder)
    file(folder, "other.bin").rename(target)
    yield Situation(verify(target), "--overwrite")


@situation
def a_file_of_ours_that_was_exchanged_with_another(folder: Path) -> Iterator[Situation]:
    target = own_file(folder)
    other = file(folder, "other.bin")
    exchange = 2
    libc = ctypes.CDLL(None)
    assert libc.renameat2(-100, bytes(other), -100, bytes(target), exchange) == 0
    yield Situation(verify(target), "--overwrite")


@situation
def a_file_of_ours_written_through_a_loop_device(folder: Path) -> Iterator[Situation]:
    target = own_file(folder)
    device = run("losetup", "--find", "--show", target)
    try:
        run("mkfs.ext4", "-q", "-F", device)
    finally:
        run("losetup", "--detach", device)
    yield Situation(verify(target), "--overwrite")


@situation
def a_file_of_ours_restored_by_rsync(folder: Path) -> Iterator[Situation]:
    target = own_file(folder)
    before = target.stat()
    with target.open("rb+") as written:
        written.seek(700_000)
        written.write(b"letter")
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    yield Situation(verify(target), "--overwrite")


# Disks mapped or attached in roundabout ways


@situation
def a_loop_device_of_which_the_end_belongs_to_a_mounted_one(folder: Path) -> Iterator[Situation]:
    with (
        disk(folder) as one,
        attached(one.image, "--offset", str(8 * MIB)) as other,
        mounted(other, folder / "point"),
        attached(one.image, "--sizelimit", str(9 * MIB)) as target,
    ):
        yield Situation(destroy(target), f"attached to {other}")


@situation
def the_word_is_a_node_with_the_numbers_of_another_disk(folder: Path) -> Iterator[Situation]:
    with disk(folder) as one, disk(folder, name="other.img") as other:
        node = folder / Path(one.device).name
        os.mknod(node, stat.S_IFBLK | 0o600, Path(other.device).stat().st_rdev)
        yield Situation(verify(one.device, "--destroy-data", node), "names")


@situation
def the_word_is_a_stale_link_to_another_disk(folder: Path) -> Iterator[Situation]:
    """As in /dev/disk/by-label after disks were plugged in anew."""
    with disk(folder) as one, disk(folder, name="other.img") as other:
        (folder / "by-label").symlink_to(other.device)
        yield Situation(verify(one.device, "--destroy-data", folder / "by-label"), "names")


@situation
def a_disk_with_a_pattern_for_its_partitions(folder: Path) -> Iterator[Situation]:
    with disk(folder) as one:
        one.partition(1)
        yield Situation(destroy(f"{one.device}*"), "")


@situation
def a_purge_of_a_file(folder: Path) -> Iterator[Situation]:
    yield Situation(overwrite(file(folder), "--purge", "discard"), "--destroy-data")


@situation
def a_purge_without_the_word(folder: Path) -> Iterator[Situation]:
    with disk(folder) as one:
        yield Situation(verify(one.device, "--purge", "discard"), "--destroy-data")


@situation
def a_purge_that_erases_more_than_the_partition(folder: Path) -> Iterator[Situation]:
    with disk(folder) as one:
        yield Situation(destroy(one.partition(1), "--purge", "nvme-format"), "")


@situation
def a_disk_whose_size_is_that_of_nothing(folder: Path) -> Iterator[Situation]:
    with disk(folder) as one:
        os.truncate(one.image, 0)
        run("losetup", "--set-capacity", one.device)
        yield Situation(destroy(one.device), "no size")


@situation
def two_targets_of_which_one_is_in_use(folder: Path) -> Iterator[Situation]:
    """Nothing is written to the first, which could be."""
    with disk(folder) as other, mounted(other.device, folder / "point"):
        targets = [str(own_file(folder)), other.device, "--destroy-data", other.device]
        yield Situation(["run", "consistency", *targets, "--out", str(folder / "new")], "mounted")


@situation
def one_file_under_two_names_in_one_command(folder: Path) -> Iterator[Situation]:
    target = own_file(folder)
    (folder / "bind").touch()
    run("mount", "--bind", target, folder / "bind")
    try:
        yield Situation(
            ["run", "consistency", str(target), str(folder / "bind"), "--out", str(folder / "new")],
            "another run of fourcorners",
        )
    finally:
        run("umount", folder / "bind")
