"""Whether two subjects have the same flash: the verdict follows the times, and chance stays below
the rate that is promised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from fourcorners.comparison.flash import FALSE_ALARM, FlashComparison, same_flash
from fourcorners.comparison.subject import ComparedRuns
from fourcorners.finding import Finding


@dataclass
class Explained:
    """A run of which only the findings matter."""

    findings: list[Finding] = field(default_factory=list)


def _time(name: str, value: float | None, half: float) -> Finding:
    verdict = "not identifiable" if value is None else "measured"
    interval = None if value is None else (value * (1 - half), value * (1 + half))
    return Finding(name, name, verdict, "", value, "s", interval)  # type: ignore[arg-type]


def _drive(read: float | None, program: float | None, half: float = 0.03) -> Explained:
    return Explained([_time("page_read_time", read, half), _time("program_time", program, half)])


def _compared(base: Sequence[Explained], other: Sequence[Explained]) -> FlashComparison:
    sides = [ComparedRuns("A", base), ComparedRuns("B", other)]  # type: ignore[arg-type]
    [found] = same_flash(sides)
    return found


def test_a_program_that_takes_longer_is_another_flash() -> None:
    found = _compared([_drive(50e-6, 0.9e-3)], [_drive(50e-6, 1.5e-3)])
    assert found.verdict == "different"
    assert [time.name for time in found.times if time.differs] == ["program_time"]
    assert "the flash is another one" in found.words


def test_times_within_their_intervals_are_alike_and_say_how_closely() -> None:
    found = _compared([_drive(50e-6, 0.9e-3)], [_drive(51e-6, 0.92e-3)])
    assert found.verdict == "alike"
    low, high = found.times[1].ratio.interval()
    assert low < 1 < high < 1.1


def test_times_that_one_side_lacks_decide_nothing() -> None:
    found = _compared([_drive(50e-6, None)], [_drive(None, 1.5e-3)])
    assert found.verdict == "not shown"
    assert same_flash([ComparedRuns("A", []), ComparedRuns("B", [])]) == ()


def test_the_spread_of_a_lot_counts() -> None:
    near = [_drive(50e-6, time) for time in (0.88e-3, 0.9e-3, 0.92e-3)]
    assert _compared(near, [_drive(50e-6, 1.2e-3)] * 3).verdict == "different"
    apart = [_drive(50e-6, time) for time in (0.6e-3, 0.9e-3, 1.3e-3)]
    assert _compared(apart, [_drive(50e-6, 1.2e-3)] * 3).verdict == "alike"


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.2])
def test_equal_flash_is_rarely_said_to_differ(noise: float) -> None:
    """Values that scatter about the truth as their 90 % intervals say."""
    chance = np.random.default_rng(7)
    half = 1.645 * noise
    said = 0
    for _ in range(1000):
        sides = []
        for _ in range(2):
            read, program = np.exp(noise * chance.standard_normal(2))
            findings = [
                Finding(
                    name, name, "measured", "", one, "s", (one * np.exp(-half), one * np.exp(half))
                )
                for name, one in (("page_read_time", read), ("program_time", program))
            ]
            sides.append([Explained(findings)])
        said += _compared(*sides).verdict == "different"
    assert said <= 1.6 * FALSE_ALARM * 1000


def test_bounds_that_hold_the_truth_are_never_told_apart() -> None:
    for half, other in ((0.02, 0.2), (0.1, 0.1), (0.25, 0.01)):
        one = Finding("erase_time", "", "measured", "", 1 + half, "s", (1.0, (1 + half) ** 2))
        two = Finding("erase_time", "", "measured", "", 1 - other, "s", ((1 - other) ** 2, 1.0))
        assert _compared([Explained([one])], [Explained([two])]).verdict == "alike"
