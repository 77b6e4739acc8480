"""Writes ``fourcorners/schemas/``: the JSON Schema of each document, from the class that it is of.

``python -m tools.schemas`` writes them, and ``tests/test_schemas.py`` holds them against the
classes.
"""

import dataclasses
import json
import re
import sys
from pathlib import Path
from typing import Any, get_args

import msgspec

from fourcorners.catalog import DescribedDrive, ListedDrives
from fourcorners.cli.show.runs import CharacterizeDocument
from fourcorners.comparison.document import ComparisonDocument
from fourcorners.finding import Findings
from fourcorners.importing import ImportDocument
from fourcorners.keeping import ListedRuns, QueryDocument
from fourcorners.manifest import Manifest
from fourcorners.running.explanation import ExplanationDocument
from fourcorners.running.preview import PlanDocument
from fourcorners.running.progress import PrintedMessage, PrintedStatus
from fourcorners.serving.crash_test import CrashTest
from fourcorners.store.notes import Notes
from fourcorners.suites.listing import DescribedTest, TestsAndSuites
from fourcorners.suites.schema import suite_schema
from fourcorners.target.conformance import ConformanceDocument
from fourcorners.target.verification import VerificationDocument
from fourcorners.trace.capturing import Capture
from fourcorners.trace.changing import WrittenTrace
from fourcorners.trace.cluster_study import ClusterStudy
from fourcorners.trace.figures import TraceInformation
from fourcorners.trace.fitting import TraceFit
from fourcorners_validation.arena.studies import (
    ProbingDocument,
    SentenceDocument,
    SeriesDocument,
    SteadyDocument,
)
from fourcorners_validation.reproduction.run import ReproductionDocument

FOLDER = Path(__file__).parents[1] / "fourcorners" / "schemas"

_SEALED = {"sha256": {"type": "string", "description": "Of the document without this field"}}

_DOCUMENTS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "arena-explain": (ProbingDocument, "What fourcorners arena explain --json prints", {}),
    "arena-sentences": (SentenceDocument, "What fourcorners arena sentences --json prints", {}),
    "arena-series": (SeriesDocument, "What fourcorners arena series --json prints", {}),
    "arena-steady": (SteadyDocument, "What fourcorners arena steady --json prints", {}),
    "capture": (Capture, "What fourcorners capture --json prints", {}),
    "characterize": (CharacterizeDocument, "What fourcorners characterize --json prints", {}),
    "clusters": (ClusterStudy, "What fourcorners clusters --json prints", {}),
    "compare": (ComparisonDocument, "What fourcorners compare --json prints", {}),
    "conformance": (ConformanceDocument, "What fourcorners verify exec:COMMAND --json prints", {}),
    "crash-test": (CrashTest, "What fourcorners crash-test --json prints", {}),
    "drive": (DescribedDrive, "What fourcorners drives NAME --json prints", {}),
    "drives": (ListedDrives, "What fourcorners drives --json prints", {}),
    "explanation": (ExplanationDocument, "What fourcorners explain --json prints", {}),
    "findings": (Findings, "findings.json of a run folder", _SEALED),
    "import": (ImportDocument, "What fourcorners import --json prints", {}),
    "notes": (Notes, "notes.json of a run folder", _SEALED),
    "plan": (PlanDocument, "Output of run, characterize and explain with --dry-run --json", {}),
    "progress": (PrintedMessage | PrintedStatus, "A line of --progress json on standard error", {}),
    "query": (QueryDocument, "What fourcorners query --json prints", {}),
    "reproduction": (ReproductionDocument, "What fourcorners reproduce --json prints", {}),
    "runs": (ListedRuns, "What fourcorners runs --json prints", {}),
    "test": (DescribedTest, "What fourcorners tests NAME --json prints", {}),
    "tests": (TestsAndSuites, "What fourcorners tests --json prints", {}),
    "trace-fit": (TraceFit, "What fourcorners trace fit --json prints", {}),
    "trace-info": (TraceInformation, "What fourcorners trace info --json prints", {}),
    "trace-written": (WrittenTrace, "What trace commands that write traces print with --json", {}),
    "verification": (VerificationDocument, "What fourcorners verify --json prints", {}),
    "run": (Manifest, "manifest.json of a run folder", _SEALED),
}
"""By name: the class, or one of several, what the document is, and fields that the class leaves to
the file."""

_CLOSED = ("arena-sentences", "arena-series", "progress")
"""Documents that have no other fields."""


def schemas() -> dict[str, dict[str, Any]]:
    """The schemas by name."""
    made = {name: _schema(name, *parts) for name, parts in _DOCUMENTS.items()}
    return {**made, "suite": suite_schema()}


def _schema(name: str, kind: Any, title: str, besides: dict[str, Any]) -> dict[str, Any]:
    kinds = get_args(kind) or (kind,)
    _, parts = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    if finding := parts.get("Finding"):
        # What the text was made of stays in memory.
        del finding["properties"]["said"], parts["Said"]
    if dataclasses.is_dataclass(kinds[0]):
        # It is printed whole, with what is by default.
        for part in parts.values():
            if "properties" in part:
                part["required"] = list(part["properties"])
                if name in _CLOSED:
                    part["additionalProperties"] = False
    own = [_named(name, parts.pop(one.__name__), besides) for one in kinds]
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"fourcorners/{name}/1",
        **({"title": title, "oneOf": own} if len(own) > 1 else {**own[0], "title": title}),
        **({"$defs": parts} if parts else {}),
    }
    plain: dict[str, Any] = _in_plain_words(schema)
    return plain


def _named(name: str, own: dict[str, Any], besides: dict[str, Any]) -> dict[str, Any]:
    """The document with the fields that name it, which print_document writes."""
    head = {}
    if "schema" not in own["properties"]:
        head = {"schema": {"const": f"fourcorners/{name}"}, "schema_version": {"const": 1}}
    return {
        **own,
        "properties": {**head, **own["properties"], **besides},
        "required": [*head, *own["required"]],
    }


def _in_plain_words(value: Any) -> Any:
    """Without the marks of docstrings and OpenAPI's ``nullable``, and a choice of one value as
    that value."""
    if isinstance(value, list):
        return [_in_plain_words(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {key: _in_plain_words(one) for key, one in value.items()}
    if isinstance(found.get("description"), str):
        text = re.sub(r":\w+:`~?([^`]*)`", r"\1", found["description"]).replace("``", "")
        found["description"] = " ".join(text.split())
    if found.get("nullable") is True:
        del found["nullable"]
        found["type"] = [found["type"], "null"]
    if isinstance(found.get("enum"), list) and len(found["enum"]) == 1:
        found["const"] = found.pop("enum")[0]
    return found


def text_of(schema: dict[str, Any]) -> str:
    """A schema as its file has it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Writes the files."""
    for name, schema in schemas().items():
        (FOLDER / f"{name}.schema.json").write_text(text_of(schema), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
