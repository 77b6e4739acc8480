"""A trace becomes a workload of streams: a suite file that runs like any other.

Each part of the trace is a stream with its own sizes, places, skew and arrivals. What streams
cannot say is counted and told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from fourcorners.documents import Part
from fourcorners.errors import UserError
from fourcorners.recording import NS
from fourcorners.trace.changing import transformed
from fourcorners.trace.parting import BURST_MIN, TracePart, bursts, flushes_of_writes, parts_of
from fourcorners.trace.skew import fitted_zipf
from fourcorners.units import parse_bytes
from fourcorners.wording import chosen_size, count

_IOS_MAX = 2_000_000
"""Some seconds of work, and 200 MB."""
_SIZES_MAX = 16
"""What a person can read in the file."""
_DEPTH = 256
"""Most that a stream has outstanding: it issues when the trace did, as far as that goes."""
_ENDLESS_IOS = 4096
"""A run of more is one that goes on through the span."""
_LINK = 32
"""Places of SATA's link, which fill up before anything waits."""
_REGULAR = 0.3
"""Of the squared coefficient of variation of the gaps, which is 1 of arrivals at random: below it
they are at equal distances."""

Array = npt.NDArray[np.int64]


class FittedStream(Part):
    """A stream of the workload, and what of the trace it stands for."""

    operation: str
    sequential: bool
    ios: int
    bytes: int
    pattern: str
    arrival: str
    sizes: str
    alignment_bytes: int
    offset_bytes: int
    span_bytes: int
    fua: bool
    flush_every_writes: int | None
    start_s: float = 0.0
    """When it begins, from the start of the trace: after a change of its rate, or with the first of
    its bursts."""
    stop_s: float | None = None
    """When its rate changes; None where it goes on to the end."""


class FitFigure(Part):
    """A figure of the trace's replay and of its streams, on the same drive."""

    name: str
    unit: str
    trace: float | None
    streams: float | None
    """The mean over seeds."""
    streams_low: float | None
    streams_high: float | None
    """The least and the largest of them."""


class FitAgreement(Part):
    """How well the streams do on a simulated drive what the trace does."""

    drive: str
    locator: str
    seeds: int
    figures: list[FitFigure]


class TraceFit(Part):
    """A trace as streams."""

    trace: str
    ios: int
    length_s: float
    streams: list[FittedStream]
    left_out: dict[str, int]
    """What streams cannot say, and how many I/Os had it."""
    suite: str
    """The file, as TOML."""
    agreement: FitAgreement | None = None


def fitted(file: Path | str, *, name: str | None = None, format: str | None = None) -> TraceFit:
    """A workload of streams for a trace, as :func:`fourcorners.trace_fit` says."""
    columns = _columns(Path(file), format)
    times, operations, fua = columns["time_ns"], columns["operation"], columns["fua"]
    left_out: dict[str, int] = {}
    length_s = float(times[-1] - times[0]) * NS if len(times) else 0.0
    moving = np.isin(operations, ("read", "write"))
    for other in ("discard", "write-zeroes"):
        if number := int((operations == other).sum()):
            left_out[other] = number
    if moving.sum() < 2 or length_s <= 0:
        raise UserError(f"{file} has no two reads or writes at different times: nothing to fit")
    flushes, flushed = flushes_of_writes(operations)
    if alone := int((operations == "flush").sum()) - len(flushes):
        left_out["flush"] = alone
    parts = parts_of(columns, flushed)
    found = []
    for one in parts:
        chosen = one.chosen
        own = flushes[chosen[flushed]]
        own_fua = fua[chosen]
        is_fua = bool(own_fua.mean() >= 0.5)
        if wrong := int((own_fua != is_fua).sum()):
            key = "writes without FUA" if is_fua else "FUA"
            left_out[key] = left_out.get(key, 0) + wrong
        stream = _stream(columns, one.operation, one.sequential, chosen, is_fua)
        rate = stream.ios / ((one.end_ns - one.begin_ns) * NS)
        if len(own):
            stream.flush_every_writes = max(round(stream.ios / len(own)), 1)
            # A flush takes the place of a request among those that are due, and comes when it
            # came in the trace: right behind its write it waits for that in the drive.
            rate *= 1 + 1 / stream.flush_every_writes
        due = np.sort(np.concatenate([times[chosen], times[own]]).astype(np.int64))
        stream.arrival = _arrival(due, rate)
        # The first burst comes when it came in the trace, and as many as in the trace.
        period_s = len(due) / len(bursts(due)) / rate if "bursts" in stream.arrival else 0.0
        waits_s = min((int(due[0]) - one.begin_ns) * NS, period_s)
        stream.start_s = (one.begin_ns - int(times[0])) * NS + waits_s
        stream.stop_s = None if one.end_ns == times[-1] else (one.end_ns - int(times[0])) * NS
        found.append(stream)
    _place(found, columns, parts)
    return TraceFit(
        trace=str(file),
        ios=len(times),
        length_s=length_s,
        streams=found,
        left_out=left_out,
        suite=_suite(name or _name_of(Path(file)), Path(file).name, found, length_s),
    )


def _columns(file: Path, format: str | None) -> dict[str, npt.NDArray[np.generic]]:
    import pyarrow.parquet as pq

    with TemporaryDirectory(prefix="fourcorners-") as folder:
        own = Path(folder) / "own.parquet"
        transformed([file], own, None, format=format, to="parquet", replace=False)
        names = ["time_ns", "operation", "fua", "offset_bytes", "length_bytes", "volume"]
        batches, rows = [], 0
        with pq.ParquetFile(own) as table:
            for batch in table.iter_batches(columns=names, batch_size=1 << 18):
                batches.append(batch.slice(0, min(len(batch), _IOS_MAX - rows)))
                rows += len(batches[-1])
                if rows >= _IOS_MAX:
                    break
    import pyarrow as pa

    if not batches:
        raise UserError(f"{file} has no I/Os: nothing to fit")
    whole = pa.Table.from_batches(batches)
    return {one: np.asarray(whole[one].to_numpy()) for one in names}


def _stream(
    columns: dict[str, npt.NDArray[np.generic]],
    operation: str,
    sequential: bool,
    chosen: npt.NDArray[np.bool_],
    fua: bool,
) -> FittedStream:
    offsets: Array = columns["offset_bytes"][chosen].astype(np.int64)
    lengths: Array = columns["length_bytes"][chosen].astype(np.int64)
    volumes: Array = columns["volume"][chosen].astype(np.int64)
    lengths = np.maximum(-(-lengths // 512) * 512, 512)
    # A run goes on by lengths; elsewhere only places count.
    alignment = _alignment(np.concatenate([offsets, lengths]) if sequential else offsets)
    largest = int(lengths.max())
    if sequential:
        starts = ~_follows(volumes, offsets, lengths)
        runs = max(int(starts.sum()), 1)
        each = round(len(offsets) / runs)
        pattern = "sequential" if each >= _ENDLESS_IOS or runs == 1 else f"runs:{max(each, 2)}"
        span = _covered(volumes, offsets, lengths)
    else:
        places = volumes * (1 << 44) + offsets // alignment
        _, counts = np.unique(places, return_counts=True)
        room = max(int(offsets.max()) // alignment + 1, len(counts))
        exponent, count_of_places = fitted_zipf(counts, room)
        pattern = "random" if exponent == 0 else f"zipf:{exponent:g}"
        span = count_of_places * alignment
    span = max(-(-span // alignment) * alignment, largest + (-largest % alignment))
    return FittedStream(
        operation=operation,
        sequential=sequential,
        ios=len(offsets),
        bytes=int(lengths.sum()),
        pattern=pattern,
        arrival="",
        sizes=_sizes(lengths, _alignment(lengths)),
        alignment_bytes=alignment,
        offset_bytes=0,
        span_bytes=span,
        fua=fua,
        flush_every_writes=None,
    )


def _follows(volumes: Array, offsets: Array, lengths: Array) -> npt.NDArray[np.bool_]:
    """Whether each begins where one before it ended; that of one far back counts as well."""
    ends: set[tuple[int, int]] = set()
    result = np.zeros(len(offsets), dtype=bool)
    rows = zip(volumes.tolist(), offsets.tolist(), lengths.tolist(), strict=True)
    for row, (volume, offset, length) in enumerate(rows):
        result[row] = (volume, offset) in ends
        ends.discard((volume, offset))
        ends.add((volume, offset + length))
    return result


def _alignment(places: Array) -> int:
    """The largest power of two that nearly all places are multiples of."""
    for power in range(20, 9, -1):
        if (places % (1 << power) == 0).mean() >= 0.99:
            return 1 << power
    return 512


def _covered(volumes: Array, offsets: Array, lengths: Array) -> int:
    """Bytes that are accessed, in blocks of 4 KiB where they are not more than I/Os can tell."""
    order = np.lexsort((offsets, volumes))
    total, last_volume, reached = 0, -1, 0
    rows = zip(
        volumes[order].tolist(), offsets[order].tolist(), lengths[order].tolist(), strict=True
    )
    for volume, offset, length in rows:
        if volume != last_volume:
            last_volume, reached = volume, 0
        end = offset + length
        total += max(end - max(offset, reached), 0)
        reached = max(reached, end)
    return total


def _sizes(lengths: Array, alignment: int) -> str:
    """Sizes and percent, as a suite file has them; of many, neighbours together at their mean."""
    values, counts = np.unique(lengths, return_counts=True)
    if len(values) > _SIZES_MAX:
        middle = np.cumsum(counts) - counts / 2
        group = (middle / counts.sum() * _SIZES_MAX).astype(int)
        taken: dict[int, int] = {}
        for number in np.unique(group):
            of = group == number
            weight = int(counts[of].sum())
            mean = float((values[of] * counts[of]).sum() / weight)
            size = max(round(mean / alignment), 1) * alignment
            taken[size] = taken.get(size, 0) + weight
        values, counts = np.asarray(list(taken)), np.asarray(list(taken.values()))
    shares = 100 * counts / counts.sum()
    # With fewer digits sixteen shares may not add up to 100 as exactly as a workload takes them.
    return ":".join(
        f"{_exact(int(size))}/{share:.9g}" for size, share in zip(values, shares, strict=True)
    )


def _exact(size: int) -> str:
    """A size as a suite file has it, which is not to be rounded."""
    text = chosen_size(size)
    return text if parse_bytes(text) == size else f"{size} B"


def _arrival(times: Array, rate: float) -> str:
    """When requests are due, of which there are so many a second in the mean."""
    gaps = np.diff(times).astype(np.float64)
    poisson = f"poisson:{max(rate, 0.001):.6g}"
    if len(gaps) < 2 or gaps.mean() <= 0:
        return poisson
    firsts = bursts(times)
    each = len(times) / len(firsts)
    if each >= BURST_MIN:
        inside = _within_bursts(times, firsts)
        ios = min(round(each), 1 << 20)
        # All at once where the trace's clock tells nothing between them.
        peak = 1e9 / inside if inside > 0 else math.inf
        text = f"bursts:{rate:.6g}:{ios}"
        return f"{text}:{peak:.6g}" if rate < peak <= 1e9 else text
    variation = float(gaps.var() / gaps.mean() ** 2)
    return f"fixed:{max(rate, 0.001):.6g}" if variation < _REGULAR else poisson


def _within_bursts(times: Array, firsts: npt.NDArray[np.intp]) -> float:
    """How far apart, in ns, the I/Os of bursts are, as half of them see it who look at as many as
    a link holds: a pause between the portions of a burst, in which a drive catches up, would spread
    all of it out."""
    burst = np.zeros(len(times), dtype=np.intp)
    burst[firsts] = 1
    burst = np.cumsum(burst)
    reach = np.minimum(_LINK, np.bincount(burst)[burst]) - 1
    ahead = np.minimum(np.arange(len(times)) + reach, len(times) - 1)
    whole = (reach > 0) & (burst[ahead] == burst)
    return float(np.median((times[ahead] - times)[whole] / reach[whole]))


def _place(
    found: Sequence[FittedStream],
    columns: dict[str, npt.NDArray[np.generic]],
    parts: Sequence[TracePart],
) -> None:
    """Streams whose places do not overlap in the trace lie one behind the other, the others
    together."""
    extents = []
    for stream, one in zip(found, parts, strict=True):
        chosen = one.chosen
        places = columns["volume"][chosen].astype(np.int64) * (1 << 52) + columns["offset_bytes"][
            chosen
        ].astype(np.int64)
        # A few far away do not make them one.
        low, high = np.percentile(places, [1, 99])
        extents.append((float(low), float(high), stream))
    extents.sort(key=lambda one: one[0])
    base = width = 0
    reached = -1.0
    for low, high, stream in extents:
        if low > reached:
            base, width = base + width, 0
        whole = 1 << 20
        stream.offset_bytes = base
        width = max(width, -(-stream.span_bytes // whole) * whole)
        reached = max(reached, high)


def _name_of(file: Path) -> str:
    stem = "".join(one if one.isalnum() else "-" for one in file.name.split(".")[0].lower())
    return f"fit-{stem.strip('-') or 'trace'}"


def _suite(name: str, trace: str, streams: Sequence[FittedStream], length_s: float) -> str:
    end = max(one.offset_bytes + one.span_bytes for one in streams)
    shown = "".join(one for one in trace if one.isprintable() and one not in '"\\{}')
    lines = [
        f"# Streams that were fitted to the trace {shown} by fourcorners trace fit.",
        "schema_version = 1",
        f'name = "{name}"',
        f'title = "Fitted to {shown}"',
        "",
        "[[test]]",
        f'name = "{name}"',
        f'title = "Fitted to {shown}"',
        'purpose = "What the trace asks for, as streams."',
        f'prepare = ["purge", "fill {end} B", "settle"]',
        "",
        "[[test.workload]]",
        f'name = "{name}"',
        f'duration = "{length_s:.9g} s"',
    ]
    for one in streams:
        lines += [
            "",
            f"# {count(one.ios, one.operation)}, {'in order' if one.sequential else 'at random'}",
            "[[test.workload.stream]]",
            f"reads = {1.0 if one.operation == 'read' else 0.0}",
            f'sizes = "{one.sizes}"',
            f'pattern = "{one.pattern}"',
            f'alignment = "{one.alignment_bytes} B"',
            f'arrival = "{one.arrival}"',
            f"queue-depth = {_DEPTH}",
            f'span = "{one.span_bytes} B"',
        ]
        if one.offset_bytes:
            lines.append(f'offset = "{one.offset_bytes} B"')
        if one.start_s:
            lines.append(f'start = "{one.start_s:.9g} s"')
        if one.stop_s is not None:
            lines.append(f'stop = "{one.stop_s:.9g} s"')
        if one.fua:
            lines.append("fua = true")
        if one.flush_every_writes:
            lines.append(f"flush-every = {one.flush_every_writes}")
    return "\n".join(lines) + "\n"
