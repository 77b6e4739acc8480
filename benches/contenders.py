"""The contenders of `engine_vs_fio.py`: how each runs a workload, and what it reports.

Each reports nanoseconds per I/O: `time_ns`, processor times `user_ns` and `cpu_ns`, and the median
`latency_ns`.
"""

import argparse
import json
import math
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

SECOND_NS = 10**9


@dataclass(frozen=True)
class Case:
    """One comparison. ``rw`` as fio names it; ``batch`` requests are passed to the kernel at a
    time, ``None`` leaves that to each engine's defaults."""

    medium: str
    queue_depth: int
    batch: int | None = None
    block_bytes: int = 4096
    rw: str = "randread"
    workers: int = 1
    engine: str = "io_uring"

    @property
    def title(self) -> str:
        size = f"{self.block_bytes // 1024} KiB" if self.block_bytes >= 1024 else "512 B"
        title = f"{size} {self.rw}, QD {self.queue_depth}"
        title += f" x {self.workers} workers" if self.workers > 1 else ""
        title += f", batches of {self.batch}" if self.batch else ""
        return title + (", synchronous" if self.engine == "sync" else "")


def run(command: list[str], directory: Path | None = None) -> str:
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{shlex.join(command)}\nfailed: {result.stderr.strip()}")
    return result.stdout


def run_ours(
    engine: str, path: Path, case: Case, options: argparse.Namespace, seed: int
) -> dict[str, float]:
    stream = {
        "read_fraction": 0.7 if case.rw == "randrw" else 1.0,
        "block_bytes": case.block_bytes,
        "pattern": "sequential" if case.rw == "read" else "random",
        "queue_depth": case.queue_depth,
        "workers": case.workers,
    }
    # Time is virtual on the no-op target: this many I/Os take about the wanted time.
    stop: dict[str, int] = {"time_ns": round(options.seconds * SECOND_NS)}
    if case.medium == "noop":
        stop = {"ios": round(options.seconds * 2e7)}
    document = json.dumps({"streams": [stream], "stop": stop, "seed": seed})
    name = case.engine
    name += ",buffered" if case.medium == "cache" else ""
    name += f",batch={case.batch}" if case.batch else ""
    arguments = [] if case.medium == "noop" else [name]
    result = json.loads(run([engine, str(path), document, *arguments]))
    if any(operation["errors"] for operation in result["operations"]):
        sys.exit(f"not comparable: errors in {result}")
    ios = sum(operation["ios"] for operation in result["operations"])
    elapsed_s = result["wall_s"] if case.medium == "noop" else result["elapsed_s"]
    return {
        "time_ns": elapsed_s * 1e9 / ios,
        "user_ns": result["cpu_user_ns"] / ios,
        "cpu_ns": (result["cpu_user_ns"] + result["cpu_system_ns"]) / ios,
        "latency_ns": result["operations"][0]["latency_median_ns"],
    }


def fio_command(path: Path, case: Case, options: argparse.Namespace, seed: int) -> list[str]:
    command = [
        options.fio,
        "--name=compare",
        f"--rw={case.rw}",
        f"--bs={case.block_bytes}",
        f"--iodepth={case.queue_depth}",
        f"--numjobs={case.workers}",
        # As in our engine, every address may come again.
        "--norandommap",
        f"--randseed={seed}",
        # Latency counts from submission, as in our engine, not from the system call's return.
        "--clat_percentiles=0",
        "--lat_percentiles=1",
        "--percentile_list=50",
        "--time_based",
        f"--runtime={round(options.seconds * 1000)}ms",
        "--thread",
        "--group_reporting",
        "--output-format=json",
    ]
    if case.medium == "noop":
        return [*command, "--ioengine=null", "--size=1T"]
    command += [f"--filename={path}", f"--direct={int(case.medium != 'cache')}"]
    # Otherwise fio would empty the page cache first.
    command += ["--invalidate=0"]
    if case.rw == "randrw":
        command += ["--rwmixread=70", "--allow_file_create=0"]
    else:
        command += ["--readonly"]
    if case.engine == "sync":
        return [*command, "--ioengine=psync"]
    command += ["--ioengine=io_uring", "--registerfiles", "--fixedbufs"]
    if case.batch:
        command += [
            f"--iodepth_batch_submit={case.batch}",
            f"--iodepth_batch_complete_min={case.batch}",
            f"--iodepth_batch_complete_max={case.batch}",
        ]
    return command


def run_fio(path: Path, case: Case, options: argparse.Namespace, seed: int) -> dict[str, float]:
    job = json.loads(run(fio_command(path, case, options, seed)))["jobs"][0]
    sides = [job[name] for name in ("read", "write") if job[name]["total_ios"]]
    ios = sum(side["total_ios"] for side in sides)
    runtime_ns = max(side["runtime"] for side in sides) * 1e6
    # Percent of one core, over all workers.
    busy_ns = job["job_runtime"] * 1e6 / 100
    return {
        "time_ns": runtime_ns / ios,
        "user_ns": job["usr_cpu"] * busy_ns / ios,
        "cpu_ns": (job["usr_cpu"] + job["sys_cpu"]) * busy_ns / ios,
        "latency_ns": sides[0]["lat_ns"]["percentile"]["50.000000"],
    }


def t_io_uring_command(path: Path, case: Case, options: argparse.Namespace) -> list[str]:
    batch = case.batch or 1
    direct = int(case.medium != "cache")
    return [
        options.t_io_uring,
        *("-d", str(case.queue_depth), "-s", str(batch), "-c", str(batch)),
        *("-b", str(case.block_bytes), "-n", str(case.workers), "-O", str(direct)),
        *("-p", "0", "-B", "1", "-F", "1", "-R", str(int(case.rw != "read"))),
        *("-r", str(max(2, math.ceil(options.seconds)))),
        str(path),
    ]


def run_t_io_uring(
    path: Path, case: Case, options: argparse.Namespace, _seed: int
) -> dict[str, float]:
    command = t_io_uring_command(path, case, options)
    with tempfile.TemporaryFile("w+") as output:
        started = time.monotonic()
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - started
        output.seek(0)
        text = output.read()
    rates = [
        float(number) * {"": 1, "K": 1e3, "M": 1e6}[unit]
        for number, unit in re.findall(r"^IOPS=([\d.]+)([KM]?),", text, re.MULTILINE)
    ]
    if not rates:
        sys.exit(f"{shlex.join(command)}\nsaid no rate:\n{text}")
    # It reports rates only: the number of I/Os is the rate times the duration.
    rate = statistics.mean(rates)
    return {
        "time_ns": 1e9 / rate,
        "user_ns": usage.ru_utime * 1e9 / (rate * wall_s),
        "cpu_ns": (usage.ru_utime + usage.ru_stime) * 1e9 / (rate * wall_s),
        "latency_ns": math.nan,
    }
