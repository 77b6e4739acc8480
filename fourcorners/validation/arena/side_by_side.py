"""Every drive of a contest by itself, wherever an executor has room."""

from collections.abc import Callable
from concurrent.futures import Executor, as_completed
from typing import TypeVar

Outcome = TypeVar("Outcome")


def run_all(
    executor: Executor,
    run_one: Callable[[int, int], Outcome],
    *,
    count: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> list[Outcome]:
    """The outcomes of ``run_one(seed, index)`` for every index below ``count``, in order.

    ``progress`` is called with how many are done, and how many there are. What ``run_one`` raises
    is raised as soon as it is known.
    """
    futures = [executor.submit(run_one, seed, index) for index in range(count)]
    for done, future in enumerate(as_completed(futures), start=1):
        future.result()
        if progress is not None:
            progress(done, count)
    return [future.result() for future in futures]
