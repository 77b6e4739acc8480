"""A drive that another program simulates, as a target: ``exec:COMMAND``.

The program is a child process in virtual time; docs/foreign-drives.md describes what it is told and
what it answers. A command is only ever started where a person wrote it: on the command line, or as
the argument of a call.
"""

import hashlib
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

from fourcorners import _core
from fourcorners.errors import EXIT_FAILED, EXIT_USAGE, UserError
from fourcorners.input_files import check_regular
from fourcorners.target.target import check_idle, io_limit_ns
from fourcorners.target.virtual import VirtualTarget

FOREIGN_PREFIX = "exec:"


class ForeignTarget(VirtualTarget):
    """A drive in the virtual time of another program."""

    core: "_core.ForeignDrive"

    def __init__(self, locator: str, seed: int, silence_s: float | None = None) -> None:
        """Starts the program; raises :class:`UserError` for one that is no drive.

        ``silence_s`` is how long it may take for one answer, 60 seconds by default.
        """
        self.locator = locator
        self._command = words_of(locator)
        self._seed = seed
        self._limit = io_limit_ns(silence_s)
        self.core = self._made(EXIT_USAGE)
        self.name = self.core.name
        self.capacity_bytes = self.core.capacity_bytes
        self.keeps_state = self.core.keeps_state
        if not self.core.can_trim:
            self.no_trim_reason = f"{self.name} has no TRIM"
        self.no_state_reason = (
            None if self.core.can_save else "the drive's program cannot save its state"
        )

    @property
    def notes(self) -> list[str]:
        return ["The drive is simulated by another program."]

    @property
    def truths(self) -> dict[str, Any]:
        """What the program says is true of its drive, by the names of findings."""
        truths: dict[str, Any] = json.loads(self.core.truths_json)
        return truths

    def purge(self) -> None:
        if self.core.can_purge:
            self._do(self.core.purge)
        else:
            # A drive as it was delivered holds no data, as an erased one.
            self.core = self._made()

    def idle(self, seconds: float) -> None:
        check_idle(seconds)
        self._do(self.core.idle, round(seconds * 1e9))

    def trim(self, offset: int, count: int) -> None:
        self._do(self.core.trim, offset, count)

    def power_cut(self) -> list[tuple[int, int]]:
        """As :meth:`fourcorners.target.simulated.SimulatedTarget.power_cut`."""
        lost: list[tuple[int, int]] = self._do(self.core.power_cut)
        return lost

    def save(self, path: str | Path, *, replace: bool = False) -> None:
        with self.state_output(path, replace).replacing() as temporary:
            self._do(self.core.save, str(temporary.absolute()))

    def load(self, path: str | Path) -> None:
        check_regular(Path(path), "the state")
        self._do(self.core.load, str(Path(path).absolute()))

    def counters(self) -> dict[str, float]:
        """What the program's model counted."""
        counters: dict[str, float] = self._do(self.core.counters)
        return counters

    def close(self) -> None:
        self.core.close()

    def _sha256(self) -> str:
        """Of the command, of the files that it names, and of what the program says it is."""
        digest = hashlib.sha256()
        program = shutil.which(self._command[0])
        for word in ([program] if program else []) + self._command:
            digest.update(word.encode() + b"\0")
            if Path(word).is_file():
                with Path(word).open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        digest.update(f"{self.name}\0{self.capacity_bytes}".encode())
        return digest.hexdigest()

    def _made(self, exit_code: int = EXIT_FAILED) -> "_core.ForeignDrive":
        try:
            return _core.ForeignDrive(self._command, self._seed, **self._limit)
        except (ValueError, OSError) as error:
            raise UserError(f"{self.locator}: {error}", exit_code) from error

    def _do(self, act: Any, *arguments: Any) -> Any:
        try:
            return act(*arguments)
        except (ValueError, OSError) as error:
            raise UserError(f"{self.locator}: {error}", EXIT_FAILED) from error


def is_foreign(locator: str) -> bool:
    """Whether a locator is a command that is a drive."""
    return locator.startswith(FOREIGN_PREFIX)


def words_of(locator: str) -> list[str]:
    """The command's words, as a shell would split them; no shell is started."""
    if not is_foreign(locator):
        raise UserError(f"{locator} is no program: use {FOREIGN_PREFIX}COMMAND")
    try:
        words = shlex.split(locator.removeprefix(FOREIGN_PREFIX))
    except ValueError as error:
        raise UserError(f"{locator}: the command has an open quotation mark") from error
    if not words:
        raise UserError(f'{locator}: write a command after it, such as "exec:./drive"')
    return words
