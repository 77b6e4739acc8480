"""Mistakes: one clear sentence each, an exit code that is not zero, nothing lost or destroyed."""

import contextlib
import errno
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import COMMAND, fourcorners

import fourcorners as fc
from fourcorners.cli import main

CORE = "sim:ocz-core-64gb"
QUICK = ("--profile", "quick", "--tests", "transfer-size")


def refused(*arguments: str | Path, cwd: Path, code: int = 2) -> str:
    """What the command complained of, once it is known to be one sentence and no traceback."""
    done = fourcorners(*arguments, cwd=cwd)
    assert done.returncode == code, (done.stdout, done.stderr)
    *_, complaint = done.stderr.splitlines()
    assert complaint.startswith("fourcorners: ")
    assert "Traceback" not in done.stderr
    assert "unexpected" not in complaint
    if code == 2:
        assert len(done.stderr.splitlines()) == 1
        assert done.stdout == ""
    return complaint


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["sim:ocz-core-63gb"], "did you mean ocz-core-64gb"),
        (["sim:ocz"], "fits several drives"),
        (["ocz-core-64gb"], "did you mean the simulated drive sim:ocz-core-64gb?"),
        ([], "no target"),
        ([CORE, "--tests", "transfersize"], "did you mean transfer-size?"),
        ([CORE, "--profile", "fast"], "quick"),
        ([CORE, "--size", "1GiB"], "is simulated"),
        ([CORE, "--set", "link.speed=3"], "link.speed: there is no such parameter: use line_rate"),
        ([CORE, "--set", "link.line_rate"], "write PARAMETER=VALUE"),
        ([CORE, "--set", "link.line_rate=3 GB"], "link.line_rate"),
        ([CORE, "--seed", "-1"], "Must be >= 0"),
        ([CORE, "--sizes", "1GiB"], "--sizes"),
        (["missing.img"], "give --size"),
        (["new.img", "--size", "1 parsec"], 'unknown unit "parsec"'),
        (["missing.toml"], "no such file"),
        (["."], "is a directory"),
        (["/dev/sdzz", "--size", "1GiB"], "there is no device /dev/sdzz"),
    ],
)
def test_arguments(arguments: list[str], complaint: str, tmp_path: Path) -> None:
    assert complaint in refused("characterize", *arguments, cwd=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} <= {"runs"}
    assert not list(tmp_path.glob("runs/*"))


@pytest.mark.parametrize(
    ("find", "replace", "complaint"),
    [
        ('line_rate = { value = "3 Gb/s"', 'line_rate = { value = "3 GB"', "link.line_rate"),
        ('line_rate = { value = "3 Gb/s"', 'line_rate = { value = "4 Gb/s"', "link.line_rate"),
        ('read_overhead = { value = "', 'read_overhead = { value = "-', "is not a time"),
        ("read_overhead = ", "reed_overhead = ", "reed_overhead"),
        ('kind = "', 'kind = "tape-', "kind"),
        ("[link]", "[link", "line"),
    ],
    ids=["unit", "value", "negative", "field", "kind", "toml"],
)
def test_drive_files(find: str, replace: str, complaint: str, tmp_path: Path) -> None:
    text = fc.open_target(CORE).drive_text
    assert text is not None
    assert find in text
    (tmp_path / "mine.toml").write_text(text.replace(find, replace, 1))
    message = refused("characterize", "mine.toml", *QUICK, cwd=tmp_path)
    assert complaint in message
    assert "mine.toml" in message


def test_a_missing_field_of_a_drive_file_is_named(tmp_path: Path) -> None:
    text = fc.open_target(CORE).drive_text
    assert text is not None
    lines = [line for line in text.splitlines() if not line.startswith("line_rate")]
    (tmp_path / "mine.toml").write_text("\n".join(lines))
    assert "line_rate" in refused("characterize", "mine.toml", *QUICK, cwd=tmp_path)


def test_content_of_an_existing_file_is_safe_without_permission(tmp_path: Path) -> None:
    content = os.urandom(1 << 20)
    (tmp_path / "mine.img").write_bytes(content)
    done = fourcorners("characterize", "mine.img", "--profile", "quick", "--tests",
                       "consistency", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "--overwrite" in done.stderr
    assert (tmp_path / "mine.img").read_bytes() == content


def test_permission_must_name_the_target(tmp_path: Path) -> None:
    content = os.urandom(1 << 20)
    for name in ("one.img", "two.img"):
        (tmp_path / name).write_bytes(content)
    message = refused("characterize", "one.img", "--overwrite", "two.img", cwd=tmp_path)
    assert "nothing was written" in message
    assert (tmp_path / "one.img").read_bytes() == (tmp_path / "two.img").read_bytes() == content


def test_a_file_that_may_not_be_written(tmp_path: Path) -> None:
    """As root no permission bits hold, so there the whole file system is read-only."""
    path = tmp_path / "mine.img"
    with contextlib.ExitStack() as stack:
        if os.geteuid() == 0:
            path = stack.enter_context(_tmpfs(tmp_path / "mount", "2m")) / "mine.img"
            path.write_bytes(bytes(1 << 20))
            subprocess.run(["mount", "-o", "remount,ro", path.parent], check=True)
        else:
            path.write_bytes(bytes(1 << 20))
            path.chmod(0o444)
        message = refused("characterize", path, "--overwrite", path, *QUICK, cwd=tmp_path)
        assert "read-only" in message or "permission denied" in message


def test_a_mounted_device(tmp_path: Path) -> None:
    with _loop_device(tmp_path) as device:
        subprocess.run(["mkfs.ext4", "-q", device], check=True)
        (tmp_path / "mount").mkdir()
        subprocess.run(["mount", device, tmp_path / "mount"], check=True)
        try:
            (tmp_path / "mount" / "precious").write_text("still here")
            message = refused("characterize", device, "--destroy-data", device, cwd=tmp_path)
            assert "in use" in message
            assert (tmp_path / "mount" / "precious").read_text() == "still here"
        finally:
            subprocess.run(["umount", tmp_path / "mount"], check=True)


def test_a_disk_without_room_for_the_test_file(tmp_path: Path) -> None:
    with _tmpfs(tmp_path / "mount", "8m") as mount:
        message = refused("characterize", mount / "new.img", "--size", "1GiB", cwd=tmp_path)
        assert "make room" in message
        assert not list(mount.iterdir())


def test_a_disk_without_room_for_the_run(tmp_path: Path) -> None:
    with _tmpfs(tmp_path / "mount", "8m") as mount:
        (mount / "ballast").write_bytes(bytes((8 << 20) - 8192))
        message = refused("characterize", CORE, *QUICK, "--out", mount, cwd=tmp_path, code=1)
        assert "no space left on device" in message


def test_an_output_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    message = refused("characterize", CORE, *QUICK, "--out", "file/runs", cwd=tmp_path)
    assert "cannot create a run folder in file/runs" in message
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    assert "not a run folder" in refused("report", tmp_path, cwd=tmp_path)
    assert "no run folder" in refused("report", cwd=tmp_path)


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    run = fc.characterize(CORE, profile="quick", tests=["transfer-size"], out=tmp_path)
    message = refused("report", run.path, "--out", tmp_path / "no" / "where.html", cwd=tmp_path)
    assert "cannot write" in message


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    # A small drive is filled at once, and one measurement takes minutes: the interrupt meets it.
    small = ["--set", "flash.blocks_per_plane=128", "--set", "capacity.user=12 GiB"]
    small += ["--set", "translation.spare_area=30 %"]
    (tmp_path / "long.toml").write_text(
        'schema_version = 1\nname = "long"\n[[test]]\nuse = "queue-depth"\ntime = "100000 s"\n'
        '[[test]]\nuse = "consistency"\n'
    )
    process = subprocess.Popen(
        [*COMMAND, "run", "long.toml", "sim:ocz-vector-256gb", *small],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        assert "2 tests" in process.stderr.readline()
        time.sleep(4)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    [path] = (tmp_path / "runs").iterdir()
    assert not path.name.startswith(".")
    assert path.name in output
    run = fc.open_run(str(path))
    assert run.manifest.status == "interrupted"
    assert [(t.name, t.status) for t in run.manifest.tests] == [
        ("queue-depth", "interrupted"),
        ("consistency", "skipped"),
    ]
    last = run.recordings[-1]
    assert last.interrupted
    assert all(one.second_ios.sum() == one.ios for one in last.operations.values())
    assert (path / "report.html").exists()


@contextlib.contextmanager
def _tmpfs(path: Path, size: str) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("this system does not mount a tmpfs")
    try:
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


@contextlib.contextmanager
def _loop_device(folder: Path) -> Iterator[str]:
    if os.geteuid() != 0 or not (shutil.which("losetup") and shutil.which("mkfs.ext4")):
        pytest.skip("needs root, losetup and mkfs.ext4")
    image = folder / "device.img"
    with image.open("wb") as file:
        file.truncate(64 << 20)
    attached = subprocess.run(
        ["losetup", "--find", "--show", image], capture_output=True, text=True, check=False
    )
    if attached.returncode != 0:
        pytest.skip("this system has no loop devices")
    device = attached.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


NEW = ["new.bin", "--size", "1MiB"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["mix", *NEW, "--engine", "warp"], "warp"),
        (["mix", *NEW, "--set", "link.line_rate=3 Gb/s"], "--set is for simulated drives"),
        (["mix", *NEW, "--state", "worn.state"], "a state is for simulated drives"),
        (["mix", *NEW, "--io-limit", "-1"], "--io-limit"),
        (["mix", *NEW, "--purge", "discard"], "--destroy-data"),
        (["mix", *NEW, "--destroy-data", "other.bin"], "other.bin"),
        (["mix", *NEW, "--filled", "2"], "filled"),
        (["mix", "no/where.bin", "--size", "1MiB"], "where.bin"),
        (["mix", "new.bin", "--size", "99999999999999999999GiB"], "at most 8 EiB"),
        (["mix", CORE, "--set", "link.line_rate=3 GB"], "link.line_rate"),
        (["mix", CORE, "--with", "depth=9999999"], "queue depth 9999999: use 1 to"),
        (["mix", CORE, "--with", "depth=99999999999"], "use a whole number from 1 to 4294967295"),
        (["deep.toml", CORE], "queue depth 9999999: use 1 to"),
        (["deep.toml", *NEW], "queue depth 9999999: use 1 to"),
    ],
)
def test_the_dry_run_refuses_what_the_run_refuses(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep.toml").write_text(
        'schema_version = 1\nname = "deep"\n[[test]]\nname = "deep"\n'
        'workload = [{ duration = "1 s", reads = 1.0, block = "4 KiB", pattern = "random", '
        "queue-depth = 9999999 }]\n"
    )
    for more in (["--dry-run"], []):
        assert main(["run", *arguments, *more]) == 2, more
        [line] = capsys.readouterr().err.splitlines()
        assert complaint in line, more
        assert {path.name for path in tmp_path.iterdir()} <= {"deep.toml", "new.bin", "runs"}
        assert more == [] or not (tmp_path / "new.bin").exists()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("use = []", 'no test named "\\[\\]"'),
        ("use = { a = 1 }", "no test named"),
        ('use = "mix"\ndepth = inf', "use a whole number from 1 to"),
        (f'use = "mix"\ndepth = {"9" * 5000}', "not a TOML file"),
        (f'use = "mix"\ndepth = {"[" * 5000}', "not a TOML file"),
        ('use = "mix"\ntime = "1e300 s"', "is not a time"),
        (f'use = "mix"\ntime = "{"9" * 40} h"', "1_000_000_000 s"),
    ],
)
def test_suite_files(
    text: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'schema_version = 1\nname = "mine"\n[[test]]\n{text}\n')
    assert main(["run", str(path), CORE, "--dry-run"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert re.search(complaint, line), line
    assert len(line) < 1000


def test_names_that_are_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    odd = os.fsdecode(b"t\xff.csv")
    Path(odd).write_text("128166372003061629,a,0,Read,4096,4096,500\n" * 3)
    for arguments in (
        ["verify", odd, "--overwrite", odd],
        ["replay", odd, CORE],
        ["serve", CORE, "--nbd", f"unix:{odd}"],
        ["serve", CORE, "--nbd", "unix:v.sock", "--data", odd],
    ):
        assert main(arguments) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert "is not text in UTF-8: rename it" in line, line
    assert main(["trace", "info", odd, "--html", "page.html"]) == 0
    assert "t\ufffd.csv" in Path("page.html").read_text("utf-8")


def test_a_state_that_cannot_be_saved_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != Path("ro"))
    Path("ro").mkdir()
    assert main(["serve", CORE, "--nbd", "unix:v.sock", "--state", "ro/s.state"]) in (1, 2)
    [line] = capsys.readouterr().err.splitlines()
    assert line == "fourcorners: cannot write ro/s.state: the folder ro is read-only"


def test_the_system_s_reasons_read_as_one_sentence() -> None:
    for told, read in (
        ("cannot write x: External: No space left on device (os error 28)", "no space left on dev"),
        ("cannot read x: I/O error (os error 5)", "I/O error (os error 5)"),
    ):
        assert str(fc.UserError(told)).partition(" x: ")[2].startswith(read)


def test_a_panic_is_a_failed_test_and_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """pyo3 makes of it an exception that is no ``Exception``."""
    panic = type("PanicException", (BaseException,), {})

    def panics(*_: object, **__: object) -> None:
        raise panic("index out of bounds: the len is 3 but the index is 7")

    monkeypatch.setattr("fourcorners.running.workloads.Workloads.run", panics)
    words = ["run", "mix", CORE, "--quick", "--out", str(tmp_path)]
    assert main(words) == 1
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    [path] = tmp_path.iterdir()
    [test] = fc.open_run(str(path)).manifest.tests
    assert test.status == "failed"
    assert str(test.reason).startswith("unexpected PanicException: index out of bounds")
    monkeypatch.setattr("fourcorners.target.simulated.SimulatedTarget.run", panics)
    assert main(["verify", CORE, "--span", "1MiB"]) == 70
    [line] = capsys.readouterr().err.splitlines()[-1:]
    assert line.startswith("fourcorners: unexpected PanicException: index out of bounds")
    assert "report" in line


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["characterize", CORE, "--claims", "{}"], "the claims"),
        (["characterize", "{}"], "the drive file"),
        (["drives", "--check", "{}"], "the drive file"),
        (["run", "{}", CORE], "the suite"),
        (["run", "four-corners", CORE, "--state", "{}"], "the state"),
        (["import", "{}"], "the results"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else None,
)
@pytest.mark.parametrize("kind", ["a pipe", "a device"])
def test_what_has_no_end_is_not_read(
    words: list[str], named: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pipe that nobody writes to would be waited for."""
    place = tmp_path / "endless.toml"
    if kind == "a pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/zero")
    assert main([word.format(place) for word in words]) == 2
    said = capsys.readouterr().err
    assert said == f"fourcorners: cannot read {named} {place}: it is {kind}; name a regular file\n"


def test_claims_that_are_far_too_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "claims.toml"
    place.write_text("# \n" * 2**17)
    assert main(["characterize", CORE, "--claims", str(place)]) == 2
    assert "it is longer than 256 KiB" in capsys.readouterr().err


def test_what_cannot_be_read_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trace or a folder that nobody may read, and a program that is not there or is no drive."""
    trace, folder = tmp_path / "trace.csv", tmp_path / ("long" * 100)
    trace.write_text("time_ns,operation\n")
    no_drive = tmp_path / "no drive"
    no_drive.write_text('#!/bin/sh\nread -r line; echo "$line"; cat\n')
    no_drive.chmod(0o755)
    real = os.open

    def denied(path: Any, *arguments: Any, **more: Any) -> int:
        if path == trace:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *arguments, **more)

    monkeypatch.setattr("fourcorners.input_files.os.open", denied)
    for command, complaint in (
        (["trace", "info", trace], "cannot read the trace"),
        (["trace", "convert", trace, tmp_path / "out.parquet"], "permission denied"),
        (["trace", "fit", trace], "permission denied"),
        (["replay", trace, CORE], "permission denied"),
        (["runs", folder], "name too long"),
        (["compare", folder, folder], "name too long"),
        (["query", "SELECT 1", folder], "name too long"),
        (["resume", folder], "name too long"),
        (["run", "four-corners", "exec:/no/such"], "cannot start /no/such"),
        (["explain", "exec:/no/such"], "cannot start /no/such"),
        (["verify", "exec:/no/such"], "cannot start /no/such"),
        (["run", "four-corners", f"exec:'{no_drive}'"], "its greeting is "),
    ):
        assert main([str(word) for word in command]) == 2, (command, capsys.readouterr())
        told = capsys.readouterr().err
        assert complaint in told, command
        assert len(told.splitlines()) == 1
        assert "expected one of" not in told
