"""docs/explain-foreign.md: how often the probes were right about drives that others designed."""

from collections.abc import Iterable, Sequence

from fourcorners_validation.arena.explain.contest import (
    FindingScore,
    GradedAnswer,
    ProbedDrive,
)
from fourcorners_validation.arena.explain.document import failures, goals, percent
from fourcorners_validation.arena.explain.foreign import SPECIMENS, draw_foreign
from fourcorners_validation.arena.explain.goals import FOREIGN, UNIDENTIFIED_MAX, is_wrong
from fourcorners_validation.arena.explain.side_by_side import shown
from fourcorners_validation.arena.explain.truths import TRUTHS
from fourcorners_validation.arena.tables import NUMBERS, markdown_table

NAME = "explain-foreign.md"

HEADER = (
    "finding", "there", "right", "wrong", "n/i", "absent", "false", "error", "95th", "holds",
    "bound",
)  # fmt: skip

LEGEND = (
    "*there*: number of drives that have the thing; of these the value was *right*, *wrong* (which "
    f"for a continuous finding means off by more than {FOREIGN.error_95_max:.0%}, or bounds that "
    "do not hold the truth; also reported as absent), or *n/i*, not identifiable. *absent*: number "
    "of drives that do not have it; of these it was reported in *false* drives nevertheless. The "
    "other columns are in percent: *error*, *95th*: median and 95th percentile of the relative "
    "errors of continuous findings; *holds*: share of the 90 % intervals that hold the truth, "
    "among those that describe scatter; *bound*: the same of bounds. A cell is empty where there "
    "is nothing to count."
)

_DISCRETE = {truth.finding: truth.discrete for truth in TRUTHS}


def names(seed: int, count: int) -> tuple[str, ...]:
    """What the drives are called."""
    drives = (draw_foreign(seed, index) for index in range(count))
    return tuple(
        f"{drive.specimen} {index}{'' if drive.calm else ', varied'}"
        for index, drive in enumerate(drives)
    )


def is_false(answer: GradedAnswer) -> bool:
    """Whether it claims that the drive has or lacks something, and that is not so."""
    return answer.value is not None and bool(answer.truth) != bool(answer.value)


def rows(scores: Sequence[FindingScore], outcomes: Sequence[ProbedDrive]) -> list[tuple[str, ...]]:
    """A row for each finding: those with false claims first, then those with wrong values."""
    counted = [(_count(score, outcomes), score) for score in scores]
    counted.sort(key=lambda one: (-one[0].made_up, -one[0].wrong, one[0].right))
    return [_row(count, score) for count, score in counted]


class _Count:
    """The answers of one finding."""

    def __init__(self, answers: Sequence[GradedAnswer]) -> None:
        there = [answer for answer in answers if answer.truth]
        self.there, self.absent = len(there), len(answers) - len(there)
        self.wrong = sum(map(_is_wrong, there))
        self.unidentified = sum(answer.value is None for answer in there)
        self.right = self.there - self.wrong - self.unidentified
        self.made_up = sum(is_false(answer) for answer in answers if not answer.truth)


def _is_wrong(answer: GradedAnswer) -> bool:
    return is_wrong(answer, discrete=_DISCRETE[answer.finding], standard=FOREIGN)


def _count(score: FindingScore, outcomes: Iterable[ProbedDrive]) -> _Count:
    return _Count([a for one in outcomes for a in one.answers if a.finding == score.finding])


def _row(count: _Count, score: FindingScore) -> tuple[str, ...]:
    there = (count.right, count.wrong, count.unidentified) if count.there else ("", "", "")
    absent = (count.absent, count.made_up) if count.absent else ("", "")
    errors = (score.error_median, score.error_95, score.coverage, score.bounded)
    return (
        score.finding,
        *map(str, (count.there or "", *there, *absent)),
        *map(percent, errors),
    )


def false_claims(drives: Sequence[str], outcomes: Sequence[ProbedDrive]) -> list[str]:
    """The false claims, each in a sentence."""
    return _sentences(drives, outcomes, of_false=True)


def wrong_values(drives: Sequence[str], outcomes: Sequence[ProbedDrive]) -> list[str]:
    """What else is wrong, each in a sentence."""
    return _sentences(drives, outcomes, of_false=False)


def _sentences(
    drives: Sequence[str], outcomes: Sequence[ProbedDrive], *, of_false: bool
) -> list[str]:
    return [
        f"{drives[outcome.index]}: {answer.finding} is {shown(answer.finding, answer.truth)}, but "
        f"was reported as {shown(answer.finding, answer.value)}."
        for outcome in outcomes
        for answer in outcome.answers
        if _is_wrong(answer) and is_false(answer) == of_false
    ]


def met(scores: Sequence[FindingScore], outcomes: Sequence[ProbedDrive]) -> list[str]:
    """The results, with a sentence for each goal."""
    raised = [[a for a in one.answers if a.applies] for one in outcomes]
    unknown = [sum(a.value is None for a in answers) for answers in raised]
    total, above = (
        sum(map(len, raised)),
        sum(
            count > UNIDENTIFIED_MAX * len(answers)
            for count, answers in zip(unknown, raised, strict=True)
        ),
    )
    share = percent(sum(unknown) / total) if total else "0"
    return [
        *goals(scores, FOREIGN),
        f"Not identifiable: at most {UNIDENTIFIED_MAX:.0%} of what a drive raises: {share} % of "
        f"all; {above} of {len(outcomes)} drives have more.",
    ]


def specimen_rows(outcomes: Sequence[ProbedDrive]) -> list[tuple[str, ...]]:
    """A row for each specimen: drives, values of things that are there, and false claims."""
    found = []
    for name in SPECIMENS:
        of_it = [one for one in outcomes if one.kind == name]
        count = _Count([answer for one in of_it for answer in one.answers])
        figures = (len(of_it), count.right, count.wrong, count.unidentified, count.made_up)
        found.append((name, *map(str, figures)))
    return found


SPECIMEN_HEADER = ("specimen", "drives", "right", "wrong", "n/i", "false")


def render_foreign(
    scores: Sequence[FindingScore], outcomes: Sequence[ProbedDrive], *, seed: int
) -> str:
    """The document for the foreign drives of that seed."""
    drives = names(seed, len(outcomes))

    def listed(sentences: Sequence[str]) -> list[str]:
        return [f"- {sentence}" for sentence in sentences or ("None.",)]

    lines = [
        "# What the probes find in drives of other people's design",
        "",
        f"Written by `fourcorners arena explain --foreign --drives {len(outcomes)} --seed {seed} "
        "--write docs`. The drives are programs that were written from papers and datasheets "
        "without a look at this project's simulator (tests/specimens): "
        f"{', '.join(SPECIMENS)}, each in turn. Their arguments are drawn at random "
        "(fourcorners_validation/arena/explain/foreign.py); half of the drives have variation: "
        "noise of service times, and some of outliers, read retries, housekeeping, throttling and "
        "a jittery link. Every probe runs on each of them through [`exec:`](foreign-drives.md), "
        "and the estimators receive only the recordings.",
        "",
        "## False claims",
        "",
        "Something was reported that the drive does not have, or reported as absent although it "
        "has it:",
        "",
        *listed(false_claims(drives, outcomes)),
        "",
        "## Goals",
        "",
        *(f"- {line}" for line in met(scores, outcomes)),
        "",
        "## By finding",
        "",
        LEGEND,
        "",
        markdown_table(HEADER, rows(scores, outcomes), NUMBERS),
        "",
        "## By specimen",
        "",
        "Values of things that are there, and false claims about those that are not:",
        "",
        markdown_table(SPECIMEN_HEADER, specimen_rows(outcomes), NUMBERS),
        "",
        "## Wrong values",
        "",
        *listed(wrong_values(drives, outcomes)),
        "",
        *failures(outcomes),
    ]
    return "\n".join(lines).rstrip() + "\n"
