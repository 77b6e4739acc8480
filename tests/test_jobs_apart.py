"""Jobs that run together are also counted by themselves, as fio prints them."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.jobs import JobRecording

JOBS = """
[global]
direct=1
ioengine=libaio
filename=area
size=4m
[log]
rw=write
bs=16k
io_size=1m
[data]
rw=randread
bs=4k
iodepth=8
io_size=2m
numjobs=2
[mixed]
stonewall
rw=randrw
rwmixread=50
bs=8k
"""


def _job_file(folder: Path) -> Path:
    file = folder / "together.fio"
    file.write_text(JOBS, "utf-8")
    return file


def _counts(jobs: tuple[JobRecording, ...]) -> dict[str, dict[str, tuple[int, int]]]:
    return {
        job.name: {name: (one.ios, one.bytes) for name, one in job.operations.items()}
        for job in jobs
    }


KNOWN = {"log": {"write": (64, 2**20)}, "data": {"read": (1024, 4 * 2**20)}}


def test_each_job_of_a_group_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = fc.run(str(_job_file(tmp_path)), "sim:ocz-vertex-3-240gb", out=tmp_path / "runs")
    together, alone = run.recordings
    assert _counts(tuple(together.jobs)) == KNOWN
    assert not alone.jobs
    for job in together.jobs:
        assert 0 < job.elapsed_s <= together.elapsed_s
        for one in job.operations.values():
            assert one.latency_p50_s is not None
            assert one.latency_p99_s is not None
            assert 0 < one.latency_p50_s <= one.latency_p99_s
    again = type(run)(run.path)
    assert list(again.recordings[0].jobs) == list(together.jobs)
    [finding] = [one for one in run.findings if one.name == "jobs"]
    assert [row["job"] for row in finding.detail["jobs"]] == ["log", "data"]
    assert finding.text in (run.path / "report.html").read_text("utf-8")
    assert main(["report", str(run.path), "--replace"]) == 0
    assert "Jobs that ran together" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_each_job_does_what_fio_says_of_it(tmp_path: Path) -> None:
    """On the same file: each job's operations and bytes are the same, and it runs as long as its
    own I/Os take, not as long as the group."""
    job = _job_file(tmp_path)
    area = tmp_path / "area"
    run = fc.run(str(job), str(area), size=4 << 20, out=tmp_path / "runs")
    assert run.manifest.status == "complete", run.manifest.tests[0].reason
    arguments = ["fio", "--output-format=json", "--section=log", "--section=data", str(job)]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=True)
    told: dict[str, dict[str, tuple[int, int]]] = {}
    for row in json.loads(done.stdout[done.stdout.index("{") :])["jobs"]:
        own: dict[str, Any] = told.setdefault(row["jobname"], {})
        for name in ("read", "write"):
            if ios := row[name]["total_ios"]:
                before = own.get(name, (0, 0))
                own[name] = (before[0] + ios, before[1] + row[name]["io_bytes"])
    assert told == KNOWN
    assert _counts(tuple(run.recordings[0].jobs)) == KNOWN


def test_streams_of_a_suite_are_jobs_by_name(tmp_path: Path) -> None:
    suite = tmp_path / "own.toml"
    stream = '[[test.workload.stream]]\nreads = 0.0\nblock = "4 KiB"\npattern = "random"\n'
    suite.write_text(
        'schema_version = 1\nname = "own"\n[[test]]\nname = "two"\n'
        '[[test.workload]]\nname = "both"\nduration = "10 ms"\n'
        f'{stream}job = "log"\n{stream}queue-depth = 4\njob = "data"\n{stream}',
        "utf-8",
    )
    run = fc.run(str(suite), "sim:ocz-vertex-3-240gb", out=tmp_path / "runs")
    [recording] = run.recordings
    assert [job.name for job in recording.jobs] == ["log", "data"]
    assert sum(job.operations["write"].ios for job in recording.jobs) < recording.write.ios
