"""What is true of how a hidden drive writes: buffer, cache, content, flushes."""

import math

from fourcorners.suites import Subject
from fourcorners.suites.probes.burst import Parameters
from fourcorners.suites.probes.common import probed_bytes
from fourcorners.validation.arena.explain.drives import Hidden
from fourcorners.validation.arena.explain.truth import Truth

_FLUSHED_BYTES = 4096
"""Written between two flushes."""


def _buffer(hidden: Hidden) -> float | None:
    """What completes writes: capacitors make it do so even where it is said to write through."""
    if hidden.kind == "disk":
        cached = hidden.get("cache.write_back")
        return float(hidden.get("cache.write_size")) if cached else None
    if hidden.kind == "log-block SSD":
        return float(hidden.get("controller.buffer"))
    buffered = hidden.get("write_buffer.write_back") or hidden.get(
        "write_buffer.power_loss_protection"
    )
    return float(hidden.get("write_buffer.size")) if buffered else None


def _dies_rate(hidden: Hidden, transfers: float, array_s: float) -> float:
    """Rows of all dies over the time that each takes, of transfers and in the array: the channel
    serves its dies in turn, and each of them works meanwhile."""
    flash = hidden.sections["flash"]
    row = flash["page_size"] * flash["planes"]
    transfer_s = transfers * row / flash["bus_rate"]
    round_s = max(transfer_s + array_s, flash["dies"] / flash["channels"] * transfer_s)
    return float(flash["dies"] * row / round_s)


def _written_rate(hidden: Hidden, shrinking: float) -> float | None:
    """What all dies program, of an SLC cache that is full if there is one, or what the data path
    carries to them. Not of a buffer that holds no more than a row of each, so that some of them
    have to wait.

    A row that is folded is read and programmed, and passes the channel both ways. So is one before
    each row that waits for room in the cache; else so much of one for each row as the cache becomes
    smaller by.

    Args:
        hidden: the drive.
        shrinking: rows by which a cache made of free space becomes smaller for each row.
    """
    if hidden.get("write_buffer.size") is None:
        return None
    flash = hidden.sections["flash"]
    row = flash["page_size"] * flash["planes"]
    if hidden.get("write_buffer.size") <= flash["dies"] * row:
        return None
    program_s, fold_s = flash["program_time"], flash["read_time"] + flash["program_time"]
    if hidden.get("slc_cache.when_full") == "fold":
        rate = _dies_rate(hidden, 3, fold_s + hidden.get("slc_cache.program_time"))
    else:
        rate = _dies_rate(hidden, 1 + 2 * shrinking, program_s + shrinking * fold_s)
    return float(min(rate, hidden.get("controller.write_data_rate") or rate))


def _drain_rate(hidden: Hidden) -> float | None:
    """Of a burst over what was written before, after one that has filled an SLC cache. Not of one
    made of free space that is emptied for each row: some rows pass it."""
    folds = hidden.get("slc_cache.when_full") == "fold"
    if not _buffer(hidden) or not _burst_fills_cache(hidden) or (folds and _dynamic_gain(hidden)):
        return None
    return _written_rate(hidden, 0)


def _burst_bytes(hidden: Hidden) -> float:
    """Of the long burst to the erased drive (probe-burst)."""
    return float(probed_bytes(Subject("simulated", int(hidden.get("capacity.user")))))


def _burst_fills_cache(hidden: Hidden) -> bool:
    return _slc_cache(hidden) <= _burst_bytes(hidden)


def _dynamic_gain(hidden: Hidden) -> float:
    """Cache for each byte of free space."""
    share = hidden.get("slc_cache.dynamic_share")
    return 0.0 if share is None else float(share / hidden.get("slc_cache.bits_per_cell"))


def _slc_cache(hidden: Hidden) -> float:
    """What an erased drive takes: free space, of which cache is made, becomes less meanwhile."""
    static, gain = hidden.get("slc_cache.static_size") or 0, _dynamic_gain(hidden)
    return float((static + hidden.get("capacity.user") * gain) / (1 + gain))


def _direct_rate(hidden: Hidden) -> float | None:
    """Not where it depends on how rows meet: of a cache that is emptied for each row and becomes
    smaller too, or for writes that wait until they are on flash; nor where a buffer of few rows
    for each die runs out while some of them fold."""
    if not _slc_cache(hidden):
        return None
    gain, flash = _dynamic_gain(hidden), hidden.sections["flash"]
    if hidden.get("slc_cache.when_full") == "fold" and (gain or not _buffer(hidden)):
        return None
    rows = hidden.get("write_buffer.size") / (flash["page_size"] * flash["planes"])
    return None if gain and rows < 4 * flash["dies"] else _written_rate(hidden, gain)


def _recovered_share(hidden: Hidden) -> float | None:
    """What a pause after the bursts empties. The dies fold when they have programmed what the
    buffer held, and the drive has been idle for a while. A cache made of free space is smaller by
    then."""
    cache = _slc_cache(hidden)
    drain = _written_rate(hidden, 0)
    if not cache or drain is None or not _burst_fills_cache(hidden):
        return None
    flash = hidden.sections["flash"]
    begin_s = max(hidden.get("slc_cache.idle_delay"), (_buffer(hidden) or 0) / drain)
    folded = _dies_rate(hidden, 2, flash["read_time"] + flash["program_time"])
    free = hidden.get("capacity.user") - _burst_bytes(hidden)
    left = (hidden.get("slc_cache.static_size") or 0) + free * _dynamic_gain(hidden)
    return float(min(left, folded * (Parameters().rest_s - begin_s)) / cache)


def _volatile(hidden: Hidden) -> float:
    if hidden.kind == "disk":
        return float(hidden.get("cache.write_back"))
    if hidden.kind in ("cluster-mapped SSD", "log-block SSD"):
        return 1.0  # A write is complete when its data is in the buffer.
    protected = hidden.get("write_buffer.power_loss_protection")
    return float(hidden.get("write_buffer.write_back") and not protected)


def _protected(hidden: Hidden) -> float:
    return float(hidden.get("write_buffer.power_loss_protection") or False)


def _flush_cost(hidden: Hidden) -> float | None:
    """Mean after a write of 4 KiB: what is open is programmed, unless nothing has to be. A larger
    unit is read first, and a flush that needs that die, or its channel, waits for it."""
    if hidden.get("write_buffer.size") is None:
        return None
    taken_up_s = sum(
        hidden.get(part) or 0.0
        for part in ("host.overhead", "link.command_latency", "controller.write_overhead")
    )
    if not _volatile(hidden):
        return taken_up_s
    flash, unit = hidden.sections["flash"], hidden.sections["translation"]["unit"]
    feeding_s = unit / flash["bus_rate"]
    programming_s = hidden.get("slc_cache.program_time") or flash["program_time"]
    # A row of a single unit is full, and programmed before the flush comes.
    start_s = 0.0 if flash["page_size"] * flash["planes"] == unit else taken_up_s
    read_first_s = 0.0
    if unit > _FLUSHED_BYTES:
        same, others = 1 / flash["dies"], 1 / flash["channels"] - 1 / flash["dies"]
        read_first_s = same * max(feeding_s + flash["read_time"] - start_s, 0)
        read_first_s += others * max(feeding_s - start_s, 0)
    return float(max(start_s + read_first_s + feeding_s + programming_s, taken_up_s))


def _compresses(hidden: Hidden) -> float:
    return float(hidden.get("compression.smallest") is not None)


def _deduplicates(hidden: Hidden) -> float:
    return float(hidden.get("deduplication.reference_size") is not None)


def _compression_floor(hidden: Hidden) -> float | None:
    """Room that the smallest units take, as many of which share a row as fit."""
    smallest = hidden.get("compression.smallest")
    if smallest is None:
        return None
    flash, unit = hidden.sections["flash"], hidden.sections["translation"]["unit"]
    row = flash["page_size"] * flash["planes"]
    stored = math.ceil(unit * smallest)
    least = min(stored, hidden.get("deduplication.reference_size") or stored)
    together = min(row // unit * (unit // least), row // stored)
    return float(row / unit / together)


def _trim_effect(hidden: Hidden) -> float | None:
    if hidden.get("garbage_collection.burst_blocks") is None:
        return None
    return float(bool(_trim_granularity(hidden)))


def _trim_granularity(hidden: Hidden) -> float | None:
    """Zero of a drive that maps clusters or has log blocks, which knows no TRIM."""
    if hidden.kind == "disk":
        return None
    granularity = hidden.get("translation.trim_granularity")
    return float(hidden.get("translation.unit") or 0 if granularity is None else granularity)


def _idle_recovery(hidden: Hidden) -> float | None:
    """An SLC cache that a pause empties makes the first writes after it fast."""
    if hidden.get("garbage_collection.burst_blocks") is None or _slc_cache(hidden):
        return None
    return float(hidden.get("garbage_collection.idle_free_blocks") is not None)


FLASH_TRUTHS = (
    Truth("write_buffer_bytes", False, _buffer),
    Truth("write_drain_rate", False, _drain_rate),
    Truth("slc_cache_bytes", False, _slc_cache),
    Truth("slc_direct_rate", False, _direct_rate),
    Truth("slc_recovered_share", False, _recovered_share),
    Truth("volatile_write_cache", True, _volatile),
    Truth("power_loss_protection", True, _protected),
    Truth("flush_cost", False, _flush_cost),
    Truth("compression", True, _compresses),
    Truth("compression_floor", False, _compression_floor),
    Truth("deduplication", True, _deduplicates),
    Truth("trim_effect", True, _trim_effect),
    Truth("trim_granularity", True, _trim_granularity),
    Truth("idle_recovery", True, _idle_recovery),
)
