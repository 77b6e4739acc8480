"""Writes a run folder: under a temporary name, flushed, and renamed when the run has ended."""

import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fourcorners.errors import EXIT_FAILED, UserError, os_reason
from fourcorners.recording import OperationRecording, Recording
from fourcorners.store import schema
from fourcorners.store.reader import Run

# In the folder of a run that goes on.
_LOCK = ".lock"


class RunWriter:
    """A run folder that grows.

    Every :meth:`checkpoint` leaves ``.NAME.partial`` whole and readable, each file replaced in one
    step and the manifest last, so that it never lists what the tables lack. :meth:`finish` gives
    the folder its name.
    """

    def __init__(self, parent: str | Path, name: str) -> None:
        """Creates ``.NAME.partial`` in ``parent``; a name that is taken gets a number.

        Raises :class:`UserError` when nothing can be written there.
        """
        self._parent = Path(parent)
        self._recordings: list[dict[str, Any]] = []
        self._series: list[pa.Table] = []
        self._histograms: list[pa.Table] = []
        try:
            self._parent.mkdir(parents=True, exist_ok=True)
            recover(self._parent)
            self.name, self.path = _create(self._parent, name)
            self._lock = _locked(self.path)
        except OSError as error:
            raise _cannot_create(parent, error) from error

    def add(self, recording_id: str, test: str, recording: Recording) -> None:
        """Takes one recording into the tables; the next checkpoint writes it."""
        for name, operation in recording.operations.items():
            self._recordings.append(_row(recording_id, test, name, operation, recording))
            self._series.append(_series(recording_id, name, operation))
            self._histograms.append(_histogram(recording_id, name, operation))

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
        self.text(schema.FINDINGS, _to_json(document))

    def checkpoint(self, manifest: dict[str, Any]) -> Run:
        """Brings the folder up to date and returns it for reading.

        Raises :class:`UserError` when the disk is full or fails; the last checkpoint stays.
        """
        recordings = pa.Table.from_pylist(self._recordings, schema=schema.RECORDINGS_SCHEMA)
        self._table(schema.RECORDINGS, recordings)
        self._table(schema.SERIES, _joined(self._series, schema.SERIES_SCHEMA))
        self._table(schema.HISTOGRAMS, _joined(self._histograms, schema.HISTOGRAMS_SCHEMA))
        document = {
            "schema": schema.RUN_SCHEMA,
            "schema_version": schema.SCHEMA_VERSION,
            "id": self.name,
            **manifest,
        }
        self.text(schema.MANIFEST, _to_json(document))
        return Run(self.path)

    def finish(self) -> Run:
        """Flushes the folder, gives it its name and returns it."""
        final = self._parent / self.name
        try:
            (self.path / _LOCK).unlink()
            os.close(self._lock)
            _flush_directory(self.path)
            self.path.rename(final)
            _flush_directory(self._parent)
        except OSError as error:
            raise self._failed(error) from error
        self.path = final
        return Run(final)

    def _table(self, name: str, table: pa.Table) -> None:
        self._replace(name, lambda file: pq.write_table(table, file, compression="zstd"))

    def _replace(self, name: str, write: Callable[[BinaryIO], object]) -> None:
        temporary = self.path / f".{name}.partial"
        try:
            with temporary.open("wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path / name)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> UserError:
        message = f"cannot write the run folder: {os_reason(error)}"
        if (self.path / schema.MANIFEST).exists():
            message += f"; what was saved before is in {self.path}"
        else:
            shutil.rmtree(self.path, ignore_errors=True)
        return UserError(message, EXIT_FAILED)


def recover(parent: str | Path) -> list[Path]:
    """Brings to an end what killed runs left in ``parent``, and returns their run folders.

    What they had saved gets its name and the status ``interrupted``; a folder in which nothing was
    saved yet is removed. Folders of runs that still go on, and everything else, are left alone.
    """
    recovered = []
    for partial in sorted(Path(parent).glob(".*.partial")):
        named = partial.with_name(partial.name.removeprefix(".").removesuffix(".partial"))
        if not (partial / _LOCK).is_file() or named.exists():
            continue
        try:
            lock = _locked(partial)
        except OSError:
            continue
        try:
            if _concluded(partial, named):
                recovered.append(named)
        finally:
            os.close(lock)
    return recovered


def _concluded(partial: Path, named: Path) -> bool:
    """Whether anything had been saved."""
    manifest = partial / schema.MANIFEST
    if not manifest.exists():
        shutil.rmtree(partial)
        return False
    document = json.loads(manifest.read_text("utf-8"))
    document["status"] = "interrupted"
    for test in document["tests"]:
        if test["status"] == "running":
            test.update(status="interrupted", reason="the run was killed")
    temporary = partial / f".{schema.MANIFEST}.partial"
    temporary.write_text(_to_json(document), "utf-8")
    temporary.replace(manifest)
    (partial / _LOCK).unlink()
    partial.rename(named)
    return True


def _locked(partial: Path) -> int:
    """The descriptor of the folder's lock, which a run holds until it ends, however it does.

    Raises ``OSError`` where another process has it.
    """
    descriptor = os.open(partial / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def ensure_writable(parent: str | Path) -> None:
    """Fails early, before a target is touched, when no run folder could be made in ``parent``.

    Raises :class:`UserError`.
    """
    try:
        Path(parent).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        raise _cannot_create(parent, error) from error


def run_name(drive: str) -> str:
    """A run folder's name: the local time and the drive, in letters, digits and hyphens."""
    words = "".join(c if c.isalnum() and c.isascii() else " " for c in drive.lower()).split()
    return "-".join([time.strftime("%Y%m%d-%H%M%S"), *words])


def _cannot_create(parent: str | Path, error: OSError) -> UserError:
    return UserError(f"cannot create a run folder in {parent}: {os_reason(error)}")


def _create(parent: Path, name: str) -> tuple[str, Path]:
    """Creates the temporary folder of the first free of NAME, NAME-2, NAME-3, ..."""
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
        return candidate, partial


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


def _null_for_nan(values: npt.NDArray[np.float64]) -> pa.Array:
    return pa.array(values, from_pandas=True)


def _joined(tables: list[pa.Table], empty: pa.Schema) -> pa.Table:
    return pa.concat_tables([empty.empty_table(), *tables])


def _to_json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _flush_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
