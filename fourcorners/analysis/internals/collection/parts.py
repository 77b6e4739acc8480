"""The parts in which the probe fills and overwrites a drive; each part is a recording."""

from __future__ import annotations

from fourcorners.analysis.internals.view import View, pick
from fourcorners.analysis.source import Measured

TEST = "probe-overwrite"

FILL = pick(TEST, "write", stage="fill")
REST = pick(TEST, "write", stage="rest")
"""The last part of the fill, after reads."""
AFTER_FILL = pick(TEST, "read", stage="after-fill")
OVERWRITE = pick(TEST, "write", stage="overwrite")
LAID = pick(TEST, "write", stage="laid")
"""Sequential writes to the trimmed drive, at its full pace."""

FASTER_MIN = 1.5
"""From this many times the rate of sequential writes on, random ones go to other cells, another
medium, or dies that sequential ones do not use at the same time. Flash takes sequential writes at
least as fast: of 178 drives that contests of the probes recorded, random writes were at most 1.33
times as fast, but for one of log blocks (1.55). Cells of one bit are programmed in a half of the
time of others, or less."""

Part = tuple[int, float]
"""The bytes written, and the seconds that they took."""


def parts(points: list[Measured]) -> list[Part]:
    """The bytes and the time of each part, in order."""
    return [(m.bytes, m.elapsed_s) for m in points]


def filled_bytes(view: View) -> int:
    """The bytes of the fill."""
    return sum(m.bytes for m in (*FILL(view)[:1], *REST(view)[:1]))


def overwritten(view: View) -> list[Measured]:
    """The fill and all parts that were overwritten after the fill."""
    return [*FILL(view)[:1], *REST(view)[:1], *OVERWRITE(view)]


def faster_at_random(view: View) -> float | None:
    """How many times as fast random writes to the full drive were, at first, as any sequential
    ones; ``None`` where they were not clearly faster. They fill a cache then that sequential writes
    pass, and the drive slows down when that is full."""
    first, in_sequence = OVERWRITE(view)[:1], [*FILL(view), *LAID(view)]
    if not first or not in_sequence:
        return None
    times = first[0].bytes_per_second / max(m.bytes_per_second for m in in_sequence)
    return times if times >= FASTER_MIN else None
