"""The contest of the probes as a call, which returns its scores, with tables and sentences for
people."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fourcorners.catalog import names
from fourcorners.documents import Seed
from fourcorners.errors import UserError
from fourcorners_validation.arena.drawn import (
    FOREIGN_PROBED,
    Rows,
    compiled,
    only_foreign,
    run_all,
    silent,
)
from fourcorners_validation.arena.explain import contest as probing
from fourcorners_validation.arena.explain import document as probing_document
from fourcorners_validation.arena.explain import foreign_document, noise_document, side_by_side
from fourcorners_validation.arena.explain.goals import FOREIGN
from fourcorners_validation.arena.explain.noise import check_noise
from fourcorners_validation.arena.explain.noise_levels import AtLevels
from fourcorners_validation.arena.explain.program import check_program, run_foreign, run_program
from fourcorners_validation.arena.explain.truths import TRUTHS
from fourcorners_validation.study import Written, outputs
from fourcorners_validation.study import write as write_documents

# As many as make a share of 5 % known within 4 points (95 %, binomial).
_DRIVES_PROBED = 100
# One of each kind or specimen: at five levels the own ones take about ten minutes of a processor.
_DRIVES_DISTURBED = 7

_NOTHING_WRONG = "Nothing that was said is wrong."


@dataclass(frozen=True)
class ProbingDocument:
    """What ``arena explain --json`` prints."""

    seed: Seed
    scores: Sequence[probing.FindingScore]
    drives: Sequence[probing.ProbedDrive]


@dataclass(frozen=True)
class ProbingStudy(Written):
    """The scores of the probes of hidden drives that were drawn."""

    seed: int
    scores: tuple[probing.FindingScore, ...]
    drives: tuple[probing.ProbedDrive, ...]

    @property
    def tables(self) -> list[tuple[Sequence[str], Rows]]:
        """Heads and rows: a row for each finding."""
        return [(probing_document.HEADER, [probing_document.row(one) for one in self.scores])]

    @property
    def lines(self) -> list[str]:
        """Sentences below the table: what its heads mean, the results, and what failed."""
        legend = probing_document.LEGEND.replace("*", "") + "\n"
        return [legend, *self._results(), *probing_document.failures(self.drives)]

    def _results(self) -> list[str]:
        return probing_document.goals(self.scores)

    def to_dict(self) -> dict[str, Any]:
        """The study as a :class:`ProbingDocument`."""
        return vars(ProbingDocument(self.seed, self.scores, self.drives))

    def markdown(self) -> str:
        """The study as a document."""
        return probing_document.render_markdown(self.scores, self.drives, seed=self.seed)


@dataclass(frozen=True)
class KnownStudy(ProbingStudy):
    """The same of the catalog's drives, by their names."""

    names: tuple[str, ...]

    def _results(self) -> list[str]:
        return self.wrong or [_NOTHING_WRONG]

    @property
    def wrong(self) -> list[str]:
        """The wrong findings about known drives, in sentences."""
        return probing_document.wrong(self.names, TRUTHS, self.drives)

    def markdown(self) -> str:
        """The study as a document."""
        return probing_document.render_catalog(self.scores, self.drives, self.wrong, seed=self.seed)


@dataclass(frozen=True)
class TargetStudy(KnownStudy):
    """The same of programs that say what is true of their drives."""

    @property
    def tables(self) -> list[tuple[Sequence[str], Rows]]:
        """Heads and rows: each truth beside what was found, then a row for each finding. A single
        drive, whose command may be as long as a line, is not named in each row."""
        beside = side_by_side.rows(self.names, self.drives, FOREIGN)
        first = 1 if len(self.names) == 1 else 0
        rows = [row[first:] for row in beside]
        return [(side_by_side.HEADER[first:], rows), *super().tables]

    @property
    def wrong(self) -> list[str]:
        """The wrong findings, in sentences."""
        return probing_document.wrong(self.names, TRUTHS, self.drives, FOREIGN)


@dataclass(frozen=True)
class ForeignStudy(ProbingStudy):
    """The same of foreign drives that were drawn."""

    @property
    def tables(self) -> list[tuple[Sequence[str], Rows]]:
        """Heads and rows: a row for each finding, and for each specimen."""
        document = foreign_document
        return [
            (document.HEADER, document.rows(self.scores, self.drives)),
            (document.SPECIMEN_HEADER, document.specimen_rows(self.drives)),
        ]

    @property
    def lines(self) -> list[str]:
        """Sentences below the tables: false claims, wrong values, goals, and what failed."""
        names = foreign_document.names(self.seed, len(self.drives))
        false = foreign_document.false_claims(names, self.drives)
        wrong = foreign_document.wrong_values(names, self.drives)
        return [
            foreign_document.LEGEND.replace("*", "") + "\n",
            *(f"FALSE {sentence}" for sentence in false),
            *(f"WRONG {sentence}" for sentence in wrong),
            *foreign_document.met(self.scores, self.drives),
            *probing_document.failures(self.drives),
        ]

    def markdown(self) -> str:
        """The study as a document."""
        return foreign_document.render_foreign(self.scores, self.drives, seed=self.seed)


@dataclass(frozen=True)
class NoiseStudy(ProbingStudy):
    """The same of drawn drives, each at several levels of noise."""

    @property
    def tables(self) -> list[tuple[Sequence[str], Rows]]:
        """Heads and rows: a row for each level, and for each finding."""
        return [
            (noise_document.HEADER, noise_document.level_rows(self.drives)),
            (noise_document.FINDING_HEADER, noise_document.finding_rows(self.drives)),
        ]

    @property
    def lines(self) -> list[str]:
        """Sentences below the tables: false claims, wrong values, and what failed."""
        false = noise_document.false_claims(self.drives)
        wrong = noise_document.wrong_values(self.drives)
        return [
            noise_document.LEGEND.replace("*", "") + "\n",
            *(f"FALSE {sentence}" for sentence in false),
            *(f"WRONG {sentence}" for sentence in wrong),
            *([] if false or wrong else [_NOTHING_WRONG]),
            *probing_document.failures(self.drives),
        ]

    def markdown(self) -> str:
        """The study as a document."""
        return noise_document.render_noise(self.drives, seed=self.seed)


def arena_explain(
    *,
    drives: int | None = None,
    catalog: bool = False,
    foreign: bool = False,
    specimens: str | Path | None = None,
    target: Sequence[str] = (),
    noise: Sequence[float] = (),
    seed: int = 1,
    jobs: int = 2,
    write: str | Path | None = None,
    replace: bool = False,
    tell: Callable[[str], object] = silent,
) -> ProbingStudy:
    """Lets the probes find out what is in random simulated drives.

    Args:
        drives: how many drives are drawn: 100 by default, 63 foreign ones, 7 with noise; kinds
            take turns.
        catalog: all drives of the catalog instead.
        foreign: drives of other people's design instead, which are C programs.
        specimens: the folder of their sources, by default ``tests/specimens`` of the clone.
        target: instead programs that simulate drives and say what is true of them
            (``exec:COMMAND``).
        noise: what a real system adds, up to 0.2: service times spread by this share of their mean,
            and other disturbances are as strong (``fourcorners_validation.arena.explain.noise``).
            Each drawn drive is probed at every level; ``catalog`` and ``target`` take one.
        seed: root of all randomness.
        jobs: how many drives run at the same time; each takes up to 1 GB of memory.
        write: a folder to write ``explain-arena.md`` to, or ``explain-catalog.md``,
            ``explain-foreign.md``; with noise ``explain-noise.md`` or
            ``explain-noise-foreign.md``.
        replace: replace a file of any content.
        tell: told how many drives are done.

    Raises :class:`UserError` for a folder that cannot be written to, for noise beyond reason, for
    programs that are no drives or say nothing that can be graded, and for foreign drives that
    cannot be compiled.
    """
    if sum((drives is not None and not foreign, catalog, foreign, bool(target))) > 1:
        raise UserError("use one of --drives, --catalog, --foreign and --target")
    if not foreign:
        only_foreign(specimens)
    check_noise(noise)
    if noise and catalog and write is not None:
        raise UserError("--write with --noise is for drawn drives: leave out --catalog")
    if len(noise) > 1 and (catalog or target):
        raise UserError("--noise: use one level with --catalog and --target")
    if target:
        return _of_programs(target, sum(noise), seed, jobs, write, tell)
    if noise and not catalog:
        count = drives or _DRIVES_DISTURBED
        return _disturbed(noise, count, foreign, specimens, seed, jobs, write, replace, tell)
    drawn = probing_document.CATALOG_NAME if catalog else probing_document.NAME
    to = outputs(write, [foreign_document.NAME if foreign else drawn], replace)
    if foreign:
        with compiled(specimens) as programs:
            one: _ProbeOne = partial(run_foreign, programs)
            probed = run_all(one, drives or FOREIGN_PROBED, seed=seed, jobs=jobs, tell=tell)
    else:
        one = partial(probing.run_known, noise=sum(noise)) if catalog else probing.run_drive
        count = len(names()) if catalog else drives or _DRIVES_PROBED
        probed = run_all(one, count, seed=seed, jobs=jobs, tell=tell)
    scores, found = _scored(probed), tuple(probed)
    if catalog:
        study: ProbingStudy = KnownStudy(seed, scores, found, tuple(names()))
    else:
        study = (ForeignStudy if foreign else ProbingStudy)(seed, scores, found)
    return write_documents(study, [study.markdown], to)


_ProbeOne = Callable[[int, int], probing.ProbedDrive]


def _of_programs(
    target: Sequence[str],
    noise: float,
    seed: int,
    jobs: int,
    write: str | Path | None,
    tell: Callable[[str], object],
) -> TargetStudy:
    if write is not None:
        raise UserError("--write is for drives that are here: leave it out with --target")
    for locator in target:
        check_program(locator)
    one_of = partial(run_program, tuple(target), noise=noise)
    found = run_all(one_of, len(target), seed=seed, jobs=jobs, tell=tell)
    scores = tuple(score for score in _scored(found) if score.drives)
    return TargetStudy(seed, scores, tuple(found), tuple(target))


def _disturbed(
    noise: Sequence[float],
    drives: int,
    foreign: bool,
    specimens: str | Path | None,
    seed: int,
    jobs: int,
    write: str | Path | None,
    replace: bool,
    tell: Callable[[str], object],
) -> NoiseStudy:
    name = noise_document.FOREIGN_NAME if foreign else noise_document.NAME
    to = outputs(write, [name], replace)
    with compiled(specimens) if foreign else nullcontext("") as programs:
        one = partial(run_foreign, programs) if foreign else probing.run_drive
        at = AtLevels(one, sorted(noise))
        count = drives * len(noise)
        probed = run_all(at.run, count, seed=seed, jobs=jobs, tell=tell, what="runs")
    study = NoiseStudy(seed, _scored(probed), tuple(probed))
    return write_documents(study, [study.markdown], to)


def _scored(probed: Sequence[probing.ProbedDrive]) -> tuple[probing.FindingScore, ...]:
    return tuple(probing.score(truth, probed) for truth in TRUTHS)
