"""Stripe, page, dies and queue as the probe finds them follow the drive's own."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from analysis_fixture import FakeRun
from explain_fixture import KIB, MIB, view_of

import fourcorners as fc
from fourcorners.analysis.internals.flash import die_conflicts
from fourcorners.analysis.internals.flash.boundary_reads import crossings
from fourcorners.analysis.internals.flash.conflicting_reads import one_unit
from fourcorners.analysis.internals.flash.conflicting_reads import seen as seen_of_run
from fourcorners.analysis.internals.flash.interleaving import Seen
from fourcorners.analysis.internals.flash.strided_reads import Unread
from fourcorners.analysis.internals.resolver import Resolver
from fourcorners.analysis.internals.view import View

DRIVE = "intel-x25-m-g2-80gb"
LOG_BLOCKS = str(Path(__file__).parents[1] / "drive/sim/tests/support/log_block.toml")


def _values(folder: Path, drive: str = f"sim:{DRIVE}", **settings: str) -> dict[str, float | None]:
    with fc.open_target(drive, settings=settings) as target:
        run = fc.run("probe-conflicts", target, out=folder)
    return {finding.name: finding.value for finding in run.findings}


@pytest.mark.parametrize(
    ("dies", "planes", "page_kib", "queue"), [(20, 2, 4, 32), (10, 1, 8, 8), (16, 4, 4, 17)]
)
def test_findings_follow_the_drive(
    dies: int, planes: int, page_kib: int, queue: int, tmp_path: Path
) -> None:
    found = _values(
        tmp_path,
        **{
            "flash.dies": str(dies),
            "flash.channels": "2",
            "flash.planes": str(planes),
            "flash.page_size": f"{page_kib} KiB",
            "flash.blocks_per_plane": str(80 * 2**30 * 5 // (4 * dies * planes * page_kib * 2**17)),
            "link.queue_depth": str(queue),
        },
    )
    assert found["dies"] == dies
    assert found["stripe_bytes"] == planes * page_kib * 1024
    assert found["page_bytes"] == page_kib * 1024
    assert found["command_queue_depth"] == queue


@pytest.mark.parametrize("channels", [4, 8])
def test_channels_follow_the_drive(channels: int, tmp_path: Path) -> None:
    # A page takes longer on such a channel than the next command does to come.
    settings = {"flash.channels": str(channels), "flash.bus_rate": "200 MB/s"}
    found = _values(tmp_path, "sim:class-tlc-nvme-consumer-1tb", **settings)
    assert found["dies"] == 16
    assert found["channels"] == channels


def test_channels_that_are_faster_than_commands_come_do_not_show(tmp_path: Path) -> None:
    settings = {"flash.channels": "4", "controller.read_overhead": "30 us"}
    found = _values(tmp_path, "sim:class-tlc-nvme-consumer-1tb", **settings)
    assert found["dies"] == 16
    assert found["channels"] is None


def test_a_drive_that_serves_one_read_at_a_time_does_not_show_them(tmp_path: Path) -> None:
    found = _values(tmp_path, "sim:ocz-core-64gb")
    assert found["dies"] is None
    assert found["stripe_bytes"] is None


@pytest.mark.parametrize(("planes", "page_kib"), [(1, 16), (4, 4)])
def test_a_queue_of_one_command_shows_stripe_and_page(
    planes: int, page_kib: int, tmp_path: Path
) -> None:
    found = _values(
        tmp_path,
        **{
            "link.queue_depth": "1",
            "flash.bus_rate": "200 MB/s",
            "flash.planes": str(planes),
            "flash.page_size": f"{page_kib} KiB",
            "flash.blocks_per_plane": str(80 * 2**30 * 5 // (4 * 20 * planes * page_kib * 2**17)),
        },
    )
    assert found["stripe_bytes"] == planes * page_kib * 1024
    assert found["page_bytes"] == page_kib * 1024
    assert found["dies"] is None


def test_a_drive_that_keeps_what_was_read_shows_them_by_places_read_once(tmp_path: Path) -> None:
    made = (files("fourcorners") / "catalog/drives/class-tlc-nvme-consumer-1tb.toml").read_text()
    drive = tmp_path / "kept.toml"
    cache = '[read_cache]\nsize = { value = "24 MiB", source = "assumed: test" }\n'
    drive.write_text(f"{made}\n{cache}", "utf-8")
    slow = {"flash.bus_rate": "200 MB/s"}
    kept = _values(tmp_path, str(drive), **slow)
    without = _values(tmp_path, "sim:class-tlc-nvme-consumer-1tb", **slow)
    for name in ("stripe_bytes", "page_bytes", "dies", "channels"):
        assert kept[name] == without[name]
        assert kept[name] is not None


def test_strides_that_meet_several_dies_show_no_turn() -> None:
    rates = {4096 << k: max(1.0, 16.0 / 2**k) for k in range(8)}
    assert Unread(stride=rates, alone=0.8).turn_bytes == 65536
    # Three dies in turn, at strides that are powers of two.
    assert Unread(stride=rates, alone=0.3).turn_bytes is None
    assert Unread(stride=dict.fromkeys(rates, 1.0), alone=0.8).turn_bytes is None
    apart = {4096: 1.0, 8192: 2.0, 16384: 1.0}
    assert Unread(stride=rates, apart=apart, alone=0.8).dies is None


def test_reads_that_become_longer_for_good_show_no_stripe() -> None:
    assert crossings({4096: 1.0, 8192: 1.0, 16384: 1.6, 32768: 1.6, 65536: 1.6}, 0.9) is None
    assert crossings(dict.fromkeys((4096, 8192, 16384), 1.0), 0.9) is None
    shown = crossings({4096: 1.7, 8192: 1.0, 16384: 1.0, 32768: 1.0}, 0.9)
    assert shown is not None
    assert (shown.stripe_bytes, shown.page_bytes) == (8192, 4096)


def test_a_disk_has_none(tmp_path: Path) -> None:
    run = fc.run("probe-conflicts", "sim:wd6400aaks", out=tmp_path)
    verdicts = {f.name: f.verdict for f in run.findings if f.name in ("dies", "page_bytes")}
    assert verdicts == {"dies": "not applicable", "page_bytes": "not applicable"}


@pytest.mark.parametrize(
    ("longer", "page"),
    [
        # As a dynamic SLC cache of other people's design (number 39 of seed 866472212), whose page
        # of 16 KiB was told to be the stripe.
        ({8192: 1.05, 16384: 1.88, 32768: 1.88}, None),
        ({8192: 1.05, 16384: 1.88, 32768: 1.95}, None),
        ({8192: 1.05, 16384: 1.98, 32768: 1.96}, 16384),
        # No boundary of a page is without two reads.
        ({8192: 1.98, 16384: 1.05, 32768: 1.98}, None),
        # Behind a slow bus, within a page.
        ({8192: 1.67, 16384: 1.67, 32768: 2.0}, 32768),
        ({8192: 1.67, 16384: 1.67, 32768: 1.67}, 65536),
    ],
)
def test_a_read_that_takes_nearly_twice_as_long_tells_no_page(
    longer: dict[int, float], page: int | None
) -> None:
    across = {boundary: 1 / times for boundary, times in longer.items()}
    assert replace(_seen(65536, 8, {}), across=across).page_bytes == page


def _seen(stripe: int, dies: int, pair: dict[int, float]) -> Seen:
    window = {4096 << k: float(min(max(1, (4096 << k) // stripe), dies)) for k in range(12)}
    return Seen(window=window, pair=pair)


def test_pairs_are_wanted_until_one_conflicts() -> None:
    stripe = 16384
    powers = _seen(stripe, 6, {}).distances_wanted(100 * stripe)
    assert powers == [12288, *(stripe << k for k in range(7))]
    apart = dict.fromkeys(powers, 2.0) | {12288: 1.0}
    rest = _seen(stripe, 6, apart).distances_wanted(100 * stripe)
    assert 6 * stripe in rest
    all_pairs = apart | {d: 1.0 if d % (6 * stripe) == 0 else 2.0 for d in rest}
    seen = _seen(stripe, 6, dict(sorted(all_pairs.items())))
    assert seen.units == 6
    assert seen.distances_wanted(100 * stripe) == []


def test_places_within_a_stripe_are_no_turn_of_the_dies() -> None:
    seen = _seen(8192, 4, {4096: 1.0})
    assert seen.turn is None
    assert seen.distances_wanted(2**20)


def _in_banks(stripe: int, turn: int, bank: int, banks: int, distance: int) -> float:
    """Rate of two places, the first of them at the start."""
    same_bank = distance // bank % banks == 0
    return 1.0 if same_bank and distance // stripe % turn == 0 else 2.0


@pytest.mark.parametrize(("banks", "dies"), [(1, 8), (2, 16), (3, 24), (7, None)])
def test_banks_of_dies_are_counted(banks: int, dies: int | None) -> None:
    stripe, bank, seen = 8192, 4 << 20, _seen(8192, 8, {})
    for _ in range(4):
        wanted = seen.distances_wanted(255 << 20)
        pair = dict(seen.pair) | {d: _in_banks(stripe, 8, bank, banks, d) for d in wanted}
        seen = _seen(stripe, 8, dict(sorted(pair.items())))
    assert seen.distances_wanted(255 << 20) == []
    assert seen.units == dies
    if dies is not None:
        offsets = [seen.die_offset_bytes(die) for die in range(dies)]
        assert offsets == [b * bank + k * stripe for b in range(banks) for k in range(8)]


@pytest.mark.parametrize(("bank", "of_planes"), [(4 << 20, False), (128 << 10, True)])
def test_banks_of_a_page_may_be_planes_that_read_by_themselves(
    monkeypatch: pytest.MonkeyPatch, bank: int, of_planes: bool
) -> None:
    """Whether larger banks are of dies, pairs of reads would show, which are not among these."""
    seen = _seen(4096, 8, {})
    for _ in range(6):
        wanted = seen.distances_wanted(255 << 20)
        pair = dict(seen.pair) | {d: _in_banks(4096, 8, bank, 2, d) for d in wanted}
        window = {size: min(size >> 12, 8 if size <= bank else 16) * 1.0 for size in seen.window}
        seen = Seen(window=window, pair=dict(sorted(pair.items())))
    assert seen.units == 16
    monkeypatch.setattr(die_conflicts, "_seen", lambda _view: seen)
    monkeypatch.setattr(die_conflicts, "shown_levels", lambda _view: None)
    found = die_conflicts.dies(view_of(FakeRun()))
    assert found.said.code == ("planes_or_dies" if of_planes else "no_pairs")


def test_dies_that_shift_from_turn_to_turn_are_not_counted() -> None:
    stripe = 8192
    turns = {stripe << k: 1.0 if k in (3, 4, 5) else 2.0 for k in range(9)}
    # The next turn begins with the second die.
    shifted = {(64 * 8 + place) * stripe: 1.0 if place == 7 else 2.0 for place in range(1, 8)}
    seen = _seen(stripe, 8, dict(sorted((turns | shifted).items())))
    assert seen.turn == 8
    assert seen.units is None


def test_dies_of_a_drive_with_log_blocks_are_those_of_all_banks(tmp_path: Path) -> None:
    # A block is written whole before one of the other bank is.
    settings = {"flash.dies": "8", "translation.dies_per_block": "4", "flash.bus_rate": "100 MB/s"}
    found = _values(tmp_path, LOG_BLOCKS, **settings)
    assert found["dies"] == 8
    assert found["channels"] == 4


def test_more_dies_than_take_turns_are_noticed() -> None:
    stripe = 16384
    pair = {stripe: 2.0, 2 * stripe: 2.0, 4 * stripe: 1.0}
    assert _seen(stripe, 4, pair).takes_turns
    assert not _seen(stripe, 32, pair).takes_turns
    pair |= {stripe << k: 1.0 if k >= 3 else 2.0 for k in range(6)}
    windows = {4096 << k: min(max(1.0, 2.0 ** (k - 2)), 8.0) for k in range(10)}
    assert Seen(window=windows, pair=pair).takes_turns
    # A read that hangs makes one window slower than the next, or all of them but one.
    assert (
        Seen(window=windows | {8 * stripe: 6.5, 16 * stripe: 6.5}, pair=pair).takes_turns is False
    )
    assert Seen(window=windows | {16 * stripe: 6.5}, pair=pair).takes_turns
    assert Seen(window=windows | {16 * stripe: 10.0}, pair=pair).takes_turns
    assert not Seen(window=windows | {4096 << 9: 16.0}, pair=pair).takes_turns


@pytest.mark.parametrize(("twice", "of_parts"), [(2.8, True), (4.9, False)])
def test_planes_of_dies_that_take_turns_are_no_stripes(
    twice: float, of_parts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four planes of a die read together, and then the other die of the chip follows, which reads
    while the first does not. With a hash of the address, more dies are met in twice as much."""
    part = 4096
    rates = (1.0, 1.8, 2.9, twice, 5.4, 7.8, 9.9)
    window = {part << k: rate for k, rate in enumerate(rates)}
    pair = {part << k: 1.0 if k in (2, 6, 7) else 1.8 for k in range(8)}
    seen = Seen(window=window, pair=pair)
    assert (seen.stripe_bytes, seen.turn, seen.is_of_parts) == (part, 4, of_parts)
    monkeypatch.setattr(die_conflicts, "_seen", lambda _view: seen)
    for name in ("shown_levels", "planes_follow"):
        monkeypatch.setattr(die_conflicts, name, lambda _view: None)
    found = die_conflicts.stripe(view_of(FakeRun()))
    assert (found.value, found.said.code) == (
        (None, "of_parts") if of_parts else (part, "measured")
    )


def test_windows_that_hold_no_whole_turns_wait_for_the_dies_that_hold_most() -> None:
    """Stripes of six pages on 16 dies: a window of 21 stripes has two of them on five dies."""
    stripe, dies = 6 * 16384, 16
    window = {}
    for size in (4096 << k for k in range(15)):
        turns, rest = divmod(size / stripe, dies)
        window[size] = size / stripe / (turns + min(rest, 1.0)) if size > stripe else 1.0
    pair = {stripe << k: 1.0 if k >= 4 else 2.0 for k in range(7)}
    seen = Seen(window=window, pair=pair)
    assert seen.stripe_bytes == stripe
    assert seen.units == dies
    assert seen.takes_turns
    more = {size: rate * (2 if size > 2**22 else 1) for size, rate in window.items()}
    assert not Seen(window=more, pair=pair).takes_turns


def test_a_queue_whose_end_was_not_reached_is_unknown() -> None:
    flat = Seen(beside=dict.fromkeys((4, 8, 16), 20.0))
    assert flat.queue_depth is None
    assert flat.queue.wanted() == []
    met = Seen(beside={4: 20.0, 8: 20.0, 16: 12.0})
    assert met.queue.wanted() == list(range(9, 16))
    assert Seen(beside={4: 20.0, 8: 19.8, 9: 18.0, 16: 12.0}).queue_depth is None
    scattered = Seen(beside={4: 20.0, 8: 12.0, 9: 18.0, 10: 11.0, 16: 9.0})
    assert scattered.queue_depth is None


@pytest.mark.parametrize(("queue", "alone"), [(8, 1.2), (32, 1.8), (32, 2.02), (1023, 1.3)])
def test_a_queue_that_is_full_shows_by_what_waits(queue: int, alone: float) -> None:
    # A read that comes round in more than two times of the other place is not late at first.
    full = queue - 1 + alone - 1
    depths = {4, queue - 2, queue - 1, queue, queue + 1, 2 * queue, 1536}
    rates = {k: 1 + 1 / (alone + max(0.0, k - full)) for k in sorted(depths)}
    assert Seen(beside=rates).queue_depth == queue


def test_a_third_more_is_a_stripe_and_a_third_only_where_more_is_faster() -> None:
    rates = {
        12288: (1.0, 1.0, 1.33, 2.66),
        8192: (1.0, 1.0, 1.59, 1.59),
        None: (1.0, 1.0, 1.33, 1.33),
    }
    for stripe, gains in rates.items():
        window = {4096 << k: 9000 * gain for k, gain in enumerate(gains)}
        assert Seen(window=window).stripe_bytes == stripe


@pytest.mark.parametrize(("pair", "stripe"), [(1.28, 4096), (1.45, 6144)])
def test_two_dies_may_do_no_more_than_a_third_more_than_one(pair: float, stripe: int) -> None:
    """As where an SSD of DiskSim serves 20 commands in their order: what a window and two places
    gain alike is no unequal share."""
    window = {4096: 7657.0, 8192: 9777.0, 16384: 15_000.0, 32768: 25_000.0}
    rates = dict.fromkeys((6144, 12_288, 24_576), 7657.0 * pair)
    seen = Seen(window=window, pair=rates | {49_152: 7657.0})
    assert seen.stripe_bytes == stripe
    # Of other distances than of stripes none shows how many dies there are.
    assert seen.turn == (None if stripe == 4096 else 8)


def test_scatter_is_no_stripe() -> None:
    windows = {4096: 38.9, 8192: 45.9, 16384: 44.2, 32768: 45.2, 65536: 48.5, 131072: 45.6}
    assert Seen(window=windows).stripe_bytes is None


def test_larger_windows_lie_on_slower_kinds_of_pages_too() -> None:
    """Eight dies, the first pages of which are of the quickest of three kinds."""
    rates = [18.2, 18.2, 18.2, 32.9, 65.9, 126, 239, 194, 176, 169, 166, 165, 164, 165, 166]
    windows = {4096 << k: rate for k, rate in enumerate(rates)}
    assert Seen(window=windows).stripe_bytes == 16384
    # A read that takes milliseconds holds up all that wait, now and then.
    assert Seen(window=windows | {4096 << 8: 130.0}).stripe_bytes == 16384
    scattered = windows | {4096 << k: rate for k, rate in ((5, 173.0), (6, 151.0), (7, 182.0))}
    assert Seen(window=scattered).stripe_bytes == 16384
    # Other load holds some windows up.
    assert Seen(window=windows | {4096 << 5: 50.0}).stripe_bytes is None
    assert Seen(window=windows | {4096 << 8: 90.0}).stripe_bytes is None
    few = {size: min(rate, 60.0) for size, rate in windows.items()}
    assert Seen(window=few).stripe_bytes == 16384
    assert Seen(window=few | {4096 << 8: 45.0}).stripe_bytes is None


def test_a_window_gains_no_more_than_it_has_places() -> None:
    """Reads of 2 KiB, which the drive takes for a sequence within 8 KiB, and reads ahead of."""
    windows = {4096: 1.0, 8192: 3.9, 16384: 7.8, 32768: 8.0, 65536: 8.0}
    assert Seen(window=windows).stripe_bytes == 4096
    assert Seen(window=windows | {8192: 7.0}).stripe_bytes is None
    kept = {4096: 1.0, 8192: 17.0, 16384: 17.0, 32768: 17.0, 65536: 9.0, 131072: 9.0}
    assert Seen(window=kept).stripe_bytes is None


def test_places_that_show_no_turn_are_not_those_of_one_die() -> None:
    """Reads of places that were never read before lie on all dies, unless a stride of whole turns
    was found."""
    windows = {4096 << k: rate for k, rate in enumerate([18.0, 18.0, 33.0, 60.0, 30.0, 60.0])}
    strides = dict.fromkeys((4096 << k for k in range(6)), 80.0)
    turns = {4096 << k: max(13.0, 208.0 / 2**k) for k in range(8)}
    for stride, rate in ((strides, 18.0), (turns, 13.0)):
        seen = Seen(window=windows, stride=stride, sentinel={0: 12.0})
        found = {seen_of_run: seen}
        shown = one_unit(
            cast(View, SimpleNamespace(once=lambda of, found=found: found.get(of, [])))
        )
        assert shown is not None
        assert shown[0] == rate


@pytest.mark.parametrize(("together", "stripe"), [(13.5, 8192), (10.0, 12288)])
def test_a_rate_that_a_processor_sets_is_no_share_of_a_stripe(together: float, stripe: int) -> None:
    # 1.35 times one die, as of a window of 1.35 stripes; but larger ones are no faster.
    window = {4096 << step: 10.0 if step < 2 else 13.5 for step in range(8)}
    seen = Seen(window=window, pair={8192: together}, beside={4: 13.5, 8: 13.5, 9: 12.0, 16: 11})
    assert seen.stripe_bytes == stripe
    assert seen.queue_depth is None


@pytest.mark.parametrize(
    ("windows", "code"), [((4, 8, 128, 2048), "one_by_one"), ((128, 2048), "no_place")]
)
def test_a_probe_that_ended_before_one_place_was_read_compares_nothing(
    windows: tuple[int, ...], code: str
) -> None:
    """Reads within 128 KiB and within 2 MiB may both keep all dies busy."""
    run = FakeRun()
    for window in windows:
        about: dict[str, Any] = {"window_bytes": window * KIB, "block_bytes": 2 * KIB}
        run.add(f"probe-conflicts/{window}", "read", iops=98e3, queue_depth=64, **about)
    found = Resolver(run).finding("stripe_bytes")
    assert found is not None
    assert found.said is not None
    assert found.said.code == f"stripe_bytes.{code}"


PAGE_BYTES, DIES = 16 * KIB, 16


def _kinds_seen(kinds_us: Sequence[float]) -> Seen:
    """What the probe would measure of dies that take stripes of a page of each kind in turns."""
    stripe = PAGE_BYTES * len(kinds_us)

    def busiest_s(places: Iterable[int]) -> float:
        """The time of all reads of these places, each once, as the busiest die has it."""
        busy = [0.0] * DIES
        for at in places:
            busy[at // stripe % DIES] += kinds_us[at // PAGE_BYTES % len(kinds_us)] * 1e-6
        return max(busy)

    grid = 4 * KIB
    window: dict[int, float] = {grid << k: 0.0 for k in range(13)}
    for size in window:
        window[size] = size // grid / busiest_s(range(0, size, grid))
    across = {}
    for boundary in (grid << k for k in range(9)):
        pages = {boundary // PAGE_BYTES, (boundary - 1) // PAGE_BYTES}
        across[boundary] = 1 / busiest_s(page * PAGE_BYTES for page in pages)
    pair: dict[int, float] = {}
    seen = Seen(window=window, across=across)
    while wanted := seen.distances_wanted(64 * MIB):
        pair |= {distance: 2 / busiest_s((0, distance)) for distance in wanted}
        seen = replace(seen, pair=dict(sorted(pair.items())))
    return seen


@pytest.mark.parametrize(
    "kinds_us", [(57, 67, 82), (50, 60), (50, 80), (40, 60, 90), (50, 55, 75, 100), (60, 60, 60)]
)
def test_a_stripe_may_have_pages_of_several_kinds(kinds_us: Sequence[float]) -> None:
    seen = _kinds_seen(kinds_us)
    assert seen.stripe_bytes == PAGE_BYTES * len(kinds_us)
    assert seen.page_bytes == PAGE_BYTES
    assert seen.units == DIES


def test_nothing_is_told_from_what_comes_after_a_gap() -> None:
    """Four dies with stripes of two pages; some points were left out, as something held them up."""
    window = {4096 << k: 10.0 * min(max(2**k // 4, 1), 4) for k in range(9)}
    across = {2048 << k: 5.0 if k == 2 else 10.0 for k in range(9)}
    pair = {16384 * n: 10.0 if n % 4 == 0 else 20.0 for n in (1, 2, 4, 8, 16, 32)}
    seen = Seen(window=window, across=across, pair=pair)
    assert (seen.stripe_bytes, seen.page_bytes, seen.units) == (16384, 8192, 4)

    def without(rates: dict[int, float], size: int) -> dict[int, float]:
        return {key: rate for key, rate in rates.items() if key != size}

    assert replace(seen, window=without(window, 32768)).stripe_bytes is None
    # A smaller boundary that costs nothing, and a larger one of a later page, tell no page.
    assert replace(seen, across=without(across, 8192)).page_bytes is None
    # Two turns conflict as one does.
    assert replace(seen, pair=without(pair, 4 * 16384)).units is None
    assert replace(seen, pair=without(pair, 16 * 16384)).units == 4


def test_reads_one_at_a_time_tell_nothing_from_what_comes_after_a_gap() -> None:
    within, apart = {2048: 1.1, 4096: 1.8, 8192: 1.8}, {16384 << k: 1.0 for k in range(4)}
    shown = crossings(within | apart, 1.0)
    assert shown is not None
    assert (shown.stripe_bytes, shown.page_bytes) == (16384, 4096)
    without = crossings({2048: 1.1, 8192: 1.8} | apart, 1.0)
    assert without is not None
    assert (without.stripe_bytes, without.page_bytes) == (16384, None)
    assert crossings(within | {32768: 1.0, 65536: 1.0}, 1.0) is None
