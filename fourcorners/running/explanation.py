"""Explains a drive: runs the probes that are missing, and says what all of them show together."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import msgspec

from fourcorners.analysis import Finding, find
from fourcorners.analysis.joined import Joined
from fourcorners.documents import plain
from fourcorners.errors import UserError
from fourcorners.input_files import is_file
from fourcorners.running.begin import begin_run
from fourcorners.running.openings import check
from fourcorners.running.options import RunOptions, target_options
from fourcorners.running.preview import PreviewedPlan, preview
from fourcorners.running.run import preview_runs
from fourcorners.store import Run
from fourcorners.store.foreign import reading
from fourcorners.suites.common import MIB
from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import Suite, find_suite
from fourcorners.target.identity import check_same
from fourcorners.target.open import may_start, open_target, reopen_target
from fourcorners.target.target import Target
from fourcorners.wording import chosen_size

SUITE, READING_SUITE = "explain", "explain-reads"
SMALLEST_BYTES = 4 * MIB
"""Of what is probed: on less, most probes have nowhere to read."""
# What permits writing; of a run that is explained, none of it is taken over.
_OF_RUNS = ("seed", "out", "command", "progress")
_PERMISSIONS = ("destroy_data", "overwrite", "purge_method")


class MissingProbe(msgspec.Struct):
    """A probe that did not run to its end, and why."""

    probe: str
    reason: str


class ExplanationDocument(msgspec.Struct):
    """What is inside a drive, from the runs in some folders."""

    runs: list[str]
    findings: tuple[Finding, ...]
    missing: list[MissingProbe]


@dataclass(frozen=True)
class Explanation:
    """What is inside a drive, from one run or several of it.

    ``missing`` are probes that did not run to their end, each with the reason.
    """

    runs: tuple[Run, ...]
    findings: tuple[Finding, ...]
    missing: tuple[tuple[str, str], ...]

    def to_dict(self) -> dict[str, Any]:
        """The explanation as ``explanation.schema.json`` has it."""
        folders = [str(one.path) for one in self.runs]
        missing = [MissingProbe(*one) for one in self.missing]
        document: dict[str, Any] = plain(ExplanationDocument(folders, self.findings, missing))
        return document

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
    all_probes: bool = False,
    **options: Unpack[RunOptions],
) -> Explanation:
    """Says what is inside a drive.

    Args:
        subject: an open target or its locator, which is probed; or a run or its folder, whose
            drive is probed for what the run does not have yet. A file or device of a run is only
            read: open it with permission to write and pass the target to have it written. A
            program that is the drive of a run is not started: only what the run has is explained.
        reads_only: only the probes that read.
        all_probes: also those of a real target of which the first ones showed that they cannot
            identify anything (:func:`fourcorners.analysis.internals.method.futile.reason`).
        options: see :class:`fourcorners.running.options.RunOptions`; those that permit to write are
            for targets that are named by their locator.

    Raises:
        UserError: bad input, a target that is too small, or the drive is not the one of the run.
    """
    suite = find_suite(READING_SUITE if reads_only else SUITE)
    # How a target is opened again is what its run says; "filled_share" as well.
    running: dict[str, Any] = {name: one for name, one in options.items() if name in _OF_RUNS}
    running["skip_futile"] = not all_probes
    if isinstance(subject, Target):
        filled_share = options.get("filled_share", 1.0)
        check_size(subject.name, Subject.of(subject, filled_share))
        return Explanation.of(
            [begin_run(suite, subject, filled_share=filled_share, **running)], suite
        )
    if isinstance(subject, str | Path) and is_run_folder(subject):
        subject = _run_at(subject, options)
    if not isinstance(subject, Run):
        opening = target_options(options)
        filled_share, out = options.get("filled_share", 1.0), options.get("out", "runs")
        check([str(subject)], opening, filled_share=filled_share, out=out)
        with open_target(str(subject), seed=options.get("seed", 1), **opening) as target:
            check_size(target.name, Subject.of(target, filled_share))
            probed = begin_run(suite, target, filled_share=filled_share, **running)
            return Explanation.of([probed], suite)
    # Before hours go into the probes that are missing.
    subject.check()
    names = _to_probe(subject, suite)
    runs = [subject]
    if names:
        with reopened(subject) as target:
            runs.append(begin_run(suite.only(names), target, **running))
    with reading([subject.path]):
        return Explanation.of(runs, suite)


def preview_explain(
    subject: str, *, reads_only: bool = False, **options: Unpack[RunOptions]
) -> list[PreviewedPlan]:
    """The plan of the probes that :func:`explain` would run, as
    :func:`fourcorners.running.preview.preview` gives it; none where a run folder has all of them.

    Raises :class:`UserError` as :func:`explain` does.
    """
    suite = find_suite(READING_SUITE if reads_only else SUITE)
    if not is_run_folder(subject):
        return preview_runs(suite, [subject], check_subject=check_size, **options)
    run = _run_at(subject, options)
    run.check()
    names = _to_probe(run, suite)
    if not names:
        return []
    with reopened(run) as target:
        plan = suite.only(names).plan(Subject.of(target), options.get("seed", 1))
        return [preview(plan, target)]


def check_size(name: str, subject: Subject) -> None:
    """Raises :class:`UserError` where there is too little to probe."""
    if subject.area_bytes < SMALLEST_BYTES:
        raise UserError(
            f"{name} has {chosen_size(subject.area_bytes)} to probe: use at least "
            f"{chosen_size(SMALLEST_BYTES)}"
        )


def _run_at(path: str | Path, options: RunOptions) -> Run:
    """The run in a folder, whose drive nothing permits to write."""
    if any(options.get(name) for name in _PERMISSIONS):
        raise UserError(
            f"{path} is a run, whose drive is only read: name the drive itself to have it written"
        )
    return Run(Path(path))


def is_run_folder(path: str | Path) -> bool:
    """Whether a run is kept there."""
    return is_file(Path(path) / "manifest.json")


def missing_probes(run: Run, suite: Suite) -> tuple[str, ...]:
    """The tests of the suite that the run does not have complete."""
    complete = {test.name for test in run.manifest.tests if test.status == "complete"}
    return tuple(entry.name for entry in suite.entries if entry.name not in complete)


def _to_probe(run: Run, suite: Suite) -> tuple[str, ...]:
    """The missing probes; none where the drive is a program, which no folder starts, and some are
    complete: these are explained, and the others are said to be missing."""
    names, request = missing_probes(run, suite), run.manifest.request
    locator = None if request is None else request.opening.locator
    program = locator is not None and not may_start(locator, ())
    return () if program and len(names) < len(suite.entries) else names


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
