"""Streams that are fitted to traces whose streams are known."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.suites import Subject
from fourcorners.suites.suite import find_suite
from fourcorners.trace.skew import fitted_zipf

HEADER = "time_ns,operation,fua,offset_bytes,length_bytes,volume,latency_ns,queue,process,stream"


def made(path: Path, rows: list[tuple[int, str, int, int, int]]) -> Path:
    rows = sorted(rows, key=lambda one: one[0])
    lines = [f"{t},{op},{fua},{offset},{length},a,,,," for t, op, fua, offset, length in rows]
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Ten seconds of reads at random at a Poisson rate of 1000, of two sizes, on 64 MiB, and of a
    log behind them: bursts of 8 writes of 4 KiB in order every 40 ms, with FUA, and a flush."""
    generator = np.random.default_rng(1)
    times = np.cumsum(generator.exponential(1e6, 10_000)).astype(int)
    rows = []
    for time in times.tolist():
        length = int(generator.choice([4096, 16384], p=[0.75, 0.25]))
        rows.append((time, "read", 0, 16384 * int(generator.integers(4096)), length))
    for number in range(250):
        begin = 40_000_000 * number
        for io in range(8):
            offset = (1 << 30) + 4096 * (8 * number + io)
            rows.append((begin + 20_000 * io, "write", 1, offset, 4096))
        rows.append((begin + 300_000, "flush", 0, 0, 0))
    rows.append((50, "discard", 0, 0, 4096))
    return made(tmp_path / "known.csv", rows)


def test_streams_are_found(trace: Path) -> None:
    fit = fc.trace_fit(trace)
    reads, log = sorted(fit.streams, key=lambda one: one.operation)
    assert (reads.operation, reads.sequential, reads.ios) == ("read", False, 10_000)
    assert reads.pattern == "random"
    kind, rate = reads.arrival.split(":")
    assert kind == "poisson"
    assert float(rate) == pytest.approx(1000, rel=0.03)
    sizes = dict(one.split("/") for one in reads.sizes.split(":"))
    assert float(sizes["4 KiB"]) == pytest.approx(75, abs=2)
    assert reads.span_bytes == pytest.approx(64 << 20, rel=0.05)
    assert (log.operation, log.sequential, log.fua) == ("write", True, True)
    kind, rate, ios, *_ = log.arrival.split(":")
    # With the flush, which is due among them.
    assert (kind, ios) == ("bursts", "9")
    assert float(rate) == pytest.approx(200 * 9 / 8, rel=0.03)
    assert log.flush_every_writes == 8
    # They do not overlap in the trace.
    assert log.offset_bytes >= reads.span_bytes
    assert fit.left_out == {"discard": 1}


@pytest.mark.parametrize("exponent", [0.0, 0.6, 0.9, 1.2])
@pytest.mark.parametrize("draws", [3_000, 30_000])
def test_skew_is_told_from_chance(exponent: float, draws: int) -> None:
    generator = np.random.default_rng(2)
    places = 10_000
    chances = np.arange(1, places + 1) ** -exponent
    drawn = generator.choice(places, draws, p=chances / chances.sum())
    _, counts = np.unique(drawn, return_counts=True)
    found, number = fitted_zipf(counts, 10 * places)
    assert found == pytest.approx(exponent, abs=0.15)
    # 3,000 draws do not tell how long the tail is.
    assert places / 2.5 < number < places * 2.5


def test_the_file_runs_as_a_suite(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "known.toml"
    assert main(["trace", "fit", str(trace), "-o", str(out), "--name", "known"]) == 0
    said = capsys.readouterr().out
    assert "2 streams" in said
    assert "not said by streams: discard (1 I/O)" in said
    assert tomllib.loads(out.read_text())["name"] == "known"
    [test] = find_suite(str(out)).plan(Subject("simulated", 240 * 10**9)).tests
    [measurement] = test.phases[0].measurements
    reads, log = measurement.workload.streams
    assert (reads.read_share, log.read_share, log.fua) == (1.0, 0.0, True)
    assert measurement.workload.duration_s == pytest.approx(10, abs=0.3)
    assert main(["trace", "fit", str(trace), "-o", str(out)]) == 2
    assert "--replace" in capsys.readouterr().err


def test_shares_of_any_counts_add_up(tmp_path: Path) -> None:
    counts = {4096: 1218, 8192: 2238, 12288: 8, 16384: 1204}
    lengths = [length for length, ios in counts.items() for _ in range(ios)]
    places = np.random.default_rng(7).integers(4096, size=len(lengths)).tolist()
    rows = [
        (number * 1_000_000, "write", 0, 16384 * place, length)
        for number, (place, length) in enumerate(zip(places, lengths, strict=True))
    ]
    out = tmp_path / "shares.toml"
    assert main(["trace", "fit", str(made(tmp_path / "t.csv", rows)), "-o", str(out)]) == 0
    find_suite(str(out)).plan(Subject("simulated", 240 * 10**9))


def test_what_has_nothing_to_fit_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made(tmp_path / "one.csv", [(0, "read", 0, 0, 4096), (5, "flush", 0, 0, 0)])
    assert main(["trace", "fit", str(path)]) == 2
    assert "nothing to fit" in capsys.readouterr().err


def test_sizes_that_are_no_round_numbers_are_written_as_they_are(tmp_path: Path) -> None:
    # 21 sectors would be 10.8 kB, which no drive can transfer.
    rows = [(10**6 * io, "write", 0, 8192 * (7 * io % 99), 512 * (21 + io % 2)) for io in range(99)]
    fit = fc.trace_fit(made(tmp_path / "odd.csv", rows), out=tmp_path / "odd.toml")
    [stream] = fit.streams
    sizes = [one.partition("/")[0] for one in stream.sizes.split(":")]
    assert sorted(sizes) == ["10752 B", "11 KiB"]
    [test] = find_suite(str(tmp_path / "odd.toml")).plan(Subject("simulated", 10**9)).tests
    assert test.skip_reason is None


def test_streams_that_are_known_agree_with_their_trace(tmp_path: Path) -> None:
    """Uniform random writes at a Poisson rate, which streams can say whole."""
    generator = np.random.default_rng(3)
    times = np.cumsum(generator.exponential(2e6, 4_000)).astype(int)
    rows = [
        (time, "write", 0, 4096 * int(generator.integers(2_000_000)), 4096)
        for time in times.tolist()
    ]
    fit = fc.trace_fit(made(tmp_path / "writes.csv", rows), on="sim:intel-x25-v-40gb")
    assert fit.agreement is not None
    figures = {one.name: one for one in fit.agreement.figures}
    assert set(figures) == {"writes a second", "write p50", "write p99", "write amplification"}
    for name, within in (("writes a second", 0.03), ("write p50", 0.1), ("write p99", 0.3)):
        assert figures[name].streams == pytest.approx(figures[name].trace, rel=within), name
    amplification = figures["write amplification"]
    assert amplification.streams == pytest.approx(amplification.trace, rel=0.1)
    assert amplification.streams_low is not None
    assert amplification.streams_high is not None
    assert amplification.streams_low < amplification.streams_high


def test_what_waits_in_a_drive_comes_together_as_in_the_trace(tmp_path: Path) -> None:
    """A log's writes with a flush right behind each, and a checkpoint every two seconds, whose
    writes come in three portions some milliseconds apart."""
    generator = np.random.default_rng(4)
    rows = []
    for time in np.cumsum(generator.exponential(2e7, 500)).astype(int).tolist():
        offset = 9216 * int(generator.integers(1000))
        rows.append((time, "write", 0, offset, 9216))
        # One of ten has none.
        if generator.random() < 0.9:
            rows.append((time + 20_000, "flush", 0, 0, 0))
    for number in range(5):
        for io in range(300):
            time = int(1e9 + number * 2e9 + io * 2e4 + io // 100 * 5e6)
            rows.append((time, "write", 0, (1 << 30) + 4096 * int(generator.integers(9000)), 4096))
    fit = fc.trace_fit(made(tmp_path / "database.csv", rows))
    log, checkpoints = sorted(fit.streams, key=lambda one: one.offset_bytes)
    assert log.ios == pytest.approx(500, rel=0.03)
    assert log.flush_every_writes == 1
    # A write and its flush, due together.
    kind, rate, ios, *_ = log.arrival.split(":")
    assert (kind, ios) == ("bursts", "2")
    assert float(rate) == pytest.approx(100, rel=0.1)
    # All three portions are one.
    kind, _, ios, peak = checkpoints.arrival.split(":")
    assert kind == "bursts"
    assert int(ios) == pytest.approx(300, rel=0.03)
    # As far apart as most of them are: the pauses between the portions do not spread them out.
    assert float(peak) == pytest.approx(1 / 2e-5, rel=0.01)


def test_commits_that_are_made_up_for_are_no_checkpoint(tmp_path: Path) -> None:
    """Single writes, groups of 10 after each of 40 delays, and eight checkpoints of 400, of which a
    mean burst would be one of some 70."""
    generator = np.random.default_rng(7)
    commits = np.cumsum(generator.exponential(2e7, 1000)).astype(int).tolist()
    rows = [(time, "write", 0, 4096 * int(generator.integers(1000)), 4096) for time in commits]
    for number in range(40):
        rows += [
            (int(2e8 + number * 4.7e8 + io * 3e5), "write", 0, 4096 * int(place), 4096)
            for io, place in enumerate(generator.integers(1000, size=10))
        ]
    for number in range(8):
        rows += [
            (int(1e9 + number * 2.3e9 + io * 1e3), "write", 0, (1 << 30) + 4096 * int(place), 4096)
            for io, place in enumerate(generator.integers(9000, size=400))
        ]
    fit = fc.trace_fit(made(tmp_path / "late.csv", rows))
    assert sum(one.ios for one in fit.streams) == 1000 + 400 + 3200
    large = max(fit.streams, key=lambda one: one.ios)
    kind, _, ios, peak = large.arrival.split(":")
    assert kind == "bursts"
    assert large.ios == pytest.approx(3200, rel=0.02)
    assert int(ios) == pytest.approx(400, rel=0.05)
    assert float(peak) == pytest.approx(1e6, rel=0.05)


def test_a_flush_after_no_whole_number_of_writes_is_as_frequent(tmp_path: Path) -> None:
    """Commits of one write or, of a log that grows, of two in turn: a flush for 1.4 writes, which a
    whole number would make 1.4 times as many."""
    generator = np.random.default_rng(5)
    rows = []
    for number, time in enumerate(np.cumsum(generator.exponential(2e7, 800)).astype(int).tolist()):
        for io in range(2 if number % 5 < 2 else 1):
            offset = 16384 * int(generator.integers(1000))
            rows.append((time + 10_000 * io, "write", 0, offset, 9216))
        rows.append((time + 20_000, "flush", 0, 0, 0))
    fit = fc.trace_fit(made(tmp_path / "growing.csv", rows))
    assert sum(one.ios for one in fit.streams) == 1120
    said = sum(one.ios / one.flush_every_writes for one in fit.streams if one.flush_every_writes)
    assert said == pytest.approx(800, rel=0.01)
    # Each flush is due right behind its write.
    [log] = [one for one in fit.streams if one.flush_every_writes]
    kind, rate, ios, *_ = log.arrival.split(":")
    assert (log.flush_every_writes, kind, ios) == (1, "bursts", "2")
    assert float(rate) == pytest.approx(2 * 800 / fit.length_s, rel=0.01)


def test_a_rate_that_changes_is_two_streams(tmp_path: Path) -> None:
    """Commits twice as often in the first quarter, and a checkpoint every two seconds from the
    first one on: each stream has its own rate in its own time, and bursts come when they came."""
    generator = np.random.default_rng(6)
    rows = []
    early = np.cumsum(generator.exponential(7e6, 3_000))
    late = 5e9 + np.cumsum(generator.exponential(14e6, 3_000))
    for time in [*early[early < 5e9].tolist(), *late[late < 20e9].tolist()]:
        rows.append((int(time), "write", 0, 4096 * int(generator.integers(1000)), 4096))
    for number in range(10):
        for io in range(200):
            offset = (1 << 30) + 4096 * int(generator.integers(9000))
            rows.append((int(1e9 + number * 2e9 + io * 2e4), "write", 0, offset, 4096))
    fit = fc.trace_fit(made(tmp_path / "changing.csv", rows))
    (checkpoints,) = [one for one in fit.streams if one.arrival.startswith("bursts")]
    assert checkpoints.start_s == pytest.approx(1, abs=0.02)
    assert checkpoints.stop_s is None
    before, after = sorted(
        (one for one in fit.streams if one is not checkpoints), key=lambda one: one.start_s
    )
    assert before.start_s == 0
    assert before.stop_s == pytest.approx(5, abs=0.3)
    assert (after.start_s, after.stop_s) == (before.stop_s, None)
    for stream, rate in ((before, 1 / 7e-3), (after, 1 / 14e-3)):
        kind, found = stream.arrival.split(":")
        assert kind == "poisson"
        assert float(found) == pytest.approx(rate, rel=0.1)
    suite = tmp_path / "changing.toml"
    suite.write_text(fit.suite)
    [test] = find_suite(str(suite)).plan(Subject("simulated", 240 * 10**9)).tests
    [measurement] = test.phases[0].measurements
    ends = [one.end_s for one in measurement.workload.streams if one.end_s is not None]
    assert ends == [pytest.approx(before.stop_s)]


@pytest.mark.parametrize("seed", range(8))
def test_a_rate_that_is_constant_is_one_stream(tmp_path: Path, seed: int) -> None:
    generator = np.random.default_rng(seed)
    times = np.cumsum(generator.exponential(1e7, 500)).astype(int).tolist()
    rows = [(time, "read", 0, 4096 * int(generator.integers(1 << 20)), 4096) for time in times]
    assert len(fc.trace_fit(made(tmp_path / "constant.csv", rows)).streams) == 1
