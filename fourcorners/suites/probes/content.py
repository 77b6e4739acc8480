"""The same writes with different data: does the drive compress, or keep once what repeats."""

import random
from dataclasses import dataclass

from fourcorners.manifest import Chart
from fourcorners.patterns import INCOMPRESSIBLE, REPEATED, bursts, compressible
from fourcorners.suites.common import MIB
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, parameter
from fourcorners.suites.probes.common import is_large, probed_bytes
from fourcorners.suites.steps import Purge
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream, Workload

BLOCK_BYTES = MIB
"""Large: one that has to be on the medium before it is complete fills whole pages, but for the last
of them."""
# As no drive is as fast, all are due at once. What compresses to 2 % is far below any floor.
AT_ONCE_IOPS = 1e9
PERCENTS = (2, 50)
PART_BYTES_MAX = 2**30
"""What a buffer held before has gone long before the end."""
LARGE_PARTS = 160
"""A part is at most one of so many of a drive that all probes may write only twice."""
LONGEST_S = 60.0
"""Of a burst: a choice that bounds what a drive below 18 MB/s takes."""


@dataclass(frozen=True)
class Parameters:
    """Of the probe."""

    depth: int = parameter(COUNT, 4, "queue depth")


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """Bursts of sequential writes without pauses between them, each of another kind of data;
    incompressible ones before, among and after the others."""
    area = probed_bytes(subject) // BLOCK_BYTES * BLOCK_BYTES
    most = min(area, PART_BYTES_MAX)
    if is_large(subject):
        most = min(most, subject.area_bytes // LARGE_PARTS)
    part = max(most // BLOCK_BYTES, 1) * BLOCK_BYTES
    others = [REPEATED, *(compressible(percent) for percent in PERCENTS)]
    random.Random(seed).shuffle(others)
    contents = [INCOMPRESSIBLE, INCOMPRESSIBLE, *others[:2], INCOMPRESSIBLE, *others[2:]]
    contents.append(INCOMPRESSIBLE)
    places = max(area // part, 1)

    def write(number: int, content: str) -> Measurement:
        stream = Stream.write(
            "sequential",
            BLOCK_BYTES,
            offset_bytes=number % places * part,
            span_bytes=part,
            queue_depth_per_worker=parameters.depth,
            content=content,
            arrival=bursts(AT_ONCE_IOPS, part // BLOCK_BYTES),
        )
        workload = Workload([stream], duration_s=LONGEST_S, volume_bytes=part, seed=seed + number)
        # What comes first fills caches.
        axes = {"data": content, "number": number, "counted": number > 0}
        return Measurement(f"{content.replace(':', '-')}/{number}", content, workload, axes)

    return Plan(
        {
            "writes": f"{chosen_size(part)} of each kind of data, {chosen_size(BLOCK_BYTES)} in "
            "sequence, all due at once",
            "data": f"{REPEATED}; compressible to {PERCENTS[0]} and {PERCENTS[1]} percent; "
            "incompressible before, among and after them",
            "queue depth": str(parameters.depth),
        },
        (
            Phase(
                (Purge(),),
                tuple(write(number, content) for number, content in enumerate(contents)),
            ),
        ),
        (Chart("dots", "Throughput by data", "mbps", "number", series=("data",)),),
    )


DEFINITION = Definition(
    name="probe-content",
    title="Probe: data of different kinds",
    source="AnandTech's SandForce reviews: compressible against incompressible data",
    purpose="Whether the drive compresses, how far, and whether it keeps repeated data once.",
    plan=plan,
    parameters=Parameters,
)
