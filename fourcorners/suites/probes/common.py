"""What probes share: points in random order, and a sentinel between them that shows drift."""

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

from fourcorners.suites.common import KIB, timed
from fourcorners.suites.parameters import choice, parameter
from fourcorners.suites.steps import Fill, Purge, Step, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Measurement
from fourcorners.workload import Stream

# A part of the drive that is small compared with the whole.
AREA_SHARE = 1 / 8
AREA_BYTES_MAX = 8 * 10**9
# From this size on all probes together write a drive at most twice. Smaller ones need more: buffers
# and caches are not smaller there.
LARGE_BYTES = 32 * 10**9
# Of a large drive, an equal share of what it has beyond these: all need some parts of fixed size.
_LARGE_AREA_SHARE, _FIXED_BYTES = 1 / 32, 18 * 10**9
SENTINEL = "sentinel"
_SENTINEL_S = 0.25


def preparation() -> Any:
    """A probe's parameter: whether it prepares the drive, or reads the data that it has."""
    return parameter(choice("own", "none"), "own", "none: a real drive is read as it is")


def prepares(subject: Subject, given: str) -> bool:
    """Whether the drive is prepared: a simulated one always, since it is empty otherwise."""
    return given == "own" or subject.kind == "simulated"


def fresh(subject: Subject) -> tuple[Step, ...]:
    """Preparation of probes that read everywhere: a purge and a pause. A purged file is written
    through, as reads of what it never held do not reach the medium; a purged drive answers them
    itself, in a time of its own."""
    written = (Fill(subject.area_bytes),) if subject.kind == "file" else ()
    return (Purge(), *written, settle())


def is_large(subject: Subject) -> bool:
    """Whether it is a drive that all probes together write at most twice."""
    return subject.fills and subject.area_bytes >= LARGE_BYTES


def probed_bytes(subject: Subject) -> int:
    """The part at the start of a drive that probes write, where writes wear it."""
    wanted = subject.area_bytes * AREA_SHARE
    if is_large(subject):
        wanted = (subject.area_bytes - _FIXED_BYTES) * _LARGE_AREA_SHARE
    share = int(wanted) // (1024 * KIB) * (1024 * KIB)
    return subject.span_bytes(min(share or subject.area_bytes, AREA_BYTES_MAX))


def interleaved(
    points: Sequence[Measurement], *, span_bytes: int, seed: int, every: int = 4, first: int = 1
) -> tuple[Measurement, ...]:
    """The points in random order, with 4 KiB random reads, one at a time, before the first, after
    the last and after every ``every`` points: what changes between these is the drive's state or
    its load, not the point. ``first`` is the number of the first of these reads."""
    shuffled = list(points)
    random.Random(seed).shuffle(shuffled)
    sentinels = _sentinels(span_bytes, seed, first)
    ordered = [next(sentinels)]
    for number, point in enumerate(shuffled, start=1):
        ordered.append(point)
        if number % every == 0 or number == len(shuffled):
            ordered.append(next(sentinels))
    return tuple(ordered)


def _sentinels(span_bytes: int, seed: int, first: int) -> Iterator[Measurement]:
    for number in itertools.count(first):
        yield timed(
            f"{SENTINEL}/{number}",
            f"sentinel {number}",
            Stream.read("random", 4 * KIB, span_bytes=span_bytes),
            _SENTINEL_S,
            # By then the write buffer has written the data of the previous point to flash.
            ramp_s=_SENTINEL_S,
            seed=seed + number,
            sentinel=number,
        )
