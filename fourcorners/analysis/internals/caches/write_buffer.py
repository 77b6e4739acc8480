"""Findings ``write_buffer_bytes`` and ``write_drain_rate`` from two bursts of sequential writes.

The short burst is what the drive takes in the state that it is in later on. The long burst comes
first, on an erased drive, whose buffer is empty. Both show the same buffer unless the drive keeps
data in it while it waits, so that the short burst finds less room, or drains it at another rate,
as a drive does that folds an SLC cache meanwhile.

From when on a drive drains its buffer does not show: until the buffer is full it accepts writes at
the link's rate in any case. If it begins only then, the buffer holds all bytes that were accepted
until then. The interval reaches to that size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fourcorners.analysis.internals.answer import Answer, about, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.caches.buffer_line import (
    FASTER_MIN,
    FIRST_BYTES,
    LAG_MAX_S,
    LATE_SHARE,
    Buffer,
    read_curve,
)
from fourcorners.analysis.internals.caches.burst_curve import Curve, completion_curve
from fourcorners.analysis.internals.collection.parts import OVERWRITE, faster_at_random
from fourcorners.analysis.internals.disk.passing import ABOVE_TRACK_MIN, track_rate
from fourcorners.analysis.internals.link import generation
from fourcorners.analysis.internals.method import pace
from fourcorners.analysis.internals.nand.programs import turn_bytes
from fourcorners.analysis.internals.thresholds import UNSURE
from fourcorners.analysis.internals.view import SENTINELS, View, ids, pick
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured
from fourcorners.sentences import say

TEST = "probe-burst"

SHORT = pick(TEST, "write", stage="short")
LONG = pick(TEST, "write", stage="long")

_WINDOWS_BYTES = (16 * 2**20, 64 * 2**20, 256 * 2**20)
"""The first parts of the long burst that are read: later the drive may have filled a cache."""

_SAME_RATE = 0.1
"""Up to this relative difference two bursts drain the buffer at one rate."""

CACHE_SHARE_MIN = 0.015
"""An SLC cache must be at least this share of a burst to have a rate of its own. If the long burst
finds more room than the short one, and the difference is less than this share, it is the buffer's:
otherwise it may be such a cache."""

_FAR_BEYOND, _ONE_PACE = 1.25, 0.95
"""A burst shows that a buffer drains as fast as it is filled if it is longer by this factor than
what fills it, and if its later half runs at this share of the rate of its first bytes or more."""

_LATE_MAX = 3.0
"""If the buffer of a drive that begins to drain it late is larger than this many times that of one
that drains it at once, its size is not known."""

_SWITCHES = 2
"""The seek to the first track takes so many switches between tracks with settling, give or take
one."""

_WAIT_S = 0.5e-3
"""A burst that falls behind the link's rate by so much waits for a disk: less than a tenth of a
turn, and more than commands differ by."""

_LINK_SHARE_MIN = 0.5
"""A buffer fills at least at this share of the fastest rate of reads: as fast as the link and the
commands of writes let it. Known buffers of ``arena explain --drives 105 --seed 1618033`` fill at
53 % and more; flash that writes its map back from some point on was at most 39 % as fast before."""

_FIRST_MIN_S, _FIRST_BLOCKS = 0.15e-3, 3
"""A write waits for the flash if it takes longer than this time, and than the link takes for so
many such writes: the quickest programs take 0.15 ms and more."""

_TRACKS_MAX = 2.0
"""If the bytes of the steps in which room becomes free are more than so many tracks, they are not
tracks, and the line on which the buffer is full does not follow from them."""


def request_bytes(m: Measured) -> float:
    """The mean size of a recording's requests."""
    return m.bytes / max(m.ios, 1)


def short_curve(view: View) -> Curve | None:
    """The curve of the short burst; ``None`` where it was not measured."""
    return next((completion_curve(view.run, m) for m in SHORT(view)), None)


def link_rate(view: View) -> float | None:
    """The rate of the first bytes of the short burst, in bytes per second; ``None`` where it was
    not measured."""
    curve = view.once(short_curve)
    return None if curve is None else curve.rate(*FIRST_BYTES)


def writes_through(view: View) -> bool:
    """Whether writes wait until they are on the medium."""
    return view.value("volatile_write_cache") == 0 and view.value("power_loss_protection") == 0


@dataclass(frozen=True)
class BufferShown:
    """A buffer, and the recordings that show it."""

    buffer: Buffer
    curve: Curve
    evidence: list[str]
    empty: bool | None = None
    """Whether the buffer was empty when the short burst began; ``None`` where the long burst does
    not show it."""


def _read(view: View, curve: Curve, block_bytes: float) -> Buffer | None:
    """The buffer that a curve shows. Its size is where the line of the late part of the curve
    begins, and is uncertain by what drains until then if the pace changes from minute to minute."""
    turn = None if view.is_disk else view.once(turn_bytes)
    buffer = read_curve(curve, block_bytes, turn, in_rounds=not view.is_disk)
    if buffer is None:
        return None
    off = two_sided_t(math.inf) * view.once(pace.unsure)
    drained = buffer.drain_rate * (1 - LATE_SHARE / 2) * float(curve.seconds[-1])
    return replace(buffer, margin_bytes=buffer.margin_bytes + off * drained)


def _by_short(view: View) -> BufferShown | None:
    curve = view.once(short_curve)
    if curve is None:
        return None
    buffer = _read(view, curve, request_bytes(SHORT(view)[0]))
    if buffer is None or not buffer.fills_as_it_should(curve):
        return None
    return BufferShown(buffer, curve, ids(SHORT(view)))


def _by_long(view: View) -> list[BufferShown]:
    """The buffers that the first parts of the long burst show, the surest first."""
    return _by_parts(view, LONG(view)[:1])


def _by_short_parts(view: View) -> list[BufferShown]:
    """The same of the short burst, whose later part may hold what the drive does besides."""
    return _by_parts(view, SHORT(view)[:1])


def _by_parts(view: View, bursts: list[Measured]) -> list[BufferShown]:
    found = [
        one
        for one in _all_parts(view, bursts)
        if one.buffer.margin_bytes <= UNSURE * one.buffer.size_bytes
    ]
    return sorted(found, key=lambda seen: seen.buffer.margin_bytes)


def _all_parts(view: View, bursts: list[Measured]) -> list[BufferShown]:
    """The buffers that the first parts of bursts show, however unsure."""
    found = []
    for m in bursts:
        whole = completion_curve(view.run, m)
        for window in _WINDOWS_BYTES:
            curve, size = whole.until(window), request_bytes(m)
            if len(curve.seconds) < 2 or window > m.bytes:
                continue
            buffer = _read(view, curve, size)
            if buffer is not None and buffer.fills_as_it_should(curve):
                found.append(BufferShown(buffer, curve, [m.recording]))
    return found


def _one_pace(view: View) -> Answer:
    """The answer where no burst shows a buffer; or none that is sure, as what drains wanders or the
    pace changes."""
    bursts = LONG(view)[:1]
    off, parts = view.once(pace.unsure), _all_parts(view, bursts)
    if parts and all(_wanders(one.buffer) for one in parts):
        return _unsure(parts)
    if off and parts:
        return unknown(say("write_buffer_bytes.pace", off=off), evidence=ids(bursts))
    return unknown(say("write_buffer_bytes.one_pace"))


def _wanders(buffer: Buffer) -> bool:
    """Whether a drain that is not constant leaves the size of a buffer undetermined."""
    return buffer.wander_bytes > UNSURE * buffer.size_bytes


def _unsure(shown: list[BufferShown]) -> Answer:
    """The answer where such a drain shows these buffers."""
    surest = min(shown, key=lambda one: one.buffer.wander_bytes).buffer
    said = say("write_buffer_bytes.wanders", by=surest.wander_bytes, filled=surest.size_bytes)
    evidence = list(dict.fromkeys(one for some in shown for one in some.evidence))
    return unknown(said, evidence=evidence)


def _apart(one: Buffer, other: Buffer) -> bool:
    return abs(one.size_bytes - other.size_bytes) > one.margin_bytes + other.margin_bytes


def seen(view: View) -> BufferShown | Answer:
    """The buffer by both bursts, or why they show none."""
    short, longs = view.once(_by_short), view.once(_by_long)
    if not longs:
        if short is not None and (erased := _drained_faster(view, short.buffer)):
            drain, evidence = short.buffer.drain_rate, [*short.evidence, *ids(LONG(view)[:1])]
            said = say("write_buffer_bytes.not_when_erased", erased=erased, drain=drain)
            return unknown(said, evidence=evidence)
        return short or _one_pace(view)
    long = longs[0]
    rates = [one.buffer.drain_rate for one in (short or long, long)]
    same_rate = abs(rates[0] - rates[1]) <= _SAME_RATE * max(rates)
    # Where two bursts show one buffer, less sure parts of one of them change nothing.
    twice = short is not None and not _apart(short.buffer, long.buffer)
    if not twice and any(_apart(long.buffer, other.buffer) for other in longs[1:]):
        return unknown(say("write_buffer_bytes.uneven"))
    if short is None:
        return long
    evidence = [*short.evidence, *long.evidence]
    if not _apart(short.buffer, long.buffer):
        surer = min(short, long, key=_uncertain_bytes)
        buffer = surer.buffer
        if not same_rate:
            # Either may be slowed by something besides a full buffer, by what the other one shows.
            other = abs(long.buffer.size_bytes - short.buffer.size_bytes)
            buffer = replace(buffer, margin_bytes=buffer.margin_bytes + other)
        return BufferShown(buffer, surer.curve, evidence, True)
    more = long.buffer.size_bytes - short.buffer.size_bytes
    if more > CACHE_SHARE_MIN * LONG(view)[0].bytes:
        # As elsewhere the buffer may have been half full (cache_bend.may_be_buffer). What has an
        # arm has no cells whose cache is emptied at another rate, but disks are.
        half_full = (same_rate or view.is_disk) and more <= short.buffer.size_bytes
        return held_back(short, long) if half_full else short
    if more > 0 and same_rate:
        return BufferShown(long.buffer, long.curve, evidence, False)
    if same_rate:
        # What a drive erases in the later part of the short burst makes its line too flat. Its
        # first part, which has no such pauses, then shows the buffer of the long burst.
        parts = view.once(_by_short_parts)
        if not parts or _apart(parts[0].buffer, long.buffer):
            return unknown(say("write_buffer_bytes.uneven"))
    return BufferShown(long.buffer, long.curve, evidence, True)


def _drained_faster(view: View, buffer: Buffer) -> float | None:
    """The rate of the long burst, in bytes per second, where it went on at its first rate far
    beyond what fills this buffer, which then drained faster than the short burst shows; ``None``
    elsewhere. What slows down the short burst, such as erasures of what had been written before,
    comes now and then, and lets the line of its drain begin anywhere."""
    long = LONG(view)
    if view.is_disk or not long or long[0].bytes < _FAR_BEYOND * buffer.accepted_bytes:
        return None
    curve = completion_curve(view.run, long[0])
    late = curve.rate(float(curve.count_bytes[-1]) / 2, float(curve.count_bytes[-1]))
    even = late >= _ONE_PACE * curve.rate(*FIRST_BYTES)
    return late if even and late >= FASTER_MIN * buffer.drain_rate else None


def _uncertain_bytes(found: BufferShown) -> float:
    """By how much a buffer's size is uncertain: by its margin, and by half of the steps in which
    room becomes free, since the line may lie anywhere within them."""
    return math.hypot(found.buffer.margin_bytes, found.buffer.scatter * found.buffer.size_bytes / 2)


def held_back(short: BufferShown, long: BufferShown) -> Answer:
    """The answer where the short burst finds much less room than the long one and drains it at the
    same rate. Behind a cache it would drain at another one, unless the cache is as fast as the
    link and small."""
    less, more = short.buffer.size_bytes, long.buffer.size_bytes
    said = say("write_buffer_bytes.cache_or_held", less=less, more=more)
    evidence = [*short.evidence, *long.evidence]
    return unknown(said, detail={"between_bytes": [less, more]}, evidence=evidence)


def shown(view: View) -> Buffer | None:
    """The buffer, whatever else is known of the drive; by the short burst, in whose state a drive
    is past its cache, unless that shows none or the bursts disagree."""
    short, found = view.once(_by_short), view.once(seen)
    if not isinstance(found, BufferShown):
        return None
    return found.buffer if short is None or _apart(short.buffer, found.buffer) else short.buffer


def _found(view: View) -> BufferShown | Answer:
    if writes_through(view):
        return unknown(say("write_buffer_bytes.through"))
    found = view.once(seen)
    if isinstance(found, Answer):
        return found
    if alike := generation.met_by_reads(view, found.buffer.drain_rate):
        said = say("write_buffer_bytes.credits", rate=found.buffer.drain_rate)
        return unknown(said, evidence=[*found.evidence, *ids(alike)])
    if view.is_disk:
        return _beyond_a_track(view, found)
    if fills_from_link(view, found):
        return found
    filled, rate = found.buffer.size_bytes, found.buffer.link_rate
    return unknown(say("write_buffer_bytes.at_flash", filled=filled, rate=rate))


def _none(view: View) -> Answer:
    """The answer for a drive whose writes wait until they are on the medium: none of them is
    complete in a buffer."""
    answer = known(0.0, say("write_buffer_bytes.through"), evidence=ids(SHORT(view)))
    for one in (Assumption.EMPTY_AT_FIRST, Assumption.EVEN_DRAIN, Assumption.DRAINS_AT_ONCE):
        answer = answer.checked(one, None)
    return answer


def _beyond_a_track(view: View, found: BufferShown) -> BufferShown | Answer:
    """The same, if the fast part of the burst to a disk is faster than its platters. Else a disk
    that writes what comes looks like one whose buffer is full at the end of the first track: only
    then it loses time by switches."""
    passes = view.once(track_rate) or 0.0
    if found.buffer.link_rate > ABOVE_TRACK_MIN * passes:
        return found
    said = say("write_buffer_bytes.at_platters", rate=found.buffer.link_rate, passes=passes)
    return unknown(said, evidence=found.evidence)


def fills_from_link(view: View, found: BufferShown) -> bool:
    """Whether the fast part of a burst is as fast as the link, and its first write does not wait
    for the flash. Else a part of the drive that becomes slower, such as a map that is full of
    changes and has to be written back, looks like a buffer that is full."""
    fastest = view.once(generation.fastest)
    if fastest is None or found.buffer.size_bytes < FIRST_BYTES[1]:
        return True  # The bytes that show the rate go beyond so small a buffer.
    curve, rate = found.curve, found.buffer.link_rate
    if rate < _LINK_SHARE_MIN * fastest:
        return False
    first = float(curve.count_bytes[0])
    waited_s = float(curve.seconds[0])
    return waited_s <= max(_FIRST_MIN_S, _FIRST_BLOCKS * first / max(rate, fastest))


def size(view: View) -> Answer:
    """Finds the size of the write buffer."""
    if writes_through(view):
        return _none(view)
    found = view.once(_found)
    if isinstance(found, Answer):
        return found
    buffer, curve = found.buffer, found.curve
    if not view.is_disk and (times := view.once(faster_at_random)):
        # The first writes of a burst may go to those cells as well, before it is known for one.
        said = say("other_cells", filled=buffer.size_bytes, times=times)
        return unknown(said, evidence=[*found.evidence, *ids(OVERWRITE(view)[:1])])
    if _wanders(buffer):
        return _unsure([found])
    if buffer.margin_bytes > UNSURE * buffer.size_bytes:
        said = say("small_on_disk" if view.is_disk else "small", drain=buffer.drain_rate)
        return unknown(said)
    every = max(len(curve.seconds) // 400, 1)
    detail = {
        "seconds": curve.seconds[::every],
        "count_bytes": curve.count_bytes[::every],
        "link_rate": buffer.link_rate,
        "goodness": {"steps_over_size": buffer.scatter},
    }
    filled = buffer.size_bytes
    low, high = about(filled, buffer.margin_bytes)
    # Room may become free before the end of a round: when a row leaves for its die, or where pages
    # of a quick kind are programmed beside those of a slow one.
    # Where no rounds show, the curve's mean is then higher by half of what dies take at a time.
    low -= buffer.round_bytes or (0.0 if view.is_disk else buffer.drain_rate * LAG_MAX_S / 2)
    high += buffer.accepted_bytes - filled
    if not view.is_disk and high > _LATE_MAX * filled:
        said = say("drained_as_fast", filled=filled, high=high)
        return unknown(said, detail=detail, evidence=found.evidence)
    turn = [view.value(name) for name in ("rotation_rpm", "track_switch", "track_bytes")]
    if not all(turn):
        said, bounds = say("measured"), (low, high)
        if view.is_disk:
            # The arm's way to the burst is that of any read: between none and twice the mean one.
            late_s = float(np.median([1 / m.iops for m in SENTINELS(view)]))
            late_bytes = buffer.drain_rate * late_s
            said = say("of_an_arm", late_bytes=late_bytes, late_s=late_s)
            filled, bounds = filled + late_bytes, (low, high + 2 * late_bytes)
        return _tested(
            known(filled, said, bounds=bounds, detail=detail, evidence=found.evidence), found
        )
    rpm, switch_s, track_bytes = (float(value or 0.0) for value in turn)
    half_turn_s, drain = 30 / rpm, buffer.drain_rate
    late_s = half_turn_s + _SWITCHES * switch_s
    # A step of so many bytes at the link's rate rises above the drain by its height.
    step_bytes = filled * buffer.scatter / (1 - drain / buffer.link_rate)
    if step_bytes > _TRACKS_MAX * track_bytes:
        return unknown(say("large_steps"), detail=detail)
    # The wait for the sector is anything between zero and one turn.
    either_s = half_turn_s + switch_s
    least = low + drain * (late_s - either_s)
    least = min(least, _filled_at_once(curve, buffer))
    switch = view.answer("track_switch")
    answer = known(
        filled + drain * late_s,
        say("of_a_disk", late_bytes=drain * late_s, late_s=late_s),
        bounds=(least, high + drain * (late_s + either_s)),
        detail=detail,
        evidence=[*found.evidence, *((switch and switch.evidence) or ())],
    )
    return _tested(answer, found)


def _filled_at_once(curve: Curve, buffer: Buffer) -> float:
    """The bytes that were accepted at the link's rate before the first wait, less what may have
    been written meanwhile. A disk that frees a whole run of its cache as it begins to write it has
    room for one run more from then on."""
    behind_s = curve.seconds - curve.count_bytes / buffer.link_rate
    waits = np.flatnonzero(behind_s > behind_s[0] + _WAIT_S)
    last = max(int(waits[0]) - 1, 0) if len(waits) else len(behind_s) - 1
    filled, at_s = float(curve.count_bytes[last]), float(curve.seconds[last])
    return filled - buffer.drain_rate * at_s


def _tested(answer: Answer, found: BufferShown) -> Answer:
    answer = answer.checked(Assumption.EVEN_DRAIN, True, found.evidence)
    if found.empty is None:
        return answer
    return answer.checked(
        Assumption.EMPTY_AT_FIRST, found.empty, found.evidence, covered=not found.empty
    )


def drain_rate(view: View) -> Answer:
    """Finds the drain rate: the rate at which a full buffer is written to the medium."""
    found = view.once(_found)
    if isinstance(found, Answer):
        return found
    short = view.once(_by_short)
    buffer = found.buffer if short is None else short.buffer
    evidence = found.evidence if short is None else short.evidence
    rate = buffer.drain_rate
    # Of a short round the other burst may show more.
    seen = buffer if buffer.round_bytes else found.buffer
    round_s = seen.round_bytes / seen.drain_rate
    detail = {
        "goodness": {"steps_over_size": buffer.scatter},
        "round_s": round_s,
        "longest_round_s": round_s * seen.longest_round,
    }
    answer = known(
        rate,
        say("measured"),
        bounds=_drain_bounds(buffer, found.buffer),
        detail=detail,
        evidence=evidence,
    )
    return answer.checked(Assumption.EVEN_DRAIN, True, evidence)


def _drain_bounds(short: Buffer, found: Buffer) -> tuple[float, float]:
    """The bounds of the rate by the short burst. Where its line shows another size than the one
    that was found, something that only one of the bursts met, such as erasures, is in its rate; the
    other's is in the bounds then, unless it is so far off that it is the rate of another medium."""
    low, high = about(short.drain_rate, short.drain_margin)
    apart = abs(short.drain_rate - found.drain_rate)
    if not _apart(short, found) or apart > _SAME_RATE * max(short.drain_rate, found.drain_rate):
        return low, high
    other_low, other_high = about(found.drain_rate, found.drain_margin)
    return min(low, other_low), max(high, other_high)


def rounds_s(view: View) -> tuple[float, float]:
    """The mean and the longest time between the steps in which a full buffer accepts a burst; zero
    where no steps show."""
    drain = view.answer("write_drain_rate")
    detail = {} if drain is None else drain.detail
    return float(detail.get("round_s", 0.0)), float(detail.get("longest_round_s", 0.0))
