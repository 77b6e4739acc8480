"""What readers of the OWC page asked for: block sizes by queue depths on drives and on RAID 0 of
them, the transfer-size sweep of ATTO, access times with their extremes."""

from dataclasses import replace

from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.test import Measurement, Phase
from fourcorners.validation.reproduction.checks import (
    Judgement,
    PublishedCheck,
    all_of,
    at_least,
    at_most,
    between,
)
from fourcorners.validation.reproduction.experiment import (
    Experiment,
    Results,
    SimulatedResult,
    default,
    of_test,
    under,
)
from fourcorners.validation.reproduction.experiments import owc
from fourcorners.validation.reproduction.figure import drive_name
from fourcorners.workload import Stream, Workload

# The readers used 30 s after a ramp of 2 s. Reads of a simulated drive settle at once and stay.
GRID_BLOCKS: tuple[int, ...] = default("block-size-matrix", "blocks")
GRID_DEPTHS: tuple[int, ...] = default("block-size-matrix", "depths")
ATTO_SIZES: tuple[int, ...] = default("atto", "sizes")
GRID_S, GRID_RAMP_S = 1.0, 0.1
X25_V_ARRAYS = (owc.X25_V, *(f"raid0:{count}x{owc.X25_V}" for count in (2, 3, 4)))
X25_M_ARRAY = f"raid0:2x{owc.X25_M_80}"
GRIDS = (*X25_V_ARRAYS, X25_M_ARRAY)

ATTO_S = 1.0

SATURATED = {X25_V_ARRAYS[0]: 16, X25_M_ARRAY: 64}
"""Depths that are three times the channels, 5 and 20: at as many as channels a third still idle."""

ACCESS_READ, ACCESS_WRITE = "access/read", "access/write"


def plan_grid(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """Random reads of every block size at every queue depth."""
    reads, _ = of_test(
        "block-size-matrix", capacity_bytes, time=GRID_S * scale, ramp=GRID_RAMP_S * scale
    )
    return (replace(reads, measurements=under("grid", reads.measurements)),)


def plan_sweep(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """ATTO's sweep, and single random reads and writes."""

    accesses = (
        Measurement(
            ACCESS_READ, "one 512 B read", Workload([Stream.read("random", 512)], seconds=5 * scale)
        ),
        Measurement(
            ACCESS_WRITE,
            "one 4 KiB write over 1 GB",
            Workload(
                [Stream.write("random", 4096, span_bytes=default("block-size-matrix", "span"))],
                seconds=5 * scale,
            ),
        ),
    )
    writes, reads = of_test("atto", capacity_bytes, time=ATTO_S * scale)
    return (
        Phase((Purge(),), under("atto", writes.measurements)),
        Phase((settle(),), under("atto", reads.measurements)),
        Phase((Purge(), Fill(capacity_bytes), settle()), accesses),
    )


EXPERIMENTS = (
    *(Experiment("owc", drive, plan_grid, "grid") for drive in GRIDS),
    *(Experiment("owc", drive, plan_sweep, "sweep") for drive in owc.DRIVES),
)


def cell(block: int, depth: int) -> str:
    """The recording of a grid's cell."""
    return f"grid/read/{block}/{depth}"


def at(results: Results, drive: str, block: int, depth: int) -> SimulatedResult:
    """A grid's cell."""
    return results(f"owc/{drive}/grid", cell(block, depth))


def atto(results: Results, drive: str, operation: str) -> list[float]:
    """MB/s by :data:`ATTO_SIZES`."""
    return [
        results(f"owc/{drive}/sweep", f"atto/{operation}/{size}").megabytes_per_second
        for size in ATTO_SIZES
    ]


def _latency_growth(results: Results, drive: str, depth: int) -> float:
    """Mean latency of 4 KiB reads at twice a depth, over that at the depth."""
    one, two = (at(results, drive, 4096, times * depth).latency_mean_s for times in (1, 2))
    return two / one


def _scaling(results: Results) -> Judgement:
    return all_of(
        *(
            all_of(
                at_least(
                    f"{drive_name(drive)}, depth 1 to 2", _latency_growth(results, drive, 1), 1.002
                ),
                between(f"{deep} to {2 * deep}", _latency_growth(results, drive, deep), 1.7, 2.1),
            )
            for drive, deep in SATURATED.items()
        )
    )


def _striping(results: Results) -> Judgement:
    def gain(array: str, depth: int) -> float:
        return at(results, array, 4096, depth).iops / at(results, owc.X25_V, 4096, depth).iops

    return all_of(
        *(
            at_least(f"{count} drives at depth 128", gain(array, 128), 0.85 * count)
            for count, array in enumerate(X25_V_ARRAYS[1:], start=2)
        ),
        *(
            between(f"{count} drives at depth 1", gain(array, 1), 0.95, 1.05)
            for count, array in enumerate(X25_V_ARRAYS[1:], start=2)
        ),
    )


def _atto(results: Results) -> Judgement:
    def share(drive: str, operation: str) -> float:
        rates = atto(results, drive, operation)
        return rates[ATTO_SIZES.index(4096)] / rates[-1]

    return all_of(
        *(
            at_most(f"{drive_name(drive)}, {operation}s", share(drive, operation), 0.9)
            for drive in owc.DRIVES
            for operation in ("read", "write")
            if (drive, operation) not in SLOW_WRITERS
        )
    )


# Their flash or firmware is slower than any overhead of a request of 4 KiB.
SLOW_WRITERS = {(owc.X25_V, "write"), (owc.X25_M_80, "write"), (owc.X25_M_160, "write")}

CHECKS = (
    PublishedCheck(
        "Scaling",
        "A reader: mean latency grows with queue depth before all channels are busy, and doubles "
        "with it once there are as many requests as channels.",
        "4 KiB reads: latency at depth 2 above that at depth 1; from three times the channels on, "
        "twice the depth takes 1.7 to 2.1 times as long.",
        _scaling,
    ),
    PublishedCheck(
        "RAID 0",
        "Readers' arrays of X25-V: what one request at a time gains nothing from, many do.",
        "4 KiB reads: n drives at least 0.85 n times one at queue depth 128, within 5 % at 1.",
        _striping,
    ),
    PublishedCheck(
        "ATTO",
        "Sequential rates scale with the block size.",
        "Four outstanding: 4 KiB at most 0.9 of 8 MiB (not the Intel drives' writes, which their "
        "flash or a cap limits at any size).",
        _atto,
    ),
)
