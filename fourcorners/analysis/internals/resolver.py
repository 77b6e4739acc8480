"""Asks the estimators of the catalog, each after those that it needs."""

from __future__ import annotations

from dataclasses import replace

from fourcorners import sentences
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.internals.catalog import CATALOG, Asked, Of, ValueKind
from fourcorners.analysis.internals.conclusion import Conclusion, inapplicable
from fourcorners.analysis.internals.view import View, ids
from fourcorners.analysis.source import RunData
from fourcorners.sentences import Statement, say

_ROWS = {row.name: row for row in CATALOG}


class Resolver:
    """The conclusions of a run. An estimator sees those that its row says it needs, no other."""

    def __init__(self, run: RunData) -> None:
        """Asks nothing yet."""
        self.view = View(run, self._needed)
        self._conclusions: dict[str, Conclusion | None] = {}
        self._asking: list[Asked] = []

    def findings(self) -> list[Finding]:
        """All that were asked, in the order of the catalog."""
        return [finding for row in CATALOG if (finding := self.finding(row.name)) is not None]

    def finding(self, name: str) -> Finding | None:
        """One of them; ``None`` where it was not asked, or there is nothing odd."""
        conclusion = self._conclusion(name)
        return None if conclusion is None else worded(_ROWS[name], conclusion)

    def _needed(self, name: str) -> Conclusion | None:
        by = self._asking[-1]
        assert name in by.needs, f"{by.name} does not say that it needs {name}"
        return self._conclusion(name)

    def _conclusion(self, name: str) -> Conclusion | None:
        if name not in self._conclusions:
            row = _ROWS[name]
            assert row not in self._asking, f"{name} needs itself"
            self._asking.append(row)
            self._conclusions[name] = self._estimated(row)
            self._asking.pop()
        return self._conclusions[name]

    def _estimated(self, row: Asked) -> Conclusion | None:
        view = self.view
        if not view.once(row.asked_by or row.rests_on):
            return None
        if row.of is Of.FLASH and view.is_disk:
            conclusion: Conclusion | None = inapplicable(say("inapplicable"))
        else:
            conclusion = row.estimator(view)
        if conclusion is None or conclusion.evidence is not None:
            return conclusion
        return replace(conclusion, evidence=ids(view.once(row.rests_on)))


def worded(row: Asked, conclusion: Conclusion) -> Finding:
    """A conclusion as the finding of its row."""
    said, detail = conclusion.said, dict(conclusion.detail)
    if "." not in said.code:
        said = Statement(sentences.code_of(row.section, said.code), said.parameters)
    if row.kind in (ValueKind.DISCRETE, ValueKind.YES_NO):
        detail["discrete"] = True
    low, high = conclusion.interval or (None, None)
    shown = {**detail, "value": conclusion.value, "low": low, "high": high}
    return Finding(
        name=row.name,
        title=row.title,
        verdict=conclusion.verdict,
        text=sentences.sentence(said, shown),
        value=conclusion.value,
        unit=None if conclusion.value is None else row.unit,
        interval=conclusion.interval,
        evidence=list(conclusion.evidence or ()),
        detail=detail,
        said=said,
    )
