"""The specimens of a hybrid FTL and of a dynamic SLC cache, against what is computed by hand."""

import random
import subprocess
from collections.abc import Iterable

import pytest
from specimen_drive import (
    FLUSH,
    READ,
    TRIM,
    WRITE,
    SpecimenDrive,
    at_random,
    in_order,
    program,
    rate,
    truths,
)

MIB = 2**20
DRIVES = ["adaptive_hybrid", "dynamic_slc", "disk", "smr"]


def keep_busy(drive: SpecimenDrive, requests: Iterable[tuple[int, int, int]]) -> None:
    """Many small writes, quickly: hundreds outstanding, and several steps at once."""
    outstanding = 0
    for request in requests:
        drive.submit(*request)
        outstanding += 1
        while outstanding > 256:
            outstanding -= len(drive.advance(32, drive.now_ns + 20_000_000))
    drive.run(iter([]), 1)


def idle(drive: SpecimenDrive, seconds: int) -> None:
    drive.advance(1, drive.now_ns + seconds * 10**9)


@pytest.mark.parametrize(("logs", "within"), [(8, 0.06), (32, 0.03)])
def test_random_writes_amplify_as_shared_logs_say(logs: int, within: float) -> None:
    # Fully shared logs (FAST): a logical block waits N writes for its first page in a log, which
    # lives until that log is the oldest, L pages later; then its p pages are merged. So each write
    # costs 1 + p N / (N + L) programs, with N logical blocks and L pages of logs in a plane.
    shared = ("shared=64", "most_shared=64", "window=1000000", "sequential_logs=0")
    blocks, pages, count = 128, 64, 8_000
    with SpecimenDrive("adaptive_hybrid", "capacity=32M", "planes=1", f"logs={logs}", *shared) as d:
        d.run(in_order(WRITE, d.capacity_bytes, MIB), 4)
        keep_busy(d, at_random(WRITE, count, d.capacity_bytes, 4096))
        before = d.programmed_bytes
        keep_busy(d, at_random(WRITE, count, d.capacity_bytes, 4096, seed=2))
        amplification = (d.programmed_bytes - before) / (count * 4096)
    closed = 1 + pages * blocks / (blocks + logs * pages)
    assert amplification == pytest.approx(closed, rel=within)


def test_sequential_writes_are_switch_merges_only() -> None:
    with SpecimenDrive("adaptive_hybrid", "capacity=64M") as d:
        first = rate(d, in_order(WRITE, d.capacity_bytes, 256 * 1024), 4)
        again = rate(d, in_order(WRITE, d.capacity_bytes, 256 * 1024), 4)
        counters = d.wish("counters")["counters"]
        assert d.programmed_bytes == 2 * d.capacity_bytes
    # Eight planes, each 4 KiB in 300 us of programming and 41 us of channel; later 2 ms of erasing
    # for each 64 pages.
    cycle_us = 300 + 4096 / 100
    assert first == pytest.approx(8 * 4096e6 / cycle_us, rel=0.01)
    assert again == pytest.approx(8 * 4096e6 / (cycle_us + 2000 / 64), rel=0.02)
    assert counters["switch_merges"] == 256
    assert counters["partial_merges"] == counters["full_merges"] == 0


def test_associativity_follows_the_workload() -> None:
    with SpecimenDrive("adaptive_hybrid", "capacity=32M", "planes=1", "logs=8") as d:
        d.run(in_order(WRITE, d.capacity_bytes, MIB), 4)
        keep_busy(d, at_random(WRITE, 6_000, d.capacity_bytes, 4096))
        spread = d.wish("counters")["counters"]["mean_associativity"]
        keep_busy(d, at_random(WRITE, 6_000, MIB // 2, 4096))  # two logical blocks
        local = d.wish("counters")["counters"]["mean_associativity"]
    assert spread >= 128 / 8  # one log must take so many blocks, or logs are reclaimed unfilled
    assert local <= 4


def test_block_associative_logs_thrash() -> None:
    arguments = ("capacity=32M", "logs=4", "shared=1", "most_shared=1")
    with SpecimenDrive("adaptive_hybrid", *arguments) as d:
        d.run(in_order(WRITE, d.capacity_bytes, MIB), 4)
        before = d.programmed_bytes
        keep_busy(d, at_random(WRITE, 2_000, d.capacity_bytes, 4096))
        assert (d.programmed_bytes - before) / (2_000 * 4096) > 30  # BAST, half a block


def test_idle_merges_make_room_in_the_logs() -> None:
    shared = ("shared=64", "window=1000000", "sequential_logs=0", "logs=4")
    mean_ns = {}
    for idle_merge in ("0ms", "100ms"):
        arguments = ("capacity=16M", "planes=2", f"idle_merge={idle_merge}", *shared)
        with SpecimenDrive("adaptive_hybrid", *arguments) as d:
            d.run(in_order(WRITE, d.capacity_bytes, MIB), 4)
            keep_busy(d, at_random(WRITE, 1_000, d.capacity_bytes, 4096))
            idle(d, 60)
            mean_ns[idle_merge] = sum(d.run(at_random(WRITE, 200, 2**24, 4096, 3), 1)) / 200
    assert mean_ns["100ms"] < 600_000  # a program, and nothing else
    assert mean_ns["0ms"] > 5 * mean_ns["100ms"]


def test_trim_saves_copies() -> None:
    with SpecimenDrive("adaptive_hybrid", "capacity=64M") as d:
        d.run(in_order(WRITE, d.capacity_bytes, MIB), 4)
        d.run(iter([(TRIM, 0, d.capacity_bytes)]), 1)
        before = d.programmed_bytes
        d.run(in_order(WRITE, d.capacity_bytes, MIB), 4)
        assert d.programmed_bytes - before == d.capacity_bytes
        assert d.wish("counters")["counters"]["erased_blocks"] == 256


def slc_and_tlc_rates() -> tuple[float, float]:
    """Eight dies: a page of 16 KiB in 200 us, a word line of three in 1800 us; bus of 400 MB/s."""
    page_us = 16384 / 400
    return 8 * 16384e6 / (200 + page_us), 8 * 3 * 16384e6 / (1800 + 3 * page_us)


def test_slc_cache_fills_at_its_size_and_then_tlc_is_written() -> None:
    slc, tlc = slc_and_tlc_rates()
    with SpecimenDrive("dynamic_slc", "capacity=2G") as d:
        cache = int(truths("dynamic_slc", "capacity=2G")["slc_cache_bytes"])
        # Static 64 MiB, and half of what is free: 85 superblocks of 24 MiB as 8 MiB of SLC each.
        assert cache == 64 * MIB + 42 * 8 * MIB
        rates = [rate(d, in_order(WRITE, 8 * MIB, MIB, i * 8 * MIB), 4) for i in range(64)]
        fast = sum(one > (slc + tlc) / 2 for one in rates) * 8 * MIB
        assert fast == pytest.approx(cache, abs=8 * MIB)
        assert sum(rates[1:40]) / 39 == pytest.approx(slc, rel=0.03)
        assert sum(rates[-8:]) / 8 == pytest.approx(tlc, rel=0.03)
        d.advance(1, d.now_ns + 500_000_000)  # not yet
        assert d.wish("counters")["counters"]["folded_bytes"] == 0
        idle(d, 20)
        counters = d.wish("counters")["counters"]
        assert counters["folded_bytes"] == pytest.approx(cache, abs=MIB)
        assert counters["slc_held_bytes"] == 0
        erasing = 1 / (1 / slc + 3.5e-3 / (8 * MIB))  # the blocks that were folded are erased now
        later = rate(d, in_order(WRITE, 64 * MIB, MIB, 600 * MIB), 4)
        assert later == pytest.approx(erasing, rel=0.05)


def test_slc_cache_shrinks_to_its_static_part() -> None:
    slc, tlc = slc_and_tlc_rates()
    with SpecimenDrive("dynamic_slc", "capacity=512M") as d:
        d.run(in_order(WRITE, d.capacity_bytes, MIB), 4)
        idle(d, 60)
        assert d.wish("counters")["counters"]["slc_limit_bytes"] == 64 * MIB
        rates = [rate(d, in_order(WRITE, 8 * MIB, MIB, i * 8 * MIB), 4) for i in range(16)]
        # Erasing 3.5 ms for 8 MiB is in it now.
        assert rates[3] == pytest.approx(1 / (1 / slc + 3.5e-3 / (8 * MIB)), rel=0.05)
        assert sum(one > (slc + tlc) / 2 for one in rates) == pytest.approx(9, abs=1)


def test_folding_in_front_shares_the_dies() -> None:
    # For three pages of the host: three programs in SLC, three reads there, one word line.
    page_us = 16384 / 400
    cycle_us = 3 * (200 + page_us) + 3 * 25 + 1800 + 3 * page_us
    cycle_us += 4 * 3500 / 64  # a block of 64 pages in SLC, and one of 64 word lines, are erased
    with SpecimenDrive("dynamic_slc", "capacity=1G", "full=fold", "dynamic=0.2") as d:
        d.run(in_order(WRITE, 200 * MIB, MIB), 4)
        folding = rate(d, in_order(WRITE, 192 * MIB, MIB, 200 * MIB), 4)
        assert folding == pytest.approx(8 * 3 * 16384e6 / cycle_us, rel=0.05)
        counters = d.wish("counters")["counters"]
        assert counters["slc_programmed_bytes"] == pytest.approx(392 * MIB, rel=0.01)


def test_partial_fold_keeps_a_share_and_stops_for_the_host() -> None:
    with SpecimenDrive("dynamic_slc", "capacity=1G", "keep=0.5") as d:
        d.run(in_order(WRITE, 160 * MIB, MIB), 4)
        idle(d, 60)
        counters = d.wish("counters")["counters"]
        kept = counters["slc_held_bytes"] / counters["slc_limit_bytes"]
        assert kept == pytest.approx(0.5, abs=0.05)
    with SpecimenDrive("dynamic_slc", "capacity=1G") as d:
        d.run(in_order(WRITE, 160 * MIB, MIB), 4)
        d.advance(1, d.now_ns + 1_100_000_000)  # a tenth of a second after it began to fold
        [latency_ns] = d.run(iter([(READ, 0, 4096)]), 1)
        assert latency_ns < 6_000_000  # a word line or two, and not the whole cache
        assert 0 < d.wish("counters")["counters"]["folded_bytes"] < 100 * MIB


def test_slc_is_read_faster() -> None:
    with SpecimenDrive("dynamic_slc", "capacity=1G") as d:
        d.run(in_order(WRITE, 64 * MIB, MIB), 4)
        d.advance(1, d.now_ns + 500_000_000)
        slc_ns = d.run(at_random(READ, 300, 60 * MIB, 4096), 1)
        idle(d, 30)
        tlc_ns = d.run(at_random(READ, 300, 60 * MIB, 4096), 1)
    assert sum(tlc_ns) / 300 - sum(slc_ns) / 300 == pytest.approx(40_000, abs=100)


def test_a_full_drive_collects_and_stays_whole() -> None:
    arguments = ("capacity=128M", "block_pages=16", "op=0.2", "static=4M")
    with SpecimenDrive("dynamic_slc", *arguments) as d:
        d.run(in_order(WRITE, d.capacity_bytes, MIB), 4)
        keep_busy(d, at_random(WRITE, 20_000, d.capacity_bytes, 4096))
        before = d.programmed_bytes
        keep_busy(d, at_random(WRITE, 20_000, d.capacity_bytes, 4096, seed=2))
        amplification = (d.programmed_bytes - before) / (20_000 * 4096)
    # Greedy collection with 20 % of spare area, and what went through SLC is programmed twice.
    assert 2 < amplification < 6


def test_what_was_not_flushed_is_lost() -> None:
    with SpecimenDrive("dynamic_slc", "capacity=256M") as d:
        d.run(iter([(WRITE, 8192, 4096), (FLUSH, 0, 0), (WRITE, 40960, 8192)]), 1)
        idle(d, 0)
        assert d.wish("power-cut")["lost"] == [[40960, 8192]]
        keep_busy(d, at_random(WRITE, 3000, 64 * MIB, 4096))
        d.run(iter([(FLUSH, 0, 0)]), 1)
        assert d.wish("power-cut")["lost"] == []


@pytest.mark.parametrize("argument", ["nonsense=3", "capacity=0", "capacity=lots"])
@pytest.mark.parametrize("name", DRIVES)
def test_an_impossible_argument_is_one_sentence(name: str, argument: str) -> None:
    run = subprocess.run([program(name), argument], input="{}\n", capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.endswith(".\n")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("name", DRIVES)
def test_the_same_seed_gives_the_same_times(name: str) -> None:
    varied = ["noise=0.1", "outliers=0.01", "retries=0.02", "jitter=20us"]
    varied += ["housekeeping_every=1s", "throttle_rate=50e6", "throttle_after=1M"]

    def times(seed: int, *arguments: str) -> list[int]:
        draw = random.Random(1)
        with SpecimenDrive(name, *arguments, seed=seed) as d:
            places = [draw.randrange(20_000) * 4096 for _ in range(600)]
            return d.run(((WRITE if p & 4096 else READ, p, 4096) for p in places), 8)

    assert times(7, *varied) == times(7, *varied)
    assert times(7, *varied) != times(8, *varied)
    assert times(7) == times(8)
