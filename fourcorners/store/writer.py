"""Writes a run folder: under a temporary name, flushed, and renamed when the run has ended."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fourcorners.errors import EXIT_FAILED, UserError, os_reason
from fourcorners.recording import IO_COLUMNS, IoLog, OperationRecording, Recording
from fourcorners.store import schema
from fourcorners.store.folder import Claim, create, flush_directory, recover, to_json
from fourcorners.store.reader import Run


class RunWriter:
    """A run folder that grows.

    Every :meth:`checkpoint` leaves ``.NAME.partial`` whole and readable, each file replaced in one
    step and the manifest last, so that it never lists what the tables lack. :meth:`finish` gives
    the folder its name.
    """

    def __init__(self, claim: Claim) -> None:
        """Writes into a claimed folder; see :meth:`create` and :meth:`reopen`."""
        self._claim = claim
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
        try:
            writer = cls(claim.reopen())
        except OSError as error:
            raise UserError(
                f"cannot write to the run folder {claim.path}: {os_reason(error)}", EXIT_FAILED
            ) from error
        # Made from all that had been saved; the end of the run makes them anew.
        for name in (schema.FINDINGS, schema.REPORT):
            (writer.path / name).unlink(missing_ok=True)
        logs = {writer.path / schema.ios_file(recording) for recording in kept.to_pylist()}
        for log in set((writer.path / schema.IOS).glob("*")) - logs:
            log.unlink()
        writer._recordings.extend(rows)
        writer._series.append(series)
        writer._histograms.append(histograms)
        writer._over_time.append(over_time)
        return writer

    def keep_states(self, names: Collection[str]) -> None:
        """Removes all saved states of the drive but these. One that cannot be removed stays."""
        for state in self.path.glob(schema.STATE.format("*")):
            if state.name not in names:
                with contextlib.suppress(OSError):
                    state.unlink()

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
        try:
            (self.path / schema.IOS).mkdir(exist_ok=True)
        except OSError as error:
            raise self._failed(error) from error
        self._table(schema.ios_file(recording_id), table)

    def text(self, name: str, content: str) -> None:
        """Writes a text file into the folder, in one step."""
        self._replace(name, lambda file: file.write(content.encode("utf-8")))

    def findings(self, findings: list[dict[str, Any]]) -> None:
        """Writes findings.json."""
        document = {
            "schema": schema.FINDINGS_SCHEMA,
            "schema_version": schema.SCHEMA_VERSION,
            "findings": findings,
        }
        self.text(schema.FINDINGS, to_json(document))

    def checkpoint(self, manifest: dict[str, Any]) -> Run:
        """Brings the folder up to date and returns it for reading.

        Raises :class:`UserError` when the disk is full or fails; the last checkpoint stays.
        """
        recordings = pa.Table.from_pylist(self._recordings, schema=schema.RECORDINGS_SCHEMA)
        self._table(schema.RECORDINGS, recordings)
        self._table(schema.SERIES, _joined(self._series, schema.SERIES_SCHEMA))
        self._table(schema.HISTOGRAMS, _joined(self._histograms, schema.HISTOGRAMS_SCHEMA))
        over_time = _joined(self._over_time, schema.LATENCY_OVER_TIME_SCHEMA)
        self._table(schema.LATENCY_OVER_TIME, over_time)
        # After a power cut, too, the manifest lists nothing that the tables lack.
        self._flush()
        self.note(manifest)
        self._flush()
        return Run(self.path)

    def note(self, manifest: dict[str, Any]) -> None:
        """Writes the manifest alone, for what has no recordings yet."""
        document = {
            "schema": schema.RUN_SCHEMA,
            "schema_version": schema.SCHEMA_VERSION,
            "id": self.name,
            **manifest,
        }
        self.text(schema.MANIFEST, to_json(document))

    def finish(self) -> Run:
        """Flushes the folder, gives it its name and returns it."""
        try:
            self.path = self._claim.finish()
        except OSError as error:
            raise self._failed(error) from error
        return Run(self.path)

    def _table(self, name: str, table: pa.Table) -> None:
        self._replace(name, lambda file: pq.write_table(table, file, compression="zstd"))

    def _replace(self, name: str, write: Callable[[BinaryIO], object]) -> None:
        target = self.path / name
        temporary = target.with_name(f".{target.name}.partial")
        try:
            with temporary.open("wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise self._failed(error) from error

    def _flush(self) -> None:
        try:
            flush_directory(self.path)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> UserError:
        message = f"cannot write the run folder: {os_reason(error)}"
        if (self.path / schema.MANIFEST).exists():
            message += f"; what was saved before is in {self.path}"
        else:
            shutil.rmtree(self.path, ignore_errors=True)
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


def _joined(tables: list[pa.Table], empty: pa.Schema) -> pa.Table:
    # In one piece: the bytes of the file do not depend on the pieces that it was made from.
    return pa.concat_tables([empty.empty_table(), *tables]).combine_chunks()
