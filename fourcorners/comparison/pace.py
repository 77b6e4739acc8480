"""Replays of one trace at different paces: what they measured is not the same thing."""

from __future__ import annotations

from collections.abc import Sequence

from fourcorners.analysis.source import Measured
from fourcorners.recording import Recording
from fourcorners.replayed import pace_words


def pace_of(recording: Recording) -> str | None:
    """At which pace a trace was replayed, in words; ``None`` of what is no replay."""
    streams = () if recording.workload is None else recording.workload.streams
    traces = [stream.trace for stream in streams if stream.trace is not None]
    return pace_words(traces[0]) if traces else None


def paces(points: Sequence[Measured]) -> list[str]:
    """The different paces of recordings of one name; one or none where they are alike."""
    return list(dict.fromkeys(pace for point in points if (pace := pace_of(point.of))))
