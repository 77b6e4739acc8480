"""Foreign drives in the contest of the probes: what is drawn, graded and written."""

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import specimen_drive

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.errors import UserError
from fourcorners.target.open import open_target
from fourcorners.workload import Workload
from fourcorners_validation.arena.explain import program
from fourcorners_validation.arena.explain.contest import GradedAnswer, ProbedDrive, score
from fourcorners_validation.arena.explain.foreign import SPECIMENS, draw_foreign
from fourcorners_validation.arena.explain.foreign_document import (
    false_claims,
    met,
    render_foreign,
    wrong_values,
)
from fourcorners_validation.arena.explain.program import run_foreign, true_of_program
from fourcorners_validation.arena.explain.specimens import SOURCES, compile_specimens
from fourcorners_validation.arena.explain.truths import TRUTHS
from fourcorners_validation.arena.sentences import contest, drive
from fourcorners_validation.arena.steady.contest import StoppedTrace
from fourcorners_validation.arena.steady.contestants import CONTESTANTS, Stop
from fourcorners_validation.arena.steady.foreign import draw_case
from fourcorners_validation.arena.steady.foreign_document import (
    falsely_steady,
    render_foreign_traces,
)
from fourcorners_validation.arena.steady.truth import TraceTruth
from fourcorners_validation.arena.studies import TargetStudy

DRAWN = [(3, index) for index in range(2 * len(SPECIMENS))]


def test_the_same_seed_draws_the_same_drives_and_another_seed_others() -> None:
    drawn = [draw_foreign(3, index) for index in range(14)]
    assert drawn == [draw_foreign(3, index) for index in range(14)]
    assert all(a.arguments != b.arguments for a, b in zip(drawn, drawn[7:], strict=False))
    assert all(draw_foreign(4, index) != one for index, one in enumerate(drawn))


def test_of_each_specimen_every_other_drive_has_variation() -> None:
    for place, name in enumerate(SPECIMENS):
        drawn = [draw_foreign(5, place + turn * len(SPECIMENS)) for turn in range(4)]
        assert [one.specimen for one in drawn] == [name] * 4
        assert sum(one.calm for one in drawn) == 2
        assert [one.calm for one in drawn] == ["noise" not in one.arguments for one in drawn]


@pytest.mark.parametrize(("seed", "index"), DRAWN)
def test_every_drawn_drive_exists_and_says_truths_that_findings_are_about(
    seed: int, index: int
) -> None:
    drawn = draw_foreign(seed, index)
    true = true_of_program("exec:x", specimen_drive.truths(drawn.specimen, *drawn.words))
    assert {"explanation", "link_ceiling", "volatile_write_cache", "rotation_rpm"} <= true.keys()
    assert all(math.isfinite(value) and value >= 0 for value in true.values())
    on_disk = drawn.specimen in ("disk", "smr")
    assert (true["rotation_rpm"] > 0) == on_disk == (true["dies"] == 0)


def test_a_stripe_holds_all_planes_where_allocation_goes_through_them_first() -> None:
    def stripe(*arguments: str) -> float:
        arguments = ("channels=4", "planes=2", "page=4K", *arguments)
        return float(specimen_drive.truths("page_mapped", *arguments)["stripe_bytes"])

    assert stripe("order=CWDP") == 4096
    assert stripe("order=PWCD") == 8192
    assert stripe("order=WPCD", "ways=1") == 8192  # There is one way, so planes come first.


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with one compiled specimen."""
    (tmp_path / "adaptive_hybrid").symlink_to(specimen_drive.program("adaptive_hybrid"))
    return tmp_path


def test_findings_are_held_against_what_a_drawn_drive_says(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = draw_foreign(3, SPECIMENS.index("adaptive_hybrid"))
    small = replace(drawn, arguments={**drawn.arguments, "capacity": "64M"})
    monkeypatch.setattr(program, "SUITE", "probe-flush")
    monkeypatch.setattr(program, "draw_foreign", lambda *_: small)
    outcome = run_foreign(str(programs), 3, 3)
    assert (outcome.index, outcome.kind, outcome.failures) == (3, "adaptive_hybrid", ())
    found = {answer.finding: answer for answer in outcome.answers}
    assert found["volatile_write_cache"].value == found["volatile_write_cache"].truth == 0
    assert found["flush_cost"].value == pytest.approx(found["flush_cost"].truth, rel=0.05)
    assert found["dies"].value is None


def answer(finding: str, truth: float, value: float | None) -> GradedAnswer:
    return GradedAnswer(finding, truth, value, None)


OUTCOMES = [
    ProbedDrive(0, "page_mapped", (answer("dies", 8, 8), answer("read_ahead", 0, 1)), ()),
    ProbedDrive(1, "superblock", (answer("dies", 8, 16), answer("read_ahead", 0, 0)), ()),
    ProbedDrive(2, "dftl", (answer("dies", 8, None), answer("op_by_cliff", 0.1, 0.12)), ()),
    ProbedDrive(3, "adaptive_hybrid", (answer("op_by_cliff", 0.1, 0.13),), ()),
]


def test_false_claims_are_told_from_wrong_values() -> None:
    names = ["a", "b", "c", "d"]
    assert false_claims(names, OUTCOMES) == ["a: read_ahead is no, but was reported as yes."]
    assert wrong_values(names, OUTCOMES) == [
        "b: dies is 8, but was reported as 16.",
        "d: op_by_cliff is 10.0 % of user area, but was reported as 13.0 % of user area.",
    ]


def test_the_page_has_false_claims_first_and_counts_right_wrong_and_unknown() -> None:
    scores = [score(truth, OUTCOMES) for truth in TRUTHS]
    page = render_foreign([one for one in scores if one.drives], OUTCOMES, seed=3)
    heads = [line for line in page.splitlines() if line.startswith("#")]
    assert heads[1:3] == ["## False claims", "## Goals"]
    assert "- page_mapped 0: read_ahead is no, but was reported as yes." in page
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    by_name = {row[0]: row for row in rows if row}
    assert list(by_name)[2:5] == ["read_ahead", "dies", "op_by_cliff"]
    assert by_name["read_ahead"][1:7] == ["", "", "", "", "2", "1"]
    assert by_name["dies"][1:7] == ["3", "1", "1", "1", "", ""]
    assert by_name["superblock"][1:] == ["1", "0", "1", "0", "0"]
    assert "not more" not in page


def test_what_is_unknown_of_a_drive_is_held_against_the_goal() -> None:
    unknown = [ProbedDrive(0, "disk", tuple(answer(f, 8, None) for f in ("dies", "channels")), ())]
    known = [ProbedDrive(1, "disk", tuple(answer(f, 8, 8) for f in ("dies", "channels")), ())]
    assert met([], unknown + known)[-1].endswith("50 % of all; 1 of 2 drives have more.")


def test_truth_and_value_stand_side_by_side() -> None:
    outcome = ProbedDrive(0, "x", (answer("dies", 8, 16), answer("link_ceiling", 3e9, None)), ())
    alone = TargetStudy(1, (), (outcome,), ("exec:./drive",))
    (head, rows), *_ = alone.tables
    assert head[:3] == ("finding", "truth", "reported")
    assert rows[0] == ("dies", "8", "16", "", "WRONG")
    study = TargetStudy(1, (), (outcome,), ("exec:./drive", "exec:./other"))
    (head, rows), *_ = study.tables
    assert head[2:4] == ("truth", "reported")
    assert rows == [
        ("exec:./drive", "dies", "8", "16", "", "WRONG"),
        ("exec:./drive", "link_ceiling", "3,000 MB/s", "not identifiable", "", ""),
    ]
    json.dumps(study.to_dict(), default=vars)


def test_without_sources_or_compiler_one_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["arena", "explain", "--foreign", "--drives", "1"]
    assert main([*asked, "--specimens", str(tmp_path)]) == 2
    assert "does not have the foreign drives (page_mapped.c is missing)" in capsys.readouterr().err
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(asked) == 2
    said = capsys.readouterr().err
    assert 'there is no C compiler "cc"' in said
    assert said.count("\n") == 1


def test_a_specimen_that_does_not_compile_is_one_sentence(tmp_path: Path) -> None:
    for name in SPECIMENS:
        (tmp_path / f"{name}.c").write_text("int main(void) { return 0 }\n")
    with pytest.raises(UserError, match=r"\.c does not compile: .*error"):
        compile_specimens(tmp_path, tmp_path)


def test_foreign_drives_exclude_others_and_their_folder_needs_them() -> None:
    with pytest.raises(UserError, match="use one of --drives, --catalog, --foreign"):
        fc.arena_explain(foreign=True, catalog=True)
    with pytest.raises(UserError, match="--specimens is the folder"):
        fc.arena_explain(specimens=SOURCES)


@pytest.mark.parametrize("index", range(len(SPECIMENS)))
def test_every_small_drive_of_the_judges_contest_can_be_opened(index: int, tmp_path: Path) -> None:
    name = SPECIMENS[index]
    (tmp_path / name).symlink_to(specimen_drive.program(name))
    case = draw_case(str(tmp_path), 3, index)
    assert case == draw_case(str(tmp_path), 3, index)
    assert case != draw_case(str(tmp_path), 3, index, attempt=1)
    with case.opened() as drive:
        assert (case.kind, drive.kind) == (name, "simulated")
        assert drive.run(Workload([case.stream], ios=20, seed=1)).elapsed_s > 0


def test_every_drawn_superblock_drive_of_a_trace_has_enough_spare_area(tmp_path: Path) -> None:
    name, index = "superblock", SPECIMENS.index("superblock")
    (tmp_path / name).symlink_to(specimen_drive.program(name))
    for seed in range(60):
        with draw_case(str(tmp_path), seed, index).opened() as drive:
            assert drive.kind == "simulated"


def test_a_stop_before_the_drive_is_steady_is_the_first_thing_that_is_told() -> None:
    true = TraceTruth(value=1e6, tail_change=0.0, steady_from_s=100.0, oracle_s=200.0, window_s=5)
    stops = [Stop(50.0, 1e6), Stop(150.0, 1.2e6), Stop(150.0, 1.01e6), None]
    traces = [
        StoppedTrace(index, "dftl", 0.0, 1, true, dict.fromkeys(CONTESTANTS, stop), [])
        for index, stop in enumerate(stops)
    ]
    assert falsely_steady(traces) == [
        "dftl 0: steady after 50.0 s at 1.00 MB/s, but it is steady from 100 s on at 1.00 MB/s.",
        "dftl 1: steady after 150 s at 1.20 MB/s, but it is steady from 100 s on at 1.00 MB/s.",
    ]
    page = render_foreign_traces(traces, seed=3)
    assert "stopped 3 of 4 traces, 2 of them falsely (67 %; the goal is at most 2.0 %)" in page
    assert page.index("## Falsely steady") < page.index("## Contestants")


def test_sentences_about_a_drawn_drive_are_held_against_what_is_true_of_it(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = draw_foreign(3, SPECIMENS.index("adaptive_hybrid"))
    small = replace(drawn, arguments={**drawn.arguments, "capacity": "64M"})
    suite = contest.suite_of(1).only(("four-corners",))
    monkeypatch.setattr(contest, "draw_foreign", lambda *_: small)
    monkeypatch.setattr(contest, "suite_of", lambda _: suite)
    monkeypatch.setattr(drive, "_REPEATED", ("four-corners",))
    judged = contest.run_foreign_drive(str(programs), 3, 3)
    assert judged.kind == "adaptive_hybrid"
    assert {said.holds for said in judged.said} == {True}
    # The drive that is measured again reads more slowly: what was said of the first one is false.
    slow = replace(small, arguments={**small.arguments, "read": "5ms"})
    opened = itertools.chain([small, small], itertools.repeat(slow))
    monkeypatch.setattr(
        drive,
        "open_target",
        lambda _, seed: open_target(next(opened).locator(str(programs)), seed=seed),
    )
    again = contest.run_foreign_drive(str(programs), 3, 3)
    assert any("with another seed it is" in said.why for said in again.said)
