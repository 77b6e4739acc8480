"""A run folder permits nothing: what `resume` may write is said on its command line, each time."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dangers import Disk, digest, disk, run

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.store import schema
from fourcorners.store.document import to_json
from fourcorners.target import identity

# Stops itself before the first test, as by Ctrl-C, or is killed in its midst.
STOPPED = """
import os, signal, sys
from fourcorners.cli import main
from fourcorners.running.place import Place
begin, number = Place.begin, getattr(signal, sys.argv[1])
def stop(self):
    begin(self)
    os.kill(os.getpid(), number)
Place.begin = stop
sys.exit(main(sys.argv[2:]))
"""
TEST = ("consistency", "--scale", "0.0002")


def stopped(number: str, out: Path, *arguments: str | Path) -> Path:
    """The folder of a run of one test that was stopped by the signal."""
    command = [sys.executable, "-c", STOPPED, number, "run", *TEST, "--out", str(out)]
    subprocess.run([*command, *map(str, arguments)], check=False, capture_output=True, timeout=120)
    [folder] = out.iterdir()
    return folder


def edit(folder: Path, **changes: Any) -> None:
    """Forges parts of a manifest, as who knows of its digest."""
    path = folder / schema.MANIFEST
    manifest = json.loads(path.read_text())
    manifest["request"]["opening"].update(changes.pop("opening", {}))
    manifest["request"].update(changes.pop("request", {}))
    path.write_text(to_json(manifest | changes))


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path) as attached:
        yield attached


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    capsys.readouterr()
    assert main(["resume", *map(str, arguments), "--quiet"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    return line


def test_a_forged_folder_does_not_destroy_a_file_system(
    tmp_path: Path, one: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    """The folder of an honest run, edited until it names the file system's device in all places."""
    folder = stopped("SIGINT", tmp_path / "runs", one.device, "--destroy-data", one.device)
    with disk(tmp_path, name="victim.img") as victim:
        run("mkfs.ext4", "-q", "-F", victim.device)
        before = digest(victim.image)
        with fc.open_target(victim.device) as target:
            itself, notes = identity.identify(target), target.notes
        note = f"{victim.device} holds an ext2, ext3 or ext4 file system that will be destroyed"
        names = {"locator": victim.device, "destroy_data": victim.device}
        for known in ({}, itself):
            edit(folder, opening=names, identity=known, notes=[*notes, note])
            refused(capsys, folder)
            assert digest(victim.image) == before
        line = refused(capsys, folder)
        assert f"--destroy-data {victim.device}" in line
        assert "ext4 file system" in line
        # Nor with the word: what the run did not write is not overwritten by going on with it.
        line = refused(capsys, folder, "--destroy-data", victim.device)
        assert "which the run did not write" in line
        assert digest(victim.image) == before


def test_what_is_left_of_the_time_before_a_run_is_not_told_from_what_came_since(
    tmp_path: Path, one: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    run("mkfs.ext4", "-q", "-F", one.device)
    word = ("--destroy-data", one.device)
    folder = stopped("SIGINT", tmp_path / "runs", one.device, *word)
    before = digest(one.image)
    assert "begin the run anew if that may be destroyed" in refused(capsys, folder, *word)
    assert digest(one.image) == before
    assert main(["run", *TEST, one.device, *word, "--out", str(tmp_path), "--quiet"]) == 0


def test_a_device_is_named_again(
    tmp_path: Path, one: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stopped("SIGINT", tmp_path / "runs", one.device, "--destroy-data", one.device)
    before = digest(one.image)
    command = f"fourcorners resume {folder} --destroy-data {one.device}"
    assert main(["report", str(folder)]) == 0
    assert f"To go on: {command}" in capsys.readouterr().out
    assert f"add --destroy-data {one.device}" in refused(capsys, folder)
    assert "names" in refused(capsys, folder, "--destroy-data", one.image)
    purge = ("--destroy-data", one.device, "--purge", "discard")
    assert "the run began with none to erase" in refused(capsys, folder, *purge)
    assert digest(one.image) == before
    assert main([*command.split()[1:], "--quiet"]) == 0
    assert digest(one.image) != before


@pytest.mark.parametrize("missing", ["size_bytes", "serial", "partition", "sequence", "boot"])
def test_an_incomplete_identity_is_none(
    missing: str, tmp_path: Path, one: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stopped("SIGINT", tmp_path / "runs", one.device, "--destroy-data", one.device)
    known = json.loads((folder / schema.MANIFEST).read_text())["identity"]
    del known[missing]
    edit(folder, identity=known)
    before = digest(one.image)
    line = refused(capsys, folder, "--destroy-data", one.device)
    assert "does not say all by which" in line
    assert digest(one.image) == before


def tar(folder: Path, device: str) -> str:
    (folder / "letter").write_bytes(b"Dear Sir or Madam")
    run("tar", "-C", folder, "-cf", device, "letter")
    return "tar archive"


def lvm_label_in_sector_3(_: Path, device: str) -> str:
    with Path(device).open("r+b") as opened:
        opened.seek(3 * 512)
        opened.write(b"LABELONE" + bytes(16) + b"LVM2 001")
    return "LVM"


@pytest.mark.parametrize("make", [tar, lvm_label_in_sector_3], ids=lambda make: make.__name__)
@pytest.mark.parametrize("number", ["SIGINT", "SIGKILL"])
def test_what_was_put_on_the_device_meanwhile_is_not_destroyed(
    make: Any, number: str, tmp_path: Path, one: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stopped(number, tmp_path / "runs", one.device, "--destroy-data", one.device)
    name = make(tmp_path, one.device)
    before = digest(one.image)
    assert name in refused(capsys, folder, "--destroy-data", one.device)
    assert digest(one.image) == before


def test_a_forged_folder_does_not_overwrite_a_file_nor_make_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "t.bin", tmp_path / "runs"
    folder = stopped("SIGINT", out, file, "--size", "4MiB")
    honest = (folder / schema.MANIFEST).read_bytes()
    precious = tmp_path / "precious"
    precious.write_bytes(os.urandom(4 << 20))
    with fc.open_target(str(precious)) as target:
        known = identity.identify(target)
    before = digest(precious)
    names = {"locator": str(precious), "overwrite": str(precious)}
    edit(folder, opening=names, identity=known)
    assert f"add --overwrite {precious}" in refused(capsys, folder)
    assert digest(precious) == before
    # A file that is missing is not made, and none is grown.
    missing = tmp_path / "missing"
    edit(folder, opening={"locator": str(missing)})
    refused(capsys, folder)
    assert not missing.exists()
    # The run itself goes on, as its file still holds what the run left; another with its inode, as
    # after a removal, is not taken for it.
    (folder / schema.MANIFEST).write_bytes(honest)
    edit(folder, identity={**json.loads(honest)["identity"], "generation": 1})
    assert "is not the one that the run began on: its inode's" in refused(capsys, folder)
    for wrong in ({"seed": "one"}, {"engine": 7}):
        edit(folder, opening=wrong)
        assert "is damaged: request.opening." in refused(capsys, folder)
    (folder / schema.MANIFEST).write_bytes(honest)
    assert main(["resume", str(folder), "--quiet"]) == 0


def test_targets_that_were_to_follow_are_begun_only_if_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "runs"
    folder = stopped("SIGINT", out, tmp_path / "t.bin", "--size", "4MiB")
    precious, missing = tmp_path / "precious", tmp_path / "missing"
    precious.write_bytes(os.urandom(4 << 20))
    before = digest(precious)
    following = [
        {"locator": str(precious), "overwrite": str(precious), "seed": 1},
        {"locator": str(missing), "size": 4 << 20, "seed": 1},
    ]
    edit(folder, request={"following": following})
    (folder / ".following").touch()
    shutil.copytree(folder, tmp_path / "again" / folder.name)
    assert main(["resume", str(folder), "--quiet"]) == 0
    said = capsys.readouterr().err
    for path in (precious, missing):
        assert f"{path} was to follow and is not begun" in said
    assert digest(precious) == before
    assert not missing.exists()
    again = tmp_path / "again" / folder.name
    assert main(["resume", str(again), "--quiet", "--overwrite", str(precious)]) == 0
    assert f"{precious} was to follow" not in capsys.readouterr().err
    assert digest(precious) != before


def test_from_python_as_well(tmp_path: Path, one: Disk) -> None:
    folder = stopped("SIGKILL", tmp_path / "runs", one.device, "--destroy-data", one.device)
    before = digest(one.image)
    with pytest.raises(fc.UserError, match="add --destroy-data"):
        fc.resume(folder)
    assert digest(one.image) == before
    assert fc.resume(folder, destroy_data=one.device).manifest.status == "complete"
