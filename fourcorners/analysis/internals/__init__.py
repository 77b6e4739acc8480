"""What is inside the drive: findings from probes (docs/explain.md).

A probe that ran always leaves its findings: a value with its interval, or "not identifiable" and
why. What a drive does not have is a value of zero; what it cannot have, as a disk has no pages, is
"not applicable".
"""

from __future__ import annotations

from collections.abc import Sequence

from fourcorners.analysis.finding import Finding
from fourcorners.analysis.internals.caches import disk_write_cache, read_cache
from fourcorners.analysis.internals.collection import writing
from fourcorners.analysis.internals.disk import mechanics, zones
from fourcorners.analysis.internals.flash import (
    die_conflicts,
    log_blocks,
    mapping_unit,
    parallel_units,
    partial_write_model,
)
from fourcorners.analysis.internals.link import command_queue, generation, transfer_model
from fourcorners.analysis.internals.method import (
    drift,
    explanation,
    host_answered,
    medium,
    not_probed,
)
from fourcorners.analysis.source import RunData


def find(run: RunData, misleading: Sequence[Finding]) -> list[Finding]:
    """The findings of all probes that ran, what they say together, and which did not run.

    Args:
        run: the run.
        misleading: what may mislead about it.
    """
    logs = log_blocks.find(run)
    logged = any(f.value for f in logs)
    units = mapping_unit.find(run, logged)
    unit = next(
        (
            0 if f.verdict == "not applicable" else f.value
            for f in units
            if f.name == "mapping_unit"
        ),
        None,
    )
    found = [*units, *logs, *(partial_write_model.find(run, unit) if units else [])]
    found += transfer_model.find(run)
    found += read_cache.find(run)
    links = generation.find(run)
    ceiling = next((finding.value for finding in links if finding.name == "link_ceiling"), None)
    found += die_conflicts.find(run, ceiling)
    queues = command_queue.find(run)
    found += [*queues, *parallel_units.find(run, _values([*found, *queues]))]
    written = writing.find(run, ceiling, logged)
    found += [*links, *(medium.without_flash(written) if medium.is_disk(run) else written)]
    moving = mechanics.find(run, _values(queues).get("command_queue_depth"))
    found = disk_write_cache.added([*found, *zones.find(run, ceiling), *moving])
    found = partial_write_model.corrected(found)
    drifts = drift.find(run)
    found = host_answered.doubted(drift.doubted(found, drifts, drift.watched(run)), misleading)
    found += drifts
    return [*(explanation.tell(found) if found else []), *found, *not_probed.find(run)]


def _values(findings: Sequence[Finding]) -> dict[str, float | None]:
    return {finding.name: finding.value for finding in findings}
