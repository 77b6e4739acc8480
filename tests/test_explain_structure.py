"""Structure is told only where no other structure has the same times."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import view_of

from fourcorners.analysis.internals.answer import known
from fourcorners.analysis.internals.assumptions import UNTESTED, Assumption
from fourcorners.analysis.internals.catalog import CATALOG
from fourcorners.analysis.internals.flash import (
    channels,
    conflicting_reads,
    die_conflicts,
    parallel_units,
)
from fourcorners.analysis.internals.flash.levels import Pairs, levels
from fourcorners.analysis.internals.link import generation
from fourcorners.analysis.internals.nand.read_cost import read_cost
from fourcorners.analysis.internals.resolver import as_finding
from fourcorners.sentences import Said
from fourcorners.suites import Subject
from fourcorners.suites.probes import conflicts
from fourcorners.suites.test import Adaptive, MeasuredSoFar

KIB = 1024


@dataclass
class Drive:
    """What probe-conflicts measures on a drive of so many dies in rotation that serve one read in
    ``read_s`` each; single reads take ``alone_s`` by their size, and pairs, of which none waits but
    for its own die, ``pair_s`` by their kind."""

    dies: int = 16
    stripe: int = 4 * KIB
    page: int | None = None
    read_s: float = 70e-6
    alone_s: Mapping[int, float] = field(
        default_factory=lambda: {512: 80e-6, 1536: 84e-6, 3584: 92e-6}
    )
    pair_s: Mapping[str, float] = field(
        default_factory=lambda: {"together": 86e-6, "short": 81e-6, "late": 80e-6}
    )
    waits_s: Mapping[tuple[str, int], float] = field(default_factory=dict)

    def probed(self, run: FakeRun) -> None:
        one, grid = 1 / self.read_s, 4 * KIB
        for window in (grid << k for k in range(10)):
            iops = one * min(self.dies, max(1, window // max(self.stripe, grid)))
            run.add(f"probe-conflicts/window/{window}", "read", iops=iops, window_bytes=window)
        for boundary in (2 * KIB << k for k in range(8)):
            two = self.page is not None and boundary % self.page == 0 != boundary % self.stripe
            two = two or (boundary == 2 * KIB and self.stripe < boundary)
            iops = one / (2 if two else 1)
            name = f"probe-conflicts/across/{boundary}"
            run.add(name, "read", iops=iops, boundary_bytes=boundary)
        distance = 2 * KIB
        while distance <= 2 * self.dies * self.stripe:
            iops = one if distance // self.stripe % self.dies == 0 else 2 * one
            name = f"probe-conflicts/pair/{distance}"
            run.add(name, "read", iops=iops, distance_bytes=distance)
            distance *= 2
        for size, alone_s in self.alone_s.items():
            name = f"probe-conflicts/alone/{size}"
            run.add(name, "read", iops=800, latency_mean_s=alone_s, alone_bytes=size)
        axes = {"together": "long_bytes", "short": "short_bytes", "late": "late_ns"}
        for kind, pair_s in self.pair_s.items():
            for apart in range(1, self.dies + 1):
                wait_s = self.read_s / 2 if apart == self.dies else 0.0
                latency_s = pair_s + self.waits_s.get((kind, apart), wait_s)
                name = f"probe-conflicts/{kind}/{apart}"
                point: dict[str, Any] = {"stripes": apart, axes[kind]: 1}
                run.add(name, "read", iops=800, latency_mean_s=latency_s, **point)


def _links(run: FakeRun, rate: float) -> None:
    for of in ("written", "erased"):
        for size in (128 * KIB, 1024 * KIB):
            name = f"probe-depth/link/{of}/{size}"
            run.add(name, "read", iops=rate / size, of=of, block_bytes=size, queue_depth=32)


def _curve(run: FakeRun, rates: Mapping[int, float]) -> None:
    for depth, iops in rates.items():
        name = f"probe-depth/random/{depth}"
        run.add(name, "read", iops=iops, pattern="random", queue_depth=depth)


def test_a_stripe_below_the_smallest_window_is_told() -> None:
    run = FakeRun()
    Drive(dies=8, stripe=2 * KIB, alone_s={}, pair_s={}).probed(run)
    assert die_conflicts.stripe(view_of(run)).value == 2 * KIB


def _channels(drive: Drive, mapping_unit: int | None = None) -> str:
    run = FakeRun()
    drive.probed(run)
    found = {"dies": drive.dies, "link_ceiling": 1.8e9}
    if mapping_unit is not None:
        found["mapping_unit"] = mapping_unit
    answer = channels.channels(view_of(run, **found))
    assert answer is not None
    return "one_each" if answer.value == drive.dies else answer.said.code


def test_dies_without_waits_have_a_channel_each_where_waits_would_show() -> None:
    assert _channels(Drive()) == "one_each"


def test_of_two_dies_only_the_pair_of_both_shows_a_channel() -> None:
    """The other pair meets one die, and waits for it."""
    assert _channels(Drive(dies=2)) == "one_each"


def test_short_reads_pass_a_channel_as_whole_mapping_units() -> None:
    """A sector alone brings one unit of 2 KiB, the two around the middle of a page bring both, as a
    long read does, so that only the link tells the long one from them."""
    alone = {512: 80e-6, 1536: 80.6e-6, 3584: 92e-6}
    drive = Drive(alone_s=alone, pair_s={"together": 87e-6, "short": 86.3e-6, "late": 80e-6})
    assert _channels(drive) == "hidden"
    assert _channels(drive, mapping_unit=2 * KIB) == "one_each"


def test_a_single_read_that_was_delayed_makes_no_channels() -> None:
    """Its delay looks like a slow channel, which no pair confirms."""
    alone = {512: 80.5e-6, 1536: 85.1e-6, 3584: 149.7e-6}
    pair_s = {"together": 82.5e-6, "short": 81.5e-6, "late": 80e-6}
    assert _channels(Drive(alone_s=alone, pair_s=pair_s)) == "hidden"


@pytest.mark.parametrize(("together_us", "told"), [(178, "one_each"), (214, "all_wait")])
def test_pairs_that_all_wait_alike_may_share_one_channel(together_us: int, told: str) -> None:
    """A page takes 142 us on the channel. Times of array reads scatter, so that the long one comes
    to it first in half of the pairs only, and no pair waits longer than another."""
    alone = {512: 94e-6, 3584: 157e-6, 7680: 240e-6}
    pair_s = {"together": together_us * 1e-6, "short": 105.5e-6, "late": 94e-6}
    assert _channels(Drive(dies=4, stripe=8 * KIB, alone_s=alone, pair_s=pair_s)) == told


def test_pairs_that_scatter_by_as_much_as_a_wait_show_no_channels() -> None:
    scatter = {("together", n): 2e-6 * (n % 3) + (35e-6 if n == 16 else 0) for n in range(1, 17)}
    assert _channels(Drive(waits_s=scatter)) == "scatter"


def test_long_reads_that_wait_for_those_due_before_them_show_no_channels() -> None:
    """On a slow link the next reads are due first, and the times grow with each of them."""
    alone = {512: 80e-6, 1536: 5e-3, 3584: 62e-3}
    pair_s = {"together": 45e-3, "short": 81e-6, "late": 80e-6}
    assert _channels(Drive(alone_s=alone, pair_s=pair_s)) == "overlapping"


@pytest.mark.parametrize(("stripe", "told"), [(64 * KIB, True), (256 * KIB, False)])
def test_what_serves_one_read_of_more_than_any_page_is_no_die(stripe: int, told: bool) -> None:
    run = FakeRun()
    Drive(stripe=stripe, dies=4).probed(run)
    view = view_of(run)
    assert die_conflicts.stripe(view).value == stripe
    for ask in (die_conflicts.page, die_conflicts.dies):
        assert (ask(view).value is not None) == told


def test_a_read_that_waits_for_a_die_shows_no_transfer() -> None:
    """Other planes of the die are at other distances than its own next row."""
    run = FakeRun()
    waits = {("together", n): 4e-6 for n in range(4, 16, 4)}
    Drive(alone_s=dict.fromkeys((512, 1536, 3584), 86e-6), waits_s=waits).probed(run)
    run.add("probe-flush/read", "read", iops=11_600, kind="read")
    cost = read_cost(view_of(run, dies=16.0, channels=4.0, link_ceiling=1.8e9))
    assert cost is not None
    low, high = cost.over_channel(3584, 3584)
    assert 5e-6 < low < high < 9e-6


@pytest.mark.parametrize(("longer_us", "most"), [(0.9, 2 * KIB), (0.0, 4 * KIB)])
def test_an_array_that_senses_a_part_sooner_is_no_channel_that_moves_bytes(
    longer_us: float, most: int
) -> None:
    """Reads of half a page are longer by 5 us of the array and 4 KiB of the channel, as if it moved
    all bytes that they have more; but those of 1 KiB are not longer than those of 512 bytes."""
    run = FakeRun()
    alone = {512: 80e-6, 7680: 94.5e-6, 15872: 111.7e-6}
    Drive(stripe=16 * KIB, alone_s=alone, pair_s={}).probed(run)
    run.add("probe-flush/read", "read", iops=11_600, kind="read")
    for size, us in ((512, 80.0), (1024, 80.0 + longer_us)):
        about: dict[str, Any] = {"block_bytes": size, "queue_depth": 1}
        name = f"probe-sizes/read/{size}"
        run.add(name, "read", iops=1e6 / us, **about)
        bounds = np.array([round(1e3 * us), 100_000])
        run.histograms[name, "read"] = (bounds, bounds, np.array([300, 300]))
    given = {"link_ceiling": 3.3e9, "mapping_unit": 4096.0, "page_bytes": 16384.0}
    cost = read_cost(view_of(run, dies=16.0, channels=16.0, **given))
    assert cost is not None
    assert cost.of_channel
    assert cost.small_bytes == (2 * KIB, most)


@pytest.mark.parametrize(("channels", "said"), [(2, "link_ceiling.medium"), (8, "flash_is_faster")])
def test_channels_that_limit_large_reads_are_no_link(channels: int, said: str) -> None:
    """Two channels carry just what large reads reach; of eight, the link would be the limit."""
    run = FakeRun()
    waits = {("together", n): 4e-6 for n in range(channels, 16, channels)}
    waits |= {("together", 16): 35e-6}
    drive = Drive(waits_s=waits)
    drive.probed(run)
    _links(run, 0.98 * 2 * 2048 / 8e-6)
    assert generation.ceiling(view_of(run)).said.code == said


def test_levels_that_no_drive_has_do_not_rule_out_those_that_one_has() -> None:
    """Recorded on a superblock drive of two channels, of which 0.8 % of the reads were outliers:
    three levels fit a little better than two, but nothing that drives have makes three of them."""
    together = [79.72, 102.71, 79.53, 100.17, 79.71, 101.42, 79.75, 104.02]
    short = [59.67, 59.9, 59.73, 59.96, 59.61, 59.83, 59.89, 77.23]
    late = [57.86, 57.83, 57.87, 57.64, 57.74, 57.87, 57.68, 64.8]
    kinds = [
        Pairs({n: 1e-6 * us for n, us in enumerate(times, start=1)}, error_s, alone_s, tells)
        for times, error_s, alone_s, tells in (
            (together, 0.474e-6, None, False),
            (short, 0.083e-6, None, True),
            (late, 0.077e-6, 57.93e-6, True),
        )
    ]
    found = levels(8, kinds, 1 / 19727)
    assert found is not None
    assert (found.planes, found.channels) == (1, 2)


@pytest.mark.parametrize("alone_us", [58.16, 51.5])
def test_quicker_data_elsewhere_make_no_more_units(alone_us: float) -> None:
    """Eight dies whose random reads take 46 us in the mean, though those of the place that was read
    again and again take 52: a part of the data is in an SLC cache."""
    curve = {1: 19538.0, 2: 37047.0, 4: 66187.0, 8: 103633.0, 16: 137010.0, 32: 158776.0}
    curve |= {64: 171171.0, 128: 174190.0, 256: 174190.0}
    run = FakeRun()
    alone = {512: 1e-6 * alone_us, 3584: 1e-6 * alone_us + 0.8e-6}
    Drive(dies=8, read_s=52.02e-6, alone_s=alone, pair_s={}).probed(run)
    _curve(run, curve)
    # No read is sooner over than the others, as one from a memory would be.
    alike, all_of_them = np.array([1e9 / curve[1]]), np.array([round(60 * curve[1])])
    run.histograms["probe-depth/random/1", "read"] = (alike, alike, all_of_them)
    found = parallel_units.parallel_units(view_of(run))
    assert (found.value == 8) == (alone_us > 55)


@pytest.mark.parametrize("paired", [True, False])
def test_without_pairs_of_reads_units_may_be_planes_of_dies(paired: bool) -> None:
    """Pairs of reads alone tell planes that read together from dies."""
    run = FakeRun()
    (Drive(dies=32) if paired else Drive(dies=32, pair_s={})).probed(run)
    dies, stripe = (ask(view_of(run)) for ask in (die_conflicts.dies, die_conflicts.stripe))
    assert dies.value == (32 if paired else None)
    assert paired or dies.said.code == "no_pairs"
    assert stripe.value == 4 * KIB
    assert stripe.interval == (None if paired else (4 * KIB, 32 * KIB))
    holds = {check.assumption: check.holds for check in stripe.checks}
    assert holds == ({Assumption.NO_PLANES: True} if paired else {})


@pytest.mark.parametrize(("rate", "told"), [(180e6, True), (440e6, False)])
def test_a_page_holds_more_than_its_stripe_where_large_reads_outrun_the_dies(
    rate: float, told: bool
) -> None:
    """Requests may go round over channels in parts of a page, each of which looks like one."""
    run = FakeRun()
    drive = Drive(stripe=4 * KIB, dies=4)
    drive.probed(run)
    for block in (128 * KIB, 1024 * KIB):
        about: dict[str, Any] = {"block_bytes": block, "queue_depth": 32, "of": "written"}
        run.add(f"probe-depth/large/{block}", "read", iops=rate / block, **about)
    view = view_of(run)
    checks = {c.assumption: c.holds for c in die_conflicts.page(view).checks}
    assert checks[Assumption.PAGE_IN_STRIPE] == told
    assert die_conflicts.dies(view).value == 4


@pytest.mark.parametrize(
    ("depth", "rate", "holds"), [(64, 900e6, True), (64, 2700e6, False), (16, 2700e6, None)]
)
def test_a_page_holds_more_than_its_stripe_where_the_number_of_dies_does_not_show(
    depth: int, rate: float, holds: bool | None
) -> None:
    """Pairs of dies take 64 KiB in parts of 4 KiB, one pair after the other; there are six pairs,
    and no distance that was tried is a multiple of that."""
    run, one, bank = FakeRun(), 1 / 48e-6, 64 * KIB
    for window in (4 * KIB << k for k in range(14)):
        gain = min(2 * max(1.0, window / bank), 11) if window > 4 * KIB else 1
        about: dict[str, Any] = {"window_bytes": window, "queue_depth": depth}
        run.add(f"probe-conflicts/window/{window}", "read", iops=gain * one, **about)
        across = f"probe-conflicts/across/{window // 2}"
        run.add(across, "read", iops=one, boundary_bytes=window // 2)
    distances = [2 * KIB << k for k in range(11)] + [60 * KIB - 4 * KIB, 68 * KIB, 192 * KIB]
    for distance in distances:
        same = distance < bank and distance // (4 * KIB) % 2 == 0
        name = f"probe-conflicts/pair/{distance}"
        run.add(name, "read", iops=one if same else 2 * one, distance_bytes=distance)
    large: dict[str, Any] = {"block_bytes": 1024 * KIB, "queue_depth": 32, "of": "written"}
    run.add("probe-depth/large/1", "read", iops=rate / (1024 * KIB), **large)
    view = view_of(run)
    assert die_conflicts.dies(view).value is None
    found = die_conflicts.page(view)
    assert found.value == 4 * KIB
    assert {c.assumption: c.holds for c in found.checks}.get(Assumption.PAGE_IN_STRIPE) == holds


@pytest.mark.parametrize(("channel_s_per_kib", "told"), [(4e-6, True), (37e-6, False)])
def test_twice_the_data_on_a_slow_channel_is_no_second_page(
    channel_s_per_kib: float, told: bool
) -> None:
    """A place whose reads wait for its channel takes twice as long for twice the data of a page,
    as a foreign drive (number 2 of the fourth arena) did at 54 MB/s."""
    alone_s = {size: 60e-6 + size / KIB * channel_s_per_kib for size in (512, 1536)}
    drive = Drive(dies=2, stripe=8 * KIB, page=2 * KIB, alone_s=alone_s)
    run = FakeRun()
    drive.probed(run)
    found = die_conflicts.page(view_of(run))
    holds = [c.holds for c in found.checks if c.assumption == Assumption.ARRAY_LONGEST]
    assert found.value == 2 * KIB
    assert holds == ([] if told else [False])
    # No channel passes more than the units of 1 KiB that are read.
    found = die_conflicts.page(view_of(run, mapping_unit=float(KIB)))
    holds = [c.holds for c in found.checks if c.assumption == Assumption.ARRAY_LONGEST]
    assert holds == [told]


@pytest.mark.parametrize("hashed", [False, True])
def test_places_that_conflict_at_other_distances_than_whole_turns_are_no_rotation(
    hashed: bool,
) -> None:
    """A hash sends the stripe to the exclusive or of the digits of its number, so that distances
    of 9, 18, 27 and more stripes conflict, and 65 too."""
    run, stripe, one = FakeRun(), 4 * KIB, 14_000.0
    Drive(dies=9 if hashed else 8, alone_s={}, pair_s={}).probed(run)
    for apart in (*range(1, 129), 256, 512):
        number, die = apart, 0
        while number:
            number, die = number // 8, die ^ number % 8
        meets = die == 0 if hashed else apart % 8 == 0
        axes = {"distance_bytes": apart * stripe}
        run.add(f"probe-conflicts/pair/{apart * stripe}", "read", iops=one * (2 - meets), **axes)
    view = view_of(run)
    checks = {c.assumption: c.holds for c in die_conflicts.dies(view).checks}
    assert checks[Assumption.NOT_HASHED] == (not hashed)
    assert conflicting_reads.units(view) == (None if hashed else 8)


def test_what_repeated_data_gains_may_be_otherwise_than_by_storing_it_once() -> None:
    """As of memory that is compressed: the text names what was not tested."""
    row = next(row for row in CATALOG if row.name == "deduplication")
    said = Said("deduplication.measured", {"kind": "Repeated"})
    told = as_finding(row, known(1.0, said, detail={"gain": 2.2}))
    assert told.detail["assumptions"][0]["status"] == UNTESTED
    assert "stored once, and not" in told.text


@pytest.mark.parametrize(("one_die", "in_pairs"), [(200.0, False), (799.0, False), (1e4, True)])
def test_pairs_of_reads_are_for_drives_that_have_read_one_before_the_next_is_due(
    one_die: float, in_pairs: bool
) -> None:
    """Two units take stripes of 8 KiB in turn. Behind an arm each serves 200 reads per second, and
    pairs would be due 800 times."""
    plan = conflicts.plan(Subject("device", 2 * 2**30), conflicts.Parameters(), seed=1)
    [phase] = [one for one in plan.phases if isinstance(one, Adaptive)]
    measured, asked = MeasuredSoFar(), list(phase.measurements)
    kinds: set[str] = set()
    while asked:
        for one in asked:
            kinds |= one.axes.keys()
            read: Any = SimpleNamespace(read=_read_of_two_units(one.axes, one_die))
            measured.add(one, read)
        asked = list(phase.following(measured))
    assert ({"late_ns", "long_bytes"} <= kinds) == in_pairs


def _read_of_two_units(axes: Mapping[str, Any], one_die: float) -> SimpleNamespace:
    """What is measured of reads of one place, of a window, or of two places so far apart."""
    both = axes.get("window_bytes", 0) > 8 * KIB or axes.get("distance_bytes", 0) // (8 * KIB) % 2
    rate = one_die * (2 if both else 1)
    took_s = (axes.get("beside", 63) + 1) / rate
    return SimpleNamespace(
        ios=1000,
        iops=rate,
        elapsed_s=1000 / rate,
        latency_mean_s=took_s,
        latency_max_s=took_s,
        latency_percentile_s=lambda _: took_s,
    )
