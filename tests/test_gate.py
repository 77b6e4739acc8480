"""``fourcorners gate``: a short run against a stored baseline, and what a build makes of it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from fault_runs import validate
from gate_draws import share_failed

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.running import gating
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
    """A baseline of a simulated drive."""
    folder = tmp_path_factory.mktemp("base") / "kept"
    code = main(["gate", DRIVE, "--baseline", str(folder), "--suite", suite, "--write-baseline"])
    assert code == 0
    return folder


def test_a_baseline_is_of_several_runs_that_differ(baseline: Path) -> None:
    runs = [fc.open_run(str(path)) for path in baseline.iterdir()]
    assert len(runs) == gating.RUNS == 3
    assert len({run.table("recordings")["ios"][0].as_py() for run in runs}) > 1


def test_the_same_drive_passes_and_a_slower_one_does_not(
    suite: str, baseline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["gate", DRIVE, "--baseline", str(baseline), "--suite", suite]
    arguments += ["--out", str(tmp_path / "runs")]
    # What is not slower is measured once, with a seed that the baseline has not.
    assert main([*arguments, "--seed", "11"]) == 0
    told = capsys.readouterr().out
    assert "Not worse than the baseline" in told
    assert len(list((tmp_path / "runs").iterdir())) == 1
    assert "One run" not in told
    assert main([*arguments, "--set", SLOWER]) == 1
    told = capsys.readouterr().out
    assert "Worse than the baseline" in told
    assert "in 3 runs" in told
    assert "flash.read_time" in told  # what differs between the runs
    assert len(list((tmp_path / "runs").iterdir())) == 4
    # What is slower by less than what is tolerated is no failure.
    assert main([*arguments, "--set", SLOWER, "--tolerance", "0.99", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate("compare", document)
    assert {check["outcome"] for check in document["gates"]} == {"passed"}


def test_a_baseline_of_one_run_says_so(
    suite: str, baseline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = min(baseline.iterdir())
    words = ["gate", DRIVE, "--baseline", str(one), "--suite", suite, "--out", str(tmp_path)]
    assert main([*words, "--json"]) == 0
    cautions = json.loads(capsys.readouterr().out)["cautions"]
    assert [text for text in cautions if text.startswith("The baseline is one run")]
    # Three runs of one's own tell the spread, and that everything is slower.
    assert main([*words, "--set", "flash.read_time=2 ms"]) == 1


def test_bad_input_is_told_before_anything_is_measured(
    suite: str, baseline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    common = ["gate", DRIVE, "--suite", suite, "--out", str(runs)]
    kept = min(baseline.iterdir())
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


@pytest.mark.parametrize("more", [[], ["--write-baseline"], ["--dry-run"]])
def test_a_baseline_of_another_suite_is_refused_before_anything_is_measured(
    more: list[str], baseline: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, kept = tmp_path / "runs", sorted(baseline.iterdir())
    assert main(["gate", DRIVE, "--baseline", str(baseline), "--out", str(runs), *more]) == 2
    assert "has a run of short" in capsys.readouterr().err
    assert not runs.exists()
    assert sorted(baseline.iterdir()) == kept


def test_from_python_on_a_real_file(tmp_path: Path) -> None:
    suite = tmp_path / "short.toml"
    suite.write_text(SHORT.replace('"3 s"', '"0.2 s"').replace('"1 s"', '"0.2 s"'))
    base = tmp_path / "base"
    with fc.open_target(str(tmp_path / "t.bin"), size=64 << 20) as target:
        kept = fc.gate(target, base, suite=str(suite), write_baseline=True)
        assert kept.comparison is None
        assert not kept.is_worse
        assert len(kept.runs) == gating.RUNS
        gated = fc.gate(target, base, suite=str(suite), tolerance=0.95, out=tmp_path / "runs")
    assert gated.comparison is not None
    assert len(gated.comparison.subjects[0].runs) == gating.RUNS
    quantities = {(check.gate.operation, check.gate.quantity.name) for check in gated.checks}
    assert ("flush", "p99_latency") in quantities
    assert ("read", "iops") in quantities


def test_the_interval_is_that_of_the_spread_of_runs() -> None:
    # Student's t by hand: three runs each, pooled deviation 0.1, four degrees of freedom.
    baseline, own = [0.9, 1.0, 1.1], [1.9, 2.0, 2.1]
    bounds = gating.ratio_bounds(baseline, own, within=0.0, level=0.05)
    assert bounds is not None
    half = 2.1318 * 0.1 * math.sqrt(2 / 3)
    assert bounds == pytest.approx((math.exp(1 - half), math.exp(1 + half)), rel=1e-4)
    # Runs that agree by chance are no surer than each is by itself.
    wider = gating.ratio_bounds(baseline, own, within=0.2, level=0.05)
    assert wider == pytest.approx((math.exp(1 - 2 * half), math.exp(1 + 2 * half)), rel=1e-4)
    # A single run of either side is judged by the other side's spread, and two by nothing.
    assert gating.ratio_bounds(baseline, [2.0], within=0.0, level=0.05) is not None
    assert gating.ratio_bounds([1.0], [2.0], within=0.5, level=0.05) is None


@pytest.mark.parametrize("slower", [1.0, 1 - gating.TOLERANCE])
@pytest.mark.parametrize("deviation", [0.03, 0.3])
def test_false_alarms_are_as_rare_as_is_said(deviation: float, slower: float) -> None:
    builds, rate = 400, gating.FALSE_ALARMS_MAX
    failed = share_failed(deviation, builds=builds, seed=1, slower=slower)
    # 99 of 100 times, were it exactly that rate.
    assert failed <= rate + 2.33 * math.sqrt(rate * (1 - rate) / builds)


def test_what_is_much_slower_is_told() -> None:
    assert share_failed(0.03, builds=50, seed=2, slower=0.5) == 1.0


def test_the_suite_takes_under_a_minute_on_a_real_drive() -> None:
    subject = Subject("file", 2 << 30, needs_fill=True)
    plan = find_suite("ci").plan(subject)
    assert plan.duration_s < 60
    assert plan.written_bytes > 0
    names = {m.id.split("/")[1] for test in plan.tests for p in test.phases for m in p.measurements}
    assert "commit" in names
