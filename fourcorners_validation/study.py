"""Shared by the studies: worker processes, and documents that are checked for being writable before
hours of work and written afterwards."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import TypeVar

from fourcorners.errors import UserError
from fourcorners.machine.spawning import SPAWNED
from fourcorners.writing import Output, OutputError, sealed


class UnwrittenError(OutputError):
    """The documents of a study could not be written; ``study`` is what it found."""

    def __init__(self, error: OutputError, study: object) -> None:
        super().__init__(str(error), error.exit_code)
        self.study = study


@contextmanager
def workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """This many processes, which share nothing by accident. After an error, or when the program is
    stopped, they finish what they have begun, and begin nothing else."""
    with ProcessPoolExecutor(jobs, mp_context=SPAWNED) as executor:
        try:
            yield executor
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


def outputs(folder: str | Path | None, names: Sequence[str], replace: bool) -> list[Output]:
    """The documents to write into a folder, if there is one. Raises :class:`UserError` if one of
    them cannot be written."""
    if folder is None:
        return []
    if not Path(folder).is_dir():
        raise UserError(f"cannot write to {folder}: it is not a folder")
    found = [Output(Path(folder) / name, replace) for name in names]
    for output in found:
        output.check()
    return found


StudyKind = TypeVar("StudyKind", bound="Written")


@dataclass(frozen=True, kw_only=True)
class Written:
    """The results of a study, and the documents that were written of them."""

    written: tuple[Path, ...] = ()


def write(study: StudyKind, texts: Sequence[Callable[[], str]], to: Sequence[Output]) -> StudyKind:
    """The study with the documents that were written of it; raises :class:`UnwrittenError`."""
    for render, output in zip(texts, to, strict=False):
        try:
            output.write(sealed(render()))
        except OutputError as error:
            raise UnwrittenError(error, study) from error
    return replace_fields(study, written=tuple(output.path for output in to))
