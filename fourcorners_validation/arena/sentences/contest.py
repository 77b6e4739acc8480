"""The contest: checks which of the sentences about every drive are true."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from fourcorners.analysis import find
from fourcorners.documents import Count
from fourcorners.running.run import run
from fourcorners.store import Run
from fourcorners.suites.suite import Suite, find_suite
from fourcorners_validation.arena.explain.drives import Hidden, draw
from fourcorners_validation.arena.explain.foreign import draw_foreign
from fourcorners_validation.arena.explain.known import known
from fourcorners_validation.arena.hidden_run import measured
from fourcorners_validation.arena.sentences.contradictions import contradictions
from fourcorners_validation.arena.sentences.drive import ForeignDrive, KnownDrive, OwnDrive
from fourcorners_validation.arena.sentences.page import Page
from fourcorners_validation.arena.sentences.rules import RULES

_MORE_EVERY = 4
"""One hidden drive in this many is also hammered and filled, which takes longer than the rest."""

_SHORT = ("four-corners", "queue-depth", "transfer-size", "consistency")


@dataclass(frozen=True)
class JudgedSentence:
    """One sentence about one drive; ``holds`` is ``None`` if it is undecided."""

    name: str
    text: str
    holds: bool | None
    why: str


@dataclass(frozen=True)
class JudgedDrive:
    """One drive or run: ``drive`` says which, with the seed."""

    drive: str
    kind: str
    said: tuple[JudgedSentence, ...]


@dataclass(frozen=True)
class SentenceScore:
    """The score of one sentence."""

    name: str
    said: Count
    true: Count
    untold: Count
    false: Count


def suite_of(index: int | None = None) -> Suite:
    """What a drive of that number goes through; of the catalog's (``None``) the short tests."""
    file = resources.files(__package__).joinpath("suite.toml")
    with resources.as_file(file) as path:
        suite = find_suite(str(path))
    return suite if index is not None and index % _MORE_EVERY == 0 else suite.only(_SHORT)


def run_drive(seed: int, index: int) -> JudgedDrive:
    """Writes all sentences about one hidden drive, and judges them."""
    return _measured(draw(seed, index), suite_of(index), f"hidden drive {index} of seed {seed}")


def run_known(seed: int, index: int) -> JudgedDrive:
    """The same of one drive of the catalog."""
    hidden = known(index, seed)
    return _measured(hidden, suite_of(), f"{hidden.drive.id}, seed {seed}")


def _measured(hidden: Hidden, suite: Suite, name: str) -> JudgedDrive:
    with measured(hidden, suite) as (made, folder), OwnDrive(hidden, suite, folder) as drive:
        return JudgedDrive(name, hidden.kind, tuple(judge(Page(made, made.findings), drive)))


def run_foreign_drive(programs: str, seed: int, index: int) -> JudgedDrive:
    """The same of one foreign drive, of the compiled specimens in a folder."""
    foreign, suite = draw_foreign(seed, index), suite_of(index)
    with (
        tempfile.TemporaryDirectory() as folder,
        ForeignDrive(foreign, programs, suite, Path(folder)) as drive,
    ):
        with drive.opened() as target:
            made = run(suite, target, seed=foreign.seed, out=Path(folder) / "runs")
        said = tuple(judge(Page(made, made.findings), drive))
        name = f"foreign drive {index} of seed {seed}{'' if foreign.calm else ', varied'}"
        return JudgedDrive(name, foreign.specimen, said)


def judge_run(path: Path) -> JudgedDrive:
    """Judges the sentences about a run of any target, by its recordings and the page alone."""
    kept = Run(path)
    kind = kept.manifest.target.kind
    return JudgedDrive(path.name, kind, tuple(judge(Page(kept, find(kept)), None)))


def judge(page: Page, drive: KnownDrive | None) -> list[JudgedSentence]:
    """Judges every sentence of a page by its rule and by the other sentences."""
    said = []
    clashes = {id(claim): why for claim, why in contradictions(page)}
    for claim in page.claims:
        rule = RULES.get(claim.name)
        if rule is None:
            said.append(
                JudgedSentence(claim.name, claim.text, False, "the check has no rule for it")
            )
            continue
        ruling = rule(claim, page, drive)
        why = clashes.get(id(claim), "")
        if ruling.holds is False or not why:
            said.append(JudgedSentence(claim.name, claim.text, ruling.holds, ruling.why))
        else:
            said.append(JudgedSentence(claim.name, claim.text, False, why))
    return said


def false(outcomes: Iterable[JudgedDrive]) -> list[tuple[JudgedDrive, JudgedSentence]]:
    """The false sentences."""
    return [(one, said) for one in outcomes for said in one.said if said.holds is False]


def scores(outcomes: Sequence[JudgedDrive]) -> list[SentenceScore]:
    """The scores of the sentences: false ones first, then the most frequent ones."""
    names = {said.name for one in outcomes for said in one.said}
    counted = []
    for name in names:
        said = [s.holds for one in outcomes for s in one.said if s.name == name]
        counted.append(
            SentenceScore(name, len(said), said.count(True), said.count(None), said.count(False))
        )
    return sorted(counted, key=lambda score: (-score.false, -score.said, score.name))
