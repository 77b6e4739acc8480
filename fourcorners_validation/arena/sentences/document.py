"""docs/sentences-arena.md: how many sentences were written, and which of them were false."""

from __future__ import annotations

from collections.abc import Sequence

from fourcorners_validation.arena.explain.drives import KINDS
from fourcorners_validation.arena.explain.foreign import SPECIMENS
from fourcorners_validation.arena.sentences.contest import JudgedDrive, SentenceScore, false, scores
from fourcorners_validation.arena.tables import NUMBERS, markdown_table

NAME, CATALOG_NAME = "sentences-arena.md", "sentences-catalog.md"
FOREIGN_NAME = "sentences-foreign.md"

HIDDEN = (
    "Drives are drawn at random (fourcorners_validation/arena/explain/drives.py): "
    f"{', '.join(KINDS)}, each kind in turn."
)
CATALOG = "The drives are those of the catalog, at their full size."
FOREIGN = (
    "Drives are programs of other people's design (tests/specimens), with arguments that are drawn "
    f"at random (fourcorners_validation/arena/explain/foreign.py): {', '.join(SPECIMENS)}, each in "
    "turn; half of them have variation of service times."
)
"""What the drives of a document are."""

HEADER = ("sentence", "written", "true", "undecided", "false")

TITLES = {
    HIDDEN: "Whether the sentences about a drive are true",
    CATALOG: "Whether the sentences about the catalog's drives are true",
    FOREIGN: "Whether the sentences about drives of other people's design are true",
}

LEGEND = (
    "*written*: how often the sentence appears; *true*: its rule confirms it; *undecided*: its "
    "rule needs something that is not known of that drive (a steady state that theory gives, a "
    "second measurement); *false*: its rule refutes it, or another sentence of the page "
    "contradicts it."
)


def row(score: SentenceScore) -> tuple[str, ...]:
    """One sentence, in words."""
    counts = (score.said, score.true, score.untold, score.false)
    return (score.name, *(f"{count:,}" for count in counts))


def summary(outcomes: Sequence[JudgedDrive]) -> str:
    """The totals in one sentence."""
    said = [one.holds for outcome in outcomes for one in outcome.said]
    return (
        f"{len(said):,} sentences about {len(outcomes)} drives or runs: {said.count(True):,} true, "
        f"{said.count(None):,} undecided, {said.count(False):,} false."
    )


def false_lines(outcomes: Sequence[JudgedDrive]) -> list[str]:
    """Each false sentence with its drive and seed."""
    return [
        f"{outcome.drive} ({outcome.kind}): {said.name}: “{said.text}” But {said.why}."
        for outcome, said in false(outcomes)
    ]


def render_markdown(outcomes: Sequence[JudgedDrive], command: str, drives: str) -> str:
    """The document that the command writes; ``drives`` says what they are."""
    lines = [
        f"# {TITLES[drives]}",
        "",
        f"Written by `{command}`. {drives} Each goes through the tests of the reviews in a quick "
        "form (fourcorners_validation/arena/sentences/suite.toml; one drawn drive in four also "
        "goes through the tests of filling, recovery and positions). Every sentence of the "
        "summary, the advice, the spec sheet, the artefacts and the findings on sustained writes "
        "is compared with the recordings, with the same tests under another seed, and with the "
        "known truth about the drive (fourcorners_validation/arena/sentences/). All figures are of "
        "simulated drives.",
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
