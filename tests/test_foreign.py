"""A program that is a drive works as any simulated drive does, and is never started unasked."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fault_runs import validate
from test_resume_within import SCRIPT

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.errors import UserError
from fourcorners.store import schema
from fourcorners.target.foreign import ForeignTarget
from fourcorners.workload import Stream, Workload
from fourcorners_validation.arena.explain import program

EXAMPLES = Path(__file__).parents[1] / "drive" / "foreign" / "examples"


@pytest.fixture(scope="session")
def drive(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The reference child in C, compiled as the documents say."""
    program = tmp_path_factory.mktemp("foreign") / "drive"
    command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(program)]
    subprocess.run([*command, str(EXAMPLES / "drive.c")], check=True)
    return f"exec:{program}"


def _run(folder: Path) -> Path:
    [manifest] = folder.glob("*/manifest.json")
    return manifest.parent


def _iops(locator: str, depth: int) -> float:
    with fc.open_target(locator) as target:
        stream = Stream.read("random", 4096, queue_depth_per_worker=depth)
        return target.run(Workload([stream], duration_s=0.2)).iops


def test_a_program_is_measured_as_what_it_is(drive: str) -> None:
    # One die at a time: 60 us. At depth 256 none of the eight waits for long; the last requests
    # to complete, 32 of a die, end 2 ms after the others.
    assert _iops(drive, 1) == pytest.approx(1e6 / 60, rel=0.01)
    assert _iops(drive, 256) == pytest.approx(8e6 / 60, rel=0.04)


def test_both_reference_children_say_the_same(drive: str) -> None:
    python = f"exec:{sys.executable} {EXAMPLES / 'drive.py'}"
    assert _iops(python, 4) == _iops(drive, 4)


def test_a_whole_test_runs_and_its_run_names_the_program(
    drive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", "random-reads", drive, "--with", "time=0.1s", "--out", str(tmp_path)]
    assert main(arguments) == 0
    assert "on the drive's clock: random-reads" in capsys.readouterr().err
    manifest = json.loads((_run(tmp_path) / "manifest.json").read_text())
    assert manifest["target"]["locator"] == drive
    assert manifest["target"]["name"] == "Eight dies"
    assert [test["status"] for test in manifest["tests"]] == ["complete"]


def test_what_a_program_cannot_do_is_one_sentence(tmp_path: Path) -> None:
    script = tmp_path / "plain.py"
    text = (EXAMPLES / "drive.py").read_text("utf-8")
    able = '("purge", "trim", "write-zeroes", "power-cut", "save", "counters")'
    assert able in text
    script.write_text(text.replace(able, "()"))
    with fc.open_target(f"exec:{sys.executable} {script}") as target:
        assert isinstance(target, ForeignTarget)
        target.run(Workload([Stream.write("random", 4096)], ios=10))
        for act, said in (
            (target.power_cut, "cannot say what a loss of power takes"),
            (lambda: target.save(tmp_path / "x.state"), "cannot save its state"),
            (lambda: target.load(script), "cannot load a state"),
        ):
            with pytest.raises(UserError, match=said):
                act()
        assert target.counters() == {}
        assert target.no_trim_reason is not None
        target.purge()  # A new one.
        assert target.run(Workload([Stream.write("random", 4096)], ios=10)).write.ios == 10


def test_the_reference_child_loses_nothing_when_power_fails(drive: str) -> None:
    with fc.open_target(drive) as target:
        assert isinstance(target, ForeignTarget)
        target.run(Workload([Stream.write("random", 4096)], ios=10))
        assert target.power_cut() == []


COMMIT = """
schema_version = 1
name = "commit"

[[test]]
name = "commit"
title = "Commit"
purpose = "Whether a flush is judged."

[[test.workload]]
name = "commit"
duration = "1 s"
reads = 0.0
block = "4 KiB"
pattern = "random"
flush-every = 1
"""


def test_what_takes_a_drive_no_time_does_not_keep_a_gate_from_judging(
    drive: str, tmp_path: Path
) -> None:
    # Its flushes are free, so that they have no latency to compare.
    suite = tmp_path / "commit.toml"
    suite.write_text(COMMIT)
    gate = ["gate", drive, "--baseline", str(tmp_path / "base"), "--suite", str(suite)]
    assert main([*gate, "--write-baseline"]) == 0
    assert main([*gate, "--out", str(tmp_path / "runs")]) == 0


def test_a_probe_says_no_more_dies_than_there_may_be(drive: str, tmp_path: Path) -> None:
    arguments = ["run", "probe-depth", drive, "--out", str(tmp_path)]
    assert main(arguments) == 0
    document = json.loads((_run(tmp_path) / "findings.json").read_text())
    found = {finding["name"]: finding for finding in document["findings"]}
    low, high = found["parallel_units"]["interval"]
    assert low <= 8 <= high


@pytest.fixture
def counted(tmp_path: Path) -> tuple[str, Path]:
    """A locator, and the file that gets a line whenever its program is started."""
    trace = tmp_path / "started"
    script = tmp_path / "drive.sh"
    script.write_text(f"#!/bin/sh\necho x >> {trace}\nexec {sys.executable} {EXAMPLES}/drive.py\n")
    script.chmod(0o755)
    return f"exec:{script}", trace


def _interrupted(locator: str, folder: Path) -> Path:
    """A run of one short test, as if it had been interrupted in it."""
    arguments = ["run", "random-reads", locator, "--with", "time=0.05s", "--out", str(folder)]
    assert main(arguments) == 0
    run = _run(folder)
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["sha256"]
    manifest["status"] = "interrupted"
    manifest["tests"][0]["status"] = "interrupted"
    (run / "manifest.json").write_text(json.dumps(manifest))
    return run


def test_a_folder_never_starts_a_program(
    counted: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    locator, trace = counted
    run = _interrupted(locator, tmp_path / "runs")
    started = trace.read_text()
    capsys.readouterr()
    assert main(["report", str(run)]) == 0
    assert f"--start {locator}" in capsys.readouterr().out
    for arguments in (["resume", str(run)], ["explain", str(run)]):
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert "no folder starts" in said
        assert locator in said
    assert main(["resume", str(run), "--start", "exec:./other"]) == 2
    assert "leave out --start exec:./other" in capsys.readouterr().err
    assert trace.read_text() == started


def test_what_a_program_showed_is_explained_without_it(
    counted: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    locator, trace = counted
    assert main(["run", "probe-seeks", locator, "--out", str(tmp_path / "runs"), "--quiet"]) == 0
    started = trace.read_text()
    capsys.readouterr()
    assert main(["explain", str(_run(tmp_path / "runs")), "--json"]) == 0
    explained = json.loads(capsys.readouterr().out)
    assert "rotation_rpm" in {finding["name"] for finding in explained["findings"]}
    assert {"probe": "probe-depth", "reason": "it was not run"} in explained["missing"]
    assert trace.read_text() == started


def test_a_run_goes_on_where_its_program_is_named(
    counted: tuple[str, Path], tmp_path: Path
) -> None:
    locator, _ = counted
    run = _interrupted(locator, tmp_path / "runs")
    assert main(["resume", str(run), "--start", locator]) == 0
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["status"] == "complete"


def test_a_run_goes_on_from_the_state_that_its_program_saved(drive: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"parameters": {"depths": [1, 2, 4]}, "scale": 0.01}
    whole = fc.run("queue-depth", drive, out=tmp_path / "whole", **options)
    out = tmp_path / "killed"
    arguments = ["run", "6", "queue-depth", drive, str(out), json.dumps(options), ""]
    done = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], check=False)
    assert done.returncode == -signal.SIGKILL
    [folder] = out.iterdir()
    run = fc.resume(folder, start=[drive])
    [gap] = run.manifest.gaps
    assert gap.continued["queue-depth"] > 0
    for name in (schema.RECORDINGS, schema.SERIES, schema.HISTOGRAMS):
        assert (run.path / name).read_bytes() == (whole.path / name).read_bytes(), name


def test_what_follows_in_a_folder_starts_no_program_either(
    counted: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    locator, trace = counted
    run = _interrupted("sim:ocz-core-64gb", tmp_path / "runs")
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["request"]["following"] = [{"locator": locator, "seed": 1}]
    (run / "manifest.json").write_text(json.dumps(manifest))
    (run / ".following").touch()
    capsys.readouterr()
    main(["resume", str(run)])
    assert not trace.exists()


def test_a_state_is_the_program_s_own(drive: str, tmp_path: Path) -> None:
    state = tmp_path / "worn.state"
    assert main(["prepare", drive, str(state), "--filled", "0.0001"]) == 0
    with fc.open_target(drive, state=state) as target:
        assert isinstance(target, ForeignTarget)
        filled = {"programmed_pages": 64e9 * 0.0001 // 4096}
        assert target.counters() == pytest.approx(filled)
        target.purge()
        assert target.run(Workload([Stream.write("random", 4096)], ios=10)).write_amplification == 1
    assert main(["prepare", drive, str(state)]) == 2  # not overwritten
    state.write_text("something else")
    with pytest.raises(UserError, match="no state of this drive"):
        fc.open_target(drive, state=state)
    assert main(["prepare", drive, str(tmp_path / "x"), "--steady-state"]) == 2


@pytest.mark.parametrize(
    ("locator", "said"),
    [
        ("exec:", "write a command after it"),
        ("exec:'open", "open quotation mark"),
        ("exec:/no/such/program", "cannot start /no/such/program"),
        ("exec:false", "ended (exit status: 1)"),
        ("exec:sh -c 'echo hello; sleep 1'", 'its greeting is no JSON: "hello"'),
    ],
)
def test_what_is_no_drive_is_one_sentence(locator: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        fc.open_target(locator)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_options_of_other_drives_are_refused(drive: str) -> None:
    with pytest.raises(UserError, match="--set is for sim: and drive files"):
        fc.open_target(drive, settings={"cache.write_back": False})
    with pytest.raises(UserError, match="--size is for files and devices"):
        fc.open_target(drive, size=2**30)


def test_a_program_is_held_against_the_protocol(
    drive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", drive, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate("conformance", document)
    assert {check["holds"] for check in document["checks"]} == {True}
    assert main(["verify", drive]) == 0
    assert "13 of 13 checks hold." in capsys.readouterr().out
    assert main(["verify", drive, "--span", "1GB"]) == 2
    assert "--span is for targets that keep data" in capsys.readouterr().err
    with pytest.raises(UserError, match="is no program: use exec:COMMAND"):
        fc.conformance("sim:ocz-core-64gb")
    silent = tmp_path / "silent.sh"
    silent.write_text("exit 3\n")
    assert main(["verify", f"exec:sh {silent}"]) == 1
    said = capsys.readouterr().out
    assert "WRONG it greets" in said
    assert "exit status: 3" in said
    assert "0 of 1 checks hold; the other 12 were not made." in said


def test_findings_are_held_against_what_a_program_says_of_its_drive(
    drive: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "SUITE", "probe-depth")
    outcome = program.run_program([drive], 1, 0)
    assert (outcome.kind, outcome.failures) == ("Eight dies", ())
    [answer] = outcome.answers
    assert (answer.finding, answer.truth) == ("parallel_units", 8)
    assert answer.interval is not None
    assert answer.interval[0] <= 8 <= answer.interval[1]


@pytest.mark.parametrize(
    ("truths", "said"),
    [
        ({}, 'says no "truths" of its drive'),
        ({"diez": 8}, 'no finding is called "diez"'),
        ({"dies": "eight"}, "dies = 'eight': use a number"),
        ({"explanation": "toaster"}, "explanation = 'toaster': use "),
    ],
)
def test_truths_that_nobody_can_grade_are_one_sentence(truths: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as refused:
        program.true_of_program("exec:./drive", truths)
    assert said in str(refused.value)


def test_truths_are_numbers_by_the_names_of_findings() -> None:
    truths = {"dies": 8, "compression": False, "explanation": "page-mapped"}
    assert program.true_of_program("exec:./drive", truths) == {
        "dies": 8.0,
        "compression": 0.0,
        "explanation": 2.0,
    }


def test_drives_of_programs_and_others_are_not_asked_at_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["arena", "explain", "--target", "exec:./drive", "--catalog"]) == 2
    assert "use one of --drives, --catalog, --foreign and --target" in capsys.readouterr().err
    with pytest.raises(UserError, match="use exec:COMMAND"):
        program.check_program("sim:ocz-core-64gb")


WRONG = {
    "sys.exit('it burns')": "the drive's program ended (exit status: 1); its last words: it burns",
    "time.sleep(60)": "the drive's program has not answered for 1.5 s",
    "now_ns -= 1000000; sink.write(RECORD.pack(ADVANCED, 0, 0, 0, 0, now_ns, 0, 0))": "clock goes",
    "sink.write(RECORD.pack(COMPLETED, 0, 0, 0, 999, now_ns, 0, 0))": "nothing is outstanding",
    "sink.write(b'segmentation fault, core dumped\\n' * 9)": "breaks the protocol",
}
"""What a drive does at its 5000th request, and what is said of it."""


@pytest.mark.parametrize(("does", "said"), WRONG.items())
def test_a_run_of_a_drive_that_is_wrong_is_kept(
    does: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "wrong.py"
    text = (EXAMPLES / "drive.py").read_text("utf-8")
    text = text.replace("import sys\n", "import sys\nimport time\n")
    text = text.replace(
        "        if kind != ADVANCE:",
        f"        if order == 5000:\n            {does}\n"
        "            sink.flush()\n        if kind != ADVANCE:",
    )
    script.write_text(text)
    locator = f"exec:{sys.executable} {script}"
    arguments = ["--with", "time=1s", "--io-limit", "1.5", "--out", str(tmp_path)]
    assert main(["run", "random-reads", locator, *arguments]) == 1
    output = capsys.readouterr()
    assert said in output.out + output.err
    assert "Traceback" not in output.out + output.err
    manifest = json.loads((_run(tmp_path) / "manifest.json").read_text())
    assert manifest["status"] == "failed"
    [test] = manifest["tests"]
    assert said in test["reason"]
