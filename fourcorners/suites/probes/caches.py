"""Reads that a drive may have in memory: what it reads ahead, and what it keeps."""

from dataclasses import dataclass

from fourcorners.analysis.internals.caches import next_reads, read_cache
from fourcorners.analysis.internals.usual import share_below
from fourcorners.analysis.internals.view import moves_an_arm
from fourcorners.manifest import Chart
from fourcorners.patterns import fixed_rate, strided
from fourcorners.suites.common import KIB, MIB, access
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, SECONDS, parameter
from fourcorners.suites.probes.common import interleaved, preparation, prepares, probed_bytes
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Adaptive, MeasuredSoFar, Measurement
from fourcorners.wording import chosen_size
from fourcorners.workload import Workload

BLOCK_BYTES = 4 * KIB
# Odd, so that it reaches all places of a region, whose number is a power of two; no place comes
# right after the one before.
HOP_BLOCKS = 17
# What is read again: whole pages, so that no read brings what another one asks for.
AGAIN_BLOCK_BYTES = 16 * KIB
REGIONS_BYTES = tuple(MIB * 2**step for step in range(7))
PASSES = 3
# Longest that flash takes for one of these; a disk's segments show otherwise what it keeps.
AGAIN_READ_S = 1e-3
UNCACHED = "random-large"
# Of regions between those that are kept and not; of no multiple of the hop.
REGION_STEP_BYTES = 64 * KIB
REGIONS_BETWEEN = 4
# Many times what is read again, and little to write.
SPAN_BYTES = 2 * 1024 * MIB
# What lies between two of them is halved on disks.
DISTANCES_BYTES = tuple(64 * KIB * 2**step for step in range(10))
# Between two of these a disk has the time to read the largest distance.
PAUSED_PER_SECOND = 4.0

# Sequences side by side, each with pauses in which a drive reads ahead; no two at the same pace, so
# that a read seldom waits for another one's.
# A single one shows whether other reads disturb it in the pauses.
SEQUENCES = (2, 3, 4, 5, 6, 7, 8, 9, 16, 1)
# Where they begin, in parts of the span: behind all regions that are read again, and before what
# was written last, since memory may keep either. The single sequence comes behind them.
PARTS = 64
SEQUENCES_FROM_PART = 40
SEQUENCE_FROM_PART = 56
SEQUENCE_PER_SECOND = 15.0
SEQUENCE_FASTER = 1.013
# A disk that seeks for each read of so many sequences has no time left in which to read ahead. So
# what it misses is measured again with so few reads a second, of all sequences together, that most
# of its time is idle, and with more sequences. Of twelve reads of a sequence the first two may miss
# without passing for a sequence that is not read ahead of.
CALM_PER_SECOND = 40.0
CALM_READS = 12
CALM_SEQUENCES_MOST = 24
# Faster by more, as all begin at once and would meet again.
CALM_FASTER = 1.02
CALM_FROM_PART = 12
CALM_PARTS = 8
# Halvings of what lies between the distances, and between the numbers of sequences.
HALVINGS = 6


@dataclass(frozen=True)
class Parameters:
    """Of the probe."""

    reads: int = parameter(COUNT, 4000, "reads in sequence and at random, at most")
    time_s: float = parameter(SECONDS, 2.0, "each, at most")
    preparation: str = preparation()


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """4 KiB reads, one at a time: in sequence, at random, all places of a region three times over;
    such that each lies some distance beyond the one before, with a pause between them; and several
    sequences side by side, with pauses. Of a disk that reads ahead, distances and numbers of
    sequences are then halved until both are known."""
    span = min(SPAN_BYTES, probed_bytes(subject))
    area = subject.area_bytes if not subject.fills else span
    block = max(BLOCK_BYTES, subject.request_alignment_bytes)
    again_block = max(AGAIN_BLOCK_BYTES, block)

    part = subject.rounded(span // PARTS)

    def reads(id: str, label: str, pattern: str, size: int, offset: int = 0) -> Measurement:
        stream = access("read", pattern, size, offset_bytes=offset, span_bytes=span - offset)
        workload = Workload([stream], duration_s=parameters.time_s, ios=parameters.reads, seed=seed)
        return Measurement(id, label, workload)

    def again(region: int, offset: int = 0) -> Measurement:
        ios = PASSES * region // again_block
        stream = access(
            "read",
            strided(HOP_BLOCKS * again_block),
            again_block,
            offset_bytes=offset,
            span_bytes=region,
        )
        time_s = min(parameters.time_s, ios * AGAIN_READ_S)
        workload = Workload([stream], duration_s=time_s, ios=ios, seed=seed)
        label = f"{chosen_size(region)}, {PASSES} times over"
        axes = {"region_bytes": region, "wanted_ios": ios}
        return Measurement(f"again/{region}", label, workload, axes)

    reads_of_each = int(PAUSED_PER_SECOND * parameters.time_s) + 1
    # Memory may keep what the reads at another distance left in it, so each has a place of its own
    # where there is room for it. Those that are given come behind all else that is read, and
    # halved ones, all of one octave, next; where the area ends there, behind the regions that are
    # read again, and from the end of the area backwards.
    room = sum(DISTANCES_BYTES) * reads_of_each
    begin = next((at for at in (span, REGIONS_BYTES[-1]) if at + room <= area // 2), None)

    def ahead(distance: int, halved: int = 0) -> Measurement:
        offset = 0
        if begin is not None and distance in DISTANCES_BYTES:
            before = DISTANCES_BYTES[: DISTANCES_BYTES.index(distance)]
            offset = begin + sum(before) * reads_of_each
        elif begin is not None:
            octave = min(one for one in DISTANCES_BYTES if one > distance)
            far = octave * reads_of_each
            forward, end = begin + room + halved * far, area // block * block
            offset = forward if begin == span else end - (halved + 1) * far
            offset = offset if begin + room <= offset <= end - far else 0
        stream = access(
            "read",
            strided(distance),
            block,
            offset_bytes=offset,
            span_bytes=area - offset,
            arrival=fixed_rate(PAUSED_PER_SECOND),
        )
        workload = Workload([stream], duration_s=parameters.time_s, seed=seed)
        label = f"every {chosen_size(distance)}, with pauses"
        return Measurement(f"ahead/{distance}", label, workload, {"distance_bytes": distance})

    def side_by_side(count: int) -> Measurement:
        # Not where those of another number have read.
        begins = SEQUENCES.index(count) * subject.rounded(part // len(SEQUENCES))
        streams = [
            access(
                "read",
                "sequential",
                block,
                offset_bytes=(SEQUENCES_FROM_PART + number) * part + begins,
                span_bytes=part - begins,
                arrival=fixed_rate(SEQUENCE_PER_SECOND * SEQUENCE_FASTER**number),
            )
            for number in range(count)
        ]
        workload = Workload(streams, duration_s=parameters.time_s, seed=seed)
        label = "one sequence" if count == 1 else f"{count} sequences side by side"
        return Measurement(f"streams/{count}", label, workload, {"sequences": count})

    def calm(count: int, number: int) -> Measurement:
        begins = number * subject.rounded(part // CALM_PARTS)
        streams = [
            access(
                "read",
                "sequential",
                block,
                offset_bytes=(CALM_FROM_PART + place) * part + begins,
                span_bytes=part - begins,
                arrival=fixed_rate(CALM_PER_SECOND / count * CALM_FASTER**place),
            )
            for place in range(count)
        ]
        time_s = CALM_READS * count / CALM_PER_SECOND
        workload = Workload(streams, duration_s=time_s, seed=seed)
        label = f"{count} sequences side by side, few reads"
        axes = {"sequences": count, "calm": number + 1}
        return Measurement(f"streams/calm/{count}", label, workload, axes)

    def of_disk(measured: MeasuredSoFar) -> tuple[Measurement, ...]:
        if "sequential" not in measured or "random" not in measured:
            return ()
        sequential_s, random_s = (1 / measured[id].iops for id in ("sequential", "random"))
        one = measured["streams/1"].read if "streams/1" in measured else None
        memory_s = read_cache.from_memory_s(random_s, sequential_s, one)
        if not moves_an_arm(random_s) or not read_cache.is_ahead(random_s, memory_s):
            return ()
        limit_s = read_cache.between_s(memory_s, random_s)
        distances, busy, idle = {}, {}, {}
        for axes, recording in measured.points:
            share = share_below(recording.read, limit_s)
            if "distance_bytes" in axes:
                distances[int(axes["distance_bytes"])] = share
            elif "calm" in axes:
                idle[int(axes["sequences"])] = share
            elif "sequences" in axes:
                busy[int(axes["sequences"])] = share
        distance = next_reads.distance_wanted(distances, block)
        count = next_reads.sequences_wanted(busy, idle, CALM_SEQUENCES_MOST)
        return (
            *(
                ()
                if distance is None
                else (ahead(distance, sum(d not in DISTANCES_BYTES for d in distances)),)
            ),
            *(() if count is None else (calm(count, len(idle)),)),
        )

    def between(measured: MeasuredSoFar) -> tuple[Measurement, ...]:
        return (*region_between(measured), *of_disk(measured))

    def region_between(measured: MeasuredSoFar) -> tuple[Measurement, ...]:
        done = {
            int(axes["region_bytes"]): recording
            for axes, recording in measured.points
            if "region_bytes" in axes
        }
        seconds = {
            region: 1 / recording.iops
            for region, recording in done.items()
            if recording.read.ios >= PASSES * region // again_block
        }
        if not seconds or UNCACHED not in measured:
            return ()
        step = max(REGION_STEP_BYTES, again_block)
        region = next_reads.region_wanted(seconds, 1 / measured[UNCACHED].iops, step)
        if region is None:
            return ()
        if region // again_block % HOP_BLOCKS == 0:
            region += step
        if region in done:
            return ()
        # Elsewhere than the one before, of which memory is full.
        number = 1 + sum(size not in REGIONS_BYTES for size in done)
        if number > REGIONS_BETWEEN:
            return ()
        place = number * span // (2 * REGIONS_BETWEEN) // again_block * again_block
        return (again(region, place),)

    points = [
        reads("sequential", "sequential reads", "sequential", block, SEQUENCE_FROM_PART * part),
        reads("random", "random reads", "random", block),
        reads(UNCACHED, "random reads, as large as those again", "random", again_block),
        *(again(region) for region in REGIONS_BYTES if region <= span // 4),
        *(ahead(d) for d in DISTANCES_BYTES if d * reads_of_each <= area and d % block == 0),
    ]
    points += [side_by_side(count) for count in SEQUENCES]
    enough = span >= 4 * MIB
    return Plan(
        {
            "reads": f"{chosen_size(block)}, {chosen_size(again_block)} those again; queue depth 1",
            "regions": f"{chosen_size(REGIONS_BYTES[0])} to {chosen_size(REGIONS_BYTES[-1])}",
            "sequences": f"{min(SEQUENCES)} to {max(SEQUENCES)} side by side",
            "distances": f"{chosen_size(DISTANCES_BYTES[0])} to "
            f"{chosen_size(DISTANCES_BYTES[-1])}, {PAUSED_PER_SECOND:g} reads a second",
        },
        (
            Adaptive(
                (Purge(), Fill(span), settle())
                if prepares(subject, parameters.preparation)
                else (),
                interleaved(points, span_bytes=span, seed=seed, every=8),
                between,
                batches_max=HALVINGS + 1,
                what="sizes between",
                later=calm(CALM_SEQUENCES_MOST, 0),
                # These, and regions and distances between, which together take as long as two.
                later_count=HALVINGS + 2,
            ),
        )
        if enough
        else (),
        (
            Chart(
                "lines", "Reads with pauses", "latency_p50", "distance_bytes", ids="ahead", log="xy"
            ),
            Chart("lines", "Sequences side by side", "latency_mean", "sequences", ids="streams"),
            Chart("lines", "Regions read again", "iops", "region_bytes", ids="again", log="x"),
        ),
        skip_reason=None if enough else "the target is too small",
    )


DEFINITION = Definition(
    name="probe-caches",
    title="Probe: reads out of memory",
    source="Worthington, Ganger, Patt and Wilkes 1995; Schindler and Ganger 1999",
    purpose="Whether a drive reads ahead, how far a disk does, and what is kept of what was read.",
    plan=plan,
    parameters=Parameters,
)
