"""Errors that are the user's to fix."""

import re

# 1 and 2 as shells and argument parsers have them; the next two are this program's own.
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_DAMAGED = 3
EXIT_GATE = 4
# EX_SOFTWARE of sysexits.h: a mistake of the program.
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130


# What the core says of an error of the system, with the remarks of libraries on it.
_CORE_REASON = re.compile(r"(?:External: )?\b([A-Z](?=[a-z])[^:()]*) \(os error \d+\)")


class UserError(Exception):
    """Something the user can put right.

    The message is one sentence that says what is wrong and, where it is not plain, what to do.
    ``exit_code`` is what the command line returns: 2 for bad input, 1 for a run that failed.
    """

    def __init__(self, message: str, exit_code: int = EXIT_USAGE) -> None:
        super().__init__(_CORE_REASON.sub(lambda told: told[1][0].lower() + told[1][1:], message))
        self.exit_code = exit_code


class TargetLostError(UserError):
    """The target no longer answers: nothing more is to be started on it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, EXIT_FAILED)


def is_panic(error: BaseException) -> bool:
    """Whether the compiled core found itself in a state that cannot be: its class is pyo3's, is no
    ``Exception``, and can only be told by its name."""
    return type(error).__name__ == "PanicException"


def os_reason(error: OSError) -> str:
    """What the system said, in lower case and without the number and path that Python adds."""
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]
