"""Whether a probe of a real target can still identify anything, by what has been measured so far.

What probes find under other load, or in reads that the host answered, is not taken as the drive's
(:mod:`~fourcorners.analysis.internals.method.drift`,
:mod:`~fourcorners.analysis.internals.method.host_answered`).
Where that is already sure of a probe that has not run, it need not run; where it becomes sure while
one runs, the rest of it need not.
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


def reason_to_stop(run: RunData, probe: str) -> str | None:
    """Why the rest of the probe, which runs, would identify nothing; ``None`` where it may, and of
    a simulated drive.

    The range of the reads between its points only grows: once other load disturbed the probe, what
    it finds will not be taken.

    Args:
        run: what has been measured so far, also of this probe.
        probe: its name.
    """
    if run.manifest["target"]["kind"] == "simulated" or probe in drift.UNAFFECTED:
        return None
    drifts = drift.find(run)
    if drift.writes_afterwards(probe) and not drift.most_disturbed(drifts, drift.watched(run)):
        return None
    disturbed = drift.disturbance(drifts, probe)
    if disturbed is None:
        return None
    return (
        f"{drift.DISTURBED} it: {disturbed.text} The rest of it would not be taken as the drive's "
        "either; --all measures it"
    )
