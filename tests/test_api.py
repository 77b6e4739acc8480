"""Every command is a call of the package with the same name and the same parameters.

Both sides are read from the program: the command line from its commands, the package from the
signatures of its calls.
"""

import dataclasses
import inspect
import re
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cyclopts import App

import fourcorners as fc
from fourcorners.cli.app import app
from fourcorners.cli.options import RunFlags

DOCS = Path(__file__).parents[1] / "docs" / "python.md"
# How a command shows what its call returned; a plan is what `preview_runs` returns.
SHOWN = {"json", "quiet", "progress", "dry_run", "check", "toml"}
# What a program passes that a person at a terminal does not.
PASSED = {"command", "progress", "tell", "watch"}
# Commands that take several targets; the call of the same name takes one.
SEVERAL = {"targets", "jobs"}
# A stream, which the command line takes in parts.
PARTS = {"prepare": {"pattern", "block_size", "span"}, "top": {"once"}}
# It prints for shells.
NO_CALL = {"completion"}


def commands(of: App, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Callable[..., int]]]:
    for name in of:
        if name.startswith("-"):
            continue
        command = of[name]
        if command.default_command is not None and name not in NO_CALL:
            yield " ".join((*path, name)), command.default_command
        yield from commands(command, (*path, name))


COMMANDS = dict(commands(app))


def parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """Names with defaults, those of a class of options one by one; ``...`` without a default."""
    hints = typing.get_type_hints(function, include_extras=True)
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if dataclasses.is_dataclass(flags := hints[name]):
            found |= {field.name: field.default for field in dataclasses.fields(flags)}
        elif parameter.kind is parameter.VAR_KEYWORD:
            [options] = typing.get_args(hints[name])
            found |= dict.fromkeys(options.__annotations__, ...)
        else:
            found[name] = ... if parameter.default is parameter.empty else parameter.default
    return found


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 20


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_the_call_of_its_name(command: str) -> None:
    function = COMMANDS[command]
    name = function.__name__
    assert name.removeprefix("list_").removesuffix("_") == re.sub("[ -]", "_", command)
    call = getattr(fc, name)
    assert name in fc.__all__
    assert call.__doc__
    typed = parameters(function)
    own = parameters(call)
    if "targets" in typed:
        several = parameters(fc.run_each)
        assert own.pop("target") is ...
        own |= {name: several[name] for name in SEVERAL}
    given = own.keys() - PASSED
    # The check of a crash test is no way to show something.
    assert typed.keys() - (SHOWN - given) - PARTS.get(command, set()) == given


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_left_out_means_the_same(command: str) -> None:
    function = COMMANDS[command]
    typed, own = parameters(function), parameters(getattr(fc, function.__name__))
    for name in (typed.keys() & own.keys()) - SHOWN:
        here, there = typed[name], own[name]
        if ... in (here, there):
            continue
        # A path or text; nothing or an empty list.
        assert str(here) == str(there) or (not here and not there), name


def test_the_options_of_runs_are_those_that_the_command_line_gives() -> None:
    given = RunFlags().given()
    hints = typing.get_type_hints(fc.run_each, include_extras=True)
    [options] = typing.get_args(hints["options"])
    assert given.keys() == options.__annotations__.keys()


@pytest.mark.parametrize("name", sorted({f.__name__ for f in COMMANDS.values()}))
def test_the_documents_have_an_example_of_every_call(name: str) -> None:
    assert f"fc.{name}(" in DOCS.read_text("utf-8")


def test_json_is_the_object_encoded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    from fourcorners.cli import main
    from fourcorners.writing import json_value

    run = fc.run("queue-depth", "sim:ocz-core-64gb", scale=0.01, out=tmp_path)
    for words, returned in (
        (["tests"], fc.list_tests()),
        (["drives", "ocz-core-64gb"], fc.drives("ocz-core-64gb")),
        (["report", str(run.path)], fc.report(run.path)),
    ):
        assert main([*words, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document.pop("schema_version") == 1
        del document["schema"]
        assert document == json.loads(json.dumps(json_value(returned))), words
    assert main(["runs", str(tmp_path), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["runs"]
    assert listed == json.loads(json.dumps(json_value(fc.runs(tmp_path))))
