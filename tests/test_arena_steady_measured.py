"""The judge on series that were measured elsewhere: what is read, and how it is scored."""

import csv
import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from fault_runs import validate

from fourcorners.analysis.steady_state import Spread, judge
from fourcorners.analysis.steady_state.spread import SLOW_MAX
from fourcorners.cli import main
from fourcorners.errors import UserError
from fourcorners_validation.arena.steady.measured import (
    CAPACITY_BYTES,
    judge_series,
    read_folder,
    score_measured,
)
from fourcorners_validation.arena.steady.measured_page import render_measured

INTERVAL_S = 60.0
FAST, SLOW = 350_000.0, 90_000.0


def _write(folder: Path, workload: str, rates: Sequence[float], device: str = "x0") -> None:
    name = f"{device}-{workload}.csv"
    written = 0.0
    with (folder / name).open("w", newline="") as opened:
        rows = csv.writer(opened)
        rows.writerow(("seconds", "drive_writes", "write_iops"))
        for number, rate in enumerate(rates, start=1):
            written += rate * INTERVAL_S * 4096 / 0.96e12
            rows.writerow((number * INTERVAL_S, written, rate))
    index = folder / "index.csv"
    if not index.exists():
        index.write_text("file,device,experiment\n")
    with index.open("a", newline="") as opened:
        csv.writer(opened).writerow((name, device, workload))


def _cliff(fast: int, slow: int) -> list[float]:
    """A rate that falls after so many intervals, with a little noise that repeats."""
    rates = [FAST] * fast + [SLOW] * slow
    return [rate * (1 + 0.002 * math.sin(2.1 * at * at)) for at, rate in enumerate(rates)]


def test_a_drive_that_falls_once_is_steady_after_its_cliff(tmp_path: Path) -> None:
    _write(tmp_path, "uniform", _cliff(5, 200))
    [measured] = read_folder(tmp_path)
    judged = judge_series(measured)
    assert judged.cuts[-1].settled
    assert abs(judged.cuts[-1].error) < 0.01
    assert judged.cliff == pytest.approx(5 * FAST * INTERVAL_S * 4096 / 0.96e12, rel=0.02)
    score = score_measured([judged])
    assert (score.cliffs, score.cliffs_found, score.cliffs_near) == (1, 1, 1)
    assert score.falsely_steady == 0


def test_a_drive_that_falls_after_it_was_called_steady_counts_as_false(tmp_path: Path) -> None:
    _write(tmp_path, "uniform", [*_cliff(5, 150), *(40_000.0 for _ in range(150))])
    judged = [judge_series(one) for one in read_folder(tmp_path)]
    assert score_measured(judged).falsely_steady == 1


def test_how_the_writes_are_spread_is_in_the_name_of_the_experiment(tmp_path: Path) -> None:
    names = ("uniform", "zipf-0.2", "twozone-0.8", "cold-0.9")
    for name in names:
        _write(tmp_path, name, _cliff(5, 20))
    slowness = [one.spread.slowness for one in read_folder(tmp_path)]
    assert slowness[0] == 1.0
    assert slowness == sorted(slowness)
    assert slowness[2] == pytest.approx(Spread.of_pattern("hot-cold:0.2:0.8").slowness)
    # What is never written is never mixed.
    assert slowness[3] == SLOW_MAX


def test_of_a_part_that_was_filled_the_rest_is_spare_area(tmp_path: Path) -> None:
    _write(tmp_path, "fill-seq-400gib", [200_000.0] * 10)
    _write(tmp_path, "uniform-fill-400gib", [FAST / 3] * 31)
    fill, uniform = read_folder(tmp_path)
    assert fill.is_fill
    assert uniform.filled == pytest.approx(fill.capacities)
    assert not any(cut.settled for cut in judge_series(uniform).cuts)
    # Told of no free space, the judge stops here.
    assert judge(uniform.series, uniform.filled * CAPACITY_BYTES).settled


def test_the_command_prints_the_study_and_writes_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path, "uniform", _cliff(5, 200))
    assert main(["arena", "series", str(tmp_path), "--json", "--write", str(tmp_path)]) == 0
    document = json.loads(capsys.readouterr().out)
    validate("arena-series", document)
    assert document["score"]["cliffs_found"] == 1
    assert "| x0 | uniform |" in (tmp_path / "steady-state-measured.md").read_text("utf-8")


def test_the_page_says_what_was_found(tmp_path: Path) -> None:
    _write(tmp_path, "uniform", _cliff(5, 200))
    text = render_measured([judge_series(one) for one in read_folder(tmp_path)])
    assert "1 series have a cliff: 1 are found" in text
    assert "| x0 | uniform |" in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "has no column seconds"),
        ("seconds,drive_writes,write_iops\n1,x,3\n", "write numbers"),
        ("seconds,drive_writes,write_iops\n2,0.1,3\n1,0.2,3\n", "must grow"),
    ],
)
def test_a_file_of_another_kind_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "index.csv").write_text("file,device,experiment\nx.csv,x0,uniform\n")
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(UserError, match=said):
        read_folder(tmp_path)


def test_a_folder_without_an_index_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"index\.csv"):
        read_folder(tmp_path)
