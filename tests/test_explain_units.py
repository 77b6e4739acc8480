"""How many reads a drive serves at a time is told by the curve of its queue, and by conflicts."""

import heapq
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import KIB, view_of

from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.flash import conflicting_reads, parallel_units
from fourcorners.analysis.internals.view import View

DEPTHS = np.array([1.0, 2, 4, 8, 16, 32, 64, 128, 256])


def _network(
    units: int, unit_us: float, station_us: float, delay_us: float, hang: float = 0.0
) -> dict[int, float]:
    """Rates of commands that pass a station, one unit at random and a delay, first come first
    served, simulated one by one. This share of them takes a unit for 15 times as long."""
    rates = {}
    for depth in map(int, DEPTHS):
        chance = random.Random(depth)
        ready, free, station, ends = [0.0] * depth, [0.0] * units, 0.0, []
        for _ in range(4000):
            station = max(heapq.heappop(ready), station) + station_us
            unit = chance.randrange(units)
            free[unit] = max(station, free[unit]) + unit_us
            if chance.random() < hang:
                free[unit] += 14 * unit_us
            ends.append(free[unit] + delay_us)
            heapq.heappush(ready, ends[-1])
        ends.sort()
        rates[depth] = 3200 / (ends[-400] - ends[400]) * 1e6
    return rates


@pytest.mark.parametrize("units", [8, 16, 32])
def test_units_are_told_from_the_curve_of_the_queue(units: int) -> None:
    finding, _ = parallel_units.told(_network(units, 70, 1, 20), None, None, ())
    assert finding.value == pytest.approx(units, rel=0.15)
    assert finding.interval is not None
    assert finding.interval[0] <= units <= finding.interval[1]


@pytest.mark.parametrize("share", [0.0, 0.003])
def test_reads_that_hang_make_a_curve_as_of_more_units(share: float) -> None:
    """Of reads of 70 us, 3 in 1000 take a unit for 1 ms: others wait behind them."""
    variance_s2 = share * (1 - share) * (14 * 70e-6) ** 2
    curve, place = _network(16, 70, 1, 60, share), 1e6 / 70
    finding, _ = parallel_units.told(curve, None, None, ["q"], place, variance_s2=variance_s2)
    assert (finding.value == 16) == (share == 0)
    checks = {check.assumption: check.holds for check in finding.checks}
    assert checks[Assumption.READS_ALIKE] is (share == 0)
    # Conflicts count them all the same.
    dies = _conflicting(16)
    finding, odd = parallel_units.told(curve, None, dies, ["q"], place, variance_s2=variance_s2)
    assert (finding.value, finding.interval, odd) == (16, None, None)


@pytest.mark.parametrize(("times", "told"), [(12.0, True), (25.0, False)])
def test_a_part_of_the_drive_that_is_faster_shows_more_units(times: float, told: bool) -> None:
    """A unit serves a read in 70 us: 25 times as many reads a second are not of 16."""
    curve, most = _network(16, 70, 1, 20), times * 1e6 / 70
    finding, _ = parallel_units.told(curve, None, None, (), 1e6 / 70, most_iops=most)
    assert (finding.value is not None) == told
    assert told or finding.said.code == "faster_near"


def _conflicting(dies: int) -> parallel_units.Conflicting:
    return parallel_units.Conflicting(dies, 1e6 / 70, ["conflicts"])


@pytest.mark.parametrize(("path_us", "told"), [(20, True), (50, False)])
def test_places_that_may_wait_for_a_channel_are_no_units(path_us: int, told: bool) -> None:
    """A channel carries a read's data for 50 of the 70 us from one read of a place to the next."""
    conflicting = replace(_conflicting(2), path_s=path_us * 1e-6)
    finding, _ = parallel_units.told(_network(2, 70, 1, 20), None, conflicting, ())
    assert (finding.value is not None) == told
    assert told or finding.said.code == "carried"


def test_where_reads_wait_for_those_of_other_places_the_curve_counts_no_units() -> None:
    curve = _network(16, 70, 1, 20)
    finding, _ = parallel_units.told(curve, None, None, (), waits_for_others=True)
    assert (finding.value, finding.said.code) == (None, "waits_for_others")
    # Conflicts count them all the same.
    finding, _ = parallel_units.told(curve, None, _conflicting(16), (), waits_for_others=True)
    assert finding.value == 16


def test_where_several_serve_each_place_the_curve_counts_no_units() -> None:
    """Of two members of a mirror a read goes to the one that has less to do, or in turn."""
    curve = _network(16, 70, 1, 20)
    finding, odd = parallel_units.told(curve, None, None, ["queue"], several_serve=True)
    assert (finding.value, finding.said.code, odd) == (None, "members", None)
    finding, _ = parallel_units.told(curve, None, _conflicting(16), ["queue"], several_serve=True)
    assert finding.value == 16


@pytest.mark.parametrize(("place_us", "told"), [(33, False), (66, True)])
def test_places_that_are_read_sooner_than_a_unit_can_are_on_several(
    place_us: float, told: bool
) -> None:
    """A read of flash takes 70 us longer than one that needs none."""
    run = FakeRun()
    for depth, iops in _network(16, 60, 1, 40).items():
        name = f"probe-depth/random/{int(depth)}"
        run.add(name, "read", iops=iops, pattern="random", queue_depth=int(depth))
    erased: dict[str, Any] = {"of": "erased", "alone_bytes": 4096, "queue_depth": 1}
    run.add("probe-depth/alone/erased", "read", iops=1 / 32e-6, **erased)
    for size in (4096, 8192):
        name, iops = f"probe-conflicts/window/{size}", 1e6 / place_us
        run.add(name, "read", iops=iops, window_bytes=size, queue_depth=64)
    finding = parallel_units.parallel_units(view_of(run, command_queue_depth=256))
    assert (finding.value is not None) == told
    assert told or finding.said.code == "members"


def test_units_that_serve_several_places_at_a_time_are_not_counted_by_conflicts() -> None:
    busy = _network(32, 70, 10, 20)
    conflicting = replace(_conflicting(32), reads_several=True)
    finding, _ = parallel_units.told(busy, None, conflicting, ["queue"])
    assert (finding.value, finding.said.code) == (None, "reads_several")
    # A curve that shows as many is of units that do not.
    curve = _network(32, 70, 1, 20)
    assert parallel_units.told(curve, None, conflicting, ["queue"])[0].value == 32


def test_units_behind_a_busy_station_are_told_by_conflicts_only() -> None:
    busy = _network(32, 70, 10, 20)
    finding, _ = parallel_units.told(busy, None, None, ["queue"])
    assert finding.verdict == "not identifiable"
    finding, _ = parallel_units.told(busy, None, _conflicting(32), ["queue"])
    assert (finding.value, finding.interval) == (32, None)
    # Load that disturbs the queue's reads is no reason to doubt the conflicts.
    assert finding.evidence == ["conflicts"]
    assert finding.said.code == "conflicts_alone"


@pytest.mark.parametrize(("planes", "code"), [(2, "planes_together"), (8, "conflicts_alone")])
def test_planes_that_read_pairs_together_need_not_read_random_places_so(
    planes: int, code: str
) -> None:
    # The station passes 100,000 reads a second: fewer than 16 dies serve, and more than 4.
    conflicting = replace(_conflicting(32), planes=planes)
    finding, _ = parallel_units.told(_network(32, 70, 10, 20), None, conflicting, ["queue"])
    assert finding.said.code == code
    assert finding.value == (None if code == "planes_together" else 32)


def _same_pages(dies: int, planes: int, pages: int, unit_us: float) -> dict[int, float]:
    """Rates of dies that serve one random read after the other and, with it, what waits for the
    same page of each other plane. Simulated turn by turn: every die has reads that wait."""
    rates = {1: 1e6 / (unit_us + 20)}
    for depth in map(int, DEPTHS[1:]):
        chance = random.Random(depth)

        def read(chance: random.Random = chance) -> tuple[int, int, int]:
            return chance.randrange(dies), chance.randrange(planes), chance.randrange(pages)

        waiting, served = [read() for _ in range(depth)], 0
        for _ in range(400):
            first: dict[int, int] = {}
            taken: set[tuple[int, int]] = set()
            left = []
            for die, plane, page in waiting:
                if page == first.setdefault(die, page) and (die, plane) not in taken:
                    taken.add((die, plane))
                else:
                    left.append((die, plane, page))
            served += len(taken)
            waiting = left + [read() for _ in taken]
        rates[depth] = served / (400 * unit_us) * 1e6
    return rates


@pytest.mark.parametrize("pages", [64, 256])
def test_planes_that_find_the_same_page_by_chance_are_no_units(pages: int) -> None:
    planes = replace(_conflicting(32), planes=4)
    finding, _ = parallel_units.told(_same_pages(8, 4, pages, 70), None, planes, ["queue"])
    assert finding.value in (None, 8)


def test_where_the_curve_shows_dies_their_planes_are_no_units() -> None:
    planes = replace(_conflicting(32), planes=2)
    finding, odd = parallel_units.told(_network(16, 70, 1, 20), None, planes, ["queue"])
    assert (finding.value, finding.said.code, odd) == (16, "planes_apart", None)


def test_dies_that_conflict_are_the_units_where_the_curve_agrees() -> None:
    finding, odd = parallel_units.told(_network(16, 70, 1, 20), None, _conflicting(18), ["queue"])
    assert (finding.value, finding.interval, odd) == (18, None, None)
    assert finding.evidence == ["conflicts", "queue"]


def test_two_ways_that_disagree_are_told() -> None:
    _, odd = parallel_units.told(_network(16, 70, 1, 20), None, _conflicting(64), ["queue"])
    assert odd is not None
    assert odd.value == pytest.approx(16 / 64, rel=0.15)


def test_dies_are_counted_where_the_curve_shows_fewer() -> None:
    units, _ = parallel_units.told(_network(16, 70, 1, 20), None, _conflicting(24), ["queue"])
    assert units.value == 24
    assert units.interval is not None
    assert units.interval[0] <= 16
    assert units.interval[1] >= 24
    assert units.said.code == "independent"
    assert units.evidence == ["conflicts", "queue"]


@pytest.mark.parametrize("station_us", [1, 5])
def test_more_reads_than_the_dies_can_serve_contradict_them(station_us: int) -> None:
    units, odd = parallel_units.told(
        _network(32, 70, station_us, 20), None, _conflicting(10), ["queue"]
    )
    assert units.verdict == "not identifiable"
    assert odd is not None
    assert odd.evidence == ["conflicts", "queue"]


def test_a_gain_above_the_dies_is_none_that_contradicts_them() -> None:
    # One read alone spends more time elsewhere than on its die.
    curve = _network(8, 70, 1, 100)
    assert curve[256] > 12 * curve[1]
    units, odd = parallel_units.told(curve, None, _conflicting(8), ["queue"])
    assert (units.value, odd) == (8, None)


def test_no_fewer_units_are_told_than_one_place_allows() -> None:
    curve = {1: 16667.0, 2: 31270.0, 4: 54705.0, 8: 82610.0, 16: 104548.0, 32: 118203.0}
    curve |= {64: 125707.0, 128: 127714.0, 256: 128535.0}  # of eight units of 60 us
    finding, _ = parallel_units.told(curve, None, None, ["queue"], 16667.0)
    assert finding.value == 8
    assert finding.interval is not None
    assert 7.7 < finding.interval[0] <= 8 <= finding.interval[1]


def test_a_queue_that_gains_nothing_is_one_unit() -> None:
    finding, _ = parallel_units.told(dict.fromkeys((1, 2, 4, 8), 1000.0), 1, None, ())
    assert finding.value == 1


def test_units_behind_a_busy_path_are_told_by_conflicts_only() -> None:
    """As of a foreign drive (number 52 of seed 4867065): eight planes behind one slow bus."""
    curve, path_s = _network(8, 27, 100, 20), 100e-6
    assert curve[256] < 1.5 * curve[1]
    finding, _ = parallel_units.told(curve, None, None, ["queue"], path_s=path_s)
    assert finding.said.code == "parallel_units.path"
    finding, _ = parallel_units.told(curve, None, _conflicting(8), ["queue"], path_s=path_s)
    assert (finding.value, finding.interval) == (8, None)
    finding, _ = parallel_units.told(curve, None, None, ["queue"], 1e6 / 127)
    assert finding.said.code == "parallel_units.more_than_one"
    finding, _ = parallel_units.told(_network(1, 70, 10, 20), None, None, (), 1e6 / 70, 10e-6)
    assert finding.value == 1


@pytest.mark.parametrize(
    ("per_byte_ns", "single", "dies"),
    [
        # The data pass in 41 of the 46 us from one read to the next, or in 12.
        (20.0, False, None),
        (6.0, False, 4),
        # Single reads of the probe of sizes show the same.
        (20.0, True, None),
        (6.0, True, 4),
    ],
)
def test_places_whose_data_are_on_their_way_all_the_time_may_be_channels(
    per_byte_ns: float, single: bool, dies: int | None
) -> None:
    run = FakeRun()
    for n in range(10):
        iops = min(2 ** max(n - 1, 0), 4) / 46e-6
        about: dict[str, Any] = {"window_bytes": 4096 << n, "block_bytes": 2 * KIB}
        run.add(f"probe-conflicts/window/{n}", "read", iops=iops, queue_depth=64, **about)
        pair = (2 if n < 3 else 1) / 46e-6
        about = {"distance_bytes": 8192 << n - 1 if n else 4096, "block_bytes": 2 * KIB}
        run.add(f"probe-conflicts/pair/{n}", "read", iops=pair, queue_depth=64, **about)
    for size in (512, 2048, 3584):
        read_s = 150e-6 + size * per_byte_ns * 1e-9
        alone: dict[str, Any] = {"block_bytes": size} if single else {"alone_bytes": size}
        name = f"probe-{'sizes' if single else 'conflicts'}/{size}"
        queue: dict[str, Any] = {"queue_depth": 1} if single else {}
        run.add(name, "read", iops=100, elapsed_s=1.0, latency_mean_s=read_s, **alone, **queue)
    view = View(run, lambda _: None)
    assert conflicting_reads.in_rotation(view) == 4
    assert conflicting_reads.units(view) == dies
