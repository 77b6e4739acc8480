"""Findings ``channels`` and ``planes_per_die``: what units that serve reads share.

A long read of a whole page and a short read are due at the same time, on two units. Units of two
dies read their arrays in parallel. If the dies share a channel, the short read waits until the long
one has passed the channel and then the link. Otherwise the short read completes first. If both
units are planes of one die, the short read waits for the whole long one. Which units wait alike
shows the levels (:mod:`fourcorners.analysis.internals.flash.levels`).

The wait for a channel is the time of a page on the channel and the link, less the delay that the
second read has anyway: the time that the host and the processor spend on a command. If this delay
is longer than the time of a page on the channel, no wait can be measured. If it is shorter and
there is still no wait, no two dies share a channel.

On a slow link the short read waits there for the long one, on whichever dies they are. Therefore
pairs of two short reads are measured too: for two sectors in the middle of a page, the channel
transfers the whole mapping units that they lie in, but the link transfers little. A second read
that comes when the first is under way waits only for its die.

Chen, Lee and Zhang (HPCA 2011) find channels as a second level of conflicts between pairs.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import numpy as np

from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.flash import conflicting_reads
from fourcorners.analysis.internals.flash.conflicting_reads import (
    PAIRS,
    of_quickest_s,
    pairs,
    points,
    seen,
    shown_levels,
    units,
)
from fourcorners.analysis.internals.flash.levels import APART, CHANNEL, DIE, NOTHING
from fourcorners.analysis.internals.flash.one_unit import one_unit
from fourcorners.analysis.internals.link import generation
from fourcorners.analysis.internals.view import PointAxis, View, by
from fourcorners.analysis.source import Measured
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say

_ONE_BY_ONE = 1.35
"""From this latency of a pair on, over that of both reads alone, they are served one after the
other; in parallel, the second read is late by far less."""

_LONGER = 1.25
"""Sharing would show if a page's time on a channel is at least so many times the second read's
delay."""

_ALL_WAIT = 0.25
"""All dies may share one channel if every second read waits for more than this share of a page's
time on it. It is the middle between none and a half: where times scatter, the long read comes to
the channel first in half of the pairs at least, as it is the first to be due."""


def asked(view: View) -> list[Measured]:
    """The pairs of reads and the single reads; where there are none, the points that come before
    them in the probe."""
    return points(view, "alone", *PAIRS) or points(view, "pair") or points(view, "window")


def _detail(view: View) -> dict[str, Any]:
    detail: dict[str, Any] = {}
    for kind in PAIRS:
        latencies = view.once(pairs, kind).latency_s
        detail |= {f"{kind}_stripes": list(latencies), f"{kind}_s": list(latencies.values())}
    return detail


def planes_per_die(view: View) -> Answer | None:
    """Finds how many planes of a die read together; ``None`` where the probe of conflicts did not
    run."""
    if view.once(seen) is None:
        return None
    detail = _detail(view)
    count, levels = view.once(units), view.once(shown_levels)
    if count is None:
        return unknown(say("no_dies"), detail=detail)
    if levels is None:
        return unknown(say("no_levels" if points(view, *PAIRS) else "no_pairs"), detail=detail)
    if levels.planes == 1:
        return unknown(say("no_waits", units=count), detail=detail)
    detail["goodness"] = {"wait": levels.wait[DIE]}
    return known(levels.planes, say("measured", wait=levels.wait[DIE], units=count), detail=detail)


def channels(view: View) -> Answer | None:
    """Finds how many channels the dies share; ``None`` where the probe of conflicts did not run."""
    if view.once(seen) is None:
        return None
    detail, dies = _detail(view), view.value("dies")
    if dies is None:
        return unknown(say("no_dies"), detail=detail)
    if one := view.once(one_unit):
        return known(1, say("one_die"), detail=detail, evidence=one.evidence)
    alone = {n: seconds for n, (seconds, _) in view.once(conflicting_reads.alone).items()}
    together = _of_two_dies(view, "together")
    if not together or not alone:
        code = "overlapping" if conflicting_reads.overlap(view) else "small_page"
        return unknown(say(code), detail=detail)
    alone_s = (alone[min(alone)] + alone[max(alone)]) / 2
    short = _of_two_dies(view, "short")
    # The latency of a pair that does not wait for a channel is compared with the mean of both
    # reads alone.
    both = ((together, alone_s), (short, min(alone.values())))
    if all(min(p.values()) > _ONE_BY_ONE * single_s for p, single_s in both if p):
        return unknown(say("one_by_one"), detail=detail)
    levels = view.once(shown_levels)
    if levels is None:
        return unknown(say("no_levels"), detail=detail)
    if levels.channels is None:
        # Waits that several numbers of channels explain show none of them.
        if {NOTHING, CHANNEL} <= levels.wait.keys():
            return unknown(say("no_levels"), detail=detail)
        return _alone(view, alone, together, dies, detail)
    wait = levels.wait[CHANNEL]
    detail["goodness"] = {"wait": wait}
    return known(
        levels.channels, say("measured", channels=levels.channels, wait=wait), detail=detail
    )


def _of_two_dies(view: View, kind: str) -> dict[int, float]:
    """The latencies of a kind of pairs, without the pair whose reads meet one die."""
    count = view.once(units) or 0
    return {n: s for n, s in view.once(pairs, kind).latency_s.items() if n < count}


def would_wait_s(view: View, on_channel_s: float, late_s: float) -> float:
    """How much longer the typical latency of a pair would be if its dies shared a channel. Times of
    reads scatter, so that the short read may come to the channel before the long one, or long after
    it: how often it does is known from single reads of both sizes."""
    singles = by(points(view, "alone"), PointAxis.ALONE)
    (short_s, short_share), (long_s, long_share) = (
        ((low + high) / 2e9, count / count.sum())
        for low, high, count in (singles[size].histogram for size in (min(singles), max(singles)))
    )
    off_s = (short_s - np.average(short_s, weights=short_share))[:, None]
    off_s = off_s - (long_s - np.average(long_s, weights=long_share))
    after_s = late_s + off_s
    waits_s = np.where(after_s > 0, np.maximum(on_channel_s - after_s, 0), 0)
    share = np.concatenate([np.outer(short_share, long_share).ravel(), long_share])

    def pair_s(waits_s: Floats) -> float:
        return of_quickest_s(np.concatenate([(short_s[:, None] + waits_s).ravel(), long_s]), share)

    return pair_s(waits_s) - pair_s(np.zeros_like(waits_s))


def _passed(page_bytes: int, unit_bytes: float | None) -> int | None:
    """How much passes the channel for each half of a short read in the middle of a page, if whole
    mapping units do; ``None`` where that is not known, or where the page is one unit."""
    if unit_bytes is None or 2 * unit_bytes > page_bytes or page_bytes % unit_bytes:
        return None
    return int(unit_bytes)


def _nearer(longer_s: float, per_byte_s: float, units_bytes: int, bytes_: int) -> bool:
    """Whether a long read's time on the channel over a short one's is that of whole mapping units,
    rather than that of the bytes that were asked for."""
    return abs(longer_s - units_bytes * per_byte_s) < abs(longer_s - bytes_ * per_byte_s)


def _alone(
    view: View,
    alone: Mapping[int, float],
    together: Mapping[int, float],
    dies: float,
    detail: Mapping[str, Any],
) -> Answer:
    """The answer where no pair waits for a channel. It depends on whether a page takes so long on a
    channel that a pair would wait if dies shared one, of which the second read is late anyway."""
    link_rate = view.value("link_ceiling") or generation.fastest(view)
    if len(alone) < 2 or link_rate is None:
        return unknown(say("hidden"), detail=detail)
    (small, small_s), (large, large_s) = list(alone.items())[-2:]
    least, pair_s = min(alone), statistics.median(together.values())
    page, link_s = large + least, 1 / link_rate
    per_byte_s = (large_s - small_s) / (large - small) - link_s
    late_s, waited_s = 2 * pair_s - alone[least] - large_s, 0.0
    # Pairs of two short reads show both times too. A single read that other load delayed would make
    # the channel slow and the second read early, so that the less telling of two numbers counts.
    if short := _of_two_dies(view, "short"):
        short_s = statistics.median(short.values())
        longer_s = 2 * (pair_s - short_s) - (large - 2 * least) * link_s
        of_units = _passed(page, view.value("mapping_unit"))
        if of_units and _nearer(longer_s, per_byte_s, page - 2 * of_units, large - 2 * least):
            on_short, more = of_units, page - 2 * of_units
        else:
            on_short, more = least, large - 2 * least
        if more:
            per_byte_s = min(per_byte_s, longer_s / more)
        later_s = 2 * (short_s - alone[least]) - least * link_s - on_short * per_byte_s
        waited_s, late_s = late_s - later_s - large * link_s, max(late_s, later_s)
    # Each further byte passes the channel and then the link.
    on_channel_s = large * per_byte_s
    detail = {**detail, "page_on_channel_s": on_channel_s, "second_is_late_s": late_s}
    if on_channel_s < _LONGER * late_s or on_channel_s <= 0:
        return unknown(say("hidden"), detail=detail)
    found = view.once(pairs, "together")
    scatter_s = max(found.error_s, statistics.pstdev(together.values()))
    if waited_s > max(APART * scatter_s, _ALL_WAIT * on_channel_s):
        # What a command takes makes the second read as late after a short first one.
        return unknown(say("all_wait", waited_s=waited_s), detail=detail)
    if not found.complete or would_wait_s(view, on_channel_s, late_s) < APART * scatter_s:
        return unknown(say("scatter"), detail=detail)
    goodness = {"late_over_channel": late_s / on_channel_s}
    return known(dies, say("one_each"), detail={**detail, "goodness": goodness})
