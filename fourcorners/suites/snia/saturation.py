"""SNIA's tests over time: write saturation, host idle recovery, cross stimulus recovery."""

from dataclasses import dataclass
from typing import Any

from fourcorners.documents import changed
from fourcorners.manifest import Chart
from fourcorners.suites.common import KIB
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, PAUSE, SECONDS, TIME, choice, many, parameter
from fourcorners.suites.snia.common import (
    BLOCK_4K,
    EDITIONS,
    HISTOGRAM_S,
    ROUNDS_MAX,
    SOURCE,
    EditionParameters,
    SniaSetting,
    in_round,
    rounds,
)
from fourcorners.suites.steps import Purge, Rest
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Adaptive, Measurement, Phase
from fourcorners.workload import Workload

HOUR_S = 3600.0


def _over_time(title: str, y: str) -> Chart:
    """Second by second, of all that is measured one after the other."""
    return Chart("seconds", title, y, "elapsed", series=("variant",), log="y")


@dataclass(frozen=True)
class SaturationParameters(EditionParameters):
    """Of write saturation."""

    time_s: float = parameter(SECONDS, 6 * HOUR_S, "at most")
    capacities: int = parameter(COUNT, 4, "drive writes at most")
    histogram_s: float = parameter(SECONDS, HISTOGRAM_S, "the same writes for the histogram, after")


def plan_saturation(subject: Subject, parameters: SaturationParameters, seed: int) -> Plan:
    """4 KiB random writes to an erased drive for six hours, or until four times its capacity is
    written; then twenty minutes of them for the histogram. Where five of the specification's
    rounds are steady before, a finding says so, and the writes go on: what comes after tells
    whether they were."""
    setting = SniaSetting(subject, parameters)
    stream = setting.stream(0.0, "random", BLOCK_4K)
    writes = Measurement(
        "write",
        "4 KiB random write",
        Workload(
            [stream],
            duration_s=parameters.time_s,
            volume_bytes=parameters.capacities * subject.area_bytes,
            seed=seed,
        ),
        {"variant": "4 KiB random write", "counts_exceedances": True},
    )
    histogram = Measurement(
        "histogram",
        "4 KiB random write, for the histogram",
        Workload([stream], duration_s=parameters.histogram_s, seed=seed + 1),
        {"counts_exceedances": True},
    )
    return Plan(
        setting.shown(
            **{
                "outstanding": setting.outstanding,
                "block size": "4 KiB, random writes",
                "time": f"{parameters.time_s:g} s, or {parameters.capacities} drive writes",
                "histogram": f"{parameters.histogram_s:g} s of the same writes, after",
            }
        ),
        (Phase((Purge(),), (writes, histogram)),),
        (
            changed(_over_time("IOPS", "iops"), x="", ids="write"),
            changed(_over_time("Mean latency", "latency_mean"), x="", ids="write"),
            Chart("rounds", "Last minutes of rounds of 31 minutes", "value", "round"),
            Chart("percentiles", "Latency percentiles", "latency", series=("label",)),
        ),
    )


SATURATION = Definition(
    name="snia-write-saturation",
    title="SNIA write saturation",
    source=SOURCE,
    purpose="How the drive's speed falls from fresh out of the box to its steady state.",
    plan=plan_saturation,
    parameters=SaturationParameters,
)


@dataclass(frozen=True)
class IdleParameters(EditionParameters):
    """Of host idle recovery."""

    idles_s: tuple[float, ...] = parameter(
        many(PAUSE), (5.0, 10.0, 15.0, 25.0, 50.0), "pauses between bursts"
    )
    burst_s: float = parameter(TIME, 5.0, "writes of a burst")
    segment_s: float = parameter(SECONDS, 1800.0, "writes with each pause, and without after it")
    round_s: float = parameter(SECONDS, 1800.0, "a round of preconditioning")
    rounds: int = parameter(COUNT, ROUNDS_MAX, "rounds of preconditioning at most")


def plan_idle(subject: Subject, parameters: IdleParameters, seed: int) -> Plan:
    """Purge; 4 KiB random writes in rounds of half an hour until the last minutes are steady; then
    for each pause bursts of 5 s, each followed by that pause, and half an hour without a pause."""
    setting = SniaSetting(subject, parameters)
    stream = setting.stream(0.0, "random", BLOCK_4K)
    minute = parameters.round_s / 30

    def batch(number: int) -> tuple[Measurement, ...]:
        return (
            in_round(
                number,
                "write",
                "4 KiB random write",
                stream,
                parameters.round_s - minute,
                seed,
                variant="preconditioning",
            ),
            in_round(
                number,
                "last",
                "4 KiB random write, last minute",
                stream,
                minute,
                seed + 1,
                metric="iops",
                variant="preconditioning",
            ),
        )

    count = 0

    def write(id: str, seconds: float, variant: str, which: str = "", **axes: Any) -> Measurement:
        nonlocal count
        count += 1
        own_seed = seed + 10**6 + count
        return Measurement(
            id,
            ", ".join(filter(None, ["4 KiB random write", variant, which])),
            Workload([stream], duration_s=seconds, seed=own_seed),
            {"variant": variant, **axes},
        )

    phases: list[Phase | Adaptive] = [
        rounds((Purge(),), batch, lambda one: one.iops, parameters.rounds)
    ]
    bursts = max(round(parameters.segment_s / parameters.burst_s), 1)
    for idle in parameters.idles_s:
        variant = f"{parameters.burst_s:g} s of writes, {idle:g} s of pause"
        # Each burst is followed by its pause, the last one too: the drive goes into the baseline
        # rested.
        phases += [
            Phase(
                (Rest(idle),) if number > 1 else (),
                (
                    write(
                        f"idle-{idle:g}/{number}",
                        parameters.burst_s,
                        variant,
                        idle_s=idle,
                        burst=number,
                    ),
                ),
                continues=True,
            )
            for number in range(1, bursts + 1)
        ]
        baseline = write(
            f"baseline-{idle:g}",
            parameters.segment_s,
            "no pause",
            f"after those of {idle:g} s",
            idle_s=idle,
        )
        phases.append(Phase((Rest(idle),), (baseline,), continues=True))
    return Plan(
        setting.shown(
            **{
                "outstanding": setting.outstanding,
                "block size": "4 KiB, random writes",
                "preconditioning": f"rounds of {parameters.round_s:g} s until five in a row are "
                f"steady, {parameters.rounds} at most",
                "pauses": ", ".join(f"{idle:g} s" for idle in parameters.idles_s)
                + f", each {bursts} times after {parameters.burst_s:g} s of writes, then "
                f"{parameters.segment_s:g} s without a pause",
            }
        ),
        tuple(phases),
        (
            Chart("rounds", "Preconditioning", "value", "round"),
            _over_time("IOPS while writing", "iops"),
        ),
    )


IDLE = Definition(
    name="snia-host-idle-recovery",
    title="SNIA host idle recovery",
    source=SOURCE,
    purpose="What pauses between bursts of writes give back to a drive in its steady state.",
    plan=plan_idle,
    parameters=IdleParameters,
)


@dataclass(frozen=True)
class CrossParameters:
    """Of cross stimulus recovery: one thread, whose sequential writes are in order."""

    edition: str = parameter(choice(*EDITIONS), "enterprise", "PTS-E or PTS-C")
    depth: int = parameter(COUNT, 32, "queue depth")
    sequential_s: float = parameter(SECONDS, 8 * HOUR_S, "sequential writes, before and after")
    random_s: float = parameter(SECONDS, 6 * HOUR_S, "random writes in between")


def plan_cross(subject: Subject, parameters: CrossParameters, seed: int) -> Plan:
    """Purge; 1024 KiB sequential writes for eight hours, 8 KiB random writes for six, and the
    sequential writes again for eight."""
    setting = SniaSetting(subject, parameters)

    def write(id: str, label: str, pattern: str, block: int, seconds: float) -> Measurement:
        stream = setting.stream(0.0, pattern, block, threads=1)
        own_seed = seed + ("before", "random", "after").index(id)
        return Measurement(
            id, label, Workload([stream], duration_s=seconds, seed=own_seed), {"variant": label}
        )

    measurements = (
        write(
            "before", "1024 KiB sequential write", "sequential", 1024 * KIB, parameters.sequential_s
        ),
        write("random", "8 KiB random write", "random", 8 * KIB, parameters.random_s),
        write(
            "after",
            "1024 KiB sequential write, again",
            "sequential",
            1024 * KIB,
            parameters.sequential_s,
        ),
    )
    return Plan(
        setting.shown(
            outstanding=f"{parameters.depth}, one thread",
            stimuli=f"1024 KiB sequential writes, {parameters.sequential_s:g} s; 8 KiB random "
            f"writes, {parameters.random_s:g} s; the first again",
        ),
        (Phase((Purge(),), measurements),),
        (
            _over_time("Throughput", "mbps"),
            _over_time("Mean latency", "latency_mean"),
            _over_time("Longest latency", "latency_max"),
        ),
    )


CROSS = Definition(
    name="snia-cross-stimulus-recovery",
    title="SNIA cross stimulus recovery",
    source=SOURCE,
    purpose="How a drive gets along with a change from sequential to random writes and back.",
    plan=plan_cross,
    parameters=CrossParameters,
)
