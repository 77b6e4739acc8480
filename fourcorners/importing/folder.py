"""Writes what was imported as a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from fourcorners.analysis import find
from fourcorners.importing.charts import charts_of
from fourcorners.importing.imported import Imported
from fourcorners.manifest import SCHEMA_VERSION, Manifest, TargetEntry, TestEntry
from fourcorners.recording import Recording
from fourcorners.reporting.html import write_html
from fourcorners.store import Run, RunWriter, schema
from fourcorners.store.entry import entry_of
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
    recordings = imported.placed()
    for recording in recordings:
        writer.add(recording)
    manifest = _manifest(imported, writer.name, recordings)
    writer.findings(find(writer.checkpoint(manifest)))
    run = writer.checkpoint(manifest)
    write_html([run], run.path / schema.REPORT, replace=True)
    return writer.finish()


def _manifest(imported: Imported, name: str, recordings: Sequence[Recording]) -> Manifest:
    program = " ".join(part for part in (_TITLES[imported.program], imported.version) if part)
    trouble = [
        f"{own.name} {own.recording.failure}"
        for own in imported.recordings
        if own.recording.failure
    ]
    status: Literal["failed", "complete"] = "failed" if trouble else "complete"
    sources = ", ".join(imported.sources[:_SOURCES_TOLD])
    if len(imported.sources) > _SOURCES_TOLD:
        sources += f" and {len(imported.sources) - _SOURCES_TOLD} more files"
    test = TestEntry(
        name=imported.program,
        title=f"Jobs of {program}" if imported.program == "fio" else program,
        source=None,
        status=status,
        reason="; ".join(trouble) or None,
        purpose=f"What {program} measured.",
        preparation=[],
        parameters={},
        charts=charts_of(recordings),
        wall_s=None,
        recordings=[entry_of(recording) for recording in recordings],
    )
    return Manifest(
        schema_version=SCHEMA_VERSION,
        id=name,
        created=imported.created,
        status=status,
        version=version("fourcorners"),
        command=None,
        suite=SUITE,
        profile=imported.program,
        seed=None,
        target=TargetEntry(
            kind="device" if imported.is_device else "file",
            locator=imported.target,
            name=imported.target,
            capacity_bytes=None,
            summary=f"Measured by {program}; imported from {sources}.",
            settings={},
            specification_sha256=None,
        ),
        environment={},
        notes=list(imported.notes),
        tests=[test],
    )
