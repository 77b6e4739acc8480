//! What ends a run early: errors, hangs, targets that fail. What was measured
//! until then is kept.

use fourcorners_execution::{Progress, execute, execute_parallel};
use fourcorners_recording::Recording;
use fourcorners_target::{Completion, Target, TargetError};
use fourcorners_workload::{Arrival, Pattern, Request, Stop, Stream, Workload};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

const MS: u64 = 1_000_000;

fn workload(queue_depth: u32, stop: Stop) -> Workload {
    let stream =
        Stream { queue_depth_per_worker: queue_depth, ..Stream::new(1.0, Pattern::Random, 4096) };
    Workload { streams: vec![stream], stop, ramp_ns: 0, seed: 1, log_ios: 0 }
}

/// Serves every I/O in a millisecond of virtual time until `ios` have been
/// served; then it does what `then` says with each.
struct Failing {
    ios: u64,
    then: Then,
    now_ns: u64,
    pending: Vec<u32>,
}

#[derive(Clone, Copy)]
enum Then {
    Errors(i32),
    Hangs,
    Fails,
}

impl Failing {
    fn after(ios: u64, then: Then) -> Self {
        Self { ios, then, now_ns: 0, pending: Vec::new() }
    }
}

impl Target for Failing {
    fn capacity_bytes(&self) -> u64 {
        1 << 30
    }

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn prepare(&mut self, _slots: u32, _block_bytes_max: u32) -> Result<(), TargetError> {
        Ok(())
    }

    fn submit(&mut self, slot: u32, _request: &Request) -> u64 {
        self.pending.insert(0, slot);
        self.now_ns
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        if self.pending.is_empty() {
            self.now_ns = self.now_ns.max(deadline_ns);
            return Ok(());
        }
        let errno = match (self.ios, self.then) {
            (1.., _) => 0,
            (0, Then::Errors(errno)) => errno,
            (0, Then::Hangs) => {
                self.now_ns = self.now_ns.max(deadline_ns);
                return Ok(());
            }
            (0, Then::Fails) => return Err(TargetError("the target is gone".into())),
        };
        self.ios = self.ios.saturating_sub(1);
        self.now_ns += MS;
        done.extend(self.pending.pop().map(|slot| Completion {
            slot,
            completed_ns: self.now_ns,
            errno,
        }));
        Ok(())
    }
}

fn run_failing(target: &mut Failing, tolerated_errors: u64) -> Recording {
    let stop =
        Stop { ios: Some(1000), io_ns: Some(5_000 * MS), tolerated_errors, ..Stop::default() };
    execute(&workload(4, stop), target, &Progress::default()).unwrap()
}

#[test]
fn the_first_error_ends_the_run_and_what_was_measured_is_kept() {
    let recording = run_failing(&mut Failing::after(100, Then::Errors(libc::EIO)), 0);
    assert!(recording.interrupted);
    let failure = recording.failure.as_ref().unwrap();
    assert!(failure.starts_with("a read of 4096 bytes at byte"), "{failure}");
    assert!(failure.contains("Input/output error"), "{failure}");
    let reads = &recording.operations[0];
    // Four were outstanding; the other three failed while they were waited for.
    assert_eq!((reads.ios, reads.errors.get(&libc::EIO)), (100, Some(&4)));
}

#[test]
fn tolerated_errors_are_passed_over() {
    let recording = run_failing(&mut Failing::after(100, Then::Errors(libc::EIO)), u64::MAX);
    assert_eq!((recording.interrupted, recording.failure.as_ref()), (false, None));
    assert_eq!((recording.operations[0].ios, recording.errors()), (100, 900));
    let recording = run_failing(&mut Failing::after(100, Then::Errors(libc::EIO)), 10);
    assert!(recording.failure.is_some());
    assert_eq!(recording.errors(), 14);
}

#[test]
fn a_hang_ends_the_run_soon_after_the_limit_of_one_io() {
    let recording = run_failing(&mut Failing::after(100, Then::Hangs), 0);
    let failure = recording.failure.as_ref().unwrap();
    assert!(failure.contains("longer than 5 s") && failure.contains("4 outstanding"));
    let reads = &recording.operations[0];
    assert_eq!((reads.ios, reads.errors.get(&libc::ETIMEDOUT)), (100, Some(&4)));
    assert!((6_000 * MS..6_500 * MS).contains(&recording.elapsed_ns));
    // The hang is part of the queue that was kept.
    let depth = recording.outstanding_integral_ns as f64 / recording.elapsed_ns as f64;
    assert!((depth - 4.0).abs() < 0.01, "{depth}");
}

#[test]
fn a_request_to_stop_a_hanging_target_is_followed() {
    let progress = Progress::default();
    progress.stop.store(true, Ordering::Relaxed);
    let stop = Stop { ios: Some(9), io_ns: Some(3_600_000 * MS), ..Stop::default() };
    let mut target = Failing::after(0, Then::Hangs);
    let recording = execute(&workload(4, stop), &mut target, &progress).unwrap();
    assert!(recording.interrupted && recording.failure.is_none());
    assert_eq!(recording.operations[0].errors.get(&libc::ECANCELED), Some(&4));
    assert!(recording.elapsed_ns < 11_000 * MS);
}

#[test]
fn a_target_that_fails_leaves_a_partial_recording_and_ends_the_other_workers() {
    let recording = run_failing(&mut Failing::after(100, Then::Fails), 0);
    assert_eq!(recording.failure.as_deref(), Some("the target is gone"));
    assert_eq!(recording.operations[0].ios, 100);

    let endless = Stop { time_ns: Some(u64::MAX / 2), ..Stop::default() };
    let mut two = workload(1, endless);
    two.streams[0].workers = 2;
    let opened = AtomicU64::new(0);
    let open = || {
        let first = opened.fetch_add(1, Ordering::Relaxed) == 0;
        Ok(Failing::after(if first { 100 } else { u64::MAX }, Then::Fails))
    };
    let recording = execute_parallel(&two, 1 << 30, open, &Default::default()).unwrap();
    assert_eq!(recording.failure.as_deref(), Some("the target is gone"));
    assert!(recording.interrupted && recording.operations[0].ios > 100);
}

#[test]
fn at_a_given_rate_a_hang_ends_the_run_and_what_was_due_is_told() {
    let stop = Stop { time_ns: Some(60_000 * MS), io_ns: Some(2_000 * MS), ..Stop::default() };
    let mut workload = workload(4, stop);
    workload.streams[0].arrival = Arrival::Fixed(100.0);
    let mut target = Failing::after(100, Then::Hangs);
    let recording = execute(&workload, &mut target, &Progress::default()).unwrap();
    assert!(recording.failure.unwrap().contains("longer than 2 s"));
    let reads = &recording.operations[0];
    assert_eq!((reads.ios, reads.errors.get(&libc::ETIMEDOUT)), (100, Some(&4)));
    // One second of service and two of hang; 104 were issued.
    assert!((185..215).contains(&recording.offered.unissued), "{:?}", recording.offered);
}

/// Hangs, and keeps its thread from ending, as a request in the kernel does that
/// cannot be cancelled.
struct Stuck(Failing);

impl Drop for Stuck {
    fn drop(&mut self) {
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
}

impl Target for Stuck {
    fn capacity_bytes(&self) -> u64 {
        self.0.capacity_bytes()
    }

    fn now_ns(&mut self) -> u64 {
        self.0.now_ns()
    }

    fn prepare(&mut self, slots: u32, block_bytes_max: u32) -> Result<(), TargetError> {
        self.0.prepare(slots, block_bytes_max)
    }

    fn submit(&mut self, slot: u32, request: &Request) -> u64 {
        self.0.submit(slot, request)
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        self.0.wait(deadline_ns, done)
    }
}

#[test]
fn a_worker_that_cannot_end_is_left_behind() {
    let stop = Stop { ios: Some(1000), io_ns: Some(1_000 * MS), ..Stop::default() };
    let started = Instant::now();
    let open = || Ok(Stuck(Failing::after(100, Then::Hangs)));
    let recording =
        execute_parallel(&workload(4, stop), 1 << 30, open, &Default::default()).unwrap();
    assert!(started.elapsed().as_secs() < 30);
    assert_eq!(recording.operations[0].ios, 100);
    assert!(recording.failure.is_some());
}

/// Serves at once on the clock of the machine; after so many I/Os a call does
/// not return.
struct Blocking {
    ios: u64,
    in_submit: bool,
    pending: Vec<u32>,
}

fn machine_ns() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

fn block() -> ! {
    loop {
        std::thread::park();
    }
}

impl Target for Blocking {
    fn capacity_bytes(&self) -> u64 {
        1 << 30
    }

    fn now_ns(&mut self) -> u64 {
        machine_ns()
    }

    fn clock(&self) -> Option<fn() -> u64> {
        Some(machine_ns)
    }

    fn prepare(&mut self, _slots: u32, _block_bytes_max: u32) -> Result<(), TargetError> {
        Ok(())
    }

    fn submit(&mut self, slot: u32, _request: &Request) -> u64 {
        if self.ios == 0 && self.in_submit {
            block();
        }
        self.pending.push(slot);
        machine_ns()
    }

    fn wait(&mut self, _deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        if self.ios == 0 && !self.in_submit {
            block();
        }
        self.ios = self.ios.saturating_sub(1);
        let slot = self.pending.remove(0);
        done.push(Completion { slot, completed_ns: machine_ns(), errno: 0 });
        Ok(())
    }
}

fn run_blocking(in_submit: bool, progress: &Arc<Progress>, io_ns: u64) -> Recording {
    let stop = Stop { ios: Some(1000), io_ns: Some(io_ns), ..Stop::default() };
    let open = || Ok(Blocking { ios: 100, in_submit, pending: Vec::new() });
    execute_parallel(&workload(4, stop), 1 << 30, open, progress).unwrap()
}

#[test]
fn a_call_that_does_not_return_ends_the_run_and_what_was_measured_is_kept() {
    for in_submit in [false, true] {
        let recording = run_blocking(in_submit, &Arc::default(), 300 * MS);
        let failure = recording.failure.as_ref().unwrap();
        assert!(failure.contains("longer than 0.3 s") && failure.contains("4 outstanding"));
        let reads = &recording.operations[0];
        assert_eq!((reads.ios, reads.errors.get(&libc::ETIMEDOUT)), (100, Some(&4)));
        assert!(recording.interrupted && recording.elapsed_ns > 1_300 * MS);
        assert_eq!(reads.seconds.iter().map(|second| second.ios).sum::<u64>(), 100);
        let depth = recording.outstanding_integral_ns as f64 / recording.elapsed_ns as f64;
        // A busy machine takes its time between the first submissions.
        assert!((3.0..=4.0).contains(&depth), "{depth}");
    }
}

#[test]
fn a_request_to_stop_reaches_a_call_that_does_not_return() {
    let progress = Arc::<Progress>::default();
    progress.stop.store(true, Ordering::Relaxed);
    // Asked to stop at the first look, the worker waits for what is outstanding.
    let open = || Ok(Blocking { ios: 0, in_submit: false, pending: Vec::new() });
    let stop = Stop { ios: Some(1000), io_ns: Some(500 * MS), ..Stop::default() };
    let recording = execute_parallel(&workload(4, stop), 1 << 30, open, &progress).unwrap();
    assert!(recording.interrupted);
    assert_eq!(recording.operations[0].ios, 0);
}
