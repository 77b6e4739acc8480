"""Run folders: what goes in comes out, and a failure leaves the last checkpoint whole."""

import copy
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from fault_runs import SCHEMAS
from made_manifest import entry_of_test, made_manifest, recording_entry

from fourcorners.documents import part, plain
from fourcorners.errors import UserError
from fourcorners.finding import Finding
from fourcorners.manifest import Manifest
from fourcorners.recording import (
    BySecond,
    Histogram,
    InMemory,
    OperationRecording,
    Recording,
)
from fourcorners.store import Run, RunWriter, schema
from fourcorners.store.writer import run_name

MANIFEST = made_manifest()
FINDING = Finding("x", "X", "measured", "", value=1.5, evidence=[])


def _recording(id: str, latencies_ns: list[int], elapsed_s: float = 3.0) -> Recording:
    values, counts = np.unique(np.array(latencies_ns, dtype=np.int64), return_counts=True)
    total = len(latencies_ns)
    operation = OperationRecording(
        ios=total,
        bytes=total * 4096,
        errors={5: 2},
        elapsed_s=elapsed_s,
        latency_min_s=min(latencies_ns) * 1e-9,
        latency_mean_s=sum(latencies_ns) / total * 1e-9,
        latency_max_s=max(latencies_ns) * 1e-9,
        arrays=InMemory(
            Histogram(values, values, counts.astype(np.int64)),
            BySecond(
                np.array([total, 0, 0]),
                np.array([total * 4096, 0, 0]),
                np.array([1e-3, np.nan, np.nan]),
                np.array([2e-3, np.nan, np.nan]),
            ),
        ),
    )
    operations = {"read": operation}
    return Recording(
        *(elapsed_s, 1.0, None, None, None, False, None, operations),
        energy_j=6.0,
        id=id,
        test=id.partition("/")[0],
    )


def test_round_trip(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path, "a-run")
    writer.add(_recording("transfer-size/read/4096", [1000, 2000, 2000, 9000]))
    writer.findings([FINDING])
    writer.checkpoint(MANIFEST)
    run = writer.finish()

    assert run.path == tmp_path / "a-run"
    assert json.loads((run.path / "manifest.json").read_text())["schema"] == "fourcorners/run"
    assert run.manifest.id == "a-run"
    [row] = run.table("recordings").to_pylist()
    assert row["ios"] == 4
    assert row["errors"] == 2
    assert row["cpu_user_s"] is None
    assert (row["energy_j"], row["mean_power_w"]) == (6.0, 2.0)
    assert row["latency_p50_s"] == pytest.approx(2e-6)
    assert row["latency_max_s"] == pytest.approx(9e-6)
    read = run.recording("transfer-size/read/4096").read
    assert read.second_ios.tolist() == [4, 0, 0]
    assert np.isnan(read.second_latency_mean_s).tolist() == [False, True, True]
    low, _, count = read.histogram
    assert low.tolist() == [1000, 2000, 9000]
    assert count.tolist() == [1, 2, 1]
    assert run.findings == [FINDING]
    with pytest.raises(KeyError):
        run.recording("transfer-size/write/4096")


def test_the_columns_are_the_documented_ones(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path, "a-run")
    writer.add(_recording("a/read/1", [1000]))
    [row] = writer.checkpoint(MANIFEST).table("recordings").to_pylist()
    text = (Path(__file__).parents[1] / "docs" / "run-folder.md").read_text()
    section = text.split("## recordings.parquet")[1].split("##")[0].split("Rows exist")[0]
    documented = [word for word in re.findall(r"`(\w+)`", section) if word not in ("null", "mixed")]
    assert list(row) == documented


def test_a_run_appears_under_its_name_only_when_finished(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path, "a-run")
    writer.checkpoint(made_manifest(status="running"))
    assert [path.name for path in tmp_path.iterdir()] == [".a-run.partial"]
    assert Run(tmp_path / ".a-run.partial").recordings == ()
    writer.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["a-run"]


def test_names_that_are_taken_get_a_number(tmp_path: Path) -> None:
    writers = [RunWriter.create(tmp_path, "a-run") for _ in range(3)]
    for writer in writers:
        writer.checkpoint(MANIFEST)
        writer.finish()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a-run", "a-run-2", "a-run-3"]


def test_a_failed_write_keeps_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = RunWriter.create(tmp_path, "a-run")
    writer.add(_recording("a/read/1", [1000]))
    writer.checkpoint(MANIFEST)
    writer.add(_recording("a/read/2", [2000]))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UserError, match="no space left on device") as caught:
        writer.checkpoint(MANIFEST)
    assert str(writer.path) in str(caught.value)
    assert [one.id for one in Run(writer.path).recordings] == ["a/read/1"]
    assert not list(writer.path.glob(".*.partial"))


def test_what_is_not_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a run folder"):
        Run(tmp_path)
    (tmp_path / "manifest.json").write_text(
        json.dumps({"schema": "fourcorners/run", "schema_version": 99})
    )
    with pytest.raises(UserError, match="format 99"):
        Run(tmp_path)


def test_what_is_checked_on_reading_is_what_the_schema_says() -> None:
    """As a library for all of JSON Schema judges, of one part at a time put wrong."""
    logged = {"ios": 1, "of": 1, "one_in": 1}
    recording = recording_entry("a", logged=logged, conditions={"cores": 1})
    claim = {"quantity": "random_read", "value": 1.0, "high": None, "relation": "is"}
    claims = [{**claim, "source": "", "url": ""}]
    whole = plain(made_manifest(entry_of_test("a", recording), claims=claims))
    published = json.loads((SCHEMAS / "run.schema.json").read_text())
    judge = jsonschema.Draft202012Validator(published)
    part(Manifest, whole)
    wrong = 0
    for path in _places(whole):
        if path == ("schema",):
            continue  # which decides what it is read as
        for value in (1, -1, 1.5, "x", [1], {}, {"x": {}}, None, True, _GONE):
            document = _with(whole, path, value)
            try:
                part(Manifest, document)
                sound = True
            except ValueError:
                sound = False
            assert sound == judge.is_valid(document), (path, value)
            wrong += not sound
    assert wrong > 100


_GONE = object()


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in parts:
        yield (*path, key)
        if isinstance(one, dict | list):
            yield from _places(one, (*path, key))


def _with(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(document)
    place = changed
    for key in path[:-1]:
        place = place[key]
    if value is _GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return changed


def test_run_names_are_plain() -> None:
    assert re.fullmatch(r"\d{8}-\d{6}-ocz-core-64gb", run_name("OCZ Core 64GB"))
    assert re.fullmatch(r"\d{8}-\d{6}-a-b-img", run_name("/tmp/../a b.img").replace("tmp-", ""))


def test_fields_of_a_later_version_are_kept_at_every_depth(tmp_path: Path) -> None:
    """By the next run, which brings a killed one to its end, and by who writes it again."""
    killed = RunWriter.create(tmp_path, "killed")
    killed.add(_recording("a/read/1", [1000]))
    recording = recording_entry("a/read/1", later=1, conditions={"cores": 1, "later": 2})
    test = entry_of_test("a", recording, later=3)
    made = made_manifest(test, status="running", later={"x": [4]}, target={"later": 5})
    killed.checkpoint(made)
    os.close(killed._claim.lock)
    RunWriter.create(tmp_path, "next")
    written = json.loads((tmp_path / "killed" / schema.MANIFEST).read_text())
    [one] = written["tests"][0]["recordings"]
    assert (one["later"], one["conditions"]["later"]) == (1, 2)
    assert (written["tests"][0]["later"], written["target"]["later"]) == (3, 5)
    assert (written["later"], written["status"]) == ({"x": [4]}, "interrupted")


def test_what_a_killed_run_saved_is_recovered_by_the_next_one(tmp_path: Path) -> None:
    """A run that was killed no longer holds its lock; a run that goes on does."""
    for saved in (True, False):
        killed = RunWriter.create(tmp_path, f"killed-{saved}")
        if saved:
            killed.add(_recording("a/read/1", [1000]))
            tests = [entry_of_test("a"), entry_of_test("b", status="running")]
            killed.checkpoint(made_manifest(*tests, status="running"))
        os.close(killed._claim.lock)
    alive = RunWriter.create(tmp_path, "alive")
    (tmp_path / ".somebody-else.partial").mkdir()
    damaged = tmp_path / ".damaged.partial"
    damaged.mkdir()
    (damaged / ".lock").touch()
    (damaged / schema.MANIFEST).write_text("{")
    RunWriter.create(tmp_path, "next")

    names = {path.name for path in tmp_path.iterdir()}
    left = {".damaged.partial", ".somebody-else.partial"}
    assert names == {"killed-True", ".alive.partial", ".next.partial", *left}
    run = Run(tmp_path / "killed-True")
    assert run.manifest.status == "interrupted"
    assert [test.status for test in run.manifest.tests] == ["complete", "interrupted"]
    assert len(run.table("recordings").to_pylist()) == 1
    alive.checkpoint(MANIFEST)
    assert [path.name for path in alive.finish().path.iterdir() if path.name == ".lock"] == []
