"""The contestants that decide when a trace is steady: the judge, and the rules that others use.
Each gets a trace second by second or round by round, as while a test runs, and stops it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fourcorners.analysis.steady_state import OnlineJudge, Series, snia_window
from fourcorners.analysis.steady_state.window_rules import (
    SNIA_ROUNDS,
    fio_deviation,
    fio_slope,
    mser_5,
)
from fourcorners.recording.arrays import Floats
from fourcorners_validation.arena.steady.traces import Trace

FIO_DEVIATION_MAX, FIO_SLOPE_MAX = 0.10, 0.01
"""Both limits are those of fio's own example, examples/steadystate.fio."""

MSER_BATCHES_MIN = 10
"""Of five values each: of fewer it is chance in which half the rule sees the transient end."""


@dataclass(frozen=True)
class Stop:
    """The time at which the test was stopped, and the steady value that the contestant gave."""

    seconds: float
    value: float
    low: float | None = None
    high: float | None = None
    period_s: float | None = None
    steady_since_s: float = 0.0


Contestant = Callable[[Trace], Stop | None]
"""``None`` if it never stopped the test."""


def judge_by_seconds(trace: Trace) -> Stop | None:
    """The judge, which gets every second."""
    return _judged(trace, trace.series)


def judge_by_rounds(trace: Trace) -> Stop | None:
    """The judge, which gets every round."""
    rounds = len(trace.rate) // trace.round_s
    return _judged(
        trace,
        Series(
            by_rounds(trace.rate, trace.round_s),
            np.full(rounds, float(trace.round_s)),
            by_rounds(trace.written_bytes, trace.round_s) * trace.round_s,
        ),
    )


def _judged(trace: Trace, series: Series) -> Stop | None:
    judge = OnlineJudge(
        trace.capacity_bytes,
        spare_bytes_max=trace.spare_bytes_max,
        unwritten_bytes=trace.unwritten_bytes,
        spread=trace.spread,
    )
    elapsed_s = 0.0
    for value, duration_s, written in zip(
        series.value, series.duration_s, series.written_bytes, strict=True
    ):
        elapsed_s += float(duration_s)
        verdict = judge.add(float(value), float(duration_s), float(written))
        if verdict is not None and verdict.settled:
            return Stop(
                seconds=elapsed_s,
                value=verdict.value,
                low=verdict.low,
                high=verdict.high,
                period_s=verdict.period_s,
                steady_since_s=float(series.duration_s[: verdict.first_round].sum()),
            )
    return None


def snia(trace: Trace) -> Stop | None:
    """SNIA's window: the first five rounds that pass."""
    rounds = by_rounds(trace.rate, trace.round_s)
    for end in range(SNIA_ROUNDS, len(rounds) + 1):
        window = snia_window(rounds[:end])
        assert window is not None
        if window.steady:
            return Stop(float(end * trace.round_s), window.average)
    return None


def mser(trace: Trace) -> Stop | None:
    """MSER-5 over rounds: the first time that the transient ends in the first half."""
    rounds = by_rounds(trace.rate, trace.round_s)
    for end in range(5 * MSER_BATCHES_MIN, len(rounds) + 1, 5):
        first = mser_5(rounds[:end])
        if first is not None:
            return Stop(float(end * trace.round_s), float(rounds[first:end].mean()))
    return None


def fio_by_slope(trace: Trace) -> Stop | None:
    """fio's ``ss=bw_slope:1%`` over as long a window as SNIA's."""
    return _fio(trace, lambda window: fio_slope(window, limit=FIO_SLOPE_MAX))


def fio_by_deviation(trace: Trace) -> Stop | None:
    """fio's ``ss=bw:10%`` over as long a window as SNIA's."""
    return _fio(trace, lambda window: fio_deviation(window, limit=FIO_DEVIATION_MAX))


def _fio(trace: Trace, passes: Callable[[Floats], bool]) -> Stop | None:
    seconds = SNIA_ROUNDS * trace.round_s
    # fio checks every second; once in a tenth of the window is enough to find the same end.
    for end in range(seconds, len(trace.rate) + 1, max(1, seconds // 10)):
        window = trace.rate[end - seconds : end]
        if passes(window):
            return Stop(float(end), float(window.mean()))
    return None


JUDGE = "the judge"
CONTESTANTS: dict[str, Contestant] = {
    JUDGE: judge_by_seconds,
    "the judge, by rounds": judge_by_rounds,
    "SNIA's window": snia,
    "MSER-5": mser,
    "fio, slope 1 %": fio_by_slope,
    "fio, deviation 10 %": fio_by_deviation,
}


def by_rounds(values: Floats, round_s: int) -> Floats:
    """Means of whole rounds; shape (rounds,)."""
    rounds = len(values) // round_s
    means: Floats = values[: rounds * round_s].reshape(rounds, round_s).mean(axis=1)
    return means
