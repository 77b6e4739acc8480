"""Whatever stands in the place of a run folder or of its parts: nothing of others is removed or
written, and what is in the way is said in a sentence."""

import os
import shutil
from pathlib import Path

import pytest

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.documents import changed
from fourcorners.store import Run, RunWriter, schema
from fourcorners.store.folder import claim

DRIVE = "sim:wd6400aaks"


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    folder = tmp_path / "photographs"
    folder.mkdir()
    for name in ("a.jpg", "b.png", ".c.partial", ".lock", "drive-1.state"):
        (folder / name).write_text(name)
    return folder


def _untouched(photographs: Path) -> bool:
    return {path.name: path.read_text() for path in photographs.iterdir()} == {
        name: name for name in ("a.jpg", "b.png", ".c.partial", ".lock", "drive-1.state")
    }


def _interrupted(out: Path) -> Path:
    """A run folder of which nothing was measured yet."""
    run = fc.run("queue-depth", DRIVE, parameters={"depths": [1]}, scale=0.01, out=out)
    writer = RunWriter.reopen(claim(run.path), set())
    writer.checkpoint(changed(run.manifest, status="running", ended=None, tests=[]))
    writer.abandon()
    return writer.path


def test_single_ios_behind_a_link_are_not_removed(
    tmp_path: Path, photographs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _interrupted(tmp_path / "runs")
    (folder / schema.IOS).symlink_to(photographs)
    assert main(["resume", str(folder)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert f"{schema.IOS} is not the folder that the run made: nothing was changed" in line
    assert _untouched(photographs)
    assert folder.is_dir(), "it has the name that it had"
    (folder / schema.IOS).unlink()
    assert main(["resume", str(folder)]) == 0


def test_only_known_names_are_removed(tmp_path: Path) -> None:
    folder = _interrupted(tmp_path / "runs")
    (folder / schema.IOS).mkdir(exist_ok=True)
    foreign = [
        ".mine.partial",
        "ios/a.jpg",
        "ios/.b.partial",
        "drive-a.state",
        "mine/.c.partial",
    ]
    (folder / "mine").mkdir()
    ours = [".series.parquet.partial", "ios/.x.parquet.partial", "ios/x.parquet", "drive-7.state"]
    for name in (*foreign, *ours):
        (folder / name).write_text(name)
    # A table that no recording has.
    shutil.copy(folder / schema.SERIES, folder / "ios/x.parquet")
    run = fc.resume(folder)
    assert all((run.path / name).read_text() == name for name in foreign)
    assert not any((run.path / name).exists() for name in ours)


def test_a_link_in_the_place_of_a_half_written_file_is_not_written_through(
    tmp_path: Path, photographs: Path
) -> None:
    out = tmp_path / "runs"
    writer = RunWriter.create(out, "a")
    for name in (schema.DRIVE, schema.MANIFEST):
        (writer.path / f".{name}.partial").symlink_to(photographs / "a.jpg")
    writer.text(schema.DRIVE, "text")
    assert (writer.path / schema.DRIVE).read_text() == "text"
    assert _untouched(photographs)


@pytest.mark.parametrize("saved", [True, False])
def test_links_in_the_folder_of_runs_are_left_alone(
    saved: bool, tmp_path: Path, photographs: Path
) -> None:
    """The photographs lie in what looks like the folder of a killed run."""
    out = tmp_path / "runs"
    out.mkdir()
    (photographs / schema.MANIFEST).symlink_to(photographs / "a.jpg")
    if not saved:
        (photographs / schema.MANIFEST).unlink()
    (out / ".abc.partial").symlink_to(photographs)
    RunWriter.create(out, "next").abandon()
    assert (out / ".abc.partial").is_symlink()
    if saved:
        (photographs / schema.MANIFEST).unlink()
    assert _untouched(photographs)


def test_a_folder_in_which_nothing_was_saved_stays_if_it_holds_what_is_not_ours(
    tmp_path: Path,
) -> None:
    for name in ("ours", "theirs"):
        killed = RunWriter.create(tmp_path, name)
        os.close(killed._claim.lock)
    (tmp_path / ".theirs.partial" / "thesis").write_text("thesis")
    RunWriter.create(tmp_path, "next")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {".theirs.partial", ".next.partial"}
    assert (tmp_path / ".theirs.partial" / "thesis").read_text() == "thesis"


def test_a_run_is_found_through_a_link_and_the_link_stays(tmp_path: Path) -> None:
    folder = _interrupted(tmp_path / "runs")
    link = tmp_path / "latest"
    link.symlink_to(folder)
    run = fc.resume(link)
    assert run.path.parent == tmp_path / "runs"
    assert Run(run.path).manifest.status == "complete"
    assert link.is_symlink()
