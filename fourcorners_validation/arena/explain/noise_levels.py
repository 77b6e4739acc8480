"""Drives at several levels of noise: own ones and foreign ones, each at every level."""

from collections.abc import Sequence
from dataclasses import dataclass

from fourcorners_validation.arena.explain.contest import ProbedDrive, run_drive
from fourcorners_validation.arena.explain.program import run_foreign


@dataclass(frozen=True)
class Disturbed:
    """Drives that are probed at these levels of noise, one after the other. ``families`` says which
    are drawn: own ones (``False``), foreign ones (``True``), or both in turn."""

    levels: Sequence[float]
    families: Sequence[bool]
    programs: str
    """The folder of the compiled specimens."""

    def count(self, drives: int) -> int:
        """How often a drive is probed if so many of each family are drawn."""
        return drives * len(self.families) * len(self.levels)

    def run(self, seed: int, index: int) -> ProbedDrive:
        """Probes the drive of this number at the level of this number."""
        drive, level = divmod(index, len(self.levels))
        number, family = divmod(drive, len(self.families))
        if self.families[family]:
            return run_foreign(self.programs, seed, number, noise=self.levels[level])
        return run_drive(seed, number, noise=self.levels[level])
