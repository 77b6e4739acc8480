"""SIGTERM and SIGHUP end a run as Ctrl-C does: saved, named and listed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command import COMMAND, fourcorners

import fourcorners as fc

# One measurement that would take hours, after a fill that takes a moment.
SMALL = ["--set", "flash.blocks_per_plane=128", "--set", "capacity.user=12 GiB"]
SMALL += ["--set", "translation.spare_area=30 %"]
LONG = """
schema_version = 1
name = "long"
[[test]]
name = "endless"
prepare = []
workload = [{ duration = "1000000 s", reads = "50 %", block = "4 KiB", pattern = "random" }]
"""


def begun(*prefix: str, cwd: Path) -> subprocess.Popen[str]:
    """A run in the midst of its measurement."""
    (cwd / "long.toml").write_text(LONG)
    process = subprocess.Popen(
        [*prefix, *COMMAND, "run", "long.toml", "sim:ocz-vector-256gb", *SMALL,
         "--progress", "json"],
        cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if '"fraction"' in line:
            return process
    raise AssertionError("it did not begin")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_run_is_saved_named_and_listed(number: signal.Signals, tmp_path: Path) -> None:
    # Whoever runs the tests may ignore SIGHUP (nohup), or SIGINT (a job in the background).
    process = begun("env", f"--default-signal={number.name[3:]}", cwd=tmp_path)
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number, errors
    assert "Traceback" not in errors
    [path] = (tmp_path / "runs").iterdir()
    assert path.name in output
    run = fc.open_run(str(path))
    assert run.manifest.status == "interrupted"
    [test] = run.manifest.tests
    name = "Ctrl-C" if number == signal.SIGINT else number.name
    assert test.reason == f"stopped by {name}"
    assert run.table("recordings").to_pylist()
    assert path.name in fourcorners("runs", cwd=tmp_path).stdout
    # The page says it, and goes on after a space.
    assert f"(stopped by {name}). What follows" in (path / "report.html").read_text()


def test_under_nohup_a_run_outlives_its_terminal(tmp_path: Path) -> None:
    process = begun("env", "--ignore-signal=HUP", cwd=tmp_path)
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.5)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM


def test_verify_says_what_stopped_it(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "verify", "sim:ocz-vector-256gb", "--span", "1GiB", "--seconds", "1000000"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if "mixed load" in line:
            break
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, errors
    assert "Ended early: stopped by SIGTERM." in output


def test_a_command_that_measures_nothing_says_what_ended_it(tmp_path: Path) -> None:
    """Here while it waits for a catalog on a file system that does not answer."""
    code = (
        "import os, signal, sys, threading, time\n"
        "from fourcorners import catalog\n"
        "from fourcorners.cli import main\n"
        "def load(name):\n"
        "    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()\n"
        "    time.sleep(50)\n"
        "catalog.load = load\n"
        "sys.exit(main(['characterize', 'sim:ocz-core-64gb']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (143, "fourcorners: stopped by SIGTERM\n")


def test_a_program_is_ended_by_the_signal_once_its_run_is_saved(tmp_path: Path) -> None:
    code = (
        "import os, signal, threading\nimport fourcorners as fc\n"
        "from fourcorners.running.progress import Progress\n"
        "class Asked(Progress):\n"
        "    def update(self, status):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "fc.run('consistency', 'sim:ocz-core-64gb', progress=Asked())\n"
        "print('went on')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, ""), done.stderr
    [path] = (tmp_path / "runs").iterdir()
    assert fc.open_run(str(path)).manifest.status == "interrupted"
