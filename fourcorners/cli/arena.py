"""``fourcorners arena``: contests on simulated drives, whose truth is known."""

import dataclasses
import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from rich.table import Table

from fourcorners.cli.output import new_console, print_document, say, tell
from fourcorners.errors import EXIT_FAILED, UserError
from fourcorners.store.kept_runs import kept_runs
from fourcorners.validation.arena.explain import contest as hidden
from fourcorners.validation.arena.explain import document as hidden_document
from fourcorners.validation.arena.explain.truths import TRUTHS
from fourcorners.validation.arena.frame import run_all, run_catalog
from fourcorners.validation.arena.sentences import contest as told
from fourcorners.validation.arena.sentences import document as told_document
from fourcorners.validation.arena.steady.contest import StoppedTrace, by_kind, run_trace, score
from fourcorners.validation.arena.steady.contestants import CONTESTANTS, JUDGE
from fourcorners.validation.arena.steady.document import (
    DEPARTURES,
    RECIPES,
    SCORES,
    departure_rows,
    recipe_rows,
    render_markdown,
    score_row,
)
from fourcorners.validation.arena.steady.recipes import Compared, run_recipes
from fourcorners.writing import Output, json_value, sealed

DOCUMENT = "steady-state.md"
# As many as make a share of 5 % known within 4 and 3 points (95 %, binomial).
_HIDDEN_DRIVES, _DRIVES_TOLD_OF = 100, 200


def steady(traces: int, seed: int, jobs: int, write: Path | None, replace: bool, json: bool) -> int:
    """Runs the contest of steady state, prints its tables and writes the document."""
    output = _output(write, DOCUMENT, replace)
    with _executor(jobs) as executor:
        outcomes = run_all(
            executor, run_trace, count=traces, seed=seed, progress=_telling("traces")
        )
        recipes = run_recipes(executor, traces=traces, seed=seed)
    if json:
        print_document("arena-steady", steady_document(seed, outcomes, recipes))
    else:
        _print(outcomes, recipes)
    if output is not None:
        _write(render_markdown(outcomes, recipes, seed=seed), output, quiet=json)
    return 0


def explain(
    drives: int | None,
    catalog: bool,
    seed: int,
    jobs: int,
    write: Path | None,
    replace: bool,
    json: bool,
) -> int:
    """Runs the contest of the probes, on hidden drives or the catalog's, prints its tables and
    writes the document."""
    if catalog and drives is not None:
        raise UserError("--catalog has all of its drives probed: leave out --drives")
    drives = _HIDDEN_DRIVES if drives is None else drives
    name = hidden_document.CATALOG_NAME if catalog else hidden_document.NAME
    output = _output(write, name, replace)
    progress = _telling("drives")
    with _executor(jobs) as executor:
        if catalog:
            outcomes = run_catalog(executor, hidden.run_known, seed=seed, progress=progress)
        else:
            outcomes = run_all(
                executor, hidden.run_drive, count=drives, seed=seed, progress=progress
            )
    scores = [hidden.score(truth, outcomes) for truth in TRUTHS]
    wrong = hidden_document.wrong(TRUTHS, outcomes) if catalog else []
    if json:
        print_document("arena-explain", explain_document(seed, scores, outcomes))
    else:
        _print_table(hidden_document.HEADER, [hidden_document.row(score) for score in scores])
        say(hidden_document.LEGEND.replace("*", "") + "\n")
        said = wrong if catalog else hidden_document.goals(scores)
        for line in (*said, *hidden_document.failures(outcomes)):
            say(line)
    if output is not None and catalog:
        text = hidden_document.render_catalog(scores, outcomes, wrong, seed=seed)
        _write(text, output, quiet=json)
    elif output is not None:
        text = hidden_document.render_markdown(scores, outcomes, seed=seed)
        _write(text, output, quiet=json)
    return 0


def sentences(
    drives: int | None,
    catalog: bool,
    runs: Path | None,
    seed: int,
    jobs: int,
    write: Path | None,
    replace: bool,
    json: bool,
) -> int:
    """Runs the check of sentences, prints its table and the false ones, and writes the document."""
    if sum((drives is not None, catalog, runs is not None)) > 1:
        raise UserError("use one of --drives, --catalog and --runs")
    if runs is not None and write is not None:
        raise UserError("--write is for simulated drives: leave it out with --runs")
    drives = _DRIVES_TOLD_OF if drives is None else drives
    name = told_document.CATALOG_NAME if catalog else told_document.NAME
    output = _output(write, name, replace)
    if runs is not None:
        outcomes = [told.judge_run(kept.run.path) for kept in kept_runs([runs])]
    else:
        progress = _telling("drives")
        with _executor(jobs) as executor:
            if catalog:
                outcomes = run_catalog(executor, told.run_known, seed=seed, progress=progress)
            else:
                outcomes = run_all(
                    executor, told.run_drive, count=drives, seed=seed, progress=progress
                )
    scores = told.scores(outcomes)
    if json:
        document = {"seed": seed, "scores": _rows(scores), "drives": _rows(outcomes)}
        print_document("arena-sentences", document)
    else:
        _print_table(told_document.HEADER, [told_document.row(score) for score in scores])
        for line in (told_document.summary(outcomes), *told_document.false_lines(outcomes)):
            say(line)
    if output is not None:
        which = "--catalog" if catalog else f"--drives {drives}"
        command = f"fourcorners arena sentences {which} --seed {seed} --write docs"
        text = told_document.render_markdown(outcomes, command, hidden=not catalog)
        _write(text, output, quiet=json)
    return EXIT_FAILED if told.false(outcomes) else 0


def _output(folder: Path | None, name: str, replace: bool) -> Output | None:
    """The document to write into the folder, if one is wanted."""
    if folder is None:
        return None
    if not folder.is_dir():
        raise UserError(f"cannot write to {folder}: it is not a folder")
    output = Output(folder / name, replace)
    output.check()
    return output


def _executor(jobs: int) -> ProcessPoolExecutor:
    # Spawned, not forked: nothing of this process is shared by accident.
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


def _telling(what: str) -> Callable[[int, int], None]:
    def told(done: int, count: int) -> None:
        if done % 10 == 0 or done == count:
            tell(f"{done} of {count} {what}")

    return told


def _write(text: str, output: Output, *, quiet: bool) -> None:
    output.write(sealed(text))
    if not quiet:
        say(f"Written: {output.path}")


def steady_document(
    seed: int, outcomes: Sequence[StoppedTrace], recipes: Sequence[Compared]
) -> dict[str, Any]:
    """What ``arena steady --json`` prints."""
    return {
        "seed": seed,
        "scores": _rows(score(name, outcomes) for name in CONTESTANTS),
        "preconditioning": _rows(recipes),
    }


def explain_document(
    seed: int, scores: Sequence[hidden.FindingScore], outcomes: Sequence[hidden.ProbedDrive]
) -> dict[str, Any]:
    """What ``arena explain --json`` prints."""
    return {"seed": seed, "scores": _rows(scores), "drives": _rows(outcomes)}


def _rows(rows: Iterable[Any]) -> list[dict[str, Any]]:
    return [json_value(dataclasses.asdict(row)) for row in rows]


def _print(outcomes: Sequence[StoppedTrace], recipes: Sequence[Compared]) -> None:
    for head, rows in (
        (SCORES, [score_row(score(name, outcomes)) for name in CONTESTANTS]),
        (
            ("the judge, by kind", *SCORES[1:]),
            [(kind, *score_row(row)[1:]) for kind, row in by_kind(JUDGE, outcomes)],
        ),
        (DEPARTURES, departure_rows(outcomes)),
        (RECIPES, recipe_rows(recipes)),
    ):
        _print_table(head, rows)


def _print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    console = new_console()
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for number, column in enumerate(head):
        table.add_column(column, justify="right" if number else "left", no_wrap=number == 0)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print()
