#!/usr/bin/env python3
"""The same job files by fio and by us, on the same file.

    .venv/bin/python benches/fio_jobs.py JOB.fio... --write docs/fio-jobs.md

Jobs are made to fit one file and two seconds, in the same way for both: lengths and offsets are
divided until they fit, and jobs go to this file, with direct I/O and for --seconds each, after half
a second in which a throttle spends what it has saved up.
The first group of jobs that run together is compared. Both run it --repeats times, in
turn and then in reverse order, so that what else the machine does affects both. They agree where
their repeats overlap, but for 1 % and what is outstanding at both ends of a run. Jobs with many
outstanding run for so long that this is 2 % at most, as a first run of each tells. Where that would
take longer than a minute, or where the repeats of one program differ by more than a quarter, the
table says that it cannot tell.

On a drive that is faster than the processors the comparison is one of engines, for which there is
engine_vs_fio.py. Here the drive shall decide: the table was made in a control group whose disk is
throttled to 200 MB/s and 10,000 IOPS each way, as a drive of the reviews' time is.

    echo "254:0 200000000" > /sys/fs/cgroup/blkio/GROUP/blkio.throttle.read_bps_device   # and so on
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import fourcorners as fc
from fourcorners.suites import Subject
from fourcorners.suites.fio.job import FioJob
from fourcorners.suites.fio.job_file import FioSection, sections_of
from fourcorners.suites.fio.options import SYNCHRONOUS_ENGINES
from fourcorners.suites.fio.quantities import switch
from fourcorners.suites.suite import find_suite
from fourcorners_validation.pages import put_between

MARKS = ("<!-- made by benches/fio_jobs.py -->", "<!-- end of what benches/fio_jobs.py made -->")
LENGTHS = ("size", "filesize", "io_size", "offset", "offset_increment")
ZONES = ("zonesize", "zonerange", "zoneskip")
# What is about files, about results, or about when jobs begin and end.
LEFT_OUT = {
    *("filename", "directory", "numa_cpu_nodes", "numa_mem_policy", "cpus_allowed", "gtod_reduce"),
    *(
        "stonewall",
        "wait_for",
        "new_group",
        "group_reporting",
        "runtime",
        "time_based",
        "ramp_time",
    ),
    *(
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "log_offset",
        "log_avg_msec",
        "startdelay",
    ),
    *("steadystate", "steadystate_duration", "steadystate_ramp_time", "steadystate_check_interval"),
    *("loops", "name", "description", "direct", "buffered", "number_ios", "ss_check_interval"),
    *(
        "randrepeat",
        "disable_lat",
        "disable_clat",
        "disable_slat",
        "exitall",
        "rate_min",
        "fill_device",
    ),
}
GROUPS_MAX = 1
CLONES_MAX = 4
# Zones and areas stay multiples of the largest requests of usual jobs.
GRID_BYTES = 1 << 20


RAMP_MS = 500
# A measured time ends with the last I/O here, and with the last millisecond in fio.
TOLERANCE, TOLERATED_IOS = 0.01, 2
# Of the I/Os of a run, those that are outstanding at its ends: a fault of a few percent shows.
ENDS_MAX = 0.02
SECONDS_MAX = 60.0
# The largest of one program's repeats by the least: beyond it an overlap says nothing.
REPEATS_APART_MAX = 1.25


@dataclass
class Compared:
    """A group of jobs: I/Os per second of each repeat, and the share of reads."""

    name: str
    outstanding: int
    seconds: float
    fio: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    fio_reads: list[float] = field(default_factory=list)
    our_reads: list[float] = field(default_factory=list)

    @property
    def ends(self) -> float:
        """Of the I/Os of a run, the share that its two ends may add or leave out."""
        return (TOLERATED_IOS + self.outstanding) / max(median(self.fio) * self.seconds, 1)

    @property
    def verdict(self) -> str:
        """Whether the repeats overlap, but for 1 % and for what is outstanding at both ends."""
        if self.ends > 2 * ENDS_MAX:
            return f"cannot tell: {100 * self.ends:.0f} % are outstanding at the ends"
        apart = max(max(one) / max(min(one), 1e-9) for one in (self.fio, self.ours))
        margin = 1 + TOLERANCE + self.ends
        least, most = max(min(self.fio), min(self.ours)), min(max(self.fio), max(self.ours))
        if least > margin * most:
            return "no"
        return "yes" if apart <= REPEATS_APART_MAX else f"cannot tell: repeats {apart:.1f} times"

    @property
    def row(self) -> str:
        """A line of the table."""
        ratio = median(self.ours) / median(self.fio)
        reads = f"{100 * median(self.fio_reads):.0f}, {100 * median(self.our_reads):.0f} %"
        return (
            f"| {self.name} | {spread(self.fio)} | {spread(self.ours)} | {ratio:.2f} | {reads} "
            f"| {self.verdict} |"
        )


def median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return (ordered[middle] + ordered[-middle - 1]) / 2


def spread(values: list[float]) -> str:
    return f"{median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})"


def groups_of(path: Path) -> list[list[FioSection]]:
    groups: list[list[FioSection]] = []
    for section in sections_of(path)[1]:
        begins = switch(section.options.get("stonewall", "0")) or "wait_for" in section.options
        if begins or not groups:
            groups.append([])
        groups[-1].append(section)
    return groups[:GROUPS_MAX]


def fitted(group: list[FioSection], file: Path, file_bytes: int, seconds: float) -> str:
    """A job file of one group for one file and so many seconds."""
    jobs = [FioJob(section) for section in group]
    known = [job.size + job.offset for job in jobs if isinstance(job.size, int)]
    factor = max(1, -(-max(known, default=1) // file_bytes))
    lines = []
    for job in jobs:
        lines.append(f"[{job.section.name}]")
        for key, text in job.told.items():
            if key in LEFT_OUT:
                continue
            if key in LENGTHS and not text.endswith("%"):
                length = (job.bytes_of(key) or 0) // factor
                text = str(
                    max(length // GRID_BYTES, 1 if key in ("size", "filesize") else 0) * GRID_BYTES
                )
            elif key in ZONES:
                # fio's example has zones of 256 MiB, and as many gigabytes between them.
                text = str(max((job.bytes_of(key) or 0) // 64 // GRID_BYTES, 1) * GRID_BYTES)
            elif key == "numjobs":
                text = str(min(job.clones, CLONES_MAX))
            elif key == "ioengine" and text == "null":
                text = "libaio"
            lines.append(f"{key}={text}")
        if job.size is None:
            lines.append(f"size={file_bytes}")
        lines += [f"filename={file}", "direct=1", "time_based", "randrepeat=0"]
        lines.append(f"runtime={seconds * 1e3:.0f}ms")
        if not {"rate", "rate_iops"} & job.told.keys():
            # After a ramp fio makes up for it: it keeps no rate then.
            lines.append(f"ramp_time={RAMP_MS}ms")
    return "\n".join(lines) + "\n"


def by_fio(job: Path) -> tuple[float, float]:
    """I/Os per second, and the share of reads."""
    command = ["fio", "--output-format=json", "--thread", str(job)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    jobs = json.loads(told[told.index("{") :])["jobs"]
    ios = {name: sum(job[name]["total_ios"] for job in jobs) for name in ("read", "write")}
    elapsed_ms = max(job[name]["runtime"] for job in jobs for name in ("read", "write"))
    return sum(ios.values()) / elapsed_ms * 1e3, ios["read"] / max(sum(ios.values()), 1)


def by_us(job: Path, file: Path, seed: int) -> tuple[float, float]:
    jobs = [FioJob(section) for section in sections_of(job)[1]]
    synchronous = all(one.told.get("ioengine", "psync") in SYNCHRONOUS_ENGINES for one in jobs)
    engine = "sync" if synchronous else None
    # fio has written to it since: each time the words of permission are needed anew.
    with fc.open_target(str(file), overwrite=str(file), engine=engine) as target:
        [test] = find_suite(str(job)).plan(Subject.of(target), seed).tests
        [measurement] = test.phases[0].measurements
        recording = target.run(measurement.workload)
    ios = {name: one.ios for name, one in recording.operations.items() if name in ("read", "write")}
    total = sum(ios.values())
    return total / recording.elapsed_s, ios.get("read", 0) / max(total, 1)


def compare(
    name: str, job: Path, text: Callable[[float], str], file: Path, seconds: float, repeats: int
) -> Compared:
    """Runs ``text`` of so many seconds, which is written as ``job``, by both in turn."""
    job.write_text(text(seconds), "utf-8")
    jobs = [FioJob(section) for section in sections_of(job)[1]]
    outstanding = sum(one.depth * one.clones for one in jobs)
    least_s = (TOLERATED_IOS + outstanding) / ENDS_MAX / max(by_us(job, file, 0)[0], 1e-9)
    seconds = min(max(seconds, least_s), max(seconds, SECONDS_MAX))
    job.write_text(text(seconds), "utf-8")
    found = Compared(name, outstanding, seconds)
    for repeat in range(repeats):
        for ours in (repeat % 2 == 0, repeat % 2 != 0):
            rate, reads = by_us(job, file, repeat + 1) if ours else by_fio(job)
            (found.ours if ours else found.fio).append(rate)
            (found.our_reads if ours else found.fio_reads).append(reads)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("jobs", nargs="+", type=Path)
    parser.add_argument(
        "--file", type=Path, default=Path("fio-jobs.tmp"), help="is made, and removed"
    )
    parser.add_argument("--size-mib", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--write", type=Path, help="put the table into this document")
    options = parser.parse_args()
    if options.file.exists():
        sys.exit(f"{options.file} is there already: name one that is not")
    size_bytes = options.size_mib << 20
    results = []
    file = options.file.resolve()
    try:
        with fc.open_target(str(file), size=size_bytes) as target:
            fill = fc.Stream.write("sequential", 1 << 20, queue_depth_per_worker=4)
            target.run(fc.Workload([fill], volume_bytes=size_bytes))
        with tempfile.TemporaryDirectory() as folder:
            for path in options.jobs:
                for number, group in enumerate(groups_of(path), start=1):
                    job = Path(folder) / f"{path.stem}-{number}.fio"
                    names = "+".join(dict.fromkeys(section.name for section in group))
                    one = compare(
                        f"{path.stem}: {names[:40]}",
                        job,
                        partial(fitted, group, file, size_bytes),
                        file,
                        options.seconds,
                        options.repeats,
                    )
                    print(one.row, flush=True)
                    results.append(one)
    finally:
        file.unlink(missing_ok=True)
    agree = sum(one.verdict == "yes" for one in results)
    differ = sum(one.verdict == "no" for one in results)
    summary = (
        f"{agree} of {len(results)} groups of {len(options.jobs)} jobs agree, {differ} do not, "
        f"{len(results) - agree - differ} cannot tell."
    )
    print(summary)
    if options.write:
        head = (
            "| job: group | fio, IOPS | here, IOPS | ratio | reads | agree |\n| --- " + "| --- " * 5
        )
        table = "\n".join([head + "|", *(one.row for one in results)])
        put_between(options.write, MARKS, f"{table}\n\n{summary}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
