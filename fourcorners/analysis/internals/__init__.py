"""What is inside the drive: findings from probes (docs/explain.md).

A probe that ran always leaves its findings: a value with its interval, or "not identifiable" and
why. What a drive does not have is a value of zero; what it cannot have, as a disk has no pages, is
"not applicable".
"""

from __future__ import annotations

from collections.abc import Sequence

from fourcorners.analysis.finding import Finding
from fourcorners.analysis.internals import (
    arm,
    caches,
    command_queue,
    conflicts,
    core_model,
    drift,
    extended_model,
    first_turn,
    link,
    log_blocks,
    mapping_unit,
    medium,
    queue_curve,
    story,
    unreached,
    writing,
    zones,
)
from fourcorners.analysis.source import RunData


def find(run: RunData, misleading: Sequence[Finding]) -> list[Finding]:
    """The findings of all probes that ran, and what they say together.

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
    found = [*units, *logs, *(extended_model.find(run, unit) if units else [])]
    found += core_model.find(run)
    found += caches.find(run)
    links = link.find(run)
    ceiling = next((finding.value for finding in links if finding.name == "link_ceiling"), None)
    found += conflicts.find(run, ceiling)
    queues = command_queue.find(run)
    found += [*queues, *queue_curve.find(run, _values([*found, *queues]))]
    written = writing.find(run, ceiling, logged)
    found += [*links, *(medium.without_flash(written) if medium.is_disk(run) else written)]
    moving = arm.find(run, _values(queues).get("command_queue_depth"))
    found = first_turn.added([*found, *zones.find(run, ceiling), *moving])
    found = extended_model.corrected(found)
    drifts = drift.find(run)
    found = unreached.doubted(drift.doubted(found, drifts, drift.watched(run)), misleading)
    found += drifts
    return [*(story.tell(found) if found else []), *found]


def _values(findings: Sequence[Finding]) -> dict[str, float | None]:
    return {finding.name: finding.value for finding in findings}
