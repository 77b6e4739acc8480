"""Results of other programs as runs: fio's own files, and Iometer's format."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command import fourcorners
from fault_runs import validate

from fourcorners.comparison import ComparedRuns, compare
from fourcorners.documents import plain
from fourcorners.errors import UserError
from fourcorners.importing import import_

# The header of Iometer 1.1 up to the last column that is read.
IOMETER = """'Test Type,Test Description
0,
'Version
1.1.0
'Time Stamp
2012-11-27 20:15:01:437
'Access specifications
'Access specification name,default assignment
4K random write,0
'size,% of size,% reads,% random,delay,burst,align,reply
4096,100,0,100,0,1,4096,0
'End access specifications
'Results
'Target Type,Target Name,Access Specification Name,# Managers,# Workers,# Disks,IOps,Read IOps,\
Write IOps,MBps (Binary),Read MBps (Binary),Write MBps (Binary),Average Response Time,\
Average Read Response Time,Average Write Response Time,Maximum Response Time,\
Maximum Read Response Time,Maximum Write Response Time,Errors,Read Errors,Write Errors,\
Bytes Read,Bytes Written,Read I/Os,Write I/Os,Queue Depth
ALL,All,4K random write,1,1,1,9000.5,0,9000.5,35.2,0,35.2,3.55,0,3.55,120.25,0,120.25,0,0,0,\
0,3686604800,0,900050,32
MANAGER,PC,4K random write,1,1,1,9000.5,0,9000.5,35.2,0,35.2,3.55,0,3.55,120.25,0,120.25,0,0,0,\
0,3686604800,0,900050,32
DISK,PHYSICALDRIVE:1,4K random write,,,,9000.5,0,9000.5,35.2,0,35.2,3.55,0,3.55,120.25,0,120.25,\
0,0,0,0,3686604800,0,900050,32
'Time Stamp
2012-11-27 20:16:43:000
"""


@pytest.fixture(scope="module")
def fio_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """JSON, JSON+ and latency logs of the same kind of job, written by fio itself."""
    fio = shutil.which("fio")
    if fio is None:
        pytest.skip("fio is not installed")
    folder = tmp_path_factory.mktemp("fio")
    job = [
        *("--name=mixed", "--filename=data", "--size=4M", "--rw=randrw", "--bs=4k"),
        *("--ioengine=psync", "--time_based", "--runtime=1", "--numjobs=2"),
    ]
    for form, more in (("json", []), ("json+", ["--write_lat_log=lat", "--log_avg_msec=0"])):
        subprocess.run(
            [fio, *job, *more, f"--output-format={form}", f"--output={form}.out"],
            cwd=folder,
            check=True,
            capture_output=True,
        )
    return folder


def test_fios_json_plus_is_taken_over_whole(fio_folder: Path, tmp_path: Path) -> None:
    path = fio_folder / "json+.out"
    logs = tuple(fio_folder / f"lat_lat.{number}.log" for number in (1, 2))
    (run,) = import_(path, out=tmp_path, log=logs)
    validate("run", plain(run.manifest))
    kinds = [chart.kind for chart in run.manifest.tests[0].charts]
    assert kinds == ["seconds", "percentiles"]
    told = json.loads(path.read_text())["jobs"]
    for operation in ("read", "write"):
        (row,) = (r for r in run.table("recordings").to_pylist() if r["operation"] == operation)
        own = [job[operation] for job in told]
        ios = sum(one["total_ios"] for one in own)
        assert row["recording"] == "fio/mixed"
        assert (row["ios"], row["bytes"]) == (ios, sum(one["io_bytes"] for one in own))
        # The threads run together: their rates add up, to the end of the later one.
        assert row["iops"] == pytest.approx(sum(one["iops"] for one in own), rel=0.02)
        mean = sum(one["lat_ns"]["mean"] * one["total_ios"] for one in own) / ios
        assert row["latency_mean_s"] == pytest.approx(mean * 1e-9)
        one = run.recording("fio/mixed").operations[operation]
        low, high, count = one.histogram
        assert count.sum() == ios
        assert np.all(high[:-1] < low[1:])
        # A job of a busy machine may have had no time for an I/O of this kind: it has no bins then.
        middle = sorted(
            int(ns)
            for one in own
            for ns, n in one["clat_ns"].get("bins", {}).items()
            for _ in range(n)
        )
        # fio rounds to the middle of a bucket that is 1/64 wide.
        assert row["latency_p99_s"] == pytest.approx(middle[int(0.99 * ios)] * 1e-9, rel=0.02)
        assert one.second_ios.sum() == ios
        assert one.second_bytes.sum() == row["bytes"]


def test_fios_plain_json_has_what_it_has(fio_folder: Path, tmp_path: Path) -> None:
    path = fio_folder / "json.out"
    (run,) = import_(path, out=tmp_path)
    assert any("interpolated" in note for note in run.manifest.notes)
    jobs = json.loads(path.read_text())["jobs"]
    told = [job["read"]["clat_ns"]["percentile"] for job in jobs]
    row = run.table("recordings").to_pylist()[0]
    # An I/O is whole: of few, a percentile may lie anywhere between the neighbours of fio's.
    for column, below, above in (
        ("latency_p50_s", "40.000000", "60.000000"),
        ("latency_p99_s", "95.000000", "99.500000"),
    ):
        assert min(one[below] for one in told) <= row[column] * 1e9 * (1 + 1e-9)
        assert row[column] * 1e9 <= max(one[above] for one in told) * (1 + 1e-9)
    assert len(run.recording("fio/mixed").operations["read"].second_ios) == 0
    other = import_(fio_folder / "json+.out", out=tmp_path)
    comparison = compare(ComparedRuns("json", [run]), ComparedRuns("json+", other))
    assert {d.recording for d in comparison.differences} == {"fio/mixed"}


def fio_2(folder: Path) -> Path:
    """A result as fio 2.2 writes it: microseconds, KiB, and unused percentiles."""
    percentile = {"50.000000": 90, "99.000000": 300, "0.00": 0}
    read = {
        "io_bytes": 400,
        "total_ios": 100,
        "runtime": 2000,
        "clat": {"min": 50, "max": 400, "mean": 100.5, "percentile": percentile},
        "lat": {"min": 51, "max": 401, "mean": 101.5},
    }
    job = {"jobname": "old", "job options": {"rw": "randread", "bs": "4k"}, "read": read}
    path = folder / "old.json"
    path.write_text(json.dumps({"fio version": "fio-2.2.10", "jobs": [job]}))
    return path


def test_fio_2_tells_microseconds_and_kib(tmp_path: Path) -> None:
    (run,) = import_(fio_2(tmp_path), out=tmp_path / "runs")
    (row,) = run.table("recordings").to_pylist()
    assert (row["ios"], row["bytes"]) == (100, 400 * 1024)
    assert row["latency_mean_s"] == pytest.approx(101.5e-6)
    assert 90e-6 <= row["latency_p99_s"] <= 401e-6


def test_averaged_logs_make_a_series_with_that_of_iops(tmp_path: Path) -> None:
    path = fio_2(tmp_path)
    logs = {
        "avg_lat.1.log": "500, 100000, 0, 0, 0\n1000, 120000, 0, 0, 0\n2001, 90000, 0, 0, 0\n",
        "avg_iops.1.log": "500, 40, 0, 0, 0\n1000, 60, 0, 0, 0\n2001, 50, 0, 0, 0\n",
        "avg_bw.1.log": "500, 160, 0, 0, 0\n1000, 240, 0, 0, 0\n2001, 200, 0, 0, 0\n",
        "avg_slat.1.log": "",
    }
    for name, text in logs.items():
        (tmp_path / name).write_text(text)
    lat, iops, bandwidth, submission = (tmp_path / name for name in logs)
    (run,) = import_(path, out=tmp_path / "runs", log=(lat, bandwidth, iops))
    read = run.recording("fio/old").read
    assert read.second_ios.tolist() == [50, 50]
    assert read.second_bytes.tolist() == [50 * 4096] * 2
    assert read.second_latency_mean_s == pytest.approx([110e-6, 90e-6])
    assert np.isnan(read.second_latency_max_s).all()
    (run,) = import_(path, out=tmp_path / "runs", log=(iops,))
    assert run.recording("fio/old").operations["read"].second_bytes.tolist() == [50 * 4096] * 2
    for wrong, reason in (
        ((lat,), "name the logs of IOPS as well"),
        ((submission,), "no series can be made of it"),
        ((iops, iops), "two logs of the same kind"),
        ((tmp_path / "avg_iops.2.log",), "the log of job 2, and .* has 1 jobs"),
        ((tmp_path / "none.log",), "cannot read"),
    ):
        with pytest.raises(UserError, match=reason):
            import_(path, out=tmp_path / "runs", log=wrong)


def test_results_without_percentiles_are_compared_without_intervals(tmp_path: Path) -> None:
    sides = []
    for name, rate in (("before", "9000.5"), ("after", "8000.5")):
        path = tmp_path / f"{name}.csv"
        path.write_text(IOMETER.replace("9000.5", rate))
        sides.append(ComparedRuns(name, import_(path, out=tmp_path)))
    throughput = compare(*sides).differences[0]
    assert throughput.value / throughput.baseline == pytest.approx(8000.5 / 9000.5)
    assert throughput.ratio is None
    assert not throughput.told


def test_iometers_rows_of_all_workers_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text(IOMETER)
    (run,) = import_(path, out=tmp_path / "runs")
    validate("run", plain(run.manifest))
    (row,) = run.table("recordings").to_pylist()
    assert row["recording"] == "iometer/4K random write"
    assert (row["operation"], row["ios"], row["bytes"]) == ("write", 900_050, 3_686_604_800)
    assert row["iops"] == pytest.approx(9000.5)
    assert (row["latency_mean_s"], row["latency_max_s"]) == pytest.approx((3.55e-3, 120.25e-3))
    assert row["latency_p99_s"] is None
    assert run.manifest.created == "2012-11-27T20:15:01Z"
    assert run.manifest.target.name == "PHYSICALDRIVE:1"
    point = run.manifest.tests[0].recordings[0].point
    assert point == {
        "job": "4K random write",
        "operation": "write", "pattern": "random", "block_bytes": 4096, "queue_depth": 32,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hello", "neither fio's JSON or terse output nor Iometer's CSV"),
        ("{", "not whole JSON"),
        ('{"jobs": 3}', "it has no jobs"),
        ('{"jobs": [{}]}', "in job 1 jobname is missing"),
        ('{"jobs": []}', "no job that read or wrote"),
        ('{"jobs": [{"jobname": "a", "read": {"total_ios": 4}}]}', "in job 1 read's runtime is no"),
        (IOMETER.replace("9000.5", "fast"), "Write IOps is no number"),
        (IOMETER.replace("ALL,", "SOME,"), "no results of all workers"),
    ],
)
def test_damaged_files_are_told(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(UserError, match=reason):
        import_(path, out=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text(IOMETER)
    done = fourcorners("import", "results.csv", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / done.stdout.strip()
    assert "Iometer" in (folder / "report.html").read_text()
    assert fourcorners("import", "nothing.json", cwd=tmp_path).returncode == 2
