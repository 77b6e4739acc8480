"""The device under test, as others use it, limit it and heat it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fourcorners.analysis.artefacts.artefact import SHARE_NOTED, Artefact
from fourcorners.analysis.artefacts.case import Case
from fourcorners.sentences import say

FOREIGN_BYTES_MIN, FOREIGN_IOS_MIN = 2**20, 50
"""A journal and a few log lines are less."""

UNSPLIT_BYTES_MAX = 64 * 2**10
"""Requests up to this size pass every block layer in one piece, so that I/Os can be compared."""

CAP_SHARE_MIN = 0.9
"""Of the limit that is set: a bucket that starts full lets a little more pass."""

TEMPERATURE_FALL_MIN = 0.9
"""Rate of the last third over that of the first from which heat has cost something."""


def detect(case: Case) -> Iterator[Artefact]:
    """What else happened at the device."""
    yield from _foreign_load(case)
    yield from _set_cap(case)
    yield from _heat(case)


def _foreign_load(case: Case) -> Iterator[Artefact]:
    at = case.conditions
    if (
        not at.direct
        or at.disk_read_bytes is None
        or at.disk_write_bytes is None
        or at.own_read_bytes is None
        or at.own_write_bytes is None
    ):
        return
    own = at.own_read_bytes + at.own_write_bytes
    reads = max(at.disk_read_bytes - at.own_read_bytes, 0)
    writes = max(at.disk_write_bytes - at.own_write_bytes, 0)
    foreign = reads + writes
    share = foreign / max(foreign + own, 1)
    ios = _foreign_ios(case)
    total_ios = (at.disk_reads or 0) + (at.disk_writes or 0)
    ios_share = ios / total_ios if total_ios else 0.0
    by_bytes = share >= SHARE_NOTED and foreign >= FOREIGN_BYTES_MIN
    by_ios = ios_share >= SHARE_NOTED and ios >= FOREIGN_IOS_MIN
    if not by_bytes and not by_ios:
        return
    yield Artefact(
        "foreign_load",
        "moderate",
        say("artefact_foreign_load.by_ios" if by_ios else "artefact_foreign_load.seen"),
        {
            "foreign_read_bytes": reads,
            "foreign_write_bytes": writes,
            "foreign_share": share,
            "foreign_ios": ios,
            "foreign_ios_share": ios_share,
        },
    )


def _foreign_ios(case: Case) -> int:
    """I/Os of the disk beyond the case's, where they can be distinguished."""
    at = case.conditions
    comparable = (
        case.block_bytes is not None and case.block_bytes <= UNSPLIT_BYTES_MAX and not case.ramp_s
    )
    if not comparable or at.disk_reads is None or at.disk_writes is None:
        return 0
    reads = max(at.disk_reads - case.ios.get("read", 0), 0)
    # A flush may count as a write, and a write of the drive's own is none of ours.
    writes = max(at.disk_writes - case.ios.get("write", 0) - case.ios.get("flush", 0), 0)
    return reads + writes


def _set_cap(case: Case) -> Iterator[Artefact]:
    at = case.conditions
    if case.elapsed_s <= 0:
        return
    for operation, iops_cap, rate_cap in (
        ("read", at.cap_read_iops, at.cap_read_bytes_per_second),
        ("write", at.cap_write_iops, at.cap_write_bytes_per_second),
    ):
        rates = (
            (case.ios.get(operation, 0) / case.elapsed_s, iops_cap, "I/Os"),
            (case.bytes.get(operation, 0) / case.elapsed_s, rate_cap, "bytes"),
        )
        for rate, cap, unit in rates:
            if cap and rate >= CAP_SHARE_MIN * cap:
                kind = "of_bytes" if unit == "bytes" else "of_ios"
                yield Artefact(
                    "rate_cap",
                    "severe",
                    say(f"artefact_rate_cap.{kind}", operation=operation, cap=cap),
                    {f"cap_{unit.lower().replace('/', '')}": cap, "share": rate / cap},
                )
                return


def _heat(case: Case) -> Iterator[Artefact]:
    at = case.conditions
    if at.cpu_throttled:
        yield Artefact(
            "thermal_throttling",
            "moderate",
            say("artefact_hot_processors.seen"),
            {"cpu_throttled": at.cpu_throttled},
        )
    told = _told_by_the_drive(case)
    if told is not None:
        yield told
        return
    temperature, limit = at.drive_temperature_c, at.drive_temperature_limit_c
    if temperature is None or limit is None or temperature < limit:
        return
    seconds = case.full_seconds
    third = len(seconds) // 3
    first, last = (
        (float(np.mean(seconds[:third])), float(np.mean(seconds[-third:])))
        if (third)
        else (0.0, 0.0)
    )
    fallen = first > 0 and last < TEMPERATURE_FALL_MIN * first
    name = "artefact_thermal_throttling.fell" if fallen else "artefact_thermal_throttling.seen"
    yield Artefact(
        "thermal_throttling",
        "severe" if fallen else "moderate",
        say(name),
        {
            "drive_temperature_c": temperature,
            "drive_temperature_limit_c": limit,
            "rate_left": last / first if first else None,
        },
    )


def _told_by_the_drive(case: Case) -> Artefact | None:
    """Throttling as the drive's own SMART log counts it."""
    at = case.conditions
    if not at.drive_throttled and not at.drive_throttled_s and not at.drive_hot_min:
        return None
    throttled = bool(at.drive_throttled or at.drive_throttled_s)
    seen = "artefact_throttling_counted.for_seconds"
    if not throttled:
        seen = "artefact_throttling_counted.warning"
    elif not at.drive_throttled_s:
        seen = "artefact_throttling_counted.seen"
    hot = at.drive_temperature_c
    reached = [] if hot is None else [say("artefact_throttling_counted.at", celsius=hot)]
    return Artefact(
        "thermal_throttling",
        "severe" if throttled else "moderate",
        say(seen, drive_throttled=at.drive_throttled or 0, at=reached),
        {
            "drive_throttled": at.drive_throttled,
            "drive_throttled_s": at.drive_throttled_s,
            "drive_hot_min": at.drive_hot_min,
            "drive_temperature_c": at.drive_temperature_c,
        },
    )
