"""Programs of a crash test that do something else than write the same each time."""

import sys
import time
from pathlib import Path

import pytest

import fourcorners as fc

VECTOR = "sim:ocz-vector-256gb"

# Writes, TRIMs and zeroes (NBD) as it is told, each acknowledged before the next.
_PROGRAM = """
import pathlib, socket, struct, sys, time
uri, runs = sys.argv[1], pathlib.Path(sys.argv[2])
runs.open("a").write(".")
is_first = runs.read_text() == "."
server = socket.socket(socket.AF_UNIX)
server.connect(uri.partition("=")[2])
def take(count):
    taken = b""
    while len(taken) < count:
        taken += server.recv(count - len(taken)) or sys.exit(9)
    return taken
take(18)
server.sendall(struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">II", 1, 0))
take(10)
def ask(command, block):
    data = b"d" * 4096 if command == 1 else b""
    server.sendall(struct.pack(">IHHQQI", 0x25609513, 0, command, 1, block * 4096, 4096) + data)
    assert struct.unpack(">II", take(16)[:8])[1] == 0
"""


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
    tested = _tested(program, "ask(1, 0), ask(4, 1), ask(6, 2), ask(1, 3)", 4)
    assert tested.writes == 4
    # Power failed with the last of them, which alone was not acknowledged.
    assert [cut.write for cut in tested.cuts] == [4]


def test_a_program_that_ends_before_its_write_loses_power_at_its_end(program: Path) -> None:
    does = "for block in range(9 if is_first else 3):\n    ask(1, block)"
    tested = _tested(program, does, 8)
    assert tested.writes == 9
    [cut] = tested.cuts
    assert cut.write == 4
    assert sum(length for _, length in cut.lost) > 0


def test_a_program_that_fails_by_itself_is_no_loss_of_power(program: Path) -> None:
    does = "for block in range(9):\n    ask(1, block)\n    is_first or sys.exit(7)"
    with pytest.raises(fc.UserError, match=r"failed \(7\) without a loss of power"):
        _tested(program, does, 5)


def test_a_program_that_does_not_come_to_its_write_is_ended(program: Path) -> None:
    noted = program.parent / "pid"
    does = (
        f"import os, subprocess\nask(1, 0)\nis_first and sys.exit(0)\n"
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
