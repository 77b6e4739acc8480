"""Charts as a suite file writes them, and the default charts of a test without any."""

from collections.abc import Mapping, Sequence
from typing import Any

from fourcorners.errors import UserError
from fourcorners.manifest import CHART_KINDS, Chart
from fourcorners.suites.access import AXES
from fourcorners.suites.parameters import unknown
from fourcorners.units import shortened


def table_of(given: Any, where: str, key: str) -> Mapping[str, Any]:
    """What a file has for a table; raises :class:`UserError`."""
    if not isinstance(given, Mapping):
        raise UserError(f"{where}: {key} = {shortened(repr(given))}: write it as a table")
    return given


def read_charts(given: Any, where: str) -> tuple[Chart, ...]:
    """The tables ``[[test.chart]]``; raises :class:`UserError`."""
    if not isinstance(given, list):
        raise UserError(f"{where}: chart must be tables, [[test.chart]]")
    charts = []
    keys = list(Chart.__struct_fields__)
    for number, table in enumerate(given, start=1):
        place = f"{where}, chart {number}"
        for key, value in table_of(table, where, "chart").items():
            if key not in keys:
                raise UserError(f"{place}: {unknown('key', key, keys)}")
            if key == "series" and not (
                isinstance(value, list) and all(isinstance(one, str) for one in value)
            ):
                raise UserError(f"{place}: series = {value!r}: use a list of text")
            if key != "series" and not isinstance(value, str):
                raise UserError(f"{place}: {key} = {value!r}: use text")
        if table.get("kind") not in CHART_KINDS:
            raise UserError(
                f"{place}: kind: {unknown('kind', str(table.get('kind')), list(CHART_KINDS))}"
            )
        if "title" not in table:
            raise UserError(f"{place}: title is missing: say what the chart shows")
        charts.append(Chart(**{**table, "series": tuple(table.get("series", ()))}))
    return tuple(charts)


def default_charts(swept: Sequence[str]) -> tuple[Chart, ...]:
    """A sweep of one number is a line, of two a heat map; anything else is drawn by the second."""
    numbers = [AXES[key][0] for key in swept if key in AXES]
    words = tuple(key for key in swept if key not in AXES)
    if len(numbers) == 2 and not words:
        return tuple(
            Chart("heat", title, y, numbers[1], numbers[0], ("workload",))
            for title, y in (("IOPS", "iops"), ("MB/s", "mbps"), ("Mean latency", "latency_mean"))
        )
    if numbers:
        series = ("workload", *numbers[1:], *words)
        return (
            Chart("lines", "Throughput", "mbps", numbers[0], series=series),
            Chart("lines", "Mean latency", "latency_mean", numbers[0], series=series, log="y"),
        )
    return (
        Chart("seconds", "IOPS by the second", "iops", series=("label",)),
        Chart("seconds", "MB/s by the second", "mbps", series=("label",)),
        Chart("percentiles", "Latency percentiles", "latency", series=("label",)),
    )
