"""Charts that need no script: heat maps, ranges of latency, scores. All are text with colour."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fourcorners.analysis import consistency
from fourcorners.recording.arrays import Floats
from fourcorners_validation.reproduction.experiment import NotRunError, Results
from fourcorners_validation.reproduction.figure import ERROR_MAX, FigureRow, drive_name
from fourcorners_validation.reproduction.recorded import Recorded
from fourcorners_validation.reproduction.source import SOURCES


@dataclass(frozen=True)
class Cell:
    """A cell of a heat map: IOPS, MB/s, mean latency in seconds, and how far up its scale it is,
    0 to 1."""

    iops: float
    megabytes_per_second: float
    latency_s: float
    level: float


@dataclass(frozen=True)
class HeatMap:
    """IOPS by block size (rows, in bytes) and queue depth (columns)."""

    title: str
    rows: tuple[tuple[int, tuple[Cell, ...]], ...]


def heat_maps(results: Results) -> list[HeatMap]:
    """The grids that readers asked for, all on one logarithmic scale."""
    recorded = SOURCES["owc"].recorded(results)
    drives = [one for one in recorded.names.listed("grids") if recorded.is_there(f"{one}/grid")]
    if not drives:
        return []
    blocks = [int(block) for block in recorded.names.listed("grid_blocks")]
    every = [recorded.iops(f"{drive}/grid", "grid/read/{grid_blocks}/{depths}") for drive in drives]
    lowest, highest = (float(limit(every)) for limit in (np.min, np.max))

    def cell(drive: str, block: int, depth: str) -> Cell:
        measured = recorded.one(f"{drive}/grid", f"grid/read/{block}/{depth}")
        level = math.log(measured.iops / lowest) / math.log(highest / lowest)
        return Cell(measured.iops, measured.megabytes_per_second, measured.latency_mean_s, level)

    depths = recorded.names.listed("depths")
    return [
        HeatMap(
            name_of(recorded, drive),
            tuple(
                (block, tuple(cell(drive, block, depth) for depth in depths)) for block in blocks
            ),
        )
        for drive in drives
    ]


def name_of(recorded: Recorded, drive: str) -> str:
    """The readable form of a name in a source's file."""
    return drive_name(recorded.names.drives[recorded.names.source][drive])


@dataclass(frozen=True)
class Range:
    """Shortest, mean and longest latency in seconds, and where they lie on the scale, 0 to 1."""

    drive: str
    seconds: tuple[float, float, float]
    places: tuple[float, float, float]


@dataclass(frozen=True)
class Ranges:
    """One test on several drives; ``decades`` are the scale's powers of ten, with their places."""

    title: str
    ranges: tuple[Range, ...]
    decades: tuple[tuple[float, float], ...]


_RANGED = (
    ("4 KiB random write, queue depth 3", "", "{write}"),
    ("The same, aligned to sectors only", "", "{unaligned}"),
    ("4 KiB random read, queue depth 3", "", "{read}"),
    ("One 4 KiB write at a time over 1 GB (AS SSD)", "/sweep", "access/write"),
    ("One 512 B read at a time (AS SSD)", "/sweep", "access/read"),
)


def latency_ranges(results: Results) -> list[Ranges]:
    """Minimum, mean and maximum latency, which the readers ask for beside IOPS; one scale."""
    recorded = SOURCES["owc"].recorded(results)
    tests = [
        (
            title,
            [
                (drive, recorded.one(f"{drive}{variant}", id))
                for drive in recorded.names.listed("bars")
                if recorded.is_there(f"{drive}{variant}")
                for id in recorded.names.all_of(recording)
            ],
        )
        for title, variant, recording in _RANGED
    ]
    all_measured = [measured for _, rows in tests for _, measured in rows]
    if not all_measured:
        return []
    low = math.floor(math.log10(min(measured.latency_min_s for measured in all_measured)))
    high = math.ceil(math.log10(max(measured.latency_max_s for measured in all_measured)))

    def place(seconds: float) -> float:
        return (math.log10(seconds) - low) / (high - low)

    decades = tuple((10.0**power, place(10.0**power)) for power in range(low, high + 1))
    charts = []
    for title, rows in tests:
        ranges = []
        for drive, measured in rows:
            values = (measured.latency_min_s, measured.latency_mean_s, measured.latency_max_s)
            shortest, mean, longest = (place(value) for value in values)
            ranges.append(Range(name_of(recorded, drive), values, (shortest, mean, longest)))
        charts.append(Ranges(title, tuple(ranges), decades))
    return charts


def scores(results: Results) -> list[tuple[str, list[consistency.Steady]]]:
    """By drive the last 400 s: full for an hour, then with three quarters, a half and a quarter of
    it filled."""
    recorded = SOURCES["vector"].recorded(results)
    rows = []
    for drive in recorded.names.listed("drives"):
        try:
            series = [filled_series(recorded, drive, percent) for percent in (100, 75, 50, 25)]
        except NotRunError:
            continue
        rows.append((name_of(recorded, drive), list(map(consistency.steady, series))))
    return rows


def filled_series(recorded: Recorded, drive: str, percent: int) -> Floats:
    """IOPS of each second with a share of a drive filled; of the whole hour for a full drive."""
    if percent == 100:
        return recorded.seconds(drive, "{hour}")
    return recorded.seconds(f"{drive}/{percent}% filled", f"{{filled_{percent}}}")


@dataclass(frozen=True)
class ErrorClass:
    """Number of figures whose error is within a limit but not within the previous one."""

    words: str
    count: int


ERROR_LIMITS = (0.01, ERROR_MAX["fitted"], ERROR_MAX["predicted"], 0.5)


def error_classes(rows: Sequence[FigureRow]) -> list[ErrorClass]:
    """The distribution of the errors of the judged figures."""
    errors = [abs(row.error) for row in rows if row.error is not None]
    classes, below = [], 0
    for limit in ERROR_LIMITS:
        count = sum(error <= limit for error in errors)
        classes.append(ErrorClass(f"within {limit:.0%}".replace("%", " %"), count - below))
        below = count
    return [*classes, ErrorClass("further off", len(errors) - below)]
