"""Captures: what is refused, and on a system that lets us what a loop device is asked for."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

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
    timer = Timer(0.4, direct, [device])
    timer.start()
    try:
        assert main(["capture", str(device), "--for", "2s", "-o", str(out)]) == 0
        table = pq.read_table(out).to_pydict()
        header = fc.trace_info(out).header
    finally:
        timer.join()
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
