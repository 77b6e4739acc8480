"""The contest of the probes: what is drawn, and how answers are counted."""

import json
import math
from functools import partial

import pytest
from fault_runs import validate

import fourcorners as fc
from fourcorners.catalog import names
from fourcorners.cli.output import print_document
from fourcorners.errors import UserError
from fourcorners_validation.arena.explain.contest import (
    FindingScore,
    GradedAnswer,
    ProbedDrive,
    score,
)
from fourcorners_validation.arena.explain.document import wrong
from fourcorners_validation.arena.explain.drives import KINDS, draw
from fourcorners_validation.arena.explain.goals import all_intervals, is_wrong, judge
from fourcorners_validation.arena.explain.known import known
from fourcorners_validation.arena.explain.truths import TRUTHS, Truth, true_of
from fourcorners_validation.arena.studies import ProbingStudy


def _outcomes(
    *answers: tuple[float, float | None, tuple[float, float] | None],
) -> list[ProbedDrive]:
    return [
        ProbedDrive(index, "disk", (GradedAnswer("x", truth, value, interval),), ())
        for index, (truth, value, interval) in enumerate(answers)
    ]


def test_what_is_right_missed_unknown_and_made_up() -> None:
    outcomes = _outcomes((4, 4, None), (4, 8, None), (4, 0, None), (4, None, None), (0, 2, None))
    counted = score(Truth("x", True), outcomes)
    assert counted.drives == 5
    assert counted.exact == pytest.approx(1 / 2)
    assert counted.missed == pytest.approx(1 / 3)
    assert counted.unidentified == pytest.approx(1 / 5)
    assert counted.false == 1
    assert math.isnan(counted.coverage)


def test_errors_and_coverage_of_what_was_found() -> None:
    outcomes = _outcomes((10, 11, (9, 12)), (10, 10, (8, 9)), (0, 0, None))
    counted = score(Truth("x", False), outcomes)
    assert counted.error_median == pytest.approx(0.05)
    assert counted.coverage == pytest.approx(1 / 2)
    assert counted.false == 0


def test_bounds_are_counted_apart_and_what_does_not_apply_is_not_made_up() -> None:
    found = (
        GradedAnswer("x", 10, 10, (9, 11), bounds=True),
        GradedAnswer("x", 10, 10, (8, 9)),
        GradedAnswer("x", 0, 0, None, applies=False),
        GradedAnswer("x", 10, 0, None, applies=False),
    )
    outcomes = [ProbedDrive(index, "disk", (answer,), ()) for index, answer in enumerate(found)]
    counted = score(Truth("x", False), outcomes)
    assert counted.bounded == 1
    assert counted.coverage == 0
    assert counted.inapplicable == pytest.approx(1 / 2)
    assert counted.unidentified == 0
    assert counted.missed == pytest.approx(1 / 3)
    assert counted.false == 0


def test_what_cannot_be_counted_is_null_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = _outcomes((4, 4, None), (4, None, None), (10, 11, (9, math.inf)))
    counted = score(Truth("x", True), outcomes)
    assert math.isnan(counted.coverage)
    print_document("arena-explain", ProbingStudy(3, (counted,), tuple(outcomes)))
    document = json.loads(capsys.readouterr().out)
    validate("arena-explain", document)
    assert document["scores"][0]["coverage"] is None
    assert document["drives"][2]["answers"][0]["interval"] == [9, None]


@pytest.mark.parametrize(
    ("seed", "index"),
    # Of the last ones large blocks make up all of the spare area, or all that a pause frees.
    [*((3, index) for index in range(2 * len(KINDS))), (52525, 36), (10, 1)],
)
def test_every_hidden_drive_can_be_opened_and_has_truths(seed: int, index: int) -> None:
    hidden = draw(seed, index)
    assert hidden.kind == KINDS[index % len(KINDS)]
    assert hidden.drive == draw(seed, index).drive
    true = true_of(hidden)
    assert {"link", "command_queue_depth", "mapping_unit"} <= true.keys()
    assert all(math.isfinite(value) for value in true.values())


def test_drives_of_the_catalog_have_truths_in_numbers() -> None:
    drives = {drive.drive.id: drive for drive in map(partial(known, seed=1), range(len(names())))}
    assert list(drives) == names()
    true = {name: true_of(drive) for name, drive in drives.items()}
    drawn = [true_of(draw(3, index)) for index in range(len(KINDS))]
    told = {name for truths in [*true.values(), *drawn] for name in truths}
    assert {truth.finding for truth in TRUTHS} <= told
    assert all(math.isfinite(value) for truths in true.values() for value in truths.values())
    # 6 GB that are always there, and 0.4 of the free space at a third of its bytes.
    full = true["class-tlc-nvme-consumer-1tb"]["slc_cache_bytes"]
    assert full == pytest.approx(6e9 + 0.4 / 3 * (1000204886016 - full))
    assert true["samsung-830-256gb"]["write_drain_rate"] == 400e6  # The data path.
    assert true["ocz-core-64gb"]["link"] == 300e6
    assert true["ocz-core-64gb"]["volatile_write_cache"] == 1


def test_all_drives_of_the_catalog_are_probed_or_none() -> None:
    with pytest.raises(UserError, match="use one of --drives"):
        fc.arena_explain(drives=3, catalog=True)


def test_what_is_wrong_of_a_drive_of_the_catalog_is_said() -> None:
    outcomes = _outcomes((4, 4, None), (4, 8, (7, 9)), (4, 0, None), (4, None, None), (0, 2, None))
    said = wrong(names(), [Truth("x", True)], outcomes)
    first, second, third, *_ = names()[1:]
    assert said[:2] == [
        f"{first}: x is 4, but was reported as 8 (7 to 9).",
        f"{second}: x is 4, but was reported as 0.",
    ]
    assert third not in " ".join(said)
    assert len(said) == 3


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (GradedAnswer("x", 10, 11, (9, 12)), False),
        (GradedAnswer("x", 10, 12, (9, 13)), True),
        (GradedAnswer("x", 10, 12, (9, 13), bounds=True), False),
        (GradedAnswer("x", 10, 10, (10.1, 13), bounds=True), True),
        (GradedAnswer("x", 0, 0, None, applies=False), False),
        (GradedAnswer("x", 10, 0, None, applies=False), True),
    ],
)
def test_a_continuous_value_is_wrong_off_the_goal_or_out_of_its_bounds(
    answer: GradedAnswer, expected: bool
) -> None:
    assert is_wrong(answer, discrete=False) == expected


def test_goals_name_who_misses_them_and_leave_chance_to_few_drives() -> None:
    def continuous(name: str, held: int, count: int, error: float) -> FindingScore:
        answers = [
            GradedAnswer(name, 10, 10 * (1 + error), (9, 20) if index < held else (90, 91))
            for index in range(count)
        ]
        outcomes = [
            ProbedDrive(index, "disk", (answer,), ()) for index, answer in enumerate(answers)
        ]
        return score(Truth(name, False), outcomes)

    discrete = score(Truth("x", True), _outcomes((4, 8, None), (0, 1, None)))
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
