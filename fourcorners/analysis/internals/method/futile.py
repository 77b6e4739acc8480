"""Whether a probe of a real target can still identify anything, by what has been measured so far.

Findings under other load, or from reads that the host answered, are not accepted
(:mod:`~fourcorners.analysis.internals.method.doubt`). If this is certain before a probe runs, the
probe need not run; if it becomes certain during the probe, the rest of it need not run.
"""

from __future__ import annotations

from fourcorners import sentences
from fourcorners.analysis import artefacts
from fourcorners.analysis.internals.method import settling
from fourcorners.analysis.internals.method.doubt import (
    ANSWERED,
    UNAFFECTED,
    Doubts,
)
from fourcorners.analysis.internals.method.drift import SIZES, SLOW_FIRST, WRITING
from fourcorners.analysis.internals.resolver import Resolver
from fourcorners.analysis.source import RunData
from fourcorners.sentences import say

ANSWERED_SHARE_MIN = 0.9
"""If the host answered at least this share of the recordings of reads so far, it is assumed to
answer the next ones."""


def reason(run: RunData, probe: str) -> str | None:
    """Why the probe, by its name, would identify nothing; ``None`` where it may, and of a simulated
    drive.

    Args:
        run: what has been measured so far.
        probe: the one that is to run next.
    """
    if run.manifest.target.kind == "simulated":
        return None
    view = Resolver(run).view
    misleading = artefacts.find(run)
    reads = {m.recording for m in view.points(None, "read")}
    for finding in misleading:
        answered = reads & set(finding.evidence)
        if finding.name in ANSWERED and len(answered) >= ANSWERED_SHARE_MIN * len(reads) > 0:
            counted = {"answered": len(answered), "reads": len(reads)}
            return sentences.sentence(say("futile.answered", title=finding.title, **counted))
    settled = Resolver(run, without=settling.slowed(view)).view
    doubts = Doubts.of(settled, misleading)
    if not doubts.most or probe in UNAFFECTED or (probe not in WRITING and not doubts.all):
        return None
    return sentences.sentence(say("futile.disturbed", **doubts.counted))


def reason_to_stop(run: RunData, probe: str) -> str | None:
    """Why the rest of the probe, which runs, would identify nothing; ``None`` where it may, and of
    a simulated drive.

    The range of the reads between its points only grows: once other load disturbed the probe, what
    it finds will not be taken; unless only its first reads were slow, and other probes begin alike.

    Args:
        run: what has been measured so far, also of this probe.
        probe: its name.
    """
    if run.manifest.target.kind == "simulated" or probe in UNAFFECTED:
        return None
    doubts = Doubts.of(Resolver(run).view, ())
    # What it writes after its reads is taken unless most probes were disturbed.
    drift = doubts.disturbance(probe)
    if drift is None or (probe == SIZES and not doubts.most):
        return None
    if settling.settles(drift.detail.get("sentinel_s", ())) or drift.detail.get(SLOW_FIRST):
        # Other probes will show whether all begin so.
        return None
    return sentences.sentence(say("futile.stopped", drift=drift.text))
