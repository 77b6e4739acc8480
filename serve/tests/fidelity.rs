//! The same requests by the issuing loop in virtual time, and through a served drive by a
//! client that takes a while to come back, as programs do.

mod support;

use fourcorners_execution::{Progress, execute};
use fourcorners_recording::LoggedIo;
use fourcorners_serve::data::Data;
use fourcorners_serve::{Command, Served};
use fourcorners_sim::SimulatedDrive;
use fourcorners_workload::{Operation, Pattern, Stop, Stream, Workload};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use support::{CORE, DISK, VECTOR, drive, io};

const SPAN_BYTES: u64 = 64 << 20;
/// From the end of an I/O to the next one: a round trip by a socket, and to spare.
const AWAY_NS: u64 = 60_000;
/// What the studies of served drives allow, beside the client's own time.
const AGREE: f64 = 0.05;

fn workload(operation: Operation, pattern: Pattern, block_bytes: u32, depth: u32) -> Workload {
    let read_fraction = if operation == Operation::Read { 1.0 } else { 0.0 };
    let stream = Stream {
        queue_depth_per_worker: depth,
        span_bytes: Some(SPAN_BYTES),
        ..Stream::new(read_fraction, pattern, block_bytes)
    };
    let stop = Stop { ios: Some(if block_bytes == 1 << 20 { 64 } else { 600 }), ..Stop::default() };
    Workload { streams: vec![stream], stop, ramp_ns: 0, seed: 5, log_ios: 600 }
}

/// A drive whose span is filled.
fn filled(text: &str) -> SimulatedDrive {
    let mut drive = drive(text, &[]);
    let fill = workload(Operation::Write, Pattern::Sequential, 1 << 20, 1);
    execute(&fill, &mut drive, &Progress::default()).unwrap();
    drive
}

/// Latencies as the client sees them, in ns.
fn served(text: &str, requests: &[LoggedIo], depth: u32) -> Vec<u64> {
    let mut drive = filled(text);
    let data = Data::in_memory(drive.capacity_bytes());
    let mut served = Served::new(&mut drive, data, 1).unwrap();
    let mut back: BinaryHeap<Reverse<u64>> =
        (0..depth).map(|_| Reverse(served.start_ns())).collect();
    let (mut begun_ns, mut told_ns) = (Vec::new(), Vec::new());
    let mut finished = Vec::new();
    while told_ns.len() < requests.len() {
        let next_ns = served.next_ns().unwrap();
        let client_ns = back.peek().map_or(u64::MAX, |at| at.0);
        let client_ns = if begun_ns.len() < requests.len() { client_ns } else { u64::MAX };
        let now_ns = next_ns.min(client_ns);
        assert_eq!(served.advance(now_ns, &mut finished).unwrap(), None);
        for one in finished.drain(..) {
            let back_ns = one.completed_ns + AWAY_NS;
            told_ns.push(back_ns - begun_ns[one.cookie as usize]);
            back.push(Reverse(back_ns));
        }
        while let Some(request) = requests.get(begun_ns.len())
            && back.peek().is_some_and(|at| at.0 <= now_ns)
        {
            back.pop();
            let range = request.offset_bytes as usize..;
            let range = range.start..range.start + request.bytes as usize;
            let command = match request.operation {
                Operation::Read => Command::Read,
                _ => Command::Write(vec![7; range.len()]),
            };
            begun_ns.push(now_ns);
            assert_eq!(served.submit(io(begun_ns.len() as u64 - 1, command, range)), None);
        }
    }
    told_ns
}

fn mean_and_p99_us(mut latencies_ns: Vec<u64>) -> (f64, f64) {
    latencies_ns.sort_unstable();
    let mean_ns = latencies_ns.iter().sum::<u64>() as f64 / latencies_ns.len() as f64;
    (mean_ns * 1e-3, latencies_ns[latencies_ns.len() * 99 / 100] as f64 * 1e-3)
}

#[test]
fn a_served_drive_is_as_fast_as_one_in_virtual_time() {
    let corners = [
        (Operation::Read, Pattern::Random, 4096),
        (Operation::Write, Pattern::Random, 4096),
        (Operation::Read, Pattern::Sequential, 131_072),
        (Operation::Write, Pattern::Sequential, 131_072),
    ];
    for text in [CORE, DISK, VECTOR] {
        for (operation, pattern, block_bytes) in corners.clone() {
            for depth in [1, 4, 32] {
                let workload = workload(operation, pattern.clone(), block_bytes, depth);
                let recording = execute(&workload, &mut filled(text), &Progress::default());
                let mut requests = recording.unwrap().log.unwrap().ios().to_vec();
                requests.sort_by_key(|request| request.submitted_ns);
                let took_ns = requests.iter().map(|io| (io.completed_ns - io.due_ns) as u64);
                let (mean_us, p99_us) = mean_and_p99_us(took_ns.collect());
                let (found_us, found_p99_us) = mean_and_p99_us(served(text, &requests, depth));
                let name = text.lines().next().unwrap();
                let what = format!("{name}, {operation:?} of {block_bytes} bytes, depth {depth}");
                let away_us = AWAY_NS as f64 * 1e-3;
                let mean_differs_us = (found_us - mean_us).abs();
                assert!(
                    mean_differs_us <= AGREE * mean_us + away_us,
                    "{what}: {found_us:.0} us in the mean, not {mean_us:.0}"
                );
                // It may be earlier: while the client is away, a write buffer empties.
                assert!(
                    found_p99_us <= (1.0 + AGREE) * p99_us + away_us,
                    "{what}: {found_p99_us:.0} us at the 99th percentile, not {p99_us:.0}"
                );
            }
        }
    }
}
