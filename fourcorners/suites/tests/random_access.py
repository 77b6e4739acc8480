"""4 KiB random access of the OWC and Vertex 3 reviews: aligned and not, reads, data that can and
cannot be shortened; access times; write cache on and off."""

from collections.abc import Iterable
from dataclasses import dataclass

from fourcorners.suites.common import (
    KIB,
    POWERS_TO_256,
    SPAN_BYTES,
    Operation,
    access,
    listed,
    timed,
)
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import CONTENT, COUNT, SECONDS, SIZE, many, parameter
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Chart, Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import INCOMPRESSIBLE, REPEATED

BLOCK_BYTES = 4 * KIB
RANDOM_S = 180.0
"""The reviews' three minutes."""
CONTENTS = (INCOMPRESSIBLE, REPEATED)
SECTOR_BYTES = 512
_LATENCIES = Chart("percentiles", "Latency percentiles", "latency", series=("label",))


def random_writes(
    span_bytes: int,
    seconds: float,
    *,
    depths: Iterable[int] = (3,),
    contents: Iterable[str] = CONTENTS,
    alignment_bytes: int | None = None,
    prefix: str = "random-write",
    seed: int = 1,
) -> Phase:
    """4 KiB random writes over a span that holds data, on an otherwise empty drive. Where the
    alignment is what is compared, every label says it; else it is the block size."""
    alignment = alignment_bytes or BLOCK_BYTES
    aligned = f", aligned to {chosen_size(alignment)}" if alignment_bytes else ""
    return Phase(
        (Purge(), Fill(span_bytes)),
        tuple(
            timed(
                f"{prefix}/{depth}/{content}",
                f"4 KiB random write, queue depth {depth}, {content} data{aligned}",
                access(
                    "write",
                    "random",
                    BLOCK_BYTES,
                    span_bytes=span_bytes,
                    alignment_bytes=alignment,
                    queue_depth=depth,
                    content=content,
                ),
                seconds,
                seed=seed,
                alignment_bytes=alignment,
            )
            for depth in depths
            for content in contents
        ),
    )


def random_reads(
    filled_bytes: int,
    span_bytes: int,
    seconds: float,
    depths: Iterable[int] = (3,),
    *,
    seed: int = 1,
) -> Phase:
    """4 KiB random reads over a span of a full drive."""
    return Phase(
        (Purge(), Fill(filled_bytes), settle()),
        tuple(
            timed(
                f"random-read/{depth}",
                f"4 KiB random read, queue depth {depth}",
                access("read", "random", BLOCK_BYTES, span_bytes=span_bytes, queue_depth=depth),
                seconds,
                seed=seed,
            )
            for depth in depths
        ),
    )


@dataclass(frozen=True)
class AlignedParameters:
    """Of the OWC review."""

    depth: int = parameter(COUNT, 3, "concurrent I/Os")
    span_bytes: int = parameter(SIZE, SPAN_BYTES, "span")
    time_s: float = parameter(SECONDS, RANDOM_S, "each alignment")
    content: str = parameter(CONTENT, REPEATED, "data; Iometer's of 2010 repeat one block")


def plan_aligned(subject: Subject, parameters: AlignedParameters, seed: int) -> Plan:
    """4 KiB random writes aligned to 4 KiB, and to sectors only, as a partition of Windows XP."""
    span = subject.span_bytes(parameters.span_bytes)
    sector = subject.request_alignment_bytes
    phases = tuple(
        random_writes(
            span,
            parameters.time_s,
            depths=(parameters.depth,),
            contents=(parameters.content,),
            alignment_bytes=alignment,
            prefix=f"aligned-{alignment}",
            seed=seed,
        )
        for alignment in dict.fromkeys((BLOCK_BYTES, sector))
    )
    shown = {
        "block size": "4 KiB, random",
        "queue depth": str(parameters.depth),
        "alignment": f"4 KiB, then {chosen_size(sector)}",
        "span": subject.alone(span),
        "data": parameters.content,
        "time": f"{parameters.time_s:g} s each",
    }
    if sector >= BLOCK_BYTES:
        shown["alignment"] = "4 KiB"
        shown["left out"] = "512 B: direct I/O cannot address it here"
    return Plan(shown, phases, (_LATENCIES,))


ALIGNED_WRITES = Definition(
    name="aligned-writes",
    title="Aligned and unaligned writes",
    source="owc",
    purpose="What writes cost that do not begin where the drive's own units do.",
    plan=plan_aligned,
    parameters=AlignedParameters,
)


@dataclass(frozen=True)
class WriteParameters:
    """Of the Vertex 3 review."""

    depths: tuple[int, ...] = parameter(many(COUNT), (3, 32), "queue depths")
    contents: tuple[str, ...] = parameter(many(CONTENT), CONTENTS, "data")
    span_bytes: int = parameter(SIZE, SPAN_BYTES, "span")
    time_s: float = parameter(SECONDS, RANDOM_S, "each")


def plan_writes(subject: Subject, parameters: WriteParameters, seed: int) -> Plan:
    """4 KiB random writes over 8 GB of an otherwise empty drive, by queue depth and data."""
    span = subject.span_bytes(parameters.span_bytes)
    phase = random_writes(
        span,
        parameters.time_s,
        depths=parameters.depths,
        contents=parameters.contents,
        prefix="write",
        seed=seed,
    )
    return Plan(
        {
            "block size": "4 KiB, random",
            "queue depths": listed(parameters.depths),
            "data": " and ".join(_explained(content) for content in parameters.contents),
            "span": subject.alone(span),
            "time": f"{parameters.time_s:g} s each",
        },
        (phase,),
        (_LATENCIES,),
    )


def _explained(content: str) -> str:
    if content == REPEATED:
        return "repeated (one random block in every write: can be deduplicated, not compressed)"
    return content


RANDOM_WRITES = Definition(
    name="random-writes",
    title="Random writes",
    source="vertex3",
    purpose="The highest and the lowest rate of a controller that compresses or deduplicates.",
    plan=plan_writes,
    parameters=WriteParameters,
)


@dataclass(frozen=True)
class ReadParameters:
    """Of the reviews; queue depth 1 is what readers call the single best figure of merit."""

    depths: tuple[int, ...] = parameter(many(COUNT), (1, 3, 32), "queue depths")
    span_bytes: int = parameter(SIZE, SPAN_BYTES, "span")
    time_s: float = parameter(SECONDS, RANDOM_S, "each")


def plan_reads(subject: Subject, parameters: ReadParameters, seed: int) -> Plan:
    """4 KiB random reads over 8 GB of a full drive, by queue depth."""
    span = subject.span_bytes(parameters.span_bytes)
    return Plan(
        {
            "block size": "4 KiB, random",
            "queue depths": listed(parameters.depths),
            "span": f"{subject.extent(span)} of a full drive",
            "time": f"{parameters.time_s:g} s each",
        },
        (random_reads(subject.area_bytes, span, parameters.time_s, parameters.depths, seed=seed),),
        (_LATENCIES,),
    )


RANDOM_READS = Definition(
    name="random-reads",
    title="Random reads",
    source="owc, vertex3",
    purpose="How long a small read takes, alone and among others.",
    plan=plan_reads,
    parameters=ReadParameters,
)


@dataclass(frozen=True)
class AccessParameters:
    """Of access-time tests (HD Tune, AS SSD)."""

    blocks_bytes: tuple[int, ...] = parameter(many(SIZE), (512, 4 * KIB), "block sizes")
    time_s: float = parameter(SECONDS, 30.0, "each")


def plan_access(subject: Subject, parameters: AccessParameters, seed: int) -> Plan:
    """One random access at a time over the whole drive, read and write."""
    area = subject.area_bytes
    blocks = [b for b in parameters.blocks_bytes if b % subject.request_alignment_bytes == 0]

    def measure(operation: Operation) -> tuple[Measurement, ...]:
        return tuple(
            timed(
                f"{operation}/{block}",
                f"{chosen_size(block)} random {operation}, queue depth 1",
                access(operation, "random", block, span_bytes=area),
                parameters.time_s,
                seed=seed,
            )
            for block in blocks
        )

    shown = {
        "block sizes": listed([chosen_size(block) for block in blocks]),
        "queue depth": "1",
        "span": subject.extent(area),
        "time": f"{parameters.time_s:g} s each",
    }
    if left := [chosen_size(b) for b in parameters.blocks_bytes if b not in blocks]:
        shown["left out"] = f"{listed(left)}: direct I/O cannot address it here"
    return Plan(
        shown,
        (Phase((Purge(), Fill(area), settle()), measure("read")), Phase((), measure("write")))
        if blocks
        else (),
        (_LATENCIES,),
        None if blocks else "the target can address none of the sizes",
    )


ACCESS_TIME = Definition(
    name="access-time",
    title="Access time",
    source="core, owc",
    purpose="How long a single access takes on a drive that is full.",
    plan=plan_access,
    parameters=AccessParameters,
)


@dataclass(frozen=True)
class CacheParameters:
    """Of the write cache: the outstanding-I/O sweep of writes, with the cache and without."""

    depths: tuple[int, ...] = parameter(many(COUNT), POWERS_TO_256, "outstanding I/Os")
    block_bytes: int = parameter(SIZE, 64 * KIB, "block size")
    span_bytes: int = parameter(SIZE, SPAN_BYTES, "span, of drives whose past matters")
    time_s: float = parameter(SECONDS, 30.0, "each depth")
    ramp_s: float = parameter(SECONDS, 2.0, "before each depth")


def plan_cache(subject: Subject, parameters: CacheParameters, seed: int) -> Plan:
    """Random writes by outstanding I/Os, with the drive's cache, and each forced to the medium."""
    span = subject.span_bytes(parameters.span_bytes) if subject.keeps_state else subject.area_bytes

    def measure(forced: bool) -> tuple[Measurement, ...]:
        cache = "off" if forced else "on"
        return tuple(
            timed(
                f"cache-{cache}/{depth}",
                f"{chosen_size(parameters.block_bytes)} random write, queue depth {depth}, "
                f"cache {cache}",
                access(
                    "write",
                    "random",
                    parameters.block_bytes,
                    span_bytes=span,
                    queue_depth=depth,
                    fua=forced,
                ),
                parameters.time_s,
                ramp_s=parameters.ramp_s,
                seed=seed,
                cache=f"cache {cache}",
            )
            for depth in parameters.depths
        )

    return Plan(
        {
            "block size": f"{chosen_size(parameters.block_bytes)}, random",
            "queue depths": listed(parameters.depths),
            "cache off": "every write is forced to the medium (FUA), which is what a drive does "
            "whose write cache is off",
            "span": subject.extent(span),
            "time": f"{parameters.time_s:g} s each, {parameters.ramp_s:g} s ramp",
        },
        tuple(Phase((Purge(), Fill(span), settle()), measure(forced)) for forced in (False, True)),
        (
            Chart(
                "lines", "Writes, throughput", "mbps", "queue_depth", series=("cache",), log="xy"
            ),
            Chart(
                "lines",
                "Writes, mean latency",
                "latency_mean",
                "queue_depth",
                series=("cache",),
                log="xy",
            ),
        ),
    )


WRITE_CACHE = Definition(
    name="write-cache",
    title="Write cache",
    source="core",
    purpose="What the drive's write cache brings, and how many outstanding writes make up for it.",
    plan=plan_cache,
    parameters=CacheParameters,
)
