"""Every option of every command with nonsense: one sentence, before a byte is written.

The options are those that the command line declares, so that a new one is tried as well. What
takes any text is listed here; everything else refuses nonsense.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cyclopts import App

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.cli.app import app
from fourcorners.target.real import RealTarget
from fourcorners.target.simulated import SimulatedTarget

SUITE = """
schema_version = 1
name = "tiny"
[[test]]
name = "reads"
prepare = []
workload = [{ duration = "10 ms", reads = "0 %", block = "4 KiB", pattern = "random" }]
"""
WRITABLE = ["mine.bin", "--overwrite", "mine.bin"]
# A call of each command that would do something: on a file whose content may be overwritten.
CALLS: dict[str, list[str]] = {
    "characterize": ["characterize", *WRITABLE, "--profile", "quick"],
    "run": ["run", "tiny.toml", *WRITABLE],
    "explain": ["explain", *WRITABLE],
    "verify": ["verify", *WRITABLE],
    "prepare": ["prepare", "sim:ocz-core-64gb", "new.state"],
    "resume": ["resume", "kept/run"],
    "report": ["report", "kept/run", "--quiet"],
    "compare": ["compare", "kept/run", "kept/run", "--quiet"],
    "runs": ["runs", "kept"],
    "note": ["note", "kept/run"],
    "query": ["query", "SELECT 1", "kept"],
    "import": ["import", "fio.json"],
    "export": ["export", "tables", "kept/run"],
    "drives": ["drives", "ocz-core-64gb"],
    "tests": ["tests", "mix"],
    "completion": ["completion", "bash"],
}
# Words of a person about runs, and which of them to show.
ANY_TEXT = {"--tag", "--untag", "--text", "--drive", "--test"}
# The run is complete, so that nothing is left to be permitted.
HARMLESS = {("resume", one) for one in ("--destroy-data", "--overwrite", "--start")}
NUMBERS = ["-1", "nan", "inf", "1e300", "9" * 40, "", "banana", "1\0"]
TEXTS = ["", "\0", "x" * 5000, "-1", "nan GiB", "9" * 400 + " GiB", "1e300", "a=\0", "=1"]
FOLDER, DEVICE, LINK, NOWHERE = "folder", "device", "link", "no/where"
PATHS = ["a\0b", "x" * 5000, FOLDER, DEVICE, LINK, NOWHERE, "mine.bin"]


class BegunError(SystemExit):
    """A command went on to its work."""


def commands(of: App = app, prefix: str = "") -> Iterator[tuple[str, App]]:
    for name in of:
        if not name.startswith("-"):
            command = of[name]
            yield f"{prefix}{name}", command
            yield from commands(command, f"{prefix}{name} ")


def options() -> list[tuple[str, str, Any]]:
    """Each option that takes a value: command, name and type."""
    found = []
    for name, command in commands():
        if command.default_command is None:
            continue
        for argument in command.assemble_argument_collection():
            takes_value = argument.token_count()[0] > 0
            if argument.index is None and takes_value and argument.names[0] != "*":
                found.append((name, argument.names[0], argument.hint))
    return found


def nonsense(hint: Any) -> list[str]:
    words = str(hint)
    if "Path" in words:
        return PATHS
    return NUMBERS if "int" in words or "float" in words else TEXTS


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("staged")
    (folder / "tiny.toml").write_text(SUITE)
    run = fc.run(str(folder / "tiny.toml"), "sim:ocz-core-64gb", out=folder / "kept")
    run.path.rename(folder / "kept" / "run")
    (folder / "runs").mkdir()
    (folder / FOLDER).mkdir()
    (folder / FOLDER / "photograph").write_bytes(b"precious")
    (folder / "mine.bin").write_bytes(os.urandom(1 << 20))
    (folder / LINK).symlink_to("mine.bin")
    (folder / "fio.json").write_text("{}")
    if os.geteuid() == 0:
        os.mknod(folder / DEVICE, 0o600 | stat.S_IFCHR, os.makedev(1, 3))  # /dev/null by itself
    return folder


def content(folder: Path) -> dict[str, Any]:
    """What is in a folder: of a file its bytes, of a link where it leads, of others their kind."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        kind = stat.S_IFMT(status.st_mode)
        name = str(path.relative_to(folder))
        if stat.S_ISLNK(kind):
            found[name] = os.readlink(path)  # noqa: PTH115 - as it is written
        else:
            found[name] = path.read_bytes() if stat.S_ISREG(kind) else (kind, status.st_rdev)
    return found


def begun(*_: object, **__: object) -> None:
    raise BegunError


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch, staged: Path) -> Path:
    """A command that begins its work is stopped before its first I/O."""
    for kind in (RealTarget, SimulatedTarget):
        for method in ("run", "purge", "trim", "idle"):
            monkeypatch.setattr(kind, method, begun)
    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor.__init__", begun)
    monkeypatch.chdir(staged)
    return staged


@pytest.mark.parametrize(("command", "option", "hint"), options())
def test_nonsense_is_refused_before_anything_is_written(
    command: str, option: str, hint: Any, held: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(held)
    for value in nonsense(hint):
        call = [*CALLS.get(command, command.split()), f"{option}={value}"]
        if (option, value) in (("--overwrite", "mine.bin"), ("--overwrite", LINK)):
            continue  # names the target
        try:
            code = main(call)
        except BegunError:
            code = 0
        said = capsys.readouterr()
        if code == 0:
            harmless = option in ANY_TEXT or (command, option) in HARMLESS
            assert harmless or _is_path_to_use(hint, value), (call, said)
            _restore(held, before)
            continue
        assert code in (1, 2), (call, said)
        assert "Traceback" not in said.err, call
        [line] = said.err.splitlines()
        assert line.startswith("fourcorners: "), call
        assert len(line) < 20_000, call
        assert content(held) == before, call
    assert content(held)["mine.bin"] == before["mine.bin"]


def _is_path_to_use(hint: Any, value: str) -> bool:
    """Whether a place to write to may be one that is not there yet, or a folder."""
    return "Path" in str(hint) and value in (NOWHERE, FOLDER)


def _restore(folder: Path, before: dict[str, Any]) -> None:
    """Takes away what an option that was harmless let be made: new files, and nothing else."""
    now = content(folder)
    for name in before:
        is_of_run = name.startswith("kept/run")
        assert is_of_run or now.get(name) == before[name], name
        if is_of_run and now.get(name) != before[name] and isinstance(before[name], bytes):
            (folder / name).write_bytes(before[name])
    for name in sorted(now.keys() - before.keys()):
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
