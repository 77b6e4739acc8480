"""What probes that write find, and how it bears on each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fourcorners import wording
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.internals.caches import durability, slc_cache, write_buffer
from fourcorners.analysis.internals.collection import recovery, spare_area, stalls, superblock
from fourcorners.analysis.internals.flash import data_reduction, trim_granularity
from fourcorners.analysis.source import RunData

_PADDED = (
    "Writes wait until they are on the medium, and small ones may fill a page each, so that the "
    "bytes written do not tell what the spare area takes."
)
_LOGGED = (
    "Small writes go to log blocks, which are merged when they are full: what the drive takes "
    "until then says how many logs it has, and not what is spare beside them."
)


def find(run: RunData, link_rate: float | None, logs: bool) -> list[Finding]:
    """The findings of those that ran.

    Args:
        run: the run.
        link_rate: what the link carries, in bytes per second, if reads have shown it.
        logs: whether the drive keeps small writes in log blocks.
    """
    carried = link_rate or write_buffer.link_rate(run)
    flushes = durability.find(run)
    known = {finding.name: finding.value for finding in flushes}
    through = known.get("volatile_write_cache") == 0 and known.get("power_loss_protection") == 0
    buffers = write_buffer.find(run, through=through)
    caches = slc_cache.find(run, link_rate, through=through)
    known |= {finding.name: finding.value for finding in (*buffers, *caches)}
    round_s = max((finding.detail.get("round_s", 0.0) for finding in buffers), default=0.0)
    return [
        *_overwritten(run, known, through, logs, round_s),
        *buffers,
        *caches,
        *data_reduction.find(run, carried, through),
        *flushes,
        *trim_granularity.find(run),
    ]


def _overwritten(
    run: RunData, written: Mapping[str, float | None], through: bool, logs: bool, round_s: float
) -> list[Finding]:
    """``written``: values of the other findings about writes. ``through``: writes wait until they
    are on the medium. ``logs``: small ones go to log blocks. ``round_s``: period of the steps in
    which a burst is taken, or zero."""
    erased = superblock.find(run)
    if not erased:
        return []
    stalled = stalls.find(run, erased[0])
    erase_s = erased[0].detail.get("wait_s")
    erased = [_by_stalls(unit, stalled) for unit in erased]
    known = spare_area.Known(
        erased_bytes=erased[0].value,
        erase_s=erase_s,
        buffer_bytes=written.get("write_buffer_bytes"),
        stall_s=stalled[0].value,
        slc_cache_bytes=written.get("slc_cache_bytes"),
        round_s=round_s,
    )
    spare = spare_area.find(run, known)
    if logs:
        spare = [finding.unidentified(_LOGGED) for finding in spare]
    elif through:
        spare = [finding.unidentified(_PADDED) for finding in spare]
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
