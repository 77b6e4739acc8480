"""Findings ``erase_time`` and ``pages_per_block``, from reads that met erasures.

A read that meets an erasure waits for its end. ``superblock_bytes`` finds these waits by their
equal distances. A wait is as long as the erasure, less the time from its beginning to the read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.collection import lost_time
from fourcorners.analysis.internals.collection.goes import goes
from fourcorners.analysis.internals.collection.parts import FILL, LAID
from fourcorners.analysis.internals.collection.reads_beside import BESIDE, Waits, waits
from fourcorners.analysis.internals.collection.superblock import cycle
from fourcorners.analysis.internals.nand.programs import Programs, programs, turn_bytes, turn_s
from fourcorners.analysis.internals.nand.read_cost import read_cost
from fourcorners.analysis.internals.thresholds import UNSURE
from fourcorners.analysis.internals.view import View, ids
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say

_BELOW = 0.8
"""Waits of this share of the shortest of those are looked at too: it is one of the shortest of many
levels that show the same."""

_OTHERS_LONG = 0.2
"""Other waits of at least this share of an erasure are taken for waits for programs."""

_ONE_PROGRAM = 1.25
"""Up to this many times a forced write, or the time of a turn, a wait is for one program: with its
transfer, and one more read."""

_OTHERS = 0.1
"""The share of waits that also wait for something else, such as a program that comes next."""

_FAR, _LONGER_MIN = 2.5, 4
"""Waits so many spreads beyond the interval are longer than the erasure. If more of them are than
may be anything, reads may have come late in step, and the longer waits be the erasure's."""

_SHARP_MIN = 0.1
"""If fewer of the waits than this are within the tolerance of the fit, they do not end sharply,
and their median may be the erasure as well: how late reads came is then not told from how far
erasures scatter. The interval reaches down to the median; the likeliest time stays what it is, as
reads do come late."""

_A_PROGRAM = 0.2
"""Waits that are longer by a program, within this share of it, are for the program that comes
next."""

_SPREADS = np.geomspace(0.003, 0.25, 9)
"""Standard deviations of erasures over their mean that are tried."""

_GAPS = np.geomspace(0.003, 1.0, 9)
"""Mean times from the beginning of an erasure to the read, over the erasure, that are tried."""

_TIMES = 161
"""So many times of an erasure are tried, from the median of the waits on."""

_LESS = 3.0
"""The interval has the times whose log-likelihood is lower by at most this. Of independent waits it
would be 1.35 (Wilks), but several reads meet the same erasure, and how much of a spread is the
erasures' and how much the reads' is hardly known: with 1.35 as few as 57 % of the intervals of made
waits held the truth where erasures scatter by 12 %."""

_WAITS_MIN = 12
"""So many waits for the three parameters: four of each."""

_WIDE = 0.1
"""Where few reads come near the beginning of an erasure, all times within this share or more of the
likeliest are about as likely. What writes lose then says which, if it is one of these times."""

_TOLERANCE = 0.01
"""The tolerance of a time: the first waits are of blocks that were begun before."""

_AGAIN = 0.7
"""A place that waits twice in a row, at least this share of an erasure each time, met two."""

_AGAIN_SHARE = 0.03
"""Up to this share of the waits may seem such by chance."""

_SHARP_WAITS, _TOP, _TOP_MIN, _TOP_MAX, _LESS_MAX = 40, 0.1, 0.05, 0.5, 0.25
"""The waits of reads that come at any time of an erasure, and wait for nothing else, are as
frequent at its full length as at any other. At least half as many are to be in the last tenth, and
so many waits must show it. If most are there, the reads are in step with the erasures. Then those
that waited less, and for more than a program, may have met an erasure alone, if they are more than
a few."""

_COHERENCE_MIN = 0.9
"""From this coherence on all waits of a place are whole periods apart. Planes that erase by
themselves, one after the other, have less, and their period is a part of what one block takes."""

BLOCK_PAGES = 16
"""Blocks of NAND have a multiple of so many pages (data sheets of 2006 to 2022)."""


@dataclass(frozen=True)
class EraseFit:
    """The time of an erasure, its 90 % interval, the number of waits that show it, and whether they
    end sharply at that time."""

    seconds: float
    interval_s: tuple[float, float]
    count: int
    sharp: bool = True


def fit_erase(waited_s: Floats, level_s: float, program_s: float = 0.0) -> EraseFit | None:
    """Fits the time of an erasure to waits by maximum likelihood.

    A wait is an erasure, normally distributed, less an exponential time until the read came; only
    waits beyond ``level_s`` are looked at, and a share of them is anywhere.

    Args:
        waited_s: seconds with shape (waits,).
        level_s: the least wait that is looked at.
        program_s: a program, which some reads may wait for besides.
    """
    w = waited_s[waited_s > level_s]
    if len(w) < _WAITS_MIN:
        return None
    top = float(w.max())
    middle = float(np.median(w))
    times = np.linspace(max(0.95 * middle, level_s), 1.1 * min(top, 2 * middle), _TIMES)
    other = _OTHERS / (1.05 * top - level_s)
    best, spreads = np.full(_TIMES, -np.inf), np.zeros(_TIMES)
    for spread in _SPREADS:
        for gap in _GAPS:
            s, g = spread * times, gap * times
            dense = _density(w[:, None], times, s, g) / _beyond(level_s, times, s, g)
            whole = np.log((1 - _OTHERS) * dense + other).sum(axis=0)
            spreads = np.where(whole > best, spread, spreads)
            best = np.maximum(best, whole)
    top_at = int(np.argmax(best))
    within = times[best >= best[top_at] - _LESS]
    step = times[1] - times[0]
    low, high = float(within[0] - step), float(within[-1] + step)
    longer = w[w > (1 + _FAR * spreads[top_at]) * high]
    if len(longer) > max(_OTHERS * len(w), _LONGER_MIN):
        far = float(np.median(longer))
        if abs(far - times[top_at] - program_s) > _A_PROGRAM * program_s:
            return EraseFit((low + far) / 2, (low, far), len(w))
    near = np.abs(w / times[top_at] - 1) <= _TOLERANCE
    sharp = near.mean() >= _SHARP_MIN or middle >= low
    return EraseFit(float(times[top_at]), (low if sharp else middle, high), len(w), sharp)


def _density(w: Floats, t: Floats, s: Floats, g: Floats) -> Floats:
    """The density of a normal time less an exponential one."""
    x = (t - w) / g
    log = s**2 / (2 * g**2) - x + scipy.special.log_ndtr((t - w) / s - s / g)
    return np.asarray(np.exp(np.minimum(log, 50.0)) / g, dtype=np.float64)


def _beyond(level: float, t: Floats, s: Floats, g: Floats) -> Floats:
    """The probability of more than the level."""
    log = s**2 / (2 * g**2) - (t - level) / g + scipy.special.log_ndtr((t - level) / s - s / g)
    rest = scipy.special.ndtr((t - level) / s) - np.exp(np.minimum(log, 0.0))
    return np.asarray(np.maximum(rest, 1e-6), dtype=np.float64)


def erase(view: View) -> Answer | None:
    """Finds the time of an erasure."""
    beside, cost = view.once(waits), view.once(read_cost)
    if beside is None or cost is None:
        return None
    evidence = ids(BESIDE(view))
    found = view.once(cycle)
    if found is None:
        return unknown(say("no_waits"), evidence=evidence)
    if view.value("log_blocks"):
        return unknown(say("merges"), evidence=evidence)
    waited, level = beside.seconds - cost.idle_s, found.level_s - cost.idle_s
    others = waited[(waited < level) & (waited > _OTHERS_LONG * level)]
    longest_other = float(np.quantile(others, 0.98)) if len(others) else 0.0
    if not _one_at_a_time(view, longest_other):
        said = say("in_turn", waited=longest_other)
        return unknown(said, detail={"waited_s": longest_other}, evidence=evidence)
    forced = view.once(programs)
    # What waits no longer than the slowest forced write takes may wait for a program.
    program_s = forced.kinds.seconds[-1] if isinstance(forced, Programs) else 0.0
    least = min(max(_BELOW * level, 1.1 * longest_other, program_s), 0.97 * level)
    fitted = fit_erase(waited, least, longest_other)
    if fitted is None:
        return unknown(say("few_waits"), evidence=evidence)
    low, high = fitted.interval_s
    # The drive may keep the reads in step, so that all of them come as late.
    low, high = (1 - _TOLERANCE) * low, (1 + _TOLERANCE) * high + cost.idle_s
    less = np.count_nonzero((waited > 1.1 * longest_other) & (waited <= least))
    shown = waited[waited > least]
    behind_programs = in_step(shown, int(less), least, fitted.seconds)
    if behind_programs or not (fitted.sharp and ends_sharply(shown, least, fitted.seconds)):
        # They may have waited for one program more.
        low = min(low, fitted.seconds - longest_other)
    detail: dict[str, Any] = {"waits": fitted.count, "longest_s": float(beside.seconds.max())}
    value, said = fitted.seconds, say("measured", waits=fitted.count)
    if apart := _a_program_less(waited[waited > 1.1 * longest_other], longest_other):
        low = min(low, (1 - _TOLERANCE) * apart)
    lost = view.once(lost_s)
    if lost is not None and less_a_program(value, longest_other, lost):
        low = min(low, (1 - _TOLERANCE) * fitted.interval_s[0] - longest_other)
        value -= longest_other
        said = say("less_a_program", waited=fitted.seconds, waits=fitted.count, lost=lost)
        evidence += [m.recording for m in (*FILL(view)[:1], *LAID(view))]
    elif lost is None or less_than_waits(value, longest_other, lost):
        # All reads may have waited for a program as well, and nothing tells.
        low = min(low, (1 - _TOLERANCE) * fitted.interval_s[0] - longest_other)
        behind_programs |= value - low > UNSURE * low
    elif high - low > 2 * _WIDE * value and low <= lost <= high:
        value, said = lost, say("lost", waits=fitted.count, low=low, high=high)
        evidence += [m.recording for m in (*FILL(view)[:1], *LAID(view))]
    if behind_programs or high - low > 2 * UNSURE * value:
        why = say("unsure", low=low, high=high) if low > 0 else say("no_least", high=high)
        return unknown(why, detail=detail, evidence=evidence)
    return known(value, said, interval=(low, high), detail=detail, evidence=evidence)


def lost_s(view: View) -> float | None:
    """What writes lose for what is erased at a time; ``None`` where that was not measured. If all
    dies wait for the erasure it is one, and more if they erase one after the other."""
    found = view.once(cycle)
    return None if found is None else view.once(lost_time.lost_s, found.unit_bytes)


def less_a_program(waited_s: float, program_s: float, lost_s: float) -> bool:
    """Whether writes lose as much time by an erasure as reads wait, less a program: drives may give
    a die the next program while it erases, and serve reads that come then after that."""
    return abs(lost_s - (waited_s - program_s)) < program_s / 2


def less_than_waits(waited_s: float, program_s: float, lost_s: float) -> bool:
    """Whether writes lose less time by an erasure than reads wait. A die that erases when it has
    carried out what it was given before loses the time of the erasure, and reads wait for both;
    something else may hide that from writes. They lose as much as reads wait or more where dies
    stop for erasures."""
    return lost_s < waited_s - program_s / 2


def in_step(waited: Floats, less: int, least_s: float, erase_s: float) -> bool:
    """Whether most reads that met an erasure may have waited for the same program before it, as
    others waited less, and for more than a program."""
    return _top_share(waited, least_s, erase_s) > _TOP_MAX and less > _LESS_MAX * len(waited)


def _a_program_less(waited_s: Floats, program_s: float) -> float | None:
    """The time that the shorter ones of two groups of waits took, if they are a program apart and
    none lies between: the longer ones may have waited for a program as well, or the shorter ones
    have come a program later. ``None`` for others."""
    w = np.sort(waited_s)
    if len(w) <= 2 * _LONGER_MIN:
        return None
    ends = int(np.argmax(np.diff(w))) + 1
    shorter, longer = float(np.median(w[:ends])), float(np.median(w[ends:]))
    groups = min(ends, len(w) - ends) > _LONGER_MIN and w[ends] - w[ends - 1] > program_s / 2
    a_program = abs(longer - shorter - program_s) <= _A_PROGRAM * program_s
    return shorter if groups and a_program else None


def ends_sharply(waited: Floats, least_s: float, erase_s: float) -> bool:
    """Whether waits are frequent up to the length of an erasure, and not beyond it."""
    return len(waited) >= _SHARP_WAITS and _top_share(waited, least_s, erase_s) >= _TOP_MIN


def _top_share(waited: Floats, least_s: float, erase_s: float) -> float:
    top = erase_s - _TOP * (erase_s - least_s)
    return float(np.count_nonzero(waited > top) / max(len(waited), 1))


def _one_at_a_time(view: View, waited_s: float) -> bool:
    """Whether reads wait for what a die does, and not for what it is to do next as well: those
    that do not meet an erasure wait for at most one program. A read that also waits for programs
    after the erasure would make it look longer."""
    found = view.once(programs)
    if isinstance(found, Programs):
        return waited_s <= _ONE_PROGRAM * found.kinds.seconds[-1]
    turn = view.once(turn_s)
    return turn is not None and waited_s <= _ONE_PROGRAM * turn


def pages(view: View) -> Answer | None:
    """Finds how many pages a block has: what is erased at a time, over what all dies take in one
    turn."""
    if view.once(waits) is None or view.once(read_cost) is None:
        return None
    evidence = ids(BESIDE(view))
    beside, found, cost = view.once(waits), view.once(cycle), view.once(read_cost)
    turn = view.once(turn_bytes)
    assert beside is not None
    assert cost is not None
    if found is None:
        return unknown(say("erase_time.no_waits"), evidence=evidence)
    if view.value("log_blocks"):
        return unknown(say("erase_time.merges"), evidence=evidence)
    if view.has("slc_cache_bytes"):
        return unknown(say("which_cells"), evidence=evidence)
    if turn is None:
        return unknown(say("no_turn"), evidence=evidence)
    go = goes(beside, found.level_s, found.unit_bytes)
    if several_at_a_time(beside, found.wait_s - cost.idle_s) or (go and go.several):
        return unknown(say("several"), evidence=evidence)
    if found.coherence < _COHERENCE_MIN:
        said = say("out_of_step", coherence=found.coherence)
        return unknown(said, evidence=evidence)
    count, margin = found.unit_bytes / turn, found.margin_bytes / turn
    low, high = count - margin, count + margin
    nearest = round(count / BLOCK_PAGES) * BLOCK_PAGES
    detail = {"turn_bytes": turn, "erased_bytes": found.unit_bytes, "count": count}
    if not low <= nearest <= high or high - low > BLOCK_PAGES / 2 or not nearest:
        said = say("no_whole_block", count=count)
        return unknown(said, detail=detail, evidence=evidence)
    planes, page, stripe = (view.value(n) for n in ("planes_per_die", "page_bytes", "stripe_bytes"))
    if planes != 1 or not page or not stripe:
        # Another plane may take the next turn, a turn may be several pages of one plane, and
        # planes may be erased together or each by itself.
        return unknown(say("which_planes", count=nearest), detail=detail, evidence=evidence)
    nearest = round(nearest * stripe / page)
    answer = known(nearest, say("measured", turn=turn), detail=detail, evidence=evidence)
    return answer.checked(Assumption.BLOCKS_IN_STEP, True, evidence)


def several_at_a_time(beside: Waits, erase_s: float) -> bool:
    """Whether dies erase several blocks in a row: a place then waits for an erasure again as soon
    as it is read again."""
    again = events = 0
    ends = np.cumsum(beside.seconds)
    long = beside.seconds > _AGAIN * erase_s
    for place in np.unique(beside.place):
        own = np.nonzero(beside.place == place)[0]
        waited = own[long[own]]
        events += len(waited)
        # One read after the other: the sum of all before is about the time.
        apart = np.diff(ends[waited])
        again += int((apart < 2.5 * erase_s).sum())
    return events == 0 or again > max(_AGAIN_SHARE * events, 1.0) or not math.isfinite(erase_s)
