"""Charts over time: every second, maps of latency, single I/Os."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fourcorners import wording
from fourcorners.analysis import latency_over_time
from fourcorners.analysis.source import Measured
from fourcorners.manifest import Chart
from fourcorners.recording import BySecond, IoLog, LatencyOverTime
from fourcorners.wording import finite

from .chart_data import axis, is_last_operation, operation_label, rows_of
from .payload import findings, rounded, steady_part
from .run import ReportedRun

MAPS_DRAWN = 24
"""Maps of one chart, at most."""

# A panel is some 150 pixels high: what has a thirtieth of the scale lies five above the axis.
_LINEAR_MAX = 30


@dataclass(frozen=True)
class _Placed:
    """A recording on the axis of time that its series has."""

    drive: int
    label: str
    measured: Measured
    start_s: float
    seconds: int
    """Whole ones: a last second that the end cut short is no second."""


def _placed(chart: Chart, test: str, runs: Sequence[ReportedRun]) -> Iterator[_Placed]:
    """With ``x`` "elapsed" recordings follow one another on one axis, pauses left out; else each
    series begins at zero."""
    keys = chart.series
    in_order = chart.x == "elapsed"
    for drive, run in enumerate(runs):
        clock = 0.0
        ends: dict[str, float] = {}
        for row in rows_of(chart, test, run, by_operation=True):
            elapsed = row.parts[0].elapsed_s
            label = operation_label(row, keys)
            start = clock if in_order else ends.get(label, 0.0)
            seconds = max(math.floor(elapsed + 1e-6), 0)
            ends[label] = start + seconds
            yield _Placed(drive, label, row.parts[0], start, seconds)
            clock += elapsed if is_last_operation(row) else 0.0


def seconds(
    chart: Chart, test: str, runs: Sequence[ReportedRun], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Every second of the recordings; with ``x`` "written" over what had been written by its end,
    in GB, each recording from zero. IOPS with a log axis, each series from zero, are shown in the
    reviews' three views."""
    y = chart.y
    in_order = chart.x == "elapsed"
    written = chart.x == "written"
    log = chart.log
    series: dict[tuple[int, str], list[list[Any]]] = {}
    recordings: dict[tuple[int, str], list[str]] = {}
    for one in _placed(chart, test, runs):
        whole = one.measured.seconds
        key = (one.drive, one.label)
        recordings.setdefault(key, []).append(one.measured.recording)
        count = min(len(whole.ios), one.seconds)
        places = (
            [rounded(moved / 1e9) for moved in np.cumsum(whole.bytes[:count])]
            if written
            else [round(one.start_s + second, 3) for second in range(count)]
        )
        series.setdefault(key, []).extend(
            [place, rounded(_second(whole, second, y))] for second, place in enumerate(places)
        )
    shown = {key: points for key, points in series.items() if points}
    if not shown:
        return []
    return [
        {
            "kind": "views" if y == "iops" and "y" in log and not in_order else "seconds",
            # Series that begin anew each have a panel of their own.
            "apart": not in_order,
            "title": chart.title,
            "x": axis("written", "", "x")
            if written
            else {"key": "second", "title": "second", "log": False},
            "y": axis(y, "y" if not in_order and _far_apart(shown.values()) else log, "y"),
            "series": [
                {
                    "drive": drive,
                    "label": label,
                    "points": points,
                    "steady": _steady(runs[drive], recordings[drive, label]),
                }
                for (drive, label), points in shown.items()
            ],
        }
    ]


def _far_apart(series: Iterable[Sequence[Sequence[Any]]]) -> bool:
    """Whether panels with one linear scale would show some of the series as their zero line, and
    all can be drawn on a logarithmic one."""
    tops = []
    for points in series:
        values = [value for _, value in points if value is not None]
        if not values or min(values) <= 0:
            return False
        tops.append(max(values))
    return bool(max(tops) > _LINEAR_MAX * min(tops))


def _second(whole: BySecond, second: int, y: str) -> float | None:
    if y == "iops":
        return float(whole.ios[second])
    if y == "mbps":
        return float(whole.bytes[second]) / 1e6
    return finite(getattr(whole, f"{y}_s")[second])


def _steady(run: ReportedRun, recordings: Sequence[str]) -> dict[str, Any] | None:
    return steady_part(run, recordings[0]) if len(recordings) == 1 else None


def over_time(
    chart: Chart, test: str, runs: Sequence[ReportedRun], names: Sequence[str]
) -> list[dict[str, Any]]:
    """A map of latency over time for each drive and series, under its percentiles and the slowest
    of all; all on the same scales. Where nothing was kept of the seconds a line says so."""
    placed = list(_placed(chart, test, runs))
    found: dict[tuple[int, str], list[tuple[_Placed, LatencyOverTime]]] = {}
    for one in placed:
        part = one.measured.latency_over_time
        if one.seconds:
            part = part.chosen(part.second < one.seconds)
        if len(part.count):
            found.setdefault((one.drive, one.label), []).append((one, part))
    kept = dict(list(found.items())[:MAPS_DRAWN])
    title = chart.title
    without = [names[i] for i in sorted({o.drive for o in placed} - {drive for drive, _ in found})]
    left_out = (
        f" {wording.sentence_list(without)} {'has' if len(without) == 1 else 'have'} no latencies "
        "by the second: earlier versions and other programs keep none."
        if without
        else ""
    )
    if len(found) > len(kept):
        left_out += f" The first {len(kept)} of {len(found)} are drawn."
    if not kept:
        return [{"kind": "gap", "title": title, "text": left_out.strip()}] if without else []
    to_s = max(one.start_s + (one.seconds or 1) for parts in kept.values() for one, _ in parts)
    column_s = latency_over_time.column_seconds(to_s)
    maps = {
        key: latency_over_time.map_of([(one.start_s, part) for one, part in parts], column_s)
        for key, parts in kept.items()
    }
    rows = sorted(
        {pair for made in maps.values() for pair in zip(made.low_ns, made.high_ns, strict=True)}
    )
    place = {int(low): row for row, (low, _) in enumerate(rows)}
    width = "second" if column_s == 1 else f"{column_s} s"
    return [
        {
            "kind": "density",
            "title": title,
            "apart": True,
            "x": {"key": "second", "title": "second", "log": False},
            "y": {"key": "latency", "title": "latency", "log": True},
            "map": {
                "to_s": rounded(to_s),
                "column_s": column_s,
                # From the first nanosecond of a bucket to that after its last; zero has no place
                # on a logarithmic axis.
                "rows": [
                    [
                        rounded((int(low) or (int(high) + 1) / 2) * 1e-9),
                        rounded((int(high) + 1) * 1e-9),
                    ]
                    for low, high in rows
                ],
            },
            "series": [
                {
                    "drive": drive,
                    "label": label,
                    "columns": _columns(made, place),
                    "lines": _map_lines(made, [one for one, _ in kept[drive, label]]),
                }
                for (drive, label), made in maps.items()
            ],
            "caption": f"Each column is {'one' if column_s == 1 else 'a stretch of'} {width}, and "
            "its colours are the shares of the I/Os that completed in it, by how long they took. "
            "The lines are the median (solid), the 99th percentile (dashed) and the slowest single "
            "I/O (dotted) of each."
            + (
                " The run folder has every second by itself, in latency_over_time.parquet."
                if column_s > 1
                else ""
            )
            + left_out,
        }
    ]


def _columns(made: latency_over_time.Map, place: Mapping[int, int]) -> list[list[int]]:
    """Of each column of a map the lowest row that holds something, and the counts from it up."""
    columns: list[list[int]] = [[] for _ in range(int(made.column.max()) + 1)]
    for column, low, count in zip(made.column, made.low_ns, made.count, strict=True):
        packed, row = columns[column], place[int(low)]
        if not packed:
            packed.append(row)
        packed += [0] * (row - packed[0] - len(packed) + 1)
        packed.append(int(count))
    return columns


def _map_lines(made: latency_over_time.Map, recordings: Sequence[_Placed]) -> list[dict[str, Any]]:
    """Lines over a map, a point in the middle of each column that can carry it."""
    worst: dict[int, float] = {}
    for one in recordings:
        for second, latency in enumerate(one.measured.second_latency_max_s[: one.seconds or None]):
            if finite(latency) is not None:
                column = int((one.start_s + second + 0.5) // made.column_s)
                worst[column] = max(worst.get(column, 0.0), float(latency))
    lines = {
        label: [
            # Interpolated within its cell, a percentile may lie above the slowest I/O.
            (column, min(latency_s, worst.get(int(column), math.inf)))
            for column, latency_s in zip(*made.percentile_s(percent), strict=True)
        ]
        for label, percent in latency_over_time.MAP_PERCENTILES.items()
    }
    return [
        {
            "label": label,
            "points": [
                [round((int(column) + 0.5) * made.column_s, 1), rounded(latency, 4)]
                for column, latency in points
            ],
        }
        for label, points in [*lines.items(), ("slowest", sorted(worst.items()))]
    ]


def single_ios(
    chart: Chart,
    test: str,
    runs: Sequence[ReportedRun],
    names: Sequence[str],
    most: int | None = None,
) -> list[dict[str, Any]]:
    """Single I/Os as dots, under the median, the 99th percentile and the slowest of all of them,
    by stretches of time. All panels share their scales."""
    found = list(_logs(chart, test, runs))
    shown = found[:most]
    if not shown:
        return []
    dots = []
    for series, log, detail in shown:
        log = log.chosen(latency_over_time.drawn(log.latency_s))
        pairs = zip(log.completed_ns * 1e-9, log.latency_s, strict=True)
        points = [[rounded(at), rounded(latency)] for at, latency in pairs]
        dots.append({**series, "points": points, "lines": _stretches(detail)})
    shares = [detail["one_in"] for _, _, detail in shown]
    recorded = ", ".join(dict.fromkeys("all" if n == 1 else f"one in {n}" for n in shares))
    left_out = f" The first {len(shown)} of {len(found)} are drawn." if found != shown else ""
    return [
        {
            "kind": "ios",
            "title": chart.title,
            "apart": True,
            "x": {"key": "second", "title": "second", "log": False},
            "y": {"key": "latency", "title": "latency", "log": True},
            "series": dots,
            "caption": f"Each dot is one I/O: {latency_over_time.DOTS:,} of those on record "
            f"({recorded} of them), drawn at random, and the {latency_over_time.SLOWEST} slowest. "
            "The lines are the median (solid), the 99th percentile (dashed) and the slowest "
            f"(dotted) of all on record, in up to {latency_over_time.STRETCHES} stretches of "
            f"time.{left_out}",
        }
    ]


def _logs(
    chart: Chart, test: str, runs: Sequence[ReportedRun]
) -> Iterator[tuple[dict[str, Any], IoLog, Mapping[str, Any]]]:
    """Drive and label, served I/Os and finding of each recording and operation with a log."""
    for drive, run in enumerate(runs):
        said = {
            (found.detail["recording"], found.detail["operation"]): found.detail
            for found in findings(run, "latency_over_time_*")
        }
        for row in rows_of(chart, test, run, by_operation=True):
            detail = said.get((row.of.id, row.operation))
            if detail is None or row.of.log is None:
                continue
            log = latency_over_time.served(row.of.log, row.operation)
            if len(log):
                label = operation_label(row, chart.series)
                yield {"drive": drive, "label": label}, log, detail


def _stretches(detail: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The lines over single I/Os, out of their finding."""
    return [
        {
            "label": label,
            "points": [
                [rounded(at), rounded(value)]
                for at, value in zip(detail["at_s"], detail[key], strict=True)
            ],
        }
        for label, key in (("median", "median_s"), ("99 %", "p99_s"), ("slowest", "max_s"))
    ]
