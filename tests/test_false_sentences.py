"""Sentences that once were said and were false, each from recordings that provoked it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from analysis_fixture import KIB, MIB, SIZES, FakeRun, Floats, access_seconds, codes, named
from test_artefacts import artefacts, case

from fourcorners.analysis import Finding, advice, find
from fourcorners.analysis.consistency import find_cliff
from fourcorners.analysis.source import measured
from fourcorners.analysis.steady_state import Series, judge
from fourcorners.analysis.steady_state.trend import MOVES_BY_CHANCE_MAX
from fourcorners.analysis.traits import gather


def text_of(run: FakeRun) -> str:
    """All that the summary's page says: the summary, its remarks, and how writes went on."""
    findings = find(run)
    summary = named(findings, "summary")
    remarks = [one["text"] for side in summary.detail["remarks"].values() for one in side]
    steadiness = [f.text for f in findings if f.name.startswith(("consis", "steadiness"))]
    return " ".join([summary.text, *remarks, *steadiness])


def with_consistency(iops: Floats, capacity_bytes: int = 30 * 10**9) -> FakeRun:
    run = FakeRun(capacity_bytes=capacity_bytes)
    run.add_queue_depths("read", {1: 14_000.0, 31: 246_573.0})
    run.add_consistency(iops)
    return run


def test_a_drive_that_falls_to_a_tenth_does_not_feel_the_same_all_the_time() -> None:
    run = with_consistency(np.where(np.arange(2000) < 60, 292_765.0, 26_270.0), 10**12)
    text = text_of(run)
    assert "drop from 292,765 a second to 26,270" in text
    assert "same drive all the time" not in text
    assert "8.97 % as fast as at its fastest" in text


def test_nor_does_one_that_falls_by_half_step_by_step() -> None:
    """As a real file did: no cliff between two levels, and 46 % at the end."""
    run = with_consistency(np.interp(np.arange(2000), [0, 900, 2000], [50_000.0, 23_000, 23_000]))
    assert "same drive all the time" not in text_of(run)


def test_nor_does_one_that_has_a_cliff_and_recovers_half() -> None:
    iops = np.concatenate([np.full(40, 48_600.0), np.full(120, 29_000.0), np.full(60, 38_000.0)])
    text = text_of(with_consistency(iops))
    assert "and drops after 40 seconds" in text
    assert "same drive all the time" not in text


def test_a_drive_that_is_even_from_its_first_second_feels_the_same_all_the_time() -> None:
    text = text_of(with_consistency(np.full(2000, 32_000.0)))
    assert "same drive all the time: the worst of all 2,000 seconds" in text


def nvme(random_iops: float) -> FakeRun:
    """A drive whose lone reads of 4 KiB take 71 µs, and whose large ones reach 3.5 GB/s late."""
    run = FakeRun(capacity_bytes=10**12)
    run.add_transfer_sizes("read", SIZES, access_seconds(330e-6, 3.5e9))
    run.add_queue_depths("read", {1: 3_000.0, 31: random_iops})
    return run


@pytest.mark.parametrize(("random_iops", "told"), [(246_573.0, 0), (3_000.0, 2)])
def test_small_reads_are_no_matter_to_avoid_where_a_queue_makes_them_fast(
    random_iops: float, told: int
) -> None:
    remarks = named(find(nvme(random_iops)), "summary").detail["remarks"]
    names = [one["name"] for side in remarks.values() for one in side]
    assert len([name for name in names if name in ("avoid_small_reads", "dear_reads")]) == told


def flat_fill() -> Floats:
    """Ten minutes of 128 KiB writes at 1,280 a second, within 0.6 %."""
    chance = np.random.default_rng(5)
    return np.asarray(np.round(1280 * (1 + 0.002 * chance.standard_normal(600))))


@pytest.mark.parametrize("unwritten_share", [0.0, 0.4, 1.0])
def test_a_flat_fill_is_not_said_to_fall(unwritten_share: float) -> None:
    iops, capacity = flat_fill(), 256e9
    series = Series.of_seconds(iops, iops * 128 * KIB)
    verdict = judge(series, capacity, unwritten_bytes=unwritten_share * capacity)
    assert not verdict.settled
    assert "falling" not in verdict.text
    assert verdict.text.startswith("not known to be steady: ")


def test_a_slow_fall_is_still_told() -> None:
    rate = 1280 * np.exp(-np.arange(2000) / 1500)
    verdict = judge(Series.of_seconds(rate, rate * 4096), 1e6, spare_bytes_max=0)
    assert verdict.text == "not steady, still falling"


def test_a_rate_that_changes_from_the_first_second_on_has_kept_no_level() -> None:
    """A cache that ends within the first seconds: there is no level that could be watched."""
    iops = np.concatenate([[107_000.0, 94_000, 16_000], np.linspace(17_000, 27_000, 297)])
    finding = named(find(with_consistency(iops, 4 * 10**9)), "steadiness_consistency")
    assert "kept its level" not in finding.text
    assert finding.verdict != "holds"


def test_a_level_that_was_come_to_late_is_said_to_be_kept_from_then_on() -> None:
    """As on a drive that fell to a fifth after three seconds, and rose for twenty more."""
    chance = np.random.default_rng(8)
    rising = np.interp(np.arange(20), [0, 19], [15_000.0, 22_000.0])
    level = 21_500 * (1 + 0.03 * chance.standard_normal(900))
    run = with_consistency(np.concatenate([np.full(3, 77_000.0), rising, level]), 10**9)
    text = named(find(run), "steadiness_consistency").text
    assert text.startswith("From second ")
    assert "the rate kept its level to the end" in text


def test_a_mean_that_is_one_long_wait_is_no_cost_of_a_request() -> None:
    """Log blocks that are merged once: 8,000 writes of 0.08 ms, and one of 30 s."""
    run = FakeRun()
    run.add_queue_depths("read", {1: 7_000.0})
    run.add_queue_depths("write", {1: 260.0})
    assert "3.85 ms" in named(find(run), "spec_sheet").text
    run.rows[-1]["latency_max_s"] = 0.9 * 60
    assert "3.85 ms" not in named(find(run), "spec_sheet").text
    assert "3.85 ms" not in text_of(run)


def test_a_page_has_one_number_for_a_random_read() -> None:
    run = FakeRun(capacity_bytes=10**12)
    run.add_queue_depths("read", {1: 1 / 70.3e-6, 31: 246_573.0})
    run.add_transfer_sizes("read", SIZES, access_seconds(60.2e-6, 3.5e9))
    findings = find(run)
    assert "a random read costs 70.3 µs" in named(findings, "summary").text
    assert "60.2 µs" not in text_of(run)
    rows = {row["quantity"]: row["value"] for row in named(findings, "spec_sheet").detail["rows"]}
    assert rows["read_access"] == pytest.approx(70.3e-6)


def recovery(value: float | None) -> Finding:
    verdict = "not identifiable" if value is None else "measured"
    detail = {"pause_s": 20.0}
    return Finding("idle_recovery", "", verdict, "x", value, "presence", detail=detail)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, []),
        (0.0, ["pauses_do_not_help"]),
        (1.0, ["pauses_help"]),
    ],
)
def test_pauses_are_advised_where_they_were_found_to_help(
    value: float | None, said: list[str]
) -> None:
    run = with_consistency(np.where(np.arange(2000) < 60, 90_000.0, 9_000.0), 10**12)
    findings = [f for f in find(run) if f.name != "summary"]
    remarks = advice.advise(run, gather(run, [*findings, recovery(value)]), "page-mapped").avoid
    assert [one.name for one in remarks if "pause" in one.text] == said
    assert remarks[0].name == "avoid_long_writes"


def test_what_a_probe_has_erased_to_read_it_is_no_severe_artefact() -> None:
    erased = {"hole_share": 0.5, "zero_share": 0.5}
    assert artefacts(case(erased, id="probe-trim/trimmed/4096", bytes={"read": 4096})) == []
    names = [one.name for one in artefacts(case(erased, id="transfer-size/read/4096"))]
    assert names == ["unwritten_blocks"]


def test_what_one_pair_of_writes_has_alone_is_not_the_content() -> None:
    """A drive without compression, whose state the writes before change."""
    run = FakeRun()
    rates = {("random", 3): (154e6, 139e6), ("random", 32): (139.3e6, 139.7e6)}
    rates[("sequential", 1)] = (266e6, 390e6)
    for (pattern, depth), (hard, easy) in rates.items():
        for content, rate in (("incompressible", hard), ("repeated", easy)):
            run.add(
                f"four-corners/{pattern}-write-qd{depth}-{content}",
                "write",
                iops=rate / 4096,
                pattern=pattern,
                queue_depth=depth,
                content=content,
            )
    run.add("queue-depth/read/1", "read", iops=100.0, pattern="random", block_bytes=4096)
    assert "does not compress" not in text_of(run)
    assert "content.not_in_all" in codes(run, "compression")


@pytest.mark.parametrize(("scatter", "told"), [(0.02, True), (0.9, False)])
def test_content_is_said_to_matter_where_chance_does_not_explain_it(
    scatter: float, told: bool
) -> None:
    chance = np.random.default_rng(2)
    run = FakeRun()
    run.add_queue_depths("read", {1: 100.0})
    for content, rate in (("incompressible", 6_000.0), ("repeated", 12_000.0)):
        seconds = rate * np.exp(scatter * chance.standard_normal(5))
        run.add(
            f"four-corners/sequential-write-qd1-{content}",
            "write",
            iops=rate,
            elapsed_s=5.0,
            series_iops=seconds,
            pattern="sequential",
            block_bytes=128 * KIB,
            queue_depth=1,
            content=content,
        )
    ids = {p["point"].get("content"): p["id"] for p in run.points}
    by_id = {one.recording: one for one in measured(run, operation="write")}
    pair = by_id[ids["incompressible"]], by_id[ids["repeated"]]
    seen = replace(gather(run, []), compression=pair)
    names = [one.name for one in advice.advise(run, seen, "solid-state").weaknesses]
    assert ("content_matters" in names) is told


def test_a_drive_that_changed_during_a_sweep_says_nothing_of_its_queue() -> None:
    run = FakeRun()
    run.add_queue_depths("read", {1: 100.0, 31: 100.0})
    run.add_queue_depths("write", {1: 9_000.0, 4: 14_000.0, 31: 5_000.0})
    assert "Random writes gain nothing" not in text_of(run)
    assert "changed by itself" in named(find(run), "queue_depth_write").text


def test_sizes_that_cross_half_the_rate_twice_have_no_half_speed_size() -> None:
    """The drive became slower while the sizes were swept, and recovered in the largest."""
    run = FakeRun()
    run.add_queue_depths("read", {1: 7_000.0, 31: 70_000.0})
    rates = [157e6, 241e6, 214e6, 73e6, 80e6, 147e6, 271e6, 402e6]
    sizes = [4 * KIB, 8 * KIB, 16 * KIB, 64 * KIB, MIB, 32 * MIB, 128 * MIB, 512 * MIB]
    run.add_transfer_sizes("write", sizes, np.array(sizes) / np.array(rates))
    assert "half the write rate" not in text_of(run)


def test_a_rate_that_rises_from_nothing_a_moment_ago_is_judged() -> None:
    rate = np.where(np.arange(64) < 58, 0.0, 1000.0)
    verdict = judge(Series.of_seconds(rate, np.zeros(64)), 1e9)
    assert not verdict.settled


def test_a_drive_that_stands_still_after_its_cliff_maps_no_pages() -> None:
    """Log blocks take the first small writes, and are merged for each of those that follow."""
    iops = np.where(np.arange(64) < 6, 2_706.0, np.arange(64) % 4 * 9.0)
    run = with_consistency(iops, 8 * 10**9)
    run.add_queue_depths("write", {1: 2_700.0})
    summary = named(find(run), "summary")
    assert summary.detail["kind"] == "block-mapped"
    assert "Small random writes: 2,700 a second" not in text_of(run)


def test_what_stands_still_once_at_the_end_does_not_show_how_it_maps() -> None:
    """As of a hidden NVMe drive (number 99 of seed 3344): the test ended while it collected."""
    iops = np.concatenate([np.full(22, 11_830.0), [10_564, 32, 0, 0, 0]])
    text = text_of(with_consistency(iops, 8 * 10**9))
    assert "and drops after 23 seconds" in text
    assert "How it maps writes did not show" in text


def test_the_scatter_after_a_cliff_does_not_hide_it() -> None:
    """As of a small SLC cache: two fast seconds, then seconds that differ by ten times."""
    iops = [8460, 5970, 1988, 304, 1728, 414, 1846, 2166, 1882, 2000, 2077, 476, 2749, 1073]
    iops += [1149, 1031, 1999, 3705, 528, 1945, 3440, 767, 2109, 1654]
    text = text_of(with_consistency(np.array(iops, np.float64), 8 * 10**9))
    assert "and drops after 2 seconds" in text


def test_a_drive_that_stands_still_most_of_the_time_had_a_cliff() -> None:
    """As of a hidden NVMe drive (number 8 of seed 9090): it collects for seconds, and writes."""
    iops = [67520, 67552, 67520, 36000, 0, 16384, 0, 0, 0, 16384, 0, 0, 0, 16384, 0, 0, 6908, 9476]
    iops += [0, 0, 16384, 0, 0, 14248]
    text = text_of(with_consistency(np.array(iops, np.float64), 8 * 10**9))
    assert "and drops after 4 seconds" in text


def test_two_fast_seconds_are_a_cliff_and_one_is_none() -> None:
    """As of a hidden compressing drive (number 37 of seed 9090)."""
    iops = np.array([43561, 12551, 7292, 7152, 7728, 8465, 8639, 9324, 9825, 10095, 9744, 9161])
    iops = np.concatenate([iops, [9135, 8775, 9249, 9224, 9248, 9256, 9420, 9332, 9204, 9164]])
    rate = iops.astype(np.float64)
    assert "and drops after 2 seconds" in text_of(with_consistency(rate, 8 * 10**9))
    assert "shows no cliff" in text_of(with_consistency(np.delete(rate, 1), 8 * 10**9))


@pytest.mark.parametrize("scatter", [0.2, 0.5, 1.0])
def test_a_cliff_is_seen_by_chance_as_seldom_as_is_stated(scatter: float) -> None:
    chance = np.random.default_rng(6)
    series = np.exp(scatter * chance.standard_normal((1000, 24))) * 1000
    assert sum(find_cliff(iops) is not None for iops in series) <= 35


def test_a_rate_that_outgrows_its_queue_changed_by_itself() -> None:
    """As of a hidden SATA drive (number 7 of seed 9090), which still wrote its buffer to flash."""
    run = FakeRun()
    run.add_queue_depths("read", {1: 730.0, 4: 1932.0, 7: 8926.0, 16: 8926.0, 31: 8926.0})
    assert "gain" not in text_of(run)
    assert "become" not in text_of(run)
    assert "changed by itself" in named(find(run), "queue_depth_read").text


def test_writes_that_fall_while_the_queue_deepens_do_not_show_that_it_gains_nothing() -> None:
    """As of a hidden SLC-cached drive (number 150 of seed 517893046), whose cache filled up."""
    run = FakeRun()
    rates = {1: 63_440.0, 4: 73_565.0, 7: 65_500.0, 16: 65_502.0, 31: 65_499.0}
    run.add_queue_depths("read", {1: 7_000.0, 31: 70_000.0})
    run.add_queue_depths("write", rates)
    assert "gain nothing" not in text_of(run)
    assert "changed by itself" in named(find(run), "queue_depth_write").text


@pytest.mark.parametrize(
    ("again", "told"),
    [
        pytest.param(80.0, "Random reads become 5.4", id="the drive stayed as it was"),
        pytest.param(260.0, "Random reads become 1.66", id="it was quicker at the end"),
        pytest.param(700.0, None, id="all of the gain was the drive's own"),
    ],
)
def test_what_a_drive_gains_by_itself_meanwhile_is_no_gain_of_the_queue(
    again: float, told: str | None
) -> None:
    """As of a foreign drive (number 2 of seed 9402288), which wrote its map back before its first
    reads."""
    run = FakeRun()
    run.add_queue_depths("read", {1: 80.0, 4: 200.0, 31: 432.0}, again)
    text = text_of(run)
    assert ("Random reads become" in text) == (told is not None)
    assert (told or "") in text
    assert "measured twice" not in text
    changed = "changed by itself" in named(find(run), "queue_depth_read").text
    assert changed == (again != 80.0)


def test_that_no_depth_was_measured_twice_is_said() -> None:
    run = FakeRun()
    run.add_queue_depths("read", {1: 7_000.0, 31: 70_000.0})
    assert "no depth was measured twice" in text_of(run)


def test_that_queued_writes_gain_nothing_is_said_of_what_was_written_before() -> None:
    """As of a hidden SLC-cached drive (number 199 of seed 730915248): in its cache they gain."""
    run = FakeRun()
    run.add_queue_depths("read", {1: 7_000.0, 31: 70_000.0})
    run.add_queue_depths("write", {1: 52_779.0, 4: 57_403.0, 7: 57_210.0, 31: 57_211.0})
    told = "gain nothing from 31 outstanding requests once 41.1 GB have been written: 1.08"
    assert f"Random writes {told}" in text_of(run)


@pytest.mark.parametrize(("elapsed_s", "said"), [(60.0, True), (1.0, False)])
def test_the_first_writes_do_not_show_that_a_queue_gains_nothing(
    elapsed_s: float, said: bool
) -> None:
    """As of a shingled disk: 7 % by one measurement, 64 % by the next."""
    run = FakeRun()
    run.add_queue_depths("read", {1: 80.0, 31: 160.0})
    for depth, iops in {1: 3000.0, 4: 3010.0, 31: 3020.0}.items():
        about: dict[str, Any] = {"pattern": "random", "block_bytes": 4096, "queue_depth": depth}
        run.add(f"queue-depth/write/{depth}", "write", iops=iops, elapsed_s=elapsed_s, **about)
    assert ("Random writes gain nothing" in text_of(run)) == said


@pytest.mark.filterwarnings("error")
def test_a_drive_that_hardly_ever_answers_is_judged_without_a_warning() -> None:
    rate = np.where(np.arange(640) == 320, 200.0, 0.0)
    assert not judge(Series.of_seconds(rate, np.zeros(640)), 8e9).settled


def test_that_there_is_no_cliff_is_said_of_what_was_written() -> None:
    text = text_of(with_consistency(np.full(100, 25_000.0), 10**12))
    assert "no cliff within 10.2 GB written" in text


@pytest.mark.parametrize("first_iops", [32_000.0, 64_000.0])
def test_a_first_second_that_is_faster_may_contain_the_cliff(first_iops: float) -> None:
    text = text_of(with_consistency(np.array([first_iops, *[32_000.0] * 1999]), 150 * 10**9))
    fast = first_iops > 32_000
    assert ("Random writes do not slow down" in text) == (not fast)
    assert ("first second is 2.00 times as fast as its end" in text) == fast


@pytest.mark.parametrize("stood_still_s", [0, 45])
def test_what_a_standstill_decides_is_not_in_the_sheet(stood_still_s: int) -> None:
    """A drive of log blocks merges them for half a minute after some hundred writes, and a second
    of writes meets that, or ends before."""
    run = FakeRun()
    run.add_queue_depths("read", {1: 7_000.0, 31: 70_000.0})
    for depth, iops in ((1, 599.0), (4, 479.0)):
        run.add(f"queue-depth/write/{depth}", "write", iops=iops, elapsed_s=1.2, **small(depth))
    seconds = np.array([251.0, *np.zeros(stood_still_s), 16.0])
    elapsed_s = float(len(seconds))
    run.add(
        "queue-depth/write/16",
        "write",
        iops=float(seconds.mean()),
        elapsed_s=elapsed_s,
        series_iops=seconds,
        **small(16),
    )
    rows = named(find(run), "spec_sheet").detail["rows"]
    told = {row["quantity"] for row in rows} & {"random_write", "write_access"}
    assert told == (set() if stood_still_s else {"random_write", "write_access"})


def small(depth: int) -> dict[str, Any]:
    return {"pattern": "random", "block_bytes": 4096, "queue_depth": depth}


def test_a_single_stall_does_not_hide_a_cliff() -> None:
    """As on a drive that collects in bursts: even seconds, then a third of that and a stall."""
    chance = np.random.default_rng(3)
    iops = np.concatenate(
        [np.full(8, 32_641.0), [21_793, 12_288, 0], chance.uniform(6e3, 12e3, 53)]
    )
    assert "shows no cliff" not in text_of(with_consistency(iops, 8 * 10**9))


def after_a_cliff(seed: int, seconds: int, scatter: float) -> str:
    """What is said of one fall from a level to another, with a second between the two."""
    chance = np.random.default_rng(seed)
    cliff = int(chance.integers(2, 14))
    level = np.where(
        np.arange(seconds) < cliff, chance.uniform(15e3, 9e4), chance.uniform(2e3, 9e3)
    )
    iops = level * (1 + scatter * chance.standard_normal(seconds))
    iops[cliff] *= 2
    return judge(Series.of_seconds(iops, iops * 4096), 8e9).text


@pytest.mark.parametrize("seed", range(20))
def test_a_rate_that_has_fallen_once_is_not_said_to_fall_still(seed: int) -> None:
    assert "still" not in after_a_cliff(seed, 24, 0.05)


def test_what_comes_back_from_a_swing_is_not_said_to_rise_still() -> None:
    """As of a hidden NVMe drive (number 64 of seed 60221): collection swings before it is level."""
    iops = [8340, 7944, 6184, 904, 844, 928, 864, 752, 896, 912, 920, 944, 1008, 980, 900, 1032]
    iops += [1076, 1052, 1004, 1096, 1088, 1172, 1156, 1156, 1192, 1196, 1244, 1256, 1256, 1268]
    iops += [1272, 1364, 1244, 1408, 1316, 1224, 1112, 1180, 1172, 1092, 1160, 1104, 1148, 1164]
    iops += [1144, 1184, 1140, 1196, 1184, 1148, 1184, 1152, 1168, 1248, 1208, 1196, 1160, 1208]
    iops += [1232, 1176, 1188, 1156, 1164, 1300]
    rate = np.array(iops, np.float64)
    verdict = judge(Series.of_seconds(rate, rate * 4096), 6e9)
    assert verdict.text == "not known to be steady: its last segment rises slowly"


def test_chance_is_said_to_move_as_seldom_as_is_stated() -> None:
    told = [after_a_cliff(seed, 64, 0.2) for seed in range(300)]
    assert sum("still" in text for text in told) <= MOVES_BY_CHANCE_MAX * len(told)


@pytest.mark.parametrize("seed", range(5))
def test_a_fall_that_goes_on_after_a_cliff_is_told(seed: int) -> None:
    chance = np.random.default_rng(seed)
    second = np.arange(64)
    level = np.where(second < 8, 60e3, 9e3 * np.exp(-(second - 8) / 120))
    iops = level * (1 + 0.03 * chance.standard_normal(64))
    verdict = judge(Series.of_seconds(iops, iops * 4096), 8e9)
    assert verdict.text == "not steady, still falling"
