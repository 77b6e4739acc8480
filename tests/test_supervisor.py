"""The command ends although its working process cannot."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fourcorners.errors import EXIT_INTERRUPTED

# A child that hears no signal, and that the system calls kept by the kernel.
HANGING = """
import signal, sys, time
from fourcorners.cli import supervisor
supervisor._STUCK_S, supervisor._END_S = 0.2, 60.0
supervisor._is_kept = lambda process: {kept}
def work():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    print("begun", flush=True)
    time.sleep({seconds})
    return 7
sys.exit(supervisor.supervised(work))
"""


def hanging(*, kept: bool, seconds: float) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HANGING.format(kept=kept, seconds=seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, EXIT_INTERRUPTED), (signal.SIGTERM, 128 + signal.SIGTERM)],
)
def test_a_process_that_hangs_in_the_kernel_is_left(number: signal.Signals, code: int) -> None:
    process = hanging(kept=True, seconds=600)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert "stays until the kernel lets go" in err
    # The child, which is only made to look so, ends with its parent.
    (child,) = [word for word in err.split() if word.isdigit()]
    give_up = time.monotonic() + 20
    while Path(f"/proc/{child}").exists() and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not Path(f"/proc/{child}").exists()


def test_one_that_is_busy_is_waited_for() -> None:
    process = hanging(kept=False, seconds=1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (7, "")


def test_one_that_hangs_unasked_is_waited_for() -> None:
    process = hanging(kept=True, seconds=1)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (7, "")


ENDING = """
import itertools, os, sys, time
from fourcorners.cli import supervisor
supervisor._END_S, supervisor._LOOK_S = 0.5, 0.05
looks = {looks}
supervisor._is_kept = lambda process: next(looks)
say = supervisor._say
def told(tell, code):
    say(tell, code)
    time.sleep(2.0)
supervisor._say = told
sys.exit(supervisor.supervised(lambda: 7))
"""


@pytest.mark.parametrize(
    ("looks", "left"),
    # Met in the kernel at each second look, as on a busy machine; and at each.
    [("itertools.cycle([False, True])", False), ("itertools.repeat(True)", True)],
)
def test_one_that_ends_slowly_is_not_said_to_hang(looks: str, left: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDING.format(looks=looks)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 7
    assert ("stays until the kernel" in done.stderr) == left


def test_one_that_the_system_killed_is_told_of() -> None:
    """As it does when memory runs out."""
    code = (
        "import os, signal, sys\nfrom fourcorners.cli import supervisor\n"
        "sys.exit(supervisor.supervised(lambda: os.kill(os.getpid(), signal.SIGKILL)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 128 + signal.SIGKILL
    [line] = done.stderr.splitlines()
    assert line.startswith("fourcorners: the process that worked was ended by SIGKILL")
    assert "memory" in line
