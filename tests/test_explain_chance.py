"""What chance and a slow channel must not be taken for: recordings of foreign drives.

Times of reads scatter, so that chance decides which of two comes to a channel first, or whether
they meet there at all; and a channel that is slower than the arrays behind it makes two dies nearly
as slow as one.
"""

from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import KIB, view_of

from fourcorners.analysis.internals.caches import durability
from fourcorners.analysis.internals.flash import conflicting_reads, die_conflicts, parallel_units
from fourcorners.analysis.internals.flash.channels import would_wait_s
from fourcorners.analysis.internals.flash.interleaving import Seen
from fourcorners.analysis.internals.flash.slow_channel import behind_one_channel
from fourcorners.analysis.internals.link import generation
from fourcorners.recording.arrays import Floats

STRIPE, UNITS, READ_S, CHANNEL_S = 8 * KIB, 16, 40.41e-6, 202e-6


def _take(run: FakeRun, id: str, operation: str, seconds: Floats, **point: Any) -> None:
    iops = point.pop("iops", 1 / float(seconds.mean()))
    mean_s = float(seconds.mean())
    run.add(id, operation, iops=iops, elapsed_s=len(seconds) / iops, latency_mean_s=mean_s, **point)
    run.rows[-1] |= {"latency_min_s": float(seconds.min()), "latency_max_s": float(seconds.max())}
    latency_ns, count = np.unique(np.round(seconds * 1e9), return_counts=True)
    run.histograms[id, operation] = (latency_ns, latency_ns, count)


def _pairs(short_s: float, long_s: float, noise_s: float, channel_s: float) -> FakeRun:
    """Pairs of a short and a long read of 9 dies, of which every fourth one is on one channel."""
    run, chance = FakeRun(), np.random.default_rng(3)
    for size, seconds in ((512, short_s), (3584, long_s)):
        alone_s = seconds + noise_s * chance.standard_normal(400)
        point: dict[str, Any] = {"alone_bytes": size, "iops": 800.0}
        _take(run, f"probe-conflicts/alone/{size}", "read", alone_s, **point)
    for stripes in range(1, 9):
        short, long = (s + noise_s * chance.standard_normal(60) for s in (short_s, long_s))
        after_s = short - (long - channel_s)
        if stripes % 4 == 0:
            short += np.where(after_s > 0, np.maximum(channel_s - after_s, 0), 0)
        id = f"probe-conflicts/together/{stripes}"
        point = {"stripes": stripes, "long_bytes": 3584, "iops": 1600.0}
        _take(run, id, "read", np.concatenate([short, long]), **point)
    return run


def test_which_read_comes_to_a_channel_first_is_no_disturbance() -> None:
    """As of a superblock drive with noise of 3 %: the pairs that wait for a channel were left out,
    so that 4 channels were told as 16."""
    view = view_of(_pairs(119e-6, 265e-6, 2.4e-6, 145e-6))
    found = conflicting_reads.pairs(view, "together")
    assert found.complete
    first, none, second = (found.latency_s[n] - found.latency_s[1] for n in (4, 7, 8))
    assert min(first, second) > 10 * abs(none)


@pytest.mark.parametrize(("noise_s", "waits_s"), [(0.0, 4.4e-6), (5.5e-6, 1e-6)])
def test_reads_that_scatter_seldom_meet_on_a_channel(noise_s: float, waits_s: float) -> None:
    """As of a page-mapped drive with noise of 6 %, on whose channels a page takes 9 µs: that no
    pair waited for long was told as a channel for each of 8 dies."""
    view = view_of(_pairs(98e-6, 106e-6, noise_s, 9e-6))
    assert would_wait_s(view, 9e-6, 1e-6) == pytest.approx(waits_s, rel=0.3)


def _seen(channel_s: float) -> Seen:
    """16 dies of 2 channels, by the time that a page takes on a channel."""
    one = 1 / (READ_S + channel_s)
    same, channel = max(1 / (READ_S + channel_s), one), min(1 / channel_s, 2 * one)
    pair = {
        STRIPE << k: same if k >= 4 else channel if k >= 1 else min(2 / channel_s, 2 * one)
        for k in range(10)
    }
    most = min(2 / channel_s, UNITS * one)
    window = {4 * KIB << k: min(max(1.0, 2.0 ** (k - 1)) * one, most) for k in range(12)}
    return Seen(window=window, pair=pair)


@pytest.mark.parametrize("channel_s", [20e-6, CHANNEL_S, 300e-6])
def test_dies_behind_a_slow_channel_are_not_one_die(channel_s: float) -> None:
    """As of a hybrid drive whose pages take five times as long on the channel as in the array: 16
    dies were told as 2, since two of a channel gain a fifth."""
    assert _seen(channel_s).stripe_bytes == STRIPE
    assert _seen(channel_s).units == UNITS


def test_gains_of_one_group_that_scatters_are_those_of_one_die() -> None:
    assert behind_one_channel([1.0, 1.0, 1.0, 1.199, 1.1993, 1.1995]) == pytest.approx(
        1.095, rel=1e-2
    )
    assert behind_one_channel([1.0, 1.0, 1.0, 1.18, 2.0]) is None
    assert behind_one_channel([1.0, 1.03, 1.08, 1.13, 1.17, 1.19, 1.9]) is None
    chance = np.random.default_rng(5)
    made = [behind_one_channel([1, *chance.lognormal(0, 0.1, 12)]) for _ in range(300)]
    assert not any(made)


@pytest.mark.parametrize(("gain", "code"), [(1.15, "slow_channel"), (1.05, "no_pairs")])
def test_a_pair_that_gains_a_little_may_be_two_dies_of_a_channel(gain: float, code: str) -> None:
    run = FakeRun()
    for k, rate in enumerate((1.0, 1.0, 2.0, 2.1, 2.1, 2.1)):
        size = 4096 << k
        run.add(f"probe-conflicts/window/{size}", "read", iops=4000 * rate, window_bytes=size)
    for distance, rate in ((8192, 2.0), (16_384, gain), (32_768, 1.04), (65_536, 1.0)):
        id = f"probe-conflicts/pair/{distance}"
        run.add(id, "read", iops=4000 * rate, distance_bytes=distance)
    assert die_conflicts.dies(view_of(run)).said.code == code
    assert (conflicting_reads.units(view_of(run)) is None) == (code == "slow_channel")


def test_no_dies_serve_more_than_each_of_them_alone() -> None:
    run = FakeRun()
    rates = {4096: 4125.0, 8192: 4125.0, 16_384: 8226.0, 32_768: 9716.0, 65_536: 9837.0}
    for size, iops in rates.items():
        run.add(f"probe-conflicts/window/{size}", "read", iops=iops, window_bytes=size)
    for distance, iops in ((8192, 8226.0), (16_384, 4330.0), (32_768, 4330.0)):
        run.add(f"probe-conflicts/pair/{distance}", "read", iops=iops, distance_bytes=distance)
    assert die_conflicts.dies(view_of(run)).said.code == "more"


def test_pauses_of_both_sizes_of_large_reads_widen_the_link() -> None:
    """As of a disk that now and then reads again what was in its cache: its link of 532 MB/s was
    told as 454 to 507 MB/s."""
    run, rate, turn_s, depth = FakeRun(), 532e6, 11.1e-3, 32
    for size, hits in ((32_768, 5800), (131_072, 1400)):
        served_s = size / rate
        seconds = np.concatenate([
            np.full(hits, depth * served_s), np.full(5 * depth, depth * served_s + turn_s)
        ])  # fmt: skip
        iops = len(seconds) / (len(seconds) * served_s + 5 * turn_s)
        point: dict[str, Any] = {"of": "cached", "block_bytes": size, "queue_depth": depth}
        _take(run, f"probe-depth/link/cached/{size}", "read", seconds, iops=iops, **point)
    for size in (131_072, 1_048_576):
        where: dict[str, Any] = {"of": "written", "block_bytes": size, "queue_depth": depth}
        run.add(f"probe-depth/link/written/{size}", "read", iops=96e6 / size, **where)
    found = generation.ceiling(view_of(run))
    assert found.value == pytest.approx(rate, rel=0.2)
    assert found.interval is not None
    assert found.interval[0] < rate < found.interval[1]


@pytest.mark.parametrize(("longest_s", "known"), [(20e-3, True), (170e-3, False)])
def test_a_flush_that_hangs_now_and_then_has_no_time(longest_s: float, known: bool) -> None:
    """As of a drive of whose programs 0.7 % take 84 times as long: its flush of 1.14 ms takes
    1.77 ms in the mean."""
    run = FakeRun()
    usual_s = np.full(299, 1.14e-3)
    for turn in range(3):
        took_s = np.append(usual_s, longest_s)
        for operation, kind in (("flush", "flushed"), ("write", "forced")):
            id = f"probe-flush/{kind}/{turn}"
            _take(run, id, operation, took_s, kind=kind)
        for kind, seconds in (("plain", 40e-6), ("read", 126e-6), ("just written", 40e-6)):
            operation = "write" if kind == "plain" else "read"
            run.add(f"probe-flush/{kind}/{turn}", operation, iops=1 / seconds, kind=kind)
        run.add(f"probe-flush/just/{turn}", "read", iops=1 / 126e-6, kind="just read")
    found = durability.flush_cost(view_of(run))
    assert found is not None
    assert (found.value is not None) == known
    assert found.said.code == ("measured" if known else "hangs")


def test_reads_that_a_buffer_answers_make_no_more_units() -> None:
    """As a superblock drive of other people's design (number 50 of seed 866472212): eight units of
    12,500 reads a second each serve 101,200, of which 3 % are data in its write buffer."""
    place_s, buffered_s, units, ios = 80e-6, 18e-6, 8, 12000
    run = FakeRun()
    for window, gain in ((4096, 1), (8192, 1), (16384, 2)):
        where: dict[str, Any] = {"window_bytes": window, "block_bytes": 2048, "queue_depth": 64}
        run.add(f"probe-conflicts/window/{window}", "read", iops=gain / place_s, **where)
    rates = (8067, 15852, 29756, 51764, 75821, 90485, 97652, 99482, 101224)
    for step, iops in enumerate(rates):
        where = {"pattern": "random", "queue_depth": 2**step}
        run.add(f"probe-depth/random/{2**step}", "read", iops=iops, elapsed_s=ios / iops, **where)
    bounds, counts = np.array([buffered_s, 127.4e-6]) * 1e9, np.array([384, ios - 384])
    run.histograms["probe-depth/random/1", "read"] = (bounds, bounds, counts)
    found = parallel_units.parallel_units(view_of(run))
    assert found.value == units
    assert found.interval is not None
    assert found.interval[0] < units
