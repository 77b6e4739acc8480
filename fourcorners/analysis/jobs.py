"""Finding ``jobs``: what each job did of those that ran together, as fio prints a row for each."""

from __future__ import annotations

from typing import Any

from fourcorners.analysis.source import RunData
from fourcorners.finding import Finding, worded
from fourcorners.jobs import JobRecording
from fourcorners.recording import Recording
from fourcorners.sentences import say

JOBS_MIN = 2
"""One is the whole."""


def find(run: RunData) -> list[Finding]:
    """One for each recording in which several jobs ran."""
    return [_finding(one) for one in run.recordings if len(one.jobs) >= JOBS_MIN]


def _finding(recording: Recording) -> Finding:
    rows = [row for job in recording.jobs for row in _rows(job)]
    said = [
        say(
            "jobs.flushes" if row["operation"] not in recording.transfers else "jobs.operation",
            job=row["job"],
            operation=row["operation"],
            iops=row["iops"],
            bytes_per_second=row["bytes_per_second"],
            mean_s=row["latency_mean_s"],
            p99_s=row["latency_p99_s"],
        )
        for row in rows
        if row["ios"]
    ]
    return worded(
        "jobs",
        f"Jobs that ran together in {recording.label}",
        "measured",
        say("jobs.measured", jobs=said) if said else say("jobs.nothing"),
        evidence=[recording.id],
        detail={"jobs": rows},
    )


def _rows(job: JobRecording) -> list[dict[str, Any]]:
    return [
        {
            "job": job.name,
            "operation": name,
            "ios": one.ios,
            "bytes": one.bytes,
            "errors": one.errors,
            "elapsed_s": job.elapsed_s,
            "iops": job.iops(name),
            "bytes_per_second": job.bytes_per_second(name),
            "latency_mean_s": one.latency_mean_s,
            "latency_p50_s": one.latency_p50_s,
            "latency_p99_s": one.latency_p99_s,
            "latency_max_s": one.latency_max_s,
        }
        for name, one in job.operations.items()
    ]
