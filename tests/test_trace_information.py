"""What is said of traces whose content is known, and what cutting, merging, scaling and folding
make of them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import fourcorners as fc
from fourcorners import _core
from fourcorners.cli import main

HEADER = "time_ns,operation,fua,offset_bytes,length_bytes,volume,latency_ns,queue,process,stream"
MS = 1_000_000


def made(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Every 10 ms a sequential write of 8 KiB and a read of one place; every tenth write has FUA
    and a flush follows it. Latencies of 15 ms keep two I/Os outstanding."""
    lines = []
    for number in range(1000):
        at = 10 * MS * number
        fua = int(number % 10 == 0)
        lines.append(f"{at},write,{fua},{8192 * number},8192,a,{4 * MS},0,7,3")
        lines.append(f"{at + MS},read,0,4096,4096,b,{2 * MS},1,8,")
        if fua:
            lines.append(f"{at + 9 * MS},flush,0,0,0,a,,,,")
    return made(tmp_path / "trace.csv", lines)


def test_what_is_in_a_trace_is_found(trace: Path) -> None:
    found = fc.trace_info(trace)
    assert found.ios == 2100
    assert found.length_ns == 9991 * MS
    assert found.time_step_ns == MS
    assert found.operations["write"].bytes == 1000 * 8192
    assert found.operations["write"].fua_ios == 100
    assert found.operations["write"].lengths == {8192: 1000}
    assert found.operations["read"].latency_ns is not None
    assert found.operations["read"].latency_ns.p50 == 2 * MS
    assert found.blocks.sampled_share == 1
    assert found.blocks.footprint_bytes == 2000 * 4096 + 4096
    assert found.blocks.read_footprint_bytes == 4096
    assert found.places.sequential_write_share == 999 / 1000
    assert found.places.sequential_read_share == 0
    assert dict(found.places.aligned)[8192] == 0.5
    assert found.queue is not None
    assert found.queue.depth.max == 2
    assert found.durability.fua_share == 0.1
    assert found.durability.flush_interval_ns is not None
    assert found.durability.flush_interval_ns.p50 == pytest.approx(100 * MS, rel=1e-3)
    assert found.durability.bytes_between_flushes is not None
    assert found.durability.bytes_between_flushes.p50 == pytest.approx(81920, rel=1e-3)
    assert [one.name for one in found.volumes] == ["a", "b"]
    assert sum(one.writes for one in found.over_time.intervals) == 1000
    dispersion = {one.window_ns: one.index for one in found.arrivals.dispersion}
    assert dispersion[100 * MS] == pytest.approx(0, abs=1e-6)


def test_the_terminal_and_the_page_say_it(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["trace", "info", str(trace), "--html", str(page)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    text = page.read_text()
    for phrase in ("10.0 % with FUA", "queue depth", "index of dispersion", "hottest"):
        assert phrase in said
        assert phrase in text
    assert "<script" not in text
    assert main(["trace", "info", str(trace), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "fourcorners/trace-info"
    assert document["ios"] == 2100


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fio version 3 iolog\n0 a add\n9 a close\n", "no I/Os"),
        ("0,0,4096\n1,4096,4096\n", "2 I/Os, all at the same time"),
        ("fio version 3 iolog\n5 a read 0 4096\n", "1 I/O"),
    ],
)
def test_a_trace_without_a_length_has_no_rate_and_no_unit(
    tmp_path: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.iolog"
    file.write_text(text, "utf-8")
    assert main(["trace", "info", str(file)]) == 0
    [line] = [one for one in capsys.readouterr().out.splitlines() if one.startswith("length")]
    assert line.removeprefix("length").strip() == said


def test_plots_of_reuse_are_in_proportion_and_end_with_whole_intervals(tmp_path: Path) -> None:
    # Blocks come back after one other block, then after two thousand: nothing lies between.
    places = [n // 4 * 8192 + n % 2 * 4096 for n in range(4000)]
    rows = [f"{n * 1000},read,0,{at},4096,a,,,," for n, at in enumerate(places * 2)]
    page, path = tmp_path / "page.html", made(tmp_path / "reused.csv", rows)
    assert main(["trace", "info", str(path), "--html", str(page)]) == 0
    text = page.read_text()
    plot = text.partition("<h3>Reuse")[2].partition("</svg>")[0]
    lines = re.findall(r'points="([^"]+)"', plot)
    curve = [tuple(map(float, point.split(","))) for point in lines[0].split()]
    assert len(curve) == 2
    assert [x for x, _ in curve] == [0, 720]
    ticks = re.findall(r">(\d+ [KM]iB)<", plot + text.partition("<h3>Reuse")[2][:4000])
    assert ticks[:2] == ["4 KiB", "32 KiB"]
    # Of the last interval the trace fills a part: it would be drawn as a fall.
    found = fc.trace_info(path)
    assert len(found.over_time.whole(found.length_ns)) == len(found.over_time.intervals) - 1


def times(path: Path) -> list[int]:
    return [value.as_py() for value in pq.read_table(path)["time_ns"]]


def test_a_cut_without_an_io_says_so(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["trace", "cut", str(trace), str(tmp_path / "cut.parquet"), "--from-s", "1000000"]
    assert main(words) == 0
    assert "there is no I/O in it" in capsys.readouterr().out


def test_a_cut_keeps_a_time_and_a_volume(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "cut.parquet"
    written = fc.trace_cut(trace, out, from_s=1.0, to_s=2.0, volume=["b"])
    assert written.ios == 100
    assert times(out) == [MS + 10 * MS * number for number in range(100)]
    assert "cut: I/Os from 1 s to 2 s of the volumes b" in written.header.origin
    with pytest.raises(fc.UserError, match='no volume "c": it has a, b'):
        fc.trace_cut(trace, tmp_path / "none.parquet", volume=["c"])
    with pytest.raises(fc.UserError, match="nothing lies between"):
        fc.trace_cut(trace, tmp_path / "none.parquet", from_s=2.0, to_s=2.0)


def test_a_cut_has_only_the_volumes_that_ios_are_left_of(trace: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.parquet"
    assert fc.trace_cut(trace, cut, volume=["b"]).header.volumes == ["b"]
    assert [one.name for one in fc.trace_info(cut).volumes] == ["b"]
    # So that a replay, which takes one volume, takes it.
    assert json.loads(_core.trace_survey([str(cut)]))["volumes"] == ["b"]
    both = tmp_path / "both.parquet"
    assert fc.trace_cut(trace, both, to_s=100).header.volumes == ["a", "b"]


def test_a_volume_without_an_io_is_none_for_a_replay(tmp_path: Path) -> None:
    text = "  8,0 1 1 0.000001 9 D W 8 + 8 [k]\n  8,16 1 2 0.000002 9 R W 8 + 8 [0]\n"
    path = tmp_path / "requeued.txt"
    path.write_text(text)
    assert json.loads(_core.trace_survey([str(path)]))["volumes"] == ["8,0"]


def test_a_cut_keeps_its_date(tmp_path: Path) -> None:
    path = tmp_path / "dated.csv"
    path.write_text("1,R,0,4096,1577808144000000\n2,R,0,4096,1577808147000000\n")
    # The volume turns up behind the end of the cut only: nothing is left, and it is no mistake.
    written = fc.trace_cut(path, tmp_path / "cut.parquet", from_s=1.0, to_s=2.0, volume=["2"])
    assert written.ios == 0
    assert written.header.start_unix_ns == 1577808145 * 10**9


def test_memory_is_bounded(tmp_path: Path) -> None:
    """Of a trace twice as long no more is taken, whatever is done."""
    program = (
        "import sys, fourcorners as fc; fc.trace_info(sys.argv[1]);"
        "fc.trace_convert(sys.argv[1], sys.argv[2], replace=True);"
        # Of the program alone: what getrusage tells begins with that of this process.
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    )
    taken = []
    for count in (2_000_000, 4_000_000):
        records = np.zeros(count, dtype=[("t", "<u4"), ("o", "<u8"), ("l", "<u4"), ("n", "<i8")])
        records["t"] = np.arange(count) // 1000
        records["o"] = np.arange(count) * 7919 % 2**31
        records["l"], records["n"] = 4096, -1
        path = tmp_path / f"{count}.bin"
        records.tofile(path)
        words = [sys.executable, "-c", program, str(path), str(tmp_path / "out.parquet")]
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        taken.append(int(said))
    # By then all that is bounded is full; the records that are more are 144 MB in memory.
    assert taken[1] - taken[0] < 20_000


def test_merged_traces_go_by_their_dates(tmp_path: Path) -> None:
    early, late = tmp_path / "early.csv", tmp_path / "late.csv"
    early.write_text("1,R,0,4096,1577808144000000\n1,R,0,4096,1577808146000000\n")
    late.write_text("2,W,0,4096,1577808145000000\n")
    written = fc.trace_merge(tmp_path / "m.parquet", late, early)
    assert times(tmp_path / "m.parquet") == [0, 10**9, 2 * 10**9]
    assert written.header.start_unix_ns == 1577808144 * 10**9
    assert sorted(written.header.volumes) == ["1", "2"]
    # Through files of ours the dates stay.
    for one in (early, late):
        fc.trace_convert(one, one.with_suffix(".parquet"))
    again = fc.trace_merge(
        tmp_path / "again.parquet", early.with_suffix(".parquet"), late.with_suffix(".parquet")
    )
    assert times(tmp_path / "again.parquet") == [0, 10**9, 2 * 10**9]
    assert again.header.start_unix_ns == written.header.start_unix_ns


def test_scaled_times_are_a_multiple(trace: Path, tmp_path: Path) -> None:
    fc.trace_scale(trace, tmp_path / "fast.parquet", factor=0.5)
    fc.trace_convert(trace, tmp_path / "same.parquet")
    same = times(tmp_path / "same.parquet")
    assert times(tmp_path / "fast.parquet") == [time // 2 for time in same]
    with pytest.raises(fc.UserError, match="give a factor above 0"):
        fc.trace_scale(trace, tmp_path / "x.parquet", factor=0)


@pytest.mark.parametrize("spread", [False, True])
def test_a_folded_trace_fits_and_says_so(trace: Path, tmp_path: Path, spread: bool) -> None:
    out = tmp_path / "folded.parquet"
    span = 1 << 20
    written = fc.trace_fold(trace, out, span=span, spread=spread)
    table = pq.read_table(out).to_pylist()
    assert len(table) == 2100
    assert max(row["offset_bytes"] + row["length_bytes"] for row in table) <= span
    writes = [row["offset_bytes"] for row in table if row["operation"] == "write"]
    if spread:
        assert writes == sorted(writes)
    else:
        # What lies together stays together, up to the end of the span.
        assert writes[:128] == [8192 * number for number in range(128)]
        assert writes[128] == 0
    assert "I/Os lie elsewhere than before" in written.header.origin[-1]
    with pytest.raises(fc.UserError, match="does not fit onto 4096 bytes"):
        fc.trace_fold(trace, tmp_path / "x.parquet", span="4KiB")


def test_an_anonymised_copy_names_nothing(tmp_path: Path) -> None:
    secret = tmp_path / "secret-host.csv"
    secret.write_text("128166372003061629,secret,0,Read,7014609920,24576,41286\n")
    written = fc.trace_convert(secret, tmp_path / "a.parquet", anonymise=True)
    assert written.header.volumes == ["volume 0"]
    assert written.header.start_unix_ns is None
    assert b"secret" not in (tmp_path / "a.parquet").read_bytes()
    own = made(tmp_path / "p.csv", ["0,read,0,0,512,a,,,4711,9", "1,read,0,0,512,a,,,4712,9"])
    fc.trace_convert(own, tmp_path / "p.parquet", anonymise=True)
    assert pq.read_table(tmp_path / "p.parquet")["process"].to_pylist() == [0, 1]


def test_a_file_that_is_there_is_left_alone(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "there.parquet"
    out.write_text("mine")
    with pytest.raises(fc.UserError, match="--replace"):
        fc.trace_convert(trace, out)
    assert out.read_text() == "mine"
    fc.trace_convert(trace, out, replace=True)
    assert len(times(out)) == 2100


def test_the_format_of_a_new_file_is_named_or_told_by_its_name(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", "convert", str(trace), str(tmp_path / "out")]) == 2
    assert "add --to parquet" in capsys.readouterr().err
    assert main(["trace", "convert", str(trace), str(tmp_path / "out"), "--to", "msr"]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert main(["trace", "convert", str(trace), str(tmp_path / "out.iolog")]) == 0
    assert "not carried by fio-iolog: FUA flags (100 I/Os)" in capsys.readouterr().out


def test_a_short_trace_has_intervals_and_ticks_of_its_own_length(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made(tmp_path / "short.csv", [f"{n * 1000},read,0,0,4096,a,,,," for n in range(500)])
    page = tmp_path / "short.html"
    assert main(["trace", "info", str(path), "--html", str(page)]) == 0
    said = capsys.readouterr().out
    # Half a millisecond, which a plot by the second would show as one dot.
    assert re.search(r"^\s*0 µs .* 400 µs", said, re.MULTILINE), said
    assert fc.trace_info(path).over_time.interval_ns == 8000
    text = page.read_text()
    under = re.findall(r'<span style="left: [0-9.]+%">([^<]+)</span>', text)
    assert under[:6] == ["0 s", "100 µs", "200 µs", "300 µs", "400 µs", "500 µs"]
    beside = re.findall(r'<span style="bottom: ([0-9.]+)%">([^<]+)</span>', text)
    assert beside[0] == ("0.00", "0")
    # The axis ends at a tick above the highest value, a million a second.
    assert ("100.00", "1,000,000") in beside
    assert '<span class="curve line-0">reads</span>' in text


OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
HOSTILE = "sd\x1b[31ma\x07\x9b2J\u202e\n<script>\x00"


def test_names_in_traces_are_not_obeyed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a terminal, in a page, and in what is made of the trace: names of volumes, of programs
    that wrote it, and of its file."""
    plain = made(tmp_path / "plain.csv", [f"{n},read,0,{4096 * n},4096,a,,,," for n in range(9)])
    own = tmp_path / "own.parquet"
    fc.trace_convert(plain, own)
    table = pq.read_table(own)
    header = json.loads(table.schema.metadata[b"fourcorners.trace"])
    header |= {"origin": [HOSTILE], "volumes": [HOSTILE], "format": HOSTILE}
    named = tmp_path / "\x1b[31mown.parquet"
    metadata = {b"fourcorners.trace": json.dumps(header).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), named, compression="zstd")
    # Bytes that are no text, as another tool's file may have.
    raw = tmp_path / "raw.csv"
    lines = (f"{n},read,0,{4096 * n},4096,".encode() + b"s\xff\x1b[2Jd,,,," for n in range(9))
    raw.write_bytes(b"\n".join([HEADER.encode(), *lines]) + b"\n")
    page, other = tmp_path / "page.html", tmp_path / "other.csv"
    for file in (named, raw):
        found = fc.trace_info(file, html=page)
        for text in (*found.header.origin, *found.header.volumes, found.header.format):
            assert not OBEYED.search(text)
            assert "\n" not in text
        assert "\ufffd[" in found.header.volumes[0]
        # A volume is found by the name that is shown.
        assert fc.trace_cut(file, other, volume=found.header.volumes, replace=True).ios == 9
        assert not OBEYED.search(other.read_text())
        assert not OBEYED.search(page.read_text())
        assert "<script>\ufffd" not in page.read_text()
        page.unlink()
        assert main(["trace", "info", str(file)]) == 0
        assert main(["trace", "convert", str(file), str(other), "--replace"]) == 0
        assert not OBEYED.search("".join(capsys.readouterr()))


def test_parquet_that_is_packed_otherwise_is_told(tmp_path: Path) -> None:
    own = tmp_path / "own.parquet"
    fc.trace_convert(made(tmp_path / "one.csv", ["5,read,0,0,4096,a,,,,"]), own)
    pq.write_table(pq.read_table(own), own, compression="snappy")
    with pytest.raises(fc.UserError, match="packed by another method than zstd"):
        fc.trace_info(own)
