"""A served drive as a disk of virtual machines: its socket. What a guest finds there is tested in
``serve/src/vhost_user``, and tried with a real one by ``benches/qemu_serve.py``."""

import socket
import stat
import time
from pathlib import Path

import pytest

import fourcorners as fc

DRIVE = "sim:intel-x25-v-40gb"


def test_the_socket_is_ones_own_and_takes_garbage(tmp_path: Path) -> None:
    place = tmp_path / "drive.sock"
    with fc.serve(DRIVE, vhost_user=place, out=tmp_path / "runs") as served:
        assert served.uri == str(served.vhost_user) == str(place)
        assert served.control == tmp_path / "drive.sock.control"
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        with pytest.raises(fc.UserError, match="in use by another server"):
            fc.serve(DRIVE, vhost_user=place, out=tmp_path / "runs")
        for garbage in (b"", b"x", b"no machine speaks so" * 100, bytes(12) * 50):
            with socket.socket(socket.AF_UNIX) as machine:
                machine.connect(str(place))
                machine.sendall(garbage)
        # VHOST_USER_GET_FEATURES, version 1: whoever comes next is heard.
        with socket.socket(socket.AF_UNIX) as machine:
            machine.settimeout(60)
            machine.connect(str(place))
            machine.sendall(b"\x01\0\0\0\x01\0\0\0\0\0\0\0")
            answer = machine.recv(20)
            features = int.from_bytes(answer[12:20], "little")
            assert answer[:4] == b"\x01\0\0\0"
            # VIRTIO_BLK_F_FLUSH and VIRTIO_F_VERSION_1.
            assert features & 1 << 9
            assert features & 1 << 32
            began = time.monotonic()
            session = served.stop()
            assert time.monotonic() - began < 60
    assert session.ended == "stopped"
    assert not place.exists()
