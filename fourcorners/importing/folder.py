"""Writes what was imported as a run folder."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from fourcorners.analysis import analyze
from fourcorners.importing.imported import Imported
from fourcorners.report import write_html
from fourcorners.store import Run, RunWriter, schema
from fourcorners.store.writer import run_name
from fourcorners.suites.test import Chart

SUITE = "imported"
_TITLES = {"fio": "fio", "iometer": "Iometer"}


def write_run(imported: Imported, out: Path) -> Run:
    """A run folder with one test that holds all recordings, its findings and its report.

    Raises :class:`fourcorners.errors.UserError` when it cannot be written.
    """
    name = Path(imported.target).name if imported.is_device else imported.target
    writer = RunWriter.create(out, run_name(f"{imported.program} {name}"))
    for own in imported.recordings:
        writer.add(own.id, imported.program, own.recording)
    manifest = _manifest(imported)
    writer.findings(analyze(writer.checkpoint(manifest)))
    run = writer.checkpoint(manifest)
    write_html([run], run.path / schema.REPORT)
    return writer.finish()


def _manifest(imported: Imported) -> dict[str, Any]:
    program = " ".join(part for part in (_TITLES[imported.program], imported.version) if part)
    return {
        "created": imported.created,
        "status": "complete",
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
            "summary": f"Measured by {program}; imported from {imported.source}.",
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
                "status": "complete",
                "reason": None,
                "purpose": f"What {program} measured.",
                "preparation": [],
                "parameters": {},
                "charts": [chart.to_dict() for chart in _charts(imported)],
                "wall_s": None,
                "recordings": [
                    {
                        "id": own.id,
                        "label": own.label,
                        "point": dict(own.point),
                        "workload": {"options": dict(own.parameters)},
                        "partial": False,
                    }
                    for own in imported.recordings
                ],
            }
        ],
    }


def _charts(imported: Imported) -> list[Chart]:
    operations = [own.recording.operations.values() for own in imported.recordings]
    charts = []
    if any(len(one.second_ios) for several in operations for one in several):
        charts.append(Chart("seconds", "I/Os per second", series=("label",)))
    if any(len(one.bucket_count) for several in operations for one in several):
        charts.append(Chart("percentiles", "Latency percentiles", series=("label",)))
    return charts
