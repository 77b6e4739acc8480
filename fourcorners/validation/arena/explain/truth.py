"""What a finding should say about a hidden drive."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


def _value(finding: Mapping[str, Any]) -> float | None:
    return None if finding["value"] is None else float(finding["value"])


@dataclass(frozen=True)
class Truth:
    """What a finding should say, which the drive knows by the finding's name.

    ``discrete`` values are right or wrong, the others are off by some percent. ``said`` gives what
    the finding says, which is its value unless that is in words.
    """

    finding: str
    discrete: bool
    said: Callable[[Mapping[str, Any]], float | None] = _value
