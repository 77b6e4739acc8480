"""Writes a run folder: under a temporary name, flushed, and renamed when the run has ended."""

import contextlib
import hashlib
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fourcorners.documents import plain
from fourcorners.errors import EXIT_FAILED, UserError, os_reason
from fourcorners.finding import FINDINGS_SCHEMA, Finding
from fourcorners.manifest import Manifest
from fourcorners.recording import Recording
from fourcorners.store import schema
from fourcorners.store.directory import Directory
from fourcorners.store.document import to_json
from fourcorners.store.folder import ClaimedFolder, create, recover
from fourcorners.store.reader import Run


class RunWriter:
    """A run folder that grows.

    Every :meth:`checkpoint` leaves ``.NAME.partial`` whole and readable, each file replaced in one
    step and the manifest last, so that it never lists what the tables lack. The manifest has a
    digest of every other file that is not a document with its own; while files are replaced it has
    those of both contents, so that a run may be killed at any moment. :meth:`finish` gives the
    folder its name.
    """

    def __init__(self, claim: ClaimedFolder) -> None:
        """Writes into a claimed folder; see :meth:`create` and :meth:`reopen`."""
        self._claim = claim
        self._directory = claim.directory
        # SHA-256 of the files by name, and the manifest as it is on disk.
        self._digests: dict[str, list[str]] = {}
        self._written: dict[str, Any] | None = None
        self.path, self.name = claim.path, claim.named.name
        self._tables: dict[str, list[pa.Table]] = {name: [] for name in schema.TABLES}

    @classmethod
    def create(cls, parent: str | Path, name: str) -> Self:
        """Creates ``.NAME.partial`` in ``parent``; a name that is taken gets a number.

        Raises :class:`UserError` when nothing can be written there.
        """
        try:
            Path(parent).mkdir(parents=True, exist_ok=True)
            recover(parent)
            return cls(create(Path(parent), name))
        except OSError as error:
            raise _cannot_create(parent, error) from error

    @classmethod
    def reopen(cls, claim: ClaimedFolder, recordings: Collection[str]) -> Self:
        """Goes on with a claimed folder. Of what it has recorded ``recordings`` are kept.

        Raises :class:`UserError` when it cannot be read or written; the claim is the caller's then.
        """
        run = Run(claim.path)
        wanted = pa.array(sorted(recordings), pa.string())
        kept = {
            name: table.filter(pc.is_in(table["recording"], wanted))
            for name, table in ((name, run.table(name)) for name in schema.TABLES)
        }
        logs = {schema.ios_file(recording) for recording in recordings}
        try:
            if claim.directory.has(schema.IOS):
                claim.directory.sub(schema.IOS).close()
        except OSError as error:
            raise UserError(
                f"{claim.path / schema.IOS} is not the folder that the run made: nothing was "
                "changed; remove it, or put the folder back from a copy of the run"
            ) from error
        try:
            writer = cls(claim.reopen())
            # Made from all that had been saved; the end of the run makes them anew.
            for name in (schema.FINDINGS, schema.REPORT):
                writer._directory.remove(name)
            writer._directory.remove_logs(lambda name: f"{schema.IOS}/{name}" in logs)
        except OSError as error:
            raise UserError(
                f"cannot write to the run folder {claim.path}: {os_reason(error)}", EXIT_FAILED
            ) from error
        writer._written = plain(run.manifest)
        writer._digests = dict(run.manifest.digests)
        for name, table in kept.items():
            writer._tables[name].append(table)
        return writer

    def keep_states(self, names: Collection[str]) -> None:
        """Removes all saved states of the drive but these. One that cannot be removed stays."""
        with contextlib.suppress(OSError):
            self._directory.remove_states(names.__contains__)

    def add_state(self, name: str) -> None:
        """Takes a state of the drive that was saved into the folder into the manifest's digests.

        Raises :class:`UserError` when it cannot be read.
        """
        try:
            self._digests[name] = [hashlib.sha256(self._directory.read(name)).hexdigest()]
        except OSError as error:
            raise self._failed(error) from error

    @property
    def named(self) -> Path:
        """Where the folder is when the run has ended."""
        return self._claim.named

    def sign(self) -> None:
        """Says that the run goes on: what a killed one's gap is counted from."""
        self._claim.sign()

    def abandon(self) -> None:
        """Leaves the folder as the last checkpoint left it, for others to claim."""
        self._claim.release()

    def add(self, recording: Recording) -> None:
        """Takes one recording, which has its place in the run, into the tables; the next checkpoint
        writes it. A log of single I/Os is written at once, into a file of its own, and not kept in
        memory.

        Raises :class:`UserError` when it cannot be written.
        """
        if recording.log is not None:
            name = schema.ios_file(recording.id)
            content = _parquet(recording.to_arrow("ios"))
            try:
                with self._directory.sub(schema.IOS, create=True) as logs:
                    self._put({name: content}, logs)
            except OSError as error:
                raise self._failed(error) from error
        for name, parts in self._tables.items():
            parts.append(recording.to_arrow(name.removesuffix(".parquet")))

    def text(self, name: str, content: str) -> None:
        """Writes a text file into the folder, in one step; raises :class:`UserError`."""
        with self._writing():
            self._put({name: content.encode("utf-8")}, self._directory)

    def findings(self, findings: Sequence[Finding]) -> None:
        """Writes findings.json."""
        written = [finding.to_dict() for finding in findings]
        head = {"schema": FINDINGS_SCHEMA, "schema_version": 1}
        self._document(schema.FINDINGS, {**head, "findings": written})

    def checkpoint(self, manifest: Manifest) -> Run:
        """Brings the folder up to date and returns it for reading.

        Raises :class:`UserError` when the disk is full or fails; the last checkpoint stays.
        """
        order = [one.id for test in manifest.tests for one in test.recordings]
        tables = {name: _joined(parts, schema.TABLES[name]) for name, parts in self._tables.items()}
        with self._writing():
            self._put(
                {name: _parquet(_ordered(table, order)) for name, table in tables.items()},
                self._directory,
            )
            # After a power cut, too, the manifest lists nothing that the tables lack.
            self._directory.flush()
            self.note(manifest)
            self._directory.flush()
        return Run(self.path)

    def note(self, manifest: Manifest) -> None:
        """Writes the manifest alone, for what has no recordings yet."""
        manifest.digests = dict(self._digests)
        self._written = plain(manifest)
        self._document(schema.MANIFEST, self._written)

    def finish(self) -> Run:
        """Flushes the folder, gives it its name and returns it."""
        try:
            self.path = self._claim.finish()
        except OSError as error:
            raise self._failed(error) from error
        return Run(self.path)

    def _document(self, name: str, document: dict[str, Any]) -> None:
        """Writes a document, which has its own digest."""
        with self._writing():
            self._directory.stage(name, to_json(document).encode())
            self._directory.put(name)

    def _put(self, files: Mapping[str, bytes], directory: Directory) -> None:
        """Replaces files of a folder, which are named from the run folder: first all are written,
        then the manifest says that either content is sound, then each gets its name.

        Raises ``OSError``; the files are as they were then, or some are replaced.
        """
        names = {name: name.rpartition("/")[2] for name in files}
        staged: dict[str, list[str]] = {}
        try:
            for name, content in files.items():
                staged[name] = [directory.stage(names[name], content)]
            self._announce(staged)
            for name in files:
                directory.put(names[name])
        except OSError:
            with contextlib.suppress(OSError):
                for name in names.values():
                    directory.unstage(name)
            raise
        self._digests.update(staged)

    def _announce(self, staged: Mapping[str, list[str]]) -> None:
        known = {} if self._written is None else self._written.get("digests", {})
        coming = {
            name: list(dict.fromkeys([*known[name], *digests]))
            for name, digests in staged.items()
            if name in known and not set(digests) <= set(known[name])
        }
        if self._written is not None and coming:
            self._written = {**self._written, "digests": {**known, **coming}}
            self._document(schema.MANIFEST, self._written)
            self._directory.flush()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> UserError:
        message = f"cannot write the run folder: {os_reason(error)}"
        with contextlib.suppress(OSError):
            if self._directory.has(schema.MANIFEST):
                message += f"; what was saved before is in {self.path}"
            else:
                self._directory.remove_all(self.path)
        return UserError(message, EXIT_FAILED)


def ensure_writable(parent: str | Path) -> None:
    """Fails early, before a target is touched, when no run folder could be made in ``parent``.

    Raises :class:`UserError`.
    """
    there = Path(parent)
    try:
        while not there.exists() and there != there.parent:
            there = there.parent
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise _cannot_create(parent, error) from error


def run_name(drive: str) -> str:
    """A run folder's name: the local time and the drive, in letters, digits and hyphens."""
    words = "".join(c if c.isalnum() and c.isascii() else " " for c in drive.lower()).split()
    return "-".join([time.strftime("%Y%m%d-%H%M%S"), *words])


def _cannot_create(parent: str | Path, error: OSError) -> UserError:
    return UserError(f"cannot create a run folder in {parent}: {os_reason(error)}")


def _parquet(table: pa.Table) -> bytes:
    """A table as a file, with a checksum in each page for other readers."""
    file = pa.BufferOutputStream()
    pq.write_table(table, file, compression="zstd", write_page_checksum=True)
    return bytes(file.getvalue())


def _ordered(table: pa.Table, recordings: Sequence[str]) -> pa.Table:
    """The rows in the order of the recordings, which is that of the tests in the plan. A test that
    failed, on a full disk say, and is run again after others comes before them all the same."""
    place = pc.index_in(table["recording"], pa.array(recordings, pa.string()))
    # What the manifest does not have yet comes last.
    places = pc.fill_null(place, len(recordings)).to_numpy()
    if (np.diff(places) >= 0).all():
        return table
    return table.take(np.argsort(places, kind="stable")).combine_chunks()


def _joined(tables: list[pa.Table], empty: pa.Schema) -> pa.Table:
    # In one piece: the bytes of the file do not depend on the pieces that it was made from.
    return pa.concat_tables([empty.empty_table(), *tables]).combine_chunks()
