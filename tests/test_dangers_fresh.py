"""What :mod:`dangers_fresh` stages is refused with exit code 2, and nothing in its folder changes.
What is asked for is done, and nothing else is."""

import hashlib
import mmap
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import dangers_fresh_results  # noqa: F401 - stages more of them
import pytest
from dangers import disk, mounted, run
from dangers_fresh import MIB, SITUATIONS, attached, destroy, file, overwrite, own_file, verify
from test_resume_permission import stopped

import fourcorners as fc
from fourcorners.cli import main

DRIVE = "sim:ocz-core-64gb"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("kept")
    return fc.run("queue-depth", DRIVE, parameters={"depths": [1]}, scale=0.01, out=out).path


def all_in(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything in a folder, but not behind links and mounts: kind, size, link or content."""
    found: dict[str, tuple[object, ...]] = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not os.path.ismount(Path(place) / name)]
        for name in [*folders, *files]:
            path = Path(place) / name
            mode = path.lstat().st_mode
            content = (
                hashlib.sha256(path.read_bytes()).hexdigest()
                if stat.S_ISREG(mode)
                else path.readlink()
                if path.is_symlink()
                else ""
            )
            found[str(path)] = (mode, content)
    return found


@pytest.mark.parametrize("name", SITUATIONS)
def test_situation(
    name: str, kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(kept, tmp_path / "runs" / "A")
    with SITUATIONS[name](tmp_path) as situation:
        before = all_in(tmp_path)
        capsys.readouterr()
        code = main(situation.arguments)
        printed = capsys.readouterr()
        assert all_in(tmp_path) == before
        assert code == 2, printed.err
        [complaint] = printed.err.splitlines()
        assert complaint.startswith("fourcorners: ")
        assert situation.said in complaint


# What was asked for, and not a byte more


def test_a_partition_is_written_and_its_neighbours_are_not(tmp_path: Path) -> None:
    with disk(tmp_path) as one:
        one.partition(1)
        target = one.partition(2)
        before = one.image.read_bytes()
        assert main([*destroy(target), "--quiet"]) == 0
        after = one.image.read_bytes()
    start = (2048 + 12288) * 512
    end = start + 12288 * 512
    assert after[:start] == before[:start]
    assert after[end:] == before[end:]
    assert after[start:end] != before[start:end]


def test_a_loop_device_over_a_part_leaves_the_rest(tmp_path: Path) -> None:
    image = file(tmp_path, "disk.img", 4 * MIB)
    before = image.read_bytes()
    with attached(image, "--offset", str(MIB), "--sizelimit", str(MIB)) as target:
        assert main([*destroy(target), "--quiet"]) == 0
    after = image.read_bytes()
    assert after[:MIB] == before[:MIB]
    assert after[2 * MIB :] == before[2 * MIB :]
    assert after[MIB : 2 * MIB] != before[MIB : 2 * MIB]


@pytest.mark.parametrize("option", ["--span", "--size"])
def test_what_lies_beyond_the_part_that_is_used_stays(option: str, tmp_path: Path) -> None:
    target = file(tmp_path, count=2 * MIB + 4096 + 700)
    before = target.read_bytes()
    assert main([*overwrite(target), option, "1MiB", "--quiet"]) == 0
    after = target.read_bytes()
    assert after[MIB:] == before[MIB:]
    assert after[:MIB] != before[:MIB]


def test_the_bytes_after_the_last_sector_stay(tmp_path: Path) -> None:
    target = file(tmp_path, count=MIB + 100)
    before = target.read_bytes()
    assert main([*overwrite(target), "--quiet"]) == 0
    assert target.read_bytes()[MIB:] == before[MIB:]


def test_a_copy_that_shares_blocks_stays(tmp_path: Path) -> None:
    image = tmp_path / "xfs.img"
    with image.open("wb") as sparse:
        sparse.truncate(400 * MIB)
    run("mkfs.xfs", "-q", image)
    with attached(image) as device, mounted(device, tmp_path / "point", make=False) as point:
        target = file(point)
        run("cp", "--reflink=always", target, point / "copy")
        before = (point / "copy").read_bytes()
        assert main([*overwrite(target), "--quiet"]) == 0
        assert (point / "copy").read_bytes() == before != target.read_bytes()


def test_a_suite_with_a_purge_keeps_to_the_named_file(tmp_path: Path) -> None:
    """Of two files the word names one; the other is read."""
    one, other = file(tmp_path, "one"), file(tmp_path, "other")
    before = other.read_bytes()
    command = ["run", "consistency", str(one), str(other), "--scale", "0.0002", "--quiet"]
    main([*command, "--overwrite", str(one), "--out", str(tmp_path / "runs")])
    assert other.read_bytes() == before != one.read_bytes()


@pytest.mark.parametrize("command", ["characterize", "explain", "gate"])
def test_a_dry_run_touches_nothing(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with disk(tmp_path) as one:
        target = file(tmp_path, count=4 * MIB)
        (tmp_path / "base").mkdir()
        more = ["--baseline", str(tmp_path / "base"), "--write-baseline"]
        before = all_in(tmp_path)
        for named in (["--destroy-data", one.device], ["--overwrite", str(target)]):
            arguments = [
                command,
                named[1],
                *named,
                "--dry-run",
                *(more if command == "gate" else []),
            ]
            assert main(arguments) == 0, capsys.readouterr().err
        assert all_in(tmp_path) == before


def test_verifying_again_writes_nothing(tmp_path: Path) -> None:
    target, state = tmp_path / "t.bin", str(tmp_path / "s")
    assert main([*verify(target, "--size", "1MiB"), "--state", state, "--quiet"]) == 0
    target.write_bytes(os.urandom(MIB))
    before = all_in(tmp_path)
    for more in ([], ["--overwrite", str(target)]):
        assert main([*verify(target, "--again", "--state", state), *more, "--quiet"]) == 3
        assert all_in(tmp_path) == before


def test_a_killed_run_keeps_its_notes_without_a_manifest(kept: Path, tmp_path: Path) -> None:
    """The disk lost the manifest, and a new run tidies up after killed ones."""
    lost = tmp_path / "runs" / ".A.partial"
    shutil.copytree(kept, lost)
    assert main(["note", str(lost), "--text", "an hour of work", "--tag", "x"]) == 0
    (lost / "manifest.json").unlink()
    (lost / ".lock").touch()
    before = all_in(lost)
    command = ["run", "queue-depth", DRIVE, "--with", "depths=1", "--scale", "0.01", "--quiet"]
    assert main([*command, "--out", str(tmp_path / "runs")]) == 0
    assert all_in(lost) == before


def test_output_that_finds_no_room_keeps_what_was_there(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    point = tmp_path / "point"
    point.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=100k", "none", point)
    try:
        page = point / "page.md"
        assert main(["compare", str(kept), str(kept), "--markdown", str(page)]) == 0
        before = page.read_bytes()
        (point / "filler").write_bytes(bytes(80_000))
        assert main(["report", str(kept), "--out", str(page)]) == 1
        assert page.read_bytes() == before
        assert sorted(path.name for path in point.iterdir()) == ["filler", "page.md"]
    finally:
        run("umount", point)


@pytest.mark.parametrize("how", ["immutable", "mounted over"])
def test_output_that_cannot_be_replaced_stays(how: str, kept: Path, tmp_path: Path) -> None:
    page, other = tmp_path / "page.html", tmp_path / "other"
    page.touch()
    other.touch()
    if how == "immutable":
        run("chattr", "+i", page)
    else:
        run("mount", "--bind", other, page)
    try:
        before = all_in(tmp_path)
        assert main(["report", str(kept), "--out", str(page), "--replace"]) == 1
        assert all_in(tmp_path) == before
    finally:
        if how == "immutable":
            run("chattr", "-i", page)
        else:
            run("umount", page)


def test_output_leaves_the_other_name_of_a_file(kept: Path, tmp_path: Path) -> None:
    page, link = tmp_path / "page.html", tmp_path / "link.html"
    page.write_text("a page")
    os.link(page, link)
    assert main(["report", str(kept), "--out", str(page), "--replace", "--quiet"]) == 0
    assert link.read_text() == "a page"


def test_closed_streams_do_not_become_the_target(tmp_path: Path) -> None:
    """What is opened first gets the numbers of standard output and error."""
    target = file(tmp_path, count=2 * MIB)
    before = target.read_bytes()
    script = '"$@" <&- >&- 2>&-'
    command = [sys.executable, "-m", "fourcorners", *overwrite(target, "--span", "1MiB")]
    state = tmp_path / "s"
    done = subprocess.run(
        ["sh", "-c", script, "sh", *command, "--state", state], check=False, timeout=60
    )
    after = target.read_bytes()
    assert len(after) == len(before)
    assert after[MIB:] == before[MIB:]
    assert done.returncode == 1, "nobody took what it said"
    assert main([*verify(target, "--again", "--state", state), "--quiet"]) == 0


def test_a_letter_in_our_file_is_seen_where_times_are_whole_seconds(tmp_path: Path) -> None:
    """Small inodes of ext4: without a pause a write within the same second changes no time."""
    image = tmp_path / "small.img"
    with image.open("wb") as sparse:
        sparse.truncate(96 * MIB)
    run("mkfs.ext4", "-q", "-F", "-I", "128", image)
    with attached(image) as device, mounted(device, tmp_path / "point", make=False) as point:
        target = own_file(point)
        with target.open("rb+") as written:
            written.seek(120 * 4096)
            written.write(b"the only copy of a letter")
        before = target.read_bytes()
        assert main([*verify(target), "--quiet"]) == 2
        assert target.read_bytes() == before


def _write(ios: int = 16) -> fc.Workload:
    return fc.Workload([fc.Stream.write("random", 4096)], ios=ios)


def test_what_the_owner_writes_while_we_only_read_stays_theirs(tmp_path: Path) -> None:
    """A run that reads for hours after it wrote: the file is not ours any more at its end."""
    target = own_file(tmp_path)
    with fc.open_target(str(target)) as opened:
        opened.run(_write())
        with target.open("rb+") as written:
            written.seek(120 * 4096)
            written.write(b"the only copy of a letter")
    with fc.open_target(str(target)) as opened:
        assert opened.read_only_reason is not None


def test_what_the_owner_writes_between_two_measurements_stops_the_writing(tmp_path: Path) -> None:
    target = own_file(tmp_path)
    with fc.open_target(str(target)) as opened:
        opened.run(_write())
        opened.run(fc.Workload([fc.Stream.read("random", 4096)], ios=16))
        target.write_bytes(os.urandom(MIB))
        before = target.read_bytes()
        with pytest.raises(fc.UserError):
            opened.run(_write())
        with pytest.raises(fc.UserError):
            opened.purge()
    assert target.read_bytes() == before


def test_a_word_for_one_run_is_none_for_the_next(tmp_path: Path) -> None:
    """What the owner had put into our file is only partly overwritten, as permitted."""
    target = own_file(tmp_path)
    target.write_bytes(os.urandom(MIB))
    before = target.read_bytes()
    assert main([*overwrite(target, "--span", "512KiB"), "--quiet"]) == 0
    assert main([*verify(target), "--quiet"]) == 2
    assert target.read_bytes()[MIB // 2 :] == before[MIB // 2 :]


def test_a_run_does_not_go_on_with_a_partition_that_moved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same number and size of the same disk, at another place of it."""
    with disk(tmp_path) as one:
        target = one.partition(1)
        folder = stopped("SIGINT", tmp_path / "runs", target, "--destroy-data", target)
        run("delpart", one.device, "1")
        run("addpart", one.device, "1", "16384", "12288")
        before = one.image.read_bytes()
        capsys.readouterr()
        assert main(["resume", str(folder), "--destroy-data", target, "--quiet"]) == 2
        assert "its first sector was 2048 and is 16384" in capsys.readouterr().err
        assert one.image.read_bytes() == before


def test_our_own_writes_are_not_taken_for_others(tmp_path: Path) -> None:
    target = own_file(tmp_path)
    for engine in ("sync", "io_uring,buffered"):
        with fc.open_target(str(target), engine=engine) as opened:
            for _ in range(3):
                opened.run(_write(64))
                opened.filled()
                opened.run(fc.Workload([fc.Stream.read("random", 4096)], ios=16))
            opened.purge()
            opened.run(_write())
        with fc.open_target(str(target)) as opened:
            assert opened.read_only_reason is None


def test_a_letter_in_a_file_that_was_only_made_is_seen(tmp_path: Path) -> None:
    """By a mapping, and not on the disk yet, in a file that a killed run had not written to."""
    target = tmp_path / "t.bin"
    script = (
        "import os, sys; import fourcorners as fc\n"
        "with fc.open_target(sys.argv[1], size=1 << 20): os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, target], check=False, timeout=60)
    assert target.stat().st_size == MIB
    with target.open("rb+") as opened, mmap.mmap(opened.fileno(), MIB) as mapping:
        mapping[700_000:700_006] = b"letter"
    before = target.read_bytes()
    assert main([*verify(target), "--quiet"]) == 2
    assert target.read_bytes() == before
