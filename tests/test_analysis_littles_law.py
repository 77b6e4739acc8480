"""Little's law holds for what was measured well, and only for that."""

from dataclasses import asdict

import pytest
from analysis_fixture import FakeRun, codes, named
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorners.analysis import find
from fourcorners.workload import Stream


def one(**fields: float) -> FakeRun:
    run = FakeRun()
    run.add("queue-depth/read/4", "read", **{"iops": 1000.0, "queue_depth": 4, **fields})  # type: ignore[arg-type]
    return run


@settings(deadline=None)
@given(iops=st.floats(0.1, 1e7), depth=st.integers(1, 256))
def test_holds_for_any_rate_and_depth(iops: float, depth: int) -> None:
    run = one(iops=iops, queue_depth=depth, elapsed_s=60 + 10 / iops)
    finding = named(find(run), "littles_law")
    assert finding.verdict == "holds"
    assert finding.value == pytest.approx(0, abs=1e-9)
    assert finding.detail["nominal_not_reached"] == []


@settings(deadline=None)
@given(lost=st.floats(0.02, 0.9))
def test_violated_when_ios_are_lost(lost: float) -> None:
    run = one(iops=1000 * (1 - lost), latency_mean_s=4 / 1000)
    finding = named(find(run), "littles_law")
    assert finding.verdict == "violated"
    assert finding.value == pytest.approx(-lost)
    assert finding.detail["violated"] == ["queue-depth/read/4"]


def test_both_operations_of_a_mix_share_the_queue() -> None:
    run = FakeRun()
    for operation in ("read", "write"):
        run.add("mix/one", operation, iops=500.0, latency_mean_s=4e-3, queue_depth=4)
    assert named(find(run), "littles_law").verdict == "holds"


def test_a_drained_tail_is_told() -> None:
    finding = named(find(one(mean_queue_depth=3.5, latency_mean_s=3.5e-3)), "littles_law")
    assert finding.verdict == "holds"
    assert finding.detail["nominal_not_reached"] == ["queue-depth/read/4"]


def test_failed_ios_are_named_as_a_likely_cause() -> None:
    finding = named(find(one(latency_mean_s=3e-3, errors=60)), "littles_law")
    assert finding.verdict == "violated"
    assert "littles_law.failed" in codes(one(latency_mean_s=3e-3, errors=60), "littles_law")


def test_a_ramp_explains_a_small_deviation_and_not_a_large_one() -> None:
    # Ten I/Os of a second each in ten seconds: those under way at the start weigh a tenth.
    slow = {"iops": 1.0, "queue_depth": 1, "elapsed_s": 10.0, "latency_mean_s": 1.0}
    slack = {**slow, "mean_queue_depth": 0.91}
    assert named(find(one(**slack)), "littles_law").verdict == "violated"
    assert named(find(one(**slack, ramp_ns=10**9)), "littles_law").verdict == "holds"
    worse = {**slow, "mean_queue_depth": 0.7, "ramp_ns": 10**9}
    assert named(find(one(**worse)), "littles_law").verdict == "violated"


def test_recordings_without_a_queue_depth_are_left_out() -> None:
    run = one()
    run.rows[0]["mean_queue_depth"] = None
    assert all(f.name != "littles_law" for f in find(run))


def test_parts_of_some_i_os_are_not_taken_for_those_of_all() -> None:
    # Half of the writes come at a rate and are served in 2 ms, the others in 6 ms, in a loop.
    run = one(latency_mean_s=4e-3)
    run.rows[0] |= {"queue_mean_s": 0.0, "lateness_mean_s": 0.0, "service_mean_s": 2e-3}
    assert named(find(run), "littles_law").verdict == "holds"
    # Where they waited, what the others' parts are is not known, and the law is not asked.
    run.rows[0]["queue_mean_s"] = 1e-3
    stream = asdict(Stream.read("random", 4096))
    run.points[0]["workload"] = {"ramp_ns": 0, "streams": [stream]}
    assert all(f.name != "littles_law" for f in find(run))
