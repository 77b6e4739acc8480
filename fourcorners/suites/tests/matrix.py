"""Two sweeps at once: block sizes by queue depths (readers of the OWC review), and mixes of reads
and writes."""

from collections.abc import Iterable
from dataclasses import dataclass

from fourcorners.suites.common import KIB, SPAN_BYTES, Operation, access, listed, timed
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import (
    COUNT,
    SECONDS,
    SHARE,
    SIZE,
    many,
    parameter,
    show_percent,
)
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Chart, Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream

BLOCKS = tuple(512 * 2**step for step in range(8))
DEPTHS = tuple(2**step for step in range(8))
MATRIX_SPAN_BYTES = 2**30
MATRIX_S, RAMP_S = 30.0, 2.0


def matrix(
    operation: Operation,
    seconds: float,
    ramp_s: float,
    *,
    blocks: Iterable[int] = BLOCKS,
    depths: Iterable[int] = DEPTHS,
    span_bytes: int = MATRIX_SPAN_BYTES,
    seed: int = 1,
) -> tuple[Measurement, ...]:
    """Random I/O of every block size at every queue depth."""
    return tuple(
        timed(
            f"{operation}/{block}/{depth}",
            f"{chosen_size(block)} random {operation}, queue depth {depth}",
            access(operation, "random", block, span_bytes=span_bytes, queue_depth=depth),
            seconds,
            ramp_s=ramp_s,
            seed=seed,
        )
        for block in blocks
        for depth in depths
    )


@dataclass(frozen=True)
class MatrixParameters:
    """Of the readers' grid."""

    blocks_bytes: tuple[int, ...] = parameter(many(SIZE), BLOCKS, "block sizes")
    depths: tuple[int, ...] = parameter(many(COUNT), DEPTHS, "queue depths")
    span_bytes: int = parameter(SIZE, MATRIX_SPAN_BYTES, "span")
    time_s: float = parameter(SECONDS, MATRIX_S, "each cell")
    ramp_s: float = parameter(SECONDS, RAMP_S, "before each cell")


def plan(subject: Subject, parameters: MatrixParameters, seed: int) -> Plan:
    """Random reads, then writes, of every block size at every queue depth over 1 GB."""
    span = subject.span_bytes(parameters.span_bytes)
    alignment = subject.request_alignment_bytes
    blocks = [b for b in parameters.blocks_bytes if b % alignment == 0 and b <= span]
    fields = {"blocks": blocks, "depths": parameters.depths, "span_bytes": span, "seed": seed}
    reads, writes = (
        matrix(operation, parameters.time_s, parameters.ramp_s, **fields)  # type: ignore[arg-type]
        for operation in ("read", "write")
    )
    shown = {
        "block sizes": listed([chosen_size(block) for block in blocks]),
        "queue depths": listed(parameters.depths),
        "span": f"the first {chosen_size(span)}",
        "time": f"{parameters.time_s:g} s each, {parameters.ramp_s:g} s ramp",
    }
    if left := [chosen_size(b) for b in parameters.blocks_bytes if b not in blocks]:
        shown["left out"] = f"{listed(left)}: direct I/O cannot address them here"
    heat = ("operation",)
    return Plan(
        shown,
        (Phase((Purge(), Fill(span), settle()), reads), Phase((Purge(), Fill(span)), writes)),
        (
            Chart("heat", "IOPS", "iops", "queue_depth", "block_bytes", heat),
            Chart("heat", "MB/s", "mbps", "queue_depth", "block_bytes", heat),
            Chart("heat", "Mean latency", "latency_mean", "queue_depth", "block_bytes", heat),
        ),
        None if blocks else "the target can address none of the sizes",
    )


MATRIX = Definition(
    name="block-size-matrix",
    title="Block sizes by queue depths",
    source="owc, readers",
    purpose="Where the drive is limited by requests, where by bytes, and from which depth on by "
    "neither.",
    plan=plan,
    parameters=MatrixParameters,
)


@dataclass(frozen=True)
class MixParameters:
    """Of the mixed read and write sweep."""

    reads: tuple[float, ...] = parameter(
        many(SHARE), tuple(step / 10 for step in range(10, -1, -1)), "shares of reads"
    )
    block_bytes: int = parameter(SIZE, 4 * KIB, "block size")
    depth: int = parameter(COUNT, 32, "queue depth")
    span_bytes: int = parameter(SIZE, SPAN_BYTES, "span")
    time_s: float = parameter(SECONDS, 30.0, "each mix")
    ramp_s: float = parameter(SECONDS, 2.0, "before each mix")


def plan_mix(subject: Subject, parameters: MixParameters, seed: int) -> Plan:
    """Random I/O with a growing share of writes, over a span of an otherwise empty drive."""
    span = subject.span_bytes(parameters.span_bytes)

    def measure(reads: float) -> Measurement:
        stream = Stream(
            read_fraction=reads,
            pattern="random",
            block_bytes=parameters.block_bytes,
            span_bytes=span,
            queue_depth=parameters.depth,
        )
        return timed(
            f"{100 * reads:g}-percent-reads",
            f"{chosen_size(parameters.block_bytes)} random, {show_percent(reads)} reads, "
            f"queue depth {parameters.depth}",
            stream,
            parameters.time_s,
            ramp_s=parameters.ramp_s,
            seed=seed,
            read_percent=100 * reads,
        )

    return Plan(
        {
            "block size": f"{chosen_size(parameters.block_bytes)}, random",
            "queue depth": str(parameters.depth),
            "reads": listed([show_percent(share) for share in parameters.reads]),
            "span": subject.alone(span),
            "time": f"{parameters.time_s:g} s each, {parameters.ramp_s:g} s ramp",
        },
        (
            Phase(
                (Purge(), Fill(span), settle()), tuple(measure(share) for share in parameters.reads)
            ),
        ),
        (
            Chart("lines", "IOPS, reads and writes together", "iops", "read_percent"),
            Chart(
                "lines",
                "Mean latency of reads and of writes",
                "latency_mean",
                "read_percent",
                series=("each operation",),
                log="y",
            ),
        ),
    )


MIX = Definition(
    name="mix",
    title="Mixed reads and writes",
    source="vertex3, readers",
    purpose="How reads suffer from writes beside them: few do half of both at half the rate.",
    plan=plan_mix,
    parameters=MixParameters,
)
