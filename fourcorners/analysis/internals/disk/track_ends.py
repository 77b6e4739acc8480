"""The length of a track from which of the reads at equal distances meet the end of one.

The k-th end lies at a + kT, and a read that meets it lies between that place and the next distance
D. Therefore any two reads that do, k ends and x bytes apart, bound T: (x - D)/k < T < (x + D)/k.
All pairs together leave T little room, and no clock counts in it. A time would be off by as much as
the clock of the host is, or the spindle. A read that is late for another reason may be next to one
that meets an end, and then passes for it: the bounds that are given leave 2 D of room.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fourcorners.recording.arrays import Floats

_ENDS_FIRST = 16
"""So many ends are numbered by the first guess. It may be off by 2 % then, as no clock and no
spindle is; a number would be wrong from where ends are off by half a track, less half the
distance."""

_MORE = 4
"""Each step numbers a quarter more than the ends that gave the length. This may be off by half a
distance over these, so that the next ones are off by five eighths of it at most, and by half of
it since they lie between two reads: less than half a track, as a distance is less than 0.4 of
one."""

_OUT_OF_PLACE_MAX = 0.05
"""This share of the reads may be late for another reason than the end of a track: as many as may
take none of the expected times (``tracks._TOGETHER_MIN``)."""


def length(
    numbers: npt.NDArray[np.int64], distance_bytes: float, about_bytes: float
) -> tuple[float, float] | None:
    """The least and the most bytes of a track; ``None`` where ends at equal distances do not
    explain which reads meet one.

    Args:
        numbers: the reads that meet an end, in order, with shape (ends,).
        distance_bytes: the distance of two reads.
        about_bytes: about the length of a track.
    """
    places = (numbers - numbers[0]) * distance_bytes
    counted = _counted(places, distance_bytes, about_bytes)
    # Of those that are out of place the farthest are left out first.
    for _ in range(int(_OUT_OF_PLACE_MAX * len(places)) + 1):
        low, high = _bounds(places, counted, distance_bytes)
        if low <= high:
            return _bounds(places, counted, 2 * distance_bytes)
        farthest = int(np.argmax(np.abs(_off(places, counted))))
        places, counted = np.delete(places, farthest), np.delete(counted, farthest)
    return None


def _counted(places: Floats, distance: float, about: float) -> Floats:
    """The number of each end, counted from the first one; some may not have been seen."""
    step, first, count = about, 0.0, min(_ENDS_FIRST, len(places))
    while True:
        some = places[:count]
        numbers = np.round((some - first) / step)
        off = some - first - numbers * step
        near = np.abs(off - np.median(off)) <= distance
        if len(np.unique(numbers[near])) > 1:
            step, first = np.polyfit(numbers[near], some[near], 1)
        if count == len(places):
            return np.asarray(np.round((places - first) / step))
        count = min(count + count // _MORE, len(places))


def _off(places: Floats, counted: Floats) -> Floats:
    """How far each is from where equal distances put it."""
    step, first = np.polyfit(counted, places, 1)
    return np.asarray(places - first - counted * step)


def _bounds(places: Floats, counted: Floats, distance: float) -> tuple[float, float]:
    between = counted[None, :] - counted[:, None]
    apart = (places[None, :] - places[:, None])[between > 0]
    between = between[between > 0]
    if not len(between):
        return 0.0, np.inf
    return float(((apart - distance) / between).max()), float(((apart + distance) / between).min())
