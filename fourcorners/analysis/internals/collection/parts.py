"""A drive that is written in parts, each a recording."""

from __future__ import annotations

from fourcorners.analysis.internals.view import View, pick
from fourcorners.analysis.source import Measured

TEST = "probe-overwrite"

FILL = pick(TEST, "write", stage="fill")
OVERWRITE = pick(TEST, "write", stage="overwrite")

Part = tuple[int, float]
"""Bytes written, and the seconds that it took."""


def parts(points: list[Measured]) -> list[Part]:
    """What was written in each, in order."""
    return [(m.bytes, m.elapsed_s) for m in points]


def overwritten(view: View) -> list[Measured]:
    """The fill and all parts that were overwritten after it."""
    return [*FILL(view)[:1], *OVERWRITE(view)]
