"""The reviews, their experiments and their claims, which are read from ``sources/*.toml``."""

from dataclasses import dataclass
from importlib import resources
from typing import Any

import msgspec

from fourcorners_validation.reproduction.bars import BarTable
from fourcorners_validation.reproduction.checks import CheckTable, PublishedCheck
from fourcorners_validation.reproduction.experiment import Experiment, Results
from fourcorners_validation.reproduction.figure import Figure, FigureTable
from fourcorners_validation.reproduction.recorded import Names, Recorded


@dataclass(frozen=True)
class Source:
    """One review, by the short name that is used throughout.

    ``left_out`` names the parts of the review that cannot be shown, with the reason.
    """

    name: str
    title: str
    citation: str
    names: Names
    experiments: tuple[Experiment, ...]
    figures: tuple[Figure, ...]
    checks: tuple[PublishedCheck, ...]
    bars: tuple[BarTable, ...]
    left_out: str | None = None

    def recorded(self, results: Results) -> Recorded:
        """What was measured, by the source's own names."""
        return Recorded(self.names, results)


class _ExperimentTable(msgspec.Struct, forbid_unknown_fields=True):
    """The plans that run on each of some drives, one after the other."""

    drives: str | list[str]
    plan: list[str]
    variant: str = ""
    settings: dict[str, str] = {}


class _File(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """A source's file. ``plans`` are lists of tests as suite files have them; ``names`` what the
    texts of the file stand for; ``reasons`` those that several figures are missed for."""

    title: str
    citation: str
    drives: dict[str, str]
    plans: dict[str, list[dict[str, Any]]]
    experiment: list[_ExperimentTable]
    figures: dict[str, FigureTable]
    left_out: str | None = None
    names: dict[str, str | list[str | int]] = {}
    reasons: dict[str, str] = {}
    check: list[CheckTable] = []
    bars: list[BarTable] = []


_ORDER = ("core", "owc", "vertex3", "sata", "vector", "pages")
"""The reviews in order of time."""


def _read() -> dict[str, Source]:
    folder = resources.files(__package__) / "sources"
    files = {
        name: msgspec.toml.decode((folder / f"{name}.toml").read_bytes(), type=_File)
        for name in _ORDER
    }
    drives = {name: file.drives for name, file in files.items()}
    return {name: _source(file, Names(name, drives, file.names)) for name, file in files.items()}


def _source(file: _File, names: Names) -> Source:
    figures = {id: Figure(id, names, table, file.reasons) for id, table in file.figures.items()}
    return Source(
        names.source,
        file.title,
        file.citation,
        names,
        tuple(
            Experiment(
                names.source,
                file.drives[drive],
                tuple(part for plan in table.plan for part in file.plans[plan]),
                table.variant,
                tuple(table.settings.items()),
            )
            for table in file.experiment
            for drive in names.listed(table.drives)
        ),
        tuple(figures.values()),
        tuple(
            PublishedCheck(names, table, tuple(figures[id] for id in table.restates))
            for table in file.check
        ),
        tuple(file.bars),
        file.left_out,
    )


SOURCES = _read()
"""By their short names."""
