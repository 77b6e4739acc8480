"""Several runs of one drive read as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fourcorners.analysis.source import RunData
from fourcorners.recording import Recording


class Joined:
    """The recordings of several runs together, as :class:`RunData`.

    Where two runs have the same test, the earlier run's stands unless only the later one's is
    complete: runs come in the order of trust.
    """

    def __init__(self, runs: Sequence[RunData]) -> None:
        """Reads nothing yet but manifests and totals; one run or more."""
        tests: dict[str, Mapping[str, Any]] = {}
        self.recordings: list[Recording] = []
        complete = {t["name"] for run in runs for t in _tests(run) if _is_complete(t)}
        for run in runs:
            own = {
                t["name"]: t
                for t in _tests(run)
                if t["name"] not in tests and (_is_complete(t) or t["name"] not in complete)
            }
            tests |= own
            self.recordings += [one for one in run.recordings if one.test in own]
        self.manifest: Mapping[str, Any] = {**runs[0].manifest, "tests": list(tests.values())}


def _tests(run: RunData) -> Sequence[Mapping[str, Any]]:
    tests: Sequence[Mapping[str, Any]] = run.manifest.get("tests", [])
    return tests


def _is_complete(test: Mapping[str, Any]) -> bool:
    return bool(test.get("status") == "complete")
