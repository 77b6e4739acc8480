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
from fourcorners.patterns import (
    CLOSED_LOOP,
    INCOMPRESSIBLE,
    arrival_to_json,
    content_to_json,
    pattern_to_json,
    text_of,
)
from fourcorners.replayed import TraceDocument

SECONDS_MAX = 1e9
"""Of a workload: thirty years."""
WORKERS_MAX = 256
"""Of a workload: what the core takes."""


@dataclass(frozen=True, kw_only=True)
class Stream:
    """One access specification (Iometer) or job (fio).

    ``pattern`` is ``"sequential"``, ``"random"`` (uniform), :func:`partly_random`, :func:`zipf`,
    :func:`hot_cold`, :func:`strided`, :data:`PERMUTED`, :func:`runs_of`, :func:`pareto`,
    :func:`normal` or :func:`zoned`.
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
    of a real target, ``RWF_DSYNC``). I/Os of streams with the same ``job`` are also counted by
    themselves. Requests of a stream with a ``trace`` are the trace's.
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
    sizes: str | None = None
    separate_cursors: bool = False
    strided_zones: str | None = None
    answer_batch: int = 1
    think_s: float = 0.0
    think_every_ios: int = 1
    start_s: float = 0.0
    end_s: float | None = None
    ios_per_worker: int | None = None
    bytes_per_worker: int | None = None
    job: str | None = None
    trace: TraceDocument | None = None

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
        fields["content"] = content_to_json(self.content)
        fields["arrival"] = arrival_to_json(self.arrival)
        fields["pattern"] = pattern_to_json(self.pattern)
        for name in ("think_s", "think_every_ios", "start_s", "end_s"):
            del fields[name]
        if self.think_s:
            fields["think"] = ThinkDocument(self.think_every_ios, _ns("think_s", self.think_s))
        if self.start_s:
            fields["start_ns"] = _ns("start_s", self.start_s)
        if self.end_s is not None:
            fields["end_ns"] = _ns("end_s", self.end_s)
        if self.sizes is not None:
            fields["sizes"] = _sizes_to_json(self.sizes)
        if self.strided_zones is not None:
            fields["strided_zones"] = _zones_to_json(self.strided_zones)
        usual = {"separate_cursors": False, "answer_batch": 1}
        for name in _OF_COURSES:
            # What is as usual is left out: documents of such streams are as they always were.
            if fields.get(name) == usual.get(name):
                fields[name] = msgspec.UNSET
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


_OF_COURSES = (
    *("sizes", "separate_cursors", "strided_zones", "answer_batch"),
    *("ios_per_worker", "bytes_per_worker", "job", "trace"),
)
"""Fields of a stream that only some have."""


class SizeDocument(Part, kw_only=True):
    """A size of requests, and what part of them has it; ``bytes_max`` ends a range."""

    bytes: Count
    share: float
    bytes_max: Count | None = None


class SizesDocument(msgspec.Struct):
    """The sizes of a stream's reads and writes."""

    read: list[SizeDocument]
    write: list[SizeDocument]


class StridedZonesDocument(msgspec.Struct):
    """Zones that a stream goes through."""

    range_bytes: Count
    transferred_bytes: Count
    skip_bytes: Count


class ThinkDocument(msgspec.Struct):
    """Pauses of a worker."""

    ios: Count
    time_ns: Count


class StreamDocument(msgspec.Struct, kw_only=True, rename=_DOCUMENT_NAMES):
    """A :class:`Stream` as the core reads it: what is text here are names with parameters."""

    read_share: float
    block_bytes: Count
    pattern: str | dict[str, dict[str, int | float | list[dict[str, float]]]]
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
    sizes: SizesDocument | msgspec.UnsetType | None = msgspec.UNSET
    separate_cursors: bool | msgspec.UnsetType = msgspec.UNSET
    strided_zones: StridedZonesDocument | msgspec.UnsetType | None = msgspec.UNSET
    answer_batch: Count | msgspec.UnsetType = msgspec.UNSET
    think: ThinkDocument | msgspec.UnsetType | None = msgspec.UNSET
    start_ns: Count | msgspec.UnsetType = msgspec.UNSET
    end_ns: Count | msgspec.UnsetType | None = msgspec.UNSET
    ios_per_worker: Count | msgspec.UnsetType | None = msgspec.UNSET
    bytes_per_worker: Count | msgspec.UnsetType | None = msgspec.UNSET
    job: str | msgspec.UnsetType | None = msgspec.UNSET
    trace: TraceDocument | msgspec.UnsetType | None = msgspec.UNSET

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


def _sizes_to_json(text: str) -> SizesDocument:
    parts = [_sizes_of(part) for part in text.split(",")]
    if not all(parts) or len(parts) > 2:
        raise UserError(
            f'sizes = "{text}": write bytes and percent as in 4096/75:65536/25, those of writes '
            "after a comma"
        )
    return SizesDocument(parts[0], parts[-1])


def _sizes_of(text: str) -> list[SizeDocument]:
    """Empty where the text is none."""
    found = []
    for entry in text.split(":"):
        size, _, percent = entry.partition("/")
        least, _, most = size.partition("-")
        try:
            found.append(
                SizeDocument(
                    bytes=int(least),
                    share=float(percent) / 100,
                    bytes_max=int(most) if most else None,
                )
            )
        except ValueError:
            return []
    return found


def _sizes_from_json(sizes: SizesDocument) -> str:
    def text(part: Sequence[SizeDocument]) -> str:
        return ":".join(
            f"{one.bytes}{'' if one.bytes_max is None else f'-{one.bytes_max}'}/{100 * one.share:g}"
            for one in part
        )

    read, write = text(sizes.read), text(sizes.write)
    return read if read == write else f"{read},{write}"


def _zones_to_json(text: str) -> StridedZonesDocument:
    try:
        length, volume, gap = map(int, text.split(":"))
    except ValueError:
        raise UserError(f'strided_zones = "{text}": write RANGE:VOLUME:GAP in bytes') from None
    return StridedZonesDocument(length, volume, gap)


def _stream_from_document(document: StreamDocument) -> Stream:
    fields = msgspec.structs.asdict(document)
    fields = {name: value for name, value in fields.items() if value is not msgspec.UNSET}
    if think := fields.pop("think", None):
        fields |= {"think_every_ios": think.ios, "think_s": think.time_ns / 1e9}
    for name in ("start", "end"):
        if (time_ns := fields.pop(f"{name}_ns", None)) is not None:
            fields[f"{name}_s"] = time_ns / 1e9
    if sizes := fields.get("sizes"):
        fields["sizes"] = _sizes_from_json(sizes)
    if zones := fields.get("strided_zones"):
        fields["strided_zones"] = ":".join(map(str, msgspec.structs.astuple(zones)))
    for name in ("arrival", "pattern", "content"):
        fields[name] = text_of(fields[name])
    return Stream(**fields)
