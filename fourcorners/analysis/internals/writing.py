"""What probes that write find, and how it bears on each other."""

from __future__ import annotations

from dataclasses import replace

from fourcorners import wording
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.internals import (
    durability,
    erase_unit,
    recovery,
    slc_cache,
    spare_area,
    stalls,
    stored_data,
    trim,
    write_buffer,
)
from fourcorners.analysis.source import RunData


def find(run: RunData, link_rate: float | None) -> list[Finding]:
    """The findings of those that ran.

    Args:
        run: the run.
        link_rate: what the link carries, in bytes per second, if reads have shown it.
    """
    carried = link_rate or write_buffer.link_rate(run)
    buffers = write_buffer.find(run)
    flushes = durability.find(run)
    known = {finding.name: finding.value for finding in (*buffers, *flushes)}
    through = known.get("volatile_write_cache") == 0 and known.get("power_loss_protection") == 0
    return [
        *_overwritten(run, known.get("write_buffer_bytes"), through),
        *buffers,
        *slc_cache.find(run, link_rate),
        *stored_data.find(run, carried),
        *flushes,
        *trim.find(run),
    ]


def _overwritten(run: RunData, buffer_bytes: float | None, through: bool) -> list[Finding]:
    """``through``: writes wait until they are on the medium."""
    erased = erase_unit.find(run)
    if not erased:
        return []
    stalled = stalls.find(run, erased[0])
    erased = [_by_stalls(unit, stalled) for unit in erased]
    spare = spare_area.find(run, erased[0].value, buffer_bytes)
    spare = [_padded(finding) if through else finding for finding in spare]
    return [*spare, *erased, *stalled, *recovery.find(run)]


def _padded(finding: Finding) -> Finding:
    """Without a write cache small writes may take a page each, so that blocks hold less."""
    return replace(
        finding,
        verdict="not identifiable",
        text="Writes wait until they are on the medium, and small ones may fill a page each, so "
        "that the bytes written do not tell what the spare area takes.",
        value=None,
        unit=None,
        interval=None,
    )


def _by_stalls(unit: Finding, stalled: list[Finding]) -> Finding:
    """Where erasures hide, the distance of stalls says what is reclaimed at a time."""
    spacing = next((f for f in stalled if f.name == "collection_stall_spacing"), None)
    if unit.value is not None or spacing is None or not spacing.value:
        return unit
    return replace(
        unit,
        verdict="measured",
        text="The drive collects after every "
        f"{wording.size(spacing.value)} written: so much is reclaimed at a time, over all dies.",
        value=spacing.value,
        unit="B",
        interval=spacing.interval,
        evidence=spacing.evidence,
        detail={**unit.detail, **spacing.detail},
    )
