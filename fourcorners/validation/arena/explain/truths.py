"""What is true of a hidden drive, finding by finding."""

from collections.abc import Mapping
from typing import Any

from fourcorners.validation.arena.explain.collection_truths import COLLECTION_TRUTHS
from fourcorners.validation.arena.explain.disk_truths import DISK_TRUTHS
from fourcorners.validation.arena.explain.drives import Hidden
from fourcorners.validation.arena.explain.flash_truths import FLASH_TRUTHS
from fourcorners.validation.arena.explain.link_truths import LINK_TRUTHS
from fourcorners.validation.arena.explain.truth import Truth

_KINDS_TOLD = ("disk", "page-mapped", "cluster-mapped", "log-block")
"""Kinds of drives as the story has them, numbered from 1."""


def _kind(hidden: Hidden) -> float | None:
    told = {
        "disk": "disk",
        "cluster-mapped SSD": "cluster-mapped",
        "log-block SSD": "log-block",
    }.get(hidden.kind, "page-mapped")
    return 1.0 + _KINDS_TOLD.index(told)


def _kind_told(explanation: Mapping[str, Any]) -> float | None:
    """Not of a drive of which it does not show how it maps."""
    kind = explanation["detail"]["kind"]
    return 1.0 + _KINDS_TOLD.index(kind) if kind in _KINDS_TOLD else None


def _log_blocks(hidden: Hidden) -> float | None:
    return float(hidden.kind == "log-block SSD")


def _mapping_unit(hidden: Hidden) -> float | None:
    if hidden.kind == "disk":
        return 0
    if hidden.kind == "log-block SSD":
        return block_bytes(hidden)  # Of what logs hold, rows: until it is merged.
    unit = hidden.get("translation.unit")
    return cluster_bytes(hidden) if unit is None else float(unit)


def _row_bytes(hidden: Hidden) -> float:
    """One page of every plane of a die."""
    return float(hidden.get("flash.page_size") * hidden.get("flash.planes"))


def block_bytes(hidden: Hidden) -> float:
    """Of a drive with log blocks: one block of every plane of a bank's dies."""
    pages = hidden.get("flash.pages_per_block") * hidden.get("translation.dies_per_block")
    return float(pages * _row_bytes(hidden))


def cluster_bytes(hidden: Hidden) -> float:
    """Of a cluster-mapped drive: one block of every plane of all dies that work together."""
    flash = hidden.sections["flash"]
    return float(
        flash["channels"] * flash["planes"] * flash["page_size"] * flash["pages_per_block"]
    )


def _partial_unit(hidden: Hidden) -> float | None:
    """Of a drive that maps clusters: each row of a cluster is read, passes the channel both ways
    and is programmed, one after the other, and what was replaced is erased before the next one."""
    if hidden.kind != "cluster-mapped SSD":
        return None
    flash = hidden.sections["flash"]
    transfer_s = flash["planes"] * flash["page_size"] / flash["bus_rate"]
    row_s = flash["read_time"] + 2 * transfer_s + flash["program_time"]
    return float(flash["pages_per_block"] * row_s + flash["erase_time"])


def _stripe(hidden: Hidden) -> float | None:
    if hidden.kind == "disk":
        return 0
    if hidden.get("flash.dies") is None:
        return None
    if hidden.get("translation.dies_per_block") == 1:
        return block_bytes(hidden)  # The next die's turn comes with the next block.
    return _row_bytes(hidden)


def _page(hidden: Hidden) -> float | None:
    if hidden.kind == "cluster-mapped SSD":
        return None
    if hidden.kind in ("compressing SSD", "log-block SSD"):
        # A die reads from all of its planes at once. (So does drive/sim, of data that does not
        # compress, where units of half their size or less fill rows of up to two planes.)
        return _row_bytes(hidden)
    return 0 if hidden.kind == "disk" else float(hidden.get("flash.page_size"))


def _dies(hidden: Hidden) -> float | None:
    return 0 if hidden.kind == "disk" else hidden.get("flash.dies")


def _channels(hidden: Hidden) -> float | None:
    if hidden.kind == "disk":
        return 0
    return hidden.get("flash.channels") if hidden.get("flash.dies") else None


def _parallel_units(hidden: Hidden) -> float | None:
    """Dies; one where the drive takes one command at a time."""
    if hidden.kind == "disk":
        return 0
    if hidden.get("link.queue_depth") == 1:
        return 1
    dies = hidden.get("flash.dies")
    return None if dies is None else float(dies)


def _queue_depth(hidden: Hidden) -> float | None:
    return float(hidden.get("link.queue_depth"))


def _read_ahead(hidden: Hidden) -> float | None:
    return float(hidden.kind == "disk" or "read_ahead" in hidden.sections)


def _read_ahead_streams(hidden: Hidden) -> float | None:
    if hidden.kind == "disk":
        return float(hidden.get("cache.segments") or 1)
    return float(hidden.get("read_ahead.streams") or 0)


def _read_cache(hidden: Hidden) -> float | None:
    """Of a disk, its segments."""
    if hidden.kind == "disk":
        segments = hidden.get("cache.segments") or 1
        return float(segments * hidden.get("cache.read_ahead"))
    return float(hidden.get("read_cache.size") or 0)


TRUTHS = (
    Truth("explanation", True, _kind, _kind_told),
    Truth("log_blocks", True, _log_blocks),
    Truth("read_ahead", True, _read_ahead),
    Truth("read_ahead_streams", True, _read_ahead_streams),
    Truth("read_cache_bytes", False, _read_cache),
    Truth("mapping_unit", True, _mapping_unit),
    Truth("partial_unit_penalty", False, _partial_unit),
    Truth("extended_model", False, _partial_unit),
    Truth("stripe_bytes", True, _stripe),
    Truth("page_bytes", True, _page),
    Truth("dies", True, _dies),
    Truth("channels", True, _channels),
    Truth("parallel_units", False, _parallel_units),
    Truth("command_queue_depth", True, _queue_depth),
    *LINK_TRUTHS,
    *DISK_TRUTHS,
    *COLLECTION_TRUTHS,
    *FLASH_TRUTHS,
)
