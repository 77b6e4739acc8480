"""Preparations and measurements that several reviews share."""

from collections.abc import Iterable

from fourcorners.suites.test import Fill, Measurement, Phase, Purge, Settle
from fourcorners.workload import INCOMPRESSIBLE, REPEATED, Stream, Workload

SPAN_BYTES = 8 * 10**9 // 4096 * 4096
"""The 8 GB that the reviews' random tests stay in, in whole 4 KiB blocks."""

RANDOM_S = 180.0
"""The reviews' three minutes."""

SEQUENTIAL_S = 60.0
"""The reviews' minute."""

CONTENTS = (INCOMPRESSIBLE, REPEATED)


def random_writes(
    scale: float,
    *,
    depths: Iterable[int] = (3,),
    contents: Iterable[str] = CONTENTS,
    alignment_bytes: int = 4096,
    prefix: str = "random-write",
) -> Phase:
    """4 KiB random writes over 8 GB that hold data, on an otherwise empty drive."""
    return Phase(
        (Purge(), Fill(SPAN_BYTES)),
        tuple(
            Measurement(
                f"{prefix}/{depth}/{content}",
                "4 KiB random write over 8 GB",
                Workload(
                    [
                        Stream.write(
                            "random",
                            4096,
                            span_bytes=SPAN_BYTES,
                            alignment_bytes=alignment_bytes,
                            queue_depth=depth,
                            content=content,
                        )
                    ],
                    seconds=RANDOM_S * scale,
                ),
            )
            for depth in depths
            for content in contents
        ),
    )


def random_reads(capacity_bytes: int, scale: float, depths: Iterable[int] = (3,)) -> Phase:
    """4 KiB random reads over 8 GB of a full drive."""
    return Phase(
        (Purge(), Fill(capacity_bytes), Settle()),
        tuple(
            Measurement(
                f"random-read/{depth}",
                "4 KiB random read over 8 GB",
                Workload(
                    [Stream.read("random", 4096, span_bytes=SPAN_BYTES, queue_depth=depth)],
                    seconds=RANDOM_S * scale,
                ),
            )
            for depth in depths
        ),
    )


def sequential_reads(scale: float, block_bytes: int = 128 * 1024) -> Phase:
    """Sequential reads from the start of a drive that an earlier phase has filled."""
    return Phase(
        (),
        (
            Measurement(
                "sequential-read",
                "sequential read",
                Workload([Stream.read("sequential", block_bytes)], seconds=SEQUENTIAL_S * scale),
            ),
        ),
    )


def sequential_writes(scale: float, contents: Iterable[str] = CONTENTS) -> tuple[Phase, ...]:
    """128 KiB sequential writes to an erased drive, once for each content."""
    return tuple(
        Phase(
            (Purge(),),
            (
                Measurement(
                    f"sequential-write/{content}",
                    "128 KiB sequential write",
                    Workload(
                        [Stream.write("sequential", 128 * 1024, content=content)],
                        seconds=SEQUENTIAL_S * scale,
                    ),
                ),
            ),
        )
        for content in contents
    )
