"""Replays of recorded traces: what is issued, when, and what the run says of it."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.errors import UserError
from fourcorners.reporting import charts
from fourcorners.target.simulated import SimulatedTarget

HEADER = "time_ns,operation,fua,offset_bytes,length_bytes,volume,latency_ns,queue,process,stream"
DRIVE = "sim:ocz-vertex-3-240gb"
LOG_BLOCK = str(Path(__file__).parents[1] / "drive/sim/tests/support/log_block.toml")
MS = 1_000_000

Io = tuple[int, str, bool, int, int, int | None]
"""Time and latency in ns; operation, FUA, offset and length."""


def _trace(folder: Path, ios: list[Io], volume: str = "sda") -> Path:
    file = folder / "trace.csv"
    lines = [
        f"{time},{operation},{int(fua)},{offset},{length},{volume},"
        f"{'' if latency is None else latency},,,"
        for time, operation, fua, offset, length, latency in ios
    ]
    file.write_text("\n".join([HEADER, *lines]) + "\n", "utf-8")
    return file


def _some(count: int = 400, gap_ns: int = MS, latency_ns: int | None = 300_000) -> list[Io]:
    """Reads and writes of 4 to 64 KiB, every tenth a flush, a discard or write-zeroes."""
    found: list[Io] = []
    for number in range(count):
        operation = ("write", "read", "read")[number % 3]
        if number % 10 == 9:
            operation = ("flush", "discard", "write-zeroes")[number // 10 % 3]
        length = 0 if operation == "flush" else 4096 << number % 5
        offset = 0 if operation == "flush" else number * 7919 % 4096 * 65_536
        fua = operation == "write" and number % 4 == 0
        found.append((number * gap_ns, operation, fua, offset, length, latency_ns))
    return found


def _recording(run: fc.Run) -> fc.Recording:
    [recording] = run.recordings
    return recording


def _finding(run: fc.Run, name: str) -> Any:
    return next(one for one in run.findings if one.name == name)


def test_a_replay_is_a_run_with_the_trace_s_operations(tmp_path: Path) -> None:
    trace = _trace(tmp_path, _some())
    options = {"out": str(tmp_path / "runs"), "log_ios": 1000, "endurance_bytes": 10**12}
    run = fc.replay(trace, DRIVE, **options)
    recording = _recording(run)
    assert run.manifest.status == "complete"
    counts = {name: one.ios for name, one in recording.operations.items()}
    wanted = [operation for _, operation, *_ in _some()]
    assert counts == {name: wanted.count(name) for name in dict.fromkeys(wanted)}
    assert recording.replayed is not None
    # A simulated drive's I/Os are issued at their times to the nanosecond.
    assert recording.replayed.off_time_max_s == 0
    assert recording.elapsed_s == pytest.approx(0.399, abs=0.01)
    told = {one.name for one in run.findings}
    assert {"replay", "replay_timing", "replay_latency", "replay_wear"} <= told
    written = sum(length for _, name, _, _, length, _ in _some() if name == "write")
    years = _finding(run, "replay_endurance").value
    assert years == pytest.approx(10**12 / (written / 0.399) / (365.25 * 86_400), rel=1e-6)
    law = _finding(run, "littles_law")
    assert law.verdict == "holds", law.text
    # What was kept of the run is what was measured.
    again = type(run)(run.path)
    assert _recording(again).replayed == recording.replayed


@settings(max_examples=4, deadline=None)
@given(
    ios=st.lists(
        st.tuples(
            st.integers(0, 3 * MS),
            st.sampled_from(["read", "write", "flush", "discard", "write-zeroes"]),
            st.booleans(),
            st.integers(0, 10**6),
            st.integers(1, 64),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_what_was_replayed_is_what_was_recorded(
    ios: list[tuple[int, str, bool, int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("replay")
    recorded: list[Io] = []
    time = 0
    for gap, operation, fua, place, sectors in ios:
        time += gap
        is_flush = operation == "flush"
        offset, length = (0, 0) if is_flush else (512 * place, 512 * sectors)
        recorded.append((time, operation, fua and operation == "write", offset, length, None))
    run = fc.replay(
        _trace(folder, recorded), "sim:ocz-core-64gb", fill=False, log_ios=100, out=folder / "runs"
    )
    [log] = list((run.path / "ios").glob("*.parquet"))
    captured = folder / "captured.parquet"
    fc.trace_convert(log, captured)
    rows = pq.read_table(captured).to_pylist()
    columns = ("time_ns", "operation", "fua", "offset_bytes", "length_bytes")
    first = recorded[0][0]
    assert [tuple(row[name] for name in columns) for row in rows] == [
        (time - first, *io) for time, *io, _ in recorded
    ]
    assert all(row["latency_ns"] >= 0 for row in rows)


def test_the_pace_is_the_trace_s_or_the_drive_s(tmp_path: Path) -> None:
    trace = _trace(tmp_path, _some(200, gap_ns=20 * MS))
    out = tmp_path / "runs"

    def elapsed_s(**options: Any) -> float:
        return _recording(fc.replay(trace, DRIVE, fill=False, out=out, **options)).elapsed_s

    recorded_s = elapsed_s()
    assert recorded_s == pytest.approx(3.98, abs=0.05)
    assert elapsed_s(speed=4) == pytest.approx(recorded_s / 4, rel=0.05)
    assert elapsed_s(pace="depth") < recorded_s / 20
    # All but the 0.3 ms that each took is time to think.
    assert elapsed_s(pace="think-times") == pytest.approx(recorded_s, rel=0.1)


def test_a_real_file_is_replayed_where_it_is_permitted(tmp_path: Path) -> None:
    trace = _trace(tmp_path, [one for one in _some(300) if one[1] != "discard"])
    file = tmp_path / "t.bin"
    run = fc.replay(trace, str(file), size=300 * 2**20, out=tmp_path / "runs")
    assert run.manifest.status == "complete", run.manifest.tests[0].reason
    timing = _finding(run, "replay_timing")
    assert 0 <= timing.detail["late_share"] <= 1
    state = _finding(run, "replay_state")
    assert (state.verdict, state.text.split(":")[0]) == (
        "not identifiable",
        "This drive does not tell its state",
    )
    assert timing.detail["max_s"] >= timing.value >= timing.detail["p50_s"]
    file.write_bytes(bytes(300 * 2**20))
    refused = fc.replay(trace, str(file), fill=False, out=tmp_path / "runs")
    [test] = refused.manifest.tests
    assert test.status == "skipped"
    assert "writes" in (test.reason or "")


def test_a_drive_of_a_program_is_replayed_on(tmp_path: Path) -> None:
    program = Path(__file__).parents[1] / "drive" / "foreign" / "examples" / "drive.py"
    drive = f"exec:{sys.executable} {program}"
    run = fc.replay(_trace(tmp_path, _some(100)), drive, fill=False, out=tmp_path / "runs")
    assert run.manifest.status == "complete", run.manifest.tests[0].reason
    recording = _recording(run)
    assert sum(one.ios for one in recording.operations.values()) == 100
    assert recording.replayed is not None
    assert recording.replayed.off_time_max_s == 0
    # Waiting for a processor makes nothing late in its time.
    assert recording.replayed.waited_s is None
    # What it counts is its state.
    assert set(recording.replayed.minutes[-1].condition) == {"programmed_pages"}
    assert _finding(run, "replay_state").verdict == "measured"


def _minutes(
    folder: Path, drive: str, size: int = 16 * 2**20
) -> tuple[fc.Run, list[dict[str, float]]]:
    """What a drive says of its state at the ends of four minutes with a write a second."""
    ios: list[Io] = [
        (second * 1000 * MS, "write", False, second * size, size, None) for second in range(200)
    ]
    run = fc.replay(_trace(folder, ios), drive, out=folder / "runs")
    recording = _recording(run)
    assert recording.replayed is not None
    return run, [minute.condition for minute in recording.replayed.minutes]


def test_the_drive_s_state_is_told_by_the_minute(tmp_path: Path) -> None:
    run, told = _minutes(tmp_path, "sim:ocz-vertex-3-240gb")
    with fc.open_target("sim:ocz-vertex-3-240gb") as target:
        assert isinstance(target, SimulatedTarget)
        fresh = target.counters()["free_blocks_min"]
    assert len(told) == 4
    free = [one["free_blocks_min"] for one in told]
    # Each place is written once, and takes fresh blocks.
    assert fresh > free[0] > free[1] > free[2] > free[3]
    assert all(one["erase_count_max"] >= one["erase_count_mean"] for one in told)
    again = type(run)(run.path)
    assert _recording(again).replayed == _recording(run).replayed
    page = (run.path / "report.html").read_text("utf-8")
    assert "Free flash blocks at the end of each minute" in page
    # What stays at nothing is no plot.
    assert "Bad blocks" not in page


def test_a_disk_tells_what_its_cache_holds(tmp_path: Path) -> None:
    _, told = _minutes(tmp_path, "sim:wd6400aaks")
    assert [set(one) for one in told] == [{"write_cache_bytes"}] * 4


@pytest.mark.parametrize(
    ("drive", "grows", "falls"),
    [
        ("sim:ocz-core-64gb", "switches", "unwritten_superblocks"),
        (LOG_BLOCK, "switch_merges", None),
        ("sim:raid0:2xocz-core-64gb", "switches", "unwritten_superblocks"),
    ],
)
def test_drives_of_every_kind_tell_their_state(
    tmp_path: Path, drive: str, grows: str, falls: str | None
) -> None:
    run, told = _minutes(tmp_path, drive, 2**20)
    assert len(told) == 4
    first, *_, last = told
    assert 0 < first[grows] < last[grows]
    if falls is not None:
        assert first[falls] > last[falls]
    state = _finding(run, "replay_state")
    assert state.detail["last"] == last
    assert "Merges by the end of each minute" in (run.path / "report.html").read_text("utf-8")


def test_a_sentence_says_what_the_trace_is_to_the_drive(tmp_path: Path) -> None:
    def told(trace: Path, **options: Any) -> str:
        run = fc.replay(trace, DRIVE, fill=False, out=tmp_path / "runs", **options)
        return str(_finding(run, "summary_replay").text)

    timed = _trace(tmp_path, _some())
    assert re.fullmatch(
        r"Under this trace the drive was busy [\d.]+ % of the time, and an I/O took [\d.]+ .s on "
        r"average, where it took 300 µs when it was recorded\.",
        told(timed),
    )
    chased = told(timed, pace="depth", queue_depth=4)
    assert re.match(r"The drive did in [\d.]+ ms what took 399 ms when it was recorded, ", chased)
    burst = _trace(tmp_path, [(n, "write", False, n * 65_536, 65_536, None) for n in range(4000)])
    flood = told(burst)
    assert "when it was recorded" not in flood
    assert re.search(r" The drive did not keep up: [\d.]+ % of the I/Os were issued late", flood)


def test_the_report_draws_the_shares_of_sizes_and_queue_depths(tmp_path: Path) -> None:
    # Reads of 4 KiB alone; pairs of writes of 4 and 16 KiB at a time.
    ios: list[Io] = [(n * MS, "read", False, n * 4096, 4096, None) for n in range(60)]
    for n in range(60, 80):
        ios += [(n * MS, "write", False, n * 65_536, size, None) for size in (4096, 16_384)]
    run = fc.replay(_trace(tmp_path, ios), DRIVE, fill=False, out=tmp_path / "runs")
    [test] = charts.tests([run])
    drawn = {chart["title"]: chart["series"] for chart in test["charts"]}
    assert {one["label"]: one["points"] for one in drawn["I/Os by size"]} == {
        "reads": [[4096, 60.0]],
        "writes": [[4096, 20.0], [8192, 0.0], [16_384, 20.0]],
    }
    [depths] = drawn["I/Os by queue depth"]
    assert depths["points"] == [[1, 80.0], [2, 20.0]]


def test_replays_at_different_paces_are_not_compared(tmp_path: Path) -> None:
    trace, out = _trace(tmp_path, _some(50)), tmp_path / "runs"
    runs = [
        fc.replay(trace, DRIVE, fill=False, out=out, **options)
        for options in ({}, {"speed": 10}, {"pace": "depth"})
    ]
    for other, words in zip(runs[1:], ("10 times as fast", "as fast as possible"), strict=True):
        with pytest.raises(UserError, match=f"replayed at recorded times and .*{words}"):
            fc.compare(runs[0].path, other.path)
    # At the same pace they are.
    again = fc.replay(trace, DRIVE, fill=False, out=out, speed=10)
    assert fc.compare(runs[1].path, again.path).differences


def test_discards_reach_a_file(tmp_path: Path) -> None:
    trace = _trace(
        tmp_path, [(0, "write", False, 0, 2**20, None), (MS, "discard", False, 0, 2**20, None)]
    )
    file = tmp_path / "t.bin"
    run = fc.replay(trace, str(file), size=4 * 2**20, out=tmp_path / "runs")
    assert run.manifest.status == "complete", run.manifest.tests[0].reason
    assert file.read_bytes()[: 2**20] == bytes(2**20)


@pytest.mark.parametrize(
    ("ios", "options", "words"),
    [
        ([(0, "read", False, 10**12, 4096, None)], {}, "fourcorners trace fold"),
        ([(0, "read", False, 0, 4096, None)], {"pace": "depth"}, "--queue-depth"),
        ([(0, "read", False, 0, 4096, None)], {"pace": "think-times"}, "completion times"),
        ([(0, "read", False, 0, 4096, None)], {"speed": 0}, "--speed 0"),
        (
            [(0, "read", False, 0, 4096, MS)],
            {"pace": "depth", "speed": 2},
            "--speed changes nothing with --pace depth",
        ),
        ([(0, "read", False, 0, 4096, None)] * 2, {}, "tells no times"),
        ([], {}, "no I/Os"),
    ],
)
def test_what_cannot_be_replayed_is_refused_in_one_sentence(
    tmp_path: Path, ios: list[Io], options: dict[str, Any], words: str
) -> None:
    trace = _trace(tmp_path, ios)
    with pytest.raises(UserError, match=words):
        fc.replay(trace, DRIVE, out=tmp_path / "runs", **options)
    assert not (tmp_path / "runs").exists()


def test_a_clock_that_is_too_coarse_for_its_ios_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for step_ns, is_coarse in ((1000 * MS, True), (MS, False)):
        ios: list[Io] = [
            (number // 10 * step_ns, "read", False, 0, 4096, None) for number in range(100)
        ]
        if not is_coarse:  # As many at a time, but by a clock that could tell them apart.
            ios.append((100 * MS + 1, "read", False, 0, 4096, None))
        assert main(["replay", str(_trace(tmp_path, ios)), DRIVE, "--dry-run"]) == 0
        assert ("are due at once" in capsys.readouterr().out) == is_coarse


def test_a_refusal_names_the_trace_once(tmp_path: Path) -> None:
    trace = _trace(tmp_path, [(0, "read", False, 10**12, 4096, None)])
    with pytest.raises(UserError) as refused:
        fc.replay(trace, DRIVE, out=tmp_path / "runs")
    assert str(refused.value).count(trace.name) == 1


def test_a_trace_of_several_volumes_is_refused(tmp_path: Path) -> None:
    file = _trace(tmp_path, [(0, "read", False, 0, 4096, None)])
    file.write_text(file.read_text() + f"{MS},read,0,0,4096,sdb,,,,\n")
    with pytest.raises(UserError, match=r"2 volumes .*trace cut --volume"):
        fc.replay(file, DRIVE, out=tmp_path / "runs")


def test_the_command_shows_the_plan_and_two_drives_compare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, out = _trace(tmp_path, _some(100)), tmp_path / "runs"
    assert main(["replay", str(trace), DRIVE, "--dry-run", "--out", str(out)]) == 0
    plan = capsys.readouterr().out
    assert "sequential fill" in plan
    assert "Replay of trace.csv" in plan
    drives = [DRIVE, "sim:ocz-core-64gb"]
    assert main(["replay", str(trace), *drives, "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "replay" in json.dumps(document)
    runs = sorted(path for path in out.iterdir() if path.is_dir() and path.name[0] != ".")
    assert len(runs) == 2
    compared = fc.compare(runs[0], runs[1])
    assert any(one.recording.startswith("replay/") for one in compared.differences)
