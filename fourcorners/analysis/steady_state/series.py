"""The tracked value of a test, round by round, over what was written."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fourcorners.recording.arrays import Floats


@dataclass(frozen=True, eq=False)
class Series:
    """Rounds, or seconds, in order; all arrays have the shape (rounds,).

    ``value`` is a rate, such as I/Os or bytes per second, or anything whose mean over time is
    wanted; ``duration_s`` is how long each round took; ``written_bytes`` is all that was written
    to the drive in it, by every workload of the round.
    """

    value: Floats
    duration_s: Floats
    written_bytes: Floats

    def __post_init__(self) -> None:
        if not len(self.value) == len(self.duration_s) == len(self.written_bytes):
            raise ValueError("value, duration_s and written_bytes have one entry per round each")

    @classmethod
    def of_seconds(cls, value: npt.ArrayLike, written_bytes: npt.ArrayLike) -> "Series":
        """A series with one entry a second, such as a recording's ``second_*``."""
        values = np.asarray(value, dtype=np.float64)
        return cls(values, np.ones(len(values)), np.asarray(written_bytes, dtype=np.float64))

    def __len__(self) -> int:
        return len(self.value)

    @property
    def elapsed_s(self) -> float:
        """Duration of all rounds."""
        return float(self.duration_s.sum())


@dataclass(frozen=True, eq=False)
class Progression:
    """A series in parts of equal work: as many bytes written each, or as much time where nothing
    is written. All arrays have the shape (parts,)."""

    value: Floats
    """Mean over the part's time."""
    duration_s: Floats
    work: float
    """Bytes (or seconds) of a part."""
    by_bytes: bool

    def mean_from(self, first: int) -> float:
        """Mean of the value over the time of the parts from ``first`` on."""
        return float(np.average(self.value[first:], weights=self.duration_s[first:]))


def progression(series: Series, parts_max: int) -> Progression:
    """The series in at most ``parts_max`` parts of equal work.

    What a drive goes through, it goes through by bytes written and not by time: free blocks are
    used up, and collected, by writes. Rounds are divided evenly over their bytes.
    """
    keep = series.duration_s > 0
    duration = series.duration_s[keep]
    work = series.written_bytes[keep]
    by_bytes = bool(work.sum() > 0)
    if not by_bytes:
        work = duration
    parts = max(1, min(parts_max, len(duration)))
    work_sum = np.concatenate(([0.0], np.cumsum(work)))
    time_sum = np.concatenate(([0.0], np.cumsum(duration)))
    area_sum = np.concatenate(([0.0], np.cumsum(series.value[keep] * duration)))
    edges = np.linspace(0.0, work_sum[-1], parts + 1)
    time_at = np.interp(edges, work_sum, time_sum)
    area_at = np.interp(edges, work_sum, area_sum)
    # Rounds at either end that wrote nothing take their time all the same.
    time_at[0], area_at[0] = 0.0, 0.0
    times, areas = np.diff(time_at), np.diff(area_at)
    times = np.maximum(times, 1e-12)
    return Progression(areas / times, times, float(work_sum[-1]) / parts, by_bytes)
