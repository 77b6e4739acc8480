"""Stalls that do not explain the whole slowdown, and erasures that are few, are told where the
recordings show that no other count of them is possible."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import MIB, view_of

from fourcorners.analysis.internals.collection import stalls, superblock
from fourcorners.analysis.internals.collection.reads_beside import Waits
from fourcorners.analysis.internals.collection.superblock import Cycle, rare_cycle

EVERY = 3
"""Parts from one stall to the next."""


def _stalling(
    waiting: Sequence[int],
    before: int = 0,
    parts: int = 100,
    lasts_s: Callable[[int], float] = lambda _: 0.3,
) -> FakeRun:
    """A drive that is overwritten in parts of 4 MiB. From the cliff on all writes take twice as
    long, and in one part of :data:`EVERY` so many of 32 requests wait for 0.3 s.

    Args:
        waiting: the requests that wait in the stalls, in turn.
        before: those that do in as many parts before the cliff.
        parts: how many parts are overwritten.
        lasts_s: for how long the requests of a part wait instead.
    """
    run = FakeRun()
    for part in range(parts):
        late = part >= 40
        stalled = part % EVERY == 1
        held = (waiting[part // EVERY % len(waiting)] if late else before) if stalled else 0
        seconds = (0.08 if late else 0.04) + lasts_s(part) * (late and stalled)
        name = f"probe-overwrite/{part}"
        about: dict[str, Any] = {"block_bytes": 2**14, "queue_depth": 32, "stage": "overwrite"}
        run.add(name, "write", iops=256 / seconds, elapsed_s=seconds, **about)
        at_ns = np.array([10e6 if late else 5e6, 1e9 * lasts_s(part) + 5e6])
        run.histograms[name, "write"] = (at_ns, at_ns, np.array([256 - held, held]))
    return run


@pytest.mark.parametrize(
    ("waiting", "before", "told"),
    [
        ([32], 0, True),
        ([33, 31, 32], 0, True),
        # Requests for some of the dies wait for these.
        ([20, 27, 24], 0, False),
        # The drive stalls for something else, whether it collects or not.
        ([32], 32, False),
    ],
)
def test_stalls_that_hold_up_all_requests_are_counted_whatever_else_is_slow(
    waiting: list[int], before: int, told: bool
) -> None:
    view = view_of(_stalling(waiting, before))
    found = view.once(stalls.find_stalls)
    assert found is not None
    assert found.explained < 0.8
    answer = stalls.spacing(view)
    assert (answer.value is not None) == told
    if told:
        assert answer.value == pytest.approx(EVERY * 4 * MIB, rel=0.01)
    else:
        assert answer.said.code == "collection_stalls.too_often"


def _shorter(part: int) -> float:
    """What a stall lasts where one part has 2 % less to move than that before it."""
    return 3.0 * 0.98 ** (part - 40)


def test_stalls_that_become_shorter_have_the_mean_of_a_window() -> None:
    # The last stall comes in the last of 71 parts, or just after it.
    found = []
    for parts in (70, 71):
        view = view_of(_stalling([32], parts=parts, lasts_s=_shorter))
        counted = view.once(stalls.find_stalls)
        assert counted is not None
        window = [_shorter(40 + (part - 40) // EVERY * EVERY) for part in range(40, parts)]
        assert counted.length_s == pytest.approx(np.mean(window), rel=0.01)
        found.append(counted.length_s)
    assert found[1] == pytest.approx(found[0], rel=0.015)
    answer = stalls.length(view_of(_stalling([32], lasts_s=_shorter)))
    assert answer.said.code == "collection_stalls.lengths_differ"
    assert answer.said.parameters["most"] == pytest.approx(_shorter(40) + 5e-3, rel=0.01)


def test_the_mean_of_a_window_begins_with_the_first_stall() -> None:
    assert stalls.window_mean([0, 0, 4, 0, 0, 2, 0], [1] * 7) == pytest.approx(16 / 5)
    assert stalls.window_mean([0, 4, 2], [9, 3, 1]) == pytest.approx(14 / 4)
    assert stalls.window_mean([0, 0], [1, 1]) == 0


def _reads(met_of_place: list[list[int]]) -> Waits:
    """Reads of places, each of which waits for these of six erasures."""
    chance = np.random.default_rng(5)
    at_bytes = np.sort(chance.uniform(0, 1600e6, 40_000))
    place = chance.integers(0, len(met_of_place), len(at_bytes))
    turns = at_bytes / 256e6
    number = np.round(turns).astype(np.int64)
    of_place = np.array([[n in met for n in range(8)] for met in met_of_place])
    met = of_place[place, number] & (np.abs(turns - number) < 0.003)
    return Waits(place, at_bytes, chance.uniform(1e-4, 6e-4, len(met)) + 5e-3 * met, 160e6)


@pytest.mark.parametrize(
    ("met_of_place", "told"),
    [
        # As drive 99 of ``arena explain --drives 105 --seed 1618033``, which erases 256 MiB.
        ([[0, 2, 3, 5], [1, 2], [0, 1, 2, 3, 4], [2, 3, 4, 5], [0, 4], [1, 3, 5]], True),
        # So few may be every other one by chance.
        ([[1, 2], [3], [2, 4], [1, 3], [5], [1, 4]], False),
        # The planes of each die may erase in turn, one of them in the even numbers.
        ([[0, 2, 4], [1, 3, 5], [0, 2, 4], [1, 3, 5], [0, 2, 4], [1, 3, 5]] * 2, False),
    ],
)
def test_a_few_erasures_tell_their_distance_if_places_met_many_of_them(
    monkeypatch: pytest.MonkeyPatch, met_of_place: list[list[int]], told: bool
) -> None:
    reads = _reads(met_of_place)
    monkeypatch.setattr(superblock, "waits", lambda _view: reads)
    run = FakeRun()
    run.add("probe-overwrite/beside", "read", iops=1000, stage="beside")
    view = view_of(run)
    rare = view.once(rare_cycle)
    assert rare is not None
    assert rare.events < superblock.EVENTS_MIN
    said = superblock.superblock(view).said
    # What seldom waits may be something else than an erasure, but does wait.
    assert (said.code == "few") == (not told)
    found = view.once(superblock.cycle)
    assert (found is not None) == told
    if found is not None:
        assert abs(found.unit_bytes - 256e6) <= found.margin_bytes < 0.01 * 256e6


def test_rare_waits_are_not_said_to_be_of_a_superblock(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = stalls.Stalls(5e-3, 32 * MIB, MIB, 40.0, explained=0.95, waiting=0.01)
    rare = Cycle(513 * MIB, 2 * MIB, 5e-3, 3.0, 0.99, 1e-3, 20.0)
    for name, found in (("find_stalls", shown), ("cycle", None), ("rare_cycle", rare)):
        monkeypatch.setattr(stalls, name, lambda _view, found=found: found)
    run = FakeRun()
    run.add("probe-overwrite/overwrite/1", "write", iops=1000, stage="overwrite")
    assert stalls.spacing(view_of(run)).said.code == "collection_stalls.unlike_rare"


@pytest.mark.parametrize(
    ("spacing", "middle", "against"),
    [
        (20 * MIB, 20 * MIB, True),
        # Two stalls for each unit.
        (16.5 * MIB, 16 * MIB, False),
        # Some stalls were not counted, so that the mean is no distance.
        (20 * MIB, 16 * MIB, False),
    ],
)
def test_stalls_contradict_an_erase_unit_unless_it_is_collected_in_two_goes(
    spacing: float, middle: float, against: bool
) -> None:
    distances = (0.9 * middle, middle, 1.2 * middle)
    found = stalls.Stalls(1.0, spacing, 0.3 * MIB, 60.0, 1.0, 0.02, 0.0, distances)
    assert stalls.contradicts(found, 32 * MIB) == against


def test_the_number_of_stalls_at_equal_distances_follows_what_is_written() -> None:
    """Also if the parts of the probe are larger than the distance: it strays by less than one."""
    written = np.tile([16.0, 32.0], 30)
    total = np.cumsum(written)
    even = np.diff(np.floor(total / 18.1), prepend=0.0)
    assert stalls.wander(written, even) < 1
    # One in each 16 at first, and then one in each 20, has the same mean distance.
    later = np.where(
        total < total[-1] / 2, total / 16, total[-1] / 32 + (total - total[-1] / 2) / 20
    )
    assert stalls.wander(written, np.diff(np.floor(later), prepend=0.0)) > stalls._WANDER_MAX


@pytest.mark.parametrize(("wander", "known"), [(0.5, True), (3.5, False)])
def test_stalls_whose_number_strays_from_what_is_written_have_no_distance(
    wander: float, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second was measured where the host and collection write to the same blocks, and noise
    hides the erasures: the parts are larger than any of the distances."""
    apart = (16.0 * MIB, 16.0 * MIB, 32.0 * MIB)
    shown = stalls.Stalls(
        0.4, 18.1 * MIB, 0.4 * MIB, 129.0, 0.94, 0.03, distances=apart, by_chance=0.0, wander=wander
    )
    for name, found in (("find_stalls", shown), ("cycle", None), ("rare_cycle", None)):
        monkeypatch.setattr(stalls, name, lambda _view, found=found: found)
    run = FakeRun()
    run.add(
        "probe-overwrite/overwrite/1",
        "write",
        iops=1000,
        elapsed_s=2.0,
        block_bytes=2**14,
        stage="overwrite",
    )
    answer = stalls.spacing(view_of(run))
    assert (answer.value is not None) == known
    assert known or answer.said.code == "collection_stalls.irregular"
