"""A trace becomes a workload of streams: a suite file that runs like any other.

Reads and writes are told apart, of each what goes on where another one of the last 32 ended from
what does not, of each of these what comes in large bursts from the rest, and of writes those
that a flush follows, where it follows no whole number of them. Each of the up to twelve parts is a
stream with its own sizes, places, skew and arrivals. What streams cannot say is counted and told.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from fourcorners.documents import Part
from fourcorners.errors import UserError
from fourcorners.recording import NS
from fourcorners.trace.changing import transformed
from fourcorners.trace.skew import fitted_zipf
from fourcorners.wording import chosen_size, count

_IOS_MAX = 2_000_000
"""Some seconds of work, and 200 MB."""
_ENDS_KEPT = 32
"""As "trace info" has it: more streams than a host has open at a time, few enough for chance."""
_RUN_MIN = 4
"""I/Os of a run, its first one with them: by chance two may follow one another, hardly four."""
_SHARE_MIN = 0.02
"""Of an operation's I/Os: what is rarer belongs to its other part."""
_SIZES_MAX = 16
"""What a person can read in the file."""
_DEPTH = 256
"""Most that a stream has outstanding: it issues when the trace did, as far as that goes."""
_ENDLESS_IOS = 4096
"""A run of more is one that goes on through the span."""
_BURST_GAP = 0.25
"""Of the mean gap: what comes closer belongs to a burst. Of arrivals at random 22 % do, so that a
burst has 1.28 of them in the mean."""
_BURST_MIN = 1.6
"""I/Os of a burst in the mean: well above those 1.28, and below the 2 of writes most of which have
a flush right behind them."""
_LARGE = 8
"""A burst of so many times the median one's I/Os is of another kind."""
_LARGE_SHARE = 0.05
"""Of the I/Os that are in large bursts, or in others: of fewer no stream is made."""
_FLUSHES_WRONG = 1 / 8
"""Of a part's flushes: a stream flushes after a whole number of writes, and from four on that is as
far off as rounding can be."""
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
    sequential = _sequential(columns)
    parts: list[tuple[str, bool, npt.NDArray[np.bool_]]] = []
    flushes, flushed = _flushes(operations)
    if alone := int((operations == "flush").sum()) - len(flushes):
        left_out["flush"] = alone
    for operation in ("read", "write"):
        of = operations == operation
        in_runs = of & sequential
        if of.sum() and in_runs.sum() < _SHARE_MIN * of.sum():
            in_runs = np.zeros_like(of)
        elif of.sum() and (of & ~in_runs).sum() < _SHARE_MIN * of.sum():
            in_runs = of
        parts += [
            (operation, runs, part)
            for runs, chosen in ((True, in_runs), (False, of & ~in_runs))
            for large in _by_bursts(times, chosen)
            for part in _by_flushes(large, flushed)
        ]
    found = []
    for operation, runs, chosen in parts:
        own = flushes[chosen[flushed]]
        own_fua = fua[chosen]
        is_fua = bool(own_fua.mean() >= 0.5)
        if wrong := int((own_fua != is_fua).sum()):
            key = "writes without FUA" if is_fua else "FUA"
            left_out[key] = left_out.get(key, 0) + wrong
        stream = _stream(columns, operation, runs, chosen, is_fua)
        rate = stream.ios / length_s
        if len(own):
            stream.flush_every_writes = max(round(stream.ios / len(own)), 1)
            # A flush takes the place of a request among those that are due, and comes when it
            # came in the trace: right behind its write it waits for that in the drive.
            rate *= 1 + 1 / stream.flush_every_writes
        due = np.sort(np.concatenate([times[chosen], times[own]]).astype(np.int64))
        stream.arrival = _arrival(due, rate)
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


def _sequential(columns: dict[str, npt.NDArray[np.generic]]) -> npt.NDArray[np.bool_]:
    """Whether each I/O is one of a run."""
    number = len(columns["time_ns"])
    run_of = np.full(number, -1, dtype=np.int64)
    lengths: list[int] = []
    ends: dict[str, OrderedDict[tuple[int, int], int]] = {
        "read": OrderedDict(),
        "write": OrderedDict(),
    }
    rows = zip(
        columns["operation"].tolist(),
        columns["volume"].tolist(),
        columns["offset_bytes"].tolist(),
        columns["length_bytes"].tolist(),
        strict=True,
    )
    for row, (operation, volume, offset, length) in enumerate(rows):
        known = ends.get(operation)
        if known is None:
            continue
        run = known.pop((volume, offset), -1)
        if run < 0:
            run = len(lengths)
            lengths.append(0)
        lengths[run] += 1
        run_of[row] = run
        known[volume, offset + length] = run
        if len(known) > _ENDS_KEPT:
            known.popitem(last=False)
    is_run = np.asarray([*lengths, 0]) >= _RUN_MIN
    is_run[-1] = False
    result: npt.NDArray[np.bool_] = is_run[run_of]
    return result


def _by_bursts(
    times: npt.NDArray[np.generic], chosen: npt.NDArray[np.bool_]
) -> list[npt.NDArray[np.bool_]]:
    """What comes in bursts far larger than most, such as a checkpoint beside commits, and the
    rest; one part where there is no such difference, none of nothing."""
    rows = np.flatnonzero(chosen)
    if len(rows) < 3:
        return [chosen] if len(rows) else []
    gaps = np.diff(times[rows].astype(np.int64))
    burst = np.concatenate([[0], np.cumsum(gaps >= _BURST_GAP * gaps.mean())])
    sizes = np.bincount(burst)
    is_large = sizes >= max(_LARGE * float(np.median(sizes)), _LARGE)
    inside = is_large[burst]
    if not _LARGE_SHARE <= inside.mean() <= 1 - _LARGE_SHARE or is_large.sum() < 2:
        return [chosen]
    large, rest = np.zeros_like(chosen), np.zeros_like(chosen)
    large[rows[inside]] = True
    rest[rows[~inside]] = True
    return [large, rest]


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
    return ":".join(
        f"{chosen_size(int(size))}/{share:.6g}" for size, share in zip(values, shares, strict=True)
    )


def _arrival(times: Array, rate: float) -> str:
    """When requests are due, of which there are so many a second in the mean."""
    gaps = np.diff(times).astype(np.float64)
    poisson = f"poisson:{max(rate, 0.001):.6g}"
    if len(gaps) < 2 or gaps.mean() <= 0:
        return poisson
    firsts = _bursts(times)
    each = len(times) / len(firsts)
    if each >= _BURST_MIN:
        lasts = np.append(firsts[1:], len(times)) - 1
        inside = float((times[lasts] - times[firsts]).sum()) / max(len(times) - len(firsts), 1)
        ios = min(round(each), 1 << 20)
        # All at once where the trace's clock tells nothing between them.
        peak = 1e9 / inside if inside > 0 else math.inf
        text = f"bursts:{rate:.6g}:{ios}"
        return f"{text}:{peak:.6g}" if rate < peak <= 1e9 else text
    variation = float(gaps.var() / gaps.mean() ** 2)
    return f"fixed:{max(rate, 0.001):.6g}" if variation < _REGULAR else poisson


def _bursts(times: Array) -> npt.NDArray[np.intp]:
    """The first I/O of each burst. What comes close together is one, and so are bursts that do: a
    checkpoint whose writes reach the drive in portions is one for what waits behind it."""
    firsts = np.arange(len(times))
    while len(firsts) > 2:
        ends = times[np.append(firsts[1:], len(times)) - 1]
        apart = (times[firsts[1:]] - ends[:-1]).astype(np.float64)
        begins = np.append(True, apart >= _BURST_GAP * np.diff(times[firsts]).mean())
        if len(firsts) < _BURST_MIN * begins.sum():
            break
        firsts = firsts[begins]
    return firsts


def _flushes(
    operations: npt.NDArray[np.generic],
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The flushes that belong to writes, one to each, and the writes: the last ones before them."""
    flushes = np.flatnonzero(operations == "flush")
    writes = np.flatnonzero(operations == "write")
    before = np.searchsorted(writes, flushes)
    flushes, owners = flushes[before > 0], writes[before[before > 0] - 1]
    owners, first = np.unique(owners, return_index=True)
    return flushes[first], owners


def _by_flushes(
    chosen: npt.NDArray[np.bool_], flushed: npt.NDArray[np.intp]
) -> list[npt.NDArray[np.bool_]]:
    """Writes that a flush follows, and the rest, where a flush after a whole number of them would
    be far too often or too seldom; one part where it would not, or where none has one."""
    own = flushed[chosen[flushed]]
    each = int(chosen.sum()) / max(len(own), 1)
    if not len(own) or abs(round(each) - each) <= _FLUSHES_WRONG * each:
        return [chosen]
    with_flush = np.zeros_like(chosen)
    with_flush[own] = True
    return [with_flush, chosen & ~with_flush]


def _place(
    found: Sequence[FittedStream],
    columns: dict[str, npt.NDArray[np.generic]],
    parts: Sequence[tuple[str, bool, npt.NDArray[np.bool_]]],
) -> None:
    """Streams whose places do not overlap in the trace lie one behind the other, the others
    together."""
    extents = []
    for stream, (_, _, chosen) in zip(found, parts, strict=True):
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
        if one.fua:
            lines.append("fua = true")
        if one.flush_every_writes:
            lines.append(f"flush-every = {one.flush_every_writes}")
    return "\n".join(lines) + "\n"
