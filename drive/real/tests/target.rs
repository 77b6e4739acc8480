//! The io_uring target: every request completes once, contents arrive, errors
//! of single I/Os are counted, nothing hangs.

#![cfg(all(target_os = "linux", not(portable)))]

mod support;

use fourcorners_execution::{Progress, execute, execute_parallel};
use fourcorners_real::RealFile;
use fourcorners_target::{Completion, Target};
use fourcorners_workload::{Content, Operation, Request, Stop};
use std::collections::HashSet;
use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};
use support::*;

const SECOND_NS: u64 = 1_000_000_000;

fn request(operation: Operation, offset_bytes: u64, length_bytes: u32) -> Request {
    Request { operation, offset_bytes, length_bytes, content: Content::Incompressible, fua: false }
}

/// Waits until `count` requests have completed.
fn complete(target: &mut impl Target, count: usize) -> Vec<Completion> {
    let mut done = Vec::new();
    let give_up_ns = target.now_ns() + 30 * SECOND_NS;
    while done.len() < count {
        let deadline_ns = target.now_ns() + SECOND_NS;
        target.wait(deadline_ns, &mut done).unwrap();
        assert!(target.now_ns() < give_up_ns, "{} of {count} completed", done.len());
    }
    done
}

/// The file systems at hand: whatever the temporary folder is on, and tmpfs.
fn folders() -> Vec<Folder> {
    let mut folders = vec![Folder::new()];
    if std::path::Path::new("/dev/shm").is_dir() {
        folders.push(Folder::below("/dev/shm"));
    }
    folders
}

#[test]
fn every_request_completes_once() {
    for folder in folders() {
        let file = folder.own_file("test", 16 * MIB);
        let mut target = file.target(1);
        target.prepare(64, 65_536).unwrap();
        for round in 0..20u64 {
            let before_ns = target.now_ns();
            for slot in 0..64u32 {
                let operation = Operation::ALL[(slot % 2) as usize];
                let offset_bytes = (round * 64 + u64::from(slot)) % 256 * 65_536;
                let request = request(operation, offset_bytes, 65_536 >> (slot % 5));
                target.stage(slot, &request);
                target.submit(slot, &request);
            }
            let done = complete(&mut target, 64);
            let slots: HashSet<u32> = done.iter().map(|completion| completion.slot).collect();
            assert_eq!((done.len(), slots.len()), (64, 64));
            for pair in done.windows(2) {
                assert!(pair[0].completed_ns <= pair[1].completed_ns);
            }
            for completion in done {
                assert_eq!(completion.errno, 0);
                assert!((before_ns..=target.now_ns()).contains(&completion.completed_ns));
            }
        }
        let mut none = Vec::new();
        target.wait(0, &mut none).unwrap();
        assert!(none.is_empty());
    }
}

#[test]
fn waiting_for_nothing_ends_at_the_deadline() {
    let folder = Folder::new();
    let file = folder.own_file("test", MIB);
    let mut target = file.target(1);
    target.prepare(1, 4096).unwrap();
    let deadline_ns = target.now_ns() + SECOND_NS / 20;
    target.wait(deadline_ns, &mut Vec::new()).unwrap();
    let late_ns = target.now_ns() - deadline_ns;
    assert!(late_ns < SECOND_NS / 2, "{late_ns}");
}

#[test]
fn contents_are_what_was_asked() {
    for folder in folders() {
        let file = folder.own_file("test", MIB);
        let mut target = file.target(1);
        target.prepare(1, 8192).unwrap();
        let contents = [
            Content::Incompressible,
            Content::Repeated,
            Content::Incompressible,
            Content::Compressible(25),
            Content::Repeated,
        ];
        for (index, content) in contents.into_iter().enumerate() {
            let mut request = request(Operation::Write, index as u64 * 8192, 8192);
            request.content = content;
            target.submit(0, &request);
            assert_eq!(complete(&mut target, 1)[0].errno, 0);
            // A read in between must not leak into the next write.
            request.operation = Operation::Read;
            target.submit(0, &request);
            assert_eq!(complete(&mut target, 1)[0].errno, 0);
        }
        let bytes = std::fs::read(folder.path("test")).unwrap();
        let piece = |index: usize| &bytes[index * 8192..(index + 1) * 8192];
        assert_eq!(piece(1), piece(4));
        assert_ne!(piece(0), piece(2));
        assert_ne!(piece(0)[..4096], piece(0)[4096..]);
        assert_eq!(piece(3)[4096 + 1024..], [0; 3072]);
        assert!(piece(3)[4096..4096 + 900].iter().filter(|byte| **byte == 0).count() < 30);
    }
}

#[test]
fn workers_write_different_bytes_and_one_seed_always_the_same() {
    let written = |seed: u64| {
        let folder = Folder::new();
        let file = folder.own_file("test", MIB);
        for worker in 0..2u64 {
            let mut target = file.target(seed);
            target.prepare(1, 4096).unwrap();
            target.submit(0, &request(Operation::Write, worker * 4096, 4096));
            assert_eq!(complete(&mut target, 1)[0].errno, 0);
        }
        std::fs::read(folder.path("test")).unwrap()[..8192].to_vec()
    };
    let one = written(1);
    assert_ne!(one[..4096], one[4096..]);
    assert_eq!(one, written(1));
    assert_ne!(one, written(2));
}

#[test]
fn the_issuing_loop_counts_every_io_at_every_depth_and_size() {
    for folder in folders() {
        let file = folder.own_file("test", 64 * MIB);
        for (block_bytes, queue_depth, count) in
            [(4096, 1, 50), (4096, 128, 2000), (1 << 20, 4, 30), (64 << 20, 1, 3)]
        {
            let recording = execute(
                &workload(0.5, block_bytes, queue_depth, ios(count)),
                &mut file.target(1),
                &Progress::default(),
            )
            .unwrap();
            let [reads, writes, ..] = &recording.operations;
            assert_eq!((reads.ios + writes.ios, recording.errors()), (count, 0));
            assert_eq!(reads.bytes, reads.ios * u64::from(block_bytes));
        }
    }
}

#[test]
fn flushes_and_forced_writes_reach_the_kernel() {
    for folder in folders() {
        let file = folder.own_file("test", 16 * MIB);
        let mut forced = workload(0.0, 4096, 4, ios(60));
        forced.streams[0].flush_every_writes = Some(3);
        forced.streams[0].fua = true;
        let recording = execute(&forced, &mut file.target(1), &Progress::default()).unwrap();
        let counts = recording.operations.each_ref().map(|operation| operation.ios);
        assert_eq!((counts, recording.errors()), ([0, 60, 20, 0, 0], 0));
        assert_eq!(recording.operations[Operation::Flush.index()].bytes, 0);
    }
}

#[test]
fn several_workers_share_one_file() {
    let folder = Folder::new();
    let file = folder.own_file("test", 16 * MIB);
    let mut four = workload(0.5, 4096, 8, ios(4000));
    four.streams[0].workers = 4;
    let open = || Ok(file.target(1));
    let recording = execute_parallel(&four, 16 * MIB, open, &Default::default()).unwrap();
    let [reads, writes, ..] = &recording.operations;
    assert_eq!((reads.ios + writes.ios, recording.errors()), (4000, 0));
}

#[test]
fn a_request_off_the_grid_is_an_error_of_that_request() {
    let folder = Folder::new();
    let file = folder.own_file("test", MIB);
    let grid_bytes = file.plan().request_alignment_bytes;
    if !file.plan().direct {
        return skip("no direct I/O on the temporary folder's file system");
    }
    let mut target = file.target(1);
    target.prepare(2, 4096).unwrap();
    // Parts that were never written are read without the device, off the grid
    // as well.
    target.submit(0, &request(Operation::Write, 0, 4096));
    assert_eq!(complete(&mut target, 1)[0].errno, 0);
    target.submit(0, &request(Operation::Read, u64::from(grid_bytes / 2), grid_bytes));
    target.submit(1, &request(Operation::Read, u64::from(grid_bytes), grid_bytes));
    let mut done = complete(&mut target, 2);
    done.sort_by_key(|completion| completion.slot);
    assert_eq!((done[0].errno, done[1].errno), (libc::EINVAL, 0));
}

#[test]
fn a_file_truncated_under_load_ends_the_run_and_keeps_what_was_measured() {
    for folder in folders() {
        let file = folder.own_file("test", 16 * MIB);
        let path = folder.path("test");
        let started = Instant::now();
        let recording = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(MIB).unwrap();
            });
            let stop = Stop { time_ns: Some(10 * SECOND_NS), ..Stop::default() };
            let workload = workload(1.0, 4096, 16, stop);
            execute(&workload, &mut file.target(1), &Progress::default()).unwrap()
        });
        let reads = &recording.operations[0];
        assert!(reads.ios > 0);
        assert!(reads.errors.get(&libc::EIO).is_some_and(|count| *count > 0));
        assert!(recording.interrupted && recording.failure.is_some());
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn writing_to_a_file_opened_for_reading_is_an_error_of_each_request() {
    let folder = Folder::new();
    let path = folder.foreign_file("precious", MIB);
    let file = RealFile::open(plan(&path, &Default::default()).unwrap()).unwrap();
    let mut workload = workload(0.0, 4096, 4, ios(20));
    workload.stop.tolerated_errors = 20;
    let recording = execute(&workload, &mut file.target(1), &Progress::default()).unwrap();
    assert_eq!(recording.operations[1].errors.get(&libc::EBADF), Some(&20));
    assert_eq!(std::fs::read(&path).unwrap(), vec![0; 1 << 20]);
}

#[test]
fn a_purged_file_reads_zeros_and_needs_a_fill() {
    let folder = Folder::new();
    let mut file = folder.own_file("test", MIB);
    let workload = workload(0.0, 4096, 4, ios(2000));
    file.guard().begin_writing().unwrap();
    execute(&workload, &mut file.target(1), &Progress::default()).unwrap();
    file.guard().end_writing(true);
    file.filled(LIMIT).unwrap();
    assert!(!file.plan().needs_fill);
    file.purge(LIMIT).unwrap();
    assert!(file.plan().needs_fill);
    assert_eq!(std::fs::read(folder.path("test")).unwrap(), vec![0; 1 << 20]);
}

#[test]
fn too_much_memory_and_too_many_requests_are_refused_in_a_sentence() {
    let folder = Folder::new();
    let file = folder.own_file("test", MIB);
    let error = file.target(1).prepare(32, 512 << 20).unwrap_err().0;
    assert!(error.contains("lower queue depth"), "{error}");
    let error = file.target(1).prepare(40_000, 512).unwrap_err().0;
    assert!(error.contains("io_uring's 32768"), "{error}");
}

#[test]
fn a_target_dropped_under_load_waits_for_its_requests() {
    let folder = Folder::new();
    let file = folder.own_file("test", 16 * MIB);
    for _ in 0..20 {
        let mut target = file.target(1);
        target.prepare(32, 65_536).unwrap();
        for slot in 0..32 {
            target.submit(slot, &request(Operation::Read, u64::from(slot) * 65_536, 65_536));
        }
        let deadline_ns = target.now_ns();
        target.wait(deadline_ns, &mut Vec::new()).unwrap();
    }
}

/// Set for the child that runs [`with_little_locked_memory_the_target_works_and_says_so`]
/// as a user without rights and with little locked memory.
const LIMITED: &str = "FOURCORNERS_TEST_LIMITED";

#[test]
fn with_little_locked_memory_the_target_works_and_says_so() {
    if std::env::var_os(LIMITED).is_some() {
        let folder = Folder::new();
        let file = folder.own_file("test", 16 * MIB);
        let mixed = workload(0.5, 1 << 20, 8, ios(100));
        let recording = execute(&mixed, &mut file.target(1), &Progress::default()).unwrap();
        assert_eq!(recording.operations.iter().map(|o| o.ios).sum::<u64>(), 100);
        assert!(file.notes().iter().any(|note| note.contains("ulimit -l")), "{:?}", file.notes());
        return;
    }
    if !is_root() {
        return skip("the limit on locked memory is tested by root");
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "with_little_locked_memory_the_target_works_and_says_so"]);
    child.env(LIMITED, "1").uid(65_534).stdout(std::process::Stdio::null());
    // SAFETY: between fork and exec only one system call is made, on a struct
    // of the child's own.
    unsafe {
        child.pre_exec(|| {
            // Enough for the ring, too little for the buffers.
            let little = libc::rlimit { rlim_cur: MIB, rlim_max: MIB };
            match libc::setrlimit(libc::RLIMIT_MEMLOCK, &little) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    match child.status() {
        Ok(status) => assert!(status.success()),
        Err(error) => skip(&format!("another user cannot run this test: {error}")),
    }
}
