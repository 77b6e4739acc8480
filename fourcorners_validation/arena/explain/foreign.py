"""Foreign drives: arguments of the specimens, drawn at random within physical ranges.

A specimen is a small program that is a drive of other people's design (tests/specimens). The ranges
are those of datasheets of the years in which such drives were sold. Capacities are small, as those
of :mod:`drives`.
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fourcorners_validation.arena.explain.drives import GIB, KIB, MIB

Arguments = dict[str, str]


@dataclass(frozen=True)
class Foreign:
    """One foreign drive: a specimen and its arguments. A ``calm`` one has no variation."""

    specimen: str
    arguments: Mapping[str, str]
    seed: int
    calm: bool

    @property
    def words(self) -> list[str]:
        """The arguments as they are given to the program."""
        return [f"{key}={value}" for key, value in self.arguments.items()]

    def locator(self, programs: str) -> str:
        """What opens it; the compiled specimens are in that folder."""
        return "exec:" + shlex.join([str(Path(programs) / self.specimen), *self.words])

    @property
    def controller_s(self) -> float:
        """What the controller does with a request before it takes the next."""
        return float(self.arguments["controller"].removesuffix("us")) * 1e-6


def draw_foreign(seed: int, index: int) -> Foreign:
    """The foreign drive with this number for this seed. Each specimen is drawn in turn, and every
    other drive of a specimen has variation."""
    name = SPECIMENS[index % len(SPECIMENS)]
    chance = np.random.default_rng([seed, index])
    calm = sum(divmod(index, len(SPECIMENS))) % 2 == 0
    arguments = _DRAWN[name](Draw(chance))
    if not calm:
        arguments |= variation(Draw(chance), name, int(arguments["capacity"]))
    return Foreign(name, arguments, seed=int(chance.integers(1, 2**31)), calm=calm)


class Draw:
    """Random values, written as arguments of a specimen."""

    def __init__(self, chance: np.random.Generator) -> None:
        self._chance = chance

    def share(self, probability: float) -> bool:
        """True with this probability."""
        return bool(self._chance.random() < probability)

    def number(self, low: float, high: float) -> float:
        """Evenly distributed by its logarithm, as what differs by factors."""
        return float(low * (high / low) ** self._chance.random())

    def text(self, low: float, high: float, unit: str = "") -> str:
        """The same with its unit."""
        return f"{self.number(low, high):.4g}{unit}"

    def one_of(self, *values: int) -> int:
        """One of these numbers."""
        return int(self._chance.choice(values))

    def word(self, *values: str) -> str:
        """One of these words."""
        return str(self._chance.choice(values))

    def flag(self, probability: float) -> str:
        """1 with this probability, else 0."""
        return str(int(self.share(probability)))


def variation(draw: Draw, name: str, capacity_bytes: int) -> Arguments:
    """Noise of cell times of 1 to 20 %, or of a disk's seeks of 1 to 5 %, and some of the others.

    Outliers are 0.1 to 1 % of the operations and take 10 to 100 times as long. Retries of reads are
    those of worn flash; a disk retries far less often. Housekeeping takes 0.1 to 2 % of the time,
    every 0.2 to 5 s. A throttled drive has written half its capacity or more before it is too hot.
    """
    on_disk = name in _DISKS
    made = {"noise": draw.text(0.01, 0.05 if on_disk else 0.2)}
    if draw.share(0.3) and not on_disk:
        made |= {"outliers": draw.text(0.001, 0.01), "outlier_times": draw.text(10, 100)}
    if draw.share(0.3):
        made["retries"] = draw.text(1e-4, 1e-3) if on_disk else draw.text(0.001, 0.02)
        made["retry"] = draw.text(40, 120, "us")
    if draw.share(0.3):
        every_s = draw.number(0.2, 5)
        made["housekeeping_every"] = f"{every_s:.4g}s"
        made["housekeeping"] = f"{1e3 * every_s * draw.number(0.001, 0.02):.4g}ms"
    if draw.share(0.2) and not on_disk:
        made["throttle_rate"] = draw.text(20e6, 200e6)
        made["throttle_after"] = str(int(capacity_bytes * draw.number(0.5, 4)))
    if draw.share(0.3):
        made["jitter"] = draw.text(0.2, 10, "us")
    return made


def _pcie(draw: Draw) -> Arguments:
    """Two or four lanes of the third or fourth generation with packets of 128 to 512 bytes, each
    with 24 bytes of heads (PCI Express Base Specification)."""
    lane = 1e9 * 128 / 130 * draw.one_of(1, 2)
    payload = draw.one_of(128, 256, 512)
    return {
        "link_rate": f"{lane * draw.one_of(2, 4) * payload / (payload + 24):.6g}",
        "duplex": "full",
        "overhead": draw.text(4, 30, "us"),
        "controller": draw.text(0.3, 3, "us"),
    }


def _sata(draw: Draw) -> Arguments:
    """8 of 10 bits are data, and frames, primitives and commands take 5 to 12 %."""
    return {
        "link_rate": f"{draw.one_of(150, 300, 300, 600, 600) * 1e6 * draw.number(0.88, 0.95):.6g}",
        "duplex": "half",
        "overhead": draw.text(10, 50, "us"),
        "controller": draw.text(1, 15, "us"),
    }


def _page_mapped(draw: Draw) -> Arguments:
    capacity = draw.one_of(2, 3, 4) * GIB
    while True:
        channels, ways, dies = draw.one_of(2, 4, 8), draw.one_of(1, 2, 4), draw.one_of(1, 1, 2)
        planes, page = draw.one_of(1, 2, 4), draw.one_of(4, 4, 8, 16) * KIB
        block_pages, spare = draw.one_of(64, 128, 256), draw.number(0.07, 0.4)
        blocks = capacity / (channels * ways * dies * planes * page * block_pages)
        if spare * blocks > 8:  # With three kept free and one being written, half remain.
            break
    made = {
        "capacity": str(capacity),
        "channels": str(channels),
        "ways": str(ways),
        "dies": str(dies),
        "planes": str(planes),
        "page": str(page),
        "block_pages": str(block_pages),
        "spare": f"{spare:.3f}",
        "order": draw.word("CWDP", "CWPD", "CDPW", "CPWD", "WCDP", "WDPC", "PCWD", "PWCD"),
        "multiplane": draw.flag(0.75),
        "merge_wait": draw.word("0us", "0us", "2us"),
        "read": draw.text(25, 100, "us"),
        "erase": draw.text(1.5, 8, "ms"),
        "channel_rate": draw.text(133e6, 1200e6),
        "copyback": draw.flag(0.3),
        "read_first": draw.flag(0.7),
        "erased_reads": draw.flag(0.6),
        "streams": str(draw.one_of(1, 2)),
        "cache": str(draw.one_of(0, 1, 4, 16) * MIB),
    }
    lower_us = draw.number(200, 900)
    made["program"] = f"{lower_us:.4g}us"
    bits = draw.one_of(1, 2, 2, 3)
    if bits > 1:
        made["program_middle"] = f"{lower_us * draw.number(1.5, 3.5):.4g}us"
    if bits > 2:
        made["program_upper"] = f"{lower_us * draw.number(3.5, 6):.4g}us"
    return made | (_pcie(draw) if draw.share(0.7) else _sata(draw))


def _superblock(draw: Draw) -> Arguments:
    capacity = draw.one_of(2, 3, 4) * GIB
    while True:
        channels, dies, planes = draw.one_of(2, 4, 8), draw.one_of(1, 2, 4), draw.one_of(1, 2, 4)
        page, block_pages = draw.one_of(4, 8, 16) * KIB, draw.one_of(32, 64, 128)
        spare = draw.number(0.07, 0.35)
        turn = channels * dies * planes * page
        if spare * capacity / (turn * block_pages) > 8 and turn <= MIB:
            break
    return {
        "capacity": str(capacity),
        "channels": str(channels),
        "dies": str(dies),
        "planes": str(planes),
        "page": str(page),
        "unit": str(min(page, draw.one_of(4, 4, 4, 8, 16) * KIB)),
        "block_pages": str(block_pages),
        "spare": f"{spare:.3f}",
        "parity": draw.flag(0.25),
        "read": draw.text(35, 100, "us"),
        "program": draw.text(300, 2000, "us"),
        "erase": draw.text(2, 8, "ms"),
        "channel_rate": draw.text(133e6, 1200e6),
        "buffer": str(draw.one_of(2, 4, 8, 16, 32) * MIB),
        "flush_above": draw.text(0.25, 0.95),
        "flush_every": draw.word("0s", "100ms", "1s", "5s"),
        "paced": draw.flag(0.5),
    } | (_pcie(draw) if draw.share(0.4) else _sata(draw))


def _dftl(draw: Draw) -> Arguments:
    capacity = draw.one_of(2, 3) * GIB
    return {
        "capacity": str(capacity),
        "channels": str(draw.one_of(1, 2, 4)),
        "dies": str(draw.one_of(1, 2, 4)),
        "page": str(draw.one_of(4, 4, 8) * KIB),
        "block_pages": str(draw.one_of(64, 128)),
        "spare": draw.text(0.12, 0.35),
        "read": draw.text(25, 90, "us"),
        "program": draw.text(200, 900, "us"),
        "erase": draw.text(1.5, 5, "ms"),
        "channel_rate": draw.text(40e6, 400e6),
        "cmt": str(draw.one_of(16, 64, 256, 1024) * KIB),
        "prefetch": str(draw.one_of(1, 8, 64)),
        "batch": draw.flag(0.7),
    } | _sata(draw)


def _adaptive_hybrid(draw: Draw) -> Arguments:
    planes = draw.one_of(2, 4, 8, 16)
    shared = draw.word("1 1", "4 64", "16 64", "64 64")
    return {
        "capacity": str(draw.one_of(1, 2) * GIB),
        "planes": str(planes),
        "channels": str(min(planes, draw.one_of(1, 2, 4))),
        "page": str(draw.one_of(2, 4, 8) * KIB),
        "block_pages": str(draw.one_of(64, 128)),
        "stripe_pages": str(draw.one_of(1, 2, 4)),
        "logs": str(draw.one_of(4, 8, 16, 32)),
        "sequential_logs": str(draw.one_of(1, 1, 2)),
        "shared": shared.split()[0],
        "most_shared": shared.split()[1],
        "copyback": draw.flag(0.5),
        "read": draw.text(25, 80, "us"),
        "program": draw.text(200, 1300, "us"),
        "erase": draw.text(1.5, 3, "ms"),
        "idle_merge": draw.word("0ms", "0ms", "50ms", "500ms"),
        "bus_rate": draw.text(40e6, 200e6),
    } | _sata(draw)


def _dynamic_slc(draw: Draw) -> Arguments:
    capacity = draw.one_of(2, 4) * GIB
    quad = draw.share(0.3)
    return {
        "capacity": str(capacity),
        "page": str(draw.one_of(8, 16) * KIB),
        "bits": "4" if quad else "3",
        "dies": str(draw.one_of(4, 8)),
        "channels": str(draw.one_of(2, 4)),
        "block_pages": str(draw.one_of(32, 64)),
        "op": draw.text(0.07, 0.25),
        "dynamic": draw.word("0", "0.1", "0.3", "0.6"),
        "static": str(draw.one_of(0, 32, 64, 128) * MIB),
        "keep": draw.word("0", "0", "0.5"),
        "full": draw.word("direct", "fold"),
        "idle_fold": draw.word("0s", "200ms", "1s", "5s"),
        "buffer": str(draw.one_of(1, 2, 4) * MIB),
        "slc_read": draw.text(20, 35, "us"),
        "tlc_read": draw.text(80, 150, "us") if quad else draw.text(45, 90, "us"),
        "slc_program": draw.text(150, 300, "us"),
        "tlc_program": draw.text(3, 8, "ms") if quad else draw.text(1.2, 2.5, "ms"),
        "erase": draw.text(3, 8, "ms"),
        "bus_rate": draw.text(200e6, 1200e6),
    } | (_pcie(draw) if draw.share(0.8) else _sata(draw))


def _mechanics(draw: Draw, *rpms: int) -> Arguments:
    """Of a disk. Tracks are skewed by what a change of track takes with settling, and by a quarter
    more, so that noise of 5 % does not cost a turn."""
    rpm, rate = draw.one_of(*rpms), draw.number(60e6, 200e6)
    outer = rate * 60 / rpm / 512
    links = [link for link in (150, 300, 600) if 0.88e6 * link > 1.1 * rate]
    track_us, head_us, settle_us = (
        draw.number(400, 1200),
        draw.number(400, 1200),
        draw.number(100, 400),
    )
    third_ms = draw.number(3.5, 6) if rpm >= 10_000 else draw.number(6.5, 10)
    return {
        "rpm": str(rpm),
        "heads": str(draw.one_of(1, 2, 4, 6)),
        "zones": str(draw.one_of(8, 12, 16, 24)),
        "run": str(draw.one_of(0, 0, 1, 100)),
        "outer_sectors": f"{outer:.0f}",
        "inner_sectors": f"{outer * draw.number(0.45, 0.6):.0f}",
        "track_seek": f"{track_us:.4g}us",
        "third_seek": f"{third_ms:.4g}ms",
        "full_seek": f"{third_ms * draw.number(1.7, 2.2):.4g}ms",
        "head_switch": f"{head_us:.4g}us",
        "write_settle": f"{settle_us:.4g}us",
        "track_skew": f"{1.25 * (track_us + settle_us):.4g}us",
        "head_skew": f"{1.25 * (max(track_us, head_us) + settle_us):.4g}us",
        # The link is faster than the platter.
        "link_rate": f"{draw.one_of(*links) * 1e6 * draw.number(0.88, 0.95):.6g}",
        "overhead": draw.text(20, 80, "us"),
        "controller": draw.text(10, 40, "us"),
    }


def _disk(draw: Draw) -> Arguments:
    return {
        "capacity": str(int(draw.number(80e9, 1000e9)) // 4096 * 4096),
        "physical": str(draw.one_of(512, 4096)),
        "queue": str(draw.one_of(1, 32, 32)),
        "scheduler": draw.word("fcfs", "clook", "sptf", "sptf"),
        "segments": str(draw.one_of(0, 4, 8, 16, 32)),
        "segment": str(draw.one_of(256, 512, 1024) * KIB),
        "read_ahead": draw.flag(0.8),
        "write_cache": draw.flag(0.8),
        "write_cache_bytes": str(draw.one_of(2, 4, 8, 16, 32) * MIB),
        "most_dirty": str(draw.one_of(64, 128, 512)),
        "destage": draw.word("fcfs", "clook", "sptf"),
    } | _mechanics(draw, 5400, 7200, 7200, 10_000, 15_000)


def _smr(draw: Draw) -> Arguments:
    return {
        "capacity": str(int(draw.number(50e9, 200e9)) // 4096 * 4096),
        "band": str(draw.one_of(15, 30, 40) * MIB),
        "media_cache": draw.text(1e9, 8e9),
        "extents": str(draw.one_of(5000, 20_000, 50_000)),
        "write_cache": draw.flag(0.85),
        "write_cache_bytes": str(draw.one_of(4, 8, 16) * MIB),
        "read_ahead": str(draw.one_of(0, 512, 1024) * KIB),
        "idle_clean": draw.word("200ms", "1s", "5s"),
        "media_cache_at": draw.word("outer", "inner"),
    } | _mechanics(draw, 5400, 5900, 7200)


_DRAWN: Mapping[str, Callable[[Draw], Arguments]] = {
    "page_mapped": _page_mapped,
    "superblock": _superblock,
    "dftl": _dftl,
    "adaptive_hybrid": _adaptive_hybrid,
    "dynamic_slc": _dynamic_slc,
    "disk": _disk,
    "smr": _smr,
}
_DISKS = ("disk", "smr")
SPECIMENS = tuple(_DRAWN)
"""The names of the specimens, in the order in which they take turns."""
