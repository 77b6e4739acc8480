//! Parts of a workload that have names are also counted by themselves.

use fourcorners_execution::{Progress, execute, execute_parallel};
use fourcorners_recording::{Job, Recording};
use fourcorners_target::NoopTarget;
use fourcorners_workload::{Operation, Pattern, Stop, Stream, Workload};

const MS: u64 = 1_000_000;
const READ: usize = Operation::Read.index();
const WRITE: usize = Operation::Write.index();

/// Two streams of "log" and one of "data", which begins after 20 ms; a fourth has no name.
fn workload(ramp_ns: u64) -> Workload {
    let stream = |reads, job: Option<&str>, ios| Stream {
        job: job.map(str::to_owned),
        ios_per_worker: Some(ios),
        ..Stream::new(reads, Pattern::Random, 4096)
    };
    let data = Stream { start_ns: 20 * MS, workers: 2, ..stream(1.0, Some("data"), 5) };
    let log = stream(0.0, Some("log"), 4);
    Workload {
        streams: vec![log.clone(), data, log, stream(1.0, None, 3)],
        stop: Stop::default(),
        ramp_ns,
        seed: 1,
        log_ios: 0,
    }
}

fn check(recording: &Recording) {
    let [log, data] = &recording.jobs[..] else { panic!("{:?}", recording.jobs) };
    let ios = |job: &Job, operation: usize| {
        job.operations[operation].as_ref().map(|one| (one.ios, one.bytes, one.latencies.max_ns()))
    };
    assert_eq!((log.name.as_str(), data.name.as_str()), ("log", "data"));
    assert_eq!(ios(log, WRITE), Some((8, 8 * 4096, Some(MS))));
    assert_eq!(ios(data, READ), Some((10, 10 * 4096, Some(MS))));
    assert_eq!((ios(log, READ), ios(data, WRITE)), (None, None));
    assert_eq!((log.start_ns, log.end_ns), (0, 4 * MS));
    assert_eq!((data.start_ns, data.end_ns), (20 * MS, 25 * MS));
    // The whole has all of them, and what has no name.
    assert_eq!(recording.operations[READ].ios, 13);
    assert_eq!(recording.operations[WRITE].ios, 8);
}

#[test]
fn jobs_are_told_apart_by_one_worker_for_all() {
    let mut target = NoopTarget::new(1 << 30, MS);
    check(&execute(&workload(0), &mut target, &Progress::default()).unwrap());
}

#[test]
fn jobs_are_told_apart_by_a_worker_for_each_lane() {
    let open = || Ok(NoopTarget::new(1 << 30, MS));
    check(&execute_parallel(&workload(0), 1 << 30, open, &Default::default()).unwrap());
}

#[test]
fn jobs_are_counted_from_the_end_of_the_ramp() {
    let mut target = NoopTarget::new(1 << 30, MS);
    let recording = execute(&workload(2 * MS), &mut target, &Progress::default()).unwrap();
    let [log, data] = &recording.jobs[..] else { panic!("{:?}", recording.jobs) };
    // Two of each stream's were in the ramp, the second as its end.
    assert_eq!(log.operations[WRITE].as_ref().unwrap().ios, recording.operations[WRITE].ios);
    assert_eq!((log.start_ns, log.end_ns), (0, 2 * MS));
    assert_eq!((data.start_ns, data.end_ns), (18 * MS, 23 * MS));
}
