"""``fourcorners resume``: a run that stopped, to its end, and the targets that were to follow."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fourcorners.cli.each import Each
from fourcorners.cli.output import show_runs
from fourcorners.cli.progress import ProgressForm, choose_progress
from fourcorners.store import Run, folder, schema
from fourcorners.suites import resume
from fourcorners.suites.suite import suite_of


def run(path: Path, *, json: bool, progress: ProgressForm, quiet: bool) -> int:
    """Goes on with the run, then with the other targets of its command, unless they were begun
    already, and shows them as "characterize" does."""
    finished = _resumed(path, progress=progress, quiet=quiet)
    request = finished.manifest["request"]
    each = Each(
        suite=suite_of(request["suite"], finished.manifest["suite"]),
        filled_share=request["subject"]["filled_share"],
        seed=finished.manifest["seed"],
        out=finished.path.parent,
        command=finished.manifest["command"],
        progress=progress,
        quiet=quiet,
    )
    runs, last = [finished], finished
    while last.manifest["status"] != "interrupted" and last.manifest["request"].get("following"):
        begun = _begun(last)
        if begun is None:
            following = last.manifest["request"]["following"]
            runs += each.run([opening for opening in following if _is_safe(opening)])
            break
        was_over = begun == folder.named_path(begun)
        last = _resumed(begun, progress=progress, quiet=quiet)
        if not was_over:
            runs.append(last)
    return show_runs(runs, each.compare(runs), json=json, quiet=quiet)


def _resumed(path: Path, *, progress: ProgressForm, quiet: bool) -> Run:
    with choose_progress(quiet, progress) as shown:
        return resume(path, progress=shown)


def _begun(run: Run) -> Path | None:
    """The folder of the run that followed this one in its command, finished or not."""
    [opening, *later] = run.manifest["request"]["following"]
    for found in sorted(run.path.parent.glob(f"*/{schema.MANIFEST}")):
        manifest = Run(found.parent).manifest
        request = manifest.get("request", {})
        if (
            request.get("opening", {}).get("locator") == opening["locator"]
            # Those whose data must not be given up once more were left out.
            and len(request.get("following", [])) <= len(later)
            and manifest["command"] == run.manifest["command"]
            and manifest["created"] >= run.manifest["created"]
        ):
            return found.parent
    return None


def _is_safe(opening: Mapping[str, Any]) -> bool:
    """Whether a target may be begun without being asked for again. What it held when its data were
    given up is not known, unlike that of a run that had begun."""
    if "destroy_data" not in opening and "overwrite" not in opening:
        return True
    print(
        f"{opening['locator']} was to follow and is not begun, as its data may be others by now: "
        "run it by itself",
        file=sys.stderr,
    )
    return False
