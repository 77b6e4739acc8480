"""A ceiling that many measurements meet, as an artefact."""

from dataclasses import replace

import numpy as np
import pytest

from fourcorners.analysis.artefacts import Artefact, Case, detect


def artefacts(*cases: Case) -> list[Artefact]:
    return [artefact for _, artefact in detect(cases)]


def capped(operation: str, block_bytes: int, depth: int, iops: float, number: int) -> Case:
    """A measurement through a bucket of tokens: a burst, then the cap."""
    jitter = np.random.default_rng(number).normal(1, 0.001, 20)
    rates = np.where(np.arange(20) < 3, 1.5, 1.0) * iops * block_bytes * jitter
    return Case(
        id=f"{operation}/{block_bytes}/{depth}",
        label="",
        bytes={operation: int(rates.sum())},
        ios={operation: int(rates.sum()) // block_bytes},
        elapsed_s=20.0,
        second_bytes=rates,
        pattern="random",
        block_bytes=block_bytes,
        mean_queue_depth=float(depth),
    )


GRID = [
    (op, block, depth) for op in ("read", "write") for block in (4096, 16384) for depth in (4, 32)
]


def test_a_volume_with_a_cap_on_ios() -> None:
    points = [capped(*point, iops=3000.0, number=n) for n, point in enumerate(GRID)]
    found = artefacts(*points)
    assert [artefact.name for artefact in found] == ["rate_cap"] * len(GRID)
    assert found[0].evidence["ceiling"] == pytest.approx(3000, rel=0.01)


@pytest.mark.parametrize(
    ("first", "severity", "said"),
    [
        (0, "severe", "artefact_rate_cap_credits.seen"),
        (3, "moderate", "artefact_rate_cap_bytes.seen"),
    ],
)
def test_a_ceiling_in_bytes_may_be_the_drive_s_own_unless_some_begin_faster(
    first: int, severity: str, said: str
) -> None:
    """What all data of a drive pass, its link or its controller, lets no more through at first."""
    points = [
        capped(op, block, depth, iops=125e6 / block, number=n)
        for n, (op, block, depth) in enumerate(GRID)
    ]
    points = [replace(case, second_bytes=case.second_bytes[first:]) for case in points]
    found = artefacts(*points)
    assert {artefact.evidence["unit"] for artefact in found} == {"bytes"}
    assert {(one.name, one.severity) for one in found} == {("rate_cap", severity)}
    assert {artefact.said.code for artefact in found} == {said}


@pytest.mark.parametrize(
    ("bytes_per_second", "link"),
    [
        (559e6, "SATA 6 Gb/s"),
        (1.8e9, "PCIe 3.0 x2 or PCIe 4.0 x1"),
        (457e6, "PCIe 1.0 x2 or PCIe 2.0 x1"),
    ],
)
def test_a_ceiling_that_a_link_has_is_named_as_the_link(bytes_per_second: float, link: str) -> None:
    points = [
        capped(op, block, depth, iops=bytes_per_second / block, number=n)
        for n, (op, block, depth) in enumerate(GRID)
    ]
    found = artefacts(*points)
    assert {artefact.name for artefact in found} == {"link_limit"}
    assert f"that is what {link} leaves for data" in found[0].seen


def few_large(block_bytes: int, in_seconds: list[int], iops: float) -> Case:
    """Large reads, of which a second has a few."""
    seconds = np.array(in_seconds, np.float64) * block_bytes
    return replace(
        capped("read", block_bytes, 1, iops, number=0),
        bytes={"read": round(len(seconds) * iops * block_bytes)},
        elapsed_s=float(len(seconds)),
        second_bytes=seconds,
    )


def test_seconds_of_few_large_requests_are_no_ceiling() -> None:
    """As of a hidden drive (number 44 of seed 60221): by whole requests in a second the reads end
    where the writes do, and by their time a percent above."""
    reads = [few_large(2**25, [16, 17, 16, 17], 16.61), few_large(2**27, [4] * 8, 4.162)]
    writes = [capped("write", 2**n, 32, 551e6 / 2**n, n) for n in (17, 19, 21)]
    assert artefacts(*reads, *writes) == []


def test_one_size_that_happens_to_reach_another_ones_rate_is_no_cap() -> None:
    """As of a hidden drive (number 100 of seed 771), whose link carries so many of 4 KiB."""
    points = [
        capped(op, 4096, depth, iops=48_645.0, number=depth)
        for op in ("read", "write")
        for depth in (4, 32)
    ]
    assert artefacts(*points, capped("write", 512, 1, iops=48_713.0, number=0)) == []


def test_a_drive_whose_reads_and_writes_differ_is_not_capped() -> None:
    points = [
        capped(op, block, depth, iops=3000.0 if op == "read" else 2900.0, number=n)
        for n, (op, block, depth) in enumerate(GRID)
    ]
    assert artefacts(*points) == []
