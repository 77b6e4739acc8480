"""docs/steady-state.md: the method, and the contest's results."""

import math
from collections.abc import Sequence
from importlib import resources

import jinja2
import numpy as np

from fourcorners_validation.arena.steady.contest import (
    TAIL_CHANGE_MAX,
    ContestantScore,
    StoppedTrace,
    by_kind,
    score,
)
from fourcorners_validation.arena.steady.contestants import CONTESTANTS, JUDGE
from fourcorners_validation.arena.steady.recipes import (
    MEASURED_CAPACITIES,
    Compared,
)
from fourcorners_validation.arena.steady.traces import NOISE_SHARES
from fourcorners_validation.arena.tables import markdown_table, quantile_of

SCORES = ("contestant", "stopped", "bias", "error", "95 %", "falsely steady", "time", "all time")
DEPARTURES = (
    "what happens",
    "traces",
    "noticed",
    "rounds until then",
    "before it",
    "rounds watched",
)
RECIPES = ("preconditioning", "capacities written", "most", "off the long run", "95 %", "largest")
"""Column heads of :func:`score_row`, :func:`departure_rows` and :func:`recipe_rows`."""

_PLANTED = {
    "throttled": "throttled to 40 to 85 % of its rate, all the time or on and off",
    "used up": "the end of the first plateau: a cache or the free blocks are used up",
    "none": "nothing planted: what is noticed is a false alarm",
}


def render_markdown(
    outcomes: Sequence[StoppedTrace], recipes: Sequence[Compared], *, seed: int
) -> str:
    """The document for a corpus of that seed."""
    template = resources.files(__package__).joinpath("steady-state.md.j2").read_text("utf-8")
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(template).render(
        traces=len(outcomes),
        seed=seed,
        redrawn=sum(outcome.attempts - 1 for outcome in outcomes),
        tail_change_max=percent(TAIL_CHANGE_MAX),
        noise=", ".join(percent(share) for share in NOISE_SHARES),
        scores=markdown_table(SCORES, [score_row(score(name, outcomes)) for name in CONTESTANTS]),
        kinds=markdown_table(
            ("kind", *SCORES[1:]),
            [(kind, *score_row(row)[1:]) for kind, row in by_kind(JUDGE, outcomes)],
        ),
        covered=percent(score(JUDGE, outcomes).covered),
        departures=markdown_table(DEPARTURES, departure_rows(outcomes)),
        recipes=markdown_table(RECIPES, recipe_rows(recipes)),
        recipe_drives=len(recipes),
        saved=percent(1 - _capacities(recipes, "fast") / _capacities(recipes, "customary")),
        recipe_redrawn=sum(one.attempts - 1 for one in recipes),
        measured_capacities=f"{MEASURED_CAPACITIES:g}",
        long_run_capacities=f"{2 * MEASURED_CAPACITIES:g}",
        between=_three([one.between for one in recipes]),
        wander=_three([one.wander for one in recipes]),
    )


def score_row(row: ContestantScore) -> tuple[str, ...]:
    """The row of one contestant."""
    return (
        row.contestant,
        f"{row.stopped} of {row.traces}",
        percent(row.bias_median, sign=True),
        percent(row.error_median),
        percent(row.error_95),
        percent(row.falsely_steady),
        _times(row.time_median),
        _times(row.time_total),
    )


def departure_rows(outcomes: Sequence[StoppedTrace]) -> list[tuple[str, ...]]:
    """How many of the planted departures were noticed."""
    rows: list[tuple[str, ...]] = []
    for planted, words in _PLANTED.items():
        watched = [w for outcome in outcomes for w in outcome.watched if w.planted == planted]
        delays = [w.delay_rounds for w in watched if w.delay_rounds is not None]
        after = [delay for delay in delays if delay >= 0]
        early = "" if planted == "none" else str(len(delays) - len(after))
        median = "" if planted == "none" or not after else f"{np.median(after):.0f}"
        rounds = str(sum(w.rounds for w in watched))
        rows.append((words, str(len(watched)), str(len(delays)), median, early, rounds))
    return rows


def recipe_rows(recipes: Sequence[Compared]) -> list[tuple[str, ...]]:
    """The rows of both recipes."""
    rows: list[tuple[str, ...]] = []
    for words, name in (
        ("two fills, two capacities at random", "customary"),
        ("one fill, random writes until the judge stops them", "fast"),
    ):
        capacities = [getattr(one, f"{name}_capacities") for one in recipes]
        errors = [getattr(one, f"{name}_error") for one in recipes]
        rows.append(
            (
                words,
                f"{np.median(capacities):.2f}" if recipes else "",
                f"{max(capacities):.2f}" if recipes else "",
                *(percent(quantile_of(np.abs(errors), share)) for share in (0.5, 0.95, 1.0)),
            )
        )
    return rows


def _capacities(recipes: Sequence[Compared], name: str) -> float:
    return sum(getattr(one, f"{name}_capacities") for one in recipes) or math.nan


def _three(errors: Sequence[float]) -> str:
    median, most, largest = (
        percent(quantile_of(np.abs(errors), share)) for share in (0.5, 0.95, 1.0)
    )
    return f"{median} (median; 95th percentile {most}, largest {largest})"


def percent(share: float, *, sign: bool = False) -> str:
    """A share in percent; empty if it is NaN."""
    if math.isnan(share):
        return ""
    digits = 0 if abs(share) >= 0.1 else 1
    return f"{share * 100:{'+' if sign else ''}.{digits}f} %"


def _times(ratio: float) -> str:
    return "" if math.isnan(ratio) else f"{ratio:.2f} x"
