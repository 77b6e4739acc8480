"""What is about to be written is looked at again: hours may lie between the first look and that."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dangers import Disk, digest, disk, mounted, run

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.running.place import Place
from fourcorners.target.real import RealTarget

MIB = 1 << 20
WRITES = fc.Workload([fc.Stream.write("random", 4096)], ios=50)
COMMAND = ["run", "consistency", "--scale", "0.0002", "--quiet"]


def own_file(folder: Path) -> Path:
    """A file to be written first."""
    path = folder / "first"
    fc.open_target(str(path), size=4 * MIB).close()
    return path


def file_system(one: Disk) -> None:
    # The claim keeps mkfs from the device, not from the file behind it.
    run("mkfs.ext4", "-q", "-F", one.image)


def archive(one: Disk) -> None:
    run("tar", "-C", one.image.parent, "-cf", one.device, "--exclude=*.img", ".")


def letter(one: Disk) -> None:
    """Which no table of formats knows."""
    with Path(one.device).open("r+b") as opened:
        opened.write(b"Dear Sir or Madam, " * 100)


HAPPENINGS: list[Callable[[Disk], None]] = [file_system, archive, letter]


@pytest.mark.parametrize("happens", HAPPENINGS, ids=lambda one: one.__name__)
def test_a_second_target_that_changes_while_the_first_one_runs(
    happens: Callable[[Disk], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with disk(tmp_path) as second:
        first, begin = own_file(tmp_path), Place.begin
        digests: list[str] = []

        def begin_and_change(self: Place) -> None:
            begin(self)
            if not digests:
                happens(second)
                os.sync()
                digests.append(digest(second.image))

        monkeypatch.setattr(Place, "begin", begin_and_change)
        named = ["--destroy-data", second.device]
        out = ["--out", str(tmp_path / "runs")]
        assert main([*COMMAND, str(first), second.device, *named, *out]) == 1
        assert digests == [digest(second.image)]
        runs = {r.manifest.target.locator: r.manifest for r in _runs(tmp_path / "runs")}
        assert runs[str(first)].status == "complete"
        [test] = runs[second.device].tests
        assert "nothing was written" in str(test.reason)


def test_nobody_formats_a_second_target_through_its_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is held from the first look on."""
    with disk(tmp_path) as second:
        begin = Place.begin
        codes: list[int] = []

        def begin_and_format(self: Place) -> None:
            begin(self)
            made = subprocess.run(
                ["mkfs.ext4", "-q", "-F", second.device], capture_output=True, check=False
            )
            codes.append(made.returncode)

        monkeypatch.setattr(Place, "begin", begin_and_format)
        first = own_file(tmp_path)
        named = ["--destroy-data", second.device]
        out = ["--out", str(tmp_path / "runs")]
        assert main([*COMMAND, str(first), second.device, *named, *out]) == 0
        assert len(codes) == 2
        assert all(codes)


def _runs(out: Path) -> list[fc.Run]:
    return [fc.open_run(str(path)) for path in out.iterdir() if path.is_dir()]


def test_a_file_that_was_replaced_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named with --overwrite, and another one by the time that its turn comes."""
    first, file, begin = own_file(tmp_path), tmp_path / "second", Place.begin
    file.write_bytes(os.urandom(4 * MIB))
    precious = os.urandom(4 * MIB)

    def begin_and_replace(self: Place) -> None:
        begin(self)
        if self._target.locator == str(first):
            (tmp_path / "new").write_bytes(precious)
            (tmp_path / "new").rename(file)

    monkeypatch.setattr(Place, "begin", begin_and_replace)
    named = ["--overwrite", str(file), "--out", str(tmp_path / "runs")]
    assert main([*COMMAND, str(first), str(file), *named]) == 1
    assert file.read_bytes() == precious


def test_a_file_that_is_written_by_others_before_us(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(os.urandom(MIB))
    with fc.open_target(str(file), overwrite=str(file)) as target:
        with file.open("r+b") as opened:
            opened.write(b"on second thoughts")
        before = digest(file)
        with pytest.raises(fc.UserError, match="no longer what it was"):
            target.run(WRITES)
        with pytest.raises(fc.UserError, match="no longer what it was"):
            target.purge()
    assert digest(file) == before


@pytest.mark.parametrize("happens", [file_system, archive], ids=lambda one: one.__name__)
def test_what_appears_between_two_tests_is_not_destroyed(
    happens: Callable[[Disk], None], tmp_path: Path
) -> None:
    with disk(tmp_path) as one, fc.open_target(one.device, destroy_data=one.device) as target:
        target.run(WRITES)
        target.look_again()
        happens(one)
        os.sync()
        before = digest(one.image)
        with pytest.raises(fc.UserError, match="that was not there before: nothing more"):
            target.look_again()
        assert digest(one.image) == before


def test_a_device_that_comes_into_use_between_two_tests(tmp_path: Path) -> None:
    """Through a second loop device, which the claim does not prevent."""
    with disk(tmp_path) as one, fc.open_target(one.device, destroy_data=one.device) as target:
        target.run(WRITES)
        upper = run("losetup", "--find", "--show", one.device)
        try:
            with mounted(upper, tmp_path / "point"), pytest.raises(fc.UserError, match="into use"):
                target.look_again()
        finally:
            run("losetup", "--detach", upper)


def test_a_file_that_others_write_between_two_tests(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with fc.open_target(str(file), size=MIB) as target:
        target.run(WRITES)
        target.look_again()
        with file.open("r+b") as opened:
            opened.write(b"Dear Sir or Madam")
        with pytest.raises(fc.UserError, match="nothing more was written"):
            target.look_again()
        file.rename(tmp_path / "moved")
        with pytest.raises(fc.UserError, match="no longer names"):
            target.look_again()


def test_every_test_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    with fc.open_target(str(tmp_path / "file"), size=4 * MIB) as target:
        monkeypatch.setattr(target, "look_again", lambda: looks.append(1))
        run = fc.run(
            "reviews-quick",
            target,
            tests=["four-corners", "consistency"],
            scale=0.001,
            out=tmp_path / "runs",
        )
    assert [test.status for test in run.manifest.tests] == ["complete"] * 2
    assert len(looks) == 2


def test_verification_looks_before_it_writes(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(os.urandom(MIB))
    with fc.open_target(str(file), overwrite=str(file)) as target:
        file.write_bytes(b"a thesis" * (MIB // 8))
        with pytest.raises(fc.UserError, match="no longer what it was"):
            fc.verify(target, seconds=0.1)
    assert file.read_bytes() == b"a thesis" * (MIB // 8)


def test_a_change_that_a_look_finds_is_a_failure_not_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 promises that nothing was changed."""
    file, run_target = tmp_path / "file", RealTarget.run
    before_write: list[bool] = []

    def change_and_run(self: RealTarget, *arguments: Any, **named: Any) -> fc.Recording:
        if before_write.pop(0):
            file.write_bytes(b"a thesis" * (MIB // 8))
        return run_target(self, *arguments, **named)

    monkeypatch.setattr(RealTarget, "run", change_and_run)
    for when, reason in (([True], "nothing was written"), ([False, True], "nothing more was")):
        before_write[:] = when
        file.write_bytes(os.urandom(MIB))
        words = ["verify", str(file), "--overwrite", str(file), "--seconds", "0.1", "--quiet"]
        assert main(words) == 1
        assert reason in capsys.readouterr().err


def test_one_file_twice_is_held_once(tmp_path: Path) -> None:
    file = tmp_path / "file"
    out = ["--out", str(tmp_path / "runs"), "--size", "4MiB"]
    assert main([*COMMAND, str(file), str(file), *out]) == 0
    assert len(_runs(tmp_path / "runs")) == 2
    done = subprocess.run(
        [sys.executable, "-m", "fourcorners", *COMMAND, str(file), *out[:2]], check=False
    )
    assert done.returncode == 0, "it was given back"
