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


def _stripe(hidden: Hidden) -> float | None:
    if hidden.kind == "disk":
        return 0
    page = hidden.get("flash.page_size")
    return page * hidden.get("flash.planes") if hidden.get("flash.dies") else None


def _page(hidden: Hidden) -> float | None:
    # How a controller that compresses packs units into pages is not in its drive file.
    if hidden.kind == "compressing SSD" or hidden.kind == "cluster-mapped SSD":
        return None
    return 0 if hidden.kind == "disk" else float(hidden.get("flash.page_size"))


def _dies(hidden: Hidden) -> float | None:
    return 0 if hidden.kind == "disk" else hidden.get("flash.dies")


def _queue_depth(hidden: Hidden) -> float | None:
    return float(hidden.get("link.queue_depth"))


TRUTHS = (
    Truth("mapping_unit", True, _mapping_unit),
    Truth("stripe_bytes", True, _stripe),
    Truth("page_bytes", True, _page),
    Truth("dies", True, _dies),
    Truth("command_queue_depth", True, _queue_depth),
)
