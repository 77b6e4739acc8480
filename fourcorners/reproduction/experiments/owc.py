"""AnandTech's page on the OWC Mercury Extreme, 2010-02: random writes, aligned and not."""

from fourcorners.reproduction.checks import Check, all_of, at_least, at_most, between
from fourcorners.reproduction.experiment import Experiment, Results
from fourcorners.reproduction.experiments import parts
from fourcorners.reproduction.figure import Figure, drive_name
from fourcorners.suites.test import Phase
from fourcorners.workload import INCOMPRESSIBLE, REPEATED

OWC_50, OWC_100, LE = (
    "owc-mercury-extreme-50gb",
    "owc-mercury-extreme-100gb",
    "ocz-vertex-le-100gb",
)
X25_M_80, X25_M_160, X25_V = "intel-x25-m-g2-80gb", "intel-x25-m-g2-160gb", "intel-x25-v-40gb"
KINGSTON, NOVA = "kingston-ssdnow-v-plus-128gb", "corsair-nova-v128"
DRIVES = (LE, OWC_100, OWC_50, X25_M_160, X25_M_80, X25_V, NOVA, KINGSTON)
"""The drives of the review's bars."""

SECTOR_BYTES = 512


def plan_random(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """Random writes at sectors and at 4 KiB, random reads, and the sequential page."""
    return (
        # Iometer's default data of 2010 repeat one block: what a compressing drive likes best.
        parts.random_writes(scale, contents=(REPEATED,)),
        parts.random_writes(
            scale, contents=(REPEATED,), alignment_bytes=SECTOR_BYTES, prefix="unaligned-write"
        ),
        *parts.sequential_writes(scale, contents=(REPEATED, INCOMPRESSIBLE)),
        parts.random_reads(capacity_bytes, scale),
        parts.sequential_reads(scale),
    )


def plan_x25_v(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """The same, with the blocks of its reviewer's sequential test."""
    return (
        *plan_random(capacity_bytes, scale)[:-1],
        parts.sequential_reads(scale, block_bytes=2 * 2**20),
    )


EXPERIMENTS = tuple(
    Experiment("owc", drive, plan_x25_v if drive == X25_V else plan_random) for drive in DRIVES
)

WRITE, UNALIGNED = f"random-write/3/{REPEATED}", f"unaligned-write/3/{REPEATED}"
READ, SEQUENTIAL_READ = "random-read/3", "sequential-read"


def rate(results: Results, drive: str, recording: str) -> float:
    """MB/s of a drive in one recording."""
    return results(f"owc/{drive}", recording).megabytes_per_second


def unaligned_share(results: Results, drive: str) -> float:
    """Unaligned over aligned."""
    return rate(results, drive, UNALIGNED) / rate(results, drive, WRITE)


def little(results: Results) -> list[float]:
    """Outstanding I/Os by Little's law, of every drive that was measured."""
    drives = [drive for drive in DRIVES if f"owc/{drive}" in results.measured]
    # With no drive at all, this says which one is not there.
    measured = [
        results(f"owc/{drive}", recording)
        for drive in drives or DRIVES
        for recording in (WRITE, READ)
    ]
    return [one.latency_mean_s * one.iops for one in measured]


def _rate(id: str, drive: str, recording: str, words: tuple[str, ...] = ()) -> Figure:
    return Figure(id, lambda results: rate(results, drive, recording), words=words)


def _latency(id: str, drive: str, follows_from: str) -> Figure:
    return Figure(
        id,
        lambda results: results(f"owc/{drive}", WRITE).latency_mean_s * 1e3,
        follows_from=follows_from,
    )


FIGURES = (
    _rate("owc-50-write", OWC_50, WRITE),
    _rate("owc-100-write", OWC_100, WRITE),
    _rate("owc-le-write", LE, WRITE),
    _latency("owc-50-latency", OWC_50, "owc-50-write"),
    _latency("owc-100-latency", OWC_100, "owc-100-write"),
    _rate("owc-x25m-80-write", X25_M_80, WRITE),
    _rate("owc-x25m-160-write", X25_M_160, WRITE),
    _rate("owc-x25v-read", X25_V, READ),
    _rate("owc-x25v-sequential-read", X25_V, SEQUENTIAL_READ),
    _rate("owc-kingston-write", KINGSTON, WRITE),
    _rate("owc-kingston-read", KINGSTON, READ),
    _rate(
        "owc-kingston-sequential-write",
        KINGSTON,
        f"sequential-write/{INCOMPRESSIBLE}",
        ("193 MB/s",),
    ),
    _rate("owc-kingston-sequential-read", KINGSTON, SEQUENTIAL_READ),
)

CHECKS = (
    Check(
        "H18",
        "The 50 GB drive writes 44.2 MB/s where 100 GB drives with an SF-1500 reach about 160.",
        "Aligned 4 KiB writes: 100 GB and LE from 3 to 4.5 times the 50 GB drive.",
        lambda r: all_of(
            between("100 GB", rate(r, OWC_100, WRITE) / rate(r, OWC_50, WRITE), 3, 4.5),
            between("LE", rate(r, LE, WRITE) / rate(r, OWC_50, WRITE), 3, 4.5),
        ),
        restates=FIGURES[:3],
    ),
    Check(
        "H19",
        "The 50 GB drive is about as fast as an Intel X25-M G2.",
        "Aligned 4 KiB writes within 25 % of the 160 GB X25-M. (The same site's own figures, 44.2 "
        "and 36.1 MB/s, differ by 22 %.)",
        lambda r: between(
            "50 GB over X25-M", rate(r, OWC_50, WRITE) / rate(r, X25_M_160, WRITE), 0.75, 1.25
        ),
        restates=(FIGURES[0], FIGURES[6]),
    ),
    Check(
        "H20",
        "Unaligned, the SandForce drives are a little slower, and still faster than the others.",
        "Unaligned over aligned: from 0.5 to 1 on each SandForce drive; and the LE unaligned is "
        "faster than the X25-M aligned.",
        lambda r: all_of(
            *(
                between(drive_name(drive), unaligned_share(r, drive), 0.5, 1)
                for drive in (OWC_50, OWC_100, LE)
            ),
            at_least("LE over X25-M", rate(r, LE, UNALIGNED) / rate(r, X25_M_160, WRITE), 1),
        ),
    ),
    Check(
        "H20",
        "On a controller that does not manage alignment, unaligned writes are far slower.",
        "Unaligned over aligned: the Nova at most 0.6, and below each SandForce drive.",
        lambda r: all_of(
            at_most("Nova", unaligned_share(r, NOVA), 0.6),
            at_most(
                "Nova over the lowest SandForce",
                unaligned_share(r, NOVA)
                / min(unaligned_share(r, drive) for drive in (OWC_50, OWC_100, LE)),
                1,
            ),
        ),
        reason="The page names no drive and no figure. Whatever the Nova's mapping unit, a write "
        "across two of them costs at most twice an aligned one in the model; its firmware lost "
        "more.",
    ),
    Check(
        "H21",
        "Kingston's V+ is poor at random and excellent at sequential work.",
        "4 KiB writes at most a quarter, sequential writes at least 0.9 times those of the X25-M.",
        lambda r: all_of(
            at_most(
                "random writes over X25-M",
                rate(r, KINGSTON, WRITE) / rate(r, X25_M_160, WRITE),
                0.25,
            ),
            at_least(
                "sequential writes over X25-M",
                rate(r, KINGSTON, f"sequential-write/{REPEATED}")
                / rate(r, X25_M_160, f"sequential-write/{REPEATED}"),
                0.9,
            ),
        ),
        restates=FIGURES[9:10],
    ),
    Check(
        "Little",
        "A reader: mean latency is queue depth over IOPS, not one over IOPS.",
        "Mean latency times IOPS of all drives' 4 KiB writes and reads: from 2.97 to 3.03.",
        lambda r: all_of(
            at_least("lowest", min(little(r)), 2.97), at_most("highest", max(little(r)), 3.03)
        ),
    ),
)
