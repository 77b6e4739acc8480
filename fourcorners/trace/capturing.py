"""Records what a live system does to a block device, as a trace.

The kernel's own events of the block layer (tracefs) are read as text while they happen, packed, and
read as a trace at the end. Nothing is written to the device, and nobody else's tracing is touched:
the events are those of an instance of our own.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import resource
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from fourcorners.documents import Part
from fourcorners.errors import EXIT_FAILED, UserError, os_reason
from fourcorners.trace.changing import WrittenTrace, transformed, written_format
from fourcorners.wording import duration

_TRACEFS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
_OF_REQUESTS = ("block_rq_issue", "block_rq_complete", "block_rq_requeue")
"""Of devices with a driver's queue."""
_OF_BIOS = ("block_bio_queue", "block_bio_complete")
"""Of devices that other devices are made of."""
_BUFFER_KIB = 8192
"""For each processor: some 60,000 events, which is half a second at 50 thousand I/Os a second."""
_PAUSE_S = 0.05
"""A tenth of the time in which a buffer could run over."""
_READ_BYTES = 1 << 16
"""The kernel gives a page at a time, and splits nothing."""
_SECONDS_MAX = 7 * 86400.0
"""A week: more is seldom meant."""
_SYSTEM = Path("/sys/dev/block")


class Capture(Part):
    """A trace that was captured, and what capturing took."""

    device: str
    duration_s: float
    interrupted: bool
    """Stopped before its time, by Ctrl-C."""
    cpu_s: float
    """Processor time of this process while it captured. What the kernel takes to note an event is
    in the time of whoever caused it."""
    noted_bytes: int
    """Of the events as text, packed, in a temporary file beside the trace."""
    trace: WrittenTrace


def capture(
    device: Path | str,
    out: Path | str,
    *,
    seconds: float,
    to: str | None = None,
    replace: bool = False,
) -> Capture:
    """Records every I/O of a block device for some time.

    Args:
        device: the device, whole: not a partition. It is not opened.
        out: the new trace, on another device.
        seconds: how long; Ctrl-C ends it before, and the trace is written all the same.
        to: as for :func:`fourcorners.trace_convert`.
        replace: permits to replace a file that is there.

    Raises :class:`UserError` where the kernel has no such events or does not give them to this
    user, for what is no whole device, and where nothing happened.
    """
    if not 0 < seconds <= _SECONDS_MAX:
        raise UserError(
            f"a capture of {duration(seconds)} is none: use up to {duration(_SECONDS_MAX)}"
        )
    written_format(Path(out), to)
    path = Path(device)
    number = _device_number(path)
    _check_elsewhere(path, number, Path(out))
    root = _tracefs()
    folder = Path(out).absolute().parent
    try:
        place = tempfile.TemporaryDirectory(prefix=".fourcorners-capture-", dir=folder)
    except OSError as error:
        raise UserError(f"cannot write in {folder}: {os_reason(error)}", EXIT_FAILED) from error
    with place as temporary:
        notes = Path(temporary) / f"{path.name}.gz"
        used_s = _cpu_s()
        zero_unix_ns = time.time_ns() - time.monotonic_ns()
        try:
            with _instance(root, path, number) as instance:
                elapsed_s, interrupted = _noted(instance, notes, seconds)
        except OSError as error:
            raise UserError(
                f"cannot capture {path}: {os_reason(error)} ({error.filename})", EXIT_FAILED
            ) from error
        used_s = _cpu_s() - used_s
        try:
            written = transformed(
                [notes],
                out,
                {
                    "recorded": {
                        "origin": f"captured from {path} for {duration(elapsed_s)} "
                        "(block events of tracefs)",
                        "zero_unix_ns": zero_unix_ns,
                    }
                },
                format="trace-events",
                to=to,
                replace=replace,
            )
        except UserError as error:
            if notes.stat().st_size > _EMPTY_BYTES:
                raise
            raise UserError(
                f"{path} had no I/O within {duration(elapsed_s)}: capture it while it is in use"
            ) from error
        return Capture(
            device=str(path),
            duration_s=elapsed_s,
            interrupted=interrupted,
            cpu_s=used_s,
            noted_bytes=notes.stat().st_size,
            trace=written,
        )


_EMPTY_BYTES = 64
"""Of a packed file with nothing in it, and its name."""


def _device_number(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise UserError(f"cannot capture {path}: {os_reason(error)}") from error
    if not stat.S_ISBLK(found.st_mode):
        raise UserError(f"cannot capture {path}: it is no block device")
    major, minor = os.major(found.st_rdev), os.minor(found.st_rdev)
    entry = _SYSTEM / f"{major}:{minor}"
    if (entry / "partition").exists():
        whole = entry.resolve().parent.name
        raise UserError(
            f"{path} is a partition, and the kernel tells the I/Os of whole devices: capture "
            f"/dev/{whole}"
        )
    return major, minor


def _check_elsewhere(device: Path, number: tuple[int, int], out: Path) -> None:
    """Raises :class:`UserError` for a trace that would be written to the device itself."""
    with contextlib.suppress(OSError):
        own = out.absolute().parent.stat().st_dev
        entry = (_SYSTEM / f"{os.major(own)}:{os.minor(own)}").resolve(strict=True)
        while entry.name != "block" and entry != entry.parent:
            if (entry / "dev").is_file() and (entry / "dev").read_text().strip() == (
                f"{number[0]}:{number[1]}"
            ):
                raise UserError(
                    f"{out} lies on {device} itself, and the capture would record its own writing: "
                    "name a file on another device or in memory, such as /dev/shm"
                )
            entry = entry.parent


def _tracefs() -> Path:
    """Where the events are; raises :class:`UserError`, which says what is missing."""
    for root in _TRACEFS:
        # Its folder is closed to others, so that is_dir would fail.
        if os.access(root / "events", os.R_OK | os.X_OK):
            if (root / "events/block/block_rq_issue").is_dir():
                return root
            raise UserError(
                f"this kernel has no events of the block layer ({root / 'events/block'} is "
                "missing): it was built without CONFIG_BLK_DEV_IO_TRACE, so that nothing can be "
                "captured"
            )
    if os.geteuid() != 0:
        raise UserError("capturing takes the kernel's events, which only root may read: use sudo")
    raise UserError(
        "the kernel's events are not there: mount tracefs (mount -t tracefs tracefs "
        "/sys/kernel/tracing) unless the kernel was built without it"
    )


@contextlib.contextmanager
def _instance(root: Path, device: Path, number: tuple[int, int]) -> Iterator[Path]:
    """A buffer of events of our own, with those of the device; gone afterwards."""
    instance = root / "instances" / f"fourcorners-{os.getpid()}"
    instance.mkdir()
    events = [*_OF_REQUESTS]
    if not (_SYSTEM / f"{number[0]}:{number[1]}" / "mq").exists():
        events = [*_OF_BIOS]
    try:
        # The kernel's own number of a device, which events have.
        condition = f"dev == {number[0] << 20 | number[1]}"
        (instance / "trace_clock").write_text("mono")
        (instance / "buffer_size_kb").write_text(str(_BUFFER_KIB))
        for event in events:
            (instance / "events/block" / event / "filter").write_text(condition)
        for event in events:
            (instance / "events/block" / event / "enable").write_text("1")
        yield instance
    finally:
        with contextlib.suppress(OSError):
            (instance / "events/enable").write_text("0")
        with contextlib.suppress(OSError):
            instance.rmdir()


def _noted(instance: Path, notes: Path, seconds: float) -> tuple[float, bool]:
    """Packs the events of so many seconds into a file; how long that was, and whether Ctrl-C ended
    it."""
    interrupted = False
    # The fastest packing: what it takes is the capture's own load.
    with gzip.open(notes, "wb", compresslevel=1) as packed, _pipe(instance) as pipe:
        began_s = time.monotonic()
        try:
            while (left_s := began_s + seconds - time.monotonic()) > 0:
                if not _read_all(pipe, packed):
                    time.sleep(min(_PAUSE_S, left_s))
        except KeyboardInterrupt:
            interrupted = True
        elapsed_s = time.monotonic() - began_s
        (instance / "tracing_on").write_text("0")
        _read_all(pipe, packed)
    return elapsed_s, interrupted


@contextlib.contextmanager
def _pipe(instance: Path) -> Iterator[int]:
    descriptor = os.open(instance / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read_all(pipe: int, packed: gzip.GzipFile) -> int:
    """What is there now, up to a second's worth; how many bytes."""
    total = 0
    with contextlib.suppress(BlockingIOError):
        while text := os.read(pipe, _READ_BYTES):
            packed.write(text)
            total += len(text)
            if total > _AT_ONCE_BYTES:
                break
    return total


_AT_ONCE_BYTES = 64 << 20
"""Some 500,000 events: a device that is faster than we read does not keep us from the end."""


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
