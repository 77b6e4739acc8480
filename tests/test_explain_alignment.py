"""The mapping unit and what it costs, from writes across boundaries, on drives of known make."""

from pathlib import Path

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import view_of

import fourcorners as fc
from fourcorners.analysis import internals
from fourcorners.analysis.internals.flash import mapping_unit, partial_write_model
from fourcorners.analysis.internals.flash.partial_write_model import partly_covered
from fourcorners.analysis.internals.link import transfer_model
from fourcorners.store import Run

KIB, MIB = 2**10, 2**20


def _boundary(run: FakeRun, boundary_bytes: int, iops: float, factor: float) -> None:
    """Adds writes at a boundary, and such that straddle it and take so many times as long."""
    for where, times in (("at", 1.0), ("across", factor)):
        run.add(
            f"probe-alignment/{where}/{boundary_bytes}",
            "write",
            iops=iops / times,
            boundary_bytes=boundary_bytes,
            where=where,
        )


def _probed(drive: str, folder: Path, **settings: str) -> Run:
    with fc.open_target(f"sim:{drive}", settings=settings) as target:
        return fc.run("probe-alignment", target, out=folder)


def _value(run: Run, name: str) -> float | None:
    [finding] = [f for f in run.findings if f.name == name]
    return None if finding.value is None else float(finding.value)


@pytest.mark.parametrize("unit", [4, 8])
def test_the_finding_follows_the_mapping_unit(unit: int, tmp_path: Path) -> None:
    run = _probed("corsair-nova-v128", tmp_path, **{"translation.unit": f"{unit} KiB"})
    assert _value(run, "mapping_unit") == unit * KIB
    assert _value(run, "log_blocks") == 0
    assert _value(run, "placement_by_address") == 0


@pytest.mark.parametrize("pages", [64, 128])
def test_the_finding_follows_the_cluster(pages: int, tmp_path: Path) -> None:
    run = _probed("ocz-core-64gb", tmp_path, **{"flash.pages_per_block": str(pages)})
    # Four channels of two planes with pages of 4 KiB.
    assert _value(run, "mapping_unit") == 4 * 2 * 4 * KIB * pages
    assert _value(run, "log_blocks") == 0
    penalty = _value(run, "partial_unit_penalty")
    assert penalty is not None
    # 245.7 ms for a whole cluster of 4 MiB: the time is that of its rows.
    assert penalty == pytest.approx(0.2457 * pages / 128, rel=0.03)


@pytest.mark.parametrize(("sharing", "queue"), [("shared", 32), ("per-block", 1)])
def test_logs_show_by_what_they_keep(sharing: str, queue: int, tmp_path: Path) -> None:
    path = Path(__file__).parents[1] / "drive/sim/tests/support/log_block.toml"
    settings = {
        "capacity.user": "1 GiB",
        "flash.blocks_per_plane": "4200",
        "flash.pages_per_block": "64",
        "translation.sharing": sharing,
        "link.queue_depth": str(queue),
    }
    with fc.open_target(str(path), settings=settings) as target:
        run = fc.run("probe-alignment", target, out=tmp_path)
    assert _value(run, "log_blocks") == 1
    [story] = [f for f in run.findings if f.name == "explanation"]
    assert story.detail["kind"] == "log-block"


def test_a_disk_is_not_asked(tmp_path: Path) -> None:
    run = _probed("wd6400aaks", tmp_path)
    verdicts = {f.name: f.verdict for f in run.findings}
    assert verdicts["mapping_unit"] == "not applicable"
    assert verdicts["partial_unit_penalty"] == "not applicable"


def test_a_cost_that_never_stops_rising_is_no_unit() -> None:
    run = FakeRun()
    for step in range(10):
        boundary = KIB << step
        for straddles, where in enumerate(("at", "across")):
            run.add(
                f"probe-alignment/{where}/{boundary}",
                "write",
                iops=1000.0 / (1 + straddles * (step + 1) / 10),
                boundary_bytes=boundary,
                where=where,
            )
    found = {finding.name: finding for finding in internals.find(run)}
    assert found["mapping_unit"].verdict == "not identifiable"
    assert found["partial_unit_penalty"].verdict == "not identifiable"


@pytest.mark.parametrize(("cost", "unit"), [(1.0, 4 * KIB), (0.2, None)])
def test_a_clear_rise_shows_the_unit_where_large_boundaries_scatter(
    cost: float, unit: int | None
) -> None:
    # Measured on a drive whose large boundaries meet on few dies.
    scattered = (1.26, 1.5, 2.01, 2.01, 1.83, 1.97, 2.3, 2.45, 2.02)
    run = FakeRun()
    for step, factor in enumerate(scattered):
        _boundary(run, KIB << step, 24_000.0, 1 + cost * (factor - 1))
    assert mapping_unit.unit(view_of(run)).value == unit


@pytest.mark.parametrize(("second", "unit"), [(1.06, None), (1.25, 8 * KIB)])
def test_boundaries_of_a_rise_that_disagree_show_no_unit(second: float, unit: int | None) -> None:
    """The first was measured on a drive that maps 4 KiB, and whose SLC cache took a part of the
    writes at some boundaries."""
    run = FakeRun()
    first = 1.21 if unit is None else 1.13
    for step, factor in enumerate((first, second, 1.52, 1.98, 1.97, 1.93, 2.01, 2.02, 2.01)):
        _boundary(run, KIB << step, 9_000.0, factor)
    assert mapping_unit.unit(view_of(run)).value == unit


@pytest.mark.parametrize(("off", "unit"), [(0.1, None), (0.05, 16 * KIB)])
def test_boundaries_of_a_rise_are_judged_together(off: float, unit: int | None) -> None:
    # Of the larger deviations none is too large by itself, but all four of them are as large.
    run = FakeRun()
    for step in range(10):
        factor = 1 + min(1.0, 2**step / 16)
        if step < 4:
            factor *= 1 + off * (-1) ** step
        _boundary(run, KIB << step, 9_000.0, factor)
    assert mapping_unit.unit(view_of(run)).value == unit


@pytest.mark.parametrize(("at_4_kib", "unit"), [(1.438, None), (1.85, 4 * KIB)])
def test_a_single_boundary_decides_for_no_unit(at_4_kib: float, unit: int | None) -> None:
    """The first was measured on a drive that maps 4 KiB, with noise of 5 %: all boundaries but
    that of 4 KiB rise as they do with that unit."""
    run = FakeRun()
    large = (1.883, 1.896, 2.064, 1.937, 2.147, 1.935)
    for step, factor in enumerate((1.145, 1.371, at_4_kib, *large)):
        _boundary(run, KIB << step, 34_000.0, factor)
    assert mapping_unit.unit(view_of(run)).value == unit


@pytest.mark.parametrize(("slower", "unit"), [((1.0, 1.5, 1.16), None), ((1.0, 1.1, 1.0), 8 * KIB)])
def test_a_drive_that_changes_among_the_boundaries_of_a_rise_shows_no_unit(
    slower: tuple[float, ...], unit: int | None
) -> None:
    """As of a foreign drive (number 39 of seed 484647776) of 4 KiB, whose SLC cache took a part of
    the writes at some boundaries. Within a unit all writes cost the same."""
    run = FakeRun()
    for step, factor in enumerate((1.13, 1.25, 1.5, 2.0, 1.98, 2.01, 1.97, 2.02, 2.01)):
        times = slower[step] if step < len(slower) else 1.0
        _boundary(run, KIB << step, 23_000.0 / times, factor)
    found = mapping_unit.unit(view_of(run))
    assert found.value == unit
    assert unit or found.said.code == "changed"


@pytest.mark.parametrize(("doubled", "unit"), [((1.9, 2.04), None), ((1.7, 1.8), 32 * KIB)])
def test_a_rise_that_goes_on_shows_no_unit(doubled: tuple[float, float], unit: int | None) -> None:
    """The first was measured on a drive that maps 64 KiB on four dies."""
    rise = (1.01, 1.01, 0.96, 1.06, 1.29, 1.66, *doubled, 1.71, 1.85, 1.63, 1.65, 1.53, 1.48)
    run = FakeRun()
    for step, factor in enumerate(rise):
        _boundary(run, KIB << step, 2_500.0, factor)
    assert mapping_unit.unit(view_of(run)).value == unit


@pytest.mark.parametrize(("second_s", "unit"), [(0.1, 256 * KIB), (0.05, None)])
def test_of_merged_blocks_two_take_twice_as_long(second_s: float, unit: int | None) -> None:
    run = FakeRun()
    for step in range(10):
        boundary = 16 * KIB << step
        share = min(1.0, boundary / (256 * KIB))
        for where, each_s in (("at", 0.1), ("across", 0.1 + second_s * share)):
            id = f"probe-alignment/{where}/{boundary}"
            run.add(id, "write", iops=1 / each_s, boundary_bytes=boundary, where=where)
    for has_logs, expected in ((False, 256 * KIB), (True, unit)):
        assert mapping_unit.unit(view_of(run, log_blocks=float(has_logs))).value == expected


def test_a_probe_that_was_interrupted_says_nothing_of_log_blocks() -> None:
    run = FakeRun()
    run.add("probe-alignment/at/1048576", "write", iops=10.0, boundary_bytes=2**20, where="at")
    assert "log_blocks" not in {finding.name for finding in internals.find(run)}


def test_partly_covered_units() -> None:
    # One sector lies in one unit; a unit and a half at any sector has nearly always two edges.
    sizes = [512.0, 4 * KIB, 6 * KIB, 32 * KIB]
    counted = [_count(int(size), 4 * KIB, 512) for size in sizes]
    assert list(partly_covered(np.array(sizes), 4 * KIB, 512)) == pytest.approx(counted)


def _count(size: int, unit: int, alignment: int) -> float:
    """By going through every sector of every request."""
    partly = 0
    for offset in range(0, unit, alignment):
        sectors = range(offset, offset + size, alignment)
        units = [sector // unit for sector in sectors]
        partly += sum(units.count(number) < unit // alignment for number in set(units))
    return partly / (unit // alignment)


def test_the_tax_explains_the_misfit_of_the_core(tmp_path: Path) -> None:
    with fc.open_target("sim:ocz-core-64gb") as target:
        run = fc.run("transfer-size", target, out=tmp_path, scale=0.05)
    finding = partial_write_model.tax(view_of(run, mapping_unit=4 * MIB))
    assert finding.verdict == "measured"
    # The blog's 245.7 ms; predicted from other sizes than those that it was taken from.
    assert finding.value == pytest.approx(0.2457, rel=0.05)
    off = finding.detail["goodness"]
    assert off["relative_rms"] < 0.05 < 0.15 < off["relative_rms_without_tax"]
    without = partial_write_model.tax(view_of(run, mapping_unit=None))
    assert without.said.code == "no_unit"


def test_with_the_tax_writes_transfer_as_fast_as_in_sequence(tmp_path: Path) -> None:
    with fc.open_target("sim:ocz-core-64gb") as target:
        run = fc.run("probe-sizes", target, out=tmp_path)
    bare = view_of(run)
    taxed = view_of(run, extended_model=partial_write_model.tax(view_of(run, mapping_unit=4 * MIB)))
    plain = transfer_model.rate(bare, "write")
    rate, penalty = transfer_model.rate(taxed, "write"), transfer_model.penalty(taxed, "write")
    assert plain is not None
    assert rate is not None
    assert penalty is not None
    assert rate.interval is not None
    # What it writes in sequence; the access model takes the tax of large writes for transfer.
    assert rate.value == pytest.approx(82e6, rel=0.05)
    assert rate.interval[0] < 82e6 < rate.interval[1]
    assert (plain.value or 0) < 30e6
    assert penalty.value == pytest.approx(0.2457, rel=0.05)
    assert transfer_model.misfit(bare, "write") is not None
    assert transfer_model.misfit(taxed, "write") is None
