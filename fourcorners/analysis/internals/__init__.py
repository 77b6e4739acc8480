"""What is inside the drive: findings from probes (docs/explain.md).

A probe that ran always leaves its findings: a value with its interval, or "not identifiable" and
why. What a drive does not have is a value of zero.
"""

from __future__ import annotations

from fourcorners.analysis.finding import Finding
from fourcorners.analysis.internals import drift, extended_model, mapping_unit
from fourcorners.analysis.source import RunData


def find(run: RunData) -> list[Finding]:
    """The findings of all probes that ran."""
    units = mapping_unit.find(run)
    unit = next((finding.value for finding in units if finding.name == "mapping_unit"), None)
    return [*units, *(extended_model.find(run, unit) if units else []), *drift.find(run)]
