"""Plans say what the reviews did; the runner carries them out and survives what goes wrong."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import fourcorners as fc
from fourcorners.suites import Measurement, Subject, steps
from fourcorners.suites import Test as PlannedTest
from fourcorners.suites.steps import Fill, Purge
from fourcorners.suites.suite import choose_suite, reviews
from fourcorners.target.simulated import SimulatedTarget
from fourcorners.target.target import Target

GB = 10**9
DRIVE = Subject("simulated", 240_057_409_536)


def _tests(subject: Subject, profile: str = "standard") -> dict[str, PlannedTest]:
    return {test.name: test for test in reviews(profile).plan(subject).tests}


def _measurements(test: PlannedTest) -> dict[str, Measurement]:
    return {m.id.partition("/")[2]: m for phase in test.phases for m in phase.measurements}


def test_four_corners_are_those_of_the_vertex_3_review() -> None:
    corners = _measurements(_tests(DRIVE)["four-corners"])
    assert set(corners) == {
        "random-write-qd3-incompressible",
        "random-write-qd3-repeated",
        "random-write-qd32-incompressible",
        "random-write-qd32-repeated",
        "random-read-qd3",
        "sequential-read-qd1",
        "sequential-write-qd1-incompressible",
        "sequential-write-qd1-repeated",
    }
    random = corners["random-write-qd3-repeated"]
    assert random.workload.duration_s == 180
    assert random.stream.span_bytes == 8 * GB
    assert (random.stream.block_bytes, random.stream.queue_depth_per_worker) == (4096, 3)
    sequential = corners["sequential-read-qd1"]
    assert sequential.workload.duration_s == 60
    assert sequential.stream.span_bytes == DRIVE.capacity_bytes
    assert (sequential.stream.block_bytes, sequential.stream.queue_depth_per_worker) == (131_072, 1)


def test_the_queue_depth_sweep_is_that_of_the_sata_comparison() -> None:
    sweep = _measurements(_tests(DRIVE)["queue-depth"])
    assert [m.stream.queue_depth_per_worker for m in sweep.values()] == [*range(1, 32, 3), 1] * 2
    assert [id for id, m in sweep.items() if m.axes.get("again")] == [
        "read-again/1",
        "write-again/1",
    ]
    assert {m.workload.duration_s for m in sweep.values()} == {90}


def test_the_transfer_sizes_are_those_of_the_core_study() -> None:
    sweep = _measurements(_tests(DRIVE)["transfer-size"])
    assert [m.stream.block_bytes for m in sweep.values()] == [512 << n for n in range(21)] * 2
    assert {m.stream.alignment_bytes for m in sweep.values()} == {512}
    assert sweep["read/512"].workload.duration_s == 30
    assert sweep["read/536870912"].workload.duration_s == 300


def test_consistency_is_that_of_the_vector_review() -> None:
    [phase] = _tests(DRIVE)["consistency"].phases
    assert phase.preparation == (Purge(), Fill(DRIVE.capacity_bytes))
    [measurement] = phase.measurements
    assert measurement.workload.duration_s == 2000
    assert measurement.stream.queue_depth_per_worker == 32
    assert measurement.stream.span_bytes == DRIVE.capacity_bytes


def test_a_fill_reaches_the_last_byte() -> None:
    whole, tail = Fill(10 * 131_072 + 1024).workloads(seed=1)
    assert whole.ios == 10
    assert whole.streams[0].span_bytes == 10 * 131_072
    assert (tail.streams[0].offset_bytes, tail.streams[0].block_bytes) == (10 * 131_072, 1024)


def test_a_small_file_gets_what_fits_and_says_so() -> None:
    small = Subject("file", 2 << 30, needs_fill=True)
    for profile in ("quick", "standard"):
        tests = _tests(small, profile)
        for test in tests.values():
            for measurement in _measurements(test).values():
                assert (measurement.stream.span_bytes or 0) <= small.capacity_bytes
    sweep = tests["transfer-size"]
    assert max(m.stream.block_bytes for m in _measurements(sweep).values()) == 512 << 20
    tiny = _tests(Subject("file", 1 << 30), "standard")["transfer-size"]
    assert max(m.stream.block_bytes for m in _measurements(tiny).values()) == 256 << 20
    assert "over a quarter of 1 GiB" in tiny.parameters["left out"]


def test_sizes_that_direct_io_cannot_address_are_left_out() -> None:
    sweep = _tests(Subject("device", 100 * GB, request_alignment_bytes=4096))["transfer-size"]
    assert min(m.stream.block_bytes for m in _measurements(sweep).values()) == 4096
    assert "2 KiB and less" in sweep.parameters["left out"]


def test_a_read_only_target_is_only_read() -> None:
    tests = _tests(Subject("device", 100 * GB, writable=False))
    assert tests["consistency"].skip_reason is not None
    for name in ("four-corners", "queue-depth", "transfer-size"):
        measurements = _measurements(tests[name]).values()
        assert measurements
        assert {m.stream.operation for m in measurements} == {"read"}
        assert "opened for reading only" in tests[name].parameters["left out"]
        steps = [step for phase in tests[name].phases for step in phase.preparation]
        assert not [step for step in steps if isinstance(step, Purge | Fill)]


def test_what_is_not_filled_is_not_called_filled() -> None:
    device = Subject("device", 100 * GB)
    assert device.alone(GB, ", filled") == "the first 1 GB, filled; the rest empty"
    for same in ({"writable": False}, {"keeps_state": False}, {"state": "worn.state"}):
        assert dataclasses.replace(device, **same).alone(GB, ", filled") == "the first 1 GB"


def test_quick_bounds_what_has_to_be_filled_on_real_drives() -> None:
    for subject, expected in [
        (Subject("device", 500 * GB), 8 * GB),
        (Subject("device", 500 * GB, keeps_state=False), 500 * GB),
        (Subject("simulated", 500 * GB), 500 * GB),
    ]:
        sweep = _measurements(_tests(subject, "quick")["transfer-size"])
        reads = {m.stream.span_bytes for m in sweep.values() if m.stream.operation == "read"}
        assert reads == {expected}


def test_large_writes_find_the_drive_that_small_ones_found() -> None:
    """Where the past matters, the size sweep must not use up the spare area on its way."""
    for subject, expected in [
        (Subject("simulated", 256 * GB), 8 * GB),
        (Subject("simulated", 640 * GB, keeps_state=False), 640 * GB),
    ]:
        sweep = _measurements(_tests(subject)["transfer-size"])
        writes = {m.stream.span_bytes for m in sweep.values() if m.stream.operation == "write"}
        assert writes == {expected}


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(fc.UserError, match="did you mean queue-depth"):
        choose_suite("reviews", tests=["queue-dept"])
    with pytest.raises(fc.UserError, match="did you mean quick"):
        reviews("quik")


def test_a_run_keeps_its_plan_and_its_measurements(tmp_path: Path) -> None:
    run = fc.characterize(
        "sim:ocz-core-64gb", profile="quick", tests=["transfer-size"], out=tmp_path, seed=7
    )
    assert run.manifest.status == "complete"
    assert run.manifest.seed == 7
    assert run.manifest.target.locator == "sim:ocz-core-64gb"
    [test] = run.manifest.tests
    assert test.status == "complete"
    assert test.preparation[:2] == [
        "secure erase",
        "sequential fill of the whole drive, 128 KiB",
    ]
    listed = [recording.id for recording in test.recordings]
    assert [row.id for row in run.recordings] == listed
    assert listed[0] == "transfer-size/read/512"
    assert test.recordings[0].workload.seed == 7
    assert run.findings
    assert {"report.html", "drive.toml"} <= {path.name for path in run.path.iterdir()}


def test_the_whole_suite_runs_on_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "SETTLE_S", 0.0)
    short = reviews("quick").shortened(0.05)
    with fc.open_target(str(tmp_path / "test.img"), size=64 << 20) as target:
        run = fc.run(short, target, out=tmp_path / "runs")
    assert run.manifest.status == "complete", run.manifest.tests
    assert run.manifest.target.kind == "file"
    assert run.manifest.environment["kernel"]
    assert len(run.manifest.tests) == 5
    assert "sequential fill of the whole drive, 128 KiB" in run.manifest.tests[0].preparation
    assert {row["errors"] for row in run.table("recordings").to_pylist()} == {0}
    # No write test leaves an operation of the other kind behind.
    assert all(name in one.id for one in run.recordings for name in one.operations)
    assert sum(row["cpu_system_s"] for row in run.table("recordings").to_pylist()) > 0


class _Failing(SimulatedTarget):
    """A drive that dies under writes."""

    def run(self, workload: fc.Workload, watch: object = None, **options: Any) -> fc.Recording:
        if workload.streams[0].queue_depth_per_worker == 32:
            raise fc.UserError("the device went away")
        return super().run(workload, None)


def test_a_failed_test_leaves_the_others_alone(tmp_path: Path) -> None:
    plain = fc.open_target("sim:ocz-core-64gb")
    assert isinstance(plain, SimulatedTarget)
    target: Target = _Failing.__new__(_Failing)
    target.__dict__.update(plain.__dict__)
    run = fc.characterize(
        target, profile="quick", tests=["four-corners", "transfer-size"], out=tmp_path
    )
    assert run.manifest.status == "failed"
    assert [(t.name, t.status, t.reason) for t in run.manifest.tests] == [
        ("four-corners", "failed", "the device went away"),
        ("transfer-size", "complete", None),
    ]
    # What was measured before is kept.
    assert {row.id for row in run.recordings} >= {"four-corners/random-write-qd3-incompressible"}


def test_a_part_filled_drive_is_filled_and_used_in_that_part_alone() -> None:
    half = DRIVE.capacity_bytes // 2
    subject = dataclasses.replace(DRIVE, filled_share=0.5)
    for name, test in _tests(subject).items():
        for phase in test.phases:
            counts = [step.count for step in phase.preparation if isinstance(step, Fill)]
            assert all(half - 4096 < c <= half or c in (GB, 8 * GB) for c in counts), name
            for measurement in phase.measurements:
                stream = measurement.stream
                assert stream.span_bytes is not None
                assert stream.offset_bytes + stream.span_bytes <= half, measurement.id
    consistency = _measurements(_tests(subject)["consistency"])["write"]
    assert half - 4096 < (consistency.stream.span_bytes or 0)


def test_quick_shortens_pauses_and_no_limits() -> None:
    def parameters(test: str) -> dict[str, str]:
        [planned] = choose_suite(test, quick=True).plan(DRIVE).tests
        return planned.parameters

    assert parameters("recovery")["pauses"] == "0.05 s, 0.5 s, 3 s, 30 s"
    assert "within 0.01 s" in parameters("latency-under-load")["limit"]
    [whole] = choose_suite("recovery", scale=0.05).plan(DRIVE).tests
    assert whole.parameters["pauses"] == "1 s, 10 s, 60 s, 600 s"
