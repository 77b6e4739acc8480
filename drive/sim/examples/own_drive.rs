//! A drive model of your own, in this process.
//!
//! ```text
//! cargo run --release -p fourcorners-sim --example own_drive
//! ```
//!
//! `Device` is what a model is: it takes commands, and handles its events in order of time.
//! `Simulated::new(model)` is a target of it, with a virtual clock. A simulator that keeps its own
//! clock implements `fourcorners_target::Target` instead, which is all that the issuing loop knows;
//! one that is another program is started as `exec:COMMAND` (docs/foreign-drives.md).

use fourcorners_execution::{Progress, execute};
use fourcorners_sim::{Device, NEVER_NS, Simulated};
use fourcorners_target::Completion;
use fourcorners_workload::{Operation, Pattern, Request, Stop, Stream, Workload};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

const DIES: usize = 8;
const PAGE_BYTES: u64 = 4096;
const READ_NS: u64 = 60_000;
const WRITE_NS: u64 = 250_000;

/// Eight dies, one command each at a time; pages lie on them in turn.
#[derive(Debug, Default)]
struct EightDies {
    die_free_ns: [u64; DIES],
    /// When each outstanding command completes, and its tag.
    pending: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Device for EightDies {
    fn capacity_bytes(&self) -> u64 {
        64_000_000_000
    }

    fn submit(&mut self, at_ns: u64, tag: u32, request: &Request) {
        let service_ns = match request.operation {
            Operation::Read => READ_NS,
            Operation::Write => WRITE_NS,
            _ => 0,
        };
        let end_bytes = request.offset_bytes + u64::from(request.length_bytes);
        let pages = request.offset_bytes / PAGE_BYTES..end_bytes.div_ceil(PAGE_BYTES);
        let mut completed_ns = at_ns;
        for page in pages {
            let free_ns = &mut self.die_free_ns[(page % DIES as u64) as usize];
            *free_ns = at_ns.max(*free_ns) + service_ns;
            completed_ns = completed_ns.max(*free_ns);
        }
        self.pending.push(Reverse((completed_ns, tag)));
    }

    fn next_event_ns(&self) -> u64 {
        self.pending.peek().map_or(NEVER_NS, |Reverse((at_ns, _))| *at_ns)
    }

    fn step(&mut self, done: &mut Vec<Completion>) {
        if let Some(Reverse((completed_ns, slot))) = self.pending.pop() {
            done.push(Completion { slot, completed_ns, errno: 0 });
        }
    }

    fn purge(&mut self, _at_ns: u64) {}

    /// A write completes when it is on its dies.
    fn at_risk(&self, _at_ns: u64) -> Vec<Range<u64>> {
        Vec::new()
    }

    fn power_cut(&mut self, _at_ns: u64) -> Vec<Range<u64>> {
        self.pending.clear();
        Vec::new()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut drive = Simulated::new(EightDies::default());
    for depth in [1, 8, 64] {
        let reads = Stream::new(1.0, Pattern::Random, PAGE_BYTES as u32);
        let workload = Workload {
            streams: vec![Stream { queue_depth_per_worker: depth, ..reads }],
            stop: Stop { ios: Some(100_000), ..Stop::default() },
            ramp_ns: 0,
            seed: 1,
            log_ios: 0,
        };
        let recording = execute(&workload, &mut drive, &Progress::default())?;
        let seconds = recording.elapsed_ns as f64 / 1e9;
        let ios = recording.operations[0].ios;
        println!("queue depth {depth:>2}: {:>7.0} reads per second", ios as f64 / seconds);
    }
    Ok(())
}
