"""Runs the estimators of the catalog, each after those that it needs."""

from __future__ import annotations

from dataclasses import replace

from fourcorners import sentences
from fourcorners.analysis.internals.answer import Answer, inapplicable
from fourcorners.analysis.internals.catalog import CATALOG, Asked, Of, ValueKind
from fourcorners.analysis.internals.view import View, ids
from fourcorners.analysis.source import RunData
from fourcorners.finding import Finding, worded
from fourcorners.sentences import Said, say

_ROWS = {row.name: row for row in CATALOG}


class Resolver:
    """The answers of a run. An estimator has access only to the answers that its row names."""

    def __init__(self, run: RunData) -> None:
        """Runs no estimator yet."""
        self.view = View(run, self._needed)
        self._answers: dict[str, Answer | None] = {}
        self._asking: list[Asked] = []

    def findings(self) -> list[Finding]:
        """All findings of the run, in the order of the catalog."""
        return [finding for row in CATALOG if (finding := self.finding(row.name)) is not None]

    def finding(self, name: str) -> Finding | None:
        """One finding; ``None`` where the run does not ask for it, or there is nothing odd."""
        answer = self._answer(name)
        return None if answer is None else as_finding(_ROWS[name], answer)

    def _needed(self, name: str) -> Answer | None:
        by = self._asking[-1]
        assert name in by.needs, f"{by.name} does not say that it needs {name}"
        return self._answer(name)

    def _answer(self, name: str) -> Answer | None:
        if name not in self._answers:
            row = _ROWS[name]
            assert row not in self._asking, f"{name} needs itself"
            self._asking.append(row)
            self._answers[name] = self._estimated(row)
            self._asking.pop()
        return self._answers[name]

    def _estimated(self, row: Asked) -> Answer | None:
        view = self.view
        if not view.once(row.asked_by or row.rests_on):
            return None
        if row.of is Of.FLASH and view.is_disk:
            answer: Answer | None = inapplicable(say("inapplicable"))
        else:
            answer = row.estimator(view)
        if answer is None or answer.evidence is not None:
            return answer
        return replace(answer, evidence=ids(view.once(row.rests_on)))


def as_finding(row: Asked, answer: Answer) -> Finding:
    """Makes the finding of a row from its answer."""
    said, detail = answer.said, dict(answer.detail)
    if "." not in said.code:
        said = Said(sentences.code_of(row.section, said.code), said.parameters)
    if row.kind in (ValueKind.DISCRETE, ValueKind.YES_NO):
        detail["discrete"] = True
    return worded(
        row.name,
        row.title,
        answer.verdict,
        said,
        value=answer.value,
        unit=None if answer.value is None else row.unit,
        interval=answer.interval,
        evidence=list(answer.evidence or ()),
        detail=detail,
    )
