"""Processors: who used them, and which of our threads had to wait for one."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from fourcorners.machine.system_files import text

NS = 1e-9


@dataclass(frozen=True)
class CpuTimes:
    """One reading of ``/proc/stat``, in clock ticks; ``own`` is what this process used, and the
    kernel by itself (its threads, interrupts), much of it for this process's I/O."""

    total: int
    busy: int
    steal: int
    own: int


def read_cpu_times(root: Path) -> CpuTimes | None:
    """All processors together; ``None`` where the system does not tell."""
    line = (text(root / "proc/stat") or "").partition("\n")[0].split()
    own = (text(root / "proc/self/stat") or "").rpartition(")")[2].split()
    if len(line) < 9 or line[0] != "cpu" or len(own) < 13:
        return None
    # user nice system idle iowait irq softirq steal; guest time is in user already.
    times = [int(value) for value in line[1:9]]
    idle, steal = times[3] + times[4], times[7]
    total = sum(times)
    interrupts = times[5] + times[6]
    used = int(own[11]) + int(own[12]) + interrupts + _kernel_threads(root)
    return CpuTimes(total, total - idle - steal, steal, used)


def _kernel_threads(root: Path) -> int:
    """Ticks that they have used: workers, loop devices, file systems."""
    used = 0
    for process in (root / "proc").glob("[0-9]*"):
        values = (text(process / "stat") or "").rpartition(")")[2].split()
        if len(values) > 12 and values[1] == "2":
            used += int(values[11]) + int(values[12])
    return used


@dataclass
class Threads:
    """Threads that this process gained, by kind, followed while they live.

    A thread that has ended is gone from ``/proc``: its last reading counts.
    """

    _before: frozenset[str] = frozenset()
    _cpu_ns: dict[tuple[str, str], int] = field(default_factory=dict)
    _wait_ns: dict[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def begin(cls, root: Path) -> "Threads":
        """Threads that are there now are not those that will issue I/O."""
        return cls(frozenset(path.name for path in _tasks(root)))

    def read(self, root: Path) -> None:
        """Takes a reading of every new thread."""
        for task in _tasks(root):
            if task.name in self._before:
                continue
            name = text(task / "comm") or ""
            values = (text(task / "schedstat") or "").split()
            if len(values) < 2:
                continue
            kind = re.match(r"iou-wrk|iou-sqp", name)
            key = (kind.group() if kind else "issuer", task.name)
            self._cpu_ns[key], self._wait_ns[key] = int(values[0]), int(values[1])

    def count(self, kind: str) -> int:
        """Threads of a kind: ``iou-wrk``, ``iou-sqp`` or ``issuer``."""
        return sum(key[0] == kind for key in self._cpu_ns)

    def cpu_s(self, kind: str) -> float:
        """Their CPU time, all together."""
        return NS * sum(value for key, value in self._cpu_ns.items() if key[0] == kind)

    def wait_s(self, kind: str) -> float:
        """Longest time that one of them was ready to run and had no processor."""
        waits = [value for key, value in self._wait_ns.items() if key[0] == kind]
        return NS * max(waits, default=0)


def _tasks(root: Path) -> list[Path]:
    try:
        return list((root / "proc/self/task").iterdir())
    except OSError:
        return []
