"""What readers of the Vector review asked for, and its later editions: an hour, spare area, other
fill data, recovery after hammering."""

from dataclasses import replace
from functools import partial

import numpy as np

from fourcorners.analysis import consistency
from fourcorners.analysis.consistency import Floats
from fourcorners.suites.steps import Rest, Trim
from fourcorners.suites.test import Measurement, Phase
from fourcorners.suites.tests.recovery import MINUTE_S
from fourcorners.validation.reproduction.checks import (
    Judgement,
    PublishedCheck,
    all_of,
    at_least,
    between,
)
from fourcorners.validation.reproduction.experiment import Experiment, Results, default, of_test
from fourcorners.validation.reproduction.experiments import vector
from fourcorners.validation.reproduction.experiments.vector import (
    DRIVES,
    I330,
    RUN_S,
    S840_PRO,
    S3700,
    SERIES,
    VECTOR,
    VERTEX_4,
)
from fourcorners.workload import REPEATED

SHARES = {0.25: 600.0, 0.5: 600.0, 0.75: 2000.0}
"""Shares of the drive that are filled and written, and for how many seconds. Three quarters are
what later editions call 25 % more spare area; the emptier ones are in balance long before."""

HOUR_S: float = default("consistency-hour", "time")
HOUR = "later"
"""Goes on from :data:`vector.SERIES` to a full hour."""

HAMMERED, AFTER_MINUTE, AFTER_TEN, AFTER_TRIM = "before", "idle-60", "idle-600", "trim"
RECOVERY = {
    HAMMERED: "hammered",
    AFTER_MINUTE: "after 1 min idle",
    AFTER_TEN: "after 10 min idle",
    AFTER_TRIM: "after TRIM",
}
OTHER_FILL = (VECTOR, I330)
NAMES = {VECTOR: "Vector", VERTEX_4: "Vertex 4", S840_PRO: "840 Pro", S3700: "S3700", I330: "330"}


def plan_hour(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """The review's run, the rest of the hour, and what rest and TRIM bring back."""

    # Each with a seed of its own: who writes the same places again in the same order leaves whole
    # blocks without valid data.
    def writes(id: str, seconds: float, seed: int) -> tuple[Measurement, ...]:
        [phase] = of_test("consistency", capacity_bytes, time=seconds * scale)
        [one] = phase.measurements
        return (replace(one, id=id, workload=replace(one.workload, seed=seed)),)

    return (
        *vector.plan_run(capacity_bytes, scale),
        Phase((), writes(HOUR, HOUR_S - RUN_S, 2)),
        Phase((), writes(HAMMERED, MINUTE_S, 3)),
        Phase((Rest(60),), writes(AFTER_MINUTE, MINUTE_S, 4)),
        Phase((Rest(600),), writes(AFTER_TEN, MINUTE_S, 5)),
        Phase((Trim(), Rest(60)), writes(AFTER_TRIM, MINUTE_S, 6)),
    )


def plan_share(share: float, capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """The same run within a part of the drive; the rest stays erased."""
    seconds = SHARES[share] * scale
    return _series(of_test("consistency-filled", capacity_bytes, filled=(share,), time=seconds))


def plan_repeated(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """The same run on a drive that was filled with data that repeat."""
    seconds = RUN_S * scale
    return _series(
        of_test("consistency-fill-data", capacity_bytes, contents=(REPEATED,), time=seconds)
    )


def _series(phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
    """One phase with one measurement, which gets the name that figures find it by."""
    [phase] = phases
    [one] = phase.measurements
    return (replace(phase, measurements=(replace(one, id=SERIES),)),)


def _variant(share: float) -> str:
    return f"{share:.0%} filled"


EXPERIMENTS = (
    *(Experiment("vector", drive, plan_hour) for drive in DRIVES),
    *(
        Experiment("vector", drive, partial(plan_share, share), _variant(share))
        for share in SHARES
        for drive in DRIVES
    ),
    *(Experiment("vector", drive, plan_repeated, "repeated fill") for drive in OTHER_FILL),
)


def series(results: Results, drive: str, share: float = 1.0) -> Floats:
    """IOPS of each second with a share of the drive filled; of the whole hour where that is all."""
    if share < 1:
        recordings = [results(f"vector/{drive}/{_variant(share)}", SERIES)]
    else:
        recordings = [results(f"vector/{drive}", id) for id in (SERIES, HOUR)]
    return np.concatenate([np.array(one.second_ios, dtype=np.float64) for one in recordings])


def score(results: Results, drive: str, share: float = 1.0) -> consistency.Steady:
    """The last 400 s."""
    return consistency.steady(series(results, drive, share))


def recovered(results: Results, drive: str, id: str) -> float:
    """Mean IOPS of the minute after something, over the hammered drive's."""
    return vector.over(
        results(f"vector/{drive}", id).iops, results(f"vector/{drive}", HAMMERED).iops
    )


def plateau_s(iops: Floats) -> float:
    """Seconds until the rate first falls below half of that of the first ten."""
    below = np.flatnonzero(iops < np.median(iops[:10]) / 2)
    return float(below[0]) if len(below) else float(len(iops))


def _spare(results: Results) -> Judgement:
    def gain(drive: str) -> float:
        return vector.over(score(results, drive, 0.75).mean_iops, score(results, drive).mean_iops)

    return all_of(
        *(at_least(NAMES[drive], gain(drive), 1.5) for drive in DRIVES if drive != S3700),
        at_least("S3700", gain(S3700), 0.99),
    )


def _emptier(results: Results) -> Judgement:
    def step(drive: str, emptier: float, fuller: float) -> float:
        return vector.over(
            score(results, drive, emptier).mean_iops, score(results, drive, fuller).mean_iops
        )

    return all_of(
        *(
            at_least(
                NAMES[drive],
                min(step(drive, 0.25, 0.5), step(drive, 0.5, 0.75), step(drive, 0.75, 1.0)),
                0.99,
            )
            for drive in DRIVES
        )
    )


def _h17(results: Results) -> Judgement:
    mean = score(results, VECTOR, 0.75).mean_iops
    return all_of(
        *(
            at_least(NAMES[other], vector.over(mean, score(results, other, 0.75).mean_iops), 1)
            for other in (VERTEX_4, I330)
        )
    )


def _fill(results: Results) -> Judgement:
    def gain(drive: str) -> float:
        plain, other = (
            vector.series(results, drive),
            results(f"vector/{drive}/repeated fill", SERIES).second_ios,
        )
        return plateau_s(np.array(other, dtype=np.float64)) / max(plateau_s(plain), 1.0)

    return all_of(at_least("330", gain(I330), 1.5), between("Vector", gain(VECTOR), 0.9, 1.1))


CHECKS = (
    PublishedCheck(
        "H17",
        "Readers: more than half full, the Vector beats the drives that Hardware Canucks list, "
        "among which the 840 Pro is not.",
        "Three quarters filled, last 400 s: the Vector's mean at least the Vertex 4's and the "
        "330's. (The list itself is not known; these are the review's other consumer drives.)",
        _h17,
    ),
    PublishedCheck(
        "Spare",
        "Later editions: 25 % more spare area makes every consumer drive faster in its steady "
        "state.",
        "Last 400 s, three quarters filled over full: at least 1.5 times, the S3700 at least as "
        "fast.",
        _spare,
    ),
    PublishedCheck(
        "Filled",
        "Free space acts as over-provisioning.",
        "Last 400 s: 25 % filled at least as fast as 50 %, that as 75 %, that as full, on every "
        "drive.",
        _emptier,
    ),
    PublishedCheck(
        "Fill data",
        "Readers: fill with other data. What a drive compresses leaves it spare area.",
        "Filled with repeated data: the 330 stays fast at least 1.5 times as long, the Vector as "
        "long as before within 10 %.",
        _fill,
    ),
    PublishedCheck(
        "TRIM",
        "Readers: how quickly does a drive recover after hammering? With TRIM of all it held, at "
        "once.",
        "Mean of the minute after TRIM over the minute before: at least twice on every drive but "
        "the S3700, which had not slowed down.",
        lambda r: all_of(
            *(
                at_least(NAMES[drive], recovered(r, drive, AFTER_TRIM), 2)
                for drive in DRIVES
                if drive != S3700
            ),
            at_least("S3700", recovered(r, S3700, AFTER_TRIM), 0.99),
        ),
    ),
)
