"""What a finding should say about a hidden drive."""

from collections.abc import Callable
from dataclasses import dataclass

from fourcorners.arena.explain.drives import Hidden


@dataclass(frozen=True)
class Truth:
    """What a finding should say.

    ``of`` gives the value in the finding's unit: 0 where the drive does not have the thing, so that
    finding it is a false discovery; ``None`` where the question does not apply to the drive.
    ``discrete`` values are right or wrong, the others are off by some percent.
    """

    finding: str
    discrete: bool
    of: Callable[[Hidden], float | None]
