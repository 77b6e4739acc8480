"""Finding ``channels``: how many buses the dies share.

A long read of a whole page and a short read are due at the same time, on two dies. The dies read
their arrays in parallel. If they share a channel, the short read waits until the long one has
passed the channel and then the link. Otherwise the short read completes first. Stripes rotate over
the dies, and dies over the channels. Therefore pairs that are 1, 2, ... stripes apart wait at every
multiple of the number of channels, and only there.

The wait is the time of a page on the channel and the link, less the delay that the second read has
anyway: the time that the host and the processor spend on a command. If this delay is longer than
the time of a page on the channel, no wait can be measured. If it is shorter and there is still no
wait, no two dies share a channel.

On a slow link the short read waits there for the long one, on whichever dies they are. Therefore
pairs of two short reads are measured too: for two sectors in the middle of a page, the channel
transfers the whole mapping units that they lie in, but the link transfers little.

Chen, Lee and Zhang (HPCA 2011) find channels as a second level of conflicts between pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.flash.die_conflicts import points, seen
from fourcorners.analysis.internals.flash.interleaving import Seen
from fourcorners.analysis.internals.view import View
from fourcorners.analysis.source import Measured
from fourcorners.sentences import say

_WAIT_MIN = 0.003
"""The least wait that is distinguished from scatter, in latencies of a pair that does not wait."""

_WAIT_LONG = 0.015
"""From this wait on, scatter is small compared with it."""

_CLEAR, _CLEAR_SHORT = 0.4, 0.1
"""A pair whose wait is below this share of the longest wait does not wait, and one above 1 minus
this share does; a pair in between is neither. The second value is for a longest wait that is
shorter than :data:`_WAIT_LONG`."""

_ONE_BY_ONE = 1.35
"""From this mean latency of a pair on, over that of both reads alone, they are served one after the
other; in parallel, the second read is late by far less."""

_LONGER = 1.25
"""Sharing would show if a page's time on a channel is at least so many times the second read's
delay."""


@dataclass(frozen=True)
class ChannelWaits:
    """By how much each pair takes longer than the quickest pair, as a share of that pair's latency;
    the key is the distance in stripes."""

    share: Mapping[int, float]

    @classmethod
    def of(cls, latency_s: Mapping[int, float]) -> ChannelWaits:
        """Computes the waits from the mean latencies of pairs."""
        quickest = min(latency_s.values())
        return cls({apart: seconds / quickest - 1 for apart, seconds in latency_s.items()})

    @property
    def longest(self) -> float:
        """The longest wait."""
        return max(self.share.values())

    @property
    def period(self) -> int | None:
        """The distance whose multiples all wait while no other distance does; ``None`` if there is
        none, or no pair waits."""
        if self.longest < _WAIT_MIN:
            return None
        clear = _CLEAR if self.longest > _WAIT_LONG else _CLEAR_SHORT
        waiting = [n for n, wait in self.share.items() if wait > (1 - clear) * self.longest]
        rest = [n for n, wait in self.share.items() if wait < clear * self.longest]
        if not rest or len(waiting) + len(rest) < len(self.share):
            return None
        first = min(waiting)
        return first if waiting == [n for n in self.share if n % first == 0] else None


def pairs(view: View) -> list[Measured]:
    """The pairs of reads and the single reads; where there are none, the points that come before
    them in the probe."""
    return (
        points(view, "alone", "together", "short") or points(view, "pair") or points(view, "window")
    )


def channels(view: View) -> Answer | None:
    """Finds how many channels the dies share; ``None`` where the probe of conflicts did not run."""
    found, dies = view.once(seen), view.value("dies")
    if found is None:
        return None
    detail: dict[str, Any] = {
        "stripes": list(found.together),
        "latency_mean_s": list(found.together.values()),
        "short_latency_mean_s": list(found.short.values()),
    }
    if dies is None:
        return unknown(say("no_dies"), detail=detail)
    if not found.together or not found.alone:
        return unknown(say("small_page"), detail=detail)
    alone_s = (found.alone[min(found.alone)] + found.alone[max(found.alone)]) / 2
    # The latency of a pair that does not wait for a channel is compared with the mean of both
    # reads alone.
    both = ((found.together, alone_s), (found.short, min(found.alone.values())))
    apart = [p for p, single_s in both if p and min(p.values()) <= _ONE_BY_ONE * single_s]
    if not apart:
        return unknown(say("one_by_one"), detail=detail)
    told = [
        waits for p in apart if (waits := ChannelWaits.of(p)).period or waits.longest > _WAIT_LONG
    ]
    if not told:
        return _alone(view, found, dies, alone_s, detail)
    waits = max(told, key=lambda waits: waits.longest)
    period = waits.period
    if period is None or any(other.period != period for other in told):
        return unknown(say("not_all_multiples"), detail=detail)
    said = say("measured", channels=period, wait=waits.share[period])
    return known(period, said, detail=detail | {"goodness": {"wait": waits.longest}})


def _alone(
    view: View, seen: Seen, dies: float, alone_s: float, detail: Mapping[str, Any]
) -> Answer:
    """The answer where no pair waits. It depends on whether a page takes so long on a channel that
    a pair would wait if dies shared one."""
    late_s = 2 * (min(seen.together.values()) - alone_s)
    link_rate = view.value("link_ceiling")
    if len(seen.alone) < 2 or link_rate is None:
        return unknown(say("hidden"), detail=detail)
    (small, small_s), (large, large_s) = list(seen.alone.items())[-2:]
    # Each further byte passes the channel and then the link.
    on_channel_s = large * ((large_s - small_s) / (large - small) - 1 / link_rate)
    detail = {**detail, "page_on_channel_s": on_channel_s, "second_is_late_s": late_s}
    if on_channel_s < _LONGER * late_s:
        return unknown(say("hidden"), detail=detail)
    goodness = {"longest_wait": ChannelWaits.of(seen.together).longest}
    return known(dies, say("one_each"), detail={**detail, "goodness": goodness})
