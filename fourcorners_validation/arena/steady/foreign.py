"""Foreign drives in the contest of the judges: small specimens, whose slow flash makes them take as
long as large drives."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fourcorners.target.open import open_target
from fourcorners.target.target import Target
from fourcorners.workload import Stream
from fourcorners_validation.arena.explain.drives import KIB, MIB
from fourcorners_validation.arena.explain.foreign import (
    SPECIMENS,
    Arguments,
    Draw,
    variation,
)
from fourcorners_validation.arena.steady.contest import StoppedTrace, stopped
from fourcorners_validation.arena.steady.drives import TraceCase


@dataclass(frozen=True, kw_only=True)
class ForeignCase(TraceCase):
    """A foreign drive."""

    locator: str

    def opened(self) -> Target:
        """The drive as it was delivered."""
        return open_target(self.locator, seed=self.seed)


def run_foreign_trace(programs: str, seed: int, index: int) -> StoppedTrace:
    """Simulates one trace of a compiled specimen and lets every contestant stop it."""
    return stopped(lambda attempt: draw_case(programs, seed, index, attempt), index)


def draw_case(programs: str, seed: int, index: int, attempt: int = 0) -> ForeignCase:
    """The case of that number of the corpus of that seed; specimens take turns, and every other
    drive of a specimen has variation."""
    name = SPECIMENS[index % len(SPECIMENS)]
    chance = np.random.default_rng([seed, index, attempt])
    draw = Draw(chance)
    arguments = _SMALL[name](draw)
    if sum(divmod(index, len(SPECIMENS))) % 2:
        arguments |= variation(draw, name, int(arguments["capacity"]))
    words = [f"{key}={value}" for key, value in arguments.items()]
    stream: dict[str, Any] = {"pattern": "random", "block_bytes": 4096, "read_share": 0.0}
    stream["queue_depth_per_worker"] = draw.one_of(1, 4, 32)
    filled, used, test = 1.0, 0.0, 8.0
    match draw.word("random", "random", "not filled", "skewed", "used", "mixed"):
        case "not filled":
            filled, test = draw.one_of(0, 1, 2) / 4, 10.0
        case "skewed":
            stream["pattern"] = draw.word("zipf:0.8", "zipf:0.99", "hot-cold:0.2:0.8")
            test = 16.0
        case "used":
            used = draw.number(2, 4)
        case "mixed":
            stream["read_share"] = float(draw.word("0.3", "0.5", "0.65"))
            stream["block_bytes"] = draw.one_of(4, 16, 64) * KIB
    return ForeignCase(
        kind=name,
        locator="exec:" + shlex.join([str(Path(programs) / name), *words]),
        stream=Stream(**stream),
        filled_share=filled,
        used_capacities=used,
        test_capacities=test,
        seed=int(chance.integers(1, 2**31)),
    )


def _cells(draw: Draw) -> Arguments:
    return {"read": "600us", "program": draw.text(3, 12, "ms"), "erase": draw.text(6, 20, "ms")}


def _page_mapped(draw: Draw) -> Arguments:
    capacity = draw.one_of(256, 320, 384) * MIB
    while True:
        channels, ways, planes = draw.one_of(1, 2), draw.one_of(1, 2), draw.one_of(1, 2, 4)
        page, block_pages = draw.one_of(4, 8) * KIB, draw.one_of(16, 32)
        spare = draw.number(0.03, 0.4)
        if spare * capacity / (channels * ways * planes * page * block_pages) > 8:
            break
    return {
        "capacity": str(capacity),
        "channels": str(channels),
        "ways": str(ways),
        "planes": str(planes),
        "page": str(page),
        "block_pages": str(block_pages),
        "spare": f"{spare:.3f}",
        "order": draw.word("CWDP", "CPWD", "PCWD"),
        "multiplane": draw.flag(0.75),
        "streams": str(draw.one_of(1, 2)),
        "cache": str(draw.one_of(0, 128, 1024) * KIB),
    } | _cells(draw)


def _superblock(draw: Draw) -> Arguments:
    capacity = draw.one_of(256, 320, 384) * MIB
    while True:
        dies, planes, page = draw.one_of(2, 4), draw.one_of(1, 2), draw.one_of(4, 8) * KIB
        block_pages, spare = draw.one_of(16, 32), draw.number(0.03, 0.4)
        superblocks = capacity / (dies * planes * page * block_pages)
        # Collection gains something even where what is invalid lies evenly in all superblocks, of
        # which parity takes a die: one slice of each is spare, besides the first dozen.
        if spare * superblocks > 12 + (1 + spare) * superblocks / ((dies - 1) * block_pages):
            break
    return {
        "capacity": str(capacity),
        "channels": "2",
        "dies": str(dies // 2),
        "planes": str(planes),
        "page": str(page),
        "block_pages": str(block_pages),
        "spare": f"{spare:.3f}",
        "parity": draw.flag(0.25),
        "buffer": str(draw.one_of(256, 512, 2048) * KIB),
        "flush_every": draw.word("0s", "1s"),
        "paced": draw.flag(0.5),
    } | _cells(draw)


def _dftl(draw: Draw) -> Arguments:
    return {
        "capacity": str(draw.one_of(256, 320) * MIB),
        "channels": str(draw.one_of(1, 2)),
        "dies": str(draw.one_of(1, 2)),
        "page": str(4 * KIB),
        "block_pages": "32",
        "spare": draw.text(0.1, 0.4),
        "cmt": str(draw.one_of(4, 32, 256) * KIB),
        "prefetch": str(draw.one_of(1, 8)),
    } | _cells(draw)


def _adaptive_hybrid(draw: Draw) -> Arguments:
    shared = draw.word("1 1", "4 64", "64 64")
    return {
        "capacity": str(128 * MIB),
        "planes": str(draw.one_of(2, 4)),
        "channels": "2",
        "page": str(4 * KIB),
        "block_pages": "32",
        "stripe_pages": str(draw.one_of(1, 4)),
        "logs": str(draw.one_of(8, 32)),
        "shared": shared.split()[0],
        "most_shared": shared.split()[1],
        "idle_merge": draw.word("0ms", "500ms"),
    } | {"read": "100us", "program": draw.text(0.5, 2, "ms"), "erase": draw.text(1.5, 3, "ms")}


def _dynamic_slc(draw: Draw) -> Arguments:
    program_ms = draw.number(3, 12)
    return {
        "capacity": str(draw.one_of(256, 384) * MIB),
        "page": str(8 * KIB),
        "bits": str(draw.one_of(3, 4)),
        "dies": str(draw.one_of(2, 4)),
        "channels": "2",
        "block_pages": "16",
        "op": draw.text(0.07, 0.3),
        "dynamic": draw.word("0", "0.3", "1"),
        "static": str(draw.one_of(0, 4, 8) * MIB),
        "full": draw.word("direct", "fold"),
        "idle_fold": draw.word("0s", "1s"),
        "buffer": str(MIB),
        "slc_read": "300us",
        "tlc_read": "600us",
        "slc_program": f"{program_ms / 6:.3g}ms",
        "tlc_program": f"{program_ms:.3g}ms",
        "erase": draw.text(6, 20, "ms"),
    }


def _disk(draw: Draw) -> Arguments:
    return {
        "capacity": str(256 * MIB),
        "rpm": str(draw.one_of(5400, 7200)),
        "zones": "4",
        "outer_sectors": "600",
        "inner_sectors": "300",
        "write_cache": draw.flag(0.7),
        "scheduler": draw.word("clook", "sptf"),
    }


def _smr(draw: Draw) -> Arguments:
    return {
        "capacity": str(512 * MIB),
        "band": str(draw.one_of(2, 4) * MIB),
        "media_cache": str(draw.one_of(64, 96) * MIB),
        "write_cache_bytes": str(MIB),
        "extents": str(draw.one_of(1000, 4000)),
        "zones": "4",
        "outer_sectors": "600",
        "inner_sectors": "300",
        "idle_clean": draw.word("1s", "5s"),
    }


_SMALL: Mapping[str, Callable[[Draw], Arguments]] = {
    "page_mapped": _page_mapped,
    "superblock": _superblock,
    "dftl": _dftl,
    "adaptive_hybrid": _adaptive_hybrid,
    "dynamic_slc": _dynamic_slc,
    "disk": _disk,
    "smr": _smr,
}
