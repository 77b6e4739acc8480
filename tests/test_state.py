"""A simulated drive's state, saved and loaded."""

from pathlib import Path

import pytest
from command import fourcorners

import fourcorners as fc
from fourcorners.errors import UserError
from fourcorners.target.simulated import SimulatedTarget

DRIVE = "sim:ocz-core-64gb"
SSD = "sim:ocz-vector-256gb"


def _writes(seed: int) -> fc.Workload:
    stream = fc.Stream.write("random", 4096, span_bytes=8 * 10**9, queue_depth_per_worker=3)
    return fc.Workload([stream], duration_s=20, seed=seed)


def test_a_drive_goes_on_from_its_state(tmp_path: Path) -> None:
    state = tmp_path / "core.state"
    with fc.open_target(DRIVE) as drive:
        drive.run(_writes(1))
        assert isinstance(drive, SimulatedTarget)
        drive.save(state)
        expected = drive.run(_writes(2))
    with fc.open_target(DRIVE, state=state) as drive:
        again = drive.run(_writes(2))
    assert again.write.ios == expected.write.ios
    assert (again.write.second_ios == expected.write.second_ios).all()
    assert list(tmp_path.iterdir()) == [state], "nothing unfinished is left"


def test_a_state_that_does_not_fit_is_refused_in_one_sentence(tmp_path: Path) -> None:
    state = tmp_path / "core.state"
    with fc.open_target(DRIVE) as drive:
        assert isinstance(drive, SimulatedTarget)
        drive.save(state)
        with pytest.raises(UserError, match=r"cannot write .*: there is no folder"):
            drive.save(tmp_path / "no folder" / "core.state")
    with pytest.raises(UserError, match="it is the state of OCZ Core"):
        fc.open_target("sim:wd6400aaks", state=state)
    with pytest.raises(UserError, match="no such file"):
        fc.open_target(DRIVE, state=tmp_path / "none")
    with pytest.raises(UserError, match="a state is for simulated drives"):
        fc.open_target(str(tmp_path / "file"), size=1 << 20, state=state)


def test_a_state_goes_on_under_another_seed(tmp_path: Path) -> None:
    """The drive is the one that was saved; the seed is that of the workloads."""
    state = tmp_path / "core.state"
    with fc.open_target(DRIVE, seed=1) as drive:
        drive.run(_writes(1))
        assert isinstance(drive, SimulatedTarget)
        drive.save(state)
        expected = drive.run(_writes(2))
        drive.save(tmp_path / "later.state")
    with fc.open_target(DRIVE, seed=2, state=state) as other:
        assert other.run(_writes(2)).write.ios == expected.write.ios
        assert isinstance(other, SimulatedTarget)
        other.save(tmp_path / "again.state")
    assert (tmp_path / "again.state").read_bytes() == (tmp_path / "later.state").read_bytes()


def test_the_suite_starts_every_phase_from_a_saved_state(tmp_path: Path) -> None:
    quick = ("--profile", "quick", "--quiet")
    done = fourcorners("prepare", DRIVE, "core.state", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("OCZ Core 64GB: core.state, ")
    consistency = ("characterize", DRIVE, "--tests", "consistency", *quick)
    runs = []
    for options in [(), ("--state", "core.state")]:
        done = fourcorners(*consistency, *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        runs.append(fc.open_run(str(tmp_path / done.stdout.strip())))
    filled, restored = (run.manifest.tests[0] for run in runs)
    assert restored.preparation == ["the state saved in core.state"]
    assert len(filled.preparation) == 2
    # The fill of everything is the consistency test's own preparation.
    series = [run.recording("consistency/write").write.second_ios for run in runs]
    assert (series[0] == series[1]).all()


def test_what_cannot_be_prepared_is_refused_in_one_sentence(tmp_path: Path) -> None:
    for arguments, reason in [
        (("prepare", "sim:wd6400aaks", "f", "--steady-state"), "steady state"),
        (("prepare", DRIVE, "f", "--steady-state"), "only page-mapped SSDs"),
        (("prepare", DRIVE, "f", "--span", "8GB"), "go with --steady-state"),
        (("prepare", DRIVE, "f", "--steady-state", "--span", "big"), "big"),
        (("prepare", SSD, "f", "--steady-state", "--pattern", "zipf:-1"), "Zipf exponent"),
        (("prepare", "./file", "f"), "file"),
        (("characterize", DRIVE, "sim:wd6400aaks", "--state", "f"), "name that target only"),
        (("characterize", DRIVE, "--state", "none"), "cannot read the state none: no such file"),
    ]:
        done = fourcorners(*arguments, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert reason in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "f").exists()


SMALL = {
    "flash.dies": "8",
    "flash.blocks_per_plane": "100",
    "flash.pages_per_block": "64",
    "capacity.user": "512 MiB",
    "translation.spare_area": "53 %",
}


def _amplification(drive: fc.Target, share: float, ios: int, pattern: str = "random") -> float:
    """Of random writes to the first ``share`` of the drive."""
    assert isinstance(drive, SimulatedTarget)
    span = int(share * drive.capacity_bytes)
    before = drive.counters()
    drive.run(fc.Workload([fc.Stream.write(pattern, 4096, span_bytes=span)], ios=ios))
    after = drive.counters()
    moved, written = (after[name] - before[name] for name in ("units_moved", "host_units_written"))
    return 1 + moved / written


def test_a_part_filled_drive_enters_the_steady_state_of_its_part(tmp_path: Path) -> None:
    def prepared(steady_state: bool) -> fc.Target:
        state = tmp_path / f"{steady_state}.state"
        with fc.open_target("sim:ocz-vector-256gb", settings=SMALL) as drive:
            fc.prepare(drive, state, filled_share=0.75, steady_state=steady_state)
        return fc.open_target("sim:ocz-vector-256gb", settings=SMALL, state=state)

    with prepared(steady_state=False) as long_way, prepared(steady_state=True) as at_once:
        _amplification(long_way, 0.75, 500_000)
        expected = _amplification(long_way, 0.75, 300_000)
        assert expected > 1.1
        assert _amplification(at_once, 0.75, 300_000) == pytest.approx(expected, rel=0.02)
        assert isinstance(at_once, SimulatedTarget)
        with pytest.raises(UserError, match=r"filled share 1\.5: use more than 0"):
            at_once.enter_steady_state(1.5)
    with pytest.raises(UserError, match=r"--filled 0: use more than 0"):
        fc.characterize(DRIVE, filled_share=0, out=tmp_path)


def test_the_command_prepares_the_steady_state_of_a_stream(tmp_path: Path) -> None:
    settings = [word for item in SMALL.items() for word in ("--set", "=".join(item))]
    span = ("--span", "256MiB")
    skew = ("--pattern", "hot-cold:0.2:0.8")
    vector = ("prepare", "sim:ocz-vector-256gb", "vector.state", *settings)
    done = fourcorners(*vector, "--steady-state", *skew, *span, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    state = tmp_path / "vector.state"
    with fc.open_target("sim:ocz-vector-256gb", settings=SMALL, state=state) as at_once:
        assert isinstance(at_once, SimulatedTarget)
        first = _amplification(at_once, 0.5, 30_000, fc.hot_cold(0.2, 0.8))
        later = _amplification(at_once, 0.5, 300_000, fc.hot_cold(0.2, 0.8))
        at_once.purge()
        long_way = fc.Workload([fc.Stream.write("sequential", 1 << 20)], ios=512)
        at_once.run(long_way)
        _amplification(at_once, 0.5, 700_000, fc.hot_cold(0.2, 0.8))
        expected = _amplification(at_once, 0.5, 300_000, fc.hot_cold(0.2, 0.8))
    assert expected > 1.2
    assert first == pytest.approx(expected, rel=0.06)
    assert later == pytest.approx(expected, rel=0.02)
