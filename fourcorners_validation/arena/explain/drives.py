"""Hidden drives: parameters drawn at random within physical ranges.

The ranges are those of the catalog's drives and of their data sheets (docs/explain.md). Capacities
are small, because the findings do not depend on them, and a hundred drives should take minutes.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fourcorners.catalog import DriveFile
from fourcorners_validation.arena.drive_text import (
    Bytes,
    BytesPerSecond,
    GigabitsPerSecond,
    Seconds,
    drive_file,
)

KINDS = (
    "SATA SSD",
    "NVMe SSD",
    "compressing SSD",
    "SLC-cached SSD",
    "block-mapped SSD",
    "log-block SSD",
    "disk",
)

KIB, MIB, GIB = 2**10, 2**20, 2**30
_US, _MS = 1e-6, 1e-3


@dataclass(frozen=True)
class Hidden:
    """One drive, which states the truth about itself (:mod:`truths`)."""

    kind: str
    drive: DriveFile
    seed: int


def draw(seed: int, index: int) -> Hidden:
    """The drive with this number for this seed; each kind is drawn in turn."""
    kind = KINDS[index % len(KINDS)]
    chance = np.random.default_rng([seed, index])
    match kind:
        case "disk":
            file_kind, sections = "disk", _disk(chance)
        case "block-mapped SSD":
            file_kind, sections = "block-mapped-ssd", _block_mapped(chance)
        case "log-block SSD":
            file_kind, sections = "log-block-ssd", _log_block(chance)
        case _:
            file_kind, sections = "page-mapped-ssd", _page_mapped(chance, kind)
    drive = drive_file(f"hidden-{seed}-{index}", file_kind, sections)
    return Hidden(kind, drive, seed=int(chance.integers(1, 2**31)))


def _page_mapped(chance: np.random.Generator, kind: str) -> dict[str, dict[str, Any]]:
    nvme = kind == "NVMe SSD" or (kind == "SLC-cached SSD" and chance.random() < 0.8)
    channels = int(chance.choice([2, 4, 8]))
    dies = channels * int(chance.choice([1, 2, 4]))
    planes = int(chance.choice([1, 2, 4] if nvme else [1, 2]))
    page = int(chance.choice([4, 8, 16])) * KIB
    pages_per_block = int(chance.choice([64, 128, 256]))
    unit = int(chance.choice([4, 4, 4, 8, 16])) * KIB
    unit = min(unit, page)
    user = int(chance.choice([4, 6, 8, 12])) * GIB
    spare = _between(chance, 0.06, 0.40)
    reserved = 0.04  # Share of all flash for bad blocks and tables.
    block = page * pages_per_block
    # Some blocks of each die are kept free for garbage collection, and some are being written.
    blocks = math.ceil((user * (1 + spare) / block / dies / planes + 8 / planes) / (1 - reserved))
    program = _between(chance, 0.3, 2.0) * _MS
    sections: dict[str, dict[str, Any]] = {
        "host": {"overhead": Seconds(_between(chance, 4, 20) * _US)},
        "link": _nvme_link(chance) if nvme else _sata_link(chance),
        "capacity": {"user": Bytes(user)},
        "controller": {
            "read_overhead": Seconds(_between(chance, 1, 15) * _US * (0.3 if nvme else 1)),
            "write_overhead": Seconds(_between(chance, 1, 15) * _US * (0.3 if nvme else 1)),
        },
        "write_buffer": {
            "size": Bytes(int(chance.choice([1, 2, 4, 8, 16, 32])) * MIB),
            "write_back": bool(chance.random() < 0.9),
            "power_loss_protection": bool(chance.random() < 0.25),
        },
        "flash": {
            "channels": channels,
            "dies": dies,
            "planes": planes,
            "page_size": Bytes(page),
            "pages_per_block": pages_per_block,
            "blocks_per_plane": blocks,
            "read_time": Seconds(_between(chance, 40, 120) * _US),
            "program_time": Seconds(program),
            "erase_time": Seconds(_between(chance, 2, 8) * _MS),
            "bus_rate": BytesPerSecond(_between(chance, 100, 1000) * 1e6),
        },
        "translation": {"unit": Bytes(unit)},
        "garbage_collection": {
            "start_free_blocks": 3,
            "burst_blocks": 0 if chance.random() < 0.6 else int(chance.integers(1, 4)),
        },
    }
    if chance.random() < 0.7:
        sections["read_ahead"] = {
            "size": Bytes(int(chance.choice([256, 512, 1024, 2048])) * KIB),
            "streams": int(chance.choice([1, 4])),
        }
    if kind != "SLC-cached SSD" and chance.random() < 0.25:
        # Enough free blocks that the gain of a pause is visible beyond the write buffer.
        free = user * min(_between(chance, 0.04, 0.08), 0.5 * spare)
        sections["garbage_collection"] |= {
            # More free blocks than the drive keeps while it is in use.
            "idle_free_blocks": 3
            + max(
                math.ceil(free / block / dies / planes),
                sections["garbage_collection"]["burst_blocks"] + 1,
            ),
            "idle_delay": Seconds(_between(chance, 0.1, 2.0)),
        }
    if kind == "compressing SSD":
        sections["compression"] = {"smallest": round(_between(chance, 0.125, 0.5), 3)}
        if chance.random() < 0.5:
            sections["deduplication"] = {"reference_size": Bytes(max(KIB, unit // 8))}
    if kind == "SLC-cached SSD":
        cached: dict[str, Any] = {
            "program_time": Seconds(program / _between(chance, 4, 8)),
            "when_full": "direct" if chance.random() < 0.7 else "fold",
            "idle_delay": Seconds(1.0),
        }
        if chance.random() < 0.35:
            cached |= {"dynamic_share": round(_between(chance, 0.05, 0.3), 3), "bits_per_cell": 3}
        else:
            # Static cache in three bits per cell takes three times its size of the reserve.
            cache = int(user * _between(chance, 0.01, 0.04)) // MIB * MIB
            cached["static_size"] = Bytes(cache)
            total = 3 * cache / (user * (1 + spare)) + reserved
            scale = (1 - reserved) / (1 - total)
            reserved = round(total, 4)
            sections["flash"]["blocks_per_plane"] = math.ceil(blocks * scale)
        sections["slc_cache"] = cached
    if chance.random() < 0.1:
        sections["read_cache"] = {"size": Bytes(round(_between(chance, 2, 24)) * MIB)}
    heeds = chance.random()
    if heeds < 0.15:
        sections["translation"]["trim_granularity"] = Bytes(0)
    elif heeds < 0.5:
        coarser = unit * 2 ** int(chance.integers(1, 7))
        sections["translation"]["trim_granularity"] = Bytes(coarser)
    collection = sections["garbage_collection"]
    match chance.choice(["greedy", "d-choices", "cost-benefit", "fifo"], p=[0.6, 0.2, 0.1, 0.1]):
        case "d-choices":
            collection |= {"policy": "d-choices", "candidates": int(chance.integers(4, 33))}
        case policy:
            collection["policy"] = str(policy)
    if chance.random() < 0.2 and "slc_cache" not in sections:
        collection["shared_stream"] = True
    if chance.random() < 0.3:
        sections["translation"]["superblock_dies"] = dies
    # Few large blocks make up the spare area; the free ones and the open ones would take all of it.
    needed = math.ceil(user / block / dies / planes) + 3 + collection["burst_blocks"] + 2
    while (used := math.floor(sections["flash"]["blocks_per_plane"] * (1 - reserved))) < needed:
        sections["flash"]["blocks_per_plane"] += 1
    sections["translation"]["spare_area"] = used * block * dies * planes / user - 1
    if kind != "SLC-cached SSD" and chance.random() < 0.3:
        sections["flash"] |= _kinds_of_pages(chance, program)
    return sections


def _kinds_of_pages(chance: np.random.Generator, mean_s: float) -> dict[str, Any]:
    """Lower and upper pages, or extra ones too: from one kind to the next the factors are those
    that were measured (Grupp et al., MICRO 2009; docs/explain.md)."""
    factors = [1.0, *(_between(chance, 1.6, 3.0) for _ in range(chance.integers(1, 3)))]
    times = np.cumprod(factors)
    whole_ns = np.round(times / times.mean() * mean_s * 1e9)
    return {
        "program_time": Seconds(float(whole_ns.mean()) * 1e-9),
        "program_times": [Seconds(float(one) * 1e-9) for one in whole_ns],
    }


def _block_mapped(chance: np.random.Generator) -> dict[str, dict[str, Any]]:
    page = int(chance.choice([2, 4])) * KIB
    block_pages = 128
    channels, planes = int(chance.choice([2, 4])), int(chance.choice([1, 2]))
    ways = int(chance.choice([1, 2, 4]))
    return {
        "host": {"overhead": Seconds(0.0)},
        "link": _sata_link(chance) | {"queue_depth": 1},
        "capacity": {"user": Bytes(int(chance.choice([8, 16, 32])) * GIB)},
        "controller": {
            "read_overhead": Seconds(_between(chance, 80, 300) * _US),
            "write_overhead": Seconds(_between(chance, 5, 50) * _US),
            "buffer": Bytes(channels * planes * page),
        },
        "flash": {
            "channels": channels,
            "ways": ways,
            "planes": planes,
            "page_size": Bytes(page),
            "pages_per_block": block_pages,
            "read_time": Seconds(_between(chance, 40, 80) * _US),
            "program_time": Seconds(_between(chance, 0.6, 1.6) * _MS),
            "erase_time": Seconds(_between(chance, 1.5, 3) * _MS),
            "bus_rate": BytesPerSecond(_between(chance, 25, 50) * 1e6),
        },
    }


def _log_block(chance: np.random.Generator) -> dict[str, dict[str, Any]]:
    channels, planes = int(chance.choice([2, 4])), int(chance.choice([1, 2]))
    dies = channels * int(chance.choice([1, 2, 4]))
    page = int(chance.choice([4, 8])) * KIB
    pages_per_block = int(chance.choice([64, 128]))
    user = int(chance.choice([4, 8])) * GIB
    together = dies // int(chance.choice([1, 2]))
    log_blocks = int(chance.choice([4, 8, 16, 32]))
    blocks = math.ceil(user / (dies * planes * page * pages_per_block))
    return {
        "host": {"overhead": Seconds(_between(chance, 4, 20) * _US)},
        "link": _sata_link(chance),
        "capacity": {"user": Bytes(user)},
        "controller": {
            "read_overhead": Seconds(_between(chance, 5, 40) * _US),
            "write_overhead": Seconds(_between(chance, 5, 40) * _US),
            "buffer": Bytes(dies * planes * page * int(chance.choice([1, 2, 4]))),
        },
        "flash": {
            "channels": channels,
            "dies": dies,
            "planes": planes,
            "page_size": Bytes(page),
            "pages_per_block": pages_per_block,
            "blocks_per_plane": blocks + log_blocks + 8,
            "read_time": Seconds(_between(chance, 40, 80) * _US),
            "program_time": Seconds(_between(chance, 0.5, 1.6) * _MS),
            "erase_time": Seconds(_between(chance, 1.5, 3) * _MS),
            "bus_rate": BytesPerSecond(_between(chance, 40, 200) * 1e6),
        },
        "translation": {
            "dies_per_block": together,
            "log_blocks": log_blocks,
            "sharing": str(chance.choice(["shared", "per-block"])),
        },
    }


def _disk(chance: np.random.Generator) -> dict[str, dict[str, Any]]:
    outer = _between(chance, 60, 200) * MIB
    inner = outer * _between(chance, 0.45, 0.6)
    settle = _between(chance, 0.8, 1.6) * _MS
    sections: dict[str, dict[str, Any]] = {
        "host": {"overhead": Seconds(20 * _US), "elevator_window": 1},
        "link": _sata_link(chance) | {"queue_depth": int(chance.choice([1, 32]))},
        "capacity": {"user": Bytes(int(_between(chance, 80e9, 1000e9)) // 2**12 * 2**12)},
        "geometry": {
            "rotation_rpm": int(chance.choice([5400, 5900, 7200, 10000, 15000])),
            "heads": int(chance.choice([2, 4, 6])),
            "zones": int(chance.choice([8, 12, 16, 24])),
            "outer_rate": BytesPerSecond(outer),
            "inner_rate": BytesPerSecond(inner),
        },
        "seek": {
            "base": Seconds(settle),
            "stroke": Seconds(_between(chance, 6, 16) * _MS),
            "write_settle": Seconds(_between(chance, 0.2, 2) * _MS),
            "track_switch": Seconds(settle),
        },
        "controller": {
            "command_overhead": Seconds(_between(chance, 20, 60) * _US),
            "access_overhead": Seconds(_between(chance, 100, 400) * _US),
            "write_through_overhead": Seconds(_between(chance, 0, 2) * _MS),
        },
        "cache": {
            "write_back": bool(chance.random() < 0.8),
            "write_size": Bytes(int(chance.choice([8, 16, 32, 64])) * MIB),
            "write_entries": int(chance.choice([32, 64, 128])),
            "read_ahead": Bytes(int(chance.choice([512, 1024, 2048])) * KIB),
        },
    }
    if chance.random() < 0.6:
        sections["cache"]["segments"] = int(chance.choice([2, 3, 4, 6, 8]))
    if chance.random() < 0.8:
        sections["seek"]["head_switch"] = Seconds(settle * _between(chance, 0.4, 0.95))
    return sections


def _sata_link(chance: np.random.Generator) -> dict[str, Any]:
    return {
        "line_rate": GigabitsPerSecond(float(chance.choice([1.5, 3.0, 6.0], p=[0.1, 0.4, 0.5]))),
        "command_overhead": Bytes(1650),
        "queue_depth": int(chance.choice([1, 8, 32, 32, 32])),
    }


def _nvme_link(chance: np.random.Generator) -> dict[str, Any]:
    return {
        "pcie_generation": int(chance.choice([3, 4])),
        "pcie_lanes": int(chance.choice([2, 4])),
        "command_overhead": Bytes(128),
        "command_latency": Seconds(_between(chance, 1.5, 5) * _US),
        "queue_depth": int(chance.choice([64, 128, 256, 1023])),
    }


def _between(chance: np.random.Generator, low: float, high: float) -> float:
    return float(low + (high - low) * chance.random())
