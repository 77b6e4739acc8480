"""Reads a run folder."""

import functools
import hashlib
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fourcorners import arrow, manifest
from fourcorners.documents import PartT, part
from fourcorners.errors import UserError, os_reason
from fourcorners.finding import Finding, Findings
from fourcorners.manifest import LoggedIos, Manifest, RecordingEntry
from fourcorners.recording import (
    IO_COLUMNS,
    BySecond,
    Histogram,
    IoLog,
    LatencyDistribution,
    LatencyOverTime,
    Offered,
    OperationRecording,
    Recording,
    columns,
)
from fourcorners.store import schema
from fourcorners.store.document import unsealed
from fourcorners.store.notes import read_notes
from fourcorners.store.tables import sound
from fourcorners.workload import Workload
from fourcorners.writing import is_damaged

# Between two of them a run that goes on replaces a file at most once.
_READINGS = 3


class Run:
    """A run folder, read when asked. A folder still being written can be read as well."""

    def __init__(self, path: str | Path) -> None:
        """Opens the folder at ``path``.

        Raises :class:`UserError` when it is not a run folder, is newer than this version, or its
        manifest is not what the published schema says.
        """
        self.path = Path(path)
        self.manifest = self._manifest()
        self._parts: dict[str, _Parts] = {}

    def _manifest(self) -> Manifest:
        document = self._json(schema.MANIFEST)
        if not isinstance(document, dict) or document.get("schema") != manifest.SCHEMA:
            raise UserError(f"{self.path} is not a run folder: its manifest is of another kind")
        version = document.get("schema_version")
        if version != manifest.SCHEMA_VERSION:
            raise UserError(
                f"{self.path} was written in format {version}, this version reads format "
                f"{manifest.SCHEMA_VERSION}: use the version of fourcorners that wrote it"
            )
        return self._sound(schema.MANIFEST, document, Manifest)

    @functools.cached_property
    def recordings(self) -> tuple[Recording, ...]:
        """What was measured, in the order of the run, each with its place in it. Their arrays and
        single I/Os are read when they are asked for."""
        described = {one.id: one for test in self.manifest.tests for one in test.recordings}
        rows: dict[str, list[dict[str, Any]]] = {}
        for row in self.table(schema.RECORDINGS).to_pylist():
            rows.setdefault(row["recording"], []).append(row)
        return tuple(
            self._recording(own, described.get(recording)) for recording, own in rows.items()
        )

    def recording(self, recording_id: str) -> Recording:
        """One of :attr:`recordings`; raises ``KeyError`` when the run has no such recording."""
        for recording in self.recordings:
            if recording.id == recording_id:
                return recording
        raise KeyError(f"{self.path} has no recording {recording_id}")

    def _recording(self, rows: Sequence[dict[str, Any]], entry: RecordingEntry | None) -> Recording:
        first = rows[0]
        offered = None
        if first["offered_iops"] is not None:
            offered = Offered(first["offered_iops"], first["unissued_ios"] or 0)
        id = first["recording"]
        recording = Recording(
            elapsed_s=first["elapsed_s"],
            mean_queue_depth=first["mean_queue_depth"],
            cpu_user_s=first["cpu_user_s"],
            cpu_system_s=first["cpu_system_s"],
            generating_s=first["generating_s"],
            interrupted=bool(first["interrupted"]),
            operations={row["operation"]: self._operation(row, entry) for row in rows},
            offered=offered,
            energy_j=first["energy_j"],
            flash_programmed_bytes=first["flash_programmed_bytes"],
            id=id,
            test=first["test"],
            label=id,
            failure=None,
        )
        if entry is None:
            return recording
        return recording.placed(
            label=entry.label or id,
            failure=entry.failure,
            replayed=entry.replayed,
            jobs=tuple(entry.jobs),
            logged=entry.logged and functools.partial(self._log, id, entry.logged),
            point=entry.point,
            workload=Workload.from_document(entry.workload),
            options=entry.workload.options or {},
            conditions=entry.conditions,
        )

    def _operation(self, row: dict[str, Any], entry: RecordingEntry | None) -> OperationRecording:
        operation = row["operation"]
        told = ((entry and entry.errors) or {}).get(operation)
        stages = {stage: row[f"{stage}_mean_s"] for stage in columns.STAGES}
        return OperationRecording(
            ios=row["ios"],
            bytes=row["bytes"],
            errors=told or ({0: row["errors"]} if row["errors"] else {}),
            elapsed_s=row["elapsed_s"],
            latency_min_s=row["latency_min_s"],
            latency_mean_s=row["latency_mean_s"],
            latency_max_s=row["latency_max_s"],
            stages={
                stage: LatencyDistribution(None, mean_s, None)
                for stage, mean_s in stages.items()
                if mean_s is not None
            },
            arrays=_Stored(self, row["recording"], operation),
        )

    def _log(self, recording: str, logged: LoggedIos) -> IoLog:
        table = self.table(schema.ios_file(recording))
        operation = table["operation"].combine_chunks().dictionary_encode()
        return IoLog(
            of=logged.of,
            one_in=logged.one_in,
            operation=np.array(operation.dictionary.to_pylist(), dtype=np.str_)[operation.indices],
            **{name: _whole(table[name]) for name in IO_COLUMNS},
        )

    def check(self, *, whole: bool = True) -> None:
        """Reads every file of the run once, for what is to go on for hours after it, or of the
        tables only what stands at their ends.

        Raises :class:`UserError` for the first that cannot be read, or is damaged.
        """
        _ = self.findings
        if whole:
            read_notes(self.path)
            self._check_others()
        over_time = self.path / schema.LATENCY_OVER_TIME
        names = [schema.RECORDINGS, schema.SERIES, schema.HISTOGRAMS]
        # Earlier versions did not keep it.
        names += [schema.LATENCY_OVER_TIME] if over_time.exists() else []
        for name in (*names, *self._logs()):
            if not whole:
                self._read(name, lambda name: pq.read_metadata(self.path / name))
            elif name in self.manifest.digests:
                self._read(name, self._content)
            else:
                self.table(name)

    def _check_others(self) -> None:
        """Of what is no table: drive files and states by the manifest's digests, the report by its
        own."""
        for name in self.manifest.digests:
            if not name.endswith(".parquet") and (self.path / name).is_file():
                self._read(name, self._content)
        report = self.path / schema.REPORT
        if report.is_file() and self._read(schema.REPORT, lambda _: is_damaged(report)):
            raise UserError(
                f"{report} is not as it was written: move it away, and fourcorners report "
                f"{self.path} makes it anew"
            )

    @property
    def has_findings(self) -> bool:
        """Whether the run has been analysed, and what was found is still there."""
        return (self.path / schema.FINDINGS).exists()

    @property
    def findings(self) -> list[Finding]:
        """What findings.json says; empty when the run has not been analysed."""
        if not self.has_findings:
            return []
        return self._sound(schema.FINDINGS, self._json(schema.FINDINGS), Findings).findings

    def __repr__(self) -> str:
        own = self.manifest
        tests = ", ".join(test.name for test in own.tests) or "no tests"
        return f"<Run {self.path}: {own.target.name}, {own.suite} ({tests}), {own.status}>"

    def parts(self, name: str) -> "_Parts":
        """A table by recording and operation."""
        if name not in self._parts:
            self._parts[name] = _Parts(self.table(name))
        return self._parts[name]

    def table(self, name: str) -> pa.Table:
        """One of the folder's Parquet tables as it is, by its name with or without ``.parquet``:
        ``recordings``, ``series``, ``histograms``, ``latency_over_time``, and of the single I/Os of
        a recording ``ios/ID``.

        Raises :class:`UserError` for one that there is not, or that is damaged.
        """
        file = name if name.endswith(".parquet") else f"{name}.parquet"
        if file == schema.LATENCY_OVER_TIME and not (self.path / file).exists():
            # Earlier versions did not keep it.
            return columns.LATENCY_OVER_TIME.empty_table()
        if file not in schema.TABLES and file not in self._logs():
            known = [*schema.TABLES, *self._logs()]
            raise UserError(
                f'{self.path} has no table "{name}": there are '
                + ", ".join(one.removesuffix(".parquet") for one in known)
            )
        kind = schema.TABLES.get(file, columns.IOS)
        try:
            return sound(self._read(file, self._parquet), kind)
        except ValueError as error:
            raise self._damaged(file, error) from error

    def _logs(self) -> list[str]:
        logs = sorted((self.path / schema.IOS).glob("[!.]*.parquet"))
        return [f"{schema.IOS}/{log.name}" for log in logs]

    def _parquet(self, name: str) -> pa.Table:
        content = self._content(name)
        return pq.read_table(arrow.source(content), page_checksum_verification=True)

    def _content(self, name: str) -> bytes:
        """A file, if it is as the manifest's digest says."""
        digests = self.manifest.digests
        for _ in range(_READINGS):
            content = (self.path / name).read_bytes()
            if name not in digests or hashlib.sha256(content).hexdigest() in digests[name]:
                return content
            # A run that goes on may have replaced the file since the manifest was read.
            digests = self._manifest().digests
        raise self._damaged(name, "it is not what was written")

    def _read(self, name: str, read: Callable[[str], Any]) -> Any:
        try:
            return read(name)
        except OSError as error:
            # Arrow's own have no number.
            reason = os_reason(error) if error.errno else _first_line(error)
            raise UserError(f"cannot read {self.path / name}: {reason}") from error
        except pa.ArrowException as error:
            raise UserError(
                f"cannot read {self.path / name}: {_first_line(error)}; put it back from a copy "
                "of the run"
            ) from error

    def _sound(self, name: str, document: Any, kind: type[PartT]) -> PartT:
        """What a document says; raises :class:`UserError` unless it is of that kind."""
        try:
            return part(kind, document)
        except ValueError as error:
            raise self._damaged(name, error) from None

    def _damaged(self, name: str, reason: object) -> UserError:
        return UserError(
            f"{self.path / name} is damaged: {reason}; put it back from a copy of the run"
        )

    def _json(self, name: str) -> Any:
        path = self.path / name
        try:
            document = msgspec.json.decode(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            partial = self.path.with_name(f".{self.path.name}.partial")
            if (partial / name).is_file():
                raise UserError(
                    f"{self.path} has not ended: go on with it by fourcorners resume {self.path}, "
                    f"or name {partial} for what it has saved so far"
                ) from None
            raise UserError(f"{self.path} is not a run folder: it has no {name}") from None
        except OSError as error:
            raise UserError(f"cannot read {path}: {os_reason(error)}") from error
        except (ValueError, RecursionError) as error:
            raise self._damaged(name, f"it is not JSON ({error})") from error
        try:
            return unsealed(document)
        except ValueError as error:
            raise UserError(
                f"{path} is damaged: {error}, or put it back from a copy of the run"
            ) from error


class _Stored:
    """The arrays of one operation, read from the tables of its run when they are asked for."""

    def __init__(self, run: Run, recording: str, operation: str) -> None:
        self._run, self._recording, self._operation = run, recording, operation

    def _of(self, name: str, *columns: str) -> list[npt.NDArray[Any]]:
        table = self._run.parts(name).of(self._recording, self._operation)
        return [table[column].to_numpy() for column in columns]

    @functools.cached_property
    def histogram(self) -> Histogram:
        return Histogram(*self._of(schema.HISTOGRAMS, "low_ns", "high_ns", "count"))

    @functools.cached_property
    def seconds(self) -> BySecond:
        ios, transferred, mean_s, max_s = self._of(schema.SERIES, *BySecond._fields)
        return BySecond(ios, transferred, mean_s.astype(np.float64), max_s.astype(np.float64))

    @functools.cached_property
    def latency_over_time(self) -> LatencyOverTime:
        names = ("second", "low_ns", "high_ns", "count")
        rows = self._of(schema.LATENCY_OVER_TIME, *names)
        return LatencyOverTime(*(column.astype(np.int64) for column in rows))


class _Parts:
    """A table by recording and operation, whose rows stand together: a search through all rows for
    each would take most of a report's time."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        keys = [
            table[name].combine_chunks().dictionary_encode() for name in ("recording", "operation")
        ]
        recording, operation = (key.indices.to_numpy() for key in keys)
        changes = (np.diff(recording) != 0) | (np.diff(operation) != 0)
        starts = np.concatenate([[0], np.flatnonzero(changes) + 1, [len(table)]])
        self._slices: dict[tuple[str, str], list[pa.Table]] = {}
        for start, end in itertools.pairwise(starts.tolist()):
            if start == end:
                continue
            key = (
                keys[0].dictionary[recording[start]].as_py(),
                keys[1].dictionary[operation[start]].as_py(),
            )
            self._slices.setdefault(key, []).append(table.slice(start, end - start))

    def of(self, recording: str, operation: str) -> pa.Table:
        """The rows of one; none where there are none."""
        slices = self._slices.get((recording, operation))
        return self._table.slice(0, 0) if slices is None else pa.concat_tables(slices)


def _whole(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """A column of single I/Os; without FUA where an earlier version did not keep it."""
    whole = column.fill_null(False) if pa.types.is_boolean(column.type) else column
    values: npt.NDArray[Any] = whole.to_numpy()
    return values


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".")
