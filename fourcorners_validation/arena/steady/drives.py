"""Random small drives, and how each is brought to its steady state."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from fourcorners.catalog import DriveFile
from fourcorners.target.simulated import SimulatedTarget
from fourcorners.target.target import Target
from fourcorners.workload import Stream
from fourcorners_validation.arena.drive_text import drive_file

KINDS = (
    "little spare area",
    "much spare area",
    "not filled before",
    "hot and cold data",
    "bursts of collection",
    "SLC cache",
    "used before",
    "mixed and large writes",
)

MIB = 2**20


@dataclass(frozen=True, kw_only=True)
class TraceCase(ABC):
    """One drive, and the test that it goes through."""

    kind: str
    stream: Stream
    filled_share: float
    """Share of the capacity that is filled in sequence before the test begins."""
    used_capacities: float
    """Capacities written by the same stream before the test begins."""
    test_capacities: float
    """Capacities written in the test: enough that its end is the long run."""
    seed: int

    @abstractmethod
    def opened(self) -> Target:
        """The drive as it was delivered."""


@dataclass(frozen=True, kw_only=True)
class OwnCase(TraceCase):
    """A drive of this project's simulator."""

    drive: DriveFile

    def opened(self) -> SimulatedTarget:
        """The drive as it was delivered."""
        return SimulatedTarget(self.drive.id, self.drive, {}, self.seed)


def draw(seed: int, index: int, attempt: int = 0) -> OwnCase:
    """The case of that number of the corpus of that seed; kinds take turns. Another attempt is
    another case of the same kind."""
    kind = KINDS[index % len(KINDS)]
    chance = np.random.default_rng([seed, index, attempt])
    spare = {
        "little spare area": _between(chance, 0.015, 0.08),
        "much spare area": _between(chance, 0.10, 0.40),
    }.get(kind, _between(chance, 0.03, 0.30))
    flash = _Flash.draw(chance, user_mib=int(chance.choice([256, 320, 384])), spare=spare)
    collection: dict[str, Any] = {"start_free_blocks": 3, "burst_blocks": 0}
    policy = str(chance.choice(["greedy", "greedy", "greedy", "cost-benefit", "d-choices", "fifo"]))
    collection["policy"] = policy
    if policy == "d-choices":
        collection["candidates"] = int(chance.integers(2, 11))
    collection["shared_stream"] = bool(chance.random() < 0.3)
    stream: dict[str, Any] = {"pattern": "random", "block_bytes": 4096, "read_share": 0.0}
    stream["queue_depth_per_worker"] = int(chance.choice([1, 4, 32]))
    sections: dict[str, dict[str, Any]] = {"garbage_collection": collection}
    filled, used, test = 1.0, 0.0, 7.0
    match kind:
        case "not filled before":
            filled = float(chance.choice([0.0, 0.0, 0.25, 0.5, 0.75]))
            test = 10.0
        case "hot and cold data":
            data = float(chance.choice([0.05, 0.1, 0.2, 0.3]))
            stream["pattern"] = str(
                chance.choice(["zipf:0.8", "zipf:0.99", "zipf:1.2", f"hot-cold:{data}:{1 - data}"])
            )
            test = 16.0
        case "bursts of collection":
            free = max(4, int(flash.spare_blocks_of_a_die * _between(chance, 0.05, 0.5)))
            collection["burst_blocks"] = free
            collection["policy"] = "greedy"
            collection.pop("candidates", None)
            if chance.random() < 0.3:
                collection["burst_pace"] = 3
            test = 10.0
        case "SLC cache":
            sections["slc_cache"] = _slc_cache(chance, flash)
            collection["shared_stream"] = False
            filled = float(chance.choice([0.0, 1.0, 1.0]))
            test = 10.0
        case "used before":
            used = _between(chance, 2.0, 4.0)
        case "mixed and large writes":
            stream["read_share"] = float(chance.choice([0.0, 0.3, 0.5, 0.65]))
            stream["block_bytes"] = int(chance.choice([4096, 8192, 16384, 65536]))
    return OwnCase(
        kind=kind,
        drive=flash.drive_file(f"corpus-{seed}-{index}-{attempt}", sections),
        stream=Stream(**stream),
        filled_share=filled,
        used_capacities=used,
        test_capacities=test,
        seed=int(chance.integers(1, 2**31)),
    )


@dataclass(frozen=True)
class _Flash:
    """Geometry and times. Slow dies make a small drive take as long as a large one."""

    user_mib: int
    spare: float
    dies: int
    page_kib: int
    pages_per_block: int
    program_ms: float
    buffer_kib: int
    reserved: float
    """Share of all flash that is neither the user's nor spare area."""

    @classmethod
    def draw(cls, chance: np.random.Generator, *, user_mib: int, spare: float) -> "_Flash":
        return cls(
            user_mib=user_mib,
            spare=spare,
            dies=int(chance.choice([1, 2, 4])),
            page_kib=int(chance.choice([4, 8])),
            pages_per_block=int(chance.choice([16, 32])),
            program_ms=round(_between(chance, 3.0, 12.0), 1),
            buffer_kib=int(chance.choice([128, 512, 2048])),
            reserved=0.1,
        )

    @property
    def blocks_of_a_die(self) -> int:
        block_mib = self.page_kib * self.pages_per_block / 1024
        # Three blocks of a die are kept free for collection, and one or two are open for writing.
        needed = self.user_mib * (1 + self.spare) / block_mib / self.dies + 6
        return math.ceil(needed / (1 - self.reserved))

    @property
    def spare_area(self) -> float:
        """All flash that is not reserved, over the user area, beyond the user's."""
        used = math.floor(self.blocks_of_a_die * (1 - self.reserved)) * self.dies
        return used * self.page_kib * self.pages_per_block / 1024 / self.user_mib - 1

    @property
    def spare_blocks_of_a_die(self) -> float:
        block_mib = self.page_kib * self.pages_per_block / 1024
        return self.user_mib * self.spare / block_mib / self.dies

    def drive_file(self, name: str, sections: dict[str, dict[str, Any]]) -> DriveFile:
        parameters: dict[str, dict[str, Any]] = {
            "host": {"overhead": "10 us"},
            "link": {"line_rate": "6 Gb/s", "command_overhead": "1650 B", "queue_depth": 32},
            "capacity": {"user": f"{self.user_mib} MiB"},
            "controller": {"read_overhead": "10 us", "write_overhead": "20 us"},
            "write_buffer": {"size": f"{self.buffer_kib} KiB"},
            "flash": {
                "channels": self.dies,
                "dies": self.dies,
                "planes": 1,
                "page_size": f"{self.page_kib} KiB",
                "pages_per_block": self.pages_per_block,
                "blocks_per_plane": self.blocks_of_a_die,
                "read_time": "0.6 ms",
                "program_time": f"{self.program_ms} ms",
                "erase_time": f"{min(2 * self.program_ms, 20):g} ms",
                "bus_rate": "100 MB/s",
            },
            "translation": {"unit": "4 KiB", "spare_area": self.spare_area},
            **sections,
        }
        return drive_file(name, "page-mapped-ssd", parameters)


def _slc_cache(chance: np.random.Generator, flash: _Flash) -> dict[str, Any]:
    cache: dict[str, Any] = {
        "program_time": f"{flash.program_ms / 6:.2f} ms",
        "when_full": str(chance.choice(["direct", "fold"])),
        "idle_delay": "1 s",
    }
    if chance.random() < 0.5:
        # Of the reserved tenth of the flash, with some left for what else is in it.
        cache["static_size"] = f"{round(flash.user_mib * _between(chance, 0.01, 0.02))} MiB"
    else:
        cache["dynamic_share"] = round(_between(chance, 0.3, 1.0), 2)
        cache["bits_per_cell"] = int(chance.choice([2, 3, 4]))
    return cache


def _between(chance: np.random.Generator, low: float, high: float) -> float:
    return float(low + (high - low) * chance.random())
