"""AnandTech's OCZ Vector review, 2012-11: IOPS by the second on a full drive."""

import math
from typing import Any

import numpy as np

from fourcorners.analysis import consistency
from fourcorners.analysis.consistency import Floats
from fourcorners.suites.common import SPAN_BYTES
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.test import Measurement, Phase
from fourcorners.validation.reproduction.checks import (
    PublishedCheck,
    all_of,
    at_least,
    at_most,
    between,
)
from fourcorners.validation.reproduction.experiment import Results, default, of_test
from fourcorners.validation.reproduction.figure import Figure
from fourcorners.workload import Stream, Workload

VECTOR, VERTEX_4, S840_PRO, S3700, I330 = (
    "ocz-vector-256gb",
    "ocz-vertex-4-256gb",
    "samsung-840-pro-256gb",
    "intel-dc-s3700-200gb",
    "intel-330-180gb",
)
DRIVES = (VECTOR, VERTEX_4, S840_PRO, S3700, I330)
TAIL_S = 1400
"""Where the review's second and third plots begin."""

RUN_S: float = default("consistency", "time")
SERIES, READ = "write", "random-read/1"


def plan_run(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """One read at a time, then erase, fill, and write for 2000 seconds."""
    return (
        Phase(
            (Purge(), Fill(SPAN_BYTES), settle()),
            (
                Measurement(
                    READ,
                    "4 KiB random read over 8 GB",
                    Workload([Stream.read("random", 4096, span_bytes=SPAN_BYTES)], seconds=20),
                ),
            ),
        ),
        *of_test("consistency", capacity_bytes, time=RUN_S * scale),
    )


def series(results: Results, drive: str) -> Floats:
    """IOPS of each full second."""
    return np.array(results(f"vector/{drive}", SERIES).second_ios, dtype=np.float64)


def tail(iops: Floats) -> Floats:
    """From 1400 s of 2000 s on, or the same share of a shorter run."""
    return iops[min(TAIL_S, round(len(iops) * TAIL_S / RUN_S)) :]


def variation(iops: Floats) -> float:
    """Standard deviation over mean: the spread that a log axis shows."""
    return over(iops.std(), iops.mean())


def over(numerator: float | np.floating[Any], denominator: float | np.floating[Any]) -> float:
    """A ratio; infinite over a rate of zero, as of a drive that stalls, and no number if both
    stall, which meets no rule."""
    if denominator:
        return float(numerator / denominator)
    return math.inf if numerator else math.nan


def plateau_ratio(iops: Floats) -> float:
    """Median of the first ten seconds over the mean of the tail."""
    return over(np.median(iops[:10]), tail(iops).mean())


def sharpness_s(iops: Floats) -> float:
    """Seconds between the last one near the plateau (three quarters) and the first one at half."""
    plateau = float(np.median(iops[:10]))
    below = np.flatnonzero(iops < plateau / 2)
    if not len(below):
        return float("inf")
    first = int(below[0])
    near = np.flatnonzero(iops[:first] >= 0.75 * plateau)
    return float(first - near[-1]) if len(near) else float("inf")


def steady_mbps(results: Results, drive: str) -> float:
    """MB/s of the last 400 s."""
    return consistency.steady(series(results, drive)).mean_iops * 4096 / 1e6


FIGURES = (
    Figure("vector-steady", lambda r: steady_mbps(r, VECTOR)),
    Figure(
        "vector-840-read-ratio",
        lambda r: r(f"vector/{S840_PRO}", READ).iops / r(f"vector/{VECTOR}", READ).iops,
        also=(VECTOR,),
        words=("a third ahead",),
    ),
    Figure("vector-s3700-read", lambda r: r(f"vector/{S3700}", READ).megabytes_per_second),
)


def _tail(results: Results, drive: str) -> Floats:
    return tail(series(results, drive))


CHECKS = (
    PublishedCheck(
        "H11",
        "Very fast at first, then a sharp drop when the free blocks run out; all but the S3700.",
        "First ten seconds over the tail: at least 2, falling from three quarters to half within "
        "30 s, on all others; at most 1.5 on the S3700.",
        lambda r: all_of(
            *(
                all_of(
                    at_least(name, plateau_ratio(series(r, drive)), 2),
                    at_most("seconds", sharpness_s(series(r, drive)), 30),
                )
                for name, drive in (
                    ("Vector", VECTOR),
                    ("Vertex 4", VERTEX_4),
                    ("840 Pro", S840_PRO),
                    ("330", I330),
                )
            ),
            at_most("S3700", plateau_ratio(series(r, S3700)), 1.5),
        ),
    ),
    PublishedCheck(
        "H12",
        "The Vector is a Vertex 4 shifted up: tighter on the log axis, more spread on the linear "
        "one.",
        "Tail: mean at least 1.1 times the Vertex 4's; deviation over mean not larger; deviation "
        "in IOPS larger.",
        lambda r: all_of(
            at_least(
                "mean over Vertex 4", over(_tail(r, VECTOR).mean(), _tail(r, VERTEX_4).mean()), 1.1
            ),
            at_most(
                "relative spread over Vertex 4",
                over(variation(_tail(r, VECTOR)), variation(_tail(r, VERTEX_4))),
                1,
            ),
            at_least(
                "spread in IOPS over Vertex 4",
                over(_tail(r, VECTOR).std(), _tail(r, VERTEX_4).std()),
                1,
            ),
        ),
        fitted=((VECTOR, VERTEX_4), ("^fitted to vector",)),
    ),
    PublishedCheck(
        "H13",
        "The Vector is more consistent than the 840 Pro.",
        "Tail: deviation over mean at most half the 840 Pro's, worst second at least as fast.",
        lambda r: all_of(
            at_most(
                "relative spread over 840 Pro",
                over(variation(_tail(r, VECTOR)), variation(_tail(r, S840_PRO))),
                0.5,
            ),
            at_least(
                "worst second over 840 Pro",
                over(_tail(r, VECTOR).min(), _tail(r, S840_PRO).min()),
                1,
            ),
        ),
        fitted=((VECTOR, S840_PRO), ("^fitted to vector",)),
    ),
    PublishedCheck(
        "H14",
        "The S3700 is in a league of its own.",
        "Tail: worst second faster than any other drive's median, and the lowest deviation over "
        "mean.",
        lambda r: all_of(
            at_least(
                "worst second over the best median",
                _tail(r, S3700).min()
                / max(np.median(_tail(r, drive)) for drive in DRIVES if drive != S3700),
                1,
            ),
            at_most(
                "relative spread over the lowest other",
                variation(_tail(r, S3700))
                / min(variation(_tail(r, drive)) for drive in DRIVES if drive != S3700),
                1,
            ),
        ),
        fitted=((S3700,), ("^fitted to vector",)),
    ),
    PublishedCheck(
        "H15",
        "The Intel 330 has a wide range, and is much better than the 840 Pro.",
        "Tail: deviation over mean above the Vector's; mean at least 1.3 times the 840 Pro's, "
        "worst second at least as fast.",
        lambda r: all_of(
            at_least(
                "relative spread over Vector",
                over(variation(_tail(r, I330)), variation(_tail(r, VECTOR))),
                1,
            ),
            at_least(
                "mean over 840 Pro", over(_tail(r, I330).mean(), _tail(r, S840_PRO).mean()), 1.3
            ),
            at_least("worst over 840 Pro", over(_tail(r, I330).min(), _tail(r, S840_PRO).min()), 1),
        ),
        fitted=((I330, S840_PRO), ("^fitted to vector",)),
    ),
    PublishedCheck(
        "H16",
        "A reader: the 840 Pro reads 4 KiB at queue depth 1 a third faster than the Vector.",
        "The ratio is from 1.2 to 1.5.",
        lambda r: between("ratio", FIGURES[1].simulate(r), 1.2, 1.5),
        restates=FIGURES[1:2],
    ),
)
