"""Findings ``not_probed_...``: the probes that did not run to their end, each with the reason."""

from __future__ import annotations

from fourcorners.analysis.source import RunData
from fourcorners.finding import Finding, worded
from fourcorners.manifest import TestEntry
from fourcorners.sentences import say

BEGIN = "not_probed_"
"""The names of these findings begin with this."""

_PROBE = "probe-"
_ENDED_EARLY = ("skipped", "failed", "interrupted")


def find(run: RunData) -> list[Finding]:
    """One finding for each probe of the run that was skipped, failed or was interrupted."""
    return [
        _finding(test)
        for test in run.manifest.tests
        if (test.definition or test.name).startswith(_PROBE) and test.status in _ENDED_EARLY
    ]


def _finding(test: TestEntry) -> Finding:
    ended = "failed" if test.status == "failed" else "unfinished"
    if ended == "unfinished" and not test.recordings:
        ended = "skipped"
    detail = {"test": test.name, "status": test.status}
    said = say(f"not_probed.{ended}", **detail, reason=test.reason)
    return worded(
        BEGIN + test.name.removeprefix(_PROBE),
        f"Not probed: {test.title.removeprefix('Probe: ')}",
        "not identifiable",
        said,
        detail=detail,
    )
