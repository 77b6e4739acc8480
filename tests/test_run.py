"""Every test by name, suites as files: what is planned, what is run, what is said of mistakes."""

import dataclasses
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from command import fourcorners
from fault_runs import SCHEMAS, validate

import fourcorners as fc
from fourcorners import wording
from fourcorners.analysis.load import Load, bracket
from fourcorners.cli import main
from fourcorners.recording import Recording
from fourcorners.reporting import charts
from fourcorners.running.costs import Costs
from fourcorners.running.resume_point import longest_stretch_s
from fourcorners.suites import TESTS, Measurement, Subject, find_suite, steps, suite_names
from fourcorners.suites import Test as PlannedTest
from fourcorners.suites.snia.common import in_round, rounds
from fourcorners.suites.steps import Fill, Purge, Trim
from fourcorners.suites.test import Adaptive, MeasuredSoFar
from fourcorners.workload import Stream, Workload
from fourcorners.writing import OutputError

GB = 10**9
DRIVE = Subject("simulated", 240_057_409_536)
SMALL = "sim:intel-x25-v-40gb"
EXAMPLE = Path(__file__).parents[1] / "docs/examples/database.toml"


def _plan(name: str, subject: Subject = DRIVE, **parameters: Any) -> PlannedTest:
    [test] = find_suite(name, parameters).plan(subject).tests
    return test


def _measurements(test: PlannedTest) -> list[Measurement]:
    return [one for phase in test.phases for one in phase.measurements]


@pytest.mark.parametrize("name", TESTS)
def test_every_plan_fits_its_target_and_may_be_printed(name: str) -> None:
    for subject in (
        DRIVE,
        dataclasses.replace(DRIVE, filled_share=0.5),
        Subject("simulated", 640 * GB, keeps_state=False),
        Subject("file", 64 << 20, needs_fill=True),
        Subject("device", 512 * GB, request_alignment_bytes=4096),
        Subject("device", 500 * GB, writable=False),
    ):
        test = _plan(name, subject)
        assert test.skip_reason or test.parameters
        ids = [one.id for one in _measurements(test)]
        assert len(ids) == len(set(ids)), "recordings need names of their own"
        for one in _measurements(test):
            assert one.id.startswith(f"{name}/")
            assert subject.writable or not one.writes
            for stream in one.workload.streams:
                end = stream.offset_bytes + (stream.span_bytes or 0)
                assert stream.block_bytes <= (stream.span_bytes or 0), one.id
                assert end <= subject.filled_bytes, one.id
                for count in (stream.block_bytes, stream.offset_bytes, stream.span_bytes or 0):
                    assert count % subject.request_alignment_bytes == 0, one.id


def test_the_parameters_are_the_reviews() -> None:
    def streams(name: str) -> list[Stream]:
        return [one.workload.streams[0] for one in _measurements(_plan(name))]

    assert [s.queue_depth_per_worker for s in streams("outstanding-ios")] == [
        1 << n for n in range(9)
    ] * 2
    assert {s.block_bytes for s in streams("outstanding-ios")} == {65_536}
    matrix = _measurements(_plan("block-size-matrix"))
    assert len(matrix) == 2 * 8 * 8
    assert {(m.workload.duration_s, m.workload.ramp_s) for m in matrix} == {(30, 2)}
    assert {m.workload.streams[0].span_bytes for m in matrix} == {2**30}
    assert [s.read_share for s in streams("mix")] == [n / 10 for n in range(10, -1, -1)]
    assert [s.alignment_bytes for s in streams("aligned-writes")] == [4096, 512]
    fills = [s for p in _plan("consistency-filled").phases for s in p.preparation]
    shares = [step.count / DRIVE.capacity_bytes for step in fills if isinstance(step, Fill)]
    assert shares == pytest.approx([0.25, 0.5, 0.75, 1], abs=1e-6)
    [hour, spare] = _measurements(_plan("consistency-hour"))
    assert hour.workload.duration_s == spare.workload.duration_s == 3600
    assert spare.stream.span_bytes == pytest.approx(0.75 * DRIVE.capacity_bytes, abs=4096)


@pytest.mark.parametrize(
    ("edition", "outstanding", "share", "written"),
    [("enterprise", (32, 4), 1.0, 2.0), ("client", (16, 2), 0.75, 2.0)],
)
def test_snia_iops_is_that_of_the_specification(
    edition: str, outstanding: tuple[int, int], share: float, written: float
) -> None:
    test = _plan("snia-iops", edition=edition)
    [phase] = test.phases
    assert isinstance(phase, Adaptive)
    assert phase.batches_max == 25
    assert len(phase.first) == 7 * 8
    purge, fill = phase.preparation
    assert isinstance(purge, Purge)
    assert isinstance(fill, Fill)
    assert fill.written_bytes == pytest.approx(written * DRIVE.capacity_bytes, rel=1e-6)
    [whole, *_] = fill.workloads(1)
    assert (whole.ios or 0) * 131_072 == pytest.approx(fill.written_bytes, rel=1e-5)
    for one in phase.first:
        stream = one.workload.streams[0]
        assert (stream.queue_depth_per_worker, stream.workers) == outstanding
        assert stream.span_bytes == pytest.approx(share * DRIVE.capacity_bytes, abs=4096)
        assert stream.fua is (edition == "enterprise" and stream.read_share < 1)
    tracked = [one.axes["variable"] for one in phase.first if one.axes["tracked"]]
    assert tracked == [
        "1 MiB random, R/W 100/0",
        "64 KiB random, R/W 65/35",
        "4 KiB random, R/W 0/100",
    ]


def _recording(iops: float) -> Recording:
    with fc.open_target(SMALL) as drive:
        real = drive.run(Workload([Stream.read("random", 4096)], ios=4))
    read = dataclasses.replace(real.read, ios=round(iops), elapsed_s=1.0)
    return dataclasses.replace(real, operations={"read": read})


def test_rounds_end_with_the_window_that_is_steady() -> None:
    base = _recording(1000)

    def ended(values: list[float]) -> int | None:
        def batch(number: int) -> tuple[Measurement, ...]:
            stream = Stream.read("random", 4096)
            return (
                in_round(number, "other", "other", stream, 1, 1),
                in_round(number, "value", "value", stream, 1, 1, metric="iops"),
            )

        phase = rounds((), batch, lambda one: one.iops, len(values))
        measured = MeasuredSoFar()
        following: tuple[Measurement, ...] = phase.first
        for number, value in enumerate(values, start=1):
            assert [one.axes["round"] for one in following] == [number, number]
            read = dataclasses.replace(base.read, ios=round(value))
            measured.add(following[0], base)
            measured.add(following[1], dataclasses.replace(base, operations={"read": read}))
            following = phase.following(measured)
            if not following:
                return number
        return None

    assert ended([1000] * 8) == 5
    falling = [1000 * 0.9**n for n in range(8)]
    assert ended(falling) is None
    assert ended([5000, 4000, 1000, 1010, 990, 1000, 1000, 1000]) == 7


def test_the_sustained_rate_lies_below_the_first_that_is_not() -> None:
    def load(iops: float, latency_s: float, completed: float = 1.0, unissued: int = 0) -> Load:
        return Load(iops, completed * iops, latency_s, unissued)

    kept, slow = load(100, 0.001), load(200, 0.02)
    assert bracket([slow, kept, load(300, 0.001)], 0.01) == (kept, slow)
    behind = load(200, 0.001, completed=0.9)
    assert bracket([kept, behind], 0.01) == (kept, behind)
    dropped = load(200, 0.001, unissued=1)
    assert bracket([kept, dropped], 0.01) == (kept, dropped)
    assert bracket([slow], 0.01) == (None, slow)
    assert bracket([kept], 0.01) == (kept, None)


def test_snia_iops_on_a_drive_gives_its_table(tmp_path: Path) -> None:
    with fc.open_target(SMALL) as drive:
        run = fc.run(
            "snia-iops",
            drive,
            parameters={"rounds": 6},
            scale=0.0005,
            filled_share=0.01,
            out=tmp_path,
        )
    [averages] = [f for f in run.findings if f.name == "averages_snia-iops"]
    cells = {(c["read_percent"], c["block_bytes"]): c for c in averages.detail["cells"]}
    assert len(cells) == 7 * 8
    last = [
        row["iops"]
        for row in run.table("recordings").to_pylist()
        if row["recording"].endswith("/100/4096") and row["operation"] == "read"
    ][-5:]
    assert cells[100.0, 4096]["iops"] == pytest.approx(np.mean(last))
    [write] = [f for f in run.findings if f.name.endswith("4 KiB random, R/W 0/100")]
    window = write.detail["window"]
    assert window["last_round"] - window["first_round"] == 4
    assert (write.verdict == "holds") is window["steady"]
    [shown] = charts.tests([run])
    drawn = [chart for chart in shown["charts"] if chart["kind"] == "rounds"]
    assert [len(chart["points"]) for chart in drawn] == [window["last_round"]] * 3
    [heat] = [chart for chart in shown["charts"] if chart["kind"] == "heat"]
    assert heat["columns"] == ["0", "5", "35", "50", "65", "95", "100"]
    row = {row["name"]: row for row in heat["rows"]}["4 KiB"]
    assert row["cells"][-1]["text"] == wording.number(cells[100.0, 4096]["iops"])
    levels = [cell["level"] for row in heat["rows"] for cell in row["cells"]]
    assert (min(levels), max(levels)) == (0, 100)


def test_the_example_suite_runs_on_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "SETTLE_S", 0.0)
    suite = find_suite(str(EXAMPLE)).shortened(0.002)
    with fc.open_target(str(tmp_path / "file"), size=16 << 20, engine="sync,buffered") as target:
        run = fc.run(suite, target, out=tmp_path / "runs")
    assert run.manifest.status == "complete", run.manifest.tests
    ids = {row.id for row in run.recordings}
    assert "clients/pages/queue-depth-32" in ids
    operations = {
        row["operation"]
        for row in run.table("recordings").to_pylist()
        if row["test"] == "beside-the-log"
    }
    assert operations == {"read", "write", "flush"}
    [point] = [
        recording.point
        for test in run.manifest.tests
        for recording in test.recordings
        if recording.id == "clients/pages/queue-depth-8"
    ]
    assert (point["queue_depth"], point["block_bytes"], point["operation"]) == (8, 8192, "mixed")


HEAD = 'schema_version = 1\nname = "x"\n'
OWN = HEAD + '[[test]]\nname = "a"\n'
WORK = OWN + '[[test.workload]]\nduration = "1 s"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = ", "not a TOML file"),
        ('name = "x"', "no schema_version"),
        (HEAD, "test is missing"),
        (HEAD + "scale = 2\n[[test]]\nuse = 'mix'", "scale = 2: use more than 0"),
        (HEAD + "tets = 1", "did you mean test"),
        (HEAD + "[[test]]\nuse = 'queue-dept'", "did you mean queue-depth"),
        (HEAD + "[[test]]\nuse = 'mix'\n[[test]]\nuse = 'mix'", 'two tests are named "mix"'),
        (HEAD + "[[test]]\nuse = 'mix'\ntime = 30", "write a time as text with a unit"),
        (HEAD + "[[test]]\nuse = 'mix'\ndepht = 1", "did you mean depth"),
        (HEAD + "[[test]]\nuse = 'mix'\nreads = [1.5]", 'use a share from "0 %" to "100 %"'),
        (OWN, "workload is missing"),
        (
            OWN + '[[test.workload]]\nreads = 1\nblock = "4 KiB"\npattern = "random"',
            "duration is missing",
        ),
        (WORK + 'block = "4 KiB"\npattern = "random"', "reads is missing"),
        (WORK + 'reads = 1\nblock = "4 kb"\npattern = "random"', 'unknown unit "kb"'),
        (WORK + 'reads = 1\nblock = "4 KiB"\npattern = "randm"', "use sequential, random"),
        (WORK + 'reads = 1\nblock = "4 KiB"\nrandom = 0.5\npattern = "random"', "exclude"),
        (WORK + 'reads = 1\nblock = "4 KiB"\nqueue-dept = 2', "did you mean queue-depth"),
        (WORK.replace("[[test.w", 'prepare = ["wipe"]\n[[test.w'), "use purge, fill"),
    ],
)
def test_a_mistake_in_a_suite_is_one_sentence_with_file_key_and_remedy(
    tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(fc.UserError) as raised:
        find_suite(str(path))
    said = str(raised.value)
    assert said.startswith(str(path))
    assert words in said
    assert "\n" not in said


def test_the_published_schema_fits_the_suites() -> None:
    published = json.loads((SCHEMAS / "suite.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(published)
    validator.validate(tomllib.loads(EXAMPLE.read_text()))
    for name in suite_names():
        validator.validate({"schema_version": 1, **find_suite(name).document})
    wrong = {"schema_version": 1, "name": "x", "test": [{"use": "mix", "dephts": 1}]}
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(wrong)


def test_lists_are_swept_and_shares_are_of_the_target(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        WORK + 'name = "w"\nreads = [0, "50 %"]\nblock = ["4 KiB", "8 KiB"]\n'
        'random = "30 %"\nspan = "25 %"\noffset = "50 %"\n'
    )
    [test] = find_suite(str(path)).plan(DRIVE).tests
    ones = _measurements(test)
    assert [(m.stream.read_share, m.stream.block_bytes) for m in ones] == [
        (0, 4096),
        (0, 8192),
        (0.5, 4096),
        (0.5, 8192),
    ]
    stream = ones[0].stream
    assert stream.pattern == "partly-random:0.3"
    assert stream.span_bytes == pytest.approx(DRIVE.capacity_bytes / 4, abs=4096)
    assert stream.offset_bytes == pytest.approx(DRIVE.capacity_bytes / 2, abs=4096)
    assert [chart.kind for chart in test.charts] == ["heat"] * 3


def test_trim_is_left_out_where_it_is_not_permitted() -> None:
    device = Subject("device", 100 * GB, no_trim_reason="TRIM needs --purge discard")
    test = _plan("recovery", device)
    assert not any(isinstance(s, Trim) for p in test.phases for s in p.preparation)
    assert "TRIM needs --purge discard" in test.parameters["left out"]
    assert not any("trim" in one.id for one in _measurements(test))
    assert any("trim" in one.id for one in _measurements(_plan("recovery")))


def test_what_an_interruption_costs_at_most_follows_from_the_phases() -> None:
    device = Subject("device", 100 * GB)
    fill_s = 100e9 / 200e6
    for name, parameters, expected in (
        ("consistency", {}, fill_s + 1 + 2000),
        # The phases of smaller shares prepare the drive anew.
        ("consistency-filled", {"filled": [0.5, 1.0]}, fill_s + 1 + 2000),
        # Only read: the measurement that was interrupted, after its preparation.
        ("random-reads", {"depths": [1, 3]}, fill_s + 1 + 5 + 180),
        # A round of 56 minutes.
        ("snia-iops", {}, 2 * fill_s + 1 + 56 * 60),
    ):
        test = _plan(name, device, **parameters)
        assert longest_stretch_s(test) == pytest.approx(expected, rel=1e-3), name


def test_a_preview_tells_time_writes_and_destruction_and_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["run", "consistency", "file", "--size", "1GiB", "--dry-run"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "Destroyed: the content of file" in shown
    assert "drive writes" in shown
    assert main(["run", "snia-iops", "file", "--size", "1GiB", "--dry-run"]) == 0
    assert re.search(r"TB, \d+,\d+ drive writes", capsys.readouterr().out)
    assert "Should it be interrupted: at most 33:26" in shown
    assert "Time: about 33:26" in [line.rstrip() for line in shown.splitlines()]
    assert list(tmp_path.iterdir()) == [], "neither the file nor a run folder was made"
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    validate("plan", document)
    [plan] = document["plans"]
    fill = (1 << 30) / 200e6
    assert plan["seconds"] == pytest.approx(2000 + fill + 1, rel=1e-3)
    assert plan["drive_writes"] == pytest.approx((2000 + fill) * 200e6 / (1 << 30), rel=1e-3)
    assert plan["wall_seconds"] is None, "its clock is the one on the wall"


def test_a_preview_does_not_call_little_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("few.fio").write_text("[a]\nrw=write\nsize=64k\n", "utf-8")
    assert main(["run", "few.fio", "sim:ocz-vertex-3-240gb", "--dry-run"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Written: up to 65.5 kB, less than 0.0001 drive writes" in shown
    assert "writes less than 0.0001 drive writes" in shown


def test_a_preview_of_a_simulated_drive_tells_what_it_takes_to_compute(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["run", "random-reads", "sim:ocz-core-64gb", "--scale", "0.01", "--dry-run"]
    assert main(words) == 0
    assert "Time: less than 1 s to compute" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    [plan] = json.loads(capsys.readouterr().out)["plans"]
    assert 0 < plan["wall_seconds"] < 0.5
    assert plan["seconds"] > 300, "on the drive's clock the fill alone takes so long"


def test_loading_a_state_is_told_by_how_large_it_is(tmp_path: Path) -> None:
    state = tmp_path / "worn.state"
    with state.open("wb") as file:
        file.truncate(10**9)  # a hole
    [test] = find_suite("random-reads").plan(dataclasses.replace(DRIVE, state=str(state))).tests
    with fc.open_target(SMALL) as target:
        costs = Costs(target, tries=False)
        assert costs.of_test(test) == pytest.approx(12, rel=0.5)
        state.unlink()
        assert costs.of_test(test) == 0


def test_a_test_is_run_with_parameters_from_the_command_line(tmp_path: Path) -> None:
    words = ("run", "queue-depth", SMALL, "--with", "depths=1,2", "--with", "time=20ms")
    done = fourcorners(*words, "--filled", "0.01", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    manifest = fc.open_run(str(tmp_path / done.stdout.strip())).manifest
    ids = [recording.id for recording in manifest.tests[0].recordings]
    points = ("read/1", "read/2", "read-again/1", "write/1", "write/2", "write-again/1")
    assert ids == [f"queue-depth/{point}" for point in points]


def test_commands_list_and_refuse(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tests", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    validate("tests", listed)
    assert [test["name"] for test in listed["tests"]] == list(TESTS)
    for arguments, words in (
        (["queue-depht", SMALL], "did you mean queue-depth"),
        (["queue-depth", SMALL, "--with", "depth=1"], "did you mean depths"),
        (["reviews", SMALL, "--with", "time=1s"], "is a suite: write it in there"),
        (["mix", SMALL, "--scale", "0"], "--scale 0: use more than 0"),
        (["missing.toml", SMALL], "cannot read the suite missing.toml"),
    ):
        assert main(["run", *arguments]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert words in line


def test_a_report_that_finds_no_room_leaves_the_run_whole_and_says_how_to_make_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OutputError("cannot write report.html: no space left on device")

    words = ["run", "queue-depth", SMALL, "--with", "depths=1", "--scale", "0.0002"]
    with monkeypatch.context() as patched:
        patched.setattr("fourcorners.running.runner.write_html", full)
        assert main([*words, "--filled", "0.01", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr()
    told = " ".join(said.out.split())
    [folder] = tmp_path.iterdir()
    assert said.err.splitlines()[-1].startswith(f"fourcorners: {folder} has no report")
    assert "there is no report: cannot write report.html: no space left on device; when" in told
    assert "Report:" not in told
    assert fc.open_run(str(folder)).manifest.status == "complete"
    assert main(["report", str(folder)]) == 0
    assert "Report: " in capsys.readouterr().out
    assert (folder / "report.html").exists()
