"""Several simulated drives of one command, each in a process of its own."""

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any

from fourcorners.errors import EXIT_FAILED, EXIT_INTERRUPTED, UserError
from fourcorners.machine.spawning import SPAWNED
from fourcorners.running import interrupt
from fourcorners.running.begin import begin_run
from fourcorners.running.each import Each
from fourcorners.running.progress import Progress, Status
from fourcorners.store import Run
from fourcorners.suites.suite import suite_of
from fourcorners.target.open import is_simulated, open_target

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class _Job:
    """What a child does: nothing but data, as it is sent. The document says all of a suite."""

    opening: Mapping[str, Any]
    document: Mapping[str, Any]
    suite_name: str
    filled_share: float
    seed: int
    out: Path
    command: str | None


@dataclass
class _Child:
    """A process that runs one target, and what it told so far."""

    locator: str
    process: BaseProcess
    connection: Connection
    run: Path | None = None
    failure: str | None = None


def check_side_by_side(locators: Sequence[str], jobs: int) -> None:
    """Raises :class:`UserError` for a real target: two of them would measure each other."""
    real = [locator for locator in locators if not is_simulated(locator)]
    if jobs > 1 and real:
        raise UserError(
            f"--jobs {jobs}: {real[0]} is no simulated drive, and files and devices are measured "
            "one after the other: leave out --jobs, or name simulated drives only"
        )


class UnfinishedError(UserError):
    """Some of several targets could not be run: ``reasons`` name them, ``runs`` are the others."""

    def __init__(self, reasons: Sequence[str], runs: list[Run], exit_code: int) -> None:
        super().__init__("; ".join(reasons), exit_code)
        self.reasons = reasons
        self.runs = runs


def run_side_by_side(each: Each, openings: Sequence[Mapping[str, Any]], jobs: int) -> list[Run]:
    """Runs the suite on every target, ``jobs`` at a time, with the results that it has on one after
    the other.

    Returns the runs in the order of the targets. Where a target cannot be run the others go on.
    Once a signal has asked to end, all are ended and saved, and no further one is begun.

    Raises :class:`UnfinishedError` at the end for targets that were not run.
    """
    for opening in openings:
        # What is wrong with the last shall show before hours go into the first.
        with open_target(**opening) as target:
            each.plan(target)
    children: list[_Child] = []
    waiting = list(openings)
    with _forwarding(children) as asked:
        while True:
            busy = [child for child in children if not child.connection.closed]
            while waiting and len(busy) < jobs and not asked:
                busy.append(_start(each, waiting.pop(0)))
                children.append(busy[-1])
            if not busy:
                break
            heard = wait([child.connection for child in busy])
            for child in busy:
                if child.connection in heard:
                    _hear(child, each.progress)
    runs = [Run(child.run) for child in children if child.run is not None]
    reasons = [f"{child.locator}: {child.failure}" for child in children if child.failure]
    reasons += [f"{opening['locator']}: not begun" for opening in waiting]
    if asked or reasons:
        raise UnfinishedError(reasons, runs, EXIT_INTERRUPTED if asked else EXIT_FAILED)
    return runs


def _start(each: Each, opening: Mapping[str, Any]) -> _Child:
    here, there = SPAWNED.Pipe(duplex=False)
    job = _Job(
        dict(opening),
        dict(each.suite.document),
        each.suite.name,
        each.filled_share,
        each.seed,
        each.out,
        each.command,
    )
    process = SPAWNED.Process(target=_run_job, args=(there, job), daemon=True)
    # A signal that comes while the child begins waits until it can handle it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    there.close()
    return _Child(str(opening["locator"]), process, here)


def _run_job(connection: Connection, job: _Job) -> None:
    """In the child: runs the suite, and tells what happens and where the run is."""
    # A terminal's Ctrl-C comes from the parent, once.
    os.setpgrp()
    try:
        with interrupt.raising():
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _FORWARDED)
            with open_target(**job.opening) as target:
                finished = begin_run(
                    suite_of(job.document, job.suite_name),
                    target,
                    filled_share=job.filled_share,
                    seed=job.seed,
                    out=job.out,
                    command=job.command,
                    progress=_Telling(connection, target.name),
                )
            connection.send(("run", finished.path))
    except UserError as error:
        connection.send(("failure", str(error)))
    except KeyboardInterrupt:
        connection.send(("failure", "stopped before anything was measured"))


class _Telling(Progress):
    """Passes on what happens, messages by the name of the drive."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name

    def message(self, text: str) -> None:
        self._send("message", f"{self._name}: {text.removeprefix(f'{self._name}: ')}")

    def update(self, status: Status) -> None:
        self._send("status", status)

    def _send(self, kind: str, what: object) -> None:
        try:
            self._connection.send((kind, what))
        except OSError:
            # Nobody is left who would hear of the run: it is saved, and ends.
            os.kill(os.getpid(), signal.SIGTERM)


def _hear(child: _Child, progress: Progress) -> None:
    try:
        kind, what = child.connection.recv()
    except (EOFError, OSError):
        child.connection.close()
        child.process.join()
        if child.run is None and child.failure is None:
            code = child.process.exitcode or 0
            how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
            child.failure = (
                f"its process was ended {how}; fourcorners resume continues from what is kept of it"
            )
        return
    match kind:
        case "message":
            progress.message(what)
        case "status":
            progress.update(what)
        case "run":
            child.run = what
        case "failure":
            child.failure = what


@contextmanager
def _forwarding(children: Sequence[_Child]) -> Iterator[list[int]]:
    """Passes signals that ask to end on to the children, who save what they have; gives the list of
    those that came."""
    asked: list[int] = []

    def forward(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        for child in children:
            if child.process.is_alive() and child.process.pid is not None:
                os.kill(child.process.pid, number)

    before = {number: signal.signal(number, forward) for number in _FORWARDED}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
