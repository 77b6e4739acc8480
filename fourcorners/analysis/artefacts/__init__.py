"""What may mislead about a result: conditions, figures and seconds of its recordings, judged.

Each detector is a pure function of :class:`Case`; docs/artefacts.md says how it decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fourcorners.analysis.artefacts import device, history, host, medium
from fourcorners.analysis.artefacts.artefact import SEVERITIES, Artefact
from fourcorners.analysis.artefacts.case import Case, cases
from fourcorners.analysis.source import RunData
from fourcorners.finding import Finding, worded
from fourcorners.sentences import say

__all__ = ["PREFIX", "Artefact", "Case", "cases", "detect", "find"]

PREFIX = "artefact_"
"""Names of the findings begin with it."""


def detect(of: Sequence[Case]) -> Iterator[tuple[Case, Artefact]]:
    """All artefacts of measurements of one run, each with the measurement that it is about."""
    for case in of:
        for family in (medium, host, device):
            for artefact in family.detect(case):
                yield case, artefact
    for across in (history.write_caches, history.rate_caps, history.preconditioning):
        yield from across(of)


def find(run: RunData) -> list[Finding]:
    """The artefacts of a run: one finding for each kind, the severest kind first."""
    kinds: dict[str, list[tuple[Case, Artefact]]] = {}
    for case, artefact in detect(cases(run)):
        kinds.setdefault(artefact.name, []).append((case, artefact))
    findings = [_finding(found) for found in kinds.values()]
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.detail["severity"]))


def _finding(found: list[tuple[Case, Artefact]]) -> Finding:
    """One kind, described by its most severe case, the first of several."""
    case, worst = min(found, key=lambda pair: SEVERITIES.index(pair[1].severity))
    affected = list(dict.fromkeys(case.id for case, _ in found))
    words = {"seen": worst.seen, "effect": worst.effect, "mend": worst.mend}
    said = say("artefact.whole", label=case.label, **words)
    if len(affected) > 1:
        said = say("artefact.whole_of_several", **said.parameters, others=len(affected) - 1)
    return worded(
        f"{PREFIX}{worst.name}",
        worst.title,
        "measured",
        said,
        evidence=affected,
        detail={
            "severity": worst.severity,
            **words,
            "evidence": dict(worst.evidence),
            "worst": case.id,
        },
    )
