"""What programs read is what the published schemas say."""

import json
from pathlib import Path

import jsonschema
import pytest
from command import fourcorners
from fault_runs import SCHEMAS, validate


@pytest.mark.parametrize("path", sorted(SCHEMAS.iterdir()), ids=lambda path: path.name)
def test_the_schemas_are_schemas_and_named_by_their_version(path: Path) -> None:
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    name = path.name.removesuffix(".schema.json")
    fields = schema.get("properties") or schema["oneOf"][0]["properties"]
    assert fields["schema"]["const"] == f"fourcorners/{name}"
    assert schema["$id"] == f"fourcorners/{name}/{fields['schema_version']['const']}"


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


def test_a_document_that_lacks_something_is_invalid() -> None:
    with pytest.raises(jsonschema.ValidationError, match="comparison"):
        validate(
            "characterize", {"schema": "fourcorners/characterize", "schema_version": 1, "runs": []}
        )
