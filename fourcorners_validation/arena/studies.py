"""The contests as calls: each returns its scores, with tables and sentences for people."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fourcorners.catalog import names
from fourcorners.documents import Seed
from fourcorners.errors import UserError
from fourcorners.store.kept_runs import kept_runs
from fourcorners_validation.arena.explain import contest as probing
from fourcorners_validation.arena.explain import document as probing_document
from fourcorners_validation.arena.explain import foreign_document, side_by_side
from fourcorners_validation.arena.explain.goals import FOREIGN
from fourcorners_validation.arena.explain.noise import check_noise
from fourcorners_validation.arena.explain.program import check_program, run_foreign, run_program
from fourcorners_validation.arena.explain.specimens import SOURCES, compile_specimens
from fourcorners_validation.arena.explain.truths import TRUTHS
from fourcorners_validation.arena.frame import run_all, run_catalog
from fourcorners_validation.arena.sentences import contest as saying
from fourcorners_validation.arena.sentences import document as saying_document
from fourcorners_validation.arena.steady import document as steady_document
from fourcorners_validation.arena.steady import foreign_document as steady_foreign_document
from fourcorners_validation.arena.steady import measured_page
from fourcorners_validation.arena.steady.contest import (
    ContestantScore,
    StoppedTrace,
    by_kind,
    run_trace,
    score,
)
from fourcorners_validation.arena.steady.contestants import CONTESTANTS, JUDGE
from fourcorners_validation.arena.steady.foreign import run_foreign_trace
from fourcorners_validation.arena.steady.measured import (
    JudgedSeries,
    MeasuredScore,
    SeriesRow,
    judge_series,
    read_folder,
    score_measured,
)
from fourcorners_validation.arena.steady.recipes import Compared, run_recipes
from fourcorners_validation.study import Written, outputs, workers
from fourcorners_validation.study import write as write_documents

# As many as make a share of 5 % known within 4 and 3 points (95 %, binomial).
_DRIVES_PROBED, _DRIVES_TOLD_OF = 100, 200
_FOREIGN_PROBED = 63
"""Nine of each specimen."""
_TRACES, _FOREIGN_TRACES = 240, 105

_NOTHING_WRONG = "Nothing that was said is wrong."

Rows = Sequence[Sequence[str]]
DrawnResult = TypeVar("DrawnResult")


def _silent(_: str) -> None:
    """Reports no progress."""


@dataclass(frozen=True)
class SteadyDocument:
    """What ``arena steady --json`` prints."""

    seed: Seed
    scores: Sequence[ContestantScore]
    preconditioning: Sequence[Compared]


@dataclass(frozen=True)
class SteadyStudy(Written):
    """The scores of judges of steady state on random drives."""

    seed: int
    traces: tuple[StoppedTrace, ...]
    preconditioning: tuple[Compared, ...]

    @property
    def tables(self) -> list[tuple[Sequence[str], Rows]]:
        """Heads and rows: all judges, the product's own by kind, departures, preconditioning."""
        head = steady_document.SCORES
        kinds = [
            (kind, *steady_document.score_row(row)[1:]) for kind, row in by_kind(JUDGE, self.traces)
        ]
        judges = [steady_document.score_row(score(name, self.traces)) for name in CONTESTANTS]
        return [
            (head, judges),
            (("the judge, by kind", *head[1:]), kinds),
            (steady_document.DEPARTURES, steady_document.departure_rows(self.traces)),
            (steady_document.RECIPES, steady_document.recipe_rows(self.preconditioning)),
        ]

    @property
    def lines(self) -> list[str]:
        """Sentences below the tables: none."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """The study as a :class:`SteadyDocument`."""
        scores = [score(name, self.traces) for name in CONTESTANTS]
        return vars(SteadyDocument(self.seed, scores, self.preconditioning))


@dataclass(frozen=True)
class ForeignSteadyStudy(SteadyStudy):
    """The same on drives that others designed; no preconditioning is compared on them."""

    @property
    def tables(self) -> list[tuple[Sequence[str], Rows]]:
        """Heads and rows: all judges, the product's own by specimen, departures."""
        return super().tables[:3]

    @property
    def lines(self) -> list[str]:
        """The result, and what was falsely steady."""
        return [
            steady_foreign_document.result(self.traces),
            *steady_foreign_document.falsely_steady(self.traces),
        ]


def arena_steady(
    *,
    traces: int | None = None,
    foreign: bool = False,
    specimens: str | Path | None = None,
    seed: int = 1,
    jobs: int = 2,
    write: str | Path | None = None,
    replace: bool = False,
    tell: Callable[[str], object] = _silent,
) -> SteadyStudy:
    """Lets judges of steady state stop tests of random simulated drives.

    Args:
        traces: how many drives are drawn: 240 by default, 105 foreign ones; kinds take turns.
        foreign: drives of other people's design instead, which are C programs.
        specimens: the folder of their sources, by default ``tests/specimens`` of the clone.
        seed: root of all randomness.
        jobs: how many drives run at the same time; each takes up to 1 GB of memory.
        write: a folder to write ``steady-state.md`` to, or ``steady-foreign.md``.
        replace: replace a file of any content.
        tell: told how many drives are done.

    Raises :class:`UserError` for a folder that cannot be written to, and for foreign drives that
    cannot be compiled.
    """
    name = steady_foreign_document.NAME if foreign else "steady-state.md"
    to = outputs(write, [name], replace)
    progress = _counting(tell, "traces")
    if foreign:
        with _compiled(specimens) as programs, workers(jobs) as executor:
            one = partial(run_foreign_trace, programs)
            count = traces or _FOREIGN_TRACES
            stopped = run_all(executor, one, count=count, seed=seed, progress=progress)
        found = ForeignSteadyStudy(seed, tuple(stopped), ())
        render = steady_foreign_document.render_foreign_traces
        return write_documents(found, [partial(render, stopped, seed=seed)], to)
    _only_foreign(specimens)
    count = traces or _TRACES
    with workers(jobs) as executor:
        stopped = run_all(executor, run_trace, count=count, seed=seed, progress=progress)
        recipes = run_recipes(executor, traces=count, seed=seed)
    study = SteadyStudy(seed, tuple(stopped), tuple(recipes))
    text = partial(steady_document.render_markdown, stopped, recipes, seed=seed)
    return write_documents(study, [text], to)


def _only_foreign(specimens: str | Path | None) -> None:
    if specimens is not None:
        raise UserError("--specimens is the folder of the drives of --foreign: name both")


@contextmanager
def _compiled(specimens: str | Path | None) -> Iterator[str]:
    """A folder with the compiled specimens."""
    with tempfile.TemporaryDirectory() as programs:
        compile_specimens(Path(specimens or SOURCES), Path(programs))
        yield programs


@dataclass(frozen=True)
class SeriesDocument:
    """What ``arena series --json`` prints."""

    score: MeasuredScore
    series: Sequence[SeriesRow]


@dataclass(frozen=True)
class SeriesStudy(Written):
    """The scores of the judge of steady state on series that were measured on real drives."""

    series: tuple[JudgedSeries, ...]

    @property
    def tables(self) -> list[tuple[Sequence[str], Rows]]:
        """Heads and rows: a row for each series of random writes."""
        return [(measured_page.HEADER, measured_page.measured_rows(self.series))]

    @property
    def lines(self) -> list[str]:
        """The scores below the table."""
        return measured_page.measured_lines(self.series)

    def to_dict(self) -> dict[str, Any]:
        """The study as a :class:`SeriesDocument`."""
        total = score_measured([one for one in self.series if not one.measured.is_fill])
        return vars(SeriesDocument(total, [one.row for one in self.series]))


def arena_series(
    folder: str | Path, *, write: str | Path | None = None, replace: bool = False
) -> SeriesStudy:
    """Lets the judge of steady state stop series that were measured on real drives.

    Args:
        folder: ``index.csv`` (columns file, device, experiment) and a file of each series
            (columns seconds, drive_writes, write_iops), such as those of SSD-iq.
        write: a folder to write ``steady-state-measured.md`` to.
        replace: replace a file of any content.

    Raises :class:`UserError` for files of another kind, and for a folder that cannot be written to.
    """
    to = outputs(write, [measured_page.NAME], replace)
    study = SeriesStudy(tuple(judge_series(one) for one in read_folder(Path(folder))))
    return write_documents(study, [partial(measured_page.render_measured, study.series)], to)


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
        """Heads and rows: each truth beside what was found, then a row for each finding."""
        beside = side_by_side.rows(self.names, self.drives, FOREIGN)
        return [(side_by_side.HEADER, beside), *super().tables]

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
    """The same of hidden drives with noise."""

    noise: float

    def _results(self) -> list[str]:
        return probing_document.false_claims(TRUTHS, self.drives) or [_NOTHING_WRONG]

    def markdown(self) -> str:
        """The study as a document."""
        return probing_document.render_noise(
            self.scores, TRUTHS, self.drives, seed=self.seed, noise=self.noise
        )


def arena_explain(
    *,
    drives: int | None = None,
    catalog: bool = False,
    foreign: bool = False,
    specimens: str | Path | None = None,
    target: Sequence[str] = (),
    noise: float = 0.0,
    seed: int = 1,
    jobs: int = 2,
    write: str | Path | None = None,
    replace: bool = False,
    tell: Callable[[str], object] = _silent,
) -> ProbingStudy:
    """Lets the probes find out what is in random simulated drives.

    Args:
        drives: how many drives are drawn: 100 by default, 63 foreign ones; kinds take turns.
        catalog: all drives of the catalog instead.
        foreign: drives of other people's design instead, which are C programs.
        specimens: the folder of their sources, by default ``tests/specimens`` of the clone.
        target: instead programs that simulate drives and say what is true of them
            (``exec:COMMAND``).
        noise: what a real system adds, up to 0.2: service times spread by this share of their mean,
            and other disturbances are as strong (``fourcorners_validation.arena.explain.noise``).
        seed: root of all randomness.
        jobs: how many drives run at the same time; each takes up to 1 GB of memory.
        write: a folder to write ``explain-arena.md`` to, or ``explain-catalog.md``,
            ``explain-foreign.md``, or ``explain-noise.md`` of drawn drives with noise.
        replace: replace a file of any content.
        tell: told how many drives are done.

    Raises :class:`UserError` for a folder that cannot be written to, for noise beyond reason, for
    programs that are no drives or say nothing that can be graded, and for foreign drives that
    cannot be compiled.
    """
    if sum((drives is not None and not foreign, catalog, foreign, bool(target))) > 1:
        raise UserError("use one of --drives, --catalog, --foreign and --target")
    if not foreign:
        _only_foreign(specimens)
    check_noise(noise)
    if noise and (catalog or foreign) and write is not None:
        raise UserError("--write with --noise is for drawn drives: leave out the other option")
    if target:
        return _of_programs(target, noise, seed, jobs, write, tell)
    name = probing_document.CATALOG_NAME if catalog else probing_document.NAME
    drawn = probing_document.NOISE_NAME if noise else name
    to = outputs(write, [foreign_document.NAME if foreign else drawn], replace)
    if foreign:
        with _compiled(specimens) as programs:
            one: _ProbeOne = partial(run_foreign, programs, noise=noise)
            probed = _drawn(one, False, drives or _FOREIGN_PROBED, seed, jobs, tell)
    else:
        one = partial(probing.run_known if catalog else probing.run_drive, noise=noise)
        probed = _drawn(one, catalog, drives or _DRIVES_PROBED, seed, jobs, tell)
    scores, found = _scored(probed), tuple(probed)
    if catalog:
        study: ProbingStudy = KnownStudy(seed, scores, found, tuple(names()))
    elif noise and not foreign:
        study = NoiseStudy(seed, scores, found, noise)
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
    with workers(jobs) as executor:
        found = run_all(
            executor, one_of, count=len(target), seed=seed, progress=_counting(tell, "drives")
        )
    scores = tuple(score for score in _scored(found) if score.drives)
    return TargetStudy(seed, scores, tuple(found), tuple(target))


def _scored(probed: Sequence[probing.ProbedDrive]) -> tuple[probing.FindingScore, ...]:
    return tuple(probing.score(truth, probed) for truth in TRUTHS)


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
    tell: Callable[[str], object] = _silent,
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
        _only_foreign(specimens)
    if runs is not None:
        if write is not None:
            raise UserError("--write is for simulated drives: leave it out with --runs")
        kept = kept_runs([Path(runs)])
        return SentenceStudy(seed, tuple(saying.judge_run(one.run.path) for one in kept))
    count = drives or (_FOREIGN_PROBED if foreign else _DRIVES_TOLD_OF)
    if foreign:
        name, which, of = saying_document.FOREIGN_NAME, "--foreign ", saying_document.FOREIGN
    elif catalog:
        name, which, of = saying_document.CATALOG_NAME, "--catalog", saying_document.CATALOG
    else:
        name, which, of = saying_document.NAME, "", saying_document.HIDDEN
    to = outputs(write, [name], replace)
    if foreign:
        with _compiled(specimens) as programs:
            of_programs = partial(saying.run_foreign_drive, programs)
            judged = _drawn(of_programs, False, count, seed, jobs, tell)
    else:
        one = saying.run_known if catalog else saying.run_drive
        judged = _drawn(one, catalog, count, seed, jobs, tell)
    study = SentenceStudy(seed, tuple(judged))
    drawn = which if catalog else f"{which}--drives {count}"
    command = f"fourcorners arena sentences {drawn} --seed {seed} --write docs"
    return write_documents(
        study, [partial(saying_document.render_markdown, judged, command, of)], to
    )


ArenaStudy = SteadyStudy | SeriesStudy | ProbingStudy | SentenceStudy


def _drawn(
    one: Callable[[int, int], DrawnResult],
    catalog: bool,
    count: int,
    seed: int,
    jobs: int,
    tell: Callable[[str], object],
) -> list[DrawnResult]:
    """The outcome of each drive, of the catalog or of a number of drawn ones."""
    progress = _counting(tell, "drives")
    with workers(jobs) as executor:
        if catalog:
            return run_catalog(executor, one, seed=seed, progress=progress)
        return run_all(executor, one, count=count, seed=seed, progress=progress)


def _counting(tell: Callable[[str], object], what: str) -> Callable[[int, int], None]:
    def told(done: int, count: int) -> None:
        if done % 10 == 0 or done == count:
            tell(f"{done} of {count} {what}")

    return told
