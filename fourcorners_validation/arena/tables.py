"""The tables of the contests' documents, and the figures in their cells."""

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np

TEXTS, NUMBERS = "---", "---:"

_OR_NULL = {"nullable": True}
Figure = Annotated[float, msgspec.Meta(extra_json_schema=_OR_NULL)]
"""NaN where there is nothing to count, which JSON has as null."""
Share = Annotated[float, msgspec.Meta(ge=0, le=1, extra_json_schema=_OR_NULL)]
"""A :class:`Figure` from 0 to 1."""


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], columns: str = TEXTS) -> str:
    """A table in Markdown, whose columns after the first are texts or numbers."""
    lines = [head, [TEXTS, *[columns] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def quantile_of(values: Any, share: float) -> float:
    """Of any number of values; NaN of none."""
    return float(np.quantile(values, share)) if len(values) else math.nan


def mean_of(values: Any) -> float:
    """The same for the mean: of truths, the share that are so."""
    return float(np.mean(values)) if len(values) else math.nan
