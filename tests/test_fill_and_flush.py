"""The sequential fill and flushed writes: what is measured, told, drawn and gated of them."""

from pathlib import Path

import numpy as np
import pytest
from analysis_fixture import FakeRun

import fourcorners as fc
from fourcorners.analysis import find
from fourcorners.analysis.spec_sheet import rows_of
from fourcorners.cli import main
from fourcorners.comparison import parse_gate
from fourcorners.errors import UserError
from fourcorners.reporting import charts
from fourcorners.store import Run


@pytest.fixture(scope="module")
def flushed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Flushed writes on an SSD with a volatile buffer."""
    out = tmp_path_factory.mktemp("flushed")
    return fc.run("sync-writes", "sim:class-tlc-nvme-consumer-1tb", scale=0.1, out=out)


def test_the_spec_sheet_has_the_flush(flushed: Run) -> None:
    [row] = [one for one in flushed.table("recordings").to_pylist() if one["operation"] == "flush"]
    sheet = {row["quantity"]: row for row in rows_of(flushed.findings)}
    assert sheet["flush"]["value"] == row["latency_mean_s"] > 0
    assert sheet["flush_p99"]["value"] == row["latency_p99_s"]


def test_flushes_have_a_curve_of_their_own(flushed: Run) -> None:
    [test] = charts.tests([flushed])
    [curves] = [chart for chart in test["charts"] if chart["kind"] == "percentiles"]
    assert {series["label"] for series in curves["series"]} == {"writes", "flushes"}


def test_a_gate_holds_flushes_to_a_limit(flushed: Run, tmp_path: Path) -> None:
    paths = [str(flushed.path), str(flushed.path)]
    assert main(["compare", *paths, "--fail-if", "p99_flush_latency > 10 s"]) == 0
    assert main(["compare", *paths, "--fail-if", "mean_flush_latency > 1 ns"]) != 0
    with pytest.raises(UserError, match="unknown quantity"):
        parse_gate("flush_throughput < 1 MB/s")


def test_a_fill_is_drawn_over_what_was_written(tmp_path: Path) -> None:
    run = fc.run("sequential-fill", "sim:intel-x25-v-40gb", filled_share=0.05, out=tmp_path)
    [row] = run.table("recordings").to_pylist()
    filled_bytes = int((run.manifest.target.capacity_bytes or 0) * 0.05)
    assert filled_bytes - 128 * 1024 < row["bytes"] <= filled_bytes
    [test] = charts.tests([run])
    [chart] = [chart for chart in test["charts"] if chart["kind"] == "seconds"]
    assert (chart["x"]["key"], chart["y"]["key"]) == ("written", "mbps")
    points = np.array(chart["series"][0]["points"])
    # Each second stands at the end of what it wrote.
    assert np.diff(points[:, 0], prepend=0) * 1000 == pytest.approx(points[:, 1], rel=1e-3)


def test_a_fill_that_slows_down_says_where_it_began_and_ended() -> None:
    run = FakeRun(capacity_bytes=10**9)
    rates = np.where(np.arange(100) < 20, 4000.0, 1000.0)
    run.add(
        "sequential-fill/fill",
        "write",
        iops=float(rates.mean()),
        elapsed_s=100,
        series_iops=rates,
        block_bytes=128 * 1024,
        pattern="sequential",
    )
    [found] = [one for one in find(run) if one.name == "sequential_fill"]
    tenths = found.detail["rate_of_tenths_bytes_per_second"]
    assert tenths[0] == pytest.approx(4000 * 128 * 1024)
    assert tenths[-1] == pytest.approx(1000 * 128 * 1024)
    assert found.detail["slowest_second_bytes_per_second"] == pytest.approx(tenths[-1])


def test_a_suite_of_ones_own_shows_mb_per_second_over_time(tmp_path: Path) -> None:
    suite = tmp_path / "mine.toml"
    suite.write_text(
        'schema_version = 1\nname = "mine"\n[[test]]\nname = "write"\nprepare = []\n'
        '[[test.workload]]\nduration = "5 s"\nreads = 0\nblock = "1 MiB"\npattern = "sequential"\n'
    )
    run = fc.run(str(suite), "sim:intel-x25-v-40gb", out=tmp_path / "runs")
    [test] = charts.tests([run])
    shown = {chart["y"]["key"] for chart in test["charts"] if chart["kind"] in ("seconds", "views")}
    assert shown == {"iops", "mbps"}
