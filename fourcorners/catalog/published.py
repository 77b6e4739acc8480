"""The published figures, as the catalog's ``published.csv`` has them."""

import csv
import dataclasses
import io
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

import pyarrow as pa

Relation = Literal["is", "about", "above", "below", "between"]
Unit = Literal["IOPS", "MB/s", "MiB/s", "MiB", "ms", "ratio"]
Verified = Literal["review", "page", "derived", "claim"]


@dataclass(frozen=True)
class Published:
    """One published figure.

    ``drive`` is the catalog's name, ``relation`` how the source words the value (a value, about a
    value, more or less than a value, from ``value`` to ``high``), ``source`` a review's short name
    (see :data:`fourcorners_validation.reproduction.SOURCES`) or the page that has it, ``url`` that
    page's address. ``verified``: read in the review, on the page, derived from it by a reader, or a
    vendor's claim.
    """

    id: str
    drive: str
    what: str
    relation: Relation
    value: float
    high: float | None
    unit: Unit
    condition: str
    source: str
    url: str
    verified: Verified

    def error(self, simulated: float) -> float:
        """Relative error of a simulated value; 0 for what lies above a figure that says "above",
        below one that says "below", and in a range."""
        error = simulated / self.value - 1
        if self.relation == "between":
            assert self.high is not None
            return min(error, 0.0) + max(simulated / self.high - 1, 0.0)
        if self.relation == "above":
            return min(error, 0.0)
        return max(error, 0.0) if self.relation == "below" else error


@dataclass(frozen=True)
class Apart:
    """A published figure that is not held against the simulation, and why not."""

    drive: str
    what: str
    value: str
    source: str
    url: str
    reason: str


@cache
def published() -> dict[str, Published]:
    """All published figures by their id, in the file's order."""
    rows = [
        Published(
            **{
                **row,
                "value": float(row["value"]),
                "high": float(row["high"]) if row["high"] else None,
            }  # type: ignore[arg-type]
        )
        for row in _rows("published.csv")
    ]
    return {row.id: row for row in rows}


@cache
def published_apart() -> tuple[Apart, ...]:
    """What was published and is not held against the simulation, in the file's order."""
    return tuple(Apart(**row) for row in _rows("published_apart.csv"))


def _rows(name: str) -> list[dict[str, str]]:
    text = resources.files("fourcorners.catalog").joinpath(name).read_text("utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def published_table() -> pa.Table:
    """All published figures as the table ``published`` of docs/query.md."""
    return pa.Table.from_pylist([dataclasses.asdict(row) for row in published().values()])
