"""Whether a program is a drive as the protocol wants it (docs/foreign-drives.md)."""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from fourcorners import _core
from fourcorners.documents import Seed
from fourcorners.errors import UserError
from fourcorners.target.foreign import words_of
from fourcorners.target.target import check_seed, io_limit_ns


@dataclass(frozen=True)
class ProtocolCheck:
    """One check: what is ``wanted``, as a sentence without its end; whether it ``holds``, ``None``
    where the drive does not say that it can, or it was not checked; and ``why`` not."""

    wanted: str
    holds: bool | None
    why: str


@dataclass(frozen=True)
class ConformanceDocument:
    """The checks of one program."""

    locator: str
    seed: Seed
    checks: Sequence[ProtocolCheck]


def conformance(
    locator: str, *, seed: int = 1, silence_s: float | None = None
) -> list[ProtocolCheck]:
    """Starts the program of ``exec:COMMAND`` anew for each check of everything that it says it can.

    Args:
        locator: the program.
        seed: root of the drive's randomness.
        silence_s: how long the program may take for one answer, 60 seconds by default.

    Raises :class:`UserError` for a locator that is no command, or one of a program that is not
    there, and for a seed or time that is none.
    """
    check_seed(seed)
    limit = io_limit_ns(silence_s)
    words = words_of(locator)
    if shutil.which(words[0]) is None:
        raise UserError(f"{locator}: cannot start {words[0]}: there is no such program")
    with tempfile.TemporaryDirectory() as folder:
        checks = _core.foreign_conformance(words, seed, folder, **limit)
    return [ProtocolCheck(*check) for check in checks]
