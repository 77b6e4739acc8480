"""What a finding assumes: untested it is said, tested it is shown, and failed there is no value."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from analysis_fixture import FakeRun

from fourcorners.analysis.internals import resolver
from fourcorners.analysis.internals.answer import Answer, known
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.catalog import CATALOG
from fourcorners.analysis.internals.view import View
from fourcorners.finding import Finding
from fourcorners.sentences import say

EVEN, EMPTY = Assumption.EVEN_DRAIN, Assumption.EMPTY_AT_FIRST
ROOMS = ("collection", "caches", "disk")


def _found(monkeypatch: pytest.MonkeyPatch, change: Callable[[Answer], Answer]) -> Finding:
    """The drain rate of 5 MB/s, which rests on two assumptions, as an estimator changes it."""
    [row] = [row for row in CATALOG if row.name == "write_drain_rate"]
    run = FakeRun()
    run.add("probe-burst/short", "write", iops=1.0, stage="short")

    def estimator(view: View) -> Answer:
        return change(known(5e6, say("measured"), interval=(4e6, 6e6)))

    row = replace(row, estimator=estimator, assumes=(EVEN, EMPTY))
    monkeypatch.setitem(resolver._ROWS, row.name, row)
    found = resolver.Resolver(run).finding(row.name)
    assert found is not None
    return found


def _status(found: Finding) -> dict[str, str]:
    return {one["name"]: one["status"] for one in found.detail["assumptions"]}


def test_what_was_not_tested_stands_in_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _found(monkeypatch, lambda answer: answer)
    assert found.value == 5e6
    assert "assumes, untested, that a full buffer drains at a constant rate and that the" in (
        found.text
    )
    assert set(_status(found).values()) == {"not tested"}


def test_what_was_tested_stands_with_its_recordings(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _found(
        monkeypatch, lambda answer: answer.checked(EVEN, True, ["a"]).checked(EMPTY, None)
    )
    assert "untested" not in found.text
    assert _status(found) == {EVEN: "holds", EMPTY: "not needed"}
    assert found.detail["assumptions"][0]["recordings"] == ["a"]


def test_a_failed_assumption_takes_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _found(monkeypatch, lambda answer: answer.checked(EVEN, False, ["other"]))
    assert (found.verdict, found.value, found.interval) == ("not identifiable", None, None)
    assert "other" in found.evidence
    assert "drains at a constant rate" in found.text
    assert "5.00 MB/s" in found.text
    assert _status(found) == {EVEN: "fails", EMPTY: "not tested"}


def test_an_interval_that_covers_the_alternatives_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _found(monkeypatch, lambda answer: answer.checked(EVEN, False, covered=True))
    assert found.interval == (4e6, 6e6)
    assert "the interval allows for that" in found.text
    assert _status(found)[EVEN] == "fails, within the interval"


def test_an_estimator_tests_only_what_its_row_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="does not say that it assumes"):
        _found(monkeypatch, lambda answer: answer.checked(Assumption.ANY_ANGLE, True))


@pytest.mark.parametrize("room", ROOMS)
def test_every_finding_of_a_room_names_what_it_assumes(room: str) -> None:
    rows = [row for row in CATALOG if f".{room}." in getattr(row.estimator, "__module__", "")]
    assert rows
    assert [row.name for row in rows if not row.assumes] == []


def test_every_assumption_is_one_of_a_finding() -> None:
    assert {one for row in CATALOG for one in row.assumes} == set(Assumption)
