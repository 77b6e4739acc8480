"""Preconditioning that the judge ends, and rounds that it ends, on a small simulated drive."""

from pathlib import Path

import numpy as np
import pytest

import fourcorners as fc
from fourcorners.errors import UserError
from fourcorners.running.precondition import write_until_steady
from fourcorners.suites.snia.common import in_round, rounds
from fourcorners.suites.steps import Fill
from fourcorners.suites.test import MeasuredSoFar
from fourcorners.target.target import Target
from fourcorners.workload import Stream, Workload
from fourcorners_validation.arena.steady.drives import draw

SUITE = """
schema_version = 1
name = "worn"
[[test]]
name = "worn"
purpose = "What a worn drive writes."
prepare = ["purge", "fill", "steady"]
[[test.workload]]
duration = "60 s"
reads = "0 %"
block = "4 KiB"
pattern = "random"
"""


@pytest.fixture
def drive_file(tmp_path: Path) -> Path:
    """A drive with much spare area: 320 MiB, which it writes in some minutes of its time."""
    path = tmp_path / "small.toml"
    path.write_text(draw(4, 1).drive.text)
    return path


def _filled(drive: Target) -> None:
    drive.purge()
    for workload in Fill(drive.capacity_bytes).workloads(1):
        drive.run(workload)


def test_it_stops_in_the_state_that_longer_writing_leads_to(drive_file: Path) -> None:
    stream = Stream.write("random", 4096, queue_depth_per_worker=32)
    with fc.open_target(str(drive_file)) as drive:
        capacity = drive.capacity_bytes

        def rate(seed: int) -> float:
            workload = Workload([stream], volume_bytes=capacity, seed=seed)
            return drive.run(workload).bytes_per_second

        _filled(drive)
        fresh = rate(100)
        _filled(drive)
        outcome = write_until_steady(
            drive.run, stream, span_bytes=capacity, capacity_bytes=capacity
        )
        assert outcome.steady
        assert outcome.written_bytes < 1.5 * capacity
        prepared = rate(101)
        drive.run(Workload([stream], volume_bytes=capacity, seed=102))
        assert prepared == pytest.approx(rate(103), rel=0.03)
        assert fresh > 1.1 * prepared


def test_it_gives_up_and_tells_failures(drive_file: Path) -> None:
    stream = Stream.write("random", 4096, queue_depth_per_worker=32)
    with fc.open_target(str(drive_file)) as drive:
        outcome = write_until_steady(
            drive.run,
            stream,
            span_bytes=drive.capacity_bytes,
            capacity_bytes=drive.capacity_bytes,
            capacities_max=0.1,
        )
        assert not outcome.steady
        assert outcome.written_bytes == pytest.approx(0.1 * drive.capacity_bytes, rel=0.02)
        with pytest.raises(UserError, match="preconditioning did not end: it was interrupted"):
            write_until_steady(
                lambda workload: drive.run(workload, lambda *_: False),
                stream,
                span_bytes=10_000 * drive.capacity_bytes,
                capacity_bytes=10_000 * drive.capacity_bytes,
            )


def test_a_suite_asks_for_it(drive_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "worn-suite.toml"
    path.write_text(SUITE)
    with fc.open_target(str(drive_file)) as drive:
        run = fc.run(str(path), drive, out=tmp_path)
    [test] = run.manifest.tests
    assert test.status == "complete"
    assert test.preparation[2].startswith("4 KiB random writes to the whole drive until steady:")
    assert test.preparation[2].endswith("times over")


def test_prepare_saves_a_drive_that_was_written_until_steady(
    drive_file: Path, tmp_path: Path
) -> None:
    state = tmp_path / "worn.state"
    with fc.open_target(str(drive_file)) as drive:
        fc.prepare(drive, state, until_steady=True)
    stream = Stream.write("random", 4096, queue_depth_per_worker=32)
    with fc.open_target(str(drive_file), state=state) as drive:
        count = drive.capacity_bytes // 2
        rates = [
            drive.run(Workload([stream], volume_bytes=count, seed=seed)).bytes_per_second
            for seed in (200, 201)
        ]
        assert rates[0] == pytest.approx(rates[1], rel=0.03)
        with pytest.raises(UserError, match="leave out --until-steady"):
            fc.prepare(drive, tmp_path / "other", steady_state=True, until_steady=True)


def test_rounds_may_be_ended_by_the_judge() -> None:
    stream = Stream.write("random", 4096)

    def phase(judged_bytes: int | None) -> int:
        """Rounds until the end, of a drive that is fast for eight rounds."""
        plan = rounds(
            (),
            lambda number: (in_round(number, "w", "write", stream, 60, 1, metric="iops"),),
            lambda one: one.iops,
            200,
            judged_bytes=judged_bytes,
        )
        measured = MeasuredSoFar()
        batch = plan.first
        chance = np.random.default_rng(1)
        while batch:
            [one] = batch
            iops = (20_000 if len(measured) < 8 else 4000) * (1 + 0.01 * chance.standard_normal())
            measured.add(one, _recording(iops))
            batch = plan.following(measured)
        return len(measured)

    assert phase(None) == 5
    assert 8 + 16 <= phase(80 * 10**9) < 100


def _recording(iops: float) -> fc.Recording:
    """A minute of 4 KiB writes."""
    ios = round(iops * 60)
    write = fc.OperationRecording(
        ios=ios,
        bytes=4096 * ios,
        errors={},
        elapsed_s=60.0,
        latency_min_s=None,
        latency_mean_s=None,
        latency_max_s=None,
    )
    return fc.Recording(60.0, 1.0, None, None, None, False, None, {"write": write})
