"""Noise in the contest: it is there, it moves what a host sees, and false claims come first."""

import sys
from pathlib import Path

import pytest

import fourcorners as fc
from fourcorners.target.foreign import ForeignTarget
from fourcorners.target.simulated import SimulatedTarget
from fourcorners_validation.arena.explain.contest import GradedAnswer, ProbedDrive
from fourcorners_validation.arena.explain.document import render_noise
from fourcorners_validation.arena.explain.noise import as_seen, check_noise, disturbance
from fourcorners_validation.arena.explain.truths import Truth

_CHILD = Path(__file__).parents[1] / "drive" / "foreign" / "examples" / "drive.py"
_READS = fc.Workload([fc.Stream.read("random", 4096)], duration_s=30, ios=2000, seed=1)


@pytest.mark.parametrize(
    "locator", ["sim:ocz-core-64gb", "sim:wd6400aaks", f"exec:{sys.executable} {_CHILD}"]
)
def test_a_drive_of_any_kind_is_disturbed_again_in_the_same_way(locator: str) -> None:
    def latencies_s(noise: float) -> tuple[float, float]:
        with fc.open_target(locator, seed=1) as target:
            assert isinstance(target, SimulatedTarget | ForeignTarget)
            target.disturbance = disturbance(noise, 1)
            read = target.run(_READS).read
            return read.latency_percentile_s(50) or 0, read.latency_percentile_s(99.9) or 0

    calm, noisy = latencies_s(0.0), latencies_s(0.2)
    assert noisy == latencies_s(0.2) != calm
    assert noisy[0] == pytest.approx(calm[0] + 50e-6, rel=0.3)
    assert noisy[1] > 5 * noisy[0]


def test_what_a_command_takes_includes_the_host() -> None:
    true = {"flush_cost": 1e-3, "write_access_penalty": 0.0, "dies": 4.0}
    seen = as_seen(true, 0.2)
    assert seen == {"flush_cost": 1.05e-3, "write_access_penalty": 0.0, "dies": 4.0}
    assert as_seen(true, 0.0) == true


@pytest.mark.parametrize("noise", [-0.1, 0.3])
def test_noise_beyond_reason_is_refused(noise: float) -> None:
    with pytest.raises(fc.UserError, match=r"use a spread from 0 to 0\.2"):
        check_noise(noise)


def test_the_page_begins_with_what_was_claimed_falsely() -> None:
    answers = (GradedAnswer("dies", 4, 8, None), GradedAnswer("dies", 4, None, None))
    outcomes = [ProbedDrive(9, "disk", (answer,), ()) for answer in answers]
    page = render_noise([], [Truth("dies", True)], outcomes, seed=3, noise=0.1)
    assert "Drive 9 (disk): dies is 4, but was reported as 8." in page
    assert "Of 2 answers that were asked for, 1 were given." in page
    assert page.index("but was reported as 8") < page.index("The goals")
