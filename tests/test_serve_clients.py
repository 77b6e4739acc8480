"""Programs of others as clients of a served drive: libnbd's shell, nbdkit, and fio with everything
mixed."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import fourcorners as fc


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} not installed")


def run(*words: str) -> str:
    found = shutil.which(words[0])
    assert found is not None
    # The Python of nbdsh is beside it, and none that stands before that.
    path = f"{Path(found).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        words,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


SHELL = """
import errno
assert h.get_structured_replies_negotiated()
assert h.can_flush() and h.can_fua() and h.can_trim() and h.can_zero() and h.can_multi_conn()
assert h.get_block_size(nbd.SIZE_MINIMUM) == 512
other = nbd.NBD()
other.connect_uri(h.get_uri())
h.pwrite(b"a" * 8192, 0, nbd.CMD_FLAG_FUA)
# What one connection wrote and flushed, the other one reads.
assert other.pread(8192, 0) == b"a" * 8192
other.flush()
h.zero(4096, 4096, nbd.CMD_FLAG_NO_HOLE)
h.trim(4096, 0)
assert other.pread(8192, 0) == bytes(8192)
h.pwrite(b"b" * 512, 1 << 20)
def chunk(data, offset, status, error):
    assert status in (nbd.READ_DATA, nbd.READ_HOLE) and error.value == 0
assert h.pread_structured(1024, 1 << 20, chunk)[:512] == b"b" * 512
extents = []
h.block_status(2 << 20, 0, lambda *found: extents.append(found))
[(context, offset, entries, error)] = extents
assert context == "base:allocation" and offset == 0 and sum(entries[::2]) >= 1 << 20
# In flight together, on one connection.
buffers = [nbd.Buffer.from_bytearray(bytearray([one]) * 4096) for one in range(64)]
for one, buffer in enumerate(buffers):
    h.aio_pwrite(buffer, one * 4096)
while h.aio_in_flight():
    h.poll(-1)
assert all(other.pread(4096, one * 4096) == bytes([one]) * 4096 for one in range(64))
try:
    h.set_strict_mode(0)
    h.pread(4096, h.get_size())
    raise SystemExit("it read behind the end")
except nbd.Error as error:
    assert error.errnum == errno.EINVAL, error
other.shutdown()
print("all of it")
"""


@needs("nbdsh")
def test_libnbds_shell_finds_all_that_the_protocol_has(tmp_path: Path) -> None:
    with fc.serve("sim:ocz-vector-256gb", nbd=f"unix:{tmp_path}/s", out=tmp_path) as served:
        assert run("nbdsh", "--base-allocation", "-u", served.uri, "-c", SHELL) == "all of it\n"


@needs("nbdkit")
@needs("nbdcopy")
@needs("qemu-img")
def test_nbdkit_passes_a_served_drive_on(tmp_path: Path) -> None:
    """Its plugin "nbd" is a client of its own, and its filters ask for what they find."""
    image = tmp_path / "image"
    image.write_bytes(os.urandom(2**20) + bytes(2**20) + os.urandom(2**16))
    with fc.serve("sim:ocz-vector-256gb", nbd=f"unix:{tmp_path}/s", out=tmp_path) as served:
        passed_on = ["nbdkit", "-U", "-", "nbd", f"uri={served.uri}", "shared=true"]
        run(*passed_on, "--run", f'nbdcopy --flush {image} "$uri"')
        compare = f'qemu-img compare -f raw -F raw {image} "$uri"'
        assert "identical" in run(*passed_on, "--filter=readahead", "--run", compare)
        about = json.loads(run(*passed_on, "--run", 'nbdinfo --json "$uri"'))["exports"][0]
        assert about["export-size"] == 256060514304
        assert about["can_fua"]


@needs("fio")
@needs("nbdcopy")
@needs("qemu-io")
def test_fio_verifies_over_eight_connections_with_flush_and_trim_mixed(tmp_path: Path) -> None:
    garbage, job = tmp_path / "garbage", tmp_path / "mixed.fio"
    garbage.write_bytes(os.urandom(8 * 2**20))
    with fc.serve("sim:ocz-vector-256gb", nbd=f"unix:{tmp_path}/s", out=tmp_path) as served:
        run("nbdcopy", str(garbage), served.uri)
        job.write_text(
            f"[global]\nioengine=nbd\nuri={served.uri}\nbs=4k\niodepth=8\nsize=1M\n"
            "offset_increment=1M\nnumjobs=4\n"
            "[verified]\nrw=randwrite\nfsync=16\nverify=crc32c\nverify_fatal=1\n"
            "verify_state_save=0\n"
            "[trimmed]\nrw=randtrim\noffset=4M\n"
        )
        said = run("fio", "--output-format=json", str(job))
        jobs = json.loads(said[said.index("{") :])["jobs"]
        run("qemu-io", "-f", "raw", "-c", "read -P 0 4M 4M", served.uri)
        session = served.stop()
    assert [job["error"] for job in jobs] == [0] * 8
    recorded = session.run.recordings[0].operations
    assert recorded["flush"].ios >= 4 * 15
    assert session.events["trims"] == 4 * 256


@needs("qemu-io")
def test_the_trace_of_a_session_has_every_io(tmp_path: Path) -> None:
    trace = tmp_path / "served.fct"
    with fc.serve(
        "sim:ocz-vector-256gb", nbd=f"unix:{tmp_path}/s", out=tmp_path, trace=trace
    ) as served:
        run("qemu-io", "-f", "raw", "-c", "write 1M 64k", "-c", "write -f 2M 4k",
            "-c", "discard 1M 8k", "-c", "write -z 3M 8k", "-c", "read 1M 64k", "-c", "flush",
            served.uri)  # fmt: skip
        session = served.stop()
    ios = fc.trace_convert(trace, tmp_path / "served.csv").ios
    lines = (tmp_path / "served.csv").read_text().splitlines()
    asked = [line for line in lines if "write" in line or "read" in line or "discard" in line]
    recorded = session.run.recordings[0].operations
    assert ios == sum(one.ios for one in recorded.values()) + 2, lines
    assert len([line for line in asked if ",1048576," in line]) == 3, lines
    with (
        pytest.raises(fc.UserError, match="exists"),
        fc.serve("sim:ocz-vector-256gb", nbd=f"unix:{tmp_path}/t", out=tmp_path, trace=trace),
    ):
        pass
