"""Whether a further probe of a real target can identify anything, by what the first ones show.

What they find under other load, or in reads that the host answered, is not taken as the drive's
(:mod:`~fourcorners.analysis.internals.method.drift`,
:mod:`~fourcorners.analysis.internals.method.host_answered`).
Where that is already sure of a probe that has not run, it need not run.
"""

from __future__ import annotations

from fourcorners.analysis import artefacts
from fourcorners.analysis.internals.method import drift
from fourcorners.analysis.internals.method.host_answered import ANSWERED
from fourcorners.analysis.source import RunData, measured

ANSWERED_SHARE_MIN = 0.9
"""Of the recordings of reads so far, from which the host is taken to answer those to come."""


def reason(run: RunData, probe: str) -> str | None:
    """Why the probe, by its name, would identify nothing; ``None`` where it may, and of a simulated
    drive.

    Args:
        run: what has been measured so far.
        probe: the one that is to run next.
    """
    if run.manifest["target"]["kind"] == "simulated":
        return None
    reads = {m.recording for m in measured(run, operation="read")}
    for finding in artefacts.find(run):
        answered = reads & set(finding.evidence)
        if finding.name in ANSWERED and len(answered) >= ANSWERED_SHARE_MIN * len(reads) > 0:
            return (
                f"{finding.title}: the host answered {len(answered)} of {len(reads)} measurements "
                "of reads so far, so that nothing would be taken as the drive's; --all runs it"
            )
    drifts, watched = drift.find(run), drift.watched(run)
    most = drift.most_disturbed(drifts, watched)
    if most is None or probe in drift.UNAFFECTED:
        return None
    if probe not in drift.WRITING and not drift.all_disturbed(drifts, watched):
        return None
    return f"{most}, so that nothing would be taken as the drive's; --all runs it"
