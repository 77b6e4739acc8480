"""Plausible drives, and the tests of the standard suite on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from made_manifest import entry_of_test, made_manifest, recording_entry
from report_run import PERCENTILES, FakeRun

from fourcorners.manifest import Chart, TestEntry

SIZES = [2**k for k in range(9, 30)]
DEPTHS = list(range(1, 32, 3))
MIB = 2**20


@dataclass
class Drive:
    """What a made-up drive does: rates in bytes per second, penalties in seconds."""

    name: str
    read_rate: float
    write_rate: float
    read_penalty: float
    write_penalty: float
    parallel: float
    spread: float
    plateau_iops: float
    steady_iops: float
    cluster: int = 0


CORE = Drive("OCZ Core 64GB", 125 * MIB, 72.8 * MIB, 447e-6, 0.2457, 1.3, 0.05, 30, 4.1, 4 * MIB)
WD = Drive("WD6400AAKS", 85 * MIB, 85 * MIB, 12.85e-3, 6.99e-3, 2.5, 0.35, 150, 120)
X25M = Drive("Intel X25-M G2 80GB", 260e6, 80e6, 85e-6, 110e-6, 9, 0.15, 9000, 1600)
VERTEX3 = Drive("OCZ Vertex 3 240GB", 500e6, 300e6, 110e-6, 60e-6, 14, 0.2, 42000, 11000)
VECTOR = Drive("OCZ Vector 256GB", 530e6, 500e6, 90e-6, 35e-6, 22, 0.12, 72000, 16000)
STEADY = Drive("Intel SSD DC S3700 200GB", 480e6, 370e6, 95e-6, 40e-6, 20, 0.04, 60000, 34000)
SAMSUNG = Drive("Samsung SSD 840 Pro 256GB", 530e6, 500e6, 80e-6, 35e-6, 22, 0.6, 90000, 9000)
INTEL330 = Drive("Intel SSD 330 180GB", 450e6, 280e6, 115e-6, 70e-6, 12, 0.45, 38000, 8000)
ALL = [CORE, WD, X25M, VERTEX3, VECTOR, STEADY, SAMSUNG, INTEL330]


class Builder:
    """Collects tests and recordings into a `FakeRun`."""

    def __init__(self, drive: Drive, seconds: int, seed: int) -> None:
        self.drive, self.seconds = drive, seconds
        self.random = np.random.default_rng(seed)
        slug = drive.name.lower().replace(" ", "-")
        self.run = FakeRun(
            made_manifest(
                id=f"20261121-120000-{slug}",
                seed=seed,
                command=f"fourcorners characterize sim:{slug} --profile standard",
                target={
                    "locator": f"sim:{slug}",
                    "name": drive.name,
                    "capacity_bytes": 64_023_257_088,
                    "specification_sha256": "ab" * 32,
                },
                environment={
                    "kernel": "Linux 6.12",
                    "cpu": "2 cores",
                    "device_model": None,
                    "link": "SATA 3 Gb/s",
                    "scheduler": "none",
                },
            ),
            path=Path(f"runs/20261121-120000-{slug}"),
        )

    def test(
        self, name: str, title: str, source: str, preparation: list[str], parameters: dict[str, str]
    ) -> TestEntry:
        """Add a test to the manifest."""
        test = entry_of_test(
            name,
            title=title,
            source=source,
            purpose=f"What {title.lower()} shows.",
            preparation=preparation,
            parameters=parameters,
            wall_s=2.1,
        )
        self.run.manifest.tests.append(test)
        return test

    def record(
        self,
        test: TestEntry,
        identifier: str,
        label: str,
        point: dict[str, Any],
        latency: float,
        iops: float,
        seconds: float,
    ) -> None:
        """Add one recording with latencies spread around `latency`."""
        ios = max(1, round(iops * seconds))
        sample = latency * self.random.lognormal(0, self.drive.spread, min(ios, 20_000))
        sample[::499] *= 8
        sample *= latency / sample.mean()
        ns = np.sort(sample * 1e9).astype(np.int64)
        low, count = np.unique(ns - ns % np.maximum(1, ns // 500), return_counts=True)
        operation = point["operation"]
        row = {
            "recording": identifier,
            "test": test.name,
            "operation": operation,
            "ios": ios,
            "bytes": ios * point["block_bytes"],
            "errors": 0,
            "elapsed_s": seconds,
            "iops": iops,
            "bytes_per_second": iops * point["block_bytes"],
            "latency_min_s": ns[0] / 1e9,
            "latency_mean_s": float(ns.mean() / 1e9),
            "latency_max_s": ns[-1] / 1e9,
            "mean_queue_depth": float(point["queue_depth"]),
            "cpu_user_s": None,
            "cpu_system_s": None,
            "interrupted": False,
        }
        for key, q in PERCENTILES.items():
            row[f"latency_{key}_s"] = float(np.percentile(ns, q) / 1e9)
        self.run.rows.append(row)
        second = np.arange(math.ceil(seconds))
        even = np.full(len(second), ios // len(second))
        series = {"second": second, "ios": even, "bytes": even * point["block_bytes"]}
        self.run.tables[(identifier, operation)] = (series, (low, low, count))
        test.recordings.append(recording_entry(identifier, label=label, point=point))

    def rates(self, operation: str, depth: int, block: int) -> tuple[float, float]:
        """IOPS and latency of the made-up drive."""
        drive = self.drive
        rate = drive.read_rate if operation == "read" else drive.write_rate
        penalty = drive.read_penalty if operation == "read" else drive.write_penalty
        service = penalty + block / rate
        if operation == "write" and drive.cluster and block > drive.cluster / 2:
            service += penalty * min(1.0, block / (8 * drive.cluster))
        gain = drive.parallel * depth / (depth + drive.parallel - 1)
        iops = min(gain / service, rate / block)
        return iops, depth / iops

    def build(self) -> FakeRun:
        """The four tests of the suite."""
        self._corners()
        self._queue_depth()
        self._transfer_size()
        self._consistency()
        return self.run

    def _corners(self) -> None:
        test = self.test(
            "four-corners",
            "The four corners",
            "vertex3",
            ["secure erase", "sequential fill of the whole drive, 128 KiB"],
            {"span": "8 GiB", "time": "180 s", "queue depth": "3"},
        )
        for pattern, operation, block, depth in [
            ("random", "read", 4096, 3),
            ("random", "write", 4096, 3),
            ("random", "write", 4096, 32),
            ("sequential", "read", 131072, 1),
            ("sequential", "write", 131072, 1),
        ]:
            contents = (
                ["incompressible", "repeated"] if operation == "write" else ["incompressible"]
            )
            for content in contents:
                iops, latency = self.rates(operation, depth, block)
                if pattern == "sequential":
                    rate = getattr(self.drive, f"{operation}_rate")
                    iops, latency = rate / block, block / rate
                if content == "repeated" and self.drive in (VERTEX3, INTEL330):
                    iops, latency = iops * 1.6, latency / 1.6
                name = f"four-corners/{pattern}-{operation}-qd{depth}-{content}"
                label = f"{block // 1024} KiB {pattern} {operation}, queue depth {depth}, {content}"
                self.record(
                    test,
                    name,
                    label,
                    {
                        "operation": operation,
                        "pattern": pattern,
                        "block_bytes": block,
                        "queue_depth": depth,
                        "content": content,
                    },
                    latency,
                    iops,
                    60,
                )

    def _queue_depth(self) -> None:
        test = self.test(
            "queue-depth",
            "Queue depth",
            "sata",
            ["secure erase"],
            {"block size": "4 KiB", "time": "90 s each"},
        )
        for operation in ("read", "write"):
            for depth in DEPTHS:
                iops, latency = self.rates(operation, depth, 4096)
                self.record(
                    test,
                    f"queue-depth/{operation}/{depth}",
                    f"queue depth {depth}",
                    {
                        "operation": operation,
                        "pattern": "random",
                        "block_bytes": 4096,
                        "queue_depth": depth,
                        "content": "incompressible",
                    },
                    latency,
                    iops,
                    10,
                )

    def _transfer_size(self) -> None:
        test = self.test(
            "transfer-size",
            "Transfer size",
            "core",
            ["sequential fill"],
            {"queue depth": "1", "block sizes": "512 B to 512 MiB"},
        )
        for operation in ("read", "write"):
            for block in SIZES:
                iops, latency = self.rates(operation, 1, block)
                self.record(
                    test,
                    f"transfer-size/{operation}/{block}",
                    f"{block} B",
                    {
                        "operation": operation,
                        "pattern": "random",
                        "block_bytes": block,
                        "queue_depth": 1,
                        "content": "incompressible",
                    },
                    latency,
                    iops,
                    10,
                )

    def _consistency(self) -> None:
        test = self.test(
            "consistency",
            "Consistency",
            "vector",
            ["secure erase", "sequential fill of the whole drive, 128 KiB"],
            {"block size": "4 KiB", "queue depth": "32", "time": f"{self.seconds} s"},
        )
        longest = "Longest latency by the second"
        test.charts = [
            Chart("seconds", "IOPS by the second", series=("variant",), log="y"),
            Chart("seconds", longest, "latency_max", series=("variant",), log="y"),
        ]
        drive, second = self.drive, np.arange(self.seconds)
        cliff = self.seconds * 0.12
        level = np.where(
            second < cliff,
            drive.plateau_iops,
            drive.steady_iops * (1 + 0.8 * np.exp(-(second - cliff) / (cliff + 1))),
        )
        noise = self.random.lognormal(0, drive.spread, self.seconds)
        ios = np.maximum(0, np.round(level * noise)).astype(np.int64)
        if drive is SAMSUNG:
            ios[second % 7 == 3] //= 12
        mean = float(ios.mean())
        self.record(
            test,
            "consistency/write",
            "4 KiB random write, queue depth 32",
            {
                "operation": "write",
                "pattern": "random",
                "block_bytes": 4096,
                "queue_depth": 32,
                "content": "incompressible",
            },
            32 / mean,
            mean,
            self.seconds,
        )
        _, histogram = self.run.tables[("consistency/write", "write")]
        latency = np.where(ios > 0, 32 / np.maximum(ios, 1), np.nan)
        self.run.tables[("consistency/write", "write")] = (
            {
                "second": second,
                "ios": ios,
                "bytes": ios * 4096,
                "latency_mean_s": latency,
                "latency_max_s": latency * 5,
            },
            histogram,
        )
