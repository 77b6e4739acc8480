"""A run in memory, of the shape that analyses read, filled by the tests point by point."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from made_manifest import entry_of_test, made_manifest
from made_recordings import made

from fourcorners.analysis import find
from fourcorners.finding import Finding
from fourcorners.manifest import Manifest
from fourcorners.recording import IoLog, LatencyOverTime, Recording

Floats = npt.NDArray[np.float64]

KIB = 2**10
MIB = 2**20
SIZES = [512 * 2**i for i in range(21)]
"""512 B to 512 MiB, the sizes of the transfer-size test."""


@dataclass
class FakeRun:
    """Recordings, series and histograms without a folder."""

    capacity_bytes: int | None = 64_000_000_000
    points: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    all_series: dict[tuple[str, str], dict[str, npt.NDArray[Any]]] = field(default_factory=dict)
    histograms: dict[tuple[str, str], Iterable[npt.NDArray[Any]]] = field(default_factory=dict)
    over_time: dict[tuple[str, str], LatencyOverTime] = field(default_factory=dict)
    logs: dict[str, IoLog] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)

    @property
    def manifest(self) -> Manifest:
        tests = {point["id"].split("/")[0] for point in self.points}
        return made_manifest(
            *(entry_of_test(test) for test in sorted(tests)),
            target={"capacity_bytes": self.capacity_bytes},
            environment=self.environment,
        )

    @property
    def recordings(self) -> list[Recording]:
        described = {point["id"]: point for point in self.points}
        return made(
            self.rows, described, self.all_series, self.histograms, self.over_time, self.logs
        )

    def add(
        self,
        recording: str,
        operation: str,
        *,
        iops: float,
        elapsed_s: float = 60.0,
        latency_mean_s: float | None = None,
        mean_queue_depth: float | None = None,
        series_iops: Floats | None = None,
        errors: int = 0,
        ramp_ns: int = 0,
        **point: Any,
    ) -> None:
        """One operation of one recording; latency and queue obey Little's law unless given."""
        depth = point.get("queue_depth", 1)
        latency = depth / iops if latency_mean_s is None else latency_mean_s
        block = point.get("block_bytes", 4096)
        per_second = np.full(int(elapsed_s), iops) if series_iops is None else series_iops
        ios = round(iops * elapsed_s)
        key = (recording, operation)
        if all(p["id"] != recording for p in self.points):
            described = {"operation": operation, **point}
            self.points.append(
                {"id": recording, "point": described, "workload": {"ramp_ns": ramp_ns}}
            )
        self.rows.append({
            "recording": recording,
            "test": recording.split("/")[0],
            "operation": operation,
            "ios": ios,
            "bytes": ios * block,
            "errors": errors,
            "elapsed_s": elapsed_s,
            "iops": iops,
            "bytes_per_second": iops * block,
            "latency_mean_s": latency,
            "latency_p99_s": 1.5 * latency,
            "latency_max_s": 2 * latency,
            "mean_queue_depth": float(depth) if mean_queue_depth is None else mean_queue_depth,
        })  # fmt: skip
        self.all_series[key] = {
            "second": np.arange(len(per_second)),
            "ios": per_second,
            "bytes": per_second * block,
            "latency_mean_s": np.full(len(per_second), latency),
            "latency_max_s": np.full(len(per_second), 2 * latency),
        }
        middle_ns = round(latency * 1e9)
        bounds = np.array([round(0.9 * middle_ns), round(1.1 * middle_ns)])
        self.histograms[key] = (bounds, bounds, np.array([ios // 2, ios // 2]))

    def add_transfer_sizes(self, operation: str, sizes: list[int], seconds_per_io: Floats) -> None:
        """The transfer-size test of one operation."""
        for block, seconds in zip(sizes, seconds_per_io, strict=True):
            self.add(
                f"transfer-size/{operation}/{block}",
                operation,
                iops=1 / float(seconds),
                pattern="random",
                block_bytes=block,
                queue_depth=1,
                content="incompressible",
            )

    def add_queue_depths(
        self, operation: str, iops: dict[int, float], again: float | None = None
    ) -> None:
        """The queue-depth test of one operation; ``again`` is the first depth's rate at the end."""
        first = min(iops)
        points: list[tuple[str, int, float, dict[str, Any]]] = [
            (f"{operation}/{depth}", depth, rate, {}) for depth, rate in iops.items()
        ]
        if again is not None:
            points.append((f"{operation}-again/{first}", first, again, {"again": True}))
        for name, depth, rate, more in points:
            self.add(
                f"queue-depth/{name}",
                operation,
                iops=rate,
                pattern="random",
                block_bytes=4096,
                queue_depth=depth,
                **more,
            )

    def add_consistency(self, iops: Floats, *, elapsed_s: float | None = None) -> None:
        """The consistency test with a given series of IOPS."""
        self.add(
            "consistency/write",
            "write",
            iops=float(iops.mean()),
            elapsed_s=float(len(iops)) if elapsed_s is None else elapsed_s,
            series_iops=iops,
            pattern="random",
            block_bytes=4096,
            queue_depth=32,
        )


def access_seconds(penalty_s: float, rate: float, sizes: list[int] | None = None) -> Floats:
    """a + s/B at each size, shape (sizes,)."""
    return penalty_s + np.array(SIZES if sizes is None else sizes) / rate


def cluster_seconds(penalty_s: float, rate: float, cluster_bytes: float) -> Floats:
    """A drive that rewrites clusters: a write of s bytes pays 1 + s/c penalties, at most 2."""
    sizes = np.array(SIZES, dtype=np.float64)
    return penalty_s * np.minimum(1 + sizes / cluster_bytes, 2) + sizes / rate


def core_run() -> FakeRun:
    """A drive like the blog's OCZ Core, from closed forms, without the consistency test."""
    run = FakeRun()
    run.add_transfer_sizes("read", SIZES, access_seconds(1 / 2220 - 512 / (125 * MIB), 125 * MIB))
    run.add_transfer_sizes("write", SIZES, cluster_seconds(0.2457, 78.23 * MIB, 4 * MIB))
    run.add_queue_depths("read", {1: 2200.0, 4: 2201.0, 31: 2199.0})
    run.add_queue_depths("write", {1: 4.07, 4: 4.07, 31: 4.07})
    return run


def named(findings: Iterable[Finding], name: str) -> Finding:
    """The one finding of that name."""
    (finding,) = [one for one in findings if one.name == name]
    return finding


def codes(run: FakeRun, name: str) -> set[str]:
    """What the one finding of that name says, by the codes of its sentences."""
    finding = named(find(run), name)
    assert finding.said is not None
    return set(finding.said.codes)
