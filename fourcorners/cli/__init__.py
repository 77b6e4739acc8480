"""The command line: the same calls as the Python API, and one sentence for every mistake."""

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from datetime import date
from typing import NoReturn

import cyclopts

from fourcorners.cli.app import app
from fourcorners.cli.output import tell
from fourcorners.cli.streams import Streams, open_missing
from fourcorners.cli.supervisor import supervised
from fourcorners.errors import (
    EXIT_FAILED,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    UserError,
    os_reason,
)
from fourcorners.running import interrupt


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code; see docs/cli.md."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    if any("\0" in token for token in tokens):
        return _complain("an argument has a NUL character in it: leave it out", EXIT_USAGE)
    with interrupt.raising():
        try:
            code = app(tokens, exit_on_error=False, print_error=False) or 0
        except UserError as error:
            return _complain(str(error), error.exit_code)
        except cyclopts.CycloptsError as error:
            return _complain(_in_words(error), EXIT_USAGE)
        except KeyboardInterrupt:
            return _complain(interrupt.stopped_by(), _as_shells_say(EXIT_INTERRUPTED))
        except (SystemExit, GeneratorExit):
            raise
        except OSError as error:
            place = "" if error.filename is None else f"{error.filename}: "
            return _complain(f"{place}{os_reason(error)}", EXIT_FAILED)
        except BaseException as error:  # a panic of the core is no Exception
            if os.environ.get("FOURCORNERS_DEBUG") == "1":
                traceback.print_exc()
            return _complain(
                f"unexpected {type(error).__name__}: {error}; please report this with the output "
                "of the same command under FOURCORNERS_DEBUG=1",
                EXIT_INTERNAL,
            )
    return _as_shells_say(int(code))


def entry() -> NoReturn:
    """The command as a process."""
    open_missing()
    sys.exit(supervised(_main_alone))


def _main_alone() -> int:
    streams = Streams()
    code = _as_shells_say(EXIT_INTERRUPTED)
    with contextlib.suppress(KeyboardInterrupt):
        code = main()
        _ignore_signals()
    _ignore_signals()
    if (reason := streams.lost()) is not None:
        return _complain(f"cannot write to standard output: {reason}", code or EXIT_FAILED)
    return code


def _ignore_signals() -> None:
    """All is said: Ctrl-C while the interpreter ends would only spoil the exit code."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)


def _as_shells_say(code: int) -> int:
    """128 and the number of the signal that ended the command."""
    asked = interrupt.last_signal()
    return 128 + asked if code == EXIT_INTERRUPTED and asked is not None else code


_WANTED = {
    float: "a number, such as 0.5",
    int: "a whole number",
    date: "a day, such as 2026-11-23",
}


def _in_words(error: cyclopts.CycloptsError) -> str:
    """What is wrong with the arguments, without the names of Python's types."""
    if isinstance(error, cyclopts.CoercionError) and error.token is not None:
        wanted = next((w for kind, w in _WANTED.items() if error.target_type is kind), None)
        if wanted is not None:
            return f'{error.token.keyword or "an argument"} "{error.token.value}": use {wanted}'
    if type(error) is cyclopts.MissingArgumentError and error.argument and not error.tokens_so_far:
        command = " ".join(error.command_chain or ())
        missing = f"{error.argument.name} is missing"
        if error.keyword:
            missing = f"{error.keyword} needs a value"
        return f'{missing}: see "fourcorners {command} --help"'
    return str(error)


def _complain(message: str, code: int) -> int:
    """Says it in one line."""
    tell(f"fourcorners: {' '.join(message.split())}")
    return code
