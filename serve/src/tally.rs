//! What happened in a session.

use crate::injection::DataFault;
use crate::io::{Command, Io};
use fourcorners_recording::{Latencies, Recorder, Recording};
use fourcorners_workload::Operation;
use serde::Serialize;

/// How late an answer may be, in nanoseconds here, before it says more about the host
/// than about the drive: what a ublk server of a model of a disk published as its own.
pub const LATE_NS: u64 = 100_000;

/// The share of the drive's own time that an answer may be late by beyond that: what
/// measurements of the drive and of the simulation may differ by.
const LATE_SHARE: f64 = 0.05;

/// One loss of power.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// When, since the session began, on the drive's clock.
    pub at_ns: u64,
    /// Writes that had been acknowledged.
    pub written_ios: u64,
    /// Ranges (offset and length) whose latest write was lost.
    pub lost: Vec<(u64, u64)>,
    /// Bytes that are again what they were when they were durable last.
    pub restored_bytes: u64,
    /// I/Os that were never answered.
    pub unacknowledged_ios: u64,
}

/// A write whose data a fault changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Corruption {
    /// Where it was to go.
    pub offset_bytes: u64,
    /// Its length.
    pub length_bytes: u64,
    /// What became of it.
    pub what: &'static str,
}

/// Counts of a session.
#[derive(Debug)]
pub struct Tally {
    recorder: Recorder,
    lateness: Latencies,
    answers: u64,
    late: u64,
    trims: u64,
    zeroes: u64,
    cuts: Vec<Cut>,
    corruptions: Vec<Corruption>,
}

/// Corruptions that are listed one by one; more only count.
const LISTED_MAX: usize = 10_000;

impl Tally {
    /// Nothing yet.
    pub fn new(start_ns: u64) -> Self {
        Self {
            recorder: Recorder::new(start_ns),
            lateness: Latencies::default(),
            answers: 0,
            late: 0,
            trims: 0,
            zeroes: 0,
            cuts: Vec::new(),
            corruptions: Vec::new(),
        }
    }

    /// An I/O is done, on the drive's clock.
    pub fn answered(&mut self, io: &Io, errno: i32, submitted_ns: u64, completed_ns: u64) {
        match io.command {
            Command::Trim => return self.trims += 1,
            Command::Zero { .. } => return self.zeroes += 1,
            _ => {}
        }
        let operation = io.command.operation();
        if errno == 0 {
            self.recorder.completed(operation, io.length_bytes, submitted_ns, completed_ns);
        } else {
            self.recorder.failed(operation, errno, completed_ns);
        }
    }

    /// An answer was late by so much, both in nanoseconds here; the drive took
    /// `latency_ns`.
    pub fn delivered(&mut self, late_ns: u64, latency_ns: u64) {
        self.lateness.record(late_ns);
        self.answers += 1;
        self.late += u64::from(late_ns > LATE_NS.max((latency_ns as f64 * LATE_SHARE) as u64));
    }

    /// A fault has changed what was stored.
    pub fn corrupted(&mut self, offset_bytes: u64, length_bytes: u64, fault: DataFault) {
        if self.corruptions.len() < LISTED_MAX {
            let what = match fault {
                DataFault::Flipped(_) => "bit-flip",
                DataFault::Torn(_) => "torn-write",
                DataFault::Lost => "lost-write",
                DataFault::Misplaced(_) => "misplaced-write",
                DataFault::Stale => "stale-read",
            };
            self.corruptions.push(Corruption { offset_bytes, length_bytes, what });
        }
    }

    /// Power has failed.
    pub fn cut(&mut self, cut: Cut) {
        self.cuts.push(cut);
    }

    /// Writes that were acknowledged.
    pub fn written_ios(&self) -> u64 {
        self.recorder.recording().operations[Operation::Write.index()].ios
    }

    /// Answers, and those of them that were late.
    pub fn answers(&self) -> (u64, u64) {
        (self.answers, self.late)
    }

    /// What was recorded so far; its seconds that are not over are not in it.
    pub fn recording(&self) -> &Recording {
        self.recorder.recording()
    }

    /// TRIMs, zeroes without data, losses of power, and changed writes.
    pub fn events(&self) -> (u64, u64, &[Cut], &[Corruption]) {
        (self.trims, self.zeroes, &self.cuts, &self.corruptions)
    }

    /// The recording and how late answers were.
    pub fn finish(self) -> (Recording, Latencies) {
        let mut recording = self.recorder.finish();
        // Nothing was outstanding but for as long as it took.
        recording.outstanding_integral_ns =
            recording.operations.iter().map(|operation| operation.latencies.sum_ns()).sum();
        (recording, self.lateness)
    }

    /// How late answers were so far.
    pub fn lateness(&self) -> &Latencies {
        &self.lateness
    }
}
