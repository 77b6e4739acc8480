"""The contest of steady state: its truth, its scores, and one trace of a simulated drive."""

import json
import math

import numpy as np
import pytest
from fault_runs import validate

from fourcorners.analysis.steady_state import UNIFORM
from fourcorners.cli import main
from fourcorners.cli.output import print_document
from fourcorners.errors import EXIT_USAGE
from fourcorners_validation.arena.steady.contest import StoppedTrace, run_trace, score
from fourcorners_validation.arena.steady.contestants import CONTESTANTS, JUDGE, Stop, snia
from fourcorners_validation.arena.steady.document import render_markdown
from fourcorners_validation.arena.steady.recipes import compare
from fourcorners_validation.arena.steady.traces import Trace
from fourcorners_validation.arena.steady.truth import TraceTruth, truth_of
from fourcorners_validation.arena.studies import SteadyStudy


def trace_of(rate: np.ndarray) -> Trace:
    return Trace(
        kind="synthetic",
        noise_share=0.0,
        capacity_bytes=1_000_000,
        spare_bytes_max=300_000,
        unwritten_bytes=0.0,
        spread=UNIFORM,
        round_s=2,
        rate=rate,
        clean=rate,
        written_bytes=rate,
    )


def test_truth_is_the_long_run_and_the_oracle_needs_the_transient_and_a_window() -> None:
    rate = np.concatenate((np.full(50, 5000.0), np.full(4000, 1000.0)))
    truth = truth_of(trace_of(rate))
    assert truth.value == 1000
    assert truth.window_s == 10
    # The last window that reaches into the plateau by so much that its mean is off by 10 %.
    assert truth.steady_from_s == pytest.approx(50, abs=2)
    assert 50 < truth.oracle_s <= 62


def test_snia_is_fooled_by_a_plateau() -> None:
    rate = np.concatenate((np.full(50, 5000.0), np.full(4000, 1000.0)))
    stop = snia(trace_of(rate))
    assert stop == Stop(10.0, 5000.0)


def test_scores_count_what_was_stopped_early_or_far_off() -> None:
    def outcome(stop: Stop | None) -> StoppedTrace:
        truth = TraceTruth(value=100, tail_change=0, steady_from_s=50, oracle_s=80, window_s=10)
        return StoppedTrace(0, "synthetic", 0.0, 1, truth, {JUDGE: stop}, [])

    row = score(
        JUDGE,
        [
            outcome(Stop(160, 101, 99, 103)),
            outcome(Stop(80, 111, 110, 112)),  # off by more than 10 %
            outcome(Stop(40, 100, 99, 101)),  # before the drive was steady
            outcome(None),
        ],
    )
    assert (row.traces, row.stopped) == (4, 3)
    assert row.falsely_steady == pytest.approx(2 / 3)
    assert row.error_median == pytest.approx(0.01)
    assert row.time_median == pytest.approx(1.0)
    assert row.covered == pytest.approx(2 / 3)
    assert math.isnan(score(JUDGE, [outcome(None)]).error_95)


def test_a_trace_repeats_itself_and_the_judge_is_near_its_truth(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcome = run_trace(4, 1)
    assert outcome == run_trace(4, 1)
    judged = outcome.stops[JUDGE]
    assert judged is not None
    assert judged.value == pytest.approx(outcome.truth.value, rel=0.1)
    assert set(outcome.stops) == set(CONTESTANTS)
    compared = compare(4, 1)
    assert "| the judge | 1 of 1 |" in render_markdown([outcome], [compared], seed=4)
    assert compared.fast_capacities < 0.6 * compared.customary_capacities
    assert abs(compared.between) < 0.06
    print_document("arena-steady", SteadyStudy(4, (outcome,), (compared,)))
    validate("arena-steady", json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("mistake", [["--traces", "0"], ["--seed", "-1"], ["--write", "none"]])
def test_mistakes_are_one_sentence(mistake: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["arena", "steady", *mistake]) == EXIT_USAGE
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("fourcorners: ")
    assert len(said.err.splitlines()) == 1
