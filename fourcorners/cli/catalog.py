"""``drives``, ``tests`` and ``completion``: what there is to be run, and on what."""

from typing import Annotated, Literal

from cyclopts import Parameter

from fourcorners.cli.options import Flag, Json, examples
from fourcorners.cli.output import shown
from fourcorners.cli.root import app


@app.command(
    help_epilogue=examples(
        "drives",
        "drives vector --json",
        "drives vector --toml",
        "drives --check mine.toml",
    ),
)
def drives(
    name: str | None = None,
    /,
    *,
    check: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    toml: Flag = False,
    json: Json = False,
) -> int:
    """List the simulated drives, or show one drive's parameters with units and sources.

    Parameters
    ----------
    name
        The drive to show; a part of its name is enough. raid0:4xNAME shows an array, and
        ./mydrive.toml a drive file of your own, after checking it.
    check
        A drive file to check and nothing else; - reads it from standard input.
    toml
        Print the drive file, to begin one of your own from.
    """
    from fourcorners.catalog import ListedDrive, ListedDrives
    from fourcorners.cli.output import print_document, say
    from fourcorners.cli.show.drives import show_drive, show_drives
    from fourcorners.errors import UserError
    from fourcorners.target import drives as known
    from fourcorners.wording import chosen_size

    if check is not None and (name is not None or toml or json):
        raise UserError("--check names a drive file: leave out everything else")
    if toml and (json or name is None):
        raise UserError("--toml prints a drive's own file: name the drive, and leave out --json")
    if check is not None:
        target = known.made_of(known.drives(check), check)
        size = chosen_size(target.capacity_bytes)
        say(f"{check}: nothing is wrong: {target.name}, {size}")
    elif name is None:
        listed = known.drives()
        if json:
            rows = (ListedDrive(one.id, one.name, one.kind, one.summary) for one in listed)
            print_document("drives", ListedDrives(tuple(rows)))
        else:
            show_drives(listed)
    else:
        drive = known.drives(name)
        if toml:
            say(drive.text.rstrip("\n"))
        else:
            return shown(json, "drive", drive, show_drive)
    return 0


@app.command(
    name="tests",
    help_epilogue=examples(
        "tests",
        "tests queue-depth",
    ),
)
def list_tests(name: str | None = None, /, *, json: Json = False) -> int:
    """List the tests and suites, or show one test's parameters.

    Parameters
    ----------
    name
        The test to show.
    """
    from fourcorners.cli.show.tests import show_test, show_tests
    from fourcorners.suites import listing

    if name is None:
        return shown(json, "tests", listing.list_tests(), show_tests)
    return shown(json, "test", listing.list_tests(name), show_test)


@app.command(
    help_epilogue=examples(
        "completion bash",
    ),
)
def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print the script that completes commands in a shell: source <(fourcorners completion bash)

    Parameters
    ----------
    shell
        bash, zsh or fish.
    """
    from fourcorners.cli.completion import script
    from fourcorners.cli.output import say

    say(script(app, shell))
    return 0
