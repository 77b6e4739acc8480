"""Change points of a series."""

import math

import numpy as np

from fourcorners.recording.arrays import Floats

PARTS_MIN = 3
"""Shortest segment."""

SAME_LEVEL = 0.04
"""Neighbouring segments whose levels differ by less are one: at fine resolution even a steady
drive's rate wanders by a few percent."""

_NOISE_MIN = 0.003
"""Least standard deviation: a series may repeat the same value, and then has none of its own."""

_PENALTY = 4.0
"""Variances per change point, times log n: twice BIC's, as neighbours resemble each other, and the
variance is estimated."""


STEP_RATIO_MIN = 1.25
"""Rate before over rate after from which a change is a step: as a cliff's
(``analysis.consistency.CLIFF_RATIO_MIN``)."""

STEP_PARTS = 3
"""Parts of those rates: as few as a segment has, of which one may be half before and half after."""

STEP_SHARP = 2.0
"""Change over the changes in as many parts before and after it: a slow fall has them all alike."""


def change_points(value_log: Floats) -> list[int]:
    """First parts of all segments but the first, ascending.

    Piecewise constant mean, found by penalised least squares (PELT: Killick, Fearnhead & Eckley,
    J. Am. Stat. Assoc. 107, 2012) with ruptures (Truong, Oudre & Vayatis, Signal Processing 167,
    2020). The penalty is that of the Bayesian information criterion, with some reserve because
    neighbouring parts resemble each other.

    Args:
        value_log: shape (parts,), logarithm of the value.
    """
    parts = len(value_log)
    if parts < 2 * PARTS_MIN:
        return []
    # Loaded when first used: it brings scipy's optimizers with it.
    import ruptures

    search = ruptures.KernelCPD(kernel="linear", min_size=PARTS_MIN)
    penalty = change_penalty(value_log, _NOISE_MIN)
    found = search.fit_predict(value_log.reshape(-1, 1), pen=penalty)
    return [int(point) for point in found[:-1]]


def change_penalty(value_log: Floats, least_noise: float) -> float:
    """Squares that a further change of level has to explain; noise of less than ``least_noise`` is
    taken for that."""
    # The median of steps between neighbours does not see the changes themselves; 1.4826 makes it a
    # standard deviation, where the distribution is normal.
    steps = np.abs(np.diff(value_log))
    noise = max(1.4826 * float(np.median(steps)) / math.sqrt(2), least_noise)
    return _PENALTY * noise**2 * math.log(len(value_log))


def segment_starts(value_log: Floats) -> list[int]:
    """Where a last segment may begin, the latest first: from each of them to the next, the level
    changes by at least :data:`SAME_LEVEL`; the last is 0.

    Args:
        value_log: shape (parts,), logarithm of the value.
    """
    points = [0, *change_points(value_log)]
    starts = []
    end = len(value_log)
    first = points.pop()
    while points:
        before = points[-1]
        level = float(value_log[first:end].mean())
        if abs(float(value_log[before:first].mean()) - level) > SAME_LEVEL:
            starts.append(first)
            end = first
        first = points.pop()
    return [*starts, first]


def last_step(value_log: Floats, starts: list[int]) -> int:
    """The part with the last change that is a step, and not the place where a slow fall was cut:
    the parts next to it tell. 0 where there is none.

    Args:
        value_log: shape (parts,), logarithm of the value.
        starts: as :func:`segment_starts` has them.
    """

    def change(at: int) -> float:
        before, after = value_log[max(0, at - STEP_PARTS) : at], value_log[at : at + STEP_PARTS]
        if not 0 < at < len(value_log):
            return 0.0
        return abs(float(np.median(after)) - float(np.median(before)))

    for start in starts[:-1]:
        around = max(change(start - STEP_PARTS), change(start + STEP_PARTS))
        if change(start) > max(math.log(STEP_RATIO_MIN), STEP_SHARP * around):
            return start
    return 0
