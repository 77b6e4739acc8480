"""``fourcorners reproduce``: the reviews' experiments on the catalog's drives."""

import dataclasses
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from fourcorners.cli.output import new_console, print_document, say, tell
from fourcorners.errors import EXIT_FAILED, UserError
from fourcorners.suites.parameters import unknown
from fourcorners.validation.reproduction import SOURCES, Reproduction, reproduce, wording
from fourcorners.validation.reproduction.checks import CheckRow
from fourcorners.validation.reproduction.figure import FigureRow
from fourcorners.validation.reproduction.markdown import render_markdown
from fourcorners.validation.reproduction.page import render_page
from fourcorners.writing import Output, sealed

PAGE, DOCUMENT = "reproduction.html", "reproduction.md"
_STYLES = {"met": "green", "holds": "green", "missed": "red", "fails": "red", "not run": "dim"}


def run(
    only: Sequence[str] | None, write: Path | None, replace: bool, jobs: int, json: bool
) -> int:
    """Prints the tables, writes page and document, and returns 1 when something that is missed
    has no known reason."""
    if write is not None and not write.is_dir():
        raise UserError(f"cannot write to {write}: it is not a folder")
    for name in only or ():
        if name not in SOURCES:
            raise UserError(f"--only: {unknown('source', name, list(SOURCES))}")
    if write is not None:
        for name in (PAGE, DOCUMENT):
            Output(write / name, replace).check()
    # Spawned, not forked: nothing of this process is shared by accident.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as executor:
        reproduction = reproduce(executor, sources=only or tuple(SOURCES), progress=_tell)
    if json:
        print_document("reproduction", document(reproduction))
    else:
        _print(reproduction)
    if write is not None:
        _write(reproduction, write, replace, quiet=json)
    return EXIT_FAILED if reproduction.unexplained else 0


def _tell(key: str, done: int, count: int) -> None:
    tell(f"{done} of {count}: {key}")


def _write(reproduction: Reproduction, folder: Path, replace: bool, *, quiet: bool) -> None:
    for name, render in ((PAGE, render_page), (DOCUMENT, render_markdown)):
        path = folder / name
        Output(path, replace).write(sealed(render(reproduction)))
        if not quiet:
            say(f"Written: {path}")


def _print(reproduction: Reproduction) -> None:
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


def document(reproduction: Reproduction) -> dict[str, Any]:
    """What ``reproduce --json`` prints."""
    return {
        "figures": [dataclasses.asdict(row) for row in reproduction.figures],
        "checks": [
            {
                "source": row.source,
                "headline": row.check.headline,
                "claim": row.check.claim,
                "rule": row.check.rule,
                "measured": row.measured,
                "standing": row.standing,
                "verdict": row.verdict,
                "reason": row.reason,
            }
            for row in reproduction.checks
        ],
    }
