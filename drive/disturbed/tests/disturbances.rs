//! Each disturbance does what its strength says, and nothing else.

use fourcorners_disturbed::{Disturbance, Disturbed, Strength};
use fourcorners_execution::{Progress, execute};
use fourcorners_recording::Latencies;
use fourcorners_target::{Completion, NoopTarget, Target, TargetError};
use fourcorners_workload::{Operation, Pattern, Request, Stop, Stream, Workload};
use std::collections::VecDeque;

const LATENCY_NS: u64 = 100_000;
const IOS: u64 = 20_000;

/// Latencies of reads at a queue depth, and how long they took in all.
fn disturbed(strength: Strength, depth: u32, seed: u64) -> (Latencies, u64) {
    let mut target = NoopTarget::new(1 << 30, LATENCY_NS);
    let mut disturbance = Disturbance::new(strength, seed);
    let stream =
        Stream { queue_depth_per_worker: depth, ..Stream::new(1.0, Pattern::Random, 4096) };
    let workload = Workload {
        streams: vec![stream],
        stop: Stop { ios: Some(IOS), ..Stop::default() },
        ramp_ns: 0,
        seed: 1,
        log_ios: 0,
    };
    let mut disturbed = Disturbed::new(&mut target, &mut disturbance);
    let recording = execute(&workload, &mut disturbed, &Progress::default()).expect("it runs");
    disturbed.end().expect("it ends");
    // Nothing of the other load is left: the target has nothing to complete.
    let mut left = Vec::new();
    let idle_ns = target.now_ns() + 10 * LATENCY_NS;
    target.wait(idle_ns, &mut left).expect("it waits");
    assert!(left.is_empty() && target.now_ns() == idle_ns);
    let read = &recording.operations[Operation::Read.index()];
    assert_eq!(read.ios, IOS);
    (read.latencies.clone(), recording.elapsed_ns)
}

fn mean_ns(latencies: &Latencies) -> f64 {
    latencies.sum_ns() as f64 / IOS as f64
}

/// Share of the latencies beyond one.
fn share_beyond(latencies: &Latencies, latency_ns: u64) -> f64 {
    let beyond = latencies.buckets().filter(|&(low, ..)| low > latency_ns).map(|(.., count)| count);
    beyond.sum::<u64>() as f64 / IOS as f64
}

#[test]
fn without_strength_nothing_changes() {
    let (latencies, elapsed_ns) = disturbed(Strength::default(), 4, 1);
    assert_eq!(latencies.min_ns(), Some(LATENCY_NS));
    assert_eq!(latencies.max_ns(), Some(LATENCY_NS));
    assert_eq!(elapsed_ns, IOS / 4 * LATENCY_NS);
}

#[test]
fn service_times_spread_about_their_mean() {
    let (latencies, _) = disturbed(Strength { spread: 0.2, ..Strength::default() }, 1, 1);
    assert!((mean_ns(&latencies) / LATENCY_NS as f64 - 1.0).abs() < 0.01);
    // Of a normal distribution, and nearly of this one, 16 % lie beyond a deviation.
    let beyond = share_beyond(&latencies, LATENCY_NS * 12 / 10);
    assert!((0.13..0.18).contains(&beyond), "{beyond}");
}

#[test]
fn the_same_seed_disturbs_alike_and_another_one_otherwise() {
    let strength = Strength { spread: 0.1, outlier_share: 0.01, ..Strength::default() };
    let elapsed_ns = |seed| disturbed(strength, 4, seed).1;
    assert_eq!(elapsed_ns(1), elapsed_ns(1));
    assert_ne!(elapsed_ns(1), elapsed_ns(2));
}

#[test]
fn outliers_take_ten_to_a_hundred_times_as_long() {
    let (latencies, _) = disturbed(Strength { outlier_share: 0.01, ..Strength::default() }, 1, 1);
    let beyond = share_beyond(&latencies, 9 * LATENCY_NS);
    assert!((0.008..0.012).contains(&beyond), "{beyond}");
    assert!((share_beyond(&latencies, LATENCY_NS * 11 / 10) - beyond).abs() < 1e-9);
    assert!(latencies.max_ns() <= Some(100 * LATENCY_NS));
}

#[test]
fn a_drift_lasts() {
    // Two seconds are much less than the minutes of a drift: all times are off alike.
    let (latencies, _) = disturbed(Strength { drift: 0.1, ..Strength::default() }, 1, 3);
    let off = mean_ns(&latencies) / LATENCY_NS as f64 - 1.0;
    assert!((0.01..0.4).contains(&off.abs()), "{off}");
    assert!(latencies.max_ns() < latencies.min_ns().map(|least| least * 11 / 10));
}

#[test]
fn the_host_serves_one_request_after_the_other() {
    let overhead_ns = 40_000;
    let (latencies, _) = disturbed(Strength { overhead_ns, ..Strength::default() }, 1, 1);
    let added = mean_ns(&latencies) - LATENCY_NS as f64;
    assert!((added / overhead_ns as f64 - 1.0).abs() < 0.02, "{added}");
    // 32 at a time complete in the time that the host needs to hand them over.
    let (_, elapsed_ns) = disturbed(Strength { overhead_ns, ..Strength::default() }, 32, 1);
    let each_ns = elapsed_ns as f64 / IOS as f64;
    assert!((each_ns / (overhead_ns as f64 / 2.0) - 1.0).abs() < 0.02, "{each_ns}");
}

/// Serves one request at a time, so that a request of somebody else holds others up.
struct OneAtATime(NoopTarget, VecDeque<(u32, Request)>, bool);

impl Target for OneAtATime {
    fn capacity_bytes(&self) -> u64 {
        self.0.capacity_bytes()
    }

    fn now_ns(&mut self) -> u64 {
        self.0.now_ns()
    }

    fn prepare(&mut self, slots: u32, most: u32) -> Result<(), TargetError> {
        self.0.prepare(slots, most)
    }

    fn submit(&mut self, slot: u32, request: &Request) -> u64 {
        if self.2 {
            self.1.push_back((slot, *request));
        } else {
            self.2 = true;
            self.0.submit(slot, request);
        }
        self.0.now_ns()
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        self.0.wait(deadline_ns, done)?;
        if !done.is_empty() {
            self.2 = false;
            if let Some((slot, request)) = self.1.pop_front() {
                self.submit(slot, &request);
            }
        }
        Ok(())
    }
}

#[test]
fn other_load_takes_its_share_of_the_time() {
    let noop = NoopTarget::new(1 << 30, LATENCY_NS);
    let mut target = OneAtATime(noop, Default::default(), false);
    let strength = Strength { load_share: 0.1, ..Strength::default() };
    let mut disturbance = Disturbance::new(strength, 1);
    let workload = Workload {
        streams: vec![Stream::new(1.0, Pattern::Random, 4096)],
        stop: Stop { ios: Some(IOS), ..Stop::default() },
        ramp_ns: 0,
        seed: 1,
        log_ios: 0,
    };
    let mut disturbed = Disturbed::new(&mut target, &mut disturbance);
    let recording = execute(&workload, &mut disturbed, &Progress::default()).expect("it runs");
    disturbed.end().expect("it ends");
    let added = recording.elapsed_ns as f64 / (IOS * LATENCY_NS) as f64 - 1.0;
    assert!((0.05..0.12).contains(&added), "{added}");
}
