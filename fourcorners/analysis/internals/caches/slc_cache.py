"""Findings about an SLC cache: where a long burst of sequential writes becomes slower for good.

The time over the bytes accepted is a line of three pieces: into the write buffer, into the cache,
past it. What lies before the last bend, less what the write buffer holds by then, is the cache.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fourcorners import wording
from fourcorners.analysis.finding import RESOLUTION, Finding
from fourcorners.analysis.internals.caches import write_buffer
from fourcorners.analysis.internals.caches.burst_curve import Curve, completion_curve
from fourcorners.analysis.internals.caches.program_rounds import find_rounds
from fourcorners.analysis.internals.caches.slowdown import SLOWER_MIN, Bend, find_bends
from fourcorners.analysis.internals.caches.write_buffer import Buffer
from fourcorners.analysis.source import Measured, RunData, measured

FILL_TEST = "probe-overwrite"

_FLAT_MAX = 1.04
"""Rate before over rate after a bend, up to which there is none."""

_BEYOND_BUFFER_MIN = 0.25
"""A cache, in write buffers, that is told from how far off the buffer may be."""

_SHARE_MIN = 0.015
"""Share of a burst that a cache must be to have a rate of its own."""

_LINK_SHARE = 0.985
"""Rate into the cache over the link's, from which the link limits it: the buffer is empty until the
cache is full."""

_BELOW_LINK = 0.77
"""Rate over the link's, below which something else limits so clearly that a cache would show."""

_FASTER_SEEN = 1 / _BELOW_LINK

_MARGIN_SHARE, _SIZE_MARGIN, _ROUND_MARGIN = 0.002, 0.002, 0.3
"""How far off the direct rate may be, and the cache, over itself and over a round of the dies."""

_PAST_BEND, _UNSEEN_PERIOD = 1.02, 0.006
"""When the rounds past a bend are looked for, and the period that the curve is too coarse for by
then, in times of the bend's time."""

_BUFFER_MAX = 128 * 1024 * 1024
"""A solid-state drive's write buffer is no larger."""

_BUFFER_FULL_SHARE = 0.5
"""Of the short burst, within which a write buffer has to be full to be seen there."""

_AGAIN_MIN = 0.03
"""Share of a cache that shows again after a pause, without which there may be none."""


def cache_bytes(bend: Bend, curve: Curve, buffer: Buffer | None) -> tuple[float, float, float]:
    """What the cache took, and the least and the most that it may be.

    The last rows that go into the cache are given to their dies when the buffer holds as much
    beside what is programmed. In the mean over a round a curve is half a round lower.

    Args:
        bend: of a long burst.
        curve: that burst.
        buffer: the write buffer, if there is one.
    """
    if buffer is None:
        around = _round_bytes(curve, bend)
        # Where the link limits, the line before the bend is of other height, by part of a round.
        return bend.count_bytes + around / 2, bend.count_bytes, bend.count_bytes + around
    margin = buffer.margin_bytes + _ROUND_MARGIN * buffer.round_bytes
    held = buffer.size_bytes - buffer.round_bytes / 2
    full = bend.count_bytes - held
    if bend.fast_rate < _LINK_SHARE * curve.rate(*write_buffer.FIRST_BYTES):
        return full, full - margin, full + margin
    # The buffer fills up after the bend, at the link's rate, while it drains; but from before it
    # where the cache is a little slower than the link.
    left = 1 - bend.slow_rate / bend.fast_rate
    empty = bend.count_bytes - buffer.level_bytes / left
    return empty, empty - margin / left, max(full + margin, empty + margin / left)


def _round_bytes(curve: Curve, bend: Bend) -> float:
    """What the dies program in a round past a bend; the most that would not show, if none does."""
    bend_s = float(curve.seconds_at(np.array([bend.count_bytes]))[0])
    rounds = find_rounds(curve, bend.slow_rate, _PAST_BEND * bend_s)
    period_s = rounds.period_s if rounds else _UNSEEN_PERIOD * bend_s
    return period_s * bend.slow_rate


def may_be_buffer(bend: Bend, short: Curve | None) -> bool:
    """Whether a write buffer alone explains a bend, although the short burst did not show one.

    A buffer that fills at the fast rate while it drains at the slow one holds the bytes before the
    bend, times 1 - slow / fast. Drives without one take their first writes as slowly as they
    program.

    Args:
        bend: of a long burst.
        short: the short burst, if it was measured.
    """
    held = bend.count_bytes * (1 - bend.slow_rate / bend.fast_rate)
    if held > _BUFFER_MAX:
        return False
    if short is None:
        return True
    first = short.rate(*write_buffer.FIRST_BYTES)
    if first < _BELOW_LINK * bend.fast_rate:
        return False
    left = 1 - bend.slow_rate / first
    seen_bytes = _BUFFER_FULL_SHARE * float(short.count_bytes[-1])
    return first < write_buffer.FASTER_MIN * bend.slow_rate or held > left * seen_bytes


def find(run: RunData, link_rate: float | None, *, through: bool) -> list[Finding]:
    """The findings, if a probe wrote a long burst to an erased drive.

    Args:
        run: the run.
        link_rate: what the link carries, in bytes per second, if it is known.
        through: whether writes wait until they are on the medium.
    """
    bursts = {m.point.get("stage"): m for m in measured(run, write_buffer.TEST, "write")}
    fills = [m for m in measured(run, FILL_TEST, "write") if m.point.get("stage") == "fill"]
    long = [m for m in (bursts.get("long"), *fills) if m is not None]
    if not long:
        return []
    buffer = None if through else _buffer(run, bursts.get("short"))
    evidence = [m.recording for m in long]
    short = bursts.get("short")
    short_curve = None if short is None else completion_curve(run, short)
    doubtful: list[Bend] = []
    told: list[float] = []
    for m in long:
        soon_again = _soon_again(run, short, buffer)
        least = max(
            _BEYOND_BUFFER_MIN * buffer.size_bytes if buffer else 0.0,
            _SHARE_MIN * float(m.row["bytes"]),
        )
        told.append(least)
        # Past its cache a drive may become slower once more, by less: then it is the bend before.
        curve = completion_curve(run, m)
        for bend in find_bends(curve, buffer.round_bytes if buffer else 0.0):
            size, low, high = (count - soon_again for count in cache_bytes(bend, curve, buffer))
            if bend.is_one and size > least:
                if buffer is None and may_be_buffer(bend, short_curve):
                    doubtful.append(bend)
                    continue
                rested = bursts.get("rested") if m is bursts.get("long") else None
                return _found(run, bend, (size, low, high), buffer, m, rested)
    if doubtful:
        return _unidentified(_like_a_buffer(doubtful[0]), evidence)
    hidden = buffer is None or buffer.link_rate < _FASTER_SEEN * buffer.drain_rate
    if hidden and not _slower_than_link(run, long, link_rate):
        reason = (
            "Writes are as fast at their end as at their start, and may be as fast as the link: a "
            "faster kind of cell would not show."
        )
        return _unidentified(reason, evidence)
    bends = [_last_bend(run, m) for m in long]
    # A larger fall that was no cache is the write buffer's.
    falls = [bend.fast_rate / bend.slow_rate for bend in bends]
    fall = max((fall for fall in falls if fall < SLOWER_MIN), default=1.0)
    if fall > _FLAT_MAX:
        reason = (
            f"A long burst becomes slower by {wording.percent(1 - 1 / fall)}: more than chance, "
            "and too little for a cache to be told."
        )
        return _unidentified(reason, evidence)
    return [
        Finding(
            "slc_cache_bytes",
            _TITLES["slc_cache_bytes"],
            "measured",
            "Past its write buffer the drive writes "
            f"{wording.amount(max(float(m.row['bytes']) for m in long))} at one pace: it has no "
            f"SLC cache larger than {wording.amount(min(told))} that so much would fill.",
            value=0.0,
            unit="B",
            interval=(0.0, min(told)),
            evidence=evidence,
            detail={"goodness": {"fall": fall}, "interval": RESOLUTION},
        )
    ]


_TITLES = {
    "slc_cache_bytes": "SLC cache",
    "slc_direct_rate": "Rate past the SLC cache",
    "slc_recovered_share": "SLC cache after a pause",
}


def _unidentified(reason: str, evidence: Sequence[str]) -> list[Finding]:
    name = "slc_cache_bytes"
    return [Finding(name, _TITLES[name], "not identifiable", reason, evidence=evidence)]


def _like_a_buffer(bend: Bend) -> str:
    slower = bend.slow_rate / bend.fast_rate
    return (
        f"A long burst becomes slower by {wording.percent(1 - slower)} after "
        f"{wording.amount(bend.count_bytes)}: so it does with a cache of that size, or with a "
        f"write buffer of {wording.amount((1 - slower) * bend.count_bytes)} that drains while it "
        "fills, and is full too late for the short burst to show it."
    )


def _buffer(run: RunData, short: Measured | None) -> Buffer | None:
    if short is None:
        return None
    return write_buffer.read_curve(completion_curve(run, short), write_buffer.request_bytes(short))


def _soon_again(run: RunData, short: Measured | None, buffer: Buffer | None) -> float:
    """What the short burst took fast although the drive had no time to empty a cache, where no
    write buffer is known that explains it: a disk's cache is as large as that."""
    if short is None or buffer is not None:
        return 0.0
    bend = _last_bend(run, short)
    return bend.count_bytes if bend.is_one else 0.0


def _last_bend(run: RunData, m: Measured) -> Bend:
    last, _ = find_bends(completion_curve(run, m))
    return last


def _slower_than_link(run: RunData, long: Sequence[Measured], link_rate: float | None) -> bool:
    """Whether flash limits the long bursts, so that a faster kind of cell would show."""
    if link_rate is None:
        return False
    rates = [_last_bend(run, m).slow_rate for m in long]
    return max(rates) < _BELOW_LINK * link_rate


def _found(
    run: RunData,
    bend: Bend,
    sizes: tuple[float, float, float],
    buffer: Buffer | None,
    m: Measured,
    rested: Measured | None,
) -> list[Finding]:
    size, low, high = sizes
    low, high = low - _SIZE_MARGIN * size, high + _SIZE_MARGIN * size
    recovered = _recovered(run, rested, sizes, buffer, m) if rested is not None else None
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
    detail = {
        "goodness": {"misfit": bend.misfit},
        "fast_rate": bend.fast_rate,
        "interval": RESOLUTION,
    }
    found = [
        Finding(
            "slc_cache_bytes",
            _TITLES["slc_cache_bytes"],
            "measured",
            f"The erased drive takes {wording.amount(size)} at "
            f"{wording.rate(bend.fast_rate)} and then no more than "
            f"{wording.rate(bend.slow_rate)}: so does a drive that "
            "writes one bit per cell first, or a cache or rate limit in front of it.",
            value=size,
            unit="B",
            interval=(low, high),
            evidence=[m.recording],
            detail=detail,
        ),
        Finding(
            "slc_direct_rate",
            _TITLES["slc_direct_rate"],
            "measured",
            f"Once the cache is full the drive takes {wording.rate(bend.slow_rate)}: past "
            "it, or as fast as it makes room in it.",
            value=bend.slow_rate,
            unit="B/s",
            interval=(bend.slow_rate * (1 - _MARGIN_SHARE), bend.slow_rate * (1 + _MARGIN_SHARE)),
            evidence=[m.recording],
            detail=detail,
        ),
    ]
    return [*found, recovered] if recovered is not None else found


def _recovered(
    run: RunData,
    rested: Measured,
    sizes: tuple[float, float, float],
    buffer: Buffer | None,
    m: Measured,
) -> Finding:
    curve = completion_curve(run, rested)
    bends = find_bends(curve, buffer.round_bytes if buffer else 0.0)
    again = next((bend for bend in bends if bend.is_one), bends[0])
    found = cache_bytes(again, curve, buffer) if again.is_one else (0.0, 0.0, 0.0)
    # What is uncertain of the buffer is so of both bursts.
    share, low, high = (max(now, 0.0) / once for now, once in zip(found, sizes, strict=True))
    margin = 2 * _SIZE_MARGIN + (_ROUND_MARGIN * buffer.round_bytes / sizes[0] if buffer else 0.0)
    return Finding(
        "slc_recovered_share",
        _TITLES["slc_recovered_share"],
        "measured",
        f"After a pause {wording.percent(min(share, 1.0))} of the cache can be used again.",
        value=share,
        unit="of the cache",
        interval=(min(share, low, high) - margin, max(share, low, high) + margin),
        evidence=[m.recording, rested.recording],
        detail={"goodness": {"misfit": again.misfit}, "interval": RESOLUTION},
    )
