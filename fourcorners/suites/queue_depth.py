"""The queue-depth sweep of the SATA comparison: does more outstanding I/O bring more?"""

from typing import Literal

from fourcorners.suites.profile import Profile
from fourcorners.suites.test import Fill, Measurement, Phase, Purge, Settle, Subject, Test
from fourcorners.units import format_bytes
from fourcorners.workload import Stream, Workload

NAME = "queue-depth"

BLOCK_BYTES = 4096
# Steps of three up to the limit of native command queuing.
DEPTHS = range(1, 32, 3)
# The review does not state the span. Its write rates need free space on the drive, so the span is
# that of the four corners and the rest of the drive is empty.
SPAN_BYTES = 8 * 10**9


def plan(subject: Subject, profile: Profile, seed: int) -> Test:
    """4 KiB random reads, then writes, by one worker at queue depths 1, 4, ... 31."""
    area = subject.area_bytes(profile)
    span = subject.span_bytes(SPAN_BYTES, profile) if subject.keeps_state else area

    def measure(operation: Literal["read", "write"], depth: int) -> Measurement:
        stream = Stream(
            read_fraction=1.0 if operation == "read" else 0.0,
            pattern="random",
            block_bytes=BLOCK_BYTES,
            span_bytes=span,
            queue_depth=depth,
        )
        return Measurement(
            f"{NAME}/{operation}/{depth}",
            f"4 KiB random {operation}, queue depth {depth}",
            Workload([stream], seconds=profile.queue_depth_s, seed=seed),
        )

    reads, writes = (
        tuple(measure(operation, depth) for depth in DEPTHS) for operation in ("read", "write")
    )
    return Test(
        name=NAME,
        title="Queue depth",
        source="sata",
        purpose="How far the drive works on several requests at once, and where its link or "
        "flash ends the gain.",
        parameters={
            "block size": "4 KiB, random",
            "queue depths": "1, 4, 7, ... 31, one worker",
            "span": f"the first {format_bytes(span)} (the review states none), otherwise empty"
            if span
            else "the whole drive",
            "time": f"{profile.queue_depth_s:g} s each",
        },
        phases=(Phase((Purge(), Fill(area), Settle()), reads), Phase((), writes)),
    )
