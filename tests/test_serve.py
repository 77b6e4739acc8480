"""A served drive as programs see it: libnbd's tools, qemu's, fio, and hostile clients."""

import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import COMMAND
from nbd_client import CLIENT

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.reporting import charts
from fourcorners.serving.session import kept_up_sentence

VECTOR = "sim:ocz-vector-256gb"


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} not installed")


@contextlib.contextmanager
def serving(folder: Path, target: str = VECTOR, **options: Any) -> Iterator[fc.Served]:
    with fc.serve(target, nbd=f"unix:{folder}/s", out=folder / "runs", **options) as served:
        yield served


def run(*words: str, code: int = 0) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout


class Raw:
    """A client that sends bytes as they are."""

    def __init__(self, served: fc.Served | str, *, transmits: bool = True) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(10)
        uri = served if isinstance(served, str) else served.uri
        self.socket.connect(uri.partition("=")[2])
        if transmits:
            assert self.take(18)[:8] == b"NBDMAGIC"
            self.socket.sendall(struct.pack(">I", 3))
            self.option(1, b"")
            self.size, self.flags = struct.unpack(">QH", self.take(10))

    def option(self, number: int, data: bytes) -> None:
        self.socket.sendall(b"IHAVEOPT" + struct.pack(">II", number, len(data)) + data)

    def take(self, count: int) -> bytes:
        taken = b""
        while len(taken) < count:
            part = self.socket.recv(count - len(taken))
            if not part:
                raise EOFError
            taken += part
        return taken

    def answer(self) -> tuple[int, int, bytes]:
        """To an option: option, kind and data."""
        magic, option, kind, length = struct.unpack(">QIII", self.take(20))
        assert magic == 0x3E889045565A9
        return option, kind, self.take(length)

    def ask(
        self, command: int, offset: int, length: int, *, flags: int = 0, data: bytes = b""
    ) -> int:
        """A request; returns the error of its simple reply, whose data is left."""
        self.request(command, offset, length, flags=flags)
        self.socket.sendall(data)
        magic, error, cookie = struct.unpack(">IIQ", self.take(16))
        assert (magic, cookie) == (0x67446698, 77)
        return int(error)

    def request(self, command: int, offset: int, length: int, *, flags: int = 0) -> None:
        self.socket.sendall(struct.pack(">IHHQQI", 0x25609513, flags, command, 77, offset, length))


READ, WRITE, FLUSH, TRIM, CACHE, ZERO, STATUS = 0, 1, 3, 4, 5, 6, 7


def test_the_protocols_own_errors(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        client = Raw(served)
        end = client.size
        assert client.size == 256060514304
        for command, offset, length, error in (
            (READ, end, 512, 22),
            (READ, end - 512, 1024, 22),
            (READ, 2**64 - 512, 1024, 22),
            (READ, 0, 2**32 - 512, 22),
            (READ, 100, 512, 22),
            (READ, 0, 0, 22),
            (ZERO, end, 512, 28),
            (TRIM, end - 512, 1024, 22),
            (FLUSH, 0, 512, 22),
            (STATUS, 0, 512, 22),
            (9, 0, 512, 22),
            (CACHE, 0, 4096, 0),
            (TRIM, 0, 2**32 - 512, 0),
            (ZERO, 0, 2**32 - 512, 0),
        ):
            assert client.ask(command, offset, length) == error, (command, offset, length)
        assert client.ask(READ, 0, 512, flags=2) == 22
        # FAST_ZERO with NO_HOLE is a write: not faster.
        assert client.ask(ZERO, 0, 512, flags=16) == 0
        assert client.ask(ZERO, 0, 512, flags=16 | 2) == 95
        # What is refused has its data passed over.
        assert client.ask(WRITE, end, 1024, data=bytes(1024)) == 28
        assert client.ask(WRITE, 0, 512, data=b"x" * 512) == 0
        assert client.ask(READ, 0, 512) == 0
        assert client.take(512) == b"x" * 512
    with serving(tmp_path, read_only=True) as served:
        client = Raw(served)
        assert client.flags & 2
        assert client.ask(WRITE, 0, 512, data=bytes(512)) == 1
        assert client.ask(TRIM, 0, 512) == 1


def test_the_handshake_answers_what_it_cannot_do(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        client = Raw(served, transmits=False)
        client.take(18)
        client.socket.sendall(struct.pack(">I", 1))
        for option, data, kind in (
            (5, b"", 2**31 + 1),  # TLS
            (11, b"", 2**31 + 1),  # extended headers
            (99, b"?", 2**31 + 1),
            (3, b"?", 2**31 + 3),
            (8, b"?", 2**31 + 3),
            (7, b"?", 2**31 + 3),
            (7, struct.pack(">I", 4) + b"else" + bytes(2), 2**31 + 6),
            (10, bytes(8), 2**31 + 3),  # before structured replies
            (10, b"\xff" * 8, 2**31 + 3),
            (99, bytes(70_000), 2**31 + 9),
            (8, b"", 1),
            (8, b"", 2**31 + 3),
        ):
            client.option(option, data)
            answer = client.answer()
            assert answer[:2] == (option, kind), (option, data[:20], answer)
        client.option(2, b"")
        assert client.answer()[:2] == (2, 1)
        with pytest.raises(EOFError):
            client.take(1)


def test_hostile_clients_hold_nobody_up(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        good = Raw(served)
        crowd = [Raw(served, transmits=False) for _ in range(1000)]
        garbage = Raw(served, transmits=False)
        garbage.socket.sendall(bytes(range(256)) * 100)
        in_garbage = Raw(served)
        in_garbage.socket.sendall(b"\xff" * 100)
        # One dies in the midst of a write, one stops there, one reads no answers.
        dying = Raw(served)
        dying.request(WRITE, 0, 2**20)
        dying.socket.sendall(bytes(1000))
        dying.socket.close()
        stopped = Raw(served)
        stopped.request(WRITE, 0, 32 * 2**20)
        stopped.socket.sendall(bytes(5000))
        deaf = Raw(served)
        for _ in range(300):
            deaf.request(READ, 0, 32 * 2**20)
        huge = Raw(served)
        assert huge.ask(READ, 0, 2**32 - 512) == 22
        began = time.monotonic()
        for number in range(20):
            data = bytes([number]) * 4096
            assert good.ask(WRITE, number * 4096, 4096, data=data) == 0
            assert good.ask(READ, number * 4096, 4096) == 0
            assert good.take(4096) == data
        assert time.monotonic() - began < 5
        with pytest.raises((EOFError, ConnectionResetError)):
            in_garbage.take(1)
        newcomer = Raw(served)
        assert newcomer.ask(FLUSH, 0, 0) == 0
        assert served.command("status")["clients"] >= 1000
        for client in crowd:
            client.socket.close()


@needs("nbdinfo")
@needs("nbdcopy")
def test_libnbd_and_qemu_copy_and_compare(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(os.urandom(2**20) + bytes(2**20) + os.urandom(2**20))
    with serving(tmp_path) as served:
        about = json.loads(run("nbdinfo", "--json", served.uri))["exports"][0]
        assert about["export-size"] == 256060514304
        assert about["can_multi_conn"]
        assert about["can_fast_zero"]
        assert about["contexts"] == ["base:allocation"]
        listed = json.loads(run("nbdinfo", "--json", "--list", served.uri))["exports"]
        assert [one["export-name"] for one in listed] == [""]
        run("nbdcopy", "--connections=4", str(image), served.uri)
        status = json.loads(run("nbdinfo", "--json", "--map", served.uri))
        stored = sum(one["length"] for one in status if one["type"] == 0)
        assert 2 * 2**20 <= stored <= 3 * 2**20
        if shutil.which("qemu-img") is not None:
            compared = run("qemu-img", "compare", "-f", "raw", "-F", "raw", str(image), served.uri)
            assert "identical" in compared
            run("qemu-io", "-f", "raw", "-c", "write -P 7 1M 64k", "-c", "write -z -u 2M 64k",
                "-c", "discard 0 64k", "-c", "flush", "-c", "read -P 7 1M 64k",
                "-c", "read -P 0 2M 64k", "-c", "read -P 0 0 64k", served.uri)  # fmt: skip


@needs("fio")
def test_fio_verifies_what_eight_jobs_wrote(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        for phase in ("--do_verify=0", "--verify_only=1"):
            run("fio", "--name=v", "--ioengine=nbd", f"--uri={served.uri}", "--rw=randwrite",
                "--bs=4k", "--iodepth=4", "--numjobs=8", "--offset_increment=1M", "--size=1M",
                "--fsync=64", "--verify=crc32c", "--verify_state_save=0", phase)  # fmt: skip
        session = served.stop()
    assert session.ended == "stopped"
    recorded = session.run.recordings[0].operations
    assert recorded["write"].ios == recorded["read"].ios == 8 * 256
    assert recorded["flush"].ios >= 8 * 3
    assert session.events["answers"] >= 16 * 256


def test_a_power_cut_by_command_and_the_drive_comes_back(tmp_path: Path) -> None:
    with serving(tmp_path, restart_after_s=0.2) as served:
        client = Raw(served)
        durable, volatile = b"d" * 4096, b"v" * 4096
        for block in range(8):
            assert client.ask(WRITE, block * 4096, 4096, data=durable) == 0
        assert client.ask(FLUSH, 0, 0) == 0
        for block in range(3):
            assert client.ask(WRITE, block * 4096, 4096, data=volatile) == 0
        assert client.ask(WRITE, 7 * 4096, 4096, flags=1, data=volatile) == 0
        served.command("power-cut")
        with pytest.raises((EOFError, ConnectionResetError)):
            client.take(1)
        deadline = time.monotonic() + 10
        while True:
            try:
                client = Raw(served)
                break
            except (EOFError, ConnectionResetError):
                assert time.monotonic() < deadline
                time.sleep(0.05)
        assert client.ask(READ, 0, 8 * 4096) == 0
        found = [client.take(4096) for _ in range(8)]
        assert found[3:7] == [durable] * 4
        assert found[7] == volatile
        session = served.stop()
    [cut] = session.events["power_cuts"]
    lost = {offset // 4096 for offset, _ in cut["lost"]}
    assert all((found[block] == durable) == any(
        offset <= block * 4096 < offset + length for offset, length in cut["lost"]
    ) for block in range(3)), (lost, cut)  # fmt: skip
    assert any("Power failed" in note for note in session.run.manifest.notes)
    # A page that draws nothing tells nothing of the latencies that the folder keeps.
    [test] = charts.tests([session.run])
    [curves] = [chart for chart in test["charts"] if chart["title"] == "Latency percentiles"]
    assert {"reads", "writes"} <= {one["label"] for one in curves["series"]}


def test_a_cut_without_return_ends_the_session_and_the_data_stays(tmp_path: Path) -> None:
    faults = tmp_path / "faults.toml"
    faults.write_text('[[fault]]\nkind = "power-cut"\non = "write"\nfrom-io = 5\n')
    state, data = tmp_path / "state", tmp_path / "data"
    with serving(tmp_path, faults=faults, state=state, data=data) as served:
        client = Raw(served)
        for block in range(4):
            assert (
                client.ask(WRITE, block * 4096, 4096, flags=1, data=bytes([65 + block]) * 4096) == 0
            )
        client.request(WRITE, 2**20, 4096)
        client.socket.sendall(bytes(4096))
        assert served.wait(10)
        session = served.stop()
    assert session.ended == "power-cut"
    assert any("after 4 writes: 0 bytes" in note for note in session.run.manifest.notes)
    assert any("and 1 I/O got no answer" in note for note in session.run.manifest.notes)
    assert stat.S_IMODE(data.stat().st_mode) == 0o600
    with serving(tmp_path, state=state, data=data) as served:
        client = Raw(served)
        assert client.ask(READ, 0, 4 * 4096) == 0
        assert client.take(4 * 4096) == b"".join(bytes([65 + block]) * 4096 for block in range(4))
        # The flash of the first session is still programmed.
        assert served.stop().events["counters"]["host_bytes_written"] >= 4 * 4096


def test_faults_while_it_is_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path) as served:
        control = str(served.control)
        client = Raw(served)
        assert main(["control", control, "io-error", "on=read", "offset=4KiB", "length=4KiB"]) == 0
        fault = json.loads(capsys.readouterr().out)["id"]
        assert client.ask(READ, 0, 4096) == 0
        client.take(4096)
        assert client.ask(READ, 4096, 4096) == 5
        [known] = fc.control(control)["faults"]
        assert (known["id"], known["happened"]) == (fault, 1)
        assert served.command(f"clear {fault}") == {"cleared": True}
        assert client.ask(READ, 4096, 4096) == 0
        client.take(4096)
        served.command('slow delay="300 ms" times=1')
        began = time.monotonic()
        assert client.ask(READ, 0, 512) == 0
        assert time.monotonic() - began > 0.3
        client.take(512)
        for words in ("melt", "io-error on=erase", "slow", "io-error at=5", "gone", "io-error x"):
            with pytest.raises(fc.UserError):
                served.command(words)
        assert main(["control", control, "io-error", "offset=1TB"]) == 2
        assert "beyond the drive" in capsys.readouterr().err
    assert main(["control", control]) == 1
    assert "no server answers" in capsys.readouterr().err


def test_sockets_are_private_and_addresses_are_asked_for(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        assert served.control is not None
        for path in (tmp_path / "s", served.control):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with pytest.raises(fc.UserError, match="in use by another server"), serving(tmp_path):
            pass
    assert not (tmp_path / "s").exists()
    # What a killed server left.
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "s"))
    left.close()
    with serving(tmp_path) as served:
        assert Raw(served).ask(FLUSH, 0, 0) == 0
    (tmp_path / "s").write_text("mine")
    with pytest.raises(fc.UserError, match="no socket"), serving(tmp_path):
        pass
    assert (tmp_path / "s").read_text() == "mine"
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(fc.UserError, match="others can write"), serving(shared):
        pass
    for nbd, message in (("0.0.0.0:0", "--expose 0.0.0.0:0"), ("nonsense", "unix:PATH")):
        with pytest.raises(fc.UserError, match=message):
            fc.serve(VECTOR, nbd=nbd, out=tmp_path)
    with pytest.raises(fc.UserError, match="not the address of --nbd"):
        fc.serve(VECTOR, nbd="127.0.0.1:0", expose="0.0.0.0:0", out=tmp_path)
    with fc.serve(VECTOR, nbd="127.0.0.1:0", out=tmp_path) as served:
        assert served.uri.startswith("nbd://127.0.0.1:")
        assert served.control is None


def test_other_peoples_files_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "thesis"
    other.write_text("mine")
    names = ("data", "state", "faults", "trace")
    refused: list[dict[str, Any]] = [{name: other} for name in names]
    for options in refused:
        with pytest.raises(fc.UserError) as error, serving(tmp_path, **options):
            pass
        assert error.value.exit_code == 2
        assert other.read_text() == "mine"
    refused = [{"speed": 0.0}, {"restart_after_s": -1.0}, {"seed": -1}]
    for options in refused:
        with pytest.raises(fc.UserError), serving(tmp_path, **options):
            pass
    (tmp_path / "f").write_bytes(bytes(4096))
    with pytest.raises(fc.UserError, match="no simulated drive"):
        fc.serve(str(tmp_path / "f"), nbd=f"unix:{tmp_path}/s", out=tmp_path)


def test_time_passes_as_the_speed_says(tmp_path: Path) -> None:
    took = {}
    for speed in (0.05, 1.0):
        with serving(tmp_path, "sim:wd6400aaks", speed=speed) as served:
            client = Raw(served)
            began = time.monotonic()
            for number in range(10):
                assert client.ask(READ, number * 10**10 // 512 * 512, 512) == 0
                client.take(512)
            took[speed] = time.monotonic() - began
            session = served.stop()
        latency_s = session.run.recordings[0].read.latency_mean_s
        assert latency_s is not None
        assert 0.005 < latency_s < 0.03
        assert took[speed] >= 10 * latency_s / speed * 0.99
    assert took[0.05] > 8 * took[1.0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    command = [*COMMAND, "serve", VECTOR, "--nbd", "unix:s", "--state", "st", "--out", "runs"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("nbd+unix:///?socket=")
    process.send_signal(number)
    try:
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "Run folder: runs/" in out
    assert (tmp_path / "st").exists()
    assert not list(tmp_path.glob("s*.control"))


def test_killed_it_leaves_the_data(tmp_path: Path) -> None:
    command = [*COMMAND, "serve", VECTOR, "--nbd", "unix:s", "--data", "d", "--out", "runs"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    uri = process.stdout.readline().strip()
    client = Raw(uri)
    assert client.ask(WRITE, 0, 4096, data=b"k" * 4096) == 0
    assert client.ask(FLUSH, 0, 0) == 0
    process.kill()
    process.communicate()
    with serving(tmp_path, data=tmp_path / "d") as served:
        client = Raw(served)
        assert client.ask(READ, 0, 4096) == 0
        assert client.take(4096) == b"k" * 4096


def test_programs_and_arrays_are_served_alike(tmp_path: Path) -> None:
    child = Path(__file__).parents[1] / "drive" / "foreign" / "examples" / "drive.py"
    for target in (f"exec:{sys.executable} {child}", "sim:raid0:2xintel-x25-m-g2-80gb"):
        with serving(tmp_path, target) as served:
            client = Raw(served)
            assert client.ask(WRITE, 8192, 4096, data=b"p" * 4096) == 0
            assert client.ask(FLUSH, 0, 0) == 0
            assert client.ask(READ, 8192, 4096) == 0
            assert client.take(4096) == b"p" * 4096


_PROGRAM = (
    CLIENT
    + """
what, path = sys.argv[2:]
if what == "load":
    open(path, "w").close()
    for block in range(40):
        ask(1, block, b"%c" % (block + 1) * 4096, flags=1)
        with open(path, "a") as log:
            log.write(".")
else:
    for block in range(len(open(path).read())):
        ask(0, block)
        if take(4096) != b"%c" % (block + 1) * 4096:
            sys.exit(f"block {block} is gone")
"""
)


def test_a_crash_test_finds_what_a_lying_drive_loses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, log = tmp_path / "program.py", tmp_path / "log"
    program.write_text(_PROGRAM)
    load, check = (f"{sys.executable} {program} {{uri}} {what} {log}" for what in ("load", "check"))
    honest = fc.crash_test(VECTOR, workload=load, check=check, cuts=2)
    assert honest.writes == 40
    assert not honest.failed
    assert len({cut.write for cut in honest.cuts}) == 2
    lies = "write_buffer.ignores_flush=true"
    words = ["crash-test", "--serve", VECTOR, "--workload", load, "--check", check]
    assert main([*words, "--at-write", "20", "--set", lies]) == 3
    assert "the check failed (1): block" in capsys.readouterr().out
    with pytest.raises(fc.UserError, match="wrote nothing"):
        fc.crash_test(VECTOR, workload="true", check="true")
    with pytest.raises(fc.UserError, match=r"failed \(1\) without a loss of power$"):
        fc.crash_test(VECTOR, workload="false", check="true")
    with pytest.raises(fc.UserError, match="cannot be started"):
        fc.crash_test(VECTOR, workload="/no/such/program", check="true")


@pytest.mark.parametrize(
    ("late", "answers", "limited"), [(1, 2, False), (0, 0, False), (30, 100, True)]
)
def test_a_few_late_answers_do_not_blame_the_host(late: int, answers: int, limited: bool) -> None:
    assert (kept_up_sentence(late, answers) is not None) == limited
