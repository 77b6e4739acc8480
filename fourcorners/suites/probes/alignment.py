"""Writes across boundaries: what a mapping unit costs, and how large it is."""

from dataclasses import dataclass, replace

from fourcorners.analysis.internals.view import moves_an_arm
from fourcorners.manifest import Chart
from fourcorners.suites.common import KIB, MIB, timed
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, SECONDS, parameter
from fourcorners.suites.probes.common import SENTINEL, interleaved, probed_bytes
from fourcorners.suites.steps import (
    WRITES_PER_SECOND,
    WRITTEN_BYTES_PER_SECOND,
    Fill,
    Purge,
    settle,
)
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Adaptive, MeasuredSoFar, Measurement
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream, Workload

# Page-mapped drives map up to 64 KiB; only where those show nothing do drives map clusters.
FINE_MAX_BYTES = 256 * KIB
COARSE_MAX_BYTES = 32 * MIB
# A drive that needs longer for a write than this rewrites something large.
SLOW_WRITE_S = 0.3e-3
IOS_MIN = 16
# Less than any block, more than any page.
NEAR_BYTES = 64 * KIB
# Disks have physical sectors of up to 4 KiB; larger writes show that none are larger.
WHOLE_MAX_BYTES = 32 * KIB
# So many random accesses of a disk that their mean is known to a fortieth of a turn.
WHOLE_WRITES = 200
# A disk takes 40 ms at most for each of them: a seek, two turns and a retry.
WHOLE_LONGEST_S = 0.04 * WHOLE_WRITES
# A full write cache of a disk takes some seconds to empty.
DRAINED_LONGEST_S = 60.0


@dataclass(frozen=True)
class Parameters:
    """Of the probe."""

    depth: int = parameter(COUNT, 32, "queue depth")
    ramp_s: float = parameter(SECONDS, 0.5, "before each, to fill a write buffer")
    time_s: float = parameter(SECONDS, 1.0, "each, longer where writes are slow")


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """Random writes of two sectors: such that begin at multiples of a power of two, and such that
    have one sector on either side of them. Where the power of two is a multiple of the mapping
    unit, the latter touch two units instead of one. Where writes are slow, some within a small
    region follow. Where reads move an arm, forced writes (FUA) of whole powers of two follow, one
    at a time: a disk reads a physical sector before it rewrites a part of it."""
    sector = subject.request_alignment_bytes
    span = probed_bytes(subject)

    def stream(boundary: int, straddles: bool) -> Stream:
        return Stream.write(
            "random",
            2 * sector,
            span_bytes=span,
            alignment_bytes=boundary,
            misalignment_bytes=boundary - sector if straddles else 0,
            queue_depth_per_worker=parameters.depth,
        )

    def write(boundary: int, straddles: bool, time_s: float) -> Measurement:
        how = "across" if straddles else "at"
        return timed(
            f"{how}/{boundary}",
            f"{chosen_size(2 * sector)} writes {how} multiples of {chosen_size(boundary)}",
            stream(boundary, straddles),
            time_s,
            seed=seed,
            ramp_s=parameters.ramp_s,
            boundary_bytes=boundary,
            where=how,
        )

    def pairs(boundaries: list[int], time_s: float) -> tuple[Measurement, ...]:
        points = [write(b, straddles, time_s) for b in boundaries for straddles in (False, True)]
        return interleaved(points, span_bytes=span, seed=seed)

    def near(time_s: float) -> Measurement:
        count = min(NEAR_BYTES, span)
        return timed(
            "near",
            f"{chosen_size(2 * sector)} writes within {chosen_size(count)}",
            Stream.write(
                "random",
                2 * sector,
                span_bytes=count,
                alignment_bytes=2 * sector,
                queue_depth_per_worker=parameters.depth,
            ),
            time_s,
            seed=seed,
            ramp_s=max(parameters.ramp_s, time_s / 4),
            near_bytes=count,
        )

    def drained() -> Measurement:
        # A flush waits for all that was written before, so that nothing else moves the arm then.
        stream = Stream.write("random", 2 * sector, span_bytes=span, flush_every_writes=1)
        workload = Workload(
            [stream], duration_s=DRAINED_LONGEST_S, volume_bytes=2 * sector, seed=seed
        )
        return Measurement("drained", "a write and a flush", workload, {"kind": "drained"})

    def whole(count: int) -> Measurement:
        stream = Stream.write("random", count, span_bytes=span, fua=True)
        return Measurement(
            f"whole/{count}",
            f"forced writes of {chosen_size(count)} at multiples of it",
            Workload(
                [stream],
                duration_s=WHOLE_LONGEST_S,
                volume_bytes=WHOLE_WRITES * count,
                seed=seed + count,
            ),
            {"whole_bytes": count},
        )

    def has_an_arm(measured: MeasuredSoFar) -> bool:
        reads_s = [1 / one.iops for id, one in measured.items() if id.startswith(f"{SENTINEL}/")]
        return moves_an_arm(min(reads_s, default=0.0))

    # How long small writes take at all, so that each point gets as many as it needs.
    first = timed(
        "speed",
        f"{chosen_size(2 * sector)} random writes",
        stream(2 * sector, False),
        parameters.time_s,
        seed=seed,
        ramp_s=parameters.ramp_s,
    )

    def following(measured: MeasuredSoFar) -> tuple[Measurement, ...]:
        if len(measured) > 1:
            if any(id.startswith("whole/") for id in measured) or not has_an_arm(measured):
                return ()
            doublings = range((WHOLE_MAX_BYTES // sector).bit_length())
            return (drained(), *(whole(sector << doubling) for doubling in doublings))
        each_s = 1 / max(measured[first.id].iops, 1e-3)
        time_s = max(parameters.time_s, IOS_MIN * each_s)
        largest = COARSE_MAX_BYTES if each_s > SLOW_WRITE_S else FINE_MAX_BYTES
        boundaries = []
        boundary = 2 * sector
        while boundary <= min(largest, span // 16):
            boundaries.append(boundary)
            boundary *= 2
        # Logs that small writes fill have room for those of a small region, when they are full.
        last = (near(time_s),) if each_s > SLOW_WRITE_S else ()
        return (*pairs(boundaries, time_s), *last)

    # Writes that are slow take the longest, quick ones write the most.
    rate = min(WRITES_PER_SECOND, WRITTEN_BYTES_PER_SECOND / (2 * sector))
    longest = write(2 * sector, True, IOS_MIN * 0.5)
    longest = replace(
        longest, workload=replace(longest.workload, ios=round(rate * parameters.time_s))
    )
    return Plan(
        {
            "writes": f"{chosen_size(2 * sector)}, random, queue depth {parameters.depth}",
            "boundaries": f"multiples of {chosen_size(2 * sector)} and of every larger power of "
            f"two, up to {chosen_size(FINE_MAX_BYTES)}, where writes are slow "
            f"{chosen_size(COARSE_MAX_BYTES)}",
            "span": subject.alone(span, ", filled"),
            "time": f"{parameters.time_s:g} s each after {parameters.ramp_s:g} s, at least "
            f"{IOS_MIN} writes",
            "forced writes": "where reads move an arm, of whole powers of two up to "
            f"{chosen_size(WHOLE_MAX_BYTES)}, one at a time, {WHOLE_WRITES} of each",
        },
        (
            Adaptive(
                (Purge(), Fill(span), settle()),
                (first,),
                following,
                batches_max=3,
                what="batches",
                later=longest,
                # So many points are the bound of a slow SSD. A disk's points take a second each,
                # so that its forced writes stay below the same bound of time and volume.
                later_count=30,
            ),
        ),
        (
            Chart(
                "lines",
                "Small writes across and at boundaries",
                "iops",
                "boundary_bytes",
                series=("where",),
                log="x",
            ),
        ),
    )


DEFINITION = Definition(
    name="probe-alignment",
    title="Probe: writes across boundaries",
    source="uFLIP (Bouganim et al. 2009): alignment; steve8's blog: the cluster tax",
    purpose="The mapping unit, or a disk's physical sector, and what a write pays for one that it "
    "covers only in part.",
    plan=plan,
    parameters=Parameters,
)
