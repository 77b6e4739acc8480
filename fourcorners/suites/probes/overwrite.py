"""A whole drive filled, overwritten at random, emptied: spare area, erase unit, stalls."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from statistics import fmean

from fourcorners.analysis.internals.collection.cliff import find_cliff
from fourcorners.manifest import Chart
from fourcorners.patterns import bursts, fixed_rate
from fourcorners.recording import Recording
from fourcorners.suites.common import KIB, MIB
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, PAUSE, SECONDS, SHARE, parameter, show_percent
from fourcorners.suites.probes.common import is_large, probed_bytes
from fourcorners.suites.steps import WRITTEN_BYTES_PER_SECOND, Purge, Trim
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Adaptive, MeasuredSoFar, Measurement
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream, Workload

FILL_BLOCK_BYTES = 128 * KIB
OVERWRITE_BLOCK_BYTES = 16 * KIB
"""Random writes of less cost drives with larger mapping units a read; larger ones leave whole
blocks without valid data."""
BESIDE_BLOCK_BYTES, BESIDE_PACE = 64 * KIB, 0.6
"""Writes beside reads, and their pace over the drive's: nothing waits for a die that is read from
more than others are."""
READ_BLOCK_BYTES, READ_DISTANCE_BYTES, READ_PLACES = 4 * KIB, 68 * KIB, 8
"""Of the reads beside: few places, so that each of them meets many erasures of its die; on dies of
their own where that can be, and never one right after the other, or the drive would read ahead."""
LAID, LAID_BYTES_MIN = 2, 64 * MIB
"""Written before: once to fill a write buffer, and again for the pace."""
# What NCQ of SATA holds: all dies of a drive that can be busy are.
DEPTH = 32
CHUNKS = 256
"""A drive is written in so many parts, each a recording."""
# The core takes bursts of up to 2^20; as no drive is as fast, all are due at once.
BURST_IOS_MAX = 2**20
AT_ONCE_IOPS = 1e9
PAUSES = 3
"""Pauses, and as many times as long with the drive in use."""
AFTER_PAUSE_BYTES_MIN = 64 * MIB
"""More than a write buffer takes."""
AGAIN, AGAIN_MAX = 4, 24
"""Parts overwritten at random after all pauses, so many at a time, until what they gave is used."""
RENEWED = 2
"""Times that a drive without TRIM is written in sequence. What is moved the first time may lie in
one block with what the host writes, and is no longer valid only after the second time."""
AFTER_TRIM = 12
"""Parts overwritten at random after TRIM."""
LOGGED_IOS = 2**19
"""Of one recording: some ten megabytes of a run folder."""
WAITING_IOPS = 500.0
"""Of the reads that keep a drive from being idle."""
ENDS = 1.001
"""Reads in a pause: one where it begins and one where it ends, as long as a measurement lasts."""
CLIFFS_WATCHED = 4.0
"""Times what it took to the cliff that is written to watch what follows: until then every block of
the fill has been collected, and the drive is about steady."""
BATCH = 8
"""Parts overwritten at random from one look for the cliff to the next."""
LARGE_IN_SEQUENCE, ROOMY_BYTES = 1 / 32, 240 * 10**9
"""Share of a drive that all probes may write only twice: as many erasures as a small one has. From
so many bytes on the other probes are small beside it, and leave room for all."""
AFTER_FILL_BLOCK_BYTES = MIB
"""Of the reads right after the fill: those of the link's rate, which probe-depth takes at rest."""
AFTER_FILL_RAMP_S, AFTER_FILL_S = 0.25, 0.5
"""Before them and of them: a write buffer is empty by then, and heat lasts for longer."""
_SLOW_AGAIN = 0.9
"""Time of a part over one of as many bytes after reads, from which the drive is as slow again: all
of the former waits for flash, and of the latter what a write buffer does not take."""


@dataclass(frozen=True)
class Parameters:
    """Of the probe."""

    depth: int = parameter(COUNT, DEPTH, "queue depth")
    in_all: float = parameter(SHARE, 0.47, "of the drive that is overwritten at random")
    in_sequence: float = parameter(
        SHARE, 0.13, "of the drive that is written in sequence at the end"
    )
    fill_time_s: float = parameter(SECONDS, 1500.0, "longest for the fill")
    time_s: float = parameter(SECONDS, 900.0, "longest for the overwriting at random")
    read_time_s: float = parameter(SECONDS, 90.0, "longest time of reads during writes")
    rest_s: float = parameter(PAUSE, 20.0, "pause, to see whether it makes the drive faster")


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """The fill is one burst, all of it due at once, so that its latencies are times since its
    start; then parts of the drive one after the other, each a recording. The last part of the fill
    follows reads: a write buffer is full again when overwriting begins."""
    if not subject.keeps_state:
        return Plan({}, (), skip_reason="earlier writes do not change this drive's speed")
    block = FILL_BLOCK_BYTES
    area = subject.area_bytes // block * block
    chunk = max(area // CHUNKS // block, 1) * block
    paused = max(chunk, min(AFTER_PAUSE_BYTES_MIN, area // 64 // block * block))
    fill_block = block
    while area // fill_block > BURST_IOS_MAX:
        fill_block *= 2
    rest_bytes = max(chunk, min(AFTER_PAUSE_BYTES_MIN, area // 16)) // fill_block * fill_block
    fill_bytes = area // fill_block * fill_block - rest_bytes

    def sequential(stage: str, id: str, offset: int, count: int, of: int) -> Measurement:
        stream = Stream.write(
            "sequential",
            of,
            offset_bytes=offset,
            span_bytes=count,
            queue_depth_per_worker=parameters.depth,
            arrival=bursts(AT_ONCE_IOPS, count // of),
        )
        workload = Workload(
            [stream], duration_s=parameters.fill_time_s, volume_bytes=count, seed=seed
        )
        return Measurement(id, "written in sequence", workload, {"stage": stage})

    def overwrite(
        number: int, stage: str = "overwrite", count: int = chunk, **axes: int
    ) -> Measurement:
        stream = Stream.write(
            "random",
            OVERWRITE_BLOCK_BYTES,
            span_bytes=area,
            queue_depth_per_worker=parameters.depth,
        )
        workload = Workload(
            [stream], duration_s=parameters.time_s, volume_bytes=count, seed=seed + 1 + number
        )
        label = _LABELS[stage]
        return Measurement(f"{stage}/{number}", label, workload, {"stage": stage, **axes})

    def after_pauses() -> Adaptive:
        """Times in which the drive is read from, then pauses as long: what a pause gives may last
        beyond what is written after it. In the end it is used up, or what follows would have it."""
        numbers = itertools.count(CHUNKS)
        first = []
        for before, stage, iops in (
            ("waiting", "waited", WAITING_IOPS),
            ("pausing", "rested", ENDS / parameters.rest_s),
        ):
            for turn in range(1, PAUSES + 1):
                first.append(_reads(before, area, iops, parameters.rest_s, seed, turn))
                first.append(overwrite(next(numbers), stage, paused, turn=turn))
        again = [overwrite(next(numbers), "again") for _ in range(AGAIN_MAX)]

        def following(measured: MeasuredSoFar) -> tuple[Measurement, ...]:
            waited, used = (_pace(measured.of_stage(s)) for s in ("waited", "again"))
            done = len(used)
            if done >= AGAIN_MAX or (used and fmean(used[-AGAIN:]) >= _SLOW_AGAIN * fmean(waited)):
                return ()
            return tuple(again[done : done + AGAIN])

        return Adaptive(
            (),
            tuple(first),
            following,
            batches_max=1 + AGAIN_MAX // AGAIN,
            what="parts",
            later=again[0],
            later_count=AGAIN_MAX,
            continues=True,
        )

    def following(measured: MeasuredSoFar) -> tuple[Measurement, ...]:
        parts = [(one.write.bytes, one.write.elapsed_s) for one in measured.of_stage("overwrite")]
        if measured["fill"].write.bytes + measured["rest"].write.bytes < fill_bytes + rest_bytes:
            return ()
        overwritten = sum(count for count, _ in parts)
        cliff = find_cliff(parts)
        end = parameters.in_all * area
        if cliff is not None:
            end = min(end, CLIFFS_WATCHED * cliff.written_bytes)
        if overwritten >= end or sum(elapsed for _, elapsed in parts) >= parameters.time_s:
            return ()
        return tuple(overwrite(len(parts) + n) for n in range(BATCH))

    laid_bytes = max(chunk, min(LAID_BYTES_MIN, area // 32 // block * block))
    in_sequence = parameters.in_sequence
    if is_large(subject) and area < ROOMY_BYTES:
        in_sequence = min(in_sequence, LARGE_IN_SEQUENCE)
    count = int(in_sequence * area) // block * block
    laid = tuple(
        sequential("laid", f"laid/{n}", n * laid_bytes, laid_bytes, block) for n in range(LAID)
    )
    # Written in sequence, a drive that cannot be trimmed has spare blocks without valid data, too.
    # In real time that would wear a drive for hours.
    renews = subject.no_trim_reason is not None and subject.kind == "simulated"
    emptying: tuple[Measurement, ...] = (
        tuple(
            sequential("renewed", f"renewed/{n}", 0, fill_bytes, fill_block) for n in range(RENEWED)
        )
        if renews
        else tuple(overwrite(2 * CHUNKS + n, "trimmed") for n in range(AFTER_TRIM))
    )

    def beside(rate_bytes_per_second: float) -> Measurement:
        return _beside_reads(
            first=LAID * laid_bytes,
            count=count,
            seconds=parameters.read_time_s,
            rate_bytes_per_second=rate_bytes_per_second,
            seed=seed,
        )

    def after_laying(measured: MeasuredSoFar) -> tuple[Measurement, ...]:
        last = measured[f"laid/{LAID - 1}"].write
        partly = any(one.write.bytes < fill_bytes for one in measured.of_stage("renewed"))
        if "beside" in measured or last.bytes < laid_bytes or partly:
            return ()
        return (beside(BESIDE_PACE * last.bytes / last.elapsed_s),)

    return Plan(
        {
            "fill": f"{subject.extent(area)}, {chosen_size(fill_block)}, all due at once, but for "
            f"the last {chosen_size(rest_bytes)}, before which data is read",
            "overwritten at random": f"{chosen_size(OVERWRITE_BLOCK_BYTES)}, in parts of "
            f"{chosen_size(chunk)}, until {CLIFFS_WATCHED:g} times as much is written as it took "
            f"to the cliff, at most {show_percent(parameters.in_all)} of the drive",
            "pauses": f"{PAUSES} times {parameters.rest_s:g} s of reads, then as many pauses; "
            f"{chosen_size(paused)} at random after each, and up to {AGAIN_MAX} parts more "
            "until it is as slow as before",
            **(
                {"written again": f"all, {RENEWED} times in sequence, as it cannot be trimmed"}
                if renews
                else {"TRIM": f"of everything, then {AFTER_TRIM} parts more"}
            ),
            "erasures": f"at most {show_percent(in_sequence)} of the drive in sequence, "
            f"with reads of {chosen_size(READ_BLOCK_BYTES)} meanwhile",
            "queue depth": str(parameters.depth),
            "data": "incompressible",
        },
        (
            Adaptive(
                (Purge(),),
                (
                    sequential("fill", "fill", 0, fill_bytes, fill_block),
                    _after_fill(probed_bytes(subject), parameters.depth, seed),
                    sequential("rest", "rest", fill_bytes, rest_bytes, fill_block),
                ),
                following,
                batches_max=2 + CHUNKS // BATCH,
                what="parts",
                later=overwrite(0),
                later_count=ceil(parameters.in_all * CHUNKS / BATCH) * BATCH,
            ),
            after_pauses(),
            Adaptive(
                () if renews else (Trim(),),
                (*emptying, *laid),
                after_laying,
                batches_max=2,
                what="measurements",
                later=beside(WRITTEN_BYTES_PER_SECOND),
                later_count=1,
                continues=True,
            ),
        ),
        (Chart("seconds", "Overwriting at random, by the second", "mbps", ids="overwrite/"),),
    )


_LABELS = {
    "overwrite": "overwritten at random",
    "waited": "overwritten after small reads",
    "rested": "overwritten after a pause",
    "again": "overwritten again",
    "trimmed": "overwritten after TRIM",
}


def _pace(parts: Sequence[Recording]) -> list[float]:
    """Seconds per byte of parts, in order."""
    return [one.write.elapsed_s / max(one.write.bytes, 1) for one in parts]


def _reads(stage: str, area: int, iops: float, seconds: float, seed: int, turn: int) -> Measurement:
    stream = Stream.read("random", 4 * KIB, span_bytes=area, arrival=fixed_rate(iops))
    workload = Workload([stream], duration_s=seconds, seed=seed + turn)
    return Measurement(f"{stage}/{turn}", "small reads", workload, {"stage": stage})


def _after_fill(count: int, depth: int, seed: int) -> Measurement:
    """Large reads of the first ``count`` bytes: heat slows down these as well, and a cache that is
    full of writes does not."""
    stream = Stream.read(
        "sequential", AFTER_FILL_BLOCK_BYTES, span_bytes=count, queue_depth_per_worker=depth
    )
    workload = Workload([stream], duration_s=AFTER_FILL_S, ramp_s=AFTER_FILL_RAMP_S, seed=seed)
    return Measurement("after-fill", "large reads", workload, {"stage": "after-fill"})


def _beside_reads(
    *, first: int, count: int, seconds: float, rate_bytes_per_second: float, seed: int
) -> Measurement:
    """Up to ``count`` bytes written in sequence from ``first`` on, and reads of a few places."""
    write = Stream.write(
        "sequential",
        BESIDE_BLOCK_BYTES,
        offset_bytes=first,
        span_bytes=count,
        queue_depth_per_worker=DEPTH,
        arrival=fixed_rate(rate_bytes_per_second / BESIDE_BLOCK_BYTES),
    )
    read = Stream.read(
        "random",
        READ_BLOCK_BYTES,
        span_bytes=READ_PLACES * READ_DISTANCE_BYTES,
        alignment_bytes=READ_DISTANCE_BYTES,
    )
    seconds = min(seconds, count / rate_bytes_per_second)
    workload = Workload([write, read], duration_s=seconds, seed=seed, log_ios=LOGGED_IOS)
    return Measurement("beside", "reads during sequential writes", workload, {"stage": "beside"})


DEFINITION = Definition(
    name="probe-overwrite",
    title="Probe: a full drive overwritten",
    source="Desnoyers (SYSTOR 2012): write amplification; SSDcheck (Kim et al. 2018): the volume "
    "between collections",
    purpose="Spare area, the unit that is erased at a time, and how collection disturbs.",
    plan=plan,
    parameters=Parameters,
)
