"""Noise in the contest: it is there, it moves what a host sees, and false claims come first."""

import sys
from pathlib import Path

import pytest

import fourcorners as fc
from fourcorners.target.foreign import ForeignTarget
from fourcorners.target.simulated import SimulatedTarget
from fourcorners_validation.arena.explain.contest import GradedAnswer, ProbedDrive
from fourcorners_validation.arena.explain.noise import as_seen, check_noise, disturbance
from fourcorners_validation.arena.explain.noise_document import render_noise
from fourcorners_validation.arena.explain.noise_levels import AtLevels

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


@pytest.mark.parametrize(
    ("levels", "why"),
    [([0.1, -0.1], r"use a spread from 0 to 0\.2"), ([0.3], "--noise 0.3"), ([0, 0], "once")],
)
def test_levels_beyond_reason_are_refused(levels: list[float], why: str) -> None:
    with pytest.raises(fc.UserError, match=why):
        check_noise(levels)
    with pytest.raises(fc.UserError, match="one level"):
        fc.arena_explain(catalog=True, noise=[0.05, 0.1])


def test_the_page_of_noise_is_for_drawn_drives_own_and_foreign(tmp_path: Path) -> None:
    with pytest.raises(fc.UserError, match="leave out --catalog"):
        fc.arena_explain(catalog=True, noise=[0.1], write=tmp_path)
    with pytest.raises(fc.UserError, match="specimens"):  # which would be next, and are not here
        fc.arena_explain(foreign=True, noise=[0.1], specimens=tmp_path, write=tmp_path)


def test_every_drive_is_probed_at_every_level() -> None:
    def one(seed: int, index: int, *, noise: float) -> ProbedDrive:
        return ProbedDrive(index, f"{seed}", (), (), noise=noise)

    at = AtLevels(one, [0.0, 0.1, 0.2])
    met = [at.run(3, index) for index in range(6)]
    assert [(m.kind, m.index, m.noise) for m in met] == [
        ("3", drive, noise) for drive in (0, 1) for noise in (0.0, 0.1, 0.2)
    ]


def _at(noise: float, *answers: GradedAnswer, foreign: bool = False) -> ProbedDrive:
    return ProbedDrive(0, "disk", answers, (), noise=noise, foreign=foreign)


@pytest.mark.parametrize("foreign", [False, True])
def test_the_page_shows_every_level_and_names_false_claims_before_wrong_values(
    foreign: bool,
) -> None:
    def rate(half: float) -> GradedAnswer:
        return GradedAnswer("link_ceiling", 100, 120, (120 - half, 120 + half))

    dies, none = GradedAnswer("dies", 4, 8, None), GradedAnswer("dies", 4, None, None)
    made_up = GradedAnswer("read_ahead", 0, 1, None)
    bounds = GradedAnswer("write_buffer_bytes", 10, 20, (15, 25), bounds=True)
    page = render_noise(
        [
            _at(0.0, rate(2), none, foreign=foreign),
            _at(0.2, rate(30), dies, bounds, made_up, foreign=foreign),
        ],
        seed=3,
    )
    option = "--foreign " if foreign else ""
    assert f"explain {option}--noise 0 0.2 --drives 1 --seed 3 --write docs`" in page
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    table = {row[0]: row[1:] for row in rows if row}
    # An error of 20 % is wrong of an own drive, and not of a foreign one.
    quiet, noisy = ("0", "3") if foreign else ("1", "4")
    assert table["0"] == ["1", "2", "1", quiet, "0", "50", "1", "0", "0", "", "3.33", ""]
    assert table["0.2"] == ["1", "4", "4", noisy, "1", "0", "1", "100", "1", "0", "50", "15"]
    places = [
        page.index(said)
        for said in (
            "## False claims",
            "- Drive 0 (disk) at 0.2: read_ahead is 0, but was reported as 1.",
            "## Wrong values",
            "- Drive 0 (disk) at 0.2: dies is 4, but was reported as 8.",
            "- Drive 0 (disk) at 0.2: write_buffer_bytes is 10, but was reported as 20",
            "## By finding",
        )
    ]
    assert places == sorted(places)
    assert table["dies"] == ["1", "1", "1", "0", "0"]
    assert table["read_ahead"] == ["1", "1", "1", "1", "0"]
