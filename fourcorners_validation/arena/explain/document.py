"""docs/explain-arena.md and explain-catalog.md: how often the probes were right."""

import math
from collections.abc import Sequence

from fourcorners.wording import at_start
from fourcorners_validation.arena.explain.contest import FindingScore, ProbedDrive
from fourcorners_validation.arena.explain.drives import KINDS
from fourcorners_validation.arena.explain.goals import (
    FINDINGS_MIN,
    OWN,
    Standard,
    all_intervals,
    is_wrong,
    judge,
)
from fourcorners_validation.arena.explain.truths import Truth
from fourcorners_validation.arena.tables import NUMBERS, markdown_table

NAME, CATALOG_NAME = "explain-arena.md", "explain-catalog.md"

_HOW = (
    "Every probe runs on each of them as on any drive, and the estimators receive only the "
    "recordings. All figures are of simulated drives."
)

LEGEND = (
    "All figures are in percent, except *of*, the number of drives for which the finding has a "
    "truth. *exact*: share of the reported values of discrete findings that are right; *error*, "
    "*95th*: median and 95th percentile of the relative errors of continuous findings; *holds*: "
    "share of the 90 % intervals that hold the truth, among those that describe scatter; *bound*: "
    "the same of intervals between two points of a sweep and of tolerances, which must always "
    "hold it; *miss*: reported as absent although it is there; *n/a*: reported as not applicable; "
    "*n/i*: not identifiable; *false*: found where it is not. *explanation* is the kind of drive "
    "that the explanation names. A cell is empty where there is nothing to count."
)


HEADER = (
    "finding", "of", "exact", "error", "95th", "holds", "bound", "miss", "n/a", "n/i", "false",
)  # fmt: skip
"""Column heads of :func:`row`."""


def row(score: FindingScore) -> tuple[str, ...]:
    """The row of one finding."""
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
    return (score.finding, str(score.drives), *map(percent, shares))


def goals(scores: Sequence[FindingScore], standard: Standard = OWN) -> list[str]:
    """The results of the findings, with a sentence for each goal."""
    held, intervals = all_intervals(scores)
    right = f"{held} of {intervals} ({percent(held / intervals)} %)" if intervals else "none of 0"
    lines = [
        f"{sum(s.drives > 0 for s in scores)} findings were examined; the goal is {FINDINGS_MIN}.",
        f"Of all 90 % intervals that describe scatter, {right} hold the truth.",
    ]
    for goal in judge(scores, standard):
        missed = f"; missed by {', '.join(goal.missed)}" if goal.missed else ""
        lines.append(f"{at_start(goal.wanted)}: met by {len(goal.met)} of {goal.asked}{missed}.")
    return lines


def wrong(
    drives: Sequence[str],
    truths: Sequence[Truth],
    outcomes: Sequence[ProbedDrive],
    standard: Standard = OWN,
) -> list[str]:
    """The wrong findings about drives with these names, each in a sentence."""
    by_name = {truth.finding: truth for truth in truths}
    return [
        f"{drives[outcome.index]}: {answer.finding} is {answer.truth:.4g}, but was reported as "
        + (f"{answer.value:.4g}" if answer.applies else "not applicable")
        + ("." if answer.interval is None else " ({:.4g} to {:.4g}).".format(*answer.interval))
        for outcome in outcomes
        for answer in outcome.answers
        if is_wrong(answer, discrete=by_name[answer.finding].discrete, standard=standard)
    ]


def failures(outcomes: Sequence[ProbedDrive]) -> list[str]:
    """Probes that failed, each in a sentence."""
    return [
        f"Drive {outcome.index} ({outcome.kind}): {failure}"
        for outcome in outcomes
        for failure in outcome.failures
    ]


def render_markdown(
    scores: Sequence[FindingScore], outcomes: Sequence[ProbedDrive], *, seed: int
) -> str:
    """The document for the drives of that seed."""
    lines = [
        "# What the probes find in drives unknown to them",
        "",
        f"Written by `fourcorners arena explain --drives {len(outcomes)} --seed {seed} "
        "--write docs`. Drives are drawn at random "
        f"(fourcorners_validation/arena/explain/drives.py): {', '.join(KINDS)}, each kind in turn. "
        f"{_HOW}",
        "",
        LEGEND,
        "",
        markdown_table(HEADER, map(row, scores), NUMBERS),
        "",
        "The goals (fourcorners_validation/arena/explain/goals.py):",
        "",
        *(f"- {line}" for line in goals(scores)),
        "",
        *failures(outcomes),
    ]
    return "\n".join(lines).rstrip() + "\n"


def render_catalog(
    scores: Sequence[FindingScore],
    outcomes: Sequence[ProbedDrive],
    sentences: Sequence[str],
    *,
    seed: int,
) -> str:
    """The document for the catalog's drives; ``sentences`` come from :func:`wrong`."""
    lines = [
        "# What the probes find in the catalog's drives",
        "",
        f"Written by `fourcorners arena explain --catalog --seed {seed} --write docs`, for the "
        f"{len(outcomes)} drives of the catalog at their full size. {_HOW} What a drive file does "
        "not state as a number (such as a limit of the firmware) has no truth here.",
        "",
        LEGEND,
        "",
        markdown_table(HEADER, map(row, scores), NUMBERS),
        "",
        "Of these, the following values are wrong: another number, bounds that do not hold the "
        f"truth, or an error of more than {OWN.error_95_max:.0%}:",
        "",
        *(f"- {sentence}" for sentence in sentences or ("none.",)),
        "",
        *failures(outcomes),
    ]
    return "\n".join(lines).rstrip() + "\n"


def percent(share: float) -> str:
    """A share as the tables show it; empty where there is nothing to count."""
    if math.isnan(share):
        return ""
    return "<0.01" if 0 < share < 1e-4 else f"{100 * share:.3g}"
