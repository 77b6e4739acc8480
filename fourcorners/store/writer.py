"""Writes a run folder: under a temporary name, flushed, and renamed when the run has ended."""

import contextlib
import copy
import hashlib
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fourcorners.errors import EXIT_FAILED, UserError, os_reason
from fourcorners.recording import IO_COLUMNS, IoLog, OperationRecording, Recording
from fourcorners.store import schema
from fourcorners.store.directory import Directory
from fourcorners.store.document import to_json
from fourcorners.store.folder import Claim, create, recover
from fourcorners.store.reader import Run


class RunWriter:
    """A run folder that grows.

    Every :meth:`checkpoint` leaves ``.NAME.partial`` whole and readable, each file replaced in one
    step and the manifest last, so that it never lists what the tables lack. The manifest has a
    digest of every other file that is not a document with its own; while files are replaced it has
    those of both contents, so that a run may be killed at any moment. :meth:`finish` gives the
    folder its name.
    """

    def __init__(self, claim: Claim) -> None:
        """Writes into a claimed folder; see :meth:`create` and :meth:`reopen`."""
        self._claim = claim
        self._directory = claim.directory
        # SHA-256 of the files by name, and the manifest as it is on disk.
        self._digests: dict[str, list[str]] = {}
        self._written: dict[str, Any] | None = None
        self.path, self.name = claim.path, claim.named.name
        self._recordings: list[dict[str, Any]] = []
        self._series: list[pa.Table] = []
        self._histograms: list[pa.Table] = []
        self._over_time: list[pa.Table] = []

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
    def reopen(cls, claim: Claim, recordings: Collection[str]) -> Self:
        """Goes on with a claimed folder. Of what it has recorded ``recordings`` are kept.

        Raises :class:`UserError` when it cannot be read or written.
        """
        run = Run(claim.path)
        rows = [row for row in run.recordings if row["recording"] in recordings]
        kept = pa.array(list(dict.fromkeys(row["recording"] for row in rows)), pa.string())
        series, histograms, over_time = (
            table.filter(pc.is_in(table["recording"], kept))
            for table in map(
                run.table, (schema.SERIES, schema.HISTOGRAMS, schema.LATENCY_OVER_TIME)
            )
        )
        logs = {schema.ios_file(recording) for recording in kept.to_pylist()}
        try:
            if claim.directory.has(schema.IOS):
                claim.directory.sub(schema.IOS).close()
        except OSError as error:
            claim.release()
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
            claim.release()
            raise UserError(
                f"cannot write to the run folder {claim.path}: {os_reason(error)}", EXIT_FAILED
            ) from error
        writer._written = run.manifest
        writer._digests = dict(run.manifest.get("digests", {}))
        writer._recordings.extend(rows)
        writer._series.append(series)
        writer._histograms.append(histograms)
        writer._over_time.append(over_time)
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

    def add(self, recording_id: str, test: str, recording: Recording) -> None:
        """Takes one recording into the tables; the next checkpoint writes it. A log of single
        I/Os is written at once, into a file of its own, and not kept in memory.

        Raises :class:`UserError` when it cannot be written.
        """
        if recording.log is not None:
            self._log(recording_id, recording.log)
        for name, operation in recording.operations.items():
            self._recordings.append(_row(recording_id, test, name, operation, recording))
            self._series.append(_series(recording_id, name, operation))
            self._histograms.append(_histogram(recording_id, name, operation))
            self._over_time.append(_over_time(recording_id, name, operation))

    def _log(self, recording_id: str, log: IoLog) -> None:
        columns = {name: getattr(log, name) for name in IO_COLUMNS}
        table = pa.table(
            {"recording": [recording_id] * len(log), "operation": log.operation, **columns},
            schema=schema.IOS_SCHEMA,
        )
        name = schema.ios_file(recording_id)
        content = _parquet(table)
        try:
            with self._directory.sub(schema.IOS, create=True) as logs:
                self._put({name: content}, logs)
        except OSError as error:
            raise self._failed(error) from error

    def text(self, name: str, content: str) -> None:
        """Writes a text file into the folder, in one step; raises :class:`UserError`."""
        with self._writing():
            self._put({name: content.encode("utf-8")}, self._directory)

    def findings(self, findings: list[dict[str, Any]]) -> None:
        """Writes findings.json."""
        document = {
            "schema": schema.FINDINGS_SCHEMA,
            "schema_version": schema.SCHEMA_VERSION,
            "findings": findings,
        }
        self._document(schema.FINDINGS, document)

    def checkpoint(self, manifest: dict[str, Any]) -> Run:
        """Brings the folder up to date and returns it for reading.

        Raises :class:`UserError` when the disk is full or fails; the last checkpoint stays.
        """
        order = [entry["id"] for test in manifest["tests"] for entry in test["recordings"]]
        recordings = pa.Table.from_pylist(self._recordings, schema=schema.RECORDINGS_SCHEMA)
        tables = {
            schema.RECORDINGS: recordings,
            schema.SERIES: _joined(self._series, schema.SERIES_SCHEMA),
            schema.HISTOGRAMS: _joined(self._histograms, schema.HISTOGRAMS_SCHEMA),
            schema.LATENCY_OVER_TIME: _joined(self._over_time, schema.LATENCY_OVER_TIME_SCHEMA),
        }
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

    def note(self, manifest: dict[str, Any]) -> None:
        """Writes the manifest alone, for what has no recordings yet."""
        document = {
            "schema": schema.RUN_SCHEMA,
            "schema_version": schema.SCHEMA_VERSION,
            "id": self.name,
            **manifest,
        }
        document["digests"] = dict(self._digests)
        self._document(schema.MANIFEST, document)
        # As it is now: the caller goes on to change it.
        self._written = copy.deepcopy(document)

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


def _row(
    recording_id: str, test: str, name: str, operation: OperationRecording, recording: Recording
) -> dict[str, Any]:
    return {
        "recording": recording_id,
        "test": test,
        "operation": name,
        "ios": operation.ios,
        "bytes": operation.bytes,
        "errors": operation.error_count,
        "elapsed_s": operation.elapsed_s,
        "iops": operation.iops,
        "bytes_per_second": operation.bytes_per_second,
        "latency_min_s": operation.latency_min_s,
        "latency_mean_s": operation.latency_mean_s,
        **{
            column: operation.latency_percentile_s(percent)
            for column, percent in schema.PERCENTILES.items()
        },
        "latency_max_s": operation.latency_max_s,
        **{
            f"{name}_mean_s": operation.stages[name].mean_s if operation.stages else None
            for name in ("queue", "lateness", "service")
        },
        "offered_iops": recording.offered.iops if recording.offered else None,
        "unissued_ios": recording.offered.unissued if recording.offered else None,
        "mean_queue_depth": recording.mean_queue_depth,
        "cpu_user_s": recording.cpu_user_s,
        "cpu_system_s": recording.cpu_system_s,
        "generating_s": recording.generating_s,
        "energy_j": recording.energy_j,
        "mean_power_w": recording.mean_power_w,
        "flash_programmed_bytes": recording.flash_programmed_bytes,
        "write_amplification": recording.write_amplification,
        "interrupted": recording.interrupted,
    }


def _series(recording_id: str, name: str, operation: OperationRecording) -> pa.Table:
    seconds = len(operation.second_ios)
    return pa.table(
        {
            "recording": [recording_id] * seconds,
            "operation": [name] * seconds,
            "second": np.arange(seconds, dtype=np.int32),
            "ios": operation.second_ios,
            "bytes": operation.second_bytes,
            "latency_mean_s": _null_for_nan(operation.second_latency_mean_s),
            "latency_max_s": _null_for_nan(operation.second_latency_max_s),
        },
        schema=schema.SERIES_SCHEMA,
    )


def _histogram(recording_id: str, name: str, operation: OperationRecording) -> pa.Table:
    buckets = len(operation.bucket_count)
    return pa.table(
        {
            "recording": [recording_id] * buckets,
            "operation": [name] * buckets,
            "low_ns": operation.bucket_low_ns,
            "high_ns": operation.bucket_high_ns,
            "count": operation.bucket_count,
        },
        schema=schema.HISTOGRAMS_SCHEMA,
    )


def _over_time(recording_id: str, name: str, operation: OperationRecording) -> pa.Table:
    rows = operation.latency_over_time
    return pa.table(
        {
            "recording": [recording_id] * len(rows.count),
            "operation": [name] * len(rows.count),
            "second": rows.second,
            "low_ns": rows.low_ns,
            "high_ns": rows.high_ns,
            "count": rows.count,
        },
        schema=schema.LATENCY_OVER_TIME_SCHEMA,
    )


def _null_for_nan(values: npt.NDArray[np.float64]) -> pa.Array:
    return pa.array(values, from_pandas=True)


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
