"""The runs in a folder, and how to pick from them."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from fourcorners.documents import Count
from fourcorners.errors import UserError, os_reason
from fourcorners.input_files import is_file
from fourcorners.manifest import RunStatus, TargetKind
from fourcorners.store import schema
from fourcorners.store.notes import Notes, read_notes
from fourcorners.store.reader import Run


class RunRow(msgspec.Struct, kw_only=True):
    """A run in one row, as ``runs --json`` and the table ``runs`` have it."""

    run: str
    path: str
    created: str
    """ISO 8601, UTC."""
    status: RunStatus
    drive: str
    kind: TargetKind
    locator: str
    capacity_bytes: Count | None
    suite: str
    profile: str
    seed: Annotated[int, msgspec.Meta(ge=0)] | None
    version: str
    command: str | None
    tests: list[str]
    tags: list[str]
    note: str


@dataclass(frozen=True)
class KeptRun:
    """A run folder and what is written on it."""

    run: Run
    notes: Notes

    @property
    def drive(self) -> str:
        """Name of what was measured."""
        return self.run.manifest.target.name or self.run.manifest.target.locator

    @property
    def tests(self) -> list[str]:
        """Names of the tests that were run, also in part."""
        return [test.name for test in self.run.manifest.tests if test.status != "skipped"]

    @property
    def created(self) -> str:
        """When it began: ISO 8601, UTC."""
        return self.run.manifest.created

    @property
    def row(self) -> RunRow:
        """The run in one row."""
        manifest, target = self.run.manifest, self.run.manifest.target
        return RunRow(
            run=manifest.id or self.run.path.name,
            path=str(self.run.path),
            created=self.created,
            status=manifest.status,
            drive=self.drive,
            kind=target.kind,
            locator=target.locator,
            capacity_bytes=target.capacity_bytes,
            suite=manifest.suite,
            profile=manifest.profile,
            seed=manifest.seed,
            version=manifest.version,
            command=manifest.command,
            tests=self.tests,
            tags=list(self.notes.tags),
            note=self.notes.text,
        )


@dataclass(frozen=True)
class Choice:
    """Which runs are wanted; what is ``None`` does not restrict."""

    drive: str | None = None
    """Part of the drive's name or locator, in any case."""
    test: str | None = None
    tag: str | None = None
    since: datetime.date | None = None
    until: datetime.date | None = None
    """Both inclusive, by UTC."""

    def takes(self, kept: KeptRun) -> bool:
        """Whether a run is wanted."""
        day = kept.created[:10]
        named = f"{kept.drive} {kept.run.manifest.target.locator}".lower()
        return (
            (self.drive is None or self.drive.lower() in named)
            and (self.test is None or self.test in kept.tests)
            and (self.tag is None or self.tag in kept.notes.tags)
            and (self.since is None or day >= self.since.isoformat())
            and (self.until is None or "" < day <= self.until.isoformat())
        )


def kept_runs(
    folders: Iterable[Path],
    choice: Choice | None = None,
    *,
    whole: bool = False,
    damaged: Callable[[str], object] = warnings.warn,
) -> list[KeptRun]:
    """The runs in ``folders`` (each a run folder, or a folder of run folders), oldest first.

    A run in a folder of runs that cannot be read is left out, and ``damaged`` is told in a sentence
    which one it is. With ``whole`` every file is read and held against its digest, for what reads
    tables by itself, as DuckDB does; without it a damaged table is found when it is read.

    Raises :class:`UserError` for a folder that is not there or is a run that cannot be read.
    """
    wanted = choice or Choice()
    runs = []
    for folder in folders:
        for path in _runs(folder):
            try:
                run = Run(path)
                run.check(whole=whole)
                runs.append(KeptRun(run, read_notes(path)))
            except UserError as error:
                if path == folder:
                    raise
                damaged(f"left out: {error}")
    return sorted(
        (kept for kept in runs if wanted.takes(kept)),
        key=lambda kept: (kept.created, str(kept.run.path)),
    )


def _runs(folder: Path) -> list[Path]:
    if is_file(folder / schema.MANIFEST):
        return [folder]
    try:
        # Hidden ones are still being written.
        return sorted(
            path
            for path in folder.iterdir()
            if not path.name.startswith(".") and is_file(path / schema.MANIFEST)
        )
    except OSError as error:
        raise UserError(f"cannot list the runs in {folder}: {os_reason(error)}") from error
