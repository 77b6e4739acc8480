"""``fourcorners gate``: a short run against a stored baseline, and what a build makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fault_runs import validate

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.suites import Subject, find_suite

DRIVE = "sim:ocz-vector-256gb"
SLOWER = "flash.read_time=150 us"
SHORT = """
schema_version = 1
name = "short"
[[test]]
name = "short"
prepare = ["fill 64 MiB"]
[[test.workload]]
name = "read"
duration = "3 s"
reads = 1.0
block = "4 KiB"
pattern = "random"
queue-depth = 4
span = "64 MiB"
[[test.workload]]
name = "commit"
duration = "1 s"
reads = 0.0
block = "4 KiB"
pattern = "random"
flush-every = 1
span = "64 MiB"
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A suite file that takes seconds."""
    path = tmp_path_factory.mktemp("suite") / "short.toml"
    path.write_text(SHORT)
    return str(path)


@pytest.fixture(scope="module")
def baseline(suite: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline of one run of a simulated drive."""
    folder = tmp_path_factory.mktemp("base") / "kept"
    code = main(["gate", DRIVE, "--baseline", str(folder), "--suite", suite, "--write-baseline"])
    assert code == 0
    assert len([path for path in folder.iterdir() if (path / "manifest.json").is_file()]) == 1
    return folder


def test_the_same_drive_passes_and_a_slower_one_does_not(
    suite: str, baseline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["gate", DRIVE, "--baseline", str(baseline), "--suite", suite]
    arguments += ["--out", str(tmp_path / "runs")]
    assert main(arguments) == 0
    assert "Not worse than the baseline" in capsys.readouterr().out
    assert main([*arguments, "--set", SLOWER]) == 1
    told = capsys.readouterr().out
    assert "Worse than the baseline" in told
    assert "flash.read_time" in told  # what differs between the runs
    # What is slower by less than what is tolerated is no failure.
    assert main([*arguments, "--set", SLOWER, "--tolerance", "0.99", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate("compare", document)
    assert {check["outcome"] for check in document["gates"]} <= {"passed", "undecided"}


def test_bad_input_is_told_before_anything_is_measured(
    suite: str, baseline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    common = ["gate", DRIVE, "--suite", suite, "--out", str(runs)]
    (kept,) = baseline.iterdir()
    (tmp_path / "empty").mkdir()
    for more, reason in (
        (["--baseline", str(tmp_path / "none")], "there is no baseline in"),
        (["--baseline", str(tmp_path / "empty")], "holds no run that is complete"),
        (["--baseline", str(baseline), "--tolerance", "0"], "use more than 0 and less than 1"),
        (["--baseline", str(baseline), "--tolerance", "nan"], "use more than 0 and less than 1"),
        (["--baseline", str(kept), "--write-baseline"], "name a folder for runs"),
    ):
        assert main([*common, *more]) == 2
        assert reason in capsys.readouterr().err
    assert not runs.exists()


def test_from_python_on_a_real_file(suite: str, tmp_path: Path) -> None:
    path, base = tmp_path / "t.bin", tmp_path / "base"
    with fc.open_target(str(path), size=64 << 20) as target:
        for _ in range(2):
            kept = fc.gate(target, base, suite=suite, write_baseline=True)
            assert kept.comparison is None
            assert not kept.is_worse
        gated = fc.gate(target, base, suite=suite, tolerance=0.95, out=tmp_path / "runs")
    assert gated.comparison is not None
    assert [len(subject.runs) for subject in gated.comparison.subjects] == [2, 1]
    quantities = {(check.gate.operation, check.gate.quantity.name) for check in gated.checks}
    assert ("flush", "p99_latency") in quantities
    assert ("read", "iops") in quantities


def test_the_suite_takes_under_a_minute_on_a_real_drive() -> None:
    subject = Subject("file", 2 << 30, needs_fill=True)
    plan = find_suite("ci").plan(subject)
    assert plan.seconds < 60
    assert plan.written_bytes > 0
    names = {m.id.split("/")[1] for test in plan.tests for p in test.phases for m in p.measurements}
    assert "commit" in names
