"""What programs read is what the published schemas say."""

import json
from pathlib import Path

import jsonschema
import pytest
from command import fourcorners
from fault_runs import SCHEMAS, validate
from test_import import IOMETER

from fourcorners.cli import main
from tools.schemas import schemas, text_of


@pytest.mark.parametrize("path", sorted(SCHEMAS.iterdir()), ids=lambda path: path.name)
def test_the_schemas_are_schemas_and_named_by_their_version(path: Path) -> None:
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    name = path.name.removesuffix(".schema.json")
    fields = schema.get("properties") or schema["oneOf"][0]["properties"]
    assert fields["schema"]["const"] == f"fourcorners/{name}"
    assert schema["$id"] == f"fourcorners/{name}/{fields['schema_version']['const']}"
    told = (Path(__file__).parent.parent / "docs" / "cli.md").read_text()
    assert f"| `{name}` |" in told, "a schema that the reference does not list"


def test_a_run_and_its_output(tmp_path: Path) -> None:
    tests = ("--tests", "transfer-size", "--profile", "quick")
    done = fourcorners(
        "characterize", "sim:ocz-core-64gb", *tests, "--json", "--progress", "json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    validate("characterize", document)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert any("message" in line for line in lines)
    assert any("fraction" in line for line in lines)
    for line in lines:
        validate("progress", line)
    folder = tmp_path / document["runs"][0]["path"]
    validate("run", json.loads((folder / "manifest.json").read_text()))
    validate("findings", json.loads((folder / "findings.json").read_text()))


def test_what_lists_and_shows_and_imports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results.csv").write_text(IOMETER)
    kept = str(tmp_path / "runs")
    for name, command in (
        ("drives", ["drives"]),
        ("drive", ["drives", "ocz-core-64gb"]),
        ("tests", ["tests"]),
        ("test", ["tests", "consistency"]),
        ("import", ["import", str(tmp_path / "results.csv"), "--out", kept]),
        ("runs", ["runs", kept]),
        ("query", ["query", "SELECT 1.5 AS x, [0.0 / 0.0] AS y, DATE '2026-11-22' AS z", kept]),
    ):
        assert main([*command, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        validate(name, document)
        if name in ("drives", "tests", "runs", "import"):
            assert document["runs" if name == "import" else name], "validated without a row"
    assert document["rows"] == [{"x": 1.5, "y": [None], "z": "2026-11-22"}]
    (manifest,) = (tmp_path / "runs").glob("*/manifest.json")
    validate("run", json.loads(manifest.read_text()))


def test_a_document_that_lacks_something_is_invalid() -> None:
    with pytest.raises(jsonschema.ValidationError, match="comparison"):
        validate(
            "characterize", {"schema": "fourcorners/characterize", "schema_version": 1, "runs": []}
        )


def test_the_schemas_are_what_the_classes_give() -> None:
    """``python -m tools.schemas`` writes them anew."""
    for name, schema in schemas().items():
        assert (SCHEMAS / f"{name}.schema.json").read_text() == text_of(schema), name
