"""Findings ``compression``, ``compression_floor`` and ``deduplication`` from paired data.

Where flash limits writing, data that is stored in less room is written faster in proportion. Each
kind of data is held against the incompressible data before, among and after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fourcorners.analysis.internals.answer import Answer, inapplicable, known, unknown, yes_or_no
from fourcorners.analysis.internals.caches import write_buffer
from fourcorners.analysis.internals.caches.burst_curve import completion_curve
from fourcorners.analysis.internals.view import View, pick
from fourcorners.analysis.source import Measured, RunData
from fourcorners.sentences import say
from fourcorners.workload import INCOMPRESSIBLE, REPEATED, compressible

COUNTED = pick("probe-content", "write", counted=True)

_FASTER_MIN = 1.08
"""Rate over that of incompressible data from which data is stored in less room."""

_ALIKE_MAX = 1.03
"""The same up to which it is not."""

_DRIFT_MAX = 0.04
"""What incompressible data may differ by; beyond it the drive changes while it is written to."""

_FROM_LINK = 0.93
"""Share of the fastest that was seen over the link from which the link may be what limits."""

_TOLERANCE = 0.035
"""Of what compression saves: twice the drift that passes for none, over four bursts."""

_PADDED_BYTES = 64 * 2**10
"""Page on all planes of a die, at most."""

_LATE = (0.55, 0.98)
"""Part of a burst whose rate counts: the first of it replaces other data in the write buffer."""

_STRONG, _WEAK = compressible(2), compressible(50)
"""Data that compresses well, and to a half."""


@dataclass(frozen=True)
class _Gains:
    """How much faster each kind of data is written than incompressible data."""

    gain: Mapping[str, float]
    is_hidden: bool
    """The link, or something else before the flash, may be what limits."""
    is_by_link: bool
    """Data that compresses well may come as fast as the link carries it."""
    detail: dict[str, object]

    def less_room(self, *data: str) -> bool | None:
        """Whether the best of these kinds is stored in less room; ``None`` where that is hidden."""
        gain = max(self.gain[one] for one in data)
        if self.is_hidden or _ALIKE_MAX < gain < _FASTER_MIN:
            return None
        return gain >= _FASTER_MIN


def _gains(view: View) -> _Gains | Answer:
    rows = COUNTED(view)
    rates = {
        data: np.array([_rate(view.run, m) for m in rows if m.point.get("data") == data])
        for data in (INCOMPRESSIBLE, REPEATED, _STRONG, _WEAK)
    }
    if not all(len(values) for values in rates.values()):
        return unknown(say("compression.not_all"))
    plain = rates[INCOMPRESSIBLE]
    pace = float(plain.mean())
    drift = float(np.ptp(plain) / pace)
    detail: dict[str, object] = {
        "rates": {data: values.tolist() for data, values in rates.items()},
        "goodness": {"drift": [drift]},
    }
    if drift > _DRIFT_MAX:
        return unknown(say("compression.drift", drift=drift), detail=detail)
    carried = view.value("link_ceiling") or write_buffer.link_rate(view)
    fastest = max(float(values.max()) for values in rates.values())
    limited = carried is None or pace > _FROM_LINK * carried
    by_link = carried is None or float(rates[_STRONG].max()) > _FROM_LINK * carried
    gains = {data: float(values.mean() / pace) for data, values in rates.items()}
    return _Gains(gains, limited and fastest < _ALIKE_MAX * pace, by_link, detail)


def _rate(run: RunData, m: Measured) -> float:
    """Rate of the later part of a burst, in bytes per second."""
    curve = completion_curve(run, m)
    total = float(curve.count_bytes[-1])
    return curve.rate(_LATE[0] * total, _LATE[1] * total)


def compression(view: View) -> Answer:
    """Whether compressible data is stored in less room."""
    return _answer(view, "Compressible", _STRONG, _WEAK)


def deduplication(view: View) -> Answer:
    """Whether repeated data is stored once."""
    return _answer(view, "Repeated", REPEATED)


def _answer(view: View, kind: str, *data: str) -> Answer:
    gains = view.once(_gains)
    if isinstance(gains, Answer):
        return gains
    yes = gains.less_room(*data)
    gain = gains.gain[data[0]]
    shared = "compression.hidden" if yes is None else "compression.no_faster"
    said = say("measured" if yes else shared, kind=kind)
    return yes_or_no(yes, said, detail={**gains.detail, "gain": gain})


def floor(view: View) -> Answer:
    """The least room that data takes."""
    gains = view.once(_gains)
    if isinstance(gains, Answer):
        return gains
    compresses = view.value("compression")
    if compresses == 0:
        return inapplicable(say("not_compressing"))
    value = 1 / gains.gain[_STRONG]
    if compresses is None:
        return unknown(say("not_seen"))
    if gains.is_by_link:
        return unknown(say("by_link", room=value))
    # What is open when a request ends is padded to a page, if it has to be on the medium.
    through, block_bytes = write_buffer.writes_through(view), COUNTED(view)[0].block_bytes or 1
    padding = _PADDED_BYTES * gains.gain[_STRONG] / block_bytes if through else 0.0
    bounds = ((1 - _TOLERANCE - padding) * value, (1 + _TOLERANCE) * value)
    return known(value, say("measured"), bounds=bounds, detail=gains.detail)
