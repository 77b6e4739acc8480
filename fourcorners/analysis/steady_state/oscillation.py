"""Periodic changes of a series."""

from dataclasses import dataclass

import numpy as np

from fourcorners.recording.arrays import Floats

PERIODS_MIN = 3.5
"""Periods that have to be seen: fewer may be chance."""

AMPLITUDE_MIN = 0.10
"""Half of the profile's range, as a share of the mean, from which it matters: what passes SNIA's
range of 20 % is no oscillation."""

_EXPLAINED_MIN = 0.5
"""Of the variance, from which the profile is the larger part of what happens."""

_PHASES = 8
"""Of a period: enough for a profile with one rise and one fall, and few enough that each is a mean
of several parts."""


@dataclass(frozen=True)
class Oscillation:
    """``period`` is in parts; ``amplitude`` half of the mean profile's range over the mean."""

    period: float
    amplitude: float


def find_oscillation(value: Floats) -> Oscillation | None:
    """The strongest period of a segment, where it explains most of what varies.

    Candidates are the peaks of the autocorrelation (Wiener-Khinchin, by FFT); the segment is then
    folded at each candidate's period.

    Args:
        value: shape (parts,).
    """
    parts = len(value)
    if parts < 16:
        return None
    line = np.polyval(np.polyfit(np.arange(parts), value, 1), np.arange(parts))
    rest = value - line
    power = np.abs(np.fft.rfft(rest, 2 * parts)) ** 2
    correlation = np.fft.irfft(power)[:parts] / np.arange(parts, 0, -1)
    if correlation[0] <= 0:
        return None
    correlation = correlation / correlation[0]
    last = int(parts / PERIODS_MIN)
    inner = correlation[1:-1]
    peaks = np.flatnonzero((inner > correlation[:-2]) & (inner >= correlation[2:])) + 1
    peaks = peaks[(peaks >= 3) & (peaks <= last) & (correlation[peaks] > 0.3)]
    best: tuple[float, Oscillation] | None = None
    for peak in peaks[:8]:
        for period in np.linspace(peak - 0.5, peak + 0.5, 11):
            explained, profile = _fold(rest, float(period))
            if best is None or explained > best[0]:
                amplitude = float(np.ptp(profile)) / 2 / float(value.mean())
                best = (explained, Oscillation(float(period), amplitude))
    if best is None or best[0] < _EXPLAINED_MIN or best[1].amplitude < AMPLITUDE_MIN:
        return None
    return best[1]


def _fold(rest: Floats, period: float) -> tuple[float, Floats]:
    """Share of the variance that the mean profile over a period explains, and that profile."""
    phases = max(2, min(_PHASES, int(period)))
    phase = (np.arange(len(rest)) / period % 1.0 * phases).astype(np.int64)
    phase = np.minimum(phase, phases - 1)
    count = np.maximum(np.bincount(phase, minlength=phases), 1)
    profile = np.bincount(phase, weights=rest, minlength=phases) / count
    total = float(np.sum(rest**2))
    return float(np.sum(profile**2 * count)) / total if total else 0.0, profile
