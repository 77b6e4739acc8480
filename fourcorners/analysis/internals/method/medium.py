"""Whether a drive has an arm to move, from how long a small random read takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from fourcorners.analysis.finding import Finding
from fourcorners.analysis.source import RunData, measured

ARM_READ_S = 1.5e-3
"""Time of a random read, even within a small part of a drive, from which it has an arm to move:
flash needs a tenth, and the fastest disks 2 ms for half a turn alone."""

NO_FLASH = "Not applicable: a mechanical disk, which has no flash."
NO_ARM = "Not applicable: nothing moves."
NO_UNITS = "Not applicable: a mechanical disk, which overwrites sectors where they are."


_OF_FLASH = ("slc_cache_bytes", "slc_direct_rate", "slc_recovered_share", "trim_granularity")
"""Findings from writes that are about what only flash has."""


def moves_an_arm(read_s: float) -> bool:
    """Whether a small random read of that mean time, one at a time, needs an arm."""
    return read_s > ARM_READ_S


def is_disk(run: RunData) -> bool:
    """Whether the small reads between the points of the run's probes need an arm. What writes
    have left to do delays some of them, so the faster quarter decides."""
    seconds = [1 / m.iops for m in measured(run, operation="read") if m.point.get("sentinel")]
    return bool(seconds) and moves_an_arm(float(np.quantile(seconds, 0.25)))


def without_flash(findings: Iterable[Finding]) -> list[Finding]:
    """The findings about a disk: what only flash has does not apply to it."""
    return [
        replace(
            finding, verdict="not applicable", text=NO_FLASH, value=None, unit=None, interval=None
        )
        if finding.name in _OF_FLASH
        else finding
        for finding in findings
    ]
