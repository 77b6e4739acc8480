"""Goes on with a run that was killed, stopped by Ctrl-C, or failed."""

import calendar
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fourcorners.environment import describe_host
from fourcorners.errors import UserError
from fourcorners.identity import check_path, check_simulated
from fourcorners.store import Run, RunWriter, folder
from fourcorners.suites.progress import Progress
from fourcorners.suites.runner import Runner
from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import SuitePlan, suite_of
from fourcorners.targets import Target, is_simulated, open_target
from fourcorners.units import format_duration

# Facts of the machine whose change between two parts of a run a reader should know.
_TELLING_FACTS = ("kernel", "cpu", "cores", "memory_bytes", "cpu_governor", "scheduler", "link")


def resume(path: str | Path, *, progress: Progress | None = None) -> Run:
    """Goes on with a run where it stopped, and returns it finished.

    Finished tests are kept as they are. The test that was interrupted, failed tests and those that
    were not reached are run, each from its beginning and with its preparation. When the run
    stopped, for how long, and what was compared to know that the drive is the same, is kept in the
    manifest's ``gaps`` and told in a note. A run that is complete already is only returned.

    Args:
        path: the run folder, by its name also while it is still ``.NAME.partial``.
        progress: told what happens.

    Raises:
        UserError: there is nothing to go on with, the run still goes on, it was begun by another
            version of the program, or the target is not the same. Nothing was changed then.
    """
    found = folder.find(path)
    manifest = Run(found).manifest
    complete = manifest["status"] == "complete" and manifest.get("ended") is not None
    if complete and found == folder.named_path(found):
        return Run(found)
    claim = folder.claim(found)
    if complete:
        return Run(claim.finish())
    try:
        folder.conclude(manifest, claim.last_sign_s)
        _check(found, manifest)
        opening = manifest["request"]["opening"]
        same = None
        if not is_simulated(opening["locator"]):
            same = check_path(opening["locator"], manifest["identity"])
        target = _open(manifest)
    except BaseException:
        claim.release()
        raise
    with target:
        try:
            same = same or check_simulated(target, manifest["identity"])
            _check_content(target, manifest)
            plan = _plan(manifest)
        except BaseException:
            claim.release()
            raise
        kept = [test for test in manifest["tests"] if test["status"] == "complete"]
        _record_gap(manifest, plan, kept, target, same)
        writer = RunWriter.reopen(claim, {test["name"] for test in kept})
        manifest.update(status="running", ended=None, tests=kept)
        return Runner(target, plan, writer, manifest, progress or Progress()).run()


def _check(path: Path, manifest: dict[str, Any]) -> None:
    if "suite" not in manifest.get("request", {}):
        raise UserError(f"{path} was written by a version that could not resume: begin it anew")
    if "locator" not in manifest["request"]["opening"]:
        raise UserError(f"{path} was run on a target that only its program can open: begin it anew")
    began, now = manifest["version"], version("fourcorners")
    if began != now:
        raise UserError(
            f"{path} was begun by fourcorners {began} and this is {now}: resume it with that "
            "version, so that its tests can be compared"
        )


def _open(manifest: dict[str, Any]) -> Target:
    """The target of a run, by the words that permitted to write to it then."""
    arguments = dict(manifest["request"]["opening"])
    if manifest["target"]["kind"] == "file" and manifest["request"]["subject"]["writable"]:
        # Where the file system keeps no mark, the run's own file is known by its inode.
        arguments["overwrite"] = arguments["locator"]
    return open_target(arguments.pop("locator"), **arguments)


def _check_content(target: Target, manifest: dict[str, Any]) -> None:
    """Refuses to destroy what the device did not hold when the run was permitted to write."""
    for note in target.notes:
        if note.endswith("that will be destroyed") and note not in manifest["notes"]:
            raise UserError(
                f"{note.removesuffix(' that will be destroyed')}, which it did not when the run "
                "began: nothing was written; begin the run anew if that may be destroyed"
            )


def _plan(manifest: dict[str, Any]) -> SuitePlan:
    request = manifest["request"]
    return suite_of(request["suite"], manifest["suite"]).plan(
        Subject(**request["subject"]), manifest["seed"]
    )


def _record_gap(
    manifest: dict[str, Any],
    plan: SuitePlan,
    kept: list[dict[str, Any]],
    target: Target,
    same: str,
) -> None:
    """Writes into the manifest when the run stopped, and what is done again because of that."""
    now = time.time()
    stopped = manifest["ended"]
    seconds = max(now - calendar.timegm(time.strptime(stopped, "%Y-%m-%dT%H:%M:%SZ")), 0.0)
    finished = {test["name"] for test in kept}
    begun = [test for test in manifest["tests"] if test["status"] in ("interrupted", "failed")]
    to_run = [test.name for test in plan.tests if test.name not in finished]
    before, after = manifest["environment"], {**describe_host(), **target.environment()}
    changes = {
        name: [before.get(name), after.get(name)]
        for name in _TELLING_FACTS
        if before.get(name) != after.get(name)
    }
    manifest["gaps"].append(
        {
            "stopped": stopped,
            "resumed": folder.timestamp(now),
            "seconds": round(seconds, 3),
            "test": begun[0]["name"] if begun else next(iter(to_run), None),
            "kept": [test["name"] for test in kept],
            "repeated": [test["name"] for test in begun],
            "same": same,
            "changes": changes,
        }
    )
    count = len(kept)
    text = (
        f"The run stopped at {stopped.replace('T', ' ').replace('Z', ' UTC')} and was resumed "
        f"after {format_duration(seconds)}: "
        f"{count} finished test{' was' if count == 1 else 's were'} kept"
    )
    if begun:
        titles = " and ".join(test["title"] for test in begun)
        text += f", {titles} began anew with {'its' if len(begun) == 1 else 'their'} preparation"
    text += f"; the drive is the same ({same})"
    if changes:
        text += "; changed meanwhile: " + ", ".join(
            f"{name} from {old} to {new}" for name, (old, new) in changes.items()
        )
    manifest["notes"].append(text)
