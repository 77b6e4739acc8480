#!/usr/bin/env python3
"""Real programs on served drives whose power is cut: file systems, SQLite and PostgreSQL.

    sudo .venv/bin/python benches/serve_programs.py --keep cuts --write docs/serve-programs.md

What was done is kept in the folder --keep, from which the same command goes on, and into which
several can work at a time, each on other --programs or --drives. Root sets up loop devices and
mounts. A cut is one of the whole machine: the drive is gone at a random moment of a running load,
the programs are killed, and the drive comes back, with what its model left of the data, as a new
session. Then the file system is checked, and the program asked for everything that it had said was
committed (for a file system: the files that were synchronized).
"""

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from losing_power import DRIVES, DamagedError, Drive, Machine, run

from fourcorners_validation.pages import put_between

MARKS = (
    "<!-- made by benches/serve_programs.py -->",
    "<!-- end of what benches/serve_programs.py made -->",
)
LOAD_S = (0.15, 0.6)
"""How long a load runs before the cut after its first commit, at least and at most."""

TURN_CUTS = 20
"""Cuts of a row before it is another row's turn: making a database takes as long as some cuts."""

FIRST_S = 60.0
"""How long the first commit is waited for."""

POSTGRES = Path("/usr/lib/postgresql/15/bin")


class Program(ABC):
    """A load that says what it has committed, and a check of what is there."""

    system = "ext4"

    def __init__(self, machine: Machine, folder: Path) -> None:
        """On a machine with a mounted file system."""
        self.machine = machine
        self.said = folder / "committed"
        self.committed = 0
        self.made = 0
        self._running: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def set_up(self) -> None:
        """On an empty file system."""

    @abstractmethod
    def start(self) -> None:
        """The load, whose numbers of what it has committed go to ``said``."""

    def kill(self) -> None:
        """The machine has no power."""
        assert self._running is not None
        os.killpg(self._running.pid, signal.SIGKILL)
        self._running.wait()

    @abstractmethod
    def check(self) -> None:
        """Raises :class:`DamagedError` where something up to ``committed`` is missing."""

    def spawn(self, *words: str | Path) -> None:
        """Begins the load in a session of its own, whose output is ``said``."""
        with self.said.open("wb") as output:
            self._running = subprocess.Popen(
                [str(word) for word in words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def wait_for_first(self) -> None:
        """Programs take a while to begin."""
        began = time.monotonic()
        while self.said.stat().st_size == 0 and time.monotonic() - began < FIRST_S:
            time.sleep(0.02)

    def read_committed(self) -> None:
        """Takes over what the load said."""
        numbers = [int(line) for line in self.said.read_text().splitlines() if line.isdigit()]
        self.made += len(numbers)
        self.committed = max([self.committed, *numbers])


SQLITE_LOAD = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA journal_mode=" + sys.argv[2])
database.execute("PRAGMA synchronous=" + sys.argv[3])
number = database.execute("SELECT coalesce(max(number), 0) FROM t").fetchone()[0]
while True:
    number += 1
    database.execute("INSERT INTO t VALUES (?, ?)", (number, str(number) * 50))
    print(number, flush=True)
"""


class Sqlite(Program):
    """One transaction after the other."""

    def __init__(self, machine: Machine, folder: Path, journal: str, synchronous: str) -> None:
        """As SQLite's pragmas ``journal_mode`` and ``synchronous``."""
        super().__init__(machine, folder)
        self._journal, self._synchronous = journal, synchronous
        self._path = machine.place / "database"

    def set_up(self) -> None:
        """An empty table, on the medium."""
        database = sqlite3.connect(self._path)
        database.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, text TEXT)")
        database.commit()
        database.close()
        run("sync")

    def start(self) -> None:
        """A process that inserts."""
        self.spawn(sys.executable, "-c", SQLITE_LOAD, self._path, self._journal, self._synchronous)

    def check(self) -> None:
        """SQLite's own check, then every row."""
        try:
            with closing(sqlite3.connect(self._path)) as database:
                [[said]] = database.execute("PRAGMA integrity_check").fetchmany(1)
                rows = database.execute("SELECT number, text FROM t ORDER BY number").fetchall()
        except sqlite3.Error as error:
            raise DamagedError(f"SQLite: {error}") from error
        if said != "ok":
            raise DamagedError(f"SQLite's integrity check: {said}")
        if [text for number, text in rows] != [str(number) * 50 for number, _ in rows]:
            raise DamagedError("SQLite: a row that holds something else")
        missing(self.committed, [number for number, _ in rows])


class Postgres(Program):
    """A server with default durability, and one client."""

    def _as_postgres(self, *words: str | Path) -> list[str]:
        return ["runuser", "-u", "postgres", "--", *(str(word) for word in words)]

    def set_up(self) -> None:
        """A cluster with an empty table."""
        self._data = self.machine.place / "data"
        self._data.mkdir()
        shutil.chown(self._data, "postgres", "postgres")
        run(*self._as_postgres(POSTGRES / "initdb", "-D", self._data, "--auth=trust"))
        self._up()
        self._ask("CREATE TABLE t (number INTEGER PRIMARY KEY, text TEXT)")
        self._down()
        run("sync")

    def _up(self) -> None:
        # A machine that was without power has none of the processes that locks name.
        self._sockets = Path(tempfile.mkdtemp(prefix="sockets-", dir=self.said.parent))
        shutil.chown(self._sockets, "postgres", "postgres")
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        log = self._sockets / "log"
        options = f"-k {self._sockets} -c listen_addresses= -c shared_buffers=16MB"
        words = ("start", "-w", "-t", "300", "-D", self._data, "-l", log, "-o", options)
        try:
            run(*self._as_postgres(POSTGRES / "pg_ctl", *words))
        except DamagedError as damage:
            told = [line for line in log.read_text().splitlines() if "FATAL" in line]
            raise DamagedError(told[-1] if told else str(damage)) from damage

    def _down(self) -> None:
        run(*self._as_postgres(POSTGRES / "pg_ctl", "stop", "-m", "fast", "-D", self._data))

    def _ask(self, text: str) -> str:
        words = ("-d", "postgres", "-tA", "-v", "ON_ERROR_STOP=1", "-c", text)
        return run(*self._as_postgres("psql", "-h", self._sockets, *words))

    def start(self) -> None:
        """A server, and psql with an insert after the other."""
        self._up()
        first = self.committed + 1
        script = self.said.with_name("load.sql")
        script.write_text(
            "\\set ON_ERROR_STOP on\n"
            + "".join(
                f"INSERT INTO t VALUES ({one}, repeat('{one}', 50));\n\\echo {one}\n"
                for one in range(first, first + 20_000)
            )
        )
        script.chmod(0o644)
        self._server = int((self._data / "postmaster.pid").read_text().split()[0])
        words = ("psql", "-h", self._sockets, "-d", "postgres", "-q", "-f", script)
        self.spawn(*self._as_postgres(*words))

    def kill(self) -> None:
        """The client, and the server with its processes, each of which has a session of its own."""
        super().kill()
        children = Path(f"/proc/{self._server}/task/{self._server}/children").read_text().split()
        for process in (self._server, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def check(self) -> None:
        """PostgreSQL recovers, and returns every row."""
        self._up()
        try:
            rows = self._ask("SELECT number FROM t WHERE text = repeat(number::text, 50)")
        finally:
            self._down()
        present = [int(line) for line in rows.splitlines()]
        missing(self.committed, present)
        # A transaction may have been committed that nobody was told of.
        self.committed = max([self.committed, *present])


class Tree(Program):
    """Files in folders, of which each is synchronized with its folder."""

    def __init__(self, machine: Machine, folder: Path, system: str) -> None:
        """On that file system."""
        super().__init__(machine, folder)
        self.system = system

    def set_up(self) -> None:
        """Folders."""
        for number in range(8):
            (self.machine.place / str(number)).mkdir()
        run("sync")

    def start(self) -> None:
        """A process that writes files."""
        text = (
            "import os, sys\n"
            "place, number = sys.argv[1], int(sys.argv[2])\n"
            "while True:\n"
            "    number += 1\n"
            "    folder = f'{place}/{number % 8}'\n"
            "    with open(f'{folder}/{number}', 'wb') as file:\n"
            "        file.write(str(number).encode() * (number * 7919 % 8000 + 1))\n"
            "        file.flush()\n"
            "        os.fsync(file.fileno())\n"
            "    descriptor = os.open(folder, os.O_RDONLY)\n"
            "    os.fsync(descriptor)\n"
            "    os.close(descriptor)\n"
            "    print(number, flush=True)\n"
        )
        self.spawn(sys.executable, "-c", text, self.machine.place, str(self.committed))

    def check(self) -> None:
        """Every file that was synchronized, byte for byte."""
        present = []
        for number in range(1, self.committed + 1):
            path = self.machine.place / str(number % 8) / str(number)
            content = str(number).encode() * (number * 7919 % 8000 + 1)
            try:
                is_right = path.read_bytes() == content
            except OSError:
                continue
            if is_right:
                present.append(number)
        missing(self.committed, present)


def missing(committed: int, present: Sequence[int]) -> None:
    """Raises :class:`DamagedError` where one of 1 to ``committed`` is not present."""
    lost = sorted(set(range(1, committed + 1)) - set(present))
    if lost:
        numbers = f"{lost[0]}" if len(lost) == 1 else f"{lost[0]} to {lost[-1]}"
        raise DamagedError(f"{len(lost)} committed of {committed} are missing: {numbers}")


@dataclass
class Outcome:
    """Of a program on a drive."""

    cuts: int = 0
    committed: int = 0
    losses: list[str] = field(default_factory=list)


TITLES = {
    "ext4": "files on ext4",
    "xfs": "files on xfs",
    "btrfs": "files on btrfs",
    "sqlite-wal": "SQLite, WAL, FULL",
    "sqlite-truncate": "SQLite, TRUNCATE, FULL",
    "sqlite-delete-extra": "SQLite, DELETE, EXTRA",
    "sqlite-delete": "SQLite, DELETE, FULL",
    "postgresql": "PostgreSQL",
}
PROGRAMS: dict[str, tuple[str, Callable[[Machine, Path], Program]]] = {
    "ext4": ("ext4", lambda machine, folder: Tree(machine, folder, "ext4")),
    "xfs": ("xfs", lambda machine, folder: Tree(machine, folder, "xfs")),
    "btrfs": ("btrfs", lambda machine, folder: Tree(machine, folder, "btrfs")),
    "sqlite-wal": ("ext4", lambda machine, at: Sqlite(machine, at, "WAL", "FULL")),
    "sqlite-truncate": ("ext4", lambda machine, at: Sqlite(machine, at, "TRUNCATE", "FULL")),
    "sqlite-delete-extra": ("ext4", lambda machine, at: Sqlite(machine, at, "DELETE", "EXTRA")),
    "sqlite-delete": ("ext4", lambda machine, at: Sqlite(machine, at, "DELETE", "FULL")),
    "postgresql": ("ext4", Postgres),
}


def study(kind: str, drive: Drive, cuts: int, seconds: float, outcome: Outcome) -> None:
    """Cuts power until there are so many cuts, for so long at most."""
    draws = random.Random(f"{kind}, {drive.name}, {outcome.cuts}")
    began = time.monotonic()
    system, make = PROGRAMS[kind]
    with tempfile.TemporaryDirectory(prefix="fourcorners-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        machine = Machine(drive, system, folder)
        program: Program | None = None
        try:
            machine.format()
            program = make(machine, folder)
            program.set_up()
            while outcome.cuts < cuts and time.monotonic() - began < seconds:
                program.start()
                try:
                    program.wait_for_first()
                    time.sleep(draws.uniform(*LOAD_S))
                finally:
                    machine.lose_power(program.kill)
                program.read_committed()
                try:
                    machine.come_back()
                    program.check()
                    outcome.cuts += 1
                except DamagedError as damage:
                    outcome.cuts += 1
                    outcome.losses.append(str(damage))
                    machine.format()
                    program.committed = 0
                    program.set_up()
        finally:
            machine.shut_down()
            outcome.committed += program.made if program is not None else 0


def kept(folder: Path, kind: str, drive: Drive) -> Path:
    """The file of a row's outcome."""
    return folder / f"{kind} {drive.name}.json"


def outcome_of(path: Path) -> Outcome:
    """What was done so far."""
    return Outcome(**json.loads(path.read_text())) if path.exists() else Outcome()


def rows(folder: Path) -> list[str]:
    """The table of everything that was kept."""
    rows = [
        "| program | drive | cuts | committed | cuts with losses | what the first one was |",
        "| --- | --- | ---: | ---: | ---: | --- |",
    ]
    for kind in PROGRAMS:
        for drive in DRIVES:
            outcome = outcome_of(kept(folder, kind, drive))
            if outcome.cuts == 0:
                continue
            first = outcome.losses[0].replace("|", "/") if outcome.losses else ""
            rows.append(
                f"| {TITLES[kind]} | {drive.name} | {outcome.cuts} | {outcome.committed} | "
                f"{len(outcome.losses)} | {first} |"
            )
    return rows


def main() -> None:
    """Cuts the power of each drive under each program and prints, or writes, the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, required=True, help="where outcomes are kept")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--cuts", type=int, default=200, help="of each row")
    parser.add_argument("--seconds", type=float, default=1e9, help="at most, of all")
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    names = [drive.name for drive in DRIVES]
    parser.add_argument("--drives", nargs="+", choices=names, default=names)
    arguments = parser.parse_args()
    # Ended by a signal, too, it takes down its mounts and loop devices.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("it was told to end"))
    arguments.keep.mkdir(exist_ok=True)
    end = time.monotonic() + arguments.seconds
    # In turns, so that no row is left behind when time is up.
    for cuts in range(TURN_CUTS, arguments.cuts + TURN_CUTS, TURN_CUTS):
        for kind in arguments.programs:
            for drive in (drive for drive in DRIVES if drive.name in arguments.drives):
                path = kept(arguments.keep, kind, drive)
                outcome = outcome_of(path)
                left_s = end - time.monotonic()
                if outcome.cuts >= min(cuts, arguments.cuts) or left_s <= 0:
                    continue
                try:
                    study(kind, drive, min(cuts, arguments.cuts), left_s, outcome)
                finally:
                    path.write_text(json.dumps(asdict(outcome), indent=1) + "\n")
                print(f"{kind}, {drive.name}: {outcome.cuts}", flush=True)
    table = rows(arguments.keep)
    print("\n".join(table))
    if arguments.write is not None:
        put_between(arguments.write, MARKS, "\n".join([*table, ""]))


if __name__ == "__main__":
    main()
