"""Files for results: what is no file of ours is left as it is, in one sentence."""

import json
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.errors import UserError
from fourcorners.writing import Output, OutputError, is_sealed, sealed

DRIVE = "sim:ocz-core-64gb"
THESIS = b"my thesis, all of it\n" * 200


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("runs")
    [finished] = [fc.run("queue-depth", DRIVE, parameters={"depths": [1]}, scale=0.01, out=out)]
    return str(finished.path)


# Every command that writes a file which a person names, and the form of that file.
COMMANDS: dict[str, Callable[[str, str], list[str]]] = {
    "report --out": lambda run, file: ["report", run, "--out", file],
    "compare --html": lambda run, file: ["compare", run, run, "--html", file],
    "compare --junit": lambda run, file: ["compare", run, run, "--junit", file],
    "compare --markdown": lambda run, file: ["compare", run, run, "--markdown", file],
    "query --out": lambda run, file: ["query", "SELECT 1", run, "--out", file],
    "prepare": lambda run, file: ["prepare", DRIVE, file, "--filled", "0.01"],
}


def _file(command: str, folder: Path) -> Path:
    return folder / ("out.csv" if command == "query --out" else "out")


def _fifo(path: Path, _: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path, _: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def _device(path: Path, _: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root makes device nodes")
    # The numbers of /dev/null.
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))


def _link(path: Path, thesis: Path) -> None:
    path.symlink_to(thesis)


def _dangling(path: Path, thesis: Path) -> None:
    path.symlink_to(thesis.with_name("nowhere"))


def _folder(path: Path, _: Path) -> None:
    path.mkdir()


KINDS = {
    "a pipe": _fifo,
    "a socket": _socket,
    "a device": _device,
    "a link": _link,
    "a link that leads nowhere": _dangling,
    "a folder": _folder,
}


def _refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(arguments) == 2
    [line] = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_no_file_is_left_alone(
    command: str, kind: str, run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    thesis = tmp_path / "thesis"
    thesis.write_bytes(THESIS)
    place = _file(command, tmp_path)
    KINDS[kind](place, thesis)
    before = place.lstat()
    for more in ([], ["--replace"]):
        line = _refused([*COMMANDS[command](run, str(place)), *more], capsys)
        assert f"{place} is {kind.partition(' that')[0]} and is left alone" in line
    after = place.lstat()
    assert (after.st_ino, after.st_mode, after.st_rdev) == (
        before.st_ino, before.st_mode, before.st_rdev
    )  # fmt: skip
    assert thesis.read_bytes() == THESIS
    assert {path.name for path in tmp_path.iterdir()} == {"thesis", place.name}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_foreign_file_is_replaced_only_with_the_word(
    command: str, run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = _file(command, tmp_path)
    place.write_bytes(THESIS)
    place.chmod(0o600)
    arguments = COMMANDS[command](run, str(place))
    line = _refused(arguments, capsys)
    assert f"{place} is there already" in line
    assert "--replace" in line
    assert place.read_bytes() == THESIS
    assert main([*arguments, "--replace"]) == 0
    assert place.read_bytes() != THESIS
    assert stat.S_IMODE(place.stat().st_mode) == 0o600, "what was private stays so"
    # What we wrote is replaced without it, where it says that it is ours, until somebody edits it.
    capsys.readouterr()
    if command == "query --out":
        assert "--replace" in _refused(arguments, capsys)
        return
    assert main(arguments) == 0
    assert [path.name for path in tmp_path.iterdir()] == [place.name]
    if command != "prepare":
        place.write_text(place.read_text().replace(">", "> a remark ", 1))
        edited = place.read_bytes()
        capsys.readouterr()
        assert "--replace" in _refused(arguments, capsys)
        assert place.read_bytes() == edited


def test_a_file_with_nothing_in_it_holds_nothing_to_lose(run: str, tmp_path: Path) -> None:
    place = tmp_path / "made by mktemp"
    place.touch()
    assert main(["report", run, "--out", str(place)]) == 0
    assert is_sealed(place)


def test_a_link_beside_a_state_is_not_followed(tmp_path: Path) -> None:
    thesis = tmp_path / "thesis"
    thesis.write_bytes(THESIS)
    (tmp_path / "worn.state.unfinished").symlink_to(thesis)
    with fc.open_target(DRIVE) as drive:
        drive.save(tmp_path / "worn.state")
        assert thesis.read_bytes() == THESIS
        with pytest.raises(UserError, match="is there already"):
            drive.save(thesis)
    assert thesis.read_bytes() == THESIS


def test_a_report_in_the_run_folder_is_made_anew_but_through_no_link(
    run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", run]) == 0
    thesis, report = tmp_path / "thesis", Path(run) / "report.html"
    thesis.write_bytes(THESIS)
    report.rename(tmp_path / "kept")
    report.symlink_to(thesis)
    capsys.readouterr()
    try:
        assert "is a link" in _refused(["report", run], capsys)
        assert report.is_symlink()
    finally:
        (tmp_path / "kept").rename(report)
    assert thesis.read_bytes() == THESIS


@pytest.mark.parametrize(
    "arguments",
    [["arena", "steady"], ["arena", "explain"], ["arena", "explain", "--catalog"], ["reproduce"]],
)
def test_documents_are_not_replaced_after_minutes_of_work_but_refused_before(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("steady-state.md", "explain-arena.md", "explain-catalog.md", "reproduction.md"):
        (tmp_path / name).write_bytes(THESIS)
    assert "--replace" in _refused([*arguments, "--write", str(tmp_path)], capsys)
    assert all(path.read_bytes() == THESIS for path in tmp_path.iterdir())


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_standard_output_is_no_file(
    name: str, run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert "name a file to write" in _refused(["report", run, f"--out={name}"], capsys)
    assert list(tmp_path.iterdir()) == []


def test_what_becomes_a_foreign_file_meanwhile_is_kept(tmp_path: Path) -> None:
    place = tmp_path / "out"

    def write(file: BinaryIO) -> None:
        file.write(b"result")
        place.write_bytes(THESIS)

    with pytest.raises(OutputError, match="is there already"):
        Output(place).fill(write)
    assert place.read_bytes() == THESIS
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_seal_is_of_the_whole_text(tmp_path: Path) -> None:
    place = tmp_path / "page"
    text = sealed(json.dumps(list(range(100))))
    place.write_text(text)
    assert is_sealed(place)
    for at in range(len(text)):
        place.write_text(text[:at] + ("x" if text[at] != "x" else "y") + text[at + 1 :])
        assert not is_sealed(place), at
