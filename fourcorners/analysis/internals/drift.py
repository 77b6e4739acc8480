"""Finding ``drift``: whether the drive stayed the same while it was probed.

Between the points of a probe, which come in random order, the same small reads are made again and
again. They differ by chance as far as their histograms say; what is beyond that is the drive's
state, or other load on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fourcorners import wording
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.intervals import histogram_mean_error
from fourcorners.analysis.source import RunData, measured

DRIFT_NOTED = 0.05
"""Largest over smallest sentinel, less one, from which drift is said to be there."""


READING = ("probe-depth", "probe-positions", "probe-seeks", "probe-caches", "probe-conflicts")
"""Probes that leave the drive as it was: what drifts during them is other load."""

_DOUBTED = 0.5
"""Drift of a probe that only reads, from which what it found is not taken as the drive's."""


def doubted(findings: Sequence[Finding], drifts: Sequence[Finding]) -> list[Finding]:
    """The findings, those not identifiable that rest on a probe which other load disturbed."""
    disturbed = {
        str(drift.detail["test"]): drift
        for drift in drifts
        if drift.detail["test"] in READING and (drift.value or 0) >= _DOUBTED
    }
    return [_doubt(finding, disturbed) for finding in findings]


def _doubt(finding: Finding, disturbed: Mapping[str, Finding]) -> Finding:
    tests = {recording.partition("/")[0] for recording in finding.evidence} & disturbed.keys()
    if finding.verdict not in ("measured", "not applicable") or not tests:
        return finding
    worst = max((disturbed[test] for test in tests), key=lambda drift: drift.value or 0)
    return replace(
        finding,
        verdict="not identifiable",
        value=None,
        interval=None,
        text=f"Other load disturbed the probe: {worst.text} Under it this came out: {finding.text}",
    )


def find(run: RunData) -> list[Finding]:
    """One finding for each probe with sentinels whose drift is more than chance."""
    by_test: dict[str, list[tuple[str, float, float]]] = {}
    for m in measured(run, operation="read"):
        if m.point.get("sentinel") is not None:
            error = histogram_mean_error(*run.histogram(m.recording, "read"))
            by_test.setdefault(m.test, []).append((m.recording, 1 / m.iops, error or math.inf))
    findings = []
    for test, sentinels in by_test.items():
        times = np.array([seconds for _, seconds, _ in sentinels])
        slowest, quickest = int(np.argmax(times)), int(np.argmin(times))
        change = float(times[slowest] / times[quickest] - 1)
        chance = (sentinels[slowest][2] + sentinels[quickest][2]) / float(times[quickest])
        if len(times) < 2 or change < DRIFT_NOTED + chance:
            continue
        findings.append(
            Finding(
                f"drift_{test}",
                f"Drift during {test}",
                "measured",
                f"During {test} the same small reads took between "
                f"{wording.duration(float(times[quickest]))} and "
                f"{wording.duration(float(times[slowest]))}: the drive's state or its load "
                "changed.",
                value=change,
                unit="fraction",
                evidence=[recording for recording, _, _ in sentinels],
                detail={"sentinel_s": times, "test": test},
            )
        )
    return findings
