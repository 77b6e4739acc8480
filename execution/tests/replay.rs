//! Replays of traces: order, times, depths and dependences.

use fourcorners_execution::{Progress, replay};
use fourcorners_recording::{LoggedIo, Recording};
use fourcorners_target::{Completion, Condition, NoopTarget, Target, TargetError};
use fourcorners_workload::{
    Content, Operation, Pace, Pattern, Recorded, Replay, Request, Stream, TimedRequest, Workload,
};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A trace in memory, a few requests at a time.
struct Given(Vec<TimedRequest>);

impl Recorded for Given {
    fn pour(
        self: Box<Self>,
        _content: Content,
        take: &mut dyn FnMut(&mut Vec<TimedRequest>) -> bool,
    ) -> Result<(), String> {
        for part in self.0.chunks(3) {
            if !take(&mut part.to_vec()) {
                break;
            }
        }
        Ok(())
    }
}

/// One that breaks off.
struct Broken;

impl Recorded for Broken {
    fn pour(
        self: Box<Self>,
        _content: Content,
        take: &mut dyn FnMut(&mut Vec<TimedRequest>) -> bool,
    ) -> Result<(), String> {
        take(&mut vec![io(0, 0, None)]);
        Err("the trace ends in the middle".into())
    }
}

/// The `number`th request, at `time_ms`.
fn io(number: u64, time_ms: u64, latency_ms: Option<u64>) -> TimedRequest {
    TimedRequest {
        time_ns: time_ms * MS,
        request: Request {
            operation: Operation::Write,
            offset_bytes: number * 4096,
            length_bytes: 4096,
            ..Request::FLUSH
        },
        latency_ns: latency_ms.map(|ms| ms * MS),
    }
}

fn workload(pace: Pace, speed: f64, depth: Option<u32>, slots: u32) -> Workload {
    let trace = Replay {
        files: vec!["given".into()],
        format: None,
        pace,
        speed,
        depth,
        span_bytes: 1 << 30,
        alignment_bytes: 512,
        ios: 1,
        length_ns: 0,
        written_bytes: 0,
        writes: true,
        is_far_out_of_order: false,
    };
    let stream = Stream::new(0.0, Pattern::Sequential, 4096);
    Workload {
        streams: vec![Stream { queue_depth_per_worker: slots, trace: Some(trace), ..stream }],
        stop: Default::default(),
        ramp_ns: 0,
        seed: 1,
        log_ios: 10_000,
    }
}

/// On a target that takes 10 ms for anything.
fn run(workload: &Workload, trace: Vec<TimedRequest>) -> Recording {
    let mut target = NoopTarget::new(1 << 30, 10 * MS);
    replay(workload, &mut target, Box::new(Given(trace)), &Progress::default()).unwrap()
}

fn log(recording: &Recording) -> Vec<LoggedIo> {
    recording.log.as_ref().unwrap().ios().to_vec()
}

/// Number, and when it was issued in ms, in the order of issue.
fn issued(recording: &Recording) -> Vec<(u64, i64)> {
    let mut ios = log(recording);
    ios.sort_by_key(|io| (io.submitted_ns, io.offset_bytes));
    ios.iter().map(|io| (io.offset_bytes / 4096, io.submitted_ns / MS as i64)).collect()
}

#[test]
fn at_recorded_times_each_is_issued_when_it_was() {
    let trace = vec![io(0, 0, None), io(1, 3, None), io(2, 3, None), io(3, 50, None)];
    let recording = run(&workload(Pace::Recorded, 1.0, None, 8), trace.clone());
    assert_eq!(issued(&recording), [(0, 0), (1, 3), (2, 3), (3, 50)]);
    let replayed = recording.replayed.as_ref().unwrap();
    assert_eq!((replayed.late_ios, replayed.off_time.max_ns()), (0, Some(0)));
    // From 0 to 13 ms, and from 50 to 60 ms.
    assert_eq!(replayed.busy_ns, 23 * MS);
    assert_eq!(replayed.depths[..3], [2, 1, 1]);
    let fast = run(&workload(Pace::Recorded, 2.0, None, 8), trace);
    assert_eq!(issued(&fast).last(), Some(&(3, 25)));
}

#[test]
fn latency_counts_from_when_an_io_was_due_that_found_no_place() {
    let trace = vec![io(0, 0, None), io(1, 2, None), io(2, 4, None)];
    let recording = run(&workload(Pace::Recorded, 1.0, None, 1), trace);
    assert_eq!(issued(&recording), [(0, 0), (1, 10), (2, 20)]);
    let writes = &recording.operations[Operation::Write.index()];
    assert_eq!(writes.latencies.max_ns(), Some(26 * MS));
    let replayed = recording.replayed.unwrap();
    assert_eq!((replayed.late_ios, replayed.off_time.max_ns()), (2, Some(16 * MS)));
    assert_eq!(recording.offered.ios, 3);
}

#[test]
fn as_fast_as_possible_no_more_are_outstanding_than_were() {
    // Two at a time for 100 ms each, then one alone.
    let recorded = [(0, 100), (1, 100), (100, 100), (101, 100), (900, 1)];
    let trace = recorded.iter().zip(0..).map(|(&(at, took), n)| io(n, at, Some(took))).collect();
    let recording = run(&workload(Pace::Depth, 1.0, None, 8), trace);
    assert_eq!(issued(&recording), [(0, 0), (1, 0), (2, 10), (3, 10), (4, 20)]);
    assert!(recording.replayed.unwrap().off_time.max_ns().is_none());
    let without = (0..4).map(|n| io(n, 100 * n, None)).collect();
    let recording = run(&workload(Pace::Depth, 1.0, Some(4), 8), without);
    assert!(issued(&recording).iter().all(|&(_, at_ms)| at_ms == 0));
}

#[test]
fn with_times_to_think_each_follows_the_completion_that_it_followed() {
    // The second came 5 ms after the first had completed, the third while it ran.
    let trace = vec![io(0, 0, Some(2)), io(1, 7, Some(30)), io(2, 8, Some(1)), io(3, 40, Some(1))];
    let recording = run(&workload(Pace::ThinkTimes, 1.0, None, 8), trace);
    // 10 + 5; 10 + 6; the fourth 3 ms after the second one's end at 25 ms, and not
    // before the end of the third at 26 ms.
    assert_eq!(issued(&recording), [(0, 0), (1, 15), (2, 16), (3, 28)]);
}

#[test]
fn a_trace_that_breaks_off_gives_a_partial_recording() {
    let workload = workload(Pace::Recorded, 1.0, None, 4);
    let mut target = NoopTarget::new(1 << 30, MS);
    let recording = replay(&workload, &mut target, Box::new(Broken), &Progress::default()).unwrap();
    assert!(recording.interrupted);
    assert_eq!(recording.failure.as_deref(), Some("the trace ends in the middle"));
    assert_eq!(recording.operations[Operation::Write.index()].ios, 1);
}

/// A target on which making data takes 2 ms, and that counts how often it was made.
struct Making {
    inner: NoopTarget,
    made_ns: u64,
    staged: Vec<(u32, u64)>,
}

impl Target for Making {
    fn capacity_bytes(&self) -> u64 {
        self.inner.capacity_bytes()
    }

    fn now_ns(&mut self) -> u64 {
        self.inner.now_ns() + self.made_ns
    }

    fn prepare(&mut self, slots: u32, block_bytes_max: u32) -> Result<(), TargetError> {
        self.inner.prepare(slots, block_bytes_max)
    }

    fn stage(&mut self, slot: u32, request: &Request) {
        self.staged.push((slot, request.offset_bytes / 4096));
        self.made_ns += 2 * MS;
    }

    fn submit(&mut self, slot: u32, request: &Request) -> u64 {
        let number = request.offset_bytes / 4096;
        let latest = self.staged.iter().rfind(|(staged, _)| *staged == slot);
        assert_eq!(latest, Some(&(slot, number)), "its data was made, for its slot");
        self.inner.submit(slot, request) + self.made_ns
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        let before = done.len();
        // Time that making took has passed for the inner target as well.
        let made_ns = std::mem::take(&mut self.made_ns);
        let begun_ns = self.inner.now_ns() + made_ns;
        self.inner.wait(deadline_ns.max(begun_ns), done)?;
        for completion in &mut done[before..] {
            completion.completed_ns = completion.completed_ns.max(begun_ns);
        }
        Ok(())
    }

    fn condition(&mut self) -> Condition {
        vec![("made".into(), self.staged.len() as f64)]
    }
}

#[test]
fn data_is_made_before_an_io_is_due() {
    let mut target = Making { inner: NoopTarget::new(1 << 30, MS), made_ns: 0, staged: Vec::new() };
    let trace: Vec<TimedRequest> = (0..5).map(|number| io(number, 10 * number, None)).collect();
    let workload = workload(Pace::Recorded, 1.0, None, 4);
    let recording =
        replay(&workload, &mut target, Box::new(Given(trace)), &Progress::default()).unwrap();
    let made: Vec<u64> = target.staged.iter().map(|&(_, number)| number).collect();
    assert_eq!(made, [0, 1, 2, 3, 4]);
    // Only the first one's data could not be made before.
    assert_eq!(recording.replayed.unwrap().late_ios, 1);
}

/// A target that holds requests back until it is told to pass them on, or waits, and on
/// which making data takes 2 ms.
struct Holding {
    inner: Making,
    held: u32,
    passed_on_ns: Vec<u64>,
}

impl Holding {
    fn pass(&mut self) {
        let now_ns = self.inner.now_ns();
        self.passed_on_ns.extend((0..std::mem::take(&mut self.held)).map(|_| now_ns));
    }
}

impl Target for Holding {
    fn capacity_bytes(&self) -> u64 {
        self.inner.capacity_bytes()
    }

    fn now_ns(&mut self) -> u64 {
        self.inner.now_ns()
    }

    fn prepare(&mut self, slots: u32, block_bytes_max: u32) -> Result<(), TargetError> {
        self.inner.prepare(slots, block_bytes_max)
    }

    fn stage(&mut self, slot: u32, request: &Request) {
        self.inner.stage(slot, request);
    }

    fn submit(&mut self, slot: u32, request: &Request) -> u64 {
        self.held += 1;
        self.inner.submit(slot, request)
    }

    fn pass_on(&mut self) {
        self.pass();
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        self.pass();
        self.inner.wait(deadline_ns, done)
    }
}

#[test]
fn what_is_due_does_not_wait_for_the_data_of_the_next() {
    let making = Making { inner: NoopTarget::new(1 << 30, MS), made_ns: 0, staged: Vec::new() };
    let mut target = Holding { inner: making, held: 0, passed_on_ns: Vec::new() };
    let large = |number| {
        let TimedRequest { request, .. } = io(number, 10 * number, None);
        let request = Request { length_bytes: 64 << 10, ..request };
        TimedRequest { request, ..io(number, 10 * number, None) }
    };
    let workload = workload(Pace::Recorded, 1.0, None, 4);
    let given = Given((0..4).map(large).collect());
    replay(&workload, &mut target, Box::new(given), &Progress::default()).unwrap();
    let passed_ms: Vec<u64> = target.passed_on_ns.iter().map(|ns| ns / MS).collect();
    assert_eq!(passed_ms[1..], [10, 20, 30]);
}

#[test]
fn a_drive_is_asked_for_its_condition_at_the_end_of_each_minute() {
    let mut target = Making { inner: NoopTarget::new(1 << 30, MS), made_ns: 0, staged: Vec::new() };
    // Every 10 s from 0 to 130 s: six begin in each minute, and the data of the next is made.
    let trace: Vec<TimedRequest> =
        (0..14).map(|number| io(number, 10_000 * number, None)).collect();
    let workload = workload(Pace::Recorded, 1.0, None, 4);
    let recording =
        replay(&workload, &mut target, Box::new(Given(trace)), &Progress::default()).unwrap();
    let minutes = recording.replayed.unwrap().minutes;
    let told: Vec<f64> = minutes.iter().map(|minute| minute.condition[0].1).collect();
    assert_eq!(told, [7.0, 13.0, 14.0]);
    assert_eq!(minutes[0].condition[0].0, "made");
}

proptest! {
    /// Whatever the pace, all I/Os are issued in the order of the trace, none before
    /// its time, and with times to think none before what it depended on.
    #[test]
    fn every_pace_keeps_the_order(
        gaps in prop::collection::vec((0u64..30, prop::option::of(0u64..60)), 1..60),
        pace in prop::sample::select(vec![Pace::Recorded, Pace::Depth, Pace::ThinkTimes]),
        slots in 1u32..9,
    ) {
        let mut at_ms = 0;
        let mut trace: Vec<TimedRequest> = Vec::new();
        for (number, &(gap_ms, took_ms)) in gaps.iter().enumerate() {
            trace.push(io(number as u64, at_ms, took_ms));
            at_ms += gap_ms;
        }
        let recording = run(&workload(pace, 1.0, None, slots), trace.clone());
        let mut ios = log(&recording);
        prop_assert_eq!(ios.len(), trace.len());
        ios.sort_by_key(|io| io.offset_bytes);
        prop_assert!(ios.is_sorted_by_key(|io| io.submitted_ns));
        for (later, one) in trace.iter().zip(&ios) {
            if pace == Pace::Recorded {
                prop_assert!(one.submitted_ns >= later.time_ns as i64);
            }
            for (earlier, other) in trace.iter().zip(&ios) {
                let ended_ns = earlier.latency_ns.map(|ns| earlier.time_ns + ns);
                if pace == Pace::ThinkTimes
                    && other.offset_bytes < one.offset_bytes
                    && ended_ns.is_some_and(|ended_ns| ended_ns <= later.time_ns)
                {
                    prop_assert!(other.completed_ns <= one.submitted_ns);
                }
            }
        }
    }
}
