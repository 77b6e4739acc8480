"""Drives at several levels of noise: each is probed at every level."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fourcorners_validation.arena.explain.contest import ProbedDrive


@dataclass(frozen=True)
class AtLevels:
    """Drives that are probed at these levels of noise, one after the other."""

    one: Callable[..., ProbedDrive]
    """Called as ``one(seed, index, noise=...)``."""
    levels: Sequence[float]

    def run(self, seed: int, index: int) -> ProbedDrive:
        """Probes the drive of this number at the level of this number."""
        drive, level = divmod(index, len(self.levels))
        return self.one(seed, drive, noise=self.levels[level])
