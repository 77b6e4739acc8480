"""Runs against each other: intervals that cover, differences that are there, gates."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from analysis_fixture import FakeRun
from command import fourcorners
from fault_runs import validate

import fourcorners as fc
from fourcorners.analysis.estimate import Estimate, of_point, pooled
from fourcorners.analysis.quantity import P99_LATENCY, THROUGHPUT
from fourcorners.analysis.source import measured
from fourcorners.comparison import ComparedRuns, Comparison, check_gate, compare, parse_gate, strip
from fourcorners.comparison.check import by_gate
from fourcorners.comparison.documents import markdown
from fourcorners.comparison.forest import WIDTH, axis_of
from fourcorners.comparison.page import render_page
from fourcorners.comparison.verdict import verdicts
from fourcorners.errors import UserError
from fourcorners.finding import Finding

REPLICATES = 400


def run_of(
    iops: float,
    rng: np.random.Generator,
    between: float = 0.0,
    within: float = 0.05,
    ar: float = 0.0,
    seconds: int = 60,
) -> FakeRun:
    """A recording of random reads around ``iops``: its mean differs by ``between`` from run to run,
    its seconds by ``within``, each resembling the one before by ``ar`` (all relative)."""
    noise = rng.normal(0, within * np.sqrt(1 - ar**2), 100 + seconds)
    for second in range(1, len(noise)):
        noise[second] += ar * noise[second - 1]
    series = iops * np.exp(rng.normal(0, between)) * (1 + noise[100:])
    run = FakeRun()
    run.add(
        "four-corners/random-read",
        "read",
        iops=float(series.mean()),
        elapsed_s=seconds,
        series_iops=series,
        pattern="random",
        block_bytes=4096,
        queue_depth=1,
    )
    return run


def run_at(iops: float) -> FakeRun:
    """Such a recording, as good as even."""
    return run_of(iops, np.random.default_rng(1), within=0.001)


def compared(a: Sequence[FakeRun], b: Sequence[FakeRun]) -> Comparison:
    return compare(ComparedRuns("A", a), ComparedRuns("B", b))


def subject_of(runs: Sequence[FakeRun]) -> Estimate:
    """The throughput of runs that repeat each other."""
    estimates = [of_point(measured(run)[0], THROUGHPUT) for run in runs]
    return pooled([estimate for estimate in estimates if estimate is not None])


def share_covered(runs: int, between: float, ar: float, seconds: int = 60) -> float:
    rng = np.random.default_rng(20261121)
    hits = 0
    for _ in range(REPLICATES):
        sides = [
            [run_of(iops, rng, between=between, ar=ar, seconds=seconds) for _ in range(runs)]
            for iops in (1000.0, 1100.0)
        ]
        one, other = (subject_of(runs) for runs in sides)
        low, high = other.minus(one).interval()
        hits += low <= 1.1 <= high
    return hits / REPLICATES


@pytest.mark.parametrize(("runs", "between", "ar"), [(1, 0.0, 0.0), (1, 0.0, 0.5), (4, 0.03, 0.5)])
def test_intervals_of_90_percent_cover_the_true_ratio(runs: int, between: float, ar: float) -> None:
    # Three standard deviations of 400 replicates, and a little for batches that still correlate.
    assert 0.83 <= share_covered(runs, between, ar) <= 0.96


@pytest.mark.parametrize("seconds", [2, 5])
def test_intervals_of_short_recordings_are_those_of_their_few_seconds(seconds: int) -> None:
    # With two seconds on each side Welch's degrees of freedom are few, and cover more.
    assert 0.85 <= share_covered(1, 0.0, 0.0, seconds) <= 0.99


def test_a_deep_queue_widens_the_interval_of_a_percentile() -> None:
    """Requests that wait together are slow together."""
    errors = []
    for depth in (1, 16):
        run = FakeRun()
        run.add("queue-depth/read/n", "read", iops=10_000, elapsed_s=20, queue_depth=depth)
        latencies_ns = np.arange(1_000_000, 1_200_000)
        run.histograms["queue-depth/read/n", "read"] = (
            latencies_ns,
            latencies_ns,
            np.ones(len(latencies_ns), np.int64),
        )
        estimate = of_point(measured(run)[0], P99_LATENCY)
        assert estimate is not None
        errors.append(estimate.error)
    assert errors[1] == pytest.approx(4 * errors[0], rel=0.05)


def test_places_of_equal_drives_are_ties() -> None:
    rng = np.random.default_rng(29)
    split = 0
    for _ in range(40):
        subjects = []
        for label in "ABC":
            run = FakeRun()
            for test in range(8):
                series = 1000 * (1 + rng.normal(0, 0.05, 60))
                run.add(
                    f"test-{test}/read",
                    "read",
                    iops=float(series.mean()),
                    elapsed_s=60,
                    series_iops=series,
                )
            subjects.append(ComparedRuns(label, [run]))
        places = compare(*subjects).ranking.values()
        split += any(rank.place > 1 for ranks in places for rank in ranks)
    assert split <= 6  # where 2 are meant; 24 pairs each told at 5 % would be 28


def test_equal_drives_are_seldom_told_apart() -> None:
    rng = np.random.default_rng(7)
    told = 0
    for _ in range(200):
        sides = [[run_of(1000, rng, between=0.03) for _ in range(3)] for _ in range(2)]
        told += any(difference.told for difference in compared(*sides).differences)
    assert told <= 20


def test_a_p99_has_the_interval_of_its_order_statistics() -> None:
    rng = np.random.default_rng(3)
    true_s = -np.log(0.01) * 1e-3
    hits = 0
    for _ in range(REPLICATES):
        latencies_ns = np.sort((rng.exponential(1e-3, 20_000) * 1e9).astype(np.int64))
        run = FakeRun()
        run.add("four-corners/random-read", "read", iops=1000, elapsed_s=20, queue_depth=1)
        run.rows[0]["latency_p99_s"] = float(latencies_ns[19_800]) * 1e-9
        run.histograms["four-corners/random-read", "read"] = (
            latencies_ns,
            latencies_ns,
            np.ones(len(latencies_ns), np.int64),
        )
        estimate = of_point(measured(run)[0], P99_LATENCY)
        assert estimate is not None
        low, high = estimate.interval()
        hits += low <= true_s <= high
    assert 0.85 <= hits / REPLICATES <= 0.95


def test_repeated_runs_widen_the_interval_to_what_they_show() -> None:
    rng = np.random.default_rng(5)
    runs = [run_of(1000, rng, between=0.1, within=0.001) for _ in range(5)]
    estimates = [of_point(measured(run)[0], THROUGHPUT) for run in runs]
    known = [estimate for estimate in estimates if estimate is not None]
    own = [estimate.log for estimate in known]
    together = pooled(known)
    assert together.log == pytest.approx(np.mean(own))
    assert together.error == pytest.approx(np.std(own, ddof=1) / np.sqrt(5))


def test_the_verdict_is_plain_and_the_ranking_has_ties() -> None:
    rng = np.random.default_rng(11)
    runs = {"slow": 1000, "fast": 1300, "as fast": 1301}
    comparison = compare(*[ComparedRuns(name, [run_of(iops, rng)]) for name, iops in runs.items()])
    fast = verdicts(comparison)[0]
    heading, phrases = fast.statements[0]
    assert heading == "Faster in"
    assert phrases[0].startswith("random reads (four-corners): +")
    ranks = comparison.ranking[comparison.groups[0]]
    assert [(rank.place, rank.subject) for rank in ranks] == [
        (1, "fast"),
        (1, "as fast"),
        (3, "slow"),
    ]
    same = compare(*[ComparedRuns(name, [run_of(1000, rng)]) for name in "AB"])
    assert verdicts(same)[0].text == "B against A: no difference that these runs can show."
    # In a closed loop the mean latency says the same again, and is not repeated.
    assert "mean latency" not in fast.text


def test_a_difference_is_a_finding_like_any_other() -> None:
    comparison = compared([run_at(10_000)], [run_at(20_000)])
    found = [one for one in comparison.findings if one.name == "difference_throughput"]
    assert found
    for finding in found:
        assert isinstance(finding, Finding)
        assert (finding.verdict, finding.unit) == ("measured", "1")
        assert finding.value == pytest.approx(2, rel=0.05)
        assert finding.detail["verdict"] == "better"
        assert finding.to_dict()["evidence"]
    same = compared([run_at(10_000)], [run_at(10_000)]).findings
    assert {one.verdict for one in same} == {"not identifiable"}


def test_other_workloads_and_cut_recordings_are_not_compared() -> None:
    rng = np.random.default_rng(13)
    sides = [[run_of(1000, rng)], [run_of(1000, rng)]]
    for side, depth in zip(sides, (1, 4), strict=True):
        side[0].add_queue_depths("read", {depth: 1000.0})
        side[0].add("transfer-size/read/512", "read", iops=1000, block_bytes=512 * depth)
    assert compared(*sides).left_out == (
        "queue-depth/read/1 read",
        "queue-depth/read/4 read",
        "transfer-size/read/512 read",
    )
    sides[1][0].rows[0]["interrupted"] = True
    with pytest.raises(UserError, match="no recording in common"):
        compared(*sides)


def test_the_run_that_has_no_recording_in_common_is_named() -> None:
    other = FakeRun()
    other.add_queue_depths("write", {4: 1000.0})
    subjects = [ComparedRuns(name, [run_at(1000.0)]) for name in ("old", "new")]
    with pytest.raises(UserError, match=r"^old and odd have no recording in common: run"):
        compare(*subjects, ComparedRuns("odd", [other]))


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("read_iops < 0.9 * baseline", "failed"),
        ("read_iops < baseline * 0.5", "passed"),
        ("four-corners/*: read_throughput > 2 MB/s", "failed"),
        ("mean_read_latency > 1 s", "passed"),
        ("p99_read_latency > baseline", "failed"),
    ],
)
def test_gates(text: str, outcome: str) -> None:
    rng = np.random.default_rng(17)
    comparison = compared([run_of(1000, rng)], [run_of(800, rng)])
    checks = check_gate(parse_gate(text), comparison)
    assert {check.outcome for check in checks if check.subject == "B"} == {outcome}


def test_a_check_is_told_in_the_units_of_its_quantity() -> None:
    comparison = compared([run_at(100_000.0)], [run_at(100_000.0)])
    (check, _) = check_gate(parse_gate("read_iops < 200000"), comparison)
    assert re.fullmatch(r"99,986 IOPS \([0-9,]+ to [0-9,]+ IOPS\), limit 200,000 IOPS", check.words)
    (check, _) = check_gate(parse_gate("mean_read_latency > 2 ms"), comparison)
    assert re.match(r"10\.00 µs.*limit 2\.000 ms$", check.words)


def test_what_cannot_be_told_from_the_limit_is_undecided() -> None:
    rng = np.random.default_rng(19)
    comparison = compared([run_of(1000, rng)], [run_of(1000, rng)])
    difference = comparison.of(comparison.groups[0], "B", THROUGHPUT)[0]
    sign = "<" if difference.value < difference.baseline else ">"
    (check,) = check_gate(parse_gate(f"read_iops {sign} baseline"), comparison)
    assert check.outcome == "undecided"


@pytest.mark.parametrize(
    "text",
    ["", "read_iops", "read_iops > fast", "p99 > 2", "read_iops > 0", "mean_read_latency > 3"],
)
def test_gates_that_are_none_are_told(text: str) -> None:
    with pytest.raises(UserError, match="is not a gate"):
        parse_gate(text)


def test_a_gate_that_could_not_fail_is_refused() -> None:
    rng = np.random.default_rng(23)
    comparison = compared([run_of(1000, rng)], [run_of(1000, rng)])
    with pytest.raises(UserError, match="could not fail"):
        check_gate(parse_gate("write_iops < 3"), comparison)


def test_of_a_gate_the_worst_are_told_and_the_rest_counted() -> None:
    runs = [FakeRun(), FakeRun()]
    for run, step in zip(runs, (0.0, 10.0), strict=True):
        for point in range(8):
            run.add(f"t/{point}", "read", iops=1000.0 - step * point, pattern="random")
    comparison = compare(*[ComparedRuns(name, [run]) for name, run in zip("ab", runs, strict=True)])
    [tried] = by_gate(check_gate(parse_gate("read_iops < 1.0 * baseline"), comparison))
    assert [check.recording for check in tried.worst] == [f"t/{n}" for n in (7, 6, 5, 4, 3)]
    assert tried.words == "8 checks: 7 failed, 1 passed"
    assert tried.rest == "and 2 more, in --json and --junit"
    checked = replace(comparison, checks=tuple(tried.checks))
    assert markdown(checked).count("**failed**") == 5
    exact = replace(tried.worst[0], value=1000.0, interval=(999.99, 1000.01))
    assert exact.words == "1,000 IOPS, limit 1,000 IOPS"


def test_the_command(tmp_path: Path) -> None:
    for seed, link in (("1", "6 Gb/s"), ("2", "3 Gb/s")):
        done = fourcorners(
            *("characterize", "sim:ocz-vertex-3-120gb", "--tests", "four-corners"),
            *("--profile", "quick", "--set", f"link.line_rate={link}"),
            *("--seed", seed, "--out", f"runs{seed}", "--quiet"),
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
    paths = [str(next((tmp_path / f"runs{seed}").iterdir())) for seed in "12"]
    sides = [f"six={paths[0]}", f"three={paths[1]}"]
    gates = ("--fail-if", "read_throughput < 0.95 * baseline")
    done = fourcorners(
        *("compare", *sides, *gates, "--junit", "gates.xml", "--markdown", "summary.md", "--json"),
        cwd=tmp_path,
    )
    assert done.returncode == 4, done.stderr
    document = json.loads(done.stdout)
    validate("compare", document)
    assert document["verdicts"][0].startswith("three against six: slower in ")
    suite = ElementTree.parse(tmp_path / "gates.xml").getroot()
    assert int(suite.get("failures", "0")) == len(suite.findall("testcase/failure")) >= 1
    assert "**failed**" in (tmp_path / "summary.md").read_text()
    done = fourcorners("compare", *sides, cwd=tmp_path)
    assert done.returncode == 0
    assert "three against six" in done.stdout
    assert done.stdout.startswith("three against six\nSlower in\n")
    places = done.stdout.partition("Ranking")[2]
    assert "█" in places
    assert "●" in places


def test_what_differs_between_the_runs_is_told() -> None:
    before, after = run_at(1000.0), run_at(1100.0)
    before.environment = {"kernel": "Linux 6.1", "cpu": "same", "file_system": "ext4"}
    after.environment = {"kernel": "Linux 6.6", "cpu": "same"}
    comparison = compare(ComparedRuns("before", [before]), ComparedRuns("after", [after]))
    told = [setting.words for setting in comparison.settings]
    assert told == [
        "kernel: Linux 6.1 against Linux 6.6",
        "file system: ext4 against unknown",
    ]


def test_repeated_runs_tell_all_their_values() -> None:
    runs = [run_at(1000.0) for _ in range(3)]
    for run, kernel in zip(runs, ("6.1", "6.2", "6.1"), strict=True):
        run.environment = {"kernel": kernel}
    comparison = compare(ComparedRuns("a", runs[:2]), ComparedRuns("b", runs[2:]))
    assert [setting.words for setting in comparison.settings] == ["kernel: 6.1 or 6.2 against 6.1"]


def test_at_one_rate_the_verdict_tells_the_mean_latency() -> None:
    """As of a replay at recorded times: as many I/Os each second, and each takes longer."""
    rng = np.random.default_rng(5)
    sides = []
    for latency_s in (1e-3, 2e-3):
        run = FakeRun()
        series = 1000 * (1 + rng.normal(0, 0.02, 60))
        run.add(
            *("replay/trace", "write"),
            iops=float(series.mean()),
            series_iops=series,
            latency_mean_s=latency_s,
            pattern="recorded",
        )
        sides.append(ComparedRuns(f"{latency_s:g}", [run]))
    text = verdicts(compare(*sides))[0].text
    assert "higher mean latency in recorded writes (replay): +" in text
    assert "slower" not in text


@pytest.mark.parametrize(
    ("iops", "text"), [(2000.0, "+100 %"), (5000.0, "5.00 times"), (2.0, "1/508 to 1/492")]
)
def test_large_changes_are_told_as_multiples_and_parts(iops: float, text: str) -> None:
    comparison = compare(
        ComparedRuns("slow", [run_at(1000.0)]), ComparedRuns("fast", [run_at(iops)])
    )
    assert text in verdicts(comparison)[0].text


def test_the_page_shows_what_the_comparison_says() -> None:
    fast, slow = run_at(2000.0), run_at(1000.0)
    comparison = compare(
        ComparedRuns("<b>slow", [slow]),
        ComparedRuns("fast", [fast]),
        fail_if=["read_iops > 1.5 * baseline"],
    )
    text = render_page(comparison)
    # It has the margins of the rest.
    assert text.index("</footer>") < text.index("</main>")
    assert "&lt;b&gt;slow" in text
    assert "<b>slow" not in text
    assert "<script" not in text
    assert "http" not in re.sub(r"<meta[^>]*>", "", text)
    assert "+100 %" in text
    assert text.count('<svg class="better"') == 3  # of the three quantities
    assert 'class="gate-failed"' in text


def test_differences_are_drawn_in_characters() -> None:
    subjects = [ComparedRuns("slow", [run_at(1000.0)])]
    subjects += [ComparedRuns(str(iops), [run_at(iops)]) for iops in (1000.0, 500.0, 2000.0)]
    comparison = compare(*subjects)
    same, half, twice = (d for d in comparison.differences if d.quantity is THROUGHPUT)
    axis = axis_of([same, half, twice])
    rows = [strip.row(axis, one) for one in (same, half, twice)]
    assert {len(row) for row in (*rows, strip.labels(axis))} == {strip.COLUMNS}
    assert [row.strip() for row in rows] == ["○", "●        │", "│        ●"]
    assert strip.span(axis, [half, twice]).count("●") == 2
    assert strip.labels(axis).split() == ["1/2", "same", "2"]
    widest = compare(subjects[0], ComparedRuns("fast", [run_at(1e9)])).differences
    assert strip.labels(axis_of(widest)).split() == ["1/1000", "same", "1000"]
    far = axis_of([same])
    assert strip.row(far, twice)[-1] == "▶"
    assert strip.row(far, half)[0] == "◀"


def test_an_axis_holds_every_value_or_points_to_it() -> None:
    fast, slow = run_at(2e9), run_at(1.0)
    comparison = compare(ComparedRuns("slow", [slow]), ComparedRuns("fast", [fast]))
    [difference] = [d for d in comparison.differences if d.quantity is THROUGHPUT]
    drawn = axis_of([difference]).row(difference)
    assert "<circle" not in drawn  # an arrow at the edge
    places = [float(x) for x in re.findall(r'd="M([0-9.]+) ', drawn)]
    assert all(0 <= x <= WIDTH for x in places)


def test_sides_are_spelt_in_python_as_on_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a run folder"):
        fc.compare(str(tmp_path), str(tmp_path))
    path = fc.run("queue-depth", "sim:ocz-core-64gb", scale=0.01, out=tmp_path).path
    comparison = fc.compare(f"old={path}", f"new={path}")
    assert [subject.label for subject in comparison.subjects] == ["old", "new"]
    assert {round(d.value / d.baseline, 9) for d in comparison.differences} == {1.0}
