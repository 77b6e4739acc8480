"""What is inside the drive: findings from probes (docs/explain.md).

A probe that ran always leaves its findings: a value with its interval, or "not identifiable" and
why. What a drive does not have is a value of zero.
"""

from __future__ import annotations

from fourcorners.analysis.finding import Finding
from fourcorners.analysis.internals import mapping_unit
from fourcorners.analysis.source import RunData


def find(run: RunData) -> list[Finding]:
    """The findings of all probes that ran."""
    return [*mapping_unit.find(run)]
