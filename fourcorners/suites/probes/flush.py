"""Small writes, flushed and forced ones: is what is written durable, and what does it take."""

from dataclasses import dataclass

from fourcorners.suites.common import KIB
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, SECONDS, SIZE, parameter
from fourcorners.suites.probes.common import interleaved, probed_bytes
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Chart, Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream, Workload, fixed_rate

FILLED_BYTES_MAX = 2**30
ROUNDS = 3
LONGEST_S = 10.0


@dataclass(frozen=True)
class Parameters:
    """Of the probe."""

    block_bytes: int = parameter(SIZE, 4 * KIB, "block size")
    apart_s: float = parameter(SECONDS, 0.025, "from one plain write or read to the next")
    writes: int = parameter(COUNT, 40, "of each kind, in each of three rounds")


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """Random writes, one at a time: so far apart that a buffer is empty again; each followed by a
    flush; each forced. And reads, as far apart."""
    span = min(probed_bytes(subject), FILLED_BYTES_MAX)
    block = max(parameters.block_bytes, subject.request_alignment_bytes)
    apart = fixed_rate(1 / parameters.apart_s)
    kinds = {
        "plain": Stream.write("random", block, span_bytes=span, arrival=apart),
        "flushed": Stream.write("random", block, span_bytes=span, flush_every_writes=1),
        "forced": Stream.write("random", block, span_bytes=span, fua=True),
        "read": Stream.read("random", block, span_bytes=span, arrival=apart),
    }
    points = [
        Measurement(
            f"{kind}/{number}",
            f"{kind}, round {number}",
            Workload(
                [stream],
                seconds=LONGEST_S,
                transfer_bytes=parameters.writes * block,
                seed=seed + number,
            ),
            {"kind": kind, "turn": number},
        )
        for number in range(1, ROUNDS + 1)
        for kind, stream in kinds.items()
    ]
    return Plan(
        {
            "writes": f"{chosen_size(block)}, random, one at a time, {parameters.writes} of each "
            f"kind in each of {ROUNDS} rounds",
            "kinds": f"plain, {parameters.apart_s:g} s apart; each flushed; each forced (FUA); and "
            "reads",
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
