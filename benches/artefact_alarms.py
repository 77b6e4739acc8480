#!/usr/bin/env python3
"""Counts false alarms of the artefact detectors over clean runs.

    benches/artefact_alarms.py [--runs 240] [--suites]

The clean runs are short runs on simulated drives, on a loop device of its own with direct I/O
(root), and on a file with direct I/O; all targets are filled with random data. Independently of the
detectors, the script measures whether other processes used the processors or the disk. For the
processors it takes the time in which they were not idle, including what the hypervisor took, less
the time of this process, of the kernel threads and of interrupts, which serve its I/O. For the disk
it takes the machine's paging counters, less this process's I/O. A run with other use of the
processors is not clean for `cpu_contention` and `host_saturated`, and one with other use of the
disk not for `foreign_load`. The table has the number of such runs, and how much others used.
`--suites` runs the quick suite on every drive of the catalog as well. Prints a Markdown table for
docs/artefacts.md.
"""

import argparse
import collections
import dataclasses
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import fourcorners as fc
from fourcorners import catalog
from fourcorners.analysis.artefacts import PREFIX

SIZE = 64 << 20
SECONDS = 0.5
# Processors that others may use. If they use more, one of our threads may have waited for a
# processor for that share of the time. Readings are exact to one part in fifty.
OTHERS_MAX = 0.05
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
# Time that is charged to an issuing thread while it has no processor.
BY_PROCESSORS = frozenset(["cpu_contention", "host_saturated"])
# Block I/O of others on a file system, whose disk is not ours alone.
FOREIGN_BYTES_MAX = 1 << 18


def workload(number: int) -> fc.Workload:
    """Another mix each time: reads, writes and both, sizes, depths, patterns."""
    stream = fc.Stream(
        read_share=(1.0, 0.0, 0.7)[number % 3],
        block_bytes=(4096, 16384, 65536, 131072)[number // 3 % 4],
        pattern=("random", "sequential")[number // 12 % 2],
        queue_depth_per_worker=(1, 4, 32)[number // 24 % 3],
    )
    return fc.Workload([stream], duration_s=SECONDS, seed=number + 1)


@dataclasses.dataclass(frozen=True)
class Processors:
    """One reading: its time, and the processor time used until then, in seconds."""

    at_s: float
    idle_s: float
    ours_s: float

    @classmethod
    def read(cls) -> "Processors":
        line = Path("/proc/stat").read_text().partition("\n")[0].split()
        # user nice system idle iowait irq softirq: the sum over all processors.
        idle, waiting, interrupts, later = (int(value) * TICK_S for value in line[4:8])
        usages = [
            resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        ]
        own = sum(usage.ru_utime + usage.ru_stime for usage in usages)
        return cls(time.monotonic(), idle + waiting, own + kernel_threads_s() + interrupts + later)

    def others_until(self, later: "Processors") -> float:
        """How many processors were used by others, on average."""
        elapsed_s = later.at_s - self.at_s
        busy_s = elapsed_s * (os.cpu_count() or 1) - (later.idle_s - self.idle_s)
        return (busy_s - (later.ours_s - self.ours_s)) / elapsed_s


def kernel_threads_s() -> float:
    """Their time so far: of workers, of loop devices, of file systems."""
    total_ns = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            if parent == "2":
                total_ns += int((process / "schedstat").read_text().split()[0])
        except OSError:
            # It has ended.
            continue
    return total_ns * 1e-9


def others_bytes() -> int:
    """Block I/O of the whole machine, with the write-back of dirty pages, less this process's."""
    machine = Path("/proc/vmstat").read_text()
    own = Path("/proc/self/io").read_text()
    passed = sum(map(int, re.findall(r"^(?:pgpgin|pgpgout) (\d+)", machine, re.M))) * 1024
    return passed - sum(map(int, re.findall(r"^(?:read|write)_bytes: (\d+)", own, re.M)))


class Tally:
    """Runs and alarms of one kind of target."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.runs = 0
        self.unclean: collections.Counter[str] = collections.Counter()
        self.alarms: collections.Counter[str] = collections.Counter()
        self.alarmed = 0
        self.others: list[float] = []

    def observe(self, target: fc.Target, number: int) -> None:
        before, processors = others_bytes(), Processors.read()
        artefacts = fc.observe(target, workload(number)).artefacts
        self.others.append(processors.others_until(Processors.read()))
        unclean: set[str] = set()
        if self.others[-1] > OTHERS_MAX:
            unclean |= BY_PROCESSORS
        if self.name == "file" and others_bytes() - before > FOREIGN_BYTES_MAX:
            unclean.add("foreign_load")
        self.runs += 1
        self.unclean.update(unclean)
        false = {artefact.name for artefact in artefacts} - unclean
        self.alarms.update(false)
        self.alarmed += bool(false)
        for artefact in artefacts:
            if artefact.name in false:
                print(f"{self.name} {number}: {artefact}", file=sys.stderr)

    @property
    def row(self) -> str:
        unclean = ", ".join(f"{count} for {name}" for name, count in sorted(self.unclean.items()))
        alarms = ", ".join(f"{count} {name}" for name, count in self.alarms.items())
        share = f"{self.alarmed / self.runs:.1%}" if self.runs else ""
        others = f"{statistics.median(self.others):.2f}" if self.others else "-"
        return (
            f"| {self.name} | {self.runs} | {others} | {unclean or 'none'} | {alarms or 'none'} "
            f"| {share} |"
        )


def fill(target: fc.Target) -> None:
    target.run(fc.Workload([fc.Stream.write("sequential", 1 << 20)], volume_bytes=SIZE))
    target.filled()


def simulated(runs: int) -> Tally:
    tally = Tally("simulated")
    names = catalog.names()
    for number in range(runs):
        with fc.open_target(f"sim:{names[number % len(names)]}") as target:
            tally.observe(target, number)
    # No machine is observed around them.
    tally.unclean.clear()
    tally.others.clear()
    return tally


def file(runs: int, folder: Path) -> Tally:
    tally = Tally("file")
    with fc.open_target(str(folder / "file"), size=SIZE) as target:
        fill(target)
        for number in range(runs):
            tally.observe(target, number)
    return tally


def loop(runs: int, folder: Path) -> Tally:
    tally = Tally("loop device")
    image = folder / "image"
    image.write_bytes(os.urandom(SIZE))
    command = ["losetup", "--find", "--show", "--direct-io=on", str(image)]
    device = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    try:
        with fc.open_target(device, destroy_data=device) as target:
            for number in range(runs):
                tally.observe(target, number)
    finally:
        subprocess.run(["losetup", "--detach", device], check=False)
    return tally


def suites(folder: Path) -> Tally:
    """The suite measures a fresh drive, so that an alarm about a fresh drive is not false."""
    tally = Tally("quick suite, simulated")
    for drive in catalog.names():
        run = fc.characterize(f"sim:{drive}", profile="quick", out=folder)
        names = {f.name.removeprefix(PREFIX) for f in run.findings if PREFIX in f.name}
        tally.runs += 1
        tally.unclean.update(names & {"preconditioning"})
        tally.alarms.update(names - {"preconditioning"})
        tally.alarmed += bool(names - {"preconditioning"})
        for finding in run.findings:
            if finding.name.removeprefix(PREFIX) in names - {"preconditioning"}:
                print(f"{drive}: {finding.text}", file=sys.stderr)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=240)
    parser.add_argument("--suites", action="store_true")
    options = parser.parse_args()
    third = options.runs // 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tallies = [simulated(third), file(third, folder)]
        if os.geteuid() == 0:
            tallies.append(loop(third, folder))
        if options.suites:
            tallies.append(suites(folder))
    print(
        "| target | runs | processors that others used, median | not clean | false alarms "
        "| runs with one |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for tally in tallies:
        print(tally.row)


if __name__ == "__main__":
    main()
