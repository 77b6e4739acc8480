//! Requests of a trace that are due at times, on a file.

#![cfg(all(target_os = "linux", not(portable)))]

mod support;

use fourcorners_execution::{Progress, replay_parallel};
use fourcorners_real::Engine;
use fourcorners_workload::{
    Content, Operation, Pace, Recorded, Replay, Request, Stop, TimedRequest, Workload,
};
use std::sync::Arc;
use support::*;

const IOS: u64 = 400;
const GAP_NS: u64 = 100_000;
/// The kernel's thread sleeps by then.
const PAUSE_NS: u64 = 1_100_000_000;

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
