"""SNIA's tests over time: write saturation, host idle recovery, cross stimulus recovery."""

from dataclasses import dataclass

from fourcorners.suites.common import KIB
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, PAUSE, SECONDS, TIME, choice, many, parameter
from fourcorners.suites.snia.common import (
    BLOCK_4K,
    EDITIONS,
    ROUNDS_MAX,
    SOURCE,
    Setting,
    in_round,
    rounds,
)
from fourcorners.suites.steps import Purge, Rest
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Adaptive, Chart, Measurement, Phase
from fourcorners.workload import Stream, Workload

HOUR_S = 3600.0


@dataclass(frozen=True)
class SaturationParameters:
    """Of write saturation."""

    edition: str = parameter(choice(*EDITIONS), "enterprise", "PTS-E or PTS-C")
    depth: int | None = parameter(COUNT, None, "queue depth of a thread, recommended by edition")
    threads: int | None = parameter(COUNT, None, "threads, recommended by edition")
    time_s: float = parameter(SECONDS, 6 * HOUR_S, "at most")
    capacities: int = parameter(COUNT, 4, "drive writes at most")


def plan_saturation(subject: Subject, parameters: SaturationParameters, seed: int) -> Plan:
    """4 KiB random writes to an erased drive for six hours, or until four times its capacity is
    written."""
    setting = Setting(subject, parameters)
    capacity = parameters.capacities * subject.area_bytes
    measurement = Measurement(
        "write",
        "4 KiB random write",
        Workload(
            [setting.stream(0.0, "random", BLOCK_4K)],
            seconds=parameters.time_s,
            transfer_bytes=capacity,
            seed=seed,
        ),
        {"variant": "4 KiB random write", "counts_exceedances": True},
    )
    return Plan(
        setting.shown(
            **{
                "outstanding": setting.outstanding,
                "block size": "4 KiB, random writes",
                "time": f"{parameters.time_s:g} s, or {parameters.capacities} drive writes",
            }
        ),
        (Phase((Purge(),), (measurement,)),),
        (
            Chart("seconds", "IOPS", "iops", series=("variant",), log="y"),
            Chart("seconds", "Mean latency", "latency_mean", series=("variant",), log="y"),
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
class IdleParameters:
    """Of host idle recovery."""

    edition: str = parameter(choice(*EDITIONS), "enterprise", "PTS-E or PTS-C")
    depth: int | None = parameter(COUNT, None, "queue depth of a thread, recommended by edition")
    threads: int | None = parameter(COUNT, None, "threads, recommended by edition")
    idles_s: tuple[float, ...] = parameter(
        many(PAUSE), (5.0, 10.0, 15.0, 25.0, 50.0), "pauses between bursts"
    )
    burst_s: float = parameter(TIME, 5.0, "writes of a burst")
    segment_s: float = parameter(SECONDS, 1800.0, "writes with each pause, and without after it")
    round_s: float = parameter(SECONDS, 1800.0, "a round of preconditioning")
    rounds: int = parameter(COUNT, ROUNDS_MAX, "rounds of preconditioning at most")


def plan_idle(subject: Subject, parameters: IdleParameters, seed: int) -> Plan:
    """Purge; 4 KiB random writes in rounds of half an hour until the last minutes are steady; then
    for each pause bursts of 5 s with that pause between them, and half an hour without a pause."""
    setting = Setting(subject, parameters)
    stream = setting.stream(0.0, "random", BLOCK_4K)
    minute = parameters.round_s / 30

    def batch(number: int) -> tuple[Measurement, ...]:
        return (
            in_round(
                number, "write", "4 KiB random write", stream, parameters.round_s - minute, seed
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

    def write(id: str, seconds: float, variant: str) -> Measurement:
        nonlocal count
        count += 1
        own_seed = seed + 10**6 + count
        return Measurement(
            id,
            f"4 KiB random write, {variant}",
            Workload([stream], seconds=seconds, seed=own_seed),
            {"variant": variant},
        )

    phases: list[Phase | Adaptive] = [
        rounds((Purge(),), batch, lambda one: one.iops, parameters.rounds)
    ]
    bursts = max(round(parameters.segment_s / parameters.burst_s), 1)
    for idle in parameters.idles_s:
        variant = f"{parameters.burst_s:g} s of writes, {idle:g} s of pause"
        phases += [
            Phase(
                (Rest(idle),),
                (write(f"idle-{idle:g}/{number}", parameters.burst_s, variant),),
                continues=True,
            )
            for number in range(1, bursts + 1)
        ]
        baseline = write(f"baseline-{idle:g}", parameters.segment_s, "no pause")
        phases.append(Phase((), (baseline,), continues=True))
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
            Chart("seconds", "IOPS while writing", "iops", "elapsed", series=("variant",), log="y"),
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
    """Of cross stimulus recovery."""

    edition: str = parameter(choice(*EDITIONS), "enterprise", "PTS-E or PTS-C")
    depth: int | None = parameter(COUNT, None, "queue depth of a thread, recommended by edition")
    threads: int | None = parameter(COUNT, None, "threads, recommended by edition")
    sequential_s: float = parameter(SECONDS, 8 * HOUR_S, "sequential writes, before and after")
    random_s: float = parameter(SECONDS, 6 * HOUR_S, "random reads and writes in between")


def plan_cross(subject: Subject, parameters: CrossParameters, seed: int) -> Plan:
    """Purge; 1024 KiB sequential writes for eight hours, 8 KiB random I/O with 65 % reads for six,
    and the sequential writes again for eight."""
    setting = Setting(subject, parameters)
    # One stream writes in sequence: several would look random to the drive.
    in_order = setting.stream(0.0, "sequential", 1024 * KIB, threads=1)
    mixed = setting.stream(0.65, "random", 8 * KIB)

    def write(id: str, label: str, stream: Stream, seconds: float, own_seed: int) -> Measurement:
        return Measurement(
            id,
            label,
            Workload([stream], seconds=seconds, seed=own_seed),
            {"variant": label},
        )

    measurements = (
        write("before", "1024 KiB sequential write", in_order, parameters.sequential_s, seed),
        write("random", "8 KiB random, R/W 65/35", mixed, parameters.random_s, seed + 1),
        write(
            "after", "1024 KiB sequential write, again", in_order, parameters.sequential_s, seed + 2
        ),
    )
    return Plan(
        setting.shown(
            outstanding=f"{setting.outstanding}, sequential writes by one",
            stimuli=f"1024 KiB sequential writes, {parameters.sequential_s:g} s; 8 KiB random, R/W "
            f"65/35, {parameters.random_s:g} s; the first again",
        ),
        (Phase((Purge(),), measurements),),
        (
            Chart("seconds", "Throughput", "mbps", "elapsed", series=("variant",), log="y"),
            Chart(
                "seconds", "Mean latency", "latency_mean", "elapsed", series=("variant",), log="y"
            ),
            Chart(
                "seconds", "Longest latency", "latency_max", "elapsed", series=("variant",), log="y"
            ),
        ),
    )


CROSS = Definition(
    name="snia-cross-stimulus-recovery",
    title="SNIA cross stimulus recovery",
    source=SOURCE,
    purpose="How a drive gets along with a change from sequential writes to random I/O and back.",
    plan=plan_cross,
    parameters=CrossParameters,
)
