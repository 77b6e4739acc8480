"""``fourcorners runs``, ``note``, ``query`` and ``export``: the runs that are kept."""

import contextlib
import json as json_module
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from rich.table import Table
from rich.text import Text

from fourcorners.analysis.spec_sheet import claims_beside
from fourcorners.catalog.published import published_table
from fourcorners.cli.output import json_value, new_console, print_document, say, tell
from fourcorners.comparison.claims_table import claims_table
from fourcorners.errors import UserError, os_reason
from fourcorners.store import Run
from fourcorners.store.foreign import reading
from fourcorners.store.kept_runs import Choice, KeptRun, kept_runs
from fourcorners.store.notes import Notes, read_notes, write_notes
from fourcorners.store.sql import TABLES, Database, open_database, query
from fourcorners.writing import Output

Format = Literal["csv", "parquet", "json"]
_WRITERS = {"csv": pa.csv.write_csv, "parquet": pa.parquet.write_table}

# Of more rows than this the rest is in --json and --out.
_ROWS_SHOWN_MAX = 200
# As many columns can be folded and still be read.
_COLUMNS_FOLDED_MAX = 6


def list_runs(folders: Sequence[Path], choice: Choice, json: bool) -> int:
    """Lists the runs that ``choice`` takes, oldest first."""
    found = _sound(kept_runs(folders, choice, damaged=_told))
    if json:
        rows = [
            {
                **kept.to_dict(),
                "has_findings": kept.run.has_findings,
                "claims": _claims(kept),
            }
            for kept in found
        ]
        print_document("runs", {"runs": rows})
        return 0
    if not found:
        say("No such runs.")
        return 0
    table = Table(box=None, pad_edge=False)
    for column in ("run", "drive", "suite (tests)"):
        # A path can be copied only whole.
        table.add_column(column, no_wrap=column == "run", overflow="fold")
    for kept in found:
        table.add_row(*(Text(cell) for cell in _cells(kept)))
    new_console().print(table)
    return 0


def _sound(runs: Sequence[KeptRun]) -> list[KeptRun]:
    """Those of which all can be said that is said of a run here; the others are named."""
    sound = []
    for kept in runs:
        try:
            with reading([kept.run.path]):
                _cells(kept)
        except UserError as error:
            _told(f"left out: {error}")
        else:
            sound.append(kept)
    return sound


def _cells(kept: KeptRun) -> list[str]:
    row = kept.to_dict()
    marks = [] if row["status"] == "complete" else [str(row["status"])]
    if not kept.run.has_findings:
        marks.append("no findings.json")
    claims = _claims(kept)
    if claims["measured"]:
        marks.append(f"reaches {claims['reached']} of {claims['measured']} claims")
    marks += [f"#{tag}" for tag in row["tags"]]
    second_line = "\n".join(part for part in (" ".join(marks), row["note"]) if part)
    name = f"{row['path']}\n{second_line}" if second_line else row["path"]
    suite, tests = str(row["suite"] or ""), row["tests"]
    return [name, row["drive"], suite if tests == [suite] else f"{suite} ({len(tests)})"]


def _claims(kept: KeptRun) -> dict[str, int]:
    """How many claims about the drive there are, and how many the run measured and reached."""
    rows = claims_beside(kept.run.manifest, kept.run.findings)
    return {
        "known": len(rows),
        "measured": sum(row.row is not None for row in rows),
        "reached": sum(row.outcome == "reached" for row in rows),
    }


def annotate(
    paths: Sequence[Path], tag: Sequence[str], untag: Sequence[str], text: str | None
) -> int:
    """Writes tags and a note on each run and prints what is on it."""
    if not paths:
        raise UserError("no run folder: name one or several, as in runs/*")
    for bad in (word for word in tag if not word or any(sign.isspace() for sign in word)):
        raise UserError(f'"{bad}" is no tag: write one word, such as firmware-2.1')
    runs = [Run(path) for path in paths]
    for run in runs:
        notes = read_notes(run.path)
        if tag or untag or text is not None:
            notes = Notes(notes.tags, notes.text if text is None else text).tagged(tag, untag)
            write_notes(run.path, notes)
        tags = " ".join(f"#{word}" for word in notes.tags) or "no tags"
        say(f"{run.path}: {tags}" + (f": {notes.text}" if notes.text else ""))
    return 0


def ask(
    sql: str,
    folders: Sequence[Path],
    out: Path | None,
    replace: bool,
    json: bool,
    *,
    memory_bytes: int | None,
) -> int:
    """Prints or writes the result of a query over the runs in ``folders``."""
    form = None if out is None else _format_of(out)
    output = None if out is None else Output(out, replace, is_ours=_is_never_ours)
    if output is not None:
        output.check()
    with _database(folders, memory_bytes) as database:
        result = query(database, sql)
    if output is not None and form is not None:
        _write(result, output, form)
    elif json:
        columns = [{"name": field.name, "type": str(field.type)} for field in result.schema]
        print_document("query", {"columns": columns, "rows": _rows(result)})
    else:
        _print(result)
    return 0


def export(folder: Path, runs: Sequence[Path], form: Format, memory_bytes: int | None) -> int:
    """Writes a file for each table into a folder that is new or empty."""
    with _database(runs, memory_bytes) as database:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise UserError(f"{folder} is not empty: name a new folder")
        except OSError as error:
            raise UserError(f"cannot make the folder {folder}: {os_reason(error)}") from error
        for name in TABLES:
            rows = query(database, f"SELECT * FROM {name}")
            _write(rows, Output(folder / f"{name}.{form}"), form)
            say(f"{folder / name}.{form}: {rows.num_rows} rows")
    return 0


@contextlib.contextmanager
def _database(folders: Sequence[Path], memory_bytes: int | None) -> Iterator[Database]:
    runs = _sound(kept_runs(folders, whole=True, damaged=_told))
    with contextlib.ExitStack() as stack:
        with reading(folders):
            opened = open_database(runs, claims_table(runs), published_table(), memory_bytes)
            database = stack.enter_context(opened)
        yield database


def _told(sentence: str) -> None:
    tell(sentence)


def _format_of(path: Path) -> Format:
    for form in ("csv", "parquet", "json"):
        if path.suffix == f".{form}":
            return form
    raise UserError(f"{path} has no known format: end it with .csv, .parquet or .json")


def _write(table: pa.Table, output: Output, form: Format) -> None:
    if form == "json":
        output.write(json_module.dumps(_rows(table), ensure_ascii=False) + "\n")
    else:
        rows = _flat(table) if form == "csv" else table
        output.fill(lambda file: _WRITERS[form](rows, file))


def _is_never_ours(_: Path) -> bool:
    """Tables for other programs have no place for a seal."""
    return False


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


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    return [json_value(row) for row in table.to_pylist()]


def _print(table: pa.Table) -> None:
    console = new_console()
    # By columns, of which several may have one name.
    shown = [column.to_pylist() for column in table.slice(0, _ROWS_SHOWN_MAX).columns]
    rows = [[_cell(value) for value in row] for row in zip(*shown, strict=True)]
    widths = [
        max(len(cell) for cell in column) for column in zip(table.column_names, *rows, strict=True)
    ]
    if sum(widths) + 2 * len(widths) <= console.width or len(widths) < _COLUMNS_FOLDED_MAX:
        console.print(_grid(table, rows))
    else:
        # What does not fit side by side stands one below the other, as psql does with \\x.
        for number, row in enumerate(rows, start=1):
            console.print(Text(f"row {number}", style="dim"))
            name_width = max(map(len, table.column_names))
            for name, cell in zip(table.column_names, row, strict=True):
                console.print(Text(f"  {name:{name_width}}  {cell}"), soft_wrap=True)
    if table.num_rows > _ROWS_SHOWN_MAX:
        console.print(f"and {table.num_rows - _ROWS_SHOWN_MAX} more rows (--json, --out FILE)")


def _grid(table: pa.Table, rows: Sequence[Sequence[str]]) -> Table:
    shown = Table(box=None, pad_edge=False)
    for name, column in zip(table.column_names, table.columns, strict=True):
        is_text = pa.types.is_string(column.type) or pa.types.is_list(column.type)
        shown.add_column(Text(name), justify="left" if is_text else "right", overflow="fold")
    for row in rows:
        shown.add_row(*map(Text, row))
    return shown


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "" if value is None else str(value)
