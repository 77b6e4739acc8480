"""Finding ``drift``: whether the drive stayed the same while it was probed.

Between the points of a probe, which come in random order, the same small reads are made again and
again. They differ by chance as far as their histograms say; what is beyond that is the drive's
state, or other load on it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from fourcorners import wording
from fourcorners.analysis.finding import ODD, UNDER_LOAD, Finding
from fourcorners.analysis.intervals import histogram_mean_error
from fourcorners.analysis.source import RunData, measured

DRIFT_NOTED = 0.05
"""Largest over smallest sentinel, less one, from which drift is said to be there."""


READING = {
    f"probe-{name}": f"probe-{name}/"
    for name in ("depth", "positions", "seeks", "caches", "conflicts")
} | {"probe-sizes": "probe-sizes/read/"}
"""How the recordings begin by which a probe left the drive as it was: what drifts during them is
other load. Of sizes, writes come after all reads."""

DISTURBED = "Other load disturbed"
"""How a finding begins that is not taken as the drive's."""

WRITING = tuple(f"probe-{name}" for name in ("alignment", "burst", "content", "flush", "overwrite"))
"""Probes that write, and change the drive by that."""

UNAFFECTED = ("probe-seeks", "probe-trim")
"""Probes that say something under other load as well: that nothing turns, and what TRIM does."""

_WRITTEN = ("probe-sizes/write/", *(f"{probe}/" for probe in WRITING))

_WATCHED_MIN = 3
"""Probes that only read, of which most say what load there is."""

DOUBTED = 0.5
"""Drift of a probe that only reads, from which what it found is not taken as the drive's."""


def doubted(
    findings: Sequence[Finding], drifts: Sequence[Finding], watched: Collection[str]
) -> list[Finding]:
    """The findings, those not identifiable that rest on a probe which other load disturbed; or on
    one that writes, where it disturbed most of the others: writes change a drive by themselves, so
    that such a probe cannot tell.

    Args:
        findings: of the run.
        drifts: what :func:`find` says of it.
        watched: what :func:`watched` says of it.
    """
    disturbed = {READING[str(drift.detail["test"])]: drift for drift in _disturbing(drifts)}
    found = [_doubt(finding, disturbed) for finding in findings]
    most = most_disturbed(drifts, watched)
    if most is not None:
        found = [
            _not_taken(f, f"{most}, and this one cannot tell.")
            if any(recording.startswith(_WRITTEN) for recording in f.evidence)
            else f
            for f in found
        ]
    # What did not fit under other load is that load's.
    return [f for f in found if f.verdict == "measured" or not f.name.startswith(ODD)]


def most_disturbed(drifts: Sequence[Finding], watched: Collection[str]) -> str | None:
    """That other load disturbed most of the probes that only read, as the begin of a sentence;
    ``None`` where it did not, or too few have run to say so."""
    disturbed = len(_disturbing(drifts))
    if disturbed <= len(watched) / 2 or len(watched) < _WATCHED_MIN:
        return None
    return f"{DISTURBED} {disturbed} of {len(watched)} probes that only read"


def all_disturbed(drifts: Sequence[Finding], watched: Collection[str]) -> bool:
    """Whether it disturbed every one of them."""
    return len(_disturbing(drifts)) == len(watched)


def disturbance(drifts: Sequence[Finding], probe: str) -> Finding | None:
    """The drift of a probe that other load disturbed; ``None`` where it did not."""
    return next((drift for drift in _disturbing(drifts) if drift.detail["test"] == probe), None)


def writes_afterwards(probe: str) -> bool:
    """Whether the probe measures writes, which its reads say nothing of, after them."""
    return any(begin.startswith(f"{probe}/") for begin in _WRITTEN) and probe in READING


def _disturbing(drifts: Sequence[Finding]) -> list[Finding]:
    return [
        drift
        for drift in drifts
        if drift.detail["test"] in READING
        and not drift.detail.get("wrote")
        and (drift.value or 0) >= DOUBTED
    ]


def watched(run: RunData) -> set[str]:
    """Probes that only read, and had reads between their points."""
    return {
        m.test
        for m in measured(run, operation="read")
        if m.point.get("sentinel") is not None and m.test in READING
    }


def _doubt(finding: Finding, disturbed: Mapping[str, Finding]) -> Finding:
    doubts = [
        drift
        for begin, drift in disturbed.items()
        if any(recording.startswith(begin) for recording in finding.evidence)
    ]
    if not doubts:
        return finding
    worst = max(doubts, key=lambda drift: drift.value or 0)
    return _not_taken(finding, f"{DISTURBED} the probe: {worst.text}")


def _not_taken(finding: Finding, reason: str) -> Finding:
    if finding.verdict not in ("measured", "not applicable") or finding.detail.get(UNDER_LOAD):
        return finding
    return finding.unidentified(f"{reason} Under it this came out: {finding.text}")


def find(run: RunData) -> list[Finding]:
    """One finding for each probe with sentinels whose drift is more than chance; for sizes one of
    the reads, and one of what follows."""
    by_test: dict[tuple[str, bool], list[tuple[str, float, float]]] = {}
    wrote: set[str] = set()
    for m in measured(run):
        if m.operation == "write" and m.test == "probe-sizes":
            wrote.add(m.test)
        if m.operation == "read" and m.point.get("sentinel") is not None:
            error = histogram_mean_error(*run.histogram(m.recording, "read"))
            sentinel = (m.recording, 1 / m.iops, error or math.inf)
            by_test.setdefault((m.test, m.test in wrote), []).append(sentinel)
    findings = []
    for (test, later), sentinels in by_test.items():
        times = np.array([seconds for _, seconds, _ in sentinels])
        slowest, quickest = int(np.argmax(times)), int(np.argmin(times))
        change = float(times[slowest] / times[quickest] - 1)
        chance = (sentinels[slowest][2] + sentinels[quickest][2]) / float(times[quickest])
        if len(times) < 2 or change < DRIFT_NOTED + chance:
            continue
        findings.append(
            Finding(
                f"drift_{test}_writes" if later else f"drift_{test}",
                f"Drift during {test}" + (", writes" if later else ""),
                "measured",
                f"During {test} the same small reads took between "
                f"{wording.duration(float(times[quickest]))} and "
                f"{wording.duration(float(times[slowest]))}: the drive's state or its load "
                "changed.",
                value=change,
                unit="fraction",
                evidence=[recording for recording, _, _ in sentinels],
                detail={"sentinel_s": times, "test": test, "wrote": later},
            )
        )
    return findings
