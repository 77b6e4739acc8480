"""Findings ``command_queue_depth`` and, for disks, ``reordering``.

If reads conflict on dies, the queue depth shows in the reads that wait for a place in the queue
(see :mod:`fourcorners.analysis.internals.flash.interleaving`). Otherwise it shows in the rate of
random reads. This rate rises with the number of outstanding reads up to the queue depth, since a
disk chooses the nearest of more and more commands (Worthington, Ganger and Patt, SIGMETRICS 1994),
and then stays constant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import scipy

from fourcorners.analysis.internals.answer import Answer, known, unknown, yes_or_no
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.disk.mechanics import ARM_SHARED, AT_LEAST
from fourcorners.analysis.internals.flash import conflicting_reads
from fourcorners.analysis.internals.flash.interleaving import Seen
from fourcorners.analysis.internals.method import pace
from fourcorners.analysis.internals.thresholds import FALSE_ALARM, UNSURE
from fourcorners.analysis.internals.usual import usual_s
from fourcorners.analysis.internals.view import PointAxis, View, ids, moves_an_arm, pick
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured
from fourcorners.sentences import say

RANDOM = pick("probe-depth", "read", without=(PointAxis.SENTINEL, PointAxis.OF), pattern="random")
"""The random reads at increasing queue depths."""

_NO_MORE = 1.03
"""Below this factor flash gains nothing; its rates scatter little."""

_NO_MORE_DISK = 1.08
"""The same factor for disks, on which every access has a different seek."""

_SECOND = 1.5
"""Below this gain of a second outstanding read, the host's own part of a command explains it."""


_TWO_MAX = 2 * (1 + UNSURE)
"""Two outstanding reads are served at most twice as fast as one, give or take what a mean of random
seeks is unsure of. More is no matter of arms."""

_CHOICE_OF_TWO = 1.5
"""One arm that takes the nearer of two outstanding reads serves them at most so many times as fast:
the smaller of two times that are spread evenly from zero on is two thirds of their mean. It is less
where a part of each read does not depend on the place."""

_CHOSEN_MIN = 3
"""So many depths show what most of them gain, and how their rates scatter."""

_SLOTS = 1.1
"""Random reads are at most so many times as fast as reads of one place times the commands that the
drive accepts: rates that differ by less are those of one die (probe-conflicts)."""

_FULL = 2
"""From so many times the commands that a drive accepts on, and one more, its queue is always full:
the host and the link take less of a command's time than the flash."""

_HALF = 0.5
"""What is further from one whole number than this is nearer to another."""

_MEDIAN_SQUARE = 0.45494
"""The median of the squares of normal numbers, over their mean (chi-squared distribution)."""

_DEPTHS_MIN = 4
"""A curve needs so many depths: as many as its model has parameters, and one more."""


def rates(view: View) -> dict[int, float]:
    """The random reads per second by queue depth, ascending; empty where the probe did not run. A
    single read that hangs holds up all others only where no other is outstanding."""
    points = sorted(RANDOM(view), key=lambda m: m.queue_depth or 0)
    return {
        depth: 1 / usual_s(m) if depth == 1 else m.iops for m in points if (depth := m.queue_depth)
    }


def is_disk(by_depth: Mapping[int, float]) -> bool:
    """Whether one read at a time takes so long that an arm must move."""
    return 1 in by_depth and moves_an_arm(1 / by_depth[1])


def knee(by_depth: Mapping[int, float], no_more: float) -> int | None:
    """The smallest depth beyond which the rate gains nothing; ``None`` if the largest still
    gains."""
    depths = list(by_depth)
    for index, depth in enumerate(depths[:-1]):
        if all(by_depth[deeper] < no_more * by_depth[depth] for deeper in depths[index + 1 :]):
            return depth
    return None


def _is_flatter(by_depth: Mapping[int, float], depth: int) -> bool:
    """Whether all that follows this depth gains less than half as much as the step to it. An order
    that gains little ends at no such knee."""
    before = max((d for d in by_depth if d < depth), default=depth)
    deepest = max(rate for d, rate in by_depth.items() if d >= depth)
    here = by_depth[depth]
    return math.log(deepest / here) < math.log(here / by_depth[before]) / 2


def shows_its_end(by_depth: Mapping[int, float], depth: int) -> bool:
    """Whether each doubling of the queue gained more, in the mean, than a disk's rate may change
    without a gain: else a doubling that gains nothing may be chance, and the order go on. Of two
    outstanding reads one is under way, so that there is no choice before the second doubling."""
    first = 2 if 2 in by_depth and depth > 2 else 1
    gain = math.log(by_depth[depth] / by_depth[first])
    return gain > math.log(_NO_MORE_DISK) * math.log2(depth / first)


def _last_step(by_depth: Mapping[int, float], depth: int) -> tuple[int, bool]:
    """The depth before this one, and whether chance explains what all that follow gain on it.
    Beyond the end of the queue nothing changes with the depth: rates differ there by chance alone,
    which makes a step as large anywhere. The median step tells how much, since a read that hangs
    lowers a single rate by far."""
    before = max((d for d in by_depth if d < depth), default=depth)
    beyond = [rate for d, rate in by_depth.items() if d >= depth]
    square = float(np.median(np.diff(np.log(beyond)) ** 2)) / _MEDIAN_SQUARE
    return before, float(np.median(beyond)) < _by_chance(square, len(beyond)) * by_depth[before]


def asked(view: View) -> list[Measured]:
    """The reads that conflict on dies or, without them, random reads at increasing depths."""
    return conflicting_reads.windows(view) or RANDOM(view)


def enough(view: View) -> list[Measured]:
    """The random reads, if they have enough depths for a curve that begins at 1; otherwise none."""
    by_depth = view.once(rates)
    return RANDOM(view) if 1 in by_depth and len(by_depth) >= _DEPTHS_MIN else []


def queue_depth(view: View) -> Answer:
    """Finds how many commands the drive accepts at a time."""
    by_depth, seen = view.once(rates), view.once(conflicting_reads.seen)
    detail = {"queue_depth": list(by_depth), "iops": list(by_depth.values())}
    disk = is_disk(by_depth)
    # A read of a disk that comes out of a queue later may just have another way.
    if seen is not None and seen.beside and not disk:
        evidence = ids(conflicting_reads.points(view, "beside"))
        detail |= {"beside": list(seen.beside), "beside_iops": list(seen.beside.values())}
        depth = seen.queue_depth
        if depth is None:
            most = max(seen.beside)
            said = say("uneven", most=most) if seen.queue.slows else say("no_wait", most=most)
            said = say("shared") if seen.is_shared else said
            return unknown(said, detail=detail, evidence=evidence)
        gain = max(by_depth.values()) / by_depth[1] if 1 in by_depth else 0.0
        # One more command than the drive accepts can be on its way to or from the host.
        if gain > (1 + UNSURE) * (depth + 1):
            said = say("gains_more", depth=depth, gain=gain)
            return unknown(said, detail=detail, evidence=[*evidence, *ids(RANDOM(view))])
        if seen.window and max(by_depth.values(), default=0.0) > _SLOTS * depth * seen.one_die:
            # A place in the queue is taken at least as long as a die takes for the read.
            said = say("gains_more", depth=depth, gain=gain)
            return unknown(said, detail=detail, evidence=[*evidence, *ids(RANDOM(view))])
        beyond = [rate for d, rate in by_depth.items() if d >= _FULL * (depth + 1)]
        if beyond and max(beyond) > _NO_MORE * beyond[0]:
            said = say("gains_beyond", depth=depth, gain=max(beyond) / beyond[0])
            return unknown(said, detail=detail, evidence=[*evidence, *ids(RANDOM(view))])
        off = (seen.queue.end or 0.0) - depth
        goodness = {"off_a_whole_number": off}
        if abs(off) + _queue_end_error(view, seen) > _HALF:
            return unknown(say("pace", depth=depth), detail=detail, evidence=evidence)
        found = known(
            depth, say("waits"), detail=detail | {"goodness": goodness}, evidence=evidence
        )
        # The waits for a place show it; the gain only agrees with them.
        return found.checked(Assumption.QUEUE_ENDS_GAIN, None)
    evidence = ids(RANDOM(view))
    depth = knee(by_depth, _NO_MORE_DISK if disk else _NO_MORE)
    gain = max(by_depth.values()) / by_depth[1] if 1 in by_depth else 0.0
    shown = {**detail, "goodness": {"gain": gain}}
    # A disk that chooses among near places gains little, so that little is not nothing.
    if (depth == 1 and gain < _NO_MORE) or (depth == 2 and not disk and gain < _SECOND):
        return known(1, say("one"), detail=shown, evidence=evidence)
    if disk and by_depth.get(2, 0.0) > ARM_SHARED * by_depth[1]:
        # What serves several at a time ends the gain, where the queue would go on.
        return unknown(say("no_gain"), detail=shown, evidence=evidence)
    if disk and depth is not None and gain >= _NO_MORE_DISK**2 and _is_flatter(by_depth, depth):
        if knee(by_depth, _NO_MORE) != depth or not shows_its_end(by_depth, depth):
            # Too much for the scatter of most disks, and little for twice as many commands.
            said = say("gains_little_more", depth=depth)
            return unknown(said, detail=shown | {AT_LEAST: depth}, evidence=evidence)
        before, is_chance = _last_step(by_depth, depth)
        if is_chance:
            said = say("pace", depth=depth)
            return unknown(said, detail=shown | {AT_LEAST: before}, evidence=evidence)
        said = say("chooses", depth=depth, gain=by_depth[depth] / by_depth[1])
        return known(depth, said, detail=shown, evidence=evidence)
    return unknown(say("no_gain"), detail=detail, evidence=evidence)


def waits_for_others(view: View) -> bool:
    """Whether reads of one place wait for reads of another that are fewer than the drive accepts:
    it returns them in the order of submission, or they share something else."""
    said = queue_depth(view).said
    return said is not None and said.code == "gains_more"


def _queue_end_error(view: View, seen: Seen) -> float:
    """Half the 90 % interval of the depth at which the queue ends.

    That depth is n + 2 - x, where n is the least number of reads of the other place that makes the
    one read wait, and x = w r the reads of the other place while it waits for w seconds. 1 / w is
    the difference of two rates, that of both places and r. If each is off by a share s, x is off by
    sqrt(2) s x (1 + x).
    """
    _, waits = seen.queue.flat
    meanwhile = (waits or 0) + 2 - (seen.queue.end or 0.0)
    share = two_sided_t(math.inf) * view.once(pace.scatter)
    return math.sqrt(2) * share * meanwhile * (1 + meanwhile)


def reordering(view: View) -> Answer | None:
    """Finds whether the disk serves waiting reads in an order of its own; ``None`` for other
    drives.

    Of two outstanding reads one is being served: a disk has no choice, and gains only what the host
    and the firmware do meanwhile. What more of them gain is the order. A disk that looks for the
    next place in one direction gains little where all places are near each other. With more to
    choose from no order is slower, but for the deepest queues: firmware serves reads that waited
    for too long in the order of arrival. Where rates go up and down elsewhere as well, only what
    most depths gain counts, as the largest of several rates is large by chance; and only what
    exceeds that scatter.
    """
    by_depth = view.once(rates)
    if not is_disk(by_depth) or len(by_depth) < 2:
        return None
    pair = by_depth.get(2, by_depth[1]) / by_depth[1]
    without_choice = max(by_depth[1], by_depth.get(2, 0.0))
    gain = max(by_depth.values()) / without_choice
    deeper = [rate for depth, rate in by_depth.items() if depth > 2] or [without_choice]
    rises = all(_NO_MORE * after >= before for before, after in pairwise(deeper))
    chosen = _without_the_oldest_first(deeper)
    usual_gain = gain if rises else float(np.median(chosen)) / without_choice
    by_chance = 1.0 if rises else gain_by_chance(chosen)
    detail = {
        "gain": max(by_depth.values()) / by_depth[1],
        "queue_depth": list(by_depth),
        "iops": list(by_depth.values()),
        "gain_of_two": pair if 2 in by_depth else None,
        "goodness": {"gain_of_choice": usual_gain, "gain_by_chance": by_chance},
    }
    if pair > _TWO_MAX:
        return unknown(say("kept", gain=pair), detail=detail)
    if ARM_SHARED < pair <= _CHOICE_OF_TWO:
        return unknown(say("choice", gain=pair, most=_CHOICE_OF_TWO), detail=detail)
    if pair > ARM_SHARED:
        return unknown(say("units", gain=pair), detail=detail)
    if usual_gain >= max(_NO_MORE_DISK, by_chance):
        return yes_or_no(True, say("reorders"), detail=detail)
    if gain < _NO_MORE:
        in_order = yes_or_no(False, say("in_order"), detail=detail)
        return in_order.checked(Assumption.HOST_KEEPS_ORDER, None)
    return unknown(say("slightly"), detail=detail)


def _without_the_oldest_first(rates: Sequence[float]) -> Sequence[float]:
    """The rates without those of the deepest queues that fall from depth to depth, as where more
    and more reads are served because they waited for too long."""
    end = len(rates)
    while end > _CHOSEN_MIN and _NO_MORE_DISK * rates[end - 1] < rates[end - 2]:
        end -= 1
    return rates[:end]


def gain_by_chance(rates: Sequence[float]) -> float:
    """How many times as large as a rate the median of these rates may be by chance (with the chance
    of a false alarm that is :data:`~fourcorners.analysis.internals.thresholds.FALSE_ALARM`), if all
    of them are equal but for their scatter: what one differs from the next has twice the variance
    of a rate, and the median of n normal numbers pi / 2n of it.

    Args:
        rates: at increasing queue depths, so that what one gains on the next counts as scatter.
    """
    steps = np.diff(np.log(rates))
    if not len(steps):
        return 1.0
    return _by_chance(float(np.mean(steps**2)), len(rates))


def _by_chance(square: float, count: int) -> float:
    """The same for so many rates, from the mean square of the logarithm of a step."""
    deviation = math.sqrt(square / 2 * (1 + math.pi / 2 / count))
    return math.exp(float(scipy.stats.norm.isf(FALSE_ALARM)) * deviation)
