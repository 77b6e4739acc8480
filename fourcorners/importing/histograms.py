"""fio's latency histograms and percentiles as buckets: ``low_ns``, ``high_ns`` and ``count``.

The histogram's buckets are those of fio's `stat.h`: 64 linear steps per power of two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fourcorners.importing.figures import COUNT_MAX, UnusableError, count, number
from fourcorners.recording import Histogram, Integers

# Steps of a power of two that fio's histogram tells apart (FIO_IO_U_PLAT_BITS).
_BUCKET_BITS = 6


def of_bins(bins: Mapping[str, Any]) -> Histogram:
    """Bounds of fio's buckets, which it names by their middle; raises :class:`UnusableError`."""
    counts = {
        count(middle, "a latency bin"): count(ios, "the I/Os of a latency bin")
        for middle, ios in bins.items()
    }
    middle = np.array(sorted(counts), np.int64)
    steps = np.maximum(0, np.frexp(np.maximum(middle, 1))[1] - 1 - _BUCKET_BITS)
    width = np.left_shift(np.int64(1), steps.astype(np.int64))
    low = middle - middle % width
    return _held(low, low + width - 1, np.array([counts[int(key)] for key in middle], np.int64))


def of_percentiles(
    percentiles: Mapping[str, Any], least_ns: float, most_ns: float, ios: int
) -> Histogram:
    """As many I/Os between two percentiles as their distance says; raises
    :class:`UnusableError`."""
    told = sorted(
        (number(percent, "a percentile", 100.0), number(value, "a latency percentile"))
        for percent, value in percentiles.items()
    )
    shares = [0.0, *(percent / 100 for percent, _ in told), 1.0]
    values = np.maximum.accumulate([int(least_ns), *(int(v) for _, v in told), int(most_ns)])
    ranks = np.round(np.array(shares) * ios).astype(np.int64)
    return _held(values[:-1], values[1:], np.diff(ranks))


def merged(parts: Sequence[Histogram]) -> Histogram:
    """The latencies of several at once. Where buckets overlap, as between percentiles, a part's
    I/Os are spread evenly over its bucket."""
    parts = [part for part in parts if len(part.count)]
    if len(parts) < 2:
        return parts[0] if parts else Histogram.none()
    steps = [_cumulated(*part) for part in parts]
    edges = np.unique(np.concatenate([at for at, _ in steps]))
    below = np.round(sum(np.interp(edges, at, total) for at, total in steps)).astype(np.int64)
    return _held(edges[:-1] + 1, edges[1:], np.diff(below))


def _cumulated(low: Integers, high: Integers, ios: Integers) -> tuple[Integers, Integers]:
    """Latencies, ascending and each once, and how many I/Os took no longer."""
    total = np.cumsum(ios)
    at = np.stack([low - 1, high], axis=1).ravel()
    told = np.stack([total - ios, total], axis=1).ravel()
    at, told = np.maximum.accumulate(at), told
    last = np.append(np.diff(at) > 0, True)
    return at[last], told[last]


def _held(low: Integers, high: Integers, ios: Integers) -> Histogram:
    if ios.sum(dtype=np.float64) > COUNT_MAX:
        raise UnusableError("the sum of the latency bins cannot be")
    held = ios > 0
    return Histogram(low[held], high[held], ios[held])
