"""What to issue: streams and workloads, as the compiled core reads them.

The rules (multiples of 512 bytes, spans inside the target, limits) are checked by the core when a
workload runs; a broken one raises :class:`fourcorners.errors.UserError` there.
"""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from fourcorners.documents import Count, Part, plain
from fourcorners.errors import UserError

INCOMPRESSIBLE = "incompressible"
REPEATED = "repeated"
SECONDS_MAX = 1e9
"""Of a workload: thirty years."""


def compressible(percent: int) -> str:
    """Content that a general compressor shrinks to ``percent`` percent (1 to 100)."""
    return f"compressible:{percent}"


def duplicated(percent: int) -> str:
    """Random content of which ``percent`` percent (1 to 99) of the 4 KiB blocks are copies."""
    return f"duplicated:{percent}"


CLOSED_LOOP = "closed"


def fixed_rate(iops: float) -> str:
    """Open loop: ``iops`` requests are due per second (0.001 to 10^9), at equal distances."""
    return f"fixed:{iops}"


def poisson_rate(iops: float) -> str:
    """Open loop: ``iops`` requests are due per second (0.001 to 10^9), as a Poisson process.

    Its count is fixed: in a run of up to a million arrivals exactly rate times time are due.
    """
    return f"poisson:{iops}"


def bursts(iops: float, ios: int, peak_iops: float | None = None) -> str:
    """Open loop: bursts of ``ios`` requests (1 to 2**20) at equal distances, nothing between them.

    ``iops`` requests per second are due in the mean (0.001 to 10^9), so that a burst begins every
    ``ios / iops`` seconds. Inside it they are due at ``peak_iops`` (``iops`` to 10^9), or all at
    once. All workers together make a burst.
    """
    return f"bursts:{iops}:{ios}" + ("" if peak_iops is None else f":{peak_iops}")


def partly_random(share: float) -> str:
    """Pattern in which a share of the I/Os (0 to 1) goes to a whole block anywhere, each of the
    others to the block after the one before: Iometer's percent random."""
    return f"partly-random:{share}"


def zipf(exponent: float) -> str:
    """Random pattern by Zipf's law: the k-th most popular place is drawn in proportion to
    ``k ** -exponent`` (above 0, up to 10; 0.99 is usual for key-value stores).

    Popular places are scattered over the span, the same ones for every stream with the same span,
    block size and alignment, whatever its seed.
    """
    return f"zipf:{exponent}"


def hot_cold(data: float, accesses: float) -> str:
    """Random pattern in which a fraction ``data`` of all places (above 0, below 1), scattered over
    the span, takes a share ``accesses`` (0 to 1) of the I/Os: ``hot_cold(0.2, 0.8)``."""
    return f"hot-cold:{data}:{accesses}"


def strided(stride_bytes: int) -> str:
    """Pattern whose k-th access is ``k * stride_bytes`` after the start of the span, wrapping at
    the last place at which a whole block fits. The stride is a multiple of the alignment; the
    workers of a stream take the accesses in turn."""
    return f"strided:{stride_bytes}"


@dataclass(frozen=True, kw_only=True)
class Stream:
    """One access specification (Iometer) or job (fio).

    ``pattern`` is ``"sequential"``, ``"random"`` (uniform), :func:`partly_random`, :func:`zipf`,
    :func:`hot_cold` or :func:`strided`.
    Sizes are in bytes and multiples of 512. ``span_bytes`` of ``None`` reaches to the end of the
    target; ``alignment_bytes`` of ``None`` is the block size; ``misalignment_bytes`` shifts every
    address, as a partition that begins at sector 63 does. ``content`` of writes is
    :data:`INCOMPRESSIBLE`, :data:`REPEATED` (the reviews' pseudo-random block: random within a
    write, the same in every write, so that it can be deduplicated and not compressed),
    :func:`compressible` or :func:`duplicated`.

    ``arrival`` is :data:`CLOSED_LOOP` (each worker always has ``queue_depth_per_worker`` I/Os
    outstanding), or :func:`fixed_rate`, :func:`poisson_rate` or :func:`bursts` over all workers: a
    request is issued when it is due, whatever the target does, its latency counts from then, and
    ``queue_depth_per_worker`` is the most that a worker has outstanding.

    Each worker flushes after every ``flush_every_writes`` of its writes (``None``: never), as
    fio's ``fsync`` does: the flush takes a place in the queue and is an operation of its own in
    the recording. ``fua`` has every write complete only when it is durable (force unit access;
    of a real target, ``RWF_DSYNC``).
    """

    read_share: float
    block_bytes: int
    pattern: str
    offset_bytes: int = 0
    span_bytes: int | None = None
    alignment_bytes: int | None = None
    misalignment_bytes: int = 0
    queue_depth_per_worker: int = 1
    arrival: str = CLOSED_LOOP
    workers: int = 1
    content: str = INCOMPRESSIBLE
    flush_every_writes: int | None = None
    fua: bool = False

    @classmethod
    def read(cls, pattern: str, block_bytes: int, **fields: Any) -> "Stream":
        """A stream that only reads; ``fields`` are the others of this class."""
        return cls(read_share=1.0, pattern=pattern, block_bytes=block_bytes, **fields)

    @classmethod
    def write(cls, pattern: str, block_bytes: int, **fields: Any) -> "Stream":
        """A stream that only writes; ``fields`` are the others of this class."""
        return cls(read_share=0.0, pattern=pattern, block_bytes=block_bytes, **fields)

    @property
    def operation(self) -> Literal["read", "write", "mixed"]:
        """What the stream does."""
        if self.read_share == 1:
            return "read"
        return "write" if self.read_share == 0 else "mixed"

    def to_json(self) -> str:
        """The stream as the core reads it, as JSON text."""
        return json.dumps(plain(self.document()))

    def document(self) -> "StreamDocument":
        """The stream as the core reads it."""
        fields = dataclasses.asdict(self)
        kind, _, percent = self.content.partition(":")
        if percent:
            fields["content"] = {kind: int(percent)}
        fields["arrival"] = _arrival_to_json(self.arrival)
        fields["pattern"] = _pattern_to_json(self.pattern)
        return StreamDocument(**fields)


@dataclass(frozen=True)
class Workload:
    """Streams that run together, and what ends them: the first limit that is reached.

    ``duration_s`` counts from the end of the ramp; ``ios`` and ``volume_bytes`` are shared evenly
    by all workers and count from the start. ``seed`` is the root of all randomness in the workload.
    ``log_ios``: every measured I/O is kept, up to about so many; of more of them a random half, a
    quarter and so on (:class:`fourcorners.IoLog`). Each takes 49 bytes of memory.
    """

    streams: Sequence[Stream]
    duration_s: float | None = None
    ios: int | None = None
    volume_bytes: int | None = None
    ramp_s: float = 0.0
    seed: int = 1
    log_ios: int = 0

    def document(self) -> "WorkloadDocument":
        """The workload as the core reads it and as a run folder keeps it: times in nanoseconds."""
        return WorkloadDocument(
            streams=[stream.document() for stream in self.streams],
            stop=StopDocument(
                time_ns=None if self.duration_s is None else _ns("duration_s", self.duration_s),
                ios=self.ios,
                bytes=self.volume_bytes,
            ),
            ramp_ns=_ns("ramp_s", self.ramp_s),
            seed=self.seed,
            log_ios=self.log_ios,
        )

    def to_json(self) -> str:
        """:meth:`document` as JSON text."""
        return json.dumps(plain(self.document()))

    @classmethod
    def from_document(cls, document: "WorkloadDocument") -> "Workload | None":
        """The workload of :meth:`document`; ``None`` of another program's, which has options."""
        if document.streams is None:
            return None
        stop = document.stop or StopDocument()
        return cls(
            streams=[_stream_from_document(stream) for stream in document.streams],
            duration_s=None if stop.time_ns is None else stop.time_ns / 1e9,
            ios=stop.ios,
            volume_bytes=stop.bytes,
            ramp_s=(document.ramp_ns or 0) / 1e9,
            seed=1 if document.seed is None else document.seed,
            log_ios=document.log_ios or 0,
        )


_DOCUMENT_NAMES = {"read_share": "read_fraction", "queue_depth_per_worker": "queue_depth"}
"""Fields of a stream that documents, and the core, name otherwise."""


class StreamDocument(msgspec.Struct, kw_only=True, rename=_DOCUMENT_NAMES):
    """A :class:`Stream` as the core reads it: what is text here are names with parameters."""

    read_share: float
    block_bytes: Count
    pattern: str | dict[str, dict[str, int | float]]
    offset_bytes: Count = 0
    span_bytes: Count | None = None
    alignment_bytes: Count | None = None
    misalignment_bytes: Count = 0
    queue_depth_per_worker: Count = 1
    arrival: str | dict[str, float | dict[str, int | float | None]] = CLOSED_LOOP
    workers: Count = 1
    content: str | dict[str, int] = INCOMPRESSIBLE
    flush_every_writes: Count | None = None
    fua: bool = False

    def __post_init__(self) -> None:
        for value in (self.pattern, self.arrival, self.content):
            if isinstance(value, dict) and len(value) != 1:
                raise ValueError("a name with parameters is an object with one field")


class StopDocument(msgspec.Struct, kw_only=True):
    """What ends a workload."""

    time_ns: Count | None = None
    ios: Count | None = None
    bytes: Count | None = None


class WorkloadDocument(Part, kw_only=True):
    """A :class:`Workload` as the core reads it and as a run folder keeps it; of another program
    that measured, only the ``options`` that it was given."""

    streams: list[StreamDocument] | None = None
    stop: StopDocument | None = None
    ramp_ns: Count | None = None
    seed: Annotated[int, msgspec.Meta(ge=0)] | None = None
    log_ios: Count | None = None
    options: dict[str, str] | None = None


def _ns(name: str, seconds: float) -> int:
    if not 0 <= seconds <= SECONDS_MAX:
        raise UserError(f"{name} of a workload is {seconds:g}: use 0 to {SECONDS_MAX:g}")
    return round(seconds * 1e9)


def _arrival_to_json(arrival: str) -> str | dict[str, Any]:
    kind, *values = arrival.split(":")
    try:
        match kind, values:
            case "bursts", [rate, ios, *peak] if len(peak) <= 1:
                return {
                    kind: {
                        "rate": float(rate),
                        "ios": int(ios),
                        "peak": float(peak[0]) if peak else None,
                    }
                }
            case _, [rate]:
                return {kind: float(rate)}
    except ValueError:
        pass
    return arrival  # The core refuses what it does not know.


def _pattern_to_json(pattern: str) -> str | dict[str, dict[str, float]]:
    kind, *values = pattern.split(":")
    names = {
        "partly-random": ["random"],
        "zipf": ["exponent"],
        "hot-cold": ["data", "accesses"],
        "strided": ["stride_bytes"],
    }.get(kind, [])
    number = int if kind == "strided" else float
    try:
        parameters = dict(zip(names, map(number, values), strict=True))
    except ValueError:
        return pattern  # The core refuses what it does not know.
    return {kind: parameters} if names else kind


def _stream_from_document(document: StreamDocument) -> Stream:
    fields = msgspec.structs.asdict(document)
    for name in ("arrival", "pattern", "content"):
        if isinstance(value := fields[name], dict):
            [(kind, parameters)] = value.items()
            numbers = list(parameters.values()) if isinstance(parameters, dict) else [parameters]
            fields[name] = ":".join([kind, *(f"{one}" for one in numbers if one is not None)])
    return Stream(**fields)
