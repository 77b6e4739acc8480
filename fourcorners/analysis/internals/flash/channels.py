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

from fourcorners import wording
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.internals.flash.interleaving import Seen
from fourcorners.analysis.internals.method.medium import NO_FLASH

TITLE = "Channels that dies share"

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
class Waits:
    """Of pairs by their distance in stripes: how much longer than the quickest pair, in its
    latencies."""

    share: Mapping[int, float]

    @classmethod
    def of(cls, latency_s: Mapping[int, float]) -> Waits:
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


def find(
    seen: Seen,
    dies: float | None,
    link_bytes_per_second: float | None,
    disk: bool,
    evidence: Mapping[str, list[str]],
) -> Finding:
    """The finding of what the probe of conflicts saw; rates of ``seen`` by kind of point.

    Args:
        seen: rates and latencies.
        dies: how many take turns, if that is known.
        link_bytes_per_second: what the link carries, if that is known.
        disk: whether an arm moves.
        evidence: recordings of each kind of point.
    """
    used = (
        [*evidence["alone"], *evidence["together"], *evidence["short"]]
        or evidence["pair"]
        or evidence["window"]
    )
    detail = {
        "discrete": True,
        "stripes": list(seen.together),
        "latency_mean_s": list(seen.together.values()),
        "short_latency_mean_s": list(seen.short.values()),
    }
    if disk:
        return Finding("channels", TITLE, "not applicable", NO_FLASH, evidence=used, detail=detail)
    if dies is None:
        return _unknown(
            "Without dies that take turns, what they share does not show.", used, detail
        )
    if not seen.together or not seen.alone:
        return _unknown("A page is too small for a long read of it.", used, detail)
    alone_s = (seen.alone[min(seen.alone)] + seen.alone[max(seen.alone)]) / 2
    # What a pair takes where none waits for a channel, to the mean of both alone.
    pairs = ((seen.together, alone_s), (seen.short, min(seen.alone.values())))
    apart = [p for p, single_s in pairs if p and min(p.values()) <= _ONE_BY_ONE * single_s]
    if not apart:
        return _unknown(
            "Of two reads that are due at the same time the second waits for the first wherever "
            "they are: reads are served one after the other.",
            used,
            detail,
        )
    told = [waits for p in apart if (waits := Waits.of(p)).period or waits.longest > _WAIT_LONG]
    if not told:
        return _alone(seen, dies, alone_s, link_bytes_per_second, used, detail)
    waits = max(told, key=lambda waits: waits.longest)
    period = waits.period
    if period is None or any(other.period != period for other in told):
        return _unknown(
            "Reads of two dies wait for each other at some distances, but not at all multiples of "
            "one of them.",
            used,
            detail,
        )
    return Finding(
        "channels",
        TITLE,
        "measured",
        f"{period} channels: of two reads due at the same time one waits for the other if they are "
        f"{wording.count(period, 'stripe')} apart or a multiple of that, by "
        f"{wording.percent(waits.share[period])} of the time of a pair, and nowhere else.",
        value=float(period),
        unit="1",
        evidence=used,
        detail=detail | {"goodness": {"wait": waits.longest}},
    )


def _alone(
    seen: Seen,
    dies: float,
    alone_s: float,
    link_bytes_per_second: float | None,
    used: list[str],
    detail: dict[str, object],
) -> Finding:
    """Where no pair waits: whether a channel takes so long that one would, if dies shared it."""
    late_s = 2 * (min(seen.together.values()) - alone_s)
    hidden = (
        "No two dies wait for each other; a page is over on the channel before the next command "
        "is there, so dies may share a channel nevertheless."
    )
    if len(seen.alone) < 2 or link_bytes_per_second is None:
        return _unknown(hidden, used, detail)
    (small, small_s), (large, large_s) = list(seen.alone.items())[-2:]
    # Another byte passes the channel and then the link.
    on_channel_s = large * ((large_s - small_s) / (large - small) - 1 / link_bytes_per_second)
    detail = detail | {"page_on_channel_s": on_channel_s, "second_is_late_s": late_s}
    if on_channel_s < _LONGER * late_s:
        return _unknown(hidden, used, detail)
    return Finding(
        "channels",
        TITLE,
        "measured",
        f"Each of the {dies:.0f} dies has a channel of its own: no two wait for each other, "
        f"although a page takes {wording.duration(on_channel_s)} on a channel.",
        value=float(dies),
        unit="1",
        evidence=used,
        detail=detail | {"goodness": {"longest_wait": Waits.of(seen.together).longest}},
    )


def _unknown(reason: str, used: list[str], detail: dict[str, object]) -> Finding:
    return Finding("channels", TITLE, "not identifiable", reason, evidence=used, detail=detail)
