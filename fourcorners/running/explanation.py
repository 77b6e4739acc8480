"""Explains a drive: runs the probes that are missing, and says what all of them show together."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fourcorners.analysis import Finding, find
from fourcorners.analysis.joined import Joined
from fourcorners.errors import UserError
from fourcorners.running.begin import run as run_suite
from fourcorners.running.preview import preview
from fourcorners.running.progress import Progress
from fourcorners.store import Run
from fourcorners.store.foreign import reading
from fourcorners.suites.common import MIB
from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import Suite, find_suite
from fourcorners.target.identity import check_same
from fourcorners.target.open import open_target, reopen_target
from fourcorners.target.target import Target
from fourcorners.wording import chosen_size

SUITE, READING_SUITE = "explain", "explain-reads"
SMALLEST_BYTES = 4 * MIB
"""Of what is probed: on less, most probes have nowhere to read."""
# What permits writing; of a run that is explained, none of it is taken over.
_PERMISSIONS = ("destroy_data", "overwrite", "purge_method")


@dataclass(frozen=True)
class Explanation:
    """What is inside a drive, from one run or several of it.

    ``missing`` are probes that did not run to their end, each with the reason.
    """

    runs: tuple[Run, ...]
    findings: tuple[Finding, ...]
    missing: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, runs: Sequence[Run], suite: Suite) -> "Explanation":
        """What the runs show; those that come first are trusted first."""
        joined = Joined(runs)
        told = {test.name: test for test in joined.manifest.tests}
        missing = []
        for name in (entry.name for entry in suite.entries):
            test = told.get(name)
            if test is None:
                missing.append((name, "it was not run"))
            elif test.status != "complete":
                missing.append((name, f"{test.status}: {test.reason}"))
        return cls(tuple(runs), tuple(find(joined)), tuple(missing))


def explain(
    subject: Target | Run | str | Path,
    *,
    reads_only: bool = False,
    filled_share: float = 1.0,
    seed: int = 1,
    out: str | Path = "runs",
    command: str | None = None,
    progress: Progress | None = None,
    all_probes: bool = False,
) -> Explanation:
    """Says what is inside a drive.

    Args:
        subject: an open target or its locator, which is probed; or a run or its folder, whose
            drive is probed for what the run does not have yet. A file or device of a run is only
            read: open it with permission to write and pass the target to have it written.
        reads_only: only the probes that read.
        filled_share: how much of a target is filled and used, from its start.
        seed: of the order of points and of addresses.
        out: folder for the run folder of the probes.
        command: what the user typed, for the manifest.
        progress: told what happens.
        all_probes: also those of a real target of which the first ones showed that they cannot
            identify anything (:func:`fourcorners.analysis.internals.method.futile.reason`).

    Raises:
        UserError: bad input, a target that is too small, or the drive is not the one of the run.
    """
    suite = find_suite(READING_SUITE if reads_only else SUITE)
    arguments: dict[str, Any] = {"seed": seed, "out": out, "command": command, "progress": progress}
    running = {**arguments, "skip_futile": not all_probes}
    if isinstance(subject, Target):
        check_size(subject.name, Subject.of(subject, filled_share))
        probed = run_suite(suite, subject, filled_share=filled_share, **running)
        return Explanation.of([probed], suite)
    if isinstance(subject, str | Path) and is_run_folder(subject):
        subject = Run(Path(subject))
    if not isinstance(subject, Run):
        with open_target(str(subject), seed=seed) as target:
            return explain(
                target,
                reads_only=reads_only,
                filled_share=filled_share,
                all_probes=all_probes,
                **arguments,
            )
    # Before hours go into the probes that are missing.
    subject.check()
    names = missing_probes(subject, suite)
    runs = [subject]
    if names:
        with reopened(subject) as target:
            runs.append(run_suite(suite.only(names), target, **running))
    with reading([subject.path]):
        return Explanation.of(runs, suite)


def check_size(name: str, subject: Subject) -> None:
    """Raises :class:`UserError` where there is too little to probe."""
    if subject.area_bytes < SMALLEST_BYTES:
        raise UserError(
            f"{name} has {chosen_size(subject.area_bytes)} to probe: use at least "
            f"{chosen_size(SMALLEST_BYTES)}"
        )


def preview_missing(path: str | Path, reads_only: bool, seed: int) -> list[dict[str, Any]]:
    """The plan of the probes that :func:`explain` would run for a run folder, as
    :func:`fourcorners.running.preview.preview` gives it; none where nothing is missing.

    Raises :class:`UserError` as :func:`explain` does.
    """
    run = Run(Path(path))
    run.check()
    suite = find_suite(READING_SUITE if reads_only else SUITE)
    names = missing_probes(run, suite)
    if not names:
        return []
    with reopened(run) as target:
        plan = suite.only(names).plan(Subject.of(target), seed)
        return [preview(plan, target.locator, target.name, target.purge_plan)]


def is_run_folder(path: str | Path) -> bool:
    """Whether a run is kept there."""
    return (Path(path) / "manifest.json").is_file()


def missing_probes(run: Run, suite: Suite) -> tuple[str, ...]:
    """The tests of the suite that the run does not have complete."""
    complete = {test.name for test in run.manifest.tests if test.status == "complete"}
    return tuple(entry.name for entry in suite.entries if entry.name not in complete)


def reopened(run: Run) -> Target:
    """The target of a run, to be read; raises :class:`UserError` unless it is the same one."""
    with reading([run.path]):
        return _reopened(run)


def _reopened(run: Run) -> Target:
    request, identity = run.manifest.request, run.manifest.identity
    if request is None or request.opening.locator is None or identity is None:
        raise UserError(
            f"{run.path} does not say how its target was opened: name the target itself to probe it"
        )
    # A file that exists keeps its size, and none is made.
    opening = request.opening.arguments(but={*_PERMISSIONS, "size"})
    target = reopen_target(opening, (), "probe it by fourcorners explain")
    try:
        check_same(target, identity)
    except BaseException:
        target.close()
        raise
    return target
