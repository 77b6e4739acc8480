"""AnandTech's page on the OWC Mercury Extreme, 2010-02: random writes, aligned and not."""

from fourcorners.suites.common import SPAN_BYTES
from fourcorners.suites.steps import Fill, Purge
from fourcorners.suites.test import Measurement, Phase
from fourcorners.validation.reproduction.checks import (
    PublishedCheck,
    all_of,
    at_least,
    at_most,
    between,
)
from fourcorners.validation.reproduction.experiment import (
    Experiment,
    Results,
    default,
    of_test,
    unprepared,
)
from fourcorners.validation.reproduction.figure import Figure, drive_name
from fourcorners.workload import INCOMPRESSIBLE, REPEATED, Stream, Workload

OWC_50, OWC_100, LE = (
    "owc-mercury-extreme-50gb",
    "owc-mercury-extreme-100gb",
    "ocz-vertex-le-100gb",
)
X25_M_80, X25_M_160, X25_V = "intel-x25-m-g2-80gb", "intel-x25-m-g2-160gb", "intel-x25-v-40gb"
KINGSTON, NOVA = "kingston-ssdnow-v-plus-128gb", "corsair-nova-v128"
DRIVES = (LE, OWC_100, OWC_50, X25_M_160, X25_M_80, X25_V, NOVA, KINGSTON)
"""The drives of the review's bars."""

RANDOM_S: float = default("aligned-writes", "time")
SEQUENTIAL_S: float = default("sequential", "time")
USED_WRITE, USED_SEQUENTIAL = "used-write/3", "used-sequential-write"


def plan_random(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """Random writes at sectors and at 4 KiB, random reads, and the sequential page."""
    random_s, sequential_s = RANDOM_S * scale, SEQUENTIAL_S * scale
    contents = (REPEATED, INCOMPRESSIBLE)
    *writes, reads = of_test("sequential", capacity_bytes, time=sequential_s, contents=contents)
    return (
        *of_test("aligned-writes", capacity_bytes, time=random_s),
        *writes,
        *of_test("random-reads", capacity_bytes, time=random_s, depths=(3,)),
        unprepared(reads),
    )


def plan_x25_m(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """The same, and what the site measured on used drives: full, and overwritten at random."""

    def measure(id: str, stream: Stream, seconds: float) -> Measurement:
        return Measurement(id, "used drive", Workload([stream], seconds=seconds * scale))

    used = Phase(
        (Purge(), Fill(capacity_bytes)),
        (
            measure("use", Stream.write("random", 4096, queue_depth=32), 600),
            measure(
                USED_WRITE,
                Stream.write("random", 4096, span_bytes=SPAN_BYTES, queue_depth=3),
                RANDOM_S,
            ),
            measure(USED_SEQUENTIAL, Stream.write("sequential", 128 * 1024), SEQUENTIAL_S),
        ),
    )
    return (*plan_random(capacity_bytes, scale), used)


def plan_x25_v(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """The same, with the blocks of its reviewer's sequential test."""
    seconds = SEQUENTIAL_S * scale
    reads = of_test("sequential", capacity_bytes, time=seconds, block=2 * 2**20)[-1]
    return (*plan_random(capacity_bytes, scale)[:-1], unprepared(reads))


_PLANS = {X25_M_80: plan_x25_m, X25_M_160: plan_x25_m, X25_V: plan_x25_v}
EXPERIMENTS = tuple(Experiment("owc", drive, _PLANS.get(drive, plan_random)) for drive in DRIVES)

WRITE, UNALIGNED = f"aligned-4096/3/{REPEATED}", f"aligned-512/3/{REPEATED}"
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


def _rate(
    id: str,
    drive: str,
    recording: str,
    words: tuple[str, ...] = (),
    reason: str | None = None,
) -> Figure:
    return Figure(id, lambda results: rate(results, drive, recording), words=words, reason=reason)


def _latency(id: str, drive: str, follows_from: str) -> Figure:
    return Figure(
        id,
        lambda results: results(f"owc/{drive}", WRITE).latency_mean_s * 1e3,
        follows_from=follows_from,
    )


_USED = (
    "The model writes the whole drive at random for ten minutes first and then collects in every "
    "write. How long the site used its drives, and how much flash the firmware keeps free, is not "
    "known."
)

FIGURES = (
    _rate("owc-50-write", OWC_50, WRITE),
    _rate("owc-100-write", OWC_100, WRITE),
    _rate("owc-le-write", LE, WRITE),
    _latency("owc-50-latency", OWC_50, "owc-50-write"),
    _latency("owc-100-latency", OWC_100, "owc-100-write"),
    _rate("owc-x25m-80-write", X25_M_80, WRITE),
    _rate("owc-x25m-160-write", X25_M_160, WRITE),
    _rate("owc-x25m-80-used-write", X25_M_80, USED_WRITE, reason=_USED),
    _rate("owc-x25m-160-used-write", X25_M_160, USED_WRITE, reason=_USED),
    _rate("owc-x25m-80-used-sequential", X25_M_80, USED_SEQUENTIAL, reason=_USED),
    Figure(
        "owc-x25m-latency-max",
        lambda results: results(f"owc/{X25_M_160}", WRITE).latency_max_s * 1e3,
        reason="The drive now and then stops to tidy its tables; the model has no such stalls.",
    ),
    _rate("owc-le-write-page", LE, WRITE, ("160 MB/s",)),
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
    PublishedCheck(
        "H18",
        "The 50 GB drive writes 44.2 MB/s where 100 GB drives with an SF-1500 reach about 160.",
        "Aligned 4 KiB writes: 100 GB and LE from 3 to 4.5 times the 50 GB drive.",
        lambda r: all_of(
            between("100 GB", rate(r, OWC_100, WRITE) / rate(r, OWC_50, WRITE), 3, 4.5),
            between("LE", rate(r, LE, WRITE) / rate(r, OWC_50, WRITE), 3, 4.5),
        ),
        restates=FIGURES[:3],
    ),
    PublishedCheck(
        "H19",
        "The 50 GB drive is about as fast as an Intel X25-M G2.",
        "Aligned 4 KiB writes within 25 % of the 160 GB X25-M. (The same site's own figures, 44.2 "
        "and 36.1 MB/s, differ by 22 %.)",
        lambda r: between(
            "50 GB over X25-M", rate(r, OWC_50, WRITE) / rate(r, X25_M_160, WRITE), 0.75, 1.25
        ),
        restates=FIGURES[:1],
    ),
    PublishedCheck(
        "H20",
        "Unaligned, the SandForce drives are a little slower, and still faster than the others.",
        "Unaligned over aligned: from 0.75 to 0.99 on each SandForce drive; and the LE unaligned "
        "is faster than every other controller aligned.",
        lambda r: all_of(
            *(
                between(drive_name(drive), unaligned_share(r, drive), 0.75, 0.99)
                for drive in (OWC_50, OWC_100, LE)
            ),
            at_least(
                "LE over the best other",
                rate(r, LE, UNALIGNED)
                / max(
                    rate(r, drive, WRITE)
                    for drive in DRIVES
                    if drive not in (LE, OWC_50, OWC_100) and f"owc/{drive}" in r.measured
                ),
                1,
            ),
        ),
        fitted=((OWC_50, OWC_100, LE), ("a little slower",)),
    ),
    PublishedCheck(
        "H20",
        "On a controller that does not manage alignment, unaligned writes are far slower.",
        "Unaligned over aligned: the Nova at most 0.5, and below each SandForce drive. (The page "
        "names no drive; that the Nova is one is assumed.)",
        lambda r: all_of(
            at_most("Nova", unaligned_share(r, NOVA), 0.5),
            at_most(
                "Nova over the lowest SandForce",
                unaligned_share(r, NOVA)
                / min(unaligned_share(r, drive) for drive in (OWC_50, OWC_100, LE)),
                1,
            ),
        ),
    ),
    PublishedCheck(
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
        restates=tuple(figure for figure in FIGURES if figure.id == "owc-kingston-write"),
    ),
    PublishedCheck(
        "Little",
        "A reader: mean latency is queue depth over IOPS, not one over IOPS.",
        "Mean latency times IOPS of all drives' 4 KiB writes and reads: from 2.97 to 3.03.",
        lambda r: all_of(
            at_least("lowest", min(little(r)), 2.97), at_most("highest", max(little(r)), 3.03)
        ),
    ),
)
