"""The targets of one command, one after the other, also when it goes on after an interruption."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fourcorners.catalog.claims import Claim
from fourcorners.cli.options import ProgressForm
from fourcorners.cli.progress import choose_progress
from fourcorners.store import Run
from fourcorners.store.folder import end_command
from fourcorners.suites import Suite
from fourcorners.suites import run as run_suite
from fourcorners.targets import open_target


@dataclass(frozen=True)
class Each:
    """What is run on every target, and how it is shown."""

    suite: Suite
    filled_share: float
    seed: int
    out: Path
    command: str | None
    claims: Sequence[Claim]
    progress: ProgressForm
    quiet: bool

    def run(self, openings: Sequence[Mapping[str, Any]]) -> list[Run]:
        """Opens each target by the arguments of :func:`open_target` and runs the suite on it; the
        runs, up to one that was interrupted. Each keeps what was still to follow."""
        runs: list[Run] = []
        for place, opening in enumerate(openings, start=1):
            with (
                open_target(**opening) as target,
                choose_progress(self.quiet, self.progress) as progress,
            ):
                finished = run_suite(
                    self.suite,
                    target,
                    filled_share=self.filled_share,
                    seed=self.seed,
                    out=self.out,
                    command=self.command,
                    progress=progress,
                    following=openings[place:],
                    claims=self.claims,
                )
            runs.append(finished)
            if finished.manifest["status"] == "interrupted":
                return runs
        end_command(one.path for one in runs)
        return runs

    def side_by_side(self, runs: Sequence[Run]) -> Path | None:
        """Where a page with several runs is written; there is none of one."""
        if len(runs) < 2:
            return None
        return self.out / f"{time.strftime('%Y%m%d-%H%M%S')}-side-by-side.html"
