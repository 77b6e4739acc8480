"""docs/explain-arena.md: how right the probes were about hidden drives."""

import math
from collections.abc import Sequence

from fourcorners.arena.explain.contest import Outcome, Score
from fourcorners.arena.explain.drives import KINDS
from fourcorners.arena.explain.goals import FINDINGS_MIN, all_intervals, judge

NAME = "explain-arena.md"

LEGEND = (
    "All in percent but *of*, the drives that were asked of. *exact*: right values among those of "
    "discrete findings that were given; *error*, *95th*: median and 95th percentile of the "
    "relative errors of continuous ones; *holds*: 90 % intervals that hold the truth, of those "
    "that are about chance; *bound*: the same of those that lie between two points of a sweep or "
    "are a tolerance, and shall always hold it; *miss*: said not to be there although it is; "
    "*n/a*: said to be no question of such a drive; *n/i*: not identifiable; *false*: found where "
    "it is not. An empty cell: nothing to count."
)


def header() -> tuple[str, ...]:
    """Column heads of :func:`row`."""
    return (
        "finding",
        "of",
        "exact",
        "error",
        "95th",
        "holds",
        "bound",
        "miss",
        "n/a",
        "n/i",
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


def goals(scores: Sequence[Score]) -> list[str]:
    """What the findings achieve, a sentence for each goal."""
    held, intervals = all_intervals(scores)
    right = f"{held} of {intervals} ({_percent(held / intervals)} %)" if intervals else "none of 0"
    lines = [
        f"{len(scores)} findings were asked for; the goal is {FINDINGS_MIN}.",
        f"Of all 90 % intervals that are about chance, {right} hold the truth.",
    ]
    for goal in judge(scores):
        missed = f"; missed by {', '.join(goal.missed)}" if goal.missed else ""
        lines.append(
            f"{goal.wanted[0].upper()}{goal.wanted[1:]}: "
            f"met by {len(goal.met)} of {goal.asked}{missed}."
        )
    return lines


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
        LEGEND,
        "",
        *(f"| {' | '.join(cells)} |" for cells in rows),
        "",
        "The goals (fourcorners/arena/explain/goals.py):",
        "",
        *(f"- {line}" for line in goals(scores)),
        "",
        *failures(outcomes),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _percent(share: float) -> str:
    if math.isnan(share):
        return ""
    return "<0.01" if 0 < share < 1e-4 else f"{100 * share:.3g}"
