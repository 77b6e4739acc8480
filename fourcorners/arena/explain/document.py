"""docs/explain-arena.md: how right the probes were about hidden drives."""

import math
from collections.abc import Sequence

from fourcorners.arena.explain.contest import Outcome, Score
from fourcorners.arena.explain.drives import KINDS

NAME = "explain-arena.md"


def header() -> tuple[str, ...]:
    """Column heads of :func:`row`."""
    return (
        "finding",
        "drives",
        "exact",
        "error",
        "95 %",
        "covered",
        "bounds hold",
        "missed",
        "not applicable",
        "not identifiable",
        "false",
    )


def row(score: Score) -> tuple[str, ...]:
    """One finding, in words."""
    shares = (
        score.exact,
        score.error_median,
        score.error_95,
        score.coverage,
        score.bounded,
        score.missed,
        score.inapplicable,
        score.unidentified,
        score.false,
    )
    return (score.finding, str(score.drives), *map(_percent, shares))


def failures(outcomes: Sequence[Outcome]) -> list[str]:
    """Probes that failed, each in a sentence."""
    return [
        f"Drive {outcome.index} ({outcome.kind}): {failure}"
        for outcome in outcomes
        for failure in outcome.failures
    ]


def render_markdown(scores: Sequence[Score], outcomes: Sequence[Outcome], *, seed: int) -> str:
    """The document for the drives of that seed."""
    rows = [header(), ("---", *["---:"] * (len(header()) - 1)), *map(row, scores)]
    lines = [
        "# What the probes find in drives that nobody told them of",
        "",
        f"Written by `fourcorners arena explain --drives {len(outcomes)} --seed {seed} "
        "--write docs`. Drives are drawn at random (fourcorners/arena/explain/drives.py): "
        f"{', '.join(KINDS)}, in turns. Every probe runs on each of them as on any drive; the "
        "estimators see recordings only. All figures are of simulated drives.",
        "",
        "*exact*: right values among those of discrete findings that were given; *error*, *95 %*: "
        "median and 95th percentile of the relative errors of continuous ones; *covered*: 90 % "
        "intervals that hold the truth, of those that are about chance; *bounds hold*: the same of "
        "those that lie between two points of a sweep or are a tolerance, and shall always hold "
        "it; *missed*: said not to be there although it is; *not applicable*: said to be no "
        "question of such a drive; *false*: found where it is not. An empty cell: nothing to "
        "count.",
        "",
        *(f"| {' | '.join(cells)} |" for cells in rows),
        "",
        *failures(outcomes),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.3g} %"
