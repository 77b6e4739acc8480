#!/usr/bin/env python3
"""Kills runs on simulated drives at random points, resumes them, and compares the results with
those of uninterrupted runs. Prints the table of docs/run-folder.md.

usage: benches/resume.py [--points 200] [--seed 1] [--scratch DIR] [--jobs 2]

Half of the points are moments, uniform over the run's time. The other half are flushes of files, so
that runs are also killed while the folder changes. One resumed run in three is killed again.
"""

import argparse
import collections
import json
import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import fourcorners.analysis
import fourcorners.reporting.html  # noqa: F401 - loaded before it is forked
from fourcorners.cli import main as main_command
from fourcorners.store import folder, schema

DRIVES = {
    "OCZ Core 64 GB": ("sim:ocz-core-64gb", "four-corners,consistency"),
    "X25-V 40 GB": ("sim:intel-x25-v-40gb", "queue-depth,transfer-size"),
    "WD6400AAKS": ("sim:wd6400aaks", "four-corners,queue-depth"),
    "RAID 0 of two Core": ("sim:raid0:2xocz-core-64gb", "four-corners,consistency"),
}
TABLES = (schema.RECORDINGS, schema.SERIES, schema.HISTOGRAMS, schema.FINDINGS)


def command(drive: str, tests: str, out: Path) -> list[str]:
    return [
        "characterize",
        drive,
        "--tests",
        tests,
        "--profile",
        "quick",
        "--quiet",
        "--out",
        str(out),
    ]


def run(
    arguments: list[str],
    *,
    flush: int = 0,
    after_s: float | None = None,
    count: Path | None = None,
) -> tuple[int, float]:
    """Exit code and duration; killed at a flush or after a time, as told. ``count`` is a file for
    how many flushes of files and folders there were.

    A fork of this process, in which everything is loaded, so that the moments fall into the run.
    """
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        flushes = Flushes(flush)
        os.fsync = flushes  # type: ignore[assignment]
        ended = main_command(arguments)
        if count is not None:
            count.write_text(str(flushes.done))
        os._exit(ended)
    code = None
    while code is None and (after_s is None or time.monotonic() - started < after_s):
        code = _ended(child, os.WNOHANG)
        time.sleep(0.001)
    if code is None:
        os.kill(child, signal.SIGKILL)
        code = _ended(child, 0)
    assert code is not None
    return code, time.monotonic() - started


def _ended(child: int, flags: int) -> int | None:
    pid, status = os.waitpid(child, flags)
    return os.waitstatus_to_exitcode(status) if pid else None


class Flushes:
    """Replaces ``os.fsync``: counts the calls, and kills the process at one of them."""

    def __init__(self, killed_at: int) -> None:
        self.done, self._killed_at, self._flush = 0, killed_at, os.fsync

    def __call__(self, descriptor: int) -> None:
        self.done += 1
        if self.done == self._killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
        self._flush(descriptor)


@dataclass(frozen=True)
class Whole:
    """An uninterrupted run, its duration, and the number of its flushes."""

    path: Path
    seconds: float
    flushes: int


def phase(path: Path) -> str:
    """The stage that a killed run had reached, judged by its folder."""
    if path == folder.named_path(path):
        return "after its end"
    if not (path / schema.MANIFEST).exists():
        return "before anything was saved"
    manifest = json.loads((path / schema.MANIFEST).read_text())
    if manifest["ended"] is not None:
        return "before it got its name"
    if manifest["status"] != "running":
        return "at the report"
    if not manifest["tests"]:
        return "before the first test"
    last = manifest["tests"][-1]
    return "in a test" if last["status"] == "running" else "between tests"


def finished(path: Path) -> dict[str, float]:
    """Finished tests and the time that each took, to the millisecond: run again, it differs."""
    tests = json.loads((path / schema.MANIFEST).read_text())["tests"]
    return {test["name"]: test["wall_s"] for test in tests if test["status"] == "complete"}


def _folders(out: Path) -> list[Path]:
    """But for one that a run was killed in the middle of making."""
    return [path for path in out.glob("*") if any(path.iterdir())] if out.exists() else []


class Study:
    def __init__(self, seed: int, scratch: Path) -> None:
        self.random = random.Random(seed)
        self.scratch = scratch
        self.phases: dict[str, collections.Counter[str]] = {
            name: collections.Counter() for name in DRIVES
        }
        self.wrong: list[str] = []
        self.kills = self.resumed = self.kept = self.again = 0

    def whole(self, name: str) -> Whole:
        drive, tests = DRIVES[name]
        out, count = self.scratch / "whole" / name.replace(" ", "-"), self.scratch / "flushes"
        code, seconds = run(command(drive, tests, out), count=count)
        assert code == 0, f"{name}: {code}"
        return Whole(next(out.iterdir()), seconds, int(count.read_text()))

    def point(self, number: int, name: str, reference: Whole) -> None:
        """One run that is killed and resumed until it ends."""
        drive, tests = DRIVES[name]
        out = self.scratch / str(number)
        by_flush = number % 2 == 1
        arguments, kept, gaps = command(drive, tests, out), {}, 0
        killed = False
        while True:
            code, _ = run(
                arguments,
                flush=self.random.randint(1, reference.flushes) if by_flush else 0,
                after_s=None if by_flush else self.random.uniform(0, reference.seconds),
            )
            if code != -signal.SIGKILL:
                break
            self.kills += 1
            folders = _folders(out)
            where = phase(folders[0]) if folders else "before anything was saved"
            self.phases[name][where] += 1
            if where == "before anything was saved":
                # There is nothing to resume, and the next run removes the folder.
                code, _ = run(["resume", str(folders[0] if folders else out)])
                self.expect(code == 2, number, f"resume of nothing ended with {code}")
                arguments = command(drive, tests, out)
                continue
            kept, killed = finished(folders[0]), True
            # One more than it has, unless only the name was missing.
            gaps = len(json.loads((folders[0] / schema.MANIFEST).read_text())["gaps"])
            gaps += where not in ("before it got its name", "after its end")
            arguments = ["resume", str(folder.named_path(folders[0]))]
            if self.random.random() < 2 / 3:
                code, _ = run(arguments)
                self.expect(code == 0, number, f"resume ended with {code}")
                break
            self.again += 1
        path, *others = _folders(out)
        self.expect(not others, number, f"also left: {', '.join(map(str, others))}")
        self.resumed += killed
        self.kept += len(kept)
        manifest = json.loads((path / schema.MANIFEST).read_text())
        for table in TABLES:
            same = (path / table).read_bytes() == (reference.path / table).read_bytes()
            self.expect(same, number, f"{table} differs")
        ended = finished(path)
        self.expect(manifest["status"] == "complete", number, manifest["status"])
        self.expect(all(ended[test] == took for test, took in kept.items()), number, "ran again")
        self.expect(
            len(manifest["gaps"]) == gaps, number, f"{len(manifest['gaps'])} of {gaps} gaps"
        )
        self.expect(
            all(gap["same"] == "drive file and seed" for gap in manifest["gaps"]),
            number,
            "identity",
        )
        shutil.rmtree(out)

    def add(self, other: "Study") -> None:
        """Adds the results of another process."""
        for name, counter in other.phases.items():
            self.phases[name] += counter
        self.wrong += other.wrong
        for count in ("kills", "resumed", "kept", "again"):
            setattr(self, count, getattr(self, count) + getattr(other, count))

    def expect(self, holds: bool, number: int, what: str) -> None:
        if not holds:
            self.wrong.append(f"point {number}: {what}")
            print(self.wrong[-1], file=sys.stderr, flush=True)

    def table(self) -> str:
        where = [
            "before anything was saved", "before the first test", "in a test", "between tests",
            "at the report", "before it got its name", "after its end",
        ]  # fmt: skip
        lines = ["| killed | " + " | ".join(self.phases) + " | all |"]
        lines.append("| --- |" + " ---: |" * (len(self.phases) + 1))
        for row in where:
            counts = [counter[row] for counter in self.phases.values()]
            lines.append(f"| {row} | " + " | ".join(map(str, [*counts, sum(counts)])) + " |")
        return "\n".join(lines)


def _job(
    job: int, options: argparse.Namespace, scratch: Path, references: dict[str, Whole]
) -> tuple[int, Path]:
    """A process that does its part of the points, and the file in which it leaves its study."""
    result = scratch / f"study-{job}"
    child = os.fork()
    if child == 0:
        study = Study(options.seed + 1000 * job, scratch)
        for number in range(job, options.points, options.jobs):
            # Every drive gets both kinds of points.
            name = list(DRIVES)[number // 2 % len(DRIVES)]
            study.point(number, name, references[name])
            print(f"point {number}, {len(study.wrong)} wrong", file=sys.stderr, flush=True)
        result.write_bytes(pickle.dumps(study))
        os._exit(0)
    return child, result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        study = Study(options.seed, Path(scratch))
        references = {name: study.whole(name) for name in DRIVES}
        jobs = [_job(job, options, Path(scratch), references) for job in range(options.jobs)]
        for pid, result in jobs:
            _ended(pid, 0)
            study.add(pickle.loads(result.read_bytes()))
    print(study.table())
    print(
        f"\n{options.points} runs, {study.kills} kills, {study.again} of them followed by one more "
        f"of the resumed run; {study.resumed} runs resumed, {study.kept} finished tests kept. "
        f"Wrong: {len(study.wrong)}."
    )
    return 1 if study.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
