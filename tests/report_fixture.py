"""Made-up runs for the report's tests: plausible drives in the shape of docs/run-folder.md."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from made_manifest import entry_of_test, made_manifest, recording_entry
from made_recordings import made

from fourcorners.analysis import latency_over_time
from fourcorners.documents import changed, plain
from fourcorners.finding import Finding
from fourcorners.manifest import Chart, LoggedIos, Manifest, TestEntry
from fourcorners.recording import IoLog, LatencyOverTime, Recording

Series = dict[str, Any]
Histogram = tuple[Any, Any, Any]
PERCENTILES = {
    "p50": 50.0,
    "p90": 90.0,
    "p99": 99.0,
    "p999": 99.9,
    "p9999": 99.99,
    "p99999": 99.999,
}
SIZES = [2**k for k in range(9, 30)]
DEPTHS = list(range(1, 32, 3))
MIB = 2**20


@dataclass
class FakeRun:
    """A run in memory, with the attributes of `fourcorners.store.Run` that a report uses."""

    manifest: Manifest
    rows: list[dict[str, Any]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    path: Path = Path("runs/fake")
    tables: dict[tuple[str, str], tuple[Series, Histogram]] = field(default_factory=dict)
    logs: dict[str, IoLog] = field(default_factory=dict)
    _made: tuple[str, list[Recording]] = field(default_factory=lambda: ("", []))

    @property
    def recordings(self) -> list[Recording]:
        """What was measured."""
        described = {one.id: plain(one) for test in self.manifest.tests for one in test.recordings}
        # Made anew when a test has changed something.
        state = repr((self.rows, described, [(id(s), id(h)) for s, h in self.tables.values()]))
        if self._made[0] != state:
            recordings = made(
                self.rows,
                described,
                {key: series for key, (series, _) in self.tables.items()},
                {key: histogram for key, (_, histogram) in self.tables.items()},
                {key: self.latency_over_time(*key) for key in self.tables},
                self.logs,
            )
            self._made = state, recordings
        return self._made[1]

    def latency_over_time(self, recording_id: str, operation: str) -> LatencyOverTime:
        """The recording's distribution in every second, around the mean of that second."""
        series, (low, _, count) = self.tables[(recording_id, operation)]
        ios = np.nan_to_num(np.asarray(series["ios"], np.float64))
        if not len(count) or not ios.sum():
            return LatencyOverTime.none()
        shares, edges = np.histogram(np.log2(low), 40, weights=count / count.sum())
        around = np.exp2((edges[:-1] + edges[1:]) / 2)
        mean_s = series.get("latency_mean_s", np.full(len(ios), np.nan))
        mean_ns = np.where(np.isfinite(mean_s), mean_s * 1e9, np.average(around, weights=shares))
        ns = np.outer(mean_ns, around / np.average(around, weights=shares))
        power = np.floor(np.log2(ns))
        bucket = 8 * power + np.floor(ns / np.exp2(power - 3)) - 8
        held = np.round(np.outer(ios, shares)) > 0
        second = np.repeat(np.arange(len(ios)), held.sum(axis=1))
        cells, where = np.unique(
            np.stack([second, bucket[held].astype(np.int64)]), axis=1, return_inverse=True
        )
        summed = np.bincount(where.ravel(), np.round(np.outer(ios, shares))[held])
        step = np.exp2(cells[1] // 8 - 3).astype(np.int64)
        lowest = (cells[1] % 8 + 8) * step
        return LatencyOverTime(cells[0], lowest, lowest + step - 1, summed.astype(np.int64))


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
        """The four tests of the suite and their findings."""
        self._corners()
        self._queue_depth()
        self._transfer_size()
        self._consistency()
        self._findings()
        return self.run

    def charted(self) -> FakeRun:
        """Tests that ask for every kind of chart, and what their charts need, besides those of
        `build`."""
        self._matrix()
        self._held()
        self._rounds()
        return self.run

    def _matrix(self) -> None:
        """Swept sizes and depths: lines with intervals, dots, heat maps, and a model of writes."""
        test = self.test("matrix", "Matrix", "", ["sequential fill"], {"time": "30 s each"})
        for operation in ("read", "write"):
            for block in (4096, 65536, 2**20):
                for depth in (1, 8):
                    iops, latency = self.rates(operation, depth, block)
                    identifier = f"matrix/{operation}/{block}/{depth}"
                    point = {
                        "operation": operation,
                        "block_bytes": block,
                        "queue_depth": depth,
                        "place": depth * block,
                    }
                    self.record(test, identifier, f"{block} at {depth}", point, latency, iops, 30)
                    series, _ = self.run.tables[identifier, operation]
                    series["ios"] = self.random.poisson(iops, 30)
        both, own, by = ("operation", "queue_depth"), ("operation",), "matrix/"
        test.charts = [
            Chart("lines", "Rate", "mbps", "block_bytes", series=both, log="xy"),
            Chart("dots", "Mean", "latency_mean", "place", series=own, ids=by),
            Chart("heat", "IOPS map", "iops", "queue_depth", "block_bytes", series=own, ids=by),
        ]
        sizes = [4096, 65536, 2**20]
        seconds = [1 / self.rates("write", 1, size)[0] for size in sizes]
        self.run.findings.append(
            Finding(
                name="write_access_penalty",
                title="What a write costs beside its transfer",
                verdict="measured",
                value=self.drive.write_penalty,
                unit="s",
                interval=None,
                evidence=[f"matrix/write/{size}/1" for size in sizes],
                text="A write costs its penalty.",
                detail={
                    "block_bytes": sizes,
                    "measured_s": seconds,
                    "predicted_s": [1.1 * second for second in seconds],
                },
            )
        )

    def _held(self) -> None:
        """Two long recordings: the three views, seconds one after the other, percentiles, and
        single I/Os that no chart asks for."""
        test = self.test("held", "Held", "", ["sequential fill"], {"time": "80 s each"})
        for share in (100, 75):
            identifier = f"held/filled-{share}"
            point = {
                "operation": "write",
                "block_bytes": 4096,
                "queue_depth": 32,
                "variant": f"{share} % filled",
            }
            self.record(test, identifier, f"filled {share} %", point, 0.01, 3200 - 8 * share, 80)
            series, _ = self.run.tables[identifier, "write"]
            series["ios"] = self.random.poisson(3200 - 8 * share, 80)
            series["latency_max_s"] = np.full(80, 0.02)
        variants = ("variant",)
        test.charts = [
            Chart("seconds", "IOPS by the second", series=variants, log="y"),
            Chart("seconds", "Longest", "latency_max", "elapsed", series=variants, log="y"),
            Chart("percentiles", "Percentiles", "latency", series=variants),
        ]
        ios = 4000
        due = np.arange(ios) * 20_000_000
        completed = due + (1e6 * self.random.lognormal(0, 0.5, ios)).astype(np.int64)
        order = np.argsort(completed)
        due, completed, zeros = due[order], completed[order], np.zeros(ios, dtype=np.int64)
        log = IoLog(ios, 1, np.full(ios, "write"), due, due, completed, zeros, zeros + 4096, zeros)
        self.run.logs["held/filled-75"] = log
        test.recordings[1].logged = LoggedIos(ios=ios, of=ios, one_in=1)
        self.run.findings += latency_over_time.find(self.run)

    def _rounds(self) -> None:
        """A variable in rounds with a window, and one that has none."""
        test = self.test("turns", "Turns", "", [], {"rounds": "6"})
        for turn in range(6):
            point = {"operation": "write", "block_bytes": 4096, "queue_depth": 32, "round": turn}
            self.record(test, f"turns/{turn}", f"round {turn}", point, 0.01, 3000, 5)
        test.charts = [Chart("rounds", "Rounds", "value", "round")]
        window = {
            "first_round": 2,
            "last_round": 6,
            "average": 3000.0,
            "intercept": 3010.0,
            "slope_per_round": -5.0,
            "steady": True,
        }
        for variable, found in (("4 KiB", window), ("64 KiB", None)):
            detail: dict[str, Any] = {"metric": "iops", "variable": variable, "window": found}
            detail |= {"rounds": [1, 2, 3, 4, 5, 6], "values": [4000, 3010, 3005, 3000, 2995, 2990]}
            self.run.findings.append(
                Finding(
                    name=f"rounds_turns_{variable}",
                    title=f"Steady state of {variable}",
                    verdict="holds" if found else "violated",
                    value=None,
                    unit=None,
                    interval=None,
                    evidence=[f"turns/{turn}" for turn in range(6)],
                    text=f"{variable} is {'' if found else 'not '}steady.",
                    detail=detail,
                )
            )

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

    def _findings(self) -> None:
        drive = self.drive
        iops, _ = self.rates("read", 3, 4096)
        self.run.findings.append(
            Finding(
                name="summary",
                title="Summary",
                verdict="measured",
                value=None,
                unit=None,
                interval=None,
                evidence=[],
                text=f"A drive that reads {drive.read_rate / 1e6:.0f} MB/s in sequence and "
                f"answers {iops:,.0f} random 4 KiB reads a second. A random write costs "
                f"{drive.write_penalty * 1e3:.3g} ms, so small scattered writes are "
                f"{'its weak side' if drive.cluster else 'no trouble'}.",
                detail={
                    "remarks": {
                        "strengths": [
                            {
                                "text": "Random reads cost little more than sequential ones.",
                                "tests": ["transfer-size"],
                            }
                        ],
                        "weaknesses": [
                            {
                                "text": "A small write rewrites a whole cluster of flash.",
                                "tests": ["transfer-size"],
                            }
                        ]
                        if drive.cluster
                        else [],
                    }
                },
            )
        )
        for operation in ("read", "write"):
            rate = getattr(drive, f"{operation}_rate")
            penalty = getattr(drive, f"{operation}_penalty")
            measured = [self.rates(operation, 1, s)[0] * s for s in SIZES]
            predicted = [s / (penalty + s / rate) for s in SIZES]
            detail: dict[str, Any] = {
                "block_bytes": SIZES,
                "measured_bytes_per_second": measured,
                "predicted_bytes_per_second": predicted,
                "relative_misfit": [m / p - 1 for m, p in zip(measured, predicted, strict=True)],
                "sequential_rate_bytes_per_second": rate,
                "access_penalty_s": penalty,
                "half_speed_bytes": rate * penalty,
                "method": "the blog's arithmetic",
            }
            if operation == "write" and drive.cluster:
                detail["cluster_bytes_estimate"] = 11.3 * MIB
            self.run.findings.append(
                Finding(
                    name=f"access_model_{operation}",
                    title=f"Access model, {operation}s",
                    verdict="measured",
                    value=penalty,
                    unit="s",
                    interval=(penalty * 0.99, penalty * 1.01),
                    evidence=[f"transfer-size/{operation}/512"],
                    text=f"Every {operation} costs {penalty * 1e3:.3g} ms plus its transfer at "
                    f"{rate / MIB:.3g} MiB/s.",
                    detail=detail,
                )
            )
        self.run.findings += [
            Finding(
                name="littles_law",
                title="Little's law",
                verdict="holds",
                value=0.002,
                unit="1",
                interval=(0.0, 0.004),
                evidence=["queue-depth/read/1"],
                text="Mean latency times IOPS equals the queue depth within 0.4 %.",
                detail={},
            ),
            Finding(
                name="consistency_write",
                title="Consistency of random writes",
                verdict="measured",
                value=drive.steady_iops,
                unit="IOPS",
                interval=(drive.steady_iops * 0.97, drive.steady_iops * 1.03),
                evidence=["consistency/write"],
                text=f"Steady at {drive.steady_iops:,.0f} IOPS from second 700 on.",
                detail={
                    "mean_iops": drive.steady_iops,
                    "coefficient_of_variation": drive.spread,
                    "worst_second_iops": drive.steady_iops / 3,
                    "steady_from_s": 700,
                },
            ),
        ]


def make_run(drive: Drive = CORE, seconds: int = 2000, seed: int = 1) -> FakeRun:
    """A whole standard run of a made-up drive."""
    return Builder(drive, seconds, seed).build()


def whole_run(drive: Drive = X25M, seconds: int = 100, seed: int = 1) -> FakeRun:
    """A standard run with more tests, which ask for every kind of chart."""
    builder = Builder(drive, seconds, seed)
    builder.build()
    return builder.charted()


def rare_run() -> FakeRun:
    """Ten thousand times as many I/Os, so that curves reach one in ten million and more."""
    run = make_run(X25M, seconds=60)
    for key, (series, (low, high, count)) in run.tables.items():
        run.tables[key] = (series, (low, high, np.asarray(count) * 10_000))
    return run


def hostile_run() -> FakeRun:
    """Names and texts that try to become HTML or to end a script."""
    run = whole_run(X25M, seconds=60)
    bad = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=2">'
    run.manifest.target.name = f"Evil {bad}"
    run.manifest.target.summary = bad
    run.manifest.command = bad
    run.manifest.notes = [bad, "<!-- <script>"]
    run.manifest.environment = {**run.manifest.environment, "device_model": bad}
    run.manifest.tests[0].parameters = {bad: bad}
    run.manifest.tests[0].recordings[0].label = bad
    for test in run.manifest.tests[4:]:
        test.title = test.purpose = bad
        test.charts = [changed(chart, title=bad) for chart in test.charts]
        for recording in test.recordings:
            recording.label = bad
            recording.point = {**recording.point, "variant": bad}
    run.findings = [
        replace(finding, title=bad, detail={**finding.detail, "variable": bad})
        for finding in run.findings
    ]
    detail = {**run.findings[0].detail, "weaknesses": [bad]}
    run.findings[0] = replace(run.findings[0], text=bad, detail=detail)
    return run


def broken_run() -> FakeRun:
    """Nulls, NaN, infinities, zeros and empty tables wherever the contract lets them in."""
    run = whole_run(WD, seconds=40)
    run.manifest.status = "interrupted"
    run.manifest.notes = ["O_DIRECT is not available on tmpfs: results include the page cache"]
    run.manifest.tests[2].status = "interrupted"
    run.manifest.tests[2].reason = "stopped by Ctrl-C"
    # A run folder holds no others: what is not finite or above all measure is refused.
    nothing = [None, 0.0, 1e24]
    for position, row in enumerate(run.rows):
        if position % 2 == 0:
            for key in row:
                if key.startswith("latency_"):
                    row[key] = nothing[position // 2 % len(nothing)]
            row["errors"] = 3
        if position % 6 == 0:
            row |= {"ios": 0, "bytes": 0, "iops": 0.0, "elapsed_s": 0.0}
    empty = np.zeros(0, dtype=np.int64)
    for recording, (series, _) in run.tables.items():
        if recording[0].startswith("matrix"):
            series = {**series, "ios": np.full(30, np.nan)}
        run.tables[recording] = (series, (empty, empty, empty))
    series, _ = run.tables["held/filled-100", "write"]
    series["ios"] = np.where(np.arange(80) % 4, 0, series["ios"])
    series["latency_max_s"] = np.where(np.arange(80) % 3, np.inf, 1e300)
    run.tables[("consistency/write", "write")] = (
        {
            "second": np.arange(40),
            "ios": np.where(np.arange(40) % 5, 0, 3),
            "latency_max_s": np.where(np.arange(40) % 5, np.nan, np.inf),
        },
        (empty, empty, empty),
    )
    found, nan = run.findings, float("nan")
    found[1] = replace(found[1], detail={})
    predicted = list(found[2].detail["predicted_bytes_per_second"])
    predicted[3] = nan
    detail = {**found[2].detail, "predicted_bytes_per_second": predicted}
    found[2] = replace(found[2], detail=detail)
    found[3] = replace(found[3], value=nan, interval=(nan, nan))
    place = next(n for n, f in enumerate(found) if f.name == "write_access_penalty")
    detail = {**found[place].detail, "predicted_s": [nan, float("inf"), 1e300]}
    found[place] = replace(found[place], detail=detail, interval=(float("inf"), 1e300))
    return run


def empty_run() -> FakeRun:
    """A run that ended before its first recording."""
    run = Builder(CORE, 10, 1).run
    run.manifest.status = "failed"
    return run
