"""Help texts: every command has one with examples that are valid, in 80 columns."""

import io
import re
import shlex
from pathlib import Path

import pytest
from cyclopts import App
from rich.console import Console

from fourcorners import errors
from fourcorners.cli.app import app

DOCS = Path(__file__).parents[1] / "docs" / "cli.md"


def commands(of: App, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every command as it is typed, groups of commands left out."""
    found = []
    for name in of:
        if name.startswith("-"):
            continue
        below = commands(of[name], (*path, name))
        found += below or [(*path, name)]
    return found


def help_of(command: tuple[str, ...]) -> str:
    out = io.StringIO()
    app([*command, "--help"], console=Console(file=out, width=80), exit_on_error=False)
    return out.getvalue()


@pytest.mark.parametrize("command", commands(app), ids=" ".join)
def test_every_command_has_help_with_examples_that_parse(command: tuple[str, ...]) -> None:
    text = help_of(command)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "[default: False]" not in text
    assert "[default: ()]" not in text
    told, _, examples = text.partition("Examples:")
    assert told.splitlines()[2].strip()
    # A line that does not fit goes on with the next.
    lines = re.split(r"^fourcorners ", " ".join(examples.split()).replace(" fourcorners ", "\n"
                     "fourcorners "), flags=re.MULTILINE)[1:]  # fmt: skip
    assert lines
    for line in lines:
        tokens = shlex.split(line)
        assert tuple(tokens[: len(command)]) == command
        app.parse_args(tokens, exit_on_error=False, print_error=False)


def test_every_command_and_its_own_options_are_documented() -> None:
    text = DOCS.read_text("utf-8")
    for command in commands(app):
        assert re.search(rf"^## .*\b{command[0]}\b", text, re.MULTILINE), command
        for option in set(re.findall(r"^│\s+(--[a-z-]+)", help_of(command), re.MULTILINE)):
            assert option in text, (command, option)


def test_every_command_has_json_or_the_documents_say_why_not() -> None:
    [without] = re.findall(r"((?:`\w+`[, and]+)+)have no `--json`", " ".join(
        DOCS.read_text("utf-8").split()))  # fmt: skip
    exceptions = set(re.findall(r"`(\w+)`", without))
    for command in commands(app):
        assert ("--json" in help_of(command)) != (command[0] in exceptions), command


def test_every_exit_code_is_documented() -> None:
    table = DOCS.read_text("utf-8").partition("## Exit codes")[2]
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)}
    codes = {value for name, value in vars(errors).items() if name.startswith("EXIT_")}
    assert documented == codes | {0}
