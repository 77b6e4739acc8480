"""The transfer-size sweep of the OCZ Core study: the cost of an access, and of a byte."""

from dataclasses import dataclass

from fourcorners.manifest import Chart
from fourcorners.suites.common import MIB, OPERATIONS, SPAN_BYTES, Operation, access, timed
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, SECONDS, parameter
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Measurement, Phase
from fourcorners.wording import chosen_size

# The study's sizes: from a sector, the smallest read, to the largest read of its system.
SMALLEST_BYTES = 512
LARGEST_BYTES = 512 * MIB
SIZES = tuple(SMALLEST_BYTES * 2**step for step in range(21))
# From this size on the time grows with the size, up to the longest.
LONGER_FROM_BYTES = 8 * MIB
# A request should have many possible places.
AREA_SHARE_MAX = 4
# Where earlier writes change later speed, writes stay within a small part of an erased drive: over
# all of it the first sizes would use up the spare area, and the later ones would be compared with
# them although the drive had become another.
WRITE_SPAN_BYTES = SPAN_BYTES


@dataclass(frozen=True)
class Parameters:
    """Of the test. The study states no duration: the shortest gives 120 I/Os even to a drive that
    serves four a second, the longest 50 requests of 512 MiB to a disk that takes 6 s for each."""

    shortest_s: float = parameter(SECONDS, 30.0, "sizes up to 8 MiB")
    longest_s: float = parameter(SECONDS, 300.0, "larger sizes, at most")
    factor: int = parameter(COUNT, 2, "from size to size")


def seconds_for(block_bytes: int, shortest_s: float, longest_s: float) -> float:
    """How long one size is measured: in proportion to it, between the limits."""
    return min(max(shortest_s * block_bytes / LONGER_FROM_BYTES, shortest_s), longest_s)


def measure(
    operation: Operation,
    block_bytes: int,
    seconds: float,
    *,
    span_bytes: int | None = None,
    alignment_bytes: int = 512,
    seed: int = 1,
) -> Measurement:
    """One size, one request at a time, at any sector."""
    return timed(
        f"{operation}/{block_bytes}",
        f"{chosen_size(block_bytes)} random {operation}",
        access(
            operation,
            "random",
            block_bytes,
            span_bytes=span_bytes,
            alignment_bytes=alignment_bytes,
        ),
        seconds,
        seed=seed,
    )


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """Random reads, then random writes, of 512 B to 512 MiB by powers of two, one at a time, at
    any 512-byte sector: reads over the whole drive, writes too where the past does not matter."""
    area = subject.area_bytes
    write_span = subject.span_bytes(WRITE_SPAN_BYTES) if subject.fills else area
    alignment = subject.request_alignment_bytes
    every = _sizes(parameters.factor)
    sizes = [s for s in every if s % alignment == 0 and s <= write_span // AREA_SHARE_MAX]
    reads, writes = (
        tuple(
            measure(
                operation,
                size,
                seconds_for(size, parameters.shortest_s, parameters.longest_s),
                span_bytes=area if operation == "read" else write_span,
                alignment_bytes=alignment,
                seed=seed,
            )
            for size in sizes
        )
        for operation in OPERATIONS
    )
    shown = {
        "queue depth": "1",
        "span": f"reads: {subject.extent(area)}; writes: {subject.extent(write_span)}",
        "alignment": f"{alignment}-byte sectors",
        "time": f"{parameters.shortest_s:g} s each, from "
        f"{chosen_size(LONGER_FROM_BYTES)} on in proportion to the size up to "
        f"{parameters.longest_s:g} s",
    }
    reason = None
    if sizes:
        steps = {2: "powers of two", 4: "powers of four"}
        shown["block sizes"] = (
            f"{chosen_size(sizes[0])} to {chosen_size(sizes[-1])}, "
            f"{steps.get(parameters.factor, f'each {parameters.factor} times the last')}"
        )
    else:
        reason = "the target is too small for any of the sizes"
    if left_out := _left_out(every, sizes, write_span):
        shown["left out"] = left_out
    return Plan(
        parameters=shown,
        phases=(
            Phase((Purge(), Fill(area), settle()), reads),
            Phase((Purge(), Fill(write_span)) if write_span < area else (), writes),
        )
        if sizes
        else (),
        skip_reason=reason,
        charts=(
            Chart("lines", "Throughput", "mbps", "block_bytes", series=("operation",), log="xy"),
        ),
    )


def _sizes(factor: int) -> list[int]:
    sizes = [SMALLEST_BYTES]
    while factor > 1 and sizes[-1] * factor <= LARGEST_BYTES:
        sizes.append(sizes[-1] * factor)
    return sizes


def _left_out(every: list[int], sizes: list[int], span_bytes: int) -> str | None:
    reasons = []
    if large := [s for s in every if s > span_bytes // AREA_SHARE_MAX]:
        reasons.append(
            f"{chosen_size(large[0])} and more: over a quarter of {chosen_size(span_bytes)}"
        )
    if small := [s for s in every if s not in sizes and s not in large]:
        reasons.append(f"{chosen_size(small[-1])} and less: direct I/O cannot address them here")
    return "; ".join(reasons) or None


DEFINITION = Definition(
    name="transfer-size",
    title="Transfer size",
    source="core",
    purpose="What one access costs in addition to its transfer, and at which size that stops "
    "mattering.",
    plan=plan,
    parameters=Parameters,
)
