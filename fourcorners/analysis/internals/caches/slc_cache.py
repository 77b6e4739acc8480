"""Findings about an SLC cache: where a long burst of sequential writes becomes slower for good.

The time over the bytes accepted is a line of three pieces: into the write buffer, into the cache,
past it. What lies before the last bend, less what the write buffer holds by then, is the cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.caches import write_buffer
from fourcorners.analysis.internals.caches.burst_curve import BUCKET, Curve, completion_curve
from fourcorners.analysis.internals.caches.program_rounds import find_rounds
from fourcorners.analysis.internals.caches.slowdown import SLOWER_MIN, Bend, find_bends
from fourcorners.analysis.internals.caches.write_buffer import Buffer
from fourcorners.analysis.internals.view import View, ids, pick
from fourcorners.analysis.source import Measured
from fourcorners.sentences import say

LONG = pick(write_buffer.TEST, "write", stage="long")
FILL = pick("probe-overwrite", "write", stage="fill")
RESTED = pick(write_buffer.TEST, "write", stage="rested")

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
"""The same of the first bytes over the flash's rate."""

_MARGIN = 2 * BUCKET
"""How far off the direct rate may be, and the cache, over itself: a bucket at either end."""

_ROUND_MARGIN = 0.3
"""How far off the cache may be over a round of the dies."""

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


def bursts(view: View) -> list[Measured]:
    """Long bursts of writes to an erased drive."""
    return [*LONG(view)[-1:], *FILL(view)]


def bursts_to_flash(view: View) -> list[Measured]:
    """The same, but none to a disk."""
    return [] if view.is_disk else bursts(view)


@dataclass(frozen=True)
class _Found:
    """A cache: its size with the least and the most that it may be, where it ends, and in which
    burst."""

    sizes: tuple[float, float, float]
    bend: Bend
    burst: Measured


@dataclass(frozen=True)
class _Search:
    """What the long bursts show: a cache; or, without one, bends that a write buffer explains as
    well, and the least cache of each burst that would show."""

    found: _Found | None
    doubtful: tuple[Bend, ...]
    least: tuple[float, ...]


def _known_buffer(view: View) -> Buffer | None:
    return None if write_buffer.writes_through(view) else view.once(write_buffer.shown)


def _bends(view: View, m: Measured, grain: float = 0.0) -> tuple[Bend, Bend]:
    return find_bends(completion_curve(view.run, m), grain)


def _search(view: View) -> _Search:
    buffer = view.once(_known_buffer)
    doubtful: list[Bend] = []
    told: list[float] = []
    grain = buffer.round_bytes if buffer else 0.0
    for m in view.once(bursts):
        least = max(
            _BEYOND_BUFFER_MIN * buffer.size_bytes if buffer else 0.0,
            _SHARE_MIN * m.bytes,
        )
        told.append(least)
        # Past its cache a drive may become slower once more, by less: then it is the bend before.
        curve = completion_curve(view.run, m)
        for bend in find_bends(curve, grain):
            again = view.once(_soon_again)
            size, low, high = (count - again for count in cache_bytes(bend, curve, buffer))
            if not bend.is_one or size <= least:
                continue
            if buffer is None and may_be_buffer(bend, view.once(write_buffer.short_curve)):
                doubtful.append(bend)
                continue
            return _Search(_Found((size, low, high), bend, m), tuple(doubtful), tuple(told))
    return _Search(None, tuple(doubtful), tuple(told))


def _soon_again(view: View) -> float:
    """What the short burst took fast although the drive had no time to empty a cache, where no
    write buffer is known that explains it: a disk's cache is as large as that."""
    short = write_buffer.SHORT(view)
    if not short or view.once(_known_buffer) is not None:
        return 0.0
    bend, _ = _bends(view, short[-1])
    return bend.count_bytes if bend.is_one else 0.0


def size(view: View) -> Answer:
    """What a long burst takes fast before it becomes slower for good."""
    search = view.once(_search)
    if search.found is not None:
        found, recovery = search.found, view.once(_recovery)
        if recovery is not None and recovery.is_none:
            said = say("slc_cache_bytes.once_only", size=found.sizes[0])
            return unknown(said, evidence=recovery.evidence)
        value, low, high = found.sizes
        said = say("measured", fast=found.bend.fast_rate, slow=found.bend.slow_rate)
        bounds = (low - _MARGIN * value, high + _MARGIN * value)
        return known(value, said, bounds=bounds, detail=_detail(found), evidence=ids([found.burst]))
    if search.doubtful:
        bend = search.doubtful[0]
        left = 1 - bend.slow_rate / bend.fast_rate
        return unknown(
            say("like_a_buffer", slower=left, before=bend.count_bytes, held=left * bend.count_bytes)
        )
    buffer, long = view.once(_known_buffer), view.once(bursts)
    bends = [_bends(view, m)[0] for m in long]
    link = view.value("link_ceiling")
    hidden = buffer is None or buffer.link_rate < _FASTER_SEEN * buffer.drain_rate
    # Flash has to limit the long bursts, or a faster kind of cell would not show.
    if hidden and (link is None or max(b.slow_rate for b in bends) >= _BELOW_LINK * link):
        return unknown(say("as_the_link"))
    # A larger fall that was no cache is the write buffer's.
    falls = [bend.fast_rate / bend.slow_rate for bend in bends]
    fall = max((fall for fall in falls if fall < SLOWER_MIN), default=1.0)
    if fall > _FLAT_MAX:
        return unknown(say("little", slower=1 - 1 / fall))
    most = max(m.bytes for m in long)
    detail = {"goodness": {"fall": fall}}
    return known(0.0, say("none", written=most), bounds=(0.0, min(search.least)), detail=detail)


def direct_rate(view: View) -> Answer | None:
    """At what rate the drive takes what its cache has no room for; ``None`` without one."""
    found = view.once(_search).found
    if found is None:
        return None
    recovery = view.once(_recovery)
    if recovery is not None and recovery.is_none:
        said = say("slc_cache_bytes.once_only", size=found.sizes[0])
        return unknown(said, evidence=recovery.evidence)
    rate = found.bend.slow_rate
    bounds = (rate * (1 - _MARGIN), rate * (1 + _MARGIN))
    return known(
        rate, say("measured"), bounds=bounds, detail=_detail(found), evidence=ids([found.burst])
    )


def recovered_share(view: View) -> Answer | None:
    """How much of the cache can be used again after a pause; ``None`` where none was made, or it
    shows that there is no cache."""
    found = view.once(_search).found
    recovery = view.once(_recovery)
    if found is None or recovery is None or recovery.is_none:
        return None
    detail = {"goodness": {"misfit": recovery.misfit}}
    share, said = recovery.share, say("measured", at_most=min(recovery.share, 1.0))
    return known(share, said, bounds=recovery.bounds, detail=detail, evidence=recovery.evidence)


@dataclass(frozen=True)
class _Recovered:
    """How much of a cache shows again in a burst after a pause."""

    share: float
    bounds: tuple[float, float]
    misfit: float
    evidence: list[str]

    @property
    def is_none(self) -> bool:
        """Whether what slowed the first burst was no cache."""
        return self.share < _AGAIN_MIN


def _recovery(view: View) -> _Recovered | None:
    found, rested = view.once(_search).found, RESTED(view)
    if found is None or not rested or found.burst not in LONG(view):
        return None
    buffer = view.once(_known_buffer)
    curve = completion_curve(view.run, rested[-1])
    bends = find_bends(curve, buffer.round_bytes if buffer else 0.0)
    again = next((bend for bend in bends if bend.is_one), bends[0])
    now = cache_bytes(again, curve, buffer) if again.is_one else (0.0, 0.0, 0.0)
    # What is uncertain of the buffer is so of both bursts.
    share, low, high = (max(now, 0.0) / once for now, once in zip(now, found.sizes, strict=True))
    rounds = _ROUND_MARGIN * buffer.round_bytes / found.sizes[0] if buffer else 0.0
    margin = 2 * _MARGIN + rounds
    bounds = (min(share, low, high) - margin, max(share, low, high) + margin)
    return _Recovered(share, bounds, again.misfit, ids([found.burst, rested[-1]]))


def _detail(found: _Found) -> dict[str, object]:
    return {"goodness": {"misfit": found.bend.misfit}, "fast_rate": found.bend.fast_rate}
