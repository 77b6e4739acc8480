"""Bursts of sequential writes, all due at once: write buffer, drain rate, SLC cache, recovery."""

from dataclasses import dataclass

from fourcorners.patterns import bursts, fixed_rate
from fourcorners.suites.common import KIB, MIB
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, PAUSE, SIZE, parameter
from fourcorners.suites.probes.common import interleaved, probed_bytes
from fourcorners.suites.steps import Purge, Rest, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream, Workload

LONG_BLOCK_BYTES = 64 * KIB
"""Of larger writes drives take a part of each in turn, and complete many at once."""
# All are due at once, as no drive is as fast; the core takes bursts of up to 2^20.
AT_ONCE_IOPS = 1e9
BURST_IOS_MAX = 2**20
WAITING_IOPS = 20.0
"""Of the reads that pass the time: a drive that is asked something now and then is not idle."""
WAITING_S, LONGEST_S = 4.0, 120.0
"""Of those reads, in which a buffer of 64 MiB is empty at 16 MiB/s, and of a burst: a choice that
bounds what a slow drive takes."""


@dataclass(frozen=True)
class Parameters:
    """Of the probe."""

    block_bytes: int = parameter(SIZE, 16 * KIB, "of the short burst")
    short_bytes: int = parameter(SIZE, 256 * MIB, "of the short burst")
    depth: int = parameter(COUNT, 32, "queue depth")
    rest_s: float = parameter(PAUSE, 10.0, "pause before the last burst")


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """A long burst to an erased drive, reads until its write buffer is empty, a short burst; a
    pause, and the long one again. The short one goes to the middle: where the last one begins, a
    drive that keeps part of its map at hand would be quick because of the short one, not of the
    pause."""
    area = probed_bytes(subject) // LONG_BLOCK_BYTES * LONG_BLOCK_BYTES
    area = min(area, BURST_IOS_MAX * LONG_BLOCK_BYTES)
    short = min(parameters.short_bytes, area) // parameters.block_bytes * parameters.block_bytes

    middle = min(area // 2, area - short) // LONG_BLOCK_BYTES * LONG_BLOCK_BYTES

    def burst(id: str, label: str, block: int, count: int, offset: int = 0) -> Measurement:
        stream = Stream.write(
            "sequential",
            block,
            offset_bytes=offset,
            span_bytes=count,
            queue_depth_per_worker=parameters.depth,
            arrival=bursts(AT_ONCE_IOPS, count // block),
        )
        workload = Workload([stream], duration_s=LONGEST_S, volume_bytes=count, seed=seed)
        return Measurement(id, label, workload, {"stage": id})

    waiting = Stream.read("random", 4 * KIB, span_bytes=area, arrival=fixed_rate(WAITING_IOPS))

    def wait(id: str, sentinel: int) -> tuple[Measurement, ...]:
        """Until the write buffer is empty; then the same small reads each time."""
        now_and_then = Workload([waiting], duration_s=WAITING_S, seed=seed)
        measurement = Measurement(id, "reads now and then", now_and_then, {"stage": "waiting"})
        return (
            measurement,
            *interleaved((), span_bytes=area, seed=seed, first=sentinel),
        )

    return Plan(
        {
            "long burst": f"{chosen_size(area)} in {chosen_size(LONG_BLOCK_BYTES)}",
            "short burst": f"{chosen_size(short)} in {chosen_size(parameters.block_bytes)}",
            "before the short burst": f"{WAITING_IOPS:g} reads per second for {WAITING_S:g} s",
            "before the last burst": f"pause of {parameters.rest_s:g} s",
            "data": "incompressible, in sequence, all of a burst due at once",
            "queue depth": str(parameters.depth),
        },
        (
            Phase(
                (Purge(), settle()),
                (
                    burst("long", "long burst", LONG_BLOCK_BYTES, area),
                    *wait("waiting", 1),
                    burst("short", "short burst", parameters.block_bytes, short, middle),
                ),
            ),
            Phase(
                (Rest(parameters.rest_s),),
                (
                    burst("rested", "long burst after a pause", LONG_BLOCK_BYTES, area),
                    *wait("waiting-again", 2),
                ),
                continues=True,
            ),
        ),
    )


DEFINITION = Definition(
    name="probe-burst",
    title="Probe: bursts of writes",
    source="uFLIP (Bouganim et al. 2009): bursts and pauses; Queenie (2022): buffers and caches",
    purpose="How much a drive takes faster than it can go on writing: its write buffer and SLC "
    "cache, and how they come back.",
    plan=plan,
    parameters=Parameters,
)
