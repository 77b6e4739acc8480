"""Sweeps of the queue depth: the SATA comparison's steps of three, and the Core study's powers of
two with larger requests. Does more outstanding I/O bring more?"""

from collections.abc import Iterable
from dataclasses import dataclass

from fourcorners.suites.common import (
    KIB,
    OPERATIONS,
    POWERS_TO_256,
    SPAN_BYTES,
    Operation,
    access,
    listed,
    timed,
)
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, SECONDS, SIZE, many, parameter
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Chart, Measurement, Phase
from fourcorners.wording import chosen_size

# Steps of three up to the limit of native command queuing: "0 to 31" must mean 1 to 31, as the
# review's text speaks of 1, 4, 7 and 10.
DEPTHS = tuple(range(1, 32, 3))


@dataclass(frozen=True)
class Parameters:
    """Of both sweeps."""

    depths: tuple[int, ...] = parameter(many(COUNT), DEPTHS, "outstanding I/Os")
    block_bytes: int = parameter(SIZE, 4 * KIB, "block size")
    time_s: float = parameter(SECONDS, 90.0, "each depth")
    # The SATA review does not state the span. Its write rates need free space on the drive, so the
    # span is that of the four corners and the rest of the drive is empty.
    span_bytes: int = parameter(SIZE, SPAN_BYTES, "span, of drives whose past matters")


@dataclass(frozen=True)
class OutstandingParameters:
    """The Core study's: 64 KiB, powers of two."""

    depths: tuple[int, ...] = parameter(many(COUNT), POWERS_TO_256, "outstanding I/Os")
    block_bytes: int = parameter(SIZE, 64 * KIB, "block size")
    time_s: float = parameter(SECONDS, 30.0, "each depth")
    ramp_s: float = parameter(SECONDS, 2.0, "before each depth")
    span_bytes: int = parameter(SIZE, SPAN_BYTES, "span, of drives whose past matters")


def sweep(
    operation: Operation,
    depths: Iterable[int],
    block_bytes: int,
    seconds: float,
    *,
    span_bytes: int | None = None,
    ramp_s: float = 0.0,
    seed: int = 1,
) -> tuple[Measurement, ...]:
    """Random I/O by one worker, depth by depth."""
    return tuple(
        timed(
            f"{operation}/{depth}",
            f"{chosen_size(block_bytes)} random {operation}, queue depth {depth}",
            access(operation, "random", block_bytes, span_bytes=span_bytes, queue_depth=depth),
            seconds,
            ramp_s=ramp_s,
            seed=seed,
        )
        for depth in depths
    )


def plan(subject: Subject, parameters: Parameters | OutstandingParameters, seed: int) -> Plan:
    """Random reads, then writes, by one worker at each queue depth."""
    area = subject.area_bytes
    span = subject.span_bytes(parameters.span_bytes) if subject.keeps_state else area
    ramp_s = parameters.ramp_s if isinstance(parameters, OutstandingParameters) else 0.0
    reads, writes = (
        sweep(
            operation,
            parameters.depths,
            parameters.block_bytes,
            parameters.time_s,
            span_bytes=span,
            ramp_s=ramp_s,
            seed=seed,
        )
        for operation in OPERATIONS
    )
    return Plan(
        parameters={
            "block size": f"{chosen_size(parameters.block_bytes)}, random",
            "queue depths": f"{listed(parameters.depths)}, one worker",
            "span": f"the first {chosen_size(span)} (the review states none), otherwise empty"
            if subject.keeps_state
            else subject.extent(span),
            "time": f"{parameters.time_s:g} s each" + (f", {ramp_s:g} s ramp" if ramp_s else ""),
        },
        phases=(Phase((Purge(), Fill(span), settle()), reads), Phase((), writes)),
        charts=(
            Chart("lines", "Throughput", "mbps", "queue_depth", series=("operation",), log="x"),
            Chart(
                "lines",
                "Mean latency",
                "latency_mean",
                "queue_depth",
                series=("operation",),
                log="xy",
            ),
        )
        if isinstance(parameters, OutstandingParameters)
        else (),
    )


DEFINITION = Definition(
    name="queue-depth",
    title="Queue depth",
    source="sata",
    purpose="How far the drive works on several requests at once, and where its link or "
    "flash ends the gain.",
    plan=plan,
    parameters=Parameters,
)
OUTSTANDING = Definition(
    name="outstanding-ios",
    title="Outstanding I/Os",
    source="core",
    purpose="What the drive gains from sorting many requests: a disk by reordering, an SSD by "
    "its channels.",
    plan=plan,
    parameters=OutstandingParameters,
)
