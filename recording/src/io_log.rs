//! The log of single I/Os, in bounded memory.

use fourcorners_workload::Operation;

/// One I/O as it happened. Times count from the start of measuring, so that an
/// I/O that was due before it has a negative one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedIo {
    /// What its latency counts from; in a closed loop its submission.
    pub due_ns: i64,
    /// When it was handed to the target.
    pub submitted_ns: i64,
    /// When it was completed, or failed.
    pub completed_ns: i64,
    /// Where, from the start of the target.
    pub offset_bytes: u64,
    /// How much.
    pub bytes: u32,
    /// What was done.
    pub operation: Operation,
    /// The write completes when it is durable (force unit access).
    pub fua: bool,
    /// 0, or how it failed.
    pub errno: i32,
}

/// I/Os in order of their completion: all of them as long as they fit, then a
/// random half, a quarter and so on.
///
/// Which I/Os stay is drawn by the number of an I/O, not by its place among
/// others: every second, fourth ... one would follow the periods that drives have
/// in powers of two. The draw is the same in every run, and a smaller share is
/// part of every larger one.
#[derive(Clone, Debug)]
pub struct IoLog {
    limit: usize,
    /// One in `2^halvings` is kept.
    halvings: u32,
    offered: u64,
    ios: Vec<LoggedIo>,
    /// For each of them how often the log may be halved before it goes.
    endurance: Vec<u8>,
}

impl IoLog {
    /// A log of at most `limit` I/Os, which has to be at least 1. The memory is
    /// reserved at once, so that none is sought while measuring.
    pub fn new(limit: usize) -> Self {
        assert!(limit > 0, "a log without room");
        Self {
            limit,
            halvings: 0,
            offered: 0,
            ios: Vec::with_capacity(limit),
            endurance: Vec::with_capacity(limit),
        }
    }

    /// Takes an I/O, if it is drawn.
    #[inline]
    pub fn add(&mut self, io: LoggedIo) {
        let endurance = mixed(self.offered).leading_zeros();
        self.offered += 1;
        if endurance < self.halvings {
            return;
        }
        while self.ios.len() == self.limit {
            self.halve_to(self.halvings + 1);
            if endurance < self.halvings {
                return;
            }
        }
        self.ios.push(io);
        self.endurance.push(endurance as u8);
    }

    /// The I/Os that were kept, in order of their completion.
    pub fn ios(&self) -> &[LoggedIo] {
        &self.ios
    }

    /// I/Os that there were.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// One I/O in so many was kept: a power of two.
    pub fn one_in(&self) -> u64 {
        1 << self.halvings
    }

    /// Joins the logs of workers that ran side by side: of each the same share.
    pub(crate) fn merge(&mut self, mut other: IoLog) {
        let halvings = self.halvings.max(other.halvings);
        self.halve_to(halvings);
        other.halve_to(halvings);
        self.limit += other.limit;
        self.offered += other.offered;
        let mut all: Vec<(LoggedIo, u8)> = Vec::with_capacity(self.ios.len() + other.ios.len());
        for log in [&*self, &other] {
            all.extend(log.ios.iter().copied().zip(log.endurance.iter().copied()));
        }
        all.sort_by_key(|(io, _)| io.completed_ns);
        (self.ios, self.endurance) = all.into_iter().unzip();
    }

    fn halve_to(&mut self, halvings: u32) {
        if halvings == self.halvings {
            return;
        }
        self.halvings = halvings;
        let mut kept = 0;
        for index in 0..self.ios.len() {
            if u32::from(self.endurance[index]) >= halvings {
                self.ios[kept] = self.ios[index];
                self.endurance[kept] = self.endurance[index];
                kept += 1;
            }
        }
        self.ios.truncate(kept);
        self.endurance.truncate(kept);
    }
}

/// A number without relation to its neighbours': the output function of
/// SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(number: u64) -> LoggedIo {
        let at_ns = number as i64 * 1_000;
        LoggedIo {
            due_ns: at_ns,
            submitted_ns: at_ns,
            completed_ns: at_ns + 100,
            offset_bytes: number * 4096,
            bytes: 4096,
            operation: Operation::Read,
            fua: false,
            errno: 0,
        }
    }

    fn log(limit: usize, numbers: impl Iterator<Item = u64>) -> IoLog {
        let mut log = IoLog::new(limit);
        numbers.for_each(|number| log.add(io(number)));
        log
    }

    #[test]
    fn what_fits_is_kept_whole() {
        let log = log(100, 0..100);
        assert_eq!((log.one_in(), log.offered()), (1, 100));
        assert!(log.ios().iter().copied().eq((0..100).map(io)));
    }

    #[test]
    fn beyond_the_limit_a_share_stays_spread_over_everything() {
        let log = log(1_000, 0..50_000);
        assert_eq!(log.offered(), 50_000);
        assert!((64..=128).contains(&log.one_in()), "{}", log.one_in());
        let expected = 50_000.0 / log.one_in() as f64;
        assert!((log.ios().len() as f64 / expected - 1.0).abs() < 0.2, "{}", log.ios().len());
        // No period of the numbers is preferred: of each residue class of 8 about
        // as many, and as many of each tenth of the time.
        for (class, of) in [(1, 8), (0, 8), (7, 8)] {
            let count = log.ios().iter().filter(|io| io.offset_bytes / 4096 % of == class).count();
            assert!((count as f64 / (expected / of as f64) - 1.0).abs() < 0.5, "{count}");
        }
        let first_half = log.ios().iter().filter(|io| io.completed_ns < 25_000_000).count();
        assert!((first_half as f64 / (expected / 2.0) - 1.0).abs() < 0.2, "{first_half}");
    }

    #[test]
    fn merged_logs_have_one_share_and_one_order() {
        let mut merged = log(1_000, (0..4_000).map(|n| 2 * n));
        let small = log(1_000, (0..500).map(|n| 2 * n + 1));
        merged.merge(small);
        assert_eq!(merged.offered(), 4_500);
        assert!(merged.ios().is_sorted_by_key(|io| io.completed_ns));
        let odd = merged.ios().iter().filter(|io| io.offset_bytes / 4096 % 2 == 1).count();
        let expected = 500.0 / merged.one_in() as f64;
        assert!((odd as f64 / expected - 1.0).abs() < 0.3, "{odd} of {expected}");
    }
}
