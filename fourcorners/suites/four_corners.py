"""The four corners of the OCZ Vertex 3 review: random and sequential, reads and writes."""

from fourcorners.suites.profile import Profile
from fourcorners.suites.test import Fill, Measurement, Phase, Purge, Settle, Subject, Test
from fourcorners.units import format_bytes
from fourcorners.workload import INCOMPRESSIBLE, REPEATED, Stream, Workload

NAME = "four-corners"

SPAN_BYTES = 8 * 10**9
RANDOM_BLOCK_BYTES = 4096
SEQUENTIAL_BLOCK_BYTES = 128 * 1024
CONTENTS = (INCOMPRESSIBLE, REPEATED)


def plan(subject: Subject, profile: Profile, seed: int) -> Test:
    """4 KiB random I/O over 8 GB at queue depth 3 (writes at 32, too), 128 KiB sequential I/O
    over everything at queue depth 1; writes with data that cannot and that can be shortened."""
    area = subject.area_bytes(profile)
    span = subject.span_bytes(SPAN_BYTES, profile)

    def random_write(depth: int, content: str) -> Measurement:
        stream = Stream.write(
            "random", RANDOM_BLOCK_BYTES, span_bytes=span, queue_depth=depth, content=content
        )
        return Measurement(
            f"{NAME}/random-write-qd{depth}-{content}",
            f"4 KiB random write, queue depth {depth}, {content} data",
            Workload([stream], seconds=profile.random_corner_s, seed=seed),
        )

    def sequential_write(content: str) -> Measurement:
        stream = Stream.write(
            "sequential", SEQUENTIAL_BLOCK_BYTES, span_bytes=area, content=content
        )
        return Measurement(
            f"{NAME}/sequential-write-qd1-{content}",
            f"128 KiB sequential write, {content} data",
            Workload([stream], seconds=profile.sequential_corner_s, seed=seed),
        )

    sequential_read = Measurement(
        f"{NAME}/sequential-read-qd1",
        "128 KiB sequential read",
        Workload(
            [Stream.read("sequential", SEQUENTIAL_BLOCK_BYTES, span_bytes=area)],
            seconds=profile.sequential_corner_s,
            seed=seed,
        ),
    )
    random_read = Measurement(
        f"{NAME}/random-read-qd3",
        "4 KiB random read, queue depth 3",
        Workload(
            [Stream.read("random", RANDOM_BLOCK_BYTES, span_bytes=span, queue_depth=3)],
            seconds=profile.random_corner_s,
            seed=seed,
        ),
    )
    return Test(
        name=NAME,
        title="Four corners",
        source="vertex3",
        purpose="What the drive does at the four extremes of use: random and sequential, "
        "reading and writing.",
        parameters={
            "random": f"4 KiB over the first {format_bytes(span)}, queue depth 3 (writes 32, too), "
            f"{profile.random_corner_s:g} s each",
            "sequential": f"128 KiB over {subject.extent(area)}, queue depth 1, "
            f"{profile.sequential_corner_s:g} s each",
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
            Phase((Fill(area), Settle()), (sequential_read, random_read)),
            Phase((), tuple(sequential_write(content) for content in CONTENTS)),
        ),
    )
