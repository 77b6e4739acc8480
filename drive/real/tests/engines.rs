//! The ways that requests can take: each completes every request, and says what a
//! reader of its results must know.

#![cfg(all(target_os = "linux", not(portable)))]

mod support;

use fourcorners_execution::{Progress, execute, execute_parallel};
use fourcorners_real::RealFile;
use fourcorners_recording::Recording;
use fourcorners_target::{Completion, Target};
use fourcorners_workload::{Operation, Request};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use support::*;

fn with(file: RealFile, engine: &str) -> RealFile {
    file.with_engine(engine.parse().unwrap()).unwrap()
}

fn run(file: &RealFile, read_fraction: f64, queue_depth: u32, count: u64) -> Recording {
    let workload = workload(read_fraction, 4096, queue_depth, ios(count));
    execute(&workload, &mut file.target(1), &Progress::default()).unwrap()
}

#[test]
fn every_engine_completes_every_request() {
    let engines = ["sync", "sync,buffered", "io_uring", "io_uring,batch=1", "io_uring,batch=64"];
    for engine in engines.into_iter().chain(["io_uring,sqpoll", "auto,cpus=0", "io_uring,buffered"])
    {
        let folder = Folder::new();
        let file = with(folder.own_file("test", 16 * MIB), engine);
        for queue_depth in [1, 32] {
            let recording = run(&file, 0.9, queue_depth, 500);
            let [reads, writes, ..] = &recording.operations;
            assert_eq!((reads.ios + writes.ios, recording.errors()), (500, 0), "{engine}");
            let per_second: u64 = reads.seconds.iter().map(|second| second.ios).sum();
            assert_eq!(per_second, reads.ios, "{engine}");
        }
        let mut both = workload(0.9, 4096, 4, ios(500));
        both.streams[0].workers = 2;
        both.streams[0].fua = true;
        both.streams[0].flush_every_writes = Some(4);
        let open = || Ok(file.target(1));
        let recording = execute_parallel(&both, 16 * MIB, open, &Default::default()).unwrap();
        let [reads, writes, flushes, ..] = &recording.operations;
        assert_eq!((reads.ios + writes.ios, recording.errors()), (500, 0), "{engine}");
        assert!(flushes.ios > 0, "{engine}");
    }
}

#[test]
fn a_request_that_completes_at_once_does_not_get_its_batchs_latency() {
    let folder = Folder::new();
    let median_ns = |engine: &str| {
        let file = with(folder.own_file("test", 4 * MIB), engine);
        run(&file, 0.0, 1, 1_024);
        let latencies = run(&file, 1.0, 128, 50_000).operations[0].latencies.clone();
        let mut seen = 0;
        let bucket = latencies.buckets().find(|bucket| {
            seen += bucket.2;
            seen >= 25_000
        });
        bucket.unwrap().1
    };
    // A queue of 128 in the page cache: one by one each takes a microsecond or
    // two, as a batch each takes what all 128 take.
    let (one_by_one, as_a_batch) =
        (median_ns("io_uring,buffered"), median_ns("io_uring,buffered,batch=128"));
    assert!(one_by_one * 10 < as_a_batch, "{one_by_one} ns, in a batch {as_a_batch} ns");
}

#[test]
fn errors_and_short_transfers_are_those_of_io_uring() {
    let folder = Folder::new();
    for engine in ["sync", "io_uring"] {
        let name = engine.replace(',', "-");
        let file = with(folder.own_file(&name, MIB), engine);
        let path = folder.path(&name);
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
        for slots in [1, 2] {
            let mut target = file.target(1);
            target.prepare(slots, 4096).unwrap();
            let request = Request { offset_bytes: 8192, ..read(4096) };
            target.submit(0, &request);
            assert_eq!(complete(&mut target).errno, libc::EIO, "{engine}");
            target.submit(0, &read(4096));
            assert_eq!(complete(&mut target).errno, 0, "{engine}");
        }
    }
}

fn read(length_bytes: u32) -> Request {
    let workload = workload(1.0, length_bytes, 1, ios(1));
    let mut lane = fourcorners_workload::Lane::all(&workload, u64::from(length_bytes)).remove(0);
    let request = lane.next_request().unwrap();
    assert_eq!((request.operation, request.offset_bytes), (Operation::Read, 0));
    request
}

fn complete(target: &mut impl Target) -> Completion {
    let mut done = Vec::new();
    let give_up_ns = target.now_ns() + 10_000_000_000;
    target.wait(give_up_ns, &mut done).unwrap();
    done[0]
}

#[test]
fn the_cpu_time_of_kernel_workers_is_counted() {
    if !std::path::Path::new("/dev/shm").is_dir() {
        return skip("no tmpfs at /dev/shm");
    }
    let folder = Folder::below("/dev/shm");
    let file = with(folder.own_file("test", 16 * MIB), "io_uring");
    let workload = workload(0.0, 65_536, 8, ios(5_000));
    let open = || Ok(file.target(1));
    let recording = execute_parallel(&workload, 16 * MIB, open, &Default::default()).unwrap();
    // 5000 copies of 64 KiB, whoever makes them: 2 us each at the very least.
    let cpu_ns = recording.cpu.user_ns + recording.cpu.system_ns;
    assert!(cpu_ns > 10_000_000, "{cpu_ns} ns");
}

/// Set for the child that runs [`where_io_uring_is_forbidden_another_way_is_taken_and_told`]
/// with a filter of system calls, as containers have it.
const FILTERED: &str = "FOURCORNERS_TEST_FILTERED";

#[test]
fn where_io_uring_is_forbidden_another_way_is_taken_and_told() {
    if std::env::var_os(FILTERED).is_some() {
        let folder = Folder::new();
        let file = folder.own_file("test", 16 * MIB);
        let recording = run(&file, 0.9, 8, 1_000);
        assert_eq!(recording.operations.iter().map(|o| o.ios).sum::<u64>(), 1_000);
        let notes = file.notes();
        assert!(notes.iter().any(|note| note.contains("io_uring is forbidden")), "{notes:?}");
        let named = with(folder.own_file("other", 16 * MIB), "io_uring");
        let error = named.target(1).prepare(1, 4096).unwrap_err().0;
        assert!(error.contains("use the engine \"sync\""), "{error}");
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "where_io_uring_is_forbidden_another_way_is_taken_and_told"]);
    child.env(FILTERED, "1").stdout(Stdio::null());
    // SAFETY: between fork and exec only system calls are made, on structs of
    // the child's own.
    unsafe { child.pre_exec(forbid_io_uring) };
    match child.status() {
        Ok(status) => assert!(status.success()),
        Err(error) => skip(&format!("system calls cannot be filtered here: {error}")),
    }
}

/// A seccomp filter that answers `io_uring_setup` with `EPERM`.
fn forbid_io_uring() -> std::io::Result<()> {
    let statement =
        |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter { code: code as u16, jt, jf, k };
    let filter = [
        // The number of the call is the first word of its description.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            libc::SYS_io_uring_setup as u32,
            0,
            1,
        ),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0, 0),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: both calls concern this process alone; the program outlives them.
    let filtered = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
    };
    if filtered { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[test]
fn what_an_option_needs_and_has_not_is_told() {
    let folder = Folder::new();
    let prepared = |engine: &str| {
        with(folder.own_file("test", 16 * MIB), engine).target(1).prepare(1, 4096).map_err(|e| e.0)
    };
    let error = prepared("auto,cpus=1000").unwrap_err();
    assert!(error.contains("bound to processor 1000"), "{error}");
    if let Err(error) = prepared("auto,huge-pages") {
        assert!(error.contains("vm.nr_hugepages=1"), "{error}");
    }
    // A device that cannot poll refuses each request; a regular file may.
    let file = with(folder.own_file("test", 16 * MIB), "io_uring,iopoll");
    let recording = run(&file, 1.0, 4, 16);
    let reads = &recording.operations[0];
    assert_eq!(reads.ios + recording.errors(), 16);
}
