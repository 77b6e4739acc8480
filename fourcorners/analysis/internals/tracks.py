"""Findings ``track_bytes`` and ``track_switch`` of a disk, from reads that follow the head.

Reads at equal distances D, one at a time, of a disk that reads ahead: each waits until the head
has come so far, D/T of a turn for tracks of T bytes. Where a track ends in between, the head goes
to the next one as well, in a share D/T of the reads. So the times are two: D/T of a turn, and that
with a switch. Sectors of neighbouring tracks are skewed by that switch, so that nothing else is
lost (Worthington, Ganger, Patt and Wilkes, SIGMETRICS 1995; DIXtrac, Schindler and Ganger 1999).

A switch of heads and one to the next cylinder are in one track's end each; where they take equally
long, as in many disks, nothing tells them apart, nor how many heads there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fourcorners import wording
from fourcorners.analysis.finding import RESOLUTION, Finding
from fourcorners.analysis.source import Measured, RunData

Floats = npt.NDArray[np.float64]

TITLES = {
    "track_bytes": "Track at the outer edge",
    "track_switch": "Switch to the next track",
}

_ALIKE = 0.1
"""Relative width, to either side, of the times that are one."""

_TOGETHER_MIN = 0.95
"""Least share of the reads that take one of the two times."""

_SWITCHES_OFF_MAX = 0.3
"""Relative difference between the reads that meet a switch and the share that tracks of such a
length make, above which the second time is something else."""

_Z90 = 1.645


@dataclass(frozen=True)
class TwoTimes:
    """The times of reads that stay on a track and of those that leave it, in seconds, each with its
    error; shares of all reads."""

    staying_s: float
    staying_error_s: float
    staying_share: float
    leaving_s: float
    leaving_error_s: float
    leaving_share: float


def two_times(low_s: Floats, high_s: Floats, count: Floats) -> TwoTimes | None:
    """The two commonest times of a histogram; ``None`` where there is only one.

    Args:
        low_s, high_s, count: buckets, shape (buckets,).
    """
    middle = (low_s + high_s) / 2
    first = middle[int(np.argmax(count))]
    staying = np.abs(middle / first - 1) <= _ALIKE
    rest = np.where(staying, 0, count)
    if not rest.any():
        return None
    second = middle[int(np.argmax(rest))]
    leaving = (np.abs(middle / second - 1) <= _ALIKE) & ~staying
    sides = [_time(middle[k], (high_s - low_s)[k], count[k]) for k in (staying, leaving)]
    times = sorted(
        (*side, count[k].sum() / count.sum())
        for side, k in zip(sides, (staying, leaving), strict=True)
    )
    return TwoTimes(*map(float, (*times[0], *times[1])))


def _time(middle_s: Floats, width_s: Floats, count: Floats) -> tuple[float, float]:
    """Mean, and its error at 90 % with half a bucket."""
    mean = float(np.average(middle_s, weights=count))
    variance = float(np.average((middle_s - mean) ** 2, weights=count))
    bucket = float(np.average(width_s, weights=count)) / 2
    return mean, bucket + _Z90 * math.sqrt(variance / float(count.sum()))


def find(run: RunData, point: Measured, rpm: float | None) -> list[Finding]:
    """Both findings.

    Args:
        run: the run.
        point: the reads at equal distances.
        rpm: turns a minute, ``None`` if not known.
    """
    evidence = [point.recording]

    def unidentified(reason: str) -> list[Finding]:
        return [
            Finding(name, title, "not identifiable", reason, evidence=evidence)
            for name, title in TITLES.items()
        ]

    if rpm is None:
        return unidentified("Without the speed of rotation, times do not say how long tracks are.")
    low, high, count = run.histogram(point.recording, "read")
    times = two_times(low / 1e9, high / 1e9, count.astype(np.float64))
    distance, turn_s = float(point.point["stride_bytes"]), 60 / rpm
    if times is None or times.staying_share + times.leaving_share < _TOGETHER_MIN:
        return unidentified(
            "Reads at equal distances do not take one of two times: the disk does not read on "
            "between them, or other load moves its arm."
        )
    track = distance * turn_s / times.staying_s
    off = times.leaving_share / (distance / track) - 1
    if abs(off) > _SWITCHES_OFF_MAX:
        return unidentified(
            f"{wording.percent(times.leaving_share)} of the reads take longer than the rest; with "
            f"tracks of {wording.size(track)} it would be {wording.percent(distance / track)}."
        )
    switch = times.leaving_s - times.staying_s
    error = times.leaving_error_s + times.staying_error_s
    relative = times.staying_error_s / times.staying_s
    detail = {
        "staying_s": times.staying_s,
        "leaving_s": times.leaving_s,
        "leaving_share": times.leaving_share,
        "goodness": {"switches_off": off},
        "interval": RESOLUTION,
    }
    return [
        Finding(
            "track_bytes",
            TITLES["track_bytes"],
            "measured",
            f"A track at the outer edge holds {wording.size(track)}: {wording.size(distance)} pass "
            f"the head in {wording.duration(times.staying_s)} of a turn of "
            f"{wording.duration(turn_s)}.",
            value=track,
            unit="B",
            interval=(track * (1 - relative), track * (1 + relative)),
            evidence=evidence,
            detail=detail,
        ),
        Finding(
            "track_switch",
            TITLES["track_switch"],
            "measured",
            f"At the end of a track the disk needs {wording.duration(switch)} to go on with the "
            "next one, by another head or on the next cylinder.",
            value=switch,
            unit="s",
            interval=(switch - error, switch + error),
            evidence=evidence,
            detail=detail,
        ),
    ]
