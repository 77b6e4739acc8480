"""Findings ``write_buffer_bytes`` and ``write_drain_rate`` from a burst of sequential writes.

All writes are due at once, so the curve of bytes accepted over time rises at the link's rate until
the buffer is full, and at the flash's from then on. By then the flash has written rows of several
dies, which it does at about the same time: the curve climbs in steps. Their upper edge is the line
on which the dies of a round are all done and the buffer has been filled up again,

    accepted(t) = buffer + drain (t - s / link),  s the bytes of a round,

and the steps are (1 - drain / link) s high, which gives s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fourcorners import wording
from fourcorners.analysis.finding import RESOLUTION, Finding
from fourcorners.analysis.internals.curve import Curve, completion_curve
from fourcorners.analysis.source import Measured, RunData, measured

TEST = "probe-burst"

FASTER_MIN = 1.12
"""Factor by which the first bytes have to be faster than the last ones: else no buffer shows."""

FIRST_BYTES = (128 * 1024, 640 * 1024)

_BLOCKS_MIN = 6
"""Least buffer, in writes, that is told from the writes themselves."""

_POINTS = 4000
_LATE_SHARE = 0.5
_EDGE = 0.98
_LAG_S = 0.5e-3
"""By which the dies' first round may lag unseen where they do not work in step: half of a program's
time."""

_FULL_SHARE = 0.7
"""Of a burst that a buffer may take: the rest shows the drain rate."""


@dataclass(frozen=True)
class Buffer:
    """What a burst shows: rates in bytes per second."""

    size_bytes: float
    margin_bytes: float
    link_rate: float
    drain_rate: float
    drain_margin: float
    scatter: float
    """Height of the steps over the buffer's size."""


def read_curve(curve: Curve, block_bytes: float) -> Buffer | None:
    """The buffer, if the curve has a fast and a slow part."""
    total_s = float(curve.seconds[-1])
    times = np.linspace(0.0, total_s, _POINTS + 1)[1:]
    accepted = np.interp(times, np.append(0.0, curve.seconds), np.append(0.0, curve.count_bytes))
    late = times > (1 - _LATE_SHARE) * total_s
    drain = float(np.polyfit(times[late], accepted[late], 1)[0])
    half = len(times) - np.count_nonzero(late) // 2
    halves = [
        float(np.polyfit(times[part], accepted[part], 1)[0])
        for part in (late & (np.arange(len(times)) < half), np.arange(len(times)) >= half)
    ]
    link = curve.rate(*FIRST_BYTES)
    if link < FASTER_MIN * drain:
        return None
    above = (accepted - drain * times)[late]
    upper, lower = (float(np.quantile(above, share)) for share in (_EDGE, 1 - _EDGE))
    steps = upper - lower
    size = upper + drain / link * steps / (1 - drain / link)
    if size < _BLOCKS_MIN * block_bytes or size > _FULL_SHARE * float(curve.count_bytes[-1]):
        return None
    margin = max(0.45 * steps, _LAG_S * drain) + 0.006 * size + block_bytes
    drain_margin = max(0.3 * abs(halves[0] - halves[1]), 0.8e-3 * drain)
    return Buffer(size, margin, link, drain, drain_margin, steps / size)


def _short(run: RunData) -> list[Measured]:
    return [m for m in measured(run, TEST, "write") if m.point.get("stage") == "short"]


def link_rate(run: RunData) -> float | None:
    """What the first bytes of the short burst came at, in bytes per second, if the probe ran."""
    return next((completion_curve(run, m).rate(*FIRST_BYTES) for m in _short(run)), None)


def find(run: RunData) -> list[Finding]:
    """Both findings, if the probe ran."""
    short = _short(run)
    if not short:
        return []
    [m] = short
    curve = completion_curve(run, m)
    buffer = read_curve(curve, float(m.block_bytes or 1))
    names = ("write_buffer_bytes", "write_drain_rate")
    titles = ("Write buffer", "Drain rate of the write buffer")
    evidence = [m.recording]
    if buffer is None:
        reason = (
            "A burst of writes is no faster at its start than at its end: the flash keeps up with "
            "the link, or writes wait until they are on it, or the burst was too short."
        )
        return [
            Finding(name, title, "not identifiable", reason, evidence=evidence)
            for name, title in zip(names, titles, strict=True)
        ]
    detail = {
        "seconds": curve.seconds[:: max(len(curve.seconds) // 400, 1)],
        "count_bytes": curve.count_bytes[:: max(len(curve.seconds) // 400, 1)],
        "link_rate": buffer.link_rate,
        "goodness": {"steps_over_size": buffer.scatter},
        "interval": RESOLUTION,
    }
    size, rate = buffer.size_bytes, buffer.drain_rate
    return [
        Finding(
            names[0],
            titles[0],
            "measured",
            f"A burst fills {wording.size(size)} of buffer at "
            f"{wording.rate(buffer.link_rate)} before it has to wait for the medium.",
            value=size,
            unit="B",
            interval=(size - buffer.margin_bytes, size + buffer.margin_bytes),
            evidence=evidence,
            detail=detail,
        ),
        Finding(
            names[1],
            titles[1],
            "measured",
            f"What is in the buffer goes to the medium at {wording.rate(rate)}.",
            value=rate,
            unit="B/s",
            interval=(rate - buffer.drain_margin, rate + buffer.drain_margin),
            evidence=evidence,
            detail={"goodness": detail["goodness"], "interval": RESOLUTION},
        ),
    ]
