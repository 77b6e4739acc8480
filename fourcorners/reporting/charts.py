"""The charts that tests ask for (``charts`` in a manifest), as plain data for the page.

Nothing is estimated here: recordings are joined with their points, reads and writes of a mixed
recording are added up, and what is not a finite number becomes ``None``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fourcorners import wording
from fourcorners.analysis.source import Measured
from fourcorners.documents import changed
from fourcorners.manifest import Chart, TestEntry
from fourcorners.wording import finite

from . import replay_charts, time_charts
from .chart_data import (
    OPERATIONS,
    TITLES,
    axis,
    label_of,
    label_of_point,
    operation_label,
    rows_of,
)
from .payload import curve, drive_names, findings, latency_interval, rate_interval, rounded
from .run import ReportedRun

SECTIONS = ("four-corners", "queue-depth", "transfer-size", "consistency")
"""Tests that have figures of their own."""

LOGS_DRAWN = 12
"""Recordings of a test whose single I/Os are drawn, where no chart of the test asks for them."""


_Maker = Callable[[Chart, str, Sequence[ReportedRun], Sequence[str]], list[dict[str, Any]]]
"""Draws a chart of a test: the chart, the test, the runs and what their drives are called."""


def tests(runs: Sequence[ReportedRun]) -> list[dict[str, Any]]:
    """Every test without figures of its own, with its charts and the rows of its table."""
    found: dict[str, TestEntry] = {}
    for run in runs:
        for test in run.manifest.tests:
            if test.recordings:
                found.setdefault(test.name, test)
    names = drive_names(runs)
    return [
        {
            "name": name,
            "id": f"test-{number_of_test}",
            "title": test.title or name,
            "purpose": test.purpose,
            "charts": [
                {"id": f"chart-{number_of_test}-{place}", **made}
                for place, made in enumerate(
                    made
                    for chart, make in _asked_for(test)
                    for made in make(chart, name, runs, names)
                )
            ],
        }
        for number_of_test, (name, test) in enumerate(found.items())
    ]


def _asked_for(test: TestEntry) -> list[tuple[Chart, _Maker]]:
    """The charts of a test; where one of them is about its seconds also the map of latency over
    time, and where single I/Os were kept and no chart asks for them one of those.

    A test with figures of its own has of its charts those that say what the figures do not: latency
    over time.
    """
    charts = [(chart, _MAKERS[chart.kind]) for chart in test.charts]
    over_time = [chart for chart in test.charts if chart.kind in ("seconds", "ios")]
    maps: dict[Chart, Chart] = {}
    for chart in over_time:
        # Recordings that follow one another are one map.
        series = () if chart.x == "elapsed" else chart.series
        map = changed(chart, title="Latency over time", series=series)
        maps[changed(map, kind="seconds", y="", rows="", log="")] = map
    if test.name in SECTIONS:
        charts = [
            (chart, make)
            for chart, make in charts
            if chart.kind == "seconds" and chart.y.startswith("latency")
        ]
    else:
        charts.append((Chart("lines", "Model and measurement"), _model))
    # What the test asks for is its headline.
    charts += [(map, time_charts.over_time) for map in maps.values()]
    charts.append((Chart("lines", "Shares"), replay_charts.shares))
    charts.append((Chart("lines", "By the minute"), replay_charts.by_minute))
    logged = any(recording.logged is not None for recording in test.recordings)
    if logged and not any(chart.kind == "ios" for chart in test.charts):
        title = "Latency of single I/Os over time"
        few = functools.partial(time_charts.single_ios, most=LOGS_DRAWN)
        charts.append((Chart("ios", title, series=("label",)), few))
    return charts


def drawn(tests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the page's script needs of the charts, by their ids; the cells of heat maps are tables
    in the page."""
    in_the_page = ("columns", "rows", "corner")
    return {
        chart["id"]: {key: value for key, value in chart.items() if key not in in_the_page}
        for test in tests
        for chart in test["charts"]
        if chart["kind"] != "gap"
    }


def _lines(
    chart: Chart, test: str, runs: Sequence[ReportedRun], names: Sequence[str]
) -> list[dict[str, Any]]:
    x, y, keys = chart.x, chart.y, chart.series
    series: dict[tuple[int, str], list[list[Any]]] = {}
    for drive, run in enumerate(runs):
        averages = _averages(run, test) if "round" not in x else []
        if averages:
            for mean in averages:
                at = finite(mean.get(x))
                if at is not None:
                    points = series.setdefault((drive, label_of_point(mean, keys)), [])
                    points.append([at, rounded(_average(mean, y)), str(mean["variable"])])
            continue
        for row in rows_of(chart, test, run, by_operation="each operation" in keys):
            at = finite(row.point.get(x))
            if at is not None:
                value = rounded(row.value(y))
                point: list[Any] = [at, value, row.of.id]
                interval = None if len(row.parts) > 1 else _interval(row.parts[0], y, value)
                if interval is not None:
                    point.append(interval)
                series.setdefault((drive, label_of(row, keys)), []).append(point)
    if not series:
        return []
    log = chart.log
    return [
        {
            "kind": chart.kind,
            "title": chart.title,
            "x": axis(x, log, "x"),
            "y": axis(y, log, "y"),
            "series": [
                {"drive": drive, "label": label, "points": sorted(points, key=lambda p: p[0])}
                for (drive, label), points in series.items()
            ],
        }
    ]


def _interval(one: Measured, y: str, value: float | None) -> Sequence[float | None] | None:
    """The 90 % interval of a metric, in the unit that a chart shows."""
    if value is None:
        return None
    if y in ("iops", "mbps"):
        factors = rate_interval(one)
        return factors and [rounded(value * factor) for factor in factors]
    return latency_interval(one, y.removeprefix("latency_"))


def _averages(run: ReportedRun, test: str) -> list[dict[str, Any]]:
    """What a test in rounds came to, by variable; empty for other tests."""
    found = findings(run, f"averages_{test}")
    return list(found[0].detail["cells"]) if found else []


def _average(mean: Mapping[str, Any], y: str) -> float | None:
    """A metric of what rounds came to, in the unit that a chart shows."""
    if y == "mbps":
        moved = finite(mean.get("bytes_per_second"))
        return None if moved is None else moved / 1e6
    return finite(mean.get("iops" if y == "iops" else f"{y}_s"))


def _heat(
    chart: Chart, test: str, runs: Sequence[ReportedRun], names: Sequence[str]
) -> list[dict[str, Any]]:
    """A map for each drive and series, all of one chart on one logarithmic scale."""
    x, y, rows_key = chart.x, chart.y, chart.rows
    maps: dict[tuple[int, str], dict[tuple[float, float], float | None]] = {}
    for drive, run in enumerate(runs):
        averages = _averages(run, test)
        if averages:
            for mean in averages:
                at = (finite(mean.get(rows_key)), finite(mean.get(x)))
                if at[0] is not None and at[1] is not None:
                    maps.setdefault((drive, ""), {})[at[0], at[1]] = _average(mean, y)
            continue
        for row in rows_of(chart, test, run, by_operation=False):
            place = (finite(row.point.get(rows_key)), finite(row.point.get(x)))
            if place[0] is not None and place[1] is not None:
                label = label_of(row, chart.series)
                maps.setdefault((drive, label), {})[place[0], place[1]] = row.value(y)
    values = [v for cells in maps.values() for v in cells.values() if v is not None and v > 0]
    if not values:
        return []
    lowest, highest = min(values), max(values)
    span = math.log(highest / lowest) or 1.0

    def cell(value: float | None) -> dict[str, Any]:
        if value is None or value <= 0:
            return {"text": wording.NOTHING, "level": None}
        text = wording.duration(value) if y.startswith("latency") else wording.number(value)
        return {"text": text, "level": round(100 * math.log(value / lowest) / span)}

    made = []
    for (drive, label), cells in maps.items():
        columns = sorted({column for _, column in cells})
        rows = sorted({row for row, _ in cells})
        parts = [chart.title, label, names[drive] if len(runs) > 1 else ""]
        made.append(
            {
                "kind": "heat",
                "title": ", ".join(part for part in parts if part),
                "drive": drive,
                "label": label,
                "row": axis(rows_key, "", ""),
                "column": axis(x, "", ""),
                "y": axis(y, "", ""),
                "values": [[row, column, rounded(v)] for (row, column), v in sorted(cells.items())],
                "corner": f"{TITLES.get(rows_key, rows_key)} by {TITLES.get(x, x)}",
                "columns": [_written(x, column) for column in columns],
                "rows": [
                    {
                        "name": _written(rows_key, row),
                        "cells": [cell(cells.get((row, column))) for column in columns],
                    }
                    for row in rows
                ],
            }
        )
    return made


def _written(key: str, value: float) -> str:
    return wording.size(value) if key.endswith("_bytes") else f"{value:g}"


def _percentiles(
    chart: Chart, test: str, runs: Sequence[ReportedRun], names: Sequence[str]
) -> list[dict[str, Any]]:
    series = []
    keys = chart.series
    for drive, run in enumerate(runs):
        for row in rows_of(chart, test, run, by_operation=True):
            points = curve(row.parts[0])
            if points["ns"]:
                label = operation_label(row, keys)
                pairs = zip(points["tail"], points["ns"], strict=True)
                series.append(
                    {
                        "drive": drive,
                        "label": label,
                        "points": [[tail, ns / 1e9] for tail, ns in pairs],
                        "band": [[tail, lo / 1e9, hi / 1e9] for tail, lo, hi in points["band"]],
                    }
                )
    if not series:
        return []
    return [
        {
            "kind": "percentiles",
            "title": chart.title,
            "x": {"key": "tail", "title": "% of I/Os that are at most this slow", "log": True},
            "y": {"key": "latency_max", "title": "latency", "log": True},
            "series": series,
        }
    ]


def _model(
    chart: Chart, test: str, runs: Sequence[ReportedRun], names: Sequence[str]
) -> list[dict[str, Any]]:
    """What findings of the test say a request of each size should take, and what it took."""
    series: dict[tuple[int, str], dict[str, Any]] = {}
    for drive, run in enumerate(runs):
        for finding in run.findings:
            evidence = [str(item).split("/") for item in finding.evidence]
            if not evidence or {parts[0] for parts in evidence} != {test}:
                continue
            extended = finding.name == "extended_model"
            if extended and finding.verdict != "measured":
                continue
            points = _modelled(finding.detail)
            operation = evidence[0][1] if len(evidence[0]) > 1 else ""
            # Findings about parts of one model carry it alike.
            taxed = ", with the tax of partly covered units" if extended else ""
            label = f"{operation}s{taxed}" if operation in OPERATIONS else finding.title
            if points:
                series.setdefault((drive, label), {"points": points})
    if not series:
        return []
    return [
        {
            "kind": "model",
            "title": chart.title,
            "x": axis("block_bytes", "x", "x"),
            "y": {"key": "latency_mean", "title": "time of a request", "log": True},
            "series": [
                {"drive": drive, "label": label, **made}
                for (drive, label), made in sorted(series.items())
            ],
        }
    ]


def _modelled(detail: Mapping[str, Any]) -> list[list[float]]:
    """Size in bytes, measured and predicted seconds of a request, by size."""
    sizes = [finite(size) for size in detail.get("block_bytes") or []]
    times = [
        [finite(second) for second in detail.get(f"{kind}_s") or []]
        or [
            size / moved if size and (moved := finite(rate)) else None
            for size, rate in zip(sizes, detail.get(f"{kind}_bytes_per_second") or [], strict=False)
        ]
        for kind in ("measured", "predicted")
    ]
    rows = [
        [rounded(value) for value in row]
        for row in zip(sizes, *times, strict=False)
        if None not in row
    ]
    return sorted([value for value in row if value is not None] for row in rows)


def _rounds(
    chart: Chart, test: str, runs: Sequence[ReportedRun], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Each variable that a steady state is judged by, with its window and the lines of it."""
    made = []
    for drive, run in enumerate(runs):
        for finding in findings(run, f"rounds_{test}_*"):
            detail = finding.detail
            y = {"iops": "iops", "bytes_per_second": "mbps"}.get(detail["metric"], "latency_mean")
            factor = 1e-6 if y == "mbps" else 1.0
            window = detail.get("window")
            parts = [str(detail["variable"]), names[drive] if len(runs) > 1 else ""]
            made.append(
                {
                    "kind": "rounds",
                    "title": ", ".join(part for part in parts if part),
                    "drive": drive,
                    "x": {"key": "round", "title": "round", "log": False},
                    "y": axis(y, "", "y"),
                    "points": [
                        [at, rounded(value * factor)]
                        for at, value in zip(detail["rounds"], detail["values"], strict=True)
                    ],
                    "window": None if window is None else _window(window, factor),
                    "text": finding.text,
                }
            )
    return made


def _window(window: Mapping[str, Any], factor: float) -> dict[str, Any]:
    rounds = window["last_round"] - window["first_round"]
    start = window["intercept"] * factor
    return {
        "first": window["first_round"],
        "last": window["last_round"],
        "average": rounded(window["average"] * factor),
        "slope": [rounded(start), rounded(start + rounds * window["slope_per_round"] * factor)],
        "steady": window["steady"],
    }


_MAKERS: Mapping[str, _Maker] = {
    "lines": _lines,
    "dots": _lines,
    "heat": _heat,
    "seconds": time_charts.seconds,
    "percentiles": _percentiles,
    "rounds": _rounds,
    "ios": time_charts.single_ios,
}
