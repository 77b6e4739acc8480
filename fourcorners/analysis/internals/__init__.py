"""What is inside the drive: findings from probes (docs/explain.md).

A probe that ran always has findings: a value with its interval, or "not identifiable" with the
reason. A value of zero means that the drive does not have the thing. "Not applicable" means that it
cannot have it, as a disk has no pages.

:mod:`.catalog` has a row for each finding, :mod:`.resolver` asks their estimators in the order of
their needs, and :mod:`.method.doubt` says which answers are not taken as the drive's.
"""

from __future__ import annotations

from collections.abc import Sequence

from fourcorners.analysis.internals.method import drift, explanation, not_probed, settling
from fourcorners.analysis.internals.method.doubt import Doubts
from fourcorners.analysis.internals.resolver import Resolver
from fourcorners.analysis.source import RunData
from fourcorners.finding import Finding


def find(run: RunData, misleading: Sequence[Finding] = ()) -> list[Finding]:
    """The findings of all probes that ran, their summary, and the probes that did not run.

    Args:
        run: the run.
        misleading: what may mislead about it.
    """
    resolver, began = Resolver(run), []
    found = resolver.findings()
    if slow := settling.slowed(resolver.view):
        began = settling.told(drift.find(resolver.view), slow)
        resolver = Resolver(run, without=slow)
        settled = resolver.findings()
        found = [*settled, *settling.left_out(found, settled)]
    doubts = Doubts.of(resolver.view, misleading)
    found = [*doubts.applied(found), *doubts.drifts, *began]
    told = [explanation.tell(found)] if found else []
    return [*told, *found, *not_probed.find(run)]
