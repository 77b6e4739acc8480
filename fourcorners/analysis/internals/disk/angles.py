"""The skew of two surfaces, from the angles at which sectors lie.

The host sees when a read ends, which is when its sector has passed the head. Two reads one after
the other therefore end as far apart as their sectors lie on the turning platter, and some whole
turns; neither seeks nor retries change that. A sector's angle is its place on its track, and each
track begins by the skew later than the one before: x bytes further on, k tracks and n changes of
the head later, a sector lies x/T + k s + n j turns further, for tracks of T bytes. All reads of one
surface agree on s, and then those of different surfaces on j. After thousands of tracks even a skew
that is off by nanoseconds spreads them over the whole turn, so that they agree only if all tracks
are equally long, and equally skewed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fourcorners.analysis.internals.disk.sweeps import Layout, Ways
from fourcorners.analysis.internals.disk.tracks import CLOCK_S
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.recording.arrays import Floats

_AGREE_MIN = 0.9
"""The least mean cosine of what is left of the angles. A choice: what is left is mostly below a
tenth of a turn then."""

_OFF_MAX = 0.1
"""Angles that are off by more than this share of a turn belong to reads across an end of a track,
or to a sector that lies elsewhere."""

_ERROR_MAX = 0.1
"""The error may be this share of what the change of the head adds to a skew. Where reads of one
sweep pass for those of the next, as its end is not where it seems, the angles still agree if the
head adds little, but what they agree on is too little as well. A choice."""

_NEAR_END = 0.03
"""So near to the end of a sweep, as a share of one, a place may be of the sweep behind. It is more
than the share to which the ends are found."""

_PAIRS_MIN = 30
"""So many reads of one surface are needed, and of two. By chance so many agree on one of ten
thousand skews once in a million times (Rayleigh: exp(-n r^2) for n angles with a mean cosine r)."""

_STEP_TURNS = 1 / 32
"""The skew is tried in steps that change no angle by more than this."""

_AT_ONCE = 256
"""So many skews are tried at once, to save memory."""

SECTOR_BYTES = 512
"""A track holds a whole number of these."""


@dataclass(frozen=True)
class Skew:
    """What the tracks of two surfaces are skewed by at the change of the head, in seconds, with its
    error; and how well the angles agree, at most 1."""

    seconds: float
    error_s: float
    agree: float


def between_surfaces(
    ways: Ways,
    layout: Layout,
    track_bounds: tuple[float, float],
    track_skew: tuple[float, float],
    turn_s: float,
) -> Skew | None:
    """The skew at a change of the head; ``None`` where the angles do not agree.

    Args:
        ways: reads within a zone that begins with the first byte.
        layout: the sweeps of the heads over the zone.
        track_bounds: the least and the most bytes of a track.
        track_skew: the skew of two tracks of a surface in seconds, and its error.
        turn_s: the time of a turn.
    """
    swept = [layout.swept(place) for place in (ways.before, ways.place)]
    inside = np.all([np.abs(one - np.round(one)) > _NEAR_END for one in swept], axis=0)
    before, place, seconds = (x[inside] for x in (ways.before, ways.place, ways.seconds))
    changes = np.floor(swept[1][inside]) - np.floor(swept[0][inside])
    same = changes == 0
    if min(same.sum(), (~same).sum()) < _PAIRS_MIN:
        return None

    def by_length(track: int) -> tuple[float, float, Floats, Floats]:
        """How well the reads of one surface agree, on which skew; the tracks between the two places
        of each read, and the turns by which its angle is off without it."""
        tracks = np.floor(place / track) - np.floor(before / track)
        off = seconds / turn_s - (place - before) / track
        around = np.array(track_skew) / turn_s
        agree, skew = _agreed(off[same], tracks[same], around[0] - around[1], around[0] + around[1])
        return agree, skew, tracks, off

    first, last = (bound / SECTOR_BYTES for bound in track_bounds)
    lengths = [by_length(n * SECTOR_BYTES) for n in range(math.ceil(first), int(last) + 1)]
    if not lengths:
        return None
    agree, skew, tracks, off = max(lengths, key=lambda one: one[0])
    if agree < _AGREE_MIN:
        return None
    agree, jump = _agreed(off - skew * tracks, changes, 0.0, 1.0)
    if agree < _AGREE_MIN:
        return None
    left = off - skew * tracks - jump * changes
    left -= np.round(left)
    near = np.abs(left) <= _OFF_MAX
    columns = np.array([tracks[near], changes[near]]).T
    more, *_ = np.linalg.lstsq(columns, left[near], rcond=None)
    # At a change of the head the tracks are skewed by both.
    error = math.sqrt(float(np.linalg.inv(columns.T @ columns).sum()))
    error *= float((left[near] - columns @ more).std()) * two_sided_t(math.inf)
    added = (jump + float(more[1]) + 0.5) % 1 - 0.5
    if error * turn_s > max(CLOCK_S, _ERROR_MAX * abs(added) * turn_s):
        return None
    return Skew((skew + jump + float(more.sum())) % 1 * turn_s, error * turn_s, agree)


def _agreed(off: Floats, steps: Floats, low: float, high: float) -> tuple[float, float]:
    """The turns a step, within these limits, on which angles agree that lie so many turns and steps
    further; and how well they do, as the mean cosine of what is left."""
    most = max(float(np.abs(steps).max()), 1.0)
    tried = np.arange(low, high + _STEP_TURNS / most, _STEP_TURNS / most)
    agree = np.concatenate(
        [
            np.cos(2 * np.pi * (off - some[:, None] * steps)).mean(axis=1)
            for some in np.array_split(tried, len(tried) // _AT_ONCE + 1)
        ]
    )
    best = int(np.argmax(agree))
    return float(agree[best]), float(tried[best])
