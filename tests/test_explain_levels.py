"""Planes, dies and channels as levels of waits follow the drive, whatever the order of
allocation."""

import itertools
import random
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from specimen_drive import program, truths

import fourcorners as fc
from fourcorners.analysis.internals.flash.conflicting_reads import typical_s
from fourcorners.analysis.internals.flash.levels import (
    CHANNEL,
    DIE,
    Pairs,
    levels,
    next_one_waits,
    out_of_turn,
)
from fourcorners.analysis.source import Measured
from fourcorners.suites.probes.conflicts import stripes_wanted

READ_S, CHANNEL_S = 60e-6, 9e-6


def _pairs(order: str, sizes: dict[str, int], noise: float, delay_s: float, seed: int) -> Pairs:
    """What pairs take on such a drive, with so much scatter of the mean of each."""
    chance = random.Random(seed)
    units = 1
    for size in sizes.values():
        units *= size

    def waits(n: int) -> float:
        digits, rest = {}, n
        for level in order:
            rest, digits[level] = divmod(rest, sizes[level])
        if n == units or not any(digits[level] for level in "CWD"):
            return READ_S + CHANNEL_S - delay_s
        return 0.0 if digits["C"] else max(0.0, CHANNEL_S - delay_s)

    def latency_s(n: int) -> float:
        return (READ_S + 20e-6 + waits(n) / 2) * chance.gauss(1, noise)

    latencies = {n: latency_s(n) for n in stripes_wanted(units)}
    return Pairs(latencies, noise * 80e-6, READ_S + 20e-6)


@pytest.mark.parametrize("order", ["CWDP", "CPWD", "PCWD", "WCPD"])
@pytest.mark.parametrize(
    ("channels", "planes", "dies"), [(8, 2, 2), (4, 4, 4), (2, 1, 3), (16, 4, 4)]
)
def test_levels_follow_the_drive(order: str, channels: int, planes: int, dies: int) -> None:
    sizes = {"C": channels, "W": 1, "D": dies, "P": planes}
    units = channels * planes * dies
    kinds = [_pairs(order, sizes, 0.004, delay_s, 1) for delay_s in (1e-6, 34e-6)]
    found = levels(units, kinds, READ_S + CHANNEL_S)
    assert found is not None
    assert (found.planes, found.channels) == (planes, channels)
    assert found.dies == channels * dies
    assert found.are_first == (order[0] == "P" and planes > 1)


def test_noise_makes_no_levels() -> None:
    sizes = {"C": 4, "W": 1, "D": 1, "P": 1}
    told = []
    for seed in range(30):
        kinds = [_pairs("CWDP", sizes, 0.02, delay_s, seed) for delay_s in (1e-6, 34e-6)]
        if found := levels(4, kinds, READ_S + CHANNEL_S):
            told.append((found.planes, found.channels))
    assert set(told) == {(1, None)}
    assert len(told) > 20


def test_a_wait_that_is_neither_for_a_die_nor_for_a_channel_is_not_told() -> None:
    latency_s = {n: 80e-6 + (26e-6 if n == 2 else 34e-6 if n == 4 else 0) for n in range(1, 5)}
    assert levels(4, [Pairs(latency_s)], READ_S) is None
    of_a_die = latency_s | {2: 114e-6}
    found = levels(4, [Pairs(of_a_die)], READ_S)
    assert found is not None
    assert found.planes == 2
    assert DIE in found.wait
    of_a_channel = latency_s | {2: 90e-6}
    found = levels(4, [Pairs(of_a_channel)], READ_S)
    assert found is not None
    assert (found.planes, found.channels) == (1, 2)
    assert CHANNEL in found.wait


def test_units_that_share_a_die_out_of_turn_are_no_dies() -> None:
    """Pages of 24 KiB on 6 dies, written by 128 KiB: the order of dies repeats after 16 pages."""
    same, channel = {5: 36e-6, 10: 36e-6, 16: 36e-6}, {3: 2e-6, 8: 2e-6, 13: 2e-6}
    waits_s = {n: (same | channel).get(n, 0.0) for n in range(1, 17)}
    kinds = [Pairs({n: 82e-6 + wait_s / k for n, wait_s in waits_s.items()}) for k in (1, 2)]
    assert levels(16, kinds, 80e-6) is None
    assert out_of_turn(16, kinds)
    in_turn = {n: 82e-6 + (36e-6 if n == 16 else 0.0) for n in range(1, 17)}
    assert not out_of_turn(16, [Pairs(in_turn)])
    assert not out_of_turn(16, [Pairs(in_turn | {8: 118e-6})])
    found = levels(16, [Pairs(in_turn)], 80e-6)
    assert found is not None
    assert found.dies == 16


def test_units_that_do_not_wait_for_themselves_are_no_dies() -> None:
    """Two drives of a mirror serve the reads of a place in turn."""
    alike = [Pairs(dict.fromkeys(range(1, 5), 119e-6))] * 2
    assert levels(4, alike, 45e-6) is None
    assert out_of_turn(4, alike)


def test_waits_for_a_die_that_differ_by_little_are_of_one_level() -> None:
    """Two dies of four planes each; a read of the next plane waits a little longer than the others,
    by several times the error of a pair."""
    waits_s = {1: 36.9e-6, 2: 36.0e-6, 3: 36.1e-6, 8: 36.0e-6}
    latency_s = {n: 82e-6 + waits_s.get(n, 0.0) for n in range(1, 9)}
    kinds = [Pairs(latency_s, 0.05e-6), Pairs(latency_s, 0.05e-6, 82e-6)]
    found = levels(8, kinds, 80e-6)
    assert found is not None
    assert (found.planes, found.dies, found.are_first) == (4, 2, True)
    # By as much as a channel's wait they are of two levels, which no order of planes has.
    apart = latency_s | {1: latency_s[1] + 8e-6}
    kinds = [Pairs(apart, 0.05e-6), Pairs(apart, 0.05e-6, 82e-6)]
    assert levels(8, kinds, 80e-6) is None
    # The next place is of the same die all the same: what was taken for a stripe is a part of one.
    assert next_one_waits(kinds, 8)
    assert not next_one_waits([Pairs(latency_s | {1: 82e-6}, 0.05e-6, 82e-6)], 8)
    # Some reads that hang make times scatter; no wait for a channel is as long either way.
    scattered = {1: 152.0e-6, 2: 142.5e-6, 8: 152.6e-6}
    assert next_one_waits([Pairs(scattered, 0.5e-6, 143.2e-6)], 8)
    assert not next_one_waits([Pairs(scattered | {1: 149.5e-6}, 0.5e-6, 143.2e-6)], 8)
    # Nothing shows where the same unit hardly waits.
    assert not next_one_waits([Pairs(dict.fromkeys(range(1, 9), 82e-6), 0.05e-6, 82e-6)], 8)


def test_a_long_and_a_short_read_do_not_scatter_by_their_difference() -> None:
    """Of a pair, one read takes 80 us and the other one 140 us, each within 2 %."""
    middle_ns = np.array([78e3, 80e3, 82e3, 137e3, 140e3, 143e3]).astype(np.int64)
    count = np.array([25, 50, 25, 25, 50, 25])
    histogram = (middle_ns, middle_ns, count)
    mean_s, error_s = typical_s(cast("Measured", SimpleNamespace(histogram=histogram)))
    assert mean_s == pytest.approx(107e-6, rel=0.05)
    assert error_s < 0.5e-6


def test_distances_of_a_power_of_two_tell_all_levels() -> None:
    wanted = stripes_wanted(256)
    assert len(wanted) < 80
    assert all(1 << k in wanted for k in range(9))
    assert stripes_wanted(48) == list(range(1, 49))
    assert all(a + b in wanted for a, b in itertools.combinations((1, 2, 64, 128), 2))


@pytest.mark.parametrize(
    "arguments",
    [
        ["channels=2", "ways=2", "planes=2", "order=CWDP"],
        ["channels=2", "ways=2", "planes=4", "order=PCWD", "merge_wait=1us"],
    ],
)
def test_planes_that_read_together_are_no_dies(arguments: list[str], tmp_path: Path) -> None:
    arguments = ["capacity=512M", "block_pages=32", "noise=0.03", *arguments]
    locator = "exec:" + " ".join([program("page_mapped"), *arguments])
    with fc.open_target(locator) as target:
        run = fc.run("probe-conflicts", target, parameters={"time": "30ms"}, out=tmp_path)
    found = {finding.name: finding.value for finding in run.findings}
    true = truths("page_mapped", *arguments)
    for name in ("dies", "planes_per_die", "channels", "stripe_bytes"):
        assert found[name] == true[name], name


def test_levels_that_are_told_in_noise_are_right() -> None:
    chance = random.Random(5)
    for seed in range(60):
        sizes = {"C": chance.choice([1, 2, 4, 8]), "W": 1}
        sizes |= {"D": chance.choice([1, 2, 3]), "P": chance.choice([1, 2, 4])}
        units = sizes["C"] * sizes["D"] * sizes["P"]
        order = "".join(chance.sample("CWDP", 4))
        noise = chance.choice([0.002, 0.01, 0.02, 0.05])
        kinds = [_pairs(order, sizes, noise, delay_s, seed) for delay_s in (1e-6, 34e-6)]
        found = levels(units, kinds, READ_S + CHANNEL_S)
        if units > 1 and found is not None:
            assert found.planes == sizes["P"], (order, sizes, noise)
            assert found.channels in (None, sizes["C"]), (order, sizes, noise)
