"""Explain as a user meets it: of a target, of a run, and what it may cost a real drive."""

import json
from pathlib import Path

import pytest
from command import fourcorners
from fault_runs import edit_manifest, validate

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.suites import Measurement, Subject, find_suite
from fourcorners.workload import Stream, Workload


def test_a_disk_is_told_from_the_outside(tmp_path: Path) -> None:
    done = fourcorners("explain", "sim:wd6400aaks", "--reads-only", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    validate("explanation", document)
    assert document["missing"] == []
    findings = {finding["name"]: finding for finding in document["findings"]}
    assert findings["rotation_rpm"]["value"] == 7200
    assert findings["explanation"]["detail"]["kind"] == "disk"
    assert "7,200 times a minute" in findings["explanation"]["text"]


def test_what_is_too_small_is_not_probed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = tmp_path / "notes"
    small.write_bytes(bytes(8192))
    assert main(["explain", str(small), "--out", str(tmp_path / "runs")]) == 2
    assert "use at least 4 MiB" in capsys.readouterr().err
    assert main(["explain", str(small), "--dry-run"]) == 2
    assert "use at least 4 MiB" in capsys.readouterr().err
    assert not list((tmp_path / "runs").glob("*"))


def test_a_run_is_explained_by_the_probes_that_it_lacks(tmp_path: Path) -> None:
    run = fc.run("probe-depth", "sim:ocz-core-64gb", out=tmp_path)
    explanation = fc.explain(run, reads_only=True, out=tmp_path)
    first, second = explanation.runs
    assert first.path == run.path
    assert "probe-depth" not in [test.name for test in second.manifest.tests]
    assert explanation.missing == ()
    names = {finding.name for finding in explanation.findings}
    # From the first run, and from the second.
    assert {"link", "zones"} <= names


def test_a_dry_run_of_a_run_shows_the_missing_probes_and_does_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = fc.run("probe-depth", "sim:wd6400aaks", out=tmp_path / "runs", scale=0.1)
    words = ["explain", str(run.path), "--reads-only", "--out", str(tmp_path / "runs")]
    capsys.readouterr()
    assert main([*words, "--dry-run", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate("plan", document)
    [plan] = document["plans"]
    assert plan["target"] == "sim:wd6400aaks"
    assert "probe-depth" not in [test["name"] for test in plan["tests"]]
    assert list((tmp_path / "runs").iterdir()) == [run.path]
    # What is damaged is found before anything is probed.
    (run.path / "series.parquet").write_bytes(b"PAR1")
    assert main(words) == 2
    assert "series.parquet is damaged" in capsys.readouterr().err
    assert list((tmp_path / "runs").iterdir()) == [run.path]


def test_another_drive_is_not_probed_for_a_run(tmp_path: Path) -> None:
    run = fc.run("probe-depth", "sim:wd6400aaks", out=tmp_path, scale=0.1)
    edit_manifest(run.path, '"locator": "sim:wd6400aaks"', '"locator": "sim:ocz-core-64gb"')
    with pytest.raises(fc.UserError, match="not the one that the run began with"):
        fc.explain(run.path, reads_only=True, out=tmp_path)


def test_a_run_does_not_permit_to_write(tmp_path: Path) -> None:
    run = fc.run("probe-depth", "sim:wd6400aaks", out=tmp_path, scale=0.1)
    done = fourcorners("explain", run.path, "--destroy-data", "/dev/null", cwd=tmp_path)
    assert done.returncode == 2
    assert "is a run" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_probing_may_cost_a_real_drive() -> None:
    # What the reviews' largest drives were, at what steps.py takes a drive to write.
    capacity = 256 * 10**9
    reads = Subject("device", capacity, writable=False)
    assert find_suite("explain-reads").plan(reads).duration_s <= 600
    writes = Subject("device", capacity, needs_fill=True)
    everything = find_suite("explain").plan(writes)
    assert everything.duration_s <= 3600
    assert everything.written_bytes <= 2 * capacity


@pytest.mark.parametrize(
    "locator",
    ["sim:intel-x25-v-40gb", "sim:ocz-core-64gb", "sim:ocz-vertex-3-240gb"],
)
def test_a_drive_is_written_at_most_twice(locator: str) -> None:
    with fc.open_target(locator) as target:
        plan = find_suite("explain").plan(Subject.of(target))
    assert plan.written_bytes <= 2 * plan.subject.capacity_bytes


def test_what_is_bounded_by_bytes_or_requests_is_written_at_most_so_often() -> None:
    stream = Stream.write("random", 4096)
    for limit, bound in (({"ios": 10}, 40960), ({"volume_bytes": 8192}, 8192)):
        workload = Workload([stream], duration_s=100.0, **limit)
        assert Measurement("w", "w", workload).written_bytes == bound


@pytest.mark.parametrize("capacity", [32 * 10**9, 240 * 10**9])
def test_a_large_drive_is_written_at_most_twice(capacity: int) -> None:
    plan = find_suite("explain").plan(Subject("device", capacity, needs_fill=True))
    assert plan.written_bytes <= 2 * capacity


def test_nothing_is_written_where_it_is_not_permitted() -> None:
    plan = find_suite("explain").plan(Subject("device", 256 * 10**9, writable=False))
    assert plan.written_bytes == 0
    assert not plan.purges
