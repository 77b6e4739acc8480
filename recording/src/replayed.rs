//! How a trace was replayed, beside what every recording has.

use crate::Latencies;
use fourcorners_workload::Operation;
use std::borrow::Cow;

/// Classes of sizes: up to 512 bytes, up to twice that, and so on to 1 GiB and more.
pub const SIZE_CLASSES: usize = 22;
/// Classes of queue depths: 1, 2, up to 4, up to 8, and so on to 4096.
pub const DEPTH_CLASSES: usize = 13;
/// An I/O that is issued later than this after it was due was not issued in time: what
/// a quiet machine keeps in 99 of 100 I/Os.
pub const LATE_NS: u64 = 10_000;

/// Length of a [`Minute`].
pub const MINUTE_NS: u64 = 60_000_000_000;

/// One minute of a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Minute {
    /// Time with an I/O outstanding.
    pub busy_ns: u64,
    /// Bytes that the drive had programmed into flash since the start by the end of
    /// the minute; `None` where the target does not know it.
    pub flash_programmed_bytes: Option<u64>,
    /// What state the drive said it was in at the end of the minute, as names and
    /// values; empty where it says nothing, or was not asked.
    pub condition: Vec<(Cow<'static, str>, f64)>,
}

/// How a trace was replayed.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// From when I/Os were due to their submission; empty where none was due at a time.
    pub off_time: Latencies,
    /// I/Os that were not issued in time: more than [`LATE_NS`] after they were due.
    pub late_ios: u64,
    /// I/Os by operation and class of size: class `n` has those above
    /// `512 << (n - 1)` bytes up to `512 << n`. Flushes are in class 0.
    pub sizes: [[u64; SIZE_CLASSES]; Operation::COUNT],
    /// I/Os by class of the queue depth when they were issued, with themselves: class
    /// `n` has depths above `1 << (n - 1)` up to `1 << n`.
    pub depths: [u64; DEPTH_CLASSES],
    /// Time with an I/O outstanding.
    pub busy_ns: u64,
    /// By the minute from the start; the last may cover less.
    pub minutes: Vec<Minute>,
    /// Time that the thread which issues waited for a processor; `None` where the
    /// clock is not the system's, or nobody knows.
    pub waited_ns: Option<u64>,
}

impl Replayed {
    /// Counts an I/O as it is issued.
    #[inline]
    pub fn issued(&mut self, operation: Operation, bytes: u32, depth: u32) {
        let size = bytes.div_ceil(512).max(1).next_power_of_two().ilog2() as usize;
        self.sizes[operation.index()][size.min(SIZE_CLASSES - 1)] += 1;
        let class = depth.max(1).next_power_of_two().ilog2() as usize;
        self.depths[class.min(DEPTH_CLASSES - 1)] += 1;
    }

    /// Counts how late an I/O was issued that was due at a time.
    #[inline]
    pub fn late_by(&mut self, late_ns: u64) {
        self.off_time.record(late_ns);
        self.late_ios += u64::from(late_ns > LATE_NS);
    }

    /// Counts a time with an I/O outstanding, from the start.
    pub fn busy(&mut self, mut from_ns: u64, to_ns: u64) {
        self.busy_ns += to_ns - from_ns;
        while from_ns < to_ns {
            let end_ns = (from_ns / MINUTE_NS + 1) * MINUTE_NS;
            self.minute(from_ns).busy_ns += to_ns.min(end_ns) - from_ns;
            from_ns = end_ns;
        }
    }

    /// Notes what the drive has programmed since the start.
    pub fn programmed(&mut self, now_ns: u64, bytes: Option<u64>) {
        self.minute(now_ns).flash_programmed_bytes = bytes;
    }

    /// Notes what state the drive says it is in.
    pub fn found(&mut self, now_ns: u64, condition: Vec<(Cow<'static, str>, f64)>) {
        self.minute(now_ns).condition = condition;
    }

    fn minute(&mut self, at_ns: u64) -> &mut Minute {
        let number = (at_ns / MINUTE_NS) as usize;
        while self.minutes.len() <= number {
            // What passed without a reading had what was read last.
            let last = self.minutes.last().and_then(|minute| minute.flash_programmed_bytes);
            self.minutes.push(Minute { flash_programmed_bytes: last, ..Minute::default() });
        }
        &mut self.minutes[number]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_minutes_add_up() {
        let mut replayed = Replayed::default();
        for (bytes, depth) in [(0, 1), (512, 1), (4096, 2), (4097, 3), (1 << 30, 5000)] {
            replayed.issued(Operation::Write, bytes, depth);
        }
        let sizes = replayed.sizes[Operation::Write.index()];
        assert_eq!((sizes[0], sizes[3], sizes[4], sizes[21]), (2, 1, 1, 1));
        assert_eq!((replayed.depths[0], replayed.depths[1], replayed.depths[2]), (2, 1, 1));
        assert_eq!(replayed.depths[12], 1);
        replayed.busy(30_000_000_000, 130_000_000_000);
        let busy: Vec<u64> = replayed.minutes.iter().map(|m| m.busy_ns / 1_000_000_000).collect();
        assert_eq!((busy, replayed.busy_ns), (vec![30, 60, 10], 100_000_000_000));
        for late_ns in [0, LATE_NS, LATE_NS + 1] {
            replayed.late_by(late_ns);
        }
        assert_eq!(replayed.late_ios, 1);
    }
}
