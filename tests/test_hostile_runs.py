"""Run folders of other people: whatever is in them, a sentence or a result."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.running import explanation, report
from fourcorners.running.runner import Runner
from fourcorners.store import schema

SUITE = """
schema_version = 1
name = "seed"
scale = 0.01
[[test]]
name = "sweep"
prepare = []
workload = [{ duration = "1 s", reads = "0 %", block = ["4 KiB", "64 KiB"], pattern = "random" }]
"""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "seed.toml").write_text(SUITE)
    return fc.run(str(folder / "seed.toml"), "sim:ocz-core-64gb", out=folder).path


@pytest.fixture
def spoilt(sound: Path, tmp_path: Path) -> Path:
    copy = Path(shutil.copytree(sound, tmp_path / "runs" / "spoilt"))
    for name in (schema.MANIFEST, schema.FINDINGS):
        document = json.loads((copy / name).read_text())
        # Whoever made it hostile would have set right what it is known by.
        for key in ("sha256", "digests"):
            document.pop(key, None)
        (copy / name).write_text(json.dumps(document))
    return copy


def outcomes(sound: Path, spoilt: Path, capsys: pytest.CaptureFixture[str]) -> list[int]:
    """Exit codes of the commands that read it, none of which shows its inside."""
    codes = []
    for command in (
        ["report", str(spoilt)],
        ["compare", str(sound), str(spoilt)],
        ["resume", str(spoilt)],
        ["runs", str(spoilt.parent)],
        ["query", "SELECT * FROM runs, tests", str(spoilt.parent)],
    ):
        codes.append(main(command))
        said = capsys.readouterr()
        assert re.search("unexpected [A-Z]", said.err) is None, (command, said.err)
        assert "Traceback" not in said.err, command
        if codes[-1] != 0:
            [line] = said.err.splitlines()
            assert line.startswith("fourcorners: ")
            assert "spoilt" in line or "the tables of the runs" in line
        elif command[0] in ("runs", "query") and said.err:
            assert said.err.startswith("left out: ")
    return codes


def rewrite(folder: Path, name: str, *place: Any, value: Any) -> None:
    document = json.loads((folder / name).read_text())
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (folder / name).write_text(json.dumps(document))


@pytest.mark.parametrize("value", [None, 5, 1e20, 10**400, float("nan"), "\ud800", [], [[]], {}])
@pytest.mark.parametrize(
    "place",
    [
        ["created"],
        ["ended"],
        ["notes"],
        ["notes", 0],
        ["seed"],
        ["target", "capacity_bytes"],
        ["tests", 0, "charts"],
        ["tests", 0, "charts", 0],
        ["tests", 0, "charts", 0, "title"],
        ["tests", 0, "recordings", 0, "point"],
        ["tests", 0, "recordings", 0, "point", "block_bytes"],
        ["tests", 0, "recordings", 0, "workload"],
        ["tests", 0, "recordings", 0, "conditions"],
        ["tests", 0, "parameters"],
        ["environment"],
    ],
    ids=lambda place: ".".join(map(str, place)),
)
def test_a_manifest(
    place: list[Any], value: Any, sound: Path, spoilt: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite(spoilt, schema.MANIFEST, *place, value=value)
    outcomes(sound, spoilt, capsys)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (["streams"], [{"read_fraction": "x"}]),
        (["streams"], [{}]),
        (["streams", 0, "pattern"], {}),
        (["streams", 0, "arrival"], {"fixed": []}),
        (["streams", 0, "block_bytes"], -1),
        (["stop"], 5),
        (["seed"], -1),
    ],
)
def test_a_workload_is_judged_where_the_folder_is_opened(
    place: list[Any], value: Any, sound: Path, spoilt: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence names the field; the rest is not tried."""
    at = ["tests", 0, "recordings", 0, "workload", *place]
    rewrite(spoilt, schema.MANIFEST, *at, value=value)
    with pytest.raises(fc.UserError, match=r"is damaged: tests\[0\]\.recordings\[0\]\.workload"):
        fc.open_run(str(spoilt))
    assert set(outcomes(sound, spoilt, capsys)[:3]) == {2}


@pytest.mark.parametrize("value", [None, 5, float("inf"), "x", [], {}])
@pytest.mark.parametrize("place", [["detail"], ["interval"], ["evidence"], ["text"], ["value"]])
def test_findings(
    place: list[Any], value: Any, sound: Path, spoilt: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite(spoilt, schema.FINDINGS, "findings", 0, *place, value=value)
    outcomes(sound, spoilt, capsys)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"tags": [1], "note": 5}', "null", "5"])
def test_notes_that_are_none(
    text: str, sound: Path, spoilt: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (spoilt / schema.NOTES).write_text(text)
    outcomes(sound, spoilt, capsys)
    assert main(["note", str(spoilt), "--tag", "new"]) == 2
    assert "mend or remove it" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[" * 100_000, "null", '{"schema": "fourcorners/run"}'])
def test_a_manifest_that_is_none(
    text: str, sound: Path, spoilt: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (spoilt / schema.MANIFEST).write_text(text)
    assert set(outcomes(sound, spoilt, capsys)[:3]) == {2}


NULLS = [("series.parquet", "ios"), ("recordings.parquet", "operation")]
LOST = [("series.parquet", "second"), ("recordings.parquet", "recording")]


@pytest.mark.parametrize(
    ("act", "name", "column", "complaint"),
    [
        *(("lost", *one, "it has no column") for one in LOST),
        *(("null", *one, "is missing in a row") for one in NULLS),
        ("text", "histograms.parquet", "count", "is not of type int64"),
        ("huge", "series.parquet", "second", "second is out of range"),
        ("negative", "histograms.parquet", "low_ns", "low_ns is out of range"),
        ("infinite", "recordings.parquet", "iops", "iops is out of range"),
    ],
)
def test_a_table(
    act: str, name: str, column: str, complaint: str, sound: Path, spoilt: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    table = pq.read_table(spoilt / name)
    count = len(table)
    index = table.schema.names.index(column)
    kind = table.schema.field(index).type
    values = {
        "lost": None,
        "null": [None] * count,
        "text": ["x"] * count,
        "huge": [2**31 - 1] * count,
        "negative": [-1] * count,
        "infinite": [float("inf")] * count,
    }[act]
    new = None if values is None else pa.array(values, pa.string() if act == "text" else kind)
    table = table.drop_columns([column]) if new is None else table.set_column(index, column, new)
    pq.write_table(table, spoilt / name)
    assert main(["report", str(spoilt)]) == 2
    assert complaint in capsys.readouterr().err
    outcomes(sound, spoilt, capsys)


def test_a_column_that_an_earlier_version_did_not_write(spoilt: Path) -> None:
    path = spoilt / schema.RECORDINGS
    pq.write_table(pq.read_table(path).drop_columns(["energy_j"]), path)
    assert [
        row["energy_j"] for row in fc.open_run(str(spoilt)).table("recordings").to_pylist()
    ] == [None, None]


def test_a_query_with_a_name_twice(sound: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "SELECT 1 AS a, 2 AS a, '[bold]' AS b", str(sound)]) == 0
    assert capsys.readouterr().out.split() == ["a", "a", "b", "1", "2", "[bold]"]


def test_a_mistake_of_the_program_is_not_put_down_to_the_folder(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only what reads the folder says that it is not as fourcorners writes it."""

    def mistaken(*_: object, **__: object) -> None:
        raise KeyError("a mistake of the program")

    folder = Path(shutil.copytree(sound, tmp_path / "runs" / "copy"))
    monkeypatch.setattr(explanation, "begin_run", mistaken)
    assert main(["explain", str(folder), "--quiet"]) == 70
    assert "a mistake of the program" in capsys.readouterr().err
    monkeypatch.setattr(report, "run_reference", mistaken)
    assert main(["report", str(folder), "--reference", "ocz-core-64gb", "--quiet"]) == 70
    manifest = json.loads((folder / schema.MANIFEST).read_text())
    del manifest["sha256"]
    (folder / schema.MANIFEST).write_text(json.dumps({**manifest, "status": "failed"}))
    monkeypatch.setattr(Runner, "run", mistaken)
    assert main(["resume", str(folder), "--quiet"]) == 70
