"""Which I/Os of a trace become a stream of their own.

Parts are reads and writes, of each those in order and not, of each of these those in far larger
bursts than the rest, of these again, of writes those that a flush follows where it follows no whole
number of them, and of each what comes before its rate changes and what comes after.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_ENDS_KEPT = 32
"""As "trace info" has it: more streams than a host has open at a time, few enough for chance."""
_RUN_MIN = 4
"""I/Os of a run, its first one with them: by chance two may follow one another, hardly four."""
_SHARE_MIN = 0.02
"""Of an operation's I/Os: what is rarer belongs to its other part."""
_BURST_GAP = 0.25
"""Of the mean gap: what comes closer belongs to a burst. Of arrivals at random 22 % do, so that a
burst has 1.28 of them in the mean."""
BURST_MIN = 1.6
"""I/Os of a burst in the mean: well above those 1.28, and below the 2 of writes most of which have
a flush right behind them."""
_LARGE = 8
"""A burst of so many times the median one's I/Os is of another kind."""
_LEVELS = 2
"""How often: with eight times the I/Os each time, what is left is alike within as much."""
_LARGE_SHARE = 0.05
"""Of the I/Os that are in large bursts, or in others: of fewer no stream is made."""
_FLUSHES_WRONG = 1 / 8
"""Of a part's flushes: a stream flushes after a whole number of writes, and from four on that is as
far off as rounding can be."""
_CHANGED = 1.5
"""Times as often before or after: what is less, a stream of the mean rate says well enough."""
_CHANGED_RATIO = 13.0
"""Twice the logarithm of the ratio of likelihoods, where it is largest: one in a hundred of
constant rates has so much or more (13.3 of 3,000 draws of 500 arrivals; Andrews, Econometrica 61,
1993)."""
_CHANGED_WITHIN = 0.05
"""Of the time, at each end: no change is looked for there."""

Array = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class TracePart:
    """I/Os that become a stream."""

    operation: str
    sequential: bool
    chosen: Mask
    """Of all rows of the trace."""
    begin_ns: int
    end_ns: int
    """When it begins and ends, on the trace's clock."""


def parts_of(
    columns: dict[str, npt.NDArray[np.generic]], flushed: npt.NDArray[np.intp]
) -> list[TracePart]:
    """The parts of a trace's reads and writes; ``flushed`` are writes that a flush follows."""
    times, operations = columns["time_ns"].astype(np.int64), columns["operation"]
    sequential = _sequential(columns)
    parts = []
    for operation in ("read", "write"):
        of = operations == operation
        in_runs = of & sequential
        if of.sum() and in_runs.sum() < _SHARE_MIN * of.sum():
            in_runs = np.zeros_like(of)
        elif of.sum() and (of & ~in_runs).sum() < _SHARE_MIN * of.sum():
            in_runs = of
        parts += [
            TracePart(operation, runs, part, *span)
            for runs, chosen in ((True, in_runs), (False, of & ~in_runs))
            for large in _by_bursts(times, chosen)
            for same in _by_flushes(large, flushed)
            for part, span in _by_rates(times, same)
        ]
    return parts


def _sequential(columns: dict[str, npt.NDArray[np.generic]]) -> Mask:
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
    result: Mask = is_run[run_of]
    return result


def _by_bursts(times: Array, chosen: Mask, levels: int = _LEVELS) -> list[Mask]:
    """What comes in bursts far larger than most, such as a checkpoint beside commits, and the
    rest; of the first again, as of a checkpoint beside commits that were made up for. One part
    where there is no such difference, none of nothing."""
    rows = np.flatnonzero(chosen)
    if len(rows) < 3:
        return [chosen] if len(rows) else []
    burst = np.zeros(len(rows), dtype=np.intp)
    burst[bursts(times[rows])[1:]] = 1
    burst = np.cumsum(burst)
    sizes = np.bincount(burst)
    is_large = sizes >= max(_LARGE * float(np.median(sizes)), _LARGE)
    inside = is_large[burst]
    if not _LARGE_SHARE <= inside.mean() <= 1 - _LARGE_SHARE or is_large.sum() < 2:
        return [chosen]
    large, rest = np.zeros_like(chosen), np.zeros_like(chosen)
    large[rows[inside]] = True
    rest[rows[~inside]] = True
    return [*(_by_bursts(times, large, levels - 1) if levels > 1 else [large]), rest]


def flushes_of_writes(
    operations: npt.NDArray[np.generic],
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The flushes that belong to writes, one to each, and the writes: the last ones before them."""
    flushes = np.flatnonzero(operations == "flush")
    writes = np.flatnonzero(operations == "write")
    before = np.searchsorted(writes, flushes)
    flushes, owners = flushes[before > 0], writes[before[before > 0] - 1]
    owners, first = np.unique(owners, return_index=True)
    return flushes[first], owners


def _by_flushes(chosen: Mask, flushed: npt.NDArray[np.intp]) -> list[Mask]:
    """Writes that a flush follows, and the rest, where a flush after a whole number of them would
    be far too often or too seldom; one part where it would not, or where none has one."""
    own = flushed[chosen[flushed]]
    each = int(chosen.sum()) / max(len(own), 1)
    if not len(own) or abs(round(each) - each) <= _FLUSHES_WRONG * each:
        return [chosen]
    with_flush = np.zeros_like(chosen)
    with_flush[own] = True
    return [with_flush, chosen & ~with_flush]


def _by_rates(times: Array, chosen: Mask) -> list[tuple[Mask, tuple[int, int]]]:
    """What comes before and after the moment at which the rate changes most, each with its time,
    where it changes by so much that no chance does it; else one part with all of the time. Bursts
    count as one: that many I/Os come together is no change."""
    own = times[chosen]
    begin, end = int(times[0]), int(times[-1])
    whole = [(chosen, (begin, end))]
    at = own[bursts(own)]
    number = len(at)
    shares = (at - begin) / (end - begin)
    # A change lies at an arrival, of which it may be the last of before or the first of after.
    before = np.concatenate([np.arange(number), np.arange(1, number + 1)])
    moments = np.concatenate([shares, shares])
    inside = (moments > _CHANGED_WITHIN) & (moments < 1 - _CHANGED_WITHIN)
    before, moments = before[inside], moments[inside]
    if not len(moments):
        return whole
    after = number - before

    def likelihood(count: Array, share: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        ratio = np.maximum(count, 1) / (number * share)
        return np.asarray(count * np.log(ratio))

    ratios = 2 * (likelihood(before, moments) + likelihood(after, 1 - moments))
    best = int(np.argmax(ratios))
    rates = before[best] / moments[best], after[best] / (1 - moments[best])
    if ratios[best] < _CHANGED_RATIO or max(rates) < _CHANGED * min(rates):
        return whole
    moment = begin + round(float(moments[best]) * (end - begin))
    early, late = chosen & (times < moment), chosen & (times >= moment)
    if min(early.sum(), late.sum()) < _SHARE_MIN * chosen.sum():
        return whole
    return [(early, (begin, moment)), (late, (moment, end))]


def bursts(times: Array) -> npt.NDArray[np.intp]:
    """The first I/O of each burst. What comes close together is one, and so are bursts that do: a
    checkpoint whose writes reach the drive in portions is one for what waits behind it."""
    firsts = np.arange(len(times))
    while len(firsts) > 2:
        ends = times[np.append(firsts[1:], len(times)) - 1]
        apart = (times[firsts[1:]] - ends[:-1]).astype(np.float64)
        begins = np.append(True, apart >= _BURST_GAP * np.diff(times[firsts]).mean())
        if len(firsts) < BURST_MIN * begins.sum():
            break
        firsts = firsts[begins]
    return firsts
