"""Manifests as tests describe them: a few fields, and what is usual in the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fourcorners.documents import part
from fourcorners.manifest import Manifest, RecordingEntry, TestEntry

_TARGET: dict[str, Any] = {
    "kind": "simulated",
    "locator": "sim:x",
    "name": "X",
    "capacity_bytes": 64_000_000_000,
    "summary": "A made-up drive.",
    "settings": {},
    "specification_sha256": None,
}


def recording_entry(id: str, **fields: Any) -> RecordingEntry:
    """A recording of a manifest, with the fields as JSON has them."""
    usual: dict[str, Any] = {"label": id, "point": {}, "workload": {}, "partial": False}
    return part(RecordingEntry, {"id": id, **usual, **fields})


def entry_of_test(name: str, *recordings: RecordingEntry, **fields: Any) -> TestEntry:
    """A test of a manifest that ran to its end, with the fields as JSON has them."""
    usual: dict[str, Any] = {
        "title": name,
        "source": None,
        "status": "complete",
        "reason": None,
        "purpose": "",
        "preparation": [],
        "parameters": {},
        "wall_s": None,
        "recordings": [],
    }
    entry = part(TestEntry, {"name": name, **usual, **fields})
    entry.recordings = list(recordings)
    return entry


def made_manifest(
    *tests: TestEntry, target: Mapping[str, Any] | None = None, **fields: Any
) -> Manifest:
    """The manifest of a run that ended well, with the fields as JSON has them."""
    usual: dict[str, Any] = {
        "schema_version": 1,
        "id": "a-run",
        "created": "2026-11-21T12:00:00Z",
        "status": "complete",
        "version": "0.1.0",
        "command": None,
        "suite": "reviews",
        "profile": "standard",
        "seed": 1,
        "target": {**_TARGET, **(target or {})},
        "environment": {},
        "notes": [],
        "tests": [],
    }
    manifest = part(Manifest, {**usual, **fields})
    manifest.tests = list(tests)
    return manifest
