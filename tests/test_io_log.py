"""Single I/Os: kept as they happened, within bounds, the same every time, and shown honestly."""

import json
from pathlib import Path

import numpy as np
import pytest

import fourcorners as fc
from fourcorners.analysis import latency_over_time
from fourcorners.cli import main
from fourcorners.documents import plain
from fourcorners.errors import UserError
from fourcorners.reporting.charts import tests as charted
from fourcorners.store import schema
from fourcorners.suites import Subject
from fourcorners.suites.suite import find_suite

DISK = "sim:wd6400aaks"


def _latency(out: Path, log_ios: int | None = None) -> fc.Run:
    return fc.run("latency", DISK, scale=0.02, log_ios=log_ios, out=out)


def log_of(run: fc.Run, recording: str) -> fc.IoLog:
    log = run.recording(recording).log
    assert log is not None
    return log


def test_every_io_is_on_record_with_what_it_did(tmp_path: Path) -> None:
    run = _latency(tmp_path)
    log = log_of(run, "latency/65-percent-reads")
    rows = {
        row["operation"]: row
        for row in run.table("recordings").to_pylist()
        if row["recording"] == "latency/65-percent-reads"
    }
    assert (log.one_in, len(log)) == (1, log.of)
    for operation, row in rows.items():
        mine = log.chosen(log.operation == operation)
        assert len(mine) == row["ios"]
        assert mine.bytes.sum() == row["bytes"]
        assert mine.latency_s.mean() == pytest.approx(row["latency_mean_s"])
        assert mine.latency_s.max() == pytest.approx(row["latency_max_s"])
    assert (np.diff(log.completed_ns) >= 0).all()
    assert (log.submitted_ns == log.due_ns).all()
    # One at a time: an I/O is submitted when the one before has completed.
    assert (log.submitted_ns[1:] >= log.completed_ns[:-1]).all()
    assert (log.offset_bytes % 4096 == 0).all()
    assert len(np.unique(log.offset_bytes)) > 0.99 * len(log)


def test_at_a_given_rate_the_log_knows_when_an_io_was_due() -> None:
    stream = fc.Stream.read(
        "random", 4096, queue_depth_per_worker=1, arrival=fc.poisson_rate(200.0)
    )
    with fc.open_target(DISK) as disk:
        recording = disk.run(fc.Workload([stream], duration_s=2, log_ios=10_000))
    log, stages = recording.log, recording.read.stages
    assert log is not None
    waited = [stages[part].mean_s for part in ("queue", "lateness")]
    assert (log.submitted_ns - log.due_ns).mean() * 1e-9 == pytest.approx(
        sum(mean_s for mean_s in waited if mean_s is not None)
    )
    assert (log.submitted_ns > log.due_ns).any()


def test_of_more_than_there_is_room_for_a_share_is_kept_the_same_every_time(tmp_path: Path) -> None:
    whole = _latency(tmp_path)
    once, again = (_latency(tmp_path, log_ios=100) for _ in range(2))
    file = schema.ios_file("latency/0-percent-reads")
    assert (once.path / file).read_bytes() == (again.path / file).read_bytes()
    log, every = log_of(once, "latency/0-percent-reads"), log_of(whole, "latency/0-percent-reads")
    assert log.of == len(every)
    assert log.one_in == 2 ** round(np.log2(log.one_in))
    assert 25 < len(log) <= 100 < log.of
    assert np.isin(log.completed_ns, every.completed_ns).all()
    # From the whole of the time.
    assert log.completed_ns[-1] > 0.8 * every.completed_ns[-1]
    [recording] = [r for r in once.manifest.tests[0].recordings if "/0-" in r.id]
    assert plain(recording.logged) == {"ios": len(log), "of": log.of, "one_in": log.one_in}
    name = "latency_over_time_latency/0-percent-reads_write"
    [text] = [finding.text for finding in once.findings if finding.name == name]
    assert f"one in {log.one_in}, drawn at random" in text
    assert "(the slowest of all took " in text
    none = _latency(tmp_path, log_ios=0)
    assert not (none.path / schema.IOS).exists()
    assert none.recording("latency/0-percent-reads").log is None


def test_the_bands_follow_the_latencies_and_the_picture_has_the_slowest(tmp_path: Path) -> None:
    completed_s = np.arange(1, 100_001) / 1000.0
    latency_s = np.where(completed_s > 50, 2e-3, 1e-3)
    latency_s[70_000] = 0.5
    found = latency_over_time.bands(completed_s, latency_s)
    assert found.ios.sum() == 100_000
    assert found.median_s[10] == 1e-3
    assert found.median_s[-10] == 2e-3
    assert np.nanargmax(found.max_s) == 70
    drawn = latency_over_time.drawn(latency_s)
    assert 70_000 in drawn
    assert len(drawn) <= latency_over_time.DOTS + latency_over_time.SLOWEST
    assert ((drawn < 50_000).mean()) == pytest.approx(0.5, abs=0.1)

    run = _latency(tmp_path)
    [chart] = [c for test in charted([run]) for c in test["charts"] if c["kind"] == "ios"]
    assert [s["label"].split(", ")[-1] for s in chart["series"]][1:3] == ["reads", "writes"]
    reads = chart["series"][0]
    assert len(reads["points"]) == len(log_of(run, "latency/100-percent-reads"))
    slowest = max(latency for _, latency in reads["points"])
    assert slowest == pytest.approx(
        max(value for _, value in reads["lines"][2]["points"] if value is not None)
    )
    assert "all of them" in chart["caption"]


def test_single_ios_can_be_queried_and_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "runs")
    options = ["--with", "reads=1", "--log-ios", "50", "--scale", "0.02", "--quiet"]
    assert main(["run", "latency", DISK, *options, "--out", out]) == 0
    capsys.readouterr()
    sql = "SELECT count(*) AS ios, max(completed_ns - due_ns) AS slowest_ns FROM ios"
    assert main(["query", sql, out, "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["rows"]
    assert 12 < row["ios"] <= 50
    assert row["slowest_ns"] > 1_000_000
    assert main(["export", str(tmp_path / "tables"), out]) == 0
    header = (tmp_path / "tables" / "ios.csv").read_text().splitlines()[0]
    assert "completed_ns" in header
    assert main(["run", "latency", DISK, "--log-ios", "-1", "--out", out]) == 2
    assert "--log-ios -1: use a whole number from 0" in capsys.readouterr().err


def test_logs_of_a_test_that_began_anew_are_dropped(tmp_path: Path) -> None:
    from fourcorners.store import RunWriter, folder

    run = _latency(tmp_path)
    before = {path.name for path in (run.path / schema.IOS).iterdir()}
    assert len(before) == 3
    writer = RunWriter.reopen(folder.claim(run.path), set())
    assert list((writer.path / schema.IOS).iterdir()) == []
    writer.abandon()


def test_what_does_not_fit_is_told_alike_with_and_without_a_log(tmp_path: Path) -> None:
    file = tmp_path / "job.fio"
    file.write_text("[a]\nsize=4m\nzonemode=strided\nzonesize=8m\n", "utf-8")
    suite = find_suite(str(file))
    sentences = []
    for one in (suite, suite.logging(9)):
        with pytest.raises(UserError) as refused:
            one.plan(Subject("simulated", 10**9))
        sentences.append(str(refused.value))
    assert sentences[0] == sentences[1]
    assert "--log-ios" not in sentences[0]
