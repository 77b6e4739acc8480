"""The runs that are kept: which there are, what a person notes about them, and SQL over them."""

from __future__ import annotations

import contextlib
import datetime
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from fourcorners.analysis.spec_sheet import claims_beside
from fourcorners.catalog.published import published_table
from fourcorners.comparison.claims_table import claims_table
from fourcorners.documents import Count, changed, plain
from fourcorners.errors import UserError, os_reason
from fourcorners.store import Run
from fourcorners.store import sql as database
from fourcorners.store.foreign import reading
from fourcorners.store.kept_runs import Choice, KeptRun, RunRow, kept_runs
from fourcorners.store.notes import read_notes, write_notes
from fourcorners.writing import Output, json_value

Format = Literal["csv", "parquet", "json"]
_WRITERS = {"csv": pa.csv.write_csv, "parquet": pa.parquet.write_table}


class ClaimCounts(msgspec.Struct):
    """Claims about a drive: how many are known, and of these measured and reached."""

    known: Count
    measured: Count
    reached: Count


class ListedRow(RunRow, kw_only=True):
    """A run in one row, and what its measurements say about claims."""

    has_findings: bool
    claims: ClaimCounts


class ListedRuns(msgspec.Struct):
    """The runs in some folders, oldest first."""

    runs: list[ListedRow]


@dataclass(frozen=True)
class Column:
    """A column of a result, and its type in Arrow's words."""

    name: str
    type: str


@dataclass(frozen=True)
class QueryDocument:
    """The result of a query; in its values NaN and infinity are null, and times are text."""

    columns: list[Column]
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class ListedRun(KeptRun):
    """A run folder, what is written on it, and what its measurements say about claims."""

    claims_known: int
    """Claims about the drive, from the catalog and the run."""
    claims_measured: int
    """Those of them that the run measured."""
    claims_reached: int
    """Those of them that it reaches."""

    @property
    def row(self) -> ListedRow:
        """The run as ``runs --json`` has it."""
        claims = ClaimCounts(self.claims_known, self.claims_measured, self.claims_reached)
        own = msgspec.structs.asdict(super().row)
        return ListedRow(**own, has_findings=self.run.has_findings, claims=claims)

    def to_dict(self) -> dict[str, Any]:
        """:attr:`row` as JSON has it."""
        document: dict[str, Any] = plain(self.row)
        return document


def runs(
    *folders: str | Path,
    drive: str | None = None,
    test: str | None = None,
    tag: str | None = None,
    since: datetime.date | None = None,
    until: datetime.date | None = None,
    tell: Callable[[str], object] = warnings.warn,
) -> list[ListedRun]:
    """The runs that are kept, oldest first.

    Args:
        folders: run folders and folders of them: ``runs`` by default.
        drive: only drives with this in their name or locator, in any case.
        test: only runs with this test.
        tag: only runs with this tag, see :func:`note`.
        since: only runs of this day and later, by UTC.
        until: only runs of this day and earlier, by UTC.
        tell: told of each run that is left out because it is damaged, in a sentence.

    Raises :class:`UserError` for a folder that is not there or is a run that cannot be read.
    """
    return _listed(folders, tell, Choice(drive, test, tag, since, until))


def _listed(
    folders: Sequence[str | Path],
    tell: Callable[[str], object],
    choice: Choice | None = None,
    *,
    whole: bool = False,
) -> list[ListedRun]:
    """Those runs of which all can be said that is said of a run here; the others are named."""
    listed = []
    for kept in kept_runs(_places(folders), choice, whole=whole, damaged=tell):
        try:
            with reading([kept.run.path]):
                rows = claims_beside(kept.run.manifest, kept.run.findings)
                one = ListedRun(
                    kept.run,
                    kept.notes,
                    claims_known=len(rows),
                    claims_measured=sum(row.row is not None for row in rows),
                    claims_reached=sum(row.outcome == "reached" for row in rows),
                )
                one.to_dict()
        except UserError as error:
            tell(f"left out: {error}")
        else:
            listed.append(one)
    return listed


def _places(folders: Sequence[str | Path]) -> list[Path]:
    return [Path(folder) for folder in folders or ("runs",)]


def note(
    *runs: str | Path,
    tag: Sequence[str] = (),
    untag: Sequence[str] = (),
    text: str | None = None,
) -> list[KeptRun]:
    """Writes tags and a note on runs, and returns what is on them then; measurements are not
    touched.

    Args:
        runs: run folders.
        tag: tags to add, each one word.
        untag: tags to take away.
        text: the note, which replaces the one before.

    Raises :class:`UserError` for what is no run folder, and for a tag that is not one word.
    """
    if not runs:
        raise UserError("no run folder: name one or several, as in runs/*")
    for bad in (word for word in tag if not word or any(sign.isspace() for sign in word)):
        raise UserError(f'"{bad}" is no tag: write one word, such as firmware-2.1')
    noted = []
    for run in [Run(path) for path in runs]:
        notes = read_notes(run.path)
        if tag or untag or text is not None:
            notes = notes.tagged(tag, untag)
            notes = notes if text is None else changed(notes, text=text)
            write_notes(run.path, notes)
        noted.append(KeptRun(run, notes))
    return noted


def query(
    sql: str,
    /,
    *folders: str | Path,
    out: str | Path | None = None,
    replace: bool = False,
    memory_bytes: int | None = None,
    tell: Callable[[str], object] = warnings.warn,
) -> pa.Table:
    """The result of one SQL statement over runs; docs/query.md describes the tables.

    Args:
        sql: a SELECT.
        folders: run folders and folders of them: ``runs`` by default.
        out: a file to which the result is written as well: .csv, .parquet or .json.
        replace: replace a file ``out`` of any content; without it only an empty one.
        memory_bytes: what the query may take of the memory, and its result once more: a quarter of
            the machine's, and 2 GiB at most, by default.
        tell: told of each run that is left out because it is damaged, in a sentence.

    Raises :class:`UserError` for a statement that does not work or takes more memory, for folders
    as :func:`runs` does, and for a file that cannot be written.
    """
    output = None
    if out is not None:
        form = _format_of(Path(out))
        output = Output(Path(out), replace, is_ours=None)
        output.check()
    with _open(folders, memory_bytes, tell) as opened:
        result = database.query(opened, sql)
    if output is not None:
        _write(result, output, form)
    return result


def export(
    folder: str | Path,
    /,
    *runs: str | Path,
    format: Format = "csv",
    memory_bytes: int | None = None,
    tell: Callable[[str], object] = warnings.warn,
) -> dict[Path, int]:
    """Writes all tables of runs as files for other programs, and returns the rows of each file.

    Args:
        folder: a folder for the files, new or empty.
        runs: run folders and folders of them: ``runs`` by default.
        format: of the files.
        memory_bytes: as in :func:`query`.
        tell: told of each run that is left out because it is damaged, in a sentence.

    Raises :class:`UserError` for folders as :func:`runs` does, and for a folder that is not empty.
    """
    folder = Path(folder)
    written = {}
    with _open(runs, memory_bytes, tell) as opened:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise UserError(f"{folder} is not empty: name a new folder")
        except OSError as error:
            raise UserError(f"cannot make the folder {folder}: {os_reason(error)}") from error
        for name in database.TABLES:
            rows = database.query(opened, f"SELECT * FROM {name}")
            path = folder / f"{name}.{format}"
            _write(rows, Output(path), format)
            written[path] = rows.num_rows
    return written


@contextlib.contextmanager
def _open(
    folders: Sequence[str | Path], memory_bytes: int | None, tell: Callable[[str], object]
) -> Iterator[database.Database]:
    found = _listed(folders, tell, whole=True)
    with contextlib.ExitStack() as stack, reading(_places(folders)):
        claims = claims_table(found)
        yield stack.enter_context(
            database.open_database(found, claims, published_table(), memory_bytes)
        )


def _format_of(path: Path) -> Format:
    for form in ("csv", "parquet", "json"):
        if path.suffix == f".{form}":
            return form
    raise UserError(f"{path} has no known format: end it with .csv, .parquet or .json")


def _write(table: pa.Table, output: Output, form: Format) -> None:
    if form == "json":
        output.write(json.dumps(json_value(table.to_pylist()), ensure_ascii=False) + "\n")
    else:
        rows = _flat(table) if form == "csv" else table
        output.fill(lambda file: _WRITERS[form](rows, file))


def _flat(table: pa.Table) -> pa.Table:
    """Lists as words with spaces between: CSV has no lists."""
    columns = [
        pa.array(
            [None if cell is None else " ".join(map(str, cell)) for cell in column.to_pylist()]
        )
        if pa.types.is_list(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)
