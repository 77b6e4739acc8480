"""How latency went on: maps of it by the second, which every recording has, and the findings
``latency_over_time_RECORDING_OPERATION`` about single I/Os, where a run keeps them.

The percentiles of each stretch of time come from all I/Os that the log has of it; failed ones have
no latency.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fourcorners.analysis.source import RunData
from fourcorners.finding import Finding, worded
from fourcorners.recording import NS, IoLog, LatencyOverTime, Recording
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import Said, say

Integers = npt.NDArray[np.int64]

STRETCHES = 100
"""Equal stretches of the measured time, at most."""

STRETCH_IOS_MIN = 100
"""I/Os of a stretch, as a mean, below which there are fewer stretches, and without which one has
no 99th percentile: of fewer it is just the slowest."""

DOTS = 2000
"""I/Os drawn at random for a picture: more hide each other."""

SLOWEST = 100
"""The slowest I/Os, which a picture has in any case."""

MAP_COLUMNS = 250
"""Columns of a map of latencies, at most."""

MAP_WIDTHS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600)
"""Widths of a column that divide the hours of a plot's axis well."""

_ALIKE_MAX = 1.001
"""Up to this ratio of the slowest to the quickest, all took as long: a bucket of the histograms."""

MAP_PERCENTILES = {"median": 50.0, "99 %": 99.0}
"""Lines over a map, by name."""


@dataclass(frozen=True)
class Bands:
    """Latencies by the stretch of time in which I/Os completed; all of shape (stretches,), NaN
    where a stretch has too few."""

    at_s: Floats
    """Middle of each stretch, from the start of measuring."""
    ios: npt.NDArray[np.int64]
    median_s: Floats
    p99_s: Floats
    max_s: Floats


def bands(completed_s: Floats, latency_s: Floats) -> Bands:
    """Median, 99th percentile and maximum over time.

    Args:
        completed_s: shape (ios,), ascending, from the start of measuring.
        latency_s: shape (ios,).
    """
    stretches = int(np.clip(len(completed_s) // STRETCH_IOS_MIN, 1, STRETCHES))
    edges = np.linspace(0.0, float(completed_s[-1]), stretches + 1)
    inner = np.searchsorted(completed_s, edges[1:-1], side="right")
    parts = np.split(latency_s, inner)
    return Bands(
        at_s=(edges[:-1] + edges[1:]) / 2,
        ios=np.array([len(part) for part in parts]),
        median_s=np.array([np.median(part) if len(part) else np.nan for part in parts]),
        p99_s=np.array(
            [np.percentile(part, 99) if len(part) >= STRETCH_IOS_MIN else np.nan for part in parts]
        ),
        max_s=np.array([part.max() if len(part) else np.nan for part in parts]),
    )


@dataclass(frozen=True)
class Map:
    """How many I/Os there were of each latency, by columns of whole seconds. All arrays have shape
    (cells,) and are in order of column and latency; only cells that hold something are there."""

    column_s: int
    """Width of a column; the first begins at zero."""
    column: Integers
    low_ns: Integers
    high_ns: Integers
    """Bounds of the latency, inclusive."""
    count: Integers

    def percentile_s(self, percent: float) -> tuple[Integers, Floats]:
        """Columns that have at least one I/O beyond a percentile, and the percentile in them,
        interpolated within its cell.

        Args:
            percent: above 0, below 100.
        """
        columns, starts = np.unique(self.column, return_index=True)
        ends = np.append(starts[1:], len(self.column))
        cumulated = np.cumsum(self.count)
        before = cumulated[starts] - self.count[starts]
        ios = cumulated[ends - 1] - before
        rank = before + percent / 100 * ios
        cell = np.minimum(np.searchsorted(cumulated, rank), ends - 1)
        within = (rank - (cumulated[cell] - self.count[cell])) / self.count[cell]
        values = (self.low_ns[cell] + (self.high_ns[cell] - self.low_ns[cell]) * within) * NS
        enough = ios * min(percent, 100 - percent) >= 100
        return columns[enough], np.asarray(values[enough], dtype=np.float64)


def column_seconds(longest_s: float) -> int:
    """Width of the columns of maps that share their scales, by the longest time among them."""
    least = math.floor(longest_s) / MAP_COLUMNS
    return next((width for width in MAP_WIDTHS_S if width >= least), math.ceil(least))


def map_of(parts: Sequence[tuple[float, LatencyOverTime]], column_s: int) -> Map:
    """The map of recordings that followed one another.

    Args:
        parts: when each began, in seconds, and its latencies; one at least has some.
        column_s: see :func:`column_seconds`.
    """
    # A second that lies across the edge of a column belongs where its middle is.
    column = np.concatenate([(start_s + p.second + 0.5) // column_s for start_s, p in parts])
    low, high, count = (
        np.concatenate([getattr(part, name) for _, part in parts])
        for name in ("low_ns", "high_ns", "count")
    )
    (columns, lows, highs), where = np.unique(
        np.stack([column.astype(np.int64), low, high]), axis=1, return_inverse=True
    )
    summed = np.bincount(where.ravel(), weights=count, minlength=len(columns))
    return Map(column_s, columns, lows, highs, summed.astype(np.int64))


def served(log: IoLog, operation: str) -> IoLog:
    """The successful I/Os of one kind."""
    return log.chosen((log.operation == operation) & (log.errno == 0))


def drawn(latency_s: Floats) -> npt.NDArray[np.int64]:
    """Positions of the I/Os that a picture shows, ascending: :data:`DOTS` at random, the same every
    time, and the :data:`SLOWEST`; all where they are not more."""
    if len(latency_s) <= DOTS + SLOWEST:
        return np.arange(len(latency_s))
    chosen = np.random.RandomState(0).permutation(len(latency_s))[:DOTS]
    slowest = np.argsort(latency_s, kind="stable")[-SLOWEST:]
    return np.union1d(chosen, slowest)


def find(run: RunData) -> list[Finding]:
    """A finding for each operation of each recording whose single I/Os were kept."""
    return [
        _finding(recording, operation, mine)
        for recording in run.recordings
        for operation in ("read", "write")
        if recording.log is not None and len(mine := served(recording.log, operation))
    ]


def _finding(recording: Recording, operation: str, log: IoLog) -> Finding:
    worst_s = recording.operations[operation].latency_max_s or 0.0
    latency_s = log.latency_s
    found = bands(np.asarray(log.completed_ns * NS, dtype=np.float64), latency_s)
    slowest = int(np.argmax(latency_s))
    low, high = float(np.nanmin(found.median_s)), float(np.nanmax(found.median_s))
    at_s = float(log.completed_ns[slowest] * NS)
    slowest_s, stretch_s = float(latency_s[slowest]), float(2 * found.at_s[0])
    parts: dict[str, list[Said]] = {"of_all": [], "median": [], "p99": []}
    if worst_s > slowest_s:
        parts["of_all"].append(say("latency_over_time.of_all", worst_s=worst_s))
    if len(found.at_s) > 1:
        between = {"stretch_s": stretch_s, "low": low, "high": high}
        parts["median"].append(say("latency_over_time.median", **between))
        if np.isfinite(found.p99_s).any():
            ends = {"low": float(np.nanmin(found.p99_s)), "high": float(np.nanmax(found.p99_s))}
            parts["p99"].append(say("latency_over_time.p99", **ends))
    kept = "all" if log.one_in == 1 else "some"
    alike = worst_s <= slowest_s <= _ALIKE_MAX * float(latency_s.min())
    return worded(
        f"latency_over_time_{recording.id}_{operation}",
        f"Latency of single I/Os, {operation}s",
        "measured",
        say(
            "latency_over_time.alike" if alike else "latency_over_time.measured",
            label=recording.label,
            kept=say(
                f"latency_over_time.{kept}",
                ios=len(log),
                operation=operation,
                one_in=log.one_in,
            ),
            slowest_s=slowest_s,
            slowest_at_s=at_s,
            **parts,
        ),
        value=slowest_s,
        unit="s",
        evidence=[recording.id],
        detail={
            "recording": recording.id,
            "operation": operation,
            "ios": len(log),
            "one_in": log.one_in,
            "stretch_s": stretch_s,
            "slowest_at_s": at_s,
            "at_s": found.at_s,
            "ios_of_stretch": found.ios,
            "median_s": found.median_s,
            "p99_s": found.p99_s,
            "max_s": found.max_s,
        },
    )
