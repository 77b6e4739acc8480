"""Runs of the command during which something goes wrong, by mechanisms of the system: signals, a
loop device whose file is truncated, shrunk, frozen, finds no room, or is failed by its server.

:func:`run_with` stages one and holds what the command leaves against its contract: exit code, JSON
documents, nothing but sentences on standard error. ``tests/test_faults.py`` runs a few, and
``benches/fault_injection.py`` a thousand.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fault_disk import Fault, FaultDisk

import fourcorners
from fourcorners.store.document import to_json

SCHEMAS = Path(fourcorners.__file__).parent / "schemas"
MIB = 1 << 20
IMAGE_BYTES = 8 * MIB
# Longer than any run takes, also on a slow machine: what takes longer hangs.
HANG_S = 120

COMPLETE, FAILED, REFUSED, DAMAGED, INTERRUPTED, KILLED = 0, 1, 2, 3, 130, -signal.SIGKILL
_CODES_BY_STATUS = {"complete": COMPLETE, "failed": FAILED, "interrupted": INTERRUPTED}

Act = Callable[[subprocess.Popen[str]], None]


def validate(name: str, document: Any) -> None:
    """Holds a document against its published schema."""
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    jsonschema.validate(document, schema)


@contextlib.contextmanager
def _mounted(point: Path, *options: str) -> Iterator[Path]:
    point.mkdir()
    _run("mount", *options, str(point))
    try:
        yield point
    finally:
        _unmount(point)


def _unmount(point: Path) -> None:
    """A loop device lets go of its file some time after it was told to."""
    for _ in range(100):
        done = subprocess.run(["umount", point], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        time.sleep(0.1)
    raise AssertionError(done.stderr)


@contextlib.contextmanager
def _loop(image: Path) -> Iterator[str]:
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    with loop_device(image, direct=False) as device:
        yield device


@contextlib.contextmanager
def loop_device(image: Path, *, direct: bool) -> Iterator[str]:
    """A loop device over a file; ``direct`` keeps it from the page cache of the file."""
    how = "--direct-io=on" if direct else "--direct-io=off"
    device = _run("losetup", "--find", "--show", how, str(image))
    try:
        yield device
    finally:
        _run("losetup", "--detach", device)


@contextlib.contextmanager
def _plain(folder: Path) -> Iterator[tuple[str, Act]]:
    with _loop(folder / "image") as device:
        yield device, lambda process: None


def _signalled(number: signal.Signals) -> Any:
    @contextlib.contextmanager
    def stage(folder: Path) -> Iterator[tuple[str, Act]]:
        with _loop(folder / "image") as device:
            yield device, lambda process: process.send_signal(number)

    return stage


@contextlib.contextmanager
def _truncated(folder: Path) -> Iterator[tuple[str, Act]]:
    """Reads beyond the end of the file behind the device are EIO."""
    with _loop(folder / "image") as device:
        yield device, lambda process: os.truncate(folder / "image", MIB)


@contextlib.contextmanager
def _gone(folder: Path) -> Iterator[tuple[str, Act]]:
    """Most of the device disappears."""
    with _loop(folder / "image") as device:

        def shrink(process: subprocess.Popen[str]) -> None:
            os.truncate(folder / "image", 4096)
            _run("losetup", "--set-capacity", device)

        yield device, shrink


@contextlib.contextmanager
def _full(folder: Path) -> Iterator[tuple[str, Act]]:
    """The file behind the device finds no room: ENOSPC."""
    room = ("-t", "tmpfs", "-o", f"size={IMAGE_BYTES // 2}", "tmpfs")
    with _mounted(folder / "small", *room) as small, _loop(small / "image") as device:
        yield device, lambda process: None


@contextlib.contextmanager
def _frozen(folder: Path) -> Iterator[tuple[str, Act]]:
    """The file system with the file behind the device stands still: writes hang."""
    outer = folder / "outer"
    with outer.open("wb") as file:
        file.truncate(4 * IMAGE_BYTES)
    _run("mkfs.ext4", "-q", str(outer))
    with (
        _mounted(folder / "point", "-o", "loop", str(outer)) as point,
        _loop(point / "image") as device,
    ):

        def freeze(process: subprocess.Popen[str]) -> None:
            _run("fsfreeze", "--freeze", str(point))

        try:
            yield device, freeze
        finally:
            subprocess.run(["fsfreeze", "--unfreeze", point], check=False, capture_output=True)


def _medium(*faults: Fault) -> Any:
    """The file behind the device is served by a process that is told to fail it."""

    @contextlib.contextmanager
    def stage(folder: Path) -> Iterator[tuple[str, Act]]:
        with (
            FaultDisk(folder, IMAGE_BYTES) as disk,
            loop_device(disk.path, direct=True) as device,
        ):
            try:
                yield device, lambda process: disk.tell(*faults)
            finally:
                disk.tell()

    return stage


# How each is staged, and the exit codes that it may have. A fault that comes too late changes
# nothing; a device that lost data may be called damaged.
FAULTS: dict[str, tuple[Any, set[int]]] = {
    "none": (_plain, {COMPLETE}),
    "interrupt": (_signalled(signal.SIGINT), {INTERRUPTED, COMPLETE}),
    "kill": (_signalled(signal.SIGKILL), {KILLED, COMPLETE}),
    "eio": (_truncated, {FAILED, DAMAGED, COMPLETE}),
    "gone": (_gone, {FAILED, DAMAGED, COMPLETE}),
    "enospc": (_full, {FAILED}),
    "hang": (_frozen, {FAILED, COMPLETE}),
}
# More of them, for benches/fault_injection.py; tests/test_fault_disk.py looks at them closely.
MEDIUM_FAULTS: dict[str, tuple[Any, set[int]]] = {
    "read eio": (_medium(Fault("read", "eio")), {FAILED, COMPLETE}),
    "write eio": (_medium(Fault("write", "eio")), {FAILED, COMPLETE}),
    "write enospc": (_medium(Fault("write", "enospc")), {FAILED, COMPLETE}),
    "slow": (_medium(*[Fault(how, "delay", seconds=0.1) for how in ("read", "write")]), {COMPLETE}),
    "read hang": (_medium(Fault("read", "hang")), {FAILED, COMPLETE}),
    "write hang": (_medium(Fault("write", "hang")), {FAILED, COMPLETE}),
    "bit flip": (_medium(Fault("read", "flip", 5, 1)), {DAMAGED, COMPLETE}),
    "lost write": (_medium(Fault("write", "lose")), {DAMAGED, COMPLETE}),
}


def run_with(fault: str, folder: Path, seed: int) -> int:
    """One run; returns its exit code. Raises ``AssertionError`` where the contract is broken."""
    stage, codes = (FAULTS | MEDIUM_FAULTS)[fault]
    folder.mkdir()
    with stage(folder) as (device, act):
        code, out, err = _verify(device, act, random.Random(seed), folder)
        if code in (FAILED, REFUSED) and not out:
            # It happened before the first write, and the look that precedes it saw it.
            assert err.count("fourcorners: ") == 1, err
            assert "nothing was written" in err, err
            shutil.rmtree(folder)
            return code
        assert code in codes, (fault, code, err)
        _check_output(code, out, err)
        if code == KILLED:
            # What was acknowledged is there, and the next run finds nothing in its way.
            again = _start(device, "--again", "--state", str(folder / "state"))
            out, err = again.communicate(timeout=HANG_S)
            known = again.returncode == COMPLETE or "cannot open the state" in err
            assert known, (again.returncode, err)
    shutil.rmtree(folder)
    return code


def _start(device: str, *options: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "fourcorners",
        "verify",
        device,
        "--json",
        "--progress",
        "json",
    ]
    return subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _verify(device: str, act: Act, choice: random.Random, folder: Path) -> tuple[int, str, str]:
    options = ("--destroy-data", device, "--seconds", "0.5", "--io-limit", "1")
    process = _start(device, *options, "--state", str(folder / "state"))
    try:
        assert process.stderr is not None
        # Once it has begun, at any moment.
        first = process.stderr.readline()
        time.sleep(choice.uniform(0, 0.6))
        act(process)
        out, err = process.communicate(timeout=HANG_S)
    finally:
        process.kill()
    return process.returncode, out, first + err


def _check_output(code: int, out: str, err: str) -> None:
    for line in err.splitlines():
        if line.startswith("{") and line.endswith("}"):
            validate("progress", json.loads(line))
        else:
            assert line.startswith("fourcorners: ") or code == KILLED, line
    if code == KILLED:
        return
    document = json.loads(out)
    validate("verification", document)
    if code == DAMAGED:
        assert document["damages"]
    else:
        assert _CODES_BY_STATUS[document["status"]] == code
        assert not document["damages"]


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout.strip()


def needs_loop_devices() -> None:
    """Skips where none can be had."""
    if os.geteuid() != 0:
        pytest.skip("loop devices and mounts need root")
    for program in ("losetup", "mkfs.ext4", "fsfreeze"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")


def edit_manifest(folder: Path, old: str, new: str) -> None:
    """Changes the manifest of a run folder as a person would who knows of its digest."""
    path = folder / "manifest.json"
    text = path.read_text("utf-8")
    assert old in text
    document = json.loads(text.replace(old, new))
    path.write_text(to_json(document), "utf-8")
