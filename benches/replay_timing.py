#!/usr/bin/env python3
"""How far a replay's issue is off its time, at 50 thousand I/Os a second on a file.

    .venv/bin/python benches/replay_timing.py FILE [--repeats N] [--engine ENGINE]... [--real-time]

Replays of 4 KiB at random places, 0.3 s each, with each engine in turn. On a machine where others
run, the thread that issues loses its processor now and then, and is late by that. So the figures
are of all I/Os, and, for root and by the scheduler's trace events, of those that were due while the
thread had its processor: runs of late I/Os are left out where it was switched off, or where one was
later than 0.3 ms, which is what a hypervisor takes. ``io_uring,cpus=1`` issues on processor 1,
``io_uring,sqpoll,cpus=0`` on 0 with a thread of the kernel that passes I/Os on; ``auto`` issues
as it does for users. With ``--real-time`` the thread that issues has real-time priority, so that
nothing but interrupts takes its processor, as on a quiet machine. FILE is made, and removed.
"""

import argparse
import os
import random
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

import fourcorners as fc
from fourcorners import wording
from fourcorners.recording import IoLog
from fourcorners.suites.replay import read_trace, replay_table

RATE = 50_000
SECONDS = 0.3
SPAN_BYTES = 256 << 20
LATE_S = 10e-6
BEGUN_LATE_S = 5e-6
"""A run of late I/Os begins here: below is what the loop itself takes."""
TAKEN_S = 300e-6
"""An interrupt takes a tenth of it."""
BEFORE_S = 30e-6
"""A thread may have lost its processor so long before the first I/O that is late by it: the
distance of two, and half as much."""

HEADER = "time_ns,operation,fua,offset_bytes,length_bytes,volume,latency_ns,queue,process,stream\n"
NAME = "fc-replay"
INSTANCE = Path("/sys/kernel/tracing/instances/fourcorners-timing")
SWITCH = re.compile(r" (\d+\.\d+): sched_switch: .*prev_pid=(\d+) .*next_pid=(\d+)")
ISSUE = re.compile(r"-(\d+) +\[.* (\d+\.\d+): block_rq_issue: ")

Times = npt.NDArray[np.float64]


class Events:
    """Trace events of the scheduler and of block I/O, of this process alone."""

    def __enter__(self) -> "Events":
        INSTANCE.mkdir()
        # Threads have the name of the one that began them.
        Path("/proc/self/comm").write_text(NAME)
        for name, text in {
            "trace_clock": "mono",
            "buffer_size_kb": "20000",
            "events/sched/sched_switch/filter": f'prev_comm == "{NAME}" || next_comm == "{NAME}"',
            "events/block/block_rq_issue/filter": f'comm == "{NAME}" || comm ~ "iou-sqp*"',
            "events/sched/sched_switch/enable": "1",
            "events/block/block_rq_issue/enable": "1",
        }.items():
            (INSTANCE / name).write_text(text)
        return self

    def __exit__(self, *_: object) -> None:
        INSTANCE.rmdir()

    def begin(self) -> None:
        (INSTANCE / "trace").write_text("")
        (INSTANCE / "tracing_on").write_text("1")

    def end(self) -> list[str]:
        (INSTANCE / "tracing_on").write_text("0")
        return (INSTANCE / "trace").read_text("utf-8", "replace").splitlines()


@contextmanager
def real_time() -> Iterator[None]:
    """Threads that begin meanwhile have real-time priority, half a millisecond later."""
    ended = threading.Event()

    def running() -> set[int]:
        return {int(task.name) for task in Path("/proc/self/task").iterdir()}

    def raise_them() -> None:
        known = {*running(), threading.get_native_id()}
        while not ended.wait(0.0005):
            for thread in running() - known:
                os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(1))
                known.add(thread)

    raising = threading.Thread(target=raise_them)
    raising.start()
    try:
        yield
    finally:
        ended.set()
        raising.join()


def undisturbed(log: IoLog, lines: list[str]) -> npt.NDArray[np.bool_]:
    """Of the I/Os in order of their due times, those that no loss of the processor made late."""
    issues = [
        (float(at), pid) for pid, at in (one.groups() for one in map(ISSUE.search, lines) if one)
    ]
    pollers = re.findall(r"iou-sqp-(\d+)", "\n".join(lines))
    pids = pollers or [pid for _, pid in issues]
    issuer = max(set(pids), key=pids.count)
    lost: list[tuple[float, float]] = []
    since = None
    for at, before, after in (one.groups() for one in map(SWITCH.search, lines) if one):
        if before == issuer:
            since = float(at)
        elif after == issuer and since is not None:
            lost.append((since, float(at)))
            since = None
    submitted, late = in_order(log)
    # No I/O reaches the driver before it is issued, and the first ones at once.
    count = min(len(issues), len(submitted))
    start = float(np.min(np.sort([at for at, _ in issues])[:count] - submitted[:count]))
    kept = np.ones(len(late), dtype=bool)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], late > BEGUN_LATE_S, [0]]).astype(int)))
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        begun = start + submitted[first] - late[first] - BEFORE_S
        ended = start + submitted[end - 1]
        if late[first:end].max() > TAKEN_S or any(a < ended and b > begun for a, b in lost):
            kept[first:end] = False
    return kept


def in_order(log: IoLog) -> tuple[Times, Times]:
    """When each I/O was issued, and how late, in seconds and in order of the due times."""
    order = np.argsort(log.due_ns, kind="stable")
    submitted = log.submitted_ns[order] / 1e9
    return submitted, submitted - log.due_ns[order] / 1e9


def workload(folder: Path) -> fc.Workload:
    chance = random.Random(1)
    trace = folder / "trace.csv"
    lines = (
        f"{number * 1_000_000_000 // RATE},read,0,{chance.randrange(SPAN_BYTES // 4096) * 4096}"
        ",4096,sda,,,,\n"
        for number in range(round(RATE * SECONDS))
    )
    trace.write_text(HEADER + "".join(lines), "utf-8")
    table = replay_table([trace])
    depth, own = table["queue-depth"], read_trace(table["trace"])
    stream = fc.Stream.read("sequential", 4096, queue_depth_per_worker=depth, trace=own)
    return fc.Workload([stream], log_ios=2 * round(RATE * SECONDS))


def told(which: str, late: list[Times]) -> str:
    every = np.concatenate(late)
    p50_s, p90_s, p99_s = np.percentile(every, [50, 90, 99]).tolist()
    return (
        f"  {which}, {len(every):,} I/Os: p50 {wording.duration(p50_s)}, "
        f"p90 {wording.duration(p90_s)}, p99 {wording.duration(p99_s)}, "
        f"{wording.percent(float((every > LATE_S).mean()))} more than 10 us late"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--engine", action="append")
    parser.add_argument("--real-time", action="store_true")
    chosen = parser.parse_args()
    engines = chosen.engine or ["auto"]
    every: dict[str, list[Times]] = {engine: [] for engine in engines}
    kept: dict[str, list[Times]] = {engine: [] for engine in engines}
    fill = fc.Workload([fc.Stream.write("sequential", 1 << 20)], volume_bytes=SPAN_BYTES)
    with TemporaryDirectory() as folder, Events() as events:
        replay = workload(Path(folder))
        with fc.open_target(str(chosen.file), size=SPAN_BYTES) as target:
            target.run(fill)
        for engine in engines * chosen.repeats:
            with fc.open_target(str(chosen.file), engine=engine) as target:
                events.begin()
                with real_time() if chosen.real_time else nullcontext():
                    recording = target.run(replay)
                lines = events.end()
            assert recording.log is not None
            late = in_order(recording.log)[1]
            every[engine].append(late)
            kept[engine].append(late[undisturbed(recording.log, lines)])
    chosen.file.unlink()
    for engine in engines:
        print(engine)
        print(told("all", every[engine]))
        print(told("while it had its processor", kept[engine]), flush=True)


if __name__ == "__main__":
    if os.geteuid() != 0:
        raise SystemExit("the scheduler's trace events are for root: run this as root")
    main()
