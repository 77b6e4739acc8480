"""What lies in the measured span: holes, and what a few blocks of it hold."""

import contextlib
import errno
import fcntl
import itertools
import mmap
import os
import random
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass

# Blocks of the page cache; of 64 that are drawn at random a share of 5 % shows in 96 of 100 times.
BLOCK_BYTES = 4096
SAMPLED_BLOCKS = 64
# A file in more pieces than that is looked at up to there only.
_PIECES_MAX = 20_000

# Of linux/fs.h: the request and two of the flags that it answers with.
_FS_IOC_GETFLAGS = 0x80086601
_FS_COMPR_FL = 0x4
_FS_NOCOW_FL = 0x800000


@dataclass(frozen=True)
class Sampled:
    """Shares of the sampled blocks."""

    blocks: int
    zero_share: float
    repeated_share: float


@contextlib.contextmanager
def opened(path: str, extra_flags: int = 0) -> Iterator[int]:
    """The path for reading."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | extra_flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def hole_share(path: str, offset: int, span: int) -> float | None:
    """Part of a file's range without written blocks: holes, and blocks that were allocated and
    never written. ``None`` where the file system does not tell."""
    end, holes, at = offset + span, 0, offset
    with opened(path) as descriptor:
        for _ in range(_PIECES_MAX):
            if at >= end:
                break
            try:
                data = min(os.lseek(descriptor, at, os.SEEK_DATA), end)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    return None
                data = end
            holes += data - at
            at = min(os.lseek(descriptor, data, os.SEEK_HOLE), end) if data < end else end
    return holes / (at - offset) if at > offset else None


def sample(path: str, offset: int, span: int) -> Sampled | None:
    """Reads blocks all over a range, around the page cache where that can be.

    Places do not depend on the data, and are the same each time.
    """
    blocks = span // BLOCK_BYTES
    count = min(SAMPLED_BLOCKS, blocks)
    if count == 0:
        return None
    draw = random.Random(1)
    # One place in each of ``count`` equal parts; regular distances would fall in with patterns.
    bounds = [part * blocks // count for part in range(count + 1)]
    places = [draw.randrange(low, high) for low, high in itertools.pairwise(bounds)]
    first = -(-offset // BLOCK_BYTES)
    contents = []
    with _opened_direct(path) as descriptor, mmap.mmap(-1, BLOCK_BYTES) as buffer:
        for place in places:
            at = (first + place) * BLOCK_BYTES
            if os.preadv(descriptor, [buffer], at) == BLOCK_BYTES:
                contents.append(bytes(buffer))
    if not contents:
        return None
    other = [content for content in contents if any(content)]
    repeats = len(other) - len(set(other))
    # A repeated byte or word within a block is as easy to shorten as a repeated block.
    repeats += sum(content[8:] == content[:-8] for content in set(other))
    total = len(contents)
    return Sampled(total, (total - len(other)) / total, repeats / total)


@contextlib.contextmanager
def _opened_direct(path: str) -> Iterator[int]:
    # Not every system has it.
    flag = getattr(os, "O_DIRECT", 0)
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC | flag))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        flag = 0
    with opened(path, flag) as descriptor:
        yield descriptor


def flush_s(path: str) -> float:
    """How long it takes until all that was written is durable."""
    with opened(path) as descriptor:
        started = time.monotonic()
        # macOS has only fsync.
        getattr(os, "fdatasync", os.fsync)(descriptor)
        return time.monotonic() - started


# File systems that write changed blocks to new places, unless a file says otherwise.
_COPYING = frozenset(["bcachefs", "btrfs", "nilfs2", "overlay", "zfs"])


def copies_and_compresses(
    path: str, file_system: str | None, mount_options: str | None
) -> tuple[bool | None, bool | None]:
    """Whether the file system copies on write and compresses this file; ``None`` of a device."""
    if file_system is None:
        return None, None
    options = (mount_options or "").split(",")
    flags = _flags(path)
    copies = file_system in _COPYING and "nodatacow" not in options and not flags & _FS_NOCOW_FL
    compresses = bool(flags & _FS_COMPR_FL) or any(
        option.startswith("compress") and not option.endswith("=no") for option in options
    )
    # Compression needs copies: where a file forbids them it is not compressed.
    return copies, compresses and not flags & _FS_NOCOW_FL


def _flags(path: str) -> int:
    try:
        with opened(path) as descriptor:
            raw = fcntl.ioctl(descriptor, _FS_IOC_GETFLAGS, struct.pack("l", 0))
    except OSError:
        return 0
    return int(struct.unpack("l", raw)[0])
