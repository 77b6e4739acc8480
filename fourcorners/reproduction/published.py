"""The published figures, as the catalog's ``published.csv`` has them."""

import csv
import io
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

Relation = Literal["is", "about", "above"]
Unit = Literal["IOPS", "MB/s", "MiB/s", "MiB", "ms", "ratio"]
Verified = Literal["review", "page", "derived"]


@dataclass(frozen=True)
class Published:
    """One published figure.

    ``drive`` is the catalog's name, ``relation`` how the source words the value (a value, about a
    value, more than a value), ``source`` a review's short name (see
    :data:`fourcorners.reproduction.SOURCES`) or the page that has it, ``url`` that page's address.
    ``verified``: read in the review, on the page, or derived from it by a reader.
    """

    id: str
    drive: str
    what: str
    relation: Relation
    value: float
    unit: Unit
    condition: str
    source: str
    url: str
    verified: Verified

    def error(self, simulated: float) -> float:
        """Relative error of a simulated value; 0 for what is above a figure that says "above"."""
        error = simulated / self.value - 1
        return 0.0 if self.relation == "above" and error > 0 else error


@cache
def published() -> dict[str, Published]:
    """All published figures by their id, in the file's order."""
    text = resources.files("fourcorners.catalog").joinpath("published.csv").read_text("utf-8")
    rows = [
        Published(**{**row, "value": float(row["value"])})  # type: ignore[arg-type]
        for row in csv.DictReader(io.StringIO(text))
    ]
    return {row.id: row for row in rows}
