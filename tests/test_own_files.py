"""A file is fourcorners' own as long as it holds what fourcorners last wrote to it."""

import hashlib
import json
import mmap
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import fourcorners as fc
from fourcorners.cli import main

MIB = 1 << 20
SIZE = 4 * MIB


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A file that a verification left, as sealed."""
    file = tmp_path / "t.bin"
    assert main(["verify", str(file), "--size", "4MiB", "--seconds", "1e-9", "--quiet"]) == 0
    if not os.listxattr(file):
        pytest.skip("this file system keeps no extended attributes")
    return file


def _put_back_times(file: Path, before: os.stat_result) -> None:
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def thesis(file: Path) -> None:
    """As `cat thesis > t.bin`."""
    file.write_bytes(b"a thesis of many years " * (SIZE // 20))


def thesis_of_the_same_size_and_time(file: Path) -> None:
    before = file.stat()
    file.write_bytes((b"a thesis of many years " * (SIZE // 23 + 1))[:SIZE])
    _put_back_times(file, before)


def file_system(file: Path) -> None:
    made = shutil.which("mkfs.ext4") and subprocess.run(
        ["mkfs.ext4", "-q", "-F", file], check=False, capture_output=True
    )
    if not made or made.returncode:
        pytest.skip("no mkfs.ext4 here")


def copy(file: Path) -> None:
    """As `cp -a other t.bin`, which leaves the attribute of an existing file."""
    other = file.with_name("other")
    other.write_bytes(os.urandom(SIZE))
    before = file.stat()
    shutil.copyfile(other, file)
    _put_back_times(file, before)


def page_in_the_middle(file: Path) -> None:
    """As `rsync --inplace --times` does where one page differs."""
    before = file.stat()
    with file.open("r+b") as opened:
        opened.seek(SIZE // 2 + 100)
        opened.write(b"a note")
    _put_back_times(file, before)


def store_through_a_mapping(file: Path) -> None:
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapping:
        mapping[SIZE // 3] ^= 1
        mapping.flush()


def another_file_with_the_mark(file: Path) -> None:
    """As `cp -a t.bin mine; $EDITOR mine; mv mine t.bin`, or a backup that was taken back."""
    mark = os.getxattr(file, "user.fourcorners")
    file.rename(file.with_name("kept"))
    file.write_bytes(os.urandom(SIZE))
    os.setxattr(file, "user.fourcorners", mark)


REUSES: list[Callable[[Path], None]] = [
    thesis,
    thesis_of_the_same_size_and_time,
    file_system,
    copy,
    page_in_the_middle,
    store_through_a_mapping,
    another_file_with_the_mark,
]


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize("reuse", REUSES, ids=lambda reuse: reuse.__name__)
def test_what_the_owner_put_into_our_file_stays(
    reuse: Callable[[Path], None], own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reuse(own)
    before = _digest(own)
    assert main(["verify", str(own), "--quiet"]) == 2
    assert f"--overwrite {own}" in capsys.readouterr().err
    reviews = ["characterize", "--profile", "quick", "--tests", "consistency"]
    for command in (reviews, ["run", "consistency", "--quick"]):
        main([*command, str(own), "--out", str(tmp_path / "runs"), "--quiet"])
        assert _digest(own) == before, command
    assert main(["explain", str(own), "--dry-run"]) == 0
    assert "nothing: the target is only read" in capsys.readouterr().out
    # What is named is overwritten, this time: a part of what the owner put there may still be.
    assert main(["verify", str(own), "--overwrite", str(own), "--seconds", "1e-9", "--quiet"]) == 0
    assert _digest(own) != before
    assert main(["verify", str(own), "--seconds", "1e-9", "--quiet"]) == 2


def test_an_untouched_file_is_written_again_without_a_word(own: Path) -> None:
    for _ in range(3):
        with fc.open_target(str(own)) as target:
            assert target.read_only_reason is None
            target.run(fc.Workload([fc.Stream.write("random", 4096)], ios=10))
    own.chmod(0o600)
    with fc.open_target(str(own)) as target:
        assert "was changed after" in str(target.read_only_reason), "a doubt is a refusal"


def test_a_copy_is_not_ours(own: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    subprocess.run(["cp", "-a", own, copied], check=True)
    with fc.open_target(str(copied)) as target:
        assert "it is a copy of a test file" in str(target.read_only_reason)
    with fc.open_target(str(own)) as target:
        assert target.read_only_reason is None


KILLED = """
import os, signal, sys
import fourcorners as fc
with fc.open_target(sys.argv[1], **({"size": int(sys.argv[2])} if len(sys.argv) > 2 else {})) as t:
    if sys.argv[2:] != ["4194304"]:
        t.run(fc.Workload([fc.Stream.write("random", 4096)], ios=10))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_wrote_needs_the_word_once(own: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, own], check=False)
    with fc.open_target(str(own)) as target:
        assert "did not come to its end" in str(target.read_only_reason)
    with fc.open_target(str(own), overwrite=str(own)) as target:
        target.run(fc.Workload([fc.Stream.write("random", 4096)], ios=10))
    with fc.open_target(str(own)) as target:
        assert target.read_only_reason is None
    # A file that was made, and not written yet, holds nothing that could be lost.
    new = tmp_path / "new"
    subprocess.run([sys.executable, "-c", KILLED, new, "4194304"], check=False)
    assert new.stat().st_size == SIZE
    with fc.open_target(str(new)) as target:
        assert target.read_only_reason is None


def test_files_of_others_stay_theirs_under_the_word(tmp_path: Path) -> None:
    file = tmp_path / "mine"
    file.write_bytes(os.urandom(SIZE))
    with fc.open_target(str(file), overwrite=str(file)) as target:
        target.run(fc.Workload([fc.Stream.write("random", 4096)], ios=10))
    with fc.open_target(str(file)) as target:
        assert target.read_only_reason is not None


def test_resume_does_not_overwrite_what_the_owner_put_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Data of the same size and time, after a run that was stopped in order."""
    file, out = tmp_path / "t.bin", tmp_path / "runs"
    script = (
        "import os, signal, sys, threading; from fourcorners.cli import main\n"
        "from fourcorners.running.place import Place\n"
        "begin = Place.begin\n"
        "def stop(self):\n begin(self); os.kill(os.getpid(), signal.SIGINT)\n"
        "Place.begin = stop\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    command = ["run", "consistency", file, "--size", "4MiB", "--out", out, "--scale", "0.0002"]
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 130, done.stderr
    [folder] = out.iterdir()
    assert json.loads((folder / "manifest.json").read_text())["status"] == "interrupted"
    before = file.stat()
    file.write_bytes(os.urandom(SIZE))
    _put_back_times(file, before)
    digest = _digest(file)
    assert main(["resume", str(folder), "--quiet"]) == 2
    assert f"--overwrite {file}" in capsys.readouterr().err
    assert _digest(file) == digest
    assert main(["resume", str(folder), "--quiet", "--overwrite", str(file)]) == 0
    assert _digest(file) != digest
