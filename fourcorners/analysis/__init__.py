"""From recordings to findings: pure functions over a run.

Nothing here asks what kind of target made a recording or reads a drive's specification; a finding
follows from what was measured, on a simulated and on a real drive alike. docs/analysis.md says how
each finding is computed and what confounds it.
"""

from __future__ import annotations

from typing import Any

from fourcorners.analysis import (
    access_findings,
    artefacts,
    consistency_findings,
    corners,
    hammering,
    internals,
    latency_over_time,
    littles_law,
    load,
    power,
    queue_depth,
    rounds,
    sequential_fill,
    snia_recovery,
    spec_sheet,
    steadiness,
    summary,
    sweeps,
    write_amplification,
)
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.source import RunData

__all__ = ["Finding", "RunData", "analyze", "find"]


def find(run: RunData) -> list[Finding]:
    """All findings of a run: the summary, what may mislead about it, and what the tests showed.

    Tests that did not run leave theirs out."""
    misleading = artefacts.find(run)
    findings = [
        *corners.find(run),
        *power.find(run),
        *write_amplification.find(run),
        *access_findings.find(run),
        *queue_depth.find(run),
        *consistency_findings.find(run),
        *steadiness.find(run),
        *sweeps.find(run),
        *hammering.find(run),
        *load.find(run),
        *latency_over_time.find(run),
        *rounds.find(run),
        *sequential_fill.find(run),
        *snia_recovery.find(run),
        *internals.find(run, misleading),
        *littles_law.find(run),
    ]
    return [
        *summary.find(run, findings),
        *spec_sheet.find(run, findings),
        *misleading,
        *findings,
    ]


def analyze(run: RunData) -> list[dict[str, Any]]:
    """The findings of a run as ``findings.json`` holds them (docs/run-folder.md).

    Args:
        run: a run folder as ``fourcorners.store.Run`` reads it, or anything of that shape.

    Returns:
        JSON-serialisable findings, the summary first; empty for a run without recordings.
    """
    return [finding.to_dict() for finding in find(run)]
