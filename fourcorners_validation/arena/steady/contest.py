"""The contest: every contestant judges every trace of a corpus, and is scored."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fourcorners.documents import Count
from fourcorners_validation.arena.steady.contestants import CONTESTANTS, JUDGE, Stop
from fourcorners_validation.arena.steady.departures import Watched, watch_trace
from fourcorners_validation.arena.steady.drives import TraceCase, draw
from fourcorners_validation.arena.steady.traces import simulate
from fourcorners_validation.arena.steady.truth import STEADY_WITHIN, TraceTruth, truth_of
from fourcorners_validation.arena.tables import Figure, Share, mean_of, quantile_of

TAIL_CHANGE_MAX = 0.03
"""A trace whose long run still changes by more has no known steady value: another is drawn."""

ATTEMPTS_MAX = 8
"""If every other case of a kind has no steady value, one in 256 ends without one."""


@dataclass(frozen=True)
class StoppedTrace:
    """One trace: its truth, and when each contestant stopped it."""

    index: int
    kind: str
    noise_share: float
    attempts: int
    truth: TraceTruth
    stops: dict[str, Stop | None]
    watched: list[Watched]


@dataclass(frozen=True)
class ContestantScore:
    """The score of one contestant on some traces. Errors and ratios are those of the traces that it
    stopped; they are NaN if it stopped none."""

    contestant: str
    traces: Count
    stopped: Count
    bias_median: Figure
    """Median of the value over the truth, less 1."""
    error_median: Figure
    """Median of the same, absolute."""
    error_95: Figure
    """95th percentile of the same, absolute."""
    falsely_steady: Share
    """Share of the stops before the drive was steady, or with a value that is off by more than
    :data:`~fourcorners_validation.arena.steady.truth.STEADY_WITHIN`."""
    time_median: Figure
    """Median of the time over the oracle's."""
    time_total: Figure
    """The total time over the total of the oracle's."""
    covered: Share
    """Share of the intervals that hold the truth; NaN for contestants without intervals."""


def run_trace(seed: int, index: int) -> StoppedTrace:
    """Simulates one trace and lets every contestant stop it."""
    return stopped(lambda attempt: draw(seed, index, attempt), index)


def stopped(drawn: Callable[[int], TraceCase], index: int) -> StoppedTrace:
    """The same of the case that is drawn at an attempt: the first that has a steady value."""
    for attempt in range(ATTEMPTS_MAX):
        trace = simulate(drawn(attempt))
        truth = truth_of(trace)
        if abs(truth.tail_change) <= TAIL_CHANGE_MAX:
            break
    stops = {name: contestant(trace) for name, contestant in CONTESTANTS.items()}
    return StoppedTrace(
        index=index,
        kind=trace.kind,
        noise_share=trace.noise_share,
        attempts=attempt + 1,
        truth=truth,
        stops=stops,
        watched=watch_trace(trace, stops[JUDGE], index),
    )


def score(contestant: str, outcomes: Sequence[StoppedTrace]) -> ContestantScore:
    """The score of a contestant on these traces."""
    pairs = [
        (stop, outcome.truth)
        for outcome in outcomes
        if (stop := outcome.stops[contestant]) is not None
    ]
    errors = np.array([stop.value / truth.value - 1 for stop, truth in pairs])
    ratios = np.array([stop.seconds / truth.oracle_s for stop, truth in pairs])
    false = [is_falsely_steady(stop, truth) for stop, truth in pairs]
    covered = [
        stop.low <= truth.value <= stop.high
        for stop, truth in pairs
        if stop.low is not None and stop.high is not None
    ]
    time = sum(stop.seconds for stop, _ in pairs)
    oracle = sum(truth.oracle_s for _, truth in pairs)
    return ContestantScore(
        contestant=contestant,
        traces=len(outcomes),
        stopped=len(pairs),
        bias_median=quantile_of(errors, 0.5),
        error_median=quantile_of(np.abs(errors), 0.5),
        error_95=quantile_of(np.abs(errors), 0.95),
        falsely_steady=mean_of(false),
        time_median=quantile_of(ratios, 0.5),
        time_total=time / oracle if oracle else math.nan,
        covered=mean_of(covered),
    )


def is_falsely_steady(stop: Stop, truth: TraceTruth) -> bool:
    """Whether the test was stopped before the drive was steady, or with another value."""
    early = stop.seconds < truth.steady_from_s
    return early or abs(stop.value / truth.value - 1) > STEADY_WITHIN


def by_kind(contestant: str, outcomes: Sequence[StoppedTrace]) -> list[tuple[str, ContestantScore]]:
    """The scores for each kind of trace separately."""
    rows = []
    for kind in dict.fromkeys(outcome.kind for outcome in outcomes):
        some = [outcome for outcome in outcomes if outcome.kind == kind]
        rows.append((kind, score(contestant, some)))
    return rows
