"""Sequential reads all over a drive: where the rate changes."""

from dataclasses import dataclass

from fourcorners.manifest import Chart
from fourcorners.suites.common import KIB, MIB, access, timed
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, SECONDS, parameter
from fourcorners.suites.probes.common import fresh, interleaved, preparation, prepares, probed_bytes
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Measurement, Phase
from fourcorners.wording import chosen_size

# One read at a time: a disk that reorders what is outstanding loses a turn when it begins.
BLOCK_BYTES = 256 * KIB
# What the fastest disks read in the time of one position, and more.
SPAN_BYTES = 512 * MIB
SENTINEL_EVERY = 16


@dataclass(frozen=True)
class Parameters:
    """Of the probe."""

    positions: int = parameter(COUNT, 128, "places")
    time_s: float = parameter(SECONDS, 1.0, "each, at most")
    preparation: str = preparation()


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """Sequential reads at places at equal distances over the whole drive, in random order."""
    area = subject.area_bytes // MIB * MIB
    span = min(SPAN_BYTES, area)
    last = max(parameters.positions - 1, 1)

    def at(number: int) -> Measurement:
        offset = (area - span) * number // last // MIB * MIB
        stream = access(
            "read",
            "sequential",
            BLOCK_BYTES,
            offset_bytes=offset,
            span_bytes=span,
        )
        measurement = timed(
            f"at/{number}",
            f"at {chosen_size(offset)}",
            stream,
            parameters.time_s,
            seed=seed,
            ramp_s=parameters.time_s / 20,
        )
        return Measurement(
            measurement.id, measurement.label, measurement.workload, {"offset_bytes": offset}
        )

    points = [at(number) for number in range(parameters.positions)] if area else []
    return Plan(
        {
            "reads": f"{chosen_size(BLOCK_BYTES)} sequential, one at a time",
            "places": f"{parameters.positions}, over {subject.extent(area)}",
            "time": f"{parameters.time_s:g} s each",
        },
        (
            Phase(
                fresh(subject) if prepares(subject, parameters.preparation) else (),
                interleaved(
                    points, span_bytes=probed_bytes(subject), seed=seed, every=SENTINEL_EVERY
                ),
            ),
        ),
        (Chart("dots", "Sequential reads by place", "mbps", "offset_bytes", ids="at"),),
        skip_reason=None if area else "the target is smaller than 1 MiB",
    )


DEFINITION = Definition(
    name="probe-positions",
    title="Probe: sequential reads by place",
    source="Schindler and Ganger 1999 (DIXtrac): zones",
    purpose="Zones of equal rate, and the rates at both edges.",
    plan=plan,
    parameters=Parameters,
)
