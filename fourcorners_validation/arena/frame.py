"""The frame of the contests: each drive is a task of its own for an executor."""

import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from fourcorners import catalog
from fourcorners.running.run import run
from fourcorners.store import Run
from fourcorners.suites.suite import Suite
from fourcorners.target.open import open_target
from fourcorners.target.simulated import SimulatedTarget
from fourcorners_validation.arena.explain.drives import Hidden
from fourcorners_validation.arena.explain.noise import disturbance

Result = TypeVar("Result")


def run_all(
    executor: Executor,
    run_one: Callable[[int, int], Result],
    *,
    count: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """The outcomes of ``run_one(seed, index)`` for every index below ``count``, in order.

    ``progress`` is called with the number of outcomes so far and with ``count``. An error of
    ``run_one`` is raised as soon as it is known.
    """
    futures = [executor.submit(run_one, seed, index) for index in range(count)]
    for done, future in enumerate(as_completed(futures), start=1):
        future.result()
        if progress is not None:
            progress(done, count)
    return [future.result() for future in futures]


def run_catalog(
    executor: Executor,
    run_known: Callable[[int, int], Result],
    *,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """As :func:`run_all`, of all drives of the catalog in the order of their names."""
    return run_all(executor, run_known, count=len(catalog.names()), seed=seed, progress=progress)


@contextmanager
def measured(
    hidden: Hidden, suite: Suite | str, *, noise: float = 0.0
) -> Iterator[tuple[Run, Path]]:
    """A run of a suite on a drive, from which the run gets only what any drive shows, and the
    folder of both; with :mod:`noise <fourcorners_validation.arena.explain.noise>`. They exist as
    long as the context."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{hidden.drive.id}.toml"
        path.write_text(hidden.drive.text, "utf-8")
        with open_target(str(path), seed=hidden.seed) as target:
            assert isinstance(target, SimulatedTarget)
            target.disturbance = disturbance(noise, hidden.seed)
            made = run(suite, target, seed=hidden.seed, out=Path(folder) / "runs")
        yield made, Path(folder)
