//! Requests at a given rate: latency counts from when they were due, on a target
//! that stops for a second as on one that does not.

use fourcorners_execution::{Progress, execute, execute_parallel};
use fourcorners_recording::{Latencies, Recording};
use fourcorners_target::{Completion, Target, TargetError};
use fourcorners_workload::{Arrival, Pattern, Request, Stop, Stream, Workload};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// Takes `service_ns` for anything, but completes nothing between the two
/// moments of `frozen_ns`.
struct Freezing {
    now_ns: u64,
    service_ns: u64,
    frozen_ns: (u64, u64),
    pending: VecDeque<(u64, u32)>,
    outstanding_max: usize,
}

impl Freezing {
    fn new(service_ns: u64, frozen_ns: (u64, u64)) -> Self {
        Self { now_ns: 0, service_ns, frozen_ns, pending: VecDeque::new(), outstanding_max: 0 }
    }
}

impl Target for Freezing {
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
        let (from_ns, to_ns) = self.frozen_ns;
        let done_ns = self.now_ns + self.service_ns;
        let done_ns = if (from_ns..to_ns).contains(&done_ns) { to_ns } else { done_ns };
        self.pending.push_back((done_ns, slot));
        self.outstanding_max = self.outstanding_max.max(self.pending.len());
        self.now_ns
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        assert!(deadline_ns >= self.now_ns, "a deadline in the past");
        let first_ns = self.pending.front().map_or(u64::MAX, |first| first.0);
        self.now_ns = first_ns.min(deadline_ns);
        while let Some(&(completed_ns, slot)) = self.pending.front()
            && completed_ns == self.now_ns
        {
            done.push(Completion { slot, completed_ns, errno: 0 });
            self.pending.pop_front();
        }
        Ok(())
    }
}

fn workload(arrival: Arrival, queue_depth: u32, stop: Stop) -> Workload {
    Workload {
        streams: vec![Stream {
            queue_depth_per_worker: queue_depth,
            arrival,
            ..Stream::new(1.0, Pattern::Random, 4096)
        }],
        stop,
        ramp_ns: 0,
        seed: 1,
        log_ios: 0,
    }
}

fn seconds(seconds: u64) -> Stop {
    Stop { time_ns: Some(seconds * SECOND), ..Stop::default() }
}

fn percentile_ms(latencies: &Latencies, percent: f64) -> f64 {
    let total: u64 = latencies.buckets().map(|bucket| bucket.2).sum();
    let rank = (percent / 100.0 * total as f64).ceil() as u64;
    let mut seen = 0;
    let bucket = latencies.buckets().find(|bucket| {
        seen += bucket.2;
        seen >= rank
    });
    bucket.unwrap().1 as f64 / MS as f64
}

fn run(workload: &Workload, target: &mut Freezing) -> Recording {
    execute(workload, target, &Progress::default()).unwrap()
}

#[test]
fn a_second_of_silence_shows_in_the_percentiles_at_every_queue_depth() {
    // 10,000 I/Os, of which the thousand that are due in the frozen second wait
    // for what is left of it: evenly from 1 s down to 0. The catching up is as
    // fast as the target is: at 5 us and depth 1 it adds half a per cent.
    for (arrival, tolerance) in [(Arrival::Fixed(1000.0), 0.02), (Arrival::Poisson(1000.0), 0.05)] {
        for queue_depth in [1, 4, 32, 1024, 4096] {
            let mut target = Freezing::new(5_000, (5 * SECOND, 6 * SECOND));
            let recording = run(&workload(arrival, queue_depth, seconds(10)), &mut target);
            let reads = &recording.operations[0];
            assert!(target.outstanding_max <= queue_depth as usize);
            assert_eq!(recording.offered.span_ns, 10 * SECOND);
            assert_eq!(recording.offered.ios, reads.ios);
            assert!(reads.ios.abs_diff(10_000) <= 1, "{}", reads.ios);
            for (percent, expected_ms) in [(95.0, 500.0), (99.0, 900.0), (99.9, 990.0)] {
                let measured_ms = percentile_ms(&reads.latencies, percent);
                assert!(
                    (measured_ms / expected_ms - 1.0).abs() < tolerance,
                    "{arrival:?} depth {queue_depth} p{percent}: {measured_ms} ms"
                );
            }
            let per_second: u64 = reads.seconds.iter().map(|second| second.ios).sum();
            assert_eq!((per_second, reads.seconds.len()), (reads.ios, 10));
        }
    }
}

#[test]
fn queue_and_service_are_told_apart_and_add_up() {
    // One at a time, 1.5 ms of service, one due per millisecond: each I/O waits
    // half a millisecond longer than the one before.
    let stop = Stop { ios: Some(100), ..Stop::default() };
    let mut target = Freezing::new(1_500_000, (0, 0));
    let recording = run(&workload(Arrival::Fixed(1000.0), 1, stop), &mut target);
    let reads = &recording.operations[0];
    let stages = reads.stages.as_ref().unwrap();
    assert_eq!(stages.queue.max_ns(), Some(99 * MS / 2));
    assert_eq!(stages.lateness.max_ns(), Some(0));
    assert_eq!(stages.service.sum_ns(), 100 * 1_500_000);
    let parts_ns = stages.queue.sum_ns() + stages.lateness.sum_ns() + stages.service.sum_ns();
    assert_eq!(reads.latencies.sum_ns(), parts_ns);
    // Little's law holds for what was outstanding, which is service only.
    assert_eq!(recording.outstanding_integral_ns, stages.service.sum_ns());
}

#[test]
fn a_target_too_slow_for_the_rate_is_told_and_ends() {
    // 100 I/Os a second are possible, 1000 are asked for: after twice the time
    // 200 are done, and 800 are given up.
    let mut target = Freezing::new(10 * MS, (0, 0));
    let recording = run(&workload(Arrival::Fixed(1000.0), 1, seconds(1)), &mut target);
    assert_eq!(recording.offered.ios, 200);
    assert_eq!(recording.offered.unissued, 800);
    assert_eq!(recording.elapsed_ns, 2 * SECOND);
}

#[test]
fn a_request_to_stop_ends_a_stream_at_a_rate() {
    let progress = Progress::default();
    progress.stop.store(true, Ordering::Relaxed);
    let endless = workload(Arrival::Fixed(1000.0), 4, seconds(1_000_000));
    let recording = execute(&endless, &mut Freezing::new(MS, (0, 0)), &progress).unwrap();
    assert!(recording.interrupted && recording.operations[0].ios > 0);
    assert_eq!(recording.offered.unissued, 0);
}

#[test]
fn workers_share_the_rate_and_mix_with_a_closed_loop() {
    let mut both = workload(Arrival::Fixed(1000.0), 4, seconds(2));
    both.streams[0].workers = 2;
    both.streams.push(Stream {
        arrival: Arrival::Closed,
        queue_depth_per_worker: 1,
        ..both.streams[0].clone()
    });
    both.streams[1].read_fraction = 0.0;
    let open = || Ok(Freezing::new(10 * MS, (0, 0)));
    let recording = execute_parallel(&both, 1 << 30, open, &Default::default()).unwrap();
    let [reads, writes, ..] = &recording.operations;
    assert_eq!(reads.ios, 2000);
    assert_eq!(recording.offered.ios, 2000);
    // Two workers of the closed stream, each 100 I/Os a second.
    assert_eq!(writes.ios, 400);
    assert!(writes.stages.is_none());
}

#[test]
fn a_ramp_is_not_offered() {
    let mut ramped = workload(Arrival::Fixed(1000.0), 4, seconds(1));
    ramped.ramp_ns = SECOND / 2;
    let recording = run(&ramped, &mut Freezing::new(100_000, (0, 0)));
    assert_eq!(recording.offered.ios, 1000);
    assert_eq!(recording.operations[0].ios, 1000);
}
