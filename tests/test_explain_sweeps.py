"""Heads and their switch of disks that stay with one head for a whole zone."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

import fourcorners as fc
from fourcorners.analysis.internals.disk import angles, sweeps, zones
from fourcorners.analysis.internals.disk.sweeps import Layout, Swept, Ways
from fourcorners.analysis.internals.view import View
from fourcorners.recording.arrays import Floats

TURN_S, TRACK_BYTES, TRACKS = 60 / 7200, 1_000_448, 12_000
END = float(TRACK_BYTES * TRACKS)
NEAR_END = (0.95 * END, 1.03 * END)


def _reads(layout: Layout, count: int = 700, seed: int = 1) -> Ways:
    """Reads anywhere in the zone, whose seeks scatter by 4 %."""
    chance = np.random.default_rng(seed)
    place = chance.integers(0, int(NEAR_END[0]) // 4096, count + 1) * 4096.0
    ways = Ways(np.array(place[:-1]), np.array(place[1:]), np.zeros(count))
    seek_s = (0.5e-3 + 3e-3 * layout.root(ways)) * chance.normal(1, 0.04, count)
    return dataclasses.replace(ways, seconds=2e-4 + seek_s + chance.uniform(0, TURN_S, count))


def _found(ways: Ways) -> Swept | None:
    return sweeps.of_zone(ways, (0.0, 0.0), NEAR_END, TURN_S)


@pytest.mark.parametrize(
    ("count", "groups", "folded"), [(2, 1, True), (6, 1, True), (4, 1, False), (8, 2, True)]
)
def test_the_way_between_places_shows_the_sweeps(count: int, groups: int, folded: bool) -> None:
    """Of as many heads as a group of cylinders is swept over."""
    found = _found(_reads(Layout(0.0, END, count, groups, folded)))
    assert found is not None
    assert found.heads == count // groups
    assert found.fit.layout.end == pytest.approx(END, rel=0.01)


def test_addresses_in_order_show_no_heads() -> None:
    assert _found(_reads(Layout(0.0, END, 1))) is None


def test_sweeps_that_do_not_begin_with_the_zone_show_no_heads() -> None:
    """As where the disk keeps the first tracks for itself."""
    assert _found(_reads(Layout(-0.09 * END, END, 4))) is None


def test_times_that_are_no_seek_and_a_wait_show_no_heads() -> None:
    """Other load moves the arm between some of the reads."""
    ways = _reads(Layout(0.0, END, 4))
    ways.seconds[::4] += np.random.default_rng(2).uniform(0, 3 * TURN_S, len(ways.seconds[::4]))
    assert _found(ways) is None


def _swept_of(zone_ends: list[tuple[float, float]], ways: Ways) -> Swept | None:
    """Of a disk whose zones end there, all of which have the same rate."""
    known = {
        sweeps.ways: ways,
        zones.boundaries: zone_ends,
        zones.rates: [1e8] * (len(zone_ends) + 1),
    }
    view = SimpleNamespace(value=lambda name: 60 / TURN_S, once=lambda what: known[what])
    return sweeps.swept(cast(View, view))


@pytest.mark.parametrize(
    ("sweeps", "next_zone", "heads"), [(2, 1.02, 2), (2, 2.0, None), (5, 1.15, None)]
)
def test_a_zone_of_which_only_a_part_is_seen_shows_no_heads(
    sweeps: int, next_zone: float, heads: int | None
) -> None:
    """The rest of the first zone may begin just where a sweep does: of six, one may be hidden."""
    behind = (1 + next_zone) * END
    found = _swept_of([NEAR_END, (behind, 1.02 * behind)], _reads(Layout(0.0, END, sweeps)))
    assert (found.heads if found else None) == heads


def _turned(ways: Ways, layout: Layout, track_skew_s: float, head_skew_s: float) -> Ways:
    """The same reads, which end when their sectors have passed the head."""

    def angle(place: Floats) -> Floats:
        tracks, changes = np.floor(place / TRACK_BYTES), np.floor(layout.swept(place))
        return (
            place / TRACK_BYTES
            + (tracks * track_skew_s + changes * (head_skew_s - track_skew_s)) / TURN_S
        )

    further = (angle(ways.place) - angle(ways.before)) % 1
    least = ways.seconds / TURN_S
    return dataclasses.replace(ways, seconds=(further + np.ceil(least - further)) * TURN_S)


@pytest.mark.parametrize("head_skew_s", [1.4e-3, 0.9e-3, 0.3e-3])
def test_angles_show_the_skew_of_two_surfaces(head_skew_s: float) -> None:
    layout = Layout(0.0, END, 4)
    ways = _turned(_reads(layout), layout, 0.9e-3, head_skew_s)
    bounds = TRACK_BYTES - 700.0, TRACK_BYTES + 700.0
    skew = angles.between_surfaces(ways, layout, bounds, (0.9e-3 + 1e-7, 2e-6), TURN_S)
    assert skew is not None
    assert skew.seconds == pytest.approx(head_skew_s, abs=3e-6 + skew.error_s)


def test_angles_that_do_not_agree_show_no_skew() -> None:
    layout = Layout(0.0, END, 4)
    bounds = TRACK_BYTES - 700.0, TRACK_BYTES + 700.0
    assert angles.between_surfaces(_reads(layout), layout, bounds, (0.9e-3, 2e-6), TURN_S) is None


def test_a_disk_with_heads_in_turn_shows_no_sweeps(tmp_path: Path) -> None:
    """Its switches are alike, and its addresses lie in order."""
    settings = {"seek.head_switch": "0.9 ms", "seek.track_switch": "0.9 ms"}
    with fc.open_target("sim:wd6400aaks", settings=settings) as target:
        run = fc.run("explain-reads", target, out=tmp_path)
    found = {f.name: f for f in run.findings}
    assert found["heads"].verdict == found["head_switch"].verdict == "not identifiable"
    assert found["seek_base"].verdict == "measured"


def test_a_skew_of_sweeps_that_end_elsewhere_is_none() -> None:
    """The angles agree, as the head adds little, but on too little of it."""
    layout = Layout(0.0, END, 4)
    ways = _turned(_reads(layout), layout, 0.9e-3, 1.1e-3)
    bounds, off = (TRACK_BYTES - 700.0, TRACK_BYTES + 700.0), Layout(0.0, 1.08 * END, 4)
    assert angles.between_surfaces(ways, off, bounds, (0.9e-3, 2e-6), TURN_S) is None
