"""Runs that are kept: found, noted on, asked in SQL and exported."""

from __future__ import annotations

import csv
import json
import resource
import shutil
import tempfile
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command import fourcorners
from fault_runs import validate

import fourcorners as fc
from fourcorners.catalog.published import published, published_table
from fourcorners.cli import main
from fourcorners.comparison.claims_table import claims_table
from fourcorners.errors import UserError
from fourcorners.store.kept_runs import Choice, kept_runs
from fourcorners.store.notes import Notes, read_notes, write_notes
from fourcorners.store.sql import TABLES, open_database, query


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs: an SSD with queue depths, a disk with transfer sizes. In the order of their names,
    which is that of runs of the same second."""
    out = tmp_path_factory.mktemp("kept") / "it's here"
    for drive, test in (("ocz-core-64gb", "queue-depth"), ("wd6400aaks", "transfer-size")):
        fc.characterize(f"sim:{drive}", profile="quick", tests=[test], out=out)
    return out


def test_runs_are_found_by_drive_test_tag_and_day(folder: Path) -> None:
    everything = kept_runs([folder])
    assert [kept.tests for kept in everything] == [["queue-depth"], ["transfer-size"]]
    core, disk = everything
    write_notes(disk.run.path, Notes(tags=("old",), text="spins"))
    day = date.fromisoformat(disk.created[:10])
    for choice, wanted in [
        (Choice(drive="OCZ"), [core]),
        (Choice(drive="wd6400"), [disk]),
        (Choice(test="queue-depth"), [core]),
        (Choice(tag="old"), [disk]),
        (Choice(since=day), everything),
        (Choice(until=date(2008, 7, 25)), []),
    ]:
        assert [s.run.path for s in kept_runs([folder], choice)] == [s.run.path for s in wanted]
    assert [s.run.path for s in kept_runs([core.run.path])] == [core.run.path]
    with pytest.raises(UserError, match="cannot list the runs"):
        kept_runs([folder / "nowhere"])


def test_notes_do_not_touch_what_was_measured(folder: Path) -> None:
    path = kept_runs([folder])[0].run.path
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    done = fourcorners(
        *("note", str(path), "--tag", "fw-2", "--tag", "a", "--text", "new firmware"),
        cwd=folder,
    )
    assert done.stdout.endswith("#a #fw-2: new firmware\n")
    validate("notes", json.loads((path / "notes.json").read_text()))
    assert fourcorners("note", str(path), "--untag", "a", cwd=folder).returncode == 0
    assert read_notes(path) == Notes(tags=("fw-2",), text="new firmware")
    after = {file.name: file.read_bytes() for file in path.iterdir() if file.name != "notes.json"}
    assert after == before
    assert fourcorners("note", str(path), "--tag", "two words", cwd=folder).returncode == 2
    (path / "notes.json").write_text("[]")
    with pytest.raises(UserError, match="mend or remove"):
        read_notes(path)
    (path / "notes.json").unlink()


def test_the_tables_hold_what_the_runs_hold(folder: Path) -> None:
    runs = kept_runs([folder])
    with open_database(runs, claims_table(runs), published_table()) as database:
        rows = query(
            database, "SELECT drive, recording, iops, block_bytes FROM recordings"
        ).to_pylist()
        own = [
            (kept.drive, row) for kept in runs for row in kept.run.table("recordings").to_pylist()
        ]
        assert {(row["drive"], row["recording"], row["iops"]) for row in rows} == {
            (drive, row["recording"], row["iops"]) for drive, row in own
        }
        assert {row["block_bytes"] for row in rows} >= {512, 4096}
        counted = query(
            database,
            "SELECT run, recording, operation, sum(count)::BIGINT AS ios FROM histograms "
            "GROUP BY ALL",
        ).to_pylist()
        assert sum(row["ios"] for row in counted) == sum(row["ios"] for _, row in own)
        seconds = query(database, "SELECT sum(ios)::BIGINT AS ios FROM series").to_pylist()
        assert seconds[0]["ios"] == sum(row["ios"] for _, row in own)
        over_time = "SELECT sum(count)::BIGINT AS ios FROM latency_over_time"
        assert query(database, over_time).to_pylist() == seconds
        assert query(database, "SELECT * FROM published").num_rows == len(published())
        findings = query(database, "SELECT finding FROM findings").to_pylist()
        assert len(findings) == sum(len(kept.run.findings) for kept in runs)


@pytest.mark.parametrize(
    "name",
    [*TABLES, "four_corners", "queue_depths", "transfer_sizes", "latency_seconds", "artefacts"],
)
def test_every_table_can_be_asked_also_without_runs(name: str, tmp_path: Path) -> None:
    runs = kept_runs([tmp_path])
    with open_database(runs, claims_table(runs), published_table()) as database:
        assert query(database, f"SELECT * FROM {name}").num_columns > 2


def test_the_help_names_every_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "--help"]) == 0
    said = capsys.readouterr().out
    assert [name for name in TABLES if name not in said] == []


def test_mistakes_in_a_query_are_one_sentence(folder: Path) -> None:
    for sql, reason in (("SELEC", "syntax error"), ("SELECT x FROM runs", '"x" not found')):
        done = fourcorners("query", sql, str(folder), cwd=folder)
        assert done.returncode == 2
        assert reason in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO 'x.csv'",
        "COPY (SELECT 1) TO '{folder}/series.parquet'",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT 1; SELECT 2",
        "SET enable_external_access = true",
        "SELECT * FROM recording",
    ],
)
def test_a_query_only_reads_and_only_the_runs(sql: str, folder: Path) -> None:
    runs = kept_runs([folder])
    path = runs[0].run.path
    before = {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}
    with open_database(runs, claims_table(runs), published_table()) as database:
        with pytest.raises(UserError) as complaint:
            query(database, sql.format(folder=str(path).replace("'", "''")))
        assert "pg_" not in str(complaint.value)
        assert {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()} == before
        pivot = "PIVOT recordings ON operation USING count(*) GROUP BY drive"
        assert query(database, pivot).num_rows == 2


def test_a_damaged_run_is_named_and_the_others_are_there(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = kept_runs([folder])[0].run.path
    kept = tmp_path / "kept"
    for name in ("types", "json", "table", "findings", "unfound", "whole"):
        shutil.copytree(whole, kept / name)
    manifest = json.loads((whole / "manifest.json").read_text())
    (kept / "types" / "manifest.json").write_text(json.dumps({**manifest, "tests": [1, 2]}))
    (kept / "json" / "manifest.json").write_text("{")
    (kept / "table" / "series.parquet").write_bytes(b"PAR1")
    (kept / "findings" / "findings.json").write_text('{"findings": 1}')
    (kept / "unfound" / "findings.json").unlink()
    damaged = ("findings", "json", "table", "types")
    for words in (["runs"], ["query", "SELECT ios FROM series"], ["export", str(tmp_path / "to")]):
        assert main([*words, str(kept)]) == 0
        said = capsys.readouterr().err.splitlines()
        assert [line.split(str(kept))[1].split("/")[1] for line in said] == list(damaged)
    assert main(["runs", str(kept), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate("runs", document)
    found = {Path(run["path"]).name: run["has_findings"] for run in document["runs"]}
    assert found == {"unfound": False, "whole": True}
    commands = ("runs", "report", "resume", "compare", "explain", "export")
    for command in commands:
        where = {"export": [str(tmp_path / "not")], "compare": [str(whole)]}.get(command, [])
        for name in damaged:
            assert main([command, *where, str(kept / name)]) == 2, (command, name)
            said = capsys.readouterr().err.splitlines()
            assert len(said) == 1
            assert str(kept / name) in said[0]
            assert "unexpected" not in said[0]


def test_results_are_printed_and_written(folder: Path, tmp_path: Path) -> None:
    sql = "SELECT drive, sum(ios) AS ios FROM recordings GROUP BY drive ORDER BY drive"
    answer = json.loads(fourcorners("query", sql, str(folder), "--json", cwd=tmp_path).stdout)
    validate("query", answer)
    assert [column["name"] for column in answer["columns"]] == ["drive", "ios"]
    rows = answer["rows"]
    assert [row["drive"] for row in rows] == ["OCZ Core 64GB", "WD6400AAKS"]
    assert all(isinstance(row["ios"], int) for row in rows)
    for name in ("rows.csv", "rows.parquet", "rows.json"):
        done = fourcorners("query", sql, str(folder), "--out", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "rows.json").read_text()) == rows
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 2
    with (tmp_path / "rows.csv").open() as file:
        assert [row["drive"] for row in csv.DictReader(file)] == [row["drive"] for row in rows]
    assert fc.query(sql, str(folder)).to_pylist() == rows
    assert fourcorners("query", sql, str(folder), "--out", "x.xls", cwd=tmp_path).returncode == 2
    done = fourcorners("export", "tables", str(folder), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {file.stem for file in (tmp_path / "tables").iterdir()} == set(TABLES)
    assert fourcorners("export", "tables", str(folder), cwd=tmp_path).returncode == 2


CROSS_JOIN = "SELECT a.range AS x, b.range AS y FROM range(20000) a, range(20000) b"


def test_a_query_that_takes_more_memory_than_it_may_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A result of 6 GB, and a list of 128 MB that has to be in memory as a whole.
    whole = "SELECT list(a.range + b.range) FROM range(4000) a, range(4000) b"
    for sql in (CROSS_JOIN, whole):
        before = peak_bytes()
        assert main(["query", sql, str(folder), "--memory", "64MiB"]) == 2
        said = capsys.readouterr().err
        assert "the query takes more than 64 MiB of memory" in said
        assert said.count("\n") == 1
        assert peak_bytes() - before < 512 * 2**20
    assert main(["query", "SELECT 1", str(folder), "--memory", "1MiB"]) == 2
    assert "use at least 64 MiB" in capsys.readouterr().err


def test_what_a_query_has_no_memory_for_goes_to_a_folder_of_its_own(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    runs = kept_runs([folder])
    # Sorted, 100 MB.
    rows = f"SELECT * FROM ({CROSS_JOIN} LIMIT 6000000) ORDER BY hash(y) LIMIT 5999999"
    sql = f"SELECT max(x) FROM ({rows})"
    with open_database(runs, claims_table(runs), published_table(), 64 * 2**20) as database:
        [own] = tmp_path.iterdir()
        assert query(database, sql).num_rows == 1
        spilled = list(own.iterdir())
    assert spilled
    assert not any(tmp_path.iterdir())


def peak_bytes() -> int:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
