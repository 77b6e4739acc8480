"""Tracks, switches and heads as the probes find them follow the drive's own."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

import fourcorners as fc
from fourcorners.analysis.internals.disk import track_ends, tracks
from fourcorners.analysis.internals.view import View
from fourcorners.finding import Finding
from fourcorners.store import Run

DRIVE = "sim:wd6400aaks"


def _finding(run: Run, name: str) -> Finding:
    [finding] = [f for f in run.findings if f.name == name]
    return finding


@pytest.mark.parametrize(
    ("head_ms", "switch_ms", "heads"),
    [(0.9, 0.9, 4), (0.9, 1.1, 2), (0.6, 1.0, 2), (1.4, 0.8, 2), (0.8, 2.0, 6)],
)
def test_tracks_follow_the_drives(
    head_ms: float, switch_ms: float, heads: int, tmp_path: Path
) -> None:
    settings = {
        "seek.head_switch": f"{head_ms} ms",
        "seek.track_switch": f"{switch_ms} ms",
        "geometry.heads": str(heads),
    }
    with fc.open_target(DRIVE, settings=settings) as target:
        run = fc.run("probe-seeks", target, out=tmp_path)
    outer, inner, zones_count, turn_s = 113.6 * 2**20, 56.8 * 2**20, 16, 60 / 7200
    rate = outer - 0.5 / zones_count * (outer - inner)
    mean_s = (switch_ms + (heads - 1) * head_ms) / heads * 1e-3
    truths = {"track_switch": switch_ms * 1e-3, "track_bytes": rate * (turn_s + mean_s)}
    if head_ms != switch_ms:
        truths |= {"head_switch": head_ms * 1e-3, "heads": heads}
    else:
        assert _finding(run, "heads").verdict == "not identifiable"
    for name, truth in truths.items():
        found = _finding(run, name)
        if heads == 2 and name.endswith("_switch"):
            # Which of the two it is depends on where the first cylinder begins.
            if head_ms > 1.25 * switch_ms:
                assert found.verdict == "not identifiable"
                continue
            assert found.interval is not None
            assert found.interval[0] <= 1e-3 * head_ms <= found.interval[1]
            assert found.interval[0] <= 1e-3 * switch_ms <= found.interval[1]
        assert found.value == pytest.approx(truth, rel=2e-3)


def test_reads_that_do_not_follow_the_head_show_no_track() -> None:
    times = np.random.default_rng(3).uniform(2e-3, 10e-3, 1000)
    followed = tracks.Followed.of(times)
    assert followed is None or followed.staying_share + followed.leaving_share < 0.95


@pytest.mark.parametrize("noise_s", [0.0, 10e-6])
def test_switches_out_of_turn_are_none_of_heads(noise_s: float) -> None:
    chance = np.random.default_rng(5)
    times = np.full(3000, 1e-3) + chance.normal(0, noise_s, 3000)
    times[::10] += np.where(np.arange(300) % 3 == 2, 1.5e-3, 1e-3)
    followed = tracks.Followed.of(times)
    assert followed is not None
    assert followed.in_turn is not None
    heads, head, track = followed.in_turn
    assert heads == 3
    assert (head.seconds, track.seconds) == pytest.approx((1e-3, 1.5e-3), rel=1e-2)
    times[::10] = chance.permutation(times[::10])
    followed = tracks.Followed.of(times)
    assert followed is not None
    assert followed.in_turn is None


@pytest.mark.parametrize(("next_run_s", "run", "heads"), [(1.11e-3, 20, 4), (0.91e-3, 2, 2)])
def test_runs_of_one_head_are_no_heads(next_run_s: float, run: int, heads: int) -> None:
    """With a change to the next run that takes nearly as long as another switch."""
    times = np.full(6000, 1e-3)
    track = np.arange(1, 601)
    last, of_heads = track % run == 0, track % (run * heads) == 0
    times[::10] += np.where(of_heads, next_run_s, np.where(last, 1.1e-3, 0.9e-3))
    followed = tracks.Followed.of(times)
    assert followed is not None
    assert len(followed.switches) == 2
    assert followed.in_turn is None


@pytest.mark.parametrize(("run", "code"), [(40, "mostly_alike"), (1000, "alike")])
def test_few_switches_that_differ_are_told(run: int, code: str) -> None:
    times = np.full(3000, 1e-3)
    times[::10] += np.where(np.arange(1, 301) % run == 0, 1.4e-3, 0.9e-3)
    followed = tracks.Followed.of(times)
    assert followed is not None
    read = tracks._Read(followed, 873_813.0, 104_858.0, 60 / 7200, {}, (873_000.0, 874_000.0))
    view = SimpleNamespace(once=lambda what, *_: read if what is tracks._read else [])
    assert tracks.heads(cast(View, view)).said.code == f"track_switch.{code}"


def _meet(track: float, distance: float, first: float, count: int = 3000) -> np.ndarray:
    """The reads at equal distances that meet the end of a track."""
    ends = np.floor((first + distance * np.arange(count + 1)) / track)
    return np.flatnonzero(np.diff(ends))


@pytest.mark.parametrize("clock", [0.99, 1.0, 1.01])
def test_the_length_of_a_track_needs_no_clock(clock: float) -> None:
    """Chance takes a few ends away, and makes a few reads late that meet none."""
    chance = np.random.default_rng(3)
    for _ in range(50):
        track, distance = float(chance.integers(1000, 4000)) * 512, 131_072.0
        met = _meet(track, distance, float(chance.uniform(0, track)))
        odd = chance.integers(0, 3000, 3)
        met = np.unique(np.concatenate([met[chance.random(len(met)) > 0.01], odd]))
        found = track_ends.length(met, distance, clock * track)
        assert found is not None
        assert found[0] < track < found[1] < 1.002 * found[0]


def test_tracks_of_two_lengths_have_none() -> None:
    first, later = _meet(1e6, 131_072.0, 0.0), _meet(0.9e6, 131_072.0, 0.0)
    met = np.concatenate([first, later + 3000])
    assert track_ends.length(met, 131_072.0, 1e6) is None


def test_a_lost_turn_hides_no_kind_of_switch() -> None:
    times = np.full(3000, 1e-3)
    times[::10] += np.where(np.arange(300) % 6 == 5, 0.89e-3, 1.0e-3)
    times[1501] += 11.1e-3
    followed = tracks.Followed.of(times)
    assert followed is not None
    assert followed.in_turn is not None
    heads, head, track = followed.in_turn
    assert (heads, head.seconds, track.seconds) == pytest.approx((6, 1.0e-3, 0.89e-3))


@pytest.mark.parametrize(("longest_s", "heads"), [(2e-3, 5.0), (60 / 7200, None), (9.4e-3, None)])
def test_what_takes_a_turn_is_no_switch(longest_s: float, heads: float | None) -> None:
    """Two disks that read in turn each lose one at the end of a cylinder."""
    times = np.full(3000, 1e-3)
    times[::10] += np.where(np.arange(300) % 5 == 4, longest_s, 1.0e-3)
    followed = tracks.Followed.of(times)
    assert followed is not None
    read = tracks._Read(followed, 873_813.0, 104_858.0, 60 / 7200, {}, (873_000.0, 874_000.0))
    view = SimpleNamespace(once=lambda what, *_: read if what is tracks._read else [])
    asked = (tracks.heads, tracks.track_switch, tracks.head_switch)
    found = {ask: ask(cast(View, view)) for ask in asked}
    assert found[tracks.heads].value == heads
    assert {answer.value is None for answer in found.values()} == {heads is None}


@pytest.mark.parametrize(
    "longer",
    [np.arange(50) >= 20, (np.arange(50) >= 20) & (np.arange(50) % 2 == 0)],
    ids=["once", "from then on in turn"],
)
def test_times_that_change_on_the_way_are_none_of_heads(longer: np.ndarray) -> None:
    times = np.full(1000, 1e-3)
    times[::20] += np.where(longer, 1.3e-3, 1e-3)
    followed = tracks.Followed.of(times)
    assert followed is not None
    assert len(followed.switches) == 2
    assert followed.in_turn is None
