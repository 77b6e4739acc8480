"""Dangerous situations, staged with real devices: mistakes, carelessness and bad luck.

Each is a context manager that yields a :class:`Danger`. They need root for loop devices and mounts,
and skip with a reason where the machine cannot stage them.
"""

import contextlib
import dataclasses
import hashlib
import itertools
import os
import subprocess
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


def overwrite(file: Path) -> list[str]:
    return [str(file), "--overwrite", str(file)]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


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
