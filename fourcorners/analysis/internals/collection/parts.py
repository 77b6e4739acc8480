"""The parts in which the probe fills and overwrites a drive; each part is a recording."""

from __future__ import annotations

from fourcorners.analysis.internals.view import View, pick
from fourcorners.analysis.source import Measured

TEST = "probe-overwrite"

FILL = pick(TEST, "write", stage="fill")
OVERWRITE = pick(TEST, "write", stage="overwrite")
LAID = pick(TEST, "write", stage="laid")
"""Sequential writes to the trimmed drive, at its full pace."""

Part = tuple[int, float]
"""The bytes written, and the seconds that they took."""


def parts(points: list[Measured]) -> list[Part]:
    """The bytes and the time of each part, in order."""
    return [(m.bytes, m.elapsed_s) for m in points]


def overwritten(view: View) -> list[Measured]:
    """The fill and all parts that were overwritten after the fill."""
    return [*FILL(view)[:1], *OVERWRITE(view)]
