"""Latencies by the second: every I/O is there once, and the report's maps show them."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import fourcorners as fc
from fourcorners.analysis import latency_over_time
from fourcorners.reporting.charts import tests as charted
from fourcorners.store import Run, schema

HELD = "consistency/write"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> fc.Run:
    out = tmp_path_factory.mktemp("runs")
    return fc.run("consistency", "sim:ocz-core-64gb", scale=0.02, out=out)


def test_every_io_is_in_its_second_and_in_a_narrow_bucket(run: fc.Run) -> None:
    write = run.recording(HELD).write
    rows = write.latency_over_time
    by_second = np.bincount(rows.second, weights=rows.count, minlength=len(write.second_ios))
    assert by_second.tolist() == write.second_ios.tolist()
    assert ((rows.high_ns - rows.low_ns) * 8 <= np.maximum(rows.low_ns, 1024)).all()
    # The same I/Os as in the whole histogram, whose buckets lie within these.
    low, high, count = write.histogram
    lows, where = np.unique(rows.low_ns, return_inverse=True)
    highs = rows.high_ns[np.unique(rows.low_ns, return_index=True)[1]]
    place = np.searchsorted(lows, low, side="right") - 1
    assert (high <= highs[place]).all()
    assert (
        np.bincount(place, weights=count).tolist()
        == np.bincount(where, weights=rows.count).tolist()
    )
    # The slowest of a second is in the highest of its buckets.
    for second in (0, len(by_second) - 1):
        worst_ns = write.second_latency_max_s[second] * 1e9
        top = np.flatnonzero(rows.second == second)[-1]
        assert rows.low_ns[top] <= worst_ns + 0.5 <= rows.high_ns[top] + 1
    table = run.table(schema.LATENCY_OVER_TIME)
    assert (table.num_rows, table.nbytes < 10**6) == (len(rows.count), True)
    with pytest.raises(KeyError):
        _ = run.recording(HELD).read


def test_the_map_has_every_io_and_its_percentiles_follow_the_time() -> None:
    steps = np.arange(1000)
    rows = fc.LatencyOverTime(
        second=np.repeat(steps, 2),
        low_ns=np.tile([1000, 8000], 1000) * np.repeat(np.where(steps < 500, 1, 10), 2),
        high_ns=np.tile([1100, 8800], 1000) * np.repeat(np.where(steps < 500, 1, 10), 2),
        count=np.tile([990, 10], 1000),
    )
    width = latency_over_time.column_seconds(1000.5)
    assert width == 5
    made = latency_over_time.map_of([(0.0, rows), (1000.0, rows)], width)
    assert made.count.sum() == 2_000_000
    assert made.column.max() == 399
    columns, median_s = made.percentile_s(50)
    assert columns.tolist() == list(range(400))
    assert median_s[[0, 99, 100, 199, 200]] == pytest.approx(
        [1.05e-6, 1.05e-6, 1.05e-5, 1.05e-5, 1.05e-6], rel=0.01
    )
    assert made.percentile_s(99.5)[1][0] == pytest.approx(8.4e-6)
    # Of too few I/Os the rarest are no percentile.
    assert len(made.percentile_s(99.999)[0]) == 0
    assert latency_over_time.column_seconds(0.5) == 1
    assert latency_over_time.column_seconds(2007.4) == 10
    assert latency_over_time.column_seconds(250 * 3600.0) == 3600


def test_the_report_shows_a_map_or_says_that_there_is_none(run: fc.Run, tmp_path: Path) -> None:
    [test] = charted([run])
    chart = next(chart for chart in test["charts"] if chart["kind"] == "density")
    [series] = chart["series"]
    write = run.recording(HELD).write
    # Of all whole seconds: what the end of the run cut short is none.
    counts = write.second_ios[: int(write.elapsed_s + 1e-6)]
    assert sum(sum(column[1:]) for column in series["columns"]) == counts.sum()
    assert chart["map"]["to_s"] == len(counts)
    worst = next(line for line in series["lines"] if line["label"] == "slowest")
    assert max(y for _, y in worst["points"]) == pytest.approx(
        np.nanmax(write.second_latency_max_s[: len(counts)]), rel=1e-3
    )
    rows = chart["map"]["rows"]
    assert all(low < high <= other for (low, high), (other, _) in itertools.pairwise(rows))
    # A folder of a version that kept nothing of the seconds.
    old = tmp_path / "old"
    old.mkdir()
    for file in run.path.iterdir():
        if file.name != schema.LATENCY_OVER_TIME:
            (old / file.name).write_bytes(file.read_bytes())
    before = Run(old)
    assert len(before.recording(HELD).write.latency_over_time.count) == 0
    [test] = charted([before])
    [gap] = [chart for chart in test["charts"] if chart["kind"] == "gap"]
    assert "OCZ Core 64GB has no latencies by the second" in gap["text"]
    assert fc.query("SELECT * FROM latency_over_time", str(tmp_path)).num_rows == 0
    # Beside one that did, its drive is named under the map.
    chart = next(c for t in charted([before, run]) for c in t["charts"] if c["kind"] == "density")
    assert "has no latencies by the second" in chart["caption"]


def test_ios_that_all_took_as_long_are_told_by_one_time(tmp_path: Path) -> None:
    """Reads of a drive that was never written need no flash, and are all alike."""
    found = fc.run("probe-seeks", "sim:ocz-core-64gb", out=tmp_path).findings
    said = next(f.text for f in found if f.name == "latency_over_time_probe-seeks/following_read")
    assert "each of them took" in said
    assert "percentile" not in said
