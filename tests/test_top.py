"""What ``top`` shows of a served drive, and the commands that it takes."""

import io
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.cli.top import TopView
from fourcorners.serving.reading import read, sentences


@pytest.fixture
def served(tmp_path: Path) -> Iterator[fc.Served]:
    socket_path = f"unix:{tmp_path}/s"
    with fc.serve("sim:ocz-vector-256gb", nbd=socket_path, out=tmp_path) as one:
        yield one


def _write(served: fc.Served, blocks: int) -> None:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(10)
    client.connect(served.uri.partition("=")[2])
    client.sendall(struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">II", 1, 0))
    left = 18 + 10
    for block in range(blocks):
        request = struct.pack(">IHHQQI", 0x25609513, 0, 1, 7, block * 4096, 4096)
        client.sendall(request + bytes([1]) * 4096)
        left += 16
    while left:
        left -= len(client.recv(left))
    client.close()


def test_a_reading_is_what_happened_between_two_answers(served: fc.Served) -> None:
    before = served.command("status")
    _write(served, 50)
    served.command("slow delay=1ms")
    reading = read(before, served.command("status"))
    written = reading.operations["write"]
    assert written.iops * reading.seconds == pytest.approx(50)
    assert written.bytes_per_second * reading.seconds == pytest.approx(50 * 4096)
    assert written.latency_s is not None
    assert 1e-6 < written.latency_s < 1e-3
    assert reading.operations["read"].latency_s is None
    assert reading.write_amplification is None or reading.write_amplification >= 0
    # A volatile cache: nothing was flushed.
    assert 0 < reading.status["volatile_bytes"] <= 50 * 4096
    lines = "\n".join(sentences(reading))
    assert "50 I/Os" in lines
    assert "in the cache that a power cut takes" in lines
    assert "fault 0: slow" in lines
    assert "write amplification" in lines


def test_once_prints_and_ends(
    served: fc.Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # By the drive's own socket: the one for commands stands beside it.
    assert main(["top", str(tmp_path / "s"), "--once"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("read ")
    assert "queue 0, 0 NBD clients" in out
    assert "write amplification –" in out, "nothing was written"
    served.stop()
    assert main(["top", str(tmp_path / "s"), "--once"]) == 1
    assert "no server answers" in capsys.readouterr().err


def test_what_happened_to_the_drive_is_counted(tmp_path: Path) -> None:
    with fc.serve(
        "sim:ocz-vector-256gb", nbd=f"unix:{tmp_path}/s", restart_after_s=60, out=tmp_path
    ) as served:
        before = served.command("status")
        served.command("power-cut")
        deadline = time.monotonic() + 10
        while not (after := served.command("status"))["is_away"]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    lines = sentences(read(before, after))
    assert "1 power cut" in lines
    assert "The drive is away." in lines


def test_commands_are_typed_and_answered(served: fc.Served) -> None:
    assert served.control is not None
    view = TopView(served.control)
    for _ in range(2):
        view.update(fc.top(served.control))
    view.type("slowx\x7f delay=5ms\nmelt\n")
    [fault] = served.command("status")["faults"]
    assert fault["fault"]["kind"] == "slow"
    view.type("io-err")
    plain = io.StringIO()
    Console(file=plain, width=80, height=24).print(view.drawn(80))
    shown = plain.getvalue()
    assert '"melt"' in shown
    assert shown.rstrip().endswith("> io-err")
    assert " MB/s" in shown
    with pytest.raises(KeyboardInterrupt):
        view.type("\x7f" * 6 + "q\n")
