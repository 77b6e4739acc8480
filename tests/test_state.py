"""A simulated drive's state, saved and loaded."""

from pathlib import Path

import pytest

import fourcorners as fc
from fourcorners.errors import UserError
from fourcorners.targets import SimulatedTarget

DRIVE = "sim:ocz-core-64gb"


def _writes(seed: int) -> fc.Workload:
    stream = fc.Stream.write("random", 4096, span_bytes=8 * 10**9, queue_depth=3)
    return fc.Workload([stream], seconds=20, seed=seed)


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
        with pytest.raises(UserError, match=r"cannot save the state to .*No such file"):
            drive.save(tmp_path / "no folder" / "core.state")
    with pytest.raises(UserError, match="it is the state of OCZ Core"):
        fc.open_target("sim:wd6400aaks", state=state)
    with pytest.raises(UserError, match="No such file"):
        fc.open_target(DRIVE, state=tmp_path / "none")
    with pytest.raises(UserError, match="a state is for simulated drives"):
        fc.open_target(str(tmp_path / "file"), size=1 << 20, state=state)
