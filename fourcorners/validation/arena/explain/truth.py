"""What a finding should say about a hidden drive."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fourcorners.validation.arena.explain.drives import Hidden


def _value(finding: Mapping[str, Any]) -> float | None:
    return None if finding["value"] is None else float(finding["value"])


@dataclass(frozen=True)
class Truth:
    """What a finding should say.

    ``of`` gives the value in the finding's unit: 0 where the drive does not have the thing, so that
    finding it is a false discovery; ``None`` where the question does not apply to the drive.
    ``discrete`` values are right or wrong, the others are off by some percent. ``said`` gives what
    the finding says, which is its value unless that is in words.
    """

    finding: str
    discrete: bool
    of: Callable[[Hidden], float | None]
    said: Callable[[Mapping[str, Any]], float | None] = _value
