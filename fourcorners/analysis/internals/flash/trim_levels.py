"""Which parts a drive has unmapped, where it may first have to read where data lie.

Such a drive needs one of several times for a read of what was kept: that of the data, and before it
none, a read of the map, or one that waits until a change of the map is written back. A read of what
is unmapped lacks the data's time and nothing else, so that it takes one of the same times less
that. Which of both a read took tells them apart, unless two of these times are alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fourcorners.analysis.internals.thresholds import ALIKE
from fourcorners.analysis.source import Measured
from fourcorners.recording.arrays import Floats

_NEAR = math.sqrt(ALIKE)
"""A read took one of the times if both differ by no more than this ratio, so that it cannot have
taken two times that are not alike."""

_READS_MIN = 3
"""So many reads show one of the times: fewer may have been held up by chance."""

_SURE = 0.9
"""From this share on, reads of a part that tell are of what is kept, or of what is not. A few may
have been held up and taken the other's time by chance."""

_TELL = 0.5
"""At least this share of the reads of a part has to tell."""


@dataclass(frozen=True)
class _Times:
    """The times of reads of what was kept and of what is unmapped, in seconds."""

    kept_s: Sequence[float]
    unmapped_s: Sequence[float]

    def is_unmapped(self, m: Measured) -> bool | None:
        """Whether a part is unmapped, by the reads of it; ``None`` where these do not tell."""
        seconds, count = _latencies(m)
        kept, unmapped = (_near(seconds, times) for times in (self.kept_s, self.unmapped_s))
        of_kept, of_unmapped = count[kept & ~unmapped].sum(), count[unmapped & ~kept].sum()
        told = of_kept + of_unmapped
        if told < _TELL * count.sum() or max(of_kept, of_unmapped) < _SURE * told:
            return None
        return bool(of_unmapped > of_kept)


@dataclass(frozen=True)
class Unmapped:
    """The smallest part that a drive has unmapped, and whether it is the smallest that was tried;
    with the time of the data, in seconds."""

    part_bytes: int
    is_least: bool
    data_s: float


def smallest(
    trimmed: Sequence[Measured], kept: Sequence[Measured], never_written: Sequence[Measured]
) -> Unmapped | None:
    """The smallest part that a drive has unmapped; ``None`` where the times of reads do not show
    it."""
    kept_s = _times_of(kept)
    without_s = _times_of([*trimmed, *never_written])
    if not kept_s or not without_s or kept_s[0] < ALIKE * without_s[0]:
        return None
    data_s = kept_s[0] - without_s[0]
    times = _Times(kept_s, [s - data_s for s in kept_s])
    told: Mapping[int, bool] = {
        int(m.point["part_bytes"]): answer
        for m in sorted(trimmed, key=lambda m: int(m.point["part_bytes"]))
        if (answer := times.is_unmapped(m)) is not None
    }
    least = min((int(m.point["part_bytes"]) for m in trimmed), default=0)
    part = next((size for size, unmapped in told.items() if unmapped), None)
    if part is None or not all(unmapped for size, unmapped in told.items() if size > part):
        return None
    # The part of half the size has to be kept: all smaller ones are.
    if part != least and told.get(part // 2) is not False:
        return None
    return Unmapped(part, part == least, data_s)


def _latencies(m: Measured) -> tuple[Floats, Floats]:
    low_ns, high_ns, count = m.histogram
    return (low_ns + high_ns) / 2e9, count.astype(np.float64)


def _times_of(points: Sequence[Measured]) -> list[float]:
    """The times that these reads take: those that are alike are one, by their median."""
    if not points:
        return []
    seconds, count = map(np.concatenate, zip(*map(_latencies, points), strict=True))
    order = np.argsort(seconds)
    seconds, count = seconds[order], count[order]
    ends = np.flatnonzero(seconds[1:] > _NEAR * seconds[:-1]) + 1
    parts = itertools.pairwise([0, *ends.tolist(), len(seconds)])
    return [
        float(np.repeat(seconds[low:high], count[low:high].astype(int))[int(total) // 2])
        for low, high in parts
        if (total := count[low:high].sum()) >= _READS_MIN
    ]


def _near(seconds: Floats, times_s: Sequence[float]) -> npt.NDArray[np.bool_]:
    """Whether each of them is alike one of the times."""
    near = np.zeros(len(seconds), dtype=np.bool_)
    for time_s in times_s:
        near |= (seconds <= _NEAR * time_s) & (seconds >= time_s / _NEAR)
    return near
