"""What a report asks of a run: the shape of `fourcorners.store.Run` and of the tests' fake."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from fourcorners.finding import Finding
from fourcorners.manifest import Manifest
from fourcorners.recording import Recording


class ReportedRun(Protocol):
    """One suite on one target, as docs/run-folder.md describes it."""

    @property
    def path(self) -> Path:
        """The run folder."""
        ...

    @property
    def manifest(self) -> Manifest:
        """What manifest.json says."""
        ...

    @property
    def recordings(self) -> Sequence[Recording]:
        """What was measured, in the order of the run."""
        ...

    @property
    def findings(self) -> list[Finding]:
        """What findings.json says."""
        ...
