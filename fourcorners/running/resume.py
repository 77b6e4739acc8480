"""Continues a run that was killed, stopped by Ctrl-C, or failed."""

import calendar
import contextlib
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from fourcorners import wording
from fourcorners.documents import part
from fourcorners.errors import UserError
from fourcorners.machine.environment import describe_host
from fourcorners.manifest import DriveThen, Gap, Manifest, Opening, Request, TestEntry
from fourcorners.running.progress import Progress
from fourcorners.running.resume_point import GoingOn, going_on
from fourcorners.running.runner import Runner
from fourcorners.store import Run, RunWriter, folder
from fourcorners.store.foreign import reading
from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import SuitePlan, suite_of
from fourcorners.target.identity import check_same
from fourcorners.target.open import if_about, reopen_target
from fourcorners.target.target import Target

# Facts of the machine whose change between two parts of a run a reader should know.
_TELLING_FACTS = ("kernel", "cpu", "cores", "memory_bytes", "cpu_governor", "scheduler", "link")

_WENT_ON = {
    DriveThen.SAVED: "from the drive's saved state",
    DriveThen.ANEW: "prepared anew",
    DriveThen.UNWRITTEN: "with the drive as its preparation had left it",
    DriveThen.ROUNDS: "with the drive as they had left it, and none of its rounds until then "
    "counts towards the steady state",
}


def resume(
    run: str | Path,
    *,
    destroy_data: str | None = None,
    overwrite: str | None = None,
    purge_method: str | None = None,
    start: Sequence[str] = (),
    progress: Progress | None = None,
) -> Run:
    """Continues a run where it stopped, and returns it finished.

    Finished tests are kept as they are. The test that was interrupted continues: on a simulated
    drive from the last state that was saved during it; on a real drive at a phase that prepares it
    anew, if it was only read since its preparation, or at its next round. Otherwise it begins anew
    with its preparation, as failed tests do. Tests that were not reached are run. The manifest's
    ``gaps`` and a note say when the run stopped, for how long, and what was compared to know that
    the drive is the same. A run that is complete already is only returned.

    A run folder gives no permission: what may be written has to be named each time, except a file
    that still holds what the run wrote to it.

    Args:
        run: the run folder, by its name also while it is still ``.NAME.partial``.
        destroy_data: the block device whose data may be destroyed, see
            :func:`fourcorners.open_target`; a run that writes to a device needs it.
        overwrite: the file whose content may be overwritten; a run needs it whose file is no longer
            known as fourcorners' own.
        purge_method: how the device may be erased; what the run began with is needed again.
        start: the program that is the run's drive, ``exec:COMMAND`` as the run names it; a folder
            starts none.
        progress: told what happens.

    Raises:
        UserError: there is nothing to go on with, the run still goes on, it was begun by another
            version of the program, a word of permission is missing, the target is not the same, or
            holds what the run cannot have written. Nothing was changed then.
    """
    found = folder.find(run)
    stopped = Run(found)
    stopped.check()
    manifest = stopped.manifest
    complete = manifest.status == "complete" and manifest.ended is not None
    if complete and found == folder.named_path(found):
        return stopped
    claim = folder.claim(found)
    if complete:
        return Run(claim.finish())
    words = Words(destroy_data, overwrite, purge_method, tuple(start))
    with contextlib.ExitStack() as opened:
        try:
            with reading([run]):
                folder.conclude(manifest, claim.last_sign_s)
                request = _request(found, manifest)
                target = opened.enter_context(_open(request.opening, words))
                runner = _runner(claim, manifest, request, target, words, progress or Progress())
        except BaseException:
            claim.release()
            raise
        return runner.run()


def _runner(
    claim: folder.ClaimedFolder,
    manifest: Manifest,
    request: Request,
    target: Target,
    words: "Words",
    progress: Progress,
) -> Runner:
    """What carries out the rest of the run, once nothing speaks against it."""
    same = check_same(target, manifest.identity or {})
    subject = part(Subject, request.subject)
    _check_permission(target, request.opening, subject, words)
    _check_content(target, words)
    plan = suite_of(request.suite, manifest.suite).plan(subject, manifest.seed or 0)
    kept = [test for test in manifest.tests if test.status == "complete"]
    going = _going_on(Run(claim.path), manifest.tests, target)
    tests = [*kept, *(one.entry for one in going.values())]
    recordings = {recording.id for test in tests for recording in test.recordings}
    dropped = _dropped(Run(claim.path), recordings)
    _record_gap(manifest, plan, kept, going, dropped, target, same)
    writer = RunWriter.reopen(claim, recordings)
    manifest.status, manifest.ended, manifest.tests = "running", None, tests
    return Runner(target, plan, writer, manifest, progress, going)


def _going_on(run: Run, tests: list[TestEntry], target: Target) -> dict[str, GoingOn]:
    """The tests that do not begin anew, by name."""
    found = {test.name: one for test in tests if (one := going_on(run, test)) is not None}
    if target.no_state_reason is None:
        for name, one in list(found.items()):
            try:
                target.load(run.path / str(one.resume_point.state))
            except UserError:
                # Its drive file may have been changed back and forth, or the program's models.
                del found[name]
    return found


def _dropped(run: Run, kept: set[str]) -> dict[str, float]:
    """Seconds that were measured in vain, by test: those of recordings that are made again."""
    dropped: dict[str, float] = {}
    for one in run.recordings:
        if one.id not in kept:
            dropped[one.test] = round(dropped.get(one.test, 0.0) + one.elapsed_s, 3)
    return dropped


def _request(path: Path, manifest: Manifest) -> Request:
    """What the run was asked for; raises :class:`UserError` where it cannot be asked again."""
    request = manifest.request
    if request is None:
        raise UserError(f"{path} was written by a version that could not resume: begin it anew")
    if request.opening.locator is None:
        raise UserError(f"{path} was run on a target that only its program can open: begin it anew")
    began, now = manifest.version, version("fourcorners")
    if began != now:
        raise UserError(
            f"{path} was begun by fourcorners {began} and this is {now}: resume it with that "
            "version, so that its tests can be compared"
        )
    return request


@dataclass(frozen=True)
class Words:
    """What whoever resumes a run permits, under the names of the arguments of
    :func:`open_target`, and the programs that may be started."""

    destroy_data: str | None = None
    overwrite: str | None = None
    purge_method: str | None = None
    start: tuple[str, ...] = ()

    def given(self) -> dict[str, str]:
        """Those that were said and are arguments of :func:`open_target`."""
        words = {name: getattr(self, name) for name in PERMISSIONS}
        return {name: word for name, word in words.items() if word is not None}

    def about(self, locator: str) -> "Words":
        """Those that name this target; how to erase a device goes with its name."""
        destroy_data = if_about(self.destroy_data, locator)
        return Words(
            destroy_data,
            if_about(self.overwrite, locator),
            None if destroy_data is None else self.purge_method,
            tuple(program for program in self.start if program == locator),
        )


PERMISSIONS = ("destroy_data", "overwrite", "purge_method")


def _open(opening: Opening, words: Words) -> Target:
    """The target of a run, with what is permitted now, and none of what was then."""
    arguments = opening.arguments(but={*PERMISSIONS, "size"})
    locator = arguments["locator"]
    for program in words.start:
        if program != locator:
            raise UserError(f"the run is of {locator}: leave out --start {shlex.quote(program)}")
    if opening.size is not None and Path(locator).is_file():
        # Of a longer file only so much is used; no file is made or grown.
        arguments["size"] = min(opening.size, Path(locator).stat().st_size)
    return reopen_target(arguments | words.given(), words.start, "add --start")


def _check_permission(target: Target, opening: Opening, subject: Subject, words: Words) -> None:
    """Refuses to go on without the words that the run needs, and with others."""
    if (subject.kind, subject.capacity_bytes) != (target.kind, target.capacity_bytes):
        raise UserError(
            f"{target.locator} is not the one that the run began on: that was a {subject.kind} "
            f"of {subject.capacity_bytes} bytes; nothing was written"
        )
    if not subject.writable:
        if words.given():
            raise UserError(
                f"the run only reads {target.locator}: leave out {_options(words.given())}"
            )
        return
    if target.read_only_reason is not None:
        missing = {"device": "destroy_data", "file": "overwrite"}[target.kind]
        raise UserError(
            f"{target.read_only_reason}; the run to be resumed writes, and its folder permits "
            f"nothing: nothing was written; add {_options({missing: target.locator})}"
        )
    began_with = opening.purge_method
    if began_with != words.purge_method:
        how = "none" if began_with is None else f"--purge {began_with}"
        raise UserError(
            f"the run began with {how} to erase {target.locator}: say the same to go on with it, "
            "or begin it anew; nothing was written"
        )


def _options(words: Mapping[str, str]) -> str:
    names = {"purge_method": "--purge", "destroy_data": "--destroy-data"}
    return " ".join(f"{names.get(n, f'--{n}')} {shlex.quote(word)}" for n, word in words.items())


def _check_content(target: Target, words: Words) -> None:
    """Refuses to destroy what the run cannot have written: a folder cannot tell whether that was
    there when the run began. What is known as fourcorners' own needs no look."""
    if words.given() and target.holds:
        raise UserError(
            f"{target.locator} holds {' and '.join(target.holds)}, which the run did not write: "
            "nothing was written; begin the run anew if that may be destroyed"
        )


def _record_gap(
    manifest: Manifest,
    plan: SuitePlan,
    kept: list[TestEntry],
    going: dict[str, GoingOn],
    dropped: dict[str, float],
    target: Target,
    same: str,
) -> None:
    """Writes into the manifest when the run stopped, and what is done again because of that."""
    now = time.time()
    stopped = manifest.ended or manifest.created
    seconds = max(now - calendar.timegm(time.strptime(stopped, "%Y-%m-%dT%H:%M:%SZ")), 0.0)
    finished = {test.name for test in kept}
    stopped_tests = [t for t in manifest.tests if t.status in ("interrupted", "failed")]
    begun = [test for test in stopped_tests if test.name not in going]
    to_run = [test.name for test in plan.tests if test.name not in finished]
    before, after = manifest.environment, {**describe_host(), **target.environment()}
    changes = {
        name: (before.get(name), after.get(name))
        for name in _TELLING_FACTS
        if before.get(name) != after.get(name)
    }
    manifest.gaps.append(
        Gap(
            stopped=stopped,
            resumed=folder.timestamp(now),
            seconds=round(seconds, 3),
            test=stopped_tests[0].name if stopped_tests else next(iter(to_run), None),
            kept=[test.name for test in kept],
            repeated=[test.name for test in begun],
            continued={name: len(one.entry.recordings) for name, one in going.items()},
            dropped_s=dropped,
            same=same,
            changes=changes,
        )
    )
    count = len(kept)
    text = (
        f"The run stopped at {stopped.replace('T', ' ').replace('Z', ' UTC')} and was resumed "
        f"after {wording.clock(seconds)}: "
        f"{count} finished test{' was' if count == 1 else 's were'} kept"
    )
    if begun:
        titles = " and ".join(test.title for test in begun)
        text += f", {titles} began anew with {'its' if len(begun) == 1 else 'their'} preparation"
    for one in going.values():
        measured = len(one.entry.recordings)
        text += (
            f", {one.entry.title} went on after {measured} of its measurements, "
            f"{_WENT_ON[one.resume_point.drive]}"
        )
    if lost_s := sum(dropped.values()):
        text += (
            f"; {wording.clock(lost_s)} that had been measured of it were dropped and measured "
            "again, as the drive was no longer in that state"
        )
    text += f"; the drive is the same ({same})"
    if changes:
        text += "; changed meanwhile: " + ", ".join(
            f"{name} from {old} to {new}" for name, (old, new) in changes.items()
        )
    manifest.notes.append(text)
