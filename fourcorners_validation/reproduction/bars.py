"""The reviews' bars: rates of several drives in one test, on one scale."""

from dataclasses import dataclass

import msgspec

from fourcorners.catalog.published import published
from fourcorners_validation.reproduction.experiment import NotRunError
from fourcorners_validation.reproduction.figure import drive_name
from fourcorners_validation.reproduction.recorded import Recorded


@dataclass(frozen=True)
class Bar:
    """A drive's rates in MB/s, one for each of the chart's kinds, and a published one."""

    drive: str
    rates: tuple[float, ...]
    published: float | None = None


@dataclass(frozen=True)
class BarChart:
    """Bars of one test. ``kinds`` name the rates if there are two; ``scale`` is the longest bar."""

    title: str
    kinds: tuple[str, ...]
    bars: tuple[Bar, ...]
    absent: tuple[str, ...]

    @property
    def scale(self) -> float:
        """MB/s of a bar of full length."""
        values = [v for bar in self.bars for v in (*bar.rates, bar.published or 0)]
        return max(values, default=1.0)


class BarTable(msgspec.Struct, forbid_unknown_fields=True):
    """A chart as a source's file describes it: recordings by their names on the chart, and the
    published figures that are drawn next to the first."""

    title: str
    drives: str | list[str]
    kinds: dict[str, str]
    figures: list[str] = []


def bar_chart(table: BarTable, recorded: Recorded) -> BarChart:
    """One chart, which names the drives that were not run."""
    known = {published()[id].drive: published()[id].value for id in table.figures}
    ids = [id for kind in table.kinds.values() for id in recorded.names.all_of(kind)]
    bars, absent = [], []
    for experiment in recorded.names.listed(table.drives):
        _, drive, *variant = recorded.names.key(experiment).split("/", 2)
        name = ", ".join([drive_name(drive), *variant])
        try:
            rates = tuple(recorded.one(experiment, id).megabytes_per_second for id in ids)
        except NotRunError:
            absent.append(name)
        else:
            bars.append(Bar(name, rates, known.get(drive)))
    return BarChart(table.title, tuple(table.kinds), tuple(bars), tuple(dict.fromkeys(absent)))
