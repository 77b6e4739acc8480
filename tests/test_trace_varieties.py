"""Varieties of traces as they lie about in the world: marks and ends of lines, recordings of a part
of the events, formats of simulators, and files that are no traces."""

import bz2
import gzip
import lzma
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from test_trace_formats import SAMPLES, rows, sample

import fourcorners as fc


def operations(path: Path, folder: Path) -> list[tuple[str, ...]]:
    """Time, operation, FUA, offset and length of each I/O."""
    return [row[:5] for row in rows(path, folder)]


def refusal(path: Path, folder: Path) -> str:
    with pytest.raises(fc.UserError) as caught:
        fc.trace_convert(path, folder / "out.parquet")
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("format", [name for name in SAMPLES if name not in ("etw", "nexus")])
def test_marks_and_ends_of_lines_of_windows_are_read(format: str, tmp_path: Path) -> None:
    text, _ = SAMPLES[format]
    plain = rows(sample(tmp_path, f"{format}.txt", text), tmp_path)
    path = tmp_path / "windows" / f"{format}.txt"
    path.parent.mkdir()
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert rows(path, tmp_path / "windows") == plain


def test_simulators_of_disks_have_ms_and_those_of_ssds_ns(tmp_path: Path) -> None:
    # Worked out by hand: 1.5 ms and 1500 ns after the first, sectors of 512 bytes, 1 is a read.
    disksim = sample(tmp_path, "a.trace", "2.5 0 16 8 1\n4.000 1 0 1 0\n")
    assert [row[:6] for row in rows(disksim, tmp_path)] == [
        ("2500000", "read", "0", "8192", "4096", "0"),
        ("4000000", "write", "0", "0", "512", "1"),
    ]
    mqsim = sample(tmp_path, "b.trace", "1000 0 16 8 1\n2500 0 0 16 0\n")
    assert operations(mqsim, tmp_path) == [
        ("1000", "read", "0", "8192", "4096"),
        ("2500", "write", "0", "0", "8192"),
    ]
    erase = sample(tmp_path, "c.trace", "1000 0 16 8 1\n2500 0 0 16 2\n")
    assert "neither 0 (write) nor 1 (read)" in refusal(erase, tmp_path)


def vscsi_1(command: int, sector: int, length: int, time_us: int) -> bytes:
    return struct.pack("<IIIHHQQ", 1, length, 1, command, 0x100, sector, time_us)


def vscsi_2(command: int, sector: int, length: int, time_us: int, response_us: int) -> bytes:
    return struct.pack("<HHIIIQQQ", command, 0x200, 1, length, 1, sector, time_us, response_us)


def test_both_versions_of_vscsi_are_read(tmp_path: Path) -> None:
    one = tmp_path / "w1.vscsi"
    one.write_bytes(
        vscsi_1(0x28, 8, 4096, 5_000_000)
        + vscsi_1(0x00, 0, 0, 5_000_001)
        + vscsi_1(0x2A, 16, 512, 5_000_002)
        + vscsi_1(0x35, 0, 0, 5_000_003)
    )
    assert operations(one, tmp_path) == [
        ("0", "read", "0", "4096", "4096"),
        ("2000", "write", "0", "8192", "512"),
        ("3000", "flush", "0", "0", "0"),
    ]
    two = tmp_path / "w2.vscsi"
    two.write_bytes(vscsi_2(0x88, 8, 4096, 7, 250) + vscsi_2(0x8A, 16, 512, 9, 40))
    assert [row[:7] for row in rows(two, tmp_path)] == [
        ("0", "read", "0", "4096", "4096", "w2", "250000"),
        ("2000", "write", "0", "8192", "512", "w2", "40000"),
    ]
    two.write_bytes(two.read_bytes()[:-3])
    assert "ends within an I/O" in refusal(two, tmp_path)
    one.write_bytes(vscsi_1(0x28, 8, 4096, 5) * 20 + b"\xff" * 32)
    assert "I/O 20: it is no command of vscsi" in refusal(one, tmp_path)


def blkparse(*events: tuple[str, str, int]) -> str:
    return "".join(
        f"  {device}    1  {number}  {time / 1e6:.9f}  99  {action}  W {sector} + 8 [x]\n"
        for number, (device, action, sector) in enumerate(events, 1)
        for time in [number]
    )


def test_a_recording_of_completions_alone_is_read(tmp_path: Path) -> None:
    path = sample(tmp_path, "c.txt", blkparse(("1,0", "C", 8), ("1,0", "C", 64)))
    assert [row[:7] for row in rows(path, tmp_path)] == [
        ("1000", "write", "0", "4096", "4096", "1:0", ""),
        ("2000", "write", "0", "32768", "4096", "1:0", ""),
    ]
    # What completes first of a device that is seen to issue was issued before the recording.
    path = sample(tmp_path, "d.txt", blkparse(("1,0", "C", 8), ("1,0", "D", 64), ("1,0", "C", 64)))
    assert [row[3] for row in rows(path, tmp_path)] == ["32768"]


def test_a_device_that_comes_late_is_not_counted_twice(tmp_path: Path) -> None:
    busy = [("8,0", action, 8 * number) for number in range(23_000) for action in "QDC"]
    late = [("8,16", action, 8 * number) for number in range(3) for action in "QDC"]
    path = sample(tmp_path, "late.txt", blkparse(*busy, *late))
    volumes = [row[5] for row in rows(path, tmp_path)]
    assert (volumes.count("8:0"), volumes.count("8:16")) == (23_000, 3)


def test_the_group_of_threads_is_not_the_process(tmp_path: Path) -> None:
    # tracefs with its option record-tgid, which pads; systrace prints the same.
    line = "waker-10   (   12) [003] .... 5.0: block_rq_issue: 8,0 R 4096 () 8 + 8 [waker]\n"
    path = sample(tmp_path, "systrace.txt", line)
    assert [row[7:9] for row in rows(path, tmp_path)] == [("3", "10")]


def test_the_header_of_xperf_says_where_its_columns_are(tmp_path: Path) -> None:
    # Newer versions put the processor behind the thread.
    names = "TimeStamp, Process Name ( PID), ThreadID, CPU, IrpPtr, "
    path = sample(
        tmp_path,
        "new.csv",
        f"BeginHeader\nDiskRead, {names}ByteOffset, IOSize, ElapsedTime, DiskNum\n"
        f"DiskFlush, {names}ElapsedTime, DiskNum\nEndHeader\n"
        "DiskRead, 2000, a.exe (4), 12, 3, 0xffff8000, 0x0000001000, 0x00002000, 500, 1, 0x1\n"
        "DiskFlush, 3000, a.exe (4), 12, 0, 0xffff8000, 1000, 1, 0x1\n",
    )
    assert [row[:9] for row in rows(path, tmp_path)] == [
        ("0", "read", "0", "4096", "8192", "1", "500000", "3", "4"),
        ("500000", "flush", "0", "0", "0", "1", "1000000", "0", "4"),
    ]


def test_events_of_the_accounting_of_blocks_are_read_where_there_are_no_others(
    tmp_path: Path,
) -> None:
    def event(us: int, name: str, sector: int) -> str:
        return f" fio-9 [001] .... 5.{us:06}: {name}: 8,0 W 4096 () {sector} + 8 none,0,0 [fio]\n"

    alone = event(0, "block_io_start", 8) + event(40, "block_io_done", 8)
    path = sample(tmp_path, "accounting.txt", alone)
    assert [row[:7] for row in rows(path, tmp_path)] == [
        ("0", "write", "0", "4096", "4096", "8:0", "40000"),
    ]
    # Beside what was queued it is the same I/O once more.
    queued = " fio-9 [001] .... 4.9: block_bio_queue: 8,0 W 8 + 8 [fio]\n"
    path = sample(tmp_path, "both.txt", queued + alone)
    assert [row[:5] for row in rows(path, tmp_path)] == [("0", "write", "0", "4096", "4096")]


FOREIGN = {
    "fio's log without places": (b"0, 24061, 1, 4096, 0\n0, 3290, 1, 4096, 0\n", "log_offset=1"),
    "fio's log of old": (b"0, 24061, 1, 4096\n0, 3290, 1, 4096\n", "log_offset=1"),
    "fio's log with a priority": (b"0, 24061, 1, 4096, 0x0000\n", "log_offset=1"),
    "fio's averages": (b"10, 2454781, 0, 0, 0, 0\n10, 10297, 1, 0, 0, 0\n", "log_avg_msec"),
    "fio's histograms": (b"14, 0, 4096" + b", 0" * 600 + b"\n", "histograms"),
    "fio's result": (b'{\n  "fio version" : "fio-3.33",\n', "fourcorners import"),
    "zip": (b"PK\x03\x04\x14\0\0\0", "unzip"),
    "PowerShell's text": (b"\xff\xfe" + SAMPLES["spc"][0].encode("utf-16-le"), "UTF-16"),
    "perf's recording": (b"PERFILE2" + bytes(99), "perf script"),
    "a pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"),
    "a page": (b"<!DOCTYPE html>\n<html><body>404</body></html>\n", "page of the web"),
    "biosnoop of bpftrace": (b"TIME(ms)  DISK  COMM  PID  LAT(ms)\n", "does not say where"),
    "fio's packed log": (b"\x78\x9c\x8d\x9d\x69\xd4\x14\xd5", "fio --inflate-log"),
    "a file that was never written": (bytes(4800), "zeros only"),
    "oracleGeneral that is cut off": (
        struct.pack("<IQIq", 9, 8, 4096, -1) * 9 + bytes(7),
        "ends within an I/O",
    ),
    "DiskSim's validation": (b"W Hit 458 4 663.00 45422.00\nR Miss 3 8 9.0 1.0\n", "validated"),
    "Process Monitor": (
        b'"Time of Day","Process Name","PID","Operation","Path"\n"1:02","a","4","ReadFile",""\n',
        "DISK_IO",
    ),
    "xperf's table": (b"IO Type, Start Time, Disk Service Time,QD/I\nRead, 1, 2, 0\n", "dumper"),
    "NVMe's events": (b" a-1 [0] 1.0: nvme_setup_cmd: nvme0: qid=1\n", "block_rq_issue"),
    "a histogram": (b"@us:\n[4, 8)   3 |@@@@      |\n", "bpftrace"),
    "Tectonic": (b"# block_id io_offset io_size op_time\n1 0 4096 1.0\n", "file system"),
    "Thesios": (b"filename,file_offset,request_io_size_bytes\na,0,1\n", "in files"),
    "BCC's histogram": (
        b"Tracing... Hit Ctrl-C to end.\n     usecs         : count     distribution\n"
        b"         0 -> 1          : 12       |*****     |\n",
        "BCC",
    ),
    "words": (b"Offset;Length\n8;16\n", 'beginning with "Offset;Length"'),
    # Words that mean something in the header of a table mean nothing in different lines.
    "a text about tracing": (
        b"Tracing\n======= \nMake the object files first.\nThe time of an event is in ns.\n",
        'beginning with "Tracing"',
    ),
    "a text about events": (
        b"Print sectors:\n# trace block:block_rq_complete\n# tplist block:block_rq_complete -v\n",
        'beginning with "Print sectors:"',
    ),
    "empty lines": (b"\n \r\n\n", "empty lines only"),
    "hashes": (struct.pack("<IQIq", 9, 2**63 + 5, 100, -1) * 9, "no sectors of a drive"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_file_that_is_no_trace_is_called_what_it_seems_to_be(what: str, tmp_path: Path) -> None:
    content, word = FOREIGN[what]
    path = tmp_path / "lat.1.log"
    path.write_bytes(content)
    assert word in refusal(path, tmp_path)


def test_a_line_that_does_not_fit_is_told_with_the_format(tmp_path: Path) -> None:
    # With blanks behind its commas a trace of Tencent looks like a log of fio.
    path = sample(tmp_path, "tencent.csv", "1538323200, 8, 8, 1, 1283\n" * 9)
    assert 'line 1: the direction "8" is none (read as a write log of fio)' in refusal(
        path, tmp_path
    )


def test_only_latencies_of_fio_s_logs_are_latencies(tmp_path: Path) -> None:
    for name, latency in (("a_lat", "1000"), ("a_clat", "1000"), ("a_slat", ""), ("a_bw", "")):
        path = sample(tmp_path, f"{name}.1.log", "1, 1000, 1, 4096, 0, 0\n")
        [row] = rows(path, tmp_path)
        assert (row[0], row[6]) == ("999000" if latency else "1000000", latency), name


def test_a_log_with_places_is_told_by_all_of_its_columns(tmp_path: Path) -> None:
    old = sample(tmp_path, "old_lat.1.log", "1, 1000, 1, 4096, 0\n1, 1000, 1, 4096, 4096\n")
    assert [row[3] for row in rows(old, tmp_path)] == ["0", "4096"]
    new = sample(tmp_path, "new_lat.1.log", "1, 1000, 1, 4096, 0, 0x0000\n")
    assert [row[3] for row in rows(new, tmp_path)] == ["0"]


def test_tables_of_biosnoop_have_letters_and_more_columns_by_its_options(tmp_path: Path) -> None:
    head = "TIME(s) COMM PID DISK T SECTOR BYTES P QUE(ms) LAT(ms)\n"
    path = sample(
        tmp_path,
        "a.txt",
        head
        + "0.000000 kworker/1:1H 44 vda FF 0 0 ? 0.010 0.100\n"
        + "0.001000 jbd2/vda-8 193 vda FWFS 8 4096 S 0.020 0.400\n"
        + "0.002000 fstrim 7 vda DS 4096 65536 R 0.000 0.200\n",
    )
    assert [row[:7] for row in rows(path, tmp_path)] == [
        ("0", "flush", "0", "0", "0", "vda", "100000"),
        ("700000", "flush", "0", "0", "0", "vda", ""),
        ("700000", "write", "1", "4096", "4096", "vda", "400000"),
        ("1900000", "discard", "0", "2097152", "65536", "vda", "200000"),
    ]
    cut = sample(tmp_path, "b.txt", head + "0.000000 fio 44 vda W 8 4096\n")
    assert "line 2: the bytes" in refusal(cut, tmp_path)


def test_blkparse_with_columns_of_its_own_is_refused_without_places(tmp_path: Path) -> None:
    for end in ("", " 2048 8"):
        path = sample(tmp_path, "own.txt", f"  8,0 1 100 0.000001000 97 D W{end}\n")
        assert "let blkparse print its default output" in refusal(path, tmp_path)
    # Flushes and commands of the driver have no place in the default output either.
    path = sample(
        tmp_path,
        "default.txt",
        "  8,0 1 1 0.000001000 97 D FN [k]\n  8,0 1 2 0.000002000 97 C FN 0 [0]\n"
        "  8,0 1 3 0.000003000 97 D R 36 (a0 00 00) [smartd]\n"
        "  8,0 1 4 0.000004000 97 D R 36 [smartd]\n",
    )
    assert operations(path, tmp_path) == [("1000", "flush", "0", "0", "0")]


def test_numbers_as_programs_print_them_are_read(tmp_path: Path) -> None:
    systor = "1455592261.493512000,{},R,2,4096,512\n"
    for response, latency in (("5.51e-04", "551000"), ("1E-12", "0"), ("-0.000100", ""), ("", "")):
        path = sample(tmp_path, "systor.csv", systor.format(response))
        assert rows(path, tmp_path)[0][6] == latency, response
    spc = sample(tmp_path, "exponents.spc", "0,8,512,r,1.25e-02\n0,8,512,w,2.5E+0\n")
    assert [row[0] for row in rows(spc, tmp_path)] == ["12500000", "2500000000"]
    for time in ("1e400", "1e", "e5", "1e5e5", "9e18"):
        path = sample(tmp_path, "wrong.spc", f"0,8,512,r,0.5\n0,8,512,r,{time}\n")
        assert "is not a number of seconds" in refusal(path, tmp_path)


def test_msr_with_small_letters_and_a_clock_that_was_set_back_is_read(tmp_path: Path) -> None:
    line = "128166372003061629,hm,0,{},4096,512,{}\n"
    text = line.format("read", 10) + line.format("WRITE", -5)
    assert [row[1::5] for row in rows(sample(tmp_path, "m.csv", text), tmp_path)] == [
        ("read", "1000"),
        ("write", ""),
    ]


def test_long_transfers_in_sectors_are_no_bytes(tmp_path: Path) -> None:
    # 256 KiB each, as of a backup: 512 sectors, a multiple of 512.
    backup = "".join(f"{number} 0 {number * 512} 512 0\n" for number in range(100))
    assert rows(sample(tmp_path, "backup.trace", backup), tmp_path)[0][4] == "262144"
    bytes_instead = backup.replace(" 512 0", " 4096 0")
    path = sample(tmp_path, "bytes.trace", bytes_instead)
    assert "multiples of 512" in refusal(path, tmp_path)


@pytest.mark.parametrize(
    "pack",
    [gzip.compress, bz2.compress, lzma.compress, partial(pa.compress, codec="zstd", asbytes=True)],
    ids=["gzip", "bzip2", "xz", "zstd"],
)
def test_a_packed_trace_that_is_cut_off_is_called_so(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    text = "".join(f"{number * 7919 % 1000},{number},512,r,0.5\n" for number in range(100_000))
    path = tmp_path / "cut.spc"
    path.write_bytes(pack(text.encode())[:-1000])
    assert f"{path} is cut off" in refusal(path, tmp_path)
