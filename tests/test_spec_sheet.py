"""The report's top: remarks with their yardsticks, the spec sheet, claims beside it."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun, named
from fault_runs import validate
from made_manifest import made_manifest

from fourcorners import characterize
from fourcorners import run as fourcorners_run
from fourcorners.analysis import find
from fourcorners.analysis.estimate import Estimate
from fourcorners.analysis.spec_sheet import claims_about, lay_beside, left_out, rows_of
from fourcorners.catalog.claims import QUANTITIES, Claim, claims_of, read_claims
from fourcorners.catalog.published import published
from fourcorners.cli import main
from fourcorners.documents import plain
from fourcorners.errors import UserError
from fourcorners.reporting.notebook import run_html
from fourcorners.reporting.spec import interval_beside, spec_sheet


def run_with(rate: float, noise: float = 0.0, swing: float = 0.0, seconds: int = 60) -> FakeRun:
    """Random reads at two depths, the deep ones at ``rate`` with that relative noise,
    and half of the time so much below it, then above."""
    run = FakeRun(capacity_bytes=10**9)
    generator = np.random.default_rng(1)
    series = rate * (1 + noise * generator.standard_normal(seconds))
    series[: seconds // 2] *= 1 - swing
    series[seconds // 2 :] *= 1 + swing
    for depth, per_second in ((1, np.full(seconds, 1000.0)), (32, series)):
        run.add(
            f"queue-depth/read/{depth}",
            "read",
            iops=float(per_second.mean()),
            elapsed_s=seconds,
            series_iops=per_second,
            pattern="random",
            block_bytes=4096,
            queue_depth=depth,
        )
        run.points[-1]["point"]["operation"] = "read"
    return run


def claim(value: float, quantity: Any = "random_read", high: float | None = None) -> Claim:
    return Claim(quantity, value, high, "is" if high is None else "between", "a sheet", "")


def test_a_rate_whose_seconds_differ_too_much_for_an_interval_comes_with_them() -> None:
    unsteady = run_with(16_000.0, swing=0.9, seconds=2)
    row = next(row for row in rows_of(find(unsteady)) if row["quantity"] == "random_read")
    assert row["interval"] is None
    assert row["seconds"] == pytest.approx((1_600.0, 30_400.0))
    assert row["conditions"].endswith("not steady: seconds of 1,600 to 30,400 IOPS")
    even = run_with(16_000.0, swing=0.3, seconds=2)
    row = next(row for row in rows_of(find(even)) if row["quantity"] == "random_read")
    assert row["seconds"] is None


def test_the_sheet_has_the_best_rate_and_the_wait_of_a_single_request() -> None:
    rows = {row["quantity"]: row for row in rows_of(find(run_with(20_000.0)))}
    assert rows["random_read"]["value"] == 20_000
    assert rows["random_read"]["conditions"] == "queue depth 32"
    assert rows["read_access"]["value"] == pytest.approx(1e-3)
    assert "random_write" not in rows


def _of_sweep(iops: dict[int, float]) -> dict[str, Any]:
    run = FakeRun(capacity_bytes=10**9)
    run.add_queue_depths("write", iops)
    [row] = [row for row in rows_of(find(run)) if row["quantity"] == "random_write"]
    return dict(row)


def test_no_single_lucky_depth_is_the_highest_rate() -> None:
    around = (17, 20, 22, 18, 34.4, 21, 19, 22, 17, 20)
    row = _of_sweep({4 + 3 * place: 1000 * rate for place, rate in enumerate(around)})
    assert 20_000 <= row["value"] <= 22_000
    low, high = row["interval"]
    assert low < 17_000
    assert high > 24_000


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_a_rise_to_the_deepest_queue_is_kept(exponent: float) -> None:
    depths = (2, 4, 8, 16, 32, 64)
    row = _of_sweep({depth: 1000.0 * depth**exponent for depth in depths})
    assert row["value"] == pytest.approx(1000 * 64**exponent)
    low, high = row["interval"]
    assert high / low < 1.01


def test_the_highest_of_several_has_an_interval_that_allows_for_its_luck() -> None:
    # Seven sizes of one true rate, each measured four times over; the one that seems best is told.
    rates = np.random.default_rng(20261123).normal(0.0, 1.0, (4000, 7, 4))
    means, errors = rates.mean(axis=2), rates.std(axis=2, ddof=1) / 2
    best = means.argmax(axis=1)
    held = dict.fromkeys((1, 7), 0)
    for row, at in enumerate(best):
        estimate = Estimate(means[row, at], errors[row, at], 3)
        for highest_of in held:
            low, high = estimate.interval(highest_of)
            held[highest_of] += low <= 1.0 <= high
    assert held[1] < 0.85 * len(best)
    assert held[7] >= 0.9 * len(best)


@pytest.mark.parametrize(("seconds", "told"), [(1, False), (60, True)])
def test_bounds_that_tell_nothing_are_no_interval(seconds: float, told: bool) -> None:
    # Of one second each, the fastest of a hundred may lie between kilobytes and gigabytes a second.
    run = FakeRun(capacity_bytes=10**9)
    for place in range(100):
        run.add(
            f"places/{place}",
            "read",
            iops=250.0 - place,
            elapsed_s=seconds,
            pattern="sequential",
            block_bytes=262144,
            queue_depth=1,
        )
    [row] = [row for row in rows_of(find(run)) if row["quantity"] == "sequential_read"]
    assert row["value"] == 250 * 262144
    assert (row["interval"] is not None) == told


def test_what_a_probe_reads_over_and_over_is_no_figure_of_the_drive() -> None:
    run = FakeRun(capacity_bytes=10**9)
    at: dict[str, Any] = {"pattern": "random", "block_bytes": 4096, "queue_depth": 1}
    run.add("probe-conflicts/across/65536", "read", iops=40_000.0, **at)
    run.add("probe-sizes/sentinel/1", "read", iops=500.0, sentinel=1, **at)
    run.add("probe-sizes/read/4096", "read", iops=78.0, **at)
    rows = {row["quantity"]: row for row in rows_of(find(run))}
    assert rows["read_access"]["value"] == pytest.approx(1 / 78)


@pytest.mark.parametrize(("offered", "told"), [(800.0, False), (900.0, True)])
def test_a_rate_that_was_asked_for_is_no_figure_of_the_drive(offered: float, told: bool) -> None:
    run = FakeRun(capacity_bytes=10**9)
    at: dict[str, Any] = {"pattern": "sequential", "block_bytes": 131_072}
    run.add("scan/read", "read", iops=800.0, **at)
    run.rows[-1]["offered_iops"] = offered
    rows = {row["quantity"]: row for row in rows_of(find(run))}
    assert ("sequential_read" in rows) == told


def test_one_request_at_a_time_is_held_against_no_claim_of_many() -> None:
    run = FakeRun(capacity_bytes=10**9)
    run.add(
        "probe-sizes/read/4096",
        "read",
        iops=78.0,
        pattern="random",
        block_bytes=4096,
        queue_depth=1,
    )
    [row] = [row for row in lay_beside(rows_of(find(run)), [claim(40_000)]) if row.claim]
    assert row.outcome == "not measured"


def test_a_remark_names_its_yardstick_interval_and_test() -> None:
    remarks = named(find(run_with(20_000.0, noise=0.1)), "summary").detail["remarks"]
    [gain] = [r for r in remarks["strengths"] if "outstanding" in r["text"]]
    low, high = gain["interval"]
    assert low < gain["value"] < high
    assert 0.01 < (high - low) / gain["value"] < 0.2
    assert gain["yardstick"] == "the drive's own rate of one request at a time"
    assert gain["tests"] == ["queue-depth"]
    assert "19.9 times (19.4 to 20.4) as fast" in gain["text"]


def test_a_gain_that_may_be_chance_is_not_told() -> None:
    remarks = named(find(run_with(1600.0, swing=0.9)), "summary").detail["remarks"]
    assert not any("outstanding" in r["text"] for side in remarks.values() for r in side)


@pytest.mark.parametrize(("noise", "told"), [(0.05, 1), (0.9, 0)])
def test_advice_on_queueing_says_what_the_finding_does(noise: float, told: int) -> None:
    findings = find(run_with(950.0, noise=noise))
    text = named(findings, "queue_depth_read").text
    assert ("does not show" in text) == (not told)
    remarks = named(findings, "summary").detail["remarks"]["weaknesses"]
    assert len([r for r in remarks if "gain nothing from" in r["text"]]) == told


def sentences(run: FakeRun, side: str) -> list[str]:
    # What is told needs a test of the reviews beside it.
    run.add("queue-depth/read/1", "read", iops=100.0, pattern="random", block_bytes=4096)
    remarks = named(find(run), "summary").detail["remarks"]
    return [remark["text"] for remark in remarks[side]]


@pytest.mark.parametrize(("share", "told"), [(0.3, "30.0 %"), (0.6, "60.0 %"), (0.95, None)])
def test_straddling_writes_are_held_against_aligned_ones(share: float, told: str | None) -> None:
    run = FakeRun()
    for name, iops in (("aligned", 1000.0), ("unaligned", 1000.0 * share)):
        run.add(f"aligned-writes/{name}", "write", iops=iops, pattern="random", block_bytes=4096)
    texts = [text for text in sentences(run, "weaknesses") if "straddle" in text]
    assert len(texts) == (told is not None)
    assert all(f"straddle 4 KiB reach {told} " in text for text in texts)


@pytest.mark.parametrize(("share", "told"), [(0.5, "50.0 %"), (0.9, None)])
def test_the_end_of_a_drive_is_held_against_its_start(share: float, told: str | None) -> None:
    run = FakeRun()
    for place in range(9):
        iops = 1000.0 * (share if place >= 6 else 1)
        run.add(f"transfer-rate/read/{place}", "read", iops=iops, position_bytes=place)
    texts = [text for text in sentences(run, "weaknesses") if "last third" in text]
    assert texts == (
        [f"The last third of the drive is read at {told} of the rate of the first."] if told else []
    )


@pytest.mark.parametrize(("ratio", "told"), [(4.0, "25.0 %"), (1.1, None)])
def test_incompressible_data_is_held_against_repeated(ratio: float, told: str | None) -> None:
    run = FakeRun()
    for content, iops in (("incompressible", 1000.0), ("repeated", 1000.0 * ratio)):
        run.add(
            f"four-corners/write-{content}", "write", iops=iops, pattern="random",
            block_bytes=4096, queue_depth=3, content=content,
        )  # fmt: skip
    texts = [text for text in sentences(run, "weaknesses") if "does not compress" in text]
    assert len(texts) == (told is not None)
    assert all(f"written at {told} of the rate of repeated data" in text for text in texts)


@pytest.mark.parametrize(("slowest", "side"), [(30.0, "weaknesses"), (1.5, "strengths")])
def test_the_slowest_thousandth_is_held_against_the_median(slowest: float, side: str) -> None:
    run = FakeRun()
    run.add(
        "queue-depth/read/32", "read", iops=30_000.0, pattern="random", block_bytes=4096,
        queue_depth=32,
    )  # fmt: skip
    run.rows[-1] |= {"latency_p50_s": 1e-3, "latency_p999_s": slowest * 1e-3}
    low = np.array([10**6, int(slowest * 10**6)])
    run.histograms["queue-depth/read/32", "read"] = (low, low, np.array([1_796_000, 4000]))
    told = [text for text in sentences(run, side) if "in a thousand" in text]
    assert len(told) == 1
    assert f"{slowest:#.3g} times" in told[0]


@pytest.mark.parametrize(("seconds", "told"), [(4.0, False), (60.0, True)])
def test_how_well_writes_are_met_again_their_first_seconds_do_not_tell(
    seconds: float, told: bool
) -> None:
    run = FakeRun()
    for pattern, depth in (("sequential", 1), ("random", 1), ("random", 3)):
        run.add(
            f"four-corners/{pattern}-write-qd{depth}", "write", iops=614.0, elapsed_s=seconds,
            pattern=pattern, block_bytes=4096 if pattern == "random" else 128 * 1024,
            queue_depth=depth,
        )  # fmt: skip
    rows = {row["quantity"]: row for row in rows_of(find(run))}
    for quantity in ("sequential_write", "random_write", "write_access"):
        assert (rows[quantity]["interval"] is not None) is told


@pytest.mark.parametrize(("seconds", "told"), [(1.0, False), (60.0, True)])
def test_a_single_wait_of_a_queue_full_is_no_percentile(seconds: float, told: bool) -> None:
    """Of 24,000 reads the slowest thousandth is one queue full, which waited for one erase."""
    run = FakeRun()
    run.add(
        "queue-depth/read/31", "read", iops=24_000.0, elapsed_s=seconds, pattern="random",
        block_bytes=4096, queue_depth=31,
    )  # fmt: skip
    run.rows[-1]["latency_p999_s"] = 6.25e-3
    assert ("read_p999" in {row["quantity"] for row in rows_of(find(run))}) is told


@pytest.mark.parametrize(
    ("value", "high", "outcome", "share"),
    [
        (20_000, None, "reached", 1.0),
        (40_000, None, "not reached", 0.5),
        (20_300, None, "reached", 0.985),
        (20_500, None, "not reached", 0.976),
        (10_000, 30_000, "reached", 2.0),
    ],
)
def test_a_claim_is_held_against_what_was_measured(
    value: float, high: float | None, outcome: str, share: float
) -> None:
    rows = rows_of(find(run_with(20_000.0)))
    [beside] = [row for row in lay_beside(rows, [claim(value, high=high)]) if row.claim]
    assert beside.outcome == outcome
    assert beside.share == pytest.approx(share, abs=1e-3)


def test_a_noisy_measurement_may_reach_a_claim_within_its_interval() -> None:
    rows = rows_of(find(run_with(20_000.0, noise=0.5)))
    [beside] = [row for row in lay_beside(rows, [claim(21_000)]) if row.claim]
    assert beside.share_interval is not None
    assert beside.share_interval[0] < beside.share < beside.share_interval[1]  # type: ignore[operator]
    assert beside.outcome == "reached"


def test_of_times_the_share_is_claimed_over_measured() -> None:
    rows = rows_of(find(run_with(20_000.0)))
    beside = {row.quantity: row for row in lay_beside(rows, [claim(5e-4, "read_access")])}
    assert beside["read_access"].share == pytest.approx(0.5)
    assert beside["read_access"].outcome == "not reached"


def test_a_ratio_is_told_in_the_way_that_its_figure_reads() -> None:
    rows = rows_of(find(run_with(20_000.0, noise=0.5)))
    claims = [claim(5e-4, "read_access"), claim(40_000), claim(1e8, "sequential_write")]
    said = {row.quantity: row.words for row in lay_beside(rows, claims) if row.claim}
    assert said["read_access"] == "claimed 500 µs: 2.00 times, not reached"
    assert re.fullmatch(
        r"claimed 40,000 IOPS: [0-9.]+ % \([0-9.]+ to [0-9.]+ %\), not reached",
        said["random_read"],
    )
    assert said["sequential_write"] == "claimed 100 MB/s: not measured"


def test_claims_alone_are_no_sheet_unless_somebody_asks_for_them() -> None:
    manifest = made_manifest(target={"locator": "sim:ocz-core-64gb", "settings": {}})
    replayed: Any = SimpleNamespace(manifest=manifest, findings=[])
    assert claims_about(manifest)
    assert spec_sheet(replayed) == []
    assert spec_sheet(replayed, claims=[claim(40_000)])


def test_the_catalog_claims_nothing_of_a_drive_that_settings_changed() -> None:
    target = {"locator": "sim:ocz-core-64gb", "settings": {}}
    assert claims_about(made_manifest(target=target)) == claims_of("ocz-core-64gb")
    assert left_out(made_manifest(target=target)) == ""
    changed = target | {"settings": {"link.line_rate": "1.5 Gb/s"}}
    own = plain(claim(20_000))
    assert claims_about(made_manifest(target=changed, claims=[own])) == [claim(20_000)]
    assert "link.line_rate=1.5 Gb/s" in left_out(made_manifest(target=changed))
    assert left_out(made_manifest(target=changed | {"locator": "my-drive.toml"})) == ""


def test_a_claim_without_a_measurement_says_so() -> None:
    rows = rows_of(find(run_with(20_000.0)))
    beside = {row.quantity: row for row in lay_beside(rows, [claim(1e8, "sequential_write")])}
    assert beside["sequential_write"].outcome == "not measured"
    assert beside["sequential_write"].row is None


def test_every_claim_of_the_catalog_is_of_a_known_quantity() -> None:
    drives = {figure.drive for figure in published().values() if figure.verified == "claim"}
    assert len(drives) >= 9
    for drive in drives:
        claims = claims_of(drive)
        assert claims
        assert all(one.quantity in QUANTITIES and one.value > 0 for one in claims)
    core = {one.quantity: one for one in claims_of("ocz-core-64gb")}
    assert (core["sequential_read"].value, core["sequential_read"].high) == (120e6, 143e6)


def test_a_file_of_claims(tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    file.write_text(
        'source = "sheet"\n[claims]\nsequential_read = "3 GB/s"\nread_access = "80 us"\n'
        'random_read = "600 kIOPS"\n'
    )
    values = {one.quantity: one.value for one in read_claims(file)}
    assert values == pytest.approx(
        {"sequential_read": 3e9, "read_access": 80e-6, "random_read": 600_000}
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no claims"),
        ("[claims]\nread_access = '80 us'\n", "say whose claims"),
        ("source = 's'\n[claims]\nspeed = '80 us'\n", "unknown claim speed; use one of sequential"),
        ("source = 's'\n[claims]\nread_access = '80'\n", "read_access.*the unit is missing"),
        ("source = 's'\n[claims]\nread_access = '0 us'\n", "above 0"),
        ("source = 's'\nspeed = 1\n", "unknown key speed"),
        ("source = \n", "is not TOML"),
    ],
)
def test_mistakes_in_a_file_of_claims_are_named(text: str, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    file.write_text(text)
    with pytest.raises(UserError, match=complaint):
        read_claims(file)


def test_claims_stand_in_every_face_of_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = characterize(
        "sim:ocz-core-64gb", profile="quick", tests=["transfer-size"], out=tmp_path / "runs"
    )
    folder = str(made.path)
    file = tmp_path / "claims.toml"
    file.write_text('source = "my sheet"\n[claims]\nrandom_write_steady = "30000 IOPS"\n')

    def printed(*arguments: str) -> str:
        assert main(["report", folder, *arguments]) == 0
        return capsys.readouterr().out

    shown = printed("--claims", str(file))
    assert "Spec sheet" in shown
    assert "120 to 143 MB/s" in shown
    assert "not measured" in shown
    page = (Path(folder) / "report.html").read_text("utf-8")
    assert "my sheet" in page
    assert "120 to 143 MB/s" in page
    document = json.loads(printed("--claims", str(file), "--json"))
    validate("report", document)
    [run] = document["runs"]
    outcomes = {row["quantity"]: row["outcome"] for row in run["spec_sheet"]}
    assert outcomes["random_write_steady"] == "not measured"
    assert outcomes["sequential_read"] in ("reached", "not reached")
    assert printed("--quiet") == f"{folder}/report.html\n"
    assert "120 to 143 MB/s" in run_html(made)


def test_a_run_keeps_the_claims_that_it_was_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "claims.toml"
    file.write_text('source = "my sheet"\n[claims]\nsequential_read = "1 GB/s"\n')
    out = tmp_path / "runs"
    made = ["characterize", "sim:ocz-core-64gb", "--profile", "quick", "--tests", "transfer-size"]
    for claims in ([], ["--claims", str(file)]):
        assert main([*made, *claims, "--out", str(out), "--quiet"]) == 0
    before, after = (Path(path) for path in capsys.readouterr().out.split())
    file.unlink()
    manifest = json.loads((after / "manifest.json").read_text())
    validate("run", manifest)
    assert [claim["value"] for claim in manifest["claims"]] == [1e9]
    assert "my sheet" in (after / "report.html").read_text()
    assert "my sheet" not in (before / "report.html").read_text()

    assert main(["report", str(after)]) == 0
    assert "1,000 MB/s" in capsys.readouterr().out
    assert main(["compare", f"old={before}", f"new={after}", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate("compare", document)
    [own] = [claim for claim in document["claims"] if claim["source"] == "my sheet"]
    assert own["subject"] == "new"
    assert own["outcome"] == "not reached"
    assert 0 < own["shares"][0] < 0.98
    assert main(["runs", str(out), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    validate("runs", listed)
    old, new = (row["claims"] for row in listed["runs"])
    assert (new["known"], new["reached"]) == (old["known"] + 1, old["reached"])
    sql = "SELECT share, outcome FROM claims WHERE source = 'my sheet'"
    assert main(["query", sql, str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [
        {"share": own["shares"][0], "outcome": "not reached"}
    ]


def test_claims_are_about_one_drive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "claims.toml"
    file.write_text('source = "my sheet"\n[claims]\nsequential_read = "1 GB/s"\n')
    drives = ["sim:ocz-core-64gb", "sim:wd6400aaks"]
    assert main(["characterize", *drives, "--claims", str(file), "--out", str(tmp_path)]) == 2
    assert "name that target only" in capsys.readouterr().err


def test_an_interval_keeps_its_units_where_they_differ() -> None:
    assert interval_beside((0.0009, 0.0011), "s", "1.00 ms") == "900 µs to 1.10 ms"
    assert interval_beside((0.0011, 0.0012), "s", "1.15 ms") == "1.10 to 1.20"


@pytest.mark.parametrize(
    "options", ["thinktime=200", "zonemode=strided zonesize=1m zoneskip=4m zonerange=1m"]
)
def test_a_rate_with_pauses_or_gaps_is_not_told_as_the_drive_s_best(
    options: str, tmp_path: Path
) -> None:
    for name, text in (("held", f"rw=read bs=1m {options}"), ("plain", "rw=read bs=1m")):
        file = tmp_path / f"{name}.fio"
        file.write_text(f"[a]\nsize=256m\n{text.replace(' ', chr(10))}\n", "utf-8")
        run = fourcorners_run(str(file), "sim:ocz-vector-256gb", out=tmp_path / "runs")
        assert any(one.name == "spec_sheet" for one in run.findings) == (name == "plain")
