"""docs/explain-noise.md and explain-noise-foreign.md: how often the probes are right with noise."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fourcorners_validation.arena.explain.contest import GradedAnswer, ProbedDrive
from fourcorners_validation.arena.explain.document import failures, percent, wrong
from fourcorners_validation.arena.explain.foreign_document import is_false
from fourcorners_validation.arena.explain.goals import FOREIGN, OWN, Standard, is_wrong
from fourcorners_validation.arena.explain.noise import described
from fourcorners_validation.arena.explain.truths import TRUTHS
from fourcorners_validation.arena.tables import NUMBERS, markdown_table, quantile_of

NAME, FOREIGN_NAME = "explain-noise.md", "explain-noise-foreign.md"

HEADER = (
    "noise", "of", "asked", "given", "wrong", "false", "n/i", "intervals", "holds",
    "bounds", "bound", "width", "wider",
)  # fmt: skip
"""Column heads of :func:`level_rows`."""

FINDING_HEADER = ("finding", "asked", "given", "wrong", "false", "n/i")
"""Column heads of :func:`finding_rows`."""

LEGEND = (
    "*of*: number of drives; *asked*: answers that were asked for, of which so many were *given*; "
    "of these, *wrong* are other numbers, bounds that do not hold the truth, and errors of more "
    f"than {OWN.error_95_max:.0%} ({FOREIGN.error_95_max:.0%} of foreign drives); *false*, among "
    "the wrong: reported although it is not there, or as absent although it is; *n/i*: percentage "
    "of the answers that are not identifiable. *intervals*: number of 90 % intervals that describe "
    "scatter, of which so many percent hold the truth (*holds*); *bounds*: number of intervals "
    "between two points of a sweep, and of tolerances, of which all have to hold the truth "
    "(*bound*, in percent); *width*: the median width of both, in percent of the value; *wider*: "
    "median of how many times as wide they are as for the same finding of the same drive at the "
    "lowest level, where both have one. A cell is "
    "empty where there is nothing to count."
)

_DISCRETE = {truth.finding: truth.discrete for truth in TRUTHS}


def false_claims(outcomes: Sequence[ProbedDrive]) -> list[str]:
    """What was reported of a drive that does not have it, or as absent although the drive has it,
    each in a sentence."""
    return _sentences(outcomes, of_false=True)


def wrong_values(outcomes: Sequence[ProbedDrive]) -> list[str]:
    """What else is wrong, each in a sentence."""
    return _sentences(outcomes, of_false=False)


def _sentences(outcomes: Sequence[ProbedDrive], *, of_false: bool) -> list[str]:
    found = []
    for one in sorted(outcomes, key=lambda one: (one.noise, one.index)):
        name = f"Drive {one.index} ({one.kind}) at {one.noise:g}"
        answers = tuple(a for a in one.answers if is_false(a) == of_false)
        found += wrong([name], TRUTHS, [replace(one, index=0, answers=answers)], _standard(one))
    return found


def _standard(outcome: ProbedDrive) -> Standard:
    return FOREIGN if outcome.foreign else OWN


@dataclass(frozen=True)
class _Count:
    """Numbers of answers."""

    asked: int
    given: int
    wrong: int
    false: int

    @staticmethod
    def of(answers: Iterable[tuple[GradedAnswer, Standard]]) -> "_Count":
        """Of answers, each with what is asked of it."""
        every = list(answers)
        wrongs = [
            answer
            for answer, standard in every
            if is_wrong(answer, discrete=_DISCRETE[answer.finding], standard=standard)
        ]
        given = sum(answer.value is not None for answer, _ in every)
        return _Count(len(every), given, len(wrongs), sum(map(is_false, wrongs)))

    @property
    def unidentified(self) -> float:
        """The share of answers that are not identifiable."""
        return 1 - self.given / self.asked if self.asked else math.nan

    @property
    def cells(self) -> tuple[str, ...]:
        """The numbers, and the share of the answers that are not identifiable, in percent."""
        numbers = (self.asked, self.given, self.wrong, self.false)
        return (*map(str, numbers), percent(self.unidentified))


_Key = tuple[int, str]


def _intervals(outcomes: Sequence[ProbedDrive], *, bounds: bool) -> dict[_Key, GradedAnswer]:
    """The answers with an interval, of continuous findings of things that are there, by drive and
    finding."""
    return {
        (one.index, answer.finding): answer
        for one in outcomes
        for answer in one.answers
        if answer.truth and answer.value and not _DISCRETE[answer.finding]
        if answer.interval is not None and answer.bounds == bounds
    }


def _widths(outcomes: Sequence[ProbedDrive]) -> dict[_Key, float]:
    """The widths of the same intervals, of both kinds, over the values. With noise, what was
    between bounds may have an interval that describes scatter."""
    answers = _intervals(outcomes, bounds=False) | _intervals(outcomes, bounds=True)
    return {
        key: (one.interval[1] - one.interval[0]) / one.value
        for key, one in answers.items()
        if one.interval and one.value
    }


def _holding(answers: Iterable[GradedAnswer]) -> float:
    """The share of the intervals that hold the truth; NaN of none."""
    held = [one.interval[0] <= one.truth <= one.interval[1] for one in answers if one.interval]
    return sum(held) / len(held) if held else math.nan


def level_rows(outcomes: Sequence[ProbedDrive]) -> list[tuple[str, ...]]:
    """A row for each level of noise."""
    levels = sorted({one.noise for one in outcomes})
    first = _widths([one for one in outcomes if one.noise == levels[0]])
    found = []
    for noise in levels:
        here = [one for one in outcomes if one.noise == noise]
        scatter, bounds = (_intervals(here, bounds=bounds) for bounds in (False, True))
        widths = _widths(here)
        wider = [
            width / first[key]
            for key, width in widths.items()
            if noise != levels[0] and first.get(key)
        ]
        times = quantile_of(wider, 0.5)
        found.append(
            (
                f"{noise:g}",
                str(len(here)),
                *_Count.of((a, _standard(one)) for one in here for a in one.answers).cells,
                str(len(scatter)),
                percent(_holding(scatter.values())),
                str(len(bounds)),
                percent(_holding(bounds.values())),
                percent(quantile_of(list(widths.values()), 0.5)),
                "" if math.isnan(times) else f"{times:.3g}",
            )
        )
    return found


def finding_rows(outcomes: Sequence[ProbedDrive]) -> list[tuple[str, ...]]:
    """A row for each finding that was asked for, over all levels but the quiet one: the one with
    the most false claims first, then the one with the most wrong values."""
    counted = [
        (
            truth.finding,
            _Count.of(
                (answer, _standard(one))
                for one in outcomes
                for answer in one.answers
                if one.noise and answer.finding == truth.finding
            ),
        )
        for truth in TRUTHS
    ]
    counted = [(name, count) for name, count in counted if count.asked]
    counted.sort(key=lambda one: (-one[1].false, -one[1].wrong))
    return [(name, *count.cells) for name, count in counted]


def render_noise(outcomes: Sequence[ProbedDrive], *, seed: int) -> str:
    """The document for drives of that seed with noise."""
    levels = sorted({one.noise for one in outcomes})
    foreign = any(one.foreign for one in outcomes)
    command = f"{'--foreign ' if foreign else ''}--noise {' '.join(f'{one:g}' for one in levels)}"
    drives = len({one.index for one in outcomes})
    drawn = (
        "of other people's design, drawn as for [explain-foreign.md](explain-foreign.md); every "
        "other one has variation of its own"
        if foreign
        else "of this project's simulator, drawn as for [explain-arena.md](explain-arena.md)"
    )

    def listed(sentences: Sequence[str]) -> list[str]:
        return [f"- {sentence}" for sentence in sentences or ("None.",)]

    lines = [
        "# What the probes find where measurements are noisy"
        + (": drives of other people's design" if foreign else ""),
        "",
        f"Written by `fourcorners arena explain {command} --drives {drives} --seed {seed} --write "
        f"docs`. The drives, {drives} of that seed, are {drawn}. Each is probed at every "
        "level of noise, which is put between it and the probes (drive/disturbed). At "
        f"{levels[-1]:g}, {described(levels[-1])} At the other levels all of "
        "that is in proportion. Noise should make intervals wider and more findings not "
        "identifiable, and no finding wrong. All figures are of simulated drives.",
        "",
        "## By level",
        "",
        LEGEND,
        "",
        markdown_table(HEADER, level_rows(outcomes), NUMBERS),
        "",
        "## False claims",
        "",
        *listed(false_claims(outcomes)),
        "",
        "## Wrong values",
        "",
        *listed(wrong_values(outcomes)),
        "",
        "## By finding",
        "",
        "At all levels but 0:",
        "",
        markdown_table(FINDING_HEADER, finding_rows(outcomes), NUMBERS),
        "",
        *failures(outcomes),
    ]
    return "\n".join(lines).rstrip() + "\n"
