"""What a report asks of a run: the shape of `fourcorners.store.Run` and of the tests' fake."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from fourcorners.analysis.source import RunData
from fourcorners.finding import Finding


class ReportedRun(RunData, Protocol):
    """One suite on one target, as docs/run-folder.md describes it."""

    @property
    def path(self) -> Path:
        """The run folder."""
        ...

    @property
    def findings(self) -> list[Finding]:
        """What findings.json says."""
        ...
