"""Goes on with a run that was killed, stopped by Ctrl-C, or failed."""

import calendar
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fourcorners import wording
from fourcorners.environment import describe_host
from fourcorners.errors import UserError
from fourcorners.identity import check_path, check_simulated
from fourcorners.store import Run, RunWriter, folder
from fourcorners.suites.progress import Progress
from fourcorners.suites.runner import Runner
from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import SuitePlan, suite_of
from fourcorners.suites.waypoint import Drive, GoingOn, going_on
from fourcorners.targets import SimulatedTarget, Target, is_simulated, open_target

# Facts of the machine whose change between two parts of a run a reader should know.
_TELLING_FACTS = ("kernel", "cpu", "cores", "memory_bytes", "cpu_governor", "scheduler", "link")

_WENT_ON = {
    Drive.SAVED: "from the drive's saved state",
    Drive.ANEW: "prepared anew",
    Drive.UNWRITTEN: "with the drive as its preparation had left it",
    Drive.ROUNDS: "with the drive as they had left it, and none of its rounds until then counts "
    "towards the steady state",
}


def resume(path: str | Path, *, progress: Progress | None = None) -> Run:
    """Goes on with a run where it stopped, and returns it finished.

    Finished tests are kept as they are. The test that was interrupted goes on from the last state
    of a simulated drive that was saved during it; of a real drive at a phase that prepares it anew,
    where it was only read since its preparation, or at its next round; else it begins anew with its
    preparation, as failed tests do. Tests that were not reached are run. When the run stopped, for
    how long, and what was compared to know that the drive is the same, is kept in the manifest's
    ``gaps`` and told in a note. A run that is complete already is only returned.

    Args:
        path: the run folder, by its name also while it is still ``.NAME.partial``.
        progress: told what happens.

    Raises:
        UserError: there is nothing to go on with, the run still goes on, it was begun by another
            version of the program, or the target is not the same. Nothing was changed then.
    """
    found = folder.find(path)
    run = Run(found)
    run.check()
    manifest = run.manifest
    complete = manifest["status"] == "complete" and manifest.get("ended") is not None
    if complete and found == folder.named_path(found):
        return run
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
        going = _going_on(Run(claim.path), manifest["tests"], target)
        tests = [*kept, *(one.entry for one in going.values())]
        recordings = {recording["id"] for test in tests for recording in test["recordings"]}
        dropped = _dropped(Run(claim.path), recordings)
        _record_gap(manifest, plan, kept, going, dropped, target, same)
        writer = RunWriter.reopen(claim, recordings)
        manifest.update(status="running", ended=None, tests=tests)
        return Runner(target, plan, writer, manifest, progress or Progress(), going).run()


def _going_on(run: Run, tests: list[dict[str, Any]], target: Target) -> dict[str, GoingOn]:
    """The tests that do not begin anew, by name."""
    found = {test["name"]: one for test in tests if (one := going_on(run, test)) is not None}
    if isinstance(target, SimulatedTarget):
        for name, one in list(found.items()):
            try:
                target.load(run.path / str(one.waypoint.state))
            except UserError:
                # Its drive file may have been changed back and forth, or the program's models.
                del found[name]
    return found


def _dropped(run: Run, kept: set[str]) -> dict[str, float]:
    """Seconds that were measured in vain, by test: those of recordings that are made again."""
    elapsed = {
        row["recording"]: (row["test"], row["elapsed_s"])
        for row in run.recordings
        if row["recording"] not in kept
    }
    dropped: dict[str, float] = {}
    for test, seconds in elapsed.values():
        dropped[test] = round(dropped.get(test, 0.0) + seconds, 3)
    return dropped


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
    going: dict[str, GoingOn],
    dropped: dict[str, float],
    target: Target,
    same: str,
) -> None:
    """Writes into the manifest when the run stopped, and what is done again because of that."""
    now = time.time()
    stopped = manifest["ended"]
    seconds = max(now - calendar.timegm(time.strptime(stopped, "%Y-%m-%dT%H:%M:%SZ")), 0.0)
    finished = {test["name"] for test in kept}
    stopped_tests = [t for t in manifest["tests"] if t["status"] in ("interrupted", "failed")]
    begun = [test for test in stopped_tests if test["name"] not in going]
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
            "test": stopped_tests[0]["name"] if stopped_tests else next(iter(to_run), None),
            "kept": [test["name"] for test in kept],
            "repeated": [test["name"] for test in begun],
            "continued": {name: len(one.entry["recordings"]) for name, one in going.items()},
            "dropped_s": dropped,
            "same": same,
            "changes": changes,
        }
    )
    count = len(kept)
    text = (
        f"The run stopped at {stopped.replace('T', ' ').replace('Z', ' UTC')} and was resumed "
        f"after {wording.clock(seconds)}: "
        f"{count} finished test{' was' if count == 1 else 's were'} kept"
    )
    if begun:
        titles = " and ".join(test["title"] for test in begun)
        text += f", {titles} began anew with {'its' if len(begun) == 1 else 'their'} preparation"
    for one in going.values():
        measured = len(one.entry["recordings"])
        text += (
            f", {one.entry['title']} went on after {measured} of its measurements, "
            f"{_WENT_ON[Drive(one.waypoint.drive)]}"
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
    manifest["notes"].append(text)
