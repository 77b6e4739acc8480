"""Sequential rates: 128 KiB over the whole span (Vertex 3), one fill of the whole drive, and ATTO's
sweep of block sizes."""

from collections.abc import Iterable
from dataclasses import dataclass

from fourcorners.suites.common import KIB, MIB, OPERATIONS, Operation, access, listed, timed
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import CONTENT, COUNT, SECONDS, SIZE, many, parameter
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Chart, Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import INCOMPRESSIBLE, REPEATED, Workload

BLOCK_BYTES = 128 * KIB
SEQUENTIAL_S = 60.0
"""The reviews' minute."""
FILL_DEPTH = 32
"""As AnandTech's later reviews fill a whole drive: 128 kB, 32 outstanding."""
CONTENTS = (INCOMPRESSIBLE, REPEATED)

ATTO_SIZES = tuple(512 * 2**step for step in range(15))
ATTO_SPAN_BYTES = 256 * MIB
ATTO_DEPTH = 4


def sequential_reads(
    seconds: float,
    *,
    block_bytes: int = BLOCK_BYTES,
    span_bytes: int | None = None,
    depth: int = 1,
    seed: int = 1,
) -> Measurement:
    """From the start of a drive that an earlier phase has filled."""
    return timed(
        "sequential-read",
        f"{chosen_size(block_bytes)} sequential read, queue depth {depth}",
        access("read", "sequential", block_bytes, span_bytes=span_bytes, queue_depth=depth),
        seconds,
        seed=seed,
    )


def sequential_writes(
    seconds: float,
    contents: Iterable[str] = CONTENTS,
    *,
    block_bytes: int = BLOCK_BYTES,
    span_bytes: int | None = None,
    depth: int = 1,
    seed: int = 1,
) -> tuple[Phase, ...]:
    """To an erased drive, once for each content."""
    return tuple(
        Phase(
            (Purge(),),
            (
                timed(
                    f"sequential-write/{content}",
                    f"{chosen_size(block_bytes)} sequential write, queue depth {depth}, "
                    f"{content} data",
                    access(
                        "write",
                        "sequential",
                        block_bytes,
                        span_bytes=span_bytes,
                        queue_depth=depth,
                        content=content,
                    ),
                    seconds,
                    seed=seed,
                ),
            ),
        )
        for content in contents
    )


@dataclass(frozen=True)
class Parameters:
    """Of the Vertex 3 review."""

    block_bytes: int = parameter(SIZE, BLOCK_BYTES, "block size")
    depth: int = parameter(COUNT, 1, "queue depth")
    contents: tuple[str, ...] = parameter(many(CONTENT), CONTENTS, "data of writes")
    time_s: float = parameter(SECONDS, SEQUENTIAL_S, "each")


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """Sequential writes to an erased drive with each kind of data, then reads of a full one."""
    area = subject.area_bytes
    block, depth = parameters.block_bytes, parameters.depth
    read = sequential_reads(
        parameters.time_s, block_bytes=block, span_bytes=area, depth=depth, seed=seed
    )
    return Plan(
        {
            "block size": f"{chosen_size(block)}, sequential",
            "queue depth": str(depth),
            "span": subject.extent(area),
            "data": listed(parameters.contents),
            "time": f"{parameters.time_s:g} s each",
        },
        (
            *sequential_writes(
                parameters.time_s,
                parameters.contents,
                block_bytes=block,
                span_bytes=area,
                depth=depth,
                seed=seed,
            ),
            Phase((Fill(area), settle()), (read,)),
        ),
        (Chart("seconds", "Throughput by the second", "mbps", series=("label",)),),
    )


SEQUENTIAL = Definition(
    name="sequential",
    title="Sequential",
    source="vertex3",
    purpose="How fast large amounts are read and written in order.",
    plan=plan,
    parameters=Parameters,
)


@dataclass(frozen=True)
class FillParameters:
    """Of one fill of the whole drive."""

    block_bytes: int = parameter(SIZE, BLOCK_BYTES, "block size")
    depth: int = parameter(COUNT, FILL_DEPTH, "queue depth")
    content: str = parameter(CONTENT, INCOMPRESSIBLE, "data")


def plan_fill(subject: Subject, parameters: FillParameters, seed: int) -> Plan:
    """Sequential writes of everything, once, to an erased drive."""
    area, block = subject.area_bytes, parameters.block_bytes
    stream = access(
        "write",
        "sequential",
        block,
        span_bytes=area,
        queue_depth=parameters.depth,
        content=parameters.content,
    )
    label = f"{chosen_size(block)} sequential write, queue depth {parameters.depth}"
    fits = block <= area
    amount = area - area % block if fits else block
    fill = Measurement("fill", label, Workload([stream], transfer_bytes=amount, seed=seed))
    return Plan(
        {
            "block size": f"{chosen_size(block)}, sequential",
            "queue depth": str(parameters.depth),
            "span": subject.extent(area),
            "data": parameters.content,
            "amount": "everything, once",
        },
        (Phase((Purge(),), (fill,)),),
        (Chart("seconds", "Throughput over what was written", "mbps", x="written"),),
        None if fits else "the target is smaller than one request",
    )


FILL = Definition(
    name="sequential-fill",
    title="Sequential fill",
    source="readers, later reviews",
    purpose="How fast the whole drive is written once, and where it slows down: an SLC cache that "
    "is full, data that is folded, the inner zones of a disk.",
    plan=plan_fill,
    parameters=FillParameters,
)


def atto_sweep(
    operation: Operation,
    seconds: float,
    *,
    sizes: Iterable[int] = ATTO_SIZES,
    span_bytes: int = ATTO_SPAN_BYTES,
    depth: int = ATTO_DEPTH,
    seed: int = 1,
) -> tuple[Measurement, ...]:
    """Sequential I/O of each size over ATTO's 256 MiB, four outstanding."""
    return tuple(
        timed(
            f"{operation}/{size}",
            f"{chosen_size(size)} sequential {operation}, queue depth {depth}",
            access(
                operation,
                "sequential",
                size,
                span_bytes=span_bytes,
                queue_depth=depth,
                content=REPEATED,
            ),
            seconds,
            seed=seed,
        )
        for size in sizes
    )


@dataclass(frozen=True)
class AttoParameters:
    """Of ATTO's sweep."""

    sizes_bytes: tuple[int, ...] = parameter(many(SIZE), ATTO_SIZES, "block sizes")
    span_bytes: int = parameter(SIZE, ATTO_SPAN_BYTES, "length of the file")
    depth: int = parameter(COUNT, ATTO_DEPTH, "queue depth")
    time_s: float = parameter(SECONDS, 10.0, "each size")


def plan_atto(subject: Subject, parameters: AttoParameters, seed: int) -> Plan:
    """Sequential writes, then reads, of 512 B to 8 MiB over 256 MiB, four outstanding."""
    span = subject.span_bytes(parameters.span_bytes)
    alignment = subject.request_alignment_bytes
    sizes = [s for s in parameters.sizes_bytes if s % alignment == 0 and s <= span]
    reads, writes = (
        atto_sweep(
            operation,
            parameters.time_s,
            sizes=sizes,
            span_bytes=span,
            depth=parameters.depth,
            seed=seed,
        )
        for operation in OPERATIONS
    )
    shown = {
        "block sizes": listed([chosen_size(size) for size in sizes]),
        "queue depth": str(parameters.depth),
        "span": f"the first {chosen_size(span)}",
        "data": "repeated",
        "time": f"{parameters.time_s:g} s each",
    }
    if left := [chosen_size(s) for s in parameters.sizes_bytes if s not in sizes]:
        shown["left out"] = f"{listed(left)}: the target cannot address them"
    return Plan(
        shown,
        # A target that is only read still holds whatever it held.
        (Phase((Purge(), Fill(span)), writes), Phase((settle(),), reads, continues=True)),
        (Chart("lines", "Throughput", "mbps", "block_bytes", series=("operation",), log="x"),),
        None if sizes else "the target is too small for any of the sizes",
    )


ATTO = Definition(
    name="atto",
    title="ATTO",
    source="owc, readers",
    purpose="From which block size on sequential I/O reaches the drive's full rate.",
    plan=plan_atto,
    parameters=AttoParameters,
)
