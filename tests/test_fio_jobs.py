"""fio's job files run as suites: what they ask for is what is issued, and what is not is named."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.errors import UserError
from fourcorners.suites import Measurement, Phase, Subject
from fourcorners.suites import Test as PlannedTest
from fourcorners.suites.fio import options
from fourcorners.suites.fio.quantities import amount, seconds
from fourcorners.suites.steps import Fill, Rest
from fourcorners.suites.suite import find_suite, suite_of

DRIVE = Subject("simulated", 240 * 10**9)
MIB = 2**20


def _planned(folder: Path, text: str, subject: Subject = DRIVE) -> PlannedTest:
    file = folder / "job.fio"
    file.write_text(text, "utf-8")
    [test] = find_suite(str(file)).plan(subject).tests
    return test


def _measured(folder: Path, text: str) -> list[Measurement]:
    [phase] = _planned(folder, text).phases
    assert isinstance(phase, Phase)
    return list(phase.measurements)


def _stream(folder: Path, options: str) -> fc.Stream:
    [measured] = _measured(
        folder, f"[a]\nioengine=libaio\nsize=64m\n{options.replace(' ', chr(10))}"
    )
    return measured.stream


def _refused(folder: Path, text: str) -> str:
    with pytest.raises(UserError) as refused:
        _planned(folder, text)
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "base", "expected"),
    [
        ("4096", 1024, 4096),
        ("4k", 1024, 4096),
        ("4kb", 1024, 4096),
        ("4kB", 1000, 4000),
        ("4ki", 1024, 4000),
        ("4KiB", 1000, 4096),
        ("1m", 1024, MIB),
        ("2g", 1024, 2**31),
        ("0x1000", 1024, 4096),
        ("512B", 1024, 512),
        ("1.5k", 1024, 1536),
    ],
)
def test_amounts_are_those_of_fio(text: str, base: int, expected: int) -> None:
    assert amount(text, base) == expected


def test_times_are_those_of_fio() -> None:
    told = [("30", "s"), ("5m", "s"), ("10ms", "s"), ("100", "us"), ("2s", "us"), ("1d", "s")]
    assert [seconds(*one) for one in told] == [30, 300, 0.01, pytest.approx(1e-4), 2, 86400]
    with pytest.raises(UserError, match="no time as fio writes it"):
        seconds("5 weeks")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rw=read", {"pattern": "sequential", "read_share": 1.0, "block_bytes": 4096}),
        ("rw=randwrite", {"pattern": "permuted", "read_share": 0.0}),
        ("rw=randwrite norandommap", {"pattern": "random"}),
        ("rw=randrw", {"read_share": 0.5}),
        ("rw=randrw rwmixread=70", {"read_share": 0.7}),
        ("rw=randrw rwmixwrite=40", {"read_share": 0.6}),
        ("rw=rw", {"pattern": "sequential", "separate_cursors": True}),
        ("rw=write:4k", {"pattern": "strided:8192"}),
        ("rw=read:2k bs=4k", {"pattern": "strided:6144", "alignment_bytes": 2048}),
        ("rw=write writefua=1", {"fua": True}),
        ("rw=randread nrfiles=4", {"pattern": "permuted", "span_bytes": 64 * MIB}),
        ("rw=read nrfiles=4 file_service_type=sequential", {"span_bytes": 64 * MIB}),
        ("rw=write time_based", {"bytes_per_worker": 64 * MIB}),
        ("rw=write verify=md5 do_verify=0", {"bytes_per_worker": 64 * MIB}),
        ("rw=write do_verify=1 verify_fatal=1", {"bytes_per_worker": 64 * MIB}),
        ("rw=read:-8k", {"pattern": f"strided:{64 * MIB - 4096}"}),
        ("rw=randread:8", {"pattern": "runs:8"}),
        ("rw=randread percentage_random=30", {"pattern": "partly-random:0.3"}),
        ("rw=randread random_distribution=zipf:1.2", {"pattern": "zipf:1.2"}),
        ("rw=randread random_distribution=pareto:0.2", {"pattern": "pareto:0.2"}),
        ("rw=randread random_distribution=normal:10", {"pattern": "normal:0.1"}),
        (
            "rw=randread random_distribution=zoned:50/5:30/15:20/",
            {"pattern": "zoned:50/5:30/15:20/80"},
        ),
        (
            "rw=randread random_distribution=zoned_abs:90/16m:10/16m",
            {"pattern": "zoned:90/25:10/25:0/50"},
        ),
        ("rw=write bs=128k", {"block_bytes": 131072, "sizes": None}),
        ("rw=write blocksize=4k,8k", {"block_bytes": 8192, "sizes": None}),
        ("rw=randrw bs=4k,8k", {"sizes": "4096/100,8192/100", "block_bytes": 8192}),
        ("rw=randread bsrange=4k-64k", {"sizes": "4096-65536/100", "block_bytes": 65536}),
        ("rw=randread bssplit=4k/60:64k/", {"sizes": "4096/60:65536/40"}),
        ("rw=randread bssplit=4k/10:8k/:16k/", {"sizes": "4096/10:8192/45:16384/45"}),
        ("rw=randread kb_base=1000 bs=4ki", {"block_bytes": 4096}),
        ("rw=randread iodepth=32", {"queue_depth_per_worker": 32, "answer_batch": 1}),
        ("rw=randread iodepth=32 iodepth_low=8", {"answer_batch": 24}),
        ("rw=randread iodepth=32 iodepth_batch_complete=16", {"answer_batch": 16}),
        ("rw=randread numjobs=4 filename=x", {"workers": 4}),
        ("rw=randread rate_iops=100", {"arrival": "fixed:100"}),
        ("rw=randread rate=1m numjobs=2 filename=x", {"arrival": "fixed:512"}),
        ("rw=write rate=,2m rate_process=poisson", {"arrival": "poisson:512"}),
        ("rw=read thinktime=200 thinktime_blocks=8", {"think_s": 2e-4, "think_every_ios": 8}),
        ("rw=write fsync=16", {"flush_every_writes": 16}),
        ("rw=write fdatasync=1", {"flush_every_writes": 1}),
        ("rw=write sync=1", {"fua": True}),
        ("rw=write buffer_compress_percentage=60", {"content": "compressible:40"}),
        ("rw=write dedupe_percentage=30", {"content": "duplicated:30"}),
        ("rw=write zero_buffers", {"content": "compressible:1"}),
        ("rw=write scramble_buffers=0", {"content": "repeated"}),
        ("rw=write", {"content": "incompressible", "bytes_per_worker": 64 * MIB}),
        ("rw=write io_size=1m", {"bytes_per_worker": MIB, "span_bytes": 64 * MIB}),
        # Of a larger file random requests go everywhere, and what is in order to its beginning.
        ("rw=randread filesize=256m", {"span_bytes": 256 * MIB, "bytes_per_worker": 64 * MIB}),
        ("rw=read filesize=256m", {"span_bytes": 64 * MIB, "bytes_per_worker": 64 * MIB}),
        ("rw=randread filesize=16m", {"span_bytes": 16 * MIB, "bytes_per_worker": 16 * MIB}),
        ("rw=randread filesize=16m size=50%", {"span_bytes": 8 * MIB}),
        ("rw=randread filesize=256m offset=25%", {"offset_bytes": 64 * MIB}),
        # With gaps fio ends where no request fits any more, and else begins again.
        ("rw=read:512k bs=1m", {"bytes_per_worker": 43 * MIB}),
        ("rw=read:2m bs=1m", {"bytes_per_worker": 22 * MIB}),
        ("rw=read:1m bs=1m", {"bytes_per_worker": 64 * MIB}),
        ("rw=read:512k bs=1m io_size=128m", {"bytes_per_worker": 128 * MIB}),
        ("rw=write loops=3", {"bytes_per_worker": 192 * MIB}),
        ("rw=write number_ios=7", {"ios_per_worker": 7}),
        ("rw=write time_based runtime=5", {"bytes_per_worker": None, "end_s": None}),
        ("rw=write offset=8m", {"offset_bytes": 8 * MIB}),
        (
            "rw=read zonemode=strided zonesize=1m zoneskip=3m",
            {"strided_zones": f"{MIB}:{MIB}:{3 * MIB}"},
        ),
        ("rw=randread zonesize=1m zonerange=2m", {"strided_zones": f"{2 * MIB}:{MIB}:0"}),
        ("rw=randread blockalign=8k", {"alignment_bytes": 8192, "pattern": "random"}),
    ],
)
def test_an_option_says_what_is_issued(tmp_path: Path, text: str, expected: dict[str, Any]) -> None:
    stream = _stream(tmp_path, text)
    assert {name: getattr(stream, name) for name in expected} == expected


def test_jobs_run_together_until_one_waits(tmp_path: Path) -> None:
    first, second = _measured(
        tmp_path,
        """
        [global]
        ioengine=libaio  ; as all
        size=1m
        [a]
        rw=randread
        [b]
        rw=write
        startdelay=2
        runtime=3
        time_based
        [global]
        bs=8k # from here on
        [c]
        stonewall
        rw=randread
        runtime=10
        """,
    )
    a, b = first.workload.streams
    assert (first.id, second.id) == ("job/a+b", "job/c")
    assert (a.start_s, a.end_s, b.start_s, b.end_s) == (0.0, None, 2.0, 5.0)
    assert (a.offset_bytes, b.offset_bytes, second.stream.offset_bytes) == (0, MIB, 2 * MIB)
    assert (a.block_bytes, second.stream.block_bytes) == (4096, 8192)
    assert second.workload.duration_s == 10


def test_files_are_areas_of_the_target(tmp_path: Path) -> None:
    [measured] = _measured(
        tmp_path,
        "[a]\nrw=write\nsize=10m\nnumjobs=3\noffset_increment=20m\nfilename=x\n[b]\nsize=1m\n",
    )
    offsets = [stream.offset_bytes // MIB for stream in measured.workload.streams]
    assert offsets == [0, 20, 40, 50]
    test = _planned(tmp_path, "[a]\nrw=randread\nsize=50%\noffset=20%\n")
    [phase] = test.phases
    [stream] = phase.measurements[0].workload.streams
    assert (stream.offset_bytes, stream.span_bytes) == (48 * 10**9, 120 * 10**9)
    assert phase.preparation == (Fill(240 * 10**9),)
    with pytest.raises(UserError, match="needs a target of 64 MiB"):
        _planned(tmp_path, "[a]\nsize=64m\n", Subject("file", 10**6))


def test_reads_and_writes_with_a_rate_each_are_two_streams(tmp_path: Path) -> None:
    [measured] = _measured(tmp_path, "[a]\nrw=randrw\nsize=8m\nrate_iops=300,100\n")
    read, write = measured.workload.streams
    assert (read.read_share, read.arrival) == (1.0, "fixed:300")
    assert (write.read_share, write.arrival) == (0.0, "fixed:100")


def test_the_engine_decides_the_depth_as_in_fio(tmp_path: Path) -> None:
    test = _planned(tmp_path, "[a]\nsize=8m\niodepth=16\n")
    assert test.phases[0].measurements[0].stream.queue_depth_per_worker == 1
    assert "iodepth=16 of the engine psync is 1" in test.parameters["read as"]


@pytest.mark.parametrize(
    ("engine", "depth"),
    [
        ("windowsaio", 16),
        ("spdk_bdev\nspdk_json_conf=./bdev.json", 16),
        ("external:/opt/spdk/build/fio/spdk_nvme.so", None),
        ("external:/usr/lib/spdk_bdev.so", 16),
        ("rbd\npool=p\nrbdname=disk", 16),
        ("libpmem", 1),
    ],
)
def test_engines_of_other_storage_say_how_deep(
    tmp_path: Path, engine: str, depth: int | None
) -> None:
    text = f"[a]\nsize=8m\niodepth=16\nioengine={engine}\n"
    if depth is None:
        assert "is refused" in _refused(tmp_path, text)
    else:
        [measured] = _measured(tmp_path, text)
        assert measured.stream.queue_depth_per_worker == depth


def test_what_only_names_files_needs_no_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOWHERE", raising=False)
    [measured] = _measured(
        tmp_path, "[a]\ndirectory=${NOWHERE}\nfilename=${NOWHERE}/t\nsize=2m\nrw=write\n"
    )
    assert measured.stream.span_bytes == 2 * MIB


def test_words_for_the_machine_are_calculated_with(tmp_path: Path) -> None:
    page = os.sysconf("SC_PAGE_SIZE")
    [measured] = _measured(tmp_path, "[a]\nrw=write\nbs=2*$pagesize\nsize=$pagesize*(96+3-3)/3\n")
    assert (measured.stream.block_bytes, measured.stream.span_bytes) == (2 * page, 32 * page)


def test_what_has_no_meaning_is_named(tmp_path: Path) -> None:
    test = _planned(tmp_path, "[a]\nsize=8m\ndirect=1\ngroup_reporting\nthread\n")
    assert test.parameters["passed over"] == "direct=1, group_reporting=1, thread=1"


def test_variables_and_included_files_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOB_SIZE", "2m")
    (tmp_path / "common.inc").write_text("bs=16k\nsize=${JOB_SIZE}\n", "utf-8")
    [measured] = _measured(tmp_path, "[global]\ninclude common.inc\n[a]\nrw=read\n")
    assert (measured.stream.block_bytes, measured.stream.span_bytes) == (16384, 2 * MIB)
    monkeypatch.delenv("JOB_SIZE")
    assert "${JOB_SIZE} is not set" in _refused(tmp_path, "[a]\nsize=${JOB_SIZE}\n")
    (tmp_path / "round.inc").write_text("include round.inc\n", "utf-8")
    assert "16 deep" in _refused(tmp_path, "[a]\ninclude round.inc\n")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("rw=trim", "rw=trim is refused"),
        ("verify=crc32c", "use fourcorners verify"),
        ("replay_scale=2", "trace fold"),
        ("exec_prerun=rm", "no command is started"),
        ("ioengine=net", "ioengine=net is refused"),
        ("ioengine=http\nhttp_host=x", "ioengine=http is refused"),
        ("readfua=1", "reads with FUA"),
        ("rw=randtrim", "takes no time"),
        ("rw=trimwrite", "read_iolog"),
        ("fdp=1", "which data belong together"),
        ("write_mode=zeroes", "are not issued"),
        ("iodeph=4", "did you mean iodepth?"),
        ("bs=4q", '"4q" is no number'),
        ("bs=1000", "multiple of 512"),
        ("runtime=soon", "no time"),
        ("rw=randread\nrandom_distribution=zipf:1.1:0.5", "a center"),
        ("rw=randread\nrandom_distribution=zoned:90/50", "make 100 %"),
        ("rw=randrw\nrate=1m,", "refused in a mixed job"),
        ("rate=1m\nthinktime=5", "a rate excludes"),
        ("nrfiles=4", "nrfiles=4 is refused"),
        ("rw=randread\nnrfiles=4\nfilesize=1m", "nrfiles=4 is refused"),
        ("filesize=4k-1m", "filesize=4k-1m is refused: files of random sizes"),
        ("filesize=4m\noffset=4m", "behind the end of the file"),
        ("filesize=4m\noffset_increment=1m\nnumjobs=2", "use size"),
        ("bs={{ block }}", "{{ block }} is to be filled in: it is a template"),
        ("{% if ramp %}\nramp_time=9\n{% endif %}", "{% if ramp %} is to be filled in"),
        ("bs=$ncpus*(", "cannot be calculated"),
        ("flow=1", "do not wait for one another"),
        ("rw=randrw\npercentage_random=60,30", "one job that reads and one that writes"),
        ("zonemode=zbd", "use strided or none"),
        ("wait_for=b", "right before this one"),
        ("filename=/dev/a:/dev/b", "one area"),
    ],
)
def test_what_cannot_be_honoured_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    sentence = _refused(tmp_path, f"[a]\nsize=8m\n{text}\n")
    assert complaint in sentence
    assert "job.fio" in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize("text", ["", "rw=read\n", "[a\n", "[]\n", "\0", "[a]\nbs=4k-\n"])
def test_malformed_files_are_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    assert "\n" not in _refused(tmp_path, text)


def test_every_option_has_one_fate() -> None:
    fates = [*options.RUN, *options.PASSED_OVER, *options.REFUSED]
    assert len(fates) == len(set(fates))


def test_a_job_runs_on_a_drive_and_on_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = tmp_path / "mixed.fio"
    job.write_text(
        "[global]\nioengine=libaio\ndirect=1\nsize=4m\n"
        "[mix]\nrw=randrw\nbssplit=4k/50:16k/50\niodepth=4\n"
        "[log]\nstonewall\nrw=write\nfsync=4\nthinktime=100\n",
        "utf-8",
    )
    out = ["--out", str(tmp_path / "runs"), "--quiet"]
    assert main(["run", str(job), "sim:ocz-vertex-3-240gb", *out]) == 0
    file = tmp_path / "t.bin"
    assert main(["run", str(job), str(file), "--size", "64MiB", *out]) == 0
    capsys.readouterr()
    for folder in (tmp_path / "runs").iterdir():
        mix, log = fc.open_run(str(folder)).recordings
        assert mix.read
        assert mix.write
        assert log.write
        assert mix.read.bytes + mix.write.bytes in range(4 * MIB, 4 * MIB + 16384)
        assert (log.write.ios, log.operations["flush"].ios) == (1024, 256)
    # A file that holds something else is only read.
    other = tmp_path / "other.bin"
    other.write_bytes(bytes(range(256)) * 32768)
    main(["run", str(job), str(other), *out])
    assert other.read_bytes() == bytes(range(256)) * 32768


def test_the_document_names_every_option() -> None:
    page = (Path(__file__).parents[1] / "docs" / "fio-jobs.md").read_text("utf-8")
    table = page.partition("## What is done with each option")[2]
    named = set(re.findall(r"`([a-z][a-z0-9_-]+)`", table))
    fates = {*options.RUN, *options.PASSED_OVER, *options.REFUSED}
    assert fates <= named, sorted(fates - named)


def test_a_run_of_a_job_goes_on_from_its_folder_alone(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text("[a]\nrw=randwrite\nsize=1m\nfilename=/dev/nvme0n1\n", "utf-8")
    run = fc.run(str(job), "sim:ocz-vertex-3-240gb", out=tmp_path / "runs")
    job.unlink()
    request = run.manifest.request
    assert request is not None
    [test] = suite_of(request.suite, "the run").plan(DRIVE).tests
    [measurement] = test.phases[0].measurements
    assert measurement.workload == run.recordings[0].workload
    # A job file permits nothing: its file name is told, and goes nowhere.
    assert test.parameters["areas"].startswith("one file")
    assert run.manifest.target.locator == "sim:ocz-vertex-3-240gb"


def test_the_job_with_exitall_ends_those_beside_it(tmp_path: Path) -> None:
    # The first job ends after a start of 1 s and 4 s, and the others with it.
    jobs = """
        [a]
        rw=randread
        size=1m
        time_based
        runtime=4
        startdelay=1
        exitall
        [b]
        rw=write
        size=8m
        time_based
        runtime=30
        [c]
        rw=read
        size=8m
        runtime=2
        time_based
        """
    [measured] = _measured(tmp_path, jobs)
    assert measured.workload.duration_s == 5
    assert [stream.end_s for stream in measured.workload.streams] == [None, None, 2]
    [alone] = _measured(tmp_path, jobs.replace("exitall", ""))
    assert alone.workload.duration_s == pytest.approx(30)


def test_delays_count_from_the_start_of_all_jobs(tmp_path: Path) -> None:
    """As fio counts them: what runs before is part of a delay, and what is left of one that all
    jobs of a group have is a pause before them, which is no time of theirs."""
    job = tmp_path / "job.fio"
    job.write_text(
        """
        [global]
        size=1m
        time_based
        runtime=60
        ramp_time=10
        stonewall
        [a]
        startdelay=5
        [b]
        startdelay=190
        [c]
        startdelay=200
        """,
        "utf-8",
    )
    [test] = find_suite(str(job)).plan(DRIVE).tests
    phases = [phase for phase in test.phases if isinstance(phase, Phase)]
    pauses = [
        [step.duration_s for step in phase.preparation if isinstance(step, Rest)]
        for phase in phases
    ]
    assert [pause for [pause] in pauses] == pytest.approx([5, 115])
    measured = [one for phase in phases for one in phase.measurements]
    assert [one.id for one in measured] == ["job/a", "job/b", "job/c"]
    workloads = [one.workload for one in measured]
    assert [one.duration_s for one in workloads] == pytest.approx([60] * 3)
    assert [one.ramp_s for one in workloads] == pytest.approx([10] * 3)
    assert [one.streams[0].start_s for one in workloads] == [0, 0, 0]
    # How long a job takes that ends by its size is not known, and the plan says so.
    unknown = job.read_text().replace("time_based", "").replace("ramp_time=10", "")
    job.write_text(unknown, "utf-8")
    [test] = find_suite(str(job)).plan(DRIVE).tests
    assert "how long they take is not known" in test.parameters["read as"]


def test_durations_are_scaled_together(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text(
        "[global]\nsize=1m\ntime_based\n[a]\nruntime=10\n[b]\nstartdelay=4\nruntime=2\n", "utf-8"
    )
    [test] = find_suite(str(job)).shortened(0.5).plan(DRIVE).tests
    [measurement] = test.phases[0].measurements
    a, b = measurement.workload.streams
    assert measurement.workload.duration_s == 5
    assert (a.start_s, b.start_s, b.end_s) == (0, 2, 3)


def test_the_example_of_the_documents_is_understood() -> None:
    example = Path(__file__).parents[1] / "docs" / "examples" / "mixed.fio"
    [test] = find_suite(str(example)).plan(DRIVE).tests
    [phase] = test.phases
    both, scan = phase.measurements
    pages, log = both.workload.streams
    assert (pages.sizes, pages.pattern, pages.workers) == ("8192/80:65536/20", "zipf:0.9", 2)
    assert (log.flush_every_writes, log.offset_bytes) == (1, 2**30)
    assert scan.stream.arrival == "fixed:800"


def test_a_trace_is_replayed_at_its_times_or_as_deep_as_the_job_says(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    lines = (
        "fio version 2 iolog",
        "d add",
        "d open",
        "d write 0 4096",
        "d wait 3000",
        "d read 8192 4096",
    )
    log.write_text("\n".join(lines) + "\n")
    job = f"[a]\nread_iolog={log}\nioengine=libaio\niodepth=8\nreplay_time_scale=50\n"
    trace = _measured(tmp_path, job)[0].stream.trace
    assert trace is not None
    assert (trace.ios, trace.pace, trace.speed, trace.span_bytes) == (2, "recorded", 2.0, 12_288)
    trace = _measured(tmp_path, f"{job}replay_no_stall=1\n")[0].stream.trace
    assert trace is not None
    assert (trace.pace, trace.depth) == ("depth", 8)
    assert "numjobs and read_iolog" in _refused(tmp_path, f"{job}numjobs=2\n")
    assert "replayed alone" in _refused(tmp_path, f"{job}[b]\nrw=read\nsize=1m\n")


def test_job_files_may_be_called_jobs(tmp_path: Path) -> None:
    (tmp_path / "my.work.job").write_text("[a]\nsize=64m\nrw=read\n")
    assert find_suite(str(tmp_path / "my.work.job")).plan(DRIVE).tests[0].name == "my.work"
