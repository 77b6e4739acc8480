"""Findings about an SLC cache: where a long burst of sequential writes becomes slower for good.

The time over the bytes accepted is a line of three pieces: into the write buffer, into the cache,
past it. What lies before the last bend, less what the write buffer holds by then, is the cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fourcorners import wording
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.internals import write_buffer
from fourcorners.analysis.internals.curve import Curve, completion_curve
from fourcorners.analysis.internals.write_buffer import Buffer
from fourcorners.analysis.source import Measured, RunData, measured

FILL_TEST = "probe-overwrite"

Floats = npt.NDArray[np.float64]

_SLOWER_MIN = 1.2
"""Rate before over rate after the bend from which it is one."""

_FLAT_MAX = 1.04
"""The same, up to which there is none."""

_POINTS, _BENDS, _NEAR = 500, 40, 40
_FIRST_BEND, _LAST_BEND = 0.004, 0.93
"""Places of bends that are tried, as shares of the burst."""

_BEFORE, _AFTER = (0.7, 0.96), 1.04
"""Where the rates about a bend are taken, in times of the bytes before it."""

_BEYOND_BUFFER_MIN = 1.5
"""A cache, in write buffers, that is told from the buffer."""

_SHARE_MIN = 0.015
"""Share of a burst that a cache must be to have a rate of its own."""

_LINK_SHARE = 0.985
"""Rate into the cache over the link's, from which the link limits it: the buffer is empty until the
cache is full."""

_BELOW_LINK = 0.77
"""Rate over the link's, below which something else limits so clearly that a cache would show."""

_FASTER_SEEN = 1 / _BELOW_LINK

_MARGIN_SHARE, _SIZE_MARGIN, _BUFFER_MARGIN = 0.002, 0.003, 0.06
"""How far off the direct rate may be, and the cache, over itself and over the write buffer."""

_AGAIN_MIN = 0.1
"""Share of a cache that shows again after a pause, without which there may be none."""

_SHRUNK_SHARE = 0.35
"""Of what a cache lacks after a pause, by which it may be off."""


@dataclass(frozen=True)
class Bend:
    """The last bend of a burst: bytes before it, and the rates about it in bytes per second."""

    count_bytes: float
    fast_rate: float
    slow_rate: float
    misfit: float
    """Standard deviation of time about the pieces, over the burst's time."""


def last_bend(curve: Curve) -> Bend:
    """Least squares over all pairs of bends, of which the second counts."""
    total = float(curve.count_bytes[-1])
    accepted = np.linspace(0.0, total, _POINTS + 1)[1:]
    times = np.interp(accepted, np.append(0.0, curve.count_bytes), np.append(0.0, curve.seconds))
    bends = np.geomspace(_FIRST_BEND, _LAST_BEND, _BENDS) * total
    pairs = [(first, last) for last in bends for first in bends if first < last]
    first, best = min(pairs, key=lambda pair: _misfit(accepted, times, *pair))
    near = np.linspace(0.9 * best, min(1.1 * best, _LAST_BEND * total), _NEAR)
    earlier = np.geomspace(min(first, 0.5 * best), 0.95 * best, _NEAR // 4)
    closer = [(first, last) for last in near for first in earlier if first < last]
    pair = min(closer, key=lambda pair: _misfit(accepted, times, *pair))
    place = float(pair[1])
    before = (accepted > _BEFORE[0] * place) & (accepted < _BEFORE[1] * place)
    after = accepted > min(_AFTER * place, 0.97 * total)
    if np.count_nonzero(before) < 3 or np.count_nonzero(after) < 3:
        fast, slow = curve.rate(0.5 * place, place), curve.rate(place, total)
    else:
        # The lines before and after it meet where the least squares, which know more, nearly are.
        early, late = (np.polyfit(accepted[part], times[part], 1) for part in (before, after))
        fast, slow = (1 / max(float(line[0]), 1e-18) for line in (early, late))
        if fast > _SLOWER_MIN * slow:
            meeting = float((early[1] - late[1]) / (late[0] - early[0]))
            place = min(max(meeting, 0.9 * place), 1.1 * place)
    return Bend(
        place,
        fast,
        slow,
        math.sqrt(_misfit(accepted, times, *pair)) / float(times[-1]),
    )


def _misfit(accepted: Floats, times: Floats, first: float, last: float) -> float:
    """Mean square of time about three pieces with these bends."""
    basis = np.stack(
        [
            np.ones(len(accepted)),
            accepted,
            np.maximum(accepted - first, 0.0),
            np.maximum(accepted - last, 0.0),
        ]
    )
    basis[1:] /= accepted[-1]
    values = np.linalg.solve(basis @ basis.T + 1e-12 * np.eye(4), basis @ times)
    return float(np.mean((values @ basis - times) ** 2))


def cache_bytes(bend: Bend, buffer: Buffer | None) -> float:
    """What the cache took: without what the write buffer held at the bend."""
    if buffer is None:
        return bend.count_bytes
    held = buffer.size_bytes
    if bend.fast_rate >= _LINK_SHARE * buffer.link_rate:
        # The buffer fills up after the bend, at the link's rate, while it drains.
        held /= 1 - bend.slow_rate / buffer.link_rate
    return bend.count_bytes - held


def find(run: RunData, link_rate: float | None) -> list[Finding]:
    """The findings, if a probe wrote a long burst to an erased drive.

    Args:
        run: the run.
        link_rate: what the link carries, in bytes per second, if it is known.
    """
    bursts = {m.point.get("stage"): m for m in measured(run, write_buffer.TEST, "write")}
    fills = [m for m in measured(run, FILL_TEST, "write") if m.point.get("stage") == "fill"]
    long = [m for m in (bursts.get("long"), *fills) if m is not None]
    if not long:
        return []
    buffer = _buffer(run, bursts.get("short"))
    evidence = [m.recording for m in long]
    for m in long:
        bend = last_bend(completion_curve(run, m))
        size = cache_bytes(bend, buffer) - _soon_again(run, bursts.get("short"), buffer)
        least = max(
            _BEYOND_BUFFER_MIN * buffer.size_bytes if buffer else 0.0,
            _SHARE_MIN * float(m.row["bytes"]),
        )
        if bend.fast_rate >= _SLOWER_MIN * bend.slow_rate and size > least:
            rested = bursts.get("rested") if m is bursts.get("long") else None
            return _found(run, bend, size, buffer, m, rested)
    hidden = buffer is None or buffer.link_rate < _FASTER_SEEN * buffer.drain_rate
    if hidden and not _slower_than_link(run, long, link_rate):
        reason = (
            "Writes are as fast at their end as at their start, and may be as fast as the link: a "
            "faster kind of cell would not show."
        )
        return [
            Finding(name, title, "not identifiable", reason, evidence=evidence)
            for name, title in _TITLES.items()
            if name == "slc_cache_bytes"
        ]
    bends = [last_bend(completion_curve(run, m)) for m in long]
    # A larger fall that was no cache is the write buffer's.
    falls = [bend.fast_rate / bend.slow_rate for bend in bends]
    fall = max((fall for fall in falls if fall < _SLOWER_MIN), default=1.0)
    if fall > _FLAT_MAX:
        reason = (
            f"A long burst becomes slower by {wording.percent(1 - 1 / fall)}: more than chance, "
            "and too little for a cache to be told."
        )
        return [
            Finding(
                "slc_cache_bytes",
                _TITLES["slc_cache_bytes"],
                "not identifiable",
                reason,
                evidence=evidence,
            )
        ]
    return [
        Finding(
            "slc_cache_bytes",
            _TITLES["slc_cache_bytes"],
            "measured",
            "Past its write buffer the drive writes on at one pace: it has no SLC cache.",
            value=0.0,
            unit="B",
            evidence=evidence,
        )
    ]


_TITLES = {
    "slc_cache_bytes": "SLC cache",
    "slc_direct_rate": "Rate past the SLC cache",
    "slc_recovered_share": "SLC cache after a pause",
}


def _buffer(run: RunData, short: Measured | None) -> Buffer | None:
    if short is None:
        return None
    return write_buffer.read_curve(completion_curve(run, short), float(short.block_bytes or 1))


def _soon_again(run: RunData, short: Measured | None, buffer: Buffer | None) -> float:
    """What the short burst took fast although the drive had no time to empty a cache, where no
    write buffer is known that explains it: a disk's cache is as large as that."""
    if short is None or buffer is not None:
        return 0.0
    bend = last_bend(completion_curve(run, short))
    return bend.count_bytes if bend.fast_rate >= _SLOWER_MIN * bend.slow_rate else 0.0


def _slower_than_link(run: RunData, long: Sequence[Measured], link_rate: float | None) -> bool:
    """Whether flash limits the long bursts, so that a faster kind of cell would show."""
    if link_rate is None:
        return False
    rates = [last_bend(completion_curve(run, m)).slow_rate for m in long]
    return max(rates) < _BELOW_LINK * link_rate


def _found(
    run: RunData,
    bend: Bend,
    size: float,
    buffer: Buffer | None,
    m: Measured,
    rested: Measured | None,
) -> list[Finding]:
    margin = _SIZE_MARGIN * size + (_BUFFER_MARGIN * buffer.size_bytes if buffer else 0.0)
    recovered = _recovered(run, rested, size, margin, buffer, m) if rested is not None else None
    if recovered is not None and (recovered.value or 0.0) < _AGAIN_MIN:
        reason = (
            f"A burst became slower after {wording.amount(size)}, but none such shows in the same "
            "burst after a pause: what slows writes once may be other load."
        )
        return [
            Finding(name, title, "not identifiable", reason, evidence=recovered.evidence)
            for name, title in _TITLES.items()
            if name != recovered.name
        ]
    if recovered is not None:
        # Less after it: the cache may be made of free space, and have shrunk while it was filled.
        margin = max(margin, _SHRUNK_SHARE * (1 - (recovered.value or 0.0)) * size)
    detail = {"goodness": {"misfit": bend.misfit}, "fast_rate": bend.fast_rate}
    found = [
        Finding(
            "slc_cache_bytes",
            _TITLES["slc_cache_bytes"],
            "measured",
            f"The erased drive takes {wording.amount(size)} at "
            f"{wording.binary_rate(bend.fast_rate)} and then no more than "
            f"{wording.binary_rate(bend.slow_rate)}: so does a drive that "
            "writes one bit per cell first, or a cache or rate limit in front of it.",
            value=size,
            unit="B",
            interval=(size - margin, size + margin),
            evidence=[m.recording],
            detail=detail,
        ),
        Finding(
            "slc_direct_rate",
            _TITLES["slc_direct_rate"],
            "measured",
            f"Past the cache it writes {wording.binary_rate(bend.slow_rate)}.",
            value=bend.slow_rate,
            unit="B/s",
            interval=(bend.slow_rate * (1 - _MARGIN_SHARE), bend.slow_rate * (1 + _MARGIN_SHARE)),
            evidence=[m.recording],
            detail=detail,
        ),
    ]
    return [*found, recovered] if recovered is not None else found


def _recovered(
    run: RunData, rested: Measured, size: float, margin: float, buffer: Buffer | None, m: Measured
) -> Finding:
    again = last_bend(completion_curve(run, rested))
    slower = again.fast_rate >= _SLOWER_MIN * again.slow_rate
    share = max(cache_bytes(again, buffer), 0.0) / size if slower else 0.0
    return Finding(
        "slc_recovered_share",
        _TITLES["slc_recovered_share"],
        "measured",
        f"After a pause {wording.percent(min(share, 1.0))} of the cache can be used again.",
        value=share,
        unit="of the cache",
        interval=(share - 4 * margin / size, share + 4 * margin / size),
        evidence=[m.recording, rested.recording],
        detail={"goodness": {"misfit": again.misfit}},
    )
