"""Finding ``superblock_bytes``: the erase unit, from reads during sequential writes.

After all data was trimmed, no block of a drive holds valid data; after all of it was written in
sequence, the spare blocks hold none. Sequential writes then cost one erasure per erase unit and
nothing else. A read that meets an erasure waits for its end, even if a write buffer or the link
hides it from the writes. The bytes from one such wait to the next are the erase unit. Blocks that
fill up together, or are reclaimed without a break, count as one unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from fourcorners.analysis.internals.answer import Answer, about, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.collection.goes import goes
from fourcorners.analysis.internals.collection.in_time import comes_by_the_clock
from fourcorners.analysis.internals.collection.lost_time import lost_s
from fourcorners.analysis.internals.collection.parts import FILL, LAID
from fourcorners.analysis.internals.collection.periods_met import (
    MULTIPLES_MAX,
    chance_of_gaps,
    chance_of_turns,
    gain_of_parts,
    meet_the_same,
    numbers_met,
    of_planes,
    sure_of_few,
    waits_apart,
)
from fourcorners.analysis.internals.collection.reads_beside import BESIDE, Waits, waits
from fourcorners.analysis.internals.thresholds import FALSE_ALARM, UNSURE
from fourcorners.analysis.internals.view import View, ids
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say

BY_WAITS = "by_waits_bytes"
"""The key in a finding's detail for the bounds without what a write buffer may hold."""

EVENTS_MIN = 8
"""So many erasures are needed for a distance: with fewer, chance may show every other one only.
Fewer are enough where places met so many of them that this chance is known to be small."""

_USUAL_QUANTILE = 0.95
"""Up to this quantile reads do not wait for an erasure: fewer than one in twenty meets one."""

_LONGER_MIN = 1.15
"""The least length of a wait for an erasure, in times of that quantile."""

_LEVELS = 8
"""The number of levels of waits that are tried, from the usual one to the longest."""

_BEGUN_SHARES = (0.0, 0.25)
"""The shares of the written data that are left out at the start: blocks that were begun before may
end at other times."""

_ALWAYS_MAX = 0.5
"""Up to this share of the waits for another erasure may come with no read in between that does not
wait: a block is written before it is erased. Where every read waits, as for a rate to which a
volume or a link is held, the waits are at equal distances because reads and writes take turns."""

_WAITS_MAX = 2000
"""If there are more waits than this, they are not for erasures but common to most reads."""

_PERIODS_MAX = 2000
"""At most so many erasures can be distinguished."""

_PERIODS_MIN = 2
"""The fewest periods that are tried. A period with fewer than :data:`EVENTS_MIN` erasures is not
reported, but a fraction of it must not be reported either."""

_PER_PERIOD = 16
"""So many frequencies are tried between two that differ by one erasure in the written data."""

_HARMONICS = (1, 4)
"""The fundamental alone, and with the harmonics that sharp waits have. More of them add noise where
waits are few."""

_LOOKS = _LEVELS * len(_HARMONICS)
"""The number of times that a period is searched for in different waits."""

_CELLS = 2**15
"""The transform divides the written data into so many cells, many to the shortest period."""

_COHERENCE_MIN, _FOUND_MIN = 0.8, 0.75
"""Least coherence of the best period, and of the one that is found, as half a period has more where
waits come in between. Waits that are not whole periods apart may be no chance either: they are of
two kinds. Without these limits ``arena explain --drives 105 --seed 1618033`` gives seven more
sizes, five of them wrong."""

_ERASE_MAX_S = 0.02
"""The longest wait for erasures, of two blocks at 10 ms; longer waits are for moved data."""

_ERASE_MIN_S = 0.5e-3
"""No flash erases a block in less: the quickest NAND on sale takes 0.5 ms (data sheet of Micron's
MT29F2G08AAD, typical). If not even the longest read took that long, none waited for an erasure."""

_ERASE_SHARE_MAX = 0.4
"""The largest share of the time in which an erase unit is written that its erasure usually takes:
the smallest blocks have 64 pages of 0.2 ms, and 2 ms for the erasure; large ones that hold one bit
per cell 128 pages of 0.2 ms, and 10 to 15 ms. Programs of all dies in step take all of that."""

_MET_MIN = 0.5
"""Reads must have met so many of the erasures: a few waits fit a fraction of a period, too."""

_CLEAR_SHARE = 0.9
"""From this share of the highest coherence on, a level shows the period as clearly."""

_CLEAR_SURE_SHARE = 0.5
"""The period with the smallest margin is taken among those with at least this share of the highest
sureness."""

_ALIKE = 0.9
"""Periods of more than this share of the longest one are the same."""

_FIRST_SHARE = 0.8
"""The longest period with at least this share of the highest coherence is taken, because fractions
of the period fit as well."""

_APART_MAX = 1 / 3
"""Up to this share of the erasures that a place waits for, it may wait, not wait and wait again.
Planes of a die that erase by themselves make up to 26 % of them such on drives of known design, and
map pages that are written back, many blocks of them on one die, 53 % and more."""


@dataclass(frozen=True)
class Cycle:
    """Erasures at equal distances."""

    unit_bytes: float
    margin_bytes: float
    wait_s: float
    """The median of the waits."""
    events: float
    """The number of erasures in the written data."""
    coherence: float
    """The mean cosine of the phase differences between waits of one place: 0 by chance, 1 if all
    are whole periods apart."""
    level_s: float
    """The waits are longer than this."""
    sureness: float
    """Minus the logarithm of the chance that waits without a period have as much coherence at this
    or a longer period."""


def erase_cycle(reads: Waits) -> Cycle | None:
    """Finds the period of the longest waits.

    Dies may reach the end of their blocks at different times, but a place stays on its die.
    Therefore the waits of a place are whole periods apart.

    Returns the period of the waits beyond the level that shows it best; ``None`` where none does.
    """
    if not len(reads.seconds):
        return None
    usual = float(np.quantile(reads.seconds, _USUAL_QUANTILE))
    longest = float(reads.seconds.max())
    if longest <= _LONGER_MIN * usual:
        return None
    levels = np.geomspace(_LONGER_MIN * usual, 0.98 * longest, _LEVELS)
    cycles = [
        cycle
        for share in _BEGUN_SHARES
        for level in levels
        for cycle in _above(reads, level, share * float(reads.at_bytes[-1]))
    ]
    if not cycles:
        return None
    # Waits for something else, at lower levels, do not make the clear ones doubtful.
    clearest = max(cycle.coherence for cycle in cycles)
    clear = [cycle for cycle in cycles if cycle.coherence >= _CLEAR_SHARE * clearest]
    # Programs of all dies in step may look like erasures, but are more frequent.
    longest_unit = max(cycle.unit_bytes for cycle in clear)
    alike = [cycle for cycle in clear if cycle.unit_bytes > _ALIKE * longest_unit]
    surest = max(cycle.sureness for cycle in alike)
    sure = [cycle for cycle in alike if cycle.sureness >= _CLEAR_SURE_SHARE * surest]
    best = min(sure, key=lambda cycle: cycle.margin_bytes / cycle.unit_bytes)
    return _whole(reads, best)


def _whole(reads: Waits, found: Cycle) -> Cycle:
    """The shortest multiple of a period of which each place uses all parts alike.

    Planes of a die that are at other pages of their blocks make a place wait several times in the
    period of its blocks. If these times are multiples of a fraction of it, the fraction has the
    highest coherence, but each place waits in the same few of its parts, and never in the others.
    They may also be near a multiple only, as where planes take turns and collect by themselves: the
    planes of a place are then told apart by where in the period their waits come. One erasure holds
    up reads that were issued at most the longest wait apart.
    """
    written = float(reads.at_bytes[-1])
    met = of_planes(reads, found.level_s, found.unit_bytes)
    best, most = 1, 0.0
    for times in range(2, MULTIPLES_MAX + 1):
        if written / (times * found.unit_bytes) < _PERIODS_MIN:
            break
        gained = gain_of_parts(met, times)
        if gained > most:
            best, most = times, gained
    return replace(
        found,
        unit_bytes=best * found.unit_bytes,
        margin_bytes=best * found.margin_bytes,
        events=found.events / best,
    )


def _above(reads: Waits, level_s: float, after_bytes: float) -> list[Cycle]:
    """The periods of the waits beyond a level, from ``after_bytes`` of written data on."""
    which = (reads.seconds > level_s) & (reads.at_bytes >= after_bytes)
    waits = reads.chosen(which)
    waits = replace(waits, at_bytes=waits.at_bytes - after_bytes)
    written = float(reads.at_bytes[-1]) - after_bytes
    # If all dies reach the end of their blocks at the same time, all places count as one.
    together = replace(waits, place=np.zeros_like(waits.place))
    cycles = [
        cycle
        for cycle in (*_periods(waits, written), *_periods(together, written))
        if not _always(reads, which, cycle.unit_bytes)
    ]
    # Long periods are better found in all of the written data.
    return [cycle for cycle in cycles if not after_bytes or cycle.events >= EVENTS_MIN]


def _always(reads: Waits, waited: npt.NDArray[np.bool_], unit_bytes: float) -> bool:
    """Whether no read was free of a wait between most waits of a place that are not for the same
    erasure.

    Args:
        reads: all reads.
        waited: which of them waited, with shape (reads,).
        unit_bytes: what is written from erasure to erasure.
    """
    free = np.cumsum(~waited)
    none: list[npt.NDArray[np.bool_]] = []
    for place in np.unique(reads.place[waited]):
        own = np.flatnonzero(waited & (reads.place == place))
        another = np.diff(reads.at_bytes[own]) > unit_bytes / 2
        none.append(np.diff(free[own])[another] == 0)
    between = np.concatenate(none)
    return bool(len(between) and between.mean() > _ALWAYS_MAX)


def _periods(waits: Waits, written: float) -> list[Cycle]:
    """The period by the fundamental, and the one by the fundamental with its next harmonics. The
    more harmonics are coherent, the sharper are the waits, so that few waits are enough."""
    if not EVENTS_MIN <= len(waits.seconds) <= _WAITS_MAX:
        return []
    count = _PER_PERIOD * _PERIODS_MAX
    # The frequencies count oscillations over the written bytes, not over time.
    frequencies = np.arange(count) / (_PER_PERIOD * written)
    spectrum, counts = _spectrum(waits, written, _HARMONICS[-1] * count)
    if not len(counts):
        return []
    cycles = []
    for harmonics in _HARMONICS:
        powers = np.sum([spectrum[:: h + 1][:count] for h in range(harmonics)], axis=0)
        cycle = _period(waits, written, frequencies, powers, counts, harmonics)
        if cycle is not None:
            cycles.append(cycle)
    return cycles


def _period(
    waits: Waits,
    written: float,
    frequencies: Floats,
    powers: Floats,
    counts: Floats,
    harmonics: int,
) -> Cycle | None:
    total = float(counts.sum())
    coherence = (powers / harmonics - total) / float(np.sum(counts * (counts - 1)))
    lowest = _PER_PERIOD * _PERIODS_MIN
    best = float(coherence[lowest:].max())
    if best < _COHERENCE_MIN:
        return None
    top = lowest + int(np.argmax(coherence[lowest:] >= _FIRST_SHARE * best))
    while top + 1 < len(coherence) and coherence[top + 1] > coherence[top]:
        top += 1
    wait_s = float(np.median(waits.seconds))
    if coherence[top] < _FOUND_MIN or wait_s > _ERASE_MAX_S:
        return None
    # Under chance a power is a sum of exponential variables, nearly a gamma distribution. The
    # number of trials is the number of lower frequencies.
    scale = float(np.sum(counts**2)) / total
    shape = harmonics * total / scale
    sureness = -float(scipy.stats.gamma.logsf(float(powers[top]) / scale, shape))
    sureness -= math.log(top / _PER_PERIOD)
    if sureness < -math.log(FALSE_ALARM / _LOOKS):
        return None
    near = frequencies[top - 1 : top + 2]
    for _ in range(3):
        near = np.linspace(near[0], near[-1], 33)
        sharp = np.sum([_powers(waits, (h + 1) * near) for h in range(harmonics)], axis=0)
        index = int(np.argmax(sharp))
        near = near[max(index - 1, 0) : index + 2]
    unit = 1 / float(near[len(near) // 2])
    off, numbers = _about(waits, unit)
    spread = float(np.sum((numbers - numbers.mean()) ** 2))
    if spread == 0 or len(np.unique(numbers)) < _MET_MIN * written / unit:
        return None
    # These are bounds, so that they are twice as wide as the 90 % interval from chance alone.
    error = two_sided_t(len(numbers) - 1) * math.sqrt(float(np.mean(off**2)) / spread)
    # The erasure may have begun anywhere in the wait.
    resolution = waits.pace_bytes_per_second * wait_s / float(np.ptp(numbers))
    return Cycle(
        unit,
        2 * error + resolution,
        wait_s,
        written / unit,
        float(coherence[top]),
        float(waits.seconds.min()),
        sureness,
    )


def _spectrum(waits: Waits, written: float, count: int) -> tuple[Floats, Floats]:
    """Computes :func:`_powers` for ``count`` multiples of the lowest frequency, and the number of
    waits of each place with two or more, with shape (places,)."""
    powers = np.zeros(count)
    counts = []
    for at_bytes in waits.by_place():
        cells, _ = np.histogram(at_bytes, _CELLS, (0.0, written))
        powers += np.abs(np.fft.rfft(cells, _PER_PERIOD * _CELLS)[:count]) ** 2
        counts.append(len(at_bytes))
    return powers, np.array(counts, dtype=np.float64)


def _powers(waits: Waits, frequencies: Floats) -> Floats:
    """For each frequency, the squared length of the sum of the waits' phase vectors, added up over
    places, with shape (frequencies,)."""
    powers = np.zeros(len(frequencies))
    for at_bytes in waits.by_place():
        powers += np.abs(np.exp(2j * np.pi * frequencies[:, None] * at_bytes).sum(axis=1)) ** 2
    return powers


def _about(waits: Waits, unit: float) -> tuple[Floats, Floats]:
    """For places with two waits or more, the distance in bytes of each wait from the nearest
    expected erasure of its place, and the number of that erasure."""
    off, numbers = [np.empty(0)], [np.empty(0)]
    for at_bytes in waits.by_place():
        turns = at_bytes / unit
        phase = float(np.angle(np.exp(2j * np.pi * turns).mean())) / (2 * np.pi)
        number = np.round(turns - phase)
        off.append((turns - phase - number) * unit)
        numbers.append(number)
    return np.concatenate(off), np.concatenate(numbers)


def rare_cycle(view: View) -> Cycle | None:
    """The period of the longest waits of the reads during sequential writes, however rare they are:
    with few events, a fraction of the period may look like the period, but it is no smaller."""
    beside = view.once(waits)
    return None if beside is None else erase_cycle(beside)


def cycle(view: View) -> Cycle | None:
    """The period of the erasures, if there are enough of them, and each is one."""
    found, reads = view.once(rare_cycle), view.once(waits)
    if found is None or reads is None:
        return None
    met = of_planes(reads, found.level_s, found.unit_bytes)
    if found.events < EVENTS_MIN and not sure_of_few(met):
        return None
    against = (speaks_against(view) for speaks_against, _ in _AGAINST)
    return None if too_short(view) or any(against) else found


def too_short(view: View) -> bool:
    """Whether reads wait at equal distances, but not even the longest for as long as an erasure
    takes: a memory has no erasures, and writes may come in turns by themselves."""
    found, reads = view.once(rare_cycle), view.once(waits)
    if found is None or reads is None:
        return False
    return float(reads.seconds.max()) < _ERASE_MIN_S


def leaves_no_time(view: View) -> bool:
    """Whether the waits leave a drive that erases meanwhile no time to write: reads wait for
    programs of all dies then. The fill of an erased drive has these as well, but no erasures."""
    found, reads = view.once(rare_cycle), view.once(waits)
    if found is None or reads is None:
        return False
    sequential = [m.bytes_per_second for m in (*FILL(view), *LAID(view))]
    pace = max([reads.pace_bytes_per_second, *sequential])
    lost, long = view.once(lost_s, found.unit_bytes), found.wait_s
    erases = lost is not None and abs(lost - long) <= UNSURE * long
    return long * pace > _ERASE_SHARE_MAX * found.unit_bytes and not erases


def by_the_clock(view: View) -> bool:
    """Whether reads wait as long, and as often in the same time, when nothing is written."""
    found, reads = view.once(rare_cycle), view.once(waits)
    if found is None or reads is None:
        return False
    period_s = found.unit_bytes / reads.pace_bytes_per_second
    return comes_by_the_clock(view, found.level_s, period_s, found.wait_s, reads.seconds)


def several_in_a_period(view: View) -> bool:
    """Whether places often wait several times in a period."""
    found, reads = view.once(rare_cycle), view.once(waits)
    if found is None or reads is None:
        return False
    return waits_apart(reads, found.level_s, found.unit_bytes) > _APART_MAX


def missed_in_a_pattern(view: View) -> bool:
    """If every second wait comes late, or which periods have none is no chance. Reads at random
    places meet each erasure of all dies by chance: the periods from wait to wait are geometrically
    distributed. Other multiples, as of a drive that accepts writes in rounds, are not."""
    found, reads = view.once(rare_cycle), view.once(waits)
    if found is None or reads is None:
        return False
    long = reads.chosen(reads.seconds > found.level_s)
    if not len(at_bytes := long.at_bytes):
        return False
    if chance_of_turns(long.by_place(), found.unit_bytes) < FALSE_ALARM:
        return True
    turns = at_bytes / found.unit_bytes
    if float(np.abs(np.exp(2j * np.pi * turns).mean())) ** 2 < _FOUND_MIN:
        return False  # Dies erase one after the other: a place has few waits.
    gaps = np.diff(numbers_met(at_bytes, found.unit_bytes))
    return len(gaps) > 0 and chance_of_gaps(gaps) < FALSE_ALARM


def of_more(view: View) -> bool:
    """Whether places wait in the same few of several periods: blocks are as many times as large."""
    found, reads = view.once(rare_cycle), view.once(waits)
    if found is None or reads is None:
        return False
    return meet_the_same(of_planes(reads, found.level_s, found.unit_bytes))


def _held(view: View, found: Cycle) -> float:
    """By how much the bytes accepted from one erasure to the next may differ from those that reach
    the flash, in the mean: a write buffer may be full at one end of them and empty at the other."""
    return (view.value("write_buffer_bytes") or 0.0) / found.events


_AGAINST = (
    (leaves_no_time, "programs"),
    (several_in_a_period, "several"),
    (missed_in_a_pattern, "pattern"),
    (of_more, "of_more"),
    (by_the_clock, "clock"),
)
"""What speaks against erasures at equal distances, with the reason that is given."""


def superblock(view: View) -> Answer:
    """Finds the erase unit, or how much is reclaimed at a time by the distance of the stalls."""
    beside, found = BESIDE(view), view.once(cycle)
    spacing = view.answer("collection_stall_spacing")
    if view.once(too_short):
        return unknown(say("short", least=_ERASE_MIN_S), evidence=ids(beside))
    for speaks_against, code in _AGAINST:
        if view.once(speaks_against):
            return unknown(say(code), evidence=ids(beside))
    if found is None and spacing is not None and spacing.value and spacing.interval:
        detail, shown = spacing.detail, spacing.evidence
        by_stalls = known(
            spacing.value, say("by_stalls"), bounds=spacing.interval, detail=detail, evidence=shown
        )
        even = by_stalls.checked(Assumption.EQUAL_DISTANCES, True, spacing.evidence or ())
        return even.checked(Assumption.WAITS_ARE_ERASURES, None)
    if not beside:
        return unknown(say("not_written"), evidence=())
    reads = view.once(waits)
    if found is None or reads is None:
        rare = view.once(rare_cycle)
        said = say("few", every=rare.unit_bytes, waits=rare.events) if rare else say("no_cycle")
        return unknown(said, evidence=ids(beside))
    go = goes(reads, found.level_s, found.unit_bytes)
    answer = known(
        found.unit_bytes,
        say("in_a_go", most=go.most) if go and go.several else say("measured"),
        bounds=about(found.unit_bytes, found.margin_bytes + _held(view, found)),
        detail={
            "wait_s": found.wait_s,
            "events": found.events,
            BY_WAITS: about(found.unit_bytes, found.margin_bytes),
            "goodness": {"coherence": found.coherence},
        },
        evidence=ids(beside),
    )
    if go and go.several is not None:
        # What is erased in one go is told as such.
        holds = None if go.several else True
        answer = answer.checked(Assumption.ONE_ERASED_AT_A_TIME, holds, ids(beside))
    # Coherent waits of a place are whole periods apart.
    return answer.checked(Assumption.EQUAL_DISTANCES, True, ids(beside))
