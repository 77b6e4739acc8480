"""Several runs of one drive read as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fourcorners.analysis.source import Array, RunData
from fourcorners.recording import IoLog, LatencyOverTime


class Joined:
    """The recordings of several runs together, as :class:`RunData`.

    Where two runs have the same test, the earlier run's stands unless only the later one's is
    complete: runs come in the order of trust.
    """

    def __init__(self, runs: Sequence[RunData]) -> None:
        """Reads nothing yet but manifests and totals; one run or more."""
        self._owner: dict[str, RunData] = {}
        self._manifest: dict[str, Any] = {**runs[0].manifest, "tests": []}
        self._recordings: list[Mapping[str, Any]] = []
        known: set[str] = set()
        complete = {t["name"] for run in runs for t in _tests(run) if _is_complete(t)}
        for run in runs:
            tests = [
                t
                for t in _tests(run)
                if t["name"] not in known and (_is_complete(t) or t["name"] not in complete)
            ]
            self._manifest["tests"] += tests
            names = {test["name"] for test in tests}
            known |= names
            for row in run.recordings:
                if row["test"] in names:
                    self._recordings.append(row)
                    self._owner[row["recording"]] = run

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The first run's, with the tests of all."""
        return self._manifest

    @property
    def recordings(self) -> Sequence[Mapping[str, Any]]:
        """Rows of all runs."""
        return self._recordings

    def series(self, recording_id: str, operation: str) -> Mapping[str, Array]:
        """As the run has it that the recording is from."""
        return self._owner[recording_id].series(recording_id, operation)

    def ios(self, recording_id: str) -> IoLog:
        """As the run has it that the recording is from."""
        return self._owner[recording_id].ios(recording_id)

    def histogram(self, recording_id: str, operation: str) -> tuple[Array, Array, Array]:
        """As the run has it that the recording is from."""
        return self._owner[recording_id].histogram(recording_id, operation)

    def latency_over_time(self, recording_id: str, operation: str) -> LatencyOverTime:
        """As the run has it that the recording is from."""
        return self._owner[recording_id].latency_over_time(recording_id, operation)


def _tests(run: RunData) -> Sequence[Mapping[str, Any]]:
    tests: Sequence[Mapping[str, Any]] = run.manifest.get("tests", [])
    return tests


def _is_complete(test: Mapping[str, Any]) -> bool:
    return bool(test.get("status") == "complete")
