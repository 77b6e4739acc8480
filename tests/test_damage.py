"""Run folders that were damaged on their way: one sentence names the file, and nothing false is
shown."""

import errno
import json
import os
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from flips import flip

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.errors import UserError
from fourcorners.recording import columns
from fourcorners.store import Run, RunWriter, schema
from fourcorners.store.folder import claim
from fourcorners.store.notes import Notes, write_notes

DRIVE = "sim:wd6400aaks"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with every kind of file but a state."""
    out = tmp_path_factory.mktemp("kept")
    run = fc.run("queue-depth", DRIVE, parameters={"depths": [1]}, scale=0.01, log_ios=50, out=out)
    write_notes(run.path, Notes(tags=("tag",), text="a note"))
    return run.path


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "run"))


def test_a_flipped_bit_is_noticed_or_changes_nothing(folder: Path) -> None:
    noticed, harmless, wrong = flip(folder, 100, seed=1)
    assert wrong == []
    assert noticed > 80, f"{harmless} harmless"


def _flip_last_page(path: Path) -> None:
    """One bit in the data of a table, where no footer and no length is."""
    column = pq.read_metadata(path).row_group(0).column(3)
    begin = column.dictionary_page_offset or column.data_page_offset
    place = begin + column.total_compressed_size - 1
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "words", [["report"], ["compare"], ["query", "SELECT count(*) FROM series"]]
)
@pytest.mark.parametrize("table", [schema.RECORDINGS, schema.SERIES, schema.LATENCY_OVER_TIME])
def test_no_command_shows_a_damaged_table(
    words: list[str], table: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if words[0] == "compare" and table == schema.LATENCY_OVER_TIME:
        pytest.skip("it compares no latencies by the second of runs this short")
    _flip_last_page(folder / table)
    paths = [str(folder)] * (2 if words[0] == "compare" else 1)
    assert main([*words, *paths]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert f"{folder / table} is damaged" in line


def test_pages_have_checksums_for_other_readers(folder: Path) -> None:
    _flip_last_page(folder / schema.SERIES)
    with pytest.raises(OSError, match=r"(?i)crc"):
        pq.read_table(folder / schema.SERIES, page_checksum_verification=True)


def test_folders_without_digests_are_read_and_their_pages_checked(folder: Path) -> None:
    path = folder / schema.MANIFEST
    manifest = json.loads(path.read_text())
    del manifest["sha256"], manifest["digests"]
    path.write_text(json.dumps(manifest))
    run = Run(folder)
    run.check()
    assert len(run.table("recordings")) == len(run.table("recordings").to_pylist()) > 0
    _flip_last_page(folder / schema.SERIES)
    with pytest.raises(UserError, match=r"cannot read .*series\.parquet"):
        run.check()


def test_a_document_that_somebody_changed_says_how_to_keep_the_change(folder: Path) -> None:
    path = folder / schema.MANIFEST
    text = path.read_text()
    path.write_text(text.replace('"seed": 1', '"seed": 2'))
    with pytest.raises(UserError, match=r'manifest\.json is damaged: .* remove the line "sha256"'):
        Run(folder)
    # Neither layout nor the order of fields is content.
    path.write_text(json.dumps(dict(reversed(json.loads(text).items())), indent=None))
    assert Run(folder).manifest.seed == 1


def test_a_damaged_state_is_named_before_a_run_goes_on(folder: Path) -> None:
    run = Run(folder)
    recordings = {one.id for one in run.recordings}
    writer = RunWriter.reopen(claim(folder), recordings)
    writer.text(schema.STATE.format(3), "a state")
    writer.checkpoint(run.manifest)
    writer.abandon()
    (writer.path / schema.STATE.format(3)).write_text("A state")
    with pytest.raises(UserError, match=r"drive-3\.state is damaged"):
        fc.resume(writer.path)


SUITE = """
schema_version = 1
name = "two"
log-ios = 100
[[test]]
use = "queue-depth"
name = "first"
depths = [1]
time = "0.2 s"
[[test]]
use = "queue-depth"
name = "second"
depths = [2]
time = "0.2 s"
"""


def test_rows_are_in_the_same_order_after_a_disk_was_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first test finds no room for its single I/Os, the second one does, and the run is resumed
    when there is room again."""
    file = tmp_path / "two.toml"
    file.write_text(SUITE)
    whole = fc.run(str(file), DRIVE, out=tmp_path / "whole")
    add = RunWriter.add

    def full(writer: RunWriter, recording: fc.Recording) -> None:
        if recording.test == "first":
            raise UserError(os.strerror(errno.ENOSPC))
        add(writer, recording)

    monkeypatch.setattr(RunWriter, "add", full)
    stopped = fc.run(str(file), DRIVE, out=tmp_path / "full")
    assert [test.status for test in stopped.manifest.tests] == ["failed", "complete"]
    monkeypatch.setattr(RunWriter, "add", add)
    run = fc.resume(stopped.path)
    assert run.manifest.status == "complete"
    for name in (*schema.TABLES, schema.FINDINGS):
        assert (run.path / name).read_bytes() == (whole.path / name).read_bytes(), name


def test_tables_are_read_by_their_names(folder: Path) -> None:
    run = fc.open_run(str(folder))
    assert run.table("recordings").column_names == columns.RECORDINGS.names
    assert run.table("series.parquet").equals(run.table("series"))
    [log] = [path.stem for path in (folder / schema.IOS).iterdir()][:1]
    assert run.table(f"ios/{log}").column_names == columns.IOS.names
    with pytest.raises(UserError, match='no table "seconds": there are recordings, series, hist'):
        run.table("seconds")


def test_runs_and_targets_are_shown_in_a_line(folder: Path, tmp_path: Path) -> None:
    run = fc.open_run(str(folder))
    assert repr(run) == f"<Run {folder}: WD6400AAKS, queue-depth (queue-depth), complete>"
    with fc.open_target(DRIVE) as drive:
        assert repr(drive) == "<Target sim:wd6400aaks: WD6400AAKS, 640 GB, simulated>"
    file = tmp_path / "file"
    file.write_bytes(bytes(1 << 20))
    with fc.open_target(str(file)) as target:
        assert repr(target) == f"<Target {file}: file, 1 MiB, file, only read>"
