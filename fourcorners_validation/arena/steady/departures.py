"""Departures from steady state: throttled drives, full caches, and drives that stay steady."""

from dataclasses import dataclass

import numpy as np

from fourcorners.analysis.steady_state.departure import BATCHES, Departure, DepartureWatch
from fourcorners.recording.arrays import Floats
from fourcorners_validation.arena.steady.contestants import Stop, by_rounds
from fourcorners_validation.arena.steady.traces import Trace

CLIFF_SHARE = 0.75
"""Share of the rate of the first rounds below which the plateau is over."""


@dataclass(frozen=True)
class Watched:
    """One departure that was planted, or none. The delay is in rounds. It is ``None`` if nothing
    was noticed, and negative if something was noticed before the departure."""

    planted: str
    delay_rounds: float | None
    rounds: int
    """Watched after it, or in all where none was planted."""


def watch_trace(trace: Trace, stop: Stop | None, seed: int) -> list[Watched]:
    """Watches a trace from its settled answer on: as it is, and throttled; and its first plateau
    until the drive's free blocks, or its cache, are used up."""
    found = []
    rounds = by_rounds(trace.rate, trace.round_s)
    if stop is not None:
        end = int(stop.seconds) // trace.round_s
        first = int(stop.steady_since_s) // trace.round_s
        rest = rounds[end:]
        steady = rounds[first:end]
        if len(steady) >= BATCHES and len(rest) > 4 * BATCHES:
            period = stop.period_s / trace.round_s if stop.period_s is not None else None
            noticed = _watch(steady, rest, stop.value, period)
            found.append(Watched("none", None if noticed is None else 0.0, len(rest)))
            chance = np.random.default_rng([seed, 2])
            begin = int(len(rest) * chance.uniform(0.1, 0.5))
            throttled = _throttled(rest, begin, chance)
            found.append(
                _judge(
                    "throttled",
                    _watch(steady, throttled, stop.value, period),
                    begin,
                    len(rest) - begin,
                )
            )
    plateau = rounds[:BATCHES]
    if len(plateau) == BATCHES and float(plateau.min()) > CLIFF_SHARE * float(plateau.max()):
        below = np.flatnonzero(rounds < CLIFF_SHARE * plateau.mean())
        if len(below):
            begin = int(below[0]) - BATCHES
            noticed = _watch(plateau, rounds[BATCHES:], float(plateau.mean()), None)
            found.append(_judge("used up", noticed, begin, len(rounds) - BATCHES - begin))
    return found


def _watch(
    steady: Floats, rest: Floats, level: float, period_rounds: float | None
) -> Departure | None:
    watch = DepartureWatch(steady, level=level, period_rounds=period_rounds)
    for value in rest:
        departure = watch.add(float(value))
        if departure is not None:
            return departure
    return None


def _judge(planted: str, noticed: Departure | None, begin: int, rounds: int) -> Watched:
    delay = None if noticed is None else float(noticed.noticed_round - begin)
    return Watched(planted, delay, rounds)


def _throttled(rest: Floats, begin: int, chance: np.random.Generator) -> Floats:
    """Slower from a round on: all the time, or on and off as when a temperature is regulated."""
    share = chance.uniform(0.4, 0.85)
    active = np.arange(len(rest)) >= begin
    if chance.random() < 0.5:
        cycle = int(chance.integers(3, 12))
        active &= (np.arange(len(rest)) - begin) % cycle < max(2, round(0.7 * cycle))
    return np.where(active, rest * share, rest)
