"""The specimens of tests/specimens behave as the closed form of their design says."""

import json
import math
import random
import statistics
import subprocess
from collections.abc import Iterator

import pytest
from specimen_drive import (
    FLUSH,
    FUA,
    READ,
    TRIM,
    WRITE,
    ZEROES,
    SpecimenDrive,
    at_random,
    design,
    in_order,
    program,
    truths,
)

import fourcorners as fc
from fourcorners.workload import Stream, Workload

MIB = 2**20
PAGE = 4096
DRIVES = ["page_mapped", "superblock", "dftl"]
# 0.5 us of the controller, 50 us of the cells, 4 KiB at 400 MB/s with 0.2 us for the command, 4 KiB
# at 3.2 GB/s and 8 us of overhead: a read of a page of page_mapped as it is by default.
PAGE_READ_NS = 500 + 50_000 + 10_440 + 1_280 + 8_000


def per_second(drive: SpecimenDrive, requests: Iterator[tuple[int, int, int]], depth: int) -> float:
    """Requests completed in a second of the drive's time."""
    begin_ns = drive.now_ns
    return len(drive.run(requests, depth)) / (drive.now_ns - begin_ns) * 1e9


def amplification(drive: SpecimenDrive, rounds: int) -> float:
    """Write amplification of uniformly random pages, in the last of so many fills."""
    count = drive.capacity_bytes // PAGE
    drive.write_all(in_order(WRITE, drive.capacity_bytes, MIB))
    drive.write_all(at_random(WRITE, (rounds - 1) * count, drive.capacity_bytes, PAGE, seed=1))
    programmed_bytes = drive.programmed_bytes
    drive.write_all(at_random(WRITE, count, drive.capacity_bytes, PAGE, seed=2))
    return (drive.programmed_bytes - programmed_bytes) / drive.capacity_bytes


def expected_amplification(spare_share: float) -> float:
    """Of uniformly random writes to large blocks, collected in the order of their filling.

    a / (a + W(-a exp(-a))) with a = 1 + spare share and the principal branch of Lambert's W
    (Desnoyers, SYSTOR 2012; Xiang and Kurkoski, 2012); greedy collection does a little better.
    """
    alpha = 1 + spare_share
    target, w = -alpha * math.exp(-alpha), -0.3
    for _ in range(100):
        w -= (w * math.exp(w) - target) / (math.exp(w) * (w + 1))
    return alpha / (alpha + w)


@pytest.mark.parametrize("name", DRIVES)
def test_the_same_arguments_and_seed_give_the_same_times(name: str) -> None:
    def latencies_ns(seed: int) -> list[int]:
        with SpecimenDrive(
            name, "capacity=256M", "block_pages=16", "noise=0.1", "jitter=1us", seed=seed
        ) as drive:
            drive.run(in_order(WRITE, 8 * MIB, MIB), 4)
            drive.run(iter([(FLUSH, 0, 0)]), 1)
            return drive.run(at_random(READ, 200, 8 * MIB, PAGE), 8)

    assert latencies_ns(1) == latencies_ns(1)
    assert latencies_ns(1) != latencies_ns(2)


@pytest.mark.parametrize("name", DRIVES)
def test_what_is_true_is_said_in_the_greeting_and_alone(name: str) -> None:
    arguments = ["capacity=256M", "channels=2", "block_pages=16"]
    with SpecimenDrive(name, *arguments) as drive:
        assert drive.greeting["truths"] == truths(name, *arguments)
        assert drive.greeting["truths"]["channels"] == 2
        assert drive.capacity_bytes == 256 * MIB


@pytest.mark.parametrize("argument", ["chanels=3", "channels=many", "spare=0", "channels=0"])
@pytest.mark.parametrize("name", DRIVES)
def test_an_impossible_argument_is_one_sentence(name: str, argument: str) -> None:
    run = subprocess.run([program(name), argument], input="{}\n", capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr.endswith(".\n")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("name", DRIVES)
def test_zeroes_are_written_as_data_that_do_not_cross_the_link(name: str) -> None:
    def write_ns(kind: int) -> float:
        with SpecimenDrive(name, "capacity=256M", "block_pages=16", "link_rate=100e6") as drive:
            drive.run(iter([(kind, 0, 65536)]), 1)
            programmed_bytes = drive.programmed_bytes
            assert name == "superblock" or programmed_bytes >= 65536  # It has a write buffer.
            return drive.now_ns

    assert write_ns(WRITE) - write_ns(ZEROES) == pytest.approx(65536 / 100e6 * 1e9, abs=2)


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("page_mapped", ["page=16K", "block_pages=16", "channels=2", "spare=0.3"]),
        ("page_mapped", ["cache=1M", "streams=2", "copyback=1", "block_pages=16", "spare=0.2"]),
        ("superblock", ["block_pages=4", "page=8K", "buffer=1M", "spare=0.2"]),
        ("superblock", ["block_pages=4", "page=8K", "buffer=1M", "paced=1", "parity=1"]),
        ("superblock", ["block_pages=4", "page=8K", "buffer=1M", "flush_above=1", "spare=0.2"]),
        ("dftl", ["cmt=512", "page=2K", "channels=1", "block_pages=8", "prefetch=4"]),
        ("dftl", ["cmt=1K", "page=16K", "block_pages=16", "spare=0.5"]),
        ("dftl", ["cmt=4K", "prefetch=8", "block_pages=32", "spare=0.4"]),
        ("adaptive_hybrid", ["planes=2", "logs=4", "copyback=0", "idle_merge=5ms"]),
        ("dynamic_slc", ["block_pages=8", "static=4M", "op=0.05", "idle_fold=0"]),
        ("dynamic_slc", ["block_pages=4", "bits=4", "full=fold", "dynamic=1", "idle_fold=5ms"]),
        ("disk", ["heads=3", "run=1", "write_cache_bytes=256K", "destage=sptf"]),
        ("disk", ["segments=0", "write_cache=0", "scheduler=clook"]),
        ("smr", ["capacity=600M", "band=4M", "media_cache=70e6", "extents=400"]),
        ("smr", ["capacity=300M", "band=1M", "media_cache_at=inner", "idle_clean=5ms"]),
    ],
)
def test_a_mixed_load_of_odd_sizes_ends(name: str, extra: list[str]) -> None:
    draw = random.Random(3)
    sizes = [512, 4096, 4608, 65536, 300_032]
    with SpecimenDrive(name, "capacity=64M", *extra) as drive:
        drive.write_all(in_order(WRITE, drive.capacity_bytes, MIB))
        for _ in range(60):
            for _ in range(50):
                kind = draw.choices([READ, WRITE, FLUSH, TRIM, ZEROES], [8, 16, 1, 1, 1])[0]
                size = draw.choice(sizes) if kind != FLUSH else 0
                offset = draw.randrange((drive.capacity_bytes - size) // 512) * 512
                flags = FUA if kind == WRITE and draw.random() < 0.1 else 0
                drive.submit(kind, offset, size, flags)
            assert len(drive.drain()) == 50
        assert drive.wish("counters")["done"]
        assert drive.wish("purge") == {"done": True}
        assert len(drive.run(at_random(READ, 20, drive.capacity_bytes, PAGE), 4)) == 20


def test_fourcorners_measures_what_the_pipes_say() -> None:
    """Over rings, of which tests/specimens/protocol.h has a writer and a reader of its own."""
    with fc.open_target(f"exec:{program('page_mapped')}") as target:
        stream = Stream.read("random", PAGE)
        iops = target.run(Workload([stream], duration_s=0.2)).iops
    assert iops == pytest.approx(1e9 / PAGE_READ_NS, rel=0.001)


# ---- (a) page_mapped


def test_page_mapped_reads_a_page_in_the_sum_of_its_parts() -> None:
    with SpecimenDrive("page_mapped") as drive:
        reads = at_random(READ, 100, drive.capacity_bytes, PAGE)
        assert set(drive.run(reads, 1)) == {PAGE_READ_NS}


@pytest.mark.parametrize(("planes", "multiplane"), [(1, 1), (2, 1), (4, 1), (4, 0)])
def test_page_mapped_reads_saturate_at_planes_or_dies(planes: int, multiplane: int) -> None:
    units = 8 * (planes if multiplane else 1)
    arguments = [f"planes={planes}", f"multiplane={multiplane}", "channels=4", "dies=1", "ways=2"]
    with SpecimenDrive("page_mapped", *arguments, "channel_rate=8e9", "controller=0us") as drive:
        reads = at_random(READ, 4000, drive.capacity_bytes, PAGE)
        transfers_ns = 712 * units / 8
        limit = units / (50_000 + transfers_ns) * 1e9
        assert 0.75 * limit < per_second(drive, reads, 1000) < limit


@pytest.mark.parametrize("order", ["CWDP", "WCDP", "PCWD", "PDWC"])
def test_page_mapped_places_pages_in_the_order_asked_for(order: str) -> None:
    """Of two reads at once the second waits for nothing, a transfer, or the cells."""
    sizes = {"C": 4, "W": 2, "D": 2, "P": 2}
    waits_ns = {"C": 0, "W": 10_440, "D": 10_440, "P": 10_440}  # planes sense together
    arguments = [f"order={order}", "channels=4", "ways=2", "dies=2", "planes=2", "controller=0us"]
    with SpecimenDrive("page_mapped", *arguments, "link_rate=1e12") as drive:
        distance_pages = 1
        for letter in order:
            drive.submit(READ, 0, PAGE)
            drive.submit(READ, distance_pages * PAGE, PAGE)
            first_ns, second_ns = sorted(drive.drain())
            assert second_ns - first_ns == pytest.approx(waits_ns[letter], abs=5)
            distance_pages *= sizes[letter]
        drive.submit(READ, 0, PAGE)
        drive.submit(READ, distance_pages * PAGE, PAGE)  # the same plane
        first_ns, second_ns = sorted(drive.drain())
        assert second_ns - first_ns == pytest.approx(60_440, abs=5)


def test_page_mapped_writes_in_order_at_the_rate_of_its_planes() -> None:
    with SpecimenDrive("page_mapped", "capacity=512M", "block_pages=32") as drive:
        rate = per_second(drive, in_order(WRITE, 64 * MIB, MIB), 16) * MIB
        assert rate == pytest.approx(32 * PAGE / (600e-6 + 2 * 10.44e-6), rel=0.05)


@pytest.mark.parametrize(("upper", "share"), [(0, 1.0), (1_800_000, 0.5)])
def test_page_mapped_programs_upper_pages_slower(upper: int, share: float) -> None:
    with SpecimenDrive("page_mapped", f"program_middle={upper}ns") as drive:
        latencies_ns = [drive.run(iter([(WRITE, 0, PAGE)]), 1)[0] for _ in range(40)]
        lower_ns = min(latencies_ns)
        assert lower_ns == PAGE_READ_NS + 550_000
        assert statistics.mean(ns == lower_ns for ns in latencies_ns) == share


@pytest.mark.parametrize("spare", [0.08, 0.25])
def test_page_mapped_amplifies_random_writes_as_greedy_collection_does(spare: float) -> None:
    arguments = ["capacity=64M", "channels=2", "ways=1", "planes=1", "block_pages=32"]
    arguments += [f"spare={spare}", "gc_blocks=2"]
    with SpecimenDrive("page_mapped", *arguments) as drive:
        expected = expected_amplification(design("page_mapped", *arguments)["spare_share"])
        assert 0.9 * expected < amplification(drive, 4) < 1.08 * expected


def test_page_mapped_with_a_cache_loses_what_waits_in_it() -> None:
    arguments = ["capacity=256M", "cache=1M", "block_pages=32"]
    with SpecimenDrive("page_mapped", *arguments) as drive:
        writes = [(WRITE, page * PAGE, PAGE) for page in range(200)]
        assert max(drive.run(iter(writes), 8)) < 100_000  # no write waits for a program
        lost = drive.wish("power-cut")["lost"]
        assert 0 < sum(length for _, length in lost) < 200 * PAGE
        drive.run(iter(writes), 8)
        drive.run(iter([(FLUSH, 0, 0)]), 1)
        assert drive.wish("power-cut")["lost"] == []


# ---- (b) superblock


def test_superblock_reads_in_the_sum_of_its_parts_and_at_its_link() -> None:
    with SpecimenDrive("superblock") as drive:
        drive.run(in_order(WRITE, 64 * MIB, MIB), 4)
        drive.run(iter([(FLUSH, 0, 0)]), 1)
        alone = drive.run(at_random(READ, 50, 64 * MIB, PAGE), 1)
        assert set(alone) == {2_000 + 60_000 + 10_240 + 7_585 + 25_000}
        many = per_second(drive, at_random(READ, 4000, 64 * MIB, PAGE), 200)
        assert 0.9 * 8 / 60e-6 < many < 8 / 60e-6
        rate = per_second(drive, in_order(READ, 64 * MIB, MIB), 4) * MIB
        assert rate == pytest.approx(540e6, rel=0.02)


@pytest.mark.parametrize(
    "shape",
    [
        ("channels=2", "dies=1"),
        ("channels=2", "dies=2"),
        ("channels=1", "dies=2"),
        ("channels=4", "dies=1"),
    ],
)
@pytest.mark.parametrize("parity", [0, 1])
def test_a_flush_of_superblock_waits_for_a_program_and_for_parity_on_its_die_or_channel(
    parity: int, shape: tuple[str, str]
) -> None:
    arguments = [*shape, f"parity={parity}", "flush_every=0s", "capacity=512M", "block_pages=32"]
    arguments += ["program=400us", "channel_rate=200e6"]
    with SpecimenDrive("superblock", *arguments) as drive:
        taken = drive.run(
            ((FLUSH, 0, 0) if n % 2 else (WRITE, n * PAGE, PAGE) for n in range(960)), 1
        )
    flush_s = statistics.mean(taken[1::2]) * 1e-9
    assert flush_s == pytest.approx(truths("superblock", *arguments)["flush_cost"], rel=0.002)


def test_superblock_absorbs_rewrites_until_the_timer_writes_them_out() -> None:
    with SpecimenDrive("superblock", "buffer=4M", "flush_every=1s") as drive:
        latencies_ns = drive.run(at_random(WRITE, 3000, MIB, PAGE), 1)
        assert set(latencies_ns) == {2_000 + 7_585 + 25_000}
        assert drive.programmed_bytes == 0
        drive.advance(1, 2_000_000_000)
        assert MIB <= drive.programmed_bytes <= MIB + 32 * 1024
        assert drive.wish("power-cut")["lost"] == []


def test_superblock_evicts_what_was_not_written_for_the_longest_time() -> None:
    with SpecimenDrive("superblock", "buffer=2M", "flush_above=0.5", "flush_every=0s") as drive:
        drive.run(in_order(WRITE, MIB, PAGE), 1)  # fills half of the buffer
        drive.run(in_order(WRITE, 512 * 1024, PAGE), 1)  # makes the first half of that newer
        drive.run(in_order(WRITE, 512 * 1024, PAGE, begin_bytes=8 * MIB), 1)
        drive.advance(1, drive.now_ns + 10**9)
        lost = [offset for offset, _ in drive.wish("power-cut")["lost"]]
        assert set(range(0, 512 * 1024, PAGE)) <= set(lost)
        assert not set(range(512 * 1024, MIB, PAGE)) & set(lost)


def test_superblock_flush_and_fua_wait_for_flash() -> None:
    with SpecimenDrive("superblock") as drive:
        drive.run(in_order(WRITE, MIB, PAGE), 1)
        flush_ns, idle_flush_ns = (drive.run(iter([(FLUSH, 0, 0)]), 1)[0] for _ in range(2))
        # 32 slices of 32 KiB on 8 dies: four programs after each other in each, and two dies that
        # share a channel.
        assert 4 * 900_000 < flush_ns < 4 * (900_000 + 2 * 82_000) + 27_000
        assert idle_flush_ns == 27_000
        drive.submit(WRITE, 0, PAGE, FUA)
        assert drive.drain()[0] > 900_000
        assert drive.wish("power-cut")["lost"] == []


@pytest.mark.parametrize(
    ("extra", "factor"), [([], 1.0), (["paced=1"], 1.0), (["parity=1"], 4 / 3)]
)
def test_superblock_amplifies_random_writes(extra: list[str], factor: float) -> None:
    arguments = ["capacity=64M", "channels=2", "planes=1", "block_pages=4", "page=8K", *extra]
    arguments += ["gc_free=2", "buffer=64K", "spare=0.15"]
    with SpecimenDrive("superblock", *arguments) as drive:
        expected = factor * expected_amplification(design("superblock", *arguments)["spare_share"])
        assert 0.9 * expected < amplification(drive, 4) < 1.15 * expected


# ---- (c) dftl


def test_dftl_reads_the_map_before_the_data_where_it_is_not_cached() -> None:
    read_ns, rest_ns = 40_000 + 20_480, 2_000 + 7_585 + 20_000
    with SpecimenDrive("dftl", "cmt=8K") as drive:  # 1024 entries: 4 MiB
        drive.run(in_order(WRITE, 64 * MIB, MIB), 4)
        drive.run(in_order(READ, 2 * MIB, PAGE), 1)
        hits_ns = drive.run(at_random(READ, 200, 2 * MIB, PAGE), 1)
        assert set(hits_ns) == {read_ns + rest_ns}
        drive.run(at_random(READ, 2000, 64 * MIB, PAGE, seed=2), 1)
        mixed_ns = drive.run(at_random(READ, 2000, 64 * MIB, PAGE, seed=3), 1)
        assert set(mixed_ns) == {read_ns + rest_ns, 2 * read_ns + rest_ns}
        hit_share = statistics.mean(ns == read_ns + rest_ns for ns in mixed_ns)
        assert hit_share == pytest.approx(4 / 64, abs=0.02)


def test_dftl_writes_back_what_it_evicts() -> None:
    write_ns, read_ns, rest_ns = 300_000 + 20_480, 40_000 + 20_480, 2_000 + 7_585 + 20_000
    with SpecimenDrive("dftl", "cmt=8K", "batch=0") as drive:
        drive.run(in_order(WRITE, 64 * MIB, MIB), 4)
        drive.run(at_random(WRITE, 2000, 64 * MIB, PAGE), 1)
        latencies_ns = drive.run(at_random(WRITE, 500, 64 * MIB, PAGE, seed=2), 1)
        # A miss evicts a changed entry: read and program of its page, read of the other, the data.
        miss_ns = read_ns + write_ns + read_ns + write_ns + rest_ns
        assert statistics.median(latencies_ns) == miss_ns
        assert min(latencies_ns) == write_ns + rest_ns


@pytest.mark.parametrize(("cmt", "more"), [("1M", 1.0), ("8K", 1.3)])
def test_dftl_amplifies_more_where_the_map_is_not_cached(cmt: str, more: float) -> None:
    arguments = ["capacity=64M", "channels=2", "dies=1", "block_pages=32", "gc_blocks=3"]
    arguments += ["spare=0.2", f"cmt={cmt}"]
    with SpecimenDrive("dftl", *arguments) as drive:
        expected = expected_amplification(design("dftl", *arguments)["spare_share"])
        measured = amplification(drive, 4)
        if more == 1.0:
            assert 0.9 * expected < measured < 1.1 * expected
        else:
            assert measured > more * expected


# ---- Variation, which all share


def test_noise_retries_and_outliers_have_the_size_asked_for() -> None:
    def cells_ns(*arguments: str) -> list[int]:
        with SpecimenDrive("page_mapped", *arguments) as drive:
            reads = at_random(READ, 3000, drive.capacity_bytes, PAGE)
            return [ns - PAGE_READ_NS + 50_000 for ns in drive.run(reads, 1)]

    noisy = cells_ns("noise=0.1")
    assert statistics.mean(noisy) == pytest.approx(50_000, rel=0.02)
    assert statistics.stdev(noisy) == pytest.approx(5_000, rel=0.1)
    again = cells_ns("retries=0.1", "retry=60us")
    assert statistics.mean(ns >= 110_000 for ns in again) == pytest.approx(0.1, abs=0.03)
    assert set(again) >= {50_000, 110_000, 170_000}
    far = cells_ns("outliers=0.01", "outlier_times=20")
    assert set(far) == {50_000, 1_000_000}
    assert statistics.mean(ns > 50_000 for ns in far) == pytest.approx(0.01, abs=0.006)


def test_housekeeping_stops_the_flash_by_the_clock() -> None:
    arguments = ["housekeeping_every=100ms", "housekeeping=5ms"]
    with SpecimenDrive("page_mapped", *arguments) as drive:
        latencies_ns = drive.run(at_random(READ, 10_000, drive.capacity_bytes, PAGE), 1)
        stops = sum(ns > 1_000_000 for ns in latencies_ns)
        assert stops == drive.now_ns // 100_000_000
        assert 4_800_000 < max(latencies_ns) <= 5_000_000 + PAGE_READ_NS


def test_a_drive_that_gets_hot_writes_at_the_rate_it_can_cool() -> None:
    arguments = ["throttle_rate=50e6", "throttle_after=16M"]
    with SpecimenDrive("superblock", *arguments) as drive:
        first = per_second(drive, in_order(WRITE, 8 * MIB, MIB // 8), 4) * MIB / 8
        assert first > 150e6
        long = per_second(drive, in_order(WRITE, 256 * MIB, MIB // 8), 4) * MIB / 8
        assert long == pytest.approx(50e6, rel=0.15)


def test_a_link_can_be_jittery() -> None:
    with SpecimenDrive("page_mapped", "jitter=5us") as drive:
        latencies_ns = drive.run(at_random(READ, 3000, drive.capacity_bytes, PAGE), 1)
        assert min(latencies_ns) >= PAGE_READ_NS
        assert statistics.mean(latencies_ns) == pytest.approx(PAGE_READ_NS + 5_000, abs=300)


@pytest.mark.parametrize("name", DRIVES)
def test_help_names_each_parameter_with_its_default(name: str) -> None:
    said = subprocess.run([program(name), "--help"], check=True, capture_output=True, text=True)
    parameters = dict(line.split("=") for line in said.stdout.splitlines())
    assert {"capacity", "channels", "spare", "noise", "housekeeping", "seed"} <= set(parameters)
    assert json.loads(parameters["noise"]) == 0
