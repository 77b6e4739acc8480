#!/usr/bin/env python3
"""How well the streams of `fourcorners trace fit` agree with the trace of a database.

    sudo .venv/bin/python benches/fit_sqlite.py --keep db.parquet --write docs/traces.md

SQLite on ext4, with a log that is flushed at each commit and a thousand pages of it written back at
a time, changes rows at random, 72 transactions a second for 20 seconds, on a loop device whose
block events are captured. What the trace and its streams do on a simulated drive makes the table.
Takes five minutes, root, tracefs, mkfs.ext4 and 1.5 GB in --folder. A trace that --keep names and
that is there already is taken as it is.
"""

import argparse
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import fourcorners as fc
from fourcorners import wording
from fourcorners.trace.fitting import FitFigure
from fourcorners_validation.pages import put_between

MARKS = (
    "<!-- made by benches/fit_sqlite.py -->",
    "<!-- end of what benches/fit_sqlite.py made -->",
)
DEVICE_BYTES = 1 << 30
ROWS = 400_000
SECONDS = 20.0
COMMITS_PER_SECOND = 72


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def fill(path: Path) -> None:
    """A table of 140 MB with an index."""
    random.seed(1)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, tag INTEGER, data BLOB)")
        rows = ((id, random.getrandbits(60), random.randbytes(300)) for id in range(ROWS))
        database.executemany("INSERT INTO entry VALUES (?, ?, ?)", rows)
        database.execute("CREATE INDEX entry_tag ON entry (tag)")
    database.close()


def work(path: Path) -> None:
    """Changes rows at random, and where the index has them."""
    random.seed(2)
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    begun = time.monotonic()
    for number in range(round(SECONDS * COMMITS_PER_SECOND)):
        time.sleep(max(begun + number / COMMITS_PER_SECOND - time.monotonic(), 0))
        change = (random.getrandbits(60), random.randbytes(300), random.randrange(ROWS))
        database.execute("UPDATE entry SET tag = ?, data = ? WHERE id = ?", change)
    # Without a last write-back, which closing makes.
    os._exit(0)


def captured(folder: Path, trace: Path) -> None:
    """The trace of the database at work."""
    image, place = folder / "image", folder / "mounted"
    with image.open("wb") as file:
        file.truncate(DEVICE_BYTES)
    place.mkdir()
    device = run("losetup", "--find", "--show", "--direct-io=on", str(image))
    try:
        run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
        run("mount", "-o", "noatime", device, str(place))
        try:
            fill(place / "db")
        finally:
            run("umount", str(place))
        # What the database reads is cold.
        run("mount", "-o", "noatime", device, str(place))
        command = [sys.executable, "-m", "fourcorners", "capture", device, "--for", "300s"]
        recorder = subprocess.Popen(
            [*command, "-o", str(trace), "--replace"], stdout=subprocess.DEVNULL
        )
        try:
            time.sleep(2.5)
            subprocess.run([sys.executable, __file__, "--work", str(place / "db")], check=True)
        finally:
            recorder.send_signal(2)
            failed = recorder.wait()
            run("umount", str(place))
    finally:
        run("losetup", "-d", device)
    if failed:
        sys.exit("nothing was captured")


def shown(figure: FitFigure, value: float | None) -> str:
    if value is None:
        return "-"
    return wording.duration(value) if figure.unit == "s" else f"{value:.3g}"


def row(figure: FitFigure) -> str:
    trace, mean = figure.trace, figure.streams
    ratio = f"{mean / trace:.2f}" if trace and mean is not None else "-"
    low, high = (shown(figure, one) for one in (figure.streams_low, figure.streams_high))
    between = low if low == high else f"{low} to {high}"
    return (
        f"| {figure.name} | {shown(figure, trace)} | {shown(figure, mean)} | {between} | {ratio} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, help="only do what the database does, on this file")
    parser.add_argument("--folder", type=Path, help="for the file system")
    parser.add_argument("--keep", type=Path, default=Path("db.parquet"), help="the trace")
    parser.add_argument("--on", default="sim:crucial-m4-128gb")
    parser.add_argument("--write", type=Path, help="put the table into this document")
    options = parser.parse_args()
    if options.work:
        work(options.work)
    if not options.keep.exists():
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            captured(Path(folder), options.keep)
    found = fc.trace_fit(options.keep, on=options.on)
    assert found.agreement is not None
    lines = ["| | trace | streams | of three seeds | ratio |", "| --- | --- | --- | --- | --- |"]
    lines += [row(one) for one in found.agreement.figures]
    print("\n".join([*lines, found.suite]))
    if options.write:
        put_between(options.write, MARKS, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
