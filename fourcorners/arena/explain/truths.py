"""What is true of a hidden drive, finding by finding."""

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


def _mapping_unit(hidden: Hidden) -> float | None:
    if hidden.kind == "disk":
        return 0
    unit = hidden.get("translation.unit")
    return cluster_bytes(hidden) if unit is None else float(unit)


def cluster_bytes(hidden: Hidden) -> float:
    """Of a cluster-mapped drive: one block of every plane of all dies that work together."""
    flash = hidden.sections["flash"]
    return float(
        flash["channels"] * flash["planes"] * flash["page_size"] * flash["pages_per_block"]
    )


TRUTHS = (Truth("mapping_unit", True, _mapping_unit),)
