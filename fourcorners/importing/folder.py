"""Writes what was imported as a run folder."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from fourcorners.analysis import analyze
from fourcorners.importing.charts import charts_of
from fourcorners.importing.imported import Imported
from fourcorners.report.html import write_html
from fourcorners.store import Run, RunWriter, schema
from fourcorners.store.writer import run_name

SUITE = "imported"
_TITLES = {"fio": "fio", "iometer": "Iometer"}
# Characters of a folder's name, and file names in a summary: a line holds as much.
_NAME_MAX = 60
_SOURCES_TOLD = 3


def write_run(imported: Imported, out: Path) -> Run:
    """A run folder with one test that holds all recordings, its findings and its report.

    Raises :class:`fourcorners.errors.UserError` when it cannot be written.
    """
    name = Path(imported.target).name if imported.is_device else imported.target
    writer = RunWriter.create(out, run_name(f"{imported.program} {name[-_NAME_MAX:]}"))
    for identity, own in imported.named():
        writer.add(identity, imported.program, own.recording)
    manifest = _manifest(imported)
    writer.findings(analyze(writer.checkpoint(manifest)))
    run = writer.checkpoint(manifest)
    write_html([run], run.path / schema.REPORT, replace=True)
    return writer.finish()


def _manifest(imported: Imported) -> dict[str, Any]:
    program = " ".join(part for part in (_TITLES[imported.program], imported.version) if part)
    named = imported.named()
    trouble = [f"{own.name} {own.trouble}" for own in imported.recordings if own.trouble]
    status = "failed" if trouble else "complete"
    sources = ", ".join(imported.sources[:_SOURCES_TOLD])
    if len(imported.sources) > _SOURCES_TOLD:
        sources += f" and {len(imported.sources) - _SOURCES_TOLD} more files"
    return {
        "created": imported.created,
        "status": status,
        "version": version("fourcorners"),
        "command": None,
        "suite": SUITE,
        "profile": imported.program,
        "seed": None,
        "target": {
            "kind": "device" if imported.is_device else "file",
            "locator": imported.target,
            "name": imported.target,
            "capacity_bytes": None,
            "summary": f"Measured by {program}; imported from {sources}.",
            "settings": {},
            "specification_sha256": None,
        },
        "environment": {},
        "notes": list(imported.notes),
        "tests": [
            {
                "name": imported.program,
                "title": f"Jobs of {program}" if imported.program == "fio" else program,
                "source": None,
                "status": status,
                "reason": "; ".join(trouble) or None,
                "purpose": f"What {program} measured.",
                "preparation": [],
                "parameters": {},
                "charts": [chart.to_dict() for chart in charts_of(named)],
                "wall_s": None,
                "recordings": [
                    {
                        "id": identity,
                        "label": own.label,
                        "point": dict(own.point),
                        "workload": {"options": dict(own.parameters)},
                        "partial": own.recording.interrupted,
                        **({"conditions": dict(own.conditions)} if own.conditions else {}),
                    }
                    for identity, own in named
                ],
            }
        ],
    }
