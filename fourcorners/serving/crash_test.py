"""Runs a program on a served drive, cuts power, and lets a check say whether what it needs is
still there."""

import math
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fourcorners.catalog.settings import Setting
from fourcorners.errors import EXIT_FAILED, UserError, os_reason
from fourcorners.serving.served import Served, serve, split_words
from fourcorners.serving.session import Session

URI, FILE, DEVICE = "{uri}", "{file}", "{device}"
"""In a command, where the drive is: its NBD address, its file (FUSE), and its block device (a loop
device on that file). It is served in the ways that the commands name."""

_ENDS_S = 5.0
"""A session needs less to end after a loss of power, which the program may notice first."""

_OUTPUT_MAX = 2000
"""Characters of a check's output that are kept: its last sentences."""


@dataclass(frozen=True)
class CrashCut:
    """A loss of power and what the check said after it.

    ``write`` is the write with which power failed, counted from 1, TRIMs and zeroes among them;
    where the program had ended with fewer, the one after its last. ``lost`` has the ranges (offset
    and length) whose latest acknowledged write was lost; ``exit_code`` and ``output`` are the
    check's.
    """

    write: int
    lost: Sequence[tuple[int, int]]
    exit_code: int
    output: str

    @property
    def passed(self) -> bool:
        """Whether the check found nothing wrong."""
        return self.exit_code == 0


@dataclass(frozen=True)
class CrashTest:
    """The cuts of a test, in the order in which they were made."""

    writes: int
    """Of the program, when power does not fail; TRIMs and zeroes are among them."""
    cuts: Sequence[CrashCut]

    @property
    def failed(self) -> Sequence[CrashCut]:
        """Cuts after which the check failed."""
        return [cut for cut in self.cuts if not cut.passed]


def crash_test(
    serve: str,
    *,
    workload: str,
    check: str,
    cuts: int = 20,
    at_write: int | None = None,
    time_limit_s: float = 60.0,
    settings: Mapping[str, Setting] | None = None,
    seed: int = 1,
    tell: Callable[[str], None] | None = None,
) -> CrashTest:
    """Cuts power while a program writes to a drive, and checks what is left, again and again.

    Each cut begins with a new drive. ``workload`` is started, power fails with the write that was
    drawn, the program is ended, the drive comes back, and ``check`` is started. Commands are split
    into words as a shell would, and no shell is started; in them ``{uri}`` is the drive's NBD
    address, ``{file}`` its path as a file (FUSE), and ``{device}`` its block device, which needs
    root. A file system on that device may stay mounted: it is unmounted after each command.

    Args:
        serve: the drive, as for :func:`fourcorners.serve`.
        workload: the command that writes.
        check: the command that exits with 0 if everything is there that should be.
        cuts: how many.
        at_write: only this cut, to repeat one.
        time_limit_s: how long either command may take.
        settings: parameters of the drive to replace.
        seed: what the cuts are drawn from, and the drive's own randomness.
        tell: told of each cut.

    Raises:
        UserError: a command that cannot be started, or a workload that writes nothing, fails
            without a loss of power, or does not come to one in its time.
    """
    if cuts < 1 or not 0 < time_limit_s < math.inf:
        raise UserError("use at least one cut, and a time limit above 0 s")
    if at_write is not None and at_write < 1:
        raise UserError(f"write {at_write}: writes are counted from 1")
    trial = _Trial(serve, workload, check, time_limit_s, settings, seed)
    writes = trial.count_writes()
    draws = random.Random(seed)
    points = [draws.randint(1, writes) for _ in range(cuts)] if at_write is None else [at_write]
    made = []
    for write in points:
        cut = trial.cut(write)
        made.append(cut)
        if tell is not None:
            lost = sum(length for _, length in cut.lost)
            outcome = "passed" if cut.passed else f"failed ({cut.exit_code})"
            tell(f"write {cut.write}: {lost} bytes lost, check {outcome}")
    return CrashTest(writes, made)


@dataclass(frozen=True)
class _Trial:
    locator: str
    workload: str
    check: str
    time_limit_s: float
    settings: Mapping[str, Setting] | None
    seed: int

    def count_writes(self) -> int:
        with _folder() as name:
            with (
                self._serving(Path(name)) as served,
                self._running(self.workload, served) as process,
            ):
                code, output = self._finish(process)
            count = _writes_of(_ended(served))
        if code != 0:
            raise _failed_alone(code, output)
        if count == 0:
            raise UserError(
                "the workload wrote nothing to the drive: give it {uri}, {file} or {device}"
            )
        return count

    def cut(self, write: int) -> CrashCut:
        with _folder() as name:
            folder = Path(name)
            faults = folder / "faults.toml"
            faults.write_text(
                f'[[fault]]\nkind = "power-cut"\non = "write"\nfrom-io = {write}\n', "utf-8"
            )
            with self._serving(folder, faults=faults) as served:
                with self._running(self.workload, served, output=subprocess.DEVNULL) as process:
                    has_come = self._await_write(served, process, write)
                # The program is gone before file systems that it uses are unmounted, to which
                # the write may belong.
                if not has_come:
                    served.release()
                    if not served.wait(_ENDS_S):
                        served.command("power-cut")
                        served.wait()
                        write = 0
            session = _ended(served)
            [happened] = session.events["power_cuts"]
            write = write or _writes_of(session) + 1
            with (
                self._serving(folder) as served,
                self._running(self.check, served) as process,
            ):
                code, output = self._finish(process)
            _ended(served)
        lost = [(offset, length) for offset, length in happened["lost"]]
        return CrashCut(write, lost, code, output)

    def _await_write(self, served: Served, process: "subprocess.Popen[str]", write: int) -> bool:
        """Waits until power has failed, with that write; whether it has, and the program has not
        ended before."""
        deadline = time.monotonic() + self.time_limit_s
        while not served.wait(0.02):
            if process.poll() is not None:
                # Power may have failed, and the program have ended because of that.
                has_failed = served.wait(_ENDS_S)
                if not has_failed and process.returncode != 0:
                    raise _failed_alone(process.returncode, "")
                return has_failed
            if time.monotonic() > deadline:
                raise UserError(
                    f"the workload did not come to write {write} within {self.time_limit_s:g} s: "
                    "give it more time, or fewer writes",
                    EXIT_FAILED,
                )
        return True

    def _serving(self, folder: Path, faults: Path | None = None) -> Served:
        commands = self.workload + self.check
        loop = DEVICE in commands
        fuse = loop or FILE in commands
        return serve(
            self.locator,
            nbd=f"unix:{folder}/drive" if URI in commands or not fuse else None,
            fuse=folder / "file" if fuse else None,
            loop=loop,
            data=folder / "data",
            faults=faults,
            settings=self.settings,
            seed=self.seed,
            out=folder / "runs",
        )

    @contextmanager
    def _running(
        self, command: str, served: Served, output: int = subprocess.PIPE
    ) -> "Iterator[subprocess.Popen[str]]":
        """A command, which is ended with all that it started, as a loss of power does, whatever
        happens meanwhile."""
        places = {URI: served.nbd, FILE: served.file, DEVICE: served.device}
        words = split_words(command)
        for name, place in places.items():
            words = [word.replace(name, str(place)) for word in words]
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        except (OSError, IndexError) as error:
            why = os_reason(error) if isinstance(error, OSError) else "it is empty"
            raise UserError(f'"{command}" cannot be started: {why}') from error
        try:
            yield process
        finally:
            _end(process)

    def _finish(self, process: "subprocess.Popen[str]") -> tuple[int, str]:
        """Exit code and output; a command that takes too long is ended, and has failed."""
        try:
            output, _ = process.communicate(timeout=self.time_limit_s)
        except subprocess.TimeoutExpired:
            return _end(process), f"it took longer than {self.time_limit_s:g} s"
        return process.returncode, output[-_OUTPUT_MAX:].strip()


def _folder() -> "tempfile.TemporaryDirectory[str]":
    # What the host still uses stays, and _ended says so.
    return tempfile.TemporaryDirectory(prefix="fourcorners-", ignore_cleanup_errors=True)


def _ended(served: Served) -> Session:
    """The session. Refuses to go on where the drive failed, or a command left something that uses
    it."""
    session = served.stop()
    if session.failure is not None:
        raise UserError(f"the drive failed: {session.failure}", EXIT_FAILED)
    if served.notes:
        raise UserError(f"a command left the drive in use: {'; '.join(served.notes)}", EXIT_FAILED)
    return session


def _writes_of(session: Session) -> int:
    """What the fault that cuts power counts."""
    writes = [one.write.ios for one in session.run.recordings if "write" in one.operations]
    return sum(writes) + int(session.events["trims"]) + int(session.events["zeroes"])


def _end(process: "subprocess.Popen[str]") -> int:
    """Ends a command that has not ended, with all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return process.returncode


def _failed_alone(code: int, output: str) -> UserError:
    said = f": {output}" if output else ""
    return UserError(f"the workload failed ({code}) without a loss of power{said}", EXIT_FAILED)
