"""What slows down a burst of writes like an SLC cache that is full, and is none."""

from pathlib import Path
from typing import Any

import pytest
from analysis_fixture import FakeRun
from burst_fixture import add_burst, curve_of, filled
from explain_fixture import KIB, MIB, code, probed, small_ssd, view_of

from fourcorners.analysis.internals.caches import slc_cache
from fourcorners_validation.arena.drive_text import Bytes, BytesPerSecond, Seconds


@pytest.mark.parametrize("through", [True, False])
def test_a_map_that_is_full_of_changes_slows_a_drive_without_a_buffer_like_a_cache(
    through: bool,
) -> None:
    run = filled((256 * MIB, 23e6), (1792 * MIB, 11e6))
    durable = {"volatile_write_cache": float(not through), "power_loss_protection": 0.0}
    view = view_of(run, link_ceiling=550e6, page_bytes=16384.0, **durable)
    found, rate = slc_cache.size(view), slc_cache.direct_rate(view)
    assert rate is not None
    if through:
        assert found.said.code == rate.said.code == "slc_cache_bytes.cache_or_map"
        assert (found.value, rate.value) == (None, None)
    else:
        assert found.value == pytest.approx(256 * MIB, rel=0.02)


@pytest.mark.parametrize(
    ("read_s", "page_bytes", "code"),
    [(0.1e-3, 16384.0, None), (0.6e-3, 16384.0, "far"), (0.1e-3, 0.0, "no_flash")],
)
def test_credits_of_a_volume_end_like_a_cache(
    read_s: float, page_bytes: float, code: str | None
) -> None:
    """Behind a network no read shows that there is flash at all, nor does a volume that is near
    have pages, units of a map or erasures."""
    run = filled((256 * MIB, 230e6), (1792 * MIB, 110e6))
    run.add("probe-seeks/near", "read", iops=1 / read_s, latency_mean_s=read_s)
    durable = {"volatile_write_cache": 1.0, "power_loss_protection": 0.0}
    others = dict.fromkeys(("mapping_unit", "superblock_bytes"), 0.0)
    view = view_of(run, link_ceiling=550e6, page_bytes=page_bytes, **durable, **others)
    found, rate = slc_cache.size(view), slc_cache.direct_rate(view)
    assert rate is not None
    assert [answer.value is None for answer in (found, rate)] == [bool(code), bool(code)]
    assert not code or found.said.code == rate.said.code == f"slc_cache_bytes.{code}"


def test_a_memory_of_the_host_that_is_full_of_writes_is_no_cache_of_the_drive() -> None:
    """It takes them faster than any link of a drive."""
    run = filled((256 * MIB, 70e9), (1792 * MIB, 400e6))
    durable = {"volatile_write_cache": 1.0, "power_loss_protection": 0.0}
    view = view_of(run, link_ceiling=None, page_bytes=16384.0, **durable)
    assert slc_cache.size(view).said.code == "slc_cache_bytes.no_link"


@pytest.mark.parametrize(("read_rate", "there"), [(400e6, True), (110.4e6, False)])
def test_a_limit_that_reads_meet_as_well_is_no_end_of_a_cache(
    read_rate: float, there: bool
) -> None:
    run = filled((256 * MIB, 230e6), (1792 * MIB, 110e6))
    for block in (128 * KIB, MIB):
        about: dict[str, Any] = {"block_bytes": block, "queue_depth": 32, "of": "written"}
        run.add(f"probe-depth/large/{block}", "read", iops=read_rate / block, **about)
    found = slc_cache.size(view_of(run, link_ceiling=550e6, page_bytes=16384.0))
    assert (found.value is not None) == there
    assert there or found.said.code == "slc_cache_bytes.credits"


@pytest.mark.parametrize(
    ("rested", "after", "code", "tested"),
    [
        (450e6, 440e6, "measured", True),
        (450e6, 215e6, "reads_too", False),
        (180e6, 130e6, "reads_too", False),
        (450e6, 320e6, "measured", True),
    ],
)
def test_what_slows_down_reads_as_well_is_no_end_of_a_cache(
    rested: float, after: float, code: str, tested: bool
) -> None:
    run = filled((256 * MIB, 230e6), (1792 * MIB, 110e6))
    about: dict[str, Any] = {"block_bytes": MIB, "queue_depth": 32}
    run.add("probe-depth/written", "read", iops=rested / MIB, of="written", **about)
    run.add("probe-overwrite/after", "read", iops=after / MIB, stage="after-fill", **about)
    view = view_of(run, link_ceiling=550e6, page_bytes=16384.0)
    found, rate = slc_cache.size(view), slc_cache.direct_rate(view)
    assert rate is not None
    assert found.said.code.split(".")[-1] == code
    assert [answer.value is not None for answer in (found, rate)] == [tested, tested]
    checked = [check.holds for check in found.checks if check.assumption == "reads_keep_pace"]
    # Reads that are slower, but by far less than the writes, leave it open.
    assert checked == [True] * (rested < 1.2 * after)


def test_reads_that_are_slower_than_writes_do_not_show_whether_heat_slows_them() -> None:
    run = filled((256 * MIB, 230e6), (1792 * MIB, 110e6))
    about: dict[str, Any] = {"block_bytes": MIB, "queue_depth": 32}
    run.add("probe-depth/written", "read", iops=120e6 / MIB, of="written", **about)
    run.add("probe-overwrite/after", "read", iops=120e6 / MIB, stage="after-fill", **about)
    found = slc_cache.size(view_of(run, link_ceiling=550e6, page_bytes=16384.0))
    assert found.value is not None
    assert not found.checks


@pytest.mark.parametrize(
    ("regained", "slow", "there"),
    [
        # 0.75 s at 110 MB/s are 82.5 MB.
        (82.5e6, 110e6, False),
        (84e6, 110e6, False),
        (92e6, 110e6, True),
        (40e6, 110e6, True),
        (0.0, 110e6, True),
        # Later writes never become as slow as the fill, so that nothing shows what was given back.
        (75e6, 100e6, True),
    ],
)
def test_a_limit_of_the_rate_gives_back_what_it_holds_writes_to(
    regained: float, slow: float, there: bool
) -> None:
    run = filled((256 * MIB, 230e6), (1792 * MIB, slow))
    about: dict[str, Any] = {"block_bytes": MIB, "queue_depth": 32}
    run.add("probe-overwrite/after", "read", iops=440, elapsed_s=0.75, stage="after-fill", **about)
    rest_s, count = 0.2, 512
    rest = min(regained, 60e6) + 110e6 * rest_s
    about = {"block_bytes": rest / count, "elapsed_s": rest_s}
    run.add("probe-overwrite/rest", "write", iops=count / rest_s, stage="rest", **about)
    for n, more in enumerate((max(regained - 60e6, 0.0), 0.0)):
        part = more + 110e6 * 0.5
        about = {"block_bytes": part / count, "elapsed_s": 0.5}
        run.add(f"probe-overwrite/{n}", "write", iops=count / 0.5, stage="overwrite", **about)
    view = view_of(run, link_ceiling=550e6, page_bytes=16384.0)
    found, rate = slc_cache.size(view), slc_cache.direct_rate(view)
    assert rate is not None
    assert [answer.value is not None for answer in (found, rate)] == [there, there]
    assert there or found.said.code == rate.said.code == "slc_cache_bytes.given_back"


def test_a_drive_that_becomes_hot_has_no_slc_cache(tmp_path: Path) -> None:
    """It is hot after 0.8 GB, and slow until long after its fill."""
    hot = {
        "time_constant": Seconds(2.0),
        "limit_rate": BytesPerSecond(290e6),
        "throttled_rate": BytesPerSecond(100e6),
        "resume_rate": BytesPerSecond(100.1e6),
    }
    sections = small_ssd(
        capacity={"user": Bytes(2048 * MIB)},
        flash={"dies": 16, "blocks_per_plane": 160, "program_time": Seconds(0.3e-3)},
        thermal=hot,
    )
    found = probed("explain", sections, tmp_path, tests=("probe-depth", "probe-overwrite"))
    assert found["slc_cache_bytes"].verdict == "not identifiable"
    assert code("slc_cache_bytes", tmp_path) == "slc_cache_bytes.reads_too"


@pytest.mark.parametrize(("times", "value"), [(1.3, 0), (3.0, None)])
def test_a_cache_that_only_random_writes_fill_is_not_denied(
    times: float, value: float | None
) -> None:
    """Sequential writes may pass it."""
    run = filled((2048 * MIB, 110e6))
    about: dict[str, Any] = {"block_bytes": 4 * KIB, "stage": "overwrite"}
    run.add("probe-overwrite/0", "write", iops=times * 110e6 / (4 * KIB), **about)
    found = slc_cache.size(view_of(run, link_ceiling=550e6, page_bytes=16384.0))
    assert found.value == value
    assert found.said.code == ("none" if value == 0 else "at_random")


@pytest.mark.parametrize(("beyond", "there"), [(450e6, True), (170e6, False)])
def test_a_fill_that_comes_to_another_medium_shows_no_cache(beyond: float, there: bool) -> None:
    run = filled((256 * MIB, 230e6), (1792 * MIB, 110e6))
    for offset in range(0, 2048 * MIB, 64 * MIB):
        rate = 450e6 if offset < 256 * MIB else beyond
        about: dict[str, Any] = {"block_bytes": 256 * KIB, "offset_bytes": offset}
        run.add(f"probe-positions/at/{offset}", "read", iops=rate / (256 * KIB), **about)
    found = slc_cache.size(view_of(run, link_ceiling=550e6, page_bytes=16384.0))
    assert (found.value is not None) == there
    assert there or found.said.code == "slc_cache_bytes.by_place"


def test_a_buffer_that_does_not_show_is_in_the_interval_where_the_cache_is_uneven() -> None:
    """As of a foreign drive (number 53 of seed 924738685) with a buffer of 4 MiB."""
    even, slower = (84 * MIB, 617e6), (84 * MIB, 560e6)
    run = filled((4 * MIB, 3300e6), even, slower, even, (1792 * MIB, 136e6))
    found = slc_cache.size(view_of(run, link_ceiling=3.3e9, page_bytes=16384.0))
    assert found.value == pytest.approx(256 * MIB, rel=0.01)
    assert found.interval is not None
    assert found.interval[0] < 252 * MIB


@pytest.mark.parametrize(("short_rate", "there"), [(221e6, True), (137.8e6, False)])
def test_what_was_as_slow_before_the_cache_was_full_is_no_end_of_one(
    short_rate: float, there: bool
) -> None:
    """As of a foreign drive (number 35 of seed 924738685), whose planes fell out of step."""
    run = filled((920 * MIB, 189e6), (1128 * MIB, 137.5e6))
    add_burst(run, "probe-burst/long", curve_of((256 * MIB, 189e6)), "long")
    add_burst(run, "probe-burst/short", curve_of((256 * MIB, short_rate)), "short")
    view = view_of(run, link_ceiling=550e6, page_bytes=16384.0)
    found, rate = slc_cache.size(view), slc_cache.direct_rate(view)
    assert rate is not None
    assert [answer.value is not None for answer in (found, rate)] == [there, there]
    assert there or found.said.code == rate.said.code == "slc_cache_bytes.as_slow_before"


def test_a_pause_does_not_show_that_faster_cells_were_full() -> None:
    """Credits, heat and debts of compaction end in a pause as well."""
    run = FakeRun(capacity_bytes=2 * 2**30)
    for stage in ("long", "rested"):
        curve = curve_of((256 * MIB, 230e6), (1792 * MIB, 110e6))
        add_burst(run, f"probe-burst/{stage}", curve, stage)
    found = slc_cache.size(view_of(run, link_ceiling=550e6, mapping_unit=4096.0))
    assert found.value == pytest.approx(256 * MIB, rel=0.02)
    assert not found.checks
