"""A drive of the catalog as a reference: the suite of a run, on that drive, in virtual time."""

from pathlib import Path

from fourcorners.catalog import SIMULATED_PREFIX
from fourcorners.documents import part
from fourcorners.errors import UserError
from fourcorners.running.begin import begin_run
from fourcorners.running.progress import Progress
from fourcorners.store import Run
from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import suite_of
from fourcorners.target.open import open_target


def reference(
    of: Run,
    drive: str,
    *,
    out: str | Path,
    command: str | None = None,
    progress: Progress | None = None,
) -> Run:
    """Runs what ``of`` ran, with its seed and its share of the target, on a drive of the catalog.

    Args:
        of: a run that this program measured.
        drive: the drive's name, such as ``ocz-vector-256gb``.
        out: folder in which the run folder of the reference is made.
        command: what the user typed, for the manifest.
        progress: told what happens.

    Raises:
        UserError: no such drive, or ``of`` does not say what was run, as imported runs do not.
    """
    request = of.manifest.request
    if request is None:
        raise UserError(
            f"{of.path} does not say what was run, so that no reference can run the same: it was "
            "imported or written by an older version"
        )
    suite = suite_of(request.suite, of.manifest.suite)
    seed = of.manifest.seed or 0
    with open_target(f"{SIMULATED_PREFIX}{drive}", seed=seed) as target:
        return begin_run(
            suite,
            target,
            filled_share=part(Subject, request.subject).filled_share,
            seed=seed,
            out=out,
            command=command,
            progress=progress,
        )
