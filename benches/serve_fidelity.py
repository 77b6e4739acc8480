#!/usr/bin/env python3
"""The same jobs by fio on served drives, in real time, and in virtual time without a server.

    .venv/bin/python benches/serve_fidelity.py --write docs/serve-fidelity.md

The start of each drive is filled and its state is kept; every cell begins from it, on both sides.
The cells are the four corners at queue depths 1, 4 and 32, by fio over NBD for --seconds, or until
400 I/Os are to be expected, and by the call behind "fourcorners run" for as long. What fio still
waits for when its time is up is not counted: it looks at the clock once, when the last of them has
come, and takes that for the end of all. Processors are kept from sleeping meanwhile, also while
the floor is measured, where the system permits it. A cell agrees where mean and 99th percentile
differ by at most 5 % and the floor of the transport: what a bare NBD server that keeps its data in
memory (nbdkit) takes at queue depth 1 for the same block, by the same fio, before each drive. A
cell is of the host where the session itself says that it could not keep up, or where not even the
bare server's answers came in time: its 99th percentile is later than its mean by what makes an
answer of a session late.

It takes about 20 minutes: nearly all of the 108 cells 2 s and as much again around them, and the
three of the Core's random writes 100 s each.

With --speed 0.01 drives are served in slow motion, so that a busy machine is less often the limit:
all times of fio are then multiplied by that, and virtual time is as long as what was served.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import fourcorners as fc
from fourcorners.wording import duration
from fourcorners_validation.pages import put_between

MARKS = (
    "<!-- made by benches/serve_fidelity.py -->",
    "<!-- end of what benches/serve_fidelity.py made -->",
)
DRIVES = (
    "ocz-core-64gb",
    "wd6400aaks",
    "intel-x25-m-g2-80gb",
    "ocz-vertex-3-240gb",
    "ocz-vector-256gb",
    "intel-dc-s3700-200gb",
    "class-qlc-nvme-dramless-1tb",
    "class-tlc-nvme-consumer-1tb",
    "class-tlc-nvme-enterprise-1920gb",
)
DEPTHS = (1, 4, 32)
SPAN_BYTES = 2 * 1024**3
"""What the jobs touch, from the start of the drive: the server keeps what is written in memory."""
AGREE = 0.05
FILLED_BYTES = 4 * 1024**3
"""Of each drive, from its start."""
IOS = 400
"""Of a cell: with fewer, the 99th percentile is that of three or four I/Os."""
LONGEST_S = 120.0
"""Of a cell, however few I/Os that are."""
SLEEPLESS = Path("/dev/cpu_dma_latency")
"""While a program has it open, no processor may take longer to wake than it has written there, in
us (Linux, PM QoS)."""
CERTAIN = 2.58
"""Standard deviations: 99 %."""
LATE_S = 100e-6
"""What makes an answer late, if it is more than 5 % of the drive's own time
(serve/src/tally.rs)."""
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


@dataclass(frozen=True)
class Latency:
    """In seconds."""

    mean_s: float
    p99_s: float
    ios: int
    deviation_s: float = 0.0
    """Of single latencies."""
    p99_range_s: tuple[float, float] = (0.0, 0.0)
    """Where another sample, of as many I/Os, has its 99th percentile in 99 of 100 cases."""


@dataclass(frozen=True)
class Cell:
    """One job, both ways."""

    served: Latency
    virtual: Latency
    floor: Latency
    late_share: float
    session_was_late: bool
    speed: float

    @property
    def host_was_limit(self) -> bool:
        """Whether this machine, and not the drive, is what fio measured."""
        allowed_s = max(LATE_S * self.speed, AGREE * self.virtual.p99_s)
        return self.session_was_late or self.floor.p99_s - self.floor.mean_s > allowed_s

    @property
    def verdict(self) -> str:
        """What the row says."""
        if self.host_was_limit:
            return "host"
        pairs = (
            (self.served.mean_s, self.virtual.mean_s, self.floor.mean_s),
            (self.served.p99_s, self.virtual.p99_s, self.floor.p99_s),
        )
        if all(abs(one - other) <= AGREE * other + floor for one, other, floor in pairs):
            return "agrees"
        # Two samples of the same drive differ as well.
        served, expected, floor = self.served, self.virtual, self.floor
        ios = (1 / max(served.ios, 1) + 1 / max(expected.ios, 1)) ** 0.5
        by_chance_s = CERTAIN * served.deviation_s * ios
        mean = abs(served.mean_s - expected.mean_s) <= (
            AGREE * expected.mean_s + floor.mean_s + by_chance_s
        )
        low_s, high_s = expected.p99_range_s
        tail = (1 - AGREE) * low_s - floor.p99_s <= served.p99_s
        tail = tail and served.p99_s <= (1 + AGREE) * high_s + floor.p99_s
        return "few I/Os" if mean and tail else "**differs**"


def fio(uri: str, corner: Corner, depth: int, seconds: float, speed: float) -> Latency:
    """What fio measures on an NBD server, in the time of a drive that is served at that speed."""
    with tempfile.TemporaryDirectory(prefix="fourcorners-") as folder:
        words = [
            *("fio", "--name=job", "--ioengine=nbd", f"--uri={uri}", f"--rw={corner.fio}"),
            *(f"--bs={corner.block_bytes}", f"--iodepth={depth}", f"--size={SPAN_BYTES}"),
            *("--time_based", f"--runtime={seconds}", f"--ramp_time={SETTLE_S}"),
            *("--refill_buffers", "--norandommap", "--write_lat_log=job"),
        ]
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)
        if done.returncode != 0:
            sys.exit(f"fio failed: {done.stderr or done.stdout}")
        lines = Path(folder, "job_lat.1.log").read_text().splitlines()
    # The second column is the latency in ns.
    told_s = [float(line.split(",")[1]) * 1e-9 * speed for line in lines]
    return latency(told_s[: len(told_s) - depth])


def latency(told_s: list[float]) -> Latency:
    """Of these."""
    if len(told_s) < 2:
        sys.exit("fio has measured nothing: use longer --seconds")
    told_s = sorted(told_s)
    p99_s = told_s[min(len(told_s) * 99 // 100, len(told_s) - 1)]
    return Latency(statistics.fmean(told_s), p99_s, len(told_s), statistics.pstdev(told_s))


@contextmanager
def sleepless() -> Iterator[bool]:
    """Keeps processors from sleeping; whether that is permitted."""
    with suppress(OSError), SLEEPLESS.open("wb", buffering=0) as request:
        request.write(bytes(4))
        yield True
        return
    yield False


@contextmanager
def bare_server(folder: Path) -> Iterator[str]:
    """nbdkit with data in memory."""
    path = folder / "bare"
    words = ["nbdkit", "--foreground", "--unix", str(path), "memory", str(SPAN_BYTES)]
    with subprocess.Popen(words) as process:
        while not path.exists():
            time.sleep(0.01)
        try:
            yield f"nbd+unix:///?socket={path}"
        finally:
            process.terminate()


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


def measured(
    locator: str,
    state: Path,
    corner: Corner,
    depth: int,
    seconds: float,
    speed: float,
    floor: Latency,
) -> Cell:
    """A cell, served and in virtual time."""
    expected = virtual(locator, state, corner, depth, seconds, speed)
    needed_s = min(IOS * expected.mean_s / depth / speed, LONGEST_S)
    if needed_s > seconds:
        seconds = needed_s
        expected = virtual(locator, state, corner, depth, seconds, speed)
    with tempfile.TemporaryDirectory(prefix="fourcorners-") as name:
        folder = Path(name)
        # The session saves its state when it ends: into a copy.
        copy = folder / "state"
        copy.write_bytes(state.read_bytes())
        nbd, out = f"unix:{folder}/s", folder / "runs"
        with fc.serve(locator, nbd=nbd, speed=speed, state=copy, out=out) as served:
            found = fio(served.uri, corner, depth, seconds, speed)
        session = served.session
    assert session is not None
    return Cell(found, expected, floor, session.late_share, session.host_was_limit, speed)


def page(
    rows: list[str],
    cells: list[Cell],
    seconds: float,
    speed: float,
    load: list[float],
    *,
    is_sleepless: bool,
) -> str:
    """The table, and how many cells agree."""
    judged = [cell for cell in cells if not cell.host_was_limit]
    count = Counter(cell.verdict.strip("*") for cell in judged)
    said = (
        f"Of the {len(judged)} cells that the host could keep up with {count['agrees']} agree, "
        f"{count['few I/Os']} had too few I/Os to tell, and {count['differs']} differ; in "
        f"{len(cells) - len(judged)} of {len(cells)} it could not, by the judgement of the session "
        f"({sum(cell.session_was_late for cell in cells)} cells) or of the bare server. A cell "
        f"took {seconds:g} s, or as long as {IOS} I/Os take, of drives at {speed:g} of their "
        f"speed, on {os.cpu_count()} processors, which could "
        f"{'not ' if is_sleepless else ''}sleep, with a load (of all programs, by the minute) of "
        f"{min(load):.1f} to {max(load):.1f} meanwhile."
    )
    head = (
        "| drive | corner | queue depth | mean, served | virtual | p99, served | virtual | floor, "
        "mean / p99 | late answers | |"
    )
    return "\n".join([said, "", head, "| --- | --- | ---: |" + " ---: |" * 6 + " --- |", *rows])


def main() -> None:
    """Measures all cells and prints, or writes, the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--speed", type=float, default=1.0, help="of the drives' time")
    parser.add_argument("--drives", nargs="+", default=DRIVES)
    arguments = parser.parse_args()
    rows: list[str] = []
    cells: list[Cell] = []
    load: list[float] = []
    speed: float = arguments.speed
    temporary = tempfile.TemporaryDirectory(prefix="fourcorners-")
    with temporary as name, sleepless() as is_sleepless:
        folder = Path(name)
        for drive in arguments.drives:
            with bare_server(folder) as uri:
                floors = {corner: fio(uri, corner, 1, 1.0, speed) for corner in CORNERS}
            (folder / "bare").unlink(missing_ok=True)
            locator, state = f"sim:{drive}", folder / drive
            with fc.open_target(locator) as opened:
                filled_share = min(1.0, FILLED_BYTES / opened.capacity_bytes)
            fc.prepare(locator, state, filled_share=filled_share)
            for corner in CORNERS:
                for depth in DEPTHS:
                    cell = measured(
                        *(locator, state, corner, depth, arguments.seconds, speed),
                        floors[corner],
                    )
                    load.append(os.getloadavg()[0])
                    cells.append(cell)
                    floor = cell.floor
                    rows.append(
                        f"| {drive} | {corner.name} | {depth} | {duration(cell.served.mean_s)} | "
                        f"{duration(cell.virtual.mean_s)} | {duration(cell.served.p99_s)} | "
                        f"{duration(cell.virtual.p99_s)} | {duration(floor.mean_s)} / "
                        f"{duration(floor.p99_s)} | {cell.late_share:.1%} | {cell.verdict} |"
                    )
                    print(rows[-1], flush=True)
            state.unlink()
    text = page(rows, cells, arguments.seconds, speed, load, is_sleepless=is_sleepless)
    if arguments.write is None:
        print(f"\n{text}")
        return
    put_between(arguments.write, MARKS, f"{text}\n")


if __name__ == "__main__":
    main()
