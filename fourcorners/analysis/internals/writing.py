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
    buffer_bytes = next((f.value for f in buffers if f.name == "write_buffer_bytes"), None)
    return [
        *_overwritten(run, buffer_bytes),
        *buffers,
        *slc_cache.find(run, link_rate),
        *stored_data.find(run, carried),
        *durability.find(run),
    ]


def _overwritten(run: RunData, buffer_bytes: float | None) -> list[Finding]:
    erased = erase_unit.find(run)
    if not erased:
        return []
    stalled = stalls.find(run, erased[0])
    erased = [_by_stalls(unit, stalled) for unit in erased]
    spare = spare_area.find(run, erased[0].value, buffer_bytes)
    return [*spare, *erased, *stalled, *recovery.find(run)]


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
