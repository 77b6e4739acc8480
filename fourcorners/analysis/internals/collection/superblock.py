"""Finding ``superblock_bytes``: what is erased at a time, from reads beside sequential writes.

A drive whose data was trimmed has only blocks without valid data. Writing it in sequence then costs
an erasure, and nothing else, once for as many bytes as are erased at a time; a read that meets one
waits for its end, however much of it a write buffer or the link hides from the writes. The bytes
that were written from one such wait to the next are the unit, all blocks that fill up together, and
all that are reclaimed at a stretch, counted as one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from fourcorners.analysis.internals.answer import Answer, about, known, unknown
from fourcorners.analysis.internals.collection.parts import TEST
from fourcorners.analysis.internals.thresholds import FALSE_ALARM
from fourcorners.analysis.internals.view import View, ids, pick
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.recording import IoLog
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say

BESIDE = pick(TEST, "read", stage="beside")
"""Reads beside sequential writes to a trimmed drive."""

EVENTS_MIN = 8
"""Waits seen, from which their distance is one: fewer may be every other erasure by chance."""

_USUAL_QUANTILE = 0.95
"""Of the reads, that do not wait for an erasure: fewer than one in twenty meets one."""

_LONGER_MIN = 1.15
"""Length of a wait for an erasure, in times of what 95 % of the reads stay below."""

_LEVELS = 8
"""Levels of waits that are tried, from what is usual to the longest."""

_BEGUN_SHARES = (0.0, 0.25)
"""Of what is written, that are left out: blocks that were begun before may end at other times."""

_WAITS_MAX = 2000
"""More waits than these are no erasures, but what most reads meet."""

_PERIODS_MAX = 2000
"""Most erasures that are told apart."""

_PERIODS_MIN = 2
"""Fewest that are tried. Of a period of which fewer than :data:`EVENTS_MIN` were seen nothing is
said, but a part of it must not pass for one either."""

_PER_PERIOD = 16
"""Frequencies tried between one that fits another erasure into what was written, and the next."""

_HARMONICS = (1, 4)
"""The fundamental alone, and with what makes waits sharp: more add noise where they are few."""

_LOOKS = _LEVELS * len(_HARMONICS)
"""Times that a period is looked for in waits that are not the same ones."""

_CELLS = 2**15
"""Of what was written, for the transform: many to the shortest period."""

_COHERENCE_MIN, _FOUND_MIN = 0.8, 0.75
"""Least coherence of the best period, and of the one that is found, as half a period has more where
waits come in between. Waits that are not whole periods apart may be no chance either: they are of
two kinds. Without these limits ``arena explain --drives 105 --seed 1618033`` gives seven more
sizes, five of them wrong."""

_ERASE_MAX_S = 0.02
"""Longest wait for an erasure, of two blocks of 10 ms; longer ones are for data to be moved."""

_MET_MIN = 0.5
"""Share of the erasures that some read has to have met: a few waits fit a part of a period too."""

_CLEAR_SHARE = 0.9
"""Coherence over the highest one, from which a level shows the period as clearly."""

_CLEAR_SURE_SHARE = 0.5
"""Sureness over the highest one, from which the sharpest is taken."""

_ALIKE = 0.9
"""Periods over the longest one, from which they are the same."""

_FIRST_SHARE = 0.8
"""Coherence over the highest one, from which the longest period is it: its parts fit as well."""


@dataclass(frozen=True)
class Cycle:
    """Erasures at equal distances."""

    unit_bytes: float
    margin_bytes: float
    wait_s: float
    """Median of the waits."""
    events: float
    """Erasures in what was written."""
    coherence: float
    """Mean cosine of the phases by which waits of one place are apart: 0 by chance, 1 where all are
    whole periods apart."""
    sureness: float
    """Minus the logarithm of the chance of as much coherence, at this or a longer period, without
    one."""


@dataclass(frozen=True)
class Waits:
    """Reads beside writes in the order of issue; all arrays have shape (reads,)."""

    place: npt.NDArray[np.int64]
    at_bytes: Floats
    """What was written when it was issued."""
    seconds: Floats
    pace_bytes_per_second: float
    """Of the writes, in the mean."""

    def chosen(self, which: npt.NDArray[np.bool_]) -> Waits:
        """Some of them."""
        return replace(
            self,
            place=self.place[which],
            at_bytes=self.at_bytes[which],
            seconds=self.seconds[which],
        )


def erase_cycle(reads: Waits) -> Cycle | None:
    """The distance of the longest waits.

    Dies may come to the end of their blocks at different times, but a place stays on its die: its
    waits are whole periods apart.

    Returns:
        The period of the waits beyond the level that shows it best; ``None`` where none does.
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
    # Waits for something else beside, at lower levels, are no reason to doubt the clear ones.
    clearest = max(cycle.coherence for cycle in cycles)
    clear = [cycle for cycle in cycles if cycle.coherence >= _CLEAR_SHARE * clearest]
    # Programs of all dies in step, which are more often, may look like erasures.
    longest_unit = max(cycle.unit_bytes for cycle in clear)
    alike = [cycle for cycle in clear if cycle.unit_bytes > _ALIKE * longest_unit]
    surest = max(cycle.sureness for cycle in alike)
    sure = [cycle for cycle in alike if cycle.sureness >= _CLEAR_SURE_SHARE * surest]
    best = min(sure, key=lambda cycle: cycle.margin_bytes / cycle.unit_bytes)
    # Of a few periods what looks like one may be a part of one.
    return best if best.events >= EVENTS_MIN else None


def _above(reads: Waits, level_s: float, after_bytes: float) -> list[Cycle]:
    """The periods of the waits beyond a level, after so much was written."""
    waits = reads.chosen((reads.seconds > level_s) & (reads.at_bytes >= after_bytes))
    waits = replace(waits, at_bytes=waits.at_bytes - after_bytes)
    written = float(reads.at_bytes[-1]) - after_bytes
    # Where all dies are at the end of their blocks at the same time all places are one.
    together = replace(waits, place=np.zeros_like(waits.place))
    cycles = [*_periods(waits, written), *_periods(together, written)]
    # All that was written tells more of long ones.
    return [cycle for cycle in cycles if not after_bytes or cycle.events >= EVENTS_MIN]


def _periods(waits: Waits, written: float) -> list[Cycle]:
    """What the fundamental says, and what it says with its next harmonics: the more of them are
    coherent, the sharper the waits come, so that few are enough."""
    if not EVENTS_MIN <= len(waits.seconds) <= _WAITS_MAX:
        return []
    count = _PER_PERIOD * _PERIODS_MAX
    # Oscillations in what was written, not in time.
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
    # Sums of exponential variables, nearly a gamma distribution; as many were tried as are lower.
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
    # Bounds, so twice what chance alone leaves open in one case of ten.
    error = two_sided_t(len(numbers) - 1) * math.sqrt(float(np.mean(off**2)) / spread)
    # A wait does not say where in it the erasure began.
    resolution = waits.pace_bytes_per_second * wait_s / float(np.ptp(numbers))
    return Cycle(
        unit,
        2 * error + resolution,
        wait_s,
        written / unit,
        float(coherence[top]),
        sureness,
    )


def _spectrum(waits: Waits, written: float, count: int) -> tuple[Floats, Floats]:
    """:func:`_powers` of as many multiples of the lowest frequency, and the numbers of waits of
    the places with two or more, shape (places,)."""
    powers = np.zeros(count)
    counts = []
    for at_bytes in _by_place(waits):
        cells, _ = np.histogram(at_bytes, _CELLS, (0.0, written))
        powers += np.abs(np.fft.rfft(cells, _PER_PERIOD * _CELLS)[:count]) ** 2
        counts.append(len(at_bytes))
    return powers, np.array(counts, dtype=np.float64)


def _powers(waits: Waits, frequencies: Floats) -> Floats:
    """For each frequency the squared length of the sum of the waits' phases, added up over places,
    shape (frequencies,)."""
    powers = np.zeros(len(frequencies))
    for at_bytes in _by_place(waits):
        powers += np.abs(np.exp(2j * np.pi * frequencies[:, None] * at_bytes).sum(axis=1)) ** 2
    return powers


def _by_place(waits: Waits) -> list[Floats]:
    """What was written at the waits of each place with two or more."""
    at_bytes = [waits.at_bytes[waits.place == place] for place in np.unique(waits.place)]
    return [one for one in at_bytes if len(one) > 1]


def _about(waits: Waits, unit: float) -> tuple[Floats, Floats]:
    """Distances of the waits from where their place's erasures should be, in bytes, and the
    numbers of these, of places with two waits or more."""
    off, numbers = [np.empty(0)], [np.empty(0)]
    for at_bytes in _by_place(waits):
        turns = at_bytes / unit
        phase = float(np.angle(np.exp(2j * np.pi * turns).mean())) / (2 * np.pi)
        number = np.round(turns - phase)
        off.append((turns - phase - number) * unit)
        numbers.append(number)
    return np.concatenate(off), np.concatenate(numbers)


def reads_beside(log: IoLog) -> Waits:
    """The reads that were issued before the last write was complete."""
    writes = log.operation == "write"
    # In sequence: the log may hold a part of them only, drawn at random.
    ends = log.offset_bytes[writes] + log.bytes[writes]
    at, written = log.completed_ns[writes], np.maximum.accumulate(ends) - ends[:1]
    beside = (log.operation == "read") & (log.submitted_ns < at[-1:].max(initial=0))
    log = log.chosen(beside).chosen(np.argsort(log.submitted_ns[beside], kind="stable"))
    if not len(at):
        return Waits(log.offset_bytes[:0], np.empty(0), np.empty(0), 0.0)
    return Waits(
        log.offset_bytes,
        np.interp(log.submitted_ns, at, written),
        np.asarray((log.completed_ns - log.submitted_ns) * 1e-9, dtype=np.float64),
        float(written[-1]) / max(float(at[-1]) * 1e-9, 1e-9),
    )


def waits(view: View) -> Waits | None:
    """Of the reads beside sequential writes; ``None`` where there were none."""
    points = BESIDE(view)
    log = points[0].of.log if points else None
    return None if log is None else reads_beside(log)


def cycle(view: View) -> Cycle | None:
    """What the reads beside sequential writes show of erasures."""
    beside = view.once(waits)
    return None if beside is None else erase_cycle(beside)


def superblock(view: View) -> Answer:
    """What is erased at a time; where erasures hide, the distance of stalls says what is reclaimed
    at a time."""
    beside, found = BESIDE(view), view.once(cycle)
    spacing = view.answer("collection_stall_spacing")
    if found is None and spacing is not None and spacing.value and spacing.interval:
        return known(
            spacing.value,
            say("by_stalls"),
            bounds=spacing.interval,
            detail=spacing.detail,
            evidence=spacing.evidence,
        )
    if not beside:
        return unknown(say("not_written"), evidence=())
    if found is None:
        return unknown(say("no_cycle"), evidence=ids(beside))
    return known(
        found.unit_bytes,
        say("measured"),
        bounds=about(found.unit_bytes, found.margin_bytes),
        detail={
            "wait_s": found.wait_s,
            "events": found.events,
            "goodness": {"coherence": found.coherence},
        },
        evidence=ids(beside),
    )
