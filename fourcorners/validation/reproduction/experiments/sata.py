"""Tom's Hardware, 2011, "Does Your Fast SSD Really Need SATA 6Gb/s?": 4 KB random I/O by queue
depth, on both links.

The review does not state the span nor what the drives hold; here it is 8 GB that hold data. Only
the Vertex 3 is read while erased: in the review it is faster than the 40,000 IOPS that it is rated,
which unwritten places explain, and it alone makes a difference between the links at depth 1.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from fourcorners.catalog.published import published
from fourcorners.suites.common import SPAN_BYTES, Operation, access, timed
from fourcorners.suites.steps import Fill, Purge, Step, settle
from fourcorners.suites.test import Phase
from fourcorners.validation.reproduction.checks import (
    Judgement,
    PublishedCheck,
    all_of,
    at_least,
    at_most,
    between,
    relative_range,
)
from fourcorners.validation.reproduction.experiment import (
    LINK_3G,
    LINK_6G,
    Experiment,
    Results,
    SimulatedResult,
    default,
    of_test,
)
from fourcorners.validation.reproduction.figure import Figure

S830, M4, VERTEX_3, INTEL_320 = (
    "samsung-830-256gb",
    "crucial-m4-256gb",
    "ocz-vertex-3-240gb",
    "intel-320-300gb",
)
DRIVES = (S830, VERTEX_3, M4, INTEL_320)
FAST = (S830, VERTEX_3, M4)
SHORT_NAMES = {S830: "830", VERTEX_3: "Vertex 3", M4: "m4", INTEL_320: "320"}

DEPTHS: tuple[int, ...] = default("queue-depth", "depths")
CAPPED = tuple(depth for depth in DEPTHS if depth >= 10)
DEEP = tuple(depth for depth in DEPTHS if depth > 10)
# The review has 90 s; a simulated drive is at its rate after one.
DEPTH_S = 30.0
WORKERS = 4

# Its host is another than those of the reviews that the drive files name: fitted to the loss of 9 %
# at one write at a time, which says how long a write takes on 6 Gb/s.
HOST = ("host.overhead", "48 us")

Link = Literal["3 Gb/s", "6 Gb/s"]
LINKS: tuple[Link, ...] = ("3 Gb/s", "6 Gb/s")


def plan_written(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """Reads of a span that holds data, then writes."""
    return _sweep(capacity_bytes, (Purge(), Fill(SPAN_BYTES), settle()), (), scale)


def plan_erased(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """Reads of an erased drive, then writes over a span that holds data."""
    return _sweep(capacity_bytes, (Purge(),), (Fill(SPAN_BYTES), settle()), scale)


def _sweep(
    capacity_bytes: int,
    before_reads: tuple[Step, ...],
    before_writes: tuple[Step, ...],
    scale: float,
) -> tuple[Phase, ...]:
    """By one worker; and reads by four workers with one request each."""

    seconds = DEPTH_S * scale
    side_by_side = timed(
        f"read/{WORKERS}x1",
        "4 KiB random",
        access("read", "random", 4096, span_bytes=SPAN_BYTES, workers=WORKERS),
        seconds,
    )
    reads, writes = of_test("queue-depth", capacity_bytes, time=seconds, span=SPAN_BYTES)
    return (
        Phase(before_reads, (*reads.measurements, side_by_side)),
        Phase(before_writes, writes.measurements),
    )


EXPERIMENTS = tuple(
    Experiment(
        "sata",
        drive,
        plan_erased if drive == VERTEX_3 else plan_written,
        link,
        (*settings, HOST),
    )
    for drive in DRIVES
    for link, settings in (("3 Gb/s", LINK_3G), ("6 Gb/s", LINK_6G))
)


def at(
    results: Results, drive: str, link: Link, operation: Operation, depth: int
) -> SimulatedResult:
    """One point of a sweep."""
    return results(f"sata/{drive}/{link}", f"{operation}/{depth}")


def rate(results: Results, drive: str, link: Link, operation: Operation, depth: int) -> float:
    """MB/s at one point of a sweep."""
    return at(results, drive, link, operation, depth).megabytes_per_second


def deep_rate(results: Results, drive: str, link: Link, operation: Operation) -> float:
    """Mean MB/s of the depths above 10."""
    return sum(rate(results, drive, link, operation, depth) for depth in DEEP) / len(DEEP)


def link_ratio(results: Results, drive: str, operation: Operation, depth: int) -> float:
    """3 Gb/s over 6 Gb/s."""
    slow, fast = (rate(results, drive, link, operation, depth) for link in LINKS)
    return slow / fast


def _at(id: str, drive: str, link: Link, operation: Operation, depth: int) -> Figure:
    return Figure(id, lambda results: rate(results, drive, link, operation, depth))


def _farthest(id: str, drive: str, operation: Operation, depths: Sequence[int]) -> Figure:
    """Of the rates at several depths that one figure stands for, the one that misses it most."""

    def simulate(results: Results) -> float:
        wanted = published()[id].value
        rates = [rate(results, drive, "3 Gb/s", operation, depth) for depth in depths]
        return max(rates, key=lambda value: abs(value / wanted - 1))

    return Figure(id, simulate)


def _loss(results: Results) -> float:
    return 1 - sum(link_ratio(results, drive, "write", 1) for drive in FAST) / len(FAST)


FIGURES = (
    _farthest("sata-830-cap", S830, "read", CAPPED),
    _farthest("sata-v3-cap", VERTEX_3, "read", CAPPED),
    _farthest("sata-m4-cap", M4, "read", CAPPED),
    _farthest("sata-320-cap", INTEL_320, "read", CAPPED),
    _farthest("sata-v3-write-3g", VERTEX_3, "write", DEEP),
    _farthest("sata-m4-write-3g", M4, "write", DEEP),
    _farthest("sata-320-write", INTEL_320, "write", DEEP),
    _at("sata-v3-write-6g", VERTEX_3, "6 Gb/s", "write", 7),
    _at("sata-m4-write-6g", M4, "6 Gb/s", "write", 7),
    Figure("sata-write-loss", _loss, chosen=("host.overhead",)),
)


def _each(drives: Sequence[str], judge: Callable[[str], Judgement]) -> Judgement:
    return all_of(*(judge(drive) for drive in drives))


CHECKS = (
    PublishedCheck(
        "H22",
        "One read at a time is as fast on both links, except on the Vertex 3.",
        "Queue depth 1, 3 Gb/s over 6 Gb/s: at least 0.93 on the others, and lowest on the "
        "Vertex 3.",
        lambda r: all_of(
            _each(
                (S830, M4, INTEL_320),
                lambda drive: at_least(SHORT_NAMES[drive], link_ratio(r, drive, "read", 1), 0.93),
            ),
            at_most(
                "Vertex 3 over the lowest other",
                link_ratio(r, VERTEX_3, "read", 1)
                / min(link_ratio(r, drive, "read", 1) for drive in (S830, M4, INTEL_320)),
                0.99,
            ),
        ),
    ),
    PublishedCheck(
        "H23",
        "On 3 Gb/s the whole field is held near 200 MB/s of reads from queue depths 7 to 10 on.",
        "At each depth from 10 on: every drive from 180 to 215 MB/s.",
        lambda r: _each(
            DRIVES,
            lambda drive: all_of(
                *(
                    between(
                        f"{SHORT_NAMES[drive]} {what}",
                        limit(rate(r, drive, "3 Gb/s", "read", depth) for depth in CAPPED),
                        180,
                        215,
                    )
                    for what, limit in (("lowest", min), ("highest", max))
                )
            ),
        ),
        restates=FIGURES[:4],
    ),
    PublishedCheck(
        "H24",
        "The m4 reads well below 830 and Vertex 3 on 6 Gb/s, and still gains over 3 Gb/s.",
        "Depths above 10: at most 0.85 of 830 and of Vertex 3; 6 Gb/s at least 1.1 times 3 Gb/s.",
        lambda r: all_of(
            _each(
                (S830, VERTEX_3),
                lambda drive: at_most(
                    f"over {SHORT_NAMES[drive]}",
                    deep_rate(r, M4, "6 Gb/s", "read") / deep_rate(r, drive, "6 Gb/s", "read"),
                    0.85,
                ),
            ),
            at_least(
                "6 Gb/s over 3 Gb/s",
                deep_rate(r, M4, "6 Gb/s", "read") / deep_rate(r, M4, "3 Gb/s", "read"),
                1.1,
            ),
        ),
        fitted=((M4,), ("slower than Samsung 830",)),
    ),
    PublishedCheck(
        "H25",
        "830 and Vertex 3 gain from 6 Gb/s from queue depth 4 on, and pass the 3 Gb/s ceiling "
        "from 7 on.",
        "Reads, 6 over 3 Gb/s: at least 1.03 at depth 4; from depth 7 on above 3 Gb/s's highest.",
        lambda r: _each(
            (S830, VERTEX_3),
            lambda drive: all_of(
                at_least(f"{SHORT_NAMES[drive]} at 4", 1 / link_ratio(r, drive, "read", 4), 1.03),
                at_least(
                    f"{SHORT_NAMES[drive]} from 7 on over the 3 Gb/s ceiling",
                    min(rate(r, drive, "6 Gb/s", "read", depth) for depth in DEPTHS if depth >= 7)
                    / max(rate(r, drive, "3 Gb/s", "read", depth) for depth in DEPTHS),
                    1,
                ),
            ),
        ),
        fitted=((S830,), ("above the 3 Gb/s ceiling",)),
    ),
    PublishedCheck(
        "H26",
        "One write at a time loses about 9 % on 3 Gb/s although its rate is below 150 MB/s.",
        "Queue depth 1, 3 Gb/s over 6 Gb/s: from 0.88 to 0.94 on 830, Vertex 3 and m4; rate on "
        "6 Gb/s below 150 MB/s.",
        lambda r: _each(
            FAST,
            lambda drive: all_of(
                between(SHORT_NAMES[drive], link_ratio(r, drive, "write", 1), 0.88, 0.94),
                at_most("MB/s", rate(r, drive, "6 Gb/s", "write", 1), 150),
            ),
        ),
        restates=FIGURES[9:],
    ),
    PublishedCheck(
        "H27",
        "With more than 10 writes outstanding on 3 Gb/s, Vertex 3 and m4 write about 180 MB/s and "
        "the 320 110.",
        "Vertex 3 and m4 within 10 % of each other, and 55 to 85 MB/s ahead of the 320.",
        lambda r: all_of(
            between(
                "Vertex 3 over m4",
                deep_rate(r, VERTEX_3, "3 Gb/s", "write") / deep_rate(r, M4, "3 Gb/s", "write"),
                0.9,
                1.1,
            ),
            _each(
                (VERTEX_3, M4),
                lambda drive: between(
                    f"{SHORT_NAMES[drive]} ahead by MB/s",
                    deep_rate(r, drive, "3 Gb/s", "write")
                    - deep_rate(r, INTEL_320, "3 Gb/s", "write"),
                    55,
                    85,
                ),
            ),
        ),
        restates=FIGURES[4:7],
    ),
    PublishedCheck(
        "H28",
        "On 6 Gb/s Vertex 3 and m4 pass 200 MB/s of writes above queue depth 4.",
        "At each depth from 7 on above 200 MB/s.",
        lambda r: _each(
            (VERTEX_3, M4),
            lambda drive: at_least(
                f"{SHORT_NAMES[drive]} lowest",
                min(rate(r, drive, "6 Gb/s", "write", depth) for depth in DEPTHS if depth >= 7),
                200,
            ),
        ),
    ),
    PublishedCheck(
        "H29",
        "Four workers with one request each are queue depth 4, not 1.",
        "Reads on 6 Gb/s: four workers within 5 % of one worker at queue depth 4.",
        lambda r: _each(
            DRIVES,
            lambda drive: at_most(
                SHORT_NAMES[drive],
                relative_range(
                    [
                        r(f"sata/{drive}/6 Gb/s", f"read/{WORKERS}x1").iops,
                        r(f"sata/{drive}/6 Gb/s", "read/4").iops,
                    ]
                ),
                0.05,
            ),
        ),
    ),
)
