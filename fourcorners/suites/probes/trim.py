"""Reads of what was trimmed in parts of every size: which parts a drive forgets."""

from dataclasses import dataclass

from fourcorners.manifest import Chart
from fourcorners.patterns import strided
from fourcorners.suites.common import KIB, MIB
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import SIZE, parameter
from fourcorners.suites.probes.common import interleaved, probed_bytes
from fourcorners.suites.steps import Fill, Purge, TrimParts, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream, Workload

READ_BYTES = 4 * KIB
REGION_BYTES_MAX = 32 * MIB
PARTS_MAX = 64
"""Of each size, so that their mean is known to an eighth of their scatter."""
TAIL_BYTES = 32 * MIB
"""Written last, and not read: more than a small cache keeps of what was written."""
LONGEST_S = 1.0


@dataclass(frozen=True)
class Parameters:
    """Of the probe."""

    smallest_bytes: int = parameter(SIZE, 4 * KIB, "of the parts")
    largest_bytes: int = parameter(SIZE, 2 * MIB, "of the parts")


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """Trims every other part of a region that was written, for parts of each power of two.
    Then the first 4 KiB of trimmed parts, of the parts between them and of places that were never
    written are read one at a time, each once, because a cache would answer the second read.
    """
    reason = _skip_reason(subject)
    if reason is not None:
        return Plan({}, (), skip_reason=reason)
    smallest = max(parameters.smallest_bytes, READ_BYTES, subject.request_alignment_bytes)
    steps, points, written = [], [], 0
    size = smallest
    while size <= parameters.largest_bytes:
        count = min(REGION_BYTES_MAX // (2 * size), PARTS_MAX)
        region = 2 * size * count
        # What is written, as much again, and room for what was never written.
        if written + region > min(probed_bytes(subject), subject.area_bytes // 5):
            break
        steps.append(TrimParts(written, size, 2 * size, count))
        for kind, offset in (("trimmed", written), ("kept", written + size)):
            # The last part of those between is followed by the next region.
            points.append(_reads(kind, offset, size, count, seed))
        written += region
        size *= 2
    if not points:
        return Plan({}, (), skip_reason="the part of it that is used is too small")
    # Multiples of the largest part, so that regions begin at their own parts' multiples.
    filled = written + min(TAIL_BYTES, written)
    points.append(_reads("never written", 2 * filled, smallest, PARTS_MAX, seed))
    return Plan(
        {
            "parts": f"{chosen_size(smallest)} to {chosen_size(size // 2)} by powers of two, every "
            f"other one trimmed, at most {PARTS_MAX} of each",
            "reads": f"{chosen_size(READ_BYTES)} at the start of parts, one at a time",
            "span": f"{subject.extent(filled)}, filled; the rest empty",
        },
        (
            Phase(
                (Purge(), Fill(filled), settle(), *steps),
                interleaved(points, span_bytes=written, seed=seed),
            ),
        ),
        (
            Chart(
                "lines",
                "Latency by size of part",
                "latency_mean",
                "part_bytes",
                series=("kind",),
                log="x",
            ),
        ),
    )


def _skip_reason(subject: Subject) -> str | None:
    """The reason to skip the probe; ``None`` if it can run."""
    if not subject.writable:
        return "it writes, and the target is opened for reading only"
    if subject.kind == "file":
        return (
            "a file system answers reads of what was given back of a file by itself, so that only "
            "a device shows what the drive forgets"
        )
    if not subject.keeps_state:
        return "earlier writes do not change this drive's speed"
    return subject.no_trim_reason


def _reads(kind: str, offset: int, part_bytes: int, count: int, seed: int) -> Measurement:
    stream = Stream.read(
        strided(2 * part_bytes),
        READ_BYTES,
        offset_bytes=offset,
        span_bytes=2 * part_bytes * (count - 1) + READ_BYTES,
        alignment_bytes=2 * part_bytes,
    )
    return Measurement(
        f"{kind.replace(' ', '-')}/{part_bytes}",
        f"{kind}, {chosen_size(part_bytes)}",
        Workload([stream], duration_s=LONGEST_S, ios=count, seed=seed),
        {"kind": kind, "part_bytes": part_bytes},
    )


DEFINITION = Definition(
    name="probe-trim",
    title="Probe: TRIM in parts",
    source="NVMe's deallocation granularity (NPDG); reads without flash: drives answer what they "
    "do not map by themselves",
    purpose="How large a part must be for the drive to forget it by TRIM.",
    plan=plan,
    parameters=Parameters,
)
