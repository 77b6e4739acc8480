"""A run that was killed at any point goes on to the same end."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fault_runs import edit_manifest

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.documents import changed
from fourcorners.errors import UserError
from fourcorners.running.progress import Progress
from fourcorners.store import schema
from fourcorners.store.folder import recover

DRIVE = "sim:ocz-core-64gb"
TESTS = ["transfer-size", "consistency"]
TABLES = (schema.RECORDINGS, schema.SERIES, schema.HISTOGRAMS, schema.LATENCY_OVER_TIME)
# A run that is killed, asked to stop or without room at the n-th flush of a certain file, or killed
# before the n-th time that one is put in the place of the one before.
SCRIPT = """
import errno, os, signal, sys
import fourcorners as fc
from fourcorners.store.directory import Directory
end, name, left, out, target, size, scale, *tests = sys.argv[1:]
left, flush = int(left), os.fsync
def fsync(descriptor):
    global left
    if not os.readlink(f"/proc/self/fd/{descriptor}").endswith(name):
        return flush(descriptor)
    left -= 1
    if left == 0 and end == "ENOSPC":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if left == 0:
        os.kill(os.getpid(), getattr(signal, end))
    flush(descriptor)
os.fsync = fsync
put = Directory.put
def putting(directory, file):
    global left
    if name == f"put {file}":
        left -= 1
        if left == 0:
            os.kill(os.getpid(), getattr(signal, end))
    put(directory, file)
Directory.put = putting
options = {"size": int(size)} if size else {}
with fc.open_target(target, **options) as drive:
    run = fc.run("reviews-quick", drive, tests=tests, scale=float(scale), out=out)
print(run.manifest.status)
"""


def _begin(
    end: str,
    at: tuple[str, int],
    out: Path,
    target: str = DRIVE,
    *tests: str,
    size: str = "",
    scale: float = 1.0,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(sys.executable, "-c", SCRIPT, end, *map(str, at)),
            *(out, target, size, str(scale), *(tests or TESTS)),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _folder(out: Path) -> Path:
    [folder] = out.iterdir()
    return folder


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> fc.Run:
    return fc.characterize(
        DRIVE, profile="quick", tests=TESTS, out=tmp_path_factory.mktemp("whole")
    )


def _check_same(run: fc.Run, uninterrupted: fc.Run) -> None:
    for name in (*TABLES, schema.FINDINGS):
        assert (run.path / name).read_bytes() == (uninterrupted.path / name).read_bytes(), name
    assert run.manifest.status == "complete"
    names = {path.name for path in run.path.iterdir()}
    assert names == {path.name for path in uninterrupted.path.iterdir()}
    for test, same in zip(run.manifest.tests, uninterrupted.manifest.tests, strict=True):
        assert changed(test, wall_s=None) == changed(same, wall_s=None)


MANIFEST, SERIES = ".manifest.json.partial", ".series.parquet.partial"
# The manifest is written when the run begins, when each of the two tests begins, before and after
# the tables are replaced when it ends, when all have ended, and after the report. The folder is
# flushed twice when the run begins and when all tests have ended, three times when a test has, once
# with the report, and before it gets its name.
TEST_BEGINS, TABLES_COME, TEST_SAVED, NEXT_BEGINS = ((MANIFEST, number) for number in (2, 3, 4, 5))


@pytest.mark.parametrize(
    ("at", "kept"),
    [
        (TABLES_COME, []),
        (TEST_SAVED, []),
        ((SERIES, 3), ["transfer-size"]),
        # Some of the tables have been replaced, and the manifest knows both contents of each.
        (("put series.parquet", 2), []),
        (("put histograms.parquet", 3), ["transfer-size"]),
        ((".findings.json.partial", 1), TESTS),
        (("64gb.partial", 12), None),
    ],
)
def test_a_killed_run_goes_on_where_it_stopped(
    at: tuple[str, int], kept: list[str] | None, tmp_path: Path, uninterrupted: fc.Run
) -> None:
    assert _begin("SIGKILL", at, tmp_path).returncode == -signal.SIGKILL
    partial = _folder(tmp_path)
    assert partial.name.endswith(".partial")
    before = json.loads((partial / schema.MANIFEST).read_text())
    run = fc.resume(tmp_path / before["id"])
    _check_same(run, uninterrupted)
    if kept is None:
        assert run.manifest.gaps == []
        return
    [gap] = run.manifest.gaps
    assert gap.kept == kept
    assert gap.test == next((test for test in TESTS if test not in kept), None)
    assert gap.same == "drive file and seed"
    assert 0 <= gap.seconds < 600
    # A finished test is not run again.
    again = {test.name: test.wall_s for test in run.manifest.tests}
    assert [again[t["name"]] for t in before["tests"] if t["name"] in kept] == [
        t["wall_s"] for t in before["tests"] if t["name"] in kept
    ]


def test_a_run_that_was_killed_before_its_first_manifest_is_removed(tmp_path: Path) -> None:
    """Its tables are empty, and one has its name already."""
    _begin("SIGKILL", ("put series.parquet", 1), tmp_path)
    partial = _folder(tmp_path)
    assert (partial / schema.RECORDINGS).is_file()
    assert not (partial / schema.MANIFEST).exists()
    assert recover(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_was_stopped_or_found_no_room_goes_on(
    tmp_path: Path, uninterrupted: fc.Run, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = _begin("SIGINT", NEXT_BEGINS, tmp_path / "stopped")
    assert stopped.stdout == "interrupted\n"
    named = _folder(tmp_path / "stopped")
    assert fc.Run(named).manifest.tests[1].status != "complete"
    assert main(["report", str(named)]) == 0
    assert f"To go on: fourcorners resume {named}" in capsys.readouterr().out
    full = _begin("ENOSPC", (SERIES, 3), tmp_path / "full")
    assert "no space left on device; what was saved before is in" in full.stderr.lower()
    for folder in (named, _folder(tmp_path / "full")):
        assert main(["resume", str(folder)]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "Note: The run stopped at" in shown
        assert "1 finished test was kept" in shown
        [path] = folder.parent.iterdir()
        run = fc.open_run(str(path))
        _check_same(run, uninterrupted)
        assert run.manifest.gaps[0].kept == ["transfer-size"]
        assert "1 finished test was kept" in (path / schema.REPORT).read_text()
    assert main(["resume", str(named), "--quiet"]) == 0
    assert capsys.readouterr().out == f"{named}\n"
    assert len(fc.open_run(str(named)).manifest.gaps) == 1, "nothing was left to do"


def test_what_cannot_go_on_is_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, drive = tmp_path / "runs", tmp_path / "mine.toml"
    drive.write_text(fc.open_target(DRIVE).drive_text or "")
    _begin("SIGKILL", TEST_BEGINS, out, str(drive))
    before = _content(_folder(out))

    def refused(*words: str, path: Path | None = None) -> None:
        assert main(["resume", str(path or _folder(out))]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert all(word in line for word in words), line
        assert _content(_folder(out)) == before, "nothing is changed"

    refused("name one of the unfinished runs in", path=out)
    text = drive.read_text()
    drive.write_text(f"{text}\n")
    refused("the drive file of", "not the one that the run began with")
    drive.write_text(text)
    manifest = _folder(out) / schema.MANIFEST
    edit_manifest(manifest.parent, '"version": "', '"version": "0.')
    before = _content(_folder(out))
    refused("begun by fourcorners 0.", "resume it with that version")
    manifest.unlink()
    before = _content(_folder(out))
    refused("nothing had been saved yet")
    refused("is not a run folder", path=tmp_path)
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / schema.MANIFEST).touch()
    refused("none of the runs in this folder is unfinished", path=tmp_path)


def test_another_file_is_not_taken_for_the_one_that_the_run_began_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, file = tmp_path / "runs", tmp_path / "file"
    _begin("SIGKILL", TEST_BEGINS, out, str(file), size=str(1 << 20))
    # Kept, so that its inode is not taken again.
    file.rename(tmp_path / "old")
    (tmp_path / "file").write_bytes(b"precious" * (1 << 17))
    assert main(["resume", str(_folder(out))]) == 2
    assert "is not the one that the run began on: its inode was" in capsys.readouterr().err
    assert file.read_bytes() == b"precious" * (1 << 17)


def test_a_file_is_prepared_and_measured_again_where_the_run_was_killed(tmp_path: Path) -> None:
    out, file = tmp_path / "runs", tmp_path / "file"
    # Measured, and killed before that was saved.
    _begin("SIGKILL", (SERIES, 2), out, str(file), "consistency", size=str(1 << 20), scale=0.01)
    with pytest.raises(UserError, match="did not come to its end"):
        fc.resume(_folder(out))
    run = fc.resume(_folder(out), overwrite=str(file))
    assert run.manifest.status == "complete"
    [test], [gap] = run.manifest.tests, run.manifest.gaps
    assert any("fill of the whole drive" in step for step in test.preparation)
    assert (gap.kept, gap.repeated) == ([], ["consistency"])
    assert f"inode {file.stat().st_ino}" in gap.same
    assert [row.id for row in run.recordings] == ["consistency/write"]
    assert not run.table("recordings").to_pylist()[0]["interrupted"]


def test_a_run_that_goes_on_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fourcorners.store.folder._DYING_S", 0.1)

    class Impatient(Progress):
        refusals = 0

        def message(self, text: str) -> None:
            with pytest.raises(UserError, match="still goes on"):
                fc.resume(_folder(tmp_path))
            self.refusals += 1

    progress = Impatient()
    run = fc.characterize(
        DRIVE, profile="quick", tests=["transfer-size"], out=tmp_path, progress=progress
    )
    assert progress.refusals > 0
    assert run.manifest.status == "complete"


def _content(folder: Path) -> dict[str, Any]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
