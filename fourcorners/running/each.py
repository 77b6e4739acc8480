"""The targets of one command, one after the other, also when it goes on after an interruption."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fourcorners.catalog.claims import Claim
from fourcorners.running.begin import begin_run
from fourcorners.running.progress import Progress
from fourcorners.store import Run
from fourcorners.store.folder import end_command
from fourcorners.suites import Subject, Suite
from fourcorners.target.open import is_simulated, open_target
from fourcorners.target.target import Target


@dataclass(frozen=True)
class Each:
    """What is run on every target."""

    suite: Suite
    filled_share: float
    seed: int
    out: Path
    command: str | None
    claims: Sequence[Claim]
    progress: Progress

    def run(self, openings: Sequence[Mapping[str, Any]]) -> list[Run]:
        """Opens each target by the arguments of :func:`open_target` and runs the suite on it; the
        runs, up to one that was interrupted. Each keeps what was still to follow."""
        runs: list[Run] = []
        with contextlib.ExitStack() as stack:
            held = self._hold(openings, stack)
            for place, opening in enumerate(openings, start=1):
                with contextlib.ExitStack() as own:
                    name = _name(opening)
                    target = held.get(name) or own.enter_context(open_target(**opening))
                    finished = begin_run(
                        self.suite,
                        target,
                        filled_share=self.filled_share,
                        seed=self.seed,
                        out=self.out,
                        command=self.command,
                        progress=self.progress,
                        following=openings[place:],
                        claims=self.claims,
                    )
                if name not in map(_name, openings[place:]):
                    target.close()
                runs.append(finished)
                if finished.manifest.status == "interrupted":
                    return runs
        end_command(one.path for one in runs)
        return runs

    def plan(self, target: Target) -> None:
        """Finds what is wrong with the suite on a target; raises :class:`UserError`."""
        self.suite.plan(Subject.of(target, self.filled_share), self.seed)

    def _hold(
        self, openings: Sequence[Mapping[str, Any]], stack: contextlib.ExitStack
    ) -> dict[str, Target]:
        """Finds what is wrong with any of the targets before hours go into the first one. Files
        and devices stay open until their turn comes, so that what was examined is what is written;
        of simulated drives only one is in memory at a time."""
        held: dict[str, Target] = {}
        for opening in openings:
            name = _name(opening)
            if is_simulated(opening["locator"]):
                if len(openings) == 1:
                    continue
                with open_target(**opening) as target:
                    self.plan(target)
            elif name not in held:
                held[name] = stack.enter_context(open_target(**opening))
                self.plan(held[name])
        return held


def _name(opening: Mapping[str, Any]) -> str:
    """One for each file and device, whatever links lead there."""
    locator: str = opening["locator"]
    return locator if is_simulated(locator) else os.path.realpath(locator)
