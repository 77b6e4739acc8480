"""Findings ``write_buffer_bytes`` and ``write_drain_rate`` from a burst of sequential writes.

All writes are due at once, so the curve of bytes accepted over time rises at the link's rate until
the buffer is full, and at the flash's from then on, in the rounds of its dies (rounds.py). Before
the k-th round ends the dies have programmed what the k - 1 before it brought, and the buffer is
full of what came since: the lowest points of the curve lie on

    accepted(t) = buffer + drain (t - start - period),

start the time that the first die's first row takes to get to it. Where no rounds show, as of a
disk, the upper edge of the steps is the line on which the buffer has been filled up again,

    accepted(t) = buffer + drain (t - s / link),  s the bytes of a step,

and the steps are (1 - drain / link) s high, which gives s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fourcorners import wording
from fourcorners.analysis.finding import RESOLUTION, Finding
from fourcorners.analysis.internals import medium
from fourcorners.analysis.internals.curve import Curve, completion_curve
from fourcorners.analysis.internals.rounds import Rounds, find_rounds
from fourcorners.analysis.source import Measured, RunData, measured

Floats = npt.NDArray[np.float64]

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

_TURNS_MAX, _START_MAX = 20, 0.5
"""Periods until the buffer is full, up to which the first one's start can be told, and the share of
a period that it takes at most."""

_START_MARGINS = 0.1, 0.3
"""How far off the start of the first round may be, in periods: where it can be told, and else."""

_SIZE_MARGIN = 0.004

_NEARLY, _SPREADS = 0.002, 1.5
"""What the late part of the curve is above the first bytes of the full buffer: a share, and
standard deviations."""

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
    round_bytes: float
    """What all dies program at about the same time; zero where no rounds show."""
    level_bytes: float
    """Where the line of the drain rate begins, on which the curve is in the mean."""


def read_curve(curve: Curve, block_bytes: float, *, in_rounds: bool = True) -> Buffer | None:
    """The buffer, if the curve has a fast and a slow part.

    Args:
        curve: of a burst.
        block_bytes: of its requests.
        in_rounds: whether there are dies, which work in rounds.
    """
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
    drain_margin = max(0.3 * abs(halves[0] - halves[1]), 0.8e-3 * drain)
    rounds = find_rounds(curve, drain, _full_s(curve, above, drain, link)) if in_rounds else None
    if rounds is None:
        round_bytes, level = 0.0, float(above.mean())
        size = upper + drain / link * steps / (1 - drain / link)
        margin = max(0.45 * steps, _LAG_S * drain) + 0.006 * size
    else:
        round_bytes, level = drain * rounds.period_s, rounds.mean_bytes
        size, margin = _filled(rounds, drain)
        margin += _SIZE_MARGIN * size
    if size < _BLOCKS_MIN * block_bytes or size > _FULL_SHARE * float(curve.count_bytes[-1]):
        return None
    margin += block_bytes
    return Buffer(size, margin, link, drain, drain_margin, steps / size, round_bytes, level)


def _full_s(curve: Curve, above: Floats, drain: float, link: float) -> float:
    """When the buffer is full for certain; ``above``: what is accepted late, less the drain."""
    mean = float(above.mean())
    least = (1 - _NEARLY) * mean - _SPREADS * float(above.std())
    reached = int(np.argmax(curve.count_bytes - drain * curve.seconds >= least))
    return float(curve.seconds[reached]) + 2 * (mean - least) / (link - drain)


def _filled(rounds: Rounds, drain: float) -> tuple[float, float]:
    """The buffer and how far off it may be, from the lowest points of the curve."""
    turns = rounds.low_s / rounds.period_s
    start = turns % 1
    told = turns < _TURNS_MAX and start < _START_MAX
    margin = _START_MARGINS[0 if told else 1] * rounds.period_s + rounds.resolution_s
    size = rounds.low_bytes + drain * rounds.period_s * (1 + (start if told else 0.0))
    return size, drain * margin


_TITLES = {
    "write_buffer_bytes": "Write buffer",
    "write_drain_rate": "Drain rate of the write buffer",
}


def _unidentified(reason: str, m: Measured) -> list[Finding]:
    return [
        Finding(name, title, "not identifiable", reason, evidence=[m.recording])
        for name, title in _TITLES.items()
    ]


def _short(run: RunData) -> list[Measured]:
    return [m for m in measured(run, TEST, "write") if m.point.get("stage") == "short"]


def request_bytes(m: Measured) -> float:
    """The mean size of a recording's requests."""
    return float(m.row["bytes"]) / max(m.ios, 1)


def link_rate(run: RunData) -> float | None:
    """What the first bytes of the short burst came at, in bytes per second, if the probe ran."""
    return next((completion_curve(run, m).rate(*FIRST_BYTES) for m in _short(run)), None)


def find(run: RunData, *, through: bool) -> list[Finding]:
    """Both findings, if the probe ran.

    Args:
        run: the run.
        through: whether writes wait until they are on the medium.
    """
    short = _short(run)
    if not short:
        return []
    [m] = short
    curve = completion_curve(run, m)
    if through:
        reason = "Writes wait until they are on the medium: no buffer completes them."
        return _unidentified(reason, m)
    buffer = read_curve(curve, request_bytes(m), in_rounds=not medium.is_disk(run))
    if buffer is None:
        reason = (
            "A burst of writes is no faster at its start than at its end: the flash keeps up with "
            "the link, or writes wait until they are on it, or the burst was too short."
        )
        return _unidentified(reason, m)
    evidence = [m.recording]
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
            "write_buffer_bytes",
            _TITLES["write_buffer_bytes"],
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
            "write_drain_rate",
            _TITLES["write_drain_rate"],
            "measured",
            f"What is in the buffer goes to the medium at {wording.rate(rate)}.",
            value=rate,
            unit="B/s",
            interval=(rate - buffer.drain_margin, rate + buffer.drain_margin),
            evidence=evidence,
            detail={"goodness": detail["goodness"], "interval": RESOLUTION},
        ),
    ]
