"""Reads counters before, during and after a measurement."""

import contextlib
import os
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fourcorners.machine import medium
from fourcorners.machine.block_io import BlockIo, Caps, read_block_io, read_caps
from fourcorners.machine.clock import ClockReading, read_clock
from fourcorners.machine.conditions import Conditions
from fourcorners.machine.environment import describe_path, disk_directory, processors
from fourcorners.machine.health import Health, HealthReader
from fourcorners.machine.power import (
    PowerReading,
    PowerSamples,
    governor,
    idle_exit_s,
    link_power,
    read_power,
)
from fourcorners.machine.processors import CpuTimes, Threads, read_cpu_times
from fourcorners.machine.system_files import difference, text
from fourcorners.workload import Workload

Found = TypeVar("Found")

# A disk's cache is written back within this time.
_LOOK_LIMIT_S = 30.0
# Frequencies and temperatures change slowly, and reading them of many processors takes time.
_POWER_INTERVAL_S = 1.0
# Asking a SATA drive for its SMART values makes its queue run empty, a delay of milliseconds.
_HEALTH_INTERVAL_S = 60.0
# Longest measurement in units of the time that threads were seen, for which that is scaled up.
_UNSEEN_MAX = 2.0


@dataclass(frozen=True)
class _Reading:
    """All counters at one moment."""

    monotonic_s: float
    block_io: BlockIo
    cpu: CpuTimes | None
    clock: ClockReading
    power: PowerReading


class Observer:
    """Observes measurements of one path, one after the other.

    Call :meth:`begin`, then :meth:`tick` some ten times a second, then :meth:`end`; a measurement
    that failed is left out. A second without a tick costs precision, nothing else.
    """

    def __init__(
        self, path: str, *, direct: bool, counted: bool = True, root: str | Path = "/"
    ) -> None:
        """For an existing file or block device; ``direct`` is whether I/O to it passes the page
        cache by, ``counted`` whether the kernel counts it as block I/O, ``root`` is where ``proc``
        and ``sys`` are found."""
        self._path = path
        self._direct = direct
        self._counted = counted
        self._root = Path(root)
        self._device = stat.S_ISBLK(os.stat(path).st_mode)  # noqa: PTH116 - a text
        self._facts = describe_path(path, self._root)
        self._disk = disk_directory(path, self._root)
        self._health = HealthReader(self._disk)
        self._health_before: Health | None = None
        self._before: _Reading | None = None
        self._threads = Threads()
        self._samples = PowerSamples()
        self._sampled_at = 0.0
        self._ticked_at = 0.0

    def health(self) -> Health | None:
        """What the drive tells of itself now; ``None`` as :attr:`no_health_reason` says."""
        return self._health.read()

    @property
    def no_health_reason(self) -> str | None:
        """Why the drive's SMART values cannot be had, after :meth:`health` was called; ``None``
        also where there is no drive, such as below tmpfs."""
        return self._health.reason

    def begin(self) -> None:
        """Right before a measurement."""
        self._health_before = self._health.begin()
        self._threads = Threads.begin(self._root)
        self._samples = PowerSamples()
        self._sampled_at = float("-inf")
        self._before = self._read()

    def tick(self) -> None:
        """While it runs."""
        now = self._ticked_at = time.monotonic()
        self._threads.read(self._root)
        if now - self._sampled_at >= _POWER_INTERVAL_S:
            self._sampled_at = now
            self._samples.read(self._root, self._disk)
        # The kernel's sensor costs the drive less, where there is one.
        if self._samples.temperature_c is None and self._health.age_s >= _HEALTH_INTERVAL_S:
            self._health.sample()

    def end(self, workload: Workload, capacity_bytes: int) -> Conditions:
        """Right after it: what was measured, and the size of the target.

        Looks at the blocks that were read, and flushes what was written.
        """
        before, after = self._before, self._read()
        assert before is not None, "begin comes first"
        cool, warm = self._health_before or Health(tool=""), self._health.read() or Health(tool="")
        offset, span = _extent(workload, capacity_bytes)
        reads = any(stream.read_share > 0 for stream in workload.streams)
        writes = any(stream.read_share < 1 for stream in workload.streams)
        sampled = _within(lambda: medium.sample(self._path, offset, span)) if reads else None
        copies, compressed = medium.copies_and_compresses(
            self._path, _text(self._facts.get("file_system")), self._mount_options
        )
        elapsed_s = after.monotonic_s - before.monotonic_s
        disk = self._disk
        caps = read_caps(self._root, text(disk / "dev")) if disk is not None else Caps()
        loop = text(disk / "loop/dio") if disk is not None else None
        threads = self._threads
        # Threads end with the measurement, so that what they did after the last tick is not seen.
        unseen = elapsed_s / max(self._ticked_at - before.monotonic_s, 1e-9)
        unseen = min(unseen, _UNSEEN_MAX)
        return Conditions(
            observed_s=elapsed_s,
            direct=self._direct,
            file_system=_text(self._facts.get("file_system")),
            mount_options=self._mount_options,
            transport=_text(self._facts.get("transport")),
            loop_direct=None if loop is None else loop == "1",
            hole_share=None
            if self._device
            else _within(lambda: medium.hole_share(self._path, offset, span)),
            sampled_blocks=sampled.blocks if sampled else None,
            zero_share=sampled.zero_share if sampled else None,
            repeated_share=sampled.repeated_share if sampled else None,
            copy_on_write=copies,
            compressed=compressed,
            flush_s=_flush_s(self._path) if writes else None,
            cap_read_iops=caps.read_iops,
            cap_write_iops=caps.write_iops,
            cap_read_bytes_per_second=caps.read_bytes_per_second,
            cap_write_bytes_per_second=caps.write_bytes_per_second,
            **_block_io(before.block_io, after.block_io),
            cores=processors(),
            **_cpu(before.cpu, after.cpu),
            issuers_wait_s=threads.wait_s("issuer") * unseen,
            kernel_workers=threads.count("iou-wrk"),
            kernel_workers_cpu_s=threads.cpu_s("iou-wrk") * unseen,
            pollers=threads.count("iou-sqp"),
            pollers_cpu_s=threads.cpu_s("iou-sqp") * unseen,
            pollers_wait_s=threads.wait_s("iou-sqp") * unseen,
            clock_source=before.clock.source,
            clock_source_after=after.clock.source,
            clock_drift=_drift(before.clock, after.clock),
            cpu_governor=governor(self._root),
            cpu_frequency_share=self._samples.frequency_share,
            idle_exit_s=idle_exit_s(before.power, after.power),
            link_power=link_power(disk),
            suspended_s=_milli(difference(before.power.suspended_ms, after.power.suspended_ms)),
            cpu_throttled=_whole(difference(before.power.throttled, after.power.throttled)),
            drive_temperature_c=_highest(self._samples.temperature_c, self._health.hottest_c),
            drive_temperature_limit_c=_first(
                self._samples.temperature_limit_c, warm.temperature_limit_c
            ),
            drive_temperature_before_c=cool.temperature_c,
            drive_temperature_after_c=warm.temperature_c,
            drive_throttled=_whole(difference(cool.throttled, warm.throttled)),
            drive_throttled_s=_whole(difference(cool.throttled_s, warm.throttled_s)),
            drive_hot_min=_whole(difference(cool.hot_min, warm.hot_min)),
        )

    @property
    def _mount_options(self) -> str | None:
        return _text(self._facts.get("mount_options"))

    def _read(self) -> _Reading:
        return _Reading(
            monotonic_s=time.monotonic(),
            block_io=read_block_io(self._root, self._disk) if self._counted else BlockIo(),
            cpu=read_cpu_times(self._root),
            clock=read_clock(self._root),
            power=read_power(self._root, self._disk),
        )


def _within(look: Callable[[], Found | None]) -> Found | None:
    """What ``look`` returns; ``None`` when that fails, or takes too long: a target that hangs must
    not take the run with it."""
    found: list[Found | None] = []

    def run() -> None:
        with contextlib.suppress(OSError):
            found.append(look())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(_LOOK_LIMIT_S)
    return found[0] if found else None


def _flush_s(path: str) -> float | None:
    started = time.monotonic()
    flushed = _within(lambda: medium.flush_s(path))
    waited = time.monotonic() - started
    # A flush that was given up took at least that long.
    return waited if flushed is None and waited >= _LOOK_LIMIT_S else flushed


def _extent(workload: Workload, capacity_bytes: int) -> tuple[int, int]:
    """Offset and length of what all streams together reach."""
    low = min(stream.offset_bytes for stream in workload.streams)
    high = max(
        capacity_bytes if stream.span_bytes is None else stream.offset_bytes + stream.span_bytes
        for stream in workload.streams
    )
    return low, min(high, capacity_bytes) - low


def _block_io(before: BlockIo, after: BlockIo) -> dict[str, Any]:
    return {
        name: _whole(difference(getattr(before, name), getattr(after, name)))
        for name in BlockIo.__dataclass_fields__
    }


def _cpu(before: CpuTimes | None, after: CpuTimes | None) -> dict[str, Any]:
    if before is None or after is None or after.total <= before.total:
        return {}
    total = after.total - before.total
    others = (after.busy - before.busy) - (after.own - before.own)
    return {
        "steal_share": (after.steal - before.steal) / total,
        # The process's times and the machine's are read one after the other.
        "other_cpu_share": max(others / total, 0.0),
    }


def _drift(before: ClockReading, after: ClockReading) -> float | None:
    raw = after.raw_ns - before.raw_ns
    return (after.monotonic_ns - before.monotonic_ns) / raw - 1 if raw > 0 else None


def _highest(*values: float | None) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _milli(value: float | None) -> float | None:
    return None if value is None else value / 1000


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
