"""Runs the estimators of the catalog, each after those that it needs.

A value that rests on an assumption which failed is not given, so that no other finding uses it
either.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from fourcorners import sentences
from fourcorners.analysis.internals.answer import Answer, inapplicable, unknown
from fourcorners.analysis.internals.assumptions import UNTESTED, Assumption
from fourcorners.analysis.internals.catalog import CATALOG, Asked, Of, ValueKind
from fourcorners.analysis.internals.disk import mechanics
from fourcorners.analysis.internals.method import pace
from fourcorners.analysis.internals.method.contradictions import withdrawn
from fourcorners.analysis.internals.nand.programs import quick_write_s
from fourcorners.analysis.internals.view import View, ids
from fourcorners.analysis.source import RunData
from fourcorners.finding import Finding, worded
from fourcorners.sentences import Said, say

_ROWS = {row.name: row for row in CATALOG}


class Resolver:
    """The answers of a run. An estimator has access only to the answers that its row names."""

    def __init__(self, run: RunData, without: Collection[tuple[str, str]] = ()) -> None:
        """Runs no estimator yet; ``without`` are operations of recordings that are left out."""
        self.view = View(run, self._needed, without)
        self._answers: dict[str, Answer | None] = {}
        self._asking: list[Asked] = []

    def findings(self) -> list[Finding]:
        """All findings of the run, in the order of the catalog; none of those that contradict each
        other."""
        found = [self.finding(row.name) for row in CATALOG]
        return withdrawn([finding for finding in found if finding is not None])

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
        answer = self._without_flash() if row.of is Of.FLASH else None
        if answer is None:
            answer = row.estimator(view)
        if answer is None:
            return None
        # Another row may give the same answer, and has sentences of its own.
        if "." not in answer.said.code:
            code = sentences.code_of(row.section, answer.said.code)
            answer = replace(answer, said=Said(code, answer.said.parameters))
        answer = pace.widened(view, answer, row.unit)
        if answer.evidence is None:
            answer = replace(answer, evidence=ids(view.once(row.rests_on)))
        return _held(row, answer)

    def _without_flash(self) -> Answer | None:
        """The answer to what only flash has, of a drive whose reads take as long as a disk's;
        or whose writes are on a medium sooner than flash is programmed; ``None`` for others. A host
        or a network that is slow makes reads as long: a disk turns."""
        written_s = self.view.once(quick_write_s)
        durable = ("volatile_write_cache", "power_loss_protection")
        if written_s and all((it := self._answer(name)) and it.value == 0 for name in durable):
            return unknown(say("no_program", written=written_s))
        if not self.view.is_disk and not self.view.once(mechanics.long_reads):
            return None
        rotation = self._answer("rotation_rpm")
        if rotation is None or rotation.value:
            return inapplicable(say("inapplicable"))
        return unknown(say("slow")) if rotation.value is None else None


def _held(row: Asked, answer: Answer) -> Answer:
    """The answer; without its value where an assumption failed that its interval does not cover."""
    tested = {check.assumption for check in answer.checks}
    assert tested <= set(row.assumes), f"{row.name} does not say that it assumes {tested}"
    failed = [c for c in answer.checks if c.holds is False and not c.covered]
    if answer.verdict != "measured" or not failed:
        return answer
    shown = as_finding(row, replace(answer, checks=())).shown_value
    said = say("any.fails", failed=_clauses([c.assumption for c in failed]), shown=shown)
    evidence = list(
        dict.fromkeys([*(answer.evidence or ()), *(i for c in failed for i in c.evidence)])
    )
    return replace(unknown(said, detail=answer.detail, evidence=evidence), checks=answer.checks)


def _clauses(assumptions: list[Assumption]) -> list[Said]:
    first, *others = (say(f"assumption.{one}") for one in assumptions)
    return [first, *(say("any.and_that", clause=one) for one in others)]


def as_finding(row: Asked, answer: Answer) -> Finding:
    """Makes the finding of a row from its answer."""
    detail = dict(answer.detail)
    if row.kind in (ValueKind.DISCRETE, ValueKind.YES_NO):
        detail["discrete"] = True
    if row.assumes and answer.verdict != "not applicable":
        detail["assumptions"] = _assumed(row, answer)
    finding = worded(
        row.name,
        row.title,
        answer.verdict,
        answer.said,
        value=answer.value,
        unit=None if answer.value is None else row.unit,
        interval=answer.interval,
        evidence=list(answer.evidence or ()),
        detail=detail,
    )
    remarks = _remarks(row, answer) if answer.verdict == "measured" else []
    return replace(finding, text=" ".join([finding.text, *map(sentences.sentence, remarks)]))


def _assumed(row: Asked, answer: Answer) -> list[dict[str, Any]]:
    """The assumptions of a finding: name, words, what their test showed, and its recordings."""
    tested = {check.assumption: check for check in answer.checks}
    return [
        {
            "name": str(one),
            "text": say(f"assumption.{one}").text,
            "status": tested[one].status if one in tested else UNTESTED,
            "recordings": list(tested[one].evidence) if one in tested else [],
        }
        for one in row.assumes
    ]


def _remarks(row: Asked, answer: Answer) -> list[Said]:
    """The sentences about assumptions that were not tested, and about those that fail within the
    interval."""
    tested = {check.assumption for check in answer.checks}
    untested = [one for one in row.assumes if one not in tested]
    covered = [check.assumption for check in answer.checks if check.holds is False]
    parts = (("any.untested", untested), ("any.covered", covered))
    return [say(code, assumed=_clauses(some)) for code, some in parts if some]
