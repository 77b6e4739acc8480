"""The sentences of a run's findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fourcorners.analysis import artefacts
from fourcorners.analysis.consistency import full_seconds
from fourcorners.analysis.source import Measured, RunData, measured
from fourcorners.finding import Finding
from fourcorners.recording.arrays import Floats

_IN_SENTENCES = ("summary", "consistency_write", "steadiness_")
"""Findings whose text is made of named sentences."""


@dataclass(frozen=True)
class PageSentence:
    """One sentence. ``place`` is the finding that it stands in; ``numbers`` are that finding's
    detail, or the remark's or the row's own."""

    name: str
    text: str
    place: str
    evidence: tuple[str, ...]
    numbers: Mapping[str, Any] = field(default_factory=dict)


class Page:
    """A run and the sentences about it."""

    def __init__(self, run: RunData, findings: Sequence[Finding]) -> None:
        self.run = run
        self.findings = {finding.name: finding for finding in findings}
        self.claims = [claim for f in self.findings.values() for claim in _claims(f)]
        self._rows = {(m.recording, m.operation): m for m in measured(run)}

    def named(self, name: str) -> PageSentence | None:
        """The first sentence of that name."""
        return next((claim for claim in self.claims if claim.name == name), None)

    def row(self, recording: str, operation: str | None = None) -> Measured | None:
        """The recording's figures; of its only operation where none is given."""
        return next(
            (
                m
                for (id, op), m in self._rows.items()
                if id == recording and operation in (None, op)
            ),
            None,
        )

    def iops(self, recording: str) -> Floats:
        """I/Os of its whole seconds, all operations together; shape (seconds,)."""
        rows = [m for (id, op), m in self._rows.items() if id == recording and op != "flush"]
        seconds = [
            full_seconds(
                np.asarray(m.second_ios, np.float64),
                m.elapsed_s,
            )
            for m in rows
        ]
        total: Floats = np.sum([one[: min(map(len, seconds))] for one in seconds], axis=0)
        return total

    def value(self, name: str) -> float | None:
        """Of the finding of that name, if it was measured."""
        finding = self.findings.get(name)
        return None if finding is None or finding.verdict != "measured" else finding.value


def _claims(finding: Finding) -> Iterator[PageSentence]:
    detail, evidence = finding.detail, tuple(finding.evidence)
    said = detail.get("sentences") or ()
    whole = " ".join(sentence["text"] for sentence in said)
    silent = not said and finding.verdict == "not identifiable"
    if finding.name.startswith(_IN_SENTENCES) and whole != finding.text and not silent:
        # Text that stands in addition to the named sentences, or in their place.
        yield PageSentence("unnamed", finding.text, finding.name, evidence, detail)
    for sentence in said:
        yield PageSentence(sentence["name"], sentence["text"], finding.name, evidence, detail)
    for side in (detail.get("remarks") or {}).values():
        for one in side:
            yield PageSentence(one["name"], one["text"], finding.name, tuple(one["evidence"]), one)
    if finding.name == "spec_sheet":
        for row in detail["rows"]:
            text = f"{row['title']}: {row['value']:.6g} {row['unit']}"
            yield PageSentence(f"sheet_{row['quantity']}", text, finding.name, row["evidence"], row)
    if finding.name.startswith(artefacts.PREFIX):
        yield PageSentence(finding.name, finding.text, finding.name, evidence, detail)
    if finding.name.startswith("recovery_") and finding.verdict == "measured":
        name = "recovery_time" if finding.name == "recovery_time" else "recovery_gain"
        yield PageSentence(
            name, finding.text, finding.name, evidence, {"value": finding.value, **detail}
        )
