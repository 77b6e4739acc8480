"""Performance consistency, IOPS by the second: the OCZ Vector review, its later editions, and what
its readers asked for (an hour, spare area, part-filled drives, other fill data, recovery)."""

from dataclasses import dataclass
from typing import Any

from fourcorners.suites.common import KIB, listed
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import (
    CONTENT,
    COUNT,
    PAUSE,
    SECONDS,
    SHARE,
    SIZE,
    many,
    parameter,
    show_percent,
)
from fourcorners.suites.steps import Fill, Purge, Rest, Trim
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Chart, Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import INCOMPRESSIBLE, REPEATED, Stream, Workload

BLOCK_BYTES = 4 * KIB
DEPTH = 32
RUN_S = 2000.0
"""A little over 2000 s in the review."""
HOUR_S = 3600.0
MORE_SPARE = 0.75
"""What later editions call 25 % more spare area: three quarters of the drive are used."""
FILLED = (0.25, 0.5, 0.75, 1.0)
IDLES_S = (1.0, 10.0, 60.0, 600.0)
MINUTE_S = 60.0
HAMMERED = "hammered"
LABEL = "4 KiB random write, queue depth 32"


def random_writes(
    id: str,
    seconds: float,
    *,
    label: str = LABEL,
    span_bytes: int | None = None,
    block_bytes: int = BLOCK_BYTES,
    depth: int = DEPTH,
    seed: int = 1,
    **axes: Any,
) -> Measurement:
    """Incompressible random writes over all of a drive, or its first ``span_bytes``. What tells
    one from others of a test is its ``variant``, or what else its label says."""
    if "variant" in axes and label == LABEL:
        label = f"{LABEL}, {axes['variant']}"
    stream = Stream.write("random", block_bytes, queue_depth=depth, span_bytes=span_bytes)
    return Measurement(id, label, Workload([stream], seconds=seconds, seed=seed), axes)


def _label(block_bytes: int, depth: int) -> str:
    return f"{chosen_size(block_bytes)} random write, queue depth {depth}"


@dataclass(frozen=True)
class Parameters:
    """Of the review's own edition."""

    time_s: float = parameter(SECONDS, RUN_S, "of writing")
    block_bytes: int = parameter(SIZE, BLOCK_BYTES, "block size")
    depth: int = parameter(COUNT, DEPTH, "queue depth")


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """4 KiB random writes at queue depth 32 over all of a drive that was erased and filled."""
    area = subject.area_bytes
    measurement = random_writes(
        "write",
        parameters.time_s,
        label=_label(parameters.block_bytes, parameters.depth),
        span_bytes=area,
        block_bytes=parameters.block_bytes,
        depth=parameters.depth,
        seed=seed,
    )
    return Plan(
        parameters={
            "block size": f"{chosen_size(parameters.block_bytes)}, random",
            "queue depth": str(parameters.depth),
            "span": subject.extent(area),
            "data": "incompressible",
            "time": f"{parameters.time_s:g} s",
        },
        phases=(Phase((Purge(), Fill(area)), (measurement,)),),
        charts=_by_second(),
    )


DEFINITION = Definition(
    name="consistency",
    title="Consistency",
    source="vector",
    purpose="How fast, and how evenly, a full drive goes on writing once it has to clean up "
    "behind itself.",
    plan=plan,
    parameters=Parameters,
)


@dataclass(frozen=True)
class FilledParameters:
    """Of the editions on part-filled drives."""

    time_s: float = parameter(SECONDS, RUN_S, "of writing, for each share")
    filled: tuple[float, ...] = parameter(
        many(SHARE), FILLED, "shares of the drive that are filled and written; the rest is empty"
    )


@dataclass(frozen=True)
class HourParameters:
    """Of the one-hour edition: the whole drive, and with 25 % more spare area."""

    time_s: float = parameter(SECONDS, HOUR_S, "of writing, for each share")
    filled: tuple[float, ...] = parameter(
        many(SHARE), (1.0, MORE_SPARE), "shares of the drive that are used; the rest is spare area"
    )


def filled_phase(area: int, id: str, seconds: float, *, seed: int = 1, **axes: Any) -> Phase:
    """Random writes within the first ``area`` bytes of a drive that is empty beyond."""
    return Phase(
        (Purge(), Fill(area)), (random_writes(id, seconds, span_bytes=area, seed=seed, **axes),)
    )


def _by_second(title: str = "IOPS by the second") -> tuple[Chart, ...]:
    return (
        Chart("seconds", title, "iops", series=("variant",), log="y"),
        Chart(
            "seconds", "Longest latency by the second", "latency_max", series=("variant",), log="y"
        ),
    )


def plan_filled(subject: Subject, parameters: FilledParameters | HourParameters, seed: int) -> Plan:
    """The consistency test once for each share of the drive that is filled."""
    phases = tuple(
        filled_phase(
            subject.share_bytes(share),
            f"filled-{100 * share:g}",
            parameters.time_s,
            seed=seed,
            filled_percent=100 * share,
            variant=f"{show_percent(share)} filled",
        )
        for share in parameters.filled
    )
    return Plan(
        parameters={
            "block size": "4 KiB, random",
            "queue depth": str(DEPTH),
            "filled and written": listed([show_percent(share) for share in parameters.filled])
            + f" of {subject.extent(subject.area_bytes)}, the rest empty",
            "data": "incompressible",
            "time": f"{parameters.time_s:g} s each",
            "scored": "the last 400 s (of less than 2000 s, the last fifth): mean, and mean over "
            "standard deviation",
        },
        phases=phases,
        charts=_by_second(),
    )


HOUR = Definition(
    name="consistency-hour",
    title="Consistency, one hour",
    source="vector, later editions",
    purpose="What is left of a drive's speed after an hour of random writes, and what a quarter "
    "more spare area gives back.",
    plan=plan_filled,
    parameters=HourParameters,
)
PART_FILLED = Definition(
    name="consistency-filled",
    title="Consistency, part-filled",
    source="vector, readers",
    purpose="How much a drive gains from being left partly empty.",
    plan=plan_filled,
    parameters=FilledParameters,
)


@dataclass(frozen=True)
class FillDataParameters:
    """Of the edition with other fill data."""

    time_s: float = parameter(SECONDS, RUN_S, "of writing, for each content")
    contents: tuple[str, ...] = parameter(
        many(CONTENT), (INCOMPRESSIBLE, REPEATED), "what the drive is filled with before"
    )


def fill_data_phase(area: int, content: str, id: str, seconds: float, **fields: Any) -> Phase:
    """Incompressible writes to a drive that was filled with ``content``."""
    return Phase(
        (Purge(), Fill(area, content)),
        (random_writes(id, seconds, span_bytes=area, **fields),),
    )


def plan_fill_data(subject: Subject, parameters: FillDataParameters, seed: int) -> Plan:
    """The consistency test on a drive filled with each kind of data."""
    area = subject.area_bytes
    return Plan(
        parameters={
            "block size": "4 KiB, random",
            "queue depth": str(DEPTH),
            "span": subject.extent(area),
            "filled with": f"{listed(parameters.contents)} data",
            "written data": "incompressible",
            "time": f"{parameters.time_s:g} s each",
        },
        phases=tuple(
            fill_data_phase(
                area,
                content,
                f"filled-with-{content}",
                parameters.time_s,
                seed=seed,
                variant=f"filled with {content} data",
            )
            for content in parameters.contents
        ),
        charts=_by_second(),
    )


FILL_DATA = Definition(
    name="consistency-fill-data",
    title="Consistency, other fill data",
    source="vector, readers",
    purpose="Whether what a drive was filled with before gives it spare area: a drive that "
    "compresses has more of it.",
    plan=plan_fill_data,
    parameters=FillDataParameters,
)


@dataclass(frozen=True)
class RecoveryParameters:
    """Of the recovery after hammering."""

    hammer_s: float = parameter(SECONDS, RUN_S, "random writes before")
    idles_s: tuple[float, ...] = parameter(many(PAUSE), IDLES_S, "pauses")
    time_s: float = parameter(SECONDS, MINUTE_S, "of writing before and after each pause")


def plan_recovery(subject: Subject, parameters: RecoveryParameters, seed: int) -> Plan:
    """Random writes until the drive is slow; then pauses, TRIM, and both, each with the minute
    before and the minute after."""
    area = subject.area_bytes
    count = 0

    # Each with a seed of its own: who writes the same places again in the same order leaves whole
    # blocks without valid data.
    def writes(id: str, seconds: float, variant: str, which: str = "", **axes: Any) -> Measurement:
        nonlocal count
        count += 1
        return random_writes(
            id,
            seconds,
            label=f"{LABEL}, {which or variant}",
            span_bytes=area,
            seed=seed + count,
            variant=variant,
            **axes,
        )

    def minute(id: str, variant: str, which: str = "", **axes: Any) -> Measurement:
        return writes(id, parameters.time_s, variant, which, **axes)

    def hammer(id: str, which: str) -> Measurement:
        return writes(id, parameters.hammer_s, HAMMERED, which)

    longest = max(parameters.idles_s)
    phases = [Phase((Purge(), Fill(area)), (hammer("hammer", "hammering"),))]
    for idle in sorted(parameters.idles_s):
        phases += [
            Phase(
                (),
                (minute(f"before-idle-{idle:g}", HAMMERED, f"before {idle:g} s idle"),),
                continues=True,
            ),
            Phase(
                (Rest(idle),),
                (minute(f"after-idle-{idle:g}", f"after {idle:g} s idle", idle_s=idle),),
                continues=True,
            ),
        ]
    phases += [
        Phase((Trim(),), (minute("after-trim", "after TRIM"),), continues=True),
        Phase((Purge(), Fill(area)), (hammer("hammer-again", "hammering again"),)),
        Phase(
            (Trim(), Rest(longest)),
            (minute("after-trim-and-idle", f"after TRIM and {longest:g} s idle"),),
            continues=True,
        ),
    ]
    return Plan(
        parameters={
            "block size": "4 KiB, random",
            "queue depth": str(DEPTH),
            "span": subject.extent(area),
            "data": "incompressible",
            "hammered for": f"{parameters.hammer_s:g} s",
            "pauses": ", ".join(f"{idle:g} s" for idle in sorted(parameters.idles_s)),
            "then": f"TRIM of everything; TRIM and {longest:g} s",
            "time": f"{parameters.time_s:g} s before and after each",
        },
        phases=tuple(phases),
        charts=(
            Chart("seconds", "IOPS by the second", x="elapsed", series=("variant",), log="y"),
            Chart(
                "seconds", "Longest latency", "latency_max", "elapsed", series=("variant",), log="y"
            ),
        ),
    )


RECOVERY = Definition(
    name="recovery",
    title="Recovery",
    source="vector, readers",
    purpose="How quickly a hammered drive comes back: after pauses, after TRIM, after both.",
    plan=plan_recovery,
    parameters=RecoveryParameters,
)
