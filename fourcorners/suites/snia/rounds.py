"""SNIA's tests that run rounds until a steady state: IOPS, throughput, latency."""

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from fourcorners.manifest import Chart
from fourcorners.recording import Recording
from fourcorners.suites.common import KIB, listed
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, SECONDS, choice, parameter
from fourcorners.suites.snia.common import (
    BLOCK_4K,
    EDITIONS,
    ENDS,
    HISTOGRAM_S,
    MINUTE_S,
    ROUNDS_MAX,
    SOURCE,
    SniaParameters,
    SniaSetting,
    in_round,
    rounds,
)
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Adaptive, Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import Workload

# The matrices of the specification: sections IOPS and latency, and what is tracked of them.
READS = (1.0, 0.95, 0.65, 0.5, 0.35, 0.05, 0.0)
BLOCKS = (*(size * KIB for size in (1024, 128, 64, 32, 16, 8, 4)), 512)
TRACKED = {(0.0, 4 * KIB), (0.65, 64 * KIB), (1.0, 1024 * KIB)}
LATENCY_READS = (1.0, 0.65, 0.0)
LATENCY_BLOCKS = (8 * KIB, 4 * KIB, 512)

_ROUNDS = Chart("rounds", "Rounds until the steady state", "value", "round")
_WHAT = {
    "iops": "IOPS",
    "mbps": "MB/s",
    "latency_mean": "mean latency",
    "latency_max": "longest latency",
}


def _convergence(y: str, operations: str) -> Chart:
    """The plot of convergence: all block sizes, round by round."""
    return Chart(
        "lines",
        f"Convergence, {_WHAT[y]} of {operations} of every block size",
        y,
        f"round_of_{operations}",
        series=("block_bytes",),
        log="y",
    )


def _mix(reads: float) -> str:
    return f"{100 * reads:g}/{100 - 100 * reads:g}"


def _rounds_shown(parameters: "SniaParameters | LatencyParameters") -> str:
    steady = (
        "the judge says that they are steady"
        if parameters.until == "judge"
        else "five in a row are steady (range 20 %, slope 10 %)"
    )
    return (
        f"until {steady}, {parameters.rounds} at most, {parameters.time_s:g} s for each measurement"
    )


def _heat(title: str, y: str) -> Chart:
    """What the steady rounds had, of each block size and mix."""
    return Chart("heat", f"{title} in the steady state", y, "read_percent", "block_bytes")


@dataclass(frozen=True)
class _Matrix:
    """What is measured in a round: mixes by block sizes, of which some are tracked by a metric.
    ``outstanding`` is the depth and the threads of a stream, where the parameters do not say."""

    setting: SniaSetting
    parameters: "SniaParameters | LatencyParameters"
    seed: int
    reads: Sequence[float]
    blocks: Sequence[int]
    pattern: str
    metric: str
    tracked: Collection[tuple[float, int]]
    outstanding: tuple[int, ...] = ()

    def rounds(
        self, tracked_of: Callable[[Recording], float], precondition_block: int | None = None
    ) -> Adaptive:
        """The phase: preconditioning, then rounds until they are steady."""
        own = () if precondition_block is None else (precondition_block,)
        judged = self.setting.active_bytes if self.parameters.until == "judge" else None
        return rounds(
            self.setting.preconditioning(*own),
            self._batch,
            tracked_of,
            self.parameters.rounds,
            judged_bytes=judged,
        )

    def _batch(self, number: int) -> tuple[Measurement, ...]:
        return tuple(
            in_round(
                number,
                f"{100 * reads:g}/{block}",
                f"{chosen_size(block)} {self.pattern}, R/W {_mix(reads)}",
                self.setting.stream(reads, self.pattern, block, *self.outstanding),
                self.parameters.time_s,
                self.seed + index,
                metric=self.metric if (reads, block) in self.tracked else None,
                read_percent=100 * reads,
            )
            for index, (reads, block) in enumerate(itertools.product(self.reads, self.blocks))
        )


def plan_iops(subject: Subject, parameters: SniaParameters, seed: int) -> Plan:
    """Purge, twice the capacity in sequence, then rounds of random I/O, seven mixes by eight block
    sizes; 4 KiB writes, 64 KiB at 65/35 and 1024 KiB reads decide when they are steady."""
    setting = SniaSetting(subject, parameters)
    blocks = setting.fitting(BLOCKS)

    matrix = _Matrix(setting, parameters, seed, READS, blocks, "random", "iops", TRACKED)
    return Plan(
        setting.shown(
            **{
                "outstanding": setting.outstanding,
                "R/W mixes": ", ".join(_mix(reads) for reads in READS),
                "block sizes": listed([chosen_size(block) for block in blocks]),
                "rounds": _rounds_shown(parameters),
            }
        ),
        (matrix.rounds(lambda one: one.iops),),
        (
            _ROUNDS,
            _convergence("iops", "writes"),
            _heat("IOPS", "iops"),
            Chart(
                "lines",
                "IOPS in the steady state, by mix",
                "iops",
                "block_bytes",
                series=("read_percent",),
                log="xy",
            ),
        ),
    )


IOPS = Definition(
    name="snia-iops",
    title="SNIA IOPS",
    source=SOURCE,
    purpose="I/Os per second of every block size and mix in the steady state.",
    plan=plan_iops,
    parameters=SniaParameters,
)

THROUGHPUT_BLOCKS = (1024 * KIB, 128 * KIB)


@dataclass(frozen=True)
class ThroughputParameters(SniaParameters):
    """One thread by default: several sequential streams look random to a drive."""

    depth: int | None = parameter(COUNT, 32, "queue depth of a thread")
    threads: int | None = parameter(COUNT, 1, "threads")


def plan_throughput(subject: Subject, parameters: ThroughputParameters, seed: int) -> Plan:
    """For 1024 KiB, then 128 KiB: purge, twice the capacity in sequence in such requests, then
    rounds of sequential reads and writes; the writes decide when they are steady."""
    setting = SniaSetting(subject, parameters)
    blocks = setting.fitting(THROUGHPUT_BLOCKS)

    def phase(block: int) -> Adaptive:
        matrix = _Matrix(
            setting,
            parameters,
            seed,
            (1.0, 0.0),
            (block,),
            "sequential",
            "bytes_per_second",
            {(0.0, block)},
        )
        return matrix.rounds(lambda one: one.bytes_per_second, block)

    return Plan(
        setting.shown(
            **{
                "outstanding": setting.outstanding,
                "block sizes": listed([chosen_size(block) for block in blocks]),
                "rounds": _rounds_shown(parameters),
            }
        ),
        tuple(phase(block) for block in blocks),
        (
            _ROUNDS,
            _convergence("mbps", "writes"),
            _convergence("mbps", "reads"),
            _heat("MB/s", "mbps"),
            Chart(
                "lines",
                "MB/s in the steady state, by mix",
                "mbps",
                "block_bytes",
                series=("read_percent",),
                log="x",
            ),
        ),
        None if blocks else "the target is too small",
    )


THROUGHPUT = Definition(
    name="snia-throughput",
    title="SNIA throughput",
    source=SOURCE,
    purpose="The rate of large sequential reads and writes in the steady state.",
    plan=plan_throughput,
    parameters=ThroughputParameters,
)


@dataclass(frozen=True)
class LatencyParameters:
    """Of the latency test: one request at a time."""

    edition: str = parameter(choice(*EDITIONS), "enterprise", "PTS-E or PTS-C")
    time_s: float = parameter(SECONDS, MINUTE_S, "each measurement of a round")
    rounds: int = parameter(COUNT, ROUNDS_MAX, "rounds at most")
    until: str = parameter(choice(*ENDS), "snia", "what ends the rounds: SNIA's rule or the judge")
    histogram_s: float = parameter(SECONDS, HISTOGRAM_S, "4 KiB writes for the histogram, after")


def plan_latency(subject: Subject, parameters: LatencyParameters, seed: int) -> Plan:
    """Purge, twice the capacity in sequence, then rounds of single random requests, three mixes by
    three block sizes; the mean latency of 4 KiB writes decides when they are steady. Then twenty
    minutes of 4 KiB writes for the histogram."""
    setting = SniaSetting(subject, parameters)
    blocks = setting.fitting(LATENCY_BLOCKS)

    matrix = _Matrix(
        setting,
        parameters,
        seed,
        LATENCY_READS,
        blocks,
        "random",
        "latency_mean_s",
        {(0.0, BLOCK_4K)},
        (1, 1),
    )
    histogram = Measurement(
        "histogram",
        "4 KiB random write, one at a time",
        Workload(
            [setting.stream(0.0, "random", BLOCK_4K, 1, 1)],
            duration_s=parameters.histogram_s,
            seed=seed,
        ),
        {"counts_exceedances": True},
    )
    return Plan(
        setting.shown(
            **{
                "outstanding": "1",
                "R/W mixes": ", ".join(_mix(reads) for reads in LATENCY_READS),
                "block sizes": listed([chosen_size(block) for block in blocks]),
                "rounds": _rounds_shown(parameters),
                "histogram": f"{parameters.histogram_s:g} s of 4 KiB writes",
            }
        ),
        (
            matrix.rounds(_mean_latency_s),
            Phase((), (histogram,), continues=True),
        ),
        (
            _ROUNDS,
            _convergence("latency_mean", "writes"),
            _convergence("latency_max", "writes"),
            _heat("IOPS", "iops"),
            _heat("Mean latency", "latency_mean"),
            _heat("Latency that 99.999 % keep", "latency_p99999"),
            _heat("Longest latency", "latency_max"),
            Chart("percentiles", "4 KiB writes", "latency", series=("label",), ids="histogram"),
        ),
    )


def _mean_latency_s(recording: Recording) -> float:
    means = [(one.ios, one.latency_mean_s or 0.0) for one in recording.operations.values()]
    return sum(ios * mean for ios, mean in means) / max(sum(ios for ios, _ in means), 1)


LATENCY = Definition(
    name="snia-latency",
    title="SNIA latency",
    source=SOURCE,
    purpose="How long single requests take in the steady state, on average and at worst.",
    plan=plan_latency,
    parameters=LatencyParameters,
)
