"""``reproduce`` and ``arena``: the product held against what was published and what is true."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from cyclopts import App, Parameter

from fourcorners.cli.options import Drawn, Flag, Jobs, Json, Repeated, Replace, Seed, examples
from fourcorners.cli.root import app

if TYPE_CHECKING:
    from fourcorners_validation.arena.studies import ArenaStudy
    from fourcorners_validation.reproduction import Reproduction

arena = App(name="arena", help="Contests on simulated drives, whose truth is known.")
app.command(arena)

Study = TypeVar("Study", bound="ArenaStudy")


@Parameter(name="*")
@dataclass(frozen=True)
class ContestFlags:
    """Options of all contests on drives that are drawn.

    Parameters
    ----------
    foreign
        Drives of other people's design instead: C programs, which are compiled with cc.
    specimens
        Folder of the sources of these programs: tests/specimens of the clone by default.
    """

    foreign: Flag = False
    specimens: Path | None = None
    seed: Seed = 1
    jobs: Jobs = 2
    replace: Replace = False
    json: Json = False

    def hold(self, document: str, contest: Callable[..., Study], **own: Any) -> Study:
        """Holds a contest with its own options and these, and shows the study."""
        from fourcorners.cli.output import tell

        show = partial(_show_contest, document, self.json)
        with _shown_if_unwritten(show):
            study = contest(
                foreign=self.foreign,
                specimens=self.specimens,
                seed=self.seed,
                jobs=self.jobs,
                replace=self.replace,
                tell=tell,
                **own,
            )
        show(study)
        return study


_CONTEST = ContestFlags()

Levels = Annotated[
    tuple[float, ...], Parameter(negative=(), show_default=False, consume_multiple=True)
]


@arena.command(
    name="steady",
    help_epilogue=examples(
        "arena steady --traces 20 --json",
        "arena steady --foreign --traces 14",
    ),
)
def arena_steady(
    *,
    traces: Drawn | None = None,
    write: Path | None = None,
    options: ContestFlags = _CONTEST,
) -> int:
    """Let judges of steady state stop tests of random simulated drives, and say how they did.

    Parameters
    ----------
    traces
        How many drives are drawn: 240 by default, 105 with --foreign; kinds take turns.
    write
        Folder to write steady-state.md to, or steady-foreign.md.
    """
    from fourcorners_validation.arena import studies

    options.hold("arena-steady", studies.arena_steady, traces=traces, write=write)
    return 0


@arena.command(
    name="series",
    help_epilogue=examples(
        "arena series ssdiq/series",
    ),
)
def arena_series(
    folder: Path,
    /,
    *,
    write: Path | None = None,
    replace: Replace = False,
    json: Json = False,
) -> int:
    """Let the judge of steady state stop series that were measured on real drives.

    Parameters
    ----------
    folder
        index.csv (columns file, device, experiment) and a file of each series (columns seconds,
        drive_writes, write_iops).
    write
        Folder to write steady-state-measured.md to.
    """
    from fourcorners_validation.arena import studies

    show = partial(_show_contest, "arena-series", json)
    with _shown_if_unwritten(show):
        study = studies.arena_series(folder, write=write, replace=replace)
    show(study)
    return 0


@arena.command(
    name="explain",
    help_epilogue=examples(
        "arena explain --drives 4 --json",
        "arena explain --catalog",
        "arena explain --foreign --drives 14",
        "arena explain --target exec:./mysim",
        "arena explain --noise 0 0.05 0.2",
    ),
)
def arena_explain(
    *,
    drives: Drawn | None = None,
    catalog: Flag = False,
    target: Repeated = (),
    noise: Levels = (),
    write: Path | None = None,
    options: ContestFlags = _CONTEST,
) -> int:
    """Let the probes find out what is in random simulated drives, and say how right they were.

    Parameters
    ----------
    drives
        How many drives are drawn: 100 by default, 63 with --foreign, 7 with --noise; kinds take
        turns.
    catalog
        All drives of the catalog instead, and what was said of them and is wrong.
    target
        A program instead that simulates a drive and says what is true of it: exec:COMMAND.
        Repeatable.
    noise
        What a real system adds: service times spread by this share of their mean (up to 0.2), and
        drift, outliers, other load and the host's time are as strong. Each drive is probed at
        every level that is named, such as 0 0.05 0.2.
    write
        Folder to write explain-arena.md to, explain-catalog.md, explain-foreign.md, or
        explain-noise.md and explain-noise-foreign.md with noise.
    """
    from fourcorners_validation.arena import studies

    options.hold(
        "arena-explain",
        studies.arena_explain,
        drives=drives,
        catalog=catalog,
        target=target,
        noise=noise,
        write=write,
    )
    return 0


@arena.command(
    name="sentences",
    help_epilogue=examples(
        "arena sentences --drives 4",
        "arena sentences --catalog",
        "arena sentences --foreign --drives 14",
        "arena sentences --runs runs",
    ),
)
def arena_sentences(
    *,
    drives: Drawn | None = None,
    catalog: Flag = False,
    runs: Path | None = None,
    write: Path | None = None,
    options: ContestFlags = _CONTEST,
) -> int:
    """Hold every sentence that is said of random simulated drives against what is true of them.

    The exit code is 1 where one is false.

    Parameters
    ----------
    drives
        How many drives are drawn: 200 by default, 63 with --foreign; kinds take turns.
    catalog
        All drives of the catalog instead.
    runs
        The run folders in this folder instead, of whatever target: what their recordings tell.
    write
        Folder to write sentences-arena.md to, or sentences-catalog.md, or sentences-foreign.md.
    """
    from fourcorners.errors import EXIT_FAILED
    from fourcorners_validation.arena import studies

    study = options.hold(
        "arena-sentences",
        studies.arena_sentences,
        drives=drives,
        catalog=catalog,
        runs=runs,
        write=write,
    )
    return EXIT_FAILED if study.false else 0


@app.command(
    help_epilogue=examples(
        "reproduce --only core",
        "reproduce --write docs --jobs 4",
    ),
)
def reproduce(
    *,
    only: str | None = None,
    write: Path | None = None,
    replace: Replace = False,
    jobs: Jobs = 2,
    json: Json = False,
) -> int:
    """Run the reviews' experiments on the simulated drives and compare with what was published.

    Parameters
    ----------
    only
        Only these sources, separated by commas: core, owc, vertex3, sata, vector, pages.
    write
        Folder to write reproduction.html and reproduction.md to.
    """
    from fourcorners.cli.options import names
    from fourcorners.cli.output import tell
    from fourcorners.errors import EXIT_FAILED
    from fourcorners_validation import reproduction

    show = partial(_show_reproduction, json)
    with _shown_if_unwritten(show):
        found = reproduction.reproduce(
            only=names(only), write=write, replace=replace, jobs=jobs, tell=tell
        )
    show(found)
    return EXIT_FAILED if found.unexplained else 0


@contextmanager
def _shown_if_unwritten(show: Callable[[Any], None]) -> Iterator[None]:
    """Hours of work are not lost because a disk is full."""
    from fourcorners_validation.study import UnwrittenError

    try:
        yield
    except UnwrittenError as error:
        show(error.study)
        raise


def _show_contest(document: str, json: bool, study: "ArenaStudy") -> None:
    from fourcorners.cli.output import print_document, say
    from fourcorners.cli.show.studies import show_table

    if json:
        print_document(document, study)
        return
    for head, rows in study.tables:
        show_table(head, rows)
    for line in (*study.lines, *(f"Written: {path}" for path in study.written)):
        say(line)


def _show_reproduction(json: bool, found: "Reproduction") -> None:
    from fourcorners.cli.output import print_document, say
    from fourcorners.cli.show.studies import show_reproduction

    if json:
        print_document("reproduction", found)
        return
    show_reproduction(found)
    for path in found.written:
        say(f"Written: {path}")
