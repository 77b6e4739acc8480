"""What fio's jobs were asked to do, from the options that its results repeat."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from fourcorners.importing.figures import UnusableError, count, number, text

_DIRECTIONS: dict[str, tuple[Literal["read", "write"] | None, str]] = {
    "read": ("read", "sequential"),
    "write": ("write", "sequential"),
    "rw": (None, "sequential"),
    "readwrite": (None, "sequential"),
    "randread": ("read", "random"),
    "randwrite": ("write", "random"),
    "randrw": (None, "random"),
}
_SIZE = re.compile(r"(\d{1,15})([kmgtp]?)(i?)b?", re.IGNORECASE)
_POWERS = "kmgtp"
_SYNCS = ("fsync", "fdatasync")
# Engines of Linux that use the page cache unless told otherwise; "" is fio's own choice, psync.
_CACHED_ENGINES = (
    *("", "sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio"),
    "mmap",
)
_LIMITS = ("rate", "rate_iops", "rate_min", "thinktime", "thinkcycles")
_WAITS = ("startdelay", "wait_for")


@dataclass(frozen=True)
class FioOptions:
    """The options of a job, as text."""

    told: Mapping[str, str]

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> FioOptions:
        """From the tables of a result."""
        return cls({text(key): text(value) for key, value in options.items()})

    @property
    def target(self) -> str:
        """The file or device, else the folder; empty where it is not told."""
        return self.told.get("filename") or self.told.get("directory") or ""

    @property
    def direction(self) -> str:
        """fio's ``rw``, without what follows a colon; empty where it is not told at all."""
        given = self.told.get("rw") or self.told.get("readwrite") or ("read" if self.told else "")
        return given.partition(":")[0]

    @property
    def only_operation(self) -> Literal["read", "write"] | None:
        """``None`` of mixed workloads, and where it is not told."""
        return _DIRECTIONS.get(self.direction, (None, ""))[0]

    @property
    def pattern(self) -> str | None:
        """``random`` or ``sequential``; ``None`` of what lies between, and where it is not told."""
        if self.told.get("percentage_random", "100") not in ("100", "100,100,100"):
            return None
        uneven = self.told.get("random_distribution", "random")
        found = _DIRECTIONS.get(self.direction, (None, ""))[1] or None
        if found == "random" and uneven != "random":
            return uneven if re.fullmatch(r"zipf:[0-9.]+", uneven) else None
        return found

    @property
    def read_percent(self) -> float | None:
        """Share of reads that a mixed workload was to have."""
        if self.only_operation is not None or self.direction not in _DIRECTIONS:
            return None
        if "rwmixwrite" in self.told:
            return 100 - number(self.told["rwmixwrite"], "rwmixwrite", 100)
        return number(self.told.get("rwmixread", "50"), "rwmixread", 100)

    @cached_property
    def block_bytes(self) -> int | None:
        """The request size, where there is one and it is told."""
        given = self.told.get("bs") or self.told.get("blocksize") or ("4k" if self.told else "")
        if {"bssplit", "bsrange", "blocksize_range"} & self.told.keys():
            return None
        match = _SIZE.fullmatch(given)
        if match is None:
            return None
        size, letter, binary = match.groups()
        base = 1000 if self.told.get("kb_base") == "1000" and not binary else 1024
        power = _POWERS.index(letter.lower()) + 1 if letter else 0
        return int(size) * int(base**power)

    @property
    def threads(self) -> int:
        """fio's ``numjobs``; raises :class:`UnusableError`."""
        return max(count(self.told.get("numjobs") or 1, "numjobs"), 1)

    @property
    def depth(self) -> int | None:
        """fio's ``iodepth``, of each thread; ``None`` where no option is told. Raises
        :class:`UnusableError`."""
        return max(count(self.told.get("iodepth") or 1, "iodepth"), 1) if self.told else None

    @property
    def waits(self) -> bool:
        """Whether it began later than the other jobs of its group."""
        return any(key in self.told for key in _WAITS)

    @property
    def limits(self) -> list[str]:
        """Options that kept it from asking for all that it could get: "rate_iops=100"."""
        return [
            f"{key}={self.told[key]}" for key in _LIMITS if self.told.get(key, "0") not in ("", "0")
        ]

    @property
    def syncs(self) -> list[str]:
        """What it waited for beside its transfers: "fdatasync after every write"."""
        found = []
        for key, writes in self._synced.items():
            each = "every write" if writes == 1 else f"every {writes:,} writes"
            found.append(f"{key} after {each}")
        if self.told.get("sync_file_range"):
            found.append("sync_file_range")
        if self.told.get("sync", "0") not in ("", "0", "none"):
            found.append(f"sync={self.told['sync']}")
        return found

    @property
    def flush_every_writes(self) -> int | None:
        """Writes before each fsync or fdatasync."""
        return min(self._synced.values(), default=None)

    @cached_property
    def _synced(self) -> dict[str, int]:
        return {key: writes for key in _SYNCS if (writes := _whole(self.told.get(key)))}

    @property
    def direct(self) -> bool | None:
        """Whether the page cache was passed by; ``None`` where the engine knows none, or nothing
        is told."""
        if not self.told or self.told.get("ioengine", "") not in _CACHED_ENGINES:
            return None
        if "buffered" in self.told:
            return self.told["buffered"] == "0"
        return self.told.get("direct", "0") not in ("", "0")


def error_name(error: int) -> str:
    """Number and words of the system for it."""
    return f"{error} ({os.strerror(error)})" if 0 < error < 4096 else str(error)


def _whole(told: str | None) -> int:
    try:
        return count(told or 0, "")
    except UnusableError:
        return 0
