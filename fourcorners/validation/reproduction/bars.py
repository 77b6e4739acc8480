"""The reviews' bars: rates of several drives in one test, on one scale."""

from collections.abc import Sequence
from dataclasses import dataclass

from fourcorners.catalog.published import published
from fourcorners.validation.reproduction.experiment import NotRunError, Results
from fourcorners.validation.reproduction.experiments import owc, vertex3
from fourcorners.validation.reproduction.figure import drive_name


@dataclass(frozen=True)
class Bar:
    """A drive's rates in MB/s, one for each of the chart's kinds, and a published one."""

    drive: str
    rates: tuple[float, ...]
    published: float | None = None


@dataclass(frozen=True)
class BarChart:
    """Bars of one test. ``kinds`` name the rates where there are two; ``scale`` is the longest."""

    title: str
    kinds: tuple[str, ...]
    bars: tuple[Bar, ...]
    absent: tuple[str, ...]

    @property
    def scale(self) -> float:
        """MB/s of a bar of full length."""
        values = [v for bar in self.bars for v in (*bar.rates, bar.published or 0)]
        return max(values, default=1.0)


def charts(source: str, results: Results) -> list[BarChart]:
    """The charts of a source; none for those that have plots only."""
    if source == "owc":
        return _owc(results)
    return _vertex3(results) if source == "vertex3" else []


def _owc(results: Results) -> list[BarChart]:
    def chart(
        title: str, recordings: Sequence[tuple[str, str]], figures: Sequence[str]
    ) -> BarChart:
        rows = [
            (drive_name(drive), [(f"owc/{drive}", recording) for _, recording in recordings], drive)
            for drive in owc.DRIVES
        ]
        return _chart(title, tuple(kind for kind, _ in recordings), rows, figures, results)

    return [
        chart(
            "4 KiB random write, queue depth 3",
            (("aligned to 4 KiB", owc.WRITE), ("to sectors only", owc.UNALIGNED)),
            (
                "owc-50-write",
                "owc-100-write",
                "owc-le-write",
                "owc-x25m-80-write",
                "owc-x25m-160-write",
                "owc-kingston-write",
            ),
        ),
        chart(
            "4 KiB random read, queue depth 3",
            (("", owc.READ),),
            ("owc-x25v-read", "owc-kingston-read"),
        ),
    ]


def _vertex3(results: Results) -> list[BarChart]:
    def chart(
        title: str, recordings: Sequence[tuple[str, str]], figures: Sequence[str] = ()
    ) -> BarChart:
        rows = []
        for drive in vertex3.DRIVES:
            links = ("6 Gb/s", "3 Gb/s") if drive in (vertex3.SMALL, vertex3.LARGE) else ("",)
            rows += [
                (
                    f"{drive_name(drive)}, {link}" if link else drive_name(drive),
                    [(vertex3.key(drive, link), recording) for _, recording in recordings],
                    drive,
                )
                for link in links
            ]
        return _chart(title, tuple(kind for kind, _ in recordings), rows, figures, results)

    return [
        chart(
            "4 KiB random write, queue depth 3",
            (("incompressible", vertex3.WRITE), ("repeated data", vertex3.WRITE_REPEATED)),
            ("v3-510-write",),
        ),
        chart("4 KiB random read, queue depth 3", (("", vertex3.READ),)),
        chart(
            "128 KiB sequential write",
            (
                ("incompressible", vertex3.SEQUENTIAL),
                ("repeated data", vertex3.SEQUENTIAL_REPEATED),
            ),
        ),
        chart("128 KiB sequential read", (("", "sequential-read"),)),
    ]


def _chart(
    title: str,
    kinds: tuple[str, ...],
    rows: Sequence[tuple[str, Sequence[tuple[str, str]], str]],
    figures: Sequence[str],
    results: Results,
) -> BarChart:
    known = {published()[id].drive: published()[id].value for id in figures}
    bars, absent = [], []
    for name, recordings, drive in rows:
        try:
            rates = tuple(results(*recording).megabytes_per_second for recording in recordings)
        except NotRunError:
            absent.append(name)
        else:
            bars.append(Bar(name, rates, known.get(drive)))
    return BarChart(title, kinds, tuple(bars), tuple(dict.fromkeys(absent)))
