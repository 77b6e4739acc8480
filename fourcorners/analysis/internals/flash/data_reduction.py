"""Findings ``compression``, ``compression_floor`` and ``deduplication`` from paired data.

Where flash limits writing, data that needs less flash is written faster in proportion. Each kind of
data is compared with the incompressible data written before, between and after.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy

from fourcorners.analysis.internals.answer import Answer, inapplicable, known, unknown, yes_or_no
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.caches import write_buffer
from fourcorners.analysis.internals.caches.burst_curve import completion_curve
from fourcorners.analysis.internals.link.generation import LARGE
from fourcorners.analysis.internals.thresholds import FALSE_ALARM
from fourcorners.analysis.internals.view import PointAxis, View, pick
from fourcorners.analysis.source import Measured, RunData
from fourcorners.patterns import INCOMPRESSIBLE, REPEATED, compressible
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say

COUNTED = pick("probe-content", "write", counted=True)

_FASTER_MIN = 1.08
"""From this rate on, over that of incompressible data, the drive stores the data in less room."""

_ALIKE_MAX = 1.03
"""Up to this rate, over that of incompressible data, the drive does not store it in less room."""

_DRIFT_MAX = 0.04
"""Rates of incompressible data, and of data that is written more slowly, may differ by this share:
as no data takes more room than incompressible data, what makes it slower is the drive, which
changes during the test or scatters."""

_GAIN_MIN = 1.5
"""A drive that compresses or keeps once what repeats stores the data that is made for it in at most
two thirds of the room, and is as much faster where flash limits writing: a choice. The drives of
the catalog that compress take a quarter, and those of ``arena explain`` at most a half."""

_FROM_LINK = 0.93
"""From this share of the highest rate measured over the link on, the link may be the limit."""

_TOLERANCE = 0.035
"""The tolerance of the saving by compression: twice the drift that counts as none, over four
bursts."""

_PADDED_BYTES = 64 * 2**10
"""The largest page over all planes of a die."""

_LATE = (0.55, 0.98)
"""The part of a burst whose rate counts: the beginning replaces other data in the write buffer."""

_STRONG, _WEAK = compressible(2), compressible(50)
"""Data that compresses well, and data that compresses to a half."""


@dataclass(frozen=True)
class _Gains:
    """How many times as fast as incompressible data each kind of data is written."""

    gain: Mapping[str, float]
    whole: Mapping[str, float]
    """The same by the whole of its slowest burst and of the quickest one of incompressible data."""
    is_hidden: bool
    """Whether the link, or something else before the flash, may be the limit."""
    is_by_link: bool
    """Whether the link may limit the rate of data that compresses well."""
    drift: float
    """The share by which rates differ that should not."""
    chance: float
    """How far chance may take a gain from its true value where they differ by too much."""
    is_far_from_link: bool
    """Whether the link carries what a drive would write that stores data in less room."""
    detail: dict[str, object]

    @property
    def scatter(self) -> bool:
        """Whether rates scatter by so much that only a large gain would show."""
        return self.drift > _DRIFT_MAX

    def less_room(self, *data: str) -> bool | None:
        """Whether the drive stores these kinds in less room, the first of them in the least;
        ``None`` where this cannot be decided."""
        first, fastest = self.gain[data[0]], max(self.gain[one] for one in data)
        if self.scatter:
            none = fastest + self.chance < _GAIN_MIN and self.is_far_from_link
            return False if none else None
        if self.is_hidden or (first < _FASTER_MIN and fastest > _ALIKE_MAX):
            return None
        return None if self.only_late(data[0]) else first >= _FASTER_MIN

    def only_late(self, data: str) -> bool:
        """Whether the later part of its bursts is faster, but not the whole: a cache that takes
        more at one time than at another is no gain of the data."""
        return self.gain[data] >= _FASTER_MIN and self.whole[data] <= _ALIKE_MAX


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
    slowest = min(float(values.min()) for values in rates.values())
    drift = (float(plain.max()) - slowest) / pace
    detail: dict[str, object] = {
        "rates": {data: values.tolist() for data, values in rates.items()},
        "goodness": {"drift": [drift]},
    }
    carried = _carried(view)
    fastest = max(float(values.max()) for values in rates.values())
    limited = carried is None or pace > _FROM_LINK * carried
    by_link = carried is None or float(rates[_STRONG].max()) > _FROM_LINK * carried
    gains = {data: float(values.mean() / pace) for data, values in rates.items()}
    elapsed = {
        data: [m.bytes_per_second for m in rows if m.point.get("data") == data] for data in rates
    }
    whole = {data: min(some) / max(elapsed[INCOMPRESSIBLE]) for data, some in elapsed.items()}
    hidden = limited and fastest < _ALIKE_MAX * pace
    far = carried is not None and _GAIN_MIN * pace < _FROM_LINK * carried
    return _Gains(gains, whole, hidden, by_link, drift, _chance(rates), far, detail)


def _chance(rates: Mapping[str, Floats]) -> float:
    """How much a gain of one in :data:`FALSE_ALARM` is off by chance (Student's t), if the bursts
    of all kinds of data scatter about one rate. Where they do not, it is more than that."""
    every = np.concatenate(list(rates.values()))
    error = float(every.std(ddof=1) / every.mean())
    quantile = float(scipy.stats.t.isf(FALSE_ALARM, len(every) - 1))
    return quantile * error * math.sqrt(1 + 1 / len(rates[INCOMPRESSIBLE]))


def _carried(view: View) -> float | None:
    """The bytes per second that the link carries at least; ``None`` where nothing shows it. The
    beginning of a burst shows it only if a buffer takes it: where writes wait for the medium, it is
    as slow as that, and large reads cross the same link."""
    rates = [view.value("link_ceiling") or write_buffer.link_rate(view)]
    if write_buffer.writes_through(view):
        rates += [m.bytes_per_second for m in LARGE(view) if m.point[PointAxis.OF] == "written"]
    return max((rate for rate in rates if rate is not None), default=None)


def _rate(run: RunData, m: Measured) -> float:
    """The rate of the later part of a burst, in bytes per second."""
    curve = completion_curve(run, m)
    total = float(curve.count_bytes[-1])
    return curve.rate(_LATE[0] * total, _LATE[1] * total)


def compression(view: View) -> Answer:
    """Finds whether the drive stores compressible data in less room."""
    found = _answer(view, "Compressible", _STRONG, _WEAK)
    return found if found.value else found.checked(Assumption.LESS_STORED, None)


def deduplication(view: View) -> Answer:
    """Finds whether the drive stores repeated data once."""
    found = _answer(view, "Repeated", REPEATED)
    return found if found.value else found.checked(Assumption.STORED_ONCE, None)


def _answer(view: View, kind: str, *data: str) -> Answer:
    gains = view.once(_gains)
    if isinstance(gains, Answer):
        return gains
    yes = gains.less_room(*data)
    gain = gains.gain[data[0]]
    if yes is None and gains.scatter:
        return unknown(say("compression.drift", drift=gains.drift), detail=gains.detail)
    late = "compression.late" if gains.only_late(data[0]) else "compression.hidden"
    shared = late if yes is None else "compression.no_faster"
    said = say("measured" if yes else shared, kind=kind)
    return yes_or_no(yes, said, detail={**gains.detail, "gain": gain})


def floor(view: View) -> Answer:
    """Finds the least room that data takes, as a share of its size."""
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
    # If each request has to be on the medium when it completes, the drive pads its last page.
    through, block_bytes = write_buffer.writes_through(view), COUNTED(view)[0].block_bytes or 1
    padding = _PADDED_BYTES * gains.gain[_STRONG] / block_bytes if through else 0.0
    bounds = ((1 - _TOLERANCE - padding) * value, (1 + _TOLERANCE) * value)
    return known(value, say("measured"), bounds=bounds, detail=gains.detail)
