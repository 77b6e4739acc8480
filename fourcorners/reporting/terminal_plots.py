"""Small plots for the terminal: rates over time as dots, curves as bars with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.bar import Bar
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from uniplot import plot_to_string

from fourcorners import wording
from fourcorners.analysis.source import every_operation

from .payload import consistency_series
from .run import ReportedRun

# Of a terminal of 80 columns and 24 rows: a plot leaves room for what it is about.
ROWS = 7
BAR_COLUMNS = 20
BARS_MAX = 12
# Frame and labels beside a plot of 80 columns: "| 1,234,000 IOPS".
_WIDTH = 80 - 18


def rates_over_time(run: ReportedRun) -> list[RenderableType]:
    """The consistency test's writes, second by second."""
    plots: list[RenderableType] = []
    for one in every_operation(run.recordings):
        if one.test != "consistency":
            continue
        ios = consistency_series(0, run, one)["ios"]
        if len(ios) > 1:
            title = f"{one.of.label}: I/Os of every second"
            plots.append(dots(title, range(len(ios)), ios, " IOPS", width=_WIDTH, rows=ROWS))
    return plots


def dots(
    title: str,
    seconds: Sequence[float],
    values: Sequence[float],
    unit: str,
    *,
    width: int,
    rows: int,
    first: float | None = None,
    lines: bool = False,
    time_unit: str = " s",
) -> Text:
    """Values over time, from zero up; of seconds from ``first`` on. Times may have another unit."""
    start = seconds[0] if first is None else max(seconds[0], first)
    return Text(
        plot_to_string(
            list(values),
            xs=list(seconds),
            lines=lines,
            width=width,
            height=rows,
            character_set="braille",
            x_min=start,
            x_max=seconds[-1] if seconds[-1] > start else start + 1.0,
            y_min=0,
            x_unit=time_unit,
            y_unit=unit,
            x_gridlines=[],
            y_gridlines=[],
            title=title,
        ),
        no_wrap=True,
    )


def curves(run: ReportedRun) -> list[RenderableType]:
    """IOPS over queue depth and MB/s over transfer size, reads beside writes."""
    tables = [
        _bars(run, "queue-depth", "Queue depth, IOPS", "queue_depth", "iops"),
        _bars(run, "transfer-size", "Transfer size, MB/s", "block_bytes", "bytes_per_second"),
    ]
    return [table for table in tables if table is not None]


def _bars(run: ReportedRun, test: str, title: str, key: str, column: str) -> Table | None:
    points: dict[float, dict[str, float]] = {}
    for one in every_operation(run.recordings):
        at = wording.finite(one.point.get(key))
        if one.test == test and at is not None and not one.is_again:
            points.setdefault(at, {})[one.operation] = getattr(one, column)
    operations = [op for op in ("read", "write") if any(op in point for point in points.values())]
    if len(points) < 2 or not operations:
        return None
    table = Table(box=None, pad_edge=False, title=title, title_justify="left", title_style="bold")
    table.add_column("")
    for operation in operations:
        table.add_column(f"{operation}s", no_wrap=True)
        table.add_column("", justify="right", no_wrap=True)
    tops = {op: max(point.get(op, 0.0) for point in points.values()) for op in operations}
    for at in _chosen(sorted(points)):
        cells: list[Any] = [Text(wording.size(at) if key == "block_bytes" else f"{at:g}", "dim")]
        for operation in operations:
            value = points[at].get(operation)
            cells.append(Bar(tops[operation], 0, value or 0.0, width=BAR_COLUMNS))
            number = wording.mbps if column == "bytes_per_second" else wording.number
            cells.append(number(value))
        table.add_row(*cells)
    return table


def _chosen(values: Sequence[float]) -> list[float]:
    """At most :data:`BARS_MAX` of them, evenly taken, the last one always."""
    step = -(-len(values) // BARS_MAX)
    return sorted(values[::-1][::step])
