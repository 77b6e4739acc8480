"""What one workload's execution showed, as numpy arrays. Times are float seconds, sizes
bytes."""

from fourcorners.recording.arrays import (
    IO_COLUMNS,
    NS,
    Arrays,
    BySecond,
    Floats,
    Histogram,
    InMemory,
    Integers,
    IoLog,
    LatencyDistribution,
    LatencyOverTime,
)
from fourcorners.recording.recording import Offered, OperationRecording, Recording

__all__ = [
    "IO_COLUMNS",
    "NS",
    "Arrays",
    "BySecond",
    "Floats",
    "Histogram",
    "InMemory",
    "Integers",
    "IoLog",
    "LatencyDistribution",
    "LatencyOverTime",
    "Offered",
    "OperationRecording",
    "Recording",
]
