"""Recovery after hammering, which readers of the OCZ Vector review asked for."""

from dataclasses import dataclass
from typing import Any

from fourcorners.manifest import Chart
from fourcorners.suites.common import KIB
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import PAUSE, SECONDS, many, parameter
from fourcorners.suites.steps import Fill, Purge, Rest, Trim
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Measurement, Phase
from fourcorners.workload import Stream, Workload

DEPTH, RUN_S = 32, 2000.0
"""As in the review, which wrote for a little over 2000 s."""
# Pauses of a computer between two jobs, from a moment to a break.
IDLES_S = (1.0, 10.0, 60.0, 600.0)
MINUTE_S = 60.0
HAMMERED = "hammered"
LABEL = "4 KiB random write, queue depth 32"


@dataclass(frozen=True)
class Parameters:
    """Of the recovery after hammering."""

    hammer_s: float = parameter(SECONDS, RUN_S, "random writes before")
    idles_s: tuple[float, ...] = parameter(many(PAUSE), IDLES_S, "pauses")
    time_s: float = parameter(SECONDS, MINUTE_S, "of writing before and after each pause")


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """Random writes until the drive is slow; then pauses, TRIM, and both, each with the minute
    before and the minute after."""
    area = subject.area_bytes
    count = 0

    # Each has a seed of its own: writing the same places again in the same order would leave whole
    # blocks without valid data.
    def writes(id: str, seconds: float, variant: str, which: str = "", **axes: Any) -> Measurement:
        nonlocal count
        count += 1
        stream = Stream.write("random", 4 * KIB, queue_depth_per_worker=DEPTH, span_bytes=area)
        workload = Workload([stream], duration_s=seconds, seed=seed + count)
        label = f"{LABEL}, {which or variant}"
        return Measurement(id, label, workload, {"variant": variant, **axes})

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


DEFINITION = Definition(
    name="recovery",
    title="Recovery",
    source="vector, readers",
    purpose="How quickly a hammered drive comes back: after pauses, after TRIM, after both.",
    plan=plan,
    parameters=Parameters,
)
