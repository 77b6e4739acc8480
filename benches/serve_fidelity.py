"""The same jobs by fio on served drives, in real time, and in virtual time without a server.

    .venv/bin/python benches/serve_fidelity.py --keep cells.jsonl --write docs/serve-fidelity.md

The start of each drive is filled and its state is kept; every cell begins from it, on both sides.
The cells are the four corners at queue depths 1, 4 and 32, by fio over NBD for --seconds, or until
400 I/Os are to be expected and for 20 times the 99th percentile, and by the call behind
"fourcorners run" for as long. What fio still waits for when its time is up is not counted: it looks
at the clock once, when the last of them has come, and takes that for the end of all. Processors are
kept from sleeping meanwhile, also while the floor is measured, and fio and the servers go before
other programs (real-time priority), where the system permits it.

A cell agrees where mean and 99th percentile differ by at most 5 % and the floor of the transport:
what a bare NBD server that keeps its data in memory (nbdkit) takes at queue depth 1 for the same
block, by the same fio, at the start. A cell is of the host where the session itself says that it
could not keep up, or where the same job differs as much on a server that does nothing but wait
(benches/bare_nbd.rs), as long as the drive takes in the mean, half of it before the cell and half
after it. A cell that differs is measured twice more; it counts as one that does if two of three
do. tests/served_agreement.py has the rules.

It takes about 25 minutes: nearly all of the 108 cells 2 s, as much of the server that waits, and
as much again around them, and the three of the Core's random writes 100 to 120 s each, which are
measured last. --keep FILE keeps each cell when it is measured, and a run with the same FILE goes on
where another one ended; a page that is written before all drives are measured says which are not.

With --speed 0.01 drives are served in slow motion, so that a busy machine is less often the limit:
all times of fio are then multiplied by that, and virtual time is as long as what was served.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import fourcorners as fc
from fourcorners.machine.processors import read_cpu_times
from fourcorners.wording import duration
from fourcorners_validation.pages import put_between

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from served_agreement import CERTAIN, Cell, Latency, latency, middle

MARKS = (
    "<!-- made by benches/serve_fidelity.py -->",
    "<!-- end of what benches/serve_fidelity.py made -->",
)
SLOW_MARKS = (
    "<!-- made by benches/serve_fidelity.py in slow motion -->",
    "<!-- end of what benches/serve_fidelity.py made in slow motion -->",
)
DRIVES = (
    "wd6400aaks",
    "intel-x25-m-g2-80gb",
    "ocz-vertex-3-240gb",
    "ocz-vector-256gb",
    "intel-dc-s3700-200gb",
    "class-qlc-nvme-dramless-1tb",
    "class-tlc-nvme-consumer-1tb",
    "class-tlc-nvme-enterprise-1920gb",
    "ocz-core-64gb",
)
"""The one whose cells take longest is last."""
DEPTHS = (1, 4, 32)
SPAN_BYTES = 2 * 1024**3
"""What the jobs touch, from the start of the drive: the server keeps what is written in memory."""
FILLED_BYTES = 4 * 1024**3
"""Of each drive, from its start."""
IOS = 400
"""Of a cell: with fewer, the 99th percentile is that of three or four I/Os."""
TAILS = 20
"""A cell lasts so many times as long as its slowest I/Os take: those that it leaves unfinished are
the slowest."""
LONGEST_S = 120.0
"""Of a cell, however few I/Os that are."""
SLEEPLESS = Path("/dev/cpu_dma_latency")
"""While a program has it open, no processor may take longer to wake than it has written there, in
us (Linux, PM QoS)."""
WAITED_S = 4.0
"""Of a cell on the server that only waits, at most."""
REST_S = 60.0
"""After the drive is filled: longer than what it then still has to do."""
SETTLE_S = 0.5
"""Before fio's clock starts: programs and sockets begin."""


@dataclass(frozen=True)
class Corner:
    """One of the four corners."""

    name: str
    fio: str
    pattern: str
    block_bytes: int


CORNERS = (
    Corner("4 KiB random read", "randread", "random", 4096),
    Corner("4 KiB random write", "randwrite", "random", 4096),
    Corner("128 KiB sequential read", "read", "sequential", 131_072),
    Corner("128 KiB sequential write", "write", "sequential", 131_072),
)


def fio(uri: str, corner: Corner, depth: int, seconds: float, speed: float) -> list[float]:
    """The latencies that fio measures on an NBD server, in seconds, in the time of a drive that is
    served at that speed."""
    with tempfile.TemporaryDirectory(prefix="fourcorners-") as folder:
        # Of a time in seconds fio reads the whole ones only.
        runtime, ramp = (f"{round(time_s * 1e3)}ms" for time_s in (seconds, SETTLE_S))
        words = [
            *("fio", "--name=job", "--ioengine=nbd", f"--uri={uri}", f"--rw={corner.fio}"),
            *(f"--bs={corner.block_bytes}", f"--iodepth={depth}", f"--size={SPAN_BYTES}"),
            *("--time_based", f"--runtime={runtime}", f"--ramp_time={ramp}"),
            *("--refill_buffers", "--norandommap", "--write_lat_log=job"),
        ]
        with ahead():
            done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)
        if done.returncode != 0:
            sys.exit(f"fio failed: {done.stderr or done.stdout}")
        lines = Path(folder, "job_lat.1.log").read_text().splitlines()
    # The second column is the latency in ns.
    told_s = [float(line.split(",")[1]) * 1e-9 * speed for line in lines]
    if len(told_s) < depth + 2:
        sys.exit("fio has measured nothing: use longer --seconds")
    return told_s[: len(told_s) - depth]


@contextmanager
def sleepless() -> Iterator[bool]:
    """Keeps processors from sleeping; whether that is permitted."""
    with suppress(OSError), SLEEPLESS.open("wb", buffering=0) as request:
        request.write(bytes(4))
        yield True
        return
    yield False


@contextmanager
def ahead() -> Iterator[None]:
    """Lets this thread, and the programs and threads that it starts, go before all others, where
    that is permitted."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@contextmanager
def running(path: Path, *words: str) -> Iterator[str]:
    """A program that serves at a socket."""
    with ahead():
        started = subprocess.Popen(words)
    with started as process:
        while not path.exists():
            if process.poll() is not None:
                sys.exit(f"{words[0]} has ended")
            time.sleep(0.01)
        try:
            yield f"nbd+unix:///?socket={path}"
        finally:
            process.terminate()
            path.unlink(missing_ok=True)


def floors(folder: Path, speed: float) -> dict[Corner, Latency]:
    """What nbdkit takes with data in memory, the median of three times."""
    path = folder / "bare"
    words = ("nbdkit", "--foreground", "--unix", str(path), "memory", str(SPAN_BYTES))
    with running(path, *words) as uri:
        return {
            corner: middle([latency(fio(uri, corner, 1, 1.0, speed)) for _ in range(3)])
            for corner in CORNERS
        }


def build_waiting() -> Path:
    """The program that only waits."""
    words = ["cargo", "build", "--release", "--package=fourcorners-serve", "--example=bare_nbd"]
    done = subprocess.run(
        [*words, "--message-format=json"], stdout=subprocess.PIPE, text=True, check=True
    )
    built = [json.loads(line) for line in done.stdout.splitlines()]
    return Path(next(one["executable"] for one in built if one.get("executable")))


def virtual(
    locator: str, state: Path, corner: Corner, depth: int, seconds: float, speed: float
) -> Latency:
    """The same job in virtual time, for as much of that as is served in so many seconds."""
    make = fc.Stream.read if "read" in corner.fio else fc.Stream.write
    stream = make(
        corner.pattern,
        corner.block_bytes,
        span_bytes=SPAN_BYTES,
        queue_depth_per_worker=depth,
    )
    with fc.open_target(locator, state=state) as drive:
        recording = drive.run(
            fc.Workload([stream], duration_s=seconds * speed, ramp_s=SETTLE_S * speed)
        )
    operation = recording.read if "read" in corner.fio else recording.write
    mean_s, p99_s = operation.latency_mean_s, operation.latency_percentile_s(99)
    assert mean_s is not None
    assert p99_s is not None
    around = 100 * CERTAIN * (0.99 * 0.01 * 2 / operation.ios) ** 0.5
    low_s = operation.latency_percentile_s(max(99 - around, 0))
    high_s = operation.latency_percentile_s(min(99 + around, 100))
    assert low_s is not None
    assert high_s is not None
    return Latency(mean_s, p99_s, operation.ios, p99_range_s=(low_s, high_s))


@dataclass(frozen=True)
class Job:
    """What cells have in common."""

    speed: float
    seconds: float
    waiting: Path
    """The program that only waits."""
    floors: Mapping[Corner, Latency]

    def waited(
        self, folder: Path, corner: Corner, depth: int, seconds: float, each_s: float
    ) -> list[float]:
        """The latencies of the corner where each I/O takes so much of the drive's time."""
        path, wait_ns = folder / "waits", round(each_s / self.speed * 1e9)
        with running(path, str(self.waiting), str(path), str(SPAN_BYTES), str(wait_ns)) as uri:
            return fio(uri, corner, depth, seconds, self.speed)

    def cell(self, locator: str, state: Path, corner: Corner, depth: int) -> Cell:
        """A cell, served and in virtual time."""
        speed, seconds = self.speed, self.seconds
        expected = virtual(locator, state, corner, depth, seconds, speed)
        needed_s = max(IOS * expected.mean_s / depth, TAILS * expected.p99_s) / speed
        needed_s = min(needed_s, LONGEST_S)
        if needed_s > seconds:
            seconds = needed_s
            expected = virtual(locator, state, corner, depth, seconds, speed)
        with tempfile.TemporaryDirectory(prefix="fourcorners-") as name:
            folder = Path(name)
            half_s = min(seconds, WAITED_S) / 2
            waits = self.waited(folder, corner, depth, half_s, expected.mean_s)
            # The session saves its state when it ends: into a copy.
            copy = folder / "state"
            copy.write_bytes(state.read_bytes())
            nbd, out = f"unix:{folder}/s", folder / "runs"
            with ahead():
                served = fc.serve(locator, nbd=nbd, speed=speed, state=copy, out=out)
            with served:
                found = fio(served.uri, corner, depth, seconds, speed)
            session = served.session
            waits += self.waited(folder, corner, depth, half_s, expected.mean_s)
        assert session is not None
        return Cell(
            latency(found),
            expected,
            self.floors[corner],
            latency(waits),
            expected.mean_s,
            session.late_share,
            session.host_was_limit,
        )

    def settled(self, locator: str, state: Path, corner: Corner, depth: int) -> Cell:
        """The cell, if it differs the one that two of three say."""
        cells = [self.cell(locator, state, corner, depth)]
        if cells[0].differs:
            cells += [self.cell(locator, state, corner, depth) for _ in range(2)]
        same = [cell for cell in cells if cell.differs]
        return same[0] if len(same) > 1 else next(c for c in cells if not c.differs)


@dataclass(frozen=True)
class Measured:
    """A cell, and what the machine did meanwhile: its load, and of its processors' time the ticks
    that other machines of the same host took, and all."""

    drive: str
    corner: str
    depth: int
    cell: Cell
    load: float
    stolen: int
    ticks: int
    is_sleepless: bool

    @property
    def row(self) -> str:
        """Of the table."""
        cell = self.cell
        served, expected, waits = cell.served, cell.virtual, cell.waits
        return (
            f"| {self.drive} | {self.corner} | {self.depth} | {duration(served.mean_s)} | "
            f"{duration(expected.mean_s)} | {duration(served.p99_s)} | {duration(expected.p99_s)} "
            f"| {duration(waits.mean_s)} / {duration(waits.p99_s)} | {cell.late_share:.1%} | "
            f"{cell.verdict} |"
        )


class Kept:
    """The cells of runs with the same settings, in a file if there is one: the settings and floors
    in its first line, then a cell in each."""

    def __init__(self, path: Path | None, speed: float, seconds: float) -> None:
        """Takes over what the file has."""
        self.cells: dict[tuple[str, str, int], Measured] = {}
        self.floors: dict[Corner, Latency] = {}
        self._path = path
        self._settings = {"speed": speed, "seconds": seconds}
        if path is None or not path.exists():
            return
        # One that was killed as it wrote has left a line without an end.
        whole = path.read_text("utf-8").rpartition("\n")[0]
        path.write_text(f"{whole}\n" if whole else "", "utf-8")
        if not whole:
            return
        first, *lines = whole.splitlines()
        head = json.loads(first)
        if head["settings"] != self._settings:
            sys.exit(f"{path} is of a run with other settings: name another file")
        self.floors = {corner: _latency(head["floors"][corner.name]) for corner in CORNERS}
        for line in lines:
            told = json.loads(line)
            for name in ("served", "virtual", "floor", "waits"):
                told["cell"][name] = _latency(told["cell"][name])
            self._take(Measured(**{**told, "cell": Cell(**told["cell"])}))

    def _take(self, measured: Measured) -> None:
        self.cells[measured.drive, measured.corner, measured.depth] = measured

    def begin(self, floors_of: dict[Corner, Latency]) -> None:
        """Keeps the floors of a new run."""
        self.floors = floors_of
        told = {corner.name: asdict(one) for corner, one in floors_of.items()}
        self._write({"settings": self._settings, "floors": told})

    def add(self, measured: Measured) -> None:
        """Keeps a cell."""
        self._take(measured)
        self._write(asdict(measured))

    def _write(self, document: object) -> None:
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(document)}\n")


def _latency(told: Mapping[str, Any]) -> Latency:
    return Latency(**{**told, "p99_range_s": tuple(told["p99_range_s"])})


def page(
    measured: Sequence[Measured],
    floors_of: Mapping[Corner, Latency],
    seconds: float,
    speed: float,
) -> str:
    """The table, and how many cells agree."""
    cells = [one.cell for one in measured]
    load = [one.load for one in measured]
    is_sleepless = all(one.is_sleepless for one in measured)
    stolen = sum(one.stolen for one in measured) / max(sum(one.ticks for one in measured), 1)
    missing = [drive for drive in DRIVES if drive not in {one.drive for one in measured}]
    judged = [cell for cell in cells if not cell.host_was_limit]
    count = Counter(cell.verdict.strip("*") for cell in judged)
    floor = "; ".join(
        f"{corner.name} {duration(one.mean_s)} / {duration(one.p99_s)}"
        for corner, one in floors_of.items()
    )
    said = (
        f"Of the {len(judged)} cells that the host could keep up with {count['agrees']} agree, "
        f"{count['few I/Os']} had too few I/Os to tell, and {count['differs']} differ; in "
        f"{len(cells) - len(judged)} of {len(cells)} it could not, by the judgement of the session "
        f"({sum(cell.session_was_late for cell in cells)} cells) or of the server that waits. A "
        f"cell took {seconds:g} s, or as long as {IOS} I/Os take, of drives at {speed:g} of their "
        f"speed, on {os.cpu_count()} processors, which could "
        f"{'not ' if is_sleepless else ''}sleep, with a load (of all programs, by the minute) of "
        f"{min(load):.1f} to {max(load):.1f} meanwhile; other machines of the same host took "
        f"{stolen:.2%} of the processors' time (steal). The floor, mean / 99th percentile: {floor}."
        + (f" Not measured: {', '.join(missing)}." if missing else "")
    )
    head = (
        "| drive | corner | queue depth | mean, served | virtual | p99, served | virtual | server "
        "that waits, mean / p99 | late answers | |"
    )
    return "\n".join(
        [
            said,
            "",
            head,
            "| --- | --- | ---: |" + " ---: |" * 6 + " --- |",
            *(one.row for one in measured),
        ]
    )


def prepared(drive: str, folder: Path) -> Path:
    """The state that every cell of a drive begins from."""
    locator, state = f"sim:{drive}", folder / drive
    with fc.open_target(locator) as opened:
        filled_share = min(1.0, FILLED_BYTES / opened.capacity_bytes)
    fc.prepare(locator, state, filled_share=filled_share)
    # A served drive has rested when fio comes, however slowly its time passes.
    with fc.open_target(locator, state=state) as rested:
        rested.idle(REST_S)
        rested.save(state, replace=True)
    return state


def measure(job: Job, kept: Kept, drives: Sequence[str], folder: Path, *, awake: bool) -> None:
    """All cells of the drives that are not kept yet."""
    for drive in drives:
        state = None
        for corner in CORNERS:
            for depth in DEPTHS:
                if (drive, corner.name, depth) in kept.cells:
                    continue
                state = state or prepared(drive, folder)
                before = read_cpu_times(Path("/"))
                cell = job.settled(f"sim:{drive}", state, corner, depth)
                after = read_cpu_times(Path("/"))
                assert before is not None
                assert after is not None
                stolen, ticks = after.steal - before.steal, after.total - before.total
                load = os.getloadavg()[0]
                one = Measured(drive, corner.name, depth, cell, load, stolen, ticks, awake)
                kept.add(one)
                print(one.row, flush=True)
        if state is not None:
            state.unlink()


def main() -> None:
    """Measures all cells and prints, or writes, the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path)
    parser.add_argument("--keep", type=Path, help="a file of the cells; those in it are not new")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--speed", type=float, default=1.0, help="of the drives' time")
    parser.add_argument("--drives", nargs="+", default=DRIVES)
    arguments = parser.parse_args()
    speed: float = arguments.speed
    kept = Kept(arguments.keep, speed, arguments.seconds)
    waiting = build_waiting()
    temporary = tempfile.TemporaryDirectory(prefix="fourcorners-")
    with temporary as name, sleepless() as is_sleepless:
        folder = Path(name)
        if not kept.floors:
            kept.begin(floors(folder, speed))
        job = Job(speed, arguments.seconds, waiting, kept.floors)
        measure(job, kept, arguments.drives, folder, awake=is_sleepless)
    measured = [
        kept.cells[drive, corner.name, depth]
        for drive in arguments.drives
        for corner in CORNERS
        for depth in DEPTHS
    ]
    text = page(measured, kept.floors, arguments.seconds, speed)
    if arguments.write is None:
        print(f"\n{text}")
        return
    put_between(arguments.write, MARKS if speed == 1 else SLOW_MARKS, f"{text}\n")


if __name__ == "__main__":
    main()
