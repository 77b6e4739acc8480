"""What the summary makes of different drives' data, and that findings are valid JSON."""

import json
import math
from typing import Any

import numpy as np
import pytest
from analysis_fixture import MIB, SIZES, FakeRun, access_seconds, core_run, named

from fourcorners.analysis import Finding, find


def disk() -> FakeRun:
    run = FakeRun(capacity_bytes=640 * 10**9)
    run.add_transfer_sizes("read", SIZES, access_seconds(12.85e-3, 85 * MIB))
    run.add_transfer_sizes("write", SIZES, access_seconds(6.99e-3, 85 * MIB))
    run.add_queue_depths("read", {1: 77.0, 4: 108.0, 31: 174.0})
    for key in run.histograms:
        latency_ns = np.array([8, 11, 15, 18]) * 10**6
        run.histograms[key] = (latency_ns, latency_ns, np.full(4, 20))
    return run


def page_mapped() -> FakeRun:
    run = FakeRun(capacity_bytes=256 * 10**9)
    run.add_transfer_sizes("read", SIZES, access_seconds(150e-6, 520e6))
    run.add_transfer_sizes("write", SIZES, access_seconds(40e-6, 500e6))
    run.add_consistency(np.where(np.arange(2000) < 30, 90_000.0, 8_000.0))
    return run


def memory() -> FakeRun:
    run = FakeRun()
    run.add_transfer_sizes("read", SIZES, access_seconds(2e-6, 5e9))
    return run


def flash_reads_only() -> FakeRun:
    run = FakeRun()
    run.add_queue_depths("read", {1: 6000.0, 31: 60_000.0})
    return run


def writes_only() -> FakeRun:
    run = FakeRun()
    run.add_consistency(np.full(30, 40_000.0))
    return run


DRIVES = {
    "block-mapped": core_run,
    "disk": disk,
    "page-mapped": page_mapped,
    "memory": memory,
    "solid-state": flash_reads_only,
    "unknown": writes_only,
}


@pytest.mark.parametrize("kind", DRIVES)
def test_the_kind_follows_from_the_data(kind: str) -> None:
    findings = find(DRIVES[kind]())
    assert findings[0].name == "summary"
    assert findings[0].detail["kind"] == kind
    assert (findings[0].verdict == "not identifiable") == (kind == "unknown")


def test_reads_that_all_take_the_same_time_are_of_no_disk() -> None:
    """Of a drive that writes its map back before each read, for one."""
    run = disk()
    for key in run.histograms:
        latency_ns = np.array([8_000_000, 12_845_000, 12_850_000, 18_000_000])
        run.histograms[key] = (latency_ns, latency_ns, np.array([8, 32, 32, 8]))
    summary = named(find(run), "summary")
    assert summary.detail["kind"] == "unknown"
    assert "no turning disk" in summary.text


def test_a_drive_whose_reads_are_quick_or_wait_long_is_no_disk() -> None:
    """Of a drive that writes its map back most reads are of a page, and some take far longer."""
    run = disk()
    for key in run.histograms:
        latency_ns = np.array([200_000, 250_000, 15_000_000, 60_000_000])
        run.histograms[key] = (latency_ns, latency_ns, np.array([20, 30, 20, 10]))
    for row in run.rows:
        row["latency_min_s"] = 0.2e-3
    summary = named(find(run), "summary")
    assert summary.detail["kind"] == "unknown"
    assert "less than any arm" in summary.text


def test_small_reads_that_many_at_once_make_fast_are_not_advised_against() -> None:
    """Small reads at once reach a seventh of what one read at a time does above 8 MiB only."""
    for deep, told in ((64_000.0, False), (16_000.0, True)):
        run = FakeRun(capacity_bytes=256 * 10**9)
        rates = np.interp(SIZES, [4096, MIB, 8 * MIB, 32 * MIB], [30e6, 500e6, 900e6, 1.8e9])
        run.add_transfer_sizes("read", SIZES, np.array(SIZES) / rates)
        run.add_queue_depths("read", {1: 9_000.0, 4: 12_000.0, 31: deep})
        remarks = named(find(run), "summary").detail["remarks"]
        assert any(one["name"] == "avoid_small_reads" for one in remarks["avoid"]) == told


def test_the_text_of_the_core_has_its_numbers() -> None:
    summary = named(find(core_run()), "summary")
    for said in ("478 µs", "246 ms", "reads up to 131 MB/s and writes up to 76.3 MB/s"):
        assert said in summary.text
    assert any(
        "4.07 a second" in weakness["text"] for weakness in summary.detail["remarks"]["weaknesses"]
    )
    assert any(
        "Random reads are cheap" in s["text"] for s in summary.detail["remarks"]["strengths"]
    )
    assert summary.detail["remarks"]["avoid"][0]["text"].startswith("Avoid small random writes")


def test_the_text_of_the_disk_has_its_numbers() -> None:
    summary = named(find(disk()), "summary")
    for said in ("12.9 ms", "2.26 times as fast", "7.04 ms", "write cache"):
        assert said in summary.text


def test_the_text_of_the_page_mapped_drive_has_its_cliff() -> None:
    detail = named(find(page_mapped()), "summary").detail
    assert any(
        "8.89 % of the fresh rate after 11.1 GB" in w["text"]
        for w in detail["remarks"]["weaknesses"]
    )


def test_a_steady_state_not_reached_is_replaced_by_what_follows_the_cliff() -> None:
    run = FakeRun(capacity_bytes=256 * 10**9)
    run.add_queue_depths("read", {1: 6000.0})
    run.add_consistency(np.where(np.arange(40) < 34, 90_000.0, 6_000.0))
    summary = named(find(run), "summary")
    assert "from 90,000 a second to 6,000" in summary.text


@pytest.mark.parametrize("kind", DRIVES)
@pytest.mark.parametrize("test", ["transfer-size", "queue-depth", "consistency"])
def test_any_test_may_be_missing(kind: str, test: str) -> None:
    run = DRIVES[kind]()
    run.rows = [row for row in run.rows if row["test"] != test]
    findings = find(run)
    assert bool(findings) == bool(run.rows)


@pytest.mark.parametrize("kind", DRIVES)
def test_findings_are_json_with_known_verdicts(kind: str) -> None:
    findings = find(DRIVES[kind]())
    written = [finding.to_dict() for finding in findings]
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    assert len({f.name for f in findings}) == len(findings)
    recorded = {row["recording"] for row in DRIVES[kind]().rows}
    for finding in findings:
        assert finding.verdict in ("measured", "holds", "violated", "not identifiable")
        assert finding.text.endswith(".")
        assert set(finding.evidence) <= recorded


def test_a_run_without_successful_ios_has_no_findings() -> None:
    run = disk()
    for row in run.rows:
        row |= {"ios": 0, "iops": 0.0, "latency_mean_s": None}
    assert find(run) == []
    assert find(FakeRun()) == []


def test_a_finding_turns_what_json_lacks_into_null() -> None:
    detail: dict[str, Any] = {"a": np.array([1.0, math.nan]), "b": (math.inf, np.int64(3))}
    finding = Finding("x", "X", "measured", "x.", value=math.nan, interval=(0, math.inf),
                      detail=detail).to_dict()  # fmt: skip
    assert finding["value"] is None
    assert finding["interval"] is None
    assert finding["detail"] == {"a": [1.0, None], "b": [None, 3]}


def test_a_finding_refuses_what_json_cannot_hold() -> None:
    with pytest.raises(TypeError, match="set"):
        Finding("x", "X", "measured", "x.", detail={"a": {1}}).to_dict()


def test_where_the_access_model_fails_what_was_measured_is_told() -> None:
    # Of a drive that rewrites clusters the model's half-speed size does not reach half the rate.
    findings = find(core_run())
    detail = named(findings, "access_model_write").detail
    rate = dict(zip(detail["block_bytes"], detail["measured_bytes_per_second"], strict=True))
    assert rate[32 * MIB] < max(rate.values()) / 2 < rate[64 * MIB]
    [remark] = [
        one
        for one in named(findings, "summary").detail["remarks"]["avoid"]
        if one["name"] == "avoid_small_writes"
    ]
    assert "64 MiB (as measured" in remark["text"]
    assert remark["evidence"] == ["transfer-size/write/4096"]
    low, high = remark["interval"]
    assert low < remark["value"] < high
    assert remark["value"] == pytest.approx(4096 / rate[4096])
