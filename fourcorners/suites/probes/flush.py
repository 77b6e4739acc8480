"""Small writes, flushed and forced ones: is what is written durable, and what does it take."""

import itertools
from dataclasses import dataclass
from typing import Any

from fourcorners.manifest import Chart
from fourcorners.patterns import fixed_rate
from fourcorners.suites.common import KIB
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, SECONDS, SIZE, parameter
from fourcorners.suites.probes.common import interleaved, probed_bytes
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream, Workload

FILLED_BYTES_MAX = 2**30
"""More than a drive keeps in memory, and filled in seconds."""
ROUNDS = 3
"""The fewest whose scatter says how well a round is repeated."""
LONGEST_S, FLUSHED_S = 10.0, 0.5
"""Of a round of plain writes, ten times what its pace needs; and of flushed ones, tens of them on
a disk, hundreds on flash."""


@dataclass(frozen=True)
class Parameters:
    """Of the probe."""

    block_bytes: int = parameter(SIZE, 4 * KIB, "block size")
    apart_s: float = parameter(SECONDS, 0.025, "from one plain write or read to the next")
    writes: int = parameter(COUNT, 40, "plain, forced, or reads, in each of three rounds")


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """Writes, one at a time: plain ones so far apart that a buffer is empty again; forced ones; and
    random ones that are each followed by a flush. And random reads, as far apart; without pauses
    reads of a single place, between writes to it and without such."""
    span = min(probed_bytes(subject), FILLED_BYTES_MAX)
    block = max(parameters.block_bytes, subject.request_alignment_bytes)
    apart = fixed_rate(1 / parameters.apart_s)
    kinds = {
        # In sequence, which costs no drive more than the writes themselves.
        "plain": Stream.write("sequential", block, span_bytes=span, arrival=apart),
        "forced": Stream.write("sequential", block, span_bytes=span, arrival=apart, fua=True),
        "flushed": Stream.write("random", block, span_bytes=span, flush_every_writes=1),
        "read": Stream.read("random", block, span_bytes=span, arrival=apart),
        "just written": Stream(
            read_share=0.5, pattern="random", block_bytes=block, span_bytes=block
        ),
        "just read": Stream.read("random", block, span_bytes=block),
    }
    counted: dict[str, Any] = {
        "duration_s": LONGEST_S,
        "volume_bytes": parameters.writes * block,
    }
    # What was written before is on the medium when the first one counts.
    flushed: dict[str, Any] = {"duration_s": FLUSHED_S, "ramp_s": parameters.apart_s}
    # Each kind has places of its own: what was just written would be on dies in a fixed order.
    points = [
        Measurement(
            f"{kind.replace(' ', '-')}/{turn}",
            f"{kind}, round {turn}",
            Workload(
                [stream],
                seed=seed + number,
                **(flushed if kind == "flushed" else counted),
            ),
            {"kind": kind, "turn": turn},
        )
        for number, (turn, (kind, stream)) in enumerate(
            itertools.product(range(1, ROUNDS + 1), kinds.items())
        )
    ]
    return Plan(
        {
            "writes": f"{chosen_size(block)}, one at a time, in {ROUNDS} rounds: "
            f"{parameters.writes} plain and {parameters.writes} forced ones (FUA) in sequence, "
            f"{parameters.apart_s:g} s apart; random ones, each flushed, for {FLUSHED_S:g} s",
            "reads": f"random, {parameters.apart_s:g} s apart; of one place without pauses, "
            "between writes to it and without such",
            "span": subject.alone(span, ", filled"),
        },
        (
            Phase(
                (Purge(), Fill(span), settle()),
                interleaved(points, span_bytes=span, seed=seed),
            ),
        ),
        (Chart("dots", "Latency by kind", "latency_mean", "turn", series=("kind",), log="y"),),
    )


DEFINITION = Definition(
    name="probe-flush",
    title="Probe: flushes and forced writes",
    source="fio's fsync and fua; Zheng et al. (FAST 2013): what a loss of power takes",
    purpose="Whether the write cache is volatile, what a flush costs, and whether capacitors make "
    "it free.",
    plan=plan,
    parameters=Parameters,
)
