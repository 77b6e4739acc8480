"""``fourcorners verify``: damage that is done to a file is found and named, soundness is not
doubted, and a restart or a kill loses nothing."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import COMMAND, fourcorners

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.errors import EXIT_DAMAGED

MIB = 1 << 20
BLOCK = 4096
SIZE = ("--size", "16MiB", "--seconds", "0.3")


def checked(*arguments: str | Path, cwd: Path, code: int) -> dict[str, object]:
    done = fourcorners("verify", *arguments, "--json", cwd=cwd)
    assert done.returncode == code, (done.stdout, done.stderr)
    document = json.loads(done.stdout)
    assert document["schema"] == "fourcorners/verification"
    return dict(document)


def test_damage_is_found_after_a_restart_and_named(tmp_path: Path) -> None:
    # A load of no more than its first requests, which with this seed leave the blocks below alone:
    # after two writes of one block at a time nothing is claimed of it.
    size = ("--size", "16MiB", "--seconds", "1e-9")
    sound = checked("test.img", *size, "--state", "state", cwd=tmp_path, code=0)
    assert sound["damages"] == []
    assert isinstance(sound["blocks_checked"], int)
    assert sound["blocks_checked"] >= 16 * MIB // BLOCK

    path = tmp_path / "test.img"
    data = bytearray(path.read_bytes())
    data[5 * BLOCK + 100] ^= 1
    data[9 * BLOCK : 10 * BLOCK] = bytes(BLOCK)
    data[20 * BLOCK : 21 * BLOCK], data[30 * BLOCK : 31 * BLOCK] = (
        data[30 * BLOCK : 31 * BLOCK],
        data[20 * BLOCK : 21 * BLOCK],
    )
    data[40 * BLOCK : 41 * BLOCK] = data[50 * BLOCK : 51 * BLOCK]
    data[60 * BLOCK : 60 * BLOCK + 2048] = os.urandom(2048)
    with path.open("r+b") as file:
        file.write(data)
    damaged = checked("test.img", "--again", "--state", "state", cwd=tmp_path, code=EXIT_DAMAGED)
    assert damaged["damages"] == [
        {"kind": "bit flip", "address": 5 * BLOCK, "written_for": None},
        {"kind": "zeroed", "address": 9 * BLOCK, "written_for": None},
        {"kind": "swapped", "address": 20 * BLOCK, "written_for": 30 * BLOCK},
        {"kind": "swapped", "address": 30 * BLOCK, "written_for": 20 * BLOCK},
        {"kind": "duplicated", "address": 40 * BLOCK, "written_for": 50 * BLOCK},
        {"kind": "torn", "address": 60 * BLOCK, "written_for": None},
    ]


def test_another_drive_and_lost_writes_are_known(tmp_path: Path) -> None:
    for name in ("one", "two"):
        checked(f"{name}.img", *SIZE, "--state", name, cwd=tmp_path, code=0)
    early = (tmp_path / "one.img").read_bytes()
    (tmp_path / "one.img").write_bytes((tmp_path / "two.img").read_bytes())
    found = checked("one.img", "--again", "--state", "one", cwd=tmp_path, code=EXIT_DAMAGED)
    assert set(found["counts"]) == {"wrong drive"}  # type: ignore[call-overload]
    (tmp_path / "one.img").write_bytes(early)
    (tmp_path / "one").unlink()
    over = ("--overwrite", "one.img", "--seconds", "0.3", "--state", "one")
    checked("one.img", *over, cwd=tmp_path, code=0)
    (tmp_path / "one.img").write_bytes(early)
    found = checked("one.img", "--again", "--state", "one", cwd=tmp_path, code=EXIT_DAMAGED)
    assert set(found["counts"]) == {"lost"}  # type: ignore[call-overload]


def test_a_killed_run_leaves_a_state_that_accuses_nobody(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "verify", "test.img", "--size", "16MiB", "--seconds", "60", "--state", "state"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while "mixed load" not in process.stderr.readline():
        assert process.poll() is None
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    again = checked("test.img", "--again", "--state", "state", cwd=tmp_path, code=0)
    assert isinstance(again["blocks_checked"], int)
    # All but what was in flight, or had been written twice at a time.
    assert again["blocks_checked"] > 16 * MIB // BLOCK * 0.8


def test_simulated_drives_are_verified_as_well() -> None:
    with fc.open_target("sim:ocz-core-64gb") as drive:
        found = fc.verify(drive, seconds=0.5, span_bytes=32 * MIB)
    assert found.checked >= 32 * MIB // BLOCK
    assert found.damages == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["sim:ocz-core-64gb", "--again"], "--state"),
        (["test.img", "--size", "64KiB"], "at least"),
        (["test.img", "--size", "1MiB", "--again", "--state", "none"], "cannot open the state"),
        (["sim:ocz-core-64gb", "--size", "1MiB"], "is simulated"),
    ],
)
def test_mistakes(arguments: list[str], complaint: str, tmp_path: Path) -> None:
    (tmp_path / "test.img").touch()
    done = fourcorners("verify", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--seconds", "-1"],
        ["--seconds", "nan"],
        ["--seconds", "inf"],
        ["--seconds", "1e300"],
        ["--seconds", "0"],
        ["--seed", "-1"],
        ["--seed", "99999999999999999999"],
        ["--span", "1KiB"],
        ["--engine", "nvme"],
        ["--engine", "sync,batch=-1"],
        ["--io-limit", "nan"],
        ["--purge", "discard"],
        ["--again"],
    ],
    ids=" ".join,
)
def test_every_argument_is_checked_before_the_first_write(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, new = tmp_path / "file", tmp_path / "new"
    file.write_bytes(b"precious" * (MIB // 8))
    state = ["--state", str(tmp_path / "state")]
    for target in ([str(file), "--overwrite", str(file)], [str(new), "--size", "1MiB"]):
        assert main(["verify", *target, *arguments, *state]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith("fourcorners: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]
    assert file.read_bytes() == b"precious" * (MIB // 8)


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), 1e300])
def test_nonsense_of_python_is_refused_before_the_first_write(
    seconds: float, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"precious" * (MIB // 8))
    with fc.open_target(str(file), overwrite=str(file)) as target:
        with pytest.raises(fc.UserError, match="seconds"):
            fc.verify(target, seconds=seconds)
        with pytest.raises(fc.UserError, match="duration_s"):
            fc.observe(target, fc.Workload([fc.Stream.write("random", 4096)], duration_s=seconds))
    assert file.read_bytes() == b"precious" * (MIB // 8)


def test_nothing_is_made_beside_a_file_that_may_not_be_written(tmp_path: Path) -> None:
    file, state = tmp_path / "file", tmp_path / "state"
    file.write_bytes(b"precious" * (MIB // 8))
    assert main(["verify", str(file), "--state", str(state), "--quiet"]) == 2
    assert not state.exists()


def test_a_damaged_state_accuses_nobody(tmp_path: Path) -> None:
    """A bit flipped in what is remembered of a block is told, and the block is unchecked."""
    path = tmp_path / "test.img"
    size = ("--size", "16MiB", "--seconds", "1e-9")
    sound = checked(path, *size, "--state", "state", cwd=tmp_path, code=0)
    assert sound["blocks_forgotten"] == 0
    state = tmp_path / "state"
    whole = state.read_bytes()
    for bits in ([(4096 + 8 * 100, 0)], [(4096 + 8 * 100, 3), (4096 + 8 * 2000 + 7, 7)]):
        changed = bytearray(whole)
        for place, bit in bits:
            changed[place] ^= 1 << bit
        state.write_bytes(changed)
        again = checked(path, "--again", "--state", "state", cwd=tmp_path, code=0)
        assert again["damages"] == []
        assert again["blocks_forgotten"] == again["blocks_unchecked"] == len(bits)
    # At its beginning it says of which drive and run all the blocks are.
    changed = bytearray(whole)
    changed[16] ^= 1
    state.write_bytes(changed)
    done = fourcorners("verify", path, "--again", "--state", "state", cwd=tmp_path)
    assert (done.returncode, "state is damaged at its beginning" in done.stderr) == (2, True)


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB in memory."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_state_that_finds_no_room_is_refused_before_anything_is_written(
    tiny: Path, tmp_path: Path
) -> None:
    path = tmp_path / "test.img"
    path.write_bytes(b"mine" * (16 * MIB))
    over = ("--overwrite", path, "--seconds", "1e-9", "--state", tiny / "state")
    done = fourcorners("verify", path, *over, cwd=tmp_path)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert "cannot create the state of the verification" in line
    assert "no space left on device" in line
    assert list(tiny.iterdir()) == [], "nothing is left"
    assert path.read_bytes() == b"mine" * (16 * MIB)
    # Of a span only that much is needed.
    done = fourcorners("verify", path, *over, "--span", "4MiB", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_span_of_more_than_there_is_is_told(tmp_path: Path) -> None:
    done = fourcorners("verify", "test.img", *SIZE, "--span", "1GiB", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "--span 1 GiB is more than the 16 MiB that it has: all of it is verified" in done.stderr
