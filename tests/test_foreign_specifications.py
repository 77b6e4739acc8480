"""Iometer's configurations and vdbench's parameter files run as suites."""

from pathlib import Path
from typing import Any

import pytest

import fourcorners as fc
from fourcorners.suites import Phase, Subject
from fourcorners.suites.suite import find_suite

DRIVE = Subject("simulated", 240 * 10**9)

ICF = """Version 1.1.0
'TEST SETUP ====================================================================
'Test Description
\t
'Run Time
'\thours      minutes    seconds
\t0          1          30
'Ramp Up Time (s)
\t10
'END test setup
'ACCESS SPECIFICATIONS =========================================================
'Access specification name,default assignment
\tFile Server,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
\t512,10,80,100,0,1,0,0
\t4096,60,80,100,0,1,0,0
\t65536,30,80,100,0,1,0,0
'Access specification name,default assignment
\t64K; 100% Write, slow,NONE
'size,% of size,% reads,% random,delay,burst,align,reply
\t65536,100,0,0,5,8,4096,0
'End access specifications
'MANAGER LIST ==================================================================
'Default target settings for worker
'Number of outstanding IOs,test connection rate,transactions per connection
\t16,DISABLED,1
'End manager list
"""

VDBENCH = """* A comment
sd=default,threads=4
sd=sd1,lun=/dev/sdb,openflags=o_direct
wd=wd1,sd=sd1,xfersize=(4k,70,64k,30),
   rdpct=70,seekpct=100
wd=wd2,sd=sd1,xfersize=128k,rdpct=0,seekpct=seq,range=(20,60)
rd=run1,wd=wd1,iorate=1000,elapsed=20,interval=1,warmup=5
rd=run2,wd=wd2,iorate=max,elapsed=2m,threads=32
"""


def measurements(folder: Path, name: str, text: str) -> list[Any]:
    path = folder / name
    path.write_text(text)
    [test] = find_suite(str(path)).plan(DRIVE).tests
    return [one for phase in test.phases if isinstance(phase, Phase) for one in phase.measurements]


def refused(folder: Path, name: str, text: str) -> str:
    with pytest.raises(fc.UserError) as caught:
        measurements(folder, name, text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_access_specifications_of_iometer_are_workloads(tmp_path: Path) -> None:
    server, writes = measurements(tmp_path, "file.icf", ICF)
    assert server.stream.read_share == 0.8
    assert server.stream.pattern == "random"
    assert server.stream.sizes == "512/10:4096/60:65536/30"
    assert server.stream.queue_depth_per_worker == 16
    assert writes.stream.read_share == 0
    assert writes.stream.pattern == "sequential"
    assert (writes.stream.think_s, writes.stream.think_every_ios) == (0.005, 8)
    assert writes.stream.alignment_bytes == 4096


def test_the_alignment_of_iometer_is_a_sector_unless_it_says_more(tmp_path: Path) -> None:
    server, writes = measurements(tmp_path, "file.icf", ICF)
    assert (server.stream.alignment_bytes, writes.stream.alignment_bytes) == (512, 4096)


def test_only_specifications_that_are_assigned_are_run(tmp_path: Path) -> None:
    assigned = "'Assigned access specs\n\t64K; 100% Write, slow\n'End assigned access specs\n"
    [writes] = measurements(tmp_path, "one.icf", ICF + assigned)
    assert writes.stream.block_bytes == 65536


WORKER = """'Worker type
\tDISK
'Disk maximum size,starting sector,Data pattern
\t16384,2048,1
'Assigned access specs
\tFile Server
'End assigned access specs
"""


def test_the_area_of_the_disk_of_a_worker_is_kept(tmp_path: Path) -> None:
    [server] = measurements(tmp_path, "area.icf", ICF + WORKER)
    # Sectors of 512 bytes.
    assert (server.stream.offset_bytes, server.stream.span_bytes) == (2**20, 2**23)
    [whole] = measurements(tmp_path, "all.icf", ICF + WORKER.replace("16384,2048", "0,0"))
    assert (whole.stream.offset_bytes, whole.stream.span_bytes) == (0, DRIVE.area_bytes)


def test_workers_of_networks_run_nothing(tmp_path: Path) -> None:
    network = WORKER.replace("DISK", "NETWORK,TCP")
    slow = WORKER.replace("File Server", "64K; 100% Write, slow")
    [writes] = measurements(tmp_path, "both.icf", ICF + network + slow)
    assert writes.stream.block_bytes == 65536
    assert "use a network" in refused(tmp_path, "network.icf", ICF + network)


def test_titles_of_iometer_may_be_in_any_case(tmp_path: Path) -> None:
    lower = "\n".join(line.lower() if line.startswith("'") else line for line in ICF.splitlines())
    server, _ = measurements(tmp_path, "lower.icf", lower)
    assert server.stream.queue_depth_per_worker == 16
    assert (server.workload.duration_s, server.workload.ramp_s) == (90, 10)
    old = "'ACCESS SPECIFICATIONS ==\n'size, % of size, % reads, % random\n2048 100 67 100\n"
    assert "since May 1998" in refused(tmp_path, "old.icf", old)


def test_lines_with_different_shares_of_reads_have_sizes_of_their_own(tmp_path: Path) -> None:
    text = ICF.replace("512,10,80", "512,10,100").replace("65536,30,80", "65536,30,0")
    [server, _] = measurements(tmp_path, "mixed.icf", text)
    # Of 100 I/Os 10 + 48 are reads, and 12 + 30 writes.
    assert server.stream.read_share == 0.58
    reads, writes = server.stream.sizes.split(",")
    assert reads.startswith("512/17.24")
    assert writes.startswith("4096/28.57")


def test_lists_of_vdbench_are_runs(tmp_path: Path) -> None:
    (tmp_path / "storage.inc").write_text("hd=default,user=root,shell=ssh\nsd=sd1,lun=/dev/sdb\n")
    found = measurements(
        tmp_path,
        "lists.parm",
        "data_errors=1\ninclude=storage.inc\nwd=w,sd=sd1,seekpct=random,rdpct=50  a comment\n"
        "rd=r,wd=w,iorate=max,forxfersize=(4k-16k,d),forthreads=(1,8)\n",
    )
    streams = [(one.stream.block_bytes, one.stream.queue_depth_per_worker) for one in found]
    assert streams == [(size, depth) for size in (4096, 8192, 16384) for depth in (1, 8)]
    assert {one.stream.pattern for one in found} == {"random"}
    rates = "wd=w,seekpct=0\nrd=r,wd=w,iorate=(100,200)\n"
    arrivals = [one.stream.arrival for one in measurements(tmp_path, "rates.parm", rates)]
    assert arrivals == ["poisson:100", "poisson:200"]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("fsd=f,anchor=/mnt", "files in directories"),
        ("rd=r,wd=w,iorate=curve,curve=(10,50)", "latency-under-load"),
        ("rd=r,wd=w,forthreads=(1-5000,1)", "more than 200 runs"),
        ("include=round.parm", "16 deep"),
    ],
)
def test_what_vdbench_says_beyond_iometer_is_refused(tmp_path: Path, line: str, word: str) -> None:
    assert word in refused(tmp_path, "round.parm", f"wd=w\n{line}\n")


def test_runs_of_vdbench_are_workloads(tmp_path: Path) -> None:
    mixed, writes = measurements(tmp_path, "work.parm", VDBENCH)
    assert mixed.stream.read_share == 0.7
    assert mixed.stream.sizes == "4096/70:65536/30"
    assert mixed.stream.arrival == "poisson:1000"
    assert mixed.stream.queue_depth_per_worker == 4
    assert writes.stream.block_bytes == 131072
    assert writes.stream.pattern == "sequential"
    assert writes.stream.queue_depth_per_worker == 32
    assert writes.stream.offset_bytes == pytest.approx(0.2 * DRIVE.area_bytes, rel=1e-3)
    assert writes.stream.span_bytes == pytest.approx(0.4 * DRIVE.area_bytes, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        ("a.icf", "4096,60,80,100", "4096,60,80,50", "different random percentages are refused"),
        ("a.icf", "4096,60,80,100", "4096,50,80,100", "its shares make 90 %"),
        ("a.icf", "4096,60,80,100", "4096,60,800,100", "% reads is 800: use at most 100"),
        ("a.icf", "4096,60,80,100,0,1,0,0", "4096,60,80", "as numbers"),
        ("a.icf", "5,8,4096,0", "5,8,4096,1024", "a reply is refused"),
        ("a.icf", "'ACCESS SPEC", "'SPEC", "no access specifications"),
        ("b.parm", "rdpct=70", "rdpct=700", "no percentage"),
        ("b.parm", "rdpct=70", "rhpct=70", "rhpct is refused"),
        ("b.parm", "rdpct=70", "skew=70", "70 % of skew"),
        ("b.parm", "iorate=1000", "iorate=curve", "a curve is refused"),
        ("b.parm", "wd=wd1,iorate", "wd=none,iorate", "there is no workload none"),
        ("b.parm", "xfersize=128k", "xfersize=much", "is no size"),
        ("b.parm", "rd=run1", "elapsed=9,rd=run1", "begin with sd=, wd= or rd="),
    ],
)
def test_what_cannot_be_issued_is_refused(
    name: str, old: str, new: str, reason: str, tmp_path: Path
) -> None:
    text = (ICF if name.endswith(".icf") else VDBENCH).replace(old, new)
    assert reason in refused(tmp_path, name, text)


def test_they_run_on_a_drive(tmp_path: Path) -> None:
    path = tmp_path / "short.icf"
    path.write_text(ICF.replace("\t0          1          30", "\t0 0 1").replace("\t10\n", "\t0\n"))
    run = fc.run(str(path), "sim:ocz-core-64gb", out=tmp_path / "runs", scale=0.05)
    assert [list(one.transfers) for one in run.recordings] == [["read", "write"], ["write"]]


def test_workloads_of_vdbench_share_a_rate_by_their_skew(tmp_path: Path) -> None:
    text = (
        "compratio=4\nsd=sd1,lun=/dev/x,range=(10,30)\n"
        "wd=a,sd=sd1,rdpct=100,skew=70\nwd=b,sd=sd1,rdpct=0,rhpct=0,range=(0,50)\n"
        "rd=r,wd=*,iorate=1000,elapsed=5\nrd=alone,wd=a,iorate=max,skew=100\n"
    )
    together, alone = measurements(tmp_path, "skew.parm", text)
    reads, writes = together.workload.streams
    # 70 % of 1000 I/Os a second, and what is left; a fourth of what is written is stored.
    assert (reads.arrival, writes.arrival) == ("poisson:700", "poisson:300")
    assert (reads.content, writes.content) == ("incompressible", "compressible:25")
    # The storage's range, but for a workload that has its own, and of each a share of the drive.
    assert reads.span_bytes is not None
    assert writes.span_bytes == pytest.approx(2.5 * reads.span_bytes, rel=1e-4)
    assert (reads.offset_bytes > 0, writes.offset_bytes) == (True, 0)
    assert alone.stream.arrival == "closed"
    evenly = text.replace(",skew=70", "").replace("compratio", "dedupratio")
    shared = measurements(tmp_path, "even.parm", evenly)[0].workload.streams
    assert [one.arrival for one in shared] == ["poisson:500", "poisson:500"]
    assert shared[1].content == "duplicated:75"


def test_parameters_of_vdbench_may_be_shortened(tmp_path: Path) -> None:
    # After vdbench's own examples 4 and 5, whose curve is left out.
    short = "sd=sd1,lu=/dev/x,th=2\nwd=w,sd=sd*,xf=8k,re=70,se=rand,ra=(20,60)\n"
    short += "rd=r,wd=w,io=10,el=3,in=1,wa=1,forx=(1k-2k,d)\neof\nnothing=of this\n"
    long = "sd=sd1,lun=/dev/x,threads=2\n"
    long += "wd=w,sd=sd*,xfersize=8k,rdpct=70,seekpct=random,range=(20,60)\n"
    long += "rd=r,wd=w,iorate=10,elapsed=3,interval=1,warmup=1,forxfersize=(1k,2k)\n"
    found, meant = (measurements(tmp_path, "a.parm", text) for text in (short, long))
    assert [one.workload for one in found] == [one.workload for one in meant]
    assert [one.stream.block_bytes for one in found] == [1024, 2048]
    writes = measurements(tmp_path, "b.parm", "wd=w,wrpct=30\nrd=r,wd=w,th=(1,8)\n")
    assert [one.stream.read_share for one in writes] == [0.7, 0.7]
    assert [one.stream.queue_depth_per_worker for one in writes] == [1, 8]


def bounds(folder: Path, text: str) -> list[int | None]:
    [one] = measurements(folder, "a.parm", text)
    return [stream.bytes_per_worker for stream in one.workload.streams]


def test_runs_of_vdbench_end_after_so_much_data(tmp_path: Path) -> None:
    whole = DRIVE.area_bytes
    alone = "wd=w,xfersize=4k,rdpct=75\nrd=r,wd=w,elapsed=9,"
    assert bounds(tmp_path, alone + "maxdata=200g\n") == [200 * 2**30]
    assert bounds(tmp_path, alone + "maxdatawritten=1g\n") == [4 * 2**30]
    # Up to a hundred it is so many times the storage.
    assert bounds(tmp_path, alone + "maxdata=1\n") == [whole - whole % 4096]
    assert bounds(tmp_path, alone + "maxdata=2.5\n") == pytest.approx([2.5 * whole], rel=1e-6)
    # 64 KiB at 30 % of the rate beside 4 KiB at 70 %: 19.2 to 2.8 of what is transferred.
    both = "wd=a,xfersize=4k,skew=70\nwd=b,xfersize=64k,rdpct=0,skew=30\n"
    both += "rd=r,wd=*,iorate=100,"
    first, second = bounds(tmp_path, both + "maxdata=22g\n")
    assert (first, second) == pytest.approx((2.8 * 2**30, 19.2 * 2**30), rel=1e-4)
    assert bounds(tmp_path, both + "maxdataread=2.8g\n") == [first, second]
    # Where nothing is read the time ends it.
    written = alone.replace("rdpct=75", "rdpct=0")
    assert bounds(tmp_path, written + "maxdataread=1g\n") == [None]


def test_what_a_warmup_transfers_counts_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.parm"
    path.write_text("wd=w\nrd=r,wd=w,maxdata=1g,warmup=5\n")
    [test] = find_suite(str(path)).plan(DRIVE).tests
    assert "during the warmup" in dict(test.parameters)["read as"]


def test_sequential_io_of_vdbench_may_end_with_the_storage(tmp_path: Path) -> None:
    whole = DRIVE.area_bytes
    eof = "wd=w,xfersize=1m,seekpct=eof\nrd=r,wd=w,elapsed=9h\n"
    assert bounds(tmp_path, eof) == [whole - whole % 2**20]
    assert bounds(tmp_path, eof.replace("eof", "seq")) == [None]


def test_arrivals_of_vdbench_may_be_at_equal_distances(tmp_path: Path) -> None:
    [one] = measurements(tmp_path, "a.parm", "wd=w\nrd=r,wd=w,io=90,dist=deterministic\n")
    assert one.stream.arrival == "fixed:90"


def test_what_ends_a_run_of_vdbench_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "much.parm"
    path.write_text("wd=w,xf=128k,rd=0,se=seq\nrd=r,wd=w,maxdata=64m\n".replace("rd=0", "rdpct=0"))
    run = fc.run(str(path), "sim:ocz-core-64gb", out=tmp_path / "runs")
    assert run.recordings[0].operations["write"].bytes == 64 * 2**20


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("wd=w\nrd=r,wd=w,maxdata=much", "no amount"),
        ("wd=w\nrd=r,wd=w,maxdata=0", "no amount"),
        ("wd=w\nrd=r,wd=w,maxdata=1g,maxdataread=1g", "give one of them"),
        ("wd=w\nwd=v\nrd=r,wd=*,maxdata=1g", "without an iorate"),
        ("wd=w,iorate=100\nrd=r,wd=w", "the rate of a workload"),
        ("wd=w\nrd=r,wd=w,iorate=9,dist=uniform", "distribution=uniform is refused"),
        ("rg=group1,devices=(1,2)", "fourcorners replay"),
        ("sd=a,replay=group1", "fourcorners replay"),
        ("wd=w,st=8k", "stride is refused"),
        ("wd=w,x=4k", "x is refused"),
    ],
)
def test_what_vdbench_would_end_or_begin_otherwise_is_refused(
    tmp_path: Path, line: str, word: str
) -> None:
    assert word in refused(tmp_path, "a.parm", f"{line}\n")


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("wd=w,skew=40\nwd=v,skew=60\nrd=r,wd=*", "skew without an iorate"),
        ("wd=w,skew=40\nwd=v,skew=70\nrd=r,wd=*,iorate=9", "110 % of skew"),
        ("wd=w,skew=100\nwd=v\nrd=r,wd=*,iorate=9", "no share of the rate"),
        ("compratio=2\ndedupratio=2\nwd=w,rdpct=0\nrd=r,wd=w", "compresses or repeats"),
        ("dedupratio=half\nwd=w,rdpct=0\nrd=r,wd=w", "give a ratio"),
        ("sd=a,range=(0,50)\nsd=b,range=(50,100)\nwd=w\nrd=r,wd=w", "ranges of several sd="),
    ],
)
def test_what_vdbench_would_share_otherwise_is_refused(
    tmp_path: Path, line: str, word: str
) -> None:
    assert word in refused(tmp_path, "a.parm", f"{line}\n")
