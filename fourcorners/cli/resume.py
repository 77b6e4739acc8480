"""``fourcorners resume``: a run that stopped, to its end, and the targets that were to follow."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fourcorners.cli.each import Each
from fourcorners.cli.output import show_runs
from fourcorners.cli.progress import ProgressForm, choose_progress
from fourcorners.store import Run, folder
from fourcorners.suites import resume
from fourcorners.suites.suite import suite_of


def run(path: Path, *, json: bool, progress: ProgressForm, quiet: bool) -> int:
    """Goes on with the run, then with the other targets of its command, and shows them as
    "characterize" does."""
    before = Run(folder.find(path)).manifest
    was_over = before["status"] in ("complete", "failed") and before.get("ended") is not None
    with choose_progress(quiet, progress) as shown:
        finished = resume(path, progress=shown)
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
    following = [] if was_over else request.get("following", [])
    runs = [finished]
    if finished.manifest["status"] != "interrupted":
        runs += each.run([opening for opening in following if _is_safe(opening)])
    return show_runs(runs, each.compare(runs), json=json, quiet=quiet)


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
