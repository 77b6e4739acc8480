"""The drive in the host's tables: mounts, loop and ublk devices, and what a killed server left of
them."""

import errno
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from fourcorners.errors import EXIT_FAILED, UserError
from fourcorners.machine.environment import mounts
from fourcorners.machine.system_files import text

SOURCE = "fourcorners"
"""What stands in the table of mounts as the source of ours (serve/src/fuse/mount.rs)."""

_PATIENCE_S = 30.0
"""For a host's command that waits for the drive, as long as Linux waits for a drive's answer."""


def _loops(file: Path) -> Iterator[str]:
    """Loop devices that are set up on a file, such as ``/dev/loop0``."""
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        if text(backing) == str(file):
            yield f"/dev/{backing.parts[3]}"


def _mounted_on(device: str) -> list[Path]:
    """Where file systems on a block device and its partitions are mounted, also those that may be
    on several devices (btrfs): they have a number of their own, and say one device as the source.
    """
    name = Path(device).name
    whole = Path("/sys/block", name)
    numbers, sources = set(), set()
    for folder in (whole, *whole.glob(f"{name}p*")):
        numbers.add(text(folder / "dev"))
        for of_it in Path("/sys/fs/btrfs").glob(f"*/devices/{folder.name}"):
            sources |= {f"/dev/{member.name}" for member in of_it.parent.iterdir()}
    return [
        Path(mount.point)
        for mount in mounts()
        if mount.device in numbers or os.path.realpath(mount.source) in sources
    ]


def _run(*words: str) -> str | None:
    """What went wrong with a command of the host; ``None`` if nothing did."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=_PATIENCE_S
        )
    except FileNotFoundError:
        return f"{words[0]} is not installed"
    except subprocess.TimeoutExpired:
        return f"{words[0]} took longer than {_PATIENCE_S:g} s"
    said = (done.stderr or done.stdout).strip().splitlines()
    return (said[-1] if said else f"exit code {done.returncode}") if done.returncode else None


def unmount_all(device: str) -> list[str]:
    """Unmounts the file systems on a block device whose drive ends, as a machine does that is shut
    down. Returns sentences about those that are in use, and so stay."""
    told = []
    for place in reversed(_mounted_on(device)):
        if (error := _run("umount", str(place))) is not None:
            _run("sync", "--file-system", str(place))
            told.append(f"{place} is still mounted on {device}, whose drive ends: {error}")
    return told


def opens(device: Path) -> bool:
    """Whether a block device is there and its partitions are known, for which opening it waits."""
    try:
        os.close(os.open(device, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def left_on_ublk() -> Sequence[str]:
    """Sentences about file systems on ublk devices whose server has ended, and they with it."""
    return [
        f"{mount.point} is mounted on {mount.source}, whose server has ended: unmount it"
        for mount in mounts()
        if mount.source.startswith("/dev/ublkb")
        and not Path("/sys/dev/block", mount.device).exists()
    ]


class LoopDevice:
    """A loop device on a file, with direct I/O. ``path`` is where it is, such as ``/dev/loop0``."""

    def __init__(self, file: Path, *, read_only: bool, is_rotational: bool) -> None:
        """Sets one up, which says of itself whether it rotates; raises :class:`UserError` where the
        system does not."""
        if shutil.which("losetup") is None:
            raise UserError("--loop needs losetup, of the package util-linux", EXIT_FAILED)
        words = ["losetup", "--find", "--show", "--direct-io=on", *(["--read-only"] * read_only)]
        done = subprocess.run([*words, str(file)], capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            only = "" if os.geteuid() == 0 else " (only root may set one up)"
            raise UserError(
                f"no loop device can be set up on {file}{only}: {done.stderr.strip()}", EXIT_FAILED
            )
        self.path = done.stdout.strip()
        if text(Path("/sys/block", Path(self.path).name, "loop", "dio")) != "1":
            self.detach()
            raise UserError(f"{self.path} has no direct I/O on {file}", EXIT_FAILED)
        # File systems and schedulers ask this, and the loop driver knows only what lies below.
        with suppress(OSError):
            rotational = Path("/sys/block", Path(self.path).name, "queue", "rotational")
            rotational.write_text(str(int(is_rotational)), "ascii")

    def detach(self) -> Sequence[str]:
        """Unmounts the file systems on it and takes it down. Returns sentences about what still
        uses it, and so keeps it until then."""
        told = unmount_all(self.path)
        if (error := _run("losetup", "--detach", self.path)) is not None:
            told.append(f"{self.path} cannot be detached: {error}")
        return told


def clean_up(file: Path) -> Sequence[str]:
    """Removes what a killed server left at the path of a file: its mount, loop devices on that, and
    the empty file below. Returns sentences about what only the user can remove.

    Raises :class:`UserError` where the mount is somebody else's, or a server is alive.
    """
    file = file.parent.resolve() / file.name
    mount = next((one for one in reversed(list(mounts())) if one.point == str(file)), None)
    if mount is None:
        return []
    if mount.source != SOURCE:
        raise UserError(f"{mount.source} is mounted at {file}: unmount it, or name another path")
    try:
        # The kernel may still know its attributes.
        os.close(os.open(file, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        # What a FUSE server's file says when that is dead.
        if error.errno != errno.ENOTCONN:
            raise UserError(f"{file} cannot be used: {error}") from error
    else:
        raise UserError(f"{file} is in use by another server: end that, or name another path")
    told = []
    for loop in _loops(file):
        told += [f"{place} is mounted on a dead drive: unmount it" for place in _mounted_on(loop)]
        _run("losetup", "--detach", loop)
    is_root = os.geteuid() == 0
    words = ("umount", "--lazy") if is_root else ("fusermount3", "-u", "-z")
    if (error_text := _run(*words, str(file))) is not None:
        raise UserError(f"the dead mount at {file} cannot be removed: {error_text}", EXIT_FAILED)
    with suppress(OSError):
        below = file.lstat()
        if stat.S_ISREG(below.st_mode) and below.st_size == 0:
            file.unlink()
    return told
