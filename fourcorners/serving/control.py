"""Commands to a drive that another process serves."""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fourcorners.errors import EXIT_FAILED, UserError, os_reason
from fourcorners.serving.faults import command_json
from fourcorners.serving.served import answered

_SILENCE_S = 10.0
"""A server answers between two I/Os: longer than the largest of them takes."""


def control(server: str | Path, words: Sequence[str] = ()) -> dict[str, Any]:
    """Has a server do a command, and returns its answer.

    Args:
        server: its control socket, such as ``/run/v.sock.control``, or the socket or file of the
            drive that this stands beside.
        words: the command, such as ``["io-error", "on=write", "times=1"]``; without one it says
            what happens.

    Raises :class:`UserError` for what is no command, and where no server answers.
    """
    line = command_json(words).encode() + b"\n"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_SILENCE_S)
            connection.connect(str(_control_of(Path(server))))
            connection.sendall(line)
            with connection.makefile("rb") as answers:
                answer = answers.readline()
    except OSError as error:
        raise UserError(
            f"no server answers at {server}: {os_reason(error)}", EXIT_FAILED
        ) from error
    if not answer:
        raise UserError(f"the server at {server} has ended", EXIT_FAILED)
    return answered(answer.decode())


def _control_of(server: Path) -> Path:
    beside = server.with_name(f"{server.name}.control")
    return beside if server.suffix != ".control" and beside.exists() else server
