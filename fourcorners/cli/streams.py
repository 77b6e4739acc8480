"""Standard output and error that outlive whoever reads them.

``run ... | head`` must not end a measurement, nor may a terminal that was closed or a disk that is
full: what nobody can take is dropped, and the command goes on.
"""

import errno
import io
import os
import select
import sys
from typing import TYPE_CHECKING

from fourcorners.errors import os_reason

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Outlet(io.RawIOBase):
    """A descriptor; what is written after its first failure is dropped."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self.failure: OSError | None = None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, data: "ReadableBuffer", /) -> int:
        while self.failure is None:
            try:
                return os.write(self._descriptor, data)
            except BlockingIOError:
                # Whoever shares it, such as a remote shell, made it so.
                select.select((), (self._descriptor,), ())
            except OSError as error:
                self.failure = error
        return len(memoryview(data).cast("B"))


class Streams:
    """``sys.stdout`` and ``sys.stderr`` of a process whose command is run in it."""

    def __init__(self) -> None:
        """Puts them in place."""
        self._out = _Outlet(1)
        sys.stdout = _text(self._out, lines=self._out.isatty())
        sys.stderr = _text(_Outlet(2), lines=True)

    def lost(self) -> str | None:
        """Why not all of the result could be written, as a clause; ``None`` where it could, and
        where the reader had seen enough, as ``head`` has."""
        sys.stdout.flush()
        failure = self._out.failure
        if failure is None or failure.errno == errno.EPIPE:
            return None
        return "it is closed" if failure.errno == errno.EBADF else os_reason(failure)


def _text(outlet: _Outlet, *, lines: bool) -> io.TextIOWrapper:
    # What a terminal of another encoding cannot show is no reason to fail.
    return io.TextIOWrapper(
        io.BufferedWriter(outlet),
        encoding=getattr(sys.stdout, "encoding", None) or "utf-8",
        errors="backslashreplace",
        line_buffering=lines,
    )


def open_missing() -> None:
    """Gives descriptors 0 to 2 something to stand for where the command was started without them:
    the next file that is opened would otherwise be standard output, and written to as such.

    Writing to them fails, as it would without.
    """
    while (descriptor := os.open(os.devnull, os.O_RDONLY)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
