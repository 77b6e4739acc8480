"""Reads that meet on the same die: how data is spread over dies, and how long the queue is."""

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from fourcorners.analysis.internals.flash import conflicting_reads, interleaving
from fourcorners.analysis.internals.view import moves_an_arm
from fourcorners.manifest import Chart
from fourcorners.patterns import bursts, fixed_rate, strided
from fourcorners.suites.common import KIB, MIB, access, timed
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, SECONDS, parameter
from fourcorners.suites.probes.common import interleaved, preparation, prepares, probed_bytes
from fourcorners.suites.probes.unread import UnreadPlaces
from fourcorners.suites.steps import Purge, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Adaptive, MeasuredSoFar, Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream, Workload

# Several times as much as lies between two stripes of the same die.
SPAN_BYTES = 256 * MIB
BLOCK_BYTES = 2 * KIB
FILL_BLOCK_BYTES = 128 * KIB
LARGEST_PLACE_BYTES = MIB
BATCHES_MAX = 9
# Pairs that are due at the same time: each is over long before the next.
PAIRS_PER_SECOND = 800.0
PAIRS = 100
# All distances up to the first number of stripes are tried, and up to the second where the number
# of stripes in a turn is no power of two; else those that the levels of a power of two need.
STRIPES_DENSE, STRIPES_MAX = 32, 128
# When the second of two late reads is due, in times of a read of one die: the first one is under
# way, so that nothing merges them, and off the channel soon.
LATE_READS = 0.5
# Of the kinds of pairs, what the longer read is by.
_LONGER = {"together": "long", "short": "short"}


@dataclass(frozen=True)
class Parameters:
    """Of the probe."""

    depth: int = parameter(COUNT, 64, "queue depth")
    time_s: float = parameter(SECONDS, 0.2, "each")
    preparation: str = preparation()


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """Small reads of few places, many at a time: within windows of growing size, across powers of
    two, at two places some distance apart; then reads of one place during more and more of another
    one, and two due at the same time on two dies, of which one is long or both are short. What is
    read was written in sequence, one write at a time."""
    block = max(BLOCK_BYTES, subject.request_alignment_bytes)
    # No read begins where another one ends, so that none seems to go on and is read ahead of.
    grid = 2 * block
    span = min(SPAN_BYTES, probed_bytes(subject))
    prepared = prepares(subject, parameters.preparation)

    def reads(id: str, label: str, size: int, time_s: float, **fields: object) -> Measurement:
        stream = access(
            "read", "random", size, **{"queue_depth_per_worker": parameters.depth, **fields}
        )
        return timed(id, label, stream, time_s, seed=seed, ramp_s=time_s / 10)

    def window(count: int) -> Measurement:
        measurement = reads(
            f"window/{count}",
            f"reads within {chosen_size(count)}",
            block,
            parameters.time_s,
            span_bytes=count,
            alignment_bytes=grid,
        )
        return _with(measurement, window_bytes=count)

    def place(boundary: int) -> Measurement:
        label = f"one place across {chosen_size(boundary)}"
        measurement = reads(
            f"across/{boundary}",
            label,
            2 * block,
            parameters.time_s,
            offset_bytes=boundary - block,
            span_bytes=2 * block,
        )
        return _with(measurement, boundary_bytes=boundary)

    def pair(distance: int) -> Measurement:
        label = f"two places, {chosen_size(distance)} apart"
        measurement = reads(
            f"pair/{distance}",
            label,
            block,
            parameters.time_s,
            span_bytes=distance + block,
            alignment_bytes=distance,
        )
        return _with(measurement, distance_bytes=distance)

    def beside(depth: int, stripe: int) -> Measurement:
        streams = [
            access("read", "random", block, span_bytes=block, queue_depth_per_worker=depth),
            access("read", "random", block, offset_bytes=stripe, span_bytes=block),
        ]
        # Long enough for a read that waits for all others to come round ten times.
        time_s = max(parameters.time_s, depth * 1e-3)
        workload = Workload(streams, duration_s=time_s, ramp_s=time_s / 5, seed=seed)
        axes = {"beside": depth, "stripe_bytes": stripe}
        return Measurement(
            f"beside/{depth}", f"during {depth} reads of another place", workload, axes
        )

    unread = UnreadPlaces(subject, span, block, parameters.depth, parameters.time_s, seed)
    arrival = fixed_rate(PAIRS_PER_SECOND)

    def not_read_before(seen: interleaving.Seen) -> tuple[Measurement, ...]:
        """Points of places that memory does not have; none where reads are known to come one at a
        time, or by an arm."""
        alone_s = 1 / statistics.median(seen.sentinel.values())
        if seen.crossings is not None or moves_an_arm(alone_s):
            return ()
        told = seen.unread
        if told is None:
            points = [unread.stride(turn) for turn in unread.strides()]
        elif (turn := told.turn_bytes) is None:
            return ()
        elif not told.apart:
            points = unread.within(turn)
        elif seen.together or told.dies is None or told.page_bytes is None:
            return ()
        else:
            offsets = [*range(0, turn, turn // told.dies), 0]
            points = on_channels(told.page_bytes, offsets, told.one_die, turn)
        return tuple(one for point in points for one in (unread.forget(point.id), point))

    def due(id: str, label: str, streams: list[Stream], **axes: int) -> Measurement:
        time_s = PAIRS / PAIRS_PER_SECOND
        return Measurement(id, label, Workload(streams, duration_s=time_s, seed=seed), axes)

    def on_channels(
        page: int, offsets: Sequence[int], one_die: float, turn: int | None = None
    ) -> list[Measurement]:
        """Pairs of reads of the first die and of others, whose places are given, the last of which
        is on the first die again; each once a turn if that is given, else the same ones again and
        again."""
        # All of a page but its end, so that no read begins where another one ends: long on its
        # channel. The short one is over on the link before it, unless it waits for the channel.
        # Two sectors in the middle of a page are soon over on the link, and long on a channel that
        # passes whole units of the map.
        short = subject.request_alignment_bytes
        long, half = page - short, page // 2 - short

        def place(at: int, size: int, part: int) -> Stream:
            if turn is not None:
                return unread.once(at, size, turn, part, arrival=arrival)
            return Stream.read("random", size, offset_bytes=at, span_bytes=size, arrival=arrival)

        def alone(size: int) -> Measurement:
            streams = [place(0, size, 1)]
            return due(f"alone/{size}", f"{chosen_size(size)} alone", streams, alone_bytes=size)

        def together(kind: str, at: int, size: int, die: int) -> Measurement:
            streams = [place(at, size, 1), place(offsets[die], short, 2)]
            label = f"{chosen_size(size)} and {chosen_size(short)}, {die} stripes apart"
            axes = {"stripes": die, f"{_LONGER[kind]}_bytes": size}
            return due(f"{kind}/{die}", label, streams, **axes)

        def late(die: int) -> Measurement:
            apart, delay_s = offsets[die], LATE_READS / one_die
            stream = Stream.read(
                strided(apart),
                short,
                span_bytes=apart + short,
                alignment_bytes=apart,
                queue_depth_per_worker=2,
                arrival=bursts(2 * PAIRS_PER_SECOND, 2, 1 / delay_s),
            )
            label = f"{chosen_size(short)} twice, the second later, {die} stripes apart"
            return due(f"late/{die}", label, [stream], stripes=die, late_ns=round(delay_s * 1e9))

        wanted = stripes_wanted(len(offsets) - 1)
        # A small page has no room for a long read.
        kinds = (("together", 0, long), ("short", half, 2 * short)) if half >= short else ()
        return [
            *(alone(size) for size in sorted({short, half, long}) if kinds),
            *(together(kind, at, size, die) for kind, at, size in kinds for die in wanted),
            *(late(die) for die in wanted if turn is None),
        ]

    windows = []
    count = grid
    while count <= span // 4:
        windows.append(window(count))
        count *= 2
    places = []
    boundary = block
    while boundary <= min(LARGEST_PLACE_BYTES, span // 4):
        places.append(place(boundary))
        boundary *= 2
    first = interleaved([*windows, *places], span_bytes=span, seed=seed)

    def following(measured: MeasuredSoFar) -> tuple[Measurement, ...]:
        seen = conflicting_reads.seen_of((axes, done.read) for axes, done in measured.points)
        distances = seen.distances_wanted(span - grid)
        if distances:
            return tuple(pair(distance) for distance in distances)
        stripe = seen.stripe_bytes
        if stripe is None:
            return not_read_before(seen)
        wanted = tuple(beside(depth, stripe) for depth in seen.queue.wanted())
        if seen.together or seen.units is None or seen.page_bytes is None:
            return wanted
        # A read that is not over when the next pair is due, as of an arm, tells nothing of pairs.
        if seen.one_die < 2 * LATE_READS * PAIRS_PER_SECOND:
            return wanted
        offsets = [seen.die_offset_bytes(die) for die in range(seen.units + 1)]
        return (*wanted, *on_channels(seen.page_bytes, offsets, seen.one_die))

    fill = timed(
        "fill",
        f"{chosen_size(FILL_BLOCK_BYTES)} sequential writes",
        access("write", "sequential", FILL_BLOCK_BYTES, span_bytes=span),
        1.0,
    )
    fill = Measurement(
        fill.id, fill.label, Workload(fill.workload.streams, volume_bytes=span, seed=seed)
    )
    return Plan(
        {
            "reads": f"{chosen_size(block)}, queue depth {parameters.depth}",
            "span": f"{subject.extent(span)}, written in sequence, one write at a time",
            "windows": f"{chosen_size(grid)} and every larger power of two up to "
            f"{chosen_size(count // 2)}",
            "time": f"{parameters.time_s:g} s each",
        },
        (
            *((Phase((Purge(),), (fill,)),) if subject.fills and prepared else ()),
            Adaptive(
                (settle(),),
                first,
                following,
                batches_max=BATCHES_MAX,
                what="batches",
                later=beside(256, grid),
                later_count=89,
            ),
        ),
        (
            Chart("lines", "Reads within a window", "iops", "window_bytes", ids="window", log="xy"),
            Chart("lines", "Reads of two places", "iops", "distance_bytes", ids="pair", log="x"),
            Chart("lines", "Reads during others", "iops", "beside", ids="beside", log="x"),
            Chart("lines", "Two reads at the same time", "latency_mean", "stripes", ids="together"),
            Chart("lines", "Two short ones", "latency_mean", "stripes", ids="short"),
        ),
    )


def stripes_wanted(units: int) -> list[int]:
    """How many stripes apart pairs of reads are, of so many units in a turn: the last of these
    distances is the whole turn, which meets the same unit."""
    if units <= STRIPES_DENSE or units.bit_count() > 1:
        return [*range(1, min(units, STRIPES_MAX)), units]
    # A power of two consists of levels that are powers of two: what each doubling does, alone and
    # with another one, shows them.
    powers = [1 << k for k in range(units.bit_length())]
    sums = [a + b for a, b in itertools.combinations(powers[:-1], 2)]
    return sorted({*range(1, STRIPES_DENSE), *powers, *sums})


def _with(measurement: Measurement, **axes: int) -> Measurement:
    return Measurement(measurement.id, measurement.label, measurement.workload, axes)


DEFINITION = Definition(
    name="probe-conflicts",
    title="Probe: reads that meet on the same die",
    source="Chen, Lee and Zhang, HPCA 2011: stripe, interleaving degree and page from conflicts",
    purpose="How data is spread over dies and channels, and how many commands the drive accepts.",
    plan=plan,
    parameters=Parameters,
)
