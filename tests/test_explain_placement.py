"""Placement by address shows in writes at and across multiples of boundaries."""

import heapq
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import view_of
from specimen_drive import program, truths

import fourcorners as fc
from fourcorners.analysis.internals.flash import mapping_unit
from fourcorners.analysis.internals.flash.placement import is_even, static
from fourcorners.analysis.internals.view import PointAxis
from fourcorners.recording.arrays import Floats

BOUNDARY_BYTES: Floats = np.array([1024.0 * 2**k for k in range(9)])


@pytest.mark.parametrize(
    "arguments",
    [
        ["channels=2", "ways=2", "planes=1", "order=CWDP"],
        ["channels=2", "planes=2", "order=PCWD", "page=8K", "cache=1M", "noise=0.05"],
        ["channels=4", "planes=2", "order=WCPD", "multiplane=0", "page=16K"],
    ],
)
def test_static_placement_shows_the_mapping_unit(arguments: list[str], tmp_path: Path) -> None:
    arguments = ["capacity=1G", "block_pages=32", "spare=0.2", *arguments]
    locator = "exec:" + " ".join([program("page_mapped"), *arguments])
    with fc.open_target(locator) as target:
        run = fc.run(
            "probe-alignment", target, parameters={"time": "300ms", "ramp": "100ms"}, out=tmp_path
        )
    found = {finding.name: finding.value for finding in run.findings}
    assert found["placement_by_address"] == 1
    assert found["mapping_unit"] == truths("page_mapped", *arguments)["mapping_unit"]


def _times(unit: float, units: int, each_s: float) -> tuple[Floats, Floats]:
    """With 32 writes outstanding, by Monte Carlo simulation of units that serve in order."""
    chance = np.random.default_rng(1)

    def time_s(boundary: float, straddles: bool) -> float:
        free_s, ends_s = np.zeros(units), [0.0] * 32
        for _ in range(4000):
            first = int(chance.integers(1, 4096) * boundary // unit)
            begins_s = ends_s[0]
            touched = {first % units}
            if straddles and chance.random() < boundary / unit:
                touched.add((first - 1) % units)
            for one in touched:
                free_s[one] = max(free_s[one], begins_s) + each_s
            heapq.heapreplace(ends_s, max(free_s[one] for one in touched))
        return max(ends_s) / 4000

    at_s, across_s = (
        np.array([time_s(boundary, straddles) for boundary in BOUNDARY_BYTES])
        for straddles in (False, True)
    )
    return at_s, across_s


def test_the_count_of_units_is_told_where_one_is_left() -> None:
    at_s, across_s = _times(4096, 16, 1e-3)
    found = static(BOUNDARY_BYTES, at_s, across_s, 32)
    assert found is not None
    assert (found.unit_bytes, found.stripe_bytes, found.units) == (4096, 4096, 16)
    assert static(BOUNDARY_BYTES, at_s, at_s * 2, 32) is None


def test_slower_writes_alone_are_no_placement() -> None:
    """A second mapping unit that costs the same at all boundaries beyond the unit lies anywhere."""
    at_s, _ = _times(4096, 16, 1e-3)
    across_s = at_s * (1 + np.minimum(1, BOUNDARY_BYTES / 4096))
    assert static(BOUNDARY_BYTES, at_s, across_s, 32) is None
    assert not is_even(at_s)
    assert is_even(np.ones(9))


def test_collection_that_takes_less_among_few_units_hides_no_placement() -> None:
    """Recorded on a drive of 32 units with a write cache, whose large boundaries fit no model."""
    at_s = np.array([32.3, 32.5, 32.4, 63.0, 117.9, 159.9, 265.4, 204.8, 0.6])
    across_s = np.array([40.7, 48.8, 65.0, 65.1, 126.4, 235.0, 402.0, 444.8, 0.6])
    found = static(BOUNDARY_BYTES, at_s, across_s, 32)
    assert found is not None
    assert (found.unit_bytes, found.stripe_bytes, found.units) == (4096, 4096, None)
    once = np.minimum(at_s, 63.0)  # A single doubling may have other causes.
    assert static(BOUNDARY_BYTES, once, once * across_s / at_s, 32) is None


def _alike_everywhere(unit: int) -> FakeRun:
    """Writes that take as long at multiples of all boundaries, and a second mapping unit as long as
    the first."""
    run = FakeRun()
    for boundary in (1024 << k for k in range(9)):
        for where in ("at", "across"):
            seconds = 1e-3 * (1 + (min(1.0, boundary / unit) if where == "across" else 0.0))
            about: dict[str, Any] = {"boundary_bytes": boundary, "where": where}
            recording = f"probe-alignment/{where}/{boundary}"
            run.add(recording, "write", iops=1 / seconds, elapsed_s=1.0, queue_depth=32, **about)
    return run


@pytest.mark.parametrize(
    ("units", "between", "code"), [(7, (), "odd"), (8, (), "dynamic"), (8, (21, 37), "no_turns")]
)
def test_writes_alike_everywhere_show_no_address_where_dies_take_turns(
    units: int, between: tuple[int, ...], code: str
) -> None:
    """Multiples of powers of two lie on all of an odd number of units anyway. Of a hash of the
    address, places conflict that are no whole turns apart."""
    stripe = 4096
    run = _alike_everywhere(stripe)
    places = [("window", PointAxis.WINDOW, 4096 << k, min(2.0**k, units)) for k in range(9)]
    for n in range(1, 65):
        meets = n % units == 0 or n in between
        places.append(("pair", PointAxis.DISTANCE, n * stripe, 1.0 if meets else 2.0))
    for kind, axis, number, gain in places:
        point: dict[str, Any] = {axis: number}
        run.add(f"probe-conflicts/{kind}/{number}", "read", iops=1e4 * gain, **point)
    found = mapping_unit.placement(view_of(run, log_blocks=0.0))
    assert found.said.code == code
    assert found.value == (0.0 if code == "dynamic" else None)


@pytest.mark.parametrize(("deep", "told"), [(2_900, False), (11_600, True)])
def test_of_a_drive_that_serves_one_read_at_a_time_nothing_shows_where_data_lie(
    deep: float, told: bool
) -> None:
    """As of a stick with one die, and of eight dies: writes at all boundaries are alike."""
    run = _alike_everywhere(4096)
    for depth, iops in ((1, 2_900), (32, deep)):
        name = f"probe-depth/random/{depth}"
        run.add(name, "read", iops=iops, pattern="random", queue_depth=depth)
    found = mapping_unit.placement(view_of(run, log_blocks=0.0))
    assert found.value == (0 if told else None)
    assert told or found.said.code == "one_unit"
