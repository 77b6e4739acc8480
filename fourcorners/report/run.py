"""What a report asks of a run: the shape of `fourcorners.store.Run` and of the tests' fake."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt

from fourcorners.recording import IoLog, LatencyOverTime

Array = npt.NDArray[Any]


class Run(Protocol):
    """One suite on one target, as docs/run-folder.md describes it."""

    @property
    def path(self) -> Path:
        """The run folder."""
        ...

    @property
    def manifest(self) -> dict[str, Any]:
        """The contents of manifest.json."""
        ...

    @property
    def recordings(self) -> list[dict[str, Any]]:
        """The rows of recordings.parquet."""
        ...

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The list in findings.json."""
        ...

    def series(self, recording_id: str, operation: str) -> dict[str, Array]:
        """Columns of series.parquet for one recording and operation; NaN where it says null."""
        ...

    def ios(self, recording_id: str) -> IoLog:
        """Single I/Os of a recording that the manifest has as ``logged``."""
        ...

    def histogram(self, recording_id: str, operation: str) -> tuple[Array, Array, Array]:
        """Buckets of one latency histogram: lowest and highest nanosecond, count."""
        ...

    def latency_over_time(self, recording_id: str, operation: str) -> LatencyOverTime:
        """Latencies of every second; without rows where they were not kept."""
        ...
