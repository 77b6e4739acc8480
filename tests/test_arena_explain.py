"""The contest of the probes: what is drawn, and how answers are counted."""

import json
import math

import pytest
from fault_runs import validate

from fourcorners.arena.explain.contest import Answer, Outcome, Score, score
from fourcorners.arena.explain.drives import KINDS, draw
from fourcorners.arena.explain.goals import all_intervals, judge
from fourcorners.arena.explain.truth import Truth
from fourcorners.arena.explain.truths import TRUTHS
from fourcorners.cli.arena import explain_document
from fourcorners.cli.output import print_document
from fourcorners.targets import SimulatedTarget


def _outcomes(*answers: tuple[float, float | None, tuple[float, float] | None]) -> list[Outcome]:
    return [
        Outcome(index, "disk", (Answer("x", truth, value, interval),), ())
        for index, (truth, value, interval) in enumerate(answers)
    ]


def test_what_is_right_missed_unknown_and_made_up() -> None:
    outcomes = _outcomes((4, 4, None), (4, 8, None), (4, 0, None), (4, None, None), (0, 2, None))
    counted = score(Truth("x", True, lambda _: None), outcomes)
    assert counted.drives == 5
    assert counted.exact == pytest.approx(1 / 2)
    assert counted.missed == pytest.approx(1 / 3)
    assert counted.unidentified == pytest.approx(1 / 5)
    assert counted.false == 1
    assert math.isnan(counted.coverage)


def test_errors_and_coverage_of_what_was_found() -> None:
    outcomes = _outcomes((10, 11, (9, 12)), (10, 10, (8, 9)), (0, 0, None))
    counted = score(Truth("x", False, lambda _: None), outcomes)
    assert counted.error_median == pytest.approx(0.05)
    assert counted.coverage == pytest.approx(1 / 2)
    assert counted.false == 0


def test_bounds_are_counted_apart_and_what_does_not_apply_is_not_made_up() -> None:
    found = (
        Answer("x", 10, 10, (9, 11), bounds=True),
        Answer("x", 10, 10, (8, 9)),
        Answer("x", 0, 0, None, applies=False),
        Answer("x", 10, 0, None, applies=False),
    )
    outcomes = [Outcome(index, "disk", (answer,), ()) for index, answer in enumerate(found)]
    counted = score(Truth("x", False, lambda _: None), outcomes)
    assert counted.bounded == 1
    assert counted.coverage == 0
    assert counted.inapplicable == pytest.approx(1 / 2)
    assert counted.unidentified == 0
    assert counted.missed == pytest.approx(1 / 3)
    assert counted.false == 0


def test_what_cannot_be_counted_is_null_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = _outcomes((4, 4, None), (4, None, None), (10, 11, (9, math.inf)))
    counted = score(Truth("x", True, lambda _: None), outcomes)
    assert math.isnan(counted.coverage)
    print_document("arena-explain", explain_document(3, [counted], outcomes))
    document = json.loads(capsys.readouterr().out)
    validate("arena-explain", document)
    assert document["scores"][0]["coverage"] is None
    assert document["drives"][2]["answers"][0]["interval"] == [9, None]


@pytest.mark.parametrize("index", range(2 * len(KINDS)))
def test_every_hidden_drive_can_be_opened_and_has_truths(index: int) -> None:
    hidden = draw(3, index)
    assert hidden.kind == KINDS[index % len(KINDS)]
    assert hidden.drive == draw(3, index).drive
    assert [truth for truth in TRUTHS if truth.of(hidden) is not None]
    target = SimulatedTarget(hidden.drive.id, hidden.drive, {}, hidden.seed)
    assert target.capacity_bytes == hidden.get("capacity.user")


def test_goals_name_who_misses_them_and_leave_chance_to_few_drives() -> None:
    def continuous(name: str, held: int, count: int, error: float) -> Score:
        answers = [
            Answer(name, 10, 10 * (1 + error), (9, 20) if index < held else (90, 91))
            for index in range(count)
        ]
        outcomes = [Outcome(index, "disk", (answer,), ()) for index, answer in enumerate(answers)]
        return score(Truth(name, False, lambda _: None), outcomes)

    discrete = score(Truth("x", True, lambda _: None), _outcomes((4, 8, None), (0, 1, None)))
    scores = [
        discrete,
        continuous("few", held=10, count=10, error=0.01),
        continuous("wide", held=300, count=300, error=0.01),
        continuous("narrow", held=200, count=300, error=0.2),
    ]
    exact, median, percentile, coverage, bounded, false, missed = judge(scores)
    assert exact.missed == ("x 0 %",)
    assert median.met == percentile.met == ("few", "wide")
    assert coverage.met == ("few",)
    assert coverage.missed == ("wide 100 %", "narrow 66.7 %")
    assert bounded.asked == 0
    assert false.missed == ("x 100 %",)
    assert missed.asked == 4
    assert all_intervals(scores) == (510, 610)
