"""Several runs of one drive read as one."""

from __future__ import annotations

from collections.abc import Sequence

from fourcorners.analysis.source import RunData
from fourcorners.documents import changed
from fourcorners.manifest import TestEntry
from fourcorners.recording import Recording


class Joined:
    """The recordings of several runs together, as :class:`RunData`.

    Where two runs have the same test, the earlier run's stands unless only the later one's is
    complete: runs come in the order of trust.
    """

    def __init__(self, runs: Sequence[RunData]) -> None:
        """Reads nothing yet but manifests and totals; one run or more."""
        tests: dict[str, TestEntry] = {}
        self.recordings: list[Recording] = []
        complete = {one.name for run in runs for one in run.manifest.tests if _is_complete(one)}
        for run in runs:
            own = {
                one.name: one
                for one in run.manifest.tests
                if one.name not in tests and (_is_complete(one) or one.name not in complete)
            }
            tests |= own
            self.recordings += [one for one in run.recordings if one.test in own]
        self.manifest = changed(runs[0].manifest, tests=list(tests.values()))


def _is_complete(test: TestEntry) -> bool:
    return test.status == "complete"
