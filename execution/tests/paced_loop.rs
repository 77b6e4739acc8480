//! Closed loops that begin late, end early, pause, or answer in batches.

use fourcorners_execution::{Progress, execute};
use fourcorners_recording::{LoggedIo, Recording};
use fourcorners_target::{Completion, NoopTarget, Target, TargetError};
use fourcorners_workload::{Arrival, Pattern, Request, Stop, Stream, Think, Workload};
use std::collections::VecDeque;

const MS: u64 = 1_000_000;

/// Serves one request after the other, 10 ms each.
#[derive(Default)]
struct OneByOne {
    now_ns: u64,
    pending: VecDeque<(u64, u32)>,
}

impl Target for OneByOne {
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
        let free_ns = self.pending.back().map_or(self.now_ns, |last| last.0);
        self.pending.push_back((free_ns + 10 * MS, slot));
        self.now_ns
    }

    fn wait(&mut self, deadline_ns: u64, done: &mut Vec<Completion>) -> Result<(), TargetError> {
        assert!(deadline_ns >= self.now_ns, "a deadline in the past");
        match self.pending.front() {
            Some(&(completed_ns, slot)) if completed_ns <= deadline_ns => {
                self.now_ns = completed_ns;
                self.pending.pop_front();
                done.push(Completion { slot, completed_ns, errno: 0 });
            }
            _ => self.now_ns = deadline_ns,
        }
        Ok(())
    }
}

fn stream(queue_depth: u32) -> Stream {
    Stream { queue_depth_per_worker: queue_depth, ..Stream::new(1.0, Pattern::Random, 4096) }
}

fn workload(streams: Vec<Stream>, stop: Stop) -> Workload {
    Workload { streams, stop, ramp_ns: 0, seed: 1, log_ios: 100_000 }
}

fn run(streams: Vec<Stream>, stop: Stop) -> Recording {
    let target = &mut NoopTarget::new(1 << 30, 10 * MS);
    execute(&workload(streams, stop), target, &Progress::default()).unwrap()
}

fn ios(recording: &Recording) -> &[LoggedIo] {
    recording.log.as_ref().unwrap().ios()
}

fn for_ms(time: u64) -> Stop {
    Stop { time_ns: Some(time * MS), ..Stop::default() }
}

#[test]
fn a_pause_follows_when_its_requests_have_completed() {
    // Two I/Os of 10 ms one after the other and 15 ms of pause: 35 ms.
    let think = Some(Think { ios: 2, time_ns: 15 * MS });
    let single = run(vec![Stream { think, ..stream(1) }], for_ms(3_500));
    assert_eq!(single.operations[0].ios, 200);
    // Four at once, of which two and two belong together: 10 ms and 15 ms for two.
    let deep = run(vec![Stream { think, ..stream(4) }], for_ms(2_500));
    assert_eq!(deep.operations[0].ios, 200);
    assert!(ios(&deep).iter().all(|io| io.submitted_ns % (25 * MS as i64) == 0));
    // A pause is no latency.
    assert_eq!(single.operations[0].latencies.sum_ns(), 200 * u128::from(10 * MS));
}

#[test]
fn a_run_ends_in_time_although_a_stream_pauses() {
    let think = Some(Think { ios: 1, time_ns: 1_000_000 * MS });
    let recording = run(vec![Stream { think, ..stream(1) }], for_ms(100));
    assert_eq!(recording.operations[0].ios, 1);
    assert!(!recording.interrupted);
}

#[test]
fn a_stream_begins_and_ends_at_times_of_its_own() {
    let late = Stream { start_ns: 200 * MS, end_ns: Some(500 * MS), ..stream(2) };
    let recording = run(vec![late.clone()], Stop::default());
    assert_eq!(recording.operations[0].ios, 60);
    let within = |io: &LoggedIo| (200 * MS as i64..500 * MS as i64).contains(&io.submitted_ns);
    assert!(ios(&recording).iter().all(within));
    // Another stream goes on before, beside and after it.
    let both = run(vec![stream(1), late], for_ms(1_000));
    assert_eq!(both.operations[0].ios, 160);
    // At a given rate as well.
    let rated = Stream {
        arrival: Arrival::Fixed(100.0),
        start_ns: 200 * MS,
        end_ns: Some(500 * MS),
        ..stream(4)
    };
    let recording = run(vec![rated], Stop::default());
    assert_eq!(recording.operations[0].ios, 30);
    assert!(ios(&recording).iter().all(|io| (200..500).contains(&(io.due_ns / MS as i64))));
}

#[test]
fn completions_are_answered_in_batches() {
    let batched = Stream { answer_batch: 4, ios_per_worker: Some(40), ..stream(8) };
    let whole = workload(vec![batched], Stop::default());
    let recording = execute(&whole, &mut OneByOne::default(), &Progress::default()).unwrap();
    let mut times: Vec<i64> = ios(&recording).iter().map(|io| io.submitted_ns).collect();
    times.sort_unstable();
    assert_eq!(times.len(), 40);
    assert!(times[..8].iter().all(|&ns| ns == 0));
    for (number, batch) in times[8..].chunks(4).enumerate() {
        let expected = (number as i64 + 1) * 40 * MS as i64;
        assert!(batch.iter().all(|&ns| ns == expected), "{batch:?}");
    }
}

#[test]
fn limits_of_streams_end_a_run() {
    let short = Stream { ios_per_worker: Some(5), ..stream(1) };
    let long = Stream { ios_per_worker: Some(20), start_ns: 5 * MS, ..stream(1) };
    let recording = run(vec![short, long], Stop::default());
    assert_eq!(recording.operations[0].ios, 25);
    assert_eq!(recording.elapsed_ns, 205 * MS);
}
