"""What a recording has more than one number of, as numpy arrays."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NS = 1e-9


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many I/Os took how long; all arrays have shape (buckets,).

    Bounds are inclusive and in nanoseconds, ascending; only buckets that hold something are there.
    It unpacks into its three arrays.
    """

    low_ns: Integers
    high_ns: Integers
    count: Integers

    @classmethod
    def none(cls) -> "Histogram":
        """Nothing was kept."""
        return cls(*(np.zeros(0, np.int64) for _ in range(3)))

    def __iter__(self) -> Iterator[Integers]:
        return iter((self.low_ns, self.high_ns, self.count))

    def percentile_s(self, percent: float, min_s: float, max_s: float) -> float | None:
        """Time in seconds that ``percent`` (0 to 100) of the I/Os did not exceed, interpolated
        within its bucket and kept between the exact extremes; ``None`` without buckets."""
        if not len(self.count):
            return None
        cumulative = np.cumsum(self.count)
        rank = percent / 100 * cumulative[-1]
        bucket = min(int(np.searchsorted(cumulative, rank)), len(cumulative) - 1)
        low, high = self.low_ns[bucket], self.high_ns[bucket]
        before = cumulative[bucket] - self.count[bucket]
        within = (rank - before) / self.count[bucket]
        value = float(low + (high - low) * within) * NS
        return min(max(value, min_s), max_s)


@dataclass(frozen=True, eq=False)
class LatencyDistribution:
    """Times of I/Os: extremes and mean in seconds, and a histogram.

    Extremes and mean are ``None`` when there is nothing; a run folder keeps the mean alone.
    """

    min_s: float | None
    mean_s: float | None
    max_s: float | None
    histogram: Histogram = field(default_factory=Histogram.none, repr=False)

    def percentile_s(self, percent: float) -> float | None:
        """Time in seconds that ``percent`` (0 to 100) of the I/Os did not exceed.

        Interpolated within its bucket (at most 0.1 % wide) and kept between the exact minimum and
        maximum; ``None`` when there is nothing, or no histogram was kept.
        """
        if not 0 <= percent <= 100:
            raise ValueError(f"percentile {percent}: use 0 to 100")
        if self.min_s is None or self.max_s is None:
            return None
        return self.histogram.percentile_s(percent, self.min_s, self.max_s)


@dataclass(frozen=True, eq=False)
class LatencyOverTime:
    """How the latencies of one operation went on: a coarse histogram of every second.

    A row for each bucket that holds something, all of shape (rows,), in order of second and
    latency. ``second`` counts from the start of measuring and is that of the completion; bounds are
    inclusive, in nanoseconds, and at most an eighth apart (128 ns below 2048 ns). No rows where no
    I/O succeeded, and where the recording was made by another program or by a version that did not
    keep them.
    """

    second: Integers = field(repr=False)
    low_ns: Integers = field(repr=False)
    high_ns: Integers = field(repr=False)
    count: Integers = field(repr=False)

    def chosen(self, which: npt.NDArray[Any]) -> "LatencyOverTime":
        """Some of the rows, by a mask."""
        return LatencyOverTime(
            self.second[which], self.low_ns[which], self.high_ns[which], self.count[which]
        )

    @classmethod
    def none(cls) -> "LatencyOverTime":
        """Nothing is known of the seconds."""
        return cls(*(np.zeros(0, np.int64) for _ in range(4)))


class BySecond(NamedTuple):
    """What completed in each second from the start of measuring; all of shape (seconds,)."""

    ios: Integers
    bytes: Integers
    latency_mean_s: Floats
    """NaN for a second without completions."""
    latency_max_s: Floats

    @classmethod
    def none(cls) -> "BySecond":
        """Nothing is known of the seconds."""
        none = np.zeros(0, np.int64)
        return cls(none, none, np.zeros(0), np.zeros(0))


class Arrays(Protocol):
    """The arrays of one operation: in memory, or read from a run folder when they are asked for."""

    @property
    def histogram(self) -> Histogram:
        """Latencies of all I/Os."""
        ...

    @property
    def seconds(self) -> BySecond:
        """Rates and latencies by the second."""
        ...

    @property
    def latency_over_time(self) -> LatencyOverTime:
        """Latencies of every second."""
        ...


@dataclass(frozen=True, eq=False)
class InMemory:
    """:class:`Arrays` that are there."""

    histogram: Histogram = field(default_factory=Histogram.none)
    seconds: BySecond = field(default_factory=BySecond.none)
    latency_over_time: LatencyOverTime = field(default_factory=LatencyOverTime.none)


@dataclass(frozen=True, eq=False)
class IoLog:
    """Single I/Os of a workload in order of their completion; all arrays have shape (ios,).

    ``of`` I/Os were measured. One in ``one_in`` of them, a power of two, is here: 1 where all had
    room, else drawn at random, without regard to what they were. Failed I/Os are among them, with
    their ``errno``; it is 0 of the others.

    Times are nanoseconds from the start of measuring: when the I/O was due (in a closed loop when
    it was submitted; negative if that was in the ramp), when it was submitted, when it completed.
    """

    of: int
    one_in: int
    operation: npt.NDArray[np.str_] = field(repr=False)
    due_ns: Integers = field(repr=False)
    submitted_ns: Integers = field(repr=False)
    completed_ns: Integers = field(repr=False)
    offset_bytes: Integers = field(repr=False)
    bytes: Integers = field(repr=False)
    fua: npt.NDArray[np.bool_] = field(repr=False)
    errno: Integers = field(repr=False)

    def __len__(self) -> int:
        """I/Os that are here."""
        return len(self.due_ns)

    @property
    def latency_s(self) -> Floats:
        """From when each was due to its completion, in seconds."""
        return np.asarray((self.completed_ns - self.due_ns) * NS, dtype=np.float64)

    def chosen(self, which: npt.NDArray[Any]) -> "IoLog":
        """Some of them, by a mask or by their positions."""
        return replace(
            self, **{name: getattr(self, name)[which] for name in ("operation", *IO_COLUMNS)}
        )


IO_COLUMNS = ("due_ns", "submitted_ns", "completed_ns", "offset_bytes", "bytes", "fua", "errno")
"""What a log has of each I/O."""
