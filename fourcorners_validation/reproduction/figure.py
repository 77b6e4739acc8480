"""Compares published figures with simulated ones, and tells fitted from predicted ones."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from fourcorners import catalog
from fourcorners.catalog.published import Published, Unit, published
from fourcorners.errors import UserError
from fourcorners_validation.reproduction.experiment import NotRunError, Results, SimulatedResult
from fourcorners_validation.reproduction.expressions import farthest, value_of
from fourcorners_validation.reproduction.recorded import MIB, Names, Recorded

Standing = Literal["fitted", "predicted"]
Verdict = Literal["met", "missed", "not run"]

STANDINGS: tuple[Standing, ...] = ("predicted", "fitted")
"""Predictions come first, because only they are evidence for the model."""

ERROR_MAX: dict[Standing, float] = {"fitted": 0.05, "predicted": 0.15}
"""The largest relative error with which a figure counts as met."""


class FigureTable(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """Where the simulation has a published figure, as a source's file describes it.

    Args:
        of: the recording on the figure's drive whose rate or mean latency it is, in the figure's
            unit; of several recordings, the one that misses it most.
        variant: the experiment of the drive that has the recording.
        value: instead of both, an expression that gives the figure, in its unit.
        also: further drives that the figure compares, whose parameters can be fitted to it.
        words: patterns that mean this figure in a parameter's source, as its value does.
        follows_from: the figure that this one is computed from: it is fitted when that one is.
        chosen: parameters chosen with knowledge of the figure, though their sources omit it.
        reason: why the figure is missed, if that is known.
    """

    of: str | None = None
    variant: str | None = None
    value: str | None = None
    also: list[str] = []
    words: list[str] = []
    follows_from: str | None = None
    chosen: list[str] = []
    reason: str | None = None


_RATES: dict[Unit, Callable[[SimulatedResult], float]] = {
    "IOPS": lambda one: one.iops,
    "MB/s": lambda one: one.megabytes_per_second,
    "MiB/s": lambda one: one.bytes_per_second / MIB,
    "ms": lambda one: one.latency_mean_s * 1e3,
}


@dataclass(frozen=True)
class Figure:
    """A published figure of ``published.csv`` and where the simulation has it. ``reasons`` has
    the reasons that several figures share, by name."""

    id: str
    names: Names
    table: FigureTable
    reasons: Mapping[str, str]

    @property
    def reason(self) -> str | None:
        """Why the figure is missed, if that is known."""
        return self.reasons.get(self.table.reason or "", self.table.reason)

    @property
    def drives(self) -> list[str]:
        """The catalog's names of all drives that the figure compares."""
        also = [self.names.drives[self.names.source][name] for name in self.table.also]
        return [published()[self.id].drive, *also]

    def simulate(self, results: Results) -> float:
        """The simulated value, in the published unit; raises :class:`NotRunError`."""
        if self.table.value is not None:
            return value_of(self.table.value, Recorded(self.names, results))
        row = published()[self.id]
        assert self.table.of is not None
        key = "/".join(part for part in (self.names.source, row.drive, self.table.variant) if part)
        values = [_RATES[row.unit](results(key, one)) for one in self.names.all_of(self.table.of)]
        return farthest(values, row.value)


@dataclass(frozen=True)
class FigureRow:
    """One row of the table of figures. ``error`` is relative; ``fitted`` lists parameters."""

    source: str
    published: Published
    drive_name: str
    simulated: float | None
    error: float | None
    standing: Standing
    fitted: tuple[str, ...]
    verdict: Verdict
    reason: str | None


def figure_row(source: str, figure: Figure, results: Results) -> FigureRow:
    """Judges a figure by :data:`ERROR_MAX`."""
    row = published()[figure.id]
    fitted = fitted_parameters(figure)
    standing: Standing = "fitted" if fitted else "predicted"
    simulated: float | None = None
    error: float | None = None
    verdict: Verdict = "not run"
    reason = None
    try:
        simulated = figure.simulate(results)
    except NotRunError as absent:
        reason = str(absent)
    else:
        error = row.error(simulated)
        verdict = "met" if abs(error) <= ERROR_MAX[standing] else "missed"
        reason = figure.reason if verdict == "missed" else None
    return FigureRow(
        source, row, drive_name(row.drive), simulated, error, standing, fitted, verdict, reason
    )


def drive_name(drive: str) -> str:
    """A drive's readable name; its catalog name as long as it is not in the catalog."""
    try:
        return catalog.load(drive).name
    except UserError:
        return drive


def fitted_parameters(figure: Figure) -> tuple[str, ...]:
    """The parameters that were chosen by this figure: those whose source has the figure's value
    with its unit, whatever the source is called, or takes it over from a review or a vendor; and
    those whose source says "fitted to" and has one of the figure's words."""
    origin = published()[figure.table.follows_from or figure.id]
    said = [
        name
        for name, source in _sources(figure.drives)
        if (_fitted(source) and any(re.search(pattern, source) for pattern in figure.table.words))
        or (re.search(_value_pattern(origin), source) and _same_operation(origin.what, source))
    ]
    return tuple(dict.fromkeys((*figure.table.chosen, *said)))


def parameters_fitted_to(drives: Iterable[str], words: Iterable[str]) -> tuple[str, ...]:
    """The parameters of these drives whose source says "fitted to" and has one of the words."""
    patterns = tuple(words)
    names = (
        name
        for name, source in _sources(drives)
        if _fitted(source) and any(re.search(pattern, source) for pattern in patterns)
    )
    return tuple(dict.fromkeys(names))


def _sources(drives: Iterable[str]) -> list[tuple[str, str]]:
    known = catalog.names()
    return [
        (f"{parameter.section}.{parameter.name}", _said(parameter))
        for drive in drives
        if drive in known
        for parameter in catalog.load(drive).parameters
    ]


def _said(parameter: catalog.Parameter) -> str:
    """A source without the claims that it only mentions; with the value, if it was taken over."""
    source = re.sub(r"[;,] the vendor claims [^;]*", "", parameter.source)
    taken_over = source.startswith("review:") or "vendor claim" in source
    return f"{source} {parameter.value}" if taken_over else source


def _fitted(source: str) -> bool:
    return "fitted to" in source


def _same_operation(what: str, source: str) -> bool:
    """Whether a source names the figure's operation, or none: "200 MB/s of reads" is not the source
    of a figure of 200 MB/s of writes."""
    named = {operation for operation in ("read", "write") if operation in source}
    return not named or any(operation in what.lower() for operation in named)


def _value_pattern(row: Published) -> str:
    value, unit = (row.value * 100, " ?%") if row.unit == "ratio" else (row.value, f" {row.unit}")
    numbers = "|".join(re.escape(text) for text in {f"{value:g}", f"{value:,.0f}"})
    # The wording of I/O rates differs: "2220 random 512 B reads per second".
    return rf"(?<![\d.,])(?:{numbers})(?:{' ' if row.unit == 'IOPS' else unit})"
