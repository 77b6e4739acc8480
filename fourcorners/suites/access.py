"""Access specifications as a suite file writes them: the keys of a stream, and the stream that they
are. docs/suites.md has the table."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from fourcorners.errors import UserError
from fourcorners.suites.parameters import (
    CONTENT,
    COUNT,
    LOG_IOS,
    SECONDS,
    SHARE,
    SIZE,
    Kind,
    show_percent,
)
from fourcorners.suites.subject import Subject
from fourcorners.wording import chosen_size
from fourcorners.workload import CLOSED_LOOP, Stream, partly_random, strided


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UserError("use true or false")
    return value


def _size_or_share(value: Any) -> int | float:
    if isinstance(value, str) and not value.strip().endswith("%"):
        return int(SIZE.read(value))
    return float(SHARE.read(value))


def _show_size_or_share(value: int | float) -> str:
    return chosen_size(value) if isinstance(value, int) else show_percent(value)


def _finite(text: str) -> float:
    """Raises ``ValueError``."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def _pattern(value: Any) -> str:
    kind, *numbers = str(value).split(":")
    if kind == "strided" and len(numbers) == 1:
        return strided(int(SIZE.read(numbers[0])))
    wanted = {"sequential": 0, "random": 0, "zipf": 1, "hot-cold": 2, "partly-random": 1}
    try:
        known = wanted.get(kind) == len([_finite(number) for number in numbers])
    except ValueError:
        known = False
    if not known:
        raise UserError(
            "use sequential, random, zipf:EXPONENT, hot-cold:DATA:ACCESSES or strided:SIZE"
        )
    return str(value)


def _arrival(value: Any) -> str:
    kind, *numbers = str(value).split(":")
    wanted = {"closed": (0,), "fixed": (1,), "poisson": (1,), "bursts": (2, 3)}
    try:
        known = len([_finite(number) for number in numbers]) in wanted.get(kind, ())
    except ValueError:
        known = False
    if not known:
        raise UserError("use closed, fixed:IOPS, poisson:IOPS or bursts:IOPS:IOS")
    return str(value)


_TEXT = {"type": "string"}
SIZE_OR_SHARE = Kind(
    "a size or a share",
    _size_or_share,
    _show_size_or_share,
    {"type": ["string", "number"]},
    takes=(SIZE, SHARE),
)
BOOLEAN = Kind("true or false", _boolean, str, {"type": "boolean"})
STREAM_KEYS: dict[str, Kind] = {
    "reads": SHARE,
    "block": SIZE,
    "pattern": Kind("a pattern", _pattern, str, _TEXT),
    "random": SHARE,
    "alignment": SIZE,
    "misalignment": SIZE,
    "queue-depth": COUNT,
    "workers": COUNT,
    "offset": SIZE_OR_SHARE,
    "span": SIZE_OR_SHARE,
    "content": CONTENT,
    "arrival": Kind("an arrival", _arrival, str, _TEXT),
    "flush-every": COUNT,
    "fua": BOOLEAN,
}
"""What a stream's keys mean; :class:`fourcorners.Stream` has the same by longer names."""

EVERYTHING = "everything"


def _amount(value: Any) -> int | str:
    return EVERYTHING if value == EVERYTHING else int(SIZE.read(value))


def _show_amount(value: int | str) -> str:
    return value if isinstance(value, str) else chosen_size(value)


WORKLOAD_KEYS: dict[str, Kind] = {
    "duration": SECONDS,
    "ramp": SECONDS,
    "amount": Kind("a size, or everything", _amount, _show_amount, _TEXT, takes=(SIZE,)),
    "log-ios": LOG_IOS,
}
"""What ends a workload, and what it keeps; :class:`fourcorners.Workload` has the same."""

AXES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "reads": ("read_percent", lambda share: 100 * share),
    "block": ("block_bytes", lambda size: size),
    "queue-depth": ("queue_depth", lambda depth: depth),
    "random": ("random_percent", lambda share: 100 * share),
    "alignment": ("alignment_bytes", lambda size: size),
    "misalignment": ("misalignment_bytes", lambda size: size),
    "workers": ("workers", lambda count: count),
    "flush-every": ("flush_every_writes", lambda count: count),
}
"""What a swept key is called in a point, and its number there; other keys stand there as text."""


def stream_of(chosen: Mapping[str, Any], subject: Subject) -> Stream:
    """The stream that the keys describe, within the tested part of a target."""
    offset = _within(chosen.get("offset", 0), subject)
    room = max(subject.area_bytes - offset, 0)
    span = min(_within(chosen["span"], subject), room) if "span" in chosen else room
    return Stream(
        read_share=chosen["reads"],
        block_bytes=chosen["block"],
        pattern=chosen.get("pattern") or partly_random(chosen["random"]),
        offset_bytes=offset,
        span_bytes=span,
        alignment_bytes=chosen.get("alignment"),
        misalignment_bytes=chosen.get("misalignment", 0),
        queue_depth_per_worker=chosen.get("queue-depth", 1),
        arrival=chosen.get("arrival", CLOSED_LOOP),
        workers=chosen.get("workers", 1),
        content=chosen.get("content", "incompressible"),
        flush_every_writes=chosen.get("flush-every"),
        fua=chosen.get("fua", False),
    )


def addressable(chosen: Mapping[str, Any], subject: Subject) -> bool:
    """Whether direct I/O can issue such requests on the target, and its span has room for one."""
    sizes = [chosen[key] for key in ("block", "alignment", "misalignment") if key in chosen]
    aligned = all(size % subject.request_alignment_bytes == 0 for size in sizes)
    return aligned and chosen["block"] <= (stream_of(chosen, subject).span_bytes or 0)


def _within(value: int | float, subject: Subject) -> int:
    """Bytes of a size or of a share of the tested part; those of a share in whole 4 KiB."""
    if isinstance(value, float) and 0 < value < 1:
        return subject.share_bytes(value)
    return subject.rounded(int(value * subject.area_bytes) if isinstance(value, float) else value)
