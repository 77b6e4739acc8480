"""The live view of a run: what it draws, in a terminal and in one that is too small for plots."""

import io
import os
import pty
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import COMMAND
from rich.cells import cell_len
from rich.console import Console

import fourcorners as fc
from fourcorners.cli.live import LiveView
from fourcorners.running.progress import Pace, Status

STATUS = Status(
    target="OCZ Vector 256GB",
    test="Consistency",
    activity="4 KiB random write, queue depth 32",
    fraction=0.43,
    elapsed_s=61.0,
    remaining_s=125.0,
    bytes_per_second=400e6,
    current_bytes_per_second=376e6,
    current_iops=91_701.0,
    current_latency_s=0.000349,
)


def _drawn(*statuses: Status, columns: int = 80, rows: int = 24) -> list[str]:
    view = LiveView()
    for status in statuses:
        view.update(status)
    plain = io.StringIO()
    Console(file=plain, width=columns, height=rows).print(view, end="")
    return plain.getvalue().splitlines()


def test_it_shows_where_a_run_stands_with_rate_and_latency_as_plots() -> None:
    course = [replace(STATUS, elapsed_s=1.0 + second / 2) for second in range(120)]
    lines = _drawn(*course)
    assert lines[0] == "Consistency: 4 KiB random write, queue depth 32"
    assert " 43 %  1:00 elapsed, 2:05 to go, ends about " in lines[1]
    assert lines[2] == "376 MB/s, 91,701 IOPS, mean latency 349 µs"
    assert lines[3].split() == ["rate", "mean", "latency"]
    assert "MB/s" in "".join(lines[4:])
    assert " ms" in "".join(lines[4:])
    # A level course is one line of braille across each plot.
    dots = [sum("\u2800" < c <= "\u28ff" for c in line) for line in lines]
    assert max(dots) > 40
    assert sum(count > 0 for count in dots) <= 2
    assert max(map(cell_len, lines)) <= 80
    assert len(lines) < 15


def test_a_small_terminal_and_a_given_rate_show_what_there_is() -> None:
    course = [replace(STATUS, elapsed_s=float(second)) for second in range(10)]
    for columns, rows in [(80, 12), (40, 24)]:
        lines = _drawn(*course, columns=columns, rows=rows)
        assert 3 <= len(lines) <= 5
        assert max(map(cell_len, lines)) <= columns
    open_loop = [replace(status, current_latency_s=None) for status in course]
    lines = _drawn(*open_loop)
    assert "latency" not in "".join(lines)
    assert "rate" in lines[3]
    assert _drawn() == []


def test_the_plots_are_of_one_run_where_a_command_has_several() -> None:
    course = [replace(STATUS, elapsed_s=float(second)) for second in range(60)]
    following = replace(STATUS, target="WD6400AAKS", elapsed_s=1.0)
    assert len(_drawn(*course)) > 3
    assert len(_drawn(*course, following)) == 3


def test_the_moment_is_what_passed_since_the_last_look() -> None:
    pace = Pace()
    assert pace.look(0.0, 0, 0, 0.0) == {}
    pace.look(1.0, 1000, 4_096_000, 10.0)
    now = pace.look(1.5, 2000, 8_192_000, 12.0)
    assert now["current_iops"] == pytest.approx(2000)
    assert now["current_bytes_per_second"] == pytest.approx(8_192_000)
    assert now["current_latency_s"] == pytest.approx(2.0 / 1000)


@pytest.mark.parametrize("arrival", ["closed", "poisson:2000"])
def test_what_is_seen_while_a_workload_runs_adds_up_to_its_recording(arrival: str) -> None:
    stream = fc.Stream.write("random", 4096, queue_depth_per_worker=8, workers=2, arrival=arrival)
    seen: list[tuple[float, int, int, float]] = []

    def watch(*now: Any) -> bool:
        seen.append(now)
        return True

    with fc.open_target("sim:ocz-vector-256gb") as drive:
        recording = drive.run(fc.Workload([stream], duration_s=400), watch)
    writes = recording.write
    for _, ios, count, latency_sum_s in seen:
        assert ios <= writes.ios
        assert count == 4096 * ios
        if ios > 10_000:
            assert latency_sum_s / ios < 2 * (writes.latency_max_s or 0.0)
            assert latency_sum_s / ios > (writes.latency_min_s or 0.0)


def test_a_terminal_gets_the_view_and_a_dumb_one_lines(tmp_path: Path) -> None:
    for term, words in [("xterm-256color", b"ends about"), ("dumb", b"Consistency: complete in")]:
        reader, writer = pty.openpty()
        arguments = ["characterize", "sim:ocz-core-64gb", "--profile", "quick"]
        process = subprocess.Popen(
            [*COMMAND, *arguments, "--tests", "consistency"],
            stdout=subprocess.DEVNULL,
            stderr=writer,
            cwd=tmp_path,
            env={**os.environ, "TERM": term, "COLUMNS": "80", "LINES": "24"},
        )
        os.close(writer)
        shown = b""
        while True:
            try:
                part = os.read(reader, 4096)
            except OSError:  # a terminal that nobody writes to any more
                break
            shown += part
        os.close(reader)
        assert process.wait(60) == 0
        assert words in shown
        assert (b"\x1b[" in shown) == (term != "dumb")
