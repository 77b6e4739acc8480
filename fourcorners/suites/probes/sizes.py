"""Requests of all sizes, one at a time: what an access costs in addition to its transfer."""

from dataclasses import dataclass, replace

from fourcorners.manifest import Chart
from fourcorners.suites.common import MIB, OPERATIONS, Operation
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, SECONDS, parameter
from fourcorners.suites.probes.common import interleaved, preparation, prepares, probed_bytes
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Measurement, Phase
from fourcorners.suites.tests import transfer_size
from fourcorners.wording import chosen_size

LARGEST_BYTES = 16 * MIB
# So many of the largest requests that chance does not decide.
IOS_MIN = 24
# What small writes have to exceed to be more than a write buffer holds.
AMOUNT_BYTES = 64 * MIB


@dataclass(frozen=True)
class Parameters:
    """Of the probe."""

    reads: int = parameter(COUNT, 600, "reads of each size, at most")
    writes: int = parameter(COUNT, 20_000, "writes of each size, at most")
    time_s: float = parameter(SECONDS, 4.0, "each, at most")
    preparation: str = preparation()


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """Random requests of 512 B to 16 MiB by powers of two, one at a time, at any 512-byte sector:
    reads, then writes, each in random order; on drives whose past matters within a filled part."""
    span = probed_bytes(subject) if subject.fills else subject.area_bytes
    alignment = subject.request_alignment_bytes
    prepared = prepares(subject, parameters.preparation)
    operations = OPERATIONS if parameters.preparation == "own" else ("read",)
    sizes = []
    size = alignment
    while size <= min(LARGEST_BYTES, span // transfer_size.AREA_SHARE_MAX):
        sizes.append(size)
        size *= 2

    def measure(operation: Operation, size: int) -> Measurement:
        measurement = transfer_size.measure(
            operation,
            size,
            parameters.time_s,
            span_bytes=span,
            alignment_bytes=alignment,
            # Other places for each size: chance that all share would look like the drive.
            seed=seed + size,
        )
        most = parameters.reads
        if operation == "write":
            most = min(max(IOS_MIN, AMOUNT_BYTES // size), parameters.writes)
        return replace(measurement, workload=replace(measurement.workload, ios=most))

    def phase(operation: Operation) -> Phase:
        points = [measure(operation, size) for size in sizes]
        filled = probed_bytes(subject)
        # Those of the writes are numbered on, beyond what there is before the reads.
        first = 1 if operation == "read" else len(sizes) + 2
        order = interleaved(points, span_bytes=filled, seed=seed, first=first)
        if operation == "write":
            # Reading has changed nothing.
            return Phase((), order, continues=True)
        return Phase((Purge(), Fill(span), settle()) if prepared else (), order)

    return Plan(
        {
            "block sizes": f"powers of two up to {chosen_size(sizes[-1])}" if sizes else "none",
            "queue depth": "1",
            "span": f"{subject.extent(span)}, filled where that matters",
            "alignment": f"{alignment}-byte sectors",
        },
        tuple(phase(operation) for operation in operations) if sizes else (),
        (
            Chart(
                "lines",
                "Time of a request",
                "latency_mean",
                "block_bytes",
                series=("operation",),
                log="xy",
            ),
        ),
        skip_reason=None if sizes else "the target is too small for any of the sizes",
    )


DEFINITION = Definition(
    name="probe-sizes",
    title="Probe: requests of all sizes",
    source="steve8's blog, 2008: time left seeking",
    purpose="What one access costs, and what a byte, from all sizes at once.",
    plan=plan,
    parameters=Parameters,
)
