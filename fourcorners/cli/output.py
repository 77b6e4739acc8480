"""Prints results: tables and summaries for people, JSON for machines."""

import json
from typing import Any

from rich.console import Console

from fourcorners.report import render_summary
from fourcorners.store import Run


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def print_summary(run: Run) -> None:
    """A run's summary, and where its folder is."""
    console = Console()
    console.print(render_summary(run))
    console.print(f"Run folder: {run.path}", markup=False, highlight=False, soft_wrap=True)
    console.print()
