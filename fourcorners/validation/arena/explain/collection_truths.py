"""What is true of a hidden drive's collection: spare area, what is erased at a time, stalls."""

import math

from fourcorners.suites.probes.overwrite import (
    BATCH,
    CHUNKS,
    CLIFFS_WATCHED,
    DEPTH,
    FILL_BLOCK_BYTES,
    OVERWRITE_BLOCK_BYTES,
    Parameters,
)
from fourcorners.target.simulated import SimulatedTarget
from fourcorners.validation.arena.explain.drives import Hidden
from fourcorners.validation.arena.explain.link_truths import link_bytes_per_second
from fourcorners.validation.arena.explain.truth import Truth
from fourcorners.workload import Stream, Workload

_OF_LINK_MAX, _OF_ROW_MAX = 0.7, 0.5
"""Rate of all dies over the link's, and what the transfers of a channel's dies take over the time
of a row, up to which neither limits."""

_LONGEST_S = 1e5
"""Longest for what is written: bytes end it."""


def _stripe_bytes(hidden: Hidden) -> int:
    """One block of every plane of every die."""
    flash = hidden.sections["flash"]
    stripe = flash["dies"] * flash["planes"] * flash["page_size"] * flash["pages_per_block"]
    return int(stripe)


def _reclaimed_bytes(hidden: Hidden) -> float | None:
    """What is erased at a time: a burst begins one block below where it ends. Banks of a drive with
    log blocks take their turn of a sequence, and erase, after each other."""
    if hidden.kind == "log-block SSD":
        return float(_stripe_bytes(hidden))
    burst = hidden.get("garbage_collection.burst_blocks")
    if burst is None:
        return None
    return float(_stripe_bytes(hidden) * (burst + 1))


def _spare_share(hidden: Hidden) -> float | None:
    """What a full drive takes before it collects, over user area: one block of each pool is open,
    one takes what is collected, and a pool begins when fewer are free than it keeps."""
    kept = hidden.get("garbage_collection.start_free_blocks")
    return None if kept is None else _spare_without(hidden, kept + 1)


def _steady_spare_share(hidden: Hidden) -> float | None:
    """Spare area that holds data in the steady state, over user area: open blocks are half full
    in the mean, and so many are free as collection lets there be. The open block for what is
    collected stays empty where it goes into the host's."""
    kept, burst = (
        hidden.get(f"garbage_collection.{name}") for name in ("start_free_blocks", "burst_blocks")
    )
    if kept is None:
        return None
    empty = 0.5 * (burst or 0) + 0.5 * bool(hidden.get("garbage_collection.shared_stream"))
    return _spare_without(hidden, kept + 0.5 + empty)


def _spare_without(hidden: Hidden, kept: float) -> float:
    """All good blocks but so many of each pool, over user area, beyond the user's."""
    flash, user = hidden.sections["flash"], hidden.sections["capacity"]["user"]
    reserved = hidden.sections["translation"]["reserved_share"]
    blocks = int(flash["blocks_per_plane"] * (1 - reserved))
    return float((blocks - kept) * _stripe_bytes(hidden) / user - 1)


def _stall_spacing(hidden: Hidden) -> float | None:
    burst = hidden.get("garbage_collection.burst_blocks")
    if burst is None or hidden.get("garbage_collection.burst_pace"):
        return None  # With a pace, writes go on during a burst.
    if burst and hidden.get("garbage_collection.shared_stream"):
        # What a burst collects takes some of the block that the host goes on with.
        return None
    return 0 if burst == 0 else _reclaimed_bytes(hidden)


def _stall_length(hidden: Hidden) -> float | None:
    """How long all dies take to reclaim what a burst does, in the mean from the cliff on: to read
    and program what is moved, and to erase. Only of dies that collect together: others do not end
    at the same time, and writes go on. A link that is slower than flash lets a buffer hide some of
    it; so do channels that others wait for."""
    burst = hidden.get("garbage_collection.burst_blocks")
    if not burst:
        return None if burst is None else 0.0
    flash, unit = hidden.sections["flash"], hidden.sections["translation"]["unit"]
    row = flash["page_size"] * flash["planes"]
    transfer_s = row / flash["bus_rate"]
    row_s = transfer_s + flash["program_time"]
    if (
        not _stall_spacing(hidden)
        or hidden.get("translation.superblock_dies") != flash["dies"]
        or flash["dies"] * row / row_s > _OF_LINK_MAX * link_bytes_per_second(hidden)
        or flash["dies"] / flash["channels"] * transfer_s > _OF_ROW_MAX * row_s
    ):
        return None
    valid = _valid_share(hidden)
    if not valid:
        return None
    moved = valid / (1 - valid)
    # A row is read once for all of it that is valid; what was written together is valid together.
    together = max(row // max(unit, OVERWRITE_BLOCK_BYTES), 1)
    reads = (1 - (1 - valid) ** together) / valid
    moving_s = reads * flash["read_time"] + 2 * transfer_s + flash["program_time"]
    moving_s *= flash["pages_per_block"] * moved
    return float((burst + 1) * (moving_s + (1 + moved) * flash["erase_time"]))


def _valid_share(hidden: Hidden) -> float | None:
    """Of the blocks that are collected from the cliff until the probe ends, what is still valid, as
    the simulated drive counts it when it is filled and overwritten as the probe does. ``None``
    where nothing is collected until then."""
    share = _spare_share(hidden) or 0.0
    target = SimulatedTarget(hidden.drive.id, hidden.drive, {}, hidden.seed)
    user = target.capacity_bytes
    batches = min(Parameters().in_all, CLIFFS_WATCHED * share) * CHUNKS / BATCH
    end = math.ceil(batches) * BATCH / CHUNKS
    if end <= share:
        return None

    def write(pattern: str, block: int, of_user: float, seed: int) -> None:
        count = int(of_user * user) // block * block
        stream = Stream.write(pattern, block, queue_depth=DEPTH)
        target.run(Workload([stream], seconds=_LONGEST_S, transfer_bytes=count, seed=seed))

    write("sequential", FILL_BLOCK_BYTES, 1.0, hidden.seed)
    write("random", OVERWRITE_BLOCK_BYTES, share, hidden.seed)
    before = target.counters()
    write("random", OVERWRITE_BLOCK_BYTES, end - share, hidden.seed + 1)
    after = target.counters()
    moved, erased = (after[name] - before[name] for name in ("units_moved", "blocks_erased"))
    if not erased:
        return None
    # A block is one of all dies where they collect together.
    return moved * int(hidden.get("translation.unit")) / (erased * _stripe_bytes(hidden))


COLLECTION_TRUTHS = (
    Truth("over_provisioning", False, _spare_share),
    Truth("op_by_cliff", False, _spare_share),
    Truth("op_by_amplification", False, _steady_spare_share),
    Truth("superblock_bytes", False, _reclaimed_bytes),
    Truth("collection_stall_spacing", False, _stall_spacing),
    Truth("collection_stall_length", False, _stall_length),
)
