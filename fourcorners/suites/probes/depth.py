"""Reads with more and more outstanding: what a drive gains from them, and what the link carries."""

from dataclasses import dataclass

from fourcorners.manifest import Chart
from fourcorners.suites.common import KIB, MIB, POWERS_TO_256, access
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, SECONDS, parameter
from fourcorners.suites.probes.common import interleaved, preparation, prepares, probed_bytes
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import Workload

BLOCK_BYTES = 4 * KIB
# Far enough apart that their difference is nearly all transfer.
LINK_BLOCKS_BYTES = (128 * KIB, MIB)
# Where the same is read again and again: small, because the cache of a disk holds little of one
# place.
CACHED_BLOCKS_BYTES = (32 * KIB, 128 * KIB)
LINK_DEPTH = 32
# What is written to be read: many places on every die.
SPAN_BYTES = 2 * 1024 * MIB


@dataclass(frozen=True)
class Parameters:
    """Of the probe."""

    ios: int = parameter(COUNT, 12_000, "random reads at each depth, at most")
    time_s: float = parameter(SECONDS, 8.0, "each, at most")
    preparation: str = preparation()


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """4 KiB random reads of a filled part at 1 to 256 outstanding; and large reads of what was
    never written since the purge (but of a file), of what was written, and of the same place over
    and over, each in two sizes; small ones of what was never written too, one at a time."""
    span = min(SPAN_BYTES, probed_bytes(subject)) if subject.fills else probed_bytes(subject)
    block = max(BLOCK_BYTES, subject.request_alignment_bytes)
    area = subject.area_bytes
    prepared = prepares(subject, parameters.preparation)

    def random(depth: int) -> Measurement:
        stream = access("read", "random", block, span_bytes=span, queue_depth_per_worker=depth)
        workload = Workload([stream], duration_s=parameters.time_s, ios=parameters.ios, seed=seed)
        return Measurement(f"random/{depth}", f"random reads, queue depth {depth}", workload)

    def large(of: str, size: int, offset: int, count: int) -> Measurement:
        stream = access(
            "read",
            "sequential",
            size,
            offset_bytes=offset,
            span_bytes=count,
            queue_depth_per_worker=LINK_DEPTH,
        )
        # The first reads of a place bring it into a cache.
        workload = Workload(
            [stream], duration_s=parameters.time_s / 16, ramp_s=parameters.time_s / 40, seed=seed
        )
        label = f"{of} data, {chosen_size(size)} reads"
        return Measurement(f"link/{of}/{size}", label, workload, {"of": of})

    def alone(offset: int, count: int) -> Measurement:
        stream = access("read", "random", block, offset_bytes=offset, span_bytes=count)
        workload = Workload([stream], duration_s=parameters.time_s / 16, seed=seed)
        axes = {"of": "erased", "alone_bytes": block}
        return Measurement("alone/erased", "random reads of erased data", workload, axes)

    points = [random(depth) for depth in POWERS_TO_256]
    points += [large("written", size, 0, span) for size in LINK_BLOCKS_BYTES]
    points += [large("cached", size, 0, size) for size in CACHED_BLOCKS_BYTES]
    rest = subject.rounded((area - span) // MIB * MIB)
    # Of a file, the file system answers reads of what was never written.
    if subject.kind != "file" and prepared and subject.fills and rest >= 64 * MIB:
        points += [large("erased", size, span, rest) for size in LINK_BLOCKS_BYTES]
        points.append(alone(span, rest))
    return Plan(
        {
            "random reads": f"{chosen_size(block)}, 1 to {POWERS_TO_256[-1]} outstanding",
            "large reads": f"{LINK_DEPTH} outstanding, "
            f"{' and '.join(chosen_size(size) for size in LINK_BLOCKS_BYTES)}; of the same place "
            f"{' and '.join(chosen_size(size) for size in CACHED_BLOCKS_BYTES)}",
            "span": subject.alone(span, ", filled"),
        },
        (
            Phase(
                (Purge(), Fill(span), settle()) if prepared else (),
                interleaved(points, span_bytes=span, seed=seed),
            ),
        ),
        (
            Chart("lines", "Random reads", "iops", "queue_depth", ids="random", log="xy"),
            Chart("lines", "Large reads", "mbps", "block_bytes", series=("of",), ids="link"),
        ),
    )


DEFINITION = Definition(
    name="probe-depth",
    title="Probe: outstanding reads",
    source="Little 1961; Gunther's Universal Scalability Law 2007",
    purpose="What reads gain from a queue, and which link carries them.",
    plan=plan,
    parameters=Parameters,
)
