"""The numbers of the periods of the erasures in which places waited, and what they show.

Reads at random places meet an erasure of their die or miss it by chance. Other patterns of the
periods that were met speak against the period.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import scipy

from fourcorners.analysis.internals.collection.reads_beside import Waits
from fourcorners.analysis.internals.thresholds import FALSE_ALARM
from fourcorners.recording.arrays import Floats

_TURNS = 4
"""The planes of a die that erase by themselves take turns by quarters of a block or by halves or
thirds of it."""

MULTIPLES_MAX = 3 * _TURNS
"""Up to so many periods of the waits may be one of a block: three of a place, by quarters."""

_SKIPPED_MAX = 0.1
"""Slots that are skipped have up to this share of the waits that they would have by chance: reads
may wait there for something else."""

_TESTED_MIN = 5
"""Kruskal and Wallis's statistic is distributed as chi squared from so many values of each group on
(Kruskal and Wallis, J. Am. Stat. Assoc. 1952)."""


def numbers_met(at_bytes: Floats, unit_bytes: float) -> npt.NDArray[np.int64]:
    """The numbers of the periods in which a place waited. Several waits may be for one erasure."""
    turns = at_bytes / unit_bytes
    phase = float(np.angle(np.exp(2j * np.pi * turns).mean())) / (2 * np.pi)
    return np.unique(np.round(turns - phase).astype(np.int64))


def by_phase(at_bytes: Floats, unit_bytes: float, one_bytes: float) -> list[Floats]:
    """The waits of a place, apart by where in the period they come: two that are further apart than
    ``one_bytes``, with none in between, are for erasures of different planes."""
    phases = at_bytes % unit_bytes
    order = np.argsort(phases)
    gaps = np.diff(phases[order], append=phases[order[0]] + unit_bytes)
    # The period begins after a gap, so that none of the groups goes on over its end.
    begin = int(np.argmax(gaps)) + 1
    order, gaps = np.roll(order, -begin), np.roll(gaps, -begin)
    return np.split(at_bytes[order], np.flatnonzero(gaps[:-1] > one_bytes) + 1)


def waits_apart(reads: Waits, level_s: float, unit_bytes: float) -> float:
    """The share of the erasures that a place waited for at which it waited, was then read without
    a wait, and waited again. One erasure makes it wait once, or in several reads one after the
    other; where many blocks of one die are erased in a period, it waits again and again."""
    long = reads.seconds > level_s
    met = apart = 0
    for place in np.unique(reads.place[long]):
        own = reads.place == place
        at_bytes, waited = reads.at_bytes[own], long[own]
        turns = at_bytes / unit_bytes
        phase = float(np.angle(np.exp(2j * np.pi * turns[waited]).mean())) / (2 * np.pi)
        numbers = np.round(turns - phase).astype(np.int64)
        for number in np.unique(numbers[waited]):
            here = np.flatnonzero(waited & (numbers == number))
            met += 1
            apart += not waited[here[0] : here[-1] + 1].all()
    return apart / max(met, 1)


def of_planes(reads: Waits, level_s: float, unit_bytes: float) -> list[npt.NDArray[np.int64]]:
    """The numbers of the periods that each plane of a place was met in, told apart by where in the
    period the reads waited for longer than the level. One erasure holds up reads that were issued
    at most the longest wait apart."""
    one_bytes = reads.pace_bytes_per_second * float(reads.seconds.max())
    return [
        numbers_met(at_bytes, unit_bytes)
        for place in reads.chosen(reads.seconds > level_s).by_place()
        for at_bytes in by_phase(place, unit_bytes, one_bytes)
    ]


def sure_of_few(of_planes: list[npt.NDArray[np.int64]]) -> bool:
    """Whether places met so many of a few erasures that their distance is no multiple of that of
    the blocks, beyond chance, and no part of it either."""
    return chance_of_others(of_planes) < FALSE_ALARM and not may_be_of_more(of_planes)


def chance_of_others(of_planes: list[npt.NDArray[np.int64]]) -> float:
    """The chance that reads met only every second, third or further one of the erasures, so that
    the distance of those looks like that of all.

    Reads come at random: after the first erasure that a plane was met in, each further one is among
    the n-th with the chance 1/n. Summed over all n from 2 on, that is the zeta function less one.
    """
    further = sum(len(numbers) - 1 for numbers in of_planes if len(numbers))
    return 1.0 if further < 2 else float(scipy.special.zetac(further))


def may_be_of_more(of_planes: list[npt.NDArray[np.int64]]) -> bool:
    """Whether the erasures may be of several planes of a die that take turns, so that what one of
    them erases is a multiple of the distance: for some such multiple no plane was met in all parts
    of it."""
    return not all(
        any(len(np.unique(numbers % times)) == times for numbers in of_planes)
        for times in range(2, _TURNS + 1)
    )


def gain_of_parts(of_places: list[npt.NDArray[np.int64]], times: int) -> float:
    """What the log-likelihood gains if each place uses the parts of so many periods as it does, and
    not alike, less the Bayesian criterion's price of that; zero where fewer than half of the places
    skip a part, or where a divisor of the number explains the parts as well."""
    told = [numbers for numbers in of_places if len(numbers) >= 2 * times]
    counts = [np.bincount(numbers % times, minlength=times) for numbers in told]
    skip = sum(bool((c <= _SKIPPED_MAX * c.mean()).any()) for c in counts)
    if not told or 2 * skip < len(told):
        return 0.0
    for divisor in (n for n in range(1, times) if times % n == 0):
        folded = [np.resize(c.reshape(-1, divisor).mean(axis=0), times) for c in counts]
        gain = sum(
            float(np.sum(scipy.special.xlogy(c, c / np.maximum(f, 1e-9))))
            for c, f in zip(counts, folded, strict=True)
        )
        # Twice the gain is chi-squared where the parts of the divisor are all there is (Wilks).
        freedom = len(told) * (times - divisor)
        if scipy.stats.chi2.logsf(2 * gain, freedom) >= math.log(FALSE_ALARM / MULTIPLES_MAX):
            return 0.0
        if divisor == 1:
            alike = gain - freedom / 2 * math.log(sum(map(len, told)))
    return alike


def meet_the_same(of_planes: list[npt.NDArray[np.int64]]) -> bool:
    """Whether places met erasures in the same few parts of some multiple of the period, however few
    each of them met: what is erased at a time is then more than what is written from one to the
    next, as where dies reach the end of their blocks one after the other.

    Two erasures of a plane are in the same of n parts with the chance 1/n, and for any two pairs of
    them this is independent.
    """
    pairs = sum(len(numbers) * (len(numbers) - 1) / 2 for numbers in of_planes)
    limit = float(scipy.stats.norm.isf(FALSE_ALARM / MULTIPLES_MAX))
    for times in range(2, MULTIPLES_MAX + 1):
        counts = [np.bincount(numbers % times) for numbers in of_planes]
        same = sum(float(np.sum(c * (c - 1))) / 2 for c in counts)
        expected = pairs / times
        if same - expected > limit * math.sqrt(expected * (1 - 1 / times)) and expected >= 1:
            return True
    return False


def chance_of_gaps(gaps: npt.NDArray[np.int64]) -> float:
    """The chance of gaps of one, of two and of more that differ as much or more from a geometric
    distribution, by a likelihood-ratio test (Wilks)."""
    met = len(gaps) / float(gaps.sum())
    expected = len(gaps) * np.array([met, met * (1 - met), (1 - met) ** 2])
    seen = np.array([np.sum(gaps == 1), np.sum(gaps == 2), np.sum(gaps > 2)])
    gain = float(np.sum(scipy.special.xlogy(seen, seen / np.maximum(expected, 1e-9))))
    return float(scipy.stats.chi2.sf(2 * gain, 1))


def chance_of_turns(of_planes: list[Floats], unit_bytes: float) -> float:
    """The chance that waits which are all one period apart come as early or late in every second
    period, by Kruskal and Wallis's test of each place. Where planes of a die erase in turn, what
    is written from one to the next is nearly half of the period, but the halves differ.

    Args:
        of_planes: the bytes that had been written when each place waited.
        unit_bytes: the period.
    """
    statistic, freedom = 0.0, 0
    for at_bytes in of_planes:
        turns = at_bytes / unit_bytes
        phase = float(np.angle(np.exp(2j * np.pi * turns).mean())) / (2 * np.pi)
        # One erasure may hold up several reads: the first of them counts.
        numbers, first = np.unique(np.round(turns - phase), return_index=True)
        off = (turns - phase)[first] - numbers
        even, odd = off[numbers % 2 == 0], off[numbers % 2 == 1]
        if min(len(even), len(odd)) < _TESTED_MIN or not np.ptp(off):
            continue
        statistic += float(scipy.stats.kruskal(even, odd).statistic)
        freedom += 1
    return float(scipy.stats.chi2.sf(statistic, freedom)) if freedom else 1.0
