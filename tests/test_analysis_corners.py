"""The four corners, what the data's content changes, and the gain from queueing."""

import numpy as np
import pytest
from analysis_fixture import FakeRun, codes, named

from fourcorners.analysis import find
from fourcorners.finding import Finding


def write_pair(incompressible: float, repeated: float, elapsed_s: float = 180.0) -> FakeRun:
    run = FakeRun()
    for content, iops in (("incompressible", incompressible), ("repeated", repeated)):
        run.add(
            f"four-corners/random-write-qd3-{content}",
            "write",
            iops=iops,
            elapsed_s=elapsed_s,
            pattern="random",
            block_bytes=4096,
            queue_depth=3,
            content=content,
        )
    return run


def compression(incompressible: float, repeated: float, elapsed_s: float = 180) -> Finding:
    return named(find(write_pair(incompressible, repeated, elapsed_s)), "compression")


def test_the_shallow_incompressible_variant_stands_for_a_corner() -> None:
    run = write_pair(10_000, 40_000)
    run.add(
        "four-corners/random-write-qd32-incompressible",
        "write",
        iops=12_000,
        pattern="random",
        block_bytes=4096,
        queue_depth=32,
        content="incompressible",
    )
    finding = named(find(run), "corner_random_write")
    assert finding.value == 10_000 * 4096
    assert finding.unit == "B/s"
    assert len(finding.detail["variants"]) == 3
    assert {"corner.latency", "corner.others"} <= codes(run, "corner_random_write")


def test_the_interval_of_a_corner_follows_its_series() -> None:
    run = write_pair(10_000, 10_000)
    noisy = np.random.default_rng(3).normal(10_000, 500, 180)
    run.all_series["four-corners/random-write-qd3-incompressible", "write"]["bytes"] = noisy * 4096
    low, high = named(find(run), "corner_random_write").interval or (0.0, 0.0)
    assert low < 10_000 * 4096 < high
    assert 0.002 < (high - low) / (10_000 * 4096) < 0.03


def test_a_corner_of_a_few_seconds_has_no_interval() -> None:
    finding = named(find(write_pair(10_000, 10_000, elapsed_s=5)), "corner_random_write")
    assert finding.interval is None


def test_compression_is_seen() -> None:
    finding = compression(10_000, 43_000)
    assert finding.value == pytest.approx(4.3)
    assert finding.detail["seen"] is True
    assert len(finding.evidence) == 2


def test_equal_rates_are_not_compression() -> None:
    finding = compression(10_000, 10_500)
    assert finding.detail["seen"] is False
    assert "content.not_seen" in codes(write_pair(10_000, 10_500), "compression")


def test_a_few_slow_ios_are_not_compression() -> None:
    assert compression(4.0, 5.0, elapsed_s=10).detail["seen"] is False
    assert compression(4.0, 5.0, elapsed_s=1000).detail["seen"] is True


def test_slower_repeated_data_is_not_called_compression() -> None:
    finding = compression(10_000, 5_000)
    assert finding.detail["seen"] is False
    assert "content.slower" in codes(write_pair(10_000, 5_000), "compression")


def test_compression_is_not_identifiable_without_a_pair() -> None:
    run = FakeRun()
    run.add("four-corners/random-read", "read", iops=100, pattern="random", block_bytes=4096)
    assert named(find(run), "compression").verdict == "not identifiable"


def queue_run(iops: dict[int, float]) -> FakeRun:
    run = FakeRun()
    run.add_queue_depths("read", iops)
    return run


def queue_finding(iops: dict[int, float]) -> Finding:
    return named(find(queue_run(iops)), "queue_depth_read")


def queue_codes(iops: dict[int, float]) -> set[str]:
    return codes(queue_run(iops), "queue_depth_read")


def test_queueing_gain_and_the_depth_that_suffices() -> None:
    finding = queue_finding({1: 5000, 4: 18_000, 7: 28_000, 31: 30_000})
    assert finding.value == pytest.approx(6)
    assert finding.detail["nearly_all_queue_depth"] == 7
    assert finding.detail["effect"] == "gain"


def test_queueing_that_does_nothing() -> None:
    assert "queue_depth.none" in queue_codes({1: 2220, 31: 2221})


def test_queueing_that_hurts_and_the_depth_that_was_best() -> None:
    assert {"queue_depth.loss", "queue_depth.highest"} <= queue_codes({1: 1000, 4: 2000, 31: 500})
    assert queue_finding({1: 1000, 4: 2000, 31: 500}).detail["highest_queue_depth"] == 4


def test_a_change_within_chance_is_not_told_as_one() -> None:
    assert "queue_depth.unclear" in queue_codes({1: 1.0, 31: 0.7})


def test_one_depth_says_nothing() -> None:
    assert queue_finding({8: 1000}).verdict == "not identifiable"


def test_power_is_of_the_recording_that_stands_for_a_corner() -> None:
    run = write_pair(10_000, 40_000)
    assert all(finding.name != "power" for finding in find(run))
    for row, energy_j in zip(run.rows, (540.0, 900.0), strict=True):
        row["energy_j"] = energy_j
    finding = named(find(run), "power")
    assert (finding.value, finding.unit) == (3.0, "W")
    # 10,000 times 4096 B a second for 180 s.
    assert finding.detail["corners"][0]["energy_per_gb_j"] == pytest.approx(540 / 7.3728)
