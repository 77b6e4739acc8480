"""The reproduction as one call, with its documents."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from fourcorners.errors import UserError
from fourcorners.suites.parameters import unknown
from fourcorners_validation.reproduction.markdown import render_markdown
from fourcorners_validation.reproduction.page import render_page
from fourcorners_validation.reproduction.run import Reproduction, run_sources
from fourcorners_validation.reproduction.source import SOURCES
from fourcorners_validation.study import outputs, workers
from fourcorners_validation.study import write as write_documents

DOCUMENTS = ("reproduction.html", "reproduction.md")


def reproduce(
    *,
    only: Sequence[str] | None = None,
    write: str | Path | None = None,
    replace: bool = False,
    jobs: int = 2,
    tell: Callable[[str], object] = lambda _: None,
) -> Reproduction:
    """Runs the reviews' experiments on simulated drives, and compares them with the publications.

    Args:
        only: names of sources: core, owc, vertex3, sata, vector, pages; all of them by default.
        write: a folder to write ``reproduction.html`` and ``reproduction.md`` to.
        replace: replace files of any content.
        jobs: how many drives run at the same time; each takes up to 1 GB of memory.
        tell: told which experiment ended.

    Raises :class:`UserError` for a source that there is none of, and for a folder that cannot be
    written to; where the documents could not be written after all the
    :class:`fourcorners_validation.study.UnwrittenError` has the reproduction.
    """
    for name in only or ():
        if name not in SOURCES:
            raise UserError(f"--only: {unknown('source', name, list(SOURCES))}")
    to = outputs(write, DOCUMENTS, replace)

    def told(key: str, done: int, count: int) -> None:
        tell(f"{done} of {count}: {key}")

    with workers(jobs) as executor:
        reproduction = run_sources(executor, sources=only or tuple(SOURCES), progress=told)
    texts = [partial(render, reproduction) for render in (render_page, render_markdown)]
    return write_documents(reproduction, texts, to)
