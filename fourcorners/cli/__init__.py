"""The command line: the same calls as the Python API, and one sentence for every mistake."""

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import cyclopts

from fourcorners.cli.app import app
from fourcorners.cli.supervisor import supervised
from fourcorners.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE, UserError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code; see docs/cli.md."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(tokens, exit_on_error=False, print_error=False) or 0
        # Here rather than at exit, where a closed pipe could only be a traceback.
        sys.stdout.flush()
    except UserError as error:
        return _complain(str(error), error.exit_code)
    except cyclopts.CycloptsError as error:
        return _complain(" ".join(str(error).split()), EXIT_USAGE)
    except KeyboardInterrupt:
        return _complain("stopped by Ctrl-C", EXIT_INTERRUPTED)
    except BrokenPipeError:
        # Whoever reads the output has seen enough, as in "fourcorners drives | head".
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("FOURCORNERS_DEBUG") == "1":
            traceback.print_exc()
        text = " ".join(str(error).split())
        return _complain(
            f"unexpected {type(error).__name__}: {text}; please report this with the output of "
            "the same command under FOURCORNERS_DEBUG=1",
            EXIT_FAILED,
        )
    return int(code)


def entry() -> NoReturn:
    """The command as a process."""
    sys.exit(supervised(_main_alone))


def _main_alone() -> int:
    code = main()
    # All is said: Ctrl-C while the interpreter ends would only spoil the exit code.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


def _complain(message: str, code: int) -> int:
    print(f"fourcorners: {message}", file=sys.stderr)
    return code
