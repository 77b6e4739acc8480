"""Runs that are kept, and the rows of a query."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from rich.table import Table
from rich.text import Text

from fourcorners.cli.output import new_console, say
from fourcorners.keeping import ListedRun
from fourcorners.store.kept_runs import KeptRun

# Of more rows than this the rest is in --json and --out.
_ROWS_SHOWN_MAX = 200
# As many columns can be folded and still be read.
_COLUMNS_FOLDED_MAX = 6


def show_runs_kept(listed: Sequence[ListedRun]) -> None:
    """A row for each run."""
    if not listed:
        say("No such runs.")
        return
    table = Table(box=None, pad_edge=False)
    for column in ("run", "drive", "suite (tests)"):
        # A path can be copied only whole.
        table.add_column(column, no_wrap=column == "run", overflow="fold")
    for one in listed:
        table.add_row(*(Text(cell) for cell in _cells(one)))
    new_console().print(table)


def _cells(one: ListedRun) -> list[str]:
    row = one.row
    marks: list[str] = [] if row.status == "complete" else [row.status]
    if not one.run.has_findings:
        marks.append("no findings.json")
    if one.claims_measured:
        marks.append(f"reaches {one.claims_reached} of {one.claims_measured} claims")
    marks += [f"#{tag}" for tag in row.tags]
    second_line = "\n".join(part for part in (" ".join(marks), row.note) if part)
    name = f"{row.path}\n{second_line}" if second_line else row.path
    suite, tests = row.suite, row.tests
    return [name, row.drive, suite if tests == [suite] else f"{suite} ({len(tests)})"]


def show_notes(noted: Sequence[KeptRun]) -> None:
    """A line for each run."""
    for one in noted:
        tags = " ".join(f"#{word}" for word in one.notes.tags) or "no tags"
        say(f"{one.run.path}: {tags}" + (f": {one.notes.text}" if one.notes.text else ""))


def show_rows(table: pa.Table) -> None:
    """The result of a query, side by side where it fits."""
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
