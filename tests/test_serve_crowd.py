"""More connections to a served drive than the system lets the server open."""

import resource
import socket
import subprocess
from pathlib import Path

from command import COMMAND
from nbd_client import CLIENT

FILES = 120
"""More than the server opens for itself."""


def test_a_crowd_that_says_nothing_ends_no_clients_connection(tmp_path: Path) -> None:
    command = [*COMMAND, "serve", "sim:ocz-vector-256gb", "--nbd", "unix:s"]
    process = subprocess.Popen(
        ["sh", "-c", f'ulimit -n {FILES}; exec "$@"', "sh", *command],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 1024)), hard))
    crowd: list[socket.socket] = []
    try:
        assert process.stdout is not None
        uri = process.stdout.readline().strip()
        client = tmp_path / "client.py"
        client.write_text(
            CLIENT + "ask(1, 0, b'k' * 4096)\nprint('in', flush=True)\ninput()\nask(0, 0)\n"
            "assert take(4096) == b'k' * 4096\n"
        )
        idle = subprocess.Popen(
            [COMMAND[0], client, uri], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert idle.stdout is not None
        assert idle.stdout.readline() == "in\n"
        for _ in range(3 * FILES):
            one = socket.socket(socket.AF_UNIX)
            one.settimeout(20)
            one.connect(uri.partition("=")[2])
            crowd.append(one)
        # The last one is in, and others had to go for it.
        assert crowd[-1].recv(8) == b"NBDMAGIC"
        idle.communicate("\n", timeout=20)
        assert idle.returncode == 0
    finally:
        for one in crowd:
            one.close()
        process.terminate()
        _, said = process.communicate(timeout=60)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert process.returncode == 0, said
