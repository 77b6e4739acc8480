"""The files of a run folder, reached through its descriptor: whoever puts a link in the place of
the folder, or of one of its files, has nothing written or removed behind it."""

import contextlib
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Self

from fourcorners.store import schema

# In the folder of a run that goes on. Its time of change is the run's last sign of life.
LOCK = ".lock"
# In the folder of each run of a command that has more targets, until the command has ended.
FOLLOWING = ".following"

_OURS = "|".join(
    [
        *map(
            re.escape,
            [
                *(schema.MANIFEST, schema.RECORDINGS, schema.SERIES, schema.HISTOGRAMS),
                *(schema.LATENCY_OVER_TIME, schema.FINDINGS, schema.NOTES, schema.DRIVE),
                *(schema.REPORT, LOCK, FOLLOWING),
            ],
        ),
        schema.STATE.format(r"\d+").replace(".state", r"\.state"),
        schema.MEMBER.format(".+").replace(".toml", r"\.toml"),
    ]
)
# The digits are of versions before November 2026, and of what is not written by this module.
_UNFINISHED = re.compile(rf"\.({_OURS})(\.[0-9a-f]+)?\.partial")
_STATE = re.compile(schema.STATE.format(r"\d+").replace(".state", r"\.state"))
_LOG = re.compile(r"[^.].*\.parquet")
_UNFINISHED_LOG = re.compile(r"\..+\.parquet\.partial")


class Directory:
    """A folder that is open, and no link. Names are of its own entries."""

    def __init__(self, path: Path | str, within: int | None = None) -> None:
        """Opens the folder; raises ``OSError`` where it is none."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        self.descriptor = os.open(path, flags, dir_fd=within)

    def close(self) -> None:
        """Closes the folder."""
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def names(self) -> list[str]:
        """What is in it."""
        return os.listdir(self.descriptor)  # noqa: PTH208 - of a descriptor

    def has(self, name: str) -> bool:
        """Whether there is such an entry, of any kind."""
        try:
            os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def remove(self, name: str) -> None:
        """Removes a file, or a link; what is not there need not be removed."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.descriptor)

    def stage(self, name: str, content: bytes) -> str:
        """Writes a file under a name of its own, flushed, and returns its SHA-256."""
        unfinished = f".{name}.partial"
        self.remove(unfinished)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(unfinished, flags, 0o666, dir_fd=self.descriptor)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            self.unstage(name)
            raise
        return hashlib.sha256(content).hexdigest()

    def put(self, name: str) -> None:
        """Gives a staged file its name, in one step."""
        at = self.descriptor
        os.replace(f".{name}.partial", name, src_dir_fd=at, dst_dir_fd=at)

    def unstage(self, name: str) -> None:
        """Removes a staged file."""
        self.remove(f".{name}.partial")

    def read(self, name: str) -> bytes:
        """A file's content; raises ``OSError`` for a link."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, dir_fd=self.descriptor), "rb") as file:
            return file.read()

    def sub(self, name: str, *, create: bool = False) -> "Directory":
        """A folder in it; raises ``OSError`` where that is a link."""
        if create:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=self.descriptor)
        return Directory(name, self.descriptor)

    def flush(self) -> None:
        """Makes the names in it safe."""
        os.fsync(self.descriptor)

    def remove_unfinished(self) -> None:
        """Removes what a killed run had only half written, in the folder of single I/Os too."""
        self._remove(_UNFINISHED)
        if self.has(schema.IOS):
            with self.sub(schema.IOS) as logs:
                logs._remove(_UNFINISHED_LOG)

    def remove_logs(self, keep: Callable[[str], bool]) -> None:
        """Removes all tables of single I/Os but those with names to keep."""
        if self.has(schema.IOS):
            with self.sub(schema.IOS) as logs:
                logs._remove(_LOG, keep)

    def remove_states(self, keep: Callable[[str], bool]) -> None:
        """Removes all states of the drive but those with names to keep."""
        self._remove(_STATE, keep)

    def remove_all(self, path: Path) -> None:
        """Removes the folder itself, which is at ``path``, where nothing was saved in it; it stays
        as it is if there is anything that is not ours.

        The lock goes last: killed in between, the next run removes the rest.
        """
        names = self.names()
        if all(_UNFINISHED.fullmatch(name) or re.fullmatch(_OURS, name) for name in names):
            for name in sorted(names, key=LOCK.__eq__):
                self.remove(name)
            path.rmdir()

    def _remove(
        self, which: re.Pattern[str], keep: Callable[[str], bool] = lambda _: False
    ) -> None:
        for name in self.names():
            if which.fullmatch(name) and not keep(name):
                self.remove(name)
