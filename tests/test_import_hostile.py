"""Files that are not what they seem: a sentence in bounded time and memory, or what is usable."""

from __future__ import annotations

import copy
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from test_import import IOMETER

from fourcorners.cli import main
from fourcorners.errors import UserError
from fourcorners.importing import import_, read_files

FUZZER = Path(__file__).parents[1] / "fuzz" / "python" / "imports.py"
READ: dict[str, Any] = {
    "io_bytes": 409_600,
    "total_ios": 100,
    "runtime": 2000,
    "lat_ns": {"min": 50, "max": 400, "mean": 100.5, "bins": {"90": 99, "300": 1}},
}
JOB: dict[str, Any] = {
    "jobname": "j",
    "groupid": 0,
    "error": 0,
    "job options": {"rw": "randread", "bs": "4k", "iodepth": "2"},
    "read": READ,
}


def result(folder: Path, place: str = "", value: Any = None, **more: Any) -> Path:
    """A result file with another value at a place of its job, such as "read/total_ios"."""
    job = copy.deepcopy(JOB)
    *parts, last = place.split("/")
    inner = job
    for part in parts:
        inner = inner[part]
    if place:
        inner[last] = value
    path = folder / "result.json"
    path.write_text(json.dumps({"fio version": "fio-3.33", "jobs": [job], **more}))
    return path


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        ("read/total_ios", -100, "read's total_ios is -100, which cannot be"),
        ("read/total_ios", 10**30, "read's total_ios is 10{22}.*, which cannot be"),
        ("read/total_ios", 1.5, "which is not whole"),
        ("read/io_bytes", float("inf"), "not whole JSON: Infinity is no number"),
        ("read/runtime", -1, "read's runtime is -1, which cannot be"),
        ("read/lat_ns", 7, "read's lat_ns is missing"),
        ("read/lat_ns/mean", "fast", "read's mean latency is no number"),
        ("read/lat_ns/max", 10, "least latency is above its greatest"),
        ("read/lat_ns/bins", {"-90": 3}, "a latency bin is -90"),
        ("read/lat_ns/bins", {str(2**70): 3}, "a latency bin is"),
        ("read/lat_ns/bins", {"90": 2**70}, "the I/Os of a latency bin"),
        ("groupid", [], "groupid is no number"),
        ("error", -5, "error is -5"),
        ("usr_cpu", "much", "usr_cpu is no number"),
        ("job options", {"iodepth": 10**400}, "iodepth is no number|iodepth is 1"),
        ("job options", {"numjobs": "-4"}, "numjobs is -4"),
    ],
)
def test_numbers_that_cannot_be_are_named(
    place: str, value: Any, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=reason):
        import_(result(tmp_path, place, value), out=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"jobs":[0]}', "job 1 is no table"),
        ('{"jobs":{}}', "it has no jobs"),
        ('{"jobs":[' + "[" * 100_000, "nested too deeply|not whole JSON"),
        ('{"client_stats":7}', "it has no jobs"),
        ("3;fio-3.33;a;0;0;1;2;3", "in line 1 the end is missing"),
        ("3;fio-3.33;a;0;0" + ";-1" * 130, "in line 1 an amount or rate is -1, which cannot be"),
        (IOMETER.replace("900050,32", "1e400,32"), "Write I/Os is 1e400, which cannot be"),
        (IOMETER.replace("3686604800", "-1"), "Bytes Written is -1, which cannot be"),
        (IOMETER.replace("4096,100,0", "²,100,0"), None),
        (IOMETER.replace("4K random write,0", "x" * 200_000 + ",0"), "is not what Iometer writes"),
        (IOMETER.replace("9000.5", "1e-300"), "Write I/Os over Write IOps is"),
    ],
)
def test_odd_files_get_a_sentence(text: str, reason: str | None, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    if reason is None:
        assert read_files([path])
        return
    with pytest.raises(UserError, match=reason):
        import_(path, out=tmp_path / "runs")


def test_many_tables_take_no_long_time(tmp_path: Path) -> None:
    path = tmp_path / "many"
    path.write_text("{x\n" * 3_000_000)
    with pytest.raises(UserError, match="has more than 10,000 tables"):
        read_files([path])
    path.write_text(json.dumps({"jobs": [{**JOB, "groupid": group} for group in range(5_001)]}))
    with pytest.raises(UserError, match="5,001 workloads are more than one import takes"):
        read_files([path])
    log = tmp_path / "j_lat.1.log"
    log.write_bytes(b"1,1,0,1\n" * 12_000_001)
    with pytest.raises(UserError, match="let fio average it"):
        read_files([result(tmp_path)], [log])
    path.write_bytes(b" " * (33 << 20))
    with pytest.raises(UserError, match="is larger than 32 MiB"):
        read_files([path])


def test_a_time_of_no_calendar_is_noted(tmp_path: Path) -> None:
    (run,) = import_(result(tmp_path, timestamp=1e20), out=tmp_path / "runs")
    assert any("has a time that cannot be" in note for note in run.manifest.notes)
    assert run.manifest.created.startswith("20")


def test_a_name_that_no_file_can_hold(tmp_path: Path) -> None:
    (run,) = import_(result(tmp_path, "jobname", "\ud800\0" + "n" * 5000), out=tmp_path / "runs")
    assert len(run.table("recordings").to_pylist()[0]["recording"]) < 300


def test_a_job_without_latencies_by_percentile(tmp_path: Path) -> None:
    path = result(tmp_path, "read/lat_ns", {"min": 50, "max": 400, "mean": 100.5})
    (run,) = import_(path, out=tmp_path / "runs")
    assert run.table("recordings").to_pylist()[0]["latency_p99_s"] is None


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("1000000000000000, 5, 0, 40", "goes on for 1,000,000,000,000 s, far longer than job j"),
        ("-1, 5, 0, 4096", "a time in it cannot be"),
        ("1, 5, 9, 4096", "its third column is no direction"),
        ("1, 99999999999999999999999, 0, 4096", "is not a log of fio"),
        ("1, 5", "is not a log of fio"),
        ("1, 5, , 4096\n2, 5, 0, 4096", "is not a log of fio"),
    ],
)
def test_logs_are_bounded(log: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "j_lat.1.log"
    path.write_text(log)
    with pytest.raises(UserError, match=reason):
        read_files([result(tmp_path)], [path])


def test_the_command_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = result(tmp_path, "read/total_ios", -1)
    assert main(["import", str(path), "--out", str(tmp_path / "runs")]) == 2
    told = capsys.readouterr().err
    assert "in job 1 read's total_ios is -1" in told
    assert "Traceback" not in told


def fuzzer() -> ModuleType:
    """``fuzz/python/imports.py``, which is no package."""
    spec = importlib.util.spec_from_file_location("fuzz_imports", FUZZER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_imports"] = module
    spec.loader.exec_module(module)
    return module


def test_a_little_fuzzing() -> None:
    """The hour's run is fuzz/python/imports.py; what it found is replayed, and a little more."""
    fuzz = fuzzer()
    for path in sorted(fuzz.CORPUS.iterdir()):
        content, log = fuzz.parted(path.read_bytes().decode("utf-8", "surrogatepass"))
        fuzz.attempt(content, log)
    counts = fuzz.run(seconds=2, examples=200, start=7)
    assert sum(counts.values()) > 0
