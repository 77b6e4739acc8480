"""The specimens of a disk and of a shingled disk, against what can be computed by hand."""

import math
import random

import pytest
from specimen_drive import (
    FLUSH,
    READ,
    TRIM,
    WRITE,
    SpecimenDrive,
    at_random,
    design,
    in_order,
    rate,
)

MIB = 2**20
# What a command costs beside the head: controller 20 us, latency 50 us, 4 KiB at 300 MB/s.
COMMAND_MS = 0.02 + 0.05 + 4096 / 300e3


def mean_ms(latencies_ns: list[int]) -> float:
    return sum(latencies_ns) / len(latencies_ns) / 1e6


def mean_seek_ms(said: dict[str, float]) -> float:
    """Between random addresses: a + b sqrt(d) up to a third of the cylinders, then linear.

    Zones have equally many cylinders, and outer ones hold more sectors, so addresses prefer them.
    """
    cylinders, third = said["cylinders"], math.floor(said["cylinders"] / 3)
    b = (said["third_stroke_seek_ms"] - said["track_seek_ms"]) / (math.sqrt(third) - 1)
    a = said["track_seek_ms"] - b
    e = (said["full_stroke_seek_ms"] - said["third_stroke_seek_ms"]) / (cylinders - 1 - third)
    c = said["third_stroke_seek_ms"] - e * third
    draw, inner = random.Random(5), said["inner_track_bytes"] / said["outer_track_bytes"]

    def cylinder() -> float:  # density falls linearly from 1 at the outside to `inner`
        u = draw.random()
        return cylinders * (1 - math.sqrt(1 - u * (1 - inner**2))) / (1 - inner)

    total = 0.0
    for _ in range(50_000):
        distance = abs(cylinder() - cylinder())
        total += a + b * math.sqrt(distance) if distance <= third else c + e * distance
    return total / 50_000


@pytest.mark.parametrize("rpm", [5400, 7200, 15000])
def test_random_read_is_seek_and_half_a_turn(rpm: int) -> None:
    said = design("disk", f"rpm={rpm}")
    with SpecimenDrive("disk", f"rpm={rpm}") as d:
        measured = mean_ms(d.run(at_random(READ, 3000, d.capacity_bytes, 4096), 1))
    turn = 60e3 / rpm
    transfer = turn * 4096 / (said["outer_track_bytes"] * 0.75)
    assert measured == pytest.approx(
        mean_seek_ms(said) + turn / 2 + transfer + COMMAND_MS, rel=0.02
    )


def test_a_write_settles_longer() -> None:
    places = list(at_random(READ, 2000, 400 * 10**9, 4096))
    with SpecimenDrive("disk", "write_cache=0") as d:
        reads = mean_ms(d.run(iter(places), 1))
        writes = mean_ms(d.run(((WRITE, place, size) for _, place, size in places), 1))
    assert writes - reads == pytest.approx(0.2, abs=0.15)


@pytest.mark.parametrize(("place", "sectors"), [(0.0, 2400), (0.9999, 1200)])
def test_sequential_rate_is_track_by_turn_and_skew(place: float, sectors: int) -> None:
    expected = sectors * 512 / (1 / 120 + 0.9e-3)  # a turn and the skew to the next track
    with SpecimenDrive("disk") as d:
        begin = int(d.capacity_bytes * place * 0.998) // 4096 * 4096
        d.run(iter([(READ, begin, 131072)]), 1)
        reads = rate(d, in_order(READ, 200 * MIB, 131072, begin + 131072))
        writes = rate(d, in_order(WRITE, 400 * MIB, 131072, begin))
    assert reads == pytest.approx(expected, rel=0.02)
    assert writes == pytest.approx(expected, rel=0.05)  # the last 8 MiB are in the cache


def test_without_read_ahead_each_read_waits_a_turn() -> None:
    with SpecimenDrive("disk", "read_ahead=0") as d:
        measured = mean_ms(d.run(in_order(READ, 64 * MIB, 131072), 1))
    # A turn for each, and the skew for each track of 2400 sectors that begins.
    assert measured == pytest.approx(1000 / 120 + 256 * (1000 / 120 + 0.9) / 2400, rel=0.03)


def test_a_deep_queue_is_worth_what_the_scheduler_is() -> None:
    rates = {}
    for scheduler in ("fcfs", "clook", "sptf"):
        with SpecimenDrive("disk", f"scheduler={scheduler}") as d:
            rates[scheduler] = rate(d, at_random(READ, 1500, d.capacity_bytes, 4096), 32)
    assert rates["clook"] > 1.4 * rates["fcfs"]
    assert rates["sptf"] > 1.2 * rates["clook"]


def test_who_has_waited_for_the_age_comes_first() -> None:
    longest = {}
    for age in ("300ms", "100s"):
        with SpecimenDrive("disk", f"age={age}") as d:
            longest[age] = max(d.run(at_random(READ, 1500, d.capacity_bytes, 4096), 32))
    assert 300e6 < longest["300ms"] < longest["100s"] / 2


def test_segments_keep_what_was_read_and_read_ahead() -> None:
    with SpecimenDrive("disk", "segments=4") as d:
        streams = [i * 10**11 for i in range(5)]
        d.run(iter([(READ, place, 65536) for place in streams[:4]]), 1)
        d.advance(1, d.now_ns + 100_000_000)
        again = d.run(iter([(READ, place, 65536) for place in streams[:4]]), 1)
        [ahead] = d.run(iter([(READ, streams[3] + 262144, 65536)]), 1)
        d.run(iter([(READ, streams[4], 65536)]), 1)
        [taken] = d.run(iter([(READ, streams[0], 65536)]), 1)  # the least recently used has gone
    assert max(again) < 1_000_000
    assert ahead < 1_000_000
    assert taken > 1_000_000


def test_the_write_cache_takes_a_burst_and_a_power_cut_loses_it() -> None:
    with SpecimenDrive("disk") as d:
        burst = d.run(at_random(WRITE, 500, d.capacity_bytes, 4096), 1)
        lost = d.wish("power-cut")["lost"]
        assert max(burst) < 1_000_000
        assert 400 < len(lost) <= 500
        assert lost == sorted(lost)
        d.run(iter([(WRITE, 0, 4096)]), 1)
        [flush] = d.run(iter([(FLUSH, 0, 0)]), 1)
        assert flush > 1_000_000
        assert d.wish("power-cut")["lost"] == []


def test_a_broken_physical_sector_costs_a_turn() -> None:
    with SpecimenDrive("disk", "write_cache=0") as d:
        whole = mean_ms(d.run(at_random(WRITE, 500, d.capacity_bytes, 4096), 1))
        places = at_random(WRITE, 500, d.capacity_bytes, 4096)
        broken = mean_ms(d.run(((WRITE, place + 512, 512) for _, place, _ in places), 1))
    assert broken - whole == pytest.approx(1000 / 120, abs=0.6)


def test_retries_and_housekeeping_cost_what_they_say() -> None:
    reads = list(at_random(READ, 2000, 400 * 10**9, 4096))
    with SpecimenDrive("disk") as d:
        plain = mean_ms(d.run(iter(reads), 1))
    with SpecimenDrive("disk", "retries=0.1") as d:
        retried = mean_ms(d.run(iter(reads), 1))
    with SpecimenDrive("disk", "housekeeping_every=2s", "housekeeping=200ms") as d:
        worst = max(d.run(iter(reads), 1))
    assert retried - plain == pytest.approx(0.1 / 0.9 * 1000 / 120, rel=0.25)
    assert 150e6 < worst < 240e6


# A shingled disk of bands that are quickly cleaned.
SMALL = ("capacity=4e9", "band=8M", "media_cache=200e6", "extents=2000", "heads=2")


def test_media_cache_takes_a_write_each_turn() -> None:
    with SpecimenDrive("smr", *SMALL, "write_cache=0") as d:
        measured = mean_ms(d.run(at_random(WRITE, 500, d.capacity_bytes, 4096), 1))
    # The log goes on behind what was written, 8 KiB of a track of 2400 sectors, one turn later.
    turn = 60e3 / 5900
    assert measured == pytest.approx(turn * (1 + 16 / 2400), rel=0.01)


def test_random_writes_collapse_when_the_map_is_full() -> None:
    said = design("smr", *SMALL)
    with SpecimenDrive("smr", *SMALL) as d:
        d.run(in_order(WRITE, d.capacity_bytes, 4 * MIB), 2)
        assert d.wish("counters")["counters"]["cleaned_bands"] == 0
        d.advance(1, d.now_ns + 10**10)
        early = rate(d, at_random(WRITE, 1000, d.capacity_bytes, 4096)) / 4096
        d.run(at_random(WRITE, 4000, d.capacity_bytes, 4096, seed=2), 1)
        before, begin_ns = d.wish("counters")["counters"], d.now_ns
        late = rate(d, at_random(WRITE, 3000, d.capacity_bytes, 4096, seed=3)) / 4096
        after, seconds = d.wish("counters")["counters"], (d.now_ns - begin_ns) / 1e9
    # A band waits B writes for its first extent, then A writes until that is the oldest. M extents
    # live at a time, which gives A; and a cleaning frees (A + B) / B writes.
    bands, extents = said["bands"], said["media_cache_extents"] - 2 * said["journal_writes"]
    low, high = 0.0, 1e6
    for _ in range(60):
        age = (low + high) / 2
        live = bands * age / (age + bands) * (1 + age / (2 * bands))
        low, high = (age, high) if live < extents else (low, age)
    freed = (age + bands) / bands
    assert 3000 / (after["cleaned_bands"] - before["cleaned_bands"]) == pytest.approx(
        freed, rel=0.1
    )
    # A cleaning reads and writes the band, and reads each extent in its place in the log.
    turn_ms = 60e3 / 5900
    passes_ms = 2 * 8 * MIB / (0.75 * said["outer_track_bytes"]) * (turn_ms + 0.9)
    cleaning_ms = passes_ms + (freed + 3) * (turn_ms / 2 + 2)
    assert seconds * 1e3 / (3000 / freed) == pytest.approx(cleaning_ms, rel=0.2)
    assert early > 50 * late


def test_idle_time_empties_the_media_cache() -> None:
    with SpecimenDrive("smr", *SMALL) as d:
        d.run(at_random(WRITE, 1500, d.capacity_bytes, 4096), 1)
        d.advance(1, d.now_ns + 900_000_000)
        assert d.wish("counters")["counters"]["cleaned_bands"] == 0
        d.advance(1, d.now_ns + 400 * 10**9)
        counters = d.wish("counters")["counters"]
        assert counters["extents_held"] == counters["log_held_bytes"] == 0
        assert max(d.run(at_random(WRITE, 1500, d.capacity_bytes, 4096), 1)) < 1_000_000


def test_streams_go_to_their_bands() -> None:
    with SpecimenDrive("smr", *SMALL) as d:
        first = rate(d, in_order(WRITE, 512 * MIB, MIB), 2)
        again = rate(d, in_order(WRITE, 512 * MIB, MIB), 2)
        counters = d.wish("counters")["counters"]
    assert first == pytest.approx(again, rel=0.05)
    assert counters["directly_written_bytes"] > 0.97 * 2 * 512 * MIB
    assert counters["broken_streams"] == 0


def test_a_cached_band_is_read_in_pieces() -> None:
    with SpecimenDrive("smr", *SMALL) as d:
        d.run(in_order(WRITE, 64 * MIB, MIB), 2)
        d.advance(1, d.now_ns + 10**9)
        whole = rate(d, in_order(READ, 8 * MIB, 131072, 16 * MIB))
        places = random.Random(3).sample(range(2048), 100)
        d.run(((WRITE, 16 * MIB + place * 4096, 4096) for place in places), 1)
        d.run(iter([(FLUSH, 0, 0)]), 1)
        pieces = rate(d, in_order(READ, 8 * MIB, 131072, 16 * MIB))
        d.advance(1, d.now_ns + 60 * 10**9)
        cleaned = rate(d, in_order(READ, 8 * MIB, 131072, 16 * MIB))
    assert pieces < whole / 5
    assert cleaned == pytest.approx(whole, rel=0.15)


def test_trim_forgets_what_was_cached() -> None:
    with SpecimenDrive("smr", *SMALL) as d:
        d.run(at_random(WRITE, 500, d.capacity_bytes, 4096), 1)
        d.run(iter([(FLUSH, 0, 0), (TRIM, 0, d.capacity_bytes)]), 1)
        assert d.wish("counters")["counters"]["extents_held"] == 0
        assert d.wish("power-cut")["lost"] == []
