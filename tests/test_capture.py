"""Captures: what is refused, and on a system that lets us what a loop device is asked for."""

import mmap
import os
import random
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow.parquet as pq
import pytest

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.trace import capturing

TRACEFS = Path("/sys/kernel/tracing")


def can_capture() -> bool:
    return os.geteuid() == 0 and (TRACEFS / "events/block/block_rq_issue").is_dir()


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(32 << 20)
    command = ["losetup", "--find", "--show", str(image)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no loop device: {made.stderr.strip()}")
    path = Path(made.stdout.strip())
    yield path
    subprocess.run(["losetup", "-d", str(path)], check=True)


def direct(device: Path) -> None:
    """Ten writes, three reads and a flush, one after the other."""
    command = ["dd", "if=/dev/zero", f"of={device}", "bs=8k", "count=10", "seek=2"]
    subprocess.run([*command, "oflag=direct", "conv=fsync"], check=True, capture_output=True)
    command = ["dd", f"if={device}", "of=/dev/null", "bs=4k", "count=3", "iflag=direct"]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.skipif(not can_capture(), reason="capturing takes root and tracefs")
def test_what_a_device_is_asked_for_is_captured(
    device: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = Path("/dev/shm") / f"capture-{os.getpid()}.parquet"

    def asking() -> None:
        _begun()
        direct(device)

    program = Thread(target=asking)
    program.start()
    try:
        assert main(["capture", str(device), "--for", "2s", "-o", str(out)]) == 0
        table = pq.read_table(out).to_pydict()
        header = fc.trace_info(out).header
    finally:
        program.join()
        out.unlink(missing_ok=True)
    # What looks at a new device, such as udev, reads.
    writes = [
        (offset, length)
        for operation, offset, length in zip(
            table["operation"], table["offset_bytes"], table["length_bytes"], strict=True
        )
        if operation == "write"
    ]
    assert writes == [(16384 + 8192 * number, 8192) for number in range(10)]
    reads = set(zip(table["operation"], table["offset_bytes"], strict=True))
    assert {("read", 0), ("read", 4096), ("read", 8192)} <= reads
    assert "flush" in table["operation"]
    assert all(latency is not None for latency in table["latency_ns"])
    assert table["time_ns"] == sorted(table["time_ns"])
    assert f"captured from {device}" in header.origin[0]
    assert header.start_unix_ns is not None
    said = " ".join(capsys.readouterr().out.split())
    assert "lost: 0 events; its own load:" in said
    assert not list((TRACEFS / "instances").glob("fourcorners-*"))


def _begun() -> Path:
    """The events of this process's capture, from the moment at which all of them are noted."""
    instance = TRACEFS / "instances" / f"fourcorners-{os.getpid()}"
    # A loop device has a driver's queue; of its events this one is switched on last.
    last = instance / "events/block/block_rq_requeue/enable"
    while not last.exists() or last.read_text().strip() != "1":
        time.sleep(0.01)
    return instance


def _during(work: Callable[[], None], device: Path, out: Path) -> list[dict[str, Any]]:
    """What a device is asked for while ``work`` runs in a thread of its own."""
    failed: list[BaseException] = []

    def run() -> None:
        instance = _begun()
        try:
            work()
        except BaseException as error:
            failed.append(error)
        if instance.is_dir():
            signal.raise_signal(signal.SIGINT)

    thread = Thread(target=run, daemon=True)
    # A shell's job in the background has it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        fc.capture(device, out, seconds=60, replace=True)
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    if failed:
        raise failed[0]
    rows: list[dict[str, Any]] = pq.read_table(out).to_pylist()
    return rows


def _program(device: Path) -> None:
    """80 reads and writes, some of them followed by a flush, with times to think."""
    chance = random.Random(1)
    file = os.open(device, os.O_RDWR | os.O_DIRECT)
    with mmap.mmap(-1, 65_536) as buffer:
        for number in range(80):
            page = memoryview(buffer)[: 4096 * chance.randint(1, 16)]
            offset = 4096 * chance.randrange(4096)
            if chance.random() < 0.5:
                os.pwritev(file, [page], offset)
                if number % 8 == 0:
                    os.fsync(file)
            else:
                os.preadv(file, [page], offset)
            page.release()
            time.sleep(chance.random() * 0.01)
    os.close(file)


@pytest.mark.skipif(not can_capture(), reason="capturing takes root and tracefs")
def test_a_replay_of_a_capture_asks_a_device_for_the_same(device: Path, tmp_path: Path) -> None:
    trace = Path("/dev/shm") / f"program-{os.getpid()}.parquet"
    again = Path("/dev/shm") / f"replay-{os.getpid()}.parquet"
    runs: list[fc.Run] = []

    def replay() -> None:
        options: dict[str, Any] = {"out": tmp_path / "runs", "destroy_data": str(device)}
        runs.append(fc.replay(trace, str(device), fill=False, **options))

    try:
        asked = _during(lambda: _program(device), device, trace)
        replayed = _during(replay, device, again)
    finally:
        trace.unlink(missing_ok=True)
        again.unlink(missing_ok=True)
    [run] = runs
    assert run.manifest.status == "complete", run.manifest.tests[0].reason

    first, second = _transfers(asked), _transfers(replayed)
    names = ("operation", "fua", "offset_bytes", "length_bytes")
    assert [[row[name] for name in names] for row in second] == [
        [row[name] for name in names] for row in first
    ]
    assert len(first) == 80
    flushes = [row for row in asked if row["operation"] == "flush"]
    assert run.recordings[0].operations["flush"].ios == len(flushes) > 0
    # The time of both captures' first I/O is taken from the middle of the differences.
    apart = [two["time_ns"] - one["time_ns"] for one, two in zip(first, second, strict=True)]
    middle = statistics.median(apart)
    off_s = sorted(abs(one - middle) / 1e9 for one in apart)
    [timing] = [one for one in run.findings if one.name == "replay_timing"]
    # What the kernel takes from the call to its event is not the replay's.
    assert timing.value is not None
    assert statistics.median(off_s) <= timing.value + 200e-6
    assert off_s[-1] <= timing.detail["max_s"] + 50e-3


def _transfers(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of whoever writes: others look at a device by reads, and flushes carry a kernel thread."""
    writer = statistics.mode(row["process"] for row in rows if row["operation"] == "write")
    return [row for row in rows if row["process"] == writer and row["operation"] != "flush"]


@pytest.mark.skipif(not can_capture(), reason="capturing takes root and tracefs")
def test_a_device_at_rest_and_a_trace_on_itself_are_told(device: Path, tmp_path: Path) -> None:
    place = tmp_path / "mounted"
    place.mkdir()
    subprocess.run(["mkfs.ext4", "-q", str(device)], check=True)
    subprocess.run(["mount", str(device), str(place)], check=True)
    try:
        with pytest.raises(fc.UserError, match="would record its own writing"):
            fc.capture(device, place / "x.parquet", seconds=1)
    finally:
        subprocess.run(["umount", str(place)], check=True)
    with pytest.raises(fc.UserError, match="had no I/O within"):
        fc.capture(device, Path("/dev/shm/none.parquet"), seconds=0.3)


def test_what_cannot_be_captured_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*words: str) -> str:
        assert main(["capture", *words]) == 2
        return capsys.readouterr().err

    assert "is no block device" in refused("/dev/null", "--for", "1s", "-o", "x.parquet")
    assert "no such file" in refused("/dev/absent", "--for", "1s", "-o", "x.parquet")
    assert "--to parquet" in refused("/dev/null", "--for", "1s", "-o", "x.xyz")
    assert "is none: use up to" in refused("/dev/null", "--for", "200h", "-o", "x.parquet")


def test_a_kernel_without_events_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def device_number(path: Path) -> tuple[int, int]:
        return (7, 0)

    monkeypatch.setattr(capturing, "_device_number", device_number)
    monkeypatch.setattr(capturing, "_TRACEFS", (tmp_path,))
    (tmp_path / "events").mkdir()
    with pytest.raises(fc.UserError, match="without CONFIG_BLK_DEV_IO_TRACE"):
        fc.capture("/dev/x", tmp_path / "x.parquet", seconds=1)
    monkeypatch.setattr(capturing, "_TRACEFS", (tmp_path / "absent",))
    said = "only root" if os.geteuid() else "mount tracefs"
    with pytest.raises(fc.UserError, match=said):
        fc.capture("/dev/x", tmp_path / "x.parquet", seconds=1)
