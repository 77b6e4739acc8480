"""steve8's blog, 2008-07-25, "How I figured out my OCZ Core 64GB SSD": measure, model, predict.

The blog states neither durations nor queue depths of most of its runs. Ours are long enough that
chance stays below 1 %: a disk's 512 MiB requests take 5 to 9 s, depending on where they fall.
"""

import numpy as np

from fourcorners.analysis import access_model
from fourcorners.analysis.access_model import AccessModel
from fourcorners.suites.common import OPERATIONS, Operation
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.test import Measurement, Phase
from fourcorners.suites.tests import transfer_rate, transfer_size
from fourcorners.suites.tests.transfer_size import SIZES
from fourcorners.validation.reproduction.experiment import (
    Experiment,
    Results,
    SimulatedResult,
    default,
    of_test,
    under,
)
from fourcorners.validation.reproduction.figure import Figure
from fourcorners.workload import Stream, Workload

CORE, DISK = "ocz-core-64gb", "wd6400aaks"
CORE_KEY, DISK_KEY, UNCACHED_KEY = f"core/{CORE}", f"core/{DISK}", f"core/{DISK}/cache off"

MIB = 2**20
SMALLEST, LARGEST = SIZES[0], SIZES[-1]
DEPTHS: tuple[int, ...] = default("outstanding-ios", "depths")
SHORTEST_S, LONGEST_S = 120.0, 3000.0
# The cluster that the drive file gives the Core; multiples of it pay nothing when aligned.
CLUSTER_BYTES = 4 * MIB
ALIGNED_SIZES = (CLUSTER_BYTES, 16 * CLUSTER_BYTES)

# Where the single reads go, as shares of the drive.
ACCESS_SHARES = tuple(transfer_rate.access_shares(transfer_rate.ACCESSES))


def plan_disk(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """The same, and the random reads of another site's disk of this family."""
    reads = Measurement(
        "random-read/3",
        "4 KiB",
        Workload([Stream.read("random", 4096, queue_depth=3)], seconds=180 * scale),
    )
    return (*plan_drive(capacity_bytes, scale), Phase((), (reads,)))


def plan_drive(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """Everything the blog measures on a drive as delivered."""
    return (
        Phase(
            (Purge(), Fill(capacity_bytes), settle()),
            (
                *_profile("read", capacity_bytes),
                *transfer_rate.single_reads(ACCESS_SHARES, capacity_bytes),
                *_sizes("read", scale),
                *_depths("read", capacity_bytes, scale),
            ),
        ),
        Phase((), _profile("write", capacity_bytes)),
        Phase((), (*_sizes("write", scale), *_depths("write", capacity_bytes, scale))),
    )


def plan_core(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """The same, and writes of whole clusters."""
    aligned = tuple(
        Measurement(
            f"aligned/{size}",
            "whole clusters",
            Workload(
                [Stream.write("random", size, alignment_bytes=CLUSTER_BYTES)], seconds=60 * scale
            ),
        )
        for size in ALIGNED_SIZES
    )
    return (*plan_drive(capacity_bytes, scale), Phase((), aligned))


def plan_uncached(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """The disk's writes with its cache off."""
    return (Phase((), (*_sizes("write", scale), *_depths("write", capacity_bytes, scale))),)


def _sizes(operation: Operation, scale: float) -> tuple[Measurement, ...]:
    return under(
        "size",
        [
            transfer_size.measure(
                operation, size, transfer_size.seconds_for(size, SHORTEST_S, LONGEST_S) * scale
            )
            for size in SIZES
        ],
    )


def _depths(operation: Operation, capacity_bytes: int, scale: float) -> tuple[Measurement, ...]:
    # What fills a cache or a queue is no part of the rate that follows.
    phases = of_test(
        "outstanding-ios", capacity_bytes, span=capacity_bytes, time=120 * scale, ramp=20 * scale
    )
    return under("depth", phases[OPERATIONS.index(operation)].measurements)


def _profile(operation: Operation, capacity_bytes: int) -> tuple[Measurement, ...]:
    return under("profile", transfer_rate.profile(operation, capacity_bytes))


EXPERIMENTS = (
    Experiment("core", CORE, plan_core),
    Experiment("core", DISK, plan_disk),
    Experiment("core", DISK, plan_uncached, "cache off", (("cache.write_back", "false"),)),
)


def by_size(results: Results, key: str, operation: Operation) -> list[SimulatedResult]:
    """The transfer-size sweep, by :data:`SIZES`."""
    return [results(key, f"size/{operation}/{size}") for size in SIZES]


def model(results: Results, key: str, operation: Operation) -> AccessModel:
    """The blog's model: the rate of the largest requests, and the time left to the smallest."""
    sizes = np.array(SIZES, dtype=np.float64)
    return access_model.two_point_model(sizes, seconds_per_io(results, key, operation))


def seconds_per_io(results: Results, key: str, operation: Operation) -> access_model.Floats:
    """Elapsed time per request, by :data:`SIZES`."""
    return np.array([1 / measured.iops for measured in by_size(results, key, operation)])


def depth_iops(results: Results, key: str, operation: Operation) -> list[float]:
    """The queue-depth sweep, by :data:`DEPTHS`."""
    return [results(key, f"depth/{operation}/{depth}").iops for depth in DEPTHS]


def profile(results: Results, key: str, operation: Operation) -> list[float]:
    """Sequential rates across the drive in bytes per second, by place."""
    return [
        results(key, f"profile/{operation}/{place}").bytes_per_second
        for place in range(transfer_rate.PLACES)
    ]


def profile_mean(results: Results, key: str, operation: Operation) -> float:
    """Mean rate over the places, in bytes per second: what HD Tune calls the average."""
    rates = profile(results, key, operation)
    return sum(rates) / len(rates)


def access_s(results: Results, key: str) -> float:
    """Mean time of a single read, at any queue's end: HD Tune's access time."""
    times = [results(key, f"access/{place}").latency_mean_s for place in range(len(ACCESS_SHARES))]
    return sum(times) / len(times)


def freed_rate(results: Results, penalties: int) -> float:
    """The Core's rate of 512 MiB writes without so many penalties, in bytes per second."""
    seconds = 1 / results(CORE_KEY, f"size/write/{LARGEST}").iops
    penalty = model(results, CORE_KEY, "write").access_penalty_s
    return access_model.rate_without_penalties(LARGEST, seconds, penalty, penalties)


def _write_through_delay_ms(results: Results) -> float:
    write = results(UNCACHED_KEY, f"size/write/{SMALLEST}").iops
    return (1 / write - 1 / results(DISK_KEY, f"size/read/{SMALLEST}").iops) * 1e3


def _iops(id: str, key: str, operation: Operation) -> Figure:
    return Figure(id, lambda results: results(key, f"size/{operation}/{SMALLEST}").iops)


def _rate(id: str, key: str, operation: Operation, chosen: tuple[str, ...] = ()) -> Figure:
    return Figure(
        id,
        lambda results: results(key, f"size/{operation}/{LARGEST}").bytes_per_second / MIB,
        chosen=chosen,
    )


def _penalty(id: str, key: str, operation: Operation, follows_from: str) -> Figure:
    return Figure(
        id,
        lambda results: model(results, key, operation).access_penalty_s * 1e3,
        follows_from=follows_from,
    )


def _cluster_mib(results: Results) -> float:
    reads, writes = (model(results, CORE_KEY, operation) for operation in ("read", "write"))
    return (
        access_model.cluster_bytes(
            writes.access_penalty_s,
            writes.sequential_rate_bytes_per_second,
            reads.sequential_rate_bytes_per_second,
        )
        / MIB
    )


FIGURES = (
    _iops("core-read-iops", CORE_KEY, "read"),
    _iops("core-write-iops", CORE_KEY, "write"),
    _rate("core-read-rate", CORE_KEY, "read"),
    # "Makes one program time serve the streaming rate and the merge time": 4 of 1, 2, 4, 8.
    _rate("core-write-rate", CORE_KEY, "write", chosen=("flash.ways",)),
    _penalty("core-read-penalty", CORE_KEY, "read", "core-read-iops"),
    _penalty("core-write-penalty", CORE_KEY, "write", "core-write-iops"),
    Figure("core-cluster", _cluster_mib, follows_from="core-write-iops"),
    # Another reviewer's sample of the same drive: its 4 KiB writes cost what 512 B writes do.
    Figure(
        "core-write-4k-iops",
        lambda results: results(CORE_KEY, "size/write/4096").iops,
        follows_from="core-write-iops",
    ),
    Figure(
        "core-write-4k-latency",
        lambda results: results(CORE_KEY, "size/write/4096").latency_mean_s * 1e3,
        follows_from="core-write-iops",
    ),
    Figure(
        "core-write-access",
        lambda results: model(results, CORE_KEY, "write").access_penalty_s * 1e3,
        follows_from="core-write-iops",
    ),
    Figure(
        "core-write-depth",
        lambda results: max(depth_iops(results, CORE_KEY, "write")),
        follows_from="core-write-iops",
    ),
    Figure(
        "core-write-freed-2",
        lambda results: freed_rate(results, 2) / MIB,
        follows_from="core-write-rate",
        chosen=("flash.ways",),
    ),
    Figure(
        "core-write-freed-1",
        lambda results: freed_rate(results, 1) / MIB,
        follows_from="core-write-rate",
        chosen=("flash.ways",),
    ),
    Figure(
        "core-read-access",
        lambda results: access_s(results, CORE_KEY) * 1e3,
        follows_from="core-read-iops",
    ),
    Figure(
        "core-claim-seek",
        lambda results: access_s(results, CORE_KEY) * 1e3,
        reason="The blog refutes the claim: it measured 0.447 ms, which the drive is fitted to.",
    ),
    Figure(
        "core-claim-read",
        lambda results: results(CORE_KEY, f"size/read/{LARGEST}").bytes_per_second / 1e6,
        follows_from="core-read-rate",
    ),
    Figure(
        "core-claim-write",
        lambda results: results(CORE_KEY, f"size/write/{LARGEST}").bytes_per_second / 1e6,
        follows_from="core-write-rate",
        chosen=("flash.ways",),
    ),
    _iops("wd-read-iops", DISK_KEY, "read"),
    _iops("wd-write-iops", DISK_KEY, "write"),
    _iops("wd-write-through-iops", UNCACHED_KEY, "write"),
    _rate("wd-read-rate", DISK_KEY, "read"),
    _rate("wd-write-rate", DISK_KEY, "write"),
    _penalty("wd-read-penalty", DISK_KEY, "read", "wd-read-iops"),
    _penalty("wd-write-penalty", DISK_KEY, "write", "wd-write-iops"),
    _penalty("wd-write-through-penalty", UNCACHED_KEY, "write", "wd-write-through-iops"),
    Figure(
        "wd-read-access",
        lambda results: access_s(results, DISK_KEY) * 1e3,
    ),
    Figure("wd-write-through-delay", _write_through_delay_ms, follows_from="wd-write-through-iops"),
    Figure("wd-read-4k", lambda results: results(DISK_KEY, "random-read/3").megabytes_per_second),
)
