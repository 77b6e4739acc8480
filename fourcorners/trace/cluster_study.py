"""Which cluster size to take on which drive: files of given sizes, on simulated drives.

Each drive is filled and put into its steady state, and from there on, for each cluster size and
several seeds anew, three things are measured: files are read, files are written, and 4 KiB are
changed within a file, for which a larger cluster is read and written whole. What counts are bytes
of the files: slack is transferred as well and does not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from fourcorners.analysis.intervals import two_sided_t
from fourcorners.documents import Part
from fourcorners.errors import UserError
from fourcorners.recording import OperationRecording, Recording
from fourcorners.target.open import is_simulated, open_target
from fourcorners.target.simulated import SimulatedTarget
from fourcorners.target.target import Target
from fourcorners.trace.file_sizes import (
    CLUSTERS,
    IO_BYTES_MAX,
    ClusterFigures,
    Sizes,
    figures_of,
    io_sizes,
    sizes_of,
)
from fourcorners.units import parse_bytes
from fourcorners.workload import Stream, Workload

CHANGED_BYTES = 4096
"""Of a change within a file: a page of a database, a record of a log."""
_SEEDS = 5
"""Student's t of four degrees of freedom is 2.1; of more it gains little."""
_DEPTH = 4
"""Outstanding while files are read or written: what a file manager and its read-ahead keep."""
_IOS = 4000
"""Of each measurement: the rate's interval is then below a percent on most drives."""


class Interval(Part):
    """A mean over seeds with its interval of 90 %."""

    mean: float
    low: float
    high: float


class ClusterOnDrive(Part):
    """What a cluster size makes of a drive."""

    cluster_bytes: int
    read_bytes_per_second: Interval
    """Of the files, without slack."""
    write_bytes_per_second: Interval
    changes_per_second: Interval
    read_p99_s: Interval
    change_p99_s: Interval
    write_amplification: Interval | None
    """Bytes programmed into flash for each byte of the files that is written; ``None`` of disks."""
    change_amplification: Interval | None
    """The same for each byte that was changed."""
    total_s: Interval
    """To write every file, to read every file, and to change 4 KiB in each, one after the other."""


class DriveClusters(Part):
    """The cluster sizes on a drive."""

    drive: str
    locator: str
    clusters: list[ClusterOnDrive]
    taken_bytes: int
    """The smallest cluster whose total time is not certainly longer than that of the fastest."""
    taken_change_bytes: int
    """The same of changes alone, by their rate."""


class ClusterStudy(Part):
    """What cluster sizes make of files, and of drives."""

    files: int
    bytes: int
    mean_bytes: float
    median_bytes: float
    io_bytes_max: int
    sizes: list[ClusterFigures]
    drives: list[DriveClusters]


def clusters(
    tree: Path | str,
    *,
    on: Sequence[str] = (),
    size: Sequence[int | str] = (),
    seeds: int = _SEEDS,
    ios: int = _IOS,
) -> ClusterStudy:
    """What clusters of 512 B to 2 MiB make of a tree of files, and of simulated drives.

    Args:
        tree: a folder, or a file with a size in bytes on each line.
        on: locators of simulated drives, such as "sim:intel-x25-v-40gb".
        size: of clusters, in bytes or such as "16KiB": 512 B to 2 MiB unless given.
        seeds: repetitions of each measurement, from which intervals come.
        ios: I/Os of each measurement.

    Raises :class:`UserError` for what has no files, a drive that is not simulated, and cluster
    sizes that are none.
    """
    sizes = [one if isinstance(one, int) else parse_bytes(one) for one in size] or CLUSTERS
    for one in sizes:
        if one not in CLUSTERS:
            raise UserError(f"a cluster of {one} bytes is none: use powers of two, 512B to 2MiB")
    if seeds < 2:
        raise UserError("intervals take 2 repetitions or more: name more --seeds")
    for locator in on:
        if not is_simulated(locator):
            raise UserError(f"{locator} is not simulated: clusters are tried on sim: drives only")
    found = sizes_of(tree)
    return ClusterStudy(
        files=len(found),
        bytes=int(found.sum()),
        mean_bytes=float(found.mean()),
        median_bytes=float(np.median(found)),
        io_bytes_max=IO_BYTES_MAX,
        sizes=[figures_of(found, one) for one in sizes],
        drives=[_on_drive(locator, found, sizes, seeds, ios) for locator in on],
    )


def _on_drive(
    locator: str, files: Sizes, sizes: Sequence[int], seeds: int, ios: int
) -> DriveClusters:
    with TemporaryDirectory(prefix="fourcorners-") as folder, open_target(locator) as target:
        state = Path(folder) / "filled.state"
        _prepare(target)
        saves = target.no_state_reason is None
        if saves:
            target.save(state)

        def measured(stream: Stream, seed: int) -> Recording:
            if saves:
                target.load(state)
            else:
                _prepare(target)
            recording = target.run(Workload([stream], ios=ios, seed=seed))
            if recording.failure is not None:
                raise UserError(f"{target.name}: {recording.failure}")
            return recording

        found = [
            _of_cluster(one, files, measured, seeds, target.request_alignment_bytes)
            for one in sizes
        ]
        return DriveClusters(
            drive=target.name,
            locator=locator,
            clusters=found,
            taken_bytes=_taken(found, lambda one: one.total_s, smaller_is_better=True),
            taken_change_bytes=_taken(
                found, lambda one: one.changes_per_second, smaller_is_better=False
            ),
        )


def _prepare(target: Target) -> None:
    """Full, and as it is after random writes for long; what no theory knows is filled only."""
    if isinstance(target, SimulatedTarget) and target.keeps_state:
        try:
            target.enter_steady_state()
        except UserError:
            pass
        else:
            return
    target.purge()
    whole = target.capacity_bytes - target.capacity_bytes % (1 << 20)
    fill = Stream.write("sequential", 1 << 20, span_bytes=whole, queue_depth_per_worker=4)
    failure = target.run(Workload([fill], volume_bytes=whole)).failure
    if failure is not None:
        raise UserError(f"{target.name}: the fill failed: {failure}")


def _of_cluster(
    cluster: int,
    files: Sizes,
    measured: Callable[[Stream, int], Recording],
    seeds: int,
    alignment: int,
) -> ClusterOnDrive:
    figures = figures_of(files, cluster)
    useful = float(files.sum()) / figures.allocated_bytes
    written = ":".join(f"{size}/{100 * share:.6f}" for size, share in io_sizes(files, cluster))
    largest = max(size for size, _ in io_sizes(files, cluster))
    common = {
        "alignment_bytes": max(cluster, alignment),
        "queue_depth_per_worker": _DEPTH,
        "sizes": written,
    }
    # A change is a whole number of clusters; larger ones are read before.
    changed = max(cluster, CHANGED_BYTES)
    change = {"alignment_bytes": max(cluster, alignment)}
    rows = []
    for seed in range(1, seeds + 1):
        read = measured(Stream.read("random", largest, **common), seed)
        write = measured(Stream.write("random", largest, **common), seed)
        put = measured(Stream.write("random", changed, **change), seed)
        get_s = 0.0
        p99_s = _p99_s(put.write)
        if changed > CHANGED_BYTES:
            got = measured(Stream.read("random", changed, **change), seed)
            get_s = 1 / got.iops
            p99_s += _p99_s(got.read)
        change_s = 1 / put.iops + get_s
        read_rate, write_rate = read.bytes_per_second * useful, write.bytes_per_second * useful
        amplified, changed_amplified = write.write_amplification, put.write_amplification
        rows.append(
            {
                "read": read_rate,
                "write": write_rate,
                "changes": 1 / change_s,
                "read_p99": _p99_s(read.read),
                "change_p99": p99_s,
                "amplified": math.nan if amplified is None else amplified / useful,
                "changed_amplified": math.nan
                if changed_amplified is None
                else changed_amplified * changed / CHANGED_BYTES,
                "total": files.sum() / read_rate + files.sum() / write_rate + len(files) * change_s,
            }
        )

    def interval(name: str) -> Interval:
        return _interval([row[name] for row in rows])

    return ClusterOnDrive(
        cluster_bytes=cluster,
        read_bytes_per_second=interval("read"),
        write_bytes_per_second=interval("write"),
        changes_per_second=interval("changes"),
        read_p99_s=interval("read_p99"),
        change_p99_s=interval("change_p99"),
        write_amplification=None if math.isnan(rows[0]["amplified"]) else interval("amplified"),
        change_amplification=None
        if math.isnan(rows[0]["changed_amplified"])
        else interval("changed_amplified"),
        total_s=interval("total"),
    )


def _p99_s(operation: OperationRecording) -> float:
    found = operation.latency_percentile_s(99)
    return math.nan if found is None else found


def _interval(values: Sequence[float]) -> Interval:
    mean = float(np.mean(values))
    half = two_sided_t(len(values) - 1) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Interval(mean=mean, low=mean - half, high=mean + half)


def _taken(
    found: Sequence[ClusterOnDrive],
    of: Callable[[ClusterOnDrive], Interval],
    *,
    smaller_is_better: bool,
) -> int:
    sign = 1 if smaller_is_better else -1
    best = min(found, key=lambda one: sign * of(one).mean)

    def is_worse(one: ClusterOnDrive) -> bool:
        own, other = of(one), of(best)
        return own.low > other.high if smaller_is_better else own.high < other.low

    return min(one.cluster_bytes for one in found if not is_worse(one))
