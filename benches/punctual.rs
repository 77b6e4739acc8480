//! How far a replay's issue is off its time where nothing but the issuing loop takes time: on a
//! target that completes everything at once, in real time.
//!
//! `cargo bench -p fourcorners-execution --bench punctual` replays 50,000 I/Os a second for 0.3 s, as
//! `benches/replay_timing.py` does on a file, and for 20 ms, of which some are undisturbed on a busy
//! machine. It prints how late they were: in all replays, and in those in which others left the
//! thread its processor.

use fourcorners_execution::{Progress, replay_parallel};
use fourcorners_recording::{Latencies, Replayed};
use fourcorners_target::{Completion, Target, TargetError};
use fourcorners_workload::{
    Content, Operation, Pace, Pattern, Recorded, Replay, Request, Stop, Stream, TimedRequest,
    Workload,
};
use std::sync::Arc;

/// I/Os of a replay, and how often it is replayed: in all 18 s and 20 s.
const SERIES: [(u64, u32); 2] = [(15_000, 60), (1_000, 1_000)];
const GAP_NS: u64 = 20_000;

fn main() {
    for (ios, repeats) in SERIES {
        measure(ios, repeats);
    }
}

fn measure(ios: u64, repeats: u32) {
    let (mut undisturbed, mut all) = ((0, 0, Latencies::default()), (0, 0, Latencies::default()));
    for _ in 0..repeats {
        let replayed = once(ios);
        let add = |(replays, late, off_time): &mut (u64, u64, Latencies)| {
            *replays += 1;
            *late += replayed.late_ios;
            off_time.merge(&replayed.off_time);
        };
        add(&mut all);
        // In these the thread never waited for a processor.
        if replayed.waited_ns == Some(0) {
            add(&mut undisturbed);
        }
    }
    for (which, (replays, late, off_time)) in [("all", all), ("undisturbed", undisturbed)] {
        let issued = (replays * ios).max(1);
        println!(
            "{which}, {replays} replays of {ios}: p50 {:.2} us, p99 {:.2} us, p99.9 {:.2} us, {:.2} % more than 10 us late",
            percentile_ns(&off_time, 0.5) as f64 / 1e3,
            percentile_ns(&off_time, 0.99) as f64 / 1e3,
            percentile_ns(&off_time, 0.999) as f64 / 1e3,
            100.0 * late as f64 / issued as f64
        );
    }
}

fn percentile_ns(latencies: &Latencies, share: f64) -> u64 {
    let ios: u64 = latencies.buckets().map(|(_, _, count)| count).sum();
    let mut left = (share * ios as f64).ceil() as u64;
    for (_, high_ns, count) in latencies.buckets() {
        if count >= left {
            return high_ns;
        }
        left -= count;
    }
    0
}

fn once(ios: u64) -> Replayed {
    let trace = Replay {
        files: vec!["made".into()],
        format: None,
        pace: Pace::Recorded,
        speed: 1.0,
        depth: None,
        span_bytes: 1 << 30,
        alignment_bytes: 512,
        ios,
        length_ns: ios * GAP_NS,
        written_bytes: 0,
        writes: false,
        is_far_out_of_order: false,
    };
    let stream = Stream::new(1.0, Pattern::Sequential, 4096);
    let workload = Workload {
        streams: vec![Stream { queue_depth_per_worker: 1024, trace: Some(trace), ..stream }],
        stop: Stop::default(),
        ramp_ns: 0,
        seed: 1,
        log_ios: 0,
    };
    let progress = Arc::new(Progress::default());
    let open = || Ok(Nothing::default());
    let recording = replay_parallel(&workload, 1 << 30, open, Box::new(Made(ios)), &progress)
        .expect("nothing can fail");
    assert_eq!(recording.operations[Operation::Read.index()].ios, ios);
    *recording.replayed.expect("a replay")
}

/// So many reads at equal distances.
struct Made(u64);

impl Recorded for Made {
    fn pour(
        self: Box<Self>,
        _content: Content,
        take: &mut dyn FnMut(&mut Vec<TimedRequest>) -> bool,
    ) -> Result<(), String> {
        let one = |number| TimedRequest {
            time_ns: number * GAP_NS,
            request: Request {
                operation: Operation::Read,
                offset_bytes: number * 4096,
                length_bytes: 4096,
                ..Request::FLUSH
            },
            latency_ns: None,
        };
        take(&mut (0..self.0).map(one).collect());
        Ok(())
    }
}

/// Completes everything as soon as it is asked for, by the system's clock.
#[derive(Default)]
struct Nothing(Vec<u32>);

fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists, and the struct is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Target for Nothing {
    fn capacity_bytes(&self) -> u64 {
        1 << 30
    }

    fn now_ns(&mut self) -> u64 {
        now_ns()
    }

    fn clock(&self) -> Option<fn() -> u64> {
        Some(now_ns)
    }

    fn prepare(&mut self, slots: u32, _block_bytes_max: u32) -> Result<(), TargetError> {
        self.0.reserve(slots as usize);
        Ok(())
    }

    fn submit(&mut self, slot: u32, _request: &Request) -> u64 {
        self.0.push(slot);
        now_ns()
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let completed_ns = now_ns();
        done.extend(self.0.drain(..).map(|slot| Completion { slot, completed_ns, errno: 0 }));
        while done.is_empty() && now_ns() < deadline_ns {
            std::hint::spin_loop();
        }
        Ok(())
    }
}
