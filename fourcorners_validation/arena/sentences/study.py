"""The contest of the sentences as a call, which returns its scores, with tables and sentences for
people."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fourcorners.catalog import names
from fourcorners.documents import Seed
from fourcorners.errors import UserError
from fourcorners.store.kept_runs import kept_runs
from fourcorners_validation.arena.drawn import (
    FOREIGN_PROBED,
    Rows,
    compiled,
    only_foreign,
    run_all,
    silent,
)
from fourcorners_validation.arena.sentences import contest as saying
from fourcorners_validation.arena.sentences import document as saying_document
from fourcorners_validation.study import Written, outputs
from fourcorners_validation.study import write as write_documents

# As many as make a share of 5 % known within 3 points (95 %, binomial).
_DRIVES_TOLD_OF = 200


@dataclass(frozen=True)
class SentenceDocument:
    """What ``arena sentences --json`` prints."""

    seed: Seed
    scores: Sequence[saying.SentenceScore]
    drives: Sequence[saying.JudgedDrive]


@dataclass(frozen=True)
class SentenceStudy(Written):
    """The scores of the sentences about drives."""

    seed: int
    drives: tuple[saying.JudgedDrive, ...]

    @property
    def false(self) -> int:
        """How many sentences are not true."""
        return len(saying.false(self.drives))

    @property
    def tables(self) -> list[tuple[Sequence[str], Rows]]:
        """Heads and rows: a row for each sentence by its name."""
        rows = [saying_document.row(one) for one in saying.scores(self.drives)]
        return [(saying_document.HEADER, rows)]

    @property
    def lines(self) -> list[str]:
        """Sentences below the table: a summary, and those that are false."""
        return [saying_document.summary(self.drives), *saying_document.false_lines(self.drives)]

    def to_dict(self) -> dict[str, Any]:
        """The study as a :class:`SentenceDocument`."""
        return vars(SentenceDocument(self.seed, saying.scores(self.drives), self.drives))


def arena_sentences(
    *,
    drives: int | None = None,
    catalog: bool = False,
    foreign: bool = False,
    specimens: str | Path | None = None,
    runs: str | Path | None = None,
    seed: int = 1,
    jobs: int = 2,
    write: str | Path | None = None,
    replace: bool = False,
    tell: Callable[[str], object] = silent,
) -> SentenceStudy:
    """Compares every sentence about random simulated drives with the truth about them.

    Args:
        drives: how many drives are drawn: 200 by default, 63 foreign ones; kinds take turns.
        catalog: all drives of the catalog instead.
        foreign: drives of other people's design instead, which are C programs.
        specimens: the folder of their sources, by default ``tests/specimens`` of the clone.
        runs: the run folders in this folder instead, of any target; their sentences are compared
            with their recordings.
        seed: root of all randomness.
        jobs: how many drives run at the same time; each takes up to 1 GB of memory.
        write: a folder to write ``sentences-arena.md`` to, or ``sentences-catalog.md``, or
            ``sentences-foreign.md``.
        replace: replace a file of any content.
        tell: told how many drives are done.

    Raises :class:`UserError` for arguments that contradict each other, for a folder without run
    folders, for a folder that cannot be written to, and for foreign drives that cannot be compiled.
    """
    if sum((drives is not None and not foreign, catalog, foreign, runs is not None)) > 1:
        raise UserError("use one of --drives, --catalog, --foreign and --runs")
    if not foreign:
        only_foreign(specimens)
    if runs is not None:
        if write is not None:
            raise UserError("--write is for simulated drives: leave it out with --runs")
        kept = kept_runs([Path(runs)])
        return SentenceStudy(seed, tuple(saying.judge_run(one.run.path) for one in kept))
    count = len(names()) if catalog else drives or (FOREIGN_PROBED if foreign else _DRIVES_TOLD_OF)
    if foreign:
        name, which, of = saying_document.FOREIGN_NAME, "--foreign ", saying_document.FOREIGN
    elif catalog:
        name, which, of = saying_document.CATALOG_NAME, "--catalog", saying_document.CATALOG
    else:
        name, which, of = saying_document.NAME, "", saying_document.HIDDEN
    to = outputs(write, [name], replace)
    if foreign:
        with compiled(specimens) as programs:
            of_programs = partial(saying.run_foreign_drive, programs)
            judged = run_all(of_programs, count, seed=seed, jobs=jobs, tell=tell)
    else:
        one = saying.run_known if catalog else saying.run_drive
        judged = run_all(one, count, seed=seed, jobs=jobs, tell=tell)
    study = SentenceStudy(seed, tuple(judged))
    drawn = which if catalog else f"{which}--drives {count}"
    command = f"fourcorners arena sentences {drawn} --seed {seed} --write docs"
    return write_documents(
        study, [partial(saying_document.render_markdown, judged, command, of)], to
    )
