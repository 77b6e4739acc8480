"""Findings ``rotation_rpm``, ``seek_stroke``, ``seek_base`` and ``seek_mean`` of a disk, from reads
that take its arm about.

Rotation: within a small region an access waits for anything from none to one turn, so its times are
spread evenly over a turn. The width of that spread is read between the 5th and the 95th percentile
and is nine tenths of a turn; spindles turn at few speeds, so the nearest of these is the finding.

Seeks: reads in turns of two regions take c + S sqrt(x) in the mean, x the share of all cylinders
between them: an arm that accelerates for half the way and brakes for the other needs a time that
grows with the root (Ruemmler and Wilkes, IEEE Computer 27(3), 1994). c holds what does not depend
on the distance: half a turn, settling, firmware. A drive that takes up a command
while it serves another one has its firmware do its part meanwhile: then c less half a turn is the
shortest seek. Cylinders per byte are fewer where the rate is higher: x, and the time of the
transfer, follow from the rates by place where these were measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fourcorners import wording
from fourcorners.analysis.finding import UNDER_LOAD, Finding
from fourcorners.analysis.internals.disk import tracks, zones
from fourcorners.analysis.internals.method.medium import NO_ARM, moves_an_arm
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


_OVERLAPS = 2
"""Commands that a drive accepts at once from which it takes up one while it serves another."""

_PLACES = 500
"""Places that stand for all of a disk."""


def find(run: RunData, queue_depth: float | None = None) -> list[Finding]:
    """The findings; none where the probe did not run.

    Args:
        run: the run.
        queue_depth: commands that the drive accepts at once, if that is known.
    """
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
                detail={
                    "discrete": True,
                    "goodness": {"read_in_shortest_half_turns": max(SPEEDS_RPM) / 30 / near.iops},
                    UNDER_LOAD: True,
                },
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
                for name, title in {**_TITLES, **tracks.TITLES}.items()
                if name != "rotation_rpm"
            ),
        ]
    rotation = _rotation(run, near)
    following = [m for m in points if m.point.get("stride_bytes") is not None]
    found = [rotation, *_seeks(run, apart, rotation.value, queue_depth)]
    return found + [f for m in following for f in tracks.find(run, m, rotation.value)]


_TITLES = {
    "rotation_rpm": "Rotation speed",
    "seek_stroke": "Seek over all cylinders",
    "seek_base": "Shortest seek",
    "seek_mean": "Seek between two places at random",
}


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


@dataclass(frozen=True)
class _Curve:
    """c + S sqrt(x), fitted to the mean times of reads in turns of two regions.

    ``values`` are c and S in seconds; ``covariance`` is that of both over the variance of a time,
    shape (2, 2); ``scatter_s`` the standard deviation of a time, with ``freedom``.
    """

    values: Floats
    covariance: Floats
    scatter_s: float
    freedom: int

    def at(self, root: float, constant: float = 1.0) -> tuple[float, float]:
        """Value and half width of the interval of ``constant`` c + ``root`` S."""
        weights = np.array([constant, root])
        error = self.scatter_s * math.sqrt(float(weights @ self.covariance @ weights))
        return float(weights @ self.values), two_sided_t(self.freedom) * error

    @property
    def holds(self) -> bool:
        """Whether the times grow with the root of the distance."""
        stroke = float(self.values[1])
        return stroke > 0 and self.scatter_s <= _RESIDUAL_MAX * stroke


def _fitted(share: Floats, seconds: Floats, reads: Floats) -> _Curve:
    """The curve of mean times of so many reads at each share of all cylinders, shape (points,)."""
    # The first read of a measurement does not come from the other region: where the arm was before,
    # a drive takes the nearer one first.
    between = (reads - 1) / reads
    columns = np.array([np.ones_like(share), between * np.sqrt(share)]).T
    values, *_ = np.linalg.lstsq(columns, seconds, rcond=None)
    residuals = seconds - columns @ values
    freedom = len(seconds) - 2
    covariance = np.linalg.inv(columns.T @ columns)
    scatter_s = math.sqrt(float(residuals @ residuals) / freedom)
    return _Curve(values, covariance, scatter_s, freedom)


def _seeks(
    run: RunData, apart: list[Measured], rotation_rpm: float | None, queue_depth: float | None
) -> list[Finding]:
    """The way over all cylinders, and the rest of the curve where it can be told."""
    evidence = [m.recording for m in apart]
    capacity = capacity_bytes(run)
    names = ("seek_stroke", "seek_base", "seek_mean")

    def unidentified(reason: str, names: Sequence[str], **detail: Any) -> list[Finding]:
        return [
            Finding(
                name, _TITLES[name], "not identifiable", reason, evidence=evidence, detail=detail
            )
            for name in names
        ]

    if len(apart) < 5 or capacity is None:
        return unidentified("Too few distances were measured.", names)
    distance = np.array([float(m.point["distance_bytes"]) for m in apart])
    seconds = np.array([1 / m.iops for m in apart])
    profile = zones.profile(run)
    share = strokes(distance, capacity, *profile)
    block_bytes = float(apart[0].block_bytes or 0)
    reads = np.array([float(m.ios) for m in apart])
    curve = _fitted(share, seconds - _transfers_s(block_bytes, distance, *profile), reads)
    detail = {
        "distance_bytes": distance,
        "cylinder_share": share,
        "seconds": seconds,
        "constant_s": float(curve.values[0]),
        "goodness": {"scatter_s": curve.scatter_s},
    }
    if not curve.holds:
        reason = "The time between two places does not grow with the root of their distance."
        return unidentified(reason, names, **detail)

    def found(name: str, text: str, value: float, half: float) -> Finding:
        return Finding(
            name,
            _TITLES[name],
            "measured",
            text,
            value=value,
            unit="s",
            interval=(value - half, value + half),
            evidence=evidence,
            detail=detail,
        )

    stroke, half = curve.at(1.0, constant=0.0)
    told = [
        found(
            "seek_stroke",
            f"The way over all cylinders adds {wording.duration(stroke)} to what the shortest "
            "one takes, and a part of it the root of that part.",
            stroke,
            half,
        )
    ]
    if rotation_rpm is None or not len(profile[1]):
        reason = "Without the rotation and the rates by place, what else a read takes is unknown."
        return told + unidentified(reason, names[1:], **detail)
    if queue_depth is None or queue_depth < _OVERLAPS:
        reason = (
            "The drive takes one command at a time, or it is unknown how many: what its firmware "
            "does for each cannot be told from what the arm needs for the shortest way."
        )
        return told + unidentified(reason, names[1:], **detail)
    beside_s = 30 / rotation_rpm
    root = _mean_root(capacity, *profile)
    (base, base_half), (mean, mean_half) = curve.at(0.0), curve.at(root)
    return [
        *told,
        found(
            "seek_base",
            f"The shortest way of the arm takes {wording.duration(base - beside_s)}, settling "
            "included.",
            base - beside_s,
            base_half,
        ),
        found(
            "seek_mean",
            f"Between two places at random the arm takes {wording.duration(mean - beside_s)}.",
            mean - beside_s,
            mean_half,
        ),
    ]


def _transfers_s(block_bytes: float, distance: Floats, offset: Floats, rate: Floats) -> Floats:
    """Mean time under the head of reads in turns at the start and at each distance, shape
    (points,); zero where the rates by place are unknown."""
    if not len(rate):
        return np.zeros_like(distance)
    return np.asarray(block_bytes / 2 * (1 / rate[0] + 1 / np.interp(distance, offset, rate)))


def _mean_root(capacity: float, offset: Floats, rate: Floats) -> float:
    """Mean root of the share of all cylinders between two places at random."""
    places = (np.arange(_PLACES) + 0.5) / _PLACES * capacity
    share = strokes(places, capacity, offset, rate)
    return float(np.sqrt(np.abs(share[:, None] - share[None, :])).mean())
