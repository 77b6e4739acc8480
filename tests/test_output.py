"""What is printed: all of it, or the exit code says so; and nothing that a terminal would obey."""

import errno
import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from command import COMMAND

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.running import runner
from fourcorners.wording import visible

FC = shlex.join(COMMAND)
TINY = 'schema_version = 1\nname = "tiny"\n[[test]]\nname = "reads"\nprepare = []\n'
TINY += '[[test.workload]]\nduration = "10 ms"\nreads = 1.0\nblock = "4 KiB"\npattern = "random"\n'


def shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=cwd, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_a_listing_ends_quietly_when_its_reader_has_seen_enough(tmp_path: Path) -> None:
    done = shell(f"{FC} drives --json | head -n 1", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{\n", "")


@pytest.mark.parametrize(
    ("outlet", "reason"), [(">&-", "it is closed"), ("> /dev/full", "no space left on device")]
)
def test_a_result_that_cannot_be_written_is_no_success(
    outlet: str, reason: str, tmp_path: Path
) -> None:
    done = shell(f"{FC} drives {outlet}", tmp_path)
    assert done.returncode == 1
    assert done.stderr == f"fourcorners: cannot write to standard output: {reason}\n"


def test_a_measurement_outlives_whoever_reads_of_it(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    command = f"{FC} run tiny.toml sim:ocz-core-64gb 2>&1 | true"
    assert shell(command, tmp_path).returncode == 0
    [path] = (tmp_path / "runs").iterdir()
    assert fc.open_run(str(path)).manifest.status == "complete"
    assert (path / "report.html").exists()


def test_a_verification_is_done_although_nobody_reads_of_it(tmp_path: Path) -> None:
    command = f"{FC} verify new.bin --size 8MiB --seconds 0.1 2>&1 | true"
    assert shell(command, tmp_path).returncode == 0
    content = (tmp_path / "new.bin").read_bytes()
    # Every block has its stamp.
    assert all(any(content[at : at + 4096]) for at in range(0, 8 << 20, 4096))


def test_a_file_never_becomes_standard_error(tmp_path: Path) -> None:
    """The next descriptor that is opened is 2 where that was closed."""
    command = f"{FC} verify new.bin --size 8MiB --seconds 0.1 --io-limit 5 <&- >&- 2>&-"
    assert shell(command, tmp_path).returncode == 1
    assert (tmp_path / "new.bin").stat().st_size == 8 << 20
    assert b"fourcorners:" not in (tmp_path / "new.bin").read_bytes()


def test_a_report_that_could_not_be_written_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "write_html", full)
    Path("tiny.toml").write_text(TINY)
    assert main(["run", "tiny.toml", "sim:ocz-core-64gb", "--json"]) == 1
    [run] = json.loads(capsys.readouterr().out)["runs"]
    assert run["report"] is None


def test_a_run_in_which_nothing_was_done_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.bin").write_bytes(os.urandom(1 << 20))
    assert main(["run", "consistency", "mine.bin", "--quick"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("fourcorners: nothing was measured of mine.bin: Consistency: ")
    # One test that could be done is a result.
    assert main(["run", "four-corners", "mine.bin", "--quick", "--scale", "0.001"]) == 0


# A title, colours, the clipboard, the same in one character each, and text the other way round.
HOSTILE = "\x1b]0;owned\x07\x1b[31m\x1b]52;c;b3duZWQ=\x07\x9b31m\x9d0;x\x9c\u202egnp.exe\x08\r\x7f"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def spoilt(value: object) -> object:
    """A document whose names and sentences are all hostile."""
    if isinstance(value, dict):
        return {key: spoil(key, one) for key, one in value.items()}
    return [spoilt(one) for one in value] if isinstance(value, list) else value


FREE = {"title", "text", "name", "reason", "purpose", "source", "label", "summary", "locator"}
FREE |= {"command", "suite", "notes", "preparation", "parameters", "environment"}


def spoil(key: str, value: object) -> object:
    if key in FREE and isinstance(value, str):
        return value + HOSTILE
    if key in FREE and isinstance(value, list):
        return [one + HOSTILE if isinstance(one, str) else spoilt(one) for one in value]
    if key in ("parameters", "environment") and isinstance(value, dict):
        return {k + HOSTILE: v + HOSTILE if isinstance(v, str) else v for k, v in value.items()}
    return spoilt(value)


def test_nothing_foreign_reaches_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(TINY)
    for seed in ("1", "2"):
        assert main(["run", "tiny.toml", "sim:ocz-core-64gb", "--quiet", "--seed", seed]) == 0
    runs = capsys.readouterr().out.split()
    for path in runs:
        for name in ("manifest.json", "findings.json"):
            document = json.loads((Path(path) / name).read_text())
            # Who made it hostile would not leave what it is known by.
            for field in ("sha256", "digests"):
                document.pop(field, None)
            (Path(path) / name).write_text(json.dumps(spoilt(document)))
    sql = "SELECT drive, f.title, text, t.title AS test FROM tests AS t, findings AS f, runs"
    toml = json.dumps(HOSTILE).replace("\x7f", "\\u007f")
    drive = fc.open_target("sim:ocz-core-64gb").drive_text
    assert drive is not None
    named = re.sub('(?m)^name = "(.*)"', lambda m: f'name = "x{toml[1:]}', drive, count=1)
    Path("mine.toml").write_text(named)
    own = TINY.replace('name = "tiny"', f'name = "tiny"\ntitle = {toml}\nprofile = {toml}')
    Path("suite.toml").write_text(own.replace('"reads"\n', f'"reads"\ntitle = {toml}\n'))
    for command, code in (
        (["report", runs[0]], 0),
        (["report", runs[0], "--json"], 0),
        (["report", *runs], 0),
        (["runs"], 0),
        (["runs", "--json"], 0),
        (["compare", *runs], 0),
        (["compare", *runs, "--json"], 0),
        (["query", sql], 0),
        (["query", sql, "--json"], 0),
        (["query", f"SELECT '{HOSTILE}' AS \"{HOSTILE}\""], 0),
        (["note", runs[0], "--tag", visible("x") + HOSTILE.replace("\r", "")], 0),
        (["note", runs[0], "--text", HOSTILE], 0),
        (["drives", "mine.toml"], 0),
        (["run", "suite.toml", "mine.toml", "--dry-run"], 0),
        (["run", "suite.toml", "mine.toml"], 0),
        (["report", HOSTILE], 2),
        (["characterize", HOSTILE], 2),
        (["run", HOSTILE, "sim:ocz-core-64gb"], 2),
        (["--" + HOSTILE], 2),
    ):
        assert main(command) == code, (command, capsys.readouterr())
        said = capsys.readouterr()
        found = OBEYED.search(said.out + said.err)
        assert found is None, (command, found, said)
        if "--json" in command:
            assert json.dumps(HOSTILE)[1:-1] in json.dumps(json.loads(said.out))


def test_what_is_harmless_stays_as_it_is() -> None:
    text = "Größe\t4 KiB – µs ● ⣿ 日本語 עברית\n"
    assert visible(text) == text
