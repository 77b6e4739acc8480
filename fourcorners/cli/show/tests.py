"""What can be run."""

from rich.table import Table
from rich.text import Text

from fourcorners.cli.output import new_console
from fourcorners.suites.listing import DescribedTest, TestsAndSuites


def show_tests(known: TestsAndSuites) -> None:
    """All tests and suites."""
    tests = [(one.name, _with_source(one)) for one in known.tests]
    suites = [(one.name, Text(f"{one.title}: {', '.join(one.tests)}")) for one in known.suites]
    console = new_console()
    for heads, rows in ((("test", "shows"), tests), (("suite", "tests"), suites)):
        table = Table(box=None, pad_edge=False)
        table.add_column(heads[0], no_wrap=True)
        table.add_column(heads[1])
        for name, text in rows:
            table.add_row(Text(name, style="bold"), text)
        console.print(table)
        console.print()
    console.print("fourcorners run TEST TARGET [--dry-run] [--quick] [--with PARAMETER=VALUE]")


def _with_source(test: DescribedTest) -> Text:
    return Text.assemble(test.purpose, (f" (after: {test.source})", "dim"))


def show_test(test: DescribedTest) -> None:
    """One test and its parameters."""
    console = new_console()
    console.print(Text(f"{test.name}: {test.title}", style="bold"))
    console.print(Text(f"{test.purpose} (after: {test.source})"))
    console.print(Text(test.does))
    console.print()
    table = Table(box=None, pad_edge=False)
    for column in ("parameter", "default", "is"):
        table.add_column(column)
    for name, parameter in test.parameters.items():
        table.add_row(Text(name, style="bold"), parameter["default"], parameter["help"])
    console.print(table)
