//! A trace in equal intervals, whose length doubles as the trace grows.

use super::blocks::BLOCK_BYTES;
use crate::record::Record;
use fourcorners_workload::Operation;
use serde::Serialize;
use std::collections::HashSet;

/// Intervals at most; a plot has as many places.
const INTERVALS_MAX: usize = 120;

/// The first length of an interval.
const SHORTEST_NS: u64 = 1_000;

/// Blocks that all intervals keep together: some 20 MB.
const KEPT_MAX: usize = 1 << 20;

/// What happened in an interval.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Interval {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Flushes, discards and write-zeroes.
    pub others: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Bytes that were written.
    pub written_bytes: u64,
    /// Blocks of 4 KiB that were read or written, in bytes; by the sampled ones.
    pub working_set_bytes: f64,
}

/// A trace in equal intervals.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TimeFigures {
    /// Length of an interval.
    pub interval_ns: u64,
    /// From the first I/O on.
    pub intervals: Vec<Interval>,
}

pub(super) struct OverTime {
    interval_ns: u64,
    intervals: Vec<(Interval, HashSet<u64>)>,
    at: usize,
    /// Blocks with a larger hash are not kept; those that are sampled have a smaller one than that
    /// of the sample.
    threshold: u64,
    kept: usize,
}

impl Default for OverTime {
    fn default() -> Self {
        OverTime {
            interval_ns: SHORTEST_NS,
            intervals: Vec::new(),
            at: 0,
            threshold: u64::MAX,
            kept: 0,
        }
    }
}

impl OverTime {
    pub(super) fn count(&mut self, record: &Record, since_ns: u64) {
        while since_ns / self.interval_ns >= INTERVALS_MAX as u64 {
            self.double();
        }
        self.at = (since_ns / self.interval_ns) as usize;
        if self.intervals.len() <= self.at {
            self.intervals.resize_with(self.at + 1, Default::default);
        }
        let (interval, _) = &mut self.intervals[self.at];
        match record.operation {
            Operation::Read => {
                interval.reads += 1;
                interval.read_bytes += record.length_bytes;
            }
            Operation::Write => {
                interval.writes += 1;
                interval.written_bytes += record.length_bytes;
            }
            _ => interval.others += 1,
        }
    }

    /// A sampled block of the record that was counted last, by its hash; `sampled` is the largest
    /// hash of the sample.
    pub(super) fn block(&mut self, hash: u64, sampled: u64) {
        self.threshold = self.threshold.min(sampled);
        if hash > self.threshold || !self.intervals[self.at].1.insert(hash) {
            return;
        }
        self.kept += 1;
        if self.kept > KEPT_MAX {
            self.threshold /= 2;
            self.kept = 0;
            for (_, blocks) in &mut self.intervals {
                blocks.retain(|hash| *hash <= self.threshold);
                blocks.shrink_to_fit();
                self.kept += blocks.len();
            }
        }
    }

    fn double(&mut self) {
        self.interval_ns *= 2;
        let old = std::mem::take(&mut self.intervals);
        for (number, (interval, blocks)) in old.into_iter().enumerate() {
            if number % 2 == 0 {
                self.intervals.push((interval, blocks));
                continue;
            }
            let (sum, all) = self.intervals.last_mut().expect("an even one came before");
            sum.reads += interval.reads;
            sum.writes += interval.writes;
            sum.others += interval.others;
            sum.read_bytes += interval.read_bytes;
            sum.written_bytes += interval.written_bytes;
            all.extend(blocks);
        }
        self.kept = self.intervals.iter().map(|(_, blocks)| blocks.len()).sum();
    }

    pub(super) fn finish(self) -> TimeFigures {
        let threshold = self.threshold;
        let share = threshold as f64 / u64::MAX as f64;
        let told = |(interval, blocks): (Interval, HashSet<u64>)| {
            let sampled = blocks.iter().filter(|hash| **hash <= threshold).count();
            Interval { working_set_bytes: sampled as f64 / share * BLOCK_BYTES as f64, ..interval }
        };
        TimeFigures {
            interval_ns: self.interval_ns,
            intervals: self.intervals.into_iter().map(told).collect(),
        }
    }
}
