"""Every format that is read: samples by its description, checked by hand, and malformed ones."""

import bz2
import gzip
import io
import lzma
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import fourcorners as fc

COLUMNS = ("time_ns", "operation", "fua", "offset_bytes", "length_bytes", "volume", "latency_ns")


def rows(path: Path, folder: Path) -> list[tuple[str, ...]]:
    """What a trace holds, by our CSV."""
    out = folder / f"{path.name}.rows.csv"
    fc.trace_convert(path, out, replace=True)
    return [tuple(line.split(",")) for line in out.read_text().splitlines()[1:]]


def sample(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


MSR = """128166372003061629,usr,0,Read,7014609920,24576,41286
128166372016382155,usr,0,Write,1317441536,8192,1963
"""
SAMPLES = {
    "msr": (
        MSR,
        [
            ("0", "read", "0", "7014609920", "24576", "usr.0", "4128600"),
            ("1332052600", "write", "0", "1317441536", "8192", "usr.0", "196300"),
        ],
    ),
    "alibaba": (
        "419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813\n",
        [
            ("0", "write", "0", "8792731648", "16384", "419", ""),
            ("46000", "read", "0", "59110326272", "360448", "725", ""),
        ],
    ),
    "tencent": (
        "1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1627\n",
        [
            ("0", "read", "0", str(12910952 * 512), "65536", "1063", ""),
            ("1000000000", "write", "0", str(6338688 * 512), "4096", "1627", ""),
        ],
    ),
    "systor": (
        "Timestamp,Response,IOType,LUN,Offset,Size\n"
        "1455592261.493512000,0.000551,R,2,2147483648,4096\n"
        "1455592261.593512000,0.001,W,2,0,512\n",
        [
            ("0", "read", "0", "2147483648", "4096", "2", "551000"),
            ("100000000", "write", "0", "0", "512", "2", "1000000"),
        ],
    ),
    "spc": (
        "0,20941264,8192,W,0.551706\n1,3436288,15872,r,1.011732,extra\n",
        [
            ("551706000", "write", "0", str(20941264 * 512), "8192", "0", ""),
            ("1011732000", "read", "0", str(3436288 * 512), "15872", "1", ""),
        ],
    ),
    "fiu": (
        "329131208190249 4892 syslogd 904265560 8 W 6 0 531e779\n"
        "329131208214442 4892 syslogd 904265568 16 R 6 0 2fe0f2\n",
        [
            ("0", "write", "0", str(904265560 * 512), "4096", "6:0", ""),
            ("24193", "read", "0", str(904265568 * 512), "8192", "6:0", ""),
        ],
    ),
    "nexus": (
        "1024\t\t8\t\t4096\t\t5\t\t10.5\t\t10.6\t\t10.7\t\t11.0\n"
        "2048\t\t16\t\t8192\t\t2\t\t12.5\t\t12.6\t\t12.7\t\t12.75\n",
        [
            ("0", "write", "0", "524288", "4096", "nexus", "500000000"),
            ("2000000000", "read", "0", "1048576", "8192", "nexus", "250000000"),
        ],
    ),
    "etw": (
        "BeginHeader\nDiskRead, TimeStamp, Process Name ( PID), ThreadID\nEndHeader\n"
        "DiskRead, 2000, System ( 4), 12, 0xf, 0x0000001000, 0x00002000, 500, 1, 0x1, 1\n"
        "DiskFlush, 3000, sql.exe (812), 12, 0xf, 1000, 1\n"
        "FileIo, 1\n",
        [
            ("0", "read", "0", "4096", "8192", "1", "500000"),
            ("500000", "flush", "0", "0", "0", "1", "1000000"),
        ],
    ),
    "diskmon": (
        "0\t0.000000\t0.00025000\t0\tWrite\t2048\t8\t\n1\t1.500250\t0.00000000\t1\tRead\t16\t1\t\n",
        [
            ("0", "write", "0", "1048576", "4096", "0", ""),
            ("1500250000", "read", "0", "8192", "512", "1", ""),
        ],
    ),
    "fio-iolog": (
        "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda write 4096 512\n"
        "/dev/sda wait 100 0\n/dev/sda datasync 0 0\n/dev/sda trim 8192 4096\n/dev/sda close\n",
        [
            ("0", "write", "0", "4096", "512", "/dev/sda", ""),
            ("100000", "flush", "0", "0", "0", "/dev/sda", ""),
            ("100000", "discard", "0", "8192", "4096", "/dev/sda", ""),
        ],
    ),
    "fio-log": (
        "2, 500000, 0, 4096, 61440, 0\n3, 1000000, 1, 8192, 0, 0\n",
        [
            ("1500000", "read", "0", "61440", "4096", "fio-log", "500000"),
            ("2000000", "write", "0", "0", "8192", "fio-log", "1000000"),
        ],
    ),
    "blkparse": (
        "  8,0    1        1     0.000000000   100  Q FWFS 2048 + 8 [jbd2]\n"
        "  8,0    1        2     0.000001000   100  D  FN [jbd2]\n"
        "  8,0    1        3     0.000003000   100  C  FN 0 [0]\n"
        "  8,0    1        4     0.000004000   100  D WFS 2048 + 8 [jbd2]\n"
        "  8,0    0        5     0.000005000   101  D   D 4096 + 16 [fstrim]\n"
        "  8,0    1        6     0.000009000     0  C WFS 2048 + 8 [0]\n"
        "CPU0 (8,0):\n Reads Queued:           0,        0KiB\n",
        [
            ("1000", "flush", "0", "0", "0", "8:0", "2000"),
            ("4000", "write", "1", "1048576", "4096", "8:0", "5000"),
            ("5000", "discard", "0", "2097152", "8192", "8:0", ""),
        ],
    ),
    # Over midnight; 33 is a synchronous write, 1569 has a flush before it and FUA, 1280 is a flush,
    # 2 a discard and 0 none of these. A program may be called anything.
    "lttng": (
        "[23:59:59.000000000] (+?.?????????) box block_rq_issue: { cpu_id = 1 }, { dev = 8388624, "
        'sector = 2048, nr_sector = 8, bytes = 4096, tid = 97, rwbs = 33, comm = "fio" }\n'
        "[23:59:59.000000005] (+0.000000005) box sched_switch: { cpu_id = 1 }, { prev_tid = 9 }\n"
        "[23:59:59.001000000] (+0.000999995) box block_rq_issue: { cpu_id = 1 }, { dev = 8388624, "
        "sector = 4096, nr_sector = 16, bytes = 8192, tid = 97, rwbs = 4, "
        'comm = "a, rwbs = 1 }" }\n'
        "[23:59:59.002000000] (+0.001000000) box block_rq_complete: { cpu_id = 1 }, "
        "{ dev = 8388624, sector = 2048, nr_sector = 8, error = 0, rwbs = 33 }\n"
        "[23:59:59.003000000] (+0.001000000) box block_rq_issue: { cpu_id = 1 }, { dev = 8388624, "
        'sector = 0, nr_sector = 0, bytes = 0, tid = 97, rwbs = 1280, comm = "jbd2" }\n'
        "[23:59:59.004000000] (+0.001000000) box block_rq_complete: { cpu_id = 1 }, "
        "{ dev = 8388624, sector = 18446744073709551615, nr_sector = 0, error = 0, rwbs = 1280 }\n"
        "[23:59:59.005000000] (+0.001000000) box block_rq_issue: { cpu_id = 1 }, { dev = 8388624, "
        'sector = 8, nr_sector = 8, bytes = 4096, tid = 97, rwbs = 1569, comm = "jbd2" }\n'
        "[00:00:00.000000000] (+0.994000000) box block_rq_issue: { cpu_id = 1 }, { dev = 8388624, "
        'sector = 64, nr_sector = 128, bytes = 65536, tid = 97, rwbs = 2, comm = "fstrim" }\n'
        "[00:00:00.100000000] (+0.100000000) box block_rq_issue: { cpu_id = 1 }, { dev = 8388624, "
        'sector = 8, nr_sector = 8, bytes = 4096, tid = 97, rwbs = 0, comm = "zeroes" }\n',
        [
            ("0", "write", "0", "1048576", "4096", "8:16", "2000000"),
            ("1000000", "read", "0", "2097152", "8192", "8:16", ""),
            ("3000000", "flush", "0", "0", "0", "8:16", "1000000"),
            ("5000000", "flush", "0", "0", "0", "8:16", ""),
            ("5000000", "write", "1", "4096", "4096", "8:16", ""),
            ("1000000000", "discard", "0", "32768", "65536", "8:16", ""),
        ],
    ),
    # The second program has two words; what completes first is not what was issued first.
    "biosnoop": (
        "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n"
        "0.000000    jbd2/sda2-8    193     sda       W 9176664    8192      0.50\n"
        "0.002000    Web Content    1234    nvme0n1   R 16         4096      1.25\n",
        [
            ("0", "write", "0", str(9176664 * 512), "8192", "sda", "500000"),
            ("1250000", "read", "0", "8192", "4096", "nvme0n1", "1250000"),
        ],
    ),
    "trace-events": (
        "# tracer: nop\n"
        "   kworker/0:1H-97 [000] d..1. 50.000001: block_rq_issue: 259,0 FF 0 () 0 + 0 [k]\n"
        "   fio-123         [001] d..1. 50.000002: block_rq_issue: 259,0 WFS 4096 () 8 + 8"
        " none,0,0 [fio]\n"
        "   fio-123         [001] d..1. 50.000003: block_rq_issue: 259,0 N 512 (6 1) "
        "18446744073709551615 + 0 [fio]\n"
        "   <idle>-0        [001] d..1. 50.000005: block_rq_complete: 259,0 FF () "
        "18446744073709551615 + 0 none,0,0 [0]\n"
        "   <idle>-0        [001] d..1. 50.000010: block_rq_complete: 259,0 WFS () 8 + 8 [0]\n"
        "CPU:1 [LOST 17 EVENTS]\n"
        "fio 123 [001] 50.000020: block:block_rq_issue: 259,0 WZ 0 () 16 + 8 [fio]\n",
        [
            ("0", "flush", "0", "0", "0", "259:0", "4000"),
            ("1000", "write", "1", "4096", "4096", "259:0", "8000"),
            ("19000", "write-zeroes", "0", "8192", "4096", "259:0", ""),
        ],
    ),
}
"""By format: a sample as its description has it, and its I/Os, worked out by hand."""


@pytest.mark.parametrize("format", SAMPLES)
def test_a_sample_is_read_as_its_description_says(format: str, tmp_path: Path) -> None:
    text, expected = SAMPLES[format]
    path = sample(tmp_path, f"{format}.txt", text)
    written = fc.trace_convert(path, tmp_path / "own.parquet")
    assert written.header.format == format
    assert [row[: len(COLUMNS)] for row in rows(tmp_path / "own.parquet", tmp_path)] == expected
    assert [row[: len(COLUMNS)] for row in rows(path, tmp_path)] == expected


def test_bare_iologs_have_no_times(tmp_path: Path) -> None:
    path = sample(tmp_path, "old.log", "0, 4096, 512\n1, 0, 512\n2, 0, 0\n")
    assert [row[:5] for row in rows(path, tmp_path)] == [
        ("0", "read", "0", "4096", "512"),
        ("0", "write", "0", "0", "512"),
        ("0", "flush", "0", "0", "0"),
    ]


def test_processes_processors_and_lost_events_are_kept(tmp_path: Path) -> None:
    path = sample(tmp_path, "events.txt", SAMPLES["trace-events"][0])
    assert [row[7:9] for row in rows(path, tmp_path)] == [("0", "97"), ("1", "123"), ("1", "123")]
    assert fc.trace_convert(path, tmp_path / "own.parquet").header.lost_events == 17


def test_the_date_of_a_trace_is_kept(tmp_path: Path) -> None:
    path = sample(tmp_path, "alibaba.csv", SAMPLES["alibaba"][0])
    written = fc.trace_convert(path, tmp_path / "own.parquet")
    assert written.header.start_unix_ns == 1577808144360767000


def oracle_record(seconds: int, sector: int, length: int, next_access: int = -1) -> bytes:
    return struct.pack("<IQIq", seconds, sector, length, next_access)


def test_oracle_general_is_read_and_written(tmp_path: Path) -> None:
    content = oracle_record(0, 8, 4096, 2) + oracle_record(1, 16, 512) + oracle_record(1, 8, 4096)
    path = tmp_path / "w.oracleGeneral.bin"
    path.write_bytes(content)
    assert [row[:5] for row in rows(path, tmp_path)] == [
        ("0", "read", "0", "4096", "4096"),
        ("1000000000", "read", "0", "8192", "512"),
        ("1000000000", "read", "0", "4096", "4096"),
    ]
    fc.trace_convert(path, tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == content


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("packing", [*PACKED, "zst", "tar", "tar.gz", "tar.bz2", "tar.xz"])
def test_what_is_packed_is_read_through(packing: str, tmp_path: Path) -> None:
    text, expected = SAMPLES["msr"]
    path = tmp_path / f"usr_0.csv.{packing}"
    if packing in PACKED:
        # As of a tool that packs in parallel, which writes several streams.
        lines = text.encode().splitlines(keepends=True)
        path.write_bytes(b"".join(PACKED[packing](line) for line in lines))
    elif packing == "zst":
        path.write_bytes(pa.Codec("zstd").compress(text.encode(), asbytes=True))
    else:
        # Two members are two files, merged by time, and a readme is none.
        first, second = text.splitlines(keepends=True)
        with tarfile.open(path, f"w:{packing.partition('.')[2]}") as archive:  # type: ignore[call-overload]
            for name, content in (("b.csv", second), ("a.csv", first), ("README", "Words.\n")):
                member = tarfile.TarInfo(f"traces/{name}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content.encode()))
    assert [row[: len(COLUMNS)] for row in rows(path, tmp_path)] == expected


def test_records_are_sorted_by_time(tmp_path: Path) -> None:
    backwards = "".join(f"0,{number},512,R,{9 - number}.0\n" for number in range(10))
    times = [int(row[0]) for row in rows(sample(tmp_path, "a.spc", backwards), tmp_path)]
    assert times == [number * 10**9 for number in range(10)]


REFUSED = {
    "empty": (b"", "it is empty"),
    "words": (b"no trace at all\n" * 9, "no format that is known"),
    "noise": (bytes(range(256)) * 16, "no format that is known"),
    "a line in the middle": (b"1,R,0,512,1577808144360767\n1,X,0,512,1577808144360767\n", "line 2"),
    "a line too few": (b"0,1,512,R,0.5\n0,1,512\n", "line 2: it has fewer than 5 columns"),
    "milliseconds": (b"1,R,0,512,1577808144360\n", "in µs since 1970, the time of I/O 0"),
    "bytes for sectors": (
        b"".join(b"1538323200,%d,4096,0,1\n" % (8 * number) for number in range(64)),
        "multiples of 512",
    ),
    "sectors for bytes": (
        b"".join(b"1,R,%d,8,1577808144360767\n" % (8 * number) for number in range(64)),
        "none of the first lengths is a multiple of 512",
    ),
    "a length of gigabytes": (b"0,1,99999999999,R,0.5\n", "would transfer 93 GiB at once"),
    "numbers without end": (b"0,1,512,R,0.5\n0,99999999999999999999,512,R,0.5\n", "line 2"),
    "a long line": (b"0,1,512,R,0.5\n" + b"9" * 200_000, "longer than 64 KiB"),
    "half an I/O": (oracle_record(0, 8, 4096) * 4000 + b"\0\0\0", "ends within an I/O"),
    "half an event": (struct.pack("<IIQQ", 0x65617407, 0, 0, 0), "ends within an event"),
    "an event too long": (
        struct.pack("<IIQQIIIIIHH", 0x65617407, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9999),
        "ends within an event",
    ),
    "no event behind one": (
        struct.pack("<IIQQIIIIIHH", 0x65617407, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) * 2 + b"x" * 48,
        "there is no event",
    ),
    "gzip that is cut off": (gzip.compress(SAMPLES["msr"][0].encode() * 99)[:-30], "is cut off"),
    "bzip2 that is cut off": (bz2.compress(SAMPLES["msr"][0].encode() * 99)[:-30], "is cut off"),
    "no bzip2": (b"BZh91AY&SY" + bytes(range(200)), "cannot read"),
    "xz that is cut off": (lzma.compress(SAMPLES["msr"][0].encode() * 99)[:-30], "is cut off"),
    "xz that takes too much memory": (
        lzma.compress(
            b"0,1,512,R,0.5\n", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 29}]
        ),
        "cannot read",
    ),
    "Parquet of others": (b"PAR1" + b"\0" * 64 + b"PAR1", "not a trace of fourcorners"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_trace_is_refused_in_a_sentence(what: str, tmp_path: Path) -> None:
    content, reason = REFUSED[what]
    path = tmp_path / "trace"
    path.write_bytes(content)
    out = tmp_path / "out.parquet"
    with pytest.raises(fc.UserError) as caught:
        fc.trace_convert(path, out)
    message = str(caught.value)
    assert reason in message
    assert "trace" in message
    assert "\n" not in message
    assert list(tmp_path.iterdir()) == [path]


def test_a_trace_of_ours_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "own.parquet"
    fc.trace_convert(sample(tmp_path, "msr.csv", SAMPLES["msr"][0]), own)
    content = own.read_bytes()
    for length in range(8, len(content), 97):
        own.write_bytes(content[:length])
        with pytest.raises(fc.UserError, match=r"own\.parquet"):
            fc.trace_convert(own, tmp_path / "out.csv")


def test_a_trace_of_ours_that_was_changed_is_read_or_refused(tmp_path: Path) -> None:
    own = tmp_path / "own.parquet"
    fc.trace_convert(sample(tmp_path, "msr.csv", SAMPLES["msr"][0]), own)
    content = own.read_bytes()
    for place in range(0, len(content), 11):
        changed = bytearray(content)
        changed[place] ^= 0xFF
        own.write_bytes(changed)
        try:
            fc.trace_convert(own, tmp_path / "out.csv", replace=True)
        except fc.UserError as error:
            assert "\n" not in str(error)  # noqa: PT017


def test_a_format_that_it_is_not_is_refused(tmp_path: Path) -> None:
    path = sample(tmp_path, "t.csv", SAMPLES["msr"][0])
    with pytest.raises(fc.UserError, match="cannot be a block trace of Alibaba: by its content"):
        fc.trace_convert(path, tmp_path / "o.csv", format="alibaba")


def test_mixed_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mixed.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("msr", "spc"):
            member = tarfile.TarInfo(name)
            content = SAMPLES[name][0].encode()
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    with pytest.raises(fc.UserError, match="mixes formats"):
        fc.trace_convert(path, tmp_path / "o.csv")


def test_a_csv_of_ones_own_names_its_columns_in_any_order(tmp_path: Path) -> None:
    head = "offset_bytes,user,length_bytes,time_ns,latency_ns,operation\r\n"
    own = sample(
        tmp_path,
        "own.csv",
        f"{head}8192,anna,4096,10,,read\r\n0,ben,512,30,200,write\r\n{head}0,ben,0,40,,flush\r\n",
    )
    assert rows(own, tmp_path) == [
        ("10", "read", "0", "8192", "4096", "own", "", "", "", ""),
        ("30", "write", "0", "0", "512", "own", "200", "", "", ""),
        ("40", "flush", "0", "0", "0", "own", "", "", "", ""),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time_ns,operation,offset_bytes\n1,read,0\n", "names no column length_bytes"),
        ("time_ns,operation,offset_bytes,length_bytes,time_ns\n", 'the column "time_ns" twice'),
        ("time_ns,operation,offset_bytes,length_bytes\n1,read,0\n", "fewer than 4 columns"),
        (
            "time_ns,operation,offset_bytes,length_bytes\n1,R,0,512\n",
            '"R" is none of read, write, flush, discard, write-zeroes',
        ),
    ],
)
def test_a_csv_that_says_too_little_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(fc.UserError, match=words):
        fc.trace_convert(sample(tmp_path, "own.csv", text), tmp_path / "out.csv", format="csv")
