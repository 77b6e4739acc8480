"""Writes the report of runs, with what is laid beside them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fourcorners.catalog.claims import Claim, claims_in
from fourcorners.errors import UserError
from fourcorners.reporting.html import write_html
from fourcorners.reporting.published import published_drives
from fourcorners.reporting.spec import spec_json, spec_sheet
from fourcorners.running.progress import Progress
from fourcorners.running.reference import reference as run_reference
from fourcorners.store import Run, schema
from fourcorners.store.foreign import reading
from fourcorners.store.writer import ensure_writable
from fourcorners.suites.parameters import unknown
from fourcorners.writing import Output


@dataclass(frozen=True)
class Report:
    """A page that was written, the runs on it, and what is laid beside them."""

    path: Path
    runs: tuple[Run, ...]
    published: tuple[str, ...]
    claims: tuple[Claim, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as ``report.schema.json`` has it."""
        return {
            "report": str(self.path),
            "runs": [
                {
                    "path": str(run.path),
                    "manifest": run.manifest,
                    "recordings": run.table("recordings").to_pylist(),
                    "findings": run.findings,
                    "spec_sheet": spec_json(spec_sheet(run, self.published, self.claims)),
                }
                for run in self.runs
            ],
        }


def report(
    *runs: str | Path,
    out: str | Path | None = None,
    published: Sequence[str] = (),
    reference: Sequence[str] = (),
    claims: Sequence[Claim] | str | Path = (),
    replace: bool = False,
    command: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Writes the report of a run again, or one report that shows several runs side by side.

    Args:
        runs: run folders.
        out: the HTML file to write: ``report.html`` in the run folder by default, or for several
            runs a new file beside the first one.
        published: drives of the catalog whose published figures are laid beside every run.
        reference: drives of the catalog to be measured in virtual time as the first run was, and
            shown beside it; their run folders are kept beside the first one.
        claims: what the vendor claims of the drive, or a file of it (docs/spec-sheet.md).
        replace: replace a file of any content; without it only what fourcorners wrote and nobody
            changed.
        command: what the user typed, for the manifests of references.
        progress: told what happens while references are measured.

    Raises :class:`UserError` for unknown drives, for what is no run folder, for a file that
    cannot be written, and as :func:`fourcorners.running.reference.reference` does.
    """
    claimed = claims_in(claims)
    for drive in published:
        if drive not in published_drives():
            raise UserError(f"--published: {unknown('drive', drive, list(published_drives()))}")
    if not runs:
        raise UserError("no run folder: name one or several, as in runs/*")
    shown = [Run(path) for path in runs]
    if out is not None:
        Output(Path(out), replace).check()
    parent = shown[0].path.resolve().parent
    if reference:
        ensure_writable(parent)
        shown += [
            run_reference(shown[0], drive, out=parent, command=command, progress=progress)
            for drive in reference
        ]
    if out is None:
        out = shown[0].path / schema.REPORT
        if len(shown) > 1:
            out = parent / f"{time.strftime('%Y%m%d-%H%M%S')}-side-by-side.html"
    with reading(runs):
        write_html(shown, out, published, claimed, replace=replace)
    return Report(Path(out), tuple(shown), tuple(published), tuple(claimed))
