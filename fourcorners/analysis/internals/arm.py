"""Findings ``rotation_rpm`` and ``seek_stroke`` of a disk, from reads that take its arm about.

Rotation: within a small region an access waits for anything from none to one turn, so its times are
spread evenly over a turn. The width of that spread is read between the 5th and the 95th percentile
and is nine tenths of a turn; spindles turn at few speeds, so the nearest of these is the finding.

Seeks: reads in turns of two regions take c + S sqrt(x) in the mean, x the share of all cylinders
between them: an arm that accelerates for half the way and brakes for the other needs a time that
grows with the root (Ruemmler and Wilkes, IEEE Computer 27(3), 1994). c holds what does not depend
on the distance: half a turn, settling, firmware. Cylinders per byte are fewer where the rate is
higher: x follows from the rates by place where these were measured.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fourcorners import wording
from fourcorners.analysis.finding import UNDER_LOAD, Finding
from fourcorners.analysis.internals import tracks, zones
from fourcorners.analysis.internals.medium import NO_ARM, moves_an_arm
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured, RunData, capacity_bytes, measured

TEST = "probe-seeks"

SPEEDS_RPM = (3600, 4200, 4500, 5400, 5900, 7200, 10_000, 15_000)
"""Speeds at which spindles were and are sold."""

Floats = npt.NDArray[np.float64]

_SPEED_TOLERANCE = 0.04
"""How far the spread may be from that of a known speed; the nearest two are 8 % apart."""

_CACHED_SHARE = 0.2
"""Share of the median time below which a read came out of a cache."""

_PERCENTILES = (0.05, 0.95)

_RESIDUAL_MAX = 0.1
"""Scatter about the curve, in strokes, above which it does not hold."""


def find(run: RunData) -> list[Finding]:
    """The findings; none where the probe did not run."""
    points = measured(run, TEST, "read")
    near = next((m for m in points if m.recording.endswith("/near")), None)
    if near is None:
        return []
    apart = [m for m in points if m.point.get("distance_bytes") is not None]
    if not moves_an_arm(1 / near.iops):
        return [
            Finding(
                "rotation_rpm",
                _TITLES["rotation_rpm"],
                "measured",
                f"Nothing turns: a read takes {wording.duration(1 / near.iops)}.",
                value=0.0,
                unit="1/min",
                evidence=[near.recording],
                detail={"discrete": True, UNDER_LOAD: True},
            ),
            *(
                Finding(
                    name,
                    title,
                    "not applicable",
                    NO_ARM,
                    evidence=[near.recording],
                    detail={UNDER_LOAD: True},
                )
                for name, title in {"seek_stroke": _TITLES["seek_stroke"], **tracks.TITLES}.items()
            ),
        ]
    rotation = _rotation(run, near)
    following = [m for m in points if m.point.get("stride_bytes") is not None]
    found = [rotation, _stroke(run, apart)]
    return found + [f for m in following for f in tracks.find(run, m, rotation.value)]


_TITLES = {"rotation_rpm": "Rotation speed", "seek_stroke": "Seek over all cylinders"}


def _rotation(run: RunData, near: Measured) -> Finding:
    low, high, count = run.histogram(near.recording, "read")
    times_s = (low + high) / 2e9
    turn_s = _spread_s(times_s, count.astype(np.float64))
    speed = min(SPEEDS_RPM, key=lambda rpm: abs(np.log(turn_s * rpm / 60)))
    off = 60 / turn_s / speed - 1
    detail = {"turn_s": turn_s, "discrete": True, "goodness": {"off_the_nearest_speed": off}}
    if abs(off) > _SPEED_TOLERANCE:
        return Finding(
            "rotation_rpm",
            _TITLES["rotation_rpm"],
            "not identifiable",
            f"Times of near reads spread over {wording.duration(turn_s)}, which is a turn of no "
            "known speed.",
            evidence=[near.recording],
            detail=detail,
        )
    return Finding(
        "rotation_rpm",
        _TITLES["rotation_rpm"],
        "measured",
        f"The disk turns {speed:,} times a minute: times of near reads spread over "
        f"{wording.duration(turn_s)}.",
        value=float(speed),
        unit="1/min",
        evidence=[near.recording],
        detail=detail,
    )


def _spread_s(times_s: Floats, count: Floats) -> float:
    """Width of an even spread of times, of reads that came from the platters."""
    order = np.argsort(times_s)
    times_s, count = times_s[order], count[order]
    median = _quantile(times_s, count, 0.5)
    uncached = times_s > _CACHED_SHARE * median
    early, late = (_quantile(times_s[uncached], count[uncached], share) for share in _PERCENTILES)
    return (late - early) / (_PERCENTILES[1] - _PERCENTILES[0])


def _quantile(times_s: Floats, count: Floats, share: float) -> float:
    return float(np.interp(share * count.sum(), np.cumsum(count) - count / 2, times_s))


def strokes(distance_bytes: Floats, capacity: float, offset: Floats, rate: Floats) -> Floats:
    """Share of all cylinders between the start of the drive and each distance, shape (points,).

    Args:
        distance_bytes: shape (points,).
        capacity: bytes of the drive.
        offset, rate: rates by place, shape (places,); empty if unknown.
    """
    if len(rate) < 2:
        return distance_bytes / capacity
    grid = np.linspace(0, capacity, 2049)
    middle = (grid[:-1] + grid[1:]) / 2
    cylinders = np.concatenate([[0.0], np.cumsum(np.diff(grid) / np.interp(middle, offset, rate))])
    return np.asarray(np.interp(distance_bytes, grid, cylinders / cylinders[-1]))


def _stroke(run: RunData, apart: list[Measured]) -> Finding:
    name, title = "seek_stroke", _TITLES["seek_stroke"]
    evidence = [m.recording for m in apart]
    capacity = capacity_bytes(run)
    if len(apart) < 5 or capacity is None:
        return Finding(
            name, title, "not identifiable", "Too few distances were measured.", evidence=evidence
        )
    distance = np.array([float(m.point["distance_bytes"]) for m in apart])
    seconds = np.array([1 / m.iops for m in apart])
    share = strokes(distance, capacity, *zones.profile(run))
    columns = np.stack([np.ones_like(share), np.sqrt(share)], axis=1)
    (constant, stroke), *_ = np.linalg.lstsq(columns, seconds, rcond=None)
    residuals = seconds - columns @ np.array([constant, stroke])
    freedom = len(seconds) - 2
    scatter = float(np.sqrt(residuals @ residuals / freedom))
    error = scatter * float(np.sqrt(np.linalg.inv(columns.T @ columns)[1, 1]))
    detail = {
        "distance_bytes": distance,
        "cylinder_share": share,
        "seconds": seconds,
        "constant_s": float(constant),
        "goodness": {"scatter_s": scatter},
    }
    if stroke <= 0 or scatter > _RESIDUAL_MAX * stroke:
        return Finding(
            name,
            title,
            "not identifiable",
            "The time between two places does not grow with the root of their distance.",
            evidence=evidence,
            detail=detail,
        )
    half = two_sided_t(freedom) * error
    return Finding(
        name,
        title,
        "measured",
        f"The way over all cylinders adds {wording.duration(float(stroke))} to what the shortest "
        "one takes, and a part of it the root of that part.",
        value=float(stroke),
        unit="s",
        interval=(float(stroke) - half, float(stroke) + half),
        evidence=evidence,
        detail=detail,
    )
