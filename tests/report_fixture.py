"""Made-up runs for the report's tests: plausible drives in the shape of docs/run-folder.md."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from report_builder import (
    ALL,
    CORE,
    DEPTHS,
    MIB,
    SAMSUNG,
    SIZES,
    VECTOR,
    VERTEX3,
    WD,
    X25M,
    Builder,
    Drive,
)
from report_run import FakeRun

from fourcorners.analysis import latency_over_time
from fourcorners.documents import changed
from fourcorners.finding import Finding
from fourcorners.manifest import Chart, LoggedIos
from fourcorners.recording import IoLog

__all__ = [
    "ALL",
    "CORE",
    "DEPTHS",
    "SAMSUNG",
    "SIZES",
    "VECTOR",
    "VERTEX3",
    "WD",
    "X25M",
    "FakeRun",
    "broken_run",
    "empty_run",
    "hostile_run",
    "make_run",
    "rare_run",
    "whole_run",
]


def _add_matrix(builder: Builder) -> None:
    """Swept sizes and depths: lines with intervals, dots, heat maps, and a model of writes."""
    test = builder.test("matrix", "Matrix", "", ["sequential fill"], {"time": "30 s each"})
    for operation in ("read", "write"):
        for block in (4096, 65536, 2**20):
            for depth in (1, 8):
                iops, latency = builder.rates(operation, depth, block)
                identifier = f"matrix/{operation}/{block}/{depth}"
                point = {
                    "operation": operation,
                    "block_bytes": block,
                    "queue_depth": depth,
                    "place": depth * block,
                }
                builder.record(test, identifier, f"{block} at {depth}", point, latency, iops, 30)
                series, _ = builder.run.tables[identifier, operation]
                series["ios"] = builder.random.poisson(iops, 30)
    both, own, by = ("operation", "queue_depth"), ("operation",), "matrix/"
    test.charts = [
        Chart("lines", "Rate", "mbps", "block_bytes", series=both, log="xy"),
        Chart("dots", "Mean", "latency_mean", "place", series=own, ids=by),
        Chart("heat", "IOPS map", "iops", "queue_depth", "block_bytes", series=own, ids=by),
    ]
    sizes = [4096, 65536, 2**20]
    seconds = [1 / builder.rates("write", 1, size)[0] for size in sizes]
    builder.run.findings.append(
        Finding(
            name="write_access_penalty",
            title="What a write costs beside its transfer",
            verdict="measured",
            value=builder.drive.write_penalty,
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


def _add_held(builder: Builder) -> None:
    """Two long recordings: the three views, seconds one after the other, percentiles, and
    single I/Os that no chart asks for."""
    test = builder.test("held", "Held", "", ["sequential fill"], {"time": "80 s each"})
    for share in (100, 75):
        identifier = f"held/filled-{share}"
        point = {
            "operation": "write",
            "block_bytes": 4096,
            "queue_depth": 32,
            "variant": f"{share} % filled",
        }
        builder.record(test, identifier, f"filled {share} %", point, 0.01, 3200 - 8 * share, 80)
        series, _ = builder.run.tables[identifier, "write"]
        series["ios"] = builder.random.poisson(3200 - 8 * share, 80)
        series["latency_max_s"] = np.full(80, 0.02)
    variants = ("variant",)
    test.charts = [
        Chart("seconds", "IOPS by the second", series=variants, log="y"),
        Chart("seconds", "Longest", "latency_max", "elapsed", series=variants, log="y"),
        Chart("percentiles", "Percentiles", "latency", series=variants),
    ]
    ios = 4000
    due = np.arange(ios) * 20_000_000
    completed = due + (1e6 * builder.random.lognormal(0, 0.5, ios)).astype(np.int64)
    order = np.argsort(completed)
    due, completed, zeros = due[order], completed[order], np.zeros(ios, dtype=np.int64)
    no = np.zeros(ios, dtype=np.bool_)
    log = IoLog(ios, 1, np.full(ios, "write"), due, due, completed, zeros, zeros + 4096, no, zeros)
    builder.run.logs["held/filled-75"] = log
    test.recordings[1].logged = LoggedIos(ios=ios, of=ios, one_in=1)
    builder.run.findings += latency_over_time.find(builder.run)


def _add_rounds(builder: Builder) -> None:
    """A variable in rounds with a window, and one that has none."""
    test = builder.test("turns", "Turns", "", [], {"rounds": "6"})
    for turn in range(6):
        point = {"operation": "write", "block_bytes": 4096, "queue_depth": 32, "round": turn}
        builder.record(test, f"turns/{turn}", f"round {turn}", point, 0.01, 3000, 5)
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
        builder.run.findings.append(
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


def _add_findings(builder: Builder) -> None:
    drive = builder.drive
    iops, _ = builder.rates("read", 3, 4096)
    builder.run.findings.append(
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
        measured = [builder.rates(operation, 1, s)[0] * s for s in SIZES]
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
        builder.run.findings.append(
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
    builder.run.findings += [
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
    builder = Builder(drive, seconds, seed)
    builder.build()
    _add_findings(builder)
    return builder.run


def whole_run(drive: Drive = X25M, seconds: int = 100, seed: int = 1) -> FakeRun:
    """A standard run with more tests, which ask for every kind of chart."""
    builder = Builder(drive, seconds, seed)
    builder.build()
    _add_findings(builder)
    for add in (_add_matrix, _add_held, _add_rounds):
        add(builder)
    return builder.run


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
