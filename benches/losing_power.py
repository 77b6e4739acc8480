"""A machine that loses its power: a served drive, and a file system on a loop device on it."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import fourcorners as fc
from fourcorners.catalog.settings import Setting

# Classes of the catalog with a tenth of their flash, and of what grows with that: starting and
# checking take less memory and time.
CONSUMER = "sim:class-tlc-nvme-consumer-1tb"
CONSUMER_SIZE: dict[str, Setting] = {
    "capacity.user": "90 GiB",
    "flash.blocks_per_plane": 137,
    "translation.spare_area": "12 %",
    "slc_cache.static_size": "600 MB",
}
ENTERPRISE = "sim:class-tlc-nvme-enterprise-1920gb"
ENTERPRISE_SIZE: dict[str, Setting] = {
    "capacity.user": "192038338560 B",
    "flash.blocks_per_plane": 95,
    "write_streams.window": "19 GB",
}
LIES: dict[str, Setting] = {"write_buffer.ignores_flush": True}


class DamagedError(Exception):
    """What was committed is not there; the message says what."""


@dataclass(frozen=True)
class Drive:
    """What the programs run on."""

    name: str
    locator: str
    settings: dict[str, Setting]


DRIVES = (
    Drive("honest, no capacitors", CONSUMER, CONSUMER_SIZE),
    Drive("honest, capacitors", ENTERPRISE, ENTERPRISE_SIZE),
    Drive("lies about flush", CONSUMER, {**CONSUMER_SIZE, **LIES}),
)


def run(*words: str | Path, stdin: str | None = None) -> str:
    """A command that must succeed; raises :class:`DamagedError` with what it said."""
    done = subprocess.run(
        [str(word) for word in words],
        input=stdin,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=600,
        check=False,
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise DamagedError(f"{words[0]}: {said[0] if said else done.returncode}")
    return done.stdout


class Machine:
    """A served drive with a file system on it, which loses power and comes back."""

    def __init__(self, drive: Drive, system: str, folder: Path) -> None:
        """In a folder of its own; :meth:`format` comes next."""
        self._drive, self._system, self._folder = drive, system, folder
        self.place = folder / "mounted"
        self.place.mkdir()
        self._served: fc.Served | None = None

    def format(self) -> None:
        """A new drive with a new file system, mounted."""
        self.shut_down()
        (self._folder / "data").unlink(missing_ok=True)
        self._serve()
        # A small one: what is made and checked of a large one takes longer than the rest.
        words: dict[str, list[str | Path]] = {
            "ext4": ["-q", "-F", "-E", "nodiscard", self._device, "2G"],
            "xfs": ["-q", "-f", "-K", "-d", "size=2g", self._device],
            "btrfs": ["-q", "-f", "-K", "-b", "2G", self._device],
        }
        run(f"mkfs.{self._system}", *words[self._system])
        run("mount", self._device, self.place)

    def _serve(self) -> None:
        self._served = fc.serve(
            self._drive.locator,
            fuse=self._folder / "drive",
            loop=True,
            data=self._folder / "data",
            settings=self._drive.settings,
            out=self._folder / "runs",
        )

    @property
    def _device(self) -> Path:
        assert self._served is not None
        assert self._served.device is not None
        return self._served.device

    def lose_power(self, kill: Callable[[], None]) -> None:
        """The drive first, then everything that ran."""
        assert self._served is not None
        self._served.command("power-cut")
        kill()
        self.shut_down()

    def shut_down(self) -> None:
        """Takes down what the host has of the drive."""
        if self._served is None:
            return
        for lazily in [*[[]] * 20, ["--lazy"]]:
            if os.path.ismount(self.place):
                words = ["umount", *lazily, str(self.place)]
                subprocess.run(words, capture_output=True, timeout=600, check=False)
        self._served.stop()
        shutil.rmtree(self._folder / "runs", ignore_errors=True)
        self._served = None

    def come_back(self) -> None:
        """With power the file system recovers, and is checked; raises :class:`DamagedError`."""
        self._serve()
        run("mount", self._device, self.place)
        run("umount", self.place)
        check = {
            "ext4": ["e2fsck", "-f", "-n"],
            "xfs": ["xfs_repair", "-n"],
            "btrfs": ["btrfs", "check"],
        }[self._system]
        run(*check, self._device)
        run("mount", self._device, self.place)
