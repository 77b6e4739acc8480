"""The command line: what it prints, writes and returns."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import COMMAND, fourcorners
from fault_runs import validate

import fourcorners as fc
from fourcorners import catalog
from fourcorners.cli import main


def test_characterize_two_drives_side_by_side(tmp_path: Path) -> None:
    done = fourcorners(
        "characterize", "sim:ocz-core-64gb", "sim:wd6400aaks",
        "--profile", "quick", "--tests", "transfer-size", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [run["status"] for run in result["runs"]] == ["complete", "complete"]
    for run in result["runs"]:
        assert run["findings"]
        assert (tmp_path / run["report"]).stat().st_size > 10_000
        assert fc.open_run(str(tmp_path / run["path"])).manifest.profile == "quick"
    assert (tmp_path / result["comparison"]).stat().st_size > 10_000
    assert "OCZ Core 64GB: 1 test, less than 1 s" in done.stderr
    assert "Transfer size: complete" in done.stderr


def test_the_summary_names_the_drive_and_the_folder(tmp_path: Path) -> None:
    done = fourcorners(
        "characterize", "sim:ocz-core-64gb", "--profile", "quick", "--tests", "transfer-size",
        "--set", "link.line_rate=1.5 Gb/s", "--seed", "5", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    [run_path] = (tmp_path / "runs").iterdir()
    assert "OCZ Core 64GB" in done.stdout
    assert f"Run folder: runs/{run_path.name}" in done.stdout
    manifest = fc.open_run(str(run_path)).manifest
    assert manifest.target.settings == {"link.line_rate": "1.5 Gb/s"}
    assert manifest.seed == 5


def test_quiet_prints_the_path_alone(tmp_path: Path) -> None:
    done = fourcorners(
        "characterize", "sim:ocz-core-64gb", "--profile", "quick", "--tests", "transfer-size",
        "--quiet", cwd=tmp_path,
    )  # fmt: skip
    assert done.stderr == ""
    assert (tmp_path / done.stdout.strip() / "manifest.json").exists()


def test_a_drive_file_of_ones_own(tmp_path: Path) -> None:
    text = fc.open_target("sim:ocz-core-64gb").drive_text
    assert text is not None
    (tmp_path / "mine.toml").write_text(text.replace("OCZ Core 64GB", "My Drive"))
    done = fourcorners(
        "characterize", "./mine.toml", "--profile", "quick", "--tests", "transfer-size",
        "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    path = tmp_path / json.loads(done.stdout)["runs"][0]["path"]
    assert path.name.endswith("-my-drive")
    assert "My Drive" in (path / "drive.toml").read_text()


def test_report_renders_runs_again(tmp_path: Path) -> None:
    for name in ("ocz-core-64gb", "wd6400aaks"):
        fc.characterize(
            f"sim:{name}", profile="quick", tests=["transfer-size"], out=tmp_path / "runs"
        )
    runs = sorted((tmp_path / "runs").iterdir())
    (runs[0] / "report.html").unlink()
    assert fourcorners("report", runs[0]).returncode == 0
    assert (runs[0] / "report.html").exists()
    done = fourcorners("report", *runs, "--out", tmp_path / "both.html", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert len(document["runs"]) == 2
    assert document["runs"][0]["recordings"][0]["test"] == "transfer-size"
    page = (tmp_path / "both.html").read_text()
    assert "OCZ Core 64GB" in page
    assert "WD6400AAKS" in page


def test_drives_lists_and_shows() -> None:
    listed = json.loads(fourcorners("drives", "--json").stdout)
    assert {"ocz-core-64gb", "wd6400aaks"} <= {drive["id"] for drive in listed["drives"]}
    shown = json.loads(fourcorners("drives", "Vertex 3 240", "--json").stdout)
    assert shown["id"] == "ocz-vertex-3-240gb"
    rate = next(p for p in shown["parameters"] if p["name"] == "line_rate")
    assert rate["value"] == "6 Gb/s"
    assert all(parameter["source"] for parameter in shown["parameters"])
    assert "ocz-core-64gb" in fourcorners("drives").stdout
    assert "link.line_rate" in fourcorners("drives", "ocz-core-64gb").stdout


def test_drives_shows_a_file_of_ones_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.toml"
    text = catalog.load("ocz-core-64gb").text
    file.write_text(text.replace("OCZ Core 64GB", "My Drive"))
    assert main(["drives", str(file)]) == 0
    assert "My Drive" in capsys.readouterr().out
    assert main(["drives", str(file), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate("drive", document)
    assert document["id"] == "mine"
    file.write_text("name =")
    assert main(["drives", str(file)]) == 2
    assert main(["drives", str(tmp_path / "none.toml")]) == 2


def test_version_and_help() -> None:
    assert fourcorners("--version").stdout.strip() == fc.__version__
    assert "--destroy-data" in fourcorners("characterize", "--help").stdout


def test_ctrl_c_between_a_command_and_its_end_shows_no_traceback() -> None:
    code = (
        "from fourcorners import cli\n"
        "def main():\n    raise KeyboardInterrupt\n"
        "cli.main = main\ncli.entry()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_a_command_loads_only_what_it_needs() -> None:
    """Help, completion and mistakes need a third of a second, which the eye takes for at once."""
    for command, unneeded in (
        (["run", "--help"], ["numpy", "pyarrow", "fourcorners._core"]),
        (["completion", "bash"], ["numpy", "pyarrow", "fourcorners._core"]),
        (["drives"], ["numpy", "pyarrow", "fourcorners.reporting"]),
        (["tests"], ["scipy.stats", "scipy.optimize"]),
    ):
        code = (
            "import sys\nfrom fourcorners.cli import main\n"
            f"assert main({command}) == 0\n"
            f"sys.exit(' '.join(name for name in {unneeded} if name in sys.modules) or 0)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (command, done.stderr)


TYPED = [
    ("fourcorners char", "fourcorners characterize "),
    ("fourcorners run queue-d", "fourcorners run queue-depth "),
    (
        "fourcorners run mix --seed 3 sim:ocz-core-6",
        "fourcorners run mix --seed 3 sim:ocz-core-64gb ",
    ),
    ("fourcorners run mix targ", "fourcorners run mix target.bin "),
    ("fourcorners drives ocz-core-6", "fourcorners drives ocz-core-64gb "),
    ("fourcorners run mix --size sim:ocz-co", "fourcorners run mix --size sim:ocz-co"),
]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_tests_and_drives(shell: str, tmp_path: Path) -> None:
    """As a person does it: a line is typed, and the tab key."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = fourcorners("completion", shell, cwd=tmp_path)
    assert script.returncode == 0, script.stderr
    (tmp_path / "completion").write_text(script.stdout)
    (tmp_path / "target.bin").write_bytes(b"")
    command = tmp_path / "fourcorners"
    command.write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    command.chmod(0o755)
    # Each starts the command anew, and shell scripts differ less than they cost.
    for typed, completed in TYPED if shell == "bash" else TYPED[1:4]:
        made = _offered(typed, tmp_path) if shell == "fish" else _tab(shell, typed, tmp_path)
        assert made.rstrip() == completed.rstrip()


_BEGIN = {
    "bash": (["bash", "--noprofile", "--norc", "-i"], "bind 'set bell-style none'"),
    # What was loaded can only be completed once the shell has its functions.
    "zsh": (["zsh", "-f", "-i"], "unsetopt beep zle_bracketed_paste; bindkey -e"),
}


def _offered(typed: str, cwd: Path) -> str:
    """The line that fish makes of what was typed, of the only candidate that it has."""
    words = ["fish", "--no-config", "-c", f"source completion; complete -C '{typed}'"]
    path = f"{cwd}:{os.environ['PATH']}"
    done = subprocess.run(
        words, cwd=cwd, capture_output=True, text=True, check=True,
        env={**os.environ, "PATH": path, "HOME": str(cwd)},
    )  # fmt: skip
    offered = {line.partition("\t")[0] for line in done.stdout.splitlines()}
    before, _, word = typed.rpartition(" ")
    fitting = [one for one in offered if one.startswith(word)]
    return f"{before} {fitting[0]} " if len(fitting) == 1 else typed


def _tab(shell: str, typed: str, cwd: Path) -> str:
    """The line that a shell makes of what was typed when the tab key is pressed."""
    reader, writer = pty.openpty()
    words, setting = _BEGIN[shell]
    process = subprocess.Popen(
        words,
        stdin=writer, stdout=writer, stderr=writer, cwd=cwd, start_new_session=True,
        env={**os.environ, "PATH": f"{cwd}:{os.environ['PATH']}", "PS1": "$ ", "TERM": "dumb"},
    )  # fmt: skip
    os.close(writer)
    first = "autoload -Uz compinit; compinit -D -u; " if shell == "zsh" else ""
    os.write(reader, f"{first}source ./completion; {setting}\n".encode())
    os.write(reader, f"{typed}\t\x01echo '<<\x05>>'\n exit\n".encode())
    shown = b""
    while True:
        try:
            part = os.read(reader, 4096)
        except OSError:  # bash has ended
            break
        shown += part
    os.close(reader)
    process.wait(60)
    return shown.decode().rpartition("\n<<")[2].partition(">>")[0]
