"""The usual time of requests, which rare ones that hang do not change.

On a system in use a few of a thousand commands take ten or a hundred times as long as the others,
because of the host, the link or a page that is read again. A mean of some hundred commands is then
off by tens of percent. Where all commands of a measurement do the same, one at a time, the mean
without those few is what the drive takes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from fourcorners.analysis.internals.thresholds import FALSE_ALARM
from fourcorners.analysis.source import Measured
from fourcorners.recording import OperationRecording
from fourcorners.recording.arrays import Floats

HANGS = 5.0
"""A command hangs if it takes more than so many times the median. Of commands that do the same, one
at a time, none does by itself: on a disk the longest random read takes three times the median
(the longest seek and a whole turn, against a mean seek and half a turn), and times that spread
lognormally by a fifth reach 1.7 times in one of a hundred."""

RARE = 0.01
"""Commands that hang are a part of what the drive does, and not left out, if more than this share
of all do; chance has :data:`FALSE_ALARM` to make more of so many. A choice: of a system on which
more of them hang, nobody would say that it is quiet."""

RARE_COMPARED = 0.05
"""The same share where the times of two kinds of reads are compared: those that hang are then left
out of both, since hundreds of one kind may have none of them where thousands of the other have more
than :data:`RARE`. More than a few of a hundred are a part of what a drive does: a choice."""


def usual_s(m: Measured, rare: float = RARE) -> float:
    """The mean latency of a measurement, in seconds, without commands that hang if no more than
    this share do, and those that chance adds to it."""
    middle_s, count = usual_latencies(m, rare)
    if count.sum() == m.ios:
        return m.latency_mean_s or 0.0
    return float(np.average(middle_s, weights=count))


def usual_latencies(m: Measured, rare: float = RARE) -> tuple[Floats, npt.NDArray[np.int64]]:
    """The latencies of the same commands in seconds, and how often each occurred; both with shape
    (buckets,)."""
    low_ns, high_ns, count = m.histogram
    middle_s = (low_ns + high_ns) / 2e9
    total = int(count.sum())
    median_s = middle_s[np.searchsorted(np.cumsum(count), total / 2)]
    hang = middle_s > HANGS * median_s
    hanging = int(count[hang].sum())
    if not 0 < hanging <= scipy.stats.binom.isf(FALSE_ALARM, total, rare):
        return middle_s, count
    return middle_s[~hang], count[~hang]


def share_below(reads: OperationRecording, limit_s: float) -> float:
    """The share of the reads that took less than the limit."""
    low, _, count = reads.histogram
    return float(count[low < limit_s * 1e9].sum() / max(count.sum(), 1))
