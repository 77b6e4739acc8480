"""From recordings to findings: pure functions over a run.

Nothing here asks what kind of target made a recording or reads a drive's specification; a finding
follows from what was measured, on a simulated and on a real drive alike. docs/analysis.md says how
each finding is computed and what confounds it.
"""

from __future__ import annotations

from fourcorners.analysis import (
    access_findings,
    artefacts,
    consistency_findings,
    corners,
    hammering,
    internals,
    jobs,
    latency_over_time,
    littles_law,
    load,
    power,
    queue_depth,
    replays,
    rounds,
    sequential_fill,
    snia_recovery,
    spec_sheet,
    steadiness,
    summary,
    sweeps,
    write_amplification,
)
from fourcorners.analysis.source import RunData
from fourcorners.finding import Finding

__all__ = ["Finding", "RunData", "find"]


def find(run: RunData) -> list[Finding]:
    """All findings of a run: the summary, what may mislead about it, and what the tests showed.

    Args:
        run: a run folder as ``fourcorners.store.Run`` reads it, or anything of that shape.

    Returns:
        The summary first; nothing of tests that did not run, and nothing at all of a run without
        recordings."""
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
        *replays.find(run),
        *jobs.find(run),
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
