"""A file whose medium fails on demand: served through FUSE by a process of its own, which is told
while I/O is running what to do with reads, writes and discards.

Tests use :class:`FaultDisk`, on its file or, as root, on a loop device over it; the rest of this
file is the server.
"""

import contextlib
import dataclasses
import errno
import importlib.util
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import pytest

BLOCK = 4096
_NAME = "disk"
# linux/falloc.h
_PUNCH_HOLE = 2
_START_S = 20.0


@dataclass(frozen=True)
class Fault:
    """What happens to reads, writes or discards, of the blocks (4 KiB) from ``first`` on or of all.

    | kind | reads, writes or discards |
    | --- | --- |
    | ``eio``, ``enospc`` | fail with that error |
    | ``delay`` | take ``seconds`` longer |
    | ``hang`` | wait until the disk is healed |

    | kind | reads return |
    | --- | --- |
    | ``flip`` | one bit of each block wrong |
    | ``zero`` | zeros |
    | ``stale`` | what the blocks held when the disk was told |
    | ``redirect`` | the blocks from ``other`` on |

    | kind | writes, which are acknowledged |
    | --- | --- |
    | ``lose`` | do not arrive |
    | ``tear`` | arrive with the first half of each block |
    | ``shorten`` | arrive with their first block only |
    | ``redirect`` | arrive at the blocks from ``other`` on |
    """

    operation: Literal["read", "write", "discard"]
    kind: str
    first: int = 0
    blocks: int | None = None
    seconds: float = 0.0
    other: int = 0

    def hits(self, block: int) -> bool:
        return block >= self.first and (self.blocks is None or block < self.first + self.blocks)


class FaultDisk:
    """A sound file of ``size_bytes`` zeros at ``path`` until :meth:`tell` says otherwise."""

    def __init__(self, folder: Path, size_bytes: int) -> None:
        self._image = folder / "medium"
        self._point = folder / "mounted"
        self._point.mkdir()
        self._image.write_bytes(bytes(size_bytes))
        self.path = self._point / _NAME

    def __enter__(self) -> Self:
        self._server = subprocess.Popen(
            [sys.executable, __file__, self._image, self._point],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Of the two libraries the one that .ci/run installs; it speaks of its settings.
            stderr=subprocess.DEVNULL,
            env={**os.environ, "FUSE_LIBRARY_NAME": "fuse3"},
            text=True,
        )
        give_up = time.monotonic() + _START_S
        while not self.path.exists():
            assert self._server.poll() is None, "the FUSE server ended"
            assert time.monotonic() < give_up, "the FUSE server does not start"
            time.sleep(0.02)
        return self

    def tell(self, *faults: Fault) -> None:
        """From now on these faults and no others; what hung goes on. None: the disk is sound."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        print(
            json.dumps([dataclasses.asdict(fault) for fault in faults]),
            file=self._server.stdin,
            flush=True,
        )
        assert self._server.stdout.readline() == "told\n"

    def __exit__(self, *error: object) -> None:
        if self._server.poll() is None:
            self.tell()
        # A loop device lets go of its file some time after it was told to.
        for _ in range(100):
            done = subprocess.run(
                ["fusermount3", "-u", self._point], capture_output=True, text=True, check=False
            )
            if done.returncode == 0:
                break
            time.sleep(0.1)
        else:
            self._server.kill()
            raise AssertionError(done.stderr)
        self._server.communicate(timeout=_START_S)


def needs_fuse() -> None:
    """Skips where a file cannot be served."""
    if shutil.which("fusermount3") is None:
        pytest.skip("no fusermount3 here (package fuse3)")
    if importlib.util.find_spec("mfusepy") is None:
        pytest.skip("no mfusepy here")
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        pytest.skip(f"/dev/fuse: {error.strerror}")


def ahead_of_others() -> None:
    """Gives this thread and those that it starts the CPU first, where that is permitted: a delay is
    to be as long as told, on a busy machine too."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


class _Medium:
    """Reads and writes the image as the present faults have it; from many threads."""

    def __init__(self, image: str) -> None:
        self.file = os.open(image, os.O_RDWR)
        self._faults: list[Fault] = []
        self._stale: dict[int, bytes] = {}
        self._healed = threading.Event()

    def tell(self, faults: list[Fault]) -> None:
        blocks = os.fstat(self.file).st_size // BLOCK
        self._stale = {
            block: self._block(block)
            for fault in faults
            if fault.kind == "stale"
            for block in range(blocks)
            if fault.hits(block)
        }
        self._faults = faults
        self._healed.set()
        self._healed = threading.Event()

    def read(self, size: int, offset: int) -> bytes:
        data = bytearray(os.pread(self.file, size, offset))
        for fault, blocks in self._present("read", len(data), offset):
            for block, start in blocks:
                part = slice(start, start + BLOCK)
                if fault.kind == "flip":
                    data[start + 100] ^= 1
                elif fault.kind == "zero":
                    data[part] = bytes(BLOCK)
                elif fault.kind == "stale":
                    data[part] = self._stale[block]
                elif fault.kind == "redirect":
                    data[part] = self._block(fault.other + block - fault.first)
        return bytes(data)

    def write(self, data: bytes, offset: int) -> None:
        present = self._present("write", len(data), offset)
        if not present:
            os.pwrite(self.file, data, offset)
            return
        starts = range(0, len(data), BLOCK)
        parts = {start: (offset + start, data[start : start + BLOCK]) for start in starts}
        for fault, blocks in present:
            for block, start in blocks:
                at, part = parts[start]
                if fault.kind == "lose" or (fault.kind == "shorten" and start > 0):
                    part = b""
                elif fault.kind == "tear":
                    part = part[: BLOCK // 2]
                elif fault.kind == "redirect":
                    at = (fault.other + block - fault.first) * BLOCK
                parts[start] = at, part
        for at, part in parts.values():
            os.pwrite(self.file, part, at)

    def discard(self, size: int, offset: int) -> None:
        self._present("discard", size, offset)
        os.pwrite(self.file, bytes(size), offset)

    def _present(
        self, operation: str, size: int, offset: int
    ) -> list[tuple[Fault, list[tuple[int, int]]]]:
        """The faults that a request meets, each with the blocks and their places in the request,
        once it was delayed."""
        arrived = time.monotonic()
        healed = self._healed
        met = []
        for fault in self._faults:
            touched = range(offset // BLOCK, -(-(offset + size) // BLOCK))
            blocks = [(block, block * BLOCK - offset) for block in touched if fault.hits(block)]
            if fault.operation != operation or not blocks:
                continue
            if fault.kind in ("eio", "enospc"):
                raise OSError(getattr(errno, fault.kind.upper()), fault.kind)
            if fault.kind == "delay":
                time.sleep(max(0.0, arrived + fault.seconds - time.monotonic()))
            elif fault.kind == "hang":
                healed.wait()
            else:
                assert offset % BLOCK == size % BLOCK == 0, "such a fault takes whole blocks"
                met.append((fault, blocks))
        return met

    def _block(self, block: int) -> bytes:
        return os.pread(self.file, BLOCK, block * BLOCK)


def _serve(image: str, point: str) -> None:
    import mfusepy

    class Files(mfusepy.Operations):  # type: ignore[misc]
        use_ns = True

        def __init__(self, medium: _Medium) -> None:
            self.medium = medium

        def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
            if path == "/":
                return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
            if path != f"/{_NAME}":
                raise mfusepy.FuseOSError(errno.ENOENT)
            size = os.fstat(self.medium.file).st_size
            owner = {"st_uid": os.getuid(), "st_gid": os.getgid()}
            mode = {"st_mode": stat.S_IFREG | 0o600, "st_nlink": 1}
            return {**mode, **owner, "st_size": size, "st_blocks": size // 512}

        def open(self, path: str, flags: int) -> int:
            return 0

        def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
            return self.medium.read(size, offset)

        def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
            self.medium.write(data, offset)
            return len(data)

        def fallocate(self, path: str, mode: int, offset: int, size: int, fh: int) -> int:
            # Otherwise room, of which all is there.
            if mode & _PUNCH_HOLE:
                self.medium.discard(size, offset)
            return 0

        def fsync(self, path: str, datasync: int, fh: int) -> int:
            return 0

    medium = _Medium(image)
    ahead_of_others()

    def listen() -> None:
        for line in sys.stdin:
            medium.tell([Fault(**fault) for fault in json.loads(line)])
            print("told", flush=True)
        # Whoever started this is gone.
        medium.tell([])
        subprocess.run(["fusermount3", "-u", "-z", point], check=False, capture_output=True)

    threading.Thread(target=listen, daemon=True).start()
    mfusepy.FUSE(Files(medium), point, foreground=True)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
