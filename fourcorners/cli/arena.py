"""``fourcorners arena``: contests on simulated drives, whose truth is known."""

import dataclasses
import multiprocessing
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.table import Table

from fourcorners.arena.steady.contest import Outcome, by_kind, run_contest, score
from fourcorners.arena.steady.contestants import CONTESTANTS, JUDGE
from fourcorners.arena.steady.document import (
    departure_header,
    departure_rows,
    recipe_header,
    recipe_rows,
    render_markdown,
    score_header,
    score_row,
)
from fourcorners.arena.steady.recipes import Compared, run_recipes
from fourcorners.cli.output import print_json
from fourcorners.errors import UserError, os_reason
from fourcorners.writing import write_whole

DOCUMENT = "steady-state.md"


def steady(traces: int, seed: int, jobs: int, write: Path | None, json: bool) -> int:
    """Runs the contest of steady state, prints its tables and writes the document."""
    for name, count in (("--traces", traces), ("--jobs", jobs)):
        if count < 1:
            raise UserError(f"{name} {count}: use 1 or more")
    if seed < 0:
        raise UserError(f"--seed {seed}: use 0 or more")
    if write is not None and not write.is_dir():
        raise UserError(f"cannot write to {write}: it is not a folder")
    # Spawned, not forked: nothing of this process is shared by accident.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as executor:
        outcomes = run_contest(executor, traces=traces, seed=seed, progress=_tell)
        recipes = run_recipes(executor, traces=traces, seed=seed)
    if json:
        recipe_list = [dataclasses.asdict(one) for one in recipes]
        print_json({"seed": seed, "scores": _scores(outcomes), "preconditioning": recipe_list})
    else:
        _print(outcomes, recipes)
    if write is not None:
        path = write / DOCUMENT
        try:
            write_whole(render_markdown(outcomes, recipes, seed=seed), path)
        except OSError as error:
            raise UserError(f"cannot write {path}: {os_reason(error)}") from error
        if not json:
            print(f"Written: {path}")
    return 0


def _tell(done: int, count: int) -> None:
    if done % 10 == 0 or done == count:
        print(f"{done} of {count} traces", file=sys.stderr, flush=True)


def _scores(outcomes: Sequence[Outcome]) -> list[dict[str, object]]:
    rows = [dataclasses.asdict(score(name, outcomes)) for name in CONTESTANTS]
    # JSON has no NaN.
    return [{k: None if v != v else v for k, v in row.items()} for row in rows]


def _print(outcomes: Sequence[Outcome], recipes: Sequence[Compared]) -> None:
    console = Console()
    for head, rows in (
        (score_header(), [score_row(score(name, outcomes)) for name in CONTESTANTS]),
        (
            ("the judge, by kind", *score_header()[1:]),
            [(kind, *score_row(row)[1:]) for kind, row in by_kind(JUDGE, outcomes)],
        ),
        (departure_header(), departure_rows(outcomes)),
        (recipe_header(), recipe_rows(recipes)),
    ):
        table = Table(box=None, pad_edge=False)
        for number, column in enumerate(head):
            table.add_column(column, justify="right" if number else "left")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print()
