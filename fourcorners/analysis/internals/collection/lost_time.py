"""What writes lose by erasures: they need none in an erased drive."""

from __future__ import annotations

from fourcorners.analysis.internals.caches.burst_curve import completion_curve
from fourcorners.analysis.internals.collection.parts import FILL, LAID
from fourcorners.analysis.internals.view import View

_FILLED, _LAID = (0.3, 0.95), (0.5, 0.98)
"""The parts of the fill and of the writes to the trimmed drive whose rates are compared: write
buffers are full by then."""


def lost_s(view: View, unit_bytes: float) -> float | None:
    """By how much longer writes of so many bytes take where blocks have to be erased for them, than
    in a drive whose blocks are; ``None`` where that was not measured."""
    fill, laid = FILL(view)[:1], LAID(view)[-1:]
    if not fill or not laid:
        return None
    erased, due = (
        completion_curve(view.run, m).rate(low * m.bytes, high * m.bytes)
        for (m,), (low, high) in ((fill, _FILLED), (laid, _LAID))
    )
    return unit_bytes * (1 / due - 1 / erased)
