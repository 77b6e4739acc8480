"""The contest: all sentences about every drive, and which of them are true."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from fourcorners import catalog
from fourcorners.analysis import Finding, find
from fourcorners.running.begin import run
from fourcorners.store import Run
from fourcorners.suites.suite import Suite, find_suite
from fourcorners.target.open import open_target
from fourcorners.validation.arena.explain.drives import Hidden, draw
from fourcorners.validation.arena.explain.known import known
from fourcorners.validation.arena.sentences.contradictions import contradictions
from fourcorners.validation.arena.sentences.drive import Drive
from fourcorners.validation.arena.sentences.page import Page
from fourcorners.validation.arena.sentences.rules import RULES
from fourcorners.validation.arena.side_by_side import run_all

_MORE_EVERY = 4
"""One hidden drive in so many is hammered and filled, too: that takes longer than all else."""

_SHORT = ("four-corners", "queue-depth", "transfer-size", "consistency")


@dataclass(frozen=True)
class Said:
    """One sentence about one drive; ``holds`` is ``None`` where nothing tells."""

    name: str
    text: str
    holds: bool | None
    why: str


@dataclass(frozen=True)
class Outcome:
    """One drive or run: ``drive`` says which, with the seed."""

    drive: str
    kind: str
    said: tuple[Said, ...]


@dataclass(frozen=True)
class Score:
    """How one sentence did."""

    name: str
    said: int
    true: int
    untold: int
    false: int


def suite_of(index: int | None = None) -> Suite:
    """What a drive of that number goes through; of the catalog's (``None``) the short tests."""
    file = resources.files(__package__).joinpath("suite.toml")
    with resources.as_file(file) as path:
        suite = find_suite(str(path))
    return suite if index is not None and index % _MORE_EVERY == 0 else suite.only(_SHORT)


def run_contest(
    executor: Executor,
    *,
    drives: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> list[Outcome]:
    """All outcomes of hidden drives, in order; arguments as of the contest of the probes."""
    return run_all(executor, run_drive, count=drives, seed=seed, progress=progress)


def run_catalog(
    executor: Executor, *, seed: int, progress: Callable[[int, int], None] | None = None
) -> list[Outcome]:
    """The same of all drives of the catalog, in the order of their names."""
    return run_all(executor, run_known, count=len(catalog.names()), seed=seed, progress=progress)


def run_drive(seed: int, index: int) -> Outcome:
    """Says all there is to say about one hidden drive, and judges it."""
    return _measured(draw(seed, index), suite_of(index), f"hidden drive {index} of seed {seed}")


def run_known(seed: int, index: int) -> Outcome:
    """The same of one drive of the catalog."""
    hidden = known(index, seed)
    return _measured(hidden, suite_of(), f"{hidden.drive.id}, seed {seed}")


def _measured(hidden: Hidden, suite: Suite, name: str) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{hidden.drive.id}.toml"
        file.write_text(hidden.drive.text, "utf-8")
        with open_target(str(file), seed=hidden.seed) as target:
            made = run(suite, target, seed=hidden.seed, out=Path(folder) / "runs")
        drive = Drive(hidden, suite, Path(folder))
        said = [Finding(**finding) for finding in made.findings]
        return Outcome(name, hidden.kind, tuple(judge(Page(made, said), drive)))


def judge_run(path: Path) -> Outcome:
    """Judges what is said of a run, of whatever target, by its recordings and the page alone."""
    kept = Run(path)
    target = kept.manifest["target"]
    return Outcome(path.name, str(target.get("kind")), tuple(judge(Page(kept, find(kept)), None)))


def judge(page: Page, drive: Drive | None) -> list[Said]:
    """Every sentence of a page, held against its rule and the others."""
    said = []
    clashes = {id(claim): why for claim, why in contradictions(page)}
    for claim in page.claims:
        rule = RULES.get(claim.name)
        if rule is None:
            said.append(Said(claim.name, claim.text, False, "the check has no rule for it"))
            continue
        ruling = rule(claim, page, drive)
        why = clashes.get(id(claim), "")
        if ruling.holds is False or not why:
            said.append(Said(claim.name, claim.text, ruling.holds, ruling.why))
        else:
            said.append(Said(claim.name, claim.text, False, why))
    return said


def false(outcomes: Iterable[Outcome]) -> list[tuple[Outcome, Said]]:
    """What was said and is not so."""
    return [(one, said) for one in outcomes for said in one.said if said.holds is False]


def scores(outcomes: Sequence[Outcome]) -> list[Score]:
    """How the sentences did: the false ones first, then what was said most."""
    names = {said.name for one in outcomes for said in one.said}
    counted = []
    for name in names:
        said = [s.holds for one in outcomes for s in one.said if s.name == name]
        counted.append(
            Score(name, len(said), said.count(True), said.count(None), said.count(False))
        )
    return sorted(counted, key=lambda score: (-score.false, -score.said, score.name))
