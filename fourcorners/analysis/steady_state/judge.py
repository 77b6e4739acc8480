"""The judge: is a drive in its steady state, by what was measured alone."""

import math

import numpy as np

from fourcorners.analysis.steady_state.oscillation import Oscillation, find_oscillation
from fourcorners.analysis.steady_state.preparedness import SPARE_SHARE_MAX, Known, Preparedness
from fourcorners.analysis.steady_state.segments import last_step, segment_starts
from fourcorners.analysis.steady_state.series import Progression, Series, progression
from fourcorners.analysis.steady_state.spread import UNIFORM, Spread
from fourcorners.analysis.steady_state.trend import (
    correlated_half_width,
    movement,
    remaining_decay,
    trend,
)
from fourcorners.analysis.steady_state.verdict import State, Verdict
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import Said, say

RESOLUTIONS = (160, 40)
"""Parts of equal work that a series is judged in, one after the other until one settles it: few
enough that the judge takes milliseconds. Long parts even an irregular collection out; periods are
looked for in the short ones only, because in long ones a short period looks like a longer one."""

PARTS_MIN = 16
"""Parts in the last segment without which nothing can be said of its trend."""

DRIFT_MAX = 0.05
"""Change over the last segment, as a share of its mean, that the trend's interval has to stay
within. SNIA's rule grants the line through its window 10 %."""

DRIFT_CAPACITIES = 0.5
"""Capacities of uniform writes in the last segment from which that is the margin, whatever else is
asked of it. Of writes that mix the data more slowly it is for as much more: a drift goes on until
they have, and over a part of that it has to be as much smaller."""

DECAY_MAX = 0.02
"""What the extrapolated decay may still take away, as a share of the value."""

HALF_WIDTH_MAX = 0.03
"""Half of the value's interval, as a share of it, beyond which more must be measured."""

ERROR_MIN = 0.025
"""Least half width of the value's interval, as a share: what a steady drive's rate wanders by over
longer times than are measured."""

PERIOD_BATCHES_MAX = 25
"""Batches of whole periods in an oscillation."""

REFILL_MAX = 0.06
"""Share of the value that the known decay of a drive that was not filled may still take away: it
is subtracted, and only its error counts."""

REFILL_SPARE_MAX = 0.15
"""Empty part of such a drive, as a share of the spare area that its amplification suggests, that
may be left: while it is a large part of the spare area, the rate is not yet proportional to it."""

SPARE_WANDER = 0.001
"""Spare area, in capacities, that comes and goes in a steady drive, as its dies do not hold equally
much. A rate that collection limits is about proportional to spare area, so the less there is, the
further the rate wanders."""

CHANGE_ERRORS = 4.0
"""Standard errors between the parts before and after a change from which it is told."""

_FINE_ROUNDS_MAX = 2048
"""In which periods are looked for round by round: the search stays within milliseconds."""


def judge(
    series: Series,
    capacity_bytes: float,
    *,
    spare_bytes_max: float | None = None,
    unwritten_bytes: float = 0.0,
    spread: Spread = UNIFORM,
) -> Verdict:
    """Judges a series that begins with the workload whose steady state is wanted.

    Args:
        series: from the start of the workload on, what came before left out.
        capacity_bytes: the drive's, or of the span that is written, whichever is smaller.
        spare_bytes_max: spare area that the drive may have had free for new data when the series
            began; by default :data:`SPARE_SHARE_MAX` of the capacity. Pass 0 where as much of the
            same writes has been done before.
        unwritten_bytes: part of the capacity that held no data when the series began.
        spread: of the writes over the capacity.
    """
    if spare_bytes_max is None:
        spare_bytes_max = SPARE_SHARE_MAX * capacity_bytes
    known = Known(capacity_bytes, spare_bytes_max, unwritten_bytes, spread)
    verdicts = []
    for parts in RESOLUTIONS:
        verdict = _Case(series, progression(series, parts), known).verdict()
        if verdict.settled:
            return verdict
        verdicts.append(verdict)
    return next((verdict for verdict in verdicts if verdict.prepared), verdicts[0])


class _Case:
    """One series at one resolution, and what is found out about it step by step."""

    def __init__(self, series: Series, parts: Progression, known: Known) -> None:
        self._series = series
        self._parts = parts
        self._known = known
        self._preparedness = Preparedness(series, parts, known)

    def verdict(self) -> Verdict:
        value = self._parts.value
        positive = value[value > 0]
        if not len(positive):
            return self._answer(State.UNDECIDED, 0, say("judge.nothing"))
        starts = segment_starts(np.log(np.maximum(value, 1e-3 * float(np.median(positive)))))
        if self._known.unwritten_bytes and self._parts.by_bytes:
            return self._refilling(starts)
        for first in starts if len(value) > RESOLUTIONS[-1] else []:
            oscillation = find_oscillation(value[first:])
            if oscillation is not None:
                return self._oscillating(first, oscillation)
        return self._level(starts)

    def _level(self, starts: list[int]) -> Verdict:
        """A last segment without a period that shows at this resolution."""
        first = starts[0]
        value = self._parts.value[first:]
        if len(value) < PARTS_MIN:
            before, after = self._parts.value[:first], float(value.mean())
            if first:
                fell = bool(before[-len(value) :].mean() > after)
                state = State.FALLING if fell else State.RISING
                reason = say("judge.fell_lately" if fell else "judge.rose_lately")
                if not _differ(before[-PARTS_MIN:], value):
                    reason = say("judge.changed_lately")
                # A step is over: only what follows it tells whether the rate goes on.
                change = self._movement(self._last_step(starts), state)
                return self._answer(state, first, reason, change=change)
            return self._answer(State.UNDECIDED, first, say("judge.too_short"))
        found = trend(value)
        mean_half_width = max(found.half_width, correlated_half_width(value))
        decay = remaining_decay(value)
        low, high = found.drift_low, found.drift_high
        drift_max = self._drift_max(first)
        settled, period = False, None
        missing = self._preparedness.missing(first)
        if decay > DECAY_MAX or high < -DRIFT_MAX / 3:
            state, reason = State.FALLING, say("judge.falls_slowly")
        elif decay < -DECAY_MAX or low > DRIFT_MAX / 3:
            state, reason = State.RISING, say("judge.rises_slowly")
        elif missing is not None:
            state, reason = State.UNDECIDED, missing
        elif low < -drift_max or high > drift_max:
            state, reason = State.UNDECIDED, say("judge.trend_unsure")
        elif mean_half_width > HALF_WIDTH_MAX:
            state, reason = State.UNDECIDED, say("judge.mean_unsure")
        else:
            settled = True
            state, reason = State.STEADY, say("judge.level")
            period = self._fine_period(first)
            if period is not None:
                state, reason = State.OSCILLATING, say("judge.repeats")
        return self._answer(
            state,
            first,
            reason,
            settled=settled,
            prepared=self._preparedness.unprepared(first) is None
            and state not in (State.FALLING, State.RISING),
            half_width=math.hypot(
                mean_half_width,
                decay,
                found.drift / 2 * DRIFT_MAX / drift_max,
                self._wander(first),
            ),
            period=period,
            change=self._movement(self._last_step(starts), state),
        )

    def _last_step(self, starts: list[int]) -> int:
        least = 1e-3 * (self._preparedness.fastest or float(self._parts.value.max()))
        return last_step(np.log(np.maximum(self._parts.value, least)), starts)

    def _refilling(self, starts: list[int]) -> Verdict:
        """A drive of whose capacity a part was empty when the series began.

        The empty part is spare area until the writes reach it. What random writes leave of it is
        known, ``exp(-w / C)`` after w of C bytes of uniform ones, and a rate that collection limits
        is about proportional to spare area. So the decay's course is known, and its level can be
        told before it has ended.
        """
        parts, capacity = self._parts, self._known.capacity_bytes
        x = (np.arange(len(parts.value)) + 0.5) * parts.work / capacity
        empty = self._known.unwritten_bytes / capacity * self._known.spread.unwritten(x)
        spare = self._preparedness.spare_share(max(0, len(x) - PARTS_MIN))
        first = int(np.searchsorted(-empty, -4 * REFILL_SPARE_MAX * spare))
        if len(x) - first < PARTS_MIN:
            reason = say("judge.empty_left", empty=float(empty[-1]))
            return self._answer(
                State.FALLING,
                starts[0],
                reason,
                change=self._movement(self._last_step(starts), State.FALLING),
            )
        value = parts.value[first:]
        slope, level = (float(c) for c in np.polyfit(empty[first:], value, 1))
        left = slope * float(empty[-1]) / level if level > 0 else math.inf
        rest = trend(value - slope * empty[first:])
        error = math.hypot(rest.half_width, left / 5, ERROR_MIN)
        most_free = self._known.spare_bytes_max + self._known.unwritten_bytes
        total = parts.work * len(x)
        if left > REFILL_MAX or empty[-1] > REFILL_SPARE_MAX * spare or total < most_free:
            reason = say("judge.empty_left", empty=float(empty[-1]))
            return self._answer(
                State.FALLING,
                first,
                reason,
                half_width=error + abs(left),
                change=self._movement(first, State.FALLING),
            )
        even = rest.drift_low >= -DRIFT_MAX and rest.drift_high <= DRIFT_MAX
        unchanged = self._preparedness.unchanged(first)
        settled = even and rest.half_width <= HALF_WIDTH_MAX and unchanged is None
        return self._answer(
            State.STEADY if settled else State.UNDECIDED,
            first,
            unchanged or say("judge.level_but_for_empty" if settled else "judge.level_unsure"),
            settled=settled,
            half_width=error,
            level=level,
        )

    def _movement(self, first: int, state: State) -> float | None:
        """By how much a series that falls or rises is seen to; ``None`` where it is too short to
        see, or goes the other way."""
        if state not in (State.FALLING, State.RISING):
            return None
        moved = movement(self._parts.value[first:])
        return moved if moved is not None and (moved < 0) == (state is State.FALLING) else None

    def _fine_period(self, first: int) -> float | None:
        """Period, in parts, of an oscillation too short to show at this resolution."""
        start = self._first_round(first)
        rounds = self._series.value[start:][-_FINE_ROUNDS_MAX:]
        found = find_oscillation(rounds)
        if found is None:
            return None
        share = found.period / (len(self._series) - start)
        return share * (len(self._parts.value) - first)

    def _oscillating(self, first: int, found: Oscillation) -> Verdict:
        value = self._parts.value[first:]
        periods = int(len(value) / found.period)
        batches = periods // math.ceil(periods / PERIOD_BATCHES_MAX)
        # Whole periods, the latest: their means are free of the oscillation.
        first += len(value) - round(periods // batches * batches * found.period)
        value = self._parts.value[first:]
        along = trend(value, batches)
        drift_max = self._drift_max(first)
        settled = (
            along.drift_low >= -drift_max
            and along.drift_high <= drift_max
            and along.half_width <= HALF_WIDTH_MAX
            and self._preparedness.missing(first) is None
        )
        return self._answer(
            State.OSCILLATING,
            first,
            say("judge.repeats_by", amplitude=found.amplitude),
            settled=settled,
            prepared=self._preparedness.unprepared(first) is None,
            half_width=math.hypot(along.half_width, self._wander(first)),
            period=found.period,
        )

    def _drift_max(self, first: int) -> float:
        """:data:`DRIFT_MAX`, or less where skewed writes have mixed little of the data since the
        last change.

        Invalid pages in blocks of cold data are spare area that collection does not get at. They
        become more until the first such blocks are worth collecting, which takes
        ``-log(1 - 1 / A)`` of the time in which the cold data is written once, at an amplification
        of A; until then the rate falls, slowly and evenly.
        """
        if not self._parts.by_bytes:
            return DRIFT_MAX
        judged = self._parts.work * (len(self._parts.value) - first) / self._known.capacity_bytes
        share = max(judged, DRIFT_CAPACITIES) / (DRIFT_CAPACITIES * self._known.spread.slowness)
        return DRIFT_MAX * min(1.0, share)

    def _wander(self, first: int) -> float:
        """By how much, as a share, the mean over longer times may differ from the measured one."""
        return math.hypot(ERROR_MIN, SPARE_WANDER / self._preparedness.spare_share(first))

    def _first_round(self, first: int) -> int:
        before_s = float(self._parts.duration_s[:first].sum())
        ends_s = np.cumsum(self._series.duration_s)
        return int(np.searchsorted(ends_s, before_s * (1 + 1e-12), side="right"))

    def _answer(
        self,
        state: State,
        first: int,
        reason: Said,
        *,
        settled: bool = False,
        prepared: bool = False,
        half_width: float = math.inf,
        period: float | None = None,
        level: float | None = None,
        change: float | None = None,
    ) -> Verdict:
        parts = self._parts
        value = parts.mean_from(first) if level is None else level
        return Verdict(
            state=state,
            settled=settled,
            prepared=settled or prepared,
            value=value,
            low=max(0.0, value * (1 - half_width)),
            high=value * (1 + half_width),
            first_round=self._first_round(first),
            written_bytes=_bytes(parts, len(parts.value) - first),
            needed_bytes=self._preparedness.needed_bytes(first),
            period_bytes=None if period is None else _bytes(parts, period),
            period_s=None if period is None else period * float(parts.duration_s[first:].mean()),
            reason=reason,
            change=change,
        )


def _differ(before: Floats, after: Floats) -> bool:
    """Whether two means differ by more than the scatter of neighbours, without trend, explains."""
    apart = abs(float(after.mean() - before.mean()))
    # Of normally distributed values the mean absolute step is 2 / sqrt(pi) standard deviations.
    steps = np.abs(np.diff(np.concatenate((before, after))))
    scatter = float(steps.mean()) * math.sqrt(math.pi) / 2
    return apart > CHANGE_ERRORS * scatter * math.sqrt(1 / len(before) + 1 / len(after))


def _bytes(parts: Progression, count: float) -> float:
    return parts.work * count if parts.by_bytes else 0.0
