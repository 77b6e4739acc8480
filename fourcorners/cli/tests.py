"""``fourcorners tests``: what can be run."""

from typing import Any

from rich.table import Table
from rich.text import Text

from fourcorners.cli.output import new_console, print_document
from fourcorners.errors import UserError
from fourcorners.suites import TESTS, find_suite, suite_names
from fourcorners.suites.definition import Definition
from fourcorners.suites.parameters import declared, shown_default, unknown


def run(name: str | None, json: bool) -> int:
    """Lists all tests and suites, or shows one test."""
    if name is None:
        _list(json)
        return 0
    if name not in TESTS:
        raise UserError(unknown("test", name, list(TESTS)))
    _show(TESTS[name], json)
    return 0


def _list(json: bool) -> None:
    suites = [find_suite(name) for name in suite_names()]
    if json:
        print_document(
            "tests",
            {
                "tests": [_document(definition) for definition in TESTS.values()],
                "suites": [
                    {
                        "name": suite.name,
                        "title": suite.title,
                        "tests": [entry.name for entry in suite.entries],
                    }
                    for suite in suites
                ],
            },
        )
        return
    console = new_console()
    table = Table(box=None, pad_edge=False)
    for column in ("test", "shows, after"):
        table.add_column(column, no_wrap=column == "test")
    for test in TESTS.values():
        shows = Text.assemble(test.purpose, (f"  {test.source}", "dim"))
        table.add_row(Text(test.name, style="bold"), shows)
    console.print(table)
    console.print()
    table = Table(box=None, pad_edge=False)
    for column in ("suite", "tests"):
        table.add_column(column, no_wrap=column == "suite")
    for suite in suites:
        names = ", ".join(entry.name for entry in suite.entries)
        table.add_row(Text(suite.name, style="bold"), f"{suite.title}: {names}")
    console.print(table)
    console.print()
    console.print("fourcorners run TEST TARGET [--dry-run] [--quick] [--with PARAMETER=VALUE]")


def _document(definition: Definition) -> dict[str, Any]:
    return {
        "name": definition.name,
        "title": definition.title,
        "source": definition.source,
        "purpose": definition.purpose,
        "parameters": {
            name: {
                "default": shown_default(field),
                "help": field.metadata["help"],
            }
            for name, field in declared(definition.parameters).items()
        },
    }


def _show(definition: Definition, json: bool) -> None:
    document = _document(definition)
    if json:
        print_document("test", document)
        return
    console = new_console()
    console.print(Text(f"{definition.name}: {definition.title}", style="bold"))
    console.print(Text(f"{definition.purpose} (after: {definition.source})"))
    console.print(Text(" ".join((definition.plan.__doc__ or "").split())))
    console.print()
    table = Table(box=None, pad_edge=False)
    for column in ("parameter", "default", "is"):
        table.add_column(column)
    for name, parameter in document["parameters"].items():
        table.add_row(Text(name, style="bold"), parameter["default"], parameter["help"])
    console.print(table)
