"""Programs of a crash test that do something else than write the same each time."""

import sys
import time
from pathlib import Path

import pytest
from nbd_client import CLIENT

import fourcorners as fc

VECTOR = "sim:ocz-vector-256gb"

# Writes, TRIMs and zeroes as it is told, each acknowledged before the next.
_PROGRAM = (
    CLIENT
    + """
runs = pathlib.Path(sys.argv[2])
runs.open("a").write(".")
is_first = runs.read_text() == "."
def send(command, block):
    ask(command, block, b"d" * 4096 if command == 1 else b"")
"""
)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return tmp_path / "program.py"


def _tested(program: Path, does: str, at_write: int, time_limit_s: float = 60.0) -> fc.CrashTest:
    program.write_text(_PROGRAM + does)
    load = f"{sys.executable} {program} {{uri}} {program.parent}/runs"
    return fc.crash_test(
        VECTOR, workload=load, check="true", at_write=at_write, time_limit_s=time_limit_s
    )


def test_trims_and_zeroes_are_among_the_writes(program: Path) -> None:
    tested = _tested(program, "send(1, 0), send(4, 1), send(6, 2), send(1, 3)", 4)
    assert tested.writes == 4
    # Power failed with the last of them, which alone was not acknowledged.
    assert [cut.write for cut in tested.cuts] == [4]


def test_a_program_that_ends_before_its_write_loses_power_at_its_end(program: Path) -> None:
    does = "for block in range(9 if is_first else 3):\n    send(1, block)"
    tested = _tested(program, does, 8)
    assert tested.writes == 9
    [cut] = tested.cuts
    assert cut.write == 4
    assert sum(length for _, length in cut.lost) > 0


def test_a_program_that_fails_by_itself_is_no_loss_of_power(program: Path) -> None:
    does = "for block in range(9):\n    send(1, block)\n    is_first or sys.exit(7)"
    with pytest.raises(fc.UserError, match=r"failed \(7\) without a loss of power"):
        _tested(program, does, 5)


def test_a_program_that_does_not_come_to_its_write_is_ended(program: Path) -> None:
    noted = program.parent / "pid"
    does = (
        f"import os, subprocess\nsend(1, 0)\nis_first and sys.exit(0)\n"
        f"child = subprocess.Popen(['sleep', '600'])\n"
        f"pathlib.Path({str(noted)!r}).write_text(str(child.pid))\ntime.sleep(600)"
    )
    with pytest.raises(fc.UserError, match="did not come to write 2 within 3 s"):
        _tested(program, does, 2, time_limit_s=3.0)
    child = int(noted.read_text())
    deadline = time.monotonic() + 10
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{child}").exists() or "zombie" in _state(child)


def _state(process: int) -> str:
    return Path(f"/proc/{process}/status").read_text()


def test_a_write_is_counted_from_1() -> None:
    with pytest.raises(fc.UserError, match="counted from 1"):
        fc.crash_test(VECTOR, workload="true", check="true", at_write=0)
