"""What the contests share as calls: drives that are drawn, in processes of their own."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from fourcorners.errors import UserError
from fourcorners_validation.arena.explain.specimens import SOURCES, compile_specimens
from fourcorners_validation.study import workers

FOREIGN_PROBED = 63
"""Foreign drives that are drawn by default: nine of each specimen."""

Rows = Sequence[Sequence[str]]
Outcome = TypeVar("Outcome")


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


def run_all(
    one: Callable[[int, int], Outcome],
    count: int,
    *,
    seed: int,
    jobs: int,
    tell: Callable[[str], object],
    what: str = "drives",
) -> list[Outcome]:
    """The outcomes of ``one(seed, index)`` for every index below ``count``, in order.

    ``tell`` is told how many are done, of every ten and at the end. An error of ``one`` is raised
    as soon as it is known.
    """
    with workers(jobs) as executor:
        futures = [executor.submit(one, seed, index) for index in range(count)]
        for done, future in enumerate(as_completed(futures), start=1):
            future.result()
            if done % 10 == 0 or done == count:
                tell(f"{done} of {count} {what}")
        return [future.result() for future in futures]
