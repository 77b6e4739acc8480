"""Compression, deduplication, flushes and caches as the probes find them follow the drive's own."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import KIB, MIB, probed, small_ssd, view_of

import fourcorners as fc
from fourcorners.analysis.internals.caches import durability, write_buffer
from fourcorners.analysis.internals.caches.burst_curve import Curve
from fourcorners.analysis.internals.flash import data_reduction
from fourcorners.analysis.source import Measured
from fourcorners.store import Run
from fourcorners_validation.arena.drive_text import Bytes, GigabitsPerSecond, Seconds


@pytest.mark.parametrize("smallest", [None, 0.5, 0.25])
def test_compression_follows_the_drive(smallest: float | None, tmp_path: Path) -> None:
    sections = small_ssd() if smallest is None else small_ssd(compression={"smallest": smallest})
    found = probed("probe-content", sections, tmp_path)
    # Nothing but writes was measured: what the link carries is not known.
    assert found["compression"].value == (None if smallest is None else 1)


def _with_the_link(sections: dict[str, dict[str, object]], folder: Path) -> dict[str, object]:
    found = probed("explain", sections, folder, tests=("probe-burst", "probe-content"))
    return {name: finding.value for name, finding in found.items()}


def test_a_drive_of_one_pace_neither_compresses_nor_deduplicates(tmp_path: Path) -> None:
    found = _with_the_link(small_ssd(), tmp_path)
    assert (found["compression"], found["deduplication"]) == (0, 0)


def test_the_floor_of_compression_is_that_of_the_drive(tmp_path: Path) -> None:
    found = _with_the_link(small_ssd(compression={"smallest": 0.25}), tmp_path)
    assert found["compression_floor"] == pytest.approx(0.25, rel=0.03)
    assert found["deduplication"] == 0


def test_padding_of_forced_writes_is_within_what_is_said_of_the_floor(tmp_path: Path) -> None:
    buffer = {"write_back": False, "power_loss_protection": False}
    sections = small_ssd(compression={"smallest": 0.3}, write_buffer=buffer)
    probed("probe-content", sections, tmp_path)
    [manifest] = tmp_path.glob("runs/**/manifest.json")
    through = {"volatile_write_cache": 0, "power_loss_protection": 0}
    known = {"link_ceiling": 590e6, "compression": 1, **through}
    floor = data_reduction.floor(view_of(Run(manifest.parent), **known))
    # 13 units of 1229 bytes share a row of 16 KiB; 1 MiB takes 19.7 of 64 rows, and padding.
    assert floor.interval is not None
    low, high = floor.interval
    assert low <= 4 / 13 <= high < 1.4 * low


def test_repeated_data_is_told_from_compressible_data(tmp_path: Path) -> None:
    sections = small_ssd(deduplication={"reference_size": Bytes(KIB)})
    found = _with_the_link(sections, tmp_path)
    assert (found["compression"], found["deduplication"]) == (0, 1)


@pytest.mark.parametrize(("whole", "told"), [(1.5, 1.0), (1.0, None)])
def test_a_burst_that_is_faster_at_its_end_only_shows_no_compression(
    monkeypatch: pytest.MonkeyPatch, whole: float, told: float | None
) -> None:
    """A cache may be emptied at another time of each burst."""
    run = FakeRun()
    for number, data in enumerate(
        ("incompressible", "compressible:2", "compressible:50", "repeated")
    ):
        rate = 100e6 * (1.0 if data == "incompressible" else whole)
        run.add(
            f"probe-content/{data}/{number}",
            "write",
            iops=rate / MIB,
            elapsed_s=64 * MIB / rate,
            block_bytes=MIB,
            counted=True,
            data=data,
        )

    def later(_: object, m: Measured) -> Curve:
        count = np.arange(1, 65, dtype=np.float64) * MIB
        rate = 100e6 * (1.0 if m.point["data"] == "incompressible" else 1.5)
        return Curve(m.elapsed_s - (count[-1] - count) / rate, count)

    monkeypatch.setattr(data_reduction, "completion_curve", later)
    for finding in (data_reduction.compression, data_reduction.deduplication):
        answer = finding(view_of(run, link_ceiling=600e6))
        assert answer.value == told
        assert told or answer.said.code == "compression.late"


@pytest.mark.parametrize(
    ("through", "reads", "told"), [(0, 400e6, 0), (1, 400e6, None), (0, 105e6, None)]
)
def test_large_reads_show_what_the_link_carries_where_writes_wait_for_the_medium(
    monkeypatch: pytest.MonkeyPatch, through: int, reads: float, told: float | None
) -> None:
    run = FakeRun()
    large: dict[str, Any] = {"block_bytes": MIB, "elapsed_s": 1.0, "of": "written"}
    run.add("probe-depth/large", "read", iops=reads / MIB, **large)
    for data in ("incompressible", "compressible:2", "compressible:50", "repeated"):
        point: dict[str, Any] = {"counted": True, "data": data, "block_bytes": MIB}
        run.add(f"probe-content/{data}", "write", iops=100e6 / MIB, elapsed_s=0.64, **point)
    count = np.arange(1, 65, dtype=np.float64) * MIB
    pace = Curve(count / 100e6, count)
    monkeypatch.setattr(data_reduction, "completion_curve", lambda *_: pace)
    # A burst begins at the pace of the medium, and so says nothing of the link.
    monkeypatch.setattr(write_buffer, "link_rate", lambda _: 100e6)
    known = {"volatile_write_cache": through, "power_loss_protection": 0}
    for finding in (data_reduction.compression, data_reduction.deduplication):
        assert finding(view_of(run, **known)).value == told


@pytest.mark.parametrize(
    ("gain", "scatter", "link", "told"),
    [
        (1.0, 0.03, 600e6, 0),
        # Chance may hide a gain of a half.
        (1.0, 0.1, 600e6, None),
        (1.3, 0.03, 600e6, None),
        # No drive would be as much faster on this link.
        (1.0, 0.03, 140e6, None),
        (1.6, 0.03, 600e6, None),
    ],
)
def test_rates_that_scatter_show_that_no_half_is_saved(
    monkeypatch: pytest.MonkeyPatch, gain: float, scatter: float, link: float, told: float | None
) -> None:
    run, paces = FakeRun(), {}
    order = ("incompressible", "compressible:2", "incompressible", "repeated", "compressible:50")
    for number, data in enumerate((*order, "incompressible")):
        point: dict[str, Any] = {"counted": True, "data": data, "block_bytes": MIB}
        recording = f"probe-content/{data}/{number}"
        paces[recording] = 100e6 * (1 + (-1) ** number * scatter)
        paces[recording] *= 1.0 if data == "incompressible" else gain
        run.add(recording, "write", iops=paces[recording] / MIB, elapsed_s=0.64, **point)

    def pace(_: object, m: Measured) -> Curve:
        count = np.arange(1, 65, dtype=np.float64) * MIB
        return Curve(count / paces[m.recording], count)

    monkeypatch.setattr(data_reduction, "completion_curve", pace)
    known = {"link_ceiling": link, "volatile_write_cache": 1.0}
    for finding in (data_reduction.compression, data_reduction.deduplication):
        answer = finding(view_of(run, **known))
        assert answer.value == told
        assert told is not None or answer.said.code == "compression.drift"


def test_a_slow_link_hides_both(tmp_path: Path) -> None:
    sections = small_ssd(
        link={"line_rate": GigabitsPerSecond(1.5)},
        flash={"dies": 32, "channels": 8, "blocks_per_plane": 40},
        compression={"smallest": 0.25},
    )
    assert _with_the_link(sections, tmp_path)["compression"] is None


@pytest.mark.parametrize(
    ("write_back", "protected", "volatile"),
    [(True, False, 1), (True, True, None), (False, False, 0)],
)
def test_durability_follows_the_drive(
    write_back: bool, protected: bool, volatile: int | None, tmp_path: Path
) -> None:
    buffer = {"write_back": write_back, "power_loss_protection": protected}
    found = probed("probe-flush", small_ssd(write_buffer=buffer), tmp_path)
    assert found["volatile_write_cache"].value == volatile
    # A drive that ignores flushes and FUA looks the same as one that is protected.
    assert found["power_loss_protection"].value == (None if protected else 0)
    assert ("ignores FUA and flushes" in found["power_loss_protection"].text) == protected
    assert ("or it ignores them" in found["explanation"].text) == protected
    # A unit has to be transferred and programmed before the flush is complete, or nothing has.
    cost = 20e-6 + (volatile or 0) * (0.6e-3 + 4096 / 200e6)
    assert found["flush_cost"].value == pytest.approx(cost, rel=0.01)


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("protected", [False, True])
def test_programs_faster_than_reads_are_no_buffer(
    protected: bool, cached: bool, tmp_path: Path
) -> None:
    sections = small_ssd(
        write_buffer={"write_back": protected, "power_loss_protection": protected},
        flash={"program_time": Seconds(90e-6), "read_time": Seconds(120e-6)},
    )
    if cached:
        sections["read_cache"] = {"size": Bytes(8 * MIB)}
    found = probed("probe-flush", sections, tmp_path)
    assert found["power_loss_protection"].value == (None if protected else 0)


def test_a_disk_with_a_write_cache_loses_it(tmp_path: Path) -> None:
    with fc.open_target("sim:wd6400aaks") as target:
        run = fc.run("probe-flush", target, out=tmp_path)
    values = {finding.name: finding.value for finding in run.findings}
    assert (values["volatile_write_cache"], values["power_loss_protection"]) == (1, 0)


def _flushed(took_s: Mapping[str, float], written_s: float, flush_s: float) -> FakeRun:
    """What the probe of flushes measures, by the time of each kind of request, of a read of what
    was just written, and of a flush."""
    run = FakeRun()
    for turn, (kind, seconds) in itertools.product((1, 2, 3), took_s.items()):
        operation = "read" if "read" in kind else "write"
        where: dict[str, Any] = {"kind": kind, "latency_mean_s": seconds}
        run.add(f"probe-flush/{kind}/{turn}", operation, iops=40, elapsed_s=1, **where)
    for operation, kind, seconds in (
        ("flush", "flushed", flush_s),
        ("read", "just written", written_s),
    ):
        where = {"kind": kind, "latency_mean_s": seconds}
        run.add(f"probe-flush/{kind}", operation, iops=100, elapsed_s=1, **where)
    return run


@pytest.mark.parametrize(("write_s", "protected"), [(0.6e-3, None), (3e-3, 0)])
def test_writes_far_below_a_turn_do_not_wait_for_platters(
    write_s: float, protected: int | None
) -> None:
    # A disk with a write cache that carries out neither flushes nor FUA, and takes longer for the
    # command of a write than for that of a read.
    took_s = {"plain": write_s, "forced": write_s, "read": 6e-3, "just read": 0.17e-3}
    run = _flushed(took_s, 0.17e-3, 0.17e-3)
    for turn in range(4):
        run.add(f"probe-flush/sentinel/{turn}", "read", iops=1 / took_s["read"], sentinel=turn)
    assert view_of(run).is_disk
    told = durability.is_protected(view_of(run))
    assert told is not None
    assert told.value == protected


@pytest.mark.parametrize(("erased_us", "told"), [(55, 0), (800, None)])
def test_a_drive_that_reads_its_map_first_waits_for_its_writes_all_the_same(
    erased_us: int, told: int | None
) -> None:
    """Random reads, also of places without data, wait until a change of the map is written back,
    and so take longer than a write; those of an empty drive do not."""
    took_s = {"plain": 842e-6, "forced": 842e-6, "read": 1204e-6, "just read": 201e-6}
    run = _flushed(took_s, 201e-6, 40e-6)
    where: dict[str, Any] = {"kind": "never written", "part_bytes": 4096}
    where["latency_mean_s"] = 842e-6
    run.add("probe-trim/never", "read", iops=1 / 842e-6, elapsed_s=1, **where)
    where = {"alone_bytes": 4096, "latency_mean_s": erased_us * 1e-6}
    run.add("probe-depth/erased", "read", iops=1e6 / erased_us, elapsed_s=1, **where)
    found = durability.is_volatile(view_of(run))
    assert found is not None
    assert found.value == told


def test_a_drive_that_cannot_keep_the_pace_is_not_slower_for_it(tmp_path: Path) -> None:
    # Every forced write rewrites a cluster, ten times as long as they are apart.
    with fc.open_target("sim:ocz-core-64gb") as target:
        run = fc.run("probe-flush", target, out=tmp_path)
    found = {finding.name: finding for finding in run.findings}
    forced_s = found["volatile_write_cache"].detail["forced_s"]
    assert forced_s == pytest.approx(found["flush_cost"].value, rel=0.05)
