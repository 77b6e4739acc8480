"""The transfer-size sweep of the OCZ Core study: what an access costs, and what a byte."""

from typing import Literal

from fourcorners.suites.profile import Profile
from fourcorners.suites.test import Fill, Measurement, Phase, Purge, Settle, Subject, Test
from fourcorners.units import format_bytes
from fourcorners.workload import Stream, Workload

NAME = "transfer-size"

SMALLEST_BYTES = 512
LARGEST_BYTES = 512 * 2**20
# From this size on the time grows with the size, up to the profile's longest.
LONGER_FROM_BYTES = 8 * 2**20
# A request should have many places to go to.
AREA_SHARE_MAX = 4
# Where earlier writes change later speed, writes stay within a small part of an erased drive: over
# all of it the first sizes would use up the spare area, and the later ones would be compared with
# them although the drive had become another.
WRITE_SPAN_BYTES = 8 * 10**9


def seconds_for(block_bytes: int, profile: Profile) -> float:
    """How long one size is measured.

    The study states no duration. The shortest time of ``standard`` (30 s) gives 120 I/Os even to
    a drive that serves four a second; large requests get longer, so that the 512 MiB of
    a disk (6 s each) are 50 I/Os rather than 5.
    """
    wanted = profile.transfer_size_min_s * block_bytes / LONGER_FROM_BYTES
    return min(max(wanted, profile.transfer_size_min_s), profile.transfer_size_max_s)


def plan(subject: Subject, profile: Profile, seed: int) -> Test:
    """Random reads, then random writes, of 512 B to 512 MiB by powers of two, one at a time, at
    any 512-byte sector: reads over the whole drive, writes too where the past does not matter."""
    area = subject.area_bytes(profile)
    write_span = subject.span_bytes(WRITE_SPAN_BYTES, profile) if subject.fills else area
    alignment = subject.request_alignment_bytes
    every = _sizes(profile)
    sizes = [s for s in every if s % alignment == 0 and s <= write_span // AREA_SHARE_MAX]

    def measure(operation: Literal["read", "write"], block_bytes: int) -> Measurement:
        stream = Stream(
            read_fraction=1.0 if operation == "read" else 0.0,
            pattern="random",
            block_bytes=block_bytes,
            span_bytes=area if operation == "read" else write_span,
            alignment_bytes=alignment,
        )
        return Measurement(
            f"{NAME}/{operation}/{block_bytes}",
            f"{format_bytes(block_bytes)} random {operation}",
            Workload([stream], seconds=seconds_for(block_bytes, profile), seed=seed),
        )

    reads, writes = (
        tuple(measure(operation, size) for size in sizes) for operation in ("read", "write")
    )
    parameters = {
        "queue depth": "1",
        "span": f"reads: {subject.extent(area)}; writes: {subject.extent(write_span)}",
        "alignment": f"{alignment}-byte sectors",
        "time": f"{profile.transfer_size_min_s:g} s each, from "
        f"{format_bytes(LONGER_FROM_BYTES)} on in proportion to the size up to "
        f"{profile.transfer_size_max_s:g} s",
    }
    reason = None
    if sizes:
        steps = "powers of two" if profile.transfer_size_factor == 2 else "powers of four"
        parameters["block sizes"] = (
            f"{format_bytes(sizes[0])} to {format_bytes(sizes[-1])}, {steps}"
        )
    else:
        reason = "the target is too small for any of the sizes"
    if left_out := _left_out(every, sizes, write_span):
        parameters["left out"] = left_out
    return Test(
        name=NAME,
        title="Transfer size",
        source="core",
        purpose="What one access costs beside the transfer itself, and at which size that stops "
        "mattering.",
        parameters=parameters,
        phases=(
            Phase((Purge(), Fill(area), Settle()), reads),
            Phase((Purge(), Fill(write_span)) if write_span < area else (), writes),
        )
        if sizes
        else (),
        skip_reason=reason,
    )


def _sizes(profile: Profile) -> list[int]:
    sizes = [SMALLEST_BYTES]
    while sizes[-1] < LARGEST_BYTES:
        sizes.append(sizes[-1] * profile.transfer_size_factor)
    return sizes


def _left_out(every: list[int], sizes: list[int], span_bytes: int) -> str | None:
    reasons = []
    if large := [s for s in every if s > span_bytes // AREA_SHARE_MAX]:
        reasons.append(
            f"{format_bytes(large[0])} and more: over a quarter of {format_bytes(span_bytes)}"
        )
    if small := [s for s in every if s not in sizes and s not in large]:
        reasons.append(f"{format_bytes(small[-1])} and less: direct I/O cannot address them here")
    return "; ".join(reasons) or None
