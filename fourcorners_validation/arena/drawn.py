"""What the contests share as calls: drives that are drawn, in processes of their own."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from fourcorners.errors import UserError
from fourcorners_validation.arena.explain.specimens import SOURCES, compile_specimens
from fourcorners_validation.arena.frame import run_all, run_catalog
from fourcorners_validation.study import workers

FOREIGN_PROBED = 63
"""Foreign drives that are drawn by default: nine of each specimen."""

Rows = Sequence[Sequence[str]]
DrawnResult = TypeVar("DrawnResult")


def silent(_: str) -> None:
    """Reports no progress."""


def only_foreign(specimens: str | Path | None) -> None:
    """Raises :class:`UserError` for a folder of specimens that nothing asks for."""
    if specimens is not None:
        raise UserError("--specimens is the folder of the drives of --foreign: name both")


@contextmanager
def compiled(specimens: str | Path | None) -> Iterator[str]:
    """A folder with the compiled specimens."""
    with tempfile.TemporaryDirectory() as programs:
        compile_specimens(Path(specimens or SOURCES), Path(programs))
        yield programs


def drawn_outcomes(
    one: Callable[[int, int], DrawnResult],
    catalog: bool,
    count: int,
    seed: int,
    jobs: int,
    tell: Callable[[str], object],
) -> list[DrawnResult]:
    """The outcome of each drive, of the catalog or of a number of drawn ones."""
    progress = counting(tell, "drives")
    with workers(jobs) as executor:
        if catalog:
            return run_catalog(executor, one, seed=seed, progress=progress)
        return run_all(executor, one, count=count, seed=seed, progress=progress)


def counting(tell: Callable[[str], object], what: str) -> Callable[[int, int], None]:
    """Tells how many are done: of every ten, and at the end."""

    def told(done: int, count: int) -> None:
        if done % 10 == 0 or done == count:
            tell(f"{done} of {count} {what}")

    return told
