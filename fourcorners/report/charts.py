"""The charts that tests ask for (``charts`` in a manifest), as plain data for the page.

Nothing is estimated here: recordings are joined with their points, reads and writes of a mixed
recording are added up, and what is not a finite number becomes ``None``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fourcorners import wording
from fourcorners.analysis import latency_over_time
from fourcorners.recording import IoLog
from fourcorners.wording import finite

from .payload import curve, drive_names, findings, joined, rate_interval, steady_part
from .run import Run

SECTIONS = ("four-corners", "queue-depth", "transfer-size", "consistency")
"""Tests that have figures of their own."""

OPERATIONS = ("read", "write")

LOGS_DRAWN = 12
"""Recordings of a test whose single I/Os are drawn, where no chart of the test asks for them."""

TITLES = {
    "mbps": "MB/s",
    "iops": "IOPS",
    "latency_min": "shortest latency",
    "latency_mean": "mean latency",
    "latency_max": "longest latency",
    "latency_p50": "latency, median",
    "latency_p90": "latency, 90 %",
    "latency_p99": "latency, 99 %",
    "latency_p999": "latency, 99.9 %",
    "latency_p9999": "latency, 99.99 %",
    "latency_p99999": "latency, 99.999 %",
    "queue_depth": "outstanding I/Os",
    "block_bytes": "block size",
    "position_bytes": "position",
    "access_position_bytes": "position",
    "offset_bytes": "position",
    "distance_bytes": "distance",
    "window_bytes": "window",
    "region_bytes": "region",
    "boundary_bytes": "boundary",
    "beside": "other reads outstanding",
    "read_percent": "share of reads, %",
    "random_percent": "random share, %",
    "round_of_writes": "round",
    "round_of_reads": "round",
    "due_iops": "I/Os due per second",
    "idle_s": "pause, s",
}


def tests(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Every test without figures of its own, with its charts and the rows of its table."""
    found: dict[str, dict[str, Any]] = {}
    for run in runs:
        for test in run.manifest.get("tests") or []:
            if test.get("name") and test.get("recordings"):
                found.setdefault(str(test["name"]), test)
    names = drive_names(runs)
    return [
        {
            "name": name,
            "id": f"test-{number_of_test}",
            "title": str(test.get("title") or name),
            "purpose": str(test.get("purpose") or ""),
            "charts": [
                {"id": f"chart-{number_of_test}-{place}", **made}
                for place, made in enumerate(
                    made for chart in _asked_for(test) for made in _chart(chart, name, runs, names)
                )
            ],
        }
        for number_of_test, (name, test) in enumerate(found.items())
    ]


def _asked_for(test: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The charts of a test, and one of its single I/Os where some were kept and none asks for it.

    A test with figures of its own has of its charts those that say what the figures do not: latency
    over time.
    """
    charts: list[Mapping[str, Any]] = list(test.get("charts") or [])
    if test["name"] in SECTIONS:
        charts = [c for c in charts if c["kind"] == "seconds" and c["y"].startswith("latency")]
    else:
        charts.append({"kind": "model", "title": "Model and measurement"})
    logged = any("logged" in recording for recording in test.get("recordings") or [])
    if logged and not any(chart.get("kind") == "ios" for chart in charts):
        title = "Latency of single I/Os over time"
        charts.append({"kind": "ios", "title": title, "series": ["label"], "most": LOGS_DRAWN})
    return charts


def drawn(tests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the page's script needs of the charts, by their ids; the cells of heat maps are tables
    in the page."""
    in_the_page = ("columns", "rows", "corner")
    return {
        chart["id"]: {key: value for key, value in chart.items() if key not in in_the_page}
        for test in tests
        for chart in test["charts"]
    }


def _chart(
    chart: Mapping[str, Any], test: str, runs: Sequence[Run], names: Sequence[str]
) -> list[dict[str, Any]]:
    make = {
        "lines": _lines,
        "dots": _lines,
        "heat": _heat,
        "seconds": _seconds,
        "percentiles": _percentiles,
        "rounds": _rounds,
        "ios": _ios,
        "model": _model,
    }.get(str(chart.get("kind")))
    return [] if make is None else make(chart, test, runs, names)


def _rows(
    chart: Mapping[str, Any], test: str, run: Run, *, by_operation: bool
) -> list[dict[str, Any]]:
    """Recordings of a chart: reads and writes together, or each operation by itself."""
    ids = str(chart.get("ids") or "")
    kept: dict[tuple[str, str], dict[str, Any]] = {}
    for row in joined(run):
        if row["test"] != test or row["operation"] == "flush":
            continue
        if not str(row["recording"]).startswith(ids):
            continue
        key = (str(row["recording"]), str(row["operation"]) if by_operation else "")
        known = kept.get(key)
        if known is None:
            kept[key] = dict(row)
            continue
        ios, more = known.get("ios") or 0, row.get("ios") or 0
        for name in ("iops", "bytes_per_second", "ios", "errors"):
            known[name] = (known.get(name) or 0) + (row.get(name) or 0)
        first, second = known.get("latency_mean_s"), row.get("latency_mean_s")
        if first is not None and second is not None and ios + more:
            known["latency_mean_s"] = (ios * first + more * second) / (ios + more)
        for name in ("latency_p50_s", "latency_p90_s", "latency_p99_s", "latency_p999_s"):
            # Of two distributions the slower one's.
            known[name] = max(known.get(name) or 0, row.get(name) or 0)
        known["latency_max_s"] = max(known.get("latency_max_s") or 0, row.get("latency_max_s") or 0)
        known["operation"] = "mixed"
    return list(kept.values())


def value_of(row: Mapping[str, Any], y: str) -> float | None:
    """A metric of a row, in the unit that a chart shows."""
    if y == "mbps":
        moved = finite(row.get("bytes_per_second"))
        return None if moved is None else moved / 1e6
    return finite(row.get("iops" if y == "iops" else f"{y}_s"))


def _label(row: Mapping[str, Any], keys: Iterable[str]) -> str:
    parts = []
    for key in keys:
        if key == "each operation":
            parts.append(f"{row['operation']}s")
            continue
        value = row["label"] if key == "label" else row["point"].get(key, row.get(key))
        if value is not None:
            parts.append(_named(key, value))
    return ", ".join(parts)


def _named(key: str, value: Any) -> str:
    if key.endswith("_bytes"):
        return wording.size(value)
    if key.endswith("_percent"):
        return f"{value:g} % {key.removesuffix('_percent')}s"
    if isinstance(value, (int, float)):
        return f"{key.replace('_', ' ')} {value:g}"
    return str(value)


def _axis(key: str, log: str, which: str) -> dict[str, Any]:
    return {"key": key, "title": TITLES.get(key, key.replace("_", " ")), "log": which in log}


def _lines(
    chart: Mapping[str, Any], test: str, runs: Sequence[Run], names: Sequence[str]
) -> list[dict[str, Any]]:
    x, y, keys = str(chart["x"]), str(chart["y"]), list(chart.get("series") or [])
    series: dict[tuple[int, str], list[list[Any]]] = {}
    for drive, run in enumerate(runs):
        averages = _averages(run, test) if "round" not in x else []
        if averages:
            for mean in averages:
                at = finite(mean.get(x))
                if at is not None:
                    points = series.setdefault((drive, _label({"point": mean}, keys)), [])
                    points.append([at, _round(value_of(mean, y)), str(mean["variable"])])
            continue
        for row in _rows(chart, test, run, by_operation="each operation" in keys):
            at = finite(row["point"].get(x))
            if at is not None:
                value = _round(value_of(row, y))
                point: list[Any] = [at, value, str(row["recording"])]
                interval = rate_interval(run, row) if y in ("iops", "mbps") else None
                if interval is not None and value is not None and row["operation"] != "mixed":
                    point.append([_round(value * factor) for factor in interval])
                series.setdefault((drive, _label(row, keys)), []).append(point)
    if not series:
        return []
    log = str(chart.get("log") or "")
    return [
        {
            "kind": chart["kind"],
            "title": chart["title"],
            "x": _axis(x, log, "x"),
            "y": _axis(y, log, "y"),
            "series": [
                {"drive": drive, "label": label, "points": sorted(points, key=lambda p: p[0])}
                for (drive, label), points in series.items()
            ],
        }
    ]


def _averages(run: Run, test: str) -> list[dict[str, Any]]:
    """What a test in rounds came to, by variable; empty for other tests."""
    found = findings(run, f"averages_{test}")
    return list(found[0]["detail"]["cells"]) if found else []


def _heat(
    chart: Mapping[str, Any], test: str, runs: Sequence[Run], names: Sequence[str]
) -> list[dict[str, Any]]:
    """A map for each drive and series, all of one chart on one logarithmic scale."""
    x, y, rows_key = str(chart["x"]), str(chart["y"]), str(chart["rows"])
    maps: dict[tuple[int, str], dict[tuple[float, float], float | None]] = {}
    for drive, run in enumerate(runs):
        averages = _averages(run, test)
        if averages:
            for mean in averages:
                at = (finite(mean.get(rows_key)), finite(mean.get(x)))
                if at[0] is not None and at[1] is not None:
                    maps.setdefault((drive, ""), {})[at[0], at[1]] = value_of(mean, y)
            continue
        for row in _rows(chart, test, run, by_operation=False):
            place = (finite(row["point"].get(rows_key)), finite(row["point"].get(x)))
            if place[0] is not None and place[1] is not None:
                label = _label(row, chart.get("series") or [])
                maps.setdefault((drive, label), {})[place[0], place[1]] = value_of(row, y)
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
        parts = [str(chart["title"]), label, names[drive] if len(runs) > 1 else ""]
        made.append(
            {
                "kind": "heat",
                "title": ", ".join(part for part in parts if part),
                "drive": drive,
                "label": label,
                "row": _axis(rows_key, "", ""),
                "column": _axis(x, "", ""),
                "y": _axis(y, "", ""),
                "values": [[row, column, _round(v)] for (row, column), v in sorted(cells.items())],
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


def _seconds(
    chart: Mapping[str, Any], test: str, runs: Sequence[Run], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Every second of the recordings. With ``x`` "elapsed" they follow one another on one axis,
    pauses left out; else each series begins at zero, and IOPS with a log axis are shown in the
    reviews' three views."""
    y, keys = str(chart["y"]), list(chart.get("series") or [])
    in_order = chart.get("x") == "elapsed"
    log = str(chart.get("log") or "")
    series: dict[tuple[int, str], list[list[Any]]] = {}
    recordings: dict[tuple[int, str], list[str]] = {}
    for drive, run in enumerate(runs):
        clock = 0.0
        for row in _rows(chart, test, run, by_operation=True):
            whole = run.series(str(row["recording"]), str(row["operation"]))
            elapsed = finite(row.get("elapsed_s")) or 0.0
            # A last second that the end cut short is no second; of a shorter run it is all.
            count = min(len(whole["ios"]), max(math.floor(elapsed + 1e-6), 0))
            key = (drive, _operation_label(row, keys))
            points = series.setdefault(key, [])
            recordings.setdefault(key, []).append(str(row["recording"]))
            start = clock if in_order else (points[-1][0] + 1 if points else 0.0)
            points += [
                [round(start + second, 3), _round(_second(whole, second, y))]
                for second in range(count)
            ]
            clock += elapsed if _last_operation(row, run) else 0.0
    shown = {key: points for key, points in series.items() if points}
    if not shown:
        return []
    return [
        {
            "kind": "views" if y == "iops" and "y" in log and not in_order else "seconds",
            # Series that begin anew each have a panel of their own.
            "apart": not in_order,
            "title": chart["title"],
            "x": {"key": "second", "title": "second", "log": False},
            "y": _axis(y, log, "y"),
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


def _steady(run: Run, recordings: Sequence[str]) -> dict[str, Any] | None:
    return steady_part(run, recordings[0]) if len(recordings) == 1 else None


def _operation_label(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    label = _label(row, keys)
    mixed = row["point"].get("operation") == "mixed"
    return f"{label}, {row['operation']}s" if mixed else label


def _last_operation(row: Mapping[str, Any], run: Run) -> bool:
    """Whether a recording's clock moves on: with its last operation."""
    mine = [
        one["operation"]
        for one in run.recordings
        if one["recording"] == row["recording"] and one["operation"] != "flush"
    ]
    return not mine or row["operation"] == mine[-1]


def _second(series: Mapping[str, Any], second: int, y: str) -> float | None:
    if y == "iops":
        return float(series["ios"][second])
    if y == "mbps":
        return float(series["bytes"][second]) / 1e6
    return finite(series[f"{y}_s"][second])


def _percentiles(
    chart: Mapping[str, Any], test: str, runs: Sequence[Run], names: Sequence[str]
) -> list[dict[str, Any]]:
    series = []
    for drive, run in enumerate(runs):
        for row in _rows(chart, test, run, by_operation=True):
            points = curve(run, row)
            if points["ns"]:
                label = _operation_label(row, list(chart.get("series") or []))
                pairs = zip(points["tail"], points["ns"], strict=True)
                series.append(
                    {
                        "drive": drive,
                        "label": label,
                        "points": [[tail, ns / 1e9] for tail, ns in pairs],
                    }
                )
    if not series:
        return []
    return [
        {
            "kind": "percentiles",
            "title": chart["title"],
            "x": {"key": "tail", "title": "% of I/Os that are at most this slow", "log": True},
            "y": {"key": "latency_max", "title": "latency", "log": True},
            "series": series,
        }
    ]


def _ios(
    chart: Mapping[str, Any], test: str, runs: Sequence[Run], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Single I/Os: a map of how many there were at a time and latency, and the same as dots; both
    under the median, the 99th percentile and the slowest of all of them, by stretches of time. All
    panels share their scales."""
    found = list(_logs(chart, test, runs))
    shown = found[: chart.get("most")]
    if not shown:
        return []
    served = [(np.asarray(log.completed_ns * 1e-9, np.float64), log) for _, log, _ in shown]
    scales = latency_over_time.map_of([(at, log.latency_s) for at, log in served])
    maps, dots = [], []
    for (series, log, detail), (completed_s, _) in zip(shown, served, strict=True):
        lines = _stretches(detail)
        counts = scales.counts(completed_s, log.latency_s)
        cells = [[int(c), int(r), int(counts[c, r])] for c, r in np.argwhere(counts)]
        maps.append({**series, "cells": cells, "lines": lines})
        log = log.chosen(latency_over_time.drawn(log.latency_s))
        pairs = zip(log.completed_ns * 1e-9, log.latency_s, strict=True)
        points = [[_round(at), _round(latency)] for at, latency in pairs]
        dots.append({**series, "points": points, "lines": lines})
    shares = [detail["one_in"] for _, _, detail in shown]
    recorded = ", ".join(dict.fromkeys("all" if n == 1 else f"one in {n}" for n in shares))
    left_out = f" The first {len(shown)} of {len(found)} are drawn." if found != shown else ""
    lines_are = (
        "The lines are the median (solid), the 99th percentile (dashed) and the slowest (dotted) "
        f"of all on record, by {latency_over_time.STRETCHES} stretches of time at most.{left_out}"
    )
    common = {
        "apart": True,
        "x": {"key": "second", "title": "second", "log": False},
        "y": {"key": "latency", "title": "latency", "log": True},
    }
    return [
        {
            **common,
            "kind": "density",
            "title": str(chart["title"]),
            "series": maps,
            "map": {
                "to_s": _round(scales.to_s),
                "columns": scales.columns,
                "latency_s": [_round(edge) for edge in scales.latency_s],
                "most": max(count for series in maps for _, _, count in series["cells"]),
            },
            "caption": f"I/Os on record ({recorded} of them) by when they completed and how long "
            f"they took; each shade is as many times more as the one before. {lines_are}",
        },
        {
            **common,
            "kind": "ios",
            "title": f"{chart['title']}, as dots",
            "series": dots,
            "caption": f"A dot is one I/O: of those on record ({recorded} of them) "
            f"{latency_over_time.DOTS:,} drawn at random and the {latency_over_time.SLOWEST} "
            f"slowest. {lines_are}",
        },
    ]


def _logs(
    chart: Mapping[str, Any], test: str, runs: Sequence[Run]
) -> Iterator[tuple[dict[str, Any], IoLog, Mapping[str, Any]]]:
    """Drive and label, served I/Os and finding of each recording and operation with a log."""
    for drive, run in enumerate(runs):
        said = {
            (found["detail"]["recording"], found["detail"]["operation"]): found["detail"]
            for found in findings(run, "latency_over_time_*")
        }
        for row in _rows(chart, test, run, by_operation=True):
            detail = said.get((str(row["recording"]), str(row["operation"])))
            if detail is None:
                continue
            log = latency_over_time.served(run.ios(str(row["recording"])), str(row["operation"]))
            if len(log):
                label = _operation_label(row, list(chart.get("series") or []))
                yield {"drive": drive, "label": label}, log, detail


def _stretches(detail: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The lines over single I/Os, out of their finding."""
    return [
        {
            "label": label,
            "points": [
                [_round(at), _round(value)]
                for at, value in zip(detail["at_s"], detail[key], strict=True)
            ],
        }
        for label, key in (("median", "median_s"), ("99 %", "p99_s"), ("slowest", "max_s"))
    ]


def _model(
    chart: Mapping[str, Any], test: str, runs: Sequence[Run], names: Sequence[str]
) -> list[dict[str, Any]]:
    """What findings of the test say a request of each size should take, and what it took."""
    series: dict[tuple[int, str], dict[str, Any]] = {}
    for drive, run in enumerate(runs):
        for finding in run.findings:
            evidence = [str(item).split("/") for item in finding.get("evidence") or []]
            if not evidence or {parts[0] for parts in evidence} != {test}:
                continue
            points = _modelled(finding.get("detail") or {})
            operation = evidence[0][1] if len(evidence[0]) > 1 else ""
            # Findings about parts of one model carry it alike.
            extended = ", extended model" if "extended" in str(finding.get("name")) else ""
            label = f"{operation}s{extended}" if operation in OPERATIONS else finding["title"]
            if points:
                series.setdefault((drive, label), {"points": points})
    if not series:
        return []
    return [
        {
            "kind": "model",
            "title": chart["title"],
            "x": _axis("block_bytes", "x", "x"),
            "y": {"key": "latency_mean", "title": "time of a request", "log": True},
            "series": [
                {"drive": drive, "label": label, **made} for (drive, label), made in series.items()
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
        [_round(value) for value in row]
        for row in zip(sizes, *times, strict=False)
        if None not in row
    ]
    return sorted([value for value in row if value is not None] for row in rows)


def _rounds(
    chart: Mapping[str, Any], test: str, runs: Sequence[Run], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Each variable that a steady state is judged by, with its window and the lines of it."""
    made = []
    for drive, run in enumerate(runs):
        for finding in findings(run, f"rounds_{test}_*"):
            detail = finding.get("detail") or {}
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
                    "y": _axis(y, "", "y"),
                    "points": [
                        [at, _round(value * factor)]
                        for at, value in zip(detail["rounds"], detail["values"], strict=True)
                    ],
                    "window": None if window is None else _window(window, factor),
                    "text": str(finding.get("text") or ""),
                }
            )
    return made


def _window(window: Mapping[str, Any], factor: float) -> dict[str, Any]:
    rounds = window["last_round"] - window["first_round"]
    start = window["intercept"] * factor
    return {
        "first": window["first_round"],
        "last": window["last_round"],
        "average": _round(window["average"] * factor),
        "slope": [_round(start), _round(start + rounds * window["slope_per_round"] * factor)],
        "steady": window["steady"],
    }


def _round(value: object, digits: int = 6) -> float | None:
    x = finite(value)
    return None if x is None else float(f"{x:.{digits}g}")
