#!/usr/bin/env python3
"""How far a replay's issue is off its time, at 50 thousand I/Os a second on a file.

    .venv/bin/python benches/replay_timing.py FILE [--repeats N] [--engine ENGINE]

Replays of 4 KiB at random places, 20 ms each, again and again. On a machine where others run, the
thread that issues waits for a processor now and then, and is late by that: the figures are of all
replays, and of those in which it never waited. FILE is made, and removed. ``--engine io_uring`` is
without a thread of the kernel that passes I/Os on, ``io_uring,sqpoll`` always with one; without it
the replay decides, as it does for users.
"""

import argparse
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

import fourcorners as fc
from fourcorners import wording
from fourcorners.suites.replay import read_trace, replay_table

RATE = 50_000
SECONDS = 0.02
SPAN_BYTES = 256 << 20
LATE_S = 10e-6

HEADER = "time_ns,operation,fua,offset_bytes,length_bytes,volume,latency_ns,queue,process,stream\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--engine")
    chosen = parser.parse_args()
    chance = random.Random(1)
    late: list[npt.NDArray[np.float64]] = []
    waited: list[float] = []
    polled = 0
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.csv"
        lines = (
            f"{number * 1_000_000_000 // RATE},read,0,{chance.randrange(SPAN_BYTES // 4096) * 4096}"
            ",4096,sda,,,,\n"
            for number in range(round(RATE * SECONDS))
        )
        trace.write_text(HEADER + "".join(lines), "utf-8")
        table = replay_table([trace])
        stream = fc.Stream.read(
            "sequential",
            4096,
            queue_depth_per_worker=table["queue-depth"],
            trace=read_trace(table["trace"]),
        )
        workload = fc.Workload([stream], log_ios=2 * round(RATE * SECONDS))
        for repeat in range(chosen.repeats):
            size = SPAN_BYTES if repeat == 0 else None
            with fc.open_target(str(chosen.file), size=size, engine=chosen.engine) as target:
                if repeat == 0:
                    fill = fc.Stream.write("sequential", 1 << 20)
                    target.run(fc.Workload([fill], volume_bytes=SPAN_BYTES))
                recording = target.run(workload)
                polled += any("SQPOLL" in note for note in target.notes)
            assert recording.replayed is not None
            assert recording.log is not None
            waited.append(recording.replayed.waited_s or 0.0)
            late.append((recording.log.submitted_ns - recording.log.due_ns) / 1e9)
    chosen.file.unlink(missing_ok=True)
    if chosen.engine is None:
        print(f"{chosen.repeats} replays, {polled} of them with a thread of the kernel")
    print(told("all", late))
    print(told("undisturbed", [one for one, s in zip(late, waited, strict=True) if s == 0]))


def told(which: str, late: list[npt.NDArray[np.float64]]) -> str:
    if not late:
        return f"{which}: none"
    p50_s, p99_s, p999_s = np.percentile(np.concatenate(late), [50, 99, 99.9])
    share = float((np.concatenate(late) > LATE_S).mean())
    return (
        f"{which}, {len(late)} replays: p50 {wording.duration(float(p50_s))}, "
        f"p99 {wording.duration(float(p99_s))}, p99.9 {wording.duration(float(p999_s))}, "
        f"{wording.percent(share)} more than 10 us late"
    )


if __name__ == "__main__":
    main()
