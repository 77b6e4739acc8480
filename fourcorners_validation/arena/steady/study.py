"""The contests of the judges of steady state as calls: each returns its scores, with tables and
sentences for people."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fourcorners.documents import Seed
from fourcorners_validation.arena.drawn import (
    Rows,
    compiled,
    only_foreign,
    run_all,
    silent,
)
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

_TRACES, _FOREIGN_TRACES = 240, 105
"""A choice: enough for shares of 2 %, and the foreign drives take longer."""


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
    tell: Callable[[str], object] = silent,
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
    run_traces = partial(run_all, seed=seed, jobs=jobs, tell=tell, what="traces")
    if foreign:
        with compiled(specimens) as programs:
            stopped = run_traces(partial(run_foreign_trace, programs), traces or _FOREIGN_TRACES)
        found = ForeignSteadyStudy(seed, tuple(stopped), ())
        render = steady_foreign_document.render_foreign_traces
        return write_documents(found, [partial(render, stopped, seed=seed)], to)
    only_foreign(specimens)
    count = traces or _TRACES
    stopped = run_traces(run_trace, count)
    with workers(jobs) as executor:
        recipes = run_recipes(executor, traces=count, seed=seed)
    study = SteadyStudy(seed, tuple(stopped), tuple(recipes))
    text = partial(steady_document.render_markdown, stopped, recipes, seed=seed)
    return write_documents(study, [text], to)


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
