#!/usr/bin/env python3
"""Real programs on served drives whose power is cut: file systems, SQLite and PostgreSQL.

    sudo .venv/bin/python benches/serve_programs.py --write docs/serve-programs.md

Root sets up loop devices and mounts. A cut is one of the whole machine: the drive is gone at a
random moment of a running load, the programs are killed, and the drive comes back, with what its
model left of the data, as a new session. Then the file system is checked, and the program asked for
everything that it had said was committed (for a file system: the files that were synchronized).
"""

import argparse
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
from dataclasses import dataclass, field
from pathlib import Path

import fourcorners as fc
from fourcorners.catalog.settings import Setting
from fourcorners_validation.pages import put_between

MARKS = (
    "<!-- made by benches/serve_programs.py -->",
    "<!-- end of what benches/serve_programs.py made -->",
)
# Classes of the catalog with a tenth of their flash, and of what grows with that: starting and
# checking take less memory and time.
CONSUMER = "sim:class-tlc-nvme-consumer-1tb"
CONSUMER_SIZE: dict[str, Setting] = {
    "capacity.user": "90 GiB",
    "flash.blocks_per_plane": 137,
    "translation.spare_area": "12 %",
    "slc_cache.static_size": "600 MB",
}
ENTERPRISE = "sim:class-tlc-nvme-enterprise-1920gb"
ENTERPRISE_SIZE: dict[str, Setting] = {
    "capacity.user": "192038338560 B",
    "flash.blocks_per_plane": 95,
    "write_streams.window": "19 GB",
}
LIES: dict[str, Setting] = {"write_buffer.ignores_flush": True}
LOAD_S = (0.15, 0.6)
"""How long a load runs before the cut after its first commit, at least and at most."""

FIRST_S = 60.0
"""How long the first commit is waited for."""

POSTGRES = Path("/usr/lib/postgresql/15/bin")


class DamagedError(Exception):
    """What was committed is not there; the message says what."""


@dataclass(frozen=True)
class Drive:
    """What the programs run on."""

    name: str
    locator: str
    settings: dict[str, Setting]


DRIVES = (
    Drive("honest, no capacitors", CONSUMER, CONSUMER_SIZE),
    Drive("honest, capacitors", ENTERPRISE, ENTERPRISE_SIZE),
    Drive("lies about flush", CONSUMER, {**CONSUMER_SIZE, **LIES}),
)


def run(*words: str | Path, stdin: str | None = None) -> str:
    """A command that must succeed; raises :class:`DamagedError` with what it said."""
    done = subprocess.run(
        [str(word) for word in words],
        input=stdin,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=600,
        check=False,
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise DamagedError(f"{words[0]}: {said[0] if said else done.returncode}")
    return done.stdout


class Machine:
    """A served drive with a file system on it, which loses power and comes back."""

    def __init__(self, drive: Drive, system: str, folder: Path) -> None:
        """In a folder of its own; :meth:`format` comes next."""
        self._drive, self._system, self._folder = drive, system, folder
        self.place = folder / "mounted"
        self.place.mkdir()
        self._served: fc.Served | None = None

    def format(self) -> None:
        """A new drive with a new file system, mounted."""
        self.shut_down()
        (self._folder / "data").unlink(missing_ok=True)
        self._serve()
        # A small one: what is made and checked of a large one takes longer than the rest.
        words: dict[str, list[str | Path]] = {
            "ext4": ["-q", "-F", "-E", "nodiscard", self._device, "2G"],
            "xfs": ["-q", "-f", "-K", "-d", "size=2g", self._device],
            "btrfs": ["-q", "-f", "-K", "-b", "2G", self._device],
        }
        run(f"mkfs.{self._system}", *words[self._system])
        run("mount", self._device, self.place)

    def _serve(self) -> None:
        self._served = fc.serve(
            self._drive.locator,
            fuse=self._folder / "drive",
            loop=True,
            data=self._folder / "data",
            settings=self._drive.settings,
            out=self._folder / "runs",
        )

    @property
    def _device(self) -> Path:
        assert self._served is not None
        assert self._served.device is not None
        return self._served.device

    def lose_power(self, kill: Callable[[], None]) -> None:
        """The drive first, then everything that ran."""
        assert self._served is not None
        self._served.command("power-cut")
        kill()
        self.shut_down()

    def shut_down(self) -> None:
        """Takes down what the host has of the drive."""
        if self._served is None:
            return
        for lazily in [*[[]] * 20, ["--lazy"]]:
            if os.path.ismount(self.place):
                words = ["umount", *lazily, str(self.place)]
                subprocess.run(words, capture_output=True, timeout=600, check=False)
        self._served.stop()
        shutil.rmtree(self._folder / "runs", ignore_errors=True)
        self._served = None

    def come_back(self) -> None:
        """With power the file system recovers, and is checked; raises :class:`DamagedError`."""
        self._serve()
        run("mount", self._device, self.place)
        run("umount", self.place)
        check = {
            "ext4": ["e2fsck", "-f", "-n"],
            "xfs": ["xfs_repair", "-n"],
            "btrfs": ["btrfs", "check"],
        }[self._system]
        run(*check, self._device)
        run("mount", self._device, self.place)


class Program(ABC):
    """A load that says what it has committed, and a check of what is there."""

    name: str
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
        self.name = f"SQLite, {journal}, {synchronous}"
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

    name = "PostgreSQL"

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
        self.system, self.name = system, f"files on {system}"

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


def study(kind: str, drive: Drive, cuts: int, seconds: float, seed: int) -> tuple[str, Outcome]:
    """Cuts power again and again, for so long at most."""
    draws = random.Random(seed)
    outcome = Outcome()
    began = time.monotonic()
    system, make = PROGRAMS[kind]
    with tempfile.TemporaryDirectory(prefix="fourcorners-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        machine = Machine(drive, system, folder)
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
                outcome.cuts += 1
                program.read_committed()
                try:
                    machine.come_back()
                    program.check()
                except DamagedError as damage:
                    outcome.losses.append(str(damage))
                    machine.format()
                    program.committed = 0
                    program.set_up()
        finally:
            machine.shut_down()
    outcome.committed = program.made
    return program.name, outcome


def main() -> None:
    """Cuts the power of each drive under each program and prints, or writes, the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path)
    parser.add_argument("--cuts", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1e9, help="at most, of each row")
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    # Ended by a signal, too, it takes down its mounts and loop devices.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("it was told to end"))
    rows = [
        "| program | drive | cuts | committed | cuts with losses | what the first one was |",
        "| --- | --- | ---: | ---: | ---: | --- |",
    ]
    print("\n".join(rows), flush=True)
    for kind in arguments.programs:
        for drive in DRIVES:
            name, outcome = study(kind, drive, arguments.cuts, arguments.seconds, arguments.seed)
            first = outcome.losses[0].replace("|", "/") if outcome.losses else ""
            rows.append(
                f"| {name} | {drive.name} | {outcome.cuts} | {outcome.committed} | "
                f"{len(outcome.losses)} | {first} |"
            )
            print(rows[-1], flush=True)
    if arguments.write is not None:
        put_between(arguments.write, MARKS, "\n".join([*rows, ""]))


if __name__ == "__main__":
    main()
