"""AnandTech's review of the OCZ Vertex 3 120GB, 2011-04: the four corners, with data that can and
that cannot be compressed."""

from collections.abc import Sequence

from fourcorners.suites.test import Phase
from fourcorners.validation.reproduction.checks import (
    Judgement,
    PublishedCheck,
    all_of,
    at_least,
    at_most,
    between,
    in_order,
)
from fourcorners.validation.reproduction.experiment import (
    LINK_3G,
    LINK_6G,
    Experiment,
    Results,
    default,
    of_test,
    unprepared,
)
from fourcorners.validation.reproduction.figure import Figure
from fourcorners.workload import INCOMPRESSIBLE, REPEATED

RANDOM_S: float = default("random-writes", "time")
SEQUENTIAL_S: float = default("sequential", "time")
SMALL, LARGE = "ocz-vertex-3-120gb", "ocz-vertex-3-240gb"
M4, INTEL_510, F120, NOVA = (
    "crucial-m4-256gb",
    "intel-510-250gb",
    "corsair-force-f120",
    "corsair-nova-v128",
)
VERTEX_2 = ("ocz-vertex-2-120gb-34nm", "ocz-vertex-2-120gb-25nm", "ocz-vertex-2-120gb-hynix")
DRIVES = (LARGE, SMALL, M4, INTEL_510, *VERTEX_2, F120, NOVA)
"""The drives of the review's bars."""

DEEP = 32
VERTEX_2_DEPTH = 21


def plan_vertex_3(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """All corners, and random writes at both queue depths."""
    return _corners(capacity_bytes, scale, (3, DEEP))


def plan_corners(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """The corners at queue depth 3."""
    return _corners(capacity_bytes, scale, (3,))


def _corners(capacity_bytes: int, scale: float, depths: tuple[int, ...]) -> tuple[Phase, ...]:
    *writes, reads = of_test("sequential", capacity_bytes, time=SEQUENTIAL_S * scale)
    return (
        *of_test("random-writes", capacity_bytes, time=RANDOM_S * scale, depths=depths),
        *writes,
        *of_test("random-reads", capacity_bytes, time=RANDOM_S * scale, depths=(3,)),
        unprepared(reads),
    )


def plan_vertex_2(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """The corners, and random writes at the depth of another reviewer's figure."""
    seconds = RANDOM_S * scale
    depths, contents = (VERTEX_2_DEPTH,), (REPEATED,)
    return (
        *plan_corners(capacity_bytes, scale),
        *of_test("random-writes", capacity_bytes, time=seconds, depths=depths, contents=contents),
    )


EXPERIMENTS = (
    *(
        Experiment("vertex3", drive, plan_vertex_3, variant, settings)
        for drive in (SMALL, LARGE)
        for variant, settings in (("6 Gb/s", LINK_6G), ("3 Gb/s", LINK_3G))
    ),
    *(Experiment("vertex3", drive, plan_corners) for drive in (M4, INTEL_510, F120, NOVA)),
    *(Experiment("vertex3", drive, plan_vertex_2) for drive in VERTEX_2),
)


def key(drive: str, link: str = "6 Gb/s") -> str:
    """The experiment of a drive; of the Vertex 3 there is one on each link."""
    return f"vertex3/{drive}/{link}" if drive in (SMALL, LARGE) else f"vertex3/{drive}"


def rate(results: Results, drive: str, recording: str, link: str = "6 Gb/s") -> float:
    """MB/s of a drive in one recording."""
    return results(key(drive, link), recording).megabytes_per_second


def ratio(results: Results, recording: str, link: str = "6 Gb/s") -> float:
    """120 GB over 240 GB."""
    return rate(results, SMALL, recording, link) / rate(results, LARGE, recording, link)


WRITE, WRITE_REPEATED = f"write/3/{INCOMPRESSIBLE}", f"write/3/{REPEATED}"
DEEP_WRITE = f"write/{DEEP}/{INCOMPRESSIBLE}"
SEQUENTIAL = f"sequential-write/{INCOMPRESSIBLE}"
SEQUENTIAL_REPEATED = f"sequential-write/{REPEATED}"
READ = "random-read/3"


def _ratio(id: str, recording: str, link: str = "6 Gb/s") -> Figure:
    return Figure(id, lambda results: ratio(results, recording, link), also=(LARGE,))


FIGURES = (
    _ratio("v3-write-ratio", WRITE),
    _ratio("v3-sequential-ratio", SEQUENTIAL),
    _ratio("v3-write-ratio-repeated", WRITE_REPEATED),
    _ratio("v3-sequential-ratio-repeated", SEQUENTIAL_REPEATED),
    _ratio("v3-write-ratio-3g", WRITE, "3 Gb/s"),
    Figure("v3-m4-write", lambda r: rate(r, M4, WRITE)),
    Figure("v3-510-write", lambda r: rate(r, INTEL_510, WRITE)),
    Figure("v3-m4-latency", lambda r: r(key(M4), WRITE).latency_mean_s * 1e3, words=(r"0\.06 ms",)),
    Figure("v3-m4-sequential", lambda r: rate(r, M4, SEQUENTIAL)),
    Figure("v3-510-latency-max", lambda r: r(key(INTEL_510), WRITE).latency_max_s * 1e3),
    Figure(
        "v3-vertex-2-write",
        lambda r: r(key(VERTEX_2[0]), f"write/{VERTEX_2_DEPTH}/{REPEATED}").iops,
    ),
)


def equal(what: str, ratios: Sequence[float], tolerance: float) -> Judgement:
    """All ratios near 1."""
    worst = max(ratios, key=lambda value: abs(value - 1))
    return between(f"{what}, worst ratio", worst, 1 - tolerance, 1 + tolerance)


CHECKS = (
    PublishedCheck(
        "H30",
        "With incompressible data at queue depth 3 the 120 GB drive has 84 % of the 240 GB one's "
        "rate.",
        "The ratio is from 0.75 to 0.95.",
        lambda r: between("ratio", ratio(r, WRITE), 0.75, 0.95),
        restates=FIGURES[:1],
    ),
    PublishedCheck(
        "H31",
        "The gap grows a little at queue depth 32.",
        "The ratio at queue depth 32 is below that at queue depth 3, and by less than 0.15.",
        lambda r: between(
            "ratio at queue depth 3 less ratio at 32",
            ratio(r, WRITE) - ratio(r, DEEP_WRITE),
            0.005,
            0.15,
        ),
    ),
    PublishedCheck(
        "H32",
        "With compressible data both write at the same rate, level with the Crucial m4.",
        "4 KiB at queue depth 3: 120 GB within 5 % of 240 GB, and within 15 % of the m4.",
        lambda r: all_of(
            equal("120 GB over 240 GB", [ratio(r, WRITE_REPEATED)], 0.05),
            equal(
                "120 GB over m4",
                [rate(r, SMALL, WRITE_REPEATED) / rate(r, M4, WRITE_REPEATED)],
                0.15,
            ),
        ),
        fitted=((SMALL, LARGE), ("level with the m4",)),
    ),
    PublishedCheck(
        "H33",
        "On a 3 Gb/s link both are the same.",
        "Random writes at queue depths 3 and 32, with both contents: 120 GB within 5 % of 240 GB.",
        lambda r: equal(
            "120 GB over 240 GB",
            [ratio(r, recording, "3 Gb/s") for recording in (WRITE, WRITE_REPEATED, DEEP_WRITE)],
            0.05,
        ),
    ),
    PublishedCheck(
        "H34",
        "Random reads at queue depth 3: the 120 GB drive is clearly slower than the 240 GB one and "
        "than the SF-1200 Force F120, and about an Indilinx Nova.",
        "120 GB at most 0.9 times the 240 GB drive and the F120, and within 15 % of the Nova.",
        lambda r: all_of(
            at_most("over 240 GB", rate(r, SMALL, READ) / rate(r, LARGE, READ), 0.9),
            at_most("over F120", rate(r, SMALL, READ) / rate(r, F120, READ), 0.9),
            equal("over Nova", [rate(r, SMALL, READ) / rate(r, NOVA, READ)], 0.15),
        ),
        fitted=(
            (SMALL, NOVA),
            ("4 KB random reads (of the 120 GB drive )?at queue depth 3 about",),
        ),
    ),
    PublishedCheck(
        "H35",
        "Sequential writes: equal with compressible data, 76 % with incompressible data.",
        "Compressible within 5 %; incompressible from 0.65 to 0.85.",
        lambda r: all_of(
            equal("compressible", [ratio(r, SEQUENTIAL_REPEATED)], 0.05),
            between("incompressible", ratio(r, SEQUENTIAL), 0.65, 0.85),
        ),
        restates=FIGURES[1:2],
    ),
    PublishedCheck(
        "H36",
        "Sequential reads: below the 240 GB drive, and well above an SF-1200 drive on 6 Gb/s only.",
        "120 GB below 240 GB on 6 Gb/s; at least 1.2 times the F120 on 6 Gb/s, within 20 % of it "
        "on 3 Gb/s.",
        lambda r: all_of(
            in_order(
                "MB/s",
                ("120 GB", rate(r, SMALL, "sequential-read")),
                ("240 GB", rate(r, LARGE, "sequential-read")),
            ),
            at_least(
                "over F120 on 6 Gb/s",
                rate(r, SMALL, "sequential-read") / rate(r, F120, "sequential-read"),
                1.2,
            ),
            equal(
                "over F120 on 3 Gb/s",
                [rate(r, SMALL, "sequential-read", "3 Gb/s") / rate(r, F120, "sequential-read")],
                0.2,
            ),
        ),
    ),
)
