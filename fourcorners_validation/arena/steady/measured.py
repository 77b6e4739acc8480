"""Compares the judge's verdicts on rates measured on real drives with what came after.

The folder of series has the form of the data of SSD-iq (PVLDB 18(11), 2025): an index, and a file
for each series.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from fourcorners.analysis.consistency import CLIFF_RATIO_MIN, find_cliff
from fourcorners.analysis.steady_state import SPARE_SHARE_MAX, UNIFORM, Series, Spread, State, judge
from fourcorners.documents import Count
from fourcorners.errors import UserError, os_reason
from fourcorners.recording.arrays import Floats
from fourcorners_validation.arena.steady.truth import STEADY_WITHIN
from fourcorners_validation.arena.tables import Figure, Share, mean_of, quantile_of

CUTS = 10
"""Places at which each series is cut, as if the test had been stopped there."""

LAST_SHARE = 0.2
"""Share of the bytes of a whole series, its last, whose rate is what the judge should have said."""

NEAR = 0.02
"""Distance of the bytes to a cliff within which it is found, as a share of them: a fall takes as
long on the drives that fall at once (``capacity_writes_to_cliff`` of SSD-iq)."""

CAPACITY_BYTES = 10**12
"""Any number: the files give bytes in capacities of the drive, and the judge compares with them."""

BLOCK_BYTES = 4096
"""Of the random writes, on a drive of a terabyte or so."""

_PART = re.compile(r"fill-(\d+)gib")
_ZIPF = re.compile(r"zipf-([\d.]+)")
_COLD = re.compile(r"(cold|twozone)-([\d.]+)")
_COLUMNS = ("seconds", "drive_writes", "write_iops")


@dataclass(frozen=True)
class MeasuredSeries:
    """The rates of one drive under one workload."""

    device: str
    workload: str
    series: Series
    filled: float
    """Share of the drive that was filled before the series, and that the series writes."""
    is_fill: bool
    """Whether this is a sequential fill of an empty drive."""

    def until(self, share: float) -> Series:
        """The beginning with this share of the bytes."""
        written = np.cumsum(self.series.written_bytes)
        rounds = int(np.searchsorted(written, share * written[-1] * (1 - 1e-9))) + 1
        return Series(
            self.series.value[:rounds],
            self.series.duration_s[:rounds],
            self.series.written_bytes[:rounds],
        )

    @property
    def spread(self) -> Spread:
        """Of the writes, by the name of the experiment: ``zipf-EXPONENT``, ``cold-SHARE`` of the
        places, which are not written at all, ``twozone-SHARE`` of the places, which are written
        by the rest of the writes; else uniform."""
        if law := _ZIPF.search(self.workload):
            return Spread.of_pattern(f"zipf:{law[1]}", CAPACITY_BYTES / BLOCK_BYTES)
        if zones := _COLD.search(self.workload):
            cold = float(zones[2])
            hot_writes = 1.0 if zones[1] == "cold" else cold
            return Spread.of_pattern(f"hot-cold:{1 - cold}:{hot_writes}")
        return UNIFORM

    @property
    def capacities(self) -> float:
        """What was written, in capacities of the drive."""
        return float(self.series.written_bytes.sum()) / CAPACITY_BYTES


@dataclass(frozen=True)
class Cut:
    """The judge's verdict on a series that is cut off."""

    share: Annotated[float, msgspec.Meta(gt=0, le=1)]
    settled: bool
    state: State
    error: Figure
    """The value over the rate of the whole series' last fifth, less 1."""
    holds: bool
    """Whether the interval holds that rate."""


@dataclass(frozen=True)
class SeriesRow:
    """A series as ``arena series --json`` has it."""

    device: str
    workload: str
    capacities: float
    """What was written, in capacities of the drive."""
    cuts: tuple[Cut, ...]
    cliff: float | None
    found: float | None
    """The cliff that the test ``consistency`` finds."""


@dataclass(frozen=True)
class JudgedSeries:
    """A series, the judge's verdict at each cut, and the series' cliff."""

    measured: MeasuredSeries
    cuts: tuple[Cut, ...]
    cliff: float | None
    """Capacities written before the rate falls below midway between the first rate and the last
    fifth's, as one sees afterwards; ``None`` where those do not differ by as much as a cliff."""
    found: float | None
    """Capacities written before the cliff that the test ``consistency`` finds, which knows only
    whole intervals."""
    interval: float
    """Capacities written in an interval there: no better can be known of the place."""

    @property
    def row(self) -> SeriesRow:
        """What is printed of it."""
        of = self.measured
        return SeriesRow(of.device, of.workload, of.capacities, self.cuts, self.cliff, self.found)


def read_folder(folder: Path) -> list[MeasuredSeries]:
    """The series of a folder with an ``index.csv`` (file, device, experiment) and a file of each
    series (seconds, drive_writes, write_iops), all of them since its beginning.

    Raises :class:`UserError` for a folder or a file that is not like that.
    """
    index = _rows(folder / "index.csv", ("file", "device", "experiment"))
    read = {row["file"]: _series(folder / Path(row["file"]).name) for row in index}
    fills = {
        (row["device"], row["experiment"]): float(read[row["file"]].written_bytes.sum())
        / CAPACITY_BYTES
        for row in index
    }
    found = []
    for row in index:
        part = _PART.search(row["experiment"])
        filled = fills.get((row["device"], f"fill-seq-{part[1]}gib"), 1.0) if part else 1.0
        is_fill = row["experiment"].startswith("fill-")
        found.append(
            MeasuredSeries(row["device"], row["experiment"], read[row["file"]], filled, is_fill)
        )
    return found


def judge_series(measured: MeasuredSeries) -> JudgedSeries:
    """Lets the judge stop a series at every cut.

    The judge gets what the operator knows: the drive's capacity, which part of it was filled, that
    the rest was discarded and is therefore spare area, and how the writes are spread.
    """
    final = _rate(measured.series, 1 - LAST_SHARE)
    span_bytes = measured.filled * CAPACITY_BYTES
    spare_bytes_max = SPARE_SHARE_MAX * CAPACITY_BYTES + CAPACITY_BYTES - span_bytes
    cuts = []
    for share in np.arange(1, CUTS + 1) / CUTS:
        verdict = judge(
            measured.until(share),
            CAPACITY_BYTES if measured.is_fill else span_bytes,
            spare_bytes_max=spare_bytes_max,
            unwritten_bytes=CAPACITY_BYTES if measured.is_fill else 0.0,
            spread=measured.spread,
        )
        cuts.append(
            Cut(
                share=float(share),
                settled=verdict.settled,
                state=verdict.state,
                error=verdict.value / final - 1,
                holds=verdict.low <= final <= verdict.high,
            )
        )
    series = measured.series
    written = np.concatenate(([0.0], np.cumsum(series.written_bytes))) / CAPACITY_BYTES
    cliff = find_cliff(series.value)
    return JudgedSeries(
        measured,
        tuple(cuts),
        cliff=_midway(series.value, written, final),
        found=None if cliff is None else float(written[cliff]),
        interval=float(np.diff(written)[: cliff or 1].max()),
    )


@dataclass(frozen=True)
class MeasuredScore:
    """The judge's score on series of real drives."""

    series: Count
    cuts: Count
    settled: Count
    error_median: Figure
    """Median distance of the value from the last fifth's rate, of the cuts called steady."""
    error_95: Figure
    falsely_steady: Share
    """Share of the cuts called steady whose value is off by more than
    :data:`~fourcorners_validation.arena.steady.truth.STEADY_WITHIN`."""
    covered: Share
    cliffs: Count
    cliffs_found: Count
    cliffs_near: Count
    """Cliffs found within an interval, or 2 % of the bytes, which is as well as the place is
    defined."""
    cliffs_false: Count


def score_measured(judged: Sequence[JudgedSeries]) -> MeasuredScore:
    """The scores over some series."""
    settled = [cut for one in judged for cut in one.cuts if cut.settled]
    errors = np.abs([cut.error for cut in settled])
    off = [
        (abs(one.found - one.cliff), max(one.interval, NEAR * one.cliff))
        for one in judged
        if one.cliff is not None and one.found is not None
    ]
    return MeasuredScore(
        series=len(judged),
        cuts=sum(len(one.cuts) for one in judged),
        settled=len(settled),
        error_median=quantile_of(errors, 0.5),
        error_95=quantile_of(errors, 0.95),
        falsely_steady=mean_of(errors > STEADY_WITHIN),
        covered=mean_of([cut.holds for cut in settled]),
        cliffs=sum(one.cliff is not None for one in judged),
        cliffs_found=len(off),
        cliffs_near=sum(distance <= near for distance, near in off),
        cliffs_false=sum(one.cliff is None and one.found is not None for one in judged),
    )


def _rate(series: Series, from_share: float) -> float:
    """Mean rate after a share of the bytes."""
    written = np.cumsum(series.written_bytes)
    last = written >= from_share * written[-1]
    return float(np.average(series.value[last], weights=series.duration_s[last]))


def _midway(value: Floats, written: Floats, final: float) -> float | None:
    level = (value[0] + final) / 2
    below = np.flatnonzero(value < level)
    if value[0] < CLIFF_RATIO_MIN * final or not len(below) or below[0] == 0:
        return None
    at = int(below[0])
    # Within an interval the rate is taken to be the one before the cliff, then the one after it.
    after = min(float(value[at + 1]) if at + 1 < len(value) else final, float(value[at]))
    before = float(value[at - 1])
    share = (value[at] - after) / (before - after) if before > after else 0.0
    return float(written[at] + share * (written[at + 1] - written[at]))


def _series(file: Path) -> Series:
    rows = _rows(file, _COLUMNS)
    try:
        seconds, capacities, rate = (
            np.array([float(row[column]) for row in rows]) for column in _COLUMNS
        )
    except ValueError as error:
        raise UserError(f"{file}: {error}: write numbers") from error
    duration_s = np.diff(seconds, prepend=0.0)
    written_bytes = np.diff(capacities, prepend=0.0) * CAPACITY_BYTES
    if not len(rows) or (duration_s <= 0).any() or (written_bytes < 0).any():
        raise UserError(f"{file}: seconds and drive_writes must grow from row to row")
    return Series(rate, duration_s, written_bytes)


def _rows(file: Path, columns: Sequence[str]) -> list[Mapping[str, str]]:
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            rows: list[Mapping[str, str]] = list(csv.DictReader(opened))
    except OSError as error:
        raise UserError(f"cannot read {file}: {os_reason(error)}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"cannot read {file}: {error}") from error
    for column in columns:
        if rows and rows[0].get(column) is None:
            raise UserError(f"{file} has no column {column}: it needs {', '.join(columns)}")
    return rows
