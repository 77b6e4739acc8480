"""docs/sentences-arena.md: how many sentences were said, and which were false."""

from __future__ import annotations

from collections.abc import Sequence

from fourcorners_validation.arena.explain.drives import KINDS
from fourcorners_validation.arena.sentences.contest import JudgedDrive, SentenceScore, false, scores
from fourcorners_validation.arena.tables import NUMBERS, markdown_table

NAME, CATALOG_NAME = "sentences-arena.md", "sentences-catalog.md"
HEADER = ("sentence", "said", "true", "not told", "false")

LEGEND = (
    "*said*: how often; *true*: so by its rule; *not told*: its rule needs what is not known of "
    "that drive (a steady state that theory has, a second reading); *false*: not so, or against "
    "another sentence of the page."
)


def row(score: SentenceScore) -> tuple[str, ...]:
    """One sentence, in words."""
    counts = (score.said, score.true, score.untold, score.false)
    return (score.name, *(f"{count:,}" for count in counts))


def summary(outcomes: Sequence[JudgedDrive]) -> str:
    """All of it in a sentence."""
    said = [one.holds for outcome in outcomes for one in outcome.said]
    return (
        f"{len(said):,} sentences about {len(outcomes)} drives or runs: {said.count(True):,} true, "
        f"{said.count(None):,} not told, {said.count(False):,} false."
    )


def false_lines(outcomes: Sequence[JudgedDrive]) -> list[str]:
    """Each false sentence with its drive and seed."""
    return [
        f"{outcome.drive} ({outcome.kind}): {said.name}: “{said.text}” But {said.why}."
        for outcome, said in false(outcomes)
    ]


def render_markdown(outcomes: Sequence[JudgedDrive], command: str, *, hidden: bool) -> str:
    """The document that the command writes."""
    drives = (
        f"Drives are drawn at random (fourcorners_validation/arena/explain/drives.py): "
        f"{', '.join(KINDS)}, in turns."
        if hidden
        else "The drives are those of the catalog, at their full size."
    )
    lines = [
        "# Whether what is said of a drive is true",
        "",
        f"Written by `{command}`. {drives} Each goes through the tests of the reviews in a quick "
        "form (fourcorners_validation/arena/sentences/suite.toml; one hidden drive in four through "
        "the tests of filling, of recovery and of positions, too). Every sentence of the summary, "
        "the advice, the spec sheet, the artefacts and the findings on how writes go on is held "
        "against the recordings, against the same tests with another seed, and against what is "
        "true of the drive (fourcorners_validation/arena/sentences/). All figures are of simulated "
        "drives.",
        "",
        summary(outcomes),
        "",
        "False:",
        "",
        *(f"- {line}" for line in false_lines(outcomes) or ["none."]),
        "",
        LEGEND,
        "",
        markdown_table(HEADER, map(row, scores(outcomes)), NUMBERS),
    ]
    return "\n".join(lines).rstrip() + "\n"
