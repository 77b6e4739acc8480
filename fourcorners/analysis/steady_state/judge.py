"""The judge: is a drive in its steady state, by what was measured alone."""

import math

import numpy as np

from fourcorners.analysis.steady_state.oscillation import Oscillation, find_oscillation
from fourcorners.analysis.steady_state.segments import segment_starts
from fourcorners.analysis.steady_state.series import Progression, Series, progression
from fourcorners.analysis.steady_state.trend import remaining_decay, trend
from fourcorners.analysis.steady_state.verdict import State, Verdict
from fourcorners.units import format_bytes

SPARE_SHARE_MAX = 0.45
"""Spare area that a drive may have, as a share of its capacity, where nothing is known: of the
drives whose raw capacity was published the Intel DC S3700 has the most, 41 %."""

PARTS_MAX = 160
"""Parts of equal work that a series is judged in: short against what it goes through, and few
enough that the judge takes milliseconds."""

PARTS_MIN = 16
"""Parts in the last segment without which nothing can be said of its trend."""

DRIFT_MAX = 0.05
"""Change over the last segment, as a share of its mean, that the trend's interval has to stay
within: half of what SNIA's rule grants the line through its window."""

DECAY_MAX = 0.02
"""What the extrapolated decay may still take away, as a share of the value."""

HALF_WIDTH_MAX = 0.03
"""Half of the value's interval, as a share of it, beyond which more must be measured."""

TURNOVERS = 1.0
"""Turnovers of the whole flash that a drive needs after its last change: every block was
collected once under the new conditions."""

_LOOK_GROWTH = 1.03


def judge(series: Series, capacity_bytes: float, *, free_bytes_max: float | None = None) -> Verdict:
    """Judges a series that begins with the workload whose steady state is wanted.

    Args:
        series: from the start of the workload on, what came before left out.
        capacity_bytes: the drive's, or of the span that is written, whichever is smaller.
        free_bytes_max: bytes that the drive may have had free for new data when the series began:
            spare area, and what of its capacity held no data. By default :data:`SPARE_SHARE_MAX`
            of the capacity, which is for a drive that was filled; add the part that was not. Pass
            0 after as much of the same writes has been done before.
    """
    if free_bytes_max is None:
        free_bytes_max = SPARE_SHARE_MAX * capacity_bytes
    return _Case(series, capacity_bytes, free_bytes_max).verdict()


class OnlineJudge:
    """The judge of a test that is running: it is told of every round and answers at once.

    Between looks, whose distance grows with the series, it repeats its last answer, so that all
    of them together cost little and chance has few occasions.
    """

    def __init__(self, capacity_bytes: float, *, free_bytes_max: float | None = None) -> None:
        """As :func:`judge`."""
        self._capacity_bytes = capacity_bytes
        self._free_bytes_max = free_bytes_max
        self._value: list[float] = []
        self._duration_s: list[float] = []
        self._written_bytes: list[float] = []
        self._next_look = PARTS_MIN
        self._verdict: Verdict | None = None

    def add(self, value: float, duration_s: float, written_bytes: float) -> Verdict | None:
        """Takes one more round; ``None`` while there are too few to judge."""
        self._value.append(value)
        self._duration_s.append(duration_s)
        self._written_bytes.append(written_bytes)
        if len(self._value) >= self._next_look:
            self._next_look = max(len(self._value) + 1, round(len(self._value) * _LOOK_GROWTH))
            self._verdict = judge(
                self.series, self._capacity_bytes, free_bytes_max=self._free_bytes_max
            )
        return self._verdict

    @property
    def series(self) -> Series:
        """All rounds so far."""
        return Series(
            np.array(self._value), np.array(self._duration_s), np.array(self._written_bytes)
        )

    @property
    def verdict(self) -> Verdict | None:
        """The latest answer."""
        return self._verdict


class _Case:
    """One series, and what is found out about it step by step."""

    def __init__(self, series: Series, capacity_bytes: float, free_bytes_max: float) -> None:
        self._series = series
        self._parts = progression(series, PARTS_MAX)
        self._capacity_bytes = capacity_bytes
        self._free_bytes_max = free_bytes_max

    def verdict(self) -> Verdict:
        value = self._parts.value
        positive = value[value > 0]
        if not len(positive):
            return self._answer(State.UNDECIDED, 0, "nothing was measured but zeros")
        starts = segment_starts(np.log(np.maximum(value, 1e-3 * float(np.median(positive)))))
        for first in starts:
            oscillation = find_oscillation(value[first:])
            if oscillation is not None:
                return self._oscillating(first, oscillation)
        return self._level(starts[0])

    def _level(self, first: int) -> Verdict:
        """A last segment without a period."""
        value = self._parts.value[first:]
        if len(value) < PARTS_MIN:
            before, after = self._parts.value[:first], float(value.mean())
            if first and before[-len(value) :].mean() > after:
                return self._answer(State.FALLING, first, "it fell a moment ago")
            if first:
                return self._answer(State.RISING, first, "it rose a moment ago")
            return self._answer(State.UNDECIDED, first, "too little was measured")
        found = trend(value)
        decay = remaining_decay(value)
        low, high = found.drift_low, found.drift_high
        if decay > DECAY_MAX or high < -DRIFT_MAX / 2:
            state, reason = State.FALLING, "its last segment falls"
        elif decay < -DECAY_MAX or low > DRIFT_MAX / 2:
            state, reason = State.RISING, "its last segment rises"
        elif low < -DRIFT_MAX or high > DRIFT_MAX:
            state, reason = State.UNDECIDED, "its trend is not known well enough"
        elif found.half_width > HALF_WIDTH_MAX:
            state, reason = State.UNDECIDED, "its mean is not known well enough"
        elif (missing := self._missing(first)) is not None:
            state, reason = State.UNDECIDED, missing
        else:
            state, reason = State.STEADY, "its last segment is level"
        return self._answer(state, first, reason, half_width=found.half_width + abs(decay))

    def _oscillating(self, first: int, found: Oscillation) -> Verdict:
        value = self._parts.value[first:]
        periods = int(len(value) / found.period)
        # Whole periods, the latest: their means are free of the oscillation.
        first += len(value) - round(periods * found.period)
        value = self._parts.value[first:]
        along = trend(value, periods)
        settled = (
            along.drift_low >= -DRIFT_MAX
            and along.drift_high <= DRIFT_MAX
            and along.half_width <= HALF_WIDTH_MAX
            and self._missing(first) is None
        )
        return self._answer(
            State.OSCILLATING,
            first,
            f"it repeats itself, by {found.amplitude:.0%} up and down",
            settled=settled,
            half_width=along.half_width,
            period=found.period,
        )

    def _needed_bytes(self, first: int) -> float:
        """What has to be written since the last change, for every block of flash to be collected
        once: a turnover takes the whole flash over the write amplification, and that is at least
        the ratio of the fastest rate seen to the rate after it.

        What is not known makes it larger: with the most spare area the flash is largest."""
        if not self._parts.by_bytes or self._free_bytes_max == 0:
            return 0.0
        after = self._parts.mean_from(first)
        fastest = float(np.quantile(self._parts.value, 0.98))
        amplification = max(1.0, fastest / after) if after else 1.0
        return TURNOVERS * (self._capacity_bytes + self._free_bytes_max) / amplification

    def _missing(self, first: int) -> str | None:
        """What was not written yet, in words."""
        if not self._parts.by_bytes:
            return None
        total = self._parts.work * len(self._parts.value)
        if total < self._free_bytes_max:
            return (
                f"{format_bytes(round(total))} were written, and the drive may have had "
                f"{format_bytes(round(self._free_bytes_max))} free"
            )
        since = total - self._parts.work * first
        if since < self._needed_bytes(first):
            return (
                f"{format_bytes(round(since))} were written since the last change, and a whole "
                f"turnover takes {format_bytes(round(self._needed_bytes(first)))}"
            )
        return None

    def _answer(
        self,
        state: State,
        first: int,
        reason: str,
        *,
        settled: bool | None = None,
        half_width: float = math.inf,
        period: float | None = None,
    ) -> Verdict:
        parts = self._parts
        value = parts.mean_from(first)
        before_s = float(parts.duration_s[:first].sum())
        rounds_end_s = np.cumsum(self._series.duration_s)
        return Verdict(
            state=state,
            settled=state is State.STEADY if settled is None else settled,
            value=value,
            low=max(0.0, value * (1 - half_width)),
            high=value * (1 + half_width),
            first_round=int(np.searchsorted(rounds_end_s, before_s, side="right")),
            written_bytes=_bytes(parts, len(parts.value) - first),
            needed_bytes=self._needed_bytes(first),
            period_bytes=None if period is None else _bytes(parts, period),
            period_s=None if period is None else period * float(parts.duration_s[first:].mean()),
            reason=reason,
        )


def _bytes(parts: Progression, count: float) -> float:
    return parts.work * count if parts.by_bytes else 0.0
