"""What a newcomer types wrong: one sentence that says what is wrong and how to mend it."""

import re
from pathlib import Path

import pytest

from fourcorners.cli import main

CORE = "sim:ocz-core-64gb"

MISTAKES = [
    (["characterize", "vertex3"], "simulated drive sim:ocz-vertex-3-120gb or sim:ocz-vertex-3-240"),
    (["characterize", "ocz-cora-64gb"], r"drive sim:ocz-core-64gb\?$"),
    (["characterize", "t"], "t does not exist: give --size"),
    (["characterize", ""], "the target is empty"),
    (["characterize", "new.bin", "--size", "-4GiB"], '"-4GiB" is not a size'),
    (["resume", ""], "is not a run folder"),
    (["prepare", CORE], '^fourcorners: STATE is missing: see "fourcorners prepare --help"$'),
    (["capture", "disk", "-o", "a.csv"], '^fourcorners: --for is missing: see "fourcorners'),
    (["characterize", CORE, "--seed"], "^fourcorners: --seed needs a value: see"),
    (["run", "foo", CORE], 'named "foo": "fourcorners tests" lists them'),
    (["tests", "foo"], 'named "foo": "fourcorners tests" lists them'),
    (["run", "empty.fio", CORE], "empty.fio: there is no job"),
    (["prepare", CORE, "f", "--steady-state", "--pattern", "foo"], "use one of random, sequential"),
    (["characterize", CORE, "--filled", "50%"], '--filled "50%": use a number, such as 0.5'),
    (["characterize", CORE, "--seed", "1e3"], '--seed "1e3": use a whole number'),
    (["runs", "--since", "yesterday"], '"yesterday": use a day, such as 2026-11-23'),
    (["run", CORE, "mix"], f"name the test before it, as in fourcorners run queue-depth {CORE}"),
    (["run", "queuedepth", CORE], 'named "queuedepth": did you mean queue-depth?'),
    (["verify", "new.bin", "--size", "1MiB", "--state", "folder"], "folder is there already"),
    (["verify", "new.bin", "--span", "1B"], "at least 128 KiB"),
    (["capture", "nofile", "--for", "-1s", "-o", "x.parquet"], '"-1s" is not a time'),
    (["replay", "t.csv", CORE, "--queue-depth", "0"], "--queue-depth 0: use 1 or more"),
    (["replay", "t.csv", CORE, "--endurance", "0TB"], "--endurance"),
    (["serve", CORE, "--nbd", "unix:"], "names no socket"),
    (["crash-test", "--serve", CORE, "--workload", "'x", "--check", "true"], "open quotation mark"),
    (["crash-test", "--serve", CORE, "--workload", "./no", "--check", "true"], "d: no such file"),
    (["arena", "series", "nowhere"], "index.csv: no such file or directory$"),
]


@pytest.mark.parametrize(("arguments", "complaint"), MISTAKES)
def test_what_a_newcomer_types_wrong(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.fio").touch()
    (tmp_path / "t.csv").write_text("128166372003061629,a,0,Read,4096,4096,500\n")
    before = sorted(tmp_path.iterdir())
    assert main(arguments) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert re.search(complaint, line), line
    assert len(line) < 1000
    assert sorted(tmp_path.iterdir()) == before
