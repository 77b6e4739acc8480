"""Erasures that reads wait for are told from other waits at equal distances."""

from dataclasses import replace
from typing import cast

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import MIB, view_of

from fourcorners.analysis.internals.collection import periods_met, superblock
from fourcorners.analysis.internals.collection.periods_met import meet_the_same
from fourcorners.analysis.internals.collection.reads_beside import Waits
from fourcorners.analysis.internals.collection.superblock import erase_cycle
from fourcorners.analysis.internals.thresholds import FALSE_ALARM


def _waits(tread: float, chance: np.random.Generator, spread: float = 0.02) -> Waits:
    """Reads of four places: short ones, and long ones about where the die of the place erases,
    spread over a share of the distance between its erasures."""
    at_bytes = np.sort(chance.uniform(0, 500e6, 20_000))
    place = chance.integers(0, 4, len(at_bytes))
    met = (at_bytes / tread + place * 0.21) % 1 < spread
    met &= chance.random(len(at_bytes)) < 0.02 / spread
    seconds = chance.uniform(1e-4, 1e-3, len(at_bytes)) + 3e-3 * met
    return Waits(place, at_bytes, seconds, 100e6)


@pytest.mark.parametrize(
    ("fill_rate", "lost_s", "of_programs"),
    [
        (100e6, None, False),
        (1500e6, None, True),
        (1500e6, 0.2e-3, True),
        # Writes to a drive whose blocks have to be erased lack what the reads wait.
        (1500e6, 3.3e-3, False),
        (1500e6, 9e-3, True),
    ],
)
def test_waits_that_leave_no_time_to_write_are_for_programs(
    monkeypatch: pytest.MonkeyPatch, fill_rate: float, lost_s: float | None, of_programs: bool
) -> None:
    """3.5 ms after every 10 MB: dies that write 1.5 GB/s have 6.7 ms for as much."""
    reads = _waits(10e6, np.random.default_rng(1))
    monkeypatch.setattr(superblock, "waits", lambda _view: reads)
    monkeypatch.setattr(superblock, "lost_s", lambda _view, _unit_bytes: lost_s)
    run = FakeRun()
    run.add(
        "probe-overwrite/fill", "write", iops=fill_rate / 2**17, block_bytes=2**17, stage="fill"
    )
    view = view_of(run)
    assert superblock.leaves_no_time(view) == of_programs
    assert (superblock.cycle(view) is None) == of_programs
    assert (superblock.superblock(view).said.code == "programs") == of_programs


def test_erasures_at_equal_distances_are_found_die_by_die() -> None:
    tread = 13.7e6
    chance = np.random.default_rng(1)
    cycle = erase_cycle(_waits(tread, chance))
    assert cycle is not None
    assert abs(cycle.unit_bytes - tread) < cycle.margin_bytes < 0.01 * tread
    # Long waits at random places are no erasures.
    waits = _waits(tread, chance)
    scattered = replace(waits, seconds=chance.permutation(waits.seconds))
    assert erase_cycle(scattered) is None
    # Nor are long waits that come again, but not at whole distances.
    assert erase_cycle(_waits(tread, chance, spread=0.4)) is None


def test_what_a_buffer_holds_more_at_the_end_is_within_the_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 8 MiB that leave a buffer while 100 blocks are erased, each seems to be 1 % smaller."""
    reads = _waits(13.7e6, np.random.default_rng(1))
    monkeypatch.setattr(superblock, "waits", lambda _view: reads)
    run = FakeRun()
    run.add("probe-overwrite/beside", "read", iops=5000, stage="beside")
    found = [superblock.superblock(view_of(run, write_buffer_bytes=b)) for b in (0.0, 8e6)]
    (low, high), (lower, higher) = (cast(tuple[float, float], one.interval) for one in found)
    erased = reads.at_bytes[-1] / 13.7e6
    assert low - lower == pytest.approx(8e6 / erased, rel=0.01)
    assert higher - high == pytest.approx(8e6 / erased, rel=0.01)


@pytest.mark.parametrize(("parts", "more"), [(8, True), (1, False)])
def test_places_that_wait_in_the_same_few_of_several_periods_show_larger_blocks(
    parts: int, more: bool
) -> None:
    """Eight dies that reach the end of their blocks one after the other; six reads or so meet an
    erasure of each, too few for the shape of every one."""
    chance = np.random.default_rng(3)
    met = [
        place % parts + parts * np.sort(chance.choice(64 // parts, 6, replace=False))
        for place in range(8)
    ]
    assert meet_the_same(met) == more


def test_chance_seldom_makes_places_wait_in_the_same_parts() -> None:
    """One of a thousand times is expected; more than five are by chance in one of 1700 such tests
    (Poisson)."""
    chance = np.random.default_rng(4)
    told = sum(
        meet_the_same([np.sort(chance.choice(66, 6, replace=False)) for _ in range(8)])
        for _ in range(1000)
    )
    assert told <= 5


@pytest.mark.parametrize("between", [0, 20])
def test_a_rate_that_reads_and_writes_share_is_no_erasure(between: int) -> None:
    """Once the credits of a volume are used up, every read waits for as much as is outstanding."""
    held = np.tile(np.append(np.full(between, 1e-4), 11e-3), 300)
    unit = 2 * MIB
    steps = np.tile(np.append(np.full(between, 1e3), unit - between * 1e3), 300)
    free = np.full(10_000, 1e-4)
    seconds = np.append(free, held)
    at_bytes = np.cumsum(np.append(np.full(len(free), unit / 100), steps))
    found = erase_cycle(Waits(np.arange(len(seconds)) % 8, at_bytes, seconds, 200e6))
    assert (found is None) == (between == 0)


@pytest.mark.parametrize(("later", "alternate"), [(0.0, False), (0.06, True)])
def test_planes_that_erase_in_turn_are_not_taken_for_one(later: float, alternate: bool) -> None:
    """Every second wait comes later by a share of their distance, as where planes take turns."""
    chance = np.random.default_rng(3)
    places = []
    for _ in range(4):
        numbers = np.sort(chance.choice(400, 40, replace=False))
        places.append(MIB * (numbers + later * (numbers % 2) + chance.uniform(0, 0.03, 40)))
    assert (periods_met.chance_of_turns(places, MIB) < FALSE_ALARM) == alternate
