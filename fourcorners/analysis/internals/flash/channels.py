"""Finding ``channels``: how many buses the dies share.

A long read, of a whole page, and a short one that are due at the same time, on two dies, read
their arrays side by side. If the dies share a channel, the short one waits until the long one has
passed it, and after it the link; if not, it is over before. Dies take stripes in turn, and channels
dies, so that pairs 1, 2, ... stripes apart wait at every multiple of the number of channels, and
only there.

The wait is what a page takes on the channel and the link, less what the second read is behind
anyway: the host's and the processor's time of a command. Where that is more than a page takes on
the channel, nothing shows. Where nothing shows although it is less, no two dies share one.

On a slow link the short read waits for the long one there, wherever they are. Of two sectors in the
middle of a page a channel passes the whole units of the map that they lie in, and the link little.

Chen, Lee and Zhang (HPCA 2011) see channels as a second level of conflicts between pairs.
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
"""Least wait, in latencies of a pair that does not wait, that is told from scatter."""

_WAIT_LONG = 0.015
"""Wait from which scatter is small beside it."""

_CLEAR, _CLEAR_SHORT = 0.4, 0.1
"""Share of the longest wait below which a pair does not wait, and above one less it of which it
does: what lies between belongs to neither. The latter where the longest wait is no long one."""

_ONE_BY_ONE = 1.35
"""Mean latency of a pair over that of both reads alone from which they are served one after the
other; side by side the second is late by far less."""

_LONGER = 1.25
"""Time of a page on a channel over what the second read is late, from which sharing would show."""


@dataclass(frozen=True)
class ChannelWaits:
    """Of pairs by their distance in stripes: how much longer than the quickest pair, in its
    latencies."""

    share: Mapping[int, float]

    @classmethod
    def of(cls, latency_s: Mapping[int, float]) -> ChannelWaits:
        """From the mean latencies of pairs."""
        quickest = min(latency_s.values())
        return cls({apart: seconds / quickest - 1 for apart, seconds in latency_s.items()})

    @property
    def longest(self) -> float:
        """The longest wait."""
        return max(self.share.values())

    @property
    def period(self) -> int | None:
        """The distance of which all multiples wait, and nothing else does; ``None`` if there is
        none, or nothing waits."""
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
    """Pairs of reads and those alone; where there are none, what should have led to them."""
    return (
        points(view, "alone", "together", "short") or points(view, "pair") or points(view, "window")
    )


def channels(view: View) -> Answer | None:
    """How many buses the dies share; ``None`` where the probe of conflicts did not run."""
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
    # What a pair takes where none waits for a channel, to the mean of both alone.
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
    """Where no pair waits: whether a channel takes so long that one would, if dies shared it."""
    late_s = 2 * (min(seen.together.values()) - alone_s)
    link_rate = view.value("link_ceiling")
    if len(seen.alone) < 2 or link_rate is None:
        return unknown(say("hidden"), detail=detail)
    (small, small_s), (large, large_s) = list(seen.alone.items())[-2:]
    # Another byte passes the channel and then the link.
    on_channel_s = large * ((large_s - small_s) / (large - small) - 1 / link_rate)
    detail = {**detail, "page_on_channel_s": on_channel_s, "second_is_late_s": late_s}
    if on_channel_s < _LONGER * late_s:
        return unknown(say("hidden"), detail=detail)
    goodness = {"longest_wait": ChannelWaits.of(seen.together).longest}
    return known(dies, say("one_each"), detail={**detail, "goodness": goodness})
