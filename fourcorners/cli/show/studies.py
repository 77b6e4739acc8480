"""Contests, and the reviews' experiments on the catalog's drives."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from fourcorners.cli.output import new_console
from fourcorners_validation.reproduction import Reproduction, wording
from fourcorners_validation.reproduction.checks import CheckRow
from fourcorners_validation.reproduction.figure import FigureRow

_STYLES = {"met": "green", "holds": "green", "missed": "red", "fails": "red", "not run": "dim"}


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of a contest."""
    console = new_console()
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for number, column in enumerate(head):
        table.add_column(column, justify="right" if number else "left", no_wrap=number == 0)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print()


def show_reproduction(reproduction: Reproduction) -> None:
    """Figures and checks, source by source."""
    console = new_console()
    for source in reproduction.sources:
        console.print(Text(f"{source.name}: {source.title}", style="bold"))
        console.print(_figures([r for r in reproduction.figures if r.source == source.name]))
        console.print()
        console.print(_checks([r for r in reproduction.checks if r.source == source.name]))
        console.print()
    console.print(f"Met: {wording.summary(reproduction.figures)}.", highlight=False)


def _figures(rows: Sequence[FigureRow]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("figure", ratio=1)
    for column in ("published", "simulated", "error"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("", no_wrap=True)
    drive = None
    for row in rows:
        if row.drive_name != drive:
            drive = row.drive_name
            table.add_row(Text(drive, style="underline"))
        table.add_row(
            _with_reason(row.published.what, row.reason),
            wording.published_words(row.published),
            wording.simulated_words(row),
            wording.error_words(row),
            wording.standing_words(row),
            Text(row.verdict, style=_STYLES[row.verdict]),
        )
    return table


def _checks(rows: Sequence[CheckRow]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("headline result", ratio=1)
    table.add_column("", no_wrap=True)
    for row in rows:
        table.add_row(
            row.check.headline,
            _with_reason(f"{row.check.claim} {row.measured}".rstrip(), row.reason),
            Text(row.verdict, style=_STYLES[row.verdict]),
        )
    return table


def _with_reason(text: str, reason: str | None) -> Text:
    return Text(text) if reason is None else Text(text).append(f"\n{reason}", style="dim")
