"""A whole drive filled, overwritten in sequence, then at random: spare area, erase unit, stalls."""

from dataclasses import dataclass

from fourcorners.analysis.internals.erase_unit import EVENTS_MIN, erase_cycle, excess
from fourcorners.analysis.internals.spare_area import CLIFFS_WATCHED, find_cliff
from fourcorners.suites.common import KIB
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, PAUSE, SECONDS, SHARE, parameter, show_percent
from fourcorners.suites.steps import Purge, Rest, Trim
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Adaptive, Chart, Measured, Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream, Workload, bursts

FILL_BLOCK_BYTES = 128 * KIB
OVERWRITE_BLOCK_BYTES = 16 * KIB
"""Random writes of less cost drives with larger mapping units a read; larger ones leave whole
blocks without valid data."""
DEPTH = 32
CHUNKS = 256
"""A drive is written in so many parts, each a recording."""
REFERENCE_CHUNKS = 8
"""Last parts of the fill, before anything is erased."""
BURST_IOS_MAX = 2**20
AT_ONCE_IOPS = 1e9
AFTERWARDS = 4
"""Parts overwritten at random after a pause, and after TRIM."""
_LABELS = {
    "overwrite": "overwritten at random",
    "rested": "overwritten after a pause",
    "trimmed": "overwritten after TRIM",
}
_BATCH = 8
_FINE_BATCH = 24
_FINE_BATCHES_MAX = 5
_FINE_SHARE = 0.04
"""Of the drive, beyond what is rewritten until erases show, for a closer look at them."""


@dataclass(frozen=True)
class Parameters:
    """Of the probe."""

    depth: int = parameter(COUNT, DEPTH, "queue depth")
    in_sequence: float = parameter(SHARE, 0.22, "of the drive that is rewritten in sequence")
    in_all: float = parameter(SHARE, 0.57, "of the drive that is rewritten in all")
    fill_time_s: float = parameter(SECONDS, 1500.0, "longest for the fill")
    time_s: float = parameter(SECONDS, 900.0, "longest for the overwriting at random")
    rest_s: float = parameter(PAUSE, 10.0, "pause, to see whether it makes the drive faster")


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """The fill is one burst, all of it due at once, so that its latencies are times since its
    start; then parts of the drive one after the other, each a recording."""
    if not subject.keeps_state:
        return Plan({}, (), skip_reason="earlier writes do not change this drive's speed")
    block = FILL_BLOCK_BYTES
    area = subject.area_bytes // block * block
    chunk = max(area // CHUNKS // block, 1) * block
    fill_bytes = area - REFERENCE_CHUNKS * chunk
    fill_block = block
    while fill_bytes // fill_block > BURST_IOS_MAX:
        fill_block *= 2
    fill_bytes -= fill_bytes % fill_block

    def sequential(
        id: str, label: str, stage: str, offset: int, count: int, of: int = block, **axes: int
    ) -> Measurement:
        stream = Stream.write(
            "sequential",
            of,
            offset_bytes=offset,
            span_bytes=count,
            queue_depth=parameters.depth,
            arrival=bursts(AT_ONCE_IOPS, count // of),
        )
        workload = Workload(
            [stream], seconds=parameters.fill_time_s, transfer_bytes=count, seed=seed
        )
        return Measurement(id, label, workload, {"stage": stage, "offset_bytes": offset, **axes})

    fill = sequential("fill", "fill", "fill", 0, fill_bytes, fill_block)
    reference = tuple(
        sequential(f"filled/{n}", "the fill's end", "filled", fill_bytes + n * chunk, chunk)
        for n in range(REFERENCE_CHUNKS)
    )

    def rewrite(number: int, offset: int, count: int) -> Measurement:
        return sequential(f"rewrite/{number}", "rewritten in sequence", "rewrite", offset, count)

    def overwrite(number: int, stage: str = "overwrite") -> Measurement:
        stream = Stream.write(
            "random", OVERWRITE_BLOCK_BYTES, span_bytes=area, queue_depth=parameters.depth
        )
        workload = Workload(
            [stream], seconds=parameters.time_s, transfer_bytes=chunk, seed=seed + 1 + number
        )
        return Measurement(f"{stage}/{number}", _LABELS[stage], workload, {"stage": stage})

    def again(stage: str, first: int) -> tuple[Measurement, ...]:
        return tuple(overwrite(first + n, stage) for n in range(AFTERWARDS))

    def following(measured: Measured) -> tuple[Measurement, ...]:
        parts = {
            stage: [
                (one.write.bytes, one.write.elapsed_s)
                for id, one in measured.items()
                if id.startswith(stage)
            ]
            for stage in ("filled", "rewrite", "overwrite")
        }
        if measured["fill"].write.bytes < fill_bytes:
            return ()
        rewritten = sum(count for count, _ in parts["rewrite"])
        done = len(parts["rewrite"])
        if not parts["overwrite"]:
            size, number = _next_rewrite(parts["filled"], parts["rewrite"], chunk, block)
            share = parameters.in_sequence + (_FINE_SHARE if size < chunk else 0.0)
            room = int(share * area) - rewritten
            number = min(number, room // size)
            if number > 0:
                return tuple(rewrite(done + n, rewritten + n * size, size) for n in range(number))
        spent_s = sum(elapsed for _, elapsed in parts["overwrite"])
        overwritten = sum(count for count, _ in parts["overwrite"])
        cliff = find_cliff(parts["overwrite"])
        end = parameters.in_all * area - rewritten
        if cliff is not None:
            end = min(end, CLIFFS_WATCHED * cliff.written_bytes)
        if overwritten >= end or spent_s >= parameters.time_s:
            return ()
        first = len(parts["overwrite"])
        return tuple(overwrite(first + n) for n in range(_BATCH))

    return Plan(
        {
            "fill": f"{subject.extent(area)}, {chosen_size(fill_block)}, all due at once",
            "rewritten in sequence": f"{chosen_size(block)}, in parts, until erases show, at most "
            f"{show_percent(parameters.in_sequence)} of the drive",
            "overwritten at random": f"{chosen_size(OVERWRITE_BLOCK_BYTES)}, in parts of "
            f"{chosen_size(chunk)}, until {CLIFFS_WATCHED:g} times as much is written as it took "
            f"to the cliff, at most {show_percent(parameters.in_all)} of the drive in all",
            "then": f"a pause of {parameters.rest_s:g} s, and TRIM of everything; after each "
            f"{AFTERWARDS} parts more",
            "queue depth": str(parameters.depth),
            "data": "incompressible",
        },
        (
            Adaptive(
                (Purge(),),
                (fill, *reference),
                following,
                batches_max=2 + CHUNKS // _BATCH + _FINE_BATCHES_MAX,
                what="parts",
                later=overwrite(0),
                later_count=round(parameters.in_all * CHUNKS),
            ),
            Phase((Rest(parameters.rest_s),), again("rested", CHUNKS), continues=True),
            Phase((Trim(),), again("trimmed", CHUNKS + AFTERWARDS), continues=True),
        ),
        (Chart("seconds", "Overwriting at random, by the second", "mbps", ids="overwrite/"),),
    )


def _next_rewrite(
    reference: list[tuple[int, float]], parts: list[tuple[int, float]], chunk: int, block: int
) -> tuple[int, int]:
    """Size and number of the next parts; none when the erase unit is known, or cannot be."""
    fine = [count for count, _ in parts if count < chunk]
    cycle = erase_cycle(reference, parts)
    if cycle is None:
        if fine or sum(excess(reference, parts)) < 2:
            return (chunk, _BATCH) if not fine else (block, 0)
        return max(chunk // 4 // block, 1) * block, _FINE_BATCH
    smallest = min(fine, default=chunk)
    if cycle.events >= EVENTS_MIN and smallest <= cycle.unit_bytes / 4:
        return block, 0
    if len(fine) >= _FINE_BATCHES_MAX * _FINE_BATCH:
        return block, 0
    size = max(int(cycle.unit_bytes / 6) // block, 1) * block
    return min(size, smallest), _FINE_BATCH


DEFINITION = Definition(
    name="probe-overwrite",
    title="Probe: a full drive overwritten",
    source="Desnoyers (SYSTOR 2012): write amplification; SSDcheck (Kim et al. 2018): the volume "
    "between collections",
    purpose="Spare area, the unit that is erased at a time, and how collection disturbs.",
    plan=plan,
    parameters=Parameters,
)
