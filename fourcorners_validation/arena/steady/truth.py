"""The truth about a trace: its long run, its beginning, and the time that an oracle needs."""

from dataclasses import dataclass

import numpy as np

from fourcorners.recording.arrays import Floats
from fourcorners_validation.arena.steady.traces import Trace

TAIL = 0.4
"""Share of the bytes of a trace, at its end, that are its long run."""

TOLERANCE = 0.02
"""Error of the mean that the oracle may have."""

STEADY_WITHIN = 0.10
"""Distance from the long run within which the drive counts as steady: half of SNIA's range."""

# As many rounds as SNIA's window has.
ROUNDS_MIN = 5

COARSE = 0.25
"""Window, in capacities written, that separates the transient from a steady drive's drift."""


@dataclass(frozen=True)
class TraceTruth:
    """Times are from the start of the test."""

    value: float
    """Mean rate of the long run."""
    tail_change: float
    """Rate of the long run's second half over its first, less 1: how far it was still changing."""
    steady_from_s: float
    """From here on every window's mean is within :data:`STEADY_WITHIN` of the value."""
    oracle_s: float
    """When one who knows the value has seen it: from the end of the transient, beyond which the
    mean over :data:`COARSE` capacities stays as close to the value as in the long run, as long as
    the trace's noise and oscillation demand for 95 % of all means to be within
    :data:`TOLERANCE`."""
    window_s: int


def truth_of(trace: Trace) -> TraceTruth:
    """Finds the truth from the whole trace, with and without the host's noise."""
    seconds = len(trace.rate)
    written = np.cumsum(trace.written_bytes)
    tail = int(np.searchsorted(written, (1 - TAIL) * written[-1]))
    value = float(trace.rate[tail:].mean())
    tail_s_per_capacity = trace.capacity_bytes / float(trace.written_bytes[tail:].mean())
    middle = (tail + seconds) // 2
    change = float(trace.rate[middle:].mean() / trace.rate[tail:middle].mean()) - 1
    window = _window(trace.rate[tail:] / value, ROUNDS_MIN * trace.round_s)
    coarse = max(window, round(COARSE * tail_s_per_capacity))
    error = np.abs(_means(trace.rate, coarse) / value - 1)
    usual = max(1.5 * TOLERANCE, 1.3 * float(error[min(tail, len(error) - 1) :].max()))
    clean = np.abs(_means(trace.clean, window) / value - 1)
    usual_clean = float(clean[min(tail, len(clean) - 1) :].max())
    return TraceTruth(
        value=value,
        tail_change=change,
        steady_from_s=float(_last_beyond(clean, max(STEADY_WITHIN, usual_clean))),
        oracle_s=float(_last_beyond(error, usual) + window),
        window_s=window,
    )


def _window(tail: Floats, least: int) -> int:
    window = least
    while window < len(tail) // 4:
        if float(np.quantile(np.abs(_means(tail, window) - 1), 0.95)) <= TOLERANCE:
            break
        window = max(window + 1, round(window * 1.1))
    return window


def _means(values: Floats, window: int) -> Floats:
    sums = np.concatenate(([0.0], np.cumsum(values)))
    means: Floats = (sums[window:] - sums[:-window]) / window
    return means


def _last_beyond(error: Floats, limit: float) -> int:
    beyond = np.flatnonzero(error > limit)
    return int(beyond[-1]) + 1 if len(beyond) else 0
