"""What rests on reads that did not reach the drive is not taken as the drive's.

Of a file, the host knows which blocks were never written, and how much of what was read it passed
on to a device; it answers the rest itself, and far faster.
"""

from __future__ import annotations

from collections.abc import Sequence

from fourcorners.analysis.finding import Finding

ANSWERED = ("artefact_unwritten_blocks", "artefact_page_cache")
"""Findings of reads that the host answered."""


def doubted(findings: Sequence[Finding], misleading: Sequence[Finding]) -> list[Finding]:
    """The findings, those not identifiable that rest on such a read.

    Args:
        findings: of the run.
        misleading: what may mislead about it.
    """
    answered = {
        recording: finding
        for finding in misleading
        if finding.name in ANSWERED
        for recording in finding.evidence
    }
    return [_doubt(finding, answered) for finding in findings]


def _doubt(finding: Finding, answered: dict[str, Finding]) -> Finding:
    by = next((answered[r] for r in finding.evidence if r in answered), None)
    if by is None or finding.verdict not in ("measured", "not applicable"):
        return finding
    return finding.unidentified(
        f"{by.title}: the host answered some of these reads, not the drive. With them this came "
        f"out: {finding.text}"
    )
