"""Latency under load at a given rate, up to saturation."""

from collections.abc import Callable
from dataclasses import dataclass

from fourcorners.analysis.load import Load, bracket
from fourcorners.manifest import Chart
from fourcorners.patterns import CLOSED_LOOP, bursts, fixed_rate, poisson_rate
from fourcorners.recording import Recording
from fourcorners.suites.common import KIB, SPAN_BYTES, listed, timed
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import (
    COUNT,
    SECONDS,
    SHARE,
    SIZE,
    TIME,
    choice,
    many,
    parameter,
    show_percent,
)
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Adaptive, MeasuredSoFar, Measurement
from fourcorners.wording import arrivals, chosen_size
from fourcorners.workload import Stream

# More I/Os outstanding than any drive serves at once, so that they wait in the drive.
CLOSED_DEPTH = 32
OPEN_DEPTH = 1024
_PERCENTILES = {"50": 50.0, "90": 90.0, "99": 99.0, "99.9": 99.9, "99.99": 99.99}
BURST_IOS = 32


def _bursts(iops: float) -> str:
    return bursts(iops, BURST_IOS)


_ARRIVALS: dict[str, Callable[[float], str]] = {
    "fixed": fixed_rate,
    "poisson": poisson_rate,
    "bursts": _bursts,
}


@dataclass(frozen=True)
class Parameters:
    """Of latency under load."""

    arrivals: tuple[str, ...] = parameter(
        many(choice(*_ARRIVALS)), tuple(_ARRIVALS), "how requests become due (bursts: of 32)"
    )
    limit_s: float = parameter(TIME, 0.01, "latency limit, from when a request was due")
    percentile: str = parameter(
        choice(*_PERCENTILES), "99", "percent of the I/Os that must keep the limit"
    )
    loads: tuple[float, ...] = parameter(
        many(SHARE), tuple(step / 10 for step in range(1, 11)), "shares of the highest rate"
    )
    halvings: int = parameter(COUNT, 4, "steps that narrow the sustained rate down")
    reads: float = parameter(SHARE, 1.0, "share of reads")
    block_bytes: int = parameter(SIZE, 4 * KIB, "block size")
    span_bytes: int = parameter(SIZE, SPAN_BYTES, "span")
    time_s: float = parameter(SECONDS, 30.0, "each rate")
    ramp_s: float = parameter(SECONDS, 2.0, "before each rate")


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """The highest rate in a closed loop first, then requests due at shares of it, then rates
    between the last that kept the latency limit and the first that did not."""
    span = subject.span_bytes(parameters.span_bytes)
    percent = _PERCENTILES[parameters.percentile]

    def stream(arrival: str, depth: int) -> Stream:
        return Stream(
            read_share=parameters.reads,
            pattern="random",
            block_bytes=parameters.block_bytes,
            span_bytes=span,
            queue_depth_per_worker=depth,
            arrival=arrival,
        )

    closed = timed(
        "closed-loop",
        f"{chosen_size(parameters.block_bytes)} random, queue depth {CLOSED_DEPTH}",
        stream(CLOSED_LOOP, CLOSED_DEPTH),
        parameters.time_s,
        seed=seed,
        ramp_s=parameters.ramp_s,
    )

    def offered(kind: str, iops: float) -> Measurement:
        # Whole requests a second name the recording; the same rate is never offered twice.
        rate = max(round(iops), 1)
        return timed(
            f"{kind}/{rate}",
            f"{rate:,} IOPS due, {arrivals(kind)}",
            stream(_ARRIVALS[kind](float(rate)), OPEN_DEPTH),
            parameters.time_s,
            seed=seed,
            ramp_s=parameters.ramp_s,
            arrival=kind,
            due_iops=rate,
            limit_s=parameters.limit_s,
            limit_percentile=percent,
        )

    def following(measured: MeasuredSoFar) -> tuple[Measurement, ...]:
        highest = measured["closed-loop"].iops
        if len(measured) == 1:
            return tuple(
                offered(kind, share * highest)
                for kind in parameters.arrivals
                for share in parameters.loads
            )
        batch = []
        for kind in parameters.arrivals:
            loads = [
                _load(one, percent) for id, one in measured.items() if id.startswith(f"{kind}/")
            ]
            best, failed = bracket(loads, parameters.limit_s)
            high = failed.offered_iops if failed else 2 * max(x.offered_iops for x in loads)
            low = best.offered_iops if best else 0.0
            next_one = offered(kind, (low + high) / 2)
            if next_one.id not in measured and high - low > 2:
                batch.append(next_one)
        return tuple(batch)

    count = len(parameters.arrivals)
    return Plan(
        {
            "block size": f"{chosen_size(parameters.block_bytes)}, random",
            "reads": show_percent(parameters.reads),
            "span": subject.alone(span),
            "arrivals": ", ".join(parameters.arrivals)
            + (f" of {BURST_IOS} at once" if "bursts" in parameters.arrivals else ""),
            "rates": f"{listed([show_percent(share) for share in parameters.loads])} of the highest"
            f" rate at queue depth {CLOSED_DEPTH}, then {parameters.halvings} steps between the "
            "last that kept the limit and the first that did not",
            "limit": f"{parameters.percentile} % of the I/Os within {parameters.limit_s:g} s from "
            "when they were due, every one issued, and the drive keeping up",
            "time": f"{parameters.time_s:g} s each, {parameters.ramp_s:g} s ramp",
        },
        (
            Adaptive(
                (Purge(), Fill(span), settle()),
                (closed,),
                following,
                batches_max=2 + parameters.halvings,
                what="batches",
                later=offered(parameters.arrivals[0], 1.0),
                later_count=count * (len(parameters.loads) + parameters.halvings),
            ),
        ),
        (
            Chart(
                "lines",
                f"Latency that {parameters.percentile} % of the I/Os keep",
                f"latency_p{parameters.percentile.replace('.', '')}",
                "due_iops",
                series=("arrival",),
                log="y",
            ),
            Chart(
                "lines", "Mean latency", "latency_mean", "due_iops", series=("arrival",), log="y"
            ),
        ),
    )


def _load(recording: Recording, percent: float) -> Load:
    offered = recording.offered
    assert offered is not None
    latencies = [one.latency_percentile_s(percent) for one in recording.operations.values()]
    slowest = max((value for value in latencies if value is not None), default=float("inf"))
    return Load(offered.iops, recording.iops, slowest, offered.unissued)


DEFINITION = Definition(
    name="latency-under-load",
    title="Latency under load",
    source="field practice: open-loop load generators",
    purpose="Which rate the drive sustains before its latency runs away.",
    plan=plan,
    parameters=Parameters,
)
