"""The four corners of the OCZ Vertex 3 review: random and sequential, reads and writes."""

from dataclasses import dataclass

from fourcorners.suites.common import KIB, SPAN_BYTES, access, timed
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import SECONDS, parameter
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Chart, Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import INCOMPRESSIBLE, REPEATED

RANDOM_BLOCK_BYTES = 4 * KIB
SEQUENTIAL_BLOCK_BYTES = 128 * KIB
CONTENTS = (INCOMPRESSIBLE, REPEATED)


@dataclass(frozen=True)
class Parameters:
    """Of the test."""

    random_time_s: float = parameter(SECONDS, 180.0, "each random corner")
    sequential_time_s: float = parameter(SECONDS, 60.0, "each sequential corner")


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """4 KiB random I/O over 8 GB at queue depth 3 (writes at 32, too), 128 KiB sequential I/O
    over everything at queue depth 1; writes with data that cannot and that can be shortened."""
    area = subject.area_bytes
    span = subject.span_bytes(SPAN_BYTES)
    random_s, sequential_s = parameters.random_time_s, parameters.sequential_time_s

    def random_write(depth: int, content: str) -> Measurement:
        return timed(
            f"random-write-qd{depth}-{content}",
            f"4 KiB random write, queue depth {depth}, {content} data",
            access(
                "write",
                "random",
                RANDOM_BLOCK_BYTES,
                span_bytes=span,
                queue_depth=depth,
                content=content,
            ),
            random_s,
            seed=seed,
        )

    def sequential_write(content: str) -> Measurement:
        return timed(
            f"sequential-write-qd1-{content}",
            f"128 KiB sequential write, queue depth 1, {content} data",
            access("write", "sequential", SEQUENTIAL_BLOCK_BYTES, span_bytes=area, content=content),
            sequential_s,
            seed=seed,
        )

    sequential_read = timed(
        "sequential-read-qd1",
        "128 KiB sequential read, queue depth 1",
        access("read", "sequential", SEQUENTIAL_BLOCK_BYTES, span_bytes=area),
        sequential_s,
        seed=seed,
    )
    random_read = timed(
        "random-read-qd3",
        "4 KiB random read, queue depth 3",
        access("read", "random", RANDOM_BLOCK_BYTES, span_bytes=span, queue_depth=3),
        random_s,
        seed=seed,
    )
    return Plan(
        parameters={
            "random": f"4 KiB over the first {chosen_size(span)}, queue depth 3 (writes 32, too), "
            f"{random_s:g} s each",
            "sequential": f"128 KiB over {subject.extent(area)}, queue depth 1, "
            f"{sequential_s:g} s each",
            "data": "incompressible, and one block repeated",
        },
        phases=(
            # Random writes find the drive as the review did, mostly empty; the span holds data,
            # because a first write to an empty place is not what a user's second one costs.
            Phase(
                (Purge(), Fill(span)),
                tuple(random_write(depth, content) for depth in (3, 32) for content in CONTENTS),
            ),
            # Reads of places that were never written would not reach the flash.
            Phase((Fill(area), settle()), (sequential_read, random_read)),
            Phase((), tuple(sequential_write(content) for content in CONTENTS)),
        ),
        charts=(Chart("percentiles", "Latency percentiles", "latency", series=("label",)),),
    )


DEFINITION = Definition(
    name="four-corners",
    title="Four corners",
    source="vertex3",
    purpose="What the drive does at the four extremes of use: random and sequential, "
    "reading and writing.",
    plan=plan,
    parameters=Parameters,
)
