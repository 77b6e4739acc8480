"""Times of NAND where an assumption of drives that were known before does not hold."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import view_of

from fourcorners.analysis.internals.answer import known
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.flash import conflicting_reads, die_conflicts
from fourcorners.analysis.internals.flash.levels import DIE, Levels
from fourcorners.analysis.internals.nand import page_read as page_reads
from fourcorners.analysis.internals.nand import read_cost
from fourcorners.analysis.internals.nand.erasures import ends_sharply, in_step
from fourcorners.analysis.internals.nand.page_kinds import Kinds
from fourcorners.analysis.internals.nand.programs import (
    Programs,
    beside_s,
    bounded,
    by_rounds,
    further_planes_s,
    mean,
    of_round,
    programs,
    turn_s,
)
from fourcorners.analysis.internals.nand.programs import kinds as kinds_of_pages
from fourcorners.analysis.internals.view import View
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say


def test_a_round_of_dies_at_other_kinds_of_pages_takes_the_slowest() -> None:
    """A read of the rest of a unit of 8 KiB, in a forced write of 4 KiB, stays possible."""
    slow, quick, beside = 555.7e-6, 231.2e-6, 125.6e-6
    kinds = Kinds((quick + beside, slow + beside), (0.0, 0.0), 120, (0.5, 0.5), 0.04)
    found = bounded(Programs(kinds, (23e-6, 127e-6), 583e-6, slow), (0.98 * slow, 1.02 * slow))
    assert isinstance(found, Programs)
    low, high = found.bounds(kinds.mean_s, 0.0)
    assert low <= (slow + quick) / 2 <= high


def test_a_round_that_is_longer_than_a_forced_write_bounds_no_program() -> None:
    """The dies wait for each other's transfers while they empty the buffer."""
    program_s, beside_s = 2.484e-3, 38e-6
    kinds = Kinds((program_s + beside_s,), (0.0,), 120, (1.0,), 0.04)
    bounds = (12e-6, 80e-6)
    found = bounded(Programs(kinds, bounds, 2.605e-3, program_s), (2.55e-3, 2.65e-3))
    assert isinstance(found, Programs)
    assert found.beside_s == bounds


def _waits(piled: float, count: int) -> Floats:
    """Of reads that come at any time of an erasure of 3 ms, and some that wait for a program of
    1.8 ms besides."""
    chance = np.random.default_rng(5)
    waits = chance.uniform(1e-3, 3e-3, count)
    late = chance.random(count) < piled
    return np.asarray(waits + late * chance.uniform(0.0, 1.8e-3, count), dtype=np.float64)


def test_waits_that_pile_up_do_not_end_sharply_at_the_longest() -> None:
    assert ends_sharply(_waits(0.0, 200), 1e-3, 3e-3)
    assert not ends_sharply(_waits(1.0, 200), 1e-3, 4.7e-3)
    # Reads in step with the erasures, most of which met a program before.
    assert not in_step(np.full(200, 4.7e-3), 20, 1e-3, 4.7e-3)
    assert in_step(np.full(200, 4.7e-3), 90, 1e-3, 4.7e-3)
    # A dozen may come in any order.
    assert not ends_sharply(_waits(0.0, 12), 1e-3, 3e-3)


@pytest.mark.parametrize("ceiling", [None, 3.6e9])
def test_the_time_of_a_byte_on_a_link_has_no_least_where_its_ceiling_is_unknown(
    ceiling: float | None,
) -> None:
    read = SimpleNamespace(bytes=1e9, elapsed_s=1.0)
    view = SimpleNamespace(points=lambda *_: [read], value=lambda _: ceiling)
    least, most = read_cost.link_s(cast(View, view))
    assert least <= 1 / 3.6e9 <= most
    assert (least == most) is (ceiling is not None)


@pytest.mark.parametrize(
    ("page_bytes", "alone_us", "most_ns"),
    [
        # A page comes no later than its half: it moves for each read, in no more than a die takes.
        (8192, {512: 112, 3584: 112, 8192: 112}, 83e3 / 8192),
        # Half a page takes 61 us more on a channel of 70 MB/s, or on the link.
        (8192, {512: 112, 3584: 134, 8192: 195}, 1.1 * 61e3 / 4096),
        # The second half may be on another die.
        (None, {512: 112, 3584: 112, 8192: 112}, 83e3 / 2048),
        (4096, {512: 112, 8192: 112}, 83e3 / 2048),
    ],
)
def test_a_page_bounds_a_channel_whose_time_does_not_show(
    monkeypatch: pytest.MonkeyPatch,
    page_bytes: float | None,
    alone_us: dict[int, float],
    most_ns: float,
) -> None:
    alone = {size: (us * 1e-6, 0.0) for size, us in alone_us.items()}
    monkeypatch.setattr(conflicting_reads, "alone", lambda _view: alone)
    view = view_of(FakeRun(), page_bytes=page_bytes)
    most_s = read_cost.per_byte_most_s(view, 112e-6, 83e-6, 2048)
    assert most_s * 1e9 == pytest.approx(most_ns)


def _cost(**parts: object) -> read_cost.ReadCost:
    usual = {"idle_s": 66e-6, "die_s": 50e-6, "memory_s": 14e-6, "per_byte_s": (1.2e-9, 1.2e-9)}
    return read_cost.ReadCost(**usual | parts, small_bytes=(2048, 2048), of_channel=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("planes", [None, 4.0])
def test_a_round_has_the_transfers_of_all_planes_that_are_programmed_together(
    planes: float | None,
) -> None:
    program_s, page = 412e-6, 8192.0
    round_s = program_s + (planes or 1) * page * 1.2e-9
    known = {"stripe_bytes": page, "planes_per_die": planes}
    view = SimpleNamespace(
        once={read_cost.read_cost: _cost(), turn_s: round_s}.get,
        answer=lambda _: SimpleNamespace(detail={"round_s": round_s}),
        value=known.get,
    )
    bounds = by_rounds(cast(View, view))
    assert bounds is not None
    assert bounds[0] <= program_s <= bounds[1]
    assert bounds[1] - bounds[0] < 0.2 * program_s


@pytest.mark.parametrize("together", [1, 2, 4])
def test_planes_that_look_like_dies_may_be_programmed_together(together: int) -> None:
    """Planes that read independently do not show as planes; a round has the transfers of all."""
    program_s, page = 660e-6, 16384.0
    round_s = program_s + together * page * 1.2e-9
    view = SimpleNamespace(
        once={read_cost.read_cost: _cost(), turn_s: round_s}.get,
        answer=lambda _: SimpleNamespace(detail={"round_s": round_s}),
        value={"stripe_bytes": page}.get,
    )
    bounds, further_s = by_rounds(cast(View, view)), further_planes_s(cast(View, view))
    assert bounds is not None
    found = of_round(bounds, further_s)
    assert found.interval is not None
    assert found.interval[0] <= program_s <= found.interval[1]
    assert found.value == pytest.approx(program_s, rel=0.1)


def test_a_write_that_waits_for_one_more_program_is_of_no_other_kind() -> None:
    """Every second write waits for the parity of the one before it."""
    program_s, beside_s = 1.25e-3, (74e-6, 104e-6)

    def found(*kinds_s: float) -> Programs:
        shares = (1 / len(kinds_s),) * len(kinds_s)
        errors = (5e-6,) * len(kinds_s)
        return Programs(Kinds(kinds_s, errors, 120, shares, 0.04), beside_s, None, None)

    once = program_s + 99e-6
    assert found(once, once + program_s).may_be_in_a_row
    assert found(once, once + program_s, once + 2 * program_s).may_be_in_a_row
    assert not found(once).may_be_in_a_row
    assert not found(once, once + 1.5 * program_s).may_be_in_a_row
    assert not found(once, once + program_s, once + 3 * program_s).may_be_in_a_row
    # A page of the map is read before it is written anew.
    with_read = found(once, once + program_s + 0.15e-3)
    assert not with_read.may_be_in_a_row
    assert replace(with_read, read_s=0.15e-3).may_be_in_a_row
    # And before the write that part of the map is read which it needs.
    with_two = found(once, once + program_s + 0.3e-3)
    assert replace(with_two, read_s=0.15e-3).may_be_in_a_row
    assert not replace(with_two, read_s=0.1e-3).may_be_in_a_row


def test_a_read_from_the_write_buffer_is_none_of_flash() -> None:
    """On a slow link it takes longer than the array's read does."""
    assert read_cost.in_memory(69.6e-6, 137e-6, 63.5e-6, 69.6e-6)
    # It only needs no part of the mapping any more; writes wait for flash.
    assert not read_cost.in_memory(130e-6, 195e-6, 63.5e-6, 700e-6)
    assert not read_cost.in_memory(137e-6, 137e-6, 63.5e-6, 69.6e-6)


@pytest.mark.parametrize("slope_s", [0.0, 15e-9])
def test_noise_of_reads_makes_no_time_on_the_channel(slope_s: float) -> None:
    """Single reads of a noisy array, all of which bring a whole page."""
    link_s = 3.6e-9
    sizes = {n: (130e-6 + n * (slope_s + link_s), 1.1e-6) for n in (512, 1536)}
    sizes[1536] = (sizes[1536][0] + 2.5e-6, 1.1e-6)  # By chance.
    seen = SimpleNamespace(block_bytes=2048)
    view = SimpleNamespace(
        once=lambda function, *_: {
            conflicting_reads.seen: seen,
            conflicting_reads.alone: sizes,
        }.get(function, SimpleNamespace(latency_s={})),
        points=lambda *_: [],
        value={"link_ceiling": 1 / link_s}.get,
    )
    (least, most), shown, _ = read_cost._channel(cast(View, view), 260e-6, 107e-6)
    assert shown is (slope_s > 0)
    assert least <= slope_s <= most


@pytest.mark.parametrize(("fastest", "shown"), [(251e6, False), (3e9, True)])
def test_what_the_link_may_take_alone_is_no_time_on_the_channel(
    fastest: float, shown: bool
) -> None:
    """As of an SSD of DiskSim that moves whole pages, behind a link of 2.1 GB/s that does not show:
    a read of a page was told to take the array 129 us for 25 us."""
    sizes = {n: (132e-6 + n * 0.63e-9, 0.0) for n in (512, 2560, 5632)}
    view = SimpleNamespace(
        once=lambda function, *_: {
            conflicting_reads.seen: SimpleNamespace(block_bytes=2048),
            conflicting_reads.alone: sizes,
        }.get(function, SimpleNamespace(latency_s={})),
        points=lambda *_: [SimpleNamespace(bytes=fastest, elapsed_s=1.0)],
        value={}.get,
    )
    (_, most), of_channel, _ = read_cost._channel(cast(View, view), 132e-6, 131e-6)
    assert of_channel is shown
    assert shown or most * 4096 > 100e-6


def test_a_short_read_that_waits_as_long_as_a_long_one_takes_is_not_the_slower_one() -> None:
    """The first is of 7.5 KiB, the second of 512 bytes. Left out of the typical latency is the
    slowest tenth: long reads, unless the short ones wait so long."""

    def typical_s(*both_s: float) -> float:
        quick_s, slow_s = sorted(both_s)
        return (0.5 * quick_s + 0.4 * slow_s) / 0.9

    for short_s, long_s, wait_s in ((90.9, 100.8, 10.2), (90.9, 100.8, 4.0), (91.0, 91.3, 7.0)):
        least, most = conflicting_reads.second_waits_s(
            typical_s(short_s + wait_s, long_s), typical_s(short_s, long_s)
        )
        assert least - 1e-9 <= wait_s <= most + 1e-9


@pytest.mark.parametrize(("of_channel", "several"), [(True, False), (False, True)])
def test_a_channel_that_is_slower_than_the_array_is_no_mirror(
    of_channel: bool, several: bool
) -> None:
    """A DFTL drive reads a page in 25 us, and 4 KiB pass its channel in 20 us."""
    cost = replace(_cost(die_s=25e-6, per_byte_s=(4.5e-9, 5.5e-9)), of_channel=of_channel)
    assert page_reads.several_serve(cost, 25e-6 + 20e-6) is several
    assert page_reads.several_serve(cost, 2 * 25e-6 + 20e-6)


@pytest.mark.parametrize(
    ("die_s", "longer", "code"),
    [(60e-6, 1.2, "measured"), (60e-6, 1.9, "several"), (8e-6, 1.2, "quicker_than_flash")],
)
def test_what_is_quicker_than_flash_or_a_mirror_is_no_page_read(
    die_s: float, longer: float, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Media that are no flash, and reads that wait for a channel and not for a die; and two drives
    that serve the reads of a place in turn."""
    monkeypatch.setattr(page_reads, "median_s", lambda _: 0.1e-3)
    monkeypatch.setattr(conflicting_reads, "one_unit", lambda _: (1 / die_s, []))
    idle_s = 0.1e-3 + longer * die_s
    cost = _cost(die_s=die_s, idle_s=idle_s, memory_s=None, per_byte_s=(1e-10, 1e-10))
    view = SimpleNamespace(
        once=lambda what, *_: cost if what is read_cost.read_cost else [],
        points=lambda *_: [],
        value=lambda _: None,
        has=lambda _: False,
    )
    found = page_reads.page_read(cast(View, view))
    assert found is not None
    assert (found.value is not None) == (code == "measured")
    assert found.said.code == code


@pytest.mark.parametrize(("share", "told"), [(0.002, False), (0.03, True)])
def test_what_takes_far_longer_now_and_then_is_in_a_median_of_many_waits(
    share: float, told: bool
) -> None:
    """Of 64 reads that wait for each other, some take ten times as long."""
    seconds = np.array([50e-6, 500e-6])
    singles = [(seconds, np.array([1000 * (1 - share), 1000 * share]))] * 2
    mean_s = 50e-6 * (1 + 9 * share)
    least_s = page_reads.without_rare(mean_s, singles, 64)
    assert least_s == pytest.approx(50e-6 if told else mean_s)


@pytest.mark.parametrize(("beside_s", "code"), [(1.2e-3, "unknown_rest"), (2e-3, "no_least")])
def test_no_program_takes_less_than_nothing(beside_s: float, code: str) -> None:
    """What a forced write has beside the program may take as long as all of it."""
    alike = Kinds((1.7e-3,), (1e-6,), 120, (1.0,), 0.04)
    found = Programs(alike, (0.1e-3, beside_s), None, None)
    shown = {programs: found, kinds_of_pages: alike}
    view = SimpleNamespace(once=lambda of: shown.get(of, []))
    answer = mean(cast(View, view))
    assert answer.value is None
    assert answer.said.code == f"program_time.{code}"
    assert of_round((1e-3, 2e-3), 2e-3).said.code == "program_time.round_of_anything"
    assert of_round((1e-3, 2e-3), 0.5e-3).said.code == "program_time.round_of_transfers"


def test_what_a_write_has_beside_the_program_may_be_no_more_than_a_buffered_write() -> None:
    """Reads have the correction of errors besides, here of 30 us."""
    plain = SimpleNamespace(latency_percentile_s=lambda _: 14e-6)
    view = SimpleNamespace(
        once=lambda of: [plain] if getattr(of, "__self__", None) is read_cost.PLAIN else None,
        value={"mapping_unit": 4096.0, "page_bytes": 4096.0, "stripe_bytes": 4096.0}.get,
    )
    cost = _cost(idle_s=96e-6, die_s=50e-6)
    least, most = beside_s(cast(View, view), cost)
    assert least == pytest.approx(14e-6)
    assert most >= 46e-6


def test_the_rest_of_a_page_may_pass_the_channel_as_a_whole() -> None:
    """A DFTL drive with pages of 8 KiB and a channel of 200 MB/s reads all of the page before it
    programs 4 KiB of it anew: 464 us for a program of 327 us."""
    per_byte = (4.5e-9, 5.5e-9)
    cost = _cost(idle_s=75.6e-6, die_s=25.1e-6, per_byte_s=per_byte)
    view = SimpleNamespace(
        once=lambda of: [] if getattr(of, "__self__", None) is read_cost.PLAIN else None,
        value={"mapping_unit": 8192.0, "page_bytes": 8192.0, "stripe_bytes": 8192.0}.get,
    )
    least, most = beside_s(cast(View, view), cost)
    assert least <= 464e-6 - 327e-6 <= most


@pytest.mark.parametrize(
    ("anywhere", "low", "high"),
    [
        pytest.param({80: 100}, 0, 0, id="one kind of page"),
        pytest.param({80: 50, 100: 50}, 6, 14, id="two kinds, of which the place is the faster"),
        pytest.param({60: 50, 80: 50}, -14, -6, id="two kinds, of which the place is the slower"),
        pytest.param({80: 50, 150: 50}, 0, 45, id="another kind, or a look-up in the map"),
        pytest.param({95: 100}, 0, 0, id="all take longer: no kind of page"),
    ],
)
def test_the_place_that_keeps_a_die_busy_is_of_one_kind_of_page(
    anywhere: dict[int, int], low: float, high: float
) -> None:
    run = FakeRun()
    alone, single = {"alone_bytes": 512}, {"queue_depth": 1}
    both: list[tuple[str, dict[int, int], dict[str, Any]]] = [
        ("probe-conflicts/alone/512", {80: 100}, alone),
        ("probe-sizes/read/512", anywhere, single),
    ]
    for recording, counts, about in both:
        run.add(recording, "read", iops=1e4, elapsed_s=1.0, block_bytes=512, **about)
        at_ns = np.array([1000 * us for us in counts])
        run.histograms[recording, "read"] = (at_ns, at_ns, np.array(list(counts.values())))
    least, most = page_reads._of_other_kinds(view_of(run), 60e-6)
    assert low <= round(1e6 * least, 3) <= round(1e6 * most, 3) <= high
    assert (least <= 10e-6 <= most) == (low == 6 or high == 45)


def test_dies_of_a_chip_that_take_turns_are_not_ruled_out_by_planes() -> None:
    """As in a simulator whose chips serve one die at a time."""
    shown = Levels(units=8, planes=2, channels=2, are_first=True, wait={DIE: 0.6})
    view = SimpleNamespace(
        once=lambda function, *_: shown if function is conflicting_reads.shown_levels else (),
        points=lambda *_: [],
    )
    units = known(8, say("measured", turn_bytes=1 << 17))
    found = die_conflicts._of_units(cast(View, view), units)
    assert found.value == 4
    assert Assumption.PLANES_WAIT not in {check.assumption for check in found.checks}


@pytest.mark.parametrize(("page", "untested"), [(16384.0, False), (131072.0, True)])
def test_a_forced_write_may_have_the_pages_of_planes_that_look_like_dies(
    page: float, untested: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planes that read independently are programmed together, after the transfers of all; where
    these may be most of the write, the finding says what it assumes."""
    program_s, per_byte_s = 650e-6, 0.3e-9
    kinds = Kinds((program_s + 4 * page * per_byte_s,), (0.0,), 120, (1.0,), 0.01)
    cost = _cost(per_byte_s=(per_byte_s, per_byte_s))
    answers: dict[Any, Any] = {
        programs: Programs(kinds, (0.0, 10e-6), None, None),
        kinds_of_pages: kinds,
        read_cost.read_cost: cost,
    }
    once = {**answers, further_planes_s: 7 * page * per_byte_s}.get
    view = SimpleNamespace(once=lambda what: once(what, []))
    answer = mean(cast(View, view))
    assert answer.interval is not None
    not_needed = {check.assumption for check in answer.checks if check.holds is None}
    assert (Assumption.PLANES_WAIT not in not_needed) == untested
    if not untested:
        assert answer.interval[0] <= program_s <= answer.interval[1]


@pytest.mark.parametrize(("dies", "channels", "further"), [(4.0, 2.0, 1), (4.0, None, 3)])
def test_planes_that_look_like_dies_are_no_more_than_share_a_channel(
    dies: float, channels: float | None, further: int
) -> None:
    known = {"stripe_bytes": 8192.0, "dies": dies, "channels": channels}
    view = SimpleNamespace(once=lambda _: _cost(), value=known.get)
    assert further_planes_s(cast(View, view)) == pytest.approx(further * 8192 * 1.2e-9)
