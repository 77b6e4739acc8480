"""Findings ``not_probed_...``: the probes that did not run to their end, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fourcorners.analysis.finding import Finding
from fourcorners.analysis.source import RunData

BEGIN = "not_probed_"
"""How the names of these findings begin."""

_PROBE = "probe-"
_ENDED_EARLY = ("skipped", "failed", "interrupted")


def find(run: RunData) -> list[Finding]:
    """One finding for each probe of the run that was skipped, failed or was interrupted."""
    return [
        Finding(
            BEGIN + test["name"].removeprefix(_PROBE),
            f"Not probed: {test['title'].removeprefix('Probe: ')}",
            "not identifiable",
            f"{test['name']} {_ended(test)}: {test['reason']}.",
            detail={"test": test["name"], "status": test["status"]},
        )
        for test in run.manifest.get("tests", [])
        if str(test.get("definition") or test["name"]).startswith(_PROBE)
        and test.get("status") in _ENDED_EARLY
    ]


def _ended(test: Mapping[str, Any]) -> str:
    if test["status"] == "failed":
        return "failed"
    return "was not finished" if test["recordings"] else f"was {test['status']}"
