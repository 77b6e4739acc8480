//! Requests of a trace that are due at times, on a file.

#![cfg(all(target_os = "linux", not(portable)))]

mod support;

use fourcorners_execution::{Progress, replay_parallel};
use fourcorners_real::Engine;
use fourcorners_workload::{
    Content, Operation, Pace, Recorded, Replay, Request, Stop, TimedRequest, Workload,
};
use rustix::process::{getpriority_process, setpriority_process};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use support::*;

const IOS: u64 = 400;
const GAP_NS: u64 = 100_000;
/// The kernel's thread sleeps by then.
const PAUSE_NS: u64 = 1_100_000_000;

/// Held by each test: they look at all threads of the process.
static ALONE: Mutex<()> = Mutex::new(());

/// Reads and writes in turn, and a pause in their midst.
struct Made;

fn one(number: u64) -> TimedRequest {
    let operation = if number.is_multiple_of(2) { Operation::Read } else { Operation::Write };
    let pause_ns = if number < IOS / 2 { 0 } else { PAUSE_NS };
    TimedRequest {
        time_ns: number * GAP_NS + pause_ns,
        request: Request {
            operation,
            offset_bytes: number * 4096,
            length_bytes: 4096,
            ..Request::FLUSH
        },
        latency_ns: None,
    }
}

impl Recorded for Made {
    fn pour(
        self: Box<Self>,
        _content: Content,
        take: &mut dyn FnMut(&mut Vec<TimedRequest>) -> bool,
    ) -> Result<(), String> {
        take(&mut (0..IOS).map(one).collect());
        Ok(())
    }
}

fn replay() -> Workload {
    let trace = Replay {
        files: vec!["made".into()],
        format: None,
        pace: Pace::Recorded,
        speed: 1.0,
        depth: None,
        span_bytes: IOS * 4096,
        alignment_bytes: 512,
        ios: IOS,
        length_ns: one(IOS - 1).time_ns,
        written_bytes: IOS / 2 * 4096,
        writes: true,
        is_far_out_of_order: false,
    };
    let mut made = workload(0.5, 4096, 64, Stop::default());
    made.streams[0].trace = Some(trace);
    made
}

/// With a thread of the kernel that takes requests, as `--engine io_uring,sqpoll` asks for.
#[test]
fn every_io_is_issued_at_its_time_or_after_it_and_completes() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Folder::new();
    let engine: Engine = "io_uring,sqpoll".parse().unwrap();
    let file = folder.own_file("t.bin", 4 * MIB).with_engine(engine).unwrap();
    let open = || Ok(file.punctual_target(1));
    let progress = Arc::new(Progress::default());
    let mut workload = replay();
    workload.log_ios = 2 * IOS;
    let recording = replay_parallel(&workload, 4 * MIB, open, Box::new(Made), &progress).unwrap();
    assert_eq!((recording.failure, recording.interrupted), (None, false));
    let counts = [Operation::Read, Operation::Write].map(|one| {
        let operation = &recording.operations[one.index()];
        (operation.ios, operation.errors.len())
    });
    assert_eq!(counts, [(IOS / 2, 0); 2]);
    let log = recording.log.unwrap();
    assert!(log.ios().iter().all(|io| io.due_ns <= io.submitted_ns));
    let mut due: Vec<i64> = log.ios().iter().map(|io| io.due_ns).collect();
    due.sort_unstable();
    let wanted: Vec<i64> = (0..IOS).map(|number| one(number).time_ns as i64).collect();
    assert_eq!(due, wanted);
    assert!(recording.elapsed_ns >= wanted[wanted.len() - 1] as u64);
}

/// The least `nice` of this process' threads.
fn least_nice() -> i32 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let stat = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("stat")).ok();
    let nice = |stat: String| stat.rsplit(") ").next()?.split(' ').nth(16)?.parse().ok();
    threads.flatten().filter_map(stat).filter_map(nice).min().unwrap()
}

/// Also bound to one processor, as long as there is another.
#[test]
fn the_thread_that_issues_goes_first_where_it_may() {
    let several = thread::available_parallelism().unwrap().get() > 1;
    let own = getpriority_process(None).unwrap();
    let may = thread::spawn(|| setpriority_process(None, -20).is_ok()).join().unwrap();
    let expected = if several && may && own <= 0 { -20 } else { own };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Folder::new();
    let engine: Engine = "io_uring,cpus=0".parse().unwrap();
    let file = folder.own_file("t.bin", 4 * MIB).with_engine(engine).unwrap();
    let running = thread::spawn(move || {
        let open = || Ok(file.punctual_target(1));
        replay_parallel(&replay(), 4 * MIB, open, Box::new(Made), &Arc::default()).unwrap()
    });
    let mut found = own;
    while !running.is_finished() {
        found = found.min(least_nice());
        thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(running.join().unwrap().failure, None);
    assert_eq!(found, expected);
}
