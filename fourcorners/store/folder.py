"""The life of a run folder: ``.NAME.partial`` under a lock while a run goes on, then ``NAME``; what
a killed run leaves is named by the next run, or claimed again to go on with it."""

import contextlib
import datetime
import fcntl
import os
import shlex
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fourcorners import arrow
from fourcorners.documents import plain
from fourcorners.errors import UserError, os_reason
from fourcorners.manifest import Manifest, Request
from fourcorners.store import schema
from fourcorners.store.directory import FOLLOWING, LOCK, Directory
from fourcorners.store.document import to_json
from fourcorners.store.reader import Run
from fourcorners.target.foreign import is_foreign
from fourcorners.writing import flush_directory

# A process that was killed gives up its lock when the kernel has taken it apart.
_DYING_S = 3.0
KILLED_REASON = "the run was killed"
# What permits to write, among the arguments that a target was opened with.
_PERMISSIONS = {
    "destroy_data": "--destroy-data",
    "overwrite": "--overwrite",
    "purge_method": "--purge",
}


# Comes after a manifest: where there is none, that was lost.
_LATER = (schema.FINDINGS, schema.REPORT, schema.NOTES)


@dataclass(frozen=True)
class ClaimedFolder:
    """A folder and its lock, which is held until the run ends, however it does."""

    path: Path
    directory: Directory
    lock: int

    @property
    def named(self) -> Path:
        """Where the folder belongs when the run has ended."""
        return named_path(self.path)

    def sign(self) -> None:
        """Says that the run goes on. A disk that fails is found when something is written."""
        with contextlib.suppress(OSError):
            os.utime(self.lock)

    @property
    def last_sign_s(self) -> float:
        """When the run last said that it goes on, in seconds since the epoch."""
        return os.fstat(self.lock).st_mtime

    def release(self) -> None:
        """Leaves the folder as it is, for others to claim."""
        if self.path == self.named:
            self.directory.remove(LOCK)
        self.leave()

    def leave(self) -> None:
        """Gives up the lock and nothing else."""
        self.directory.close()
        os.close(self.lock)

    def reopen(self) -> "ClaimedFolder":
        """Takes the name away again, and what a killed run had only half written."""
        partial = self.path
        if self.path == self.named:
            partial = self.path.with_name(f".{self.path.name}.partial")
            self.path.rename(partial)
        self.directory.remove_unfinished()
        return ClaimedFolder(partial, self.directory, self.lock)

    def finish(self) -> Path:
        """Flushes the folder and gives it its name. Killed in between, it has either name."""
        self.directory.flush()
        self.path.rename(self.named)
        flush_directory(self.named.parent)
        self.directory.remove(LOCK)
        self.leave()
        return self.named

    def discard(self) -> None:
        """Removes the folder of a run that has saved nothing yet."""
        self.directory.remove_all(self.path)
        self.leave()


def create(parent: Path, name: str) -> ClaimedFolder:
    """Creates the temporary folder of the first free of NAME, NAME-2, NAME-3, ...

    Raises ``OSError``.
    """
    number = 1
    while True:
        candidate = name if number == 1 else f"{name}-{number}"
        number += 1
        partial = parent / f".{candidate}.partial"
        if (parent / candidate).exists():
            continue
        try:
            partial.mkdir()
        except FileExistsError:
            continue
        return _claimed(partial)


def find(path: str | Path) -> Path:
    """The folder of a run that is named by its name, whether it has that name yet or no longer.

    Raises :class:`UserError` with the unfinished runs that are there.
    """
    try:
        return _found(Path(path))
    except OSError as error:
        raise UserError(f"cannot read {path}: {os_reason(error)}") from error


def _found(path: Path) -> Path:
    if path.is_symlink():
        # Who names a link means the folder, and that is what is renamed and locked.
        path = path.resolve()
    named = named_path(path)
    # The present folder has no name, which with_name() asks for.
    partial = named.parent / f".{named.name}.partial"
    for candidate in (path, named, partial):
        if (candidate / schema.MANIFEST).is_file() and not candidate.is_symlink():
            return candidate
    if (path / LOCK).is_file() or (partial / LOCK).is_file():
        raise UserError(f"{path}: nothing had been saved yet, so begin the run anew")
    around = path if path.is_dir() else path.parent
    unfinished = sorted(named_path(lock.parent).name for lock in around.glob(f".*.partial/{LOCK}"))
    told = f"; unfinished in {around}: {', '.join(unfinished)}" if unfinished else ""
    if path.is_dir() and unfinished:
        raise UserError(f"name one of the unfinished runs in {path}: {', '.join(unfinished)}")
    if any(path.glob(f"*/{schema.MANIFEST}")):
        raise UserError(f"{path}: none of the runs in this folder is unfinished")
    raise UserError(f"{path} is not a run folder: it has no {schema.MANIFEST}{told}")


def claim(path: Path) -> ClaimedFolder:
    """Takes the lock of the folder at ``path``, see :func:`find`.

    Raises :class:`UserError` while its run goes on, or where nothing can be written.
    """
    deadline = time.monotonic() + _DYING_S
    while True:
        try:
            return _claimed(path)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise UserError(f"the run {named_path(path)} still goes on") from None
        except OSError as error:
            raise UserError(f"cannot write to the run folder {path}: {os_reason(error)}") from error
        time.sleep(0.02)


def recover(parent: str | Path) -> list[Path]:
    """Brings to an end what killed runs left in ``parent``, and returns their run folders.

    What they had saved gets its name and the status ``interrupted``; a folder in which nothing was
    saved yet is removed. Folders of runs that still go on, those whose manifest was lost, and
    everything else, are left alone.
    """
    recovered = []
    for partial in sorted(Path(parent).glob(".*.partial")):
        if partial.is_symlink() or named_path(partial).exists():
            continue
        if not (partial / LOCK).is_file():
            continue
        try:
            killed = _claimed(partial)
        except OSError:
            continue
        if not killed.directory.has(schema.MANIFEST):
            if _lost_its_manifest(killed.directory):
                killed.leave()
            else:
                killed.discard()
            continue
        try:
            manifest = Run(partial).manifest
        except UserError:
            # Damaged, or of another version: not ours to bring to an end.
            killed.leave()
            continue
        conclude(manifest, killed.last_sign_s)
        killed.directory.stage(schema.MANIFEST, to_json(plain(manifest)).encode())
        killed.directory.put(schema.MANIFEST)
        recovered.append(killed.finish())
    return recovered


def _lost_its_manifest(directory: Directory) -> bool:
    """Whether there is more in the folder of a run without a manifest than what it begins with: of
    tables, the empty ones that are written right before the first manifest."""
    if any(map(directory.has, _LATER)):
        return True
    if not directory.has(schema.RECORDINGS):
        return False
    try:
        content = directory.read(schema.RECORDINGS)
        return bool(pq.read_metadata(arrow.source(content)).num_rows)
    except (OSError, pa.ArrowException):
        return True


def is_followed(path: Path) -> bool:
    """Whether the command of the run in this folder was to go on with other targets and has not
    come to its end."""
    return (path / FOLLOWING).is_file()


def end_command(paths: Iterable[Path]) -> None:
    """Says in the folders of a command's runs that it has come to its end."""
    for path in paths:
        # Where nothing can be written, nothing could be begun either.
        with contextlib.suppress(OSError):
            (path / FOLLOWING).unlink(missing_ok=True)


def conclude(manifest: Manifest, last_sign_s: float) -> None:
    """Says of a killed run that it was interrupted, and when; nothing of one that has ended."""
    if manifest.ended is not None:
        return
    manifest.status = "interrupted"
    manifest.ended = timestamp(last_sign_s)
    for test in manifest.tests:
        if test.status == "running":
            test.status, test.reason = "interrupted", KILLED_REASON


def resume_command(path: Path, request: Request) -> str:
    """How to go on with the run in a folder: what it was permitted has to be said again."""
    words = ["fourcorners", "resume", str(path)]
    for name, option in _PERMISSIONS.items():
        if (permitted := getattr(request.opening, name)) is not None:
            words += [option, permitted]
    locator = request.opening.locator
    if locator is not None and is_foreign(locator):
        words += ["--start", locator]
    return shlex.join(words)


def timestamp(seconds: float) -> str:
    """BySecond since the epoch as manifests write them, such as 2026-11-21T12:00:00Z."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def named_path(path: Path) -> Path:
    """The place of a finished run, of ``.NAME.partial`` and of itself."""
    name = path.name
    if name.startswith(".") and name.endswith(".partial"):
        return path.with_name(name.removeprefix(".").removesuffix(".partial"))
    return path


def _claimed(folder: Path) -> ClaimedFolder:
    """The folder with its lock.

    Raises ``OSError`` where another process has the lock, and for a link.
    """
    directory = Directory(folder)
    lock = None
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        lock = os.open(LOCK, flags, 0o644, dir_fd=directory.descriptor)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The folder may have got its name, or lost it, between the two.
        if (folder / LOCK).lstat().st_ino != os.fstat(lock).st_ino:
            raise FileNotFoundError(2, "the folder was renamed meanwhile")
    except OSError:
        directory.close()
        if lock is not None:
            os.close(lock)
        raise
    return ClaimedFolder(folder, directory, lock)
