"""Prints results: tables and summaries for people, JSON for machines."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from fourcorners.errors import EXIT_FAILED, EXIT_INTERRUPTED
from fourcorners.report import render_summary
from fourcorners.store import Run, schema

_EXIT_CODES = {"complete": 0, "failed": EXIT_FAILED, "interrupted": EXIT_INTERRUPTED}


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def print_summary(run: Run) -> None:
    """A run's summary, and where its folder is."""
    console = Console()
    console.print(render_summary(run))
    console.print(f"Run folder: {run.path}", markup=False, highlight=False, soft_wrap=True)
    console.print()


def show_runs(runs: Sequence[Run], comparison: Path | None, *, json: bool, quiet: bool) -> int:
    """What runs ended with, and the exit code of the worst."""
    code = max(_EXIT_CODES[run.manifest["status"]] for run in runs)
    if json:
        print_json(
            {
                "schema": "fourcorners/characterize",
                "schema_version": 1,
                "runs": [
                    {
                        "path": str(run.path),
                        "report": str(run.path / schema.REPORT),
                        "status": run.manifest["status"],
                        "findings": run.findings,
                    }
                    for run in runs
                ],
                "comparison": None if comparison is None else str(comparison),
            }
        )
        return code
    for run in runs:
        if quiet:
            print(run.path)
        else:
            print_summary(run)
    if comparison is not None:
        print(comparison if quiet else f"Side by side: {comparison}")
    return code
