"""Access specifications as a suite file writes them: the keys of a stream, and the stream that they
are. docs/suites.md has the table."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from fourcorners.documents import changed
from fourcorners.errors import UserError
from fourcorners.patterns import CLOSED_LOOP, partly_random, strided, zoned
from fourcorners.suites.parameters import (
    CONTENT,
    COUNT,
    LOG_IOS,
    SECONDS,
    SHARE,
    SIZE,
    TIME,
    Kind,
    show_percent,
)
from fourcorners.suites.replay import read_trace
from fourcorners.suites.subject import Subject
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream


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
    wanted = {
        "sequential": 0,
        "random": 0,
        "permuted": 0,
        "zipf": 1,
        "pareto": 1,
        "normal": 1,
        "partly-random": 1,
        "runs": 1,
        "hot-cold": 2,
    }
    try:
        if kind == "zoned":
            shares = [zone.split("/") for zone in numbers]
            return zoned(*((_finite(accesses), _finite(data)) for accesses, data in shares))
        known = wanted.get(kind) == len([_finite(number) for number in numbers])
    except ValueError:
        known = False
    if not known:
        raise UserError(
            "use sequential, random, permuted, zipf:EXPONENT, pareto:SKEW, normal:WIDTH, "
            "hot-cold:DATA:ACCESSES, zoned:ACCESSES/DATA:ACCESSES/DATA (percent), runs:IOS or "
            "strided:SIZE"
        )
    return str(value)


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise UserError("use a name")
    return value.strip()


def _sizes(value: Any) -> str:
    """``4 KiB/75:64 KiB/25`` in bytes, as a stream has it."""
    try:
        return ",".join(":".join(map(_size_share, part.split(":"))) for part in value.split(","))
    except (AttributeError, ValueError):
        raise UserError(
            "write sizes and percent as in 4 KiB/75:64 KiB/25, a range as in 4 KiB-64 KiB/100, "
            "those of writes after a comma"
        ) from None


def _size_share(text: str) -> str:
    """Raises ``ValueError``, and :class:`UserError` for a size that is none."""
    size, percent = text.split("/")
    limits = [str(SIZE.read(limit.strip())) for limit in size.split("-")]
    if len(limits) > 2:
        raise ValueError
    return f"{'-'.join(limits)}/{_finite(percent):.9g}"


def _show_sizes(value: str) -> str:
    def shown(text: str) -> str:
        size, _, percent = text.partition("/")
        return (
            f"{' to '.join(chosen_size(int(one)) for one in size.split('-'))} {float(percent):g} %"
        )

    parts = [", ".join(map(shown, part.split(":"))) for part in value.split(",")]
    return parts[0] if len(parts) == 1 else f"{parts[0]} of reads, {parts[1]} of writes"


def _zones(value: Any) -> str:
    try:
        length, volume, gap = str(value).split(":")
    except ValueError:
        raise UserError(
            "write the length of a zone, what is transferred in it and the gap to the next, as in "
            "256 MiB:64 MiB:2 GiB"
        ) from None
    gap_bytes = 0 if gap.strip() == "0" else int(SIZE.read(gap))
    return f"{SIZE.read(length)}:{SIZE.read(volume)}:{gap_bytes}"


def _share_of_span(value: Any) -> int | float | str:
    return EVERYTHING if value == EVERYTHING else _size_or_share(value)


def _show_share_of_span(value: int | float | str) -> str:
    return value if isinstance(value, str) else _show_size_or_share(value)


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


EVERYTHING = "everything"
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
    "sizes": Kind("sizes", _sizes, _show_sizes, _TEXT),
    "separate-cursors": BOOLEAN,
    "zones": Kind("zones", _zones, str, _TEXT),
    "answer-batch": COUNT,
    "think": TIME,
    "think-every": COUNT,
    "start": SECONDS,
    "stop": SECONDS,
    "amount-per-worker": Kind(
        "a size, a share, or everything",
        _share_of_span,
        _show_share_of_span,
        {"type": ["string", "number"]},
    ),
    "loops": COUNT,
    "ios-per-worker": COUNT,
    "job": Kind("a name", _name, str, _TEXT),
    "trace": Kind("a trace", read_trace, lambda trace: ", ".join(trace.files), {"type": "object"}),
}
"""What a stream's keys mean; :class:`fourcorners.Stream` has the same by longer names."""

LIMITS = ("stop", "amount-per-worker", "ios-per-worker", "trace")
"""Keys of which one ends a stream by itself."""


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
    trace = chosen.get("trace")
    amount = chosen.get("amount-per-worker")
    if amount is not None:
        amount = (span if amount == EVERYTHING else _within(amount, subject)) * chosen.get(
            "loops", 1
        )
        if "sizes" not in chosen:
            amount -= amount % chosen["block"]
    return Stream(
        read_share=chosen["reads"],
        block_bytes=_largest_bytes(chosen),
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
        sizes=chosen.get("sizes"),
        separate_cursors=chosen.get("separate-cursors", False),
        strided_zones=chosen.get("zones"),
        answer_batch=chosen.get("answer-batch", 1),
        think_s=chosen.get("think", 0.0),
        think_every_ios=chosen.get("think-every", 1),
        start_s=chosen.get("start", 0.0),
        end_s=chosen.get("stop"),
        ios_per_worker=chosen.get("ios-per-worker"),
        bytes_per_worker=amount,
        job=chosen.get("job"),
        trace=trace and changed(trace, alignment_bytes=subject.request_alignment_bytes),
    )


def _limits_of_sizes(chosen: Mapping[str, Any]) -> list[int]:
    """The sizes that a stream's requests may have; of a range, its ends."""
    if "sizes" not in chosen:
        return [chosen["block"]]
    entries = chosen["sizes"].replace(",", ":").split(":")
    return [int(limit) for entry in entries for limit in entry.partition("/")[0].split("-")]


def _largest_bytes(chosen: Mapping[str, Any]) -> int:
    if "sizes" not in chosen:
        return int(chosen["block"])
    # A range ends at a multiple of its smaller end.
    entries = [entry.partition("/")[0] for entry in chosen["sizes"].replace(",", ":").split(":")]
    limits = [[int(limit) for limit in entry.split("-")] for entry in entries]
    return max(limit[-1] - limit[-1] % limit[0] for limit in limits)


def addressable(chosen: Mapping[str, Any], subject: Subject) -> bool:
    """Whether direct I/O can issue such requests on the target, and its span has room for one."""
    sizes = [chosen[key] for key in ("alignment", "misalignment") if key in chosen]
    sizes += _limits_of_sizes(chosen)
    aligned = all(size % subject.request_alignment_bytes == 0 for size in sizes)
    return aligned and _largest_bytes(chosen) <= (stream_of(chosen, subject).span_bytes or 0)


def _within(value: int | float, subject: Subject) -> int:
    """Bytes of a size or of a share of the tested part; those of a share in whole 4 KiB."""
    if isinstance(value, float) and 0 < value < 1:
        return subject.share_bytes(value)
    return subject.rounded(int(value * subject.area_bytes) if isinstance(value, float) else value)
