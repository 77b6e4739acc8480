"""The clock that latencies are read from."""

import time
from dataclasses import dataclass
from pathlib import Path

from fourcorners.machine.system_files import text

# The narrowest of so many brackets is kept, so that a preempted one does not count.
_TRIES = 8


@dataclass(frozen=True)
class ClockReading:
    """Both monotonic clocks at one moment, in nanoseconds, and the clock source in use."""

    monotonic_ns: int
    raw_ns: int
    source: str | None


def read_clock(root: Path) -> ClockReading:
    """``CLOCK_MONOTONIC``, which time services speed up and slow down, beside the raw one."""
    narrowest: tuple[int, int, int] | None = None
    for _ in range(_TRIES):
        first = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        middle = time.monotonic_ns()
        last = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        if narrowest is None or last - first < narrowest[0]:
            narrowest = (last - first, middle, (first + last) // 2)
    assert narrowest is not None
    source = text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")
    return ClockReading(narrowest[1], narrowest[2], source)
