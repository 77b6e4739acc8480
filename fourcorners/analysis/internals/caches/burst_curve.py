"""The bytes accepted since the start of a burst, from a histogram of latencies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fourcorners.analysis.source import Measured, RunData
from fourcorners.recording.arrays import Floats

BUCKET = 1e-3
"""The width of a histogram's buckets over their latency: no curve is finer."""


@dataclass(frozen=True)
class Curve:
    """The bytes that were complete at each time, in the mean of the bursts; ascending, with shape
    (points,).

    All requests of a burst are due at once, and their latencies count from then. Therefore the
    histogram of latencies is the curve, with the resolution of its buckets (0.1 %).
    """

    seconds: Floats
    count_bytes: Floats

    def seconds_at(self, count_bytes: Floats) -> Floats:
        """The times at which so many bytes were complete, interpolated between points."""
        seconds: Floats = np.interp(
            count_bytes, np.append(0.0, self.count_bytes), np.append(0.0, self.seconds)
        )
        return seconds

    def until(self, count_bytes: float) -> Curve:
        """The part of the curve up to so many bytes."""
        points = int(np.searchsorted(self.count_bytes, count_bytes, side="right"))
        return Curve(self.seconds[:points], self.count_bytes[:points])

    def rate(self, low_bytes: float, high_bytes: float) -> float:
        """The rate, in bytes per second, between two amounts of bytes."""
        low_s, high_s = self.seconds_at(np.array([low_bytes, high_bytes]))
        return (high_bytes - low_bytes) / max(float(high_s - low_s), 1e-9)


def completion_curve(run: RunData, m: Measured, bursts: int = 1) -> Curve:
    """The curve of a recording of one or more bursts of equal requests."""
    low, high, count = m.histogram
    block = m.bytes / max(m.ios, 1)
    return Curve((low + high) / 2 * 1e-9, np.cumsum(count) * block / bursts)
