"""Charts that need no script: heat maps, ranges of latency, scores. All are text with colour."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fourcorners.validation.reproduction.experiment import NotRunError, Results
from fourcorners.validation.reproduction.experiments import owc, owc_readers, vector, vector_more
from fourcorners.validation.reproduction.figure import ERROR_MAX, FigureRow, drive_name


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
    """The readers' grids, all on one logarithmic scale."""
    drives = [drive for drive in owc_readers.GRIDS if f"owc/{drive}/grid" in results.measured]
    cells = {
        (drive, block, depth): owc_readers.at(results, drive, block, depth)
        for drive in drives
        for block in owc_readers.GRID_BLOCKS
        for depth in owc_readers.GRID_DEPTHS
    }
    if not cells:
        return []
    lowest, highest = (limit(cell.iops for cell in cells.values()) for limit in (min, max))

    def cell(drive: str, block: int, depth: int) -> Cell:
        measured = cells[drive, block, depth]
        level = math.log(measured.iops / lowest) / math.log(highest / lowest)
        return Cell(measured.iops, measured.megabytes_per_second, measured.latency_mean_s, level)

    return [
        HeatMap(
            drive_name(drive),
            tuple(
                (block, tuple(cell(drive, block, depth) for depth in owc_readers.GRID_DEPTHS))
                for block in owc_readers.GRID_BLOCKS
            ),
        )
        for drive in drives
    ]


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
    ("4 KiB random write, queue depth 3", "", owc.WRITE),
    ("The same, aligned to sectors only", "", owc.UNALIGNED),
    ("4 KiB random read, queue depth 3", "", owc.READ),
    ("One 4 KiB write at a time over 1 GB (AS SSD)", "/sweep", owc_readers.ACCESS_WRITE),
    ("One 512 B read at a time (AS SSD)", "/sweep", owc_readers.ACCESS_READ),
)


def latency_ranges(results: Results) -> list[Ranges]:
    """Minimum, mean and maximum latency, which the readers ask for beside IOPS; one scale."""
    tests = [
        (
            title,
            [
                (drive, results(f"owc/{drive}{variant}", recording))
                for drive in owc.DRIVES
                if f"owc/{drive}{variant}" in results.measured
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
            ranges.append(Range(drive_name(drive), values, (shortest, mean, longest)))
        charts.append(Ranges(title, tuple(ranges), decades))
    return charts


@dataclass(frozen=True)
class ScoreBar:
    """A drive's last 400 s: mean IOPS, mean over deviation, worst second."""

    mean_iops: float
    steadiness: float
    worst_iops: float


def scores(results: Results) -> list[tuple[str, list[ScoreBar]]]:
    """By drive: full for an hour, then with three quarters, a half and a quarter of it filled."""
    rows = []
    for drive in vector.DRIVES:
        try:
            steady = [vector_more.score(results, drive, share) for share in (1.0, 0.75, 0.5, 0.25)]
        except NotRunError:
            continue
        rows.append(
            (
                drive_name(drive),
                [
                    ScoreBar(
                        one.mean_iops,
                        vector.over(one.mean_iops, one.deviation_iops),
                        one.worst_second_iops,
                    )
                    for one in steady
                ],
            )
        )
    return rows


@dataclass(frozen=True)
class ErrorClass:
    """Figures whose error lies within a limit and not within the one before."""

    words: str
    count: int


ERROR_LIMITS = (0.01, ERROR_MAX["fitted"], ERROR_MAX["predicted"], 0.5)


def error_classes(rows: Sequence[FigureRow]) -> list[ErrorClass]:
    """How close the judged figures are."""
    errors = [abs(row.error) for row in rows if row.error is not None]
    classes, below = [], 0
    for limit in ERROR_LIMITS:
        count = sum(error <= limit for error in errors)
        classes.append(ErrorClass(f"within {limit:.0%}".replace("%", " %"), count - below))
        below = count
    return [*classes, ErrorClass("further off", len(errors) - below)]
