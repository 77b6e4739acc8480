"""``fourcorners report``: run folders to a report."""

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fourcorners.catalog.claims import Claim, read_claims
from fourcorners.cli.output import print_document, say
from fourcorners.cli.progress import choose_progress
from fourcorners.cli.show.runs import print_summary
from fourcorners.errors import UserError
from fourcorners.reporting.html import write_html
from fourcorners.reporting.published import published_drives
from fourcorners.reporting.spec import spec_json, spec_sheet
from fourcorners.running.reference import reference
from fourcorners.store import Run, schema
from fourcorners.store.foreign import reading
from fourcorners.store.writer import ensure_writable
from fourcorners.suites.parameters import unknown
from fourcorners.writing import Output


def run(
    paths: Sequence[Path],
    out: Path | None,
    published: Sequence[str],
    claims: Path | None,
    references: Sequence[str],
    *,
    replace: bool,
    json: bool,
    quiet: bool,
) -> int:
    """Renders one report of all the runs."""
    claimed = [] if claims is None else read_claims(claims)
    for drive in published:
        if drive not in published_drives():
            raise UserError(f"--published: {unknown('drive', drive, list(published_drives()))}")
    if not paths:
        raise UserError("no run folder: name one or several, as in runs/*")
    runs = [Run(path) for path in paths]
    if out is not None:
        Output(out, replace).check()
    if references:
        parent = runs[0].path.resolve().parent
        ensure_writable(parent)
        command = shlex.join(["fourcorners", *sys.argv[1:]])
        with choose_progress(quiet or json, "auto") as progress:
            runs += [
                reference(runs[0], drive, out=parent, command=command, progress=progress)
                for drive in references
            ]
    if out is None:
        out = runs[0].path / schema.REPORT
        if len(runs) > 1:
            stamp = time.strftime("%Y%m%d-%H%M%S")
            out = runs[0].path.resolve().parent / f"{stamp}-side-by-side.html"
    with reading(paths):
        write_html(runs, out, published, claimed, replace=replace)
        return _show(runs, out, published, claimed, json=json, quiet=quiet)


def _show(
    runs: Sequence[Run],
    out: Path,
    published: Sequence[str],
    claimed: Sequence[Claim],
    *,
    json: bool,
    quiet: bool,
) -> int:
    if json:
        print_document(
            "report",
            {
                "report": str(out),
                "runs": [
                    {
                        "path": str(run.path),
                        "manifest": run.manifest,
                        "recordings": run.table("recordings").to_pylist(),
                        "findings": run.findings,
                        "spec_sheet": spec_json(spec_sheet(run, published, claimed)),
                    }
                    for run in runs
                ],
            },
        )
        return 0
    if quiet:
        say(out)
        return 0
    for run in runs:
        print_summary(run, published, claimed)
    if out != runs[0].path / schema.REPORT:  # which its summary names
        say(f"Report: {out}")
    return 0
