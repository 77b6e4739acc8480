"""Every form of fio's output that people have, as fio 3.33 wrote it (tests/data/fio)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fault_runs import validate

from fourcorners.documents import plain
from fourcorners.errors import UserError
from fourcorners.importing import import_
from fourcorners.manifest import RecordingEntry
from fourcorners.reporting.charts import tests as charts_of_tests
from fourcorners.store import Run

DATA = Path(__file__).parent / "data" / "fio"


def imported(name: str, tmp_path: Path) -> Run:
    """The only run in a file of the test data."""
    (run,) = import_(DATA / name, out=tmp_path)
    validate("run", plain(run.manifest))
    return run


def entry(run: Run, name: str) -> RecordingEntry:
    """A recording in the manifest."""
    (found,) = (one for one in run.manifest.tests[0].recordings if one.id == name)
    return found


def quantities(run: Run) -> set[str]:
    """What the spec sheet has."""
    return {
        row["quantity"]
        for finding in run.findings
        if finding.name == "spec_sheet"
        for row in finding.detail["rows"]
    }


def rows(run: Run, **wanted: str) -> list[dict[str, Any]]:
    """Rows of recordings.parquet with these values."""
    return [row for row in run.table("recordings").to_pylist() if wanted.items() <= row.items()]


def test_results_of_clients_without_that_of_all_together(tmp_path: Path) -> None:
    run = imported("clients.json", tmp_path)
    told = json.loads((DATA / "clients.json").read_text())["client_stats"]
    assert [job["jobname"] for job in told] == ["a", "b", "a", "b", "All clients"]
    assert run.manifest.target.name == "127.0.0.1:/tmp/fioim/data.bin"
    assert {row.id for row in run.recordings} == {"fio/a", "fio/b"}
    # Two clients ran the same job at the same time.
    (row,) = rows(run, recording="fio/a")
    assert row["ios"] == told[0]["read"]["total_ios"] + told[2]["read"]["total_ios"]
    assert entry(run, "fio/a").point["queue_depth"] == 2


def test_unified_reporting_is_not_taken_for_reads(tmp_path: Path) -> None:
    told = json.loads((DATA / "unified-mixed.json").read_text())["jobs"][0]["mixed"]
    run = imported("unified-mixed.json", tmp_path)
    (row,) = run.table("recordings").to_pylist()
    assert (row["operation"], row["ios"]) == ("mixed", told["total_ios"])
    assert any("what each of them did is not known" in note for note in run.manifest.notes)
    both = imported("unified-both.json", tmp_path)
    assert [row["operation"] for row in both.table("recordings").to_pylist()] == ["read", "write"]


def test_json_amid_text(tmp_path: Path) -> None:
    run = imported("json-normal.out", tmp_path)
    assert rows(run, operation="read")[0]["ios"] > 1000


def test_of_a_status_each_interval_the_last_is_taken(tmp_path: Path) -> None:
    text = (DATA / "status-interval.out").read_text()
    last = json.loads(text[text.rindex("\n{") :])["jobs"][0]["read"]
    run = imported("status-interval.out", tmp_path)
    assert run.table("recordings").to_pylist()[0]["ios"] == last["total_ios"]
    assert any("one after the other" in note for note in run.manifest.notes)
    cut = tmp_path / "cut.out"
    cut.write_text(text[: text.rindex('"jobs"')])
    (run,) = import_(cut, out=tmp_path)
    assert 0 < run.table("recordings").to_pylist()[0]["ios"] < last["total_ios"]
    assert any("in the midst of a result" in note for note in run.manifest.notes)


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_terse_output(version: int, tmp_path: Path) -> None:
    run = imported(f"terse-{version}.txt", tmp_path)
    line = (DATA / f"terse-{version}.txt").read_text().strip().split(";")
    kib, _, iops, _ = map(float, line[5 - (version == 2) :][:4])
    row = rows(run, operation="read")[0]
    assert row["bytes"] == kib * 1024
    assert row["iops"] == pytest.approx(iops, rel=1e-3)
    percentile = next(f for f in line if f.startswith("99.000000%=")).partition("=")[2]
    assert row["latency_p99_s"] == pytest.approx(float(percentile) * 1e-6, rel=0.02)
    assert len(run.table("recordings").to_pylist()) == (2 if version == 5 else 1)
    assert entry(run, row["recording"]).point["block_bytes"] == 4096
    assert any("neither request size" in note for note in run.manifest.notes)


def test_syncs_are_kept_shown_and_named(tmp_path: Path) -> None:
    told = json.loads((DATA / "fdatasync.json").read_text())["jobs"][0]["sync"]["lat_ns"]
    run = imported("fdatasync.json", tmp_path)
    (flush,) = rows(run, operation="flush")
    assert flush["ios"] == told["N"]
    assert flush["latency_mean_s"] == pytest.approx(told["mean"] * 1e-9)
    percentile = told["percentile"]["99.000000"] * 1e-9
    assert flush["latency_p99_s"] == pytest.approx(percentile, rel=0.02)
    assert "fdatasync after every write" in entry(run, flush["recording"]).label
    # The rate of writes that wait for syncs in between is no figure of the drive's writes.
    assert quantities(run) == {"flush", "flush_p99"}
    assert not any("random write costs" in one.text for one in run.findings)
    (test,) = charts_of_tests([run])
    (percentiles,) = (chart for chart in test["charts"] if chart["kind"] == "percentiles")
    assert any(series["label"].endswith("flushes") for series in percentiles["series"])


def test_threads_are_one_workload(tmp_path: Path) -> None:
    told = json.loads((DATA / "numjobs.json").read_text())["jobs"]
    run = imported("numjobs.json", tmp_path)
    (row,) = run.table("recordings").to_pylist()
    assert row["iops"] == pytest.approx(sum(job["read"]["iops"] for job in told), rel=0.01)
    assert entry(run, "fio/thr").point["queue_depth"] == 4
    assert "read_access" not in quantities(run)  # nothing was alone


def test_the_queue_of_a_synchronous_engine_is_one_deep(tmp_path: Path) -> None:
    run = imported("psync-depth-32.json", tmp_path)
    assert entry(run, "fio/psq").point["queue_depth"] == 1
    assert any("never had more than one" in note for note in run.manifest.notes)


def test_jobs_put_together_by_fio_are_not_taken_for_the_first(tmp_path: Path) -> None:
    run = imported("grouped.json", tmp_path)
    point = entry(run, "fio/a").point
    assert not {"pattern", "block_bytes", "queue_depth"} & point.keys()
    assert quantities(run) == set()


def test_jobs_at_the_same_time_are_said_and_in_no_spec_sheet(tmp_path: Path) -> None:
    run = imported("beside.json", tmp_path)
    assert entry(run, "fio/reader").point["apart"] == "beside writer"
    assert any("ran at the same time as writer" in note for note in run.manifest.notes)
    assert quantities(run) == set()


def test_a_job_with_an_error_is_marked(tmp_path: Path) -> None:
    run = imported("error.json", tmp_path)
    test = run.manifest.tests[0]
    assert (run.manifest.status, test.status) == ("failed", "failed")
    assert test.reason == "failing ended with error 28 (No space left on device)"
    assert entry(run, "fio/failing").partial
    assert not entry(run, "fio/sound").partial
    assert quantities(run) == {"sequential_read"}


def test_a_folder_of_a_sweep_is_one_run_with_its_curves(tmp_path: Path) -> None:
    (run,) = import_(DATA / "sweep", DATA / "fdatasync.json", out=tmp_path)
    assert len(run.table("recordings").to_pylist()) == 11
    (test,) = charts_of_tests([run])
    lines = {chart["title"]: chart for chart in test["charts"] if chart["kind"] == "lines"}
    by_depth, by_size = lines["IOPS by queue depth"], lines["Throughput by block size"]
    for chart, xs, told_apart in (
        (by_depth, [1, 4, 16], ["4 KiB", "16 KiB", "64 KiB"]),
        (by_size, [4096, 16384, 65536], ["queue depth 1", "queue depth 4", "queue depth 16"]),
    ):
        assert len(chart["series"]) == 3
        for series in chart["series"]:
            assert [point[0] for point in series["points"]] == xs
            assert all(point[1] > 0 for point in series["points"])
        labels = [series["label"] for series in chart["series"]]
        assert all(any(words in label for label in labels) for words in told_apart)
    (percentiles,) = (chart for chart in test["charts"] if chart["kind"] == "percentiles")
    legend = {series["label"] for series in percentiles["series"]}
    assert {"queue depth 16, 4 KiB, reads", "queue depth 1, 4 KiB, flushes"} <= legend
    files = json.loads((DATA / "sweep" / "16k-4.json").read_text())["jobs"][0]["read"]
    (row,) = rows(run, recording="fio/sweep/randread-16KiB-qd4")
    assert row["ios"] == files["total_ios"]


def test_files_of_several_targets_are_several_runs(tmp_path: Path) -> None:
    for name, target in (("a", "/dev/nvme0n1"), ("b", "/dev/nvme1n1"), ("c", "/dev/nvme0n1")):
        text = (DATA / "psync-depth-32.json").read_text().replace("data.bin", target)
        (tmp_path / f"{name}.json").write_text(text)
    (tmp_path / "README.md").write_text("no result")
    with (tmp_path / "data.bin").open("wb") as file:
        file.truncate(1 << 30)
    runs = import_(tmp_path, out=tmp_path / "runs")
    assert [run.manifest.target.name for run in runs] == ["/dev/nvme0n1", "/dev/nvme1n1"]
    assert [len(run.table("recordings").to_pylist()) for run in runs] == [2, 1]
    assert runs[0].manifest.target.kind == "device"


def _with_logs(folder: Path) -> Path:
    """A job that only wrote, and its logs as fio 3 writes them."""
    write = {
        "io_bytes": 400 * 4096,
        "total_ios": 400,
        "runtime": 2000,
        "lat_ns": {"min": 90_000, "mean": 100_000.0, "max": 110_000},
    }
    job = {"jobname": "w", "job options": {"rw": "randwrite", "bs": "4k"}, "write": write}
    path = folder / "w.json"
    path.write_text(json.dumps({"fio version": "fio-3.33", "jobs": [job]}))
    for name, value, direction in (
        *(("w_lat.1.log", 100_000, 1), ("w_iops.1.log", 1, 1), ("w_bw.1.log", 40_000, 1)),
        *(("reads_lat.1.log", 100_000, 0), ("other_lat.1.log", 9_000_000, 1)),
    ):
        lines = [f"{5 * n}, {value}, {direction}, 4096, 0\n" for n in range(400)]
        (folder / name).write_text("".join(lines))
    (folder / "bandwidth.log").write_text((folder / "w_bw.1.log").read_text())
    return path


def test_logs_that_are_not_the_jobs_are_said(tmp_path: Path) -> None:
    path = _with_logs(tmp_path)
    (run,) = import_(path, out=tmp_path / "runs", log=[tmp_path / "w_lat.1.log"])
    assert run.recording("fio/w").operations["write"].second_ios.tolist() == [200, 200]
    for log, reason in (
        ("reads_lat.1.log", "is a log of reads, and job w did none"),
        ("w_bw.1.log", "bandwidths alone make no series; name the log of latencies"),
        ("bandwidth.log", "values of 40,000 on average are not the latencies of job w"),
        ("other_lat.1.log", "are not the latencies of job w, 100,000 ns"),
        ("w_iops.1.log", "name the averaged logs"),
    ):
        with pytest.raises(UserError, match=reason):
            import_(path, out=tmp_path / "runs", log=[tmp_path / log])


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_fio_itself_with_everything_at_once(tmp_path: Path) -> None:
    """Syncs, threads in groups, text and status around the JSON, by the fio that is here."""
    subprocess.run(
        [
            *("fio", "--name=w", "--filename=data", "--size=1M", "--rw=randwrite", "--bs=8k"),
            *("--ioengine=psync", "--fdatasync=4", "--numjobs=2", "--group_reporting"),
            *("--output-format=json+,normal", "--status-interval=300ms", "--output=out"),
            *("--time_based", "--runtime=1"),
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=60,
    )
    (run,) = import_(tmp_path / "out", out=tmp_path / "runs")
    assert {row["operation"] for row in run.table("recordings").to_pylist()} == {"write", "flush"}
    point = entry(run, "fio/w").point
    assert (point["block_bytes"], point["queue_depth"]) == (8192, 2)
    write, flush = rows(run, operation="write")[0], rows(run, operation="flush")[0]
    assert flush["ios"] == pytest.approx(write["ios"] / 4, rel=0.1)
