"""Findings ``flush_cost``, ``volatile_write_cache`` and ``power_loss_protection``.

A volatile cache makes writes fast, but flushes and FUA writes slow, because they wait for the
medium. Without a cache all writes wait, and a flush has nothing to do. If all of them are fast, the
cache has power-loss protection, or the drive ignores flushes and FUA: only a loss of power shows
which. A read always waits for the medium, unless its data was just written and is still in a
buffer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from fourcorners.analysis.internals.answer import Answer, about, known, unknown, yes_or_no
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.flash import trim_granularity
from fourcorners.analysis.internals.thresholds import FALSE_ALARM, UNSURE
from fourcorners.analysis.internals.usual import usual_latencies, usual_s
from fourcorners.analysis.internals.view import (
    ERASED_ALONE,
    PointAxis,
    View,
    ids,
    latency_floor_s,
    pick,
    small_reads,
)
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured
from fourcorners.sentences import Said, say

TEST = "probe-flush"

ALL = pick(TEST, None, PointAxis.KIND)

_WAYS = {
    kind: pick(TEST, operation, kind=kind)
    for kind, operation in (
        ("plain", "write"),
        ("forced", "write"),
        ("read", "read"),
        ("just written", "read"),
        ("just read", "read"),
    )
}
_FLUSHES = pick(TEST, "flush", kind="flushed")

JUST_READ = _WAYS["just read"]
"""The reads of a single place, without pauses."""


def of_one_place(view: View) -> list[Measured]:
    """The reads of a single place, without writes to it and between them."""
    return [*JUST_READ(view), *_WAYS["just written"](view)]


_FORCED_SLOWER_MIN = 2.0
"""If FUA writes take at least so many times as long as plain ones, plain writes do not wait for the
medium."""

_FORCED_ALIKE_MAX = 1.3
"""If FUA writes take at most so many times as long as plain ones, both are alike."""

_MEDIUM_MIN, _MEMORY_MAX = 0.8, 0.5
"""A read or a write waits for the medium if it takes at least the first share of the time of a
random read; a read that takes at most the second share does not."""

_AS_MEMORY_MAX, _SLOWER_MIN = 2.0, 3.0
"""A write completes in a buffer if it takes at most so many times as long as a read from a cache,
and a read comes from a cache only if it takes at most so many times as long as one of a place
without data, which needs no medium either. A write may wait for the medium if it takes at least as
many times as the second value."""

_QUICK = 0.1
"""This share of the writes are quick ones: with fewer of them, no median of a round is a quick one
by chance."""

_MEDIUM_LEAST = 0.25
"""Where no write takes as much as this share of the time of a random read, none waits for a
platter. A program of flash takes longer than a read of it, so that :data:`_MEDIUM_MIN` is the least
share there; but a disk writes at any angle. By chance a round of writes waits for no more than a
quarter of a turn, but not all six."""

_FLUSH_AS_FORCED_MIN = 0.3
"""A flush waits for the medium if it takes at least this share of what FUA adds to a write: both
wait for one program, FUA with its command. A flush that does nothing takes a hundredth of it."""

_FLUSH_IDLE_MAX = 2.0
"""A flush that has nothing to do takes at most so many times as long as a plain write, as both are
one command: longer ones write something, data or the drive's own. One that takes as long as a read
shows that what commands have in common takes most of a read's time, and of a write's."""

_ROUNDS_DIFFER = 4.0
"""If the uncertainty between rounds is at least this many times that of single flushes, the former
is used."""

_TOLERANCE = 0.01
"""The tolerance of the cost of a flush where its rounds agree this closely: docs/explain.md."""


def flush_cost(view: View) -> Answer | None:
    """Finds the time of a flush after a small write."""
    if not _WAYS["plain"](view):
        return None
    usual, rounds = view.once(_usual), _FLUSHES(view)
    if usual is None:
        return unknown(say("not_carried_out"))
    values = np.array([usual_s(m) for m in rounds])
    value = float(values.mean())
    half = _half_width(values)
    by_all = _half_width(np.concatenate([np.repeat(*usual_latencies(m)) for m in rounds]))
    if half < _ROUNDS_DIFFER * by_all:
        half = by_all
    given: dict[str, Any] = {"detail": _detail(view, usual), "evidence": ids(rounds)}
    if half > UNSURE * value:
        said = say("unlike", quickest=values.min(), slowest=values.max())
        return unknown(said, **given)
    means = np.array([m.latency_mean_s or 0.0 for m in rounds])
    low, high = about(value, max(half, _TOLERANCE * value))
    if means.mean() > high:
        # Commands that hang belong to the flush if it is the drive that makes them wait.
        high = float(means.mean()) + _half_width(means)
        if high - low > 2 * UNSURE * value:
            return unknown(say("hangs", usual=value, mean=means.mean()), **given)
        answer = known(value, say("measured"), interval=(low, high), **given)
    elif half <= _TOLERANCE * value:
        answer = known(value, say("measured"), bounds=(low, high), **given)
    else:
        answer = known(value, say("measured"), interval=(low, high), **given)
    evidence = [*ids(rounds), *ids(_WAYS["forced"](view)), *ids(_WAYS["plain"](view))]
    if _what(usual, view.once(_unmapped_s))[:2] == (False, False):
        return answer.checked(Assumption.FLUSH_CARRIED_OUT, None)
    added_s = usual["forced"] - usual["plain"]
    waits = usual["forced"] >= _FORCED_SLOWER_MIN * usual["plain"]
    if waits and value >= _FLUSH_AS_FORCED_MIN * added_s:
        return answer.checked(Assumption.FLUSH_CARRIED_OUT, True, evidence)
    return answer


def is_volatile(view: View) -> Answer | None:
    """Finds whether data that was written but not flushed is lost when power fails."""
    return _told(view, 0)


def is_protected(view: View) -> Answer | None:
    """Finds whether the write buffer keeps its content when power fails."""
    return _told(view, 1)


def _told(view: View, which: int) -> Answer | None:
    if not _WAYS["plain"](view):
        return None
    usual = view.once(_usual)
    if usual is None:
        return unknown(say("flush_cost.not_carried_out"))
    *yes, said = _what(usual, view.once(_unmapped_s))
    times = {kind: view.once(_times_of_rounds)[kind] for kind in ("forced", "plain")}
    if yes[0] and min(times["forced"]) <= max(times["plain"]):
        yes, said = [None, None], say("durability.not_always", shown=said)
    flush_s = float(np.mean([usual_s(m) for m in _FLUSHES(view)]))
    if yes[0] and flush_s < _FLUSH_AS_FORCED_MIN * (usual["forced"] - usual["plain"]):
        yes, said = [None, None], say("durability.flush_free", times=_times(usual), flush=flush_s)
    least = _MEDIUM_LEAST if view.is_disk else _MEDIUM_MIN
    # What reads of any place take longer than of one whose part of the map is at hand is the map's.
    of_flash = _no_memory(usual["just read"], view.once(_unmapped_s))
    medium_s = usual["just read"] if of_flash else usual["read"]
    if yes[0] is False and max(map(max, times.values())) < least * medium_s:
        shown, cached = _times(usual), usual["just read"]
        if cached < _MEDIUM_MIN * usual["read"]:
            shown = say("durability.times_cached", times=shown, cached=cached)
        yes, said = [None, None], say("durability.kept", shown=shown)
    if yes[0] is False and flush_s > min(
        _FLUSH_IDLE_MAX * usual["plain"], _MEDIUM_MIN * usual["read"]
    ):
        yes, said = [None, None], say("durability.flush_works", times=_times(usual), flush=flush_s)
    if said.code == "durability.kept" and flush_s > _FLUSH_IDLE_MAX * usual["plain"]:
        said = say("durability.flush_only", times=_times(usual), flush=flush_s)
    floor_s = view.once(latency_floor_s)
    if yes[0] is False and floor_s is not None:
        yes, said = [None, None], say("durability.far", shown=_times(usual), floor=floor_s)
    buffered = said.code in ("durability.kept", "durability.flush_only")
    detail = _detail(view, usual) | {"waits_for_nothing": buffered}
    answer = yes_or_no(yes[which], said, detail=detail)
    # That FUA takes longer shows that it is carried out; that writes wait needs no flush.
    carried_out = True if yes[0] else None
    evidence = ids(_WAYS["forced"](view)) if yes[0] else ()
    return answer.checked(Assumption.FLUSH_CARRIED_OUT, carried_out, evidence)


def _usual(view: View) -> Mapping[str, float] | None:
    """The median time of each kind of request; ``None`` where some kind was not carried out."""
    times = view.once(_times_of_rounds)
    if not _FLUSHES(view) or not all(times.values()):
        return None
    return {kind: float(np.median(values)) for kind, values in times.items()}


def _unmapped_s(view: View) -> float | None:
    """The median time of the quicker reads of places without data, of a drive that holds some or
    none: on the former they may wait until a part of the map is written back. ``None`` where none
    was read alone."""
    reads = [m for m in trim_granularity.READS(view) if m.point[PointAxis.KIND] == "never written"]
    reads += ERASED_ALONE(view)
    return min((s for m in reads if (s := m.latency_percentile_s(50))), default=None)


def _no_memory(again_s: float, unmapped_s: float | None) -> bool:
    """Whether a repeated read comes from no memory, as one of a place without data shows."""
    return unmapped_s is not None and again_s > _AS_MEMORY_MAX * unmapped_s


def _times_of_rounds(view: View) -> Mapping[str, list[float]]:
    """The time of a request in each round, in seconds, by kind of request.

    Where writes take several times, as of pages of two kinds that are programmed in turn, the
    median of a round is one time or another by chance, and says nothing about FUA. If FUA writes
    are spread over these times as plain ones are, the mean of both stands for both. Writes of which
    some complete in a buffer have no such mean."""
    times = {kind: [_service_s(m) for m in points(view)] for kind, points in _WAYS.items()}
    times["read"] = [_service_s(m) for m in small_reads(view, _WAYS["read"])]
    writes = {kind: _WAYS[kind](view) for kind in ("plain", "forced")}
    seconds = [*times["plain"], *times["forced"]]
    if not all(writes.values()) or max(seconds) <= _FORCED_ALIKE_MAX * min(seconds):
        return times
    plain, forced = (
        np.concatenate([np.repeat(*usual_latencies(m)) for m in rounds])
        for rounds in writes.values()
    )
    quick_s = min(float(np.quantile(plain, _QUICK)), float(np.quantile(forced, _QUICK)))
    buffered = quick_s < _MEDIUM_MIN * float(np.median(times["read"] or [math.inf]))
    if buffered or scipy.stats.mannwhitneyu(plain, forced).pvalue < FALSE_ALARM:
        return times
    mean_s = float(np.mean([_service_s(m, usual_s(m)) for ms in writes.values() for m in ms]))
    return times | {kind: [mean_s] * len(rounds) for kind, rounds in writes.items()}


def _detail(view: View, usual: Mapping[str, float]) -> dict[str, object]:
    forced = view.once(_times_of_rounds)["forced"]
    return {
        **{f"{kind.replace(' ', '_')}_s": value for kind, value in usual.items()},
        "goodness": {"spread_of_forced": float(np.ptp(forced)) / usual["forced"]},
    }


def _service_s(m: Measured, latency_s: float | None = None) -> float:
    """The median time of a request, or ``latency_s``. If the drive cannot keep the pace, requests
    also wait for the ones before them; then this is the time from one completion to the next."""
    typical_s = latency_s or m.latency_percentile_s(50) or 0.0
    return min(typical_s, (m.elapsed_s or math.inf) / max(m.ios, 1))


def _what(
    usual: Mapping[str, float], unmapped_s: float | None
) -> tuple[bool | None, bool | None, Said]:
    """Whether the cache is volatile, whether it is protected, and why; ``None`` where the times do
    not show it. ``unmapped_s`` is the time of a read of a place without data, if it is known."""
    plain, forced, read = usual["plain"], usual["forced"], usual["read"]
    shown = _times(usual)
    if forced >= _FORCED_SLOWER_MIN * plain:
        return True, False, say("durability.before_durable", shown=shown)
    if forced <= _FORCED_ALIKE_MAX * plain:
        written, cached = usual["just written"], usual["just read"]
        if cached >= _MEDIUM_MIN * read:
            shown = say("durability.times_written", times=shown, written=written)
            buffered = written <= _MEMORY_MAX * read
            waits = written >= _MEDIUM_MIN * read
        else:
            if unmapped_s is not None and _no_memory(cached, unmapped_s):
                # It waits for the flash, and no program is quicker than a read.
                if plain <= _MEMORY_MAX * cached:
                    return None, None, say("durability.kept", shown=_times(usual))
                if plain > _AS_MEMORY_MAX * read:
                    # No look-up of the map makes it so long, as reads have one as well.
                    return False, False, say("durability.waits", shown=shown)
                written = usual["just written"]
                if cached * _MEDIUM_MIN <= min(plain, written) and (
                    written <= _FORCED_ALIKE_MAX * cached
                ):
                    # At once it is read as what is long on the flash, and not from a buffer.
                    shown = say("durability.times_written", times=shown, written=written)
                    return False, False, say("durability.waits", shown=shown)
                given = {"times": shown, "cached": cached, "unmapped": unmapped_s}
                return None, None, say("durability.not_memory", **given)
            # A read cache has the data in any case, and shows the time of a command without the
            # medium.
            shown = say("durability.times_cached", times=shown, cached=cached)
            buffered = plain <= _AS_MEMORY_MAX * cached
            waits = plain >= _SLOWER_MIN * cached
        if buffered:
            return None, None, say("durability.kept", shown=shown)
        if waits:
            return False, False, say("durability.waits", shown=shown)
    return None, None, say("durability.unclear", shown=shown)


def _times(usual: Mapping[str, float]) -> Said:
    plain, forced, read = usual["plain"], usual["forced"], usual["read"]
    return say("durability.times", plain=plain, forced=forced, read=read)


def _half_width(values: npt.NDArray[np.float64]) -> float:
    """Half the width of the 90 % interval of the mean."""
    if len(values) < 2:
        return math.inf
    return two_sided_t(len(values) - 1) * float(values.std(ddof=1)) / math.sqrt(len(values))
