"""Feeds the commands that read run folders with damaged and hostile ones.

    .venv/bin/python fuzz/python/run_folders.py --seconds 3600

Of a sound run, values of the manifest, the findings and the notes are replaced by such as nobody
expects, and columns, rows and bytes of its tables; then ``report``, ``runs``, ``query``,
``compare``, ``note``, ``explain`` and ``resume`` (up to its first I/O) each end with a result or
with one sentence. What fails is put into ``corpus/run_folders`` as a list of changes and printed;
the tests replay that folder.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from attempts import Mutation, attempt, corpus, fuzz, held, mutated, mutations
from hypothesis import strategies as st

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.store import schema

SUITE = """
schema_version = 1
name = "seed"
scale = 0.01
log-ios = 500
[[test]]
name = "sweep"
prepare = []
workload = [{ name = "w", duration = "2 s", reads = ["0 %", "50 %"], block = ["4 KiB", "64 KiB"], pattern = "random" }]
[[test]]
use = "queue-depth"
time = "2 s"
depths = [1, 4]
[[test]]
use = "transfer-size"
[[test]]
use = "consistency"
time = "100 s"
"""  # noqa: E501
DOCUMENTS = (schema.MANIFEST, schema.FINDINGS, schema.NOTES)
TABLES = (schema.RECORDINGS, schema.SERIES, schema.HISTOGRAMS, schema.LATENCY_OVER_TIME)
QUERY = "SELECT * FROM runs, tests, findings LIMIT 9"


def make_seed(folder: Path) -> Path:
    """The sound run that all cases begin with; the same each time."""
    (folder / "seed.toml").write_text(SUITE)
    run = fc.run(
        str(folder / "seed.toml"), "sim:ocz-core-64gb", filled_share=0.02, out=folder / "seeds"
    )
    sound = run.path.rename(folder / "seeds" / "sound")
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["note", str(sound), "--tag", "a", "--text", "b"]) == 0
    return sound


def documents(sound: Path) -> dict[str, Any]:
    """The JSON files of a run."""
    return {name: json.loads((sound / name).read_text("utf-8")) for name in DOCUMENTS}


@st.composite
def table_changes(draw: st.DrawFn) -> Mutation:
    """A change of one table."""
    name = draw(st.sampled_from(TABLES))
    columns = pq.read_schema(_SOUND / name).names
    return {
        "table": name,
        "act": draw(st.sampled_from(["drop", "type", "rows", "none", "value", "bytes"])),
        "column": draw(st.sampled_from(columns)),
        "value": draw(st.sampled_from([0, -1, 2**31 - 1, 2**62, float("nan"), 1e300, -1e300, ""])),
        "at": draw(st.integers(0, 10_000)),
    }


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """Changes of documents, by file, and of tables."""
    case: dict[str, Any] = {"documents": {}, "tables": []}
    if draw(st.integers(0, 3)):
        # The manifest is the largest, and most of what is read.
        weighted = [schema.MANIFEST] * 4 + [schema.FINDINGS] * 2 + [schema.NOTES]
        name = draw(st.sampled_from(weighted))
        case["documents"][name] = draw(mutations(_DOCUMENTS[name]))
    else:
        case["tables"] = [draw(table_changes())]
    return case


def spoil_table(path: Path, change: Mutation) -> None:
    """Carries out one change of a table."""
    if change["act"] == "bytes":
        content = bytearray(path.read_bytes())
        content[change["at"] % len(content)] ^= 1 << change["at"] % 8
        path.write_bytes(content)
        return
    table = pq.read_table(path)
    index = table.schema.names.index(change["column"])
    kind = table.schema.field(index).type
    match change["act"]:
        case "drop":
            table = table.drop_columns([change["column"]])
        case "type":
            other = pa.string() if not pa.types.is_string(kind) else pa.int64()
            table = table.set_column(index, change["column"], pa.nulls(len(table), other))
        case "rows":
            table = table.slice(change["at"] % (len(table) + 1))
        case "none":
            table = table.set_column(index, change["column"], pa.nulls(len(table), kind))
        case "value" if len(table):
            cells = table.column(index).to_pylist()
            with contextlib.suppress(pa.ArrowException, TypeError, OverflowError):
                cells[change["at"] % len(cells)] = change["value"]
                table = table.set_column(index, change["column"], pa.array(cells, kind))
    pq.write_table(table, path)


def stage(sound: Path, case: dict[str, Any], folder: Path) -> Path:
    """The spoilt run of a case."""
    spoilt = folder / "spoilt"
    shutil.copytree(sound, spoilt)
    for name in DOCUMENTS:
        document = json.loads((sound / name).read_text("utf-8"))
        # Whoever made it hostile would have set right what it is known by.
        for key in ("sha256", "digests"):
            document.pop(key, None)
        document = mutated(document, case["documents"].get(name, []))
        # With NaN and lone surrogates, as a hostile file may have them.
        (spoilt / name).write_text(json.dumps(document), "utf-8")
    for change in case["tables"]:
        spoil_table(spoilt / change["table"], change)
    return spoilt


def check(sound: Path, case: dict[str, Any]) -> None:
    """Tries every command that reads a run; raises what is a defect."""
    with tempfile.TemporaryDirectory() as name, held():
        spoilt = stage(sound, case, Path(name))
        for command in (
            ["report", str(spoilt), "--quiet"],
            ["report", str(spoilt)],
            ["runs", name],
            ["query", QUERY, name],
            ["compare", str(sound), str(spoilt)],
            ["note", str(spoilt)],
            ["explain", str(spoilt), "--dry-run"],
            ["resume", str(spoilt), "--quiet"],
        ):
            attempt(command)


def main_() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", action="store_true", help="only the corpus")
    arguments = parser.parse_args()
    global _SOUND, _DOCUMENTS
    with tempfile.TemporaryDirectory() as folder:
        _SOUND = make_seed(Path(folder))
        _DOCUMENTS = documents(_SOUND)
        if arguments.replay:
            for path in corpus("run_folders"):
                print(path.name)
                check(_SOUND, json.loads(path.read_text("utf-8")))
            return 0
        return min(
            fuzz(
                "run_folders",
                cases(),
                lambda case: check(_SOUND, case),
                arguments.seconds,
                arguments.seed,
            ),
            1,
        )


_SOUND: Path
_DOCUMENTS: dict[str, Any]

if __name__ == "__main__":
    sys.exit(main_())
