"""What commands that hang now and then, or a drive that works by the clock, must not be taken for.

The recordings are those of foreign drives whose service times scatter by 5 to 10 %, and of whose
operations one in a few hundred takes 76 or 85 times as long.
"""

from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import KIB, MIB, view_of

from fourcorners.analysis.internals.collection.in_time import comes_by_the_clock
from fourcorners.analysis.internals.flash import conflicting_reads, data_reduction
from fourcorners.analysis.internals.flash.interleaving import Seen
from fourcorners.analysis.internals.flash.placement import static
from fourcorners.analysis.internals.flash.queue_end import QueueEnd
from fourcorners.analysis.internals.flash.soonest_reads import Soonest
from fourcorners.analysis.internals.link import transfer_model
from fourcorners.patterns import INCOMPRESSIBLE, REPEATED, compressible
from fourcorners.recording.arrays import Floats

STRIPE, TURN, OUTSTANDING, READ_S = 4 * KIB, 16, 64, 59.7e-6
ONE_QUEUE = Soonest(0.985 * OUTSTANDING * READ_S, OUTSTANDING * READ_S)
TWO_QUEUES = Soonest(90e-6, 2.1e-3)


def _seen(soonest: bool) -> Seen:
    """A drive of 16 units. Reads of one place hung for an eighth of the time, those of two places
    1 MiB apart hardly."""
    window = {STRIPE << k: 13_359.0 * min(2.0**k, 9.1) for k in range(15)}
    pair = {STRIPE << k: 28_000.0 for k in range(4)} | {STRIPE << k: 15_400.0 for k in range(4, 11)}
    pair |= {2 * KIB: 15_056.0, MIB: 16_094.0, MIB - TURN * STRIPE: 14_050.0, 3 * MIB: 13_620.0}
    pair |= {MIB + n * STRIPE: 28_500.0 for n in range(1, TURN)}
    alike = {d: ONE_QUEUE if iops < 20_000 else TWO_QUEUES for d, iops in pair.items()}
    return Seen(
        window=window,
        pair=dict(sorted(pair.items())),
        soonest={0: ONE_QUEUE} | alike if soonest else {},
    )


def test_hangs_make_no_second_bank_of_dies() -> None:
    assert _seen(soonest=True).units == TURN
    # By the rates alone, two places 1 MiB apart are on two dies.
    assert _seen(soonest=False).units == 2 * TURN


def test_places_that_conflict_between_whole_turns_are_no_parts_of_a_die() -> None:
    """A hash of the address tells the die of a drive with 8 dies: places 16 stripes apart conflict
    by chance, and so do those 37 and 46 apart."""
    window = {STRIPE << k: 13_000.0 * min(2.0**k, 7.0) for k in range(4)}
    window |= {STRIPE << k: 92_000.0 for k in (4, 5)} | {STRIPE << k: 104_000.0 for k in (6, 7, 8)}
    window[STRIPE << 6] = 1.25 * 92_000.0
    pair = {n * STRIPE: 26_000.0 for n in (1, 2, 4, 8, 20, 32, 33, 37, 46, 64)} | {
        2 * KIB: 13_000.0
    }
    pair[16 * STRIPE] = 13_000.0
    in_turn = Seen(window, pair=dict(sorted(pair.items())))
    assert in_turn.turn == TURN
    assert in_turn.is_of_parts
    assert not in_turn.conflicts_between_turns
    hashed = Seen(window, pair=dict(sorted((pair | {37 * STRIPE: 13_000.0}).items())))
    assert hashed.conflicts_between_turns
    assert not hashed.is_of_parts


def test_a_queue_that_ends_somewhere_is_not_told_as_one_without_an_end() -> None:
    rates = {32: 25_200.0, 48: 26_015.0, 64: 19_796.0, 96: 15_186.0, 128: 14_096.0, 192: 14_100.0}
    found = QueueEnd(rates)
    assert found.depth is None
    assert found.slows
    assert not QueueEnd(dict.fromkeys(rates, 25_200.0)).slows


@pytest.mark.parametrize(("tenth_s", "turn"), [(1.2e-3, TURN), (3.2e-3, 2)])
def test_two_dies_that_hang_do_not_conflict(tenth_s: float, turn: int) -> None:
    """Their rate is nearer to that of one die, but a tenth of the reads waits for no such queue."""
    seen, apart = _seen(soonest=True), 2 * STRIPE
    pair = {**seen.pair, apart: 1.158 * seen.one_die}
    soonest = {**seen.soonest, apart: Soonest(tenth_s, 1.8 * OUTSTANDING * READ_S)}
    assert Seen(seen.window, pair=pair, soonest=soonest).turn == turn


def test_reads_that_are_not_served_in_order_show_no_conflict() -> None:
    """Latencies of one place that differ as those of two do tell neither from the other."""
    out_of_order = Soonest(0.1 * OUTSTANDING * READ_S, 0.7 * OUTSTANDING * READ_S)
    assert not out_of_order.is_one_queue
    seen = _seen(soonest=True)
    mixed = dict.fromkeys(seen.soonest, out_of_order)
    assert Seen(seen.window, pair=seen.pair, soonest=mixed).turn == TURN


@pytest.mark.parametrize("differ", [0, 1, 8])
def test_windows_that_hang_are_told_by_their_soonest_reads(differ: int) -> None:
    """Rates of windows over all dies fall by a fifth. A window whose soonest reads are on the other
    side shows that something else made them faster or slower."""
    gains = [1.0, 0.95, 1.69, 3.1, 3.1, 3.47, 2.85, 3.2, 2.9, 3.6]
    window = {STRIPE << k: 7575.0 * gain for k, gain in enumerate(gains)}
    within = dict(zip(window, [ONE_QUEUE] * 2 + [TWO_QUEUES] * 8, strict=True))
    assert Seen(window).stripe_bytes is None
    assert Seen(window, soonest_within=within).stripe_bytes == 2 * STRIPE
    # A single window may have been slow by other load.
    larger = {size: rate for size, rate in window.items() if size > STRIPE}
    assert Seen(larger, soonest_within=within).stripe_bytes is None
    if differ:
        size = STRIPE << differ
        within[size] = ONE_QUEUE if within[size] is TWO_QUEUES else TWO_QUEUES
        assert Seen(window, soonest_within=within).stripe_bytes is None


@pytest.mark.parametrize(("of_two_us", "several"), [(3500, True), (5000, False)])
def test_most_reads_show_what_hangs_hide_that_planes_read_together(
    of_two_us: float, several: bool
) -> None:
    """A window of two pages is served at the rate of one, but most of its reads are over sooner."""
    run = FakeRun()
    waits_us = {4 * KIB: 5000, 8 * KIB: of_two_us} | {(8 << k) * KIB: 400 for k in range(1, 8)}
    for number, (window, wait_us) in enumerate(waits_us.items()):
        iops = 12_000.0 * max(1, 2 ** min(number - 1, 4))
        about: dict[str, Any] = {"window_bytes": window, "queue_depth": 64, "block_bytes": 2 * KIB}
        name = f"probe-conflicts/window/{window}"
        run.add(name, "read", iops=iops, latency_mean_s=wait_us * 1e-6, **about)
    assert conflicting_reads.reads_several(view_of(run)) == several


@pytest.mark.parametrize("in_order", [True, False])
def test_reads_that_hang_do_not_make_the_array_slower(in_order: bool) -> None:
    run = FakeRun()
    for k in range(3):
        window, rate = 4 * KIB << k, 13_359.0 * 2**k
        where: dict[str, Any] = {"window_bytes": window, "block_bytes": 2 * KIB}
        id = f"probe-conflicts/window/{window}"
        run.add(id, "read", iops=rate, elapsed_s=0.2, queue_depth=OUTSTANDING, **where)
        all_s = OUTSTANDING * READ_S / 2**k
        latencies_s = [0.99 * all_s, all_s, all_s + 4.3e-3] if in_order else [0.1 * all_s, all_s]
        run.rows[-1] |= {"latency_min_s": 0.1 * all_s, "latency_max_s": 1.0}
        bounds = np.array(latencies_s) * 1e9
        counts = [1200, 1200, 400] if in_order else [1000, 1800]
        run.histograms[id, "read"] = (bounds, bounds, np.array(counts))
    found_s = conflicting_reads.one_read_s(view_of(run))
    assert found_s == (pytest.approx(READ_S, rel=0.02) if in_order else None)


def _told(strong: float, weak: float, repeated: float) -> tuple[float | None, float | None]:
    """Compression and deduplication by rates over that of incompressible data."""
    run, seed = FakeRun(), 36e6
    rates = {compressible(2): strong, compressible(50): weak, REPEATED: repeated}
    kinds = [(INCOMPRESSIBLE, 1.017), *rates.items(), (INCOMPRESSIBLE, 0.99)]
    for number, (data, rate) in enumerate(kinds, 1):
        id, blocks = f"probe-content/{number}", 512
        seconds = np.arange(1, blocks + 1) * MIB / (seed * rate)
        where: dict[str, Any] = {"data": data, "number": number, "counted": True}
        run.add(
            id,
            "write",
            iops=seed * rate / MIB,
            elapsed_s=float(seconds[-1]),
            block_bytes=MIB,
            **where,
        )
        bounds = seconds * 1e9
        run.histograms[id, "write"] = (bounds, bounds, np.ones(blocks, dtype=np.int64))
    view = view_of(run, link_ceiling=1e9)
    return data_reduction.compression(view).value, data_reduction.deduplication(view).value


def test_rates_that_scatter_show_no_compression() -> None:
    assert _told(strong=1.0, weak=1.0, repeated=1.0) == (0, 0)
    assert _told(strong=6.0, weak=2.0, repeated=1.0) == (1, 0)
    # No data takes more room than incompressible data, so that the drive scatters by 10 %.
    assert _told(strong=0.911, weak=1.083, repeated=0.95) == (None, None)
    # What compresses to 2 % takes no more room than what compresses to a half.
    assert _told(strong=1.0, weak=1.1, repeated=1.0)[0] is None


def test_times_that_scatter_are_no_placement_by_address() -> None:
    """Recorded on a drive that maps pages of 8 KiB to any place; by chance writes at multiples of
    4 KiB took longer than at those of 2 KiB."""
    boundary: Floats = np.array([1024.0 * 2**k for k in range(15)])
    at = [684, 567, 888, 702, 842, 632, 747, 627, 647, 770, 565, 718, 705, 665, 706]
    across = [870, 1050, 1000, 1434, 1309, 1258, 1226, 1178, 1303, 1122, 1586, 1648, 1368, 1146]
    at_s, across_s = (np.array(times) * 1e-6 for times in (at, [*across, 1343]))
    assert static(boundary, at_s, across_s, 32) is None


def _waits(run: FakeRun, many: int) -> FakeRun:
    """Two tests that read, in which so many of 40000 reads, of 0.25 ms, waited for 20 ms."""
    for test in ("probe-conflicts", "probe-caches"):
        id = f"{test}/sentinel/1"
        run.add(id, "read", iops=4000, elapsed_s=5, sentinel=1, queue_depth=1)
        bounds = np.array([0.25e6, 20e6])
        run.histograms[id, "read"] = (bounds, bounds, np.array([20_000, many]))
    return run


@pytest.mark.parametrize(
    ("many", "wait_s", "clock"),
    [(0, 21e-3, False), (3, 21e-3, True), (40, 21e-3, False), (3, 15e-3, True), (3, 23e-3, False)],
)
def test_waits_that_come_while_nothing_is_written_are_for_no_erasure(
    many: int, wait_s: float, clock: bool
) -> None:
    """Ten seconds of reads; every 1.8 s one waited while data were written. Then reads wait for
    programs of 2 ms, too: what takes longer by more is not the same."""
    view = view_of(_waits(FakeRun(), many))
    beside_s = np.linspace(0.25e-3, 2.25e-3, 1000)
    told = comes_by_the_clock(view, 11e-3, period_s=1.8, wait_s=wait_s, beside_s=beside_s)
    assert told == clock


@pytest.mark.parametrize(("waits", "clock"), [([1] * 10, True), ([9, 1, *[0] * 8], False)])
def test_what_a_drive_still_does_in_one_test_is_not_by_the_clock(
    waits: list[int], clock: bool
) -> None:
    """Ten tests of a second that read; every 1.8 s one read waited while data were written."""
    run = FakeRun()
    for index, many in enumerate(waits):
        id = f"probe-caches/sentinel/{index}"
        run.add(id, "read", iops=4000, elapsed_s=1, sentinel=index, queue_depth=1)
        bounds = np.array([0.25e6, 20e6])
        run.histograms[id, "read"] = (bounds, bounds, np.array([4000, many]))
    beside_s = np.linspace(0.25e-3, 2.25e-3, 1000)
    told = comes_by_the_clock(view_of(run), 11e-3, period_s=1.8, wait_s=21e-3, beside_s=beside_s)
    assert told == clock


def test_pairs_that_a_stop_held_up_show_no_level_of_waits() -> None:
    """As of a drive with noise of 15 %: a stop held up a fifth of the pairs of one distance."""
    run, chance = FakeRun(), np.random.default_rng(4)
    for kind in ("together", "late"):
        for stripes in range(1, 9):
            latencies = 190e-6 * chance.lognormal(0, 0.15, 200)
            if stripes == 8:
                latencies[::2] += 80e-6 * chance.lognormal(0, 0.15, 100)
            if (kind, stripes) == ("together", 1):
                latencies[:40] += np.linspace(4e-3, 0, 40)
            id = f"probe-conflicts/{kind}/{stripes}"
            point: dict[str, Any] = {"stripes": stripes}
            point["late_ns" if kind == "late" else "long_bytes"] = 8192
            run.add(id, "read", iops=5000.0, **point)
            count, edges = np.histogram(latencies * 1e9, bins=400)
            run.histograms[id, "read"] = (edges[:-1], edges[1:], count)
    view = view_of(run)
    held_up, other = (conflicting_reads.pairs(view, kind) for kind in ("together", "late"))
    assert sorted(held_up.latency_s) == list(range(2, 9))
    assert sorted(other.latency_s) == list(range(1, 9))
    assert conflicting_reads.all_pairs(view) == [other]


@pytest.mark.parametrize("hangs", [1.0, 0.91])
def test_a_read_that_hangs_at_the_deepest_point_moves_no_end_of_the_queue(hangs: float) -> None:
    """As of a drive with noise of 5 %, whose queue of 32 commands was told as 33."""
    beside = {24: 28_838.0, 32: 28_818.0, 33: 25_925.0, 48: 20_378.0, 64: 19_897.0}
    beside |= {256: 19_412.0, 512: 19_350.0, 768: 19_335.0, 1024: 19_329.0, 1536: 19_320.0 * hangs}
    assert Seen(beside=beside).queue_depth == 32


@pytest.mark.parametrize(
    ("longest_s", "depth", "lacking"),
    [(0.28, OUTSTANDING, True), (0.02, OUTSTANDING, False), (0.28, 900, False)],
    ids=["hang", "slow host", "drained"],
)
def test_a_last_read_that_hangs_does_not_make_a_window_slower(
    longest_s: float, depth: int, lacking: bool
) -> None:
    """Recorded on a drive that serves 5,220 reads of one place per second: the last of 1,107 reads
    hung for 0.28 s, so that 2,313 were read per second. A host that is slow, and a queue that
    drains from the start on, leave as few outstanding, and their rate is what was served."""
    run = FakeRun()
    for window in (4 * KIB, 8 * KIB):
        run.add(
            f"probe-conflicts/window/{window}",
            "read",
            iops=2313.0,
            elapsed_s=0.4785,
            latency_mean_s=0.452 * depth / 2313,
            queue_depth=depth,
            window_bytes=window,
            block_bytes=2 * KIB,
        )
        run.rows[-1]["latency_max_s"] = longest_s
    found = conflicting_reads.seen(view_of(run))
    assert found is not None
    assert found.one_die == pytest.approx(5117 if lacking else 2313, rel=1e-3)


@pytest.mark.parametrize(("write_ms", "left_out"), [(12.0, True), (3.0, False)])
def test_writes_that_go_to_the_platters_one_by_one_hang_as_reads_do(
    write_ms: float, left_out: bool
) -> None:
    """A write that takes less than a read went to a buffer, for which few others wait."""
    run = FakeRun()
    run.add("probe-depth/sentinel", "read", iops=100.0, elapsed_s=1.0, sentinel=1)
    for step in range(12):
        size = 512 << step
        for operation, each_ms in (("read", 10.0), ("write", write_ms)):
            recording, took_ms = f"probe-sizes/{operation}/{size}", each_ms + size / 1e5
            mean_ms = took_ms * (0.995 + 0.005 * 40)
            iops = 1e3 / mean_ms
            run.add(
                recording,
                operation,
                iops=iops,
                elapsed_s=200 / iops,
                block_bytes=size,
                queue_depth=1,
            )
            took_ns = np.array([took_ms * 1e6, 40 * took_ms * 1e6])
            run.histograms[recording, operation] = (took_ns, took_ns, np.array([199, 1]))
    penalty = transfer_model.penalty(view_of(run), "write")
    assert penalty is not None
    assert penalty.value == pytest.approx(write_ms * 1e-3 * (1 if left_out else 1.195), rel=0.02)
