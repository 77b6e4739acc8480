#!/usr/bin/env python3
"""How far a replay's issue is off its time, at 50 thousand I/Os a second on a file.

    .venv/bin/python benches/replay_timing.py FILE [--repeats N]

Short replays of 4 KiB at random places, one after the other. On a machine where others run, the
thread that issues waits for a processor now and then, and is late by that: each line has how long
it waited, and the last one is of the replays in which it waited least. FILE is made, and removed.
"""

import argparse
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import fourcorners as fc
from fourcorners import wording

RATE = 50_000
SECONDS = 0.3
SPAN_BYTES = 256 << 20
QUIET_SHARE_MAX = 1e-4
"""Of the time, that the thread waited for a processor in a replay that counts as undisturbed."""

HEADER = "time_ns,operation,fua,offset_bytes,length_bytes,volume,latency_ns,queue,process,stream\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--repeats", type=int, default=20)
    chosen = parser.parse_args()
    chance = random.Random(1)
    rows = []
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.csv"
        lines = (
            f"{number * 1_000_000_000 // RATE},read,0,{chance.randrange(SPAN_BYTES // 4096) * 4096}"
            ",4096,sda,,,,\n"
            for number in range(round(RATE * SECONDS))
        )
        trace.write_text(HEADER + "".join(lines), "utf-8")
        for repeat in range(chosen.repeats):
            size = SPAN_BYTES if repeat == 0 else None
            run = fc.replay(
                trace, str(chosen.file), size=size, fill=repeat == 0, out=Path(folder) / "runs"
            )
            replayed = run.recordings[0].replayed
            assert replayed is not None
            assert replayed.off_time_p50_s is not None
            assert replayed.off_time_p99_s is not None
            waited_s = replayed.waited_s or 0.0
            late = replayed.late_ios / replayed.ios
            rows.append((waited_s, replayed.off_time_p50_s, replayed.off_time_p99_s, late))
            print(told(*rows[-1]), flush=True)
    chosen.file.unlink(missing_ok=True)
    quiet = [row for row in rows if row[0] <= QUIET_SHARE_MAX * SECONDS]
    print(f"{len(quiet)} of {len(rows)} undisturbed; of these, median:")
    if quiet:
        print(told(*(sorted(column)[len(quiet) // 2] for column in zip(*quiet, strict=True))))


def told(waited_s: float, p50_s: float, p99_s: float, late: float) -> str:
    return (
        f"waited {wording.duration(waited_s)}: p50 {wording.duration(p50_s)}, "
        f"p99 {wording.duration(p99_s)}, {wording.percent(late)} more than 10 us late"
    )


if __name__ == "__main__":
    main()
