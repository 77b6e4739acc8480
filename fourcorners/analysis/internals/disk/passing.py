"""What passes under the head of a disk: a bound of whatever comes from its platters, or goes there
without a buffer."""

from __future__ import annotations

from fourcorners.analysis.internals.view import View

ABOVE_TRACK_MIN = 1.05
"""What a disk gives or takes faster than a track passes under its head, by this factor, comes out
of a memory or goes there. Tracks are longest at the outer edge, where bursts begin and where a
place is read over and over, so that only the scatter of a recording is left. How much that is was
not studied: 5 % leaves room for it, and what a memory gains is several times as much wherever the
link is faster than the platters."""

_SWITCHES_MAX = 2.0
"""A switch to the next track takes less than a turn, as a skew is an angle. Within a track no disk
is therefore this much faster than over many tracks, unless it loses turns."""


def track_rate(view: View) -> float | None:
    """The rate, in bytes per second, at which the longest track passes under the head; ``None``
    where its length or the speed is not known."""
    rpm, track_bytes = view.value("rotation_rpm"), view.value("track_bytes")
    return rpm / 60 * track_bytes if rpm and track_bytes else None


def is_of_memory(view: View, rate: float, over_tracks: float) -> bool:
    """Whether reads of one place of a disk are faster than its platters allow.

    Args:
        rate: that of the reads, in bytes per second.
        over_tracks: that of long reads of the platters, from track to track.
    """
    passes = view.once(track_rate)
    if passes is None:
        return rate > _SWITCHES_MAX * over_tracks
    return rate > ABOVE_TRACK_MIN * passes
