"""Traces through every pair of formats that can carry them, with what each operation is."""

import gzip
import itertools
import shutil
import struct
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fourcorners as fc

HEADER = "time_ns,operation,fua,offset_bytes,length_bytes,volume,latency_ns,queue,process,stream"
ENDS = {"parquet": "parquet", "csv": "csv", "fio-iolog": "iolog", "blktrace": "bin"}
"""Formats that have operations."""
OPERATIONS = {
    "parquet": {"read", "write", "flush", "discard", "write-zeroes"},
    "csv": {"read", "write", "flush", "discard", "write-zeroes"},
    "fio-iolog": {"read", "write", "flush", "discard"},
    "blktrace": {"read", "write", "flush", "discard"},
}
HAVE_FUA = {"parquet", "csv", "blktrace"}
PAIRS = list(itertools.product(ENDS, repeat=2))

Io = tuple[int, str, bool, int, int, str]


@st.composite
def ios(draw: st.DrawFn) -> list[Io]:
    """I/Os in the order of time, on whole µs and sectors, which every format has."""
    found: list[Io] = []
    time_us = 0
    for _ in range(draw(st.integers(1, 30))):
        time_us += draw(st.integers(0, 2_000_000))
        operation = draw(st.sampled_from(sorted(OPERATIONS["parquet"])))
        fua = operation in ("write", "write-zeroes") and draw(st.booleans())
        flush = operation == "flush"
        offset = 0 if flush else 512 * draw(st.integers(0, 2**40))
        length = 0 if flush else 512 * draw(st.integers(1, 2048))
        volume = draw(st.sampled_from(["8:0", "8:16"]))
        found.append((time_us * 1000, operation, fua, offset, length, volume))
    return found


def write(path: Path, records: list[Io], processor: str = "") -> None:
    lines = [
        f"{time},{operation},{int(fua)},{offset},{length},{volume},,{processor},,"
        for time, operation, fua, offset, length, volume in records
    ]
    path.write_text("\n".join([HEADER, *lines]) + "\n")


def read(path: Path) -> list[tuple[Any, ...]]:
    table = pq.read_table(path).select(
        ["time_ns", "operation", "fua", "offset_bytes", "length_bytes"]
    )
    return [tuple(row.values()) for row in table.to_pylist()]


@settings(max_examples=5, deadline=None)
@given(records=ios())
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_operations_survive_every_pair_of_formats(
    first: str, second: str, records: list[Io]
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        carried = OPERATIONS[first] & OPERATIONS[second]
        keeps_fua = {first, second} <= HAVE_FUA
        write(folder / "a.csv", records)
        one = folder / f"b.{ENDS[first]}"
        two = folder / f"c.{ENDS[second]}"
        kept = [one for one in records if one[1] in carried]
        lost = fc.trace_convert(folder / "a.csv", one, to=first).lost
        if not [record for record in records if record[1] in OPERATIONS[first]]:
            return
        lost_again = fc.trace_convert(one, two, to=second).lost
        if not kept:
            return
        fc.trace_convert(two, folder / "d.parquet")
        assert read(folder / "d.parquet") == [
            (time, operation, fua and keeps_fua, offset, length)
            for time, operation, fua, offset, length, _ in kept
        ]
        # What does not survive is said.
        told = {**lost, **lost_again}
        assert ("FUA flags" in told) == (not keeps_fua and any(one[2] for one in kept))
        gone = any(one[1] == "write-zeroes" for one in records) and "write-zeroes" not in carried
        assert gone == ("write-zeroes, which are left out" in told)


def rows(folder: Path) -> list[Io]:
    found: list[Io] = []
    for number in range(200):
        operation = ("write", "read", "flush", "discard")[number % 4]
        place = 0 if operation == "flush" else 512 * (number * 97 % 1000)
        length = 0 if operation == "flush" else 4096
        fua = operation == "write" and number % 8 == 0
        found.append((number * 1_000_000, operation, fua, place, length, "8,0"))
    write(folder / "a.csv", [(*one[:5], "8:0") for one in found])
    return found


def test_blkparse_reads_what_we_write_and_we_read_what_it_prints(tmp_path: Path) -> None:
    if shutil.which("blkparse") is None:
        pytest.skip("needs blkparse: apt install blktrace")
    expected = rows(tmp_path)
    fc.trace_convert(tmp_path / "a.csv", tmp_path / "a.parquet")
    # As blktrace names it; half of the I/Os for each of two processors.
    halves = [tmp_path / "sda.blktrace.0", tmp_path / "sda.blktrace.1"]
    for half, path in enumerate(halves):
        mine = [(*one[:5], "8:0") for one in expected[half::2]]
        write(tmp_path / "half.csv", mine, str(half))
        fc.trace_convert(tmp_path / "half.csv", path, to="blktrace")
    text = subprocess.run(
        ["blkparse", "-q", "-i", str(tmp_path / "sda")], capture_output=True, text=True, check=True
    ).stdout
    printed = tmp_path / "printed.txt"
    printed.write_text(text)
    wanted = [one[:5] for one in expected]
    for path in halves:
        packed = path.parent / "packed" / f"{path.name}.gz"
        packed.parent.mkdir(exist_ok=True)
        packed.write_bytes(gzip.compress(path.read_bytes()))
    for source in (printed, halves[0], packed):
        fc.trace_convert(source, tmp_path / "out.parquet", replace=True)
        assert read(tmp_path / "out.parquet") == wanted, source


def test_a_file_named_as_of_a_processor_is_of_that_one_for_blkparse(tmp_path: Path) -> None:
    if shutil.which("blkparse") is None:
        pytest.skip("needs blkparse: apt install blktrace")
    rows(tmp_path)
    for number in (0, 1):
        write(tmp_path / "half.csv", [(number * 1000, "read", False, 0, 4096, "8:0")], str(number))
        fc.trace_convert(tmp_path / "half.csv", tmp_path / f"{number}.parquet")
    both = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    written = fc.trace_merge(tmp_path / "sdb.blktrace.0", *both)
    assert written.lost["processors other than that of the file's name"] == 1
    printed = subprocess.run(
        ["blkparse", "-q", "-i", str(tmp_path / "sdb")], capture_output=True, text=True, check=True
    )
    assert printed.stdout.count(" D ") == 2
    assert "error" not in printed.stderr
    # Under another name it has all processors, as what blkparse -d makes.
    assert not fc.trace_merge(tmp_path / "sdb.bin", *both, to="blktrace").lost


def test_times_of_blktrace_count_from_its_first_event(tmp_path: Path) -> None:
    # The kernel counts from the start of the machine: a note at 7.5 s, and a read at 8 s.
    def event(time_ns: int, action: int, length: int, tail: int) -> bytes:
        head = (0x65617407, 1, time_ns, 8, length, action, 97, 8 << 20, 0, 0)
        return struct.pack("<IIQQIIIIIHH", *head, tail)

    text = b"start"
    note = event(7_500_000_000, 1 << 26 | 2, 0, len(text)) + text
    read_issued = event(8_000_000_000, 1 << 16 | 1 << 22 | 7, 4096, 0)
    for content, first_ns in ((note + read_issued, 500_000_000), (read_issued, 0)):
        path = tmp_path / f"{first_ns}.blktrace.0"
        path.write_bytes(content)
        fc.trace_convert(path, tmp_path / "own.parquet", replace=True)
        assert read(tmp_path / "own.parquet") == [(first_ns, "read", False, 4096, 4096)]
        # What we write keeps the zero, and by its name is blktrace's.
        fc.trace_convert(tmp_path / "own.parquet", tmp_path / "back.blktrace.0", replace=True)
        fc.trace_convert(tmp_path / "back.blktrace.0", tmp_path / "own.parquet", replace=True)
        assert read(tmp_path / "own.parquet") == [(first_ns, "read", False, 4096, 4096)]


def test_fio_writes_and_replays_what_we_read_and_write(tmp_path: Path) -> None:
    if shutil.which("fio") is None:
        pytest.skip("needs fio: apt install fio")
    file = tmp_path / "file"
    log, latencies = tmp_path / "made.log", tmp_path / "made"
    common = ["fio", "--name=a", f"--filename={file}", "--size=1m", "--bs=4k", "--output=/dev/null"]
    subprocess.run(
        [
            *common, "--rw=randwrite", "--fsync=8", "--number_ios=64", f"--write_iolog={log}",
            f"--write_lat_log={latencies}", "--log_offset=1",
        ],
        check=True,
    )  # fmt: skip
    fc.trace_convert(log, tmp_path / "made.parquet")
    made = read(tmp_path / "made.parquet")
    operations = [row[1] for row in made]
    assert operations.count("write") == 64
    assert operations.count("flush") in (7, 8, 9)
    fc.trace_convert(tmp_path / "made_clat.1.log", tmp_path / "latencies.parquet")
    logged = read(tmp_path / "latencies.parquet")
    places = sorted(row[3] for row in made if row[1] == "write")
    assert sorted(row[3] for row in logged if row[1] == "write") == places
    # fio replays what we make of it: the same places in the same order.
    fc.trace_convert(tmp_path / "made.parquet", tmp_path / "ours.iolog")
    again = tmp_path / "again"
    subprocess.run(
        [
            "fio", "--name=a", "--output=/dev/null", f"--read_iolog={tmp_path / 'ours.iolog'}",
            "--replay_no_stall=1", f"--write_lat_log={again}", "--log_offset=1",
        ],
        check=True,
    )  # fmt: skip
    replayed = [
        int(line.split(", ")[4])
        for line in (tmp_path / "again_lat.1.log").read_text().splitlines()
        if line.split(", ")[2] == "1"
    ]
    assert replayed == [row[3] for row in made if row[1] == "write"]


def test_what_has_no_place_for_names_and_dates_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("7,R,0,4096,1577808144360767\n9,W,0,4096,1577808144360867\n")
    dated = tmp_path / "dated.parquet"
    assert not fc.trace_convert(tmp_path / "a.csv", dated).lost
    as_blktrace = fc.trace_convert(dated, tmp_path / "b.blktrace.0", to="blktrace").lost
    assert as_blktrace == {"names of volumes, which become numbers": 2, "the date": 2}
    assert fc.trace_convert(dated, tmp_path / "b.csv").lost == {"the date": 2}
    # Devices have the numbers that they had, also by way of our CSV.
    write(tmp_path / "c.csv", [(0, "read", False, 0, 4096, "8:16")])
    assert not fc.trace_convert(tmp_path / "c.csv", tmp_path / "c.blktrace.0", to="blktrace").lost
    back = fc.trace_convert(tmp_path / "c.blktrace.0", tmp_path / "c.parquet")
    assert back.header.volumes == ["8,16"]
