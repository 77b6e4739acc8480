"""Measurements made by other programs, as run folders: analysed, shown and compared like any other.

docs/import.md says what is taken over, and what such files do not tell.
"""

from __future__ import annotations

from pathlib import Path

from fourcorners.errors import UserError, os_reason
from fourcorners.importing import fio, iometer
from fourcorners.importing.folder import write_run
from fourcorners.importing.imported import Imported
from fourcorners.store import Run

__all__ = ["import_file"]


def import_file(path: Path, out: Path, logs: tuple[Path, ...] = ()) -> list[Run]:
    """Reads a result file of fio or Iometer and writes a run folder for each target in it.

    Args:
        path: fio's ``--output-format=json`` or ``json+``, or Iometer's CSV.
        out: folder for the run folders.
        logs: fio's latency, IOPS and bandwidth logs (``--write_lat_log`` ...) of its jobs.

    Raises :class:`UserError` for a file that is neither, or is damaged.
    """
    try:
        text = path.read_text("utf-8", errors="replace")
    except OSError as error:
        raise UserError(f"cannot read {path}: {os_reason(error)}") from error
    found: list[Imported]
    if iometer.recognises(text):
        if logs:
            raise UserError("logs belong to fio's results: Iometer's CSV has none")
        found = iometer.parse(text, path)
    elif "{" in text:
        found = fio.parse(text, path, logs)
    else:
        raise UserError(
            f"{path} is neither fio's JSON nor Iometer's CSV: run fio with --output-format=json+"
        )
    return [write_run(imported, out) for imported in found]
