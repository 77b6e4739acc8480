"""The check of sentences: it finds those that once were false when the old rules are put back."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from analysis_fixture import KIB, MIB, SIZES, FakeRun, access_seconds
from fault_runs import validate
from test_analysis_summary import DRIVES
from test_false_sentences import flat_fill, nvme, with_consistency

from fourcorners import characterize
from fourcorners.analysis import advice, consistency, consistency_findings, find, traits
from fourcorners.analysis.artefacts import medium
from fourcorners.analysis.following import FollowedCourse
from fourcorners.analysis.steady_state import Verdict
from fourcorners.cli import main
from fourcorners_validation.arena.sentences.contest import (
    JudgedDrive,
    JudgedSentence,
    false,
    judge,
    run_drive,
    scores,
)
from fourcorners_validation.arena.sentences.document import HIDDEN, render_markdown
from fourcorners_validation.arena.sentences.page import Page, PageSentence


def page_of(run: FakeRun) -> Page:
    return Page(run, find(run))


def false_names(run: FakeRun) -> set[str]:
    return {said.name for said in judge(page_of(run), None) if said.holds is False}


@pytest.mark.parametrize("kind", DRIVES)
def test_all_that_is_said_of_synthetic_drives_has_a_rule_and_is_true(kind: str) -> None:
    said = judge(page_of(DRIVES[kind]()), None)
    assert said
    assert [one for one in said if one.holds is False] == []


def test_a_sentence_without_a_name_or_a_rule_fails() -> None:
    page = page_of(DRIVES["disk"]())
    page.claims.append(PageSentence("praise", "It is a fine drive.", "summary", ()))
    summary = page.findings["summary"]
    assert [one.name for one in judge(page, None) if one.holds is False] == ["praise"]
    more = [*page.findings.values()]
    more[more.index(summary)] = type(summary)(
        **{**vars(summary), "text": summary.text + " It is a fine drive."}
    )
    again = judge(Page(page.run, more), None)
    assert [one.name for one in again if one.holds is False] == ["unnamed"]


def test_the_old_praise_of_a_drive_that_falls_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    run = with_consistency(np.where(np.arange(2000) < 60, 292_765.0, 26_270.0), 10**12)
    assert false_names(run) == set()
    feels_like = consistency_findings._feels_like
    monkeypatch.setattr(
        consistency_findings, "_feels_like", lambda iops, last, _: feels_like(iops, last, None)
    )
    monkeypatch.setattr(consistency, "is_same_throughout", lambda *_: True)
    [told] = [one for one in judge(page_of(run), None) if one.name == "feels_the_same"][:1]
    assert "It feels like the same drive all the time" in told.text
    assert told.holds is False
    assert "times as fast before" in told.why


def test_the_old_advice_against_small_reads_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    run = nvme(246_573.0)
    assert false_names(run) == set()
    monkeypatch.setattr(
        advice, "_needs_large", lambda seen: seen.half_speed_bytes >= advice.HALF_SPEED_BAD_BYTES
    )
    assert false_names(run) == {"avoid_small_reads", "dear_reads"}


def test_the_old_words_about_a_flat_fill_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    run = FakeRun(capacity_bytes=256 * 10**9)
    iops = flat_fill()
    run.add_consistency(iops)
    run.all_series["consistency/write", "write"]["bytes"] = iops * 128 * KIB
    run.points[0]["conditions"] = {"purged": True, "written_before_bytes": 0}
    assert false_names(run) == set()
    monkeypatch.setattr(Verdict, "is_seen_to_move", True)
    assert "not_steady" in false_names(run)


def test_two_numbers_for_one_read_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    run = FakeRun(capacity_bytes=10**12)
    run.add_queue_depths("read", {1: 1 / 70.3e-6, 31: 246_573.0})
    run.add_transfer_sizes("read", SIZES, access_seconds(60.2e-6, 3.5e9))
    assert false_names(run) == set()
    monkeypatch.setattr(traits, "_cost_s", lambda _: 60.2e-6)
    found = [one for one in judge(page_of(run), None) if one.holds is False]
    assert any("another sentence has" in one.why for one in found)


def test_the_old_advice_of_pauses_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    run = with_consistency(np.where(np.arange(2000) < 60, 90_000.0, 9_000.0), 10**12)
    assert false_names(run) == set()
    monkeypatch.setattr(traits, "_pauses", lambda _: traits.Pauses(True, None, ()))
    assert false_names(run) == {"pauses_help"}


def test_the_old_alarm_about_the_probe_of_trim_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    run = FakeRun()
    run.add("probe-trim/trimmed/4096", "read", iops=9_000.0, kind="trimmed", part_bytes=4096)
    run.points[0]["conditions"] = {"hole_share": 0.5}
    assert false_names(run) == set()
    monkeypatch.setattr(medium, "_READS_ERASED", ("nothing",))
    assert false_names(run) == {"artefact_unwritten_blocks"}


def test_the_old_word_about_a_level_that_never_was_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    iops = np.concatenate([[107_000.0, 94_000, 16_000], np.linspace(17_000, 27_000, 297)])
    run = with_consistency(iops, 4 * 10**9)
    assert false_names(run) == set()
    monkeypatch.setattr(FollowedCourse, "kept", property(lambda seen: not seen.left))
    assert "kept" in false_names(run)


def test_a_number_after_a_drop_that_is_no_mean_of_the_seconds_it_names_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = with_consistency(np.where(np.arange(2000) < 60, 90_000.0, 9_000.0), 10**12)
    assert (
        "to 9,000, the mean of the last 400 seconds, once" in page_of(run).findings["summary"].text
    )
    assert false_names(run) == set()
    monkeypatch.setattr(traits.Traits, "settled_iops", 12_000.0)
    assert "kind_page-mapped" in false_names(run)


def test_the_false_stand_first_and_with_their_drive() -> None:
    said = (
        JudgedSentence("a", "It is fast.", True, ""),
        JudgedSentence("b", "It is even.", False, "it is not"),
    )
    outcomes = [JudgedDrive("hidden drive 3 of seed 4", "disk", said)] * 2
    assert [(one.name, one.said, one.false) for one in scores(outcomes)] == [
        ("b", 2, 2),
        ("a", 2, 0),
    ]
    assert len(false(outcomes)) == 2
    text = render_markdown(outcomes, "fourcorners arena sentences", HIDDEN)
    assert "hidden drive 3 of seed 4 (disk): b: “It is even.” But it is not." in text
    assert text.index("| b |") < text.index("| a |")


def test_a_cluster_that_is_rewritten_in_no_time_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a file on a busy machine: the lone write was held up, and many at once were not."""
    run = FakeRun(capacity_bytes=10**9)
    run.add_queue_depths("read", {1: 3_760.0, 31: 19_500.0})
    run.add_queue_depths("write", {1: 168.0, 31: 20_900.0})
    assert not {"kind_block-mapped", "small_writes_cost"} & {c.name for c in page_of(run).claims}
    monkeypatch.setattr(traits, "_quickest_s", lambda *_: None)
    assert "kind_block-mapped" in false_names(run)


@pytest.mark.parametrize(("first_mb", "true"), [(50, True), (33, False)])
def test_a_fall_after_a_single_second_is_held_against_that_second(
    first_mb: int, true: bool
) -> None:
    run, name = FakeRun(), "artefact_write_cache"
    series = np.array([first_mb, *[33] * 40], np.float64)
    run.add("fill/fill", "write", iops=33.4, elapsed_s=41.0, series_iops=series, block_bytes=MIB)
    page = page_of(run)
    evidence = {
        "bytes_until_fall": 50e6,
        "fast_bytes_per_second": 50e6,
        "slow_bytes_per_second": 33e6,
    }
    numbers = {"evidence": evidence, "worst": "fill/fill"}
    page.claims[:] = [PageSentence(name, "The writes fell.", name, (), numbers)]
    assert [said.holds for said in judge(page, None)] == [true]


def test_less_than_can_be_written_as_a_share_is_read_as_that() -> None:
    """As of a hidden log-block drive (number 33 of seed 264098771)."""
    iops = np.concatenate([np.full(20, 6_500.0), np.zeros(60)])
    iops[-1] = 2.0
    run = with_consistency(iops, 10**10)
    assert "then below 0.01 % as fast as at its fastest" in page_of(run).findings["summary"].text
    assert false_names(run) == set()


def test_a_limit_of_the_link_that_a_recording_exceeds_is_found() -> None:
    run, name = FakeRun(), "artefact_link_limit"
    run.add("four-corners/sequential-read-qd1", "read", iops=558e6 / MIB, block_bytes=MIB)
    page = page_of(run)
    evidence = {"ceiling": 559e6, "unit": "bytes", "points": 4, "links": ["SATA 6 Gb/s"]}
    page.claims[:] = [
        PageSentence(name, "The link was the limit.", name, (), {"evidence": evidence})
    ]
    assert [said.holds for said in judge(page, None)] == [True]
    run.rows[0]["iops"] = 600e6 / MIB
    assert [said.why for said in judge(page, None)] == ["a recording has 600 MB/s"]


@pytest.mark.parametrize(("seed", "index"), [(11, 6), (11, 11)])
def test_nothing_false_is_said_of_a_hidden_drive(seed: int, index: int) -> None:
    outcome = run_drive(seed, index)
    assert len(outcome.said) > 15
    assert false([outcome]) == []


def test_runs_in_a_folder_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options: dict[str, Any] = {"profile": "quick", "tests": ["queue-depth"]}
    characterize("sim:wd6400aaks", out=tmp_path / "runs", **options)
    assert main(["arena", "sentences", "--runs", str(tmp_path / "runs")]) == 0
    printed = capsys.readouterr().out
    assert "sentences about 1 drives or runs" in printed
    assert " 0 false." in printed
    assert main(["arena", "sentences", "--runs", str(tmp_path / "runs"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate("arena-sentences", document)
    assert sum(score["said"] for score in document["scores"]) == len(document["drives"][0]["said"])
    assert main(["arena", "sentences", "--runs", str(tmp_path), "--drives", "3"]) == 2
    assert "use one of --drives, --catalog, --foreign and --runs" in capsys.readouterr().err
